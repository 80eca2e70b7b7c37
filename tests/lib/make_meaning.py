#!/usr/bin/env python3
"""make_meaning.py DIRECTORY [SEED [COUNT]]: writes files of netCDF-4 and CDF-5 by netCDF4 and of HDF5 by h5py into DIRECTORY, of COUNT
random variables with attributes that say which numbers are missing and what the others stand for, and what gpureduce
prints of them:
  NAME.nc, NAME.h5  the variables
  NAME.tsv          what `-o OPERATIONS` prints, without the column of the file
  NAME.small        options that choose variables without large numbers and -0
  NAME.bins         names of variables, the counts of 7 bins, and q0.3, as JSON has them
  NAME.total        what `-q --total --nan=skip -o TOTAL` prints last of these
  NAME.stored.tsv   the same with --stored
The masks are those of netCDF4, but for the rules of its that are for netCDF files alone, which are worked out here; that
is compared with netCDF4 wherever netCDF4 reads the file, and with xarray, where it is installed, as far as that has the
same rules. Values are those of fractions."""

import math
import os
import random
import sys
import warnings
from fractions import Fraction

import h5py
import netCDF4
import numpy as np

try:
    import xarray
except ImportError:
    xarray = None

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import NAMES  # noqa: E402
from shortest import shortest  # noqa: E402

OPERATIONS = (
    "missing,sum,min,max,argmin,argmax,nan,count,mean,var,median,zeros,negatives,l1,sumsq,absmin,absmax,range"
)
TOTAL = "missing,count,nan,sum,min,max,argmin,argmax,mean,var,zeros,negatives,l1,sumsq,absmin,absmax,range"
directory = sys.argv[1]
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
total = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
rnd = random.Random(seed)
warnings.simplefilter("ignore")  # of attributes that cannot be cast, and of values that overflow
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def is_float(dtype):
    return np.dtype(dtype).kind == "f"


#
# The rules.
#


def cast(x, dtype):
    """The number of a type that is equal to x, or None."""
    dtype = np.dtype(dtype)
    if isinstance(x, (bytes, str)):
        return None
    x = x.item()
    if dtype.kind == "f":
        if math.isnan(x):
            return dtype.type("nan")
        rounded = dtype.type(float(x))
        return rounded if float(rounded) == float(x) else None
    if isinstance(x, float) and (math.isnan(x) or math.isinf(x) or x != math.floor(x)):
        return None
    info = np.iinfo(dtype)
    return dtype.type(int(x)) if info.min <= int(x) <= info.max else None


def cast_all(attributes, name, dtype):
    """The numbers of an attribute, of a type; None where there is none, or one cannot be cast."""
    if name not in attributes:
        return None
    values = attributes[name]
    values = [values] if isinstance(values, str) else np.atleast_1d(values).ravel()
    values = [cast(x, dtype) for x in values]
    return None if any(x is None for x in values) else values


def read_as(dtype, attributes):
    """The type that _Unsigned makes of one."""
    text = attributes.get("_Unsigned", "")
    if np.dtype(dtype).kind == "i" and text in ("true", "True"):
        return "u" + dtype[1]
    if np.dtype(dtype).kind == "u" and text in ("false", "False"):
        return "i" + dtype[1]
    return dtype


def find_mask(stored, attributes, netcdf, filled):
    """Which elements are missing; `filled`: netCDF fills the variable."""
    dtype = stored.dtype.str[1:]
    seen = read_as(dtype, attributes)
    data = stored.astype(dtype).ravel().view(seen)
    mask = np.zeros(data.shape, bool)

    def reread(values):
        return np.array(values, dtype).view(seen)

    fills = cast_all(attributes, "_FillValue", dtype)
    missing = cast_all(attributes, "missing_value", dtype)
    for value in reread((fills or []) + (missing or [])):
        mask |= np.isnan(data) if value != value else data == value
    if netcdf and fills is None and dtype in TYPES and (dtype[1] != "1" or filled):
        if seen == dtype or dtype[0] == "u":  # as netCDF4 compares an unsigned element with a negative number
            mask |= stored.ravel() == np.array(netCDF4.default_fillvals[dtype]).astype(dtype)
    limits = cast_all(attributes, "valid_range", dtype)
    if limits is None or len(limits) != 2:
        limits = [(cast_all(attributes, name, dtype) or [None])[0] for name in ("valid_min", "valid_max")]
    with np.errstate(invalid="ignore"):
        if limits[0] is not None:
            mask |= data < reread([limits[0]])[0]
        if limits[1] is not None:
            mask |= data > reread([limits[1]])[0]
    return data.reshape(stored.shape), mask.reshape(stored.shape)


