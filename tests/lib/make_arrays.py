#!/usr/bin/env python3
"""make_arrays.py DIRECTORY: writes files of several arrays by the formats' own packages into DIRECTORY:
all.safetensors, stored.npz, deflated.npz and all.gguf, with all.tsv, npz.tsv and gguf.tsv, what `gpureduce -o
sum,min,max,nan` prints of them behind the name of the file; archives of .npz and headers of .npy in odd/ as other
programs write them, with odd.tsv, NumPy's sum and number of elements of each array; and some thousand small ones with damaged headers of safetensors, with a line for each in `headers`: its name,
and whether the package takes or refuses it."""

import io
import json
import math
import os
import random
import struct
import sys
import warnings
import zipfile

import numpy as np
import safetensors
from safetensors.numpy import save_file

sys.dont_write_bytecode = True  # the sources may be read-only
from shortest import shortest  # noqa: E402

directory = sys.argv[1]
rng = np.random.default_rng(5)
rnd = random.Random(5)


def path(name):
    return os.path.join(directory, name)


# ------------------------------------------------------------------------------------------------
# Arrays, and what is in them.
# ------------------------------------------------------------------------------------------------
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bool": "bool"}
NAMES.update({f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64)})

arrays = {}
for number, dtype in enumerate(NAMES):
    for count, shape in enumerate(((), (0, 3), (7,), (30, 41), (2, 3, 5, 7, 3))):
        if dtype.startswith("float"):
            x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
        else:
            x = rng.integers(0, 2 if dtype == "bool" else 127, shape)
        arrays[f"{dtype}.{count}"] = np.asarray(x).astype(dtype)
arrays["with nan"] = np.array([[1, np.nan], [np.nan, -2.5]], np.float32)
arrays["läge/ä"] = np.arange(300000, dtype=np.float64)
save_file(arrays, path("all.safetensors"), metadata={"made": "by \"make_arrays.py\"\n"})


def npy_bytes(x):
    out = io.BytesIO()
    np.save(out, x)
    return out.getvalue()


def expect(name, named):
    """Writes what gpureduce prints of arrays in this order."""
    with open(path(name), "w", encoding="utf-8") as out:
        out.write("array\tdtype\tshape\tsum\tmin\tmax\tnan\n")
        for name, x in named:
            dtype = x.dtype.name
            flat = x.ravel().tolist()
            nans = sum(v != v for v in flat)
            if dtype.startswith("float"):
                total = shortest(math.fsum(flat), "float64")
            else:
                total = str(sum(map(int, flat)))
            low = shortest(math.nan if nans or not flat else min(flat), dtype)
            high = shortest(math.nan if nans or not flat else max(flat), dtype)
            shape = ",".join(map(str, x.shape))
            out.write(f"{name}\t{NAMES[dtype]}\t[{shape}]\t{total}\t{low}\t{high}\t{nans}\n")


with safetensors.safe_open(path("all.safetensors"), "np") as file:
    expect("all.tsv", [(name, file.get_tensor(name)) for name in file.offset_keys()])

