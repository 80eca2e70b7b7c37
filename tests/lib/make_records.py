#!/usr/bin/env python3
"""make_records.py DIRECTORY: writes .npy files of structured and complex types by NumPy into DIRECTORY, and what gpureduce
prints of each NAME.npy, behind the name of the file, into NAME.tsv (`-o sum,min,max,argmin,argmax,nan,count`); all in one
stored.npz, and deflated.npz, what is printed of which is in npz.rows. Fields of raw
files: what is printed of NAME.bin with the options in NAME.options into NAME.one."""

import os
import sys

sys.dont_write_bytecode = True  # the sources may be read-only

import numpy as np
from expected import expect

directory = sys.argv[1]
random = np.random.default_rng(1)


def fields(array, name=""):
    """The arrays that gpureduce finds, by their names."""
    if array.dtype.names:
        for field in array.dtype.names:
            yield from fields(array[field], f"{name}.{field}" if name else field)
    elif array.dtype.kind == "c":
        yield from ((f"{name}.{part}" if name else part, value) for part, value in (("re", array.real), ("im", array.imag)))
    else:
        yield name, array


def fill(array):
    for _, part in fields(array):
        if part.dtype.kind == "f":
            part[...] = random.standard_normal(part.shape) * 10
        else:
            part[...] = random.integers(0, 100, part.shape)
    return array


saved, expected = {}, {}


def save(name, array, stored=None):
    np.save(os.path.join(directory, name), array)
    found = fields(array if stored is None else stored)
    shown = str.maketrans({"\\": "\\\\", "\t": "\\t", "\x7f": "\\177"})
    found = {key.translate(shown): value for key, value in found if value.dtype.kind != "S"}
    expect(os.path.join(directory, name + ".tsv"), found)
    saved[name] = array
    expected.update((f"{name}.{key}", value) for key, value in found.items())


record = np.dtype([("a", "<f4"), ("b", ">i8"), ("c", "u1", (2, 3)), ("n", [("x", "<f8"), ("deep", [("y", "<i2")])]), ("z", "<c8"),
                   ("d", ">f2", 4), (("title", "t"), "?")])
for name, shape in (("many", 70001), ("table", (30, 7)), ("one", 1), ("scalar", ()), ("none", 0), ("wide", (5, 0))):
    save(name, fill(np.zeros(shape, record)))
plain = np.dtype([("a", "<f4"), ("b", ">i8"), ("z", ">c16")])
turned = fill(np.zeros((20, 20), plain, order="F"))
save("turned", turned, turned.T)  # indices are those of the elements as they are stored
save("aligned", fill(np.zeros(9, np.dtype([("\u00e4", "u1"), ("v", "<f8"), ("w", "i2")], align=True))))
save("unicode", fill(np.zeros(9, [("\u4e2d", "<f4"), ("b", "<f4")])))
save("escaped", fill(np.zeros(9, [("it's \"\t\\", "<f4"), ("\x7f\u4e2d", "<i2"), ("b", "<f4")])))
gaps = {"names": ["a", "", "b"], "formats": ["<f4", "<i2", "u1"], "offsets": [0, 8, 12], "itemsize": 16}
save("unnamed", fill(np.zeros(9, np.dtype(gaps))))  # with padding, which has no name either
save("single", fill(np.zeros(1000, [("only", "<f4")])))
save("text", np.zeros(9, [("s", "S5"), ("b", "<f4")]))
save("complex", fill(np.zeros((40, 5), "<c16")))
save("big", fill(np.zeros(1000, ">c8")))
wide = np.zeros(300, [("head", "u1", 3000), ("v", "<f4", 5000)])
save("apart", fill(wide))
np.savez(os.path.join(directory, "stored.npz"), **saved)
np.savez_compressed(os.path.join(directory, "deflated.npz"), **saved)
expect(os.path.join(directory, "npz.rows"), expected)

TYPES = ["f4", "<f4", ">f8", "i8", "u1", ">i2", "f2", "?", "3f4", "2<i4", "S3", "V5", "u8"]
for i in range(12):
    types = [TYPES[k] for k in random.integers(0, len(TYPES), random.integers(1, 9))] + [TYPES[i % 10]]
    big, skip, count = i % 3 == 0, [0, 1, 4097][i % 3], [0, 1, 3000, 70000][i % 4]
    parts = [np.dtype(t).base.newbyteorder("|" if {"<", ">"} & set(t) else "<>"[big]) for t in types]
    record = np.dtype([(f"f{k}", part, np.dtype(t).shape) for k, (part, t) in enumerate(zip(parts, types))])
    array = fill(np.frombuffer(random.bytes(count * record.itemsize), record).copy()) if count else np.zeros(0, record)
    field = len(types) - 1
    with open(os.path.join(directory, f"raw{i}.bin"), "wb") as out:
        out.write(random.bytes(skip) + array.tobytes())
    with open(os.path.join(directory, f"raw{i}.options"), "w", encoding="ascii") as out:
        out.write(f"'--record={','.join(types)}:{field}' --skip={skip}" + " --endian=big" * big + "\n")
    expect(os.path.join(directory, f"raw{i}.one"), {"": array[f"f{field}"]})
