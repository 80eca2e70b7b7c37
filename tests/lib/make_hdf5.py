#!/usr/bin/env python3
"""make_hdf5.py DIRECTORY: writes files by h5py into DIRECTORY, and what gpureduce prints of them behind the name of
the file:
  NAME.h5, NAME.tsv, NAME.length.tsv, NAME.quantiles.tsv
            what `gpureduce -o sum,min,max,argmin,argmax,nan,count`, the same with --length=100, and `gpureduce -o
            q0.25,median --nan=skip` print; NAME is `old` and `new`, by the versions of the format,
            and `block` and `far`, which begin behind a block of the user's
  pair.h5   the same in one place and in chunks
  broken.h5 a damaged chunk in two of four datasets, at the bytes that `places` says
  torn.h5   a dataset of 40 chunks, three of which were written: number 3, at the byte that `places` says last, ends with
            damage, and numbers 7 and 20 begin with it
  tall.h5   chunks that each go through the whole array
  others.h5 datasets that are not reduced, and links
  unwritten.h5, unwritten.tsv
            datasets that were never written, and what is printed of those that have values all the same
  unreadable.h5, unreadable.tsv
            some datasets that the library cannot open, and what is printed of the others
  huge.h5, huge.tsv
            2^40 elements of which few or none were written, and what `-o
            sum,min,max,argmin,argmax,nan,count,zeros,negatives,sumsq,var,l1,q0.25,median,p99 --nan=skip` prints
  kinds.h5  datasets that hold numbers which cannot be read (array, mixed, numbers), and such that hold none
  records.h5, records.tsv
            records, and what is printed of their fields
  marked.h5 complex numbers that have a scale, records whose fill value has a field of two numbers, what MATLAB
            writes for zeros(0, 3), and an array with many missing values
  vast.h5   a record of 2 GB that was never written
  deep.h5, chain.h5
            groups within each other, and such with a dataset each, which has one element, of their depth
  damage/N  files in which a few bytes are others
Elements are drawn so that the extremes occur often: argmin and argmax must be the first ones in C order."""

import ctypes
import math
import os
import random
import re
import sys
import zlib
from fractions import Fraction

import h5py
import numpy as np

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import NAMES, expect, expect_quantiles  # noqa: E402
from shortest import shortest  # noqa: E402

directory = sys.argv[1]
rng = np.random.default_rng(7)
rnd = random.Random(7)

def path(name):
    return os.path.join(directory, name)