try:
    import gguf

    writer = gguf.GGUFWriter(path("all.gguf"), "llama")
    writer.add_description("made by make_arrays.py")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "ä"])
    for number, nested in enumerate(([[1, 2], [3]], [["a"], ["b", "ä"], [""]], [[[1.5]], [[2.5, 3.5], [4.5]]])):
        writer.add_array(f"nested.{number}", nested)
    written = {n: x for n, x in arrays.items()
               if x.dtype.name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")
               and 0 < x.ndim < 5 and x.size}
    for name, x in written.items():
        writer.add_tensor(name, x)
    for name in ("IQ2_S", "IQ1_S", "Q8_1"):
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(name, np.ones((3, gguf.GGML_QUANT_SIZES[kind][1]), np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expect("gguf.tsv", written.items())
except ImportError:
    pass

arrays["fortran"] = np.asfortranarray(arrays["float32.3"])
arrays["big endian"] = arrays["int32.4"].astype(">i4")
others = {"complex": np.ones(3, np.clongdouble), "objects": np.array([None, 1]), "text": np.array(["a", "bc"])}
np.savez(path("stored.npz"), **arrays, **others)
np.savez_compressed(path("deflated.npz"), **arrays, **others)
expect("npz.tsv", arrays.items())

# ------------------------------------------------------------------------------------------------
# Archives as other programs than NumPy make them, and headers as old ones do: what NumPy reads.
# ------------------------------------------------------------------------------------------------
os.mkdir(path("odd"))
with open(path("odd.tsv"), "w", encoding="ascii") as out, warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of two members of one name
    for number in range(60):
        name = path(f"odd/{number}.npz")
        with zipfile.ZipFile(name, "w", rnd.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            archive.writestr("0.npy", npy_bytes(np.arange(3)))  # it is recognised by that
            for _ in range(rnd.randrange(8)):
                member = rnd.choice(["a", "b", "a.npy", "b.npy", "a.npy.npy", "d/", "d/a", "d/a.npy", "README"])
                content = npy_bytes(rng.integers(-9, 9, rnd.randrange(5)).astype(rnd.choice(["i1", "<u2", ">f4", "f8"])))
                archive.writestr(member, "" if member[-1] == "/" else b"text" if member == "README" else content)
        with np.load(name) as archive:
            members = set(archive.zip.namelist())
            for member in sorted(members):
                x = archive[member]
                short = member.removesuffix(".npy")
                key = member if short in members else short
                assert np.array_equal(x, archive[key])
                if isinstance(x, np.ndarray):
                    out.write(f"odd/{number}.npz\t{key}\t{x.sum():.0f}\t{x.size}\n")
    for number, (order, code) in enumerate((o, c) for o in "<>=|" for c in "?bBhHiIlLqQefd"[:3 if o == "|" else None]):
        name = path(f"odd/{number}.npy")
        quote = rnd.choice(["'", "u'", 'u"', "U'"])
        header = f"{{{quote}descr{quote[-1]}: {quote}{order}{code}{quote[-1]}, {quote}fortran_order{quote[-1]}: False, " \
                 f"{quote}shape{quote[-1]}: (4L,), }}"
        data = np.array([1, 0, 1, 1], np.dtype(code).newbyteorder(order)).tobytes()
        with open(name, "wb") as file:
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data)
        x = np.load(name)
        out.write(f"odd/{number}.npy\t\t{x.astype('f8').sum():.0f}\t{x.size}\n")

# ------------------------------------------------------------------------------------------------
# Headers.
# ------------------------------------------------------------------------------------------------
BITS = {"F32": 32, "F64": 64, "BF16": 16, "U8": 8, "F4": 4, "C64": 64, "F8_E8M0": 8, "BOOL": 8, "F6_E2M3": 6}


def good():
    """A header that is right, as an object, and the bytes of its elements."""
    header, begin = {}, 0
    for i in range(rnd.randrange(4)):
        dtype = rnd.choice(list(BITS))
        shape = [rnd.choice([0, 1, 2, 3, 4, 8]) for _ in range(rnd.randrange(3))]
        bits = math.prod(shape) * BITS[dtype]
        end = begin + bits // 8
        header[f"a{i}"] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
        begin = end
    if rnd.random() < 0.3:
        header["__metadata__"] = {"k": "v"}
    return header, begin


def damage(header):
    """Changes a part of a header."""
    names = [n for n in header if n != "__metadata__"]
    kind = rnd.randrange(12)
    if not names:
        if kind < 6:
            header["__metadata__"] = rnd.choice([{}, None, [], {"a": 1}, {"a": {}}, "x", {"a": None}])
        return
    a = header[rnd.choice(names)]
    if kind == 0:
        a["dtype"] = rnd.choice(["F33", "f32", "", 4, None, "C64", "I64", "F8_E4M3", ["F32"]])
    elif kind == 1:
        a["shape"] = rnd.choice([[-1], [1.0], [2**64], [2**63, 4], [2**63, 4, 0], [0, 2**63, 2**63], "1", None, [None],
                                 [[1]], ["1"], [1, 1, 1], [True]])
    elif kind == 2:
        a["data_offsets"] = rnd.choice([[0], [], [0, 1, 2], [4, 0], [-1, 3], [0.0, 4], None, 4, [2**64 - 1, 2**64 - 1],
                                        [0, 2**64]])
    elif kind == 3:
        a["data_offsets"][rnd.randrange(2)] += rnd.choice([-1, 1, 4])
    elif kind == 4:
        del a[rnd.choice(list(a))]
    elif kind == 5:
        a["more"] = rnd.choice([1, "x", None, [1, {}], {"a": [True, False, 1e5]}])
    elif kind == 6:
        header[rnd.choice(names)] = rnd.choice([1, None, "x", {}])
    elif kind == 7:
        header["__metadata__"] = rnd.choice([{}, None, [], {"a": 1}, {"a": {}}, "x", {"a": None}, {"a": "\u20ac"}])
    elif kind == 8:
        a["shape"] = a["shape"] + [rnd.choice([0, 1, 2])]


def write(name, text, data, length=None):
    with open(path(name), "wb") as file:
        file.write(struct.pack("<Q", len(text) if length is None else length) + text + bytes(data))


with open(path("headers"), "w", encoding="ascii") as out:
    for number in range(1500):
        header, data = good()
        if rnd.random() < 0.6:
            damage(header)
        text = json.dumps(header, ensure_ascii=rnd.random() < 0.5).encode()
        text += b" " * rnd.choice([0, 0, 1, 5])
        length = None
        kind = rnd.randrange(12)
        if kind == 0 and text:
            at = rnd.randrange(len(text))
            text = text[:at] + bytes([rnd.choice(b'\0\x1f "\\{}[]:,0a\xff\xc3')]) + text[at + 1:]
        elif kind == 1:
            at = rnd.randrange(len(text) + 1)
            text = text[:at] + rnd.choice([b" ", b"\n", b"\t", b"x", b"/**/", b",", b"\xef\xbb\xbf"]) + text[at:]
        elif kind == 2:
            data = max(0, data + rnd.choice([-1, 1, 8]))
        elif kind == 3:
            length = rnd.choice([0, 1, len(text) + 1, len(text) + data, len(text) + data + 1, 10**8, 10**8 + 1, 2**63,
                                 2**64 - 1])
        name = f"h{number}"
        write(name, text, data, length)
        try:
            with open(path(name), "rb") as file:
                safetensors.deserialize(file.read())
            # That it begins with { is in the format's description, and the package does not look.
            out.write(f"{name} {'taken' if text[:1] == b'{' else 'refused'}\n")
        except (safetensors.SafetensorError, ValueError, OverflowError):
            out.write(f"{name} refused\n")
