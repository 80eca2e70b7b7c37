#!/usr/bin/env python3
"""make_pytorch.py DIRECTORY: writes PyTorch files into DIRECTORY, and what gpureduce prints of each NAME.pt, behind the
name of the file:
  NAME.tsv    `-o sum,min,max,argmin,argmax,nan,count`
  wrong.list  NAME|MESSAGE: files that are refused, and a pattern of the message
  other.list  NAME|ARRAY|TYPE|WHY: arrays that are unreadable
Without torch, files by hand alone: with the pickles that torch writes, and others. Values are those of fractions."""

import argparse
import collections
import datetime
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


def path(name):
    return os.path.join(directory, name)


#
# By hand.
#


class Storage:
    def __init__(self, kind, key, count):
        self.name = ("storage", kind, key, "cpu", count)


class Tensor:
    def __init__(self, *arguments, function="_rebuild_tensor_v2"):
        self.function, self.arguments = function, arguments

    def __reduce_ex__(self, protocol):
        return getattr(sys.modules["torch._utils"], self.function), self.arguments


class Jagged:
    """A nested tensor of the layout jagged."""

    def __init__(self, values):
        self.values = values

    def __reduce_ex__(self, protocol):
        nested = sys.modules[NESTED]
        return sys.modules["torch._tensor"]._rebuild_from_type_v2, (nested._rebuild_njt, nested.NestedTensor, (), {"_values": self.values})


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return obj.name if isinstance(obj, Storage) else None


NESTED = "torch.nested._internal.nested_tensor"