def draw(shape, dtype):
    """Elements of few different values."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    x = rng.integers(0, 9, shape)
    if not dtype.startswith("u"):
        x = x - 4
    x = np.asarray(x).astype(dtype)
    if dtype.startswith("float"):
        x /= 2
        if x.size and rnd.random() < 0.5:
            x.flat[rng.integers(0, x.size, 3)] = np.nan
    return x


def add(file, name):
    """Adds a dataset, stored somehow. Returns what is in it."""
    dtype = rnd.choice(list(NAMES) + 2 * ["float16", "float32", "float64"])
    shape = tuple(rnd.choice([1, 2, 3, 5, 8, 13, 21, 40]) for _ in range(rnd.choice([1, 2, 2, 3, 4, 5])))
    while math.prod(shape) > 20000:
        shape = shape[1:]
    x = draw(shape, dtype)
    stored = np.dtype(dtype)
    if dtype != "bool" and rnd.random() < 0.3:
        stored = stored.newbyteorder(">")
    how = rnd.randrange(8)
    if how == 0:
        file.create_dataset(name, data=x, dtype=stored)
        return x
    options = {}
    if rnd.random() < 0.7:
        options = {"compression": "gzip", "compression_opts": rnd.choice([0, 1, 6, 9])}
    chunks = tuple(rnd.randrange(1, n + 1) for n in shape)
    if rnd.random() < 0.2:  # chunks that are larger than the array
        chunks = tuple(n + rnd.randrange(5) for n in shape)
    while math.prod(-(-n // c) for n, c in zip(shape, chunks)) > 600:
        chunks = tuple(min(2 * c, n) for n, c in zip(shape, chunks))
    made = file.create_dataset(name, shape, stored, chunks=chunks, shuffle=rnd.random() < 0.5,
                               fletcher32=rnd.random() < 0.3, maxshape=tuple(None for _ in shape),
                               fillvalue=rnd.choice([None, x.dtype.type(1)]), **options)
    if how == 1:  # only a part of it is there
        part = tuple(slice(rnd.randrange(n), rnd.randrange(n) + 1) for n in shape)
        made[part] = x[part]
    elif how != 2:  # 2: nothing is
        made[...] = x
    return made[...]


def write(name, count, **options):
    arrays = {}
    with h5py.File(path(f"{name}.h5"), "w", **options) as file:
        for i in range(count):
            key = rnd.choice(["", "group/", "a/b/"]) + f"d{i:02}"
            arrays[key] = add(file, key)
        arrays["scalar"] = draw((), "float64")
        file["scalar"] = arrays["scalar"]
        arrays["none"] = file.create_dataset("none", (3, 0), "i4", chunks=(2, 1), maxshape=(3, None))[...]
        arrays["absent"] = file.create_dataset("absent", (300, 300), "f8", fillvalue=0.5)[...]
        arrays["wide"] = file.create_dataset("wide", (70, 4000), "f4", chunks=(64, 3000), fillvalue=2)[...]
        file.create_dataset("records", (300,), [("a", "<f4"), ("b", ">i2")])
        arrays["records.a"], arrays["records.b"] = np.zeros(300, "f4"), np.zeros(300, "i2")
        # Chunks from which a filter was left out, or both. (The library, 1.10.8, does not always read them.)
        arrays["masked"] = x = draw((4, 6), "int16")
        made = file.create_dataset("masked", (4, 6), "<i2", chunks=(2, 3), shuffle=True, compression="gzip")
        for mask, (i, j) in enumerate(((0, 0), (0, 3), (2, 0), (2, 3))):
            data = np.ascontiguousarray(x[i:i + 2, j:j + 3]).astype("<i2").tobytes()
            data = data if mask & 1 else data[::2] + data[1::2]
            made.id.write_direct_chunk((i, j), data if mask & 2 else zlib.compress(data), mask)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        arrays["header"] = draw((4, 5), "int16")
        made = h5py.h5d.create(file.id, b"header", h5py.h5t.STD_I16BE, h5py.h5s.create_simple((4, 5)), compact)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, arrays["header"])
    expect(path(f"{name}.tsv"), arrays)
    expect(path(f"{name}.length.tsv"), arrays, 100)
    expect_quantiles(path(f"{name}.quantiles.tsv"), arrays)


write("old", 40)
write("new", 40, libver=("v110", "v110"))
write("block", 4, userblock_size=1024)
write("far", 1, userblock_size=8192)

with h5py.File(path("pair.h5"), "w") as file:
    grid = np.arange(24, dtype="f4").reshape(4, 6)
    file["plain"] = grid
    file.create_dataset("chunked", data=grid, chunks=(2, 4), compression="gzip")

# A chunk of two is damaged. And elements whose order needs all of a terabyte in memory; of the chunks there is one.
with h5py.File(path("broken.h5"), "w") as file:
    file.create_dataset("deflated", data=grid, chunks=(2, 4), compression="gzip")
    file.create_dataset("summed", data=grid, chunks=(2, 4), fletcher32=True)
    file.create_dataset("whole", data=grid, chunks=(2, 4), fletcher32=True, compression="gzip")
    file["plain"] = grid
    places = [file[name].id.get_chunk_info(3).byte_offset for name in ("deflated", "summed")]
with h5py.File(path("torn.h5"), "w") as file:
    x = file.create_dataset("x", (40, 1 << 18), "f4", chunks=(1, 1 << 18), compression="gzip")
    for number in (3, 7, 20):
        x[number] = rng.integers(0, 99, 1 << 18)
    torn = [x.id.get_chunk_info(number) for number in range(3)]
damage = {
    "broken.h5": [place + 5 for place in places],
    "torn.h5": [torn[0].byte_offset + torn[0].size - 1, torn[1].byte_offset, torn[2].byte_offset],
}
places.append(torn[0].byte_offset)
for name, bad in damage.items():
    with open(path(name), "r+b") as file:
        for place in bad:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 255]))
with open(path("places"), "w", encoding="utf-8") as out:
    out.write("".join(f"{place}\n" for place in places))
with h5py.File(path("tall.h5"), "w") as file:
    file.create_dataset("tall", (512, 1 << 30), "f4", chunks=(512, 1 << 14), compression="gzip")[0, 0] = 1
    file.create_dataset("fill", (512, 1 << 12), "f4", chunks=(512, 1 << 11), fillvalue=0.5)
    file["other"] = grid



def twelve_bits(file, name, values, chunks=None):
    """An enumeration of integers that do not fill their bytes."""
    base, properties = h5py.h5t.STD_I16LE.copy(), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    base.set_precision(12)
    kind = h5py.h5t.enum_create(base)
    for i in range(3):
        kind.enum_insert(b"abc"[i:i + 1], i)
    if chunks:
        properties.set_chunk(chunks)
    d = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(values.shape), properties)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, values, kind)


with h5py.File(path("enums.h5"), "w") as file:
    colour = h5py.enum_dtype({"red": 0, "green": 1, "blue": -42}, "i2")
    file.create_dataset("colours", data=np.array([0, 1, -42, 1], "i2"), dtype=colour)
    file["colours"].attrs.create("_FillValue", np.int16(1), dtype=colour)
    file.create_dataset("chunks", data=np.arange(1000, dtype="i2") % 2, dtype=colour, chunks=(64,), compression="gzip", shuffle=True)
    file.create_dataset("big", data=np.array([3, 4], ">u8"), dtype=h5py.enum_dtype({"three": 3, "four": 4}, ">u8"))
    file["records"] = np.array([(1, 1.5), (0, 2)], [("colour", colour), ("value", "f4")])
with h5py.File(path("others.h5"), "w") as file:
    file["text"] = "text"
    twelve_bits(file, "colours", np.zeros(3, "i2"), (3,))
    file["long"] = np.ones(3, "f16")
    file["empty"] = h5py.Empty("f4")
    file.create_dataset("filtered", (9,), "f8", chunks=(9,), compression=32099, allow_unknown_filter=True)
    file["filtered"].id.write_direct_chunk((0,), np.arange(9.0).tobytes())
    file.create_dataset("scaled", data=np.arange(9), chunks=(9,), compression=32098, allow_unknown_filter=True)
    file["x"] = np.arange(9, dtype="i2")
    file["same"] = file["x"]
    file["soft"] = h5py.SoftLink("/x")
    file["elsewhere"] = h5py.ExternalLink("old.h5", "/d00")
    file["gone"] = h5py.SoftLink("/nowhere/at/all")
    file["astray"] = h5py.SoftLink("/elsewhere")
    twelve_bits(file, "enum", np.zeros(1, "i2"))
    layout = h5py.VirtualLayout((9,), "i2")
    layout[...] = h5py.VirtualSource("others.h5", "x", (9,))
    file.create_virtual_dataset("virtual", layout)

# h5py does not make undefined fill values: its library does.
with open("/proc/self/maps", encoding="utf-8") as maps:
    library = ctypes.CDLL(next(line.split()[-1] for line in maps if "libhdf5" in line and "_hl" not in line))


def unwritten(file, name, chunks, fill, never=False, shape=(8,)):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if chunks:
        properties.set_chunk(chunks)
    if never:
        properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    if fill == "undefined":
        assert library.H5Pset_fill_value(ctypes.c_int64(properties.id), ctypes.c_int64(h5py.h5t.STD_I32LE.id), None) >= 0
    elif fill is not None:
        properties.set_fill_value(np.array(fill, "i4"))
    space = h5py.h5s.create_simple(shape)
    return h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_I32LE, space, properties)


with h5py.File(path("unwritten.h5"), "w") as file:
    for layout, chunks in (("contiguous", None), ("chunked", (4,))):
        unwritten(file, f"{layout}_undefined", chunks, "undefined")
        unwritten(file, f"{layout}_never", chunks, 7, True)
        unwritten(file, f"{layout}_zero", chunks, None)
        unwritten(file, f"{layout}_seven", chunks, 7)
        unwritten(file, f"{layout}_nothing", chunks, "undefined", shape=(0,))
        unwritten(file, f"{layout}_written", chunks, "undefined", True)
        file[f"{layout}_written"][:] = range(8)
    for name, fill in (("undefined", "undefined"), ("never", 7)):
        unwritten(file, f"part_{name}", (4,), fill, fill == 7)
        file[f"part_{name}"][:4] = 1
    names = [name for name in file if not (name.endswith(("undefined", "never")))]
    expect(path("unwritten.tsv"), {name: file[name][...] for name in names})

# A version of a datatype, and the signature of the index of chunks, that the library does not know.
with h5py.File(path("unreadable.h5"), "w") as file:
    for name in ("a", "g/c", "z"):
        file[name] = np.arange(4, dtype="i4")
    file["g/b"] = np.arange(4, dtype=">u2")
    file.create_dataset("h", data=np.arange(8.0), chunks=(2,))
    expect(path("unreadable.tsv"), {name: file[name][...] for name in ("a", "g/c", "z")})
with open(path("unreadable.h5"), "r+b") as file:
    content = file.read()
    for signature, number in ((b"\x10\x01\0\0\x02\0\0\0\0\0\x10\0", 0x70), (b"TREE\x01", 0)):
        assert content.count(signature) == 1
        file.seek(content.index(signature))
        file.write(bytes([number]))

def expect_multiset(type_name, values, first):
    """The results of elements that come so many times: of values without NaNs. `first`: where each comes first."""
    count = sum(values.values())
    exact = {value: Fraction(value) for value in values}
    total = sum(exact[value] * times for value, times in values.items())
    squares = sum(exact[value] ** 2 * times for value, times in values.items())
    ordered = sorted(values)
    quantiles = []
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(99, 100)):
        place = share * (count - 1)
        ends = []
        for index in (place.numerator // place.denominator, -(-place.numerator // place.denominator)):
            for value in ordered:
                if index < values[value]:
                    ends.append(exact[value])
                    break
                index -= values[value]
        quantiles.append(float(ends[0] + (place % 1) * (ends[1] - ends[0])))

    def real(x):
        return shortest(float(x), "float64")

    whole = type_name[0] in "iu"
    least, most = ((str(v) if whole else shortest(v, NAMES_OF[type_name])) for v in (ordered[0], ordered[-1]))
    return [str(total) if whole else real(total), least, most, first[ordered[0]], first[ordered[-1]], 0, count,
            values.get(0, 0), sum(n for v, n in values.items() if v < 0), real(squares),
            real((squares - total * total / count) / count), real(sum(abs(exact[v]) * n for v, n in values.items())),
            *(real(q) for q in quantiles)]


NAMES_OF = {short: long for long, short in NAMES.items()}
SIZE = 1 << 40
with h5py.File(path("huge.h5"), "w") as file, open(path("huge.tsv"), "w", encoding="utf-8") as out:
    rows = {}
    tenth = float(np.float32(0.1))
    for name, shape, dtype, fill, chunks in (
            ("contiguous", (1 << 30, 1 << 10), "f4", tenth, None), ("small", (SIZE,), "f8", -0.1, (1 << 10,)),
            ("long", (SIZE,), "i8", -(1 << 62) + 12345, None), ("half", (1 << 20, 1 << 20), ">f2", 1.5, (8, 8)),
            ("byte", (SIZE,), "u1", 3, None), ("zero", (SIZE,), "i4", 0, None), ("words", (SIZE,), ">u8", 2**64 - 1, None)):
        file.create_dataset(name, shape, dtype, chunks=chunks, fillvalue=fill)
        rows[name] = [NAMES[np.dtype(dtype).name], shape, expect_multiset(NAMES[np.dtype(dtype).name], {fill: SIZE}, {fill: 0})]
    # Some are written in chunks far from each other.
    x = file.create_dataset("sparse", (SIZE,), "f4", chunks=(1 << 24,), fillvalue=0.5, compression=1)
    x[(1 << 30) + 7] = -3
    x[SIZE - 1] = 12
    rows["sparse"] = ["f32", (SIZE,), expect_multiset("f32", {0.5: SIZE - 2, -3.0: 1, 12.0: 1},
                                                      {0.5: 0, -3.0: (1 << 30) + 7, 12.0: SIZE - 1})]
    # A quarter of what this holds differs from the fill value.
    x = file.create_dataset("part", (1 << 22,), "i4", chunks=(1 << 16,), fillvalue=7)
    x[1 << 20:1 << 21] = np.arange(1 << 20) % 1000
    held = {value: int(times) for value, times in zip(*np.unique(x[...], return_counts=True))}
    held = {int(value): times for value, times in held.items()}
    rows["part"] = ["i32", (1 << 22,), expect_multiset("i32", held, {0: 1 << 20, 999: (1 << 20) + 999, 7: 0})]
    names = "sum min max argmin argmax nan count zeros negatives sumsq var l1 q0.25 median p99".split()
    out.write("\t".join(["array", "dtype", "shape", *names]) + "\n")
    for name, (dtype, shape, row) in sorted(rows.items()):
        out.write("\t".join(map(str, [name, dtype, f"[{','.join(map(str, shape))}]", *row])) + "\n")
with h5py.File(path("nans.h5"), "w") as file:
    file.create_dataset("nans", (SIZE,), "f8", fillvalue=np.nan)

with h5py.File(path("deep.h5"), "w") as file:
    group = file.id
    for depth in range(4000):
        group = h5py.h5g.create(group, b"g")
    h5py.Group(group)["x"] = np.array([4000], "i4")
with h5py.File(path("chain.h5"), "w") as file:
    group = file.id
    for depth in range(2000):
        group = h5py.h5g.create(group, b"g")
        h5py.Group(group)["x"] = np.array([depth], "i4")
        if depth == 1000:
            h5py.Group(group)["up"] = file["/"]  # a group that holds itself

record = np.zeros((3, 400), [("a", ">f4"), ("b", "<i8"), ("c", "u1", (2, 3)), ("n", [("x", "f8"), ("deep", [("y", ">i2")])]),
                             ("z", "c8"), ("flag", "?"), ("text", "S5")])
numbers = np.random.default_rng(2)
parts = {"a": record["a"], "b": record["b"], "c": record["c"], "n.x": record["n"]["x"], "n.deep.y": record["n"]["deep"]["y"],
         "z.re": record["z"].real, "z.im": record["z"].imag, "flag": record["flag"]}
for part in parts.values():
    part[...] = numbers.integers(0, 2, part.shape) if part.dtype == "?" else numbers.standard_normal(part.shape) * 9 + 30
expected = {f"g/all.{key}": part for key, part in parts.items()}
expected.update({f"one.{key}": part[1, 7] for key, part in parts.items()})
expected.update({"complex.re": parts["n.x"], "complex.im": parts["n.x"]})
chunked = {"chunked": {}, "shuffled": {"shuffle": True, "fletcher32": True, "compression": "gzip"}, "lzf": {"compression": "lzf"}}
for key, part in parts.items():
    expected.update({f"{name}.{key}": part for name in chunked})
    expected[f"grown.{key}"] = np.concatenate([part[:2, :150], np.full((2, 50) + part.shape[2:], 7, part.dtype)], 1)
    expected[f"empty.{key}"] = part[:0]
    expected[f"nothing.{key}"] = np.zeros_like(part)
bits = np.arange(5, dtype="u2")
expected["bits"] = bits
with h5py.File(path("records.h5"), "w") as file:
    file["g/all"] = record
    file["one"] = record[1, 7]
    file["complex"] = parts["n.x"] * (1 + 1j)
    for name, filters in chunked.items():
        file.create_dataset(name, data=record, chunks=(2, 100), **filters)
    seven = np.zeros((), record.dtype)
    for field in seven.dtype.names:
        seven[field] = 7
    seven["n"]["x"] = seven["n"]["deep"]["y"] = 7
    seven["z"] = 7 + 7j
    grown = file.create_dataset("grown", (2, 150), record.dtype, chunks=(2, 75), maxshape=(None, None), fillvalue=seven)
    grown[...] = record[:2, :150]
    grown.resize((2, 200))
    file.create_dataset("empty", (0, 400), record.dtype, chunks=(2, 100), maxshape=(None, 400))
    file.create_dataset("nothing", record.shape, record.dtype)
    kind = h5py.h5t.STD_B16LE
    h5py.h5d.create(file.id, b"bits", kind, h5py.h5s.create_simple((5,))).write(h5py.h5s.ALL, h5py.h5s.ALL, bits, kind)
    file.create_dataset("arrays", data=np.zeros(3, [("z", "c8", 3), ("r", [("x", "f4")], 2)]))
expect(path("records.tsv"), {key: np.asarray(part) for key, part in expected.items()})

with h5py.File(path("marked.h5"), "w") as file:
    file["z"] = np.array([1 + 2j, 3])
    file["z"].attrs["scale_factor"] = 0.5
    two = np.array([([1, 2],)], [("x", "i2", 2)])
    file.create_dataset("filled", (4,), two.dtype, chunks=(2,), fillvalue=two[0])[:2] = two[0]
    file["none"] = np.array([0, 3], "u8")
    file["none"].attrs["MATLAB_empty"] = np.uint8(1)
    file["some"] = np.array([0, 3], "u8")
    file["some"].attrs["MATLAB_empty"] = np.uint8(0)
    file["many"] = np.arange(5)
    file["many"].attrs["_FillValue"] = np.arange(0, 60, 2)

with h5py.File(path("vast.h5"), "w") as file:
    record = h5py.h5t.create(h5py.h5t.COMPOUND, 4 + (1 << 31))
    record.insert(b"a", 0, h5py.h5t.STD_I32LE)
    record.insert(b"b", 4, h5py.h5t.array_create(h5py.h5t.STD_I32LE, (1 << 29,)))
    h5py.h5d.create(file.id, b"x", record, h5py.h5s.create_simple((2,)))

with h5py.File(path("kinds.h5"), "w") as file:
    file["number"] = np.arange(5.0)
    for name, dtype in (
            ("text", h5py.string_dtype()), ("reference", h5py.ref_dtype), ("opaque", np.dtype("V5")),
            ("references", h5py.vlen_dtype(h5py.ref_dtype)), ("numbers", h5py.vlen_dtype(np.dtype("i4"))),
            ("texts", np.dtype([("a", "S3"), ("b", h5py.string_dtype())])),
            ("mixed", np.dtype([("a", "S3"), ("b", "f4")])),
            ("array", h5py.h5t.array_create(h5py.h5t.NATIVE_FLOAT, (3,)).dtype)):
        file.create_dataset(name, (2,), dtype)

os.mkdir(path("damage"))
for source in ("old", "block"):
    with open(path(f"{source}.h5"), "rb") as file:
        good = file.read()
    # Most bytes are elements: what describes them comes first, or is told by its signature.
    marks = [found.start() for mark in (b"TREE", b"SNOD", b"HEAP", b"\x89HDF") for found in re.finditer(mark, good)]
    for i in range(25):
        bad = bytearray(good)
        for _ in range(rnd.randrange(1, 6)):
            at = min(rnd.choice(marks) + rnd.randrange(4, 300), len(good) - 1)
            bad[at] = rnd.randrange(256)
        if rnd.random() < 0.1:
            del bad[rnd.randrange(600, len(bad)):]
        with open(path(f"damage/{source}{i:02}"), "wb") as file:
            file.write(bad)
