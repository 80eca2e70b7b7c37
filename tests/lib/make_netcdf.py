#!/usr/bin/env python3
"""make_netcdf.py DIRECTORY: writes netCDF-4 files by netCDF4 into DIRECTORY, and what gpureduce prints of them:
  unlimited.nc, unlimited.tsv, whole.h5, filled.tsv
            variables that are shorter than their unlimited dimensions, what `--stored -o
            sum,min,max,argmin,argmax,nan,count` prints behind the name of the file, a file that has them in full, and
            what it prints without --stored
  attributes.nc, attributes.tsv
            variables with attributes, and what the same with --stored prints; meaning.tsv: what it prints of those that
            has no scale; `scaled`: names of those that have one; `errors`: those that cannot be read, and why
  old.nc, old.tsv  a file that does not say that it is netCDF, with default fill values
  pairs.nc, pairs.tsv  records that are shorter than their unlimited dimension
  dimensions.nc  dimensions alone
  names4.nc, names3.nc  variables that have the names of dimensions and are not their coordinates, as netCDF-4 and netCDF-3
  tiny.h5        numbers less than 0 that are rounded to 0
  scales.h5, scales.tsv  dimension scales of HDF5 that are not netCDF's
What netCDF4 returns is compared with what is expected here."""

import os
import random
import sys
import warnings

import h5py
import netCDF4
import numpy as np

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import expect  # noqa: E402

directory = sys.argv[1]
warnings.simplefilter("ignore")  # of byte orders
rng = np.random.default_rng(11)
rnd = random.Random(11)
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def path(name):
    return os.path.join(directory, name)


def draw(shape, dtype):
    return rng.integers(-100, 100, shape).astype("i8").astype(dtype)


def read(name, variables):
    """What netCDF4 returns, as it is stored."""
    with netCDF4.Dataset(path(name)) as file:
        file.set_auto_maskandscale(False)
        return {key: np.ma.getdata(file[key][...]) for key in variables}


# Unlimited dimensions, some in a group below that of the dimension; what is expected is made of what is written.
expected = {}
filled = {}
comparable = []
with netCDF4.Dataset(path("unlimited.nc"), "w") as file:
    lengths = {"t": 0, "s": 0, "x": 5, "y": 3}
    for name, length in lengths.items():
        file.createDimension(name, length if name in "xy" else None)
    groups = [file, file.createGroup("low"), file.createGroup("low/lower")]
    written = {}
    for i in range(60):
        names = rnd.choice([["t"], ["t", "x"], ["t", "y", "x"], ["s"], ["s", "t"], ["x", "t"], ["t", "s", "y"], ["y", "x"]])
        dtype = rnd.choice(TYPES)
        kind = rnd.choice(["default", "default", "given", "none"])
        fill = {"default": None, "given": 7, "none": False}[kind]
        group = rnd.choice(groups)
        options = {}
        if rnd.random() < 0.4:
            options = {"compression": "zlib", "shuffle": rnd.random() < 0.5, "fletcher32": rnd.random() < 0.5}
        if rnd.random() < 0.6:
            options["chunksizes"] = [rnd.randrange(1, 4) for name in names]
        variable = group.createVariable(f"v{i:02}", dtype, names, fill_value=fill,
                                        endian=rnd.choice(["little", "big"]), **options)
        shape = [lengths[n] if n in "xy" else rnd.choice([0, 1, 2, 3, 9]) for n in names]
        if 0 in shape:
            shape = [lengths[n] if n in "xy" else 0 for n in names]
        data = draw(shape, dtype)
        if data.size:
            variable[...] = data
        written[(variable.group().path.strip("/") + "/" + variable.name).strip("/")] = (names, data, fill, dtype)
    # Coordinate variables of several dimensions, which no scale refers to: they make the dimensions longer, too.
    for name, names, shape in (("t", ["t", "s"], (10, 2)), ("x", ["x", "s"], (5, 11)), ("z", ["z", "t"], (2, 3))):
        if name not in file.dimensions:
            file.createDimension(name, None)
            lengths[name] = 0
        variable = file.createVariable(name, "i4", names)
        data = draw(shape, "i4")
        variable[...] = data
        written[name] = (names, data, None, "i4")
    for name in "tsz":
        lengths[name] = len(file.dimensions[name])
    assert lengths["t"] == 10 and lengths["s"] == 11