def fake_torch():
    """Modules whose members pickle as those of torch do."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for name in ("FloatStorage", "ShortStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))
    for name in ("_rebuild_tensor_v2", "_rebuild_tensor", "_rebuild_sparse_tensor"):
        exec(f"def {name}(*a): pass", utils.__dict__)
        getattr(utils, name).__module__ = "torch._utils"
    for module, names in (("torch._tensor", ("_rebuild_from_type_v2",)), (NESTED, ("_rebuild_njt", "NestedTensor"))):
        sys.modules[module] = types.ModuleType(module)
        for name in names:
            setattr(sys.modules[module], name, type(name, (), {"__module__": module}))
    sys.modules.update({"torch": torch, "torch._utils": utils})
    return torch


def archive(name, data, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path(name + ".pt"), "w", method) as file:
        file.writestr("x/data.pkl", data)
        for member, content in members.items():
            file.writestr("x/" + member, content)


def dump(value, protocol):
    import io
    out = io.BytesIO()
    Pickler(out, protocol).dump(value)
    return out.getvalue()


HEAD = "array\tdtype\tshape\tsum\tmin\tmax\targmin\targmax\tnan\tcount\n"


def expect_rows(name, rows):
    with open(path(name + ".tsv"), "w", encoding="utf-8") as out:
        out.write(HEAD)
        out.writelines("\t".join(map(str, row)) + "\n" for row in sorted(rows))


def by_hand():
    torch = fake_torch()
    floats = Storage(torch.FloatStorage, "0", 24)
    shorts = Storage(torch.ShortStorage, "key", 3)
    tree = {"w": Tensor(floats, 0, (2, 3, 4), (12, 4, 1), False, {}), "n": {"t": (1, Tensor(shorts, 1, (2,), (1,)))},
            3: [Tensor(floats, 2, (3,), (4,), False, {}), "text", None, 2.5, 1 << 70, True, b"bytes"],
            "deep": [[Tensor(floats, 4, (), (), False, {}, function="_rebuild_tensor")]],
            "plain": [range(3), slice(1, 2), datetime.datetime(2026, 1, 2), datetime.timedelta(1), pathlib.PurePosixPath("a/b")],
            "queue": collections.deque([1, Tensor(floats, 6, (), (), False, {})], 3)}
    spaces = {"args": argparse.Namespace(lr=0.5, ema=Tensor(floats, 5, (), (), False, {})), "other": types.SimpleNamespace(x=1)}
    for protocol in range(1, 6):
        for order in ("little", "big"):
            mark = order[0].replace("l", "<").replace("b", ">")
            name = f"hand{protocol}{order}"
            archive(name, dump({**tree, **spaces} if protocol > 1 else tree, protocol), {"byteorder": order, "data/0": struct.pack(mark + "24f", *range(24)),
                                                 "data/key": struct.pack(mark + "3h", 5, -7, 300)})
            expect_rows(name, [["w", "f32", "[2,3,4]", 276, 0, 23, 0, 23, 0, 24], ["n.t.1", "i16", "[2]", 293, -7, 300, 0, 1, 0, 2],
                               ["3.0", "f32", "[3]", 18, 2, 10, 0, 2, 0, 3], ["deep.0.0", "f32", "[]", 4, 4, 4, 0, 0, 0, 1],
                               *([["args.ema", "f32", "[]", 5, 5, 5, 0, 0, 0, 1]] if protocol > 1 else []), ["queue.1", "f32", "[]", 6, 6, 6, 0, 0, 0, 1]])

    class Evil:
        def __reduce__(self):
            return os.system, ("touch " + path("executed"),)

    good = {"w": Tensor(floats, 0, (24,), (1,), False, {})}
    data = dump(good, 2)
    full = {"data/0": b"\0" * 96}

    def refuse(name, pickled, message, members=None, **options):
        archive(name, pickled, full if members is None else members, **options)
        wrong.append(f"{name}|{message}")

    refuse("evil", dump({"a": Evil()}, 2), "the pickle names posix.system, which no file of tensors alone needs")
    refuse("evil4", dump({"a": Evil()}, 4), "the pickle names posix.system, which no file of tensors alone needs")
    refuse("class", b"\x80\2(ios\nsystem\n.", "operation 0x69 of the pickle is not supported")
    refuse("extension", b"\x80\2\x82\1.", "operation 0x82 of the pickle is not supported")
    refuse("cut", data[:-1], "the pickle is cut off")
    refuse("cut-text", b"\x80\2X\xff\xff\xff\x7fabc.", "the pickle is cut off")
    refuse("empty-stack", b"\x80\2.", "an operation lacks a value")
    refuse("no-mark", b"\x80\2}u.", "an operation lacks its MARK")
    refuse("odd", b"\x80\2}(K\1u.", "a key lacks its value")
    refuse("memo", b"\x80\2h\1.", "number 1 of the memo is empty")
    refuse("far-memo", b"\x80\2]r\xff\xff\xff\xff.", "number 4294967295 of the memo is too large")
    refuse("number", b"\x80\2I1x\n.", "an integer is expected")
    refuse("no-dictionary", b"\x80\2](K\1K\2u.", "items are added to a value that has none")
    refuse("attributes", b"\x80\2]}b.", "attributes of a value that has none, or has them already")
    refuse("no-function", b"\x80\2]K\1R.", "a call needs a function and a tuple of arguments")
    refuse("cycle", b"\x80\2]q\0h\0a.", "dictionaries and lists lie in more than 100 others")
    doubles = b"".join(b"q%c](h%ch%ce" % (k, k, k) for k in range(60))
    refuse("doubles", b"\x80\2]" + doubles + b".", "too many names share what lies here")
    refuse("long-name", dump({"n" * 1001: 1}, 2), "a name has more than 1000 bytes, or a zero byte")
    refuse("zero-name", dump({"n\0m": 1}, 2), "a name has more than 1000 bytes, or a zero byte")
    refuse("no-tensor", dump([Tensor(1, 2, 3, 4)], 2), "this tensor is malformed")
    refuse("negative", dump([Tensor(floats, -1, (2,), (1,))], 2), "this tensor is malformed")
    refuse("odd-strides", dump([Tensor(floats, 1, (2,), (1, 2))], 2), "this tensor is malformed")
    refuse("no-storage", dump([Storage(5, "0", 1)], 2), "this storage is malformed")
    refuse("too-large", dump([Tensor(floats, 0, (1 << 40, 1 << 40), (0, 0))], 2), "the shape has more elements than any file")
    refuse("order", data, "the byte order is neither 'little' nor 'big'", dict(full, byteorder="middle"))
    refuse("deflated", data, "data.pkl is compressed or encrypted, which torch does not do", method=zipfile.ZIP_DEFLATED)
    strided = {"wide": Tensor(floats, 0, (2, 13), (11, 1)), "expanded": Tensor(floats, 0, (3, 4), (0, 2)), "swapped": Tensor(floats, 0, (2, 3, 4), (4, 8, 1)),
               "repeated": Tensor(floats, 0, (5000, 3), (0, 2)), "scalar": Tensor(floats, 3, (100, 700), (0, 0)),
               "column": Tensor(floats, 1, (3, 9000), (2, 0)), "empty": Tensor(floats, 27, (0, 5), (8, 1))}
    archive("strided", dump(strided, 2), {"data/0": struct.pack("<24f", *range(24))})
    expect_rows("strided", [["wide", "f32", "[2,13]", 299, 0, 23, 0, 25, 0, 26], ["expanded", "f32", "[3,4]", 36, 0, 6, 0, 3, 0, 12],
                            ["swapped", "f32", "[2,3,4]", 276, 0, 23, 0, 23, 0, 24],
                            ["repeated", "f32", "[5000,3]", 30000, 0, 4, 0, 2, 0, 15000], ["scalar", "f32", "[100,700]", 210000, 3, 3, 0, 0, 0, 70000],
                            ["column", "f32", "[3,9000]", 81000, 1, 5, 0, 18000, 0, 27000],
                            ["empty", "f32", "[0,5]", 0, "nan", "nan", "nan", "nan", 0, 0]])
    for name, tensor, why in (
            ("behind", Tensor(floats, 1, (24,), (1,)), "its elements do not lie in its storage"),
            ("far", Tensor(floats, 1 << 62, (2,), (1 << 62,)), "its elements do not lie in its storage"),
            ("wide", Tensor(floats, 0, (2, 13), (12, 1)), "its elements do not lie in its storage"),
            ("swapped", Tensor(floats, 1, (2, 3, 4), (4, 8, 1)), "its elements do not lie in its storage"),
            ("many", Tensor(floats, 0, (2,) * 20, (1,) * 20), "its elements lie in too many places; in Python, t.contiguous() has them together"),
            ("lost", Tensor(Storage(torch.FloatStorage, "9", 24), 0, (2,), (1,)), "its storage, data/9, is not in the file"),
            ("negated", Tensor(floats, 0, (2,), (1,), False, {}, {"neg": True}), "a view that torch negates or conjugates; .*")):
        archive("other-" + name, dump({"good": good["w"], "bad": tensor}, 2), full)
        other.append(f"other-{name}|bad|f32|{why}")
    archive("other-jagged", dump({"good": good["w"], "bad": Jagged(good["w"])}, 2), full)
    other.append("other-jagged|bad|nested|a nested tensor, or one of another device; .*")
    for name, parts in (("text", "3, 4"), ("short", (1, 2)), ("no-shape", (1, 2, "x", 4))):
        archive("other-" + name, dump({"good": good["w"], "bad": Tensor("sparse", parts, function="_rebuild_sparse_tensor")}, 2), full)
        other.append(f"other-{name}|bad|sparse|a sparse tensor; .*")
    del sys.modules["torch"], sys.modules["torch._utils"], sys.modules["torch._tensor"], sys.modules[NESTED]


#
# By torch.
#


def by_torch():
    import collections

    import numpy as np
    import torch
    from expected import expect

    def find(value, name, found):
        if isinstance(value, torch.Tensor) and value.is_complex():
            for i, part in enumerate(("re", "im")):
                found[f"{name or 'tensor'}.{part}"] = torch.view_as_real(value.detach())[..., i]
        elif isinstance(value, torch.Tensor):
            found[name or "tensor"] = value
        elif isinstance(value, (dict, list, tuple)):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                find(inner, f"{name}.{key}" if name else str(key), found)
        return found

    def save(name, value, **options):
        torch.save(value, path(name + ".pt"), **options)
        found, small = find(value, "", {}), {}
        for key, tensor in found.items():
            tensor = tensor.detach()
            if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
                small[key], tensor = key.split(".")[-1], tensor.float()
            found[key] = tensor.numpy()
        expect(path(name + ".tsv"), found)
        with open(path(name + ".tsv"), encoding="utf-8") as file:
            lines = [line.split("\t") for line in file]
        for line in lines:
            line[1] = small.get(line[0], line[1])
        with open(path(name + ".tsv"), "w", encoding="utf-8") as file:
            file.writelines("\t".join(line) for line in lines)

    torch.manual_seed(1)
    x = torch.randn(6, 7, 5)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.randn(9, 7)).sum().backward()
    optimizer.step()
    checkpoint = {
        "model": model.state_dict(), "opt": optimizer.state_dict(), "epoch": 3, "loss": 0.25, "big": 1 << 100,
        "name": "a\u00e9\U0001f600", "none": None, "flag": True, "raw": b"abc", "set": {1, 2}, "shape": x.shape,
        "device": torch.device("cpu"), "dtype": torch.float16, "list": [x[0], (x[1], [x[2]])], "complex": 1j,
        "array": bytearray(b"x"), "scalar": np.float64(3), "counter": collections.Counter("aab"),
        "default": collections.defaultdict(list, {"a": [x[3]]}), "parameter": torch.nn.Parameter(x[4].clone())}
    for protocol in range(1, 6):
        save(f"checkpoint{protocol}", checkpoint, pickle_protocol=protocol)
    save("tensor", x)
    save("list", [x, x + 1])
    save("large", {"a": torch.randn(1000, 300), "b": torch.arange(70000, dtype=torch.int16)})
    kinds = {"bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
    kinds.update((t, getattr(torch, t)) for t in ("float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64",
                                                  "uint8", "uint16", "uint32", "uint64"))
    save("types", {t: (torch.arange(35) * 3 % 8 - (2 if t[0] in "bfi" and t != "bool" else 0)).reshape(5, 7).to(d)
                   for t, d in kinds.items()})
    flat = x.view(-1)
    save("views", {
        "whole": x, "again": x, "row": x[2], "rows": x[1:4], "columns": x[:, :, 1:3], "column": x[:, :, 2], "middle": x[:, 2:4],
        "step": x[::2], "one": x[1, 2, 3], "strided": flat[::3], "ones": x[:, :, 2:3], "of_one": x[2:3, :, 4:5], "empty": x[:0],
        "none": x[:, 7:], "flat": flat[10:50], "block": x[2:4, :, 1:4][:, :1], "wide": torch.randn(40, 3000)[:, 10:2900],
        "wider": torch.randn(3, 90000)[:, 5:]})
    for name, kind in (("complex", torch.complex64), ("complex2", torch.complex128), ("complex3", torch.complex32)):
        z = torch.complex(x.double(), torch.randn(6, 7, 5).double()).to(kind)
        flat = z.reshape(-1)
        save(name, {
            "whole": z, "row": z[2], "columns": z[:, :, 1:3], "column": z[:, :, 2], "step": z[::2], "strided": flat[::3], "one": z[1, 2, 3],
            "empty": z[:0], "of_one": z[2:3, :, 4:5], "block": z[2:4, :, 1:4][:, :1], "middle": z[:, 2:4], "flat": flat[10:50],
            "swapped": z.permute(1, 0, 2), "every": z.permute(1, 0, 2)[::3, :, ::2], "between": flat[:4][None, :, None].expand(5, 4, 6), "repeated": z[0].expand(900, 7, 5), "apart": z[:, :1, ::2].expand(6, 900, 3),
            "channels": z.reshape(2, 3, 5, 7).contiguous(memory_format=torch.channels_last), "unfolded": flat.unfold(0, 4, 1),
            "deep": [{"parameter": torch.nn.Parameter(flat[:9].clone()) if kind != torch.complex32 else flat[:9]}], "scalar": z[0, 0, 0].clone(),
            "wide": torch.ones(40, 3000, dtype=torch.float64).cumsum(1).to(kind)[:, 10:2900]})
    save("complex-tensor", torch.complex(x, -x))
    # Indices of such arrays are those of the elements as they are stored.
    turned = {"columns": x[0].t(), "complex": torch.complex(x[0], x[1]).t(), "all": x.permute(2, 1, 0), "part": torch.randn(9, 4).t()[1:3],
              "many": torch.randn(5, 700).t()[10:600]}
    save("turned", {key: t.t() if t.dim() == 2 else t.permute(2, 1, 0) for key, t in turned.items()})
    torch.save(turned, path("turned.pt"))
    turned.update({"complex." + part: turned["complex"] for part in ("re", "im")})
    with open(path("turned.tsv"), encoding="utf-8") as file:
        lines = [line.split("\t") for line in file]
    with open(path("turned.tsv"), "w", encoding="utf-8") as file:
        for line in lines:
            if line[0] in turned:
                line[2] = "[" + ",".join(map(str, turned[line[0]].shape)) + "]"
            file.write("\t".join(line))

    def refused(name, value, kinds):
        torch.save(value, path(name + ".pt"))
        other.extend(f"{name}|{key}|{kind}|{why}" for key, (kind, why) in kinds.items())

    strided = {"swapped": x.permute(1, 0, 2), "channels": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
               "halves": torch.randn(3, 5, 300, 301, dtype=torch.float16).to(memory_format=torch.channels_last),
               "deep": torch.randn(2, 3, 5, 4, 6).to(memory_format=torch.channels_last_3d), "expanded": torch.randn(3, 1).expand(3, 4),
               "between": torch.randn(4)[None, :, None].expand(5, 4, 6), "repeated": x[0].expand(9000, 7, 5), "apart": x[:, :1, ::2].expand(6, 9000, 3),
               "large": torch.randn(3, 1, 70000).expand(3, 5, 70000), "twice": x[:, 1:3, 1:3], "every": x.permute(1, 0, 2)[::3, :, ::2],
               "unfolded": flat.unfold(0, 4, 1), "bytes": torch.arange(720).to(torch.int8).view(8, 9, 10).permute(1, 2, 0)[1:, 2:]}
    save("strides", strided)
    torch.save({key: t.contiguous() for key, t in strided.items()}, path("contiguous.pt"))
    values = {"sparse": torch.eye(3, 4).to_sparse(), "rows": torch.eye(5, 3).to_sparse_csr(),
              "quantised": torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 3, torch.qint8),
              "per": torch.quantize_per_channel(torch.randn(2, 4), torch.tensor([0.1, 0.2]), torch.tensor([1, 2]), 0, torch.quint8),
              "negative": torch.imag(torch.ones(3, dtype=torch.complex64).conj()),
              "conjugate": torch.ones(3, dtype=torch.complex128).conj(), "half": torch.ones(3, dtype=torch.complex32).conj(), "fnuz": torch.zeros(3).to(torch.float8_e4m3fnuz),
              "array": np.arange(5.0)}
    refused("unsupported", values, {
        "sparse": ("sparse_coo", "a sparse tensor; .*"), "rows": ("sparse_csr", "a sparse tensor; .*"),
        "quantised": ("qint8", "quantised; .*"), "per": ("quint8", "quantised; .*"),
        "negative": ("f32", "a view that torch negates .*"),
        **{f"{name}.{part}": (kind, "a view that torch negates .*") for name, kind in (("conjugate", "f64"), ("half", "f16"))
           for part in ("re", "im")},
        "fnuz": ("float8_e4m3fnuz", "another float .*"), "array": ("numpy", "an array of NumPy .*")})
    torch.save(model, path("module.pt"))
    wrong.append("module|the pickle names torch.nn.modules.container.Sequential, which no file of tensors alone needs")
    extra = torch.ones(3)
    extra.more = {"inner": torch.ones(2) * 4}
    torch.save({"x": extra, "s": torch.ones(2).untyped_storage(), "meta": torch.empty(3, 7, device="meta"), "a.b": x[0], "a": {"b": x[1]},
                None: x[2], True: x[3], (1, 2): x[4], 5: x[5]}, path("names.pt"))


os.makedirs(directory, exist_ok=True)
by_hand()
try:
    by_torch()
except ImportError as error:
    print(error, file=sys.stderr)
for name, lines in (("wrong", wrong), ("other", other)):
    with open(path(name + ".list"), "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
