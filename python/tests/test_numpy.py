"""Users of NumPy expect these arguments, types of results, and results of no elements."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import gpureduce as gr

from oracle import OPS, numbers, quantile, same

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (-1, 0), (0, 1, 2), None])
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "median", "std", "var"])
def test_axes(name, axis):
    function, numpys = getattr(gr, name), getattr(np, name)
    for x in (X, X.astype("f4"), X.T, X[::-1, ::2]):
        found, wanted = function(x, axis), numpys(x.astype("f8"), axis)
        kept = function(x, axis=axis, keepdims=True)
        if name in ("std", "var"):  # which NumPy rounds more than once
            assert np.allclose(found, wanted, rtol=1e-15)
        else:
            assert np.array_equal(found, wanted)
            assert np.array_equal(kept, numpys(x.astype("f8"), axis, keepdims=True))
        assert kept.shape == numpys(x, axis, keepdims=True).shape


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_places_of_extremes(name):
    function, numpys = getattr(gr, name), getattr(np, name)
    ties = np.array([[[2, 0], [0, 2]], [[1, 2], [0, 0]]])
    nans = np.where(ties == 1, np.nan, ties)
    for x in (X, X.T, X[::-1, ::2], ties, ties.astype("u1"), ties > 1, nans, nans.astype(">f4")):
        assert type(function(x)) is int and function(x) == numpys(x)
        for axis in (None, 0, 1, -1):
            found, kept = function(x, axis), function(x, axis, keepdims=True)
            assert np.array_equal(found, numpys(x, axis)) and np.asarray(found).dtype == np.int64
            assert np.array_equal(kept, numpys(x, axis, keepdims=True)) and kept.ndim == 3
        out = np.empty(x.shape[1:], int)
        assert function(x, 0, out=out) is out and np.array_equal(out, numpys(x, 0))
        with pytest.raises(ValueError, match="one axis"):
            function(x, (0, 1))
        with pytest.raises(ValueError, match="out of bounds"):
            function(x, 3)
    assert function(nans, nan="skip") == numpys(np.where(np.isnan(nans), 1, nans))
    assert function([[1, 1], [5, 9]], 0, mask=[[True, True], [False, True]]).tolist() == [1, -1]
    assert function([7, 7], missing=7) == -1 and function(np.empty((0, 2)), 1).shape == (0,)
    for axis in (None, 0):
        with pytest.raises(ValueError, match="without elements"):
            function(np.empty((0, 2)), axis)


def test_types_of_results():
    assert type(gr.sum(X)) is int and type(gr.sum(X.astype("f2"))) is float
    assert type(gr.mean(X)) is float and type(gr.min(X)) is int and type(gr.median(X)) is float
    assert gr.max(np.array([True, False])) is True and gr.sum(np.array([True, True])) == 2
    assert gr.sum(X.astype("f4"), axis=0).dtype == np.float64
    for dtype in ("i1", "i2", "i4", "i8"):
        assert gr.sum(X.astype(dtype), axis=0).dtype == np.int64
        assert gr.max(X.astype(dtype), axis=0).dtype == dtype
    for dtype in ("u1", "u2", "u4", "u8"):
        assert gr.sum(X.astype(dtype), axis=0).dtype == np.uint64
    assert gr.sum(X > 5, axis=0).dtype == np.int64 and gr.max(X > 5, axis=0).dtype == bool
    assert gr.min(X.astype(">f4"), axis=1).dtype == np.dtype("=f4")
    for dtype in ("i2", "u2", "u8", "f4", "?"):  # whether all axes go or some
        for op in ("sum", "min", "absmax", "range", "mean", "zeros", "median"):
            assert gr.reduce(X.astype(dtype), op, keepdims=True)[op].dtype == gr.reduce(
                X.astype(dtype), op, axis=0, keepdims=True)[op].dtype, (dtype, op)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", ">i4", "i8", "u8", "f2", "f4", ">f8"])
@pytest.mark.parametrize("op", OPS + ["p12.5", "range"])
def test_one_operation_along_an_axis_is_that_of_several(op, dtype):
    """One operation takes a shorter way, with and without a function of its own."""
    wide = (np.arange(600 * 300) % 100).reshape(600, 300)
    for x in (X.astype(dtype), wide.astype(dtype), X.astype(dtype)[:, ::2]):
        for axis in (0, -1):
            wanted = gr.reduce(x, f"{op},subnormals", axis=axis)[op]
            found = [gr.reduce(x, [op], axis=axis)[op]]
            if hasattr(gr, op):
                found.append(getattr(gr, op)(x, axis=axis))
            for one in found:
                assert one.dtype == wanted.dtype and one.dtype.isnative
                assert np.array_equal(one, wanted, equal_nan=True)
        wanted, one = gr.reduce(x, f"{op},subnormals")[op], gr.reduce(x, [op])[op]
        assert type(one) is type(wanted) and one == wanted
    assert np.array_equal(gr.std(X, axis=1, ddof=2), gr.reduce(X, "std,var", axis=1, ddof=2).std)


def test_sums_along_an_axis_that_no_integer_holds():
    x = np.full((2, 3), 2**63 - 1)
    x[0] = 1
    for array in (x, x.astype("u8") * 2 + 1):
        with pytest.raises(OverflowError, match="sum along the axis"):
            gr.sum(array, axis=1)
    assert gr.max(x, axis=1).tolist() == [1, 2**63 - 1] and gr.sum(x[:, :1], axis=1).tolist() == [1, 2**63 - 1]


def test_magnitudes_of_signed_integers():
    for dtype in ("i1", "i2", "i4", "i8"):
        least = np.iinfo(dtype).min
        for axis in (0, 1, (0, 1)):
            found = gr.reduce(np.array([[least]], dtype), "absmax,absmin", axis=axis, keepdims=True)
            for one in found.values():
                assert one.item() == -int(least) and one.dtype == dtype.replace("i", "u")


def test_integers_in_full():
    assert gr.sum(np.full(3, 2**63 - 1)) == 3 * (2**63 - 1)
    assert gr.sum(np.full(5, 2**64 - 1, "u8")) == 5 * (2**64 - 1)
    assert gr.sum(np.array([-2**63, -2**63])) == -2**64
    assert gr.max(np.array([2**63 - 1, 0])) == 2**63 - 1 and gr.min(np.array([-2**63])) == -2**63
    assert gr.sum(np.array([2**53, 1])) == 2**53 + 1
    with pytest.raises(OverflowError):
        gr.sum(np.full((3, 1), 2**63 - 1), keepdims=True)


def test_several_axes():
    """Axes that are neighbours or not, in arrays of any order."""
    x = np.arange(3 * 4 * 5 * 6).reshape(3, 4, 5, 6) % 101
    gone = x % 7 == 0
    for order in itertools.permutations(range(4)):
        y, m = x.transpose(order)[..., ::-1], gone.transpose(order)[..., ::-1]
        for axes in itertools.chain(itertools.combinations(range(4), 2), itertools.combinations(range(4), 3)):
            assert np.array_equal(gr.sum(y, axis=axes), y.sum(axis=axes))
            assert np.array_equal(gr.max(y, axis=axes, keepdims=True), y.max(axis=axes, keepdims=True))
            assert np.array_equal(gr.sum(y, axis=axes, mask=m), np.where(m, 0, y).sum(axis=axes))
            assert np.array_equal(gr.median(y.astype("f4"), axis=axes), np.median(y, axis=axes))


def test_place_of_nan():
    """An error names an element by its indices in the array, along any axes."""
    x = np.zeros((3, 4, 5, 6))
    for order in itertools.permutations(range(4)):
        y = x.transpose(order)
        place = tuple(n - 2 for n in y.shape)
        y[place] = np.nan
        for axes in (1, (0, 2), (1, 2), (0, 1, 3), (1, 3)):
            for mask in (None, np.zeros(y.shape, bool)):
                with pytest.raises(gr.NaNError, match=f"element {','.join(map(str, place))} is"):
                    gr.sum(y, axis=axes, nan="error", mask=mask)
        y[place] = 0


def test_missing_elements_along_all_axes(tmp_path):
    """An array that is one slice has the results of a slice, in memory and in a file."""
    ops = ["sum", "min", "max", "absmin", "absmax", "range", "l1", "l2", "sumsq", "mean", "median", "count", "argmin"]
    for dtype, values in itertools.product(("f4", "f8", "i2", "u8", "?"), (
            {"missing": 1}, {"mask": True}, {"missing": 1, "nan": "skip"})):
        x = np.ones(3, dtype)
        np.save(tmp_path / "x.npy", x)
        wanted = gr.reduce(x[None], ops, axis=1, **values)
        arrays = [x, x[None]] if "mask" in values else [x, x[None], gr.open(tmp_path / "x.npy")[0]]
        for y in arrays:
            axis = tuple(range(len(y.shape)))
            reduce = functools.partial(gr.reduce, y) if isinstance(y, np.ndarray) else y.reduce
            found, kept = (reduce(ops, axis=axis, keepdims=keepdims, **values) for keepdims in (False, True))
            for op in ops:
                assert kept[op].shape == (1,) * len(y.shape) and kept[op].dtype == wanted[op].dtype
                assert np.array_equal(kept[op].ravel(), wanted[op], equal_nan=True), (dtype, values, op)
                assert np.array_equal([found[op]], wanted[op], equal_nan=True), (dtype, values, op)
                assert type(found[op]) is type(gr.reduce(x[:1], op)[op]) or found[op] != found[op]
            assert reduce("sum", **values).sum == reduce("sum", keepdims=True, **values).sum.item() == 0
    assert gr.sum(np.ones(0), axis=0, missing=1) == gr.sum([1.0, math.nan], axis=0, missing=1, nan="skip") == 0


def test_a_negative_missing_value_along_all_axes(tmp_path):
    np.save(tmp_path / "x.npy", np.full((3, 2), -2, "i4"))
    ops = ["absmax", "range", "sum", "min"]
    for found in (gr.open(tmp_path / "x.npy")[0].reduce(ops, axis=(0, 1), missing=-2),
                  gr.reduce(np.full((3, 2), -2, "i4"), ops, axis=(0, 1), missing=-2)):
        assert math.isnan(found.absmax) and math.isnan(found.range) and found.sum == found.min == -2


def test_missing_integers_along_all_axes():
    x = np.array([5, 5])
    assert gr.min(x, axis=0, missing=5) == gr.sum(x, axis=0, missing=5) == 5 and type(gr.min(x, axis=0, missing=5)) is int
    assert gr.min(x[None], axis=(0, 1), keepdims=True, missing=5).tolist() == [[5]]
    assert math.isnan(gr.min(x, missing=5)) and gr.sum(x, missing=5) == 0
    y = np.asfortranarray([[1, 2, 3], [9, 0, 4]])
    found = gr.reduce(y, "argmax,sum,min,digest", axis=(0, 1), missing=100)
    assert (found.argmax, found.sum, found.min, found.digest) == (3, 19, 0, gr.digest(y))
    assert gr.sum(np.full(3, 2**62), axis=0, missing=1) == 3 * 2**62
    assert gr.min(np.zeros(2, bool), axis=0, missing=0) is False


def test_integers_of_slices_that_are_missing():
    """They are what they are alone, whatever else is asked for."""
    x = np.array([[5, 6], [1, 2]])
    masked = np.ma.array(x, mask=[[True, True], [False, False]])
    of_some = {"sum": 3, "min": 1, "max": 2, "absmin": 1, "absmax": 2, "range": 1, "mean": 1.5, "sumsq": 5, "l1": 3,
               "median": 1.5, "argmin": 0, "count": 2}
    counts, signed = {"argmin": -1, "count": 0}, ("sum", "min", "max")
    for array, missing, of_none in (
            (masked, None, {"sum": 0}), (masked, -1, dict.fromkeys(signed, -1)), (masked.filled(-1), -1, dict.fromkeys(signed, -1)),
            (masked, [7, -1], dict.fromkeys((*signed, "absmin", "absmax", "range"), 7))):
        for op, more in itertools.product(of_some, ("", ",range", ",sum", ",min,mean")):
            for turned, axis in ((array, 1), (array.T, 0)):
                found = gr.reduce(turned, op + more, axis=axis, missing=missing)[op]
                wanted = [{**counts, **of_none}.get(op, math.nan), of_some[op]]
                assert np.array_equal(found, wanted, equal_nan=True), (op, more, missing)


def test_arguments():
    with pytest.raises(gr.ArgumentError, match="unknown operation"):
        gr.reduce(np.ones(3), "sum\0")
    with pytest.raises(TypeError, match="longdouble"):
        gr.sum(np.ones(2), missing=np.longdouble(1))
    assert gr.reduce([1, 2], " sum, mean ,p50") == {"sum": 3, "mean": 1.5, "p50": 1.5}
    assert gr.sum([1.0, 2.0], missing=np.float32(1)) == gr.sum([1, 2], missing=np.int8(1)) == 2
    with pytest.raises(TypeError, match="device is a str"):
        gr.configure(device=0)
    with pytest.raises(ValueError, match="with add_at"):
        gr.Accumulator("f8", "argmax").add(np.ones(2))


def test_integers_beside_nan():
    """The results are float64 where a slice has nothing left, if that has room for the others."""
    x = np.array([[[2**53], [1]], [[2**53], [2]]])
    gone = np.array([[[False], [True]]])
    for axis in (0, (0, 2)):
        found = gr.reduce(x, "max,count", axis=axis, mask=gone)
        assert np.array_equal(found.max.ravel(), [2.0**53, math.nan], equal_nan=True)
        assert found.count.ravel().tolist() == [2, 0]
        with pytest.raises(OverflowError, match="NaN"):
            gr.max(x + 1, axis=axis, mask=gone)
        assert gr.max(x + 1, axis=axis, mask=False).ravel().tolist() == [2**53 + 1, 3]


def test_no_elements():
    empty = np.zeros((0, 3))
    assert gr.sum(empty) == 0.0 and gr.sum(empty.astype("i4")) == 0 and type(gr.sum(empty)) is float
    assert math.isnan(gr.mean(empty)) and math.isnan(gr.std(empty)) and math.isnan(gr.median(empty))
    assert math.isnan(gr.quantile(empty, 0.5))
    for function in (gr.min, gr.max):
        with pytest.raises(ValueError, match="without elements"):
            function(empty)
        with pytest.raises(ValueError, match="without elements"):
            function(empty, axis=0)
        assert function(empty, axis=1).shape == (0,)
    assert gr.sum(empty, axis=0).tolist() == [0, 0, 0] and gr.sum(empty, axis=1).shape == (0,)
    assert np.isnan(gr.mean(empty, axis=0)).all()
    assert gr.sum(np.zeros((3, 0, 2)), axis=(0, 2)).shape == (0,)
    assert gr.sum(np.zeros((3, 0, 2)), axis=(0, 1)).tolist() == [0, 0]
    counts, edges = gr.histogram(empty, 4)
    assert counts.tolist() == [0] * 4 and edges.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_nan():
    x = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert math.isnan(gr.sum(x)) and math.isnan(gr.min(x)) and math.isnan(gr.median(x))
    assert gr.sum(x, nan="skip") == 8.0 and gr.max(x, nan="skip") == 4.0
    assert np.isnan(gr.sum(x, axis=0)).tolist() == [False, True]
    assert gr.mean(x, axis=0, nan="skip").tolist() == [2.0, 4.0]
    with pytest.raises(gr.NaNError):
        gr.sum(x, nan="error")
    with pytest.raises(ValueError, match="nan is"):
        gr.sum(x, nan="omit")
    assert math.isnan(gr.min(np.array([np.nan]), nan="skip"))
    with pytest.raises(ValueError):
        gr.exact_sum(x)
    with pytest.raises(ValueError):
        gr.histogram(x)
    counts, _ = gr.histogram(x, 2, nan="skip")
    assert counts.tolist() == [1, 2]


def test_infinity():
    assert gr.sum([math.inf, 1.0]) == math.inf and math.isnan(gr.sum([math.inf, -math.inf]))
    assert gr.sum(np.full(3, 1.7e308)) == math.inf and gr.exact_sum(np.full(3, 1.7e308)) == 3 * int(1.7e308)
    assert gr.mean(np.full(3, 1.7e308)) == 1.7e308


def test_out():
    out = np.zeros(4)
    assert gr.sum(X, axis=(0, 1), out=out) is out and out.tolist() == X.sum(axis=(0, 1)).tolist()
    total = np.zeros((), "i8")
    assert gr.sum(X, out=total) is total and total == 276
    with pytest.raises(TypeError):
        gr.mean(X, axis=0, out=np.zeros((3, 4), "i4"))  # which would lose digits
    with pytest.raises(ValueError, match="shape"):
        gr.sum(X, axis=0, out=np.zeros(4))
    small = np.zeros(2, "i1")
    with pytest.raises(OverflowError, match="int8, the type of out"):
        gr.sum([[100, 100], [1, 2]], axis=1, out=small)  # 200 would be -56
    with pytest.raises(OverflowError, match="int64, the type of out"):
        gr.sum([2**63, 2**63], out=total)  # which NumPy has no integers for
    assert gr.sum([2**63, 2**63], out=np.zeros(())) == 2.0**64
    assert gr.sum([[100, 27], [-100, -28]], axis=1, out=small).tolist() == [127, -128]
    with pytest.raises(TypeError):
        gr.sum(X, axis=0, out=[0] * 12)


def test_ddof():
    for ddof in (0, 1, 2):
        assert gr.var([1, 2, 3, 4], ddof=ddof) == [1.25, 5 / 3, 2.5][ddof]
    assert math.isnan(gr.var([1.0], ddof=1)) and gr.var([1.0, 3.0], ddof=1.0) == 2.0
    for wrong in (-1, 0.5, math.nan, math.inf, 2**64):
        with pytest.raises(ValueError, match="ddof"):
            gr.std(X, ddof=wrong)
    for wrong in (None, "1"):
        with pytest.raises(TypeError, match="ddof"):
            gr.std(X, ddof=wrong)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 3),
                               Fraction(123, 10**12)])
def test_quantile_between(q):
    """Along an axis numbers far apart, near ties, huge and tiny ones give what fractions do, rounded once."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 2)) * np.exp(rng.normal(size=(400, 2)) * 100)
    x[:100] = np.round(rng.normal(size=(100, 2)) * 8) / 4
    x[100:104] = [[-4.394301698393824, -2.4735046880688254e-40], [-1.5e308, 1.7e308], [5e-324, 1e-323], [3, np.inf]]
    with np.errstate(all="ignore"):
        narrow = x.astype("f4")
    integers = np.array([[-2**63, 2**63 - 1], [2**53 + 1, 2**53 + 2], [1, 4], [5, 5]])
    for rows in (x, narrow, integers, integers.view("u8")):
        found = gr.quantile(rows, q, axis=1)
        for row, value in zip(rows, found):
            assert same(value, quantile(sorted(numbers(row)), q)), (row, q)


