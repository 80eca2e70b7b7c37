#!/usr/bin/env python3
"""chunks_check.py PROGRAM SEED COUNT: writes COUNT datasets in chunks by h5py, of any shape, chunks, filters and type,
and what is in them as .npy, and has PROGRAM reduce both along an axis, whose results must be the same bytes; and
compare both with each other, with others that differ in a few elements, and with one that has a damaged chunk. What
the .npy should come to is tested elsewhere, but NumPy counts the differences, too. Prints what differs; the exit
status is 1 then."""

import math
import random
import subprocess
import sys

import h5py
import numpy as np

program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rnd = random.Random(seed)
rng = np.random.default_rng(seed)
wrong = 0
try:
    import hdf5plugin
    plugins = [hdf5plugin.Zstd(), hdf5plugin.LZ4(), hdf5plugin.LZ4(nbytes=1000), hdf5plugin.Bitshuffle(),
               hdf5plugin.Bitshuffle(nelems=24), hdf5plugin.Bitshuffle(cname="none"), hdf5plugin.Bitshuffle(cname="zstd"),
               *(hdf5plugin.Blosc(cname=name, clevel=rnd.choice([1, 5, 9]), shuffle=rnd.randrange(3))
                 for name in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"))]
except ImportError:
    plugins = []
# Options of szip, where the library and the program have it.
szips = [("nn", 8), ("ec", 16), ("nn", 2), ("ec", 10), ("nn", 32)]
if (not h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP)
        or not h5py.h5z.get_filter_info(h5py.h5z.FILTER_SZIP) & h5py.h5z.FILTER_CONFIG_ENCODE_ENABLED
        or b"\nszip: none\n" in subprocess.run([program, "--version"], capture_output=True, check=True).stdout):
    szips = []


def run(*arguments, file=None):
    done = subprocess.run([program, "--no-progress", *arguments], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def complain(*words):
    global wrong
    wrong += 1
    print(*words)


def some_array():
    dtype = rnd.choice(["f4", "f8", "f2", "i1", "u1", "i2", "i4", "u8", "i8", "bool"])
    shape = tuple(rnd.choice([1, 2, 3, 7, 16, 33, 100, 257]) for _ in range(rnd.choice([1, 2, 2, 3, 3, 4])))
    while math.prod(shape) > 300000:
        shape = shape[1:]
    if dtype == "bool":
        return rng.random(shape) < 0.5
    x = rng.integers(0, 120, shape)
    x = (x - 60 if dtype[0] != "u" else x).astype(dtype)
    if dtype[0] == "f":
        x /= 8
        if rnd.random() < 0.3:
            x.flat[rng.integers(0, x.size, 2)] = np.nan
    return x


def write(name, x):
    """Writes a dataset of this, stored somehow. Returns what is in it: not all of it need be there."""
    chunks = tuple(rnd.choice([1, n, rnd.randrange(1, n + 1)]) for n in x.shape)
    if rnd.random() < 0.2:
        chunks = tuple(n + rnd.randrange(4) for n in x.shape)
    while math.prod(-(-n // c) for n, c in zip(x.shape, chunks)) > 3000:
        chunks = tuple(min(2 * c, n) for n, c in zip(x.shape, chunks))
    stored = x.dtype.newbyteorder(">") if x.dtype != bool and rnd.random() < 0.3 else x.dtype
    options = rnd.choice([{}, {"compression": "gzip", "compression_opts": 1}, {"compression": "lzf"}, *plugins])
    if szips and rnd.random() < 0.25:
        how = rnd.choice([szip for szip in szips if szip[1] <= math.prod(chunks)] or [None])
        options = {"compression": "szip", "compression_opts": how} if how else {}
    if x.dtype.kind in "iu" and rnd.random() < 0.1:
        options = {"scaleoffset": 0}
    with h5py.File(name, "w", libver=rnd.choice([None, ("v110", "v110")])) as file:
        made = file.create_dataset("x", x.shape, stored, chunks=chunks, shuffle=rnd.random() < 0.5,
                                   fletcher32=rnd.random() < 0.3 and "scaleoffset" not in options,
                                   fillvalue=rnd.choice([None, x.dtype.type(1)]), maxshape=tuple(None for _ in x.shape), **options)
        how = rnd.random()
        if how < 0.15:
            part = tuple(slice(rnd.randrange(n), rnd.randrange(n) + 1) for n in x.shape)
            made[part] = x[part]
        elif how < 0.95:
            made[...] = x
        return made[...], chunks


def damage(name, x):
    """Writes a dataset of this whose chunks have checksums, and spoils one. Returns where that is in the file."""
    chunks = tuple(rnd.randrange(1 + n // 8, n + 1) for n in x.shape)
    with h5py.File(name, "w") as file:
        made = file.create_dataset("x", data=x, chunks=chunks, fletcher32=True, compression=rnd.choice([None, "gzip"]))
        chunk = made.id.get_chunk_info(rnd.randrange(made.id.get_num_chunks()))
    with open(name, "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size - 1)
        last = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([last[0] ^ 64]))
    return chunk.byte_offset


def options():
    found = []
    if rnd.random() < 0.6:
        found += ["-j", str(rnd.randrange(1, 9))]
    if rnd.random() < 0.5:
        found += [f"--chunk-size={rnd.choice([1, 100, 4096, 100000])}"]
    return found


OPERATIONS = "sum,mean,min,max,argmin,argmax,count,nan,zeros,var"
for number in range(count):
    x, chunks = write("x.h5", some_array())
    np.save("x.npy", x)
    what = f"{x.dtype} {x.shape} in chunks of {chunks}"
    for axis in {rnd.randrange(x.ndim), -1}:
        asked = ["-q", f"--axis={axis}", "-o", rnd.choice(["sum,min,max", "sum", OPERATIONS]), *options()]
        want, got = run(*asked, "x.npy"), run(*asked, "x.h5")
        if want[0] != 0 or got != want:
            complain(what, asked, got[2], got[0], "other results" if got[1] != want[1] else "")
    got = run("--diff", "-q", *options(), "x.npy", "x.h5")
    if got[0] != 0 or got[1] or got[2]:
        complain(what, "compared with itself", got)
    y = x.copy()
    for _ in range(rnd.randrange(1, 4)):
        at = rng.integers(0, x.size)
        y.flat[at] = not y.flat[at] if x.dtype == bool else y.flat[at] + 1
    np.save("y.npy", y)
    sides = ("x", "y") if rnd.random() < 0.5 else ("y", "x")
    asked = ["--diff", "--tsv", "--number=hex", *rnd.choice([[], ["--nan=skip"], [f"--length={rnd.randrange(1, x.size + 1)}"]])]
    want = run(*asked, *(f"{side}.npy" for side in sides))
    if len(asked) == 3:
        other = np.flatnonzero((x != y) & ~((x != x) & (y != y)))
        fields = want[1].split(b"\n")[1].split(b"\t") if other.size else []
        if fields and (int(fields[5]), int(fields[6].split()[0])) != (other.size, other[0]):
            complain(what, asked, want, other.size, other[0])
    if number % 6 == 0:
        place = damage("bad.h5", x)
        for left, right in (("x.npy", "bad.h5"), ("bad.h5", "x.h5")):
            got = run("--diff", *options(), left, right)
            if got[0] != 2 or f"bad.h5: array x: byte {place}: ".encode() not in got[2]:
                complain(what, "damaged at", place, left, right, got)
    for left, right in (("npy", "h5"), ("h5", "npy"), ("h5", "h5")):
        if "h5" in (left, right):
            write("y.h5", y)
            with h5py.File("y.h5", "a") as file:
                file["x"][...] = y
        got = run(*asked, *options(), f"{sides[0]}.{left}", f"{sides[1]}.{right}")
        # NAME is the dataset's, where there is one.
        fields = [[line.split(b"\t")[1:] for line in out.splitlines()] for out in (want[1], got[1])]
        if got[0] != want[0] or got[2] != want[2] or fields[0] != fields[1]:
            complain(what, asked, left, right, got, want)
sys.exit(wrong > 0)
