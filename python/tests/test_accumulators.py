"""Accumulators: in any order, in any pieces, across processes; dask."""

import copy
import functools
import math
import pickle
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpureduce as gr
from gpureduce.mpi import merge
from oracle import LAYOUTS, TYPES, exact_sum, expected, layouts, make, numbers, same

OPS = ["sum", "mean", "min", "max", "var", "std", "count", "nan", "zeros", "l1", "l2", "absmax", "absmin"]
settings.register_profile("gpureduce", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("gpureduce")
seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from(TYPES), st.integers(0, 500), seeds, st.sampled_from(["bits", "finite", "small"]),
       st.sampled_from(["propagate", "skip"]), st.integers(0, 1), st.sampled_from(LAYOUTS))
@settings(max_examples=150)
def test_any_pieces(dtype, n, seed, mode, nan, ddof, layout):
    array = make(dtype, (n,), seed, mode)
    chance = random.Random(seed)
    cuts = sorted(chance.randint(0, n) for _ in range(4))
    pieces = [array[a:b] for a, b in zip([0] + cuts, cuts + [n])]
    chance.shuffle(pieces)
    parts = [gr.Accumulator(np.dtype(dtype), OPS, nan=nan, ddof=ddof) for _ in range(3)]
    for piece in pieces:
        chance.choice(parts).add(layouts(piece, layout))
    if chance.random() < 0.5:
        parts[0] = pickle.loads(pickle.dumps(parts[0]))
    chance.shuffle(parts)
    whole = functools.reduce(merge, parts)
    found = whole.result()
    for op in OPS:
        wanted = expected(op, array, nan, ddof)
        assert same(found[op], wanted), (op, found[op], wanted)
        assert same(whole.result(op), wanted)
    if all(math.isfinite(x) for x in numbers(array)):
        assert whole.exact_sum() == exact_sum(numbers(array))


@given(st.sampled_from(TYPES), st.integers(1, 300), seeds, st.sampled_from(["bits", "finite", "small"]))
def test_placed_pieces(dtype, n, seed, mode):
    array = make(dtype, (n,), seed, mode)
    chance = random.Random(seed)
    cuts = sorted({0, n, chance.randint(0, n), chance.randint(0, n)})
    pieces = [(a, b) for a, b in zip(cuts, cuts[1:])]
    chance.shuffle(pieces)
    ops = ["sum", "argmin", "argmax", "count"]
    parts = [gr.Accumulator(np.dtype(dtype), ops) for _ in range(2)]
    for a, b in pieces:
        chance.choice(parts).add_at(array[a:b], a)
    whole = merge(*parts)
    for op in ops:
        assert same(whole.result(op), expected(op, array)), op
    a, b = pieces[0]
    with pytest.raises(ValueError):
        whole.add_at(array[a:b], a)
    assert same(whole.result("sum"), expected("sum", array))


def test_many_ranges():
    """A text has at most 16; accumulators of one thread do without."""
    acc = gr.Accumulator("f8", "sum,argmin")
    for i in range(40):
        acc.add_at([float(-i)], 2 * i)
    other = gr.Accumulator("f8", "sum,argmin")
    other.add_at([-99.0], 1)
    for one in (acc.copy(), copy.deepcopy(acc), merge(acc, gr.Accumulator("f8", "sum,argmin"))):
        assert one.result() == {"sum": -780.0, "argmin": 78}
    acc.merge(other)
    assert acc.result() == {"sum": -879.0, "argmin": 1}
    with pytest.raises(ValueError, match="element 0"):
        acc.merge(acc)
    for refused in (pickle.dumps, gr.Accumulator.to_bytes, lambda acc: acc.result("mean")):
        with pytest.raises(gr.UnsupportedError, match="ranges"):
            refused(acc)
    for i in range(1, 40):
        acc.add_at([0.0], 2 * i + 1)
    assert pickle.loads(pickle.dumps(acc)).result("mean") == -879 / 80
    empty = gr.Accumulator("f8", "sum").copy()
    empty.add_at([1.0], 5)
    assert empty.result("sum") == 1.0


def test_more_can_be_added():
    acc = gr.Accumulator("i4", ["sum", "max"])
    assert acc.result("sum") == 0 and math.isnan(acc.result("max"))
    for i in range(5):
        acc.add(np.array([i], "i4"))
        assert acc.result() == {"sum": sum(range(i + 1)), "max": i}
    other = copy.copy(acc)
    acc.clear()
    assert acc.result("sum") == 0 and other.result("sum") == 10
    assert copy.deepcopy(other).result("sum") == 10
    other.merge(other)
    assert other.result("sum") == 20
    assert repr(acc) == "Accumulator('int32', ['sum', 'max'])" and acc.dtype == "int32"
    with pytest.raises(ValueError, match=r"'sum', 'max'\]\) and Accumulator\('int32', .*, ddof=1, missing=\(2, 3\)\)"):
        acc.merge(gr.Accumulator("int32", "sum,max", ddof=1, missing=[2, 3]))


