"""Every function, against fractions: all types, layouts and axes."""

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpureduce as gr
from oracle import (LAYOUTS, OPS, TYPES, exact_sum, expected, is_integer, layouts, make, numbers, quantile, same,
                    sum_by_exponents, to_float)

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "lib"))
from digest import digest  # noqa: E402  pylint: disable=wrong-import-position

MODES = ["bits", "finite", "small", "near"]
settings.register_profile("gpureduce", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("gpureduce")
shapes = st.lists(st.integers(0, 7), min_size=1, max_size=3).map(tuple) | st.integers(0, 3000).map(
    lambda n: (n,)) | st.just(())
seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from(TYPES), shapes, seeds, st.sampled_from(MODES), st.sampled_from(LAYOUTS),
       st.sampled_from(["propagate", "skip"]), st.integers(0, 2))
@settings(max_examples=300)
def test_reduce(dtype, shape, seed, mode, layout, nan, ddof):
    array = make(dtype, shape, seed, mode)
    x = layouts(array, layout)
    ops = [op for op in OPS if array.size or op not in ("min", "max", "argmin", "argmax")]
    found = gr.reduce(x, ops, nan=nan, ddof=ddof)
    assert list(found) == ops
    for op in ops:
        wanted = expected(op, array, nan, ddof)
        assert same(found[op], wanted), (op, found[op], wanted)


@given(st.sampled_from(TYPES), seeds, st.sampled_from(MODES), st.sampled_from(LAYOUTS))
def test_each_function(dtype, seed, mode, layout):
    array = make(dtype, (5, 4), seed, mode)
    x = layouts(array, layout)
    for name in ("sum", "mean", "min", "max", "argmin", "argmax", "std", "var", "median"):
        function = getattr(gr, name)
        assert same(function(x), expected(name, array)), name
        assert same(function(x, nan="skip"), expected(name, array, "skip")), name
    for name in ("std", "var"):
        assert same(getattr(gr, name)(x, ddof=1), expected(name, array, ddof=1)), name


@given(st.sampled_from(TYPES), st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple), seeds,
       st.sampled_from(MODES), st.sampled_from(LAYOUTS), st.data())
@settings(max_examples=200)
def test_axes(dtype, shape, seed, mode, layout, data):
    array = make(dtype, shape, seed, mode)
    x = layouts(array, layout)
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    nan = data.draw(st.sampled_from(["propagate", "skip"]))
    given_axes = axes[0] if len(axes) == 1 else tuple(
        data.draw(st.sampled_from([a, a - len(shape)])) for a in data.draw(st.permutations(axes)))
    keepdims = data.draw(st.booleans())
    ops = ["sum", "mean", "min", "max", "std", "var", "count", "absmin", "absmax"]
    if data.draw(st.booleans()):
        ops.append("median")
    if mode != "small" and np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind in "iu":
        ops.remove("sum")  # does not fit
    found = gr.reduce(x, ops, axis=given_axes, nan=nan, keepdims=keepdims)
    kept = [i for i in range(len(shape)) if i not in axes]
    turned = array.transpose(kept + list(axes))
    rows = [shape[i] for i in kept]
    for op in ops:
        result = found[op]
        if kept or keepdims:
            wanted_shape = tuple(1 if i in axes else n for i, n in enumerate(shape)) if keepdims \
                else tuple(rows)
            assert isinstance(result, np.ndarray) and result.shape == wanted_shape, op
            if op in ("min", "max"):
                assert result.dtype == array.dtype or not kept, (op, result.dtype)
        values = np.asarray(result).reshape(rows)
        for index in np.ndindex(*rows):
            wanted = expected(op, turned[index], nan)
            value = values[index]
            value = float(value) if values.dtype.kind not in "iub" else value.item()
            assert value == wanted or value != value and wanted != wanted, (op, index, value, wanted)