def test_quantile_shapes():
    assert gr.quantile(X, [[0, 0.5], [0.5, 1]]).tolist() == [[0, 11.5], [11.5, 23]]
    assert gr.quantile(X, np.array(0.25)) == 5.75 and gr.quantile(X, []).shape == (0,) and gr.quantile(X, [[]], axis=1).shape == (1, 0, 2, 4)
    assert np.array_equal(gr.quantile(X, [0.25, 0.5], axis=1), np.quantile(X, [0.25, 0.5], axis=1))
    assert np.array_equal(gr.quantile(X, 0.5, axis=(0, 2), keepdims=True),
                          np.quantile(X, 0.5, axis=(0, 2), keepdims=True))
    assert gr.quantile(np.arange(1001), np.linspace(0, 1, 101).round(2)).tolist() == list(range(0, 1001, 10))
    for q in (np.float64(0.1), np.float32(0.1), np.float16(0.1), Fraction(1, 10)):
        assert type(gr.quantile(X, q)) is float and gr.quantile(X, q) == 2.3
        assert gr.quantile(X, [q]).tolist() == gr.quantile(X, np.array([q, q])).tolist()[:1] == [2.3]
    assert type(gr.quantile(X, np.int64(1))) is float and gr.quantile(X, Fraction(1, 3)) == 23 / 3
    # Decimals beyond the 18th are rounded away.
    assert gr.quantile([0, 10**18], 1 / 300) == 3333333333333334 and gr.quantile([0, 10**18], 5.5e-17) == 55
    assert gr.quantile([0.0, 1.0], 1e-300) == 0.0 and gr.quantile(X, np.linspace(0, 1, 301))[300] == 23
    with pytest.raises(ValueError, match="denominator"):
        gr.quantile(X, Fraction(1, 10**18 + 1))
    for wrong, error in ((1.5, ValueError), (-0.1, ValueError), (math.nan, ValueError), ("a", TypeError),
                         (True, TypeError), (1j, TypeError), ([None], TypeError)):
        with pytest.raises(error):
            gr.quantile(X, wrong)


