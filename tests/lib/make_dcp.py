#!/usr/bin/env python3
"""make_dcp.py DIRECTORY: writes checkpoints of torch.distributed.checkpoint into DIRECTORY, and what gpureduce prints of each:
  NAME.tsv    `-o sum,min,max,argmin,argmax,nan,count` of checkpoint NAME, behind the name of the file
  wrong.list  NAME|MESSAGE: checkpoints that are refused
  other.list  NAME|ARRAY|WHY: arrays that are unreadable
They are made by hand, with the pickles that torch writes. With torch there are some of its own, and it loads those by hand."""

import enum
import io
import math
import os
import pathlib
import pickle
import struct
import sys
import types
import zipfile

sys.dont_write_bytecode = True  # the sources may be read-only

directory = sys.argv[1]
wrong, other = [], []
DTYPES = {"f32": ("float32", "FloatStorage", "f"), "f64": ("float64", "DoubleStorage", "d"), "i16": ("int16", "ShortStorage", "h"),
          "u8": ("uint8", "ByteStorage", "B"), "complex64": ("complex64", "ComplexFloatStorage", "f")}
HEAD = "array\tdtype\tshape\tsum\tmin\tmax\targmin\targmax\tnan\tcount\n"
MODULES = {}


def named(module, name, *bases, **members):
    """A class, or an object that pickles as a global, which pickles as one of torch."""
    if module not in MODULES:
        MODULES[module] = types.ModuleType(module)
    made = type(name, bases, {"__module__": module, **members})
    setattr(MODULES[module], name, made)
    return made


META = "torch.distributed.checkpoint.metadata"
Metadata, TensorStorage, BytesStorage, Chunk, Index, StorageMeta = (
    named(META, name) for name in ("Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata",
                                   "MetadataIndex", "StorageMeta"))
Properties = named(META, "TensorProperties", __getstate__=lambda self: self.state)
Info = named("torch.distributed.checkpoint.filesystem", "_StorageInfo")
Size = named("torch", "Size", tuple, __reduce_ex__=lambda self, protocol: (Size, (tuple(self),)))
for dtype, storage, _ in DTYPES.values():
    named("torch", dtype)
    named("torch", storage)
MODULES["torch._utils"], MODULES["torch.serialization"] = types.ModuleType("torch._utils"), types.ModuleType("torch.serialization")
exec("def _rebuild_tensor_v2(*a): pass", MODULES["torch._utils"].__dict__)
exec("def _get_layout(name): pass", MODULES["torch.serialization"].__dict__)
MODULES["torch._utils"]._rebuild_tensor_v2.__module__ = "torch._utils"
MODULES["torch.serialization"]._get_layout.__module__ = "torch.serialization"
Encoding = enum.Enum("_MEM_FORMAT_ENCODING", {"TORCH_CONTIGUOUS_FORMAT": 0}, module=META)
MODULES[META]._MEM_FORMAT_ENCODING = Encoding
for parent in ("torch.distributed", "torch.distributed.checkpoint"):
    MODULES[parent] = types.ModuleType(parent)


class Layout:
    def __reduce__(self):
        return MODULES["torch.serialization"]._get_layout, ("torch.strided",)


class Storage:
    def __init__(self, kind, count):
        self.name = ("storage", getattr(MODULES["torch"], DTYPES[kind][1]), "0", "cpu", count)


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return obj.name if isinstance(obj, Storage) else None


class Tensor:
    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce_ex__(self, protocol):
        return MODULES["torch._utils"]._rebuild_tensor_v2, self.arguments


def path(*names):
    return os.path.join(directory, *names)


def dump(value, protocol=4):
    out = io.BytesIO()
    Pickler(out, protocol).dump(value)
    return out.getvalue()


def attributes(kind, **values):
    made = kind.__new__(kind)
    made.__dict__.update(values)
    return made


def strides_of(sizes):
    return tuple(math.prod(sizes[i + 1:]) for i in range(len(sizes)))