for name, (names, data, fill, dtype) in written.items():
    shape = [lengths[n] for n in names]
    value = np.dtype(dtype).type(netCDF4.default_fillvals[dtype] if fill in (None, False) else fill)
    whole = np.full(shape, value, dtype)
    whole[tuple(slice(n) for n in data.shape)] = data
    expected[name] = whole
    # Variables of bytes that are not filled have no value that is missing.
    filled[name] = np.ma.array(whole, mask=whole == value if fill is not False or dtype[1] != "1" else False)
    # Where anything but a first dimension is longer than what is written, netCDF's library has been seen to return what
    # was in memory.
    if list(data.shape[1:]) == shape[1:]:
        comparable.append(name)
for name, data in read("unlimited.nc", comparable).items():
    assert np.array_equal(data, expected[name]), (name, data, expected[name])
assert len(comparable) > 20
expect(path("unlimited.tsv"), expected)
expect(path("filled.tsv"), filled)
with h5py.File(path("whole.h5"), "w") as file:
    for name, data in expected.items():
        file[name] = data

# Attributes.
cases = {
    "fill": {"_FillValue": -99}, "missing": {"missing_value": -99}, "range": {"valid_range": [0, 9]},
    "least": {"valid_min": 0}, "most": {"valid_max": 9}, "scale": {"scale_factor": 0.5},
    "offset": {"add_offset": 1.0}, "unsigned": {"_Unsigned": "true"}, "float": {"scale_factor": np.float32(2)},
    "packed": {"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768, "missing_value": -32768},
    "integer": {"scale_factor": np.int8(2), "add_offset": 1}, "near": {"scale_factor": np.nextafter(1, 2)},
}
errors = {
    "two": ({"scale_factor": [1.0, 1.0]}, "its attribute scale_factor is not one number"),
    "text": ({"scale_factor": "1"}, "its attribute scale_factor is not one number"),
    "nothing": ({"scale_factor": 0.0}, "the scale factor is not a finite number other than 0"),
    "endless": ({"add_offset": np.inf}, "the offset is not finite"),
    "large": ({"add_offset": np.int64(2**53 + 1)}, "its attribute add_offset is an integer that binary64 cannot hold"),
    "loud": ({"_Unsigned": "TRUE"}, "its attribute _Unsigned is neither true nor false"),
    "number": ({"_Unsigned": 1}, "its attribute _Unsigned is not a text"),
    "least two": ({"valid_min": [0, 1]}, "its attribute valid_min is not one number"),
    "many": ({"missing_value": list(range(-80, 80, 4))}, "its attribute missing_value names too many values"),
    "more": ({"missing_value": list(range(65))}, "its attribute missing_value has more than 64 numbers"),
}
ignored = {
    "wide": ({"missing_value": 70000}, "missing_value is no number of type i16"),
    "half": ({"missing_value": 0.5}, "missing_value is no number of type i16"),
    "one of two": ({"missing_value": [5, 70000]}, "missing_value is no number of type i16"),
    "word": ({"missing_value": "5"}, "missing_value is not a number"),
    "words": ({"valid_min": "0", "valid_max": "9"}, "valid_min is not a number; valid_max is not a number"),
    "three": ({"valid_range": [0, 1, 2], "valid_max": 9}, "valid_range is not two numbers"),
}
neutral = {
    "plain": {"units": "K", "long_name": "a name", "actual_range": [0, 1]}, "one": {"scale_factor": 1.0},
    "zero": {"add_offset": np.float32(0)}, "both": {"scale_factor": np.int16(1), "add_offset": 0},
    "signed": {"_Unsigned": "false"}, "minus": {"add_offset": -0.0},
}
with netCDF4.Dataset(path("attributes.nc"), "w") as file:
    file.createDimension("x", 12)
    expected = {}
    given = {**cases, **neutral, **{name: x[0] for name, x in {**errors, **ignored}.items()}}
    for name, attributes in given.items():
        variable = file.createVariable(name, "i2", ["x"], fill_value=attributes.get("_FillValue"))
        variable.set_auto_maskandscale(False)
        variable.setncatts({key: value for key, value in attributes.items() if key != "_FillValue"})
        variable[:] = expected[name] = draw([12], "i2")
    for name, dtype in (("u", "u1"), ("f", "f4")):
        variable = file.createVariable(name, dtype, ["x"])
        variable.setncatts({"_Unsigned": "true"})
        variable[:] = expected[name] = draw([12], dtype)
    for name, fill in (("cloud", 2), ("cover", None)):
        kind = file.createEnumType("i2", name + "_kind", {"clear": 0, "cumulus": 1, "missing": 2, "unwritten": netCDF4.default_fillvals["i2"]})
        variable = file.createVariable(name, kind, ["x"], fill_value=fill)
        variable[:] = expected[name] = np.arange(12, dtype="i2") % 3
for name, data in read("attributes.nc", expected).items():
    assert np.array_equal(data, expected[name]), name
expect(path("attributes.tsv"), expected)
scaled = [name for name in cases if {"scale_factor", "add_offset"} & set(cases[name])]
with netCDF4.Dataset(path("attributes.nc")) as file:
    expect(path("meaning.tsv"), {name: file[name][...] if name not in neutral else data for name, data in expected.items()
                                 if name not in errors and name not in scaled})
with open(path("scaled"), "w", encoding="utf-8") as out:
    out.writelines(name + "\n" for name in scaled)
with open(path("errors"), "w", encoding="utf-8") as out:
    for name, (attributes, why) in errors.items():
        out.write(name + "\t" + why + "\n")
with open(path("ignored"), "w", encoding="utf-8") as out:
    for name, (attributes, why) in ignored.items():
        out.write(name + "\t" + why + "\n")

# Files written before 2016 do not say what they are.
with netCDF4.Dataset(path("old.nc"), "w") as file:
    file.createDimension("t", None)
    file.createDimension("x", 3)
    for name, dtype, names in (("a", "i2", ["t", "x"]), ("t", "f8", ["t"]), ("b", "u1", ["x"]), ("c", "i4", ["t"])):
        file.createVariable(name, dtype, names)
    file["t"][:] = [1, 2, 3, 4]
    file["a"][:2] = draw([2, 3], "i2")
    file["b"][:2] = [3, 5]
with netCDF4.Dataset(path("old.nc")) as file:
    expected = {name: file[name][...] for name in "abct"}
assert np.ma.getmaskarray(expected["c"]).all() and np.ma.getmaskarray(expected["b"]).sum() == 1
expect(path("old.tsv"), expected)
with h5py.File(path("old.nc"), "r+") as file:
    del file.attrs["_NCProperties"]

pair = np.dtype([("a", "f4"), ("b", "i2")])
with netCDF4.Dataset(path("pairs.nc"), "w") as file:
    file.createDimension("t", None)
    file.createVariable("long", "f4", ("t",))[:] = [1, 2, 3, 4]
    kind = file.createCompoundType(pair, "pair")
    file.createVariable("pairs", kind, ("t",), chunksizes=[3])[:2] = np.array([(5, 6), (7, 8)], pair)
with netCDF4.Dataset(path("pairs.nc")) as file:
    found = file["pairs"][...]
    expect(path("pairs.tsv"), {"long": file["long"][...], "pairs.a": found["a"], "pairs.b": found["b"]})

with netCDF4.Dataset(path("dimensions.nc"), "w") as file:
    file.createDimension("x", 12)
    file.createDimension("t", None)

# Numbers less than 0 that binary64 rounds to 0.
with h5py.File(path("tiny.h5"), "w") as file:
    file["x"] = np.full((4, 6), -0.25, "f4")
    file["x"].attrs["scale_factor"] = 5e-324

# Scales of other files say nothing of how long datasets are.
with h5py.File(path("scales.h5"), "w") as file:
    file.create_dataset("scale", data=np.arange(4.0), maxshape=(None,))
    file["scale"].make_scale("a scale")
    file.create_dataset("short", data=np.arange(2.0), maxshape=(None,))
    file["short"].dims[0].attach_scale(file["scale"])
    expect(path("scales.tsv"), {name: file[name][...] for name in file})

# Names of dimensions.
for name, model in (("names4.nc", "NETCDF4"), ("names3.nc", "NETCDF3_64BIT_OFFSET")):
    with netCDF4.Dataset(path(name), "w", format=model) as file:
        groups = [file, file.createGroup("low")] if model == "NETCDF4" else [file]
        for group in groups:
            for key, length in (("x", 3), ("lat", 2)):
                group.createDimension(key, length)
            group.createVariable("lat", "f4", ("x", "lat"))[:] = np.arange(6).reshape(3, 2)
            group.createVariable("x", "f4", ("x",))[:] = np.arange(3)