def hard_columns(dtype):
    """Columns whose squares are hard to add: most of the sums cancel, or they are large or small."""
    random = np.random.default_rng(5)
    x = random.normal(size=(37, 24)) * 100
    x[:, 1] = 7
    x[:, 2], x[9, 2] = 7, 8
    x[:, 3] = 0
    x[:, 4] = 28800 + random.normal(size=37)
    if np.dtype(dtype).kind == "f":
        x[:, 5] = 0.1
        x[:, 6] = 1e7 + random.normal(size=37) / 2
        x[:, 7] *= np.exp(random.normal(size=37) * 20)
        x[3, 8] = math.nan
        x[4, 9], x[5, 9] = math.inf, 1e30
        x[:, 10] *= 1e-37
    if dtype == "f8":
        x[:, 11] *= 1e200
        x[:, 12] *= 1e-200
        x[:, 13], x[2, 13], x[3, 13] = 1, 1e-300, -1e250
        x[:, 14] *= 1e-315
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", ">f8", ">i4"])
def test_squares_along_an_axis(dtype):
    with np.errstate(over="ignore"):
        x = hard_columns(dtype)
    ops = ["std", "var", "rms", "l2", "sumsq", "mean", "max"]
    for ddof, nan, missing in itertools.product((0, 1, 40), ("propagate", "skip"), (None, 8)):
        for array, axis in ((x, 0), (np.ascontiguousarray(x.T), 1), (x.T, 1)):
            found = gr.reduce(array, ops, axis=axis, ddof=ddof, nan=nan, missing=missing)
            for op, (i, column) in itertools.product(ops, enumerate(x.T)):
                lacking = None if missing is None else [e == missing for e in column.tolist()]
                wanted = expected(op, column, nan, ddof, lacking)
                assert same(found[op][i], wanted), (op, i, axis, ddof, nan, missing)


def test_ties_of_squares_along_an_axis():
    m, n = 80000000, 60000001
    a, b = m * m - n * n, 2 * m * n  # the sides of a right triangle, whose longest has 54 bits
    x = np.array([[a, -a, b, -b, 0, 0, 0, 0],  # std
                  [a, b, 0, 0, 0, 0, 0, 0],  # l2
                  [a, b, a, -b, 0, 0, 0, 0],  # rms
                  [2**27, 1, 1, 0, 0, 0, 0, 0],  # sumsq
                  [2**27, 1, 1, 1, 0, 0, 0, 0],
                  [2**27, 1 + 2**-30, 1 - 2**-30, 0, 0, 0, 0, 0],  # a little above a tie
                  [2**27, 1, 1, 2**-300, 0, 0, 0, 0],
                  [2**27, 1, 1, 2**-300, 2**300, 0, 0, 0],
                  [2**53 - 1, 2**53 - 3, 0, 0, 0, 0, 0, 0]], "f8")
    ops = ["std", "var", "rms", "l2", "sumsq"]
    for array, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
        found = gr.reduce(array, ops, axis=axis)
        for op, (i, row) in itertools.product(ops, enumerate(x)):
            assert same(found[op][i], expected(op, row, "propagate", 0)), (op, i, axis)


@given(st.sampled_from(["i8", "u8"]), st.tuples(st.integers(0, 9), st.integers(0, 9)), seeds,
       st.integers(0, 1))
def test_integer_sums_along_an_axis(dtype, shape, seed, axis):
    array = make(dtype, shape, seed, "bits")
    wanted = [sum(row) for row in (array.T if axis == 0 else array).tolist()]
    info = np.iinfo(dtype)
    if all(info.min <= total <= info.max for total in wanted):
        found = gr.sum(array, axis=axis)
        assert found.dtype == array.dtype and found.tolist() == wanted
    else:
        with pytest.raises(OverflowError):
            gr.sum(array, axis=axis)
    array >>= np.array(4, dtype)  # sums of at most nine then fit
    found = gr.sum(array, axis=axis)
    assert found.tolist() == [sum(row) for row in (array.T if axis == 0 else array).tolist()]


@given(st.sampled_from(TYPES), st.integers(1, 60), seeds, st.sampled_from(MODES), st.sampled_from(LAYOUTS),
       st.lists(st.sampled_from([0, 1, 0.5, 0.1, 0.25, 0.999, 1e-3, Fraction(1, 8)]), max_size=40))