def test_histogram_arguments():
    counts, edges = gr.histogram([1, 2, 1, 4], 3)
    assert counts.tolist() == [2, 1, 1] and edges.tolist() == [1, 2, 3, 4]
    counts, edges = gr.histogram([5.0, 5.0], 2)
    assert counts.tolist() == [0, 2] and edges.tolist() == [4.5, 5, 5.5]
    assert gr.histogram(X, 4, (0, 8))[0].tolist() == [2, 2, 2, 3]
    # The ends are rounded to one edge, and are two integers.
    assert gr.histogram(np.array([2**63 - 1, 2**63 - 3]), 2)[0].tolist() == [1, 1]
    for wrong, error in (([0, 1, 2], "edges"), (2.0, "an integer, not float$")):
        with pytest.raises(TypeError, match=error):
            gr.histogram(X, wrong)
    for wrong in ((1, 0), (0, math.inf), (math.nan, 1)):
        with pytest.raises(ValueError):
            gr.histogram(X, 2, wrong)
    with pytest.raises(ValueError):
        gr.histogram(X, 0)


def test_histograms_that_were_wrong_once():
    """Edges that are no binary numbers, widths that do not fit the type, and elements on the last edge."""
    numbers = [337, 404, 739, 806, 1007, 1811, 2012]
    counts, edges = gr.histogram(numbers, 8296, (2, 2280))
    for number in numbers:
        i = np.flatnonzero((edges[:-1] <= number) & (number < edges[1:]))
        assert counts[i].tolist() == [1]
    assert gr.histogram([0.0, 0, 0, 1, 2, 3, 3, 4, 5], 30, (-0.5, 5))[0][-1] == 1
    assert gr.histogram(np.array([-24, -12], "i1"), 2)[0].tolist() == [1, 1]
    for dtype in ("i1", "i2", "i4", "i8"):
        info = np.iinfo(dtype)
        counts, edges = gr.histogram(np.array([info.min + 2, info.max], dtype), 2)
        assert counts.tolist() == [1, 1] and edges[1] == 0.5
    x = np.array([276.318359, -69.593948, 21.329449], "f4")
    assert gr.histogram(x, 100)[0].sum() == 3
    assert gr.histogram([0.0, 1.0], 3, (0, 5e-324))[0].tolist() == [1, 0, 0]
    assert gr.histogram(np.array([True, True, False]), 2)[0].tolist() == [1, 2]
    assert gr.histogram(np.arange(11) + 0.5, 10, (1, 9))[0].sum() == 8  # what lies outside does not count
    assert gr.histogram([1, 2, math.nan, math.inf], 2, (0, 3), nan="skip")[0].tolist() == [1, 1]


