#!/usr/bin/env python3
"""make_netcdf3.py DIRECTORY: writes files of CDF-1, CDF-2 and CDF-5 by netCDF4 and, where it is installed, by scipy into
DIRECTORY, and what gpureduce prints of each NAME.nc, behind the name of the file, in the order of names:
  NAME.stored.tsv  `--stored -o sum,min,max,argmin,argmax,nan,count`
  NAME.tsv         the same without --stored; only of files by netCDF4
  axes-KIND.nc     variables in records, with NAME.axis0, NAME.axis1: what `-q --stored -o sum,max --axis=N` prints of
                   each; axes.quantiles.tsv: `-o q0.25,median` of all; axes.npz: the elements
The elements are those that were written; what netCDF4 and scipy return is compared with them, and masks are netCDF4's."""

import os
import random
import sys
import warnings

import netCDF4
import numpy as np

try:
    import scipy.io
except ImportError:
    scipy = None

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import expect, expect_quantiles  # noqa: E402
from shortest import shortest  # noqa: E402

directory = sys.argv[1]
warnings.simplefilter("ignore")  # of files that scipy closes, and of attributes that cannot be cast
rng = np.random.default_rng(42)
rnd = random.Random(42)
FORMATS = {"cdf1": "NETCDF3_CLASSIC", "cdf2": "NETCDF3_64BIT_OFFSET", "cdf5": "NETCDF3_64BIT_DATA"}
CLASSIC = ["i1", "i2", "i4", "f4", "f8"]
TYPES = {"cdf1": CLASSIC, "cdf2": CLASSIC, "cdf5": CLASSIC + ["u1", "u2", "u4", "i8", "u8"]}


def path(name):
    return os.path.join(directory, name)


def draw(shape, dtype):
    """Small numbers, some of the greatest and least, and NaNs."""
    data = np.atleast_1d(rng.integers(-100, 100, shape).astype("i8").astype(dtype))
    limits = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    for i in range(data.size):
        if rnd.random() < 0.1:
            limit = rnd.choice([limits.min, limits.max])
            data.ravel()[i] = limit / 256 if dtype == "f8" else limit  # so that sums do not overflow
        elif np.dtype(dtype).kind == "f" and rnd.random() < 0.05:
            data.ravel()[i] = "nan"
    return data.reshape(shape)


def expect_file(name, variables):
    expect(path(name + ".stored.tsv"), variables)
    with netCDF4.Dataset(path(name + ".nc")) as file:
        file.set_auto_maskandscale(False)
        for key, data in variables.items():
            found = np.ma.getdata(file[key][...])
            assert found.shape == data.shape and found.astype(data.dtype).tobytes() == data.tobytes(), (name, key)
    if scipy and "cdf5" not in name:
        with scipy.io.netcdf_file(path(name + ".nc"), mmap=False) as file:
            for key, data in variables.items():
                found = np.array(file.variables[key.encode().decode("latin-1")].data)
                assert found.astype(data.dtype).tobytes() == data.tobytes(), (name, key)


def write(name, kind, dimensions, variables, texts=(), attributes=()):
    """A file by netCDF4; `variables`: by name, the names of dimensions, and data."""
    with netCDF4.Dataset(path(name + ".nc"), "w", format=FORMATS[kind]) as file:
        for key, length in dimensions.items():
            file.createDimension(key, length)
        file.setncatts(dict(attributes))
        for key, (along, data) in variables.items():
            variable = file.createVariable(key, data.dtype.str[1:], along)
            variable.set_auto_maskandscale(False)
            variable.setncatts(dict(attributes))
            if data.size:
                variable[...] = data
        for key, along in texts:
            variable = file.createVariable(key, "S1", along)
            variable[...] = b"x"
    made = {key: data for key, (_, data) in variables.items()}
    expect_file(name, made)
    with netCDF4.Dataset(path(name + ".nc")) as file:
        expect(path(name + ".tsv"), {key: np.ma.masked_array(data, np.ma.getmaskarray(file[key][...]))
                                     for key, data in made.items()})


def all_attributes(kind):
    """Attributes of all types, of all lengths up to where they are filled up."""
    yield "title", "text of ä length"
    yield "empty", ""
    for dtype in TYPES[kind]:
        for length in (1, 2, 3, 5):
            yield f"{dtype} {length}", draw((length,), dtype)


