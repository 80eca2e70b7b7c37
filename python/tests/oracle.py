"""Exact results in fractions, by Python's integers alone, and arrays of all kinds to have results of."""

import math
from fractions import Fraction

import numpy as np

TYPES = ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
try:
    import ml_dtypes

    TYPES += [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
except ImportError:
    pass

OPS = ["sum", "mean", "min", "max", "var", "std", "median", "count", "nan", "inf", "zeros", "negatives",
       "sumsq", "l1", "l2", "rms", "absmax", "absmin", "argmin", "argmax"]


def root(x):
    """The square root of a fraction, rounded once to binary64."""
    if x == 0:
        return 0.0
    # The root times 2^shift has 64 bits at least, and a last bit that says whether there are more.
    shift = max(0, 70 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    scaled = x * 4**shift
    whole = scaled.numerator // scaled.denominator
    found = math.isqrt(whole)
    exact = found * found == whole and scaled.denominator == 1
    return to_float(Fraction(2 * found + (not exact), 2 * 2**shift))


def to_float(x):
    """A fraction rounded once to binary64, infinite where that is out of range."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def numbers(array):
    """The elements, in C order: ints, or floats that are exactly the elements."""
    flat = array.ravel()
    if flat.dtype.kind in "iu":
        return [int(x) for x in flat.tolist()]
    if flat.dtype.kind == "b":
        return [int(x) for x in flat.tolist()]
    with np.errstate(all="ignore"):  # of ml_dtypes, for NaNs
        return flat.astype("f8").tolist()


def in_units(values):
    """Finite numbers as integers, and the power of two that they have to be divided by."""
    ratios = [x.as_integer_ratio() for x in values]
    unit = max((denominator for _, denominator in ratios), default=1)
    return [numerator * (unit // denominator) for numerator, denominator in ratios], unit


def exact_sum(values):
    """The sum of finite numbers, as a fraction."""
    integers, unit = in_units(values)
    return Fraction(sum(integers), unit)


def sum_by_exponents(array):
    """The sum of finite float32, up to 2^29 of them, as a fraction: of integers for each exponent."""
    mantissas, exponents = np.frexp(array.ravel().astype("f8"))
    least = int(exponents.min())
    sums = np.bincount(exponents - least, mantissas * 2**24)  # integers that binary64 holds
    return sum(Fraction(2) ** (i + least - 24) * int(x) for i, x in enumerate(sums))


def is_integer(array):
    return array.dtype.kind in "iub"


def expected(op, array, nan="propagate", ddof=0, missing=None):
    """The result of an operation on the elements of an array of NumPy's.

    `missing`: a flat list of bools, true where an element is missing.
    """
    elements = list(enumerate(numbers(array)))
    if missing is not None:
        elements = [e for e in elements if not missing[e[0]]]
    nans = sum(x != x for _, x in elements)
    if op == "nan":
        return nans
    if nan == "skip":
        elements = [e for e in elements if e[1] == e[1]]
        nans = 0
    values = [x for _, x in elements]
    infinite = [x for x in values if isinstance(x, float) and math.isinf(x)]
    if op == "count":
        return len(values)
    if op == "inf":
        return len(infinite)
    if op == "zeros":
        return sum(x == 0 for x in values)
    if op == "negatives":
        return sum(x < 0 for x in values)
    if op in ("argmin", "argmax"):
        if nans:
            return next(i for i, x in elements if x != x)
        if not values:
            return -1
        best = min(values) if op == "argmin" else max(values)
        return next(i for i, x in elements if x == best)
    if nans:
        return math.nan
    integer = is_integer(array)
    if op in ("sum", "sumsq", "l1", "l2"):
        if not values:
            return 0 if integer and op == "sum" else 0.0
    elif not values:
        return math.nan
    if op == "min":
        return typed(min(values), array)
    if op == "max":
        return typed(max(values), array)
    if op == "absmax":
        return typed(max(abs(x) for x in values), array)
    if op == "absmin":
        return typed(min(abs(x) for x in values), array)
    if op == "median":
        return quantile(values, Fraction(1, 2))
    if infinite:
        if op in ("sum", "mean"):
            return infinite[0] if len(set(infinite)) == 1 else math.nan
        return math.nan if op in ("var", "std") else math.inf
    # Integers have one denominator: sums of fractions would look for a new one each time.
    integers, unit = in_units(values)
    n = len(values)
    if op == "l1":
        return to_float(Fraction(sum(map(abs, integers)), unit))
    total = Fraction(sum(integers), unit)
    if op == "sum":
        return int(total) if integer else to_float(total)
    if op == "mean":
        return to_float(total / n)
    squares = Fraction(sum(x * x for x in integers), unit * unit)
    if op == "sumsq":
        return to_float(squares)
    if op == "l2":
        return root(squares)
    if op == "rms":
        return root(squares / n)
    if n - ddof <= 0:
        return math.nan
    variance = (squares - total * total / n) / (n - ddof)
    return to_float(variance) if op == "var" else root(variance)


def typed(value, array):
    return bool(value) if array.dtype.kind == "b" else value


def quantile(values, q):
    """The quantile of numbers without NaN, linearly interpolated, rounded once."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = ordered[math.floor(place)]
    fraction = place - math.floor(place)
    if fraction == 0:
        return float(low) if isinstance(low, float) else to_float(Fraction(low))
    high = ordered[math.floor(place) + 1]
    if math.isinf(low) or math.isinf(high):
        if math.isinf(low) and math.isinf(high) and low != high:
            return math.nan
        return low if math.isinf(low) else high
    return to_float(Fraction(low) + fraction * (Fraction(high) - Fraction(low)))


def same(found, wanted):
    """Whether two numbers are of one type and equal, NaNs included. A zero's sign does not count."""
    if isinstance(found, (np.generic, np.ndarray)):
        found = found.item()
    if isinstance(wanted, float) and wanted != wanted:
        return isinstance(found, float) and found != found
    return type(found) is type(wanted) and found == wanted


#
# Arrays
#


def make(dtype, shape, seed, mode):
    """An array of numbers drawn at random: of all bits, of finite numbers, or of small integers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    if mode == "small":
        low = 0 if dtype.kind == "u" else -8
        return rng.integers(low, 9, count).astype(dtype).reshape(shape)
    array = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).view(dtype)
    if mode == "finite" and not is_integer(array):
        with np.errstate(all="ignore"):
            wide = array.astype("f8")
            array = np.where(np.isfinite(wide), wide, 0.5).astype(dtype)
    if mode == "near" and not is_integer(array):
        array = rng.standard_normal(count).astype(dtype)
    return array.reshape(shape)


def layouts(array, which):
    """The same elements in another layout."""
    if which == "fortran":
        return np.asfortranarray(array)
    if which == "reversed":
        return array[tuple(slice(None, None, -1) for _ in array.shape)].copy()[
            tuple(slice(None, None, -1) for _ in array.shape)]
    if which == "step" and array.ndim:
        wide = np.zeros(tuple(2 * n + 1 for n in array.shape), array.dtype)
        part = wide[tuple(slice(1, None, 2) for _ in array.shape)]
        part[...] = array
        return part
    if which == "big" and array.dtype.kind in "iuf" and array.dtype.itemsize > 1:
        return array.astype(array.dtype.newbyteorder(">"))
    if which == "field":
        rows = np.zeros(array.shape, [("a", "u1"), ("x", array.dtype), ("b", "u2")])
        rows["x"] = array
        return rows["x"]
    if which == "unaligned":
        memory = np.zeros(array.nbytes + 1, "u1")
        moved = memory[1:].view(array.dtype).reshape(array.shape)
        moved[...] = array
        return moved
    return array


LAYOUTS = ["C", "fortran", "reversed", "step", "big", "field", "unaligned"]