def test_percentiles():
    x = np.arange(8) * 0.5
    assert gr.quantile(x, [0, 1, 0.5]).tolist() == [0, 3.5, 1.75]
    assert gr.quantile([1, 2, 3, 4], 0.35) == 2.05 and gr.quantile([[1, 2, 3], [4, 5, 6]], 0.5, 1).tolist() == [2, 5]
    assert gr.quantile([math.nan, 5, -math.inf, math.inf], [0, 1], nan="skip").tolist() == [-math.inf, math.inf]
    assert math.isnan(gr.quantile([-math.inf, math.inf], 0.5)) and gr.quantile([math.inf] * 2, 0.5) == math.inf
    assert gr.quantile([7], np.linspace(0, 1, 9)).tolist() == [7] * 9
    found = gr.quantile(np.array([0.15] * 4), np.linspace(0, 1, 41))  # equal elements have equal quantiles
    assert set(found.tolist()) == {0.15}
    found = gr.quantile(np.random.default_rng(1).standard_normal(35), np.linspace(0, 1, 200))
    assert (np.diff(found) >= 0).all()


def test_special_cases():
    """Those of the array API's standard."""
    nan, inf = math.nan, math.inf
    for dtype in ("f2", "f4", "f8"):
        x = np.array([[nan, 1], [inf, 1], [-inf, inf], [1, 3]], dtype)
        for function, wanted in ((gr.sum, [nan, inf, nan, 4]), (gr.mean, [nan, inf, nan, 2]),
                                 (gr.min, [nan, 1, -inf, 1]), (gr.max, [nan, inf, inf, 3]),
                                 (gr.var, [nan, nan, nan, 1]), (gr.std, [nan, nan, nan, 1])):
            assert np.array_equal(function(x, axis=1), np.array(wanted, "f8"), equal_nan=True)
            assert np.array_equal([function(row) for row in x], np.array(wanted, "f8"), equal_nan=True)
        for correction in (2, 3):
            assert np.isnan(gr.var(x, axis=1, ddof=correction)).all() and math.isnan(gr.std(x[3], ddof=correction))
    assert gr.sum(np.zeros((2, 0), "f4"), axis=1, keepdims=True).tolist() == [[0], [0]]