def make_fixed(kind):
    names = ["x", "Größe", "température", "a" * 200, "b-c.d@e", "名前", "x1", "x_2", "x 3", "x4"]
    dimensions = {"x": 7, "y": 3, "z": 1}
    variables = {}
    for i, dtype in enumerate(2 * TYPES[kind]):
        along = rnd.choice([("x",), ("y", "x"), ("z", "y", "x"), ("y",), ("y", "y")])
        if i == 3:
            along = ()
        key = names[i] if i < len(names) else f"v{i}"
        variables[key] = (along, draw([dimensions[d] for d in along], dtype))
    write(f"fixed-{kind}", kind, dimensions, variables, [("text", ("x",)), ("letter", ())], all_attributes(kind))
    write(f"none-{kind}", kind, {"x": 3}, {})
    write(f"one-{kind}", kind, {}, {"single": ((), draw((), "f8"))})


def make_records(kind):
    """Records: none, one, many; of one variable, which are not filled up, and of several; large and small ones."""
    for records in (0, 1, 6, 300):
        dimensions = {"t": None, "x": 3, "y": 5}
        variables = {"fixed": (("x",), draw((3,), "i4"))}
        for i, dtype in enumerate(2 * TYPES[kind]):
            along = rnd.choice([("t",), ("t", "x"), ("t", "x", "y"), ("t", "y")])
            variables[f"v{i}"] = (along, draw([records] + [dimensions[d] for d in along[1:]], dtype))
        write(f"records{records}-{kind}", kind, dimensions, variables, [("text", ("t", "y") if records else ("y",))])
    for dtype in TYPES[kind]:
        write(f"single-{dtype}-{kind}", kind, {"t": None, "x": 3}, {"v": (("t", "x"), draw((7, 3), dtype))})
    large = {"a": ("t", "x"), "time": ("t",), "b": ("t", "y")}
    lengths = {"t": 9, "x": 20001, "y": 7000}
    variables = {"fixed": (("x",), draw((20001,), "i2"))}
    for key, along in large.items():
        variables[key] = (along, draw([lengths[d] for d in along], rnd.choice(["i2", "f4", "f8"])))
    write(f"large-{kind}", kind, lengths | {"t": None}, variables)
    if kind == "cdf5":  # so large that it has several shards
        data = rng.integers(-100, 100, (700, 2003))
        write("long-cdf5", kind, {"t": None, "x": 2003},
              {key: (("t", "x"), data.astype(key)) for key in ("f8", "i2", "u1")} | {"t": (("t",), data[:, 0].copy())})


def make_axes(kind):
    """Variables that are reduced along both of their dimensions: small integers and halves."""
    lengths = {"t": 40, "x": 3000, "y": 50}
    variables = {}
    for key, dtype in (("i2", "i2"), ("f4", "f4"), ("f8", "f8")):
        for d in ("x", "y"):
            data = rng.integers(-1000, 1000, (40, lengths[d])) * (1 if dtype == "i2" else 0.5)
            variables[key + d] = (("t", d), data.astype(dtype))
    write(f"axes-{kind}", kind, lengths | {"t": None}, variables)
    arrays = {key: data for key, (_, data) in variables.items()}
    expect_quantiles(path(f"axes-{kind}.quantiles.tsv"), arrays)
    np.savez(path(f"axes-{kind}.npz"), **arrays)
    for key, data in arrays.items():
        for axis in (0, 1):
            with open(path(f"axes-{kind}.{key}.axis{axis}"), "w", encoding="utf-8") as out:
                for total, most in zip(data.astype("f8").sum(axis), data.max(axis)):
                    total = str(int(total)) if data.dtype.kind == "i" else shortest(total, "float64")
                    out.write(f"{total}\t{shortest(most.item(), data.dtype.name) if data.dtype.kind == 'f' else most}\n")


def make_by_scipy(version):
    kind = f"cdf{version}"
    variables = {}
    with scipy.io.netcdf_file(path(f"scipy-{kind}.nc"), "w", version=version) as file:
        file.history = "by scipy"
        for key, length in (("x", 5), ("y", 3)):
            file.createDimension(key, length)
        for i, dtype in enumerate(CLASSIC):
            data = variables[f"v{i}"] = draw((3, 5), dtype)
            variable = file.createVariable(f"v{i}", dtype, ("y", "x"))
            variable[:] = data
            variable.units = "m"
    expect_file(f"scipy-{kind}", variables)
    variables = {}
    with scipy.io.netcdf_file(path(f"scipy-records-{kind}.nc"), "w", version=version) as file:
        file.createDimension("t", None)
        file.createDimension("x", 5)
        for i, dtype in enumerate(CLASSIC):
            data = variables[f"v{i}"] = draw((8, 5), dtype)
            file.createVariable(f"v{i}", dtype, ("t", "x"))[:] = data
    expect_file(f"scipy-records-{kind}", variables)


for kind in FORMATS:
    make_fixed(kind)
    make_records(kind)
    make_axes(kind)
if scipy:
    make_by_scipy(1)
    make_by_scipy(2)
