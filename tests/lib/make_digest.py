"""Writes one array in many forms, as files of the directory that is named: argv[1]. The text of its digest,
which tests/lib/digest.py works out, is in the file `expected`; `types` has lines for files of other types: a name of
a file, its type, its order of bytes, and the digest."""
import array
import json
import random
import struct
import sys
import zipfile
from pathlib import Path

from digest import digest

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

SHAPE = (23, 1, 41, 7)
SIZES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
         "u8": 1, "u16": 2, "u32": 4, "u64": 8, "bool": 1}


def reverse(data, size):
    return b"".join(data[i:i + size][::-1] for i in range(0, len(data), size))


def fortran(data, size):
    """Elements in C order, with the first index changing fastest."""
    a, b, c, d = SHAPE
    return b"".join(data[size * k:size * (k + 1)] for k in (
        ((i * b + j) * c + k) * d + m for m in range(d) for k in range(c) for j in range(b) for i in range(a)))


def npy(data, kind, order, shape=SHAPE):
    header = repr({"descr": kind, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def write_large(out, rng):
    """An array of several shards."""
    shape = (1001, 1500)
    words = array.array("f", (rng.random() for _ in range(shape[0] * shape[1])))
    if sys.byteorder == "big":
        words.byteswap()
    turned = array.array("f")
    for k in range(shape[1]):
        turned.extend(words[k::shape[1]])
    forms = {"c": npy(words.tobytes(), "<f4", False, shape), "f": npy(turned.tobytes(), "<f4", True, shape)}
    for name, form in forms.items():
        (out / f"large-{name}.npy").write_bytes(form)
    with zipfile.ZipFile(out / "large.npz", "w") as archive:
        for name, form in forms.items():
            archive.writestr(f"{name}.npy", form)
    (out / "large").write_text(digest("f32", len(words), words.tobytes()) + "\n")


def write_sets(out):
    """Arrays in files, and what has become of them: see tests/cli/digest.sh."""
    old = {name: bytes([i, i, 7]) for i, name in enumerate("abcdefghi")}
    new = {"x": {"a": old["a"], "b": old["b"], "other": old["f"], "e": b"123", "more": b"12"},
           "y": {"c": old["c"], "d d": old["d"], "h": old["i"], "i": old["h"]}}
    for path, arrays in [("old", {"set": old})] + [("new", new)]:
        (out / path).mkdir()
        for file, members in arrays.items():
            with zipfile.ZipFile(out / path / f"{file}.npz", "w") as archive:
                for name, data in members.items():
                    archive.writestr(f"{name}.npy", npy(data, "|u1", False, (len(data),)))
    (out / "single.npy").write_bytes(npy(b"9999", "|u1", False, (4,)))
    (out / "raw.u8").write_bytes(b"98")


def main():
    out = Path(sys.argv[1])
    rng = random.Random(43)
    count = 23 * 41 * 7
    data = struct.pack(f"<{count}f", *(rng.gauss(0, 1) for _ in range(count)))
    data = data[:-8] + bytes.fromhex("0102c07f00000080")  # a NaN, and -0
    turned = fortran(data, 4)
    text = digest("f32", count, data)
    (out / "expected").write_text(text + "\n")
    (out / "raw.f32").write_bytes(data)
    (out / "big.raw").write_bytes(reverse(data, 4))
    forms = {"c": npy(data, "<f4", False), "f": npy(turned, "<f4", True), "cb": npy(reverse(data, 4), ">f4", False),
             "fb": npy(reverse(turned, 4), ">f4", True)}
    for name, form in forms.items():
        (out / f"{name}.npy").write_bytes(form)
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(out / f"{name}.npz", "w", method) as archive:
            for member, form in forms.items():
                archive.writestr(f"{member}.npy", form)
    header = json.dumps({"x": {"dtype": "F32", "shape": SHAPE, "data_offsets": [0, 4 * count]}}).encode()
    (out / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    if h5py:
        x = numpy.frombuffer(data, "<f4").reshape(SHAPE)
        with h5py.File(out / "x.h5", "w") as file:
            file["whole"] = x
            file["big"] = x.astype(">f4")
            file.create_dataset("chunks", data=x, chunks=(5, 1, 6, 4), compression="gzip", shuffle=True)
            file.create_dataset("rows", data=x, chunks=(1, 1, 41, 7))
        y = numpy.full((300, 200), 2.5)
        y[40:60, :130] = numpy.arange(2600).reshape(20, 130)
        with h5py.File(out / "filled.h5", "w") as file:
            z = file.create_dataset("x", y.shape, "f8", chunks=(20, 130), fillvalue=2.5)
            z[40:60, :130] = y[40:60, :130]
        (out / "filled").write_text(digest("f64", y.size, y.astype("<f8").tobytes()) + "\n")
    write_large(out, rng)
    write_sets(out)
    with open(out / "types", "w") as types:
        for name, size in SIZES.items():
            for count in (0, 1, 5, 1023, 4100, 9001):
                data = rng.randbytes(size * count)
                if name == "bool":
                    data = bytes(x % 3 for x in data)
                value = digest(name, count, bytes(x != 0 for x in data) if name == "bool" else data)
                (out / f"{name}.{count}").write_bytes(data)
                (out / f"{name}.{count}.big").write_bytes(reverse(data, size))
                print(f"{name}.{count}", name, "little", value, file=types)
                print(f"{name}.{count}.big", name, "big", value, file=types)


main()