#
# What is printed.
#


def exact(x):
    return Fraction(x.item()) if x.dtype.kind == "f" else Fraction(int(x))


def show(x, dtype="float64"):
    try:
        x = float(x) if isinstance(x, Fraction) else x
    except OverflowError:
        x = math.inf if x > 0 else -math.inf
    with np.errstate(over="ignore"):
        x = np.dtype(dtype).type(x).item()
    return str(x) if math.isinf(x) else shortest(x, dtype)


def row_of(name, data, mask, attributes):
    """The line of a variable."""
    dtype = data.dtype.name
    flat, gone = data.ravel(), mask.ravel()
    scale = Fraction(float(attributes.get("scale_factor", 1)))
    offset = Fraction(float(attributes.get("add_offset", 0)))
    scaled = scale != 1 or offset != 0
    integers = data.dtype.kind != "f" and scale == 1 and offset.denominator == 1
    kept = [i for i in range(flat.size) if not gone[i]]
    nans = [i for i in kept if flat[i] != flat[i]]
    row = {"missing": int(gone.sum()), "nan": len(nans), "count": len(kept)}
    for key in ("mean", "var", "median", "min", "max", "argmin", "argmax", "absmin", "absmax", "range"):
        row[key] = "nan"
    finite = [i for i in kept if i not in nans]
    values = {i: scale * exact(flat[i]) + offset for i in finite}
    row["zeros"] = sum(v == 0 for v in values.values())
    row["negatives"] = sum(v < 0 for v in values.values())
    row["sum"] = row["l1"] = row["sumsq"] = "0"
    if nans:
        row["sum"] = row["l1"] = row["sumsq"] = "nan"
        row["argmin"] = row["argmax"] = nans[0]
    elif kept:
        summed, count = sum(values.values()), len(kept)
        row["sum"] = str(summed) if integers else show(summed)
        row["l1"], row["sumsq"] = show(sum(map(abs, values.values()))), show(sum(v * v for v in values.values()))
        row["mean"] = show(summed / count)
        row["var"] = show(sum(v * v for v in values.values()) / count - (summed / count) ** 2)
        order = {i: (values[i], np.signbit(flat[i]) != (scale > 0)) for i in kept}  # -0 comes before +0
        ordered = sorted(kept, key=order.get)
        low, high = ordered[(count - 1) // 2], ordered[count // 2]
        row["median"] = show((values[low] + values[high]) / 2)
        if not scaled and flat[low] == flat[high] == 0 and np.signbit(flat[high]):
            row["median"] = "-0"
        least, most = min(values.values()), max(values.values())
        row["argmin"], row["argmax"] = min(kept, key=order.get), max(kept, key=order.get)
        magnitudes = list(map(abs, values.values()))
        for key, x in (("min", least), ("max", most), ("absmin", min(magnitudes)), ("absmax", max(magnitudes)),
                       ("range", most - least)):
            row[key] = str(x) if integers else show(x, "float64" if scaled else dtype)
        for key in ("min", "max"):
            place = flat[row["arg" + key]]
            if not integers and not scaled:
                row[key] = show(place.item(), dtype)
    shape = f"[{','.join(map(str, data.shape))}]"
    return "\t".join(map(str, [name, NAMES[dtype], shape] + [row[key] for key in OPERATIONS.split(",")]))


def is_small(data, attributes):
    """Whether its numbers do not hide those of others in a sum, and none is -0, which comes before 0."""
    numbers = data.ravel()[np.isfinite(data.ravel())].astype("f8")
    if (np.signbit(numbers) & (numbers == 0)).any():
        return False
    scale, offset = (float(attributes.get(k, d)) for k, d in (("scale_factor", 1), ("add_offset", 0)))
    return np.abs(numbers).max(initial=0) < 1e20 and 1e-20 < abs(scale) < 1e20 and abs(offset) < 1e20


def total_of(variables):
    """What --total --nan=skip prints, of masked variables and their attributes, a line for each operation."""
    row = dict.fromkeys(TOTAL.split(","), 0)
    values, before, whole = [], 0, True
    for data, mask, attributes in variables:
        scale, offset = (Fraction(float(attributes.get(k, d))) for k, d in (("scale_factor", 1), ("add_offset", 0)))
        integers = data.dtype.kind != "f" and scale == 1 and offset.denominator == 1
        whole = whole and integers  # also where no number is left of the variable
        for i, (x, gone) in enumerate(zip(data.ravel(), mask.ravel())):
            row["missing"] += int(gone)
            row["nan"] += int(not gone and x != x)
            if not gone and x == x:
                values.append((scale * exact(x) + offset, integers, before + i))
        before += data.size
    numbers = [v for v, _, _ in values]
    row["count"] = count = len(numbers)
    summed, squares = sum(numbers), sum(v * v for v in numbers)
    row["sum"] = str(summed) if whole else show(summed)
    row["l1"], row["sumsq"] = show(sum(map(abs, numbers))), show(squares)
    row["mean"], row["var"] = show(summed / count), show(squares / count - (summed / count) ** 2)
    row["zeros"], row["negatives"] = numbers.count(0), sum(v < 0 for v in numbers)
    least, most = min(values, key=lambda v: v[0]), max(values, key=lambda v: v[0])
    magnitudes = [(abs(v), integers, i) for v, integers, i in values]
    shown = {"min": least, "max": most, "absmin": min(magnitudes, key=lambda v: v[0]),
             "absmax": max(magnitudes, key=lambda v: v[0]), "range": (most[0] - least[0], least[1] and most[1], 0)}
    for key, (x, integers, _) in shown.items():
        row[key] = str(x) if integers else show(x)
    row["argmin"], row["argmax"] = least[2], most[2]
    return "".join(f"{row[key]}\n" for key in TOTAL.split(","))


def bins_of(data, mask, attributes):
    """The counts of 7 bins, and the quantile 0.3, of a variable; None if it has a NaN or no numbers."""
    scale, offset = (Fraction(float(attributes.get(k, d))) for k, d in (("scale_factor", 1), ("add_offset", 0)))
    numbers = data.ravel()[~mask.ravel()]
    if not numbers.size or np.isnan(numbers.astype("f8")).any():
        return None
    values = sorted(scale * exact(x) + offset for x in numbers)
    least, most = values[0], values[-1]
    counts = [0] * 7
    for v in values:
        counts[min(6, int((v - least) * 7 / (most - least))) if most > least else 6] += 1
    place = Fraction(3, 10) * (len(values) - 1)
    low, part = int(place), place - int(place)
    quantile = values[low] + (part * (values[low + 1] - values[low]) if part else 0)
    return f"{counts}\t{show(quantile)}"


def write_expected(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\t".join(["array", "dtype", "shape"] + OPERATIONS.split(",")) + "\n")
        out.writelines(row + "\n" for row in rows)


#
# Random variables.
#


def extremes(dtype):
    info = np.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    return [info.min, info.max]


def draw_number(dtype, data):
    """A number of a type, often one of the data."""
    kind = rnd.randrange(8)
    if kind < 4 and data.size:
        return data.ravel()[rnd.randrange(data.size)]
    if kind == 4:
        return np.dtype(dtype).type(rnd.choice(extremes(dtype)))
    if kind == 5:
        return np.dtype(dtype).type(0)
    if kind == 6 and is_float(dtype):
        return np.dtype(dtype).type("nan")
    return np.array(rnd.randrange(-100, 100), "i8").astype(dtype)[()]


def draw_attribute(dtype, data, counts):
    """Numbers of the type, or of another one, or a text."""
    kind = rnd.randrange(12)
    values = np.array([draw_number(dtype, data) for i in range(rnd.choice(counts))], dtype)
    if kind == 0:
        return rnd.choice(["5", "x"])  # "-1" would be an error of netCDF4, of unsigned types
    if kind < 4:
        other = rnd.choice(TYPES)
        try:
            values = values.astype(other)
        except (OverflowError, ValueError):
            pass
    return values[0] if len(values) == 1 and rnd.random() < 0.8 else values


def draw_data(dtype, shape):
    count = math.prod(shape)
    kind = rnd.randrange(10)
    near = [rnd.randrange(-100, 100) for i in range(count)]
    data = np.array(near, "i8").astype(dtype)
    if kind == 0 and count:
        data[:] = data[0]  # which may be missing
    for i in range(count):
        if rnd.random() < 0.15:
            data[i] = rnd.choice(extremes(dtype))
        elif rnd.random() < 0.1 and dtype in TYPES:
            data[i] = np.array(netCDF4.default_fillvals[dtype]).astype(dtype)
        elif is_float(dtype) and kind > 6 and rnd.random() < 0.1:
            data[i] = "nan"
        elif is_float(dtype) and rnd.random() < 0.3:
            data[i] = rnd.choice([-0.0, rnd.uniform(-1, 1), 0.1])
    return data.reshape(shape)


def draw_scale(dtype, attributes):
    """Attributes of a scale: of either sign, of any type."""
    def number():
        kind = rnd.randrange(6)
        if kind == 0:
            return np.float32(rnd.choice([0.1, -0.25, 0.01]))
        if kind == 1:
            return np.int16(rnd.choice([-3, 2, 7, 1]))
        return np.float64(rnd.choice([0.01, -0.1, 2, -1, 1e-9, 3e5, 273.15, -0.5]))

    which = rnd.randrange(3)
    if which != 1:
        attributes["scale_factor"] = number()
    if which != 0:
        attributes["add_offset"] = rnd.choice([number(), np.int32(100), np.float64(-1)])


def draw_variable(dtype, scaled):
    """Data, attributes, and the value that a variable is filled with: None for the default, False for none."""
    shape = rnd.choice([(), (rnd.randrange(40),), (rnd.randrange(1, 7), rnd.randrange(1, 9))])
    data = draw_data(dtype, shape)
    attributes = {}
    if rnd.random() < 0.5:
        attributes["_FillValue"] = draw_number(dtype, data)
    if rnd.random() < 0.35:
        attributes["missing_value"] = draw_attribute(dtype, data, [1, 1, 1, 2, 3])
    if rnd.random() < 0.2:
        attributes["valid_range"] = draw_attribute(dtype, data, [2, 2, 2, 2, 3])
    for name in ("valid_min", "valid_max"):
        if rnd.random() < 0.2:
            attributes[name] = draw_attribute(dtype, data, [1])
    if rnd.random() < 0.2:
        attributes["_Unsigned"] = rnd.choice(["true", "true", "True", "false"])
    if scaled:
        draw_scale(dtype, attributes)
    filling = attributes.get("_FillValue", rnd.choice([None, None, False]))
    return data, attributes, filling


def numbered(count, scaled, types):
    """Variables of a file."""
    for i in range(count):
        dtype = rnd.choice(types)
        data, attributes, filling = draw_variable(dtype, scaled)
        yield f"v{i:03}", dtype, data, attributes, filling


def make_netcdf(name, count, scaled):
    path = os.path.join(directory, name + ".nc")
    made = {}
    with netCDF4.Dataset(path, "w") as file:
        for key, dtype, data, attributes, filling in numbered(count, scaled, TYPES):
            names = []
            for length in data.shape:
                names.append(f"d{length}")
                if names[-1] not in file.dimensions:
                    file.createDimension(names[-1], length if length else None)
            options = {}
            if rnd.random() < 0.5 and data.size:
                options = {"compression": "zlib", "shuffle": rnd.random() < 0.5}
                options["chunksizes"] = [rnd.randrange(1, n + 1) for n in data.shape]
            endian = rnd.choice(["little", "big"])
            if data.ndim == 0:
                options = {}
            variable = file.createVariable(key, dtype, names, fill_value=filling, endian=endian, **options)
            variable.set_auto_maskandscale(False)
            variable.setncatts({k: v for k, v in attributes.items() if k != "_FillValue"})
            if data.size:
                variable[...] = data
            made[key] = (data, attributes, filling is not False)
    return path, made


def make_classic(name, count, scaled):
    """A file of CDF-5, some variables in records: these come after the others. More variables than asked for, until
    there are some of either kind."""
    path = os.path.join(directory, name + ".nc")
    made = {}
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        for key, dtype, data, attributes, filling in numbered(10 * count, scaled, TYPES):
            if int(key[1:]) >= count and {True, False} == {records for records, _ in made}:
                break
            if not data.size:
                continue
            names = [f"d{length}" for length in data.shape]
            if data.shape and data.shape[0] == 5:
                names[0] = "t"
            for dimension, length in zip(names, data.shape):
                if dimension not in file.dimensions:
                    file.createDimension(dimension, None if dimension == "t" else length)
            variable = file.createVariable(key, dtype, names, fill_value=filling)
            variable.set_auto_maskandscale(False)
            variable.setncatts({k: v for k, v in attributes.items() if k != "_FillValue"})
            variable[...] = data
            made["t" in names, key] = (data, attributes, True)
    assert {True, False} == {records for records, _ in made}
    return path, {key: made[records, key] for records, key in sorted(made)}


def make_hdf5(name, count, scaled):
    path = os.path.join(directory, name + ".h5")
    made = {}
    with h5py.File(path, "w") as file:
        for key, dtype, data, attributes, _ in numbered(count, scaled, TYPES + ["f2"]):
            options = {}
            if rnd.random() < 0.5 and data.size and data.ndim:
                options = {"chunks": tuple(rnd.randrange(1, n + 1) for n in data.shape), "compression": "gzip"}
            dataset = file.create_dataset(key, data=data.astype(rnd.choice("<>") + dtype), **options)
            for attribute, value in attributes.items():
                dataset.attrs[attribute] = value
            made[key] = (data, attributes, False)
    return path, made


def compare_netcdf4(path, masks):
    """Sees whether netCDF4 has the same masks."""
    with netCDF4.Dataset(path) as file:
        for key, (mask, attributes) in masks.items():
            if attributes.get("_Unsigned") == "false" or mask.ndim == 0 and "_Unsigned" in attributes:
                continue  # which netCDF4 has been seen to read as unsigned, and in the wrong byte order
            try:
                found = np.ma.getmaskarray(file[key][...])
            except TypeError:  # a masked array of unsigned numbers cannot have netCDF4's negative fill value
                continue
            assert np.array_equal(found, mask), (path, key, attributes, found, mask)


def compare_xarray(path, masks, values):
    """Sees whether xarray has the same masks and values, where its rules are these. It has been seen to get big-endian
    variables with _Unsigned wrong, fill values of integers of 32 and 64 bits, beside which others are taken for them, and
    integers as scales. Some it computes in binary32."""
    compared = 0
    with xarray.open_dataset(path, engine="netcdf4", decode_times=False) as file:
        for key, (mask, attributes) in masks.items():
            data, expected = values[key]
            others = {"missing_value", "valid_range", "valid_min", "valid_max", "_Unsigned"} & set(attributes)
            integers = any(np.array(attributes.get(k, 0.5)).dtype.kind != "f" for k in ("scale_factor", "add_offset"))
            large = data.itemsize == 8 or data.itemsize == 4 and data.dtype.kind != "f"
            if others or integers or "_FillValue" not in attributes or large or not data.ndim:
                continue
            found = np.asarray(file[key].values, "f8")
            gone = np.isnan(found)
            assert np.array_equal(gone, mask | np.isnan(data.astype("f8"))), (path, key, attributes)
            near = np.abs(found - expected) <= 1e-4 * (np.abs(expected) + np.abs(expected).max(initial=1, where=~gone))
            near |= np.isinf(found) & (np.abs(expected) > np.finfo("f4").max) & (np.sign(found) == np.sign(expected))
            assert (gone | near).all(), (path, key, attributes, found, expected)
            compared += 1
    return compared


def make(name, writer, count, scaled):
    path, made = writer(name, count, scaled)
    netcdf = path.endswith(".nc")
    rows, stored, masks, values, totals, binned = [], [], {}, {}, {}, []
    for key, (data, attributes, filled) in made.items():
        seen, mask = find_mask(data, attributes, netcdf, filled)
        rows.append(row_of(key, seen, mask, attributes))
        stored.append(row_of(key, data, np.zeros(data.shape, bool), {}))
        masks[key] = (mask, attributes)
        if is_small(seen, attributes) and bins_of(seen, mask, attributes):
            binned.append(f"{key}\t{bins_of(seen, mask, attributes)}\n")
        if is_small(seen, attributes):
            totals[key] = (seen, mask, attributes)
        scale, offset = (float(attributes.get(k, d)) for k, d in (("scale_factor", 1), ("add_offset", 0)))
        values[key] = (seen, seen.astype("f8") * scale + offset)
    write_expected(path[:-3] + ".tsv", rows)
    write_expected(path[:-3] + ".stored.tsv", stored)
    with open(path[:-3] + ".total", "w", encoding="utf-8") as out:
        out.write(total_of(totals.values()))
    with open(path[:-3] + ".bins", "w", encoding="utf-8") as out:
        out.writelines(binned[:20])
    with open(path[:-3] + ".small", "w", encoding="utf-8") as out:
        out.write(" ".join("--array=" + key for key in totals))
    if netcdf:
        compare_netcdf4(path, masks)
    if netcdf and xarray:
        compared.append(compare_xarray(path, masks, values))
    gone = sum(int(mask.sum()) for mask, _ in masks.values())
    assert gone > count, "hardly anything is missing"


compared = []  # variables of each file
share = total // 6
make("plain-1", make_netcdf, share, False)
make("plain-2", make_netcdf, share, False)
make("scaled-1", make_netcdf, share, True)
make("plain-3", make_hdf5, share, False)
make("scaled-2", make_hdf5, share, True)
make("plain-4", make_classic, share // 2, False)
make("scaled-3", make_classic, total - 5 * share - share // 2, True)
assert sum(compared) > 0 or not xarray, "nothing was compared with xarray"