def test_quantile(dtype, n, seed, mode, layout, qs):
    array = make(dtype, (n,), seed, mode)
    x = layouts(array, layout)
    values = numbers(array)
    missing = any(x != x for x in values)
    found = gr.quantile(x, qs)
    assert found.shape == (len(qs),)
    for q, result in zip(qs, found.tolist()):
        exact = Fraction(repr(q)) if isinstance(q, float) else Fraction(q)
        wanted = math.nan if missing else quantile(values, exact)
        assert same(result, wanted), (q, result, wanted)
        assert same(gr.quantile(x, q), wanted)


@given(st.sampled_from(TYPES), st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(0, 4)), seeds,
       st.sampled_from(MODES), st.sampled_from(LAYOUTS), st.integers(0, 1),
       st.sampled_from(["propagate", "skip"]), st.integers(0, 4))
@settings(max_examples=200)
def test_quantile_along_an_axis(dtype, shape, seed, mode, layout, axis, nan, masked):
    array = make(dtype, shape, seed, mode)
    if not is_integer(array):
        array.reshape(-1)[::3] = -0.0
    qs = [0, Fraction(1, 3), 0.1, 0.5, 1]
    mask = None if masked == 0 else np.random.default_rng(seed).random(shape) < masked / 4
    found = gr.quantile(layouts(array, layout), qs, axis, nan=nan, mask=mask)
    named = gr.reduce(layouts(array, layout), "p10,count,median", axis, nan=nan, mask=mask)
    rows = np.moveaxis(array, axis, -1)
    left = np.ones(rows.shape, bool) if mask is None else ~np.moveaxis(mask, axis, -1)
    assert found.shape == (len(qs),) + rows.shape[:-1]
    for index in np.ndindex(*rows.shape[:-1]):
        values = numbers(rows[index][left[index]])
        numeric = [x for x in values if x == x]
        for q, result in zip(qs, found[(slice(None),) + index].tolist()):
            exact = Fraction(repr(q)) if isinstance(q, float) else Fraction(q)
            wanted = math.nan if nan == "propagate" and len(numeric) < len(values) \
                else quantile(numeric, exact)
            assert same(result, wanted), (q, result, wanted)
        assert same(named["p10"][index], found[(2,) + index].item()) and named["count"][index] == (
            len(values) if nan == "propagate" else len(numeric))
        assert same(named["median"][index], found[(3,) + index].item())


@given(st.sampled_from(TYPES), st.integers(0, 200), seeds, st.sampled_from(["finite", "small", "near"]),
       st.sampled_from(LAYOUTS), st.integers(1, 20), st.none() | st.tuples(st.integers(-9, 0), st.integers(1, 9)))
def test_histogram(dtype, n, seed, mode, layout, bins, limits):
    array = make(dtype, (n,), seed, mode)
    counts, edges = gr.histogram(layouts(array, layout), bins, limits)
    values = [Fraction(x) for x in numbers(array)]
    if limits is not None:
        low, high = map(Fraction, limits)
    elif not values:
        low, high = Fraction(0), Fraction(1)
    elif min(values) == max(values):
        middle = float(values[0])  # where a half is less than a step of binary64, the range is two
        low = min(Fraction(middle - 0.5), Fraction(math.nextafter(middle, -math.inf)))
        high = max(Fraction(middle + 0.5), Fraction(math.nextafter(middle, math.inf)))
    else:
        low, high = min(values), max(values)
    wanted = [0] * bins
    for x in values:
        if low <= x <= high:
            wanted[min(bins - 1, math.floor((x - low) * bins / (high - low)))] += 1
    assert counts.tolist() == wanted and counts.dtype == np.int64
    assert edges.tolist() == [to_float(low + (high - low) * i / bins) for i in range(bins + 1)]


@pytest.mark.parametrize("bins", [0, -1, 65537, 10**15])
def test_numbers_of_bins(bins):
    for x in ([1.0, 2.0], []):
        with pytest.raises(gr.ArgumentError, match="from 1 to 65536"):
            gr.histogram(x, bins, (0, 1))