@pytest.mark.parametrize("axis, error", [(3, ValueError), (-4, ValueError), ((0, 0), ValueError),
                                         ((0, -3), ValueError), (1.5, TypeError), ("a", TypeError),
                                         (True, TypeError), ((0, True), TypeError), ((), ValueError)])
def test_axes_that_are_refused(axis, error):
    with pytest.raises(error):
        gr.sum(X, axis=axis)


def test_arguments_that_are_refused():
    for unknown in ({"dtype": "f8"}, {"where": X > 1}, {"initial": 5}):
        with pytest.raises(TypeError, match="unexpected keyword"):
            gr.sum(X, **unknown)
    with pytest.raises(TypeError):
        gr.sum(X, 0, "f8")  # the third of NumPy's is the dtype
    with pytest.raises(ValueError, match="std"):
        gr.reduce(X, ["stddev"])
    with pytest.raises(ValueError):
        gr.reduce(X, [])
    with pytest.raises(TypeError):
        gr.reduce(X, [1])
    with pytest.raises(ValueError):
        gr.reduce(X, ["argmin"], axis=(0, 1))
    for wrong in ([1, 2, 3, 4, 5], 300):
        with pytest.raises(gr.Error):
            gr.sum(np.arange(3, dtype="u1"), missing=wrong)
    with pytest.raises(TypeError):
        gr.sum(X, missing="a")
    for masked in (np.ma.masked, np.ma.array(0, mask=True)):  # whose item() is a number
        with pytest.raises(ValueError, match="masked"):
            gr.mean(X, missing=masked)
        with pytest.raises(ValueError, match="masked"):
            gr.quantile(X, np.ma.stack((np.ma.array(0.5), masked)))
    assert gr.sum(X) == 276  # an error leaves nothing behind


def test_results():
    found = gr.reduce(X, "summary")
    assert found.count == 24 and found["q0.25"] == 5.75 and found.median == 11.5 and len(found) == 11
    with pytest.raises(AttributeError, match="asked"):
        found.sum
    with pytest.raises(KeyError):
        found["sum"]
    assert "min=0" in repr(found) and "summary" not in found
    assert gr.reduce(X, ["p90", "q0.5"])["p90"] == 20.7
    assert gr.reduce(X, ["argmin", "argmax"], axis=1).argmax.tolist() == X.argmax(axis=1).tolist()