def test_results_that_follow():
    acc = gr.Accumulator("f4", ["sum", "std"], ddof=1)
    acc.add(np.array([1, 2, 6], "f4"))
    assert (acc.result("mean"), acc.result("var"), acc.result("count")) == (3.0, 7.0, 3)
    assert acc.result() == {"sum": 9.0, "std": math.sqrt(7)}
    for op in ("min", "argmax", "median", "nothing"):
        with pytest.raises(ValueError):
            acc.result(op)
    acc.add(np.array([3], "f4"))
    assert acc.result("mean") == 3.0


def test_a_list_of_missing_values_is_copied():
    missing = [1]
    acc = gr.Accumulator("int64", "sum,missing", missing=missing)
    missing[0] = 2
    for one in (acc, acc.copy(), pickle.loads(pickle.dumps(acc))):
        one.add([1, 2, 4])
        assert one.result() == {"sum": 6, "missing": 1}


def test_types():
    for name in ("f32", "float32", "f4", ">f4", np.float32, np.dtype("f4")):
        assert gr.Accumulator(name).dtype == "float32"
    assert gr.Accumulator(float).dtype == "float64" and gr.Accumulator("<i8").dtype == "int64"
    for name in ("i8", "u8", "f16"):
        with pytest.raises(ValueError, match="two types"):
            gr.Accumulator(name)
    acc = gr.Accumulator("float64")
    with pytest.raises(TypeError, match="float32"):
        acc.add(np.zeros(3, "f4"))
    for wrong in ("complex64", "U3"):
        with pytest.raises(TypeError):
            gr.Accumulator(wrong)
    torch = pytest.importorskip("torch")
    acc = gr.Accumulator(torch.bfloat16, "l2")
    acc.add(torch.tensor([3, 4], dtype=torch.bfloat16))
    assert acc.result("l2") == 5.0


def test_masks():
    acc = gr.Accumulator("int64", ["sum", "missing"], missing=7)
    acc.add(np.ma.masked_array([1, 2, 7], [True, False, False]))
    acc.add(np.array([5, 6]), mask=[False, True])
    assert acc.result() == {"sum": 7, "missing": 3}
    assert pickle.loads(pickle.dumps(acc)).result() == {"sum": 7, "missing": 3}


def test_what_is_refused():
    acc = gr.Accumulator("int64")
    with pytest.raises(ValueError, match="among"):
        acc.result("std")
    with pytest.raises(TypeError):
        acc.merge(5)
    with pytest.raises(ValueError, match="differ"):
        acc.merge(gr.Accumulator("int64", "sum,std"))
    with pytest.raises(ValueError, match="differ"):
        acc.merge(gr.Accumulator("int64", missing=1))
    for wrong in (["sum"], ("mean",), 5):
        with pytest.raises(TypeError, match="an operation is a str"):
            acc.result(wrong)
    with pytest.raises(ValueError, match="NUL"):
        acc.to_bytes(name="a\0b")
    with pytest.raises((ValueError, NotImplementedError)):
        gr.Accumulator("int64", ["median"])
    for start in (-1, 0.5, 2**64):
        with pytest.raises(ValueError, match="start"):
            acc.add_at([1], start)
    with pytest.raises(gr.Error):
        acc.add([1]), acc.add_at([1], 1)
    placed = gr.Accumulator("int64", ["argmin"])
    with pytest.raises(gr.Error):
        placed.add([1]), placed.result("argmin")