@given(st.sampled_from(TYPES), st.tuples(st.integers(1, 40), st.integers(1, 40)), seeds, st.sampled_from(MODES),
       st.sampled_from(LAYOUTS), st.integers(0, 1), st.sampled_from(["propagate", "skip"]), st.integers(0, 3),
       st.booleans())
@settings(max_examples=200)
def test_masks_along_an_axis(dtype, shape, seed, mode, layout, axis, nan, bare, missing):
    """As for each slice by itself; of nothing there are no sums of floats, and no extremes of integers."""
    array = make(dtype, shape, seed, mode)
    rng = np.random.default_rng(seed)
    mask = rng.random(shape) < rng.choice([0, 0.1, 0.9])
    np.moveaxis(mask, axis, 0)[:, rng.random(shape[1 - axis]) < bare / 4] = True
    if is_integer(array):
        array[rng.random(shape) < 0.05] = 0 if array.dtype == bool else np.iinfo(array.dtype).min
    elif not bare:  # the NaN that marks what is missing
        array.view(f"u{array.itemsize}")[rng.random(shape) < 0.1] = 2**(8 * array.itemsize) - 1
    whole = is_integer(array)
    ops = ["mean", "count", "nan", "missing", "argmin", "argmax", "l1", "std", "zeros"]
    large = whole and array.itemsize == 8  # there may be a NaN beside integers that are no float64
    if not large:
        ops.append("sum")
    if not large or not mask.all(axis=axis).any():
        ops += ["min", "max", "absmax"]
    values = {"missing": numbers(array)[0]} if missing and not large and numbers(array)[0] >= 0 else {}
    found = gr.reduce(layouts(array, layout), ops, axis, nan=nan, mask=mask, **values)
    for i in range(shape[1 - axis]):
        index = (i, slice(None)) if axis else (slice(None), i)
        alone = gr.reduce(array[index], ops, nan=nan, mask=mask[index], **values)
        empty = alone["missing"] == shape[axis]
        for op in ops:
            value, wanted = found[op][i].item(), alone[op]
            if empty and op in ("sum", "min", "max", "absmax") and whole and values:
                wanted = values["missing"]
            elif empty and (op == "l1" or op == "sum" and not whole):
                wanted = math.nan
            assert same(value, type(value)(wanted)), (op, i, value, wanted)


@given(st.sampled_from(TYPES), shapes, seeds, st.sampled_from(["finite", "small", "near"]), st.sampled_from(LAYOUTS))
def test_exact_sum(dtype, shape, seed, mode, layout):
    array = make(dtype, shape, seed, mode)
    found = gr.exact_sum(layouts(array, layout))
    assert type(found) is Fraction and found == exact_sum(numbers(array))


@given(st.sampled_from(TYPES), st.lists(st.integers(0, 40), min_size=1, max_size=4), seeds, st.sampled_from(MODES),
       st.sampled_from(LAYOUTS), st.sampled_from(["propagate", "skip"]))
def test_total(dtype, sizes, seed, mode, layout, nan):
    array = make(dtype, (sum(sizes),), seed, mode)
    parts = [layouts(part, layout) for part in np.split(array, np.cumsum(sizes)[:-1])]
    ops = [op for op in OPS if array.size or op not in ("argmin", "argmax", "median")]
    found = gr.total(parts, ops, nan=nan)
    for op in ops:
        assert same(found[op], expected(op, array, nan)), op


@given(st.sampled_from(TYPES), shapes, seeds, st.sampled_from(MODES), st.sampled_from(LAYOUTS))
def test_masks(dtype, shape, seed, mode, layout):
    array = make(dtype, shape, seed, mode)
    missing = np.random.default_rng(seed).integers(0, 3, shape) == 0
    x = layouts(array, layout)
    for masked in (dict(x=np.ma.masked_array(x, missing)), dict(x=x, mask=missing),
                   dict(x=np.ma.masked_array(x, np.zeros(shape, bool)), mask=missing)):
        ops = ["sum", "mean", "count", "missing", "std", "median"]
        found = gr.reduce(ops=ops, **masked)
        assert found.missing == missing.sum()
        for op in ops:
            if op != "missing":
                assert same(found[op], expected(op, array, missing=missing.ravel().tolist())), op
    if len(shape) == 2 and array.size:
        found = gr.reduce(x, ["count", "mean"], axis=0, mask=missing)
        for i in range(shape[1]):
            wanted = expected("mean", array[:, i], missing=missing[:, i].tolist())
            assert found.count[i] == shape[0] - missing[:, i].sum()
            assert found.mean[i] == wanted or wanted != wanted and found.mean[i] != found.mean[i]