def archive(kind, sizes, values, strides=None, big=False, root=None):
    """What torch.save makes of a tensor of these values, in the order of its storage; or of `root`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        file.writestr("archive/data.pkl", dump(root or Tensor(Storage(kind, len(values)), 0, tuple(sizes), strides or strides_of(sizes), False, {}), 2))
        file.writestr("archive/byteorder", "big" if big else "little")
        file.writestr("archive/version", "3\n")
        if kind == "complex64":
            values = [part for v in values for part in (v.real, v.imag)]
        file.writestr("archive/data/0", struct.pack(("<>"[big]) + f"{len(values)}{DTYPES[kind][2]}", *values))
    return out.getvalue()


class Checkpoint:
    def __init__(self, name):
        self.name, self.files, self.all, self.places, self.rows = name, {}, {}, {}, []

    def place(self, file, content, array, offset=None, **more):
        before = self.files.setdefault(file, b"")
        self.files[file] += content
        index = attributes(Index, fqn=array, index=None)
        if offset is not None:
            index.offset = Size(offset)
        self.places[index] = attributes(Info, relative_path=file, offset=len(before), length=len(content), **more)

    def tensor(self, array, kind, shape, boxes, value=lambda i: i * 37 % 101 - 9, turned=False, big=False, stored=None, **more):
        """A tensor in these shards, (offsets, sizes), of value(index) each; those of `stored` are in the files."""
        strides = strides_of(shape)
        flat = [value(i) for i in range(math.prod(shape))]
        for number, (offsets, sizes) in enumerate(boxes):
            rows = not turned and tuple(sizes[1:]) == tuple(shape[1:]) and sizes
            begin = offsets[0] * strides[0] if rows else 0
            values = flat[begin:begin + math.prod(sizes)] if rows else []
            for i in range(0 if rows else math.prod(sizes)):
                at, place = i, 0
                for d in reversed(range(len(sizes))) if not turned else range(len(sizes)):
                    place += (offsets[d] + at % sizes[d]) * strides[d]
                    at //= sizes[d]
                values.append(flat[place])
            if stored is None or number in stored:
                self.place(f"__{number}_0.distcp", archive(kind, sizes, values, tuple(reversed(strides_of(sizes[::-1]))) if turned else None, big),
                           array, offsets, **more)
        properties = attributes(Properties, state=(getattr(MODULES["torch"], DTYPES[kind][0]), Layout(), False, Encoding(0), False, strides))
        self.all[array] = attributes(TensorStorage, properties=properties, size=Size(shape), chunks=[
            attributes(Chunk, offsets=Size(o), sizes=Size(s)) for o, s in boxes])
        parts = [(array, kind, flat)]
        if kind == "complex64":
            parts = [(f"{array}.{part}", "f32", [int(getattr(v, name)) for v in flat]) for part, name in (("re", "real"), ("im", "imag"))]
        for key, dtype, flat in parts:
            if flat:
                least, most = min(flat), max(flat)
                row = [sum(flat), least, most, flat.index(least), flat.index(most), 0, len(flat)]
            else:
                row = [0, "nan", "nan", "nan", "nan", 0, 0]
            self.rows.append([key, dtype, "[" + ",".join(map(str, shape)) + "]", *row])

    def object(self, array, value):
        self.all[array] = attributes(BytesStorage)
        self.place("__0_0.distcp", b"some bytes", array)

    def save(self, protocol=4):
        os.makedirs(path(self.name))
        for file, content in self.files.items():
            with open(path(self.name, file), "wb") as out:
                out.write(content)
        meta = attributes(StorageMeta, checkpoint_id=pathlib.PosixPath("x"), save_id="s", load_id=None, modules=[])
        data = dump(attributes(Metadata, state_dict_metadata=self.all, planner_data={a: tuple(a.split(".")) for a in self.all},
                               storage_data=self.places, storage_meta=meta, version="1.0.0"), protocol)
        with open(path(self.name, ".metadata"), "wb") as out:
            out.write(data)
        return data

    def expect(self):
        with open(path(self.name + ".tsv"), "w", encoding="utf-8") as out:
            out.write(HEAD)
            out.writelines("\t".join(map(str, row)) + "\n" for row in sorted(self.rows))


def rows_of(total, counts, rest=()):
    """Shards of so many rows each."""
    begins = [sum(counts[:i]) for i in range(len(counts))]
    return [((b, *(0 for _ in rest)), (n, *rest)) for b, n in zip(begins, counts)]


def good(name, protocol, big):
    c = Checkpoint(name)
    c.tensor("model.w", "f32", (10, 7), rows_of(10, (3, 3, 3, 1), (7,)), big=big)
    c.tensor("model.columns", "f64", (6, 13), [((0, b), (6, min(4, 13 - b))) for b in range(0, 13, 4)], big=big)
    c.tensor("model.grid", "i16", (9, 11), [((i, j), (min(5, 9 - i), min(6, 11 - j))) for i in (0, 5) for j in (0, 6)], big=big)
    c.tensor("model.uneven", "f32", (13, 3), rows_of(13, (4, 3, 3, 3), (3,)), big=big)
    c.tensor("model.moved", "u8", (7, 2), rows_of(7, (3, 3, 1), (2,))[::-1], value=lambda i: i * 11 % 13, big=big)
    c.tensor("few", "f32", (2, 2), rows_of(2, (1, 1, 0), (2,)), big=big)
    c.tensor("one", "i16", (5, 3), rows_of(5, (5,), (3,)), big=big)
    c.tensor("turned", "f32", (4, 6), rows_of(4, (4,), (6,)), turned=True, big=big)
    c.tensor("halves", "i16", (4, 6), rows_of(4, (2, 2), (6,)), turned=True, big=big)
    c.tensor("edges", "f32", (5, 4), rows_of(5, (3, 2), (4,)), turned=True, big=big)
    c.tensor("scalar", "f64", (), [((), ())], value=lambda i: 17, big=big)
    c.tensor("empty", "f32", (0, 3), [((0, 0), (0, 3))], big=big)
    pairs = {"kind": "complex64", "value": lambda i: complex(i * 37 % 101 - 9, i * 11 % 13 - 5), "big": big}
    c.tensor("z.rows", shape=(10, 7), boxes=rows_of(10, (3, 3, 3, 1), (7,)), **pairs)
    c.tensor("z.grid", shape=(9, 11), boxes=[((i, j), (min(5, 9 - i), min(6, 11 - j))) for i in (0, 5) for j in (0, 6)], **pairs)
    c.tensor("z.turned", shape=(5, 4), boxes=rows_of(5, (3, 2), (4,)), turned=True, **pairs)
    c.tensor("z.few", shape=(2,), boxes=rows_of(2, (1, 1)), **pairs)
    c.tensor("z.scalar", shape=(), boxes=[((), ())], **pairs)
    c.tensor("z.empty", shape=(0, 3), boxes=[((0, 0), (0, 3))], **pairs)
    c.object("opt.lr", 0.1)
    c.save(protocol)
    c.expect()


def large():
    """Shards that are divided into tiles: of any number of rows, of one that divides them, and not at all."""
    c = Checkpoint("large")
    c.tensor("any", "f64", (300001,), rows_of(300001, (300001,)))
    c.tensor("divided", "f64", (600000,), rows_of(600000, (300000, 300000)))
    c.tensor("prime", "f64", (600014,), rows_of(600014, (300007, 300007)))
    c.tensor("wide", "f64", (3, 150000), rows_of(3, (2, 1), (150000,)))
    c.save()
    c.expect()


def refuse(name, array, why, kind="f32", shape=(4, 2), boxes=None, change=lambda c: None, file=None, **more):
    c = Checkpoint(name)
    c.tensor("good", "i16", (3,), rows_of(3, (3,)))
    c.tensor(array.split(".")[0], kind, shape, boxes or rows_of(4, (2, 2), (2,)), **more)
    change(c)
    c.save()
    if file:
        file(path(name, "__1_0.distcp"))
    other.append(f"{name}|{array}|{why}")


def cut(name):
    os.truncate(name, os.path.getsize(name) - 1)


def damage(name):
    size = os.path.getsize(name)
    with open(name, "wb") as out:
        out.write(b"x" * size)


def move(to):
    def change(c):
        for index, info in c.places.items():
            if index.fqn == "bad" and info.relative_path.startswith("__1"):
                info.relative_path = to
    return change


def claim(kind, shape):
    """Has the metadata say another type or shape than shards have."""
    def change(c):
        c2 = Checkpoint("")
        c2.tensor("bad", kind, shape, rows_of(shape[0], (shape[0] // 2,) * 2, shape[1:]), complex if kind == "complex64" else int)
        c.all["bad"] = c2.all["bad"]
    return change


def part(c):
    """Has a shard be two tensors of one real number."""
    content = archive("f32", (4,), [1, 2, 3, 4], root=[Tensor(Storage("f32", 4), at, (1,), (1,), False, {}) for at in (0, 2)])
    for index, info in c.places.items():
        if index.fqn == "bad":
            info.offset, info.length = len(c.files[info.relative_path]), len(content)
            c.files[info.relative_path] += content


def by_hand():
    for protocol in (2, 3, 4, 5):
        good(f"hand{protocol}", protocol, False)
    good("big", 4, True)
    large()
    refuse("lost", "bad", "__1_0.distcp: No such file or directory", file=os.unlink)
    refuse("cut", "bad", "__1_0.distcp: truncated: [0-9]* bytes, its shards need [0-9]*", file=cut)
    refuse("damaged", "bad", "__1_0.distcp: byte [0-9]*: .*", file=damage)
    refuse("outside", "bad", ".metadata places a shard outside of its directory", change=move("../outside"))
    refuse("here", "bad", ".metadata places a shard outside of its directory", change=move(".."))
    refuse("unplaced", "bad", ".metadata does not say where its shards are", stored=(0,))
    refuse("hole", "bad", "its shards overlap, or do not cover it", boxes=[((0, 0), (2, 2))])
    refuse("overlap", "bad", "its shards overlap, or do not cover it", boxes=rows_of(4, (2, 2), (2,)) + [((1, 0), (1, 2))])
    refuse("boxes", "bad", "its shards are boxes of several sizes", shape=(4, 7),
           boxes=[((0, 0), (4, 2)), ((0, 2), (4, 3)), ((0, 5), (4, 2))])
    refuse("turned-rows", "bad", "the strides of its shards are not those of rows", shape=(5, 2), boxes=rows_of(5, (2, 3), (2,)), turned=True)
    refuse("extension", "bad", "its shards are changed by an extension: compressed, say", transform_descriptors=["zstd"])
    refuse("type", "bad", "__0_0.distcp: a shard has another type or shape than .metadata says", change=claim("i16", (4, 2)))
    refuse("shape", "bad", "__0_0.distcp: a shard has another type or shape than .metadata says", change=claim("f32", (4, 3)))
    refuse("complex", "bad.re and 1 more", "__0_0.distcp: a shard is not one tensor of the type that .metadata says",
           change=claim("complex64", (4, 2)))
    refuse("parts", "bad.re and 1 more", "__0_0.distcp: a shard is not one tensor of the type that .metadata says",
           kind="complex64", value=complex, shape=(1,), boxes=rows_of(1, (1,)), change=part)
    refuse("real", "bad", "__0_0.distcp: a shard is not one tensor of the type that .metadata says", kind="complex64", value=complex,
           change=claim("f32", (4, 2)))

    def spoil(name, message, change=lambda data: data, checkpoint=None):
        c = Checkpoint(name)
        c.tensor("w", "f32", (2,), rows_of(2, (2,)))
        if checkpoint:
            checkpoint(c)
        data = c.save()
        with open(path(name, ".metadata"), "wb") as out:
            out.write(change(data))
        wrong.append(f"{name}|{message}")

    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + path("executed"),)

    spoil("none", ".metadata: byte 0: the pickle is cut off", lambda data: b"")
    spoil("half", ".metadata: byte [0-9]*: the pickle is cut off", lambda data: data[:-1])
    spoil("evil", ".metadata: byte [0-9]*: the pickle names posix.system, which no file of tensors alone needs", lambda data: dump(Evil()))
    spoil("dictionary", ".metadata: byte [0-9]*: the checkpoint is malformed", lambda data: dump({"state_dict_metadata": {}, "storage_data": {}}))
    spoil("list", ".metadata: byte [0-9]*: storage_data is malformed",
          lambda data: dump(attributes(Metadata, state_dict_metadata={}, storage_data=[])))
    spoil("entry", ".metadata: byte [0-9]*: an entry is malformed", checkpoint=lambda c: c.all.update(w=3))
    spoil("beyond", ".metadata: byte [0-9]*: a shard of this tensor is malformed",
          checkpoint=lambda c: c.all["w"].chunks.append(attributes(Chunk, offsets=Size((1,)), sizes=Size((2,)))))
    spoil("rank", ".metadata: byte [0-9]*: a shard of this tensor is malformed",
          checkpoint=lambda c: c.all["w"].chunks.append(attributes(Chunk, offsets=Size((1, 0)), sizes=Size((1, 1)))))
    spoil("size", ".metadata: byte [0-9]*: the shape of this tensor is malformed",
          checkpoint=lambda c: setattr(c.all["w"], "size", Size((1 << 40, 1 << 40))))
    spoil("sizes", ".metadata: byte [0-9]*: this tensor is malformed", checkpoint=lambda c: setattr(c.all["w"], "size", 3))


#
# By torch.
#


def by_torch():
    import warnings

    import torch
    import torch.distributed.checkpoint as dcp
    from expected import expect

    warnings.simplefilter("ignore")
    x, images = torch.randn(40, 30), torch.randn(4, 3, 5, 6).to(memory_format=torch.channels_last)
    checkpoint = {"model": {"w": x, "t": x.t(), "part": x[3:7], "bf": x.to(torch.bfloat16), "i": torch.arange(7), "images": images},
                  "z": {"w": torch.complex(x, -x), "t": torch.complex(x, x * 2).t(), "part": torch.complex(x, x)[3:7].to(torch.complex128)},
                  "opt": {"state": [{"step": torch.tensor(3.0), "m": x[0]}], "lr": 0.1}, "epoch": 3}
    dcp.save(checkpoint, checkpoint_id=path("torch"), no_dist=True)
    found = {"model.w": x, "model.t": x.t(), "model.part": x[3:7], "model.i": torch.arange(7), "model.images": images, "opt.state.0.m": x[0],
             "z.w.re": x, "z.w.im": -x, "z.t.re": x.t(), "z.t.im": x.t() * 2, "z.part.re": x[3:7].double(), "z.part.im": x[3:7].double(),
             "opt.state.0.step": torch.tensor(3.0), "model.bf": x.to(torch.bfloat16).float()}
    expect(path("torch.tsv"), {name: t.numpy() for name, t in found.items()})
    with open(path("torch.tsv"), encoding="utf-8") as file:
        lines = [line.replace("f32", "bf16") if line.startswith("model.bf\t") else line for line in file]
    with open(path("torch.tsv"), "w", encoding="utf-8") as file:
        file.writelines(lines)

    # It reads what is made by hand, if it is new enough to know of strides.
    if len(dcp.metadata.TensorProperties().__getstate__()) < 6:
        return
    for name in ("hand4", "big", "large"):
        all = dcp.FileSystemReader(path(name)).read_metadata().state_dict_metadata
        tensors = {key: torch.empty(m.size, dtype=m.properties.dtype) for key, m in all.items() if hasattr(m, "size")}
        dcp.load(tensors, checkpoint_id=path(name), no_dist=True)
        with open(path(name + ".tsv"), encoding="utf-8") as file:
            rows = {line.split("\t")[0]: line.rstrip("\n").split("\t") for line in list(file)[1:]}
        for key in [key for key, t in tensors.items() if t.is_complex()]:
            t = torch.view_as_real(tensors.pop(key))
            tensors.update({f"{key}.re": t[..., 0], f"{key}.im": t[..., 1]})
        for key, t in tensors.items():
            row, flat = rows.pop(key), t.flatten().to(torch.float64)
            assert row[2] == str(list(t.shape)).replace(" ", "") and int(row[-1]) == flat.numel(), (name, key)
            if flat.numel():
                got = [int(flat.sum()), int(flat.min()), int(flat.max()), int(flat.argmin()), int(flat.argmax())]
                assert [int(v) for v in row[3:6]] == got[:3] and flat[int(row[6])] == got[1] and flat[int(row[7])] == got[2], (name, key)
        assert not rows, rows


os.makedirs(directory, exist_ok=True)
real = {name: sys.modules.get(name) for name in MODULES}
sys.modules.update(MODULES)
by_hand()
for name in MODULES:
    del sys.modules[name]
for name, lines in (("wrong", wrong), ("other", other)):
    with open(path(name + ".list"), "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
try:
    by_torch()
except ImportError as error:
    print(error, file=sys.stderr)