def test_a_partial_of_the_program(tmp_path):
    """add_at makes a line that gpureduce --merge reads."""
    acc = gr.Accumulator("f4", ["sum", "min", "max", "mean"])
    acc.add_at(np.arange(5, dtype="f4"), 0)
    other = gr.Accumulator("f4", ["sum", "min", "max", "mean"])
    other.add_at(np.arange(5, 9, dtype="f4"), 5)
    (tmp_path / "parts").write_bytes(acc.to_bytes(name="x", count=9) + b"\n"
                                   + other.to_bytes(name="x") + b"\n")
    run = subprocess.run([sys.executable, "-m", "gpureduce", "--merge", "-o", "sum,mean,max", "parts"],
                         cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "sum\t36\nmean\t4\nmax\t8\n"
    acc = gr.Accumulator("f4", ["digest"])
    acc.add_at(np.arange(5, dtype="f4"), 0)
    acc.to_bytes(count=9)
    assert acc.result("digest") == gr.digest(np.arange(5, dtype="f4"))


dask = pytest.importorskip("dask")


@pytest.mark.parametrize("chunks", [(7, 3), (100, 1), (1, 40), (33, 33), (100, 40)])
def test_dask(chunks):
    import dask.array as da
    import gpureduce.dask as gd

    array = make("f4", (100, 40), 3, "finite")
    x = da.from_array(array, chunks=chunks)
    for name in ("sum", "mean", "min", "max", "std", "var"):
        found = getattr(gd, name)(x)
        assert found.shape == () and same(float(found.compute()), float(expected(name, array)))
    assert float(gd.std(x, ddof=1).compute()) == expected("std", array, ddof=1)
    ints = da.from_array(np.full((100, 40), 2**62), chunks=chunks)
    assert gd.sum(ints).compute() == 4000 * 2**62
    assert gd.max(ints).compute() == 2**62 and gd.max(ints).dtype == np.int64
    both = gd.reduce(x, "sum,l2")
    assert same(both.compute()["l2"], expected("l2", array))
    assert gd.sum(x.T[::-1]).compute() == gd.sum(x).compute()
    with pytest.raises(TypeError, match="gpureduce.dask"):
        gr.sum(x)
    with pytest.raises(TypeError, match="dask array"):
        gd.sum(array)
    for op in ("argmin", "digest"):
        with pytest.raises(ValueError, match="a chunk is not a range"):
            gd.reduce(x, op)
    # Not only when a task runs.
    for wrong, error in (({"axis": 2}, ValueError), ({"nan": "no"}, ValueError), ({"ddof": -1}, ValueError)):
        with pytest.raises(error):
            gd.std(x, **wrong)
    with pytest.raises(gr.UnsupportedError, match="quantiles"):
        gd.reduce(x, "median")


@pytest.mark.parametrize("chunks", [(4, 3, 2), (9, 5, 4), (1, 5, 4)])
@pytest.mark.parametrize("axis", [0, -1, (0, 2), (2, 1), [1]])
def test_dask_along_axes(chunks, axis):
    import dask.array as da
    import gpureduce.dask as gd

    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    kept = [i for i in range(3) if i not in axes and i - 3 not in axes]
    for dtype in ("f4", "f8", ">i2", "u8", "?"):
        array = make(dtype, (9, 5, 4), 3, "finite") if dtype[0] == "f" else np.arange(180).reshape(9, 5, 4).astype(dtype)
        for name in ("sum", "mean", "min", "max", "std", "var", "median"):
            found = getattr(gd, name)(da.from_array(array, chunks=chunks), axis=axis)
            values = found.compute()
            assert values.dtype == found.dtype and found.shape == values.shape == tuple(array.shape[i] for i in kept)
            for index in np.ndindex(values.shape):
                one = array[tuple(index[kept.index(i)] if i in kept else slice(None) for i in range(3))]
                assert same(float(values[index]), float(expected(name, one)))


def test_dask_of_unknown_sizes():
    import dask.array as da
    import gpureduce.dask as gd

    x = da.from_array(np.arange(12.0).reshape(3, 4), chunks=(2, 3))
    x = x[x[:, 0] > 3]
    assert gd.sum(x, axis=1).compute().tolist() == [22, 38] and gd.sum(x).compute() == 60
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        gd.sum(x, axis=0)


def test_dask_along_axes_refused():
    import dask.array as da
    import gpureduce.dask as gd

    x = da.from_array(np.array([[2**62 + 1, 2], [2**62, 2]]), chunks=1)
    with pytest.raises(OverflowError):
        gd.sum(x, axis=0).compute()
    assert gd.max(x, axis=0, missing=2).compute().tolist() == [2**62 + 1, 2]  # as of NumPy's arrays
    assert gd.sum(x - 1, axis=1, missing=1).compute().tolist() == [2**62, 2**62 - 1]
    assert gd.sum(x, axis=(0, 1)).compute() == 2**63 + 5 and gd.sum(x, axis=[-1, 0]).dtype == object
    assert gd.mean(da.zeros((0, 3)), axis=1).compute().shape == (0,)
    for ones in (np.ones(3, "i4"), np.ones(3), np.ma.masked_array(np.ones(3), True)):
        lazy = da.from_array(ones, chunks=2)
        assert same(gd.sum(lazy, axis=0, missing=1).compute(), gr.sum(ones, axis=0, missing=1))
        assert gd.sum(lazy, missing=1).compute() == 0
    assert gd.max(da.ones((3,), dtype="i4"), axis=0, missing=1).compute() == 1
    assert gd.sum(da.zeros((0, 3), dtype="i4"), axis=1).dtype == np.int64
    for wrong, error in (({"axis": ()}, ValueError), ({"axis": 0, "keepdims": True}, TypeError), ({"axis": 0, "nan": "no"}, ValueError)):
        with pytest.raises(error):
            gd.sum(x, **wrong)
    for axis in (None, 0):
        with pytest.raises(TypeError, match="ddof"):
            gd.sum(x, axis=axis, ddof=1)
    with pytest.raises(TypeError, match="a function each"):
        gd.reduce(x, "sum,min", axis=0)
    with pytest.raises(gr.UnsupportedError, match="accumulated"):
        gd.median(x, axis=None)
    for axis in (0, (0, 1)):
        with pytest.raises(gr.NaNError, match="^a chunk: element 0,0,0 is a NaN$"):
            gd.sum(da.full((1, 1, 2), np.nan, chunks=1), axis=axis, nan="error").compute()


def test_dask_of_no_elements_and_of_many_chunks():
    import dask.array as da
    import gpureduce.dask as gd

    assert gd.sum(da.zeros((0, 3), dtype="i4")).compute() == 0
    assert math.isnan(gd.mean(da.zeros((0,))).compute()) and math.isnan(gd.max(da.zeros((0,))).compute())
    assert np.isnan(gd.mean(da.zeros((8, 0, 2), chunks=3), axis=(0, 1)).compute()).tolist() == [True, True]
    assert gd.sum(da.zeros((0, 6), chunks=4), axis=1).compute().shape == (0,)
    with pytest.raises(ValueError, match="without elements"):
        gd.max(da.ones((3,), dtype="i4"), missing=1).compute()
    x = da.from_array(np.arange(1000.0), chunks=3)  # merged on three levels
    assert gd.sum(x).compute() == 499500.0 and gd.reduce(x, "count,max").compute() == {"count": 1000, "max": 999.0}
    both = dask.compute(gd.sum(x, nan="skip"), gd.sum(x, missing=999), gd.sum(x + 1), gd.max(x) - gd.min(x))
    assert tuple(map(float, both)) == (499500.0, 498501.0, 500500.0, 999.0)
    assert gd.accumulate(x).key == gd.accumulate(x).key != gd.accumulate(x, nan="skip").key


def test_dask_in_processes():
    import dask.array as da
    import gpureduce.dask as gd

    x = da.from_array(np.arange(100.0), chunks=30)
    assert gd.sum(x).compute(scheduler="processes", num_workers=2) == 4950.0


def test_xarray():
    xarray = pytest.importorskip("xarray")
    import gpureduce.dask as gd

    array = np.arange(12.0).reshape(3, 4)
    whole = xarray.DataArray(array)
    assert gr.sum(whole) == 66.0
    with pytest.raises(TypeError, match=r"x.reduce\(gpureduce.sum, dim='dim_1'\)"):
        gr.sum(whole, axis="dim_1")
    assert whole.reduce(gr.sum, dim="dim_1").values.tolist() == [6, 22, 38]
    lazy = whole.chunk({"dim_0": 2})
    assert gd.sum(lazy).compute() == 66.0 and gd.max(lazy.variable).compute() == 11.0
    with pytest.raises(TypeError, match="variable"):
        gr.sum(xarray.Dataset({"x": whole}))
    with pytest.raises(TypeError, match="gpureduce.dask"):
        gr.sum(lazy)


def test_labels_of_masks():
    xarray = pytest.importorskip("xarray")
    pandas = pytest.importorskip("pandas")

    square = xarray.DataArray(np.arange(9.0).reshape(3, 3), dims=("a", "b"), coords={"b": [1, 2, 3]})
    above = square > 1  # all but two elements of the first row
    for mask, rest in (above, 1), (above.values.T, 3), (above[1], 0), (above.variable, 1), (above.drop_vars("b"), 1):
        assert gr.sum(square, mask=mask) == rest
    with pytest.raises(ValueError, match="other labels than the array.*mask.values"):
        gr.sum(square, axis=0, mask=above.T)
    numbers = pandas.Series([1.0, 2.0, 4.0], index=[7, 8, 9])
    most = numbers > 1
    assert gr.sum(numbers.to_xarray(), mask=most) == gr.sum(numbers, mask=most) == 1
    assert gr.sum(numbers, mask=most.values[::-1]) == 4
    for x, mask in (square, above[:, 0]), (square, above[:, ::-1]), (numbers, most[::-1]), (numbers, ~most.iloc[:1]):
        with pytest.raises(ValueError, match="other labels"):
            gr.histogram(x, mask=mask)
        with pytest.raises(ValueError, match="other labels"):
            gr.Accumulator("float64").add(x, mask=mask)