@pytest.mark.parametrize("dtype", ["i2", "u1", "f4", "f8"])
def test_missing_values(dtype):
    array = make(dtype, (50,), 7, "small")
    for values in (3, [3, 4], (0, 1, 2, 5)):
        each = values if isinstance(values, (list, tuple)) else [values]
        missing = [x in each for x in numbers(array)]
        found = gr.reduce(array, ["sum", "count", "missing"], missing=values)
        assert found.missing == sum(missing)
        assert same(found.sum, expected("sum", array, missing=missing))
    assert gr.reduce(np.array([1.5, np.nan]), "sum,missing", missing=math.nan).missing == 1
    assert gr.sum(np.array([0.1, 1], "f4"), missing=0.1) == 1.0
    assert gr.sum(np.array([0.1, 1], "f4"), missing=np.float32(0.1)) == 1.0


@pytest.mark.parametrize("dtype, value", [("i8", 2.0**60), ("i8", -2.0**63), ("u8", 2.0**63), ("u8", np.float32(2.0**63)),
                                          ("i8", 2.0**53), ("f4", 2.0**60), ("f8", 1e300)])
def test_missing_values_as_floats(dtype, value):
    x = np.array([1, value, 2]).astype(dtype)
    assert int(x[1]) == int(value)
    assert gr.reduce(x, "sum,missing", missing=value) == {"sum": 3, "missing": 1}


def test_large_arrays():
    """Threads share the elements, and blocks are copied."""
    array = make("f4", (300, 20, 1000), 5, "finite")
    exact = sum_by_exponents(array)
    assert gr.sum(array) == float(exact) and gr.exact_sum(array) == exact
    found = gr.sum(array, axis=(0, 2))
    for i in (0, 7, 19):
        assert found[i] == float(sum_by_exponents(array[:, i]))
    assert gr.max(array) == array.max() and gr.min(array) == array.min()
    assert gr.min(array, axis=(0, 2)).tolist() == array.min(axis=(0, 2)).tolist()
    assert gr.median(array) == float(np.sort(array.ravel())[2999999:3000001].astype("f8").sum() / 2)


NAMES = {"bool": "bool", "u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "u8": "u64",
         "i8": "i64", "f2": "f16", "f4": "f32", "f8": "f64", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
         "float8_e5m2": "f8e5m2"}


@given(st.sampled_from(TYPES), shapes, seeds, st.sampled_from(MODES), st.sampled_from(LAYOUTS))
@settings(max_examples=300)
def test_digest(dtype, shape, seed, mode, layout):
    array = make(dtype, shape, seed, mode)
    name = NAMES[dtype if isinstance(dtype, str) else dtype.__name__]
    little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.kind in "iuf" else array
    assert gr.digest(layouts(array, layout)) == digest(name, array.size, little.tobytes())


def test_masks_of_nothing():
    """They are none, so that arrays have a digest, and can be compared."""
    x = np.arange(6.0).reshape(2, 3)
    masked = np.ma.masked_array(x, np.zeros(x.shape, bool))
    assert gr.digest(masked) == gr.reduce(x, "digest", mask=False).digest == gr.digest(x)
    assert gr.diff(masked, x).different == 0
    assert gr.reduce(masked, "sum,missing", axis=0).missing.tolist() == [0, 0, 0]


def test_digest_refused():
    for function in (gr.digest, lambda x: gr.reduce(x, ["digest"]), lambda x: gr.reduce(x, ["digest"], axis=0)):
        with pytest.raises(gr.Error if function is not gr.digest else gr.UnsupportedError):
            function(np.ma.masked_array([[1, 2]], [[False, True]]))
    with pytest.raises(gr.Error):
        gr.Accumulator("float32", ["digest"]).add(np.ones(3, "f4"))
