"""Files: open, summaries, differences; the program."""

import copy
import functools
import gc
import gzip
import importlib.util
import io
import json
import math
import os
import pickle
import resource
import struct
import subprocess
import sys

from fractions import Fraction

import numpy as np
import pytest

from hypothesis import given, settings, strategies as st

import gpureduce as gr
from gpureduce import _library as lib
from gpureduce._library import spoken
from oracle import LAYOUTS, TYPES, expected, layouts, make, numbers, quantile, same

# A file with an array that cannot be read warns of it.
skipped = pytest.mark.filterwarnings("ignore:.*skipped array t")


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, w=np.arange(12, dtype="f4").reshape(3, 4), n=np.array([2**63 - 1, 5]), t=np.array(["a"]))
    return path


def test_npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10, dtype=">i2").reshape(2, 5))
    for name in (path, str(path), os.fsencode(path)):
        with gr.open(name) as f:
            assert (f.format, len(f), f[0].name, f[0].dtype, f[0].shape, f[0].size) == (
                "npy", 1, "", "int16", (2, 5), 10)
            a = f[0]
            assert (a.sum(), a.min(), a.max(), a.mean(), a.median()) == (45, 0, 9, 4.5, 4.5)
            assert a.std() == gr.std(np.arange(10)) and a.var(ddof=1) == gr.var(np.arange(10), ddof=1)
            assert a.quantile(0.1) == 0.9 and a.quantile([0, np.float32(0.1)]).tolist() == [0, 0.9] and a.exact_sum() == 45
            assert a.sum(missing=9) == 36
            assert a.reduce("summary").count == 10
    with pytest.raises(ValueError, match="closed"):
        a.sum()
    f.close()
    with open(path, "rb") as one:
        assert gr.open(f"/dev/fd/{one.fileno()}")[0].sum() == 45


@skipped
def test_containers(arrays):
    f = gr.open(arrays)
    assert f.keys() == ["w", "n", "t"] and [a.name for a in f] == f.keys() and "w" in f and "q" not in f
    assert f["w"].sum() == 66.0 and f["n"].sum() == 2**63 + 4 and f["w"].shape == (3, 4)
    assert f["t"].why_unreadable and f["w"].why_unreadable is None
    with pytest.raises(gr.Error):
        f["t"].sum()
    with pytest.raises(KeyError, match="no array"):
        f["q"]
    with pytest.raises(IndexError, match="has no array 3"):
        f[3]
    assert "3 arrays" in repr(f) and "'w'" in repr(f["w"])


def test_arrays_that_are_skipped(arrays):
    for call in (lambda: gr.open(arrays), lambda: gr.total([arrays]), lambda: gr.diff(arrays, arrays)):
        with pytest.warns(gr.GpureduceWarning, match="skipped array t") as warned:
            call()
        assert {one.filename for one in warned} == {__file__}


@pytest.mark.filterwarnings("error")
def test_warnings_once(arrays, tmp_path):
    """An input warns when it is opened, and no more when it is reduced."""
    np.save(tmp_path / "tail.npy", np.arange(6.0))
    with open(tmp_path / "tail.npy", "ab") as file:
        file.write(b"tail")
    np.arange(1000.0).tofile(tmp_path / "f64.f32")
    for path in (arrays, tmp_path / "tail.npy", tmp_path / "f64.f32"):
        with pytest.warns(gr.GpureduceWarning) as warned:
            f = gr.open(path)
        assert len(warned) == 1, path
        for call in (f[0].sum, f[0].median, lambda: f[0].max(axis=0), lambda: f[0].reduce("digest"), f.summary):
            call()


def test_the_line_that_a_warning_is_of(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    a = gr.open(tmp_path / "x.npy")[0]

    def warns(function):
        def call(*arguments):
            a._file._context.messages.append("no GPU")  # as the library's function does for one that fails
            return function(*arguments)
        return call

    for name in ("reduce_file", "reduce_axis", "reduce_each"):
        monkeypatch.setattr(lib, name, warns(getattr(lib, name)))
    for call in (lambda: a.sum(), lambda: a.reduce("max"), lambda: a.median(axis=0), lambda: a.exact_sum(),
                 lambda: a._file.summary()):
        with pytest.warns(gr.GpureduceWarning, match="no GPU") as warned:
            call()
        assert [one.filename for one in warned] == [__file__]


@skipped
def test_a_file_is_not_copied(arrays):
    f = gr.open(arrays)
    for copied, one in ((copy.copy, f), (copy.deepcopy, f), (copy.deepcopy, f["w"]), (pickle.dumps, f)):
        with pytest.raises(TypeError, match="open its path again"):
            copied(one)
    assert copy.copy(f["w"]).sum() == f["w"].sum() == 66.0


@skipped
def test_summary(arrays):
    summary = gr.open(arrays).summary()
    text, page = str(summary), summary._repr_html_()
    assert len(summary) == 3 and summary[0].results.mean == 5.5 and summary[2].results is None
    assert text.splitlines()[0].split()[:4] == ["array", "type", "shape", "count"]
    assert "cannot be read" in text and "3x4" in text and page.count("<tr>") == 4
    np.savez(arrays.parent / "evil.npz", **{"<b>": np.arange(3)})
    assert "<b>" not in gr.open(arrays.parent / "evil.npz").summary()._repr_html_()
    assert len(gr.open(arrays)["w"].summary()) == 1


def test_names_that_are_not_printable(tmp_path):
    h5py = pytest.importorskip("h5py")
    if not reads_hdf5():
        pytest.skip("the library has no libhdf5")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        for name in (b"\xff", b"a\nb", b"\33[31m \xc3\xbc"):
            f.create_dataset(name, data=[math.nan])
    with gr.open(tmp_path / "x.h5") as f:
        lines = str(f.summary(["count"])).encode().decode().splitlines()
        assert sorted(line.split("  ")[0] for line in lines) == [r"\udcff", r"\x1b[31m" + " \xfc", r"a\nb", "array"]
        for array in f:
            with pytest.raises(gr.NaNError) as caught:
                array.sum(nan="error")
            assert caught.value.array == array.name and f[array.name].reduce("nan").nan == 1


def test_raw(tmp_path):
    path = tmp_path / "x"
    np.arange(5, dtype=">f8").tofile(path)
    assert gr.open(path, dtype=">f8")[0].sum() == 10.0
    assert gr.open(path, dtype=">f8", skip=16)[0].shape == (3,)
    assert gr.open(path, dtype=np.dtype(">f8"))[0].max() == 4.0
    with pytest.raises(TypeError):
        gr.open(path, dtype="f99")
    for skip in (-1, 0.5, 2**64):
        with pytest.raises(ValueError, match="skip"):
            gr.open(path, dtype=">f8", skip=skip)


def write_safetensors(path, **arrays):
    """A safetensors file of arrays of float32."""
    header, data = {}, b""
    for name, x in arrays.items():
        begin, data = len(data), data + x.tobytes()
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_sets_of_files(tmp_path):
    a, b, c = (np.arange(n, dtype="f4") + n for n in (10, 6, 5))
    write_safetensors(tmp_path / "m-1.safetensors", a=a, c=c)
    write_safetensors(tmp_path / "m-2.safetensors", b=b.reshape(2, 3))
    with gr.open(tmp_path) as f:
        assert (f.format, f.keys()) == ("safetensors", ["a", "c", "b"])
        assert [x.sum() for x in f] == [145, 35, 51] and f["b"].shape == (2, 3) and f[2].size == 6
        assert [row.results["max"] for row in f.summary()] == [19, 9, 11]
    index = tmp_path / "m.safetensors.index.json"
    places = {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"}
    index.write_text(json.dumps({"weight_map": places}))
    with gr.open(index) as f:
        assert f["b"].sum() == 51 and f["a"].quantile(0.5) == 14.5
    assert gr.total([tmp_path, index], "sum,count").sum == 2 * (145 + 35 + 51)
    other = tmp_path / "other"
    other.mkdir()
    write_safetensors(other / "all.safetensors", a=a, b=b.reshape(2, 3), c=c)
    with gr.open(other) as f:
        assert f.keys() == ["a", "b", "c"] and f["c"].max() == 9
    assert gr.diff(tmp_path, other).different == 0
    write_safetensors(other / "all.safetensors", a=a, b=b.reshape(2, 3) * 2)
    found = gr.diff(other, index)
    assert found.different == 2 and [(row["array"], row["differs"]) for row in found.rows] == [
        ("b", "values"), ("c", "only-b")]
    places["d"] = "m-2.safetensors"
    index.write_text(json.dumps({"weight_map": places}))
    with gr.open(index) as f:
        assert "d" in f.keys() and f["d"].why_unreadable and f["b"].sum() == 51
        with pytest.raises(gr.DataError, match="array d"):
            f["d"].sum()
    index.write_text('{"weight_map": {"a": "../x"}}')
    with pytest.raises(gr.DataError, match="names a file that is not a"):
        gr.open(tmp_path)
    index.unlink()
    (tmp_path / "m-2.safetensors").write_bytes(b"short")
    with pytest.raises(gr.DataError, match="m-2.safetensors"):
        gr.open(tmp_path)


def test_raw_shapes(tmp_path):
    path = tmp_path / "x.bin"
    x = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    x.tofile(path)
    for shape in ((2, 3, 4), [2, -1, 4], (np.int64(2), 3, -1)):
        with gr.open(path, dtype=">i2", shape=shape) as f:
            assert f[0].shape == (2, 3, 4) and f[0].sum() == x.sum() and f[0].size == 24
            for axis in range(3):
                assert f[0].sum(axis=axis).tolist() == x.sum(axis).tolist()
    for shape, error in (((5, -1), "divided by the other sizes"), ((2, 3), "the shape has another number"),
                         ((2**40, 2**40), "the shape has another number")):
        with pytest.raises(gr.UnsupportedError, match=error):
            gr.open(path, dtype=">i2", shape=shape)
    with pytest.raises(gr.ArgumentError, match="one size of a shape may be left open, not 2"):
        gr.open(path, dtype=">i2", shape=(-1, -1))
    with pytest.raises(gr.ArgumentError, match="at most 64 dimensions"):
        gr.open(path, dtype=">i2", shape=(1,) * 65)
    with pytest.raises((TypeError, ValueError)):
        gr.open(path, shape=(-2, 3))
    np.save(tmp_path / "y.npy", x)
    with pytest.warns(gr.GpureduceWarning, match="its header states the shape; the one that was given is ignored"):
        assert gr.open(tmp_path / "y.npy", shape=(24,))[0].shape == (2, 3, 4)
    with gr.open(path, dtype="f8", window=31) as f:
        assert f[0].shape == (6,)
    with pytest.raises(gr.ArgumentError, match="window= is from 10 to 31"):
        gr.open(path, window=32)


def test_meaning(tmp_path):
    path = tmp_path / "x.fits"
    cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    1",
             "NAXIS1  =                    3", "BLANK   =                   -5", "BSCALE  =                 0.25",
             "BZERO   =                   -1", "END"]
    header = "".join(card.ljust(80) for card in cards).ljust(2880).encode()
    path.write_bytes(header + struct.pack(">3h", 1, -5, 3).ljust(2880, b"\0"))
    a, b = gr.open(path)[0], gr.open(path, stored=True)[0]
    assert (a.scale, a.missing, a.sum()) == ((0.25, -1.0), "-5", -1.0)
    assert (b.scale, b.missing, b.sum()) == (None, "", -1)


def test_inside_gzip(tmp_path):
    """FITS has its headers between the data."""
    def hdu(first, data, *more):
        sizes = [f"NAXIS{i + 1:<3}= {n:20}" for i, n in enumerate(data.shape[::-1])]
        cards = [first, f"BITPIX  = {data.itemsize * 8:20}", f"NAXIS   = {data.ndim:20}", *sizes, *more, "END"]
        parts = "".join(f"{card:80}" for card in cards).encode(), data.astype(data.dtype.newbyteorder(">")).tobytes()
        return b"".join(part + pad * (-len(part) % 2880) for part, pad in zip(parts, (b" ", b"\0")))

    one, two = np.arange(6, dtype="i4").reshape(2, 3), np.arange(20000, dtype="i2").reshape(100, 200)
    plain, packed = tmp_path / "x.fits", tmp_path / "x.fits.gz"
    plain.write_bytes(hdu("SIMPLE  = T", one) + hdu("XTENSION= 'IMAGE   '", two, "BZERO   = 32768", "BLANK   = 7"))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with gr.open(packed) as f:
        assert f.format == "fits+gzip" and f.keys() == ["PRIMARY", "HDU1"]
        for _ in range(2):
            assert f["HDU1"].sum() == 20000 * 32768 + 20000 * 19999 // 2 - 32768 - 7
        assert f["HDU1"].median() == 32768 + 10000 and f["PRIMARY"].quantile([0, 1]).tolist() == [0, 5]
        assert f["PRIMARY"].digest() == gr.digest(one)
    assert gr.total([packed], ["count"]).count == 20005
    assert gr.diff(plain, packed).different == 0
    np.savez_compressed(tmp_path / "x.npz", one=one, two=two)
    packed = tmp_path / "x.npz.gz"
    packed.write_bytes(gzip.compress((tmp_path / "x.npz").read_bytes()))
    with gr.open(packed) as f:
        assert f.format == "npz+gzip" and f["two"].sum() == 20000 * 19999 // 2
        assert f["two"].median() == 9999.5 and f["one"].digest() == gr.digest(one)


def test_format(tmp_path):
    path = tmp_path / "x.dat"
    path.write_bytes(struct.pack("=i2di", 16, 0.5, 2.25, 16) * 40)
    with pytest.raises(gr.DataError, match="a Fortran file of records; give the format fortran"):
        gr.open(path)
    assert gr.open(path, format="fortran", dtype="f64").format == "fortran"
    total = gr.total([path], ["sum", "count"], format="fortran", dtype="f64")
    assert (total.sum, total.count) == (110.0, 80)
    assert gr.total([path], ["count"], format="raw", dtype="f64").count == 120
    assert gr.diff(path, np.tile([0.5, 2.25], 40), format="fortran", dtype="f64").different == 0
    with pytest.raises(ValueError, match="unknown format f77"):
        gr.open(path, format="f77")


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        gr.open(tmp_path / "nowhere")
    for wrong in (io.BytesIO(b"abc"), 3, None):
        with pytest.raises(TypeError, match="/dev/fd/3"):
            gr.open(wrong)
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(gr.Error, match="ends at byte 500") as caught:
        gr.open(path)[0].sum()
    assert isinstance(caught.value, (ValueError, OSError))


def test_too_few_descriptors(tmp_path):
    path = tmp_path / "x.h5"
    path.write_bytes(b"\211HDF\r\n\032\n")
    with pytest.raises(gr.DataError) as caught:
        gr.open(path)
    if "an HDF5 file: libhdf5: " not in str(caught.value):
        pytest.skip("no libhdf5")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(path, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 2, limits[1]))  # of the file, and one end of a pipe
    try:
        with pytest.raises(gr.ReadError, match="cannot create a pipe"):
            gr.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_errors_name_arguments_of_python(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(13))
    with pytest.raises(gr.Error, match=r"\(skip=\)") as caught:
        gr.open(path, dtype="u1", skip=100)[0].sum()
    assert "GPR_" not in str(caught.value)
    for text, found in ((b"a; try i16 in GPR_ORDER_BIG", "a; try dtype='>i2'"), (b"a; try f64", "a; try dtype='f8'"),
                        (b"a; try in GPR_ORDER_LITTLE", "a; try a dtype that begins with '<'"),
                        (b"a; try another type", "a; try another type"),
                        (b"a; GPR_STORED ignores attributes", "a; stored=True ignores attributes"),
                        (b"a; the CPU can (GPR_DEVICE)", "a; the CPU can (gpureduce.configure(device='cpu'))"),
                        (b"a: type order GPR_SKIP", "a: type order skip")):
        assert spoken(text) == found


OPS = ("sum", "mean", "min", "max", "std", "var", "median")


def printed(path, op, axis, *more):
    """The results along an axis that the program prints, in C order of the other dimensions."""
    done = subprocess.run([os.environ["GPUREDUCE_PROGRAM"], path, f"--axis={axis}", f"--op={op}", "--json", *more],
                          capture_output=True, text=True, check=True)
    return done.stdout


def along(x, op, axis):
    """Results along an axis by exact arithmetic, rounded once: integers, or floats."""
    def one(row):
        row = [Fraction(value) for value in row.tolist() if value is not None and value == value]
        if op == "sum":
            return sum(row)
        if not row:
            return np.nan
        if op in ("min", "max"):
            return {"min": min, "max": max}[op](row)
        if op == "median":
            row.sort()
            return (row[(len(row) - 1) // 2] + row[len(row) // 2]) / 2
        mean = sum(row) / len(row)
        square = sum((value - mean)**2 for value in row) / len(row)
        return {"mean": mean, "var": square, "std": square}[op]

    y = np.moveaxis(x, axis, -1)
    rows = [one(y[i]) for i in np.ndindex(y.shape[:-1])]
    values = [root(value) if op == "std" and value == value else
              int(value) if x.dtype.kind in "iub" and op in ("sum", "min", "max") else float(value)
              for value in rows]
    return values, y.shape[:-1]


def root(square):
    """The square root of a fraction, rounded once: by integers of many more bits than a float has."""
    above, below = square.numerator << 600, square.denominator
    return float(Fraction(math.isqrt(above // below), 1 << 300))


def check_axes(a, x):
    """Each operation along each axis of an array of a file, against exact arithmetic."""
    for axis in range(-x.ndim, x.ndim):
        for op in OPS:
            if op in ("min", "max") and x.shape[axis] == 0:
                with pytest.raises(ValueError, match="without elements"):
                    getattr(a, op)(axis=axis)
                continue
            wanted, shape = along(x, op, axis)
            found = getattr(a, op)(axis=axis)
            assert found.shape == shape
            wide = "f8" if x.dtype.kind == "f" else "u8" if x.dtype.kind == "u" else "i8"
            want = x.dtype.newbyteorder("=") if op in ("min", "max") else wide if op == "sum" else "f8"
            assert found.dtype == want, (op, axis)
            np.testing.assert_array_equal(found, np.array(wanted, want).reshape(shape))
            kept = getattr(a, op)(axis=axis, keepdims=True)
            np.testing.assert_array_equal(kept, np.expand_dims(found, axis))
            out = np.empty(shape, want)
            assert getattr(a, op)(axis=(axis,), out=out) is out
            np.testing.assert_array_equal(out, found)
        both = a.quantile([[0.5, 1]], axis, keepdims=True)[0]
        np.testing.assert_array_equal(both[0], a.median(axis, keepdims=True))
        assert a.quantile([], axis).shape == (0,) + shape
        if x.shape[axis] > 0:
            np.testing.assert_array_equal(both[1], x.max(axis=axis, keepdims=True).astype("f8"))
            for op in ("argmin", "argmax"):
                found, wanted = getattr(a, op), getattr(np, op)
                np.testing.assert_array_equal(found(axis, keepdims=True), wanted(x, axis, keepdims=True))
    if x.size:
        assert x.flat[a.argmin()] == x.min() and x.flat[a.argmax(keepdims=True)] == x.max()


@pytest.mark.parametrize("dtype", ["f4", ">f8", "f2", "i1", ">i2", "u8", "i8", "u1"])
def test_axes_of_npy(tmp_path, dtype):
    rng = np.random.default_rng(5)
    for shape in ((3, 4, 5), (1, 7, 2), (0, 3, 2), (3, 0, 2)):
        x = (rng.integers(0, 100, shape) * (0.37 if "f" in dtype else 1)).astype(dtype)
        for name, y in (("c", x), ("f", np.asfortranarray(x))):
            np.save(tmp_path / f"{name}.npy", y)
            with gr.open(tmp_path / f"{name}.npy") as f:
                check_axes(f[0], x)
        packed = tmp_path / "x.npy.gz"
        packed.write_bytes(gzip.compress((tmp_path / "f.npy").read_bytes()))
        with gr.open(packed) as f:
            check_axes(f[0], x)


def reads_hdf5():
    """Whether the library was built with libhdf5."""
    done = subprocess.run([os.environ["GPUREDUCE_PROGRAM"], "--version"], capture_output=True, text=True, check=True)
    return "HDF5: none" not in done.stdout


def test_axes_of_containers(tmp_path):
    x, n = np.random.default_rng(1).normal(size=(4, 3, 6)).astype("f4"), np.arange(12, dtype="i4").reshape(3, 4)
    np.savez_compressed(tmp_path / "x.npz", x=x, n=n)
    files = ["x.npz"]
    head = {"x": {"dtype": "F32", "shape": x.shape, "data_offsets": [0, x.nbytes]},
            "n": {"dtype": "I32", "shape": n.shape, "data_offsets": [x.nbytes, x.nbytes + n.nbytes]}}
    text = json.dumps(head).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + x.tobytes() + n.tobytes())
    files.append("x.safetensors")
    if reads_hdf5() and importlib.util.find_spec("h5py"):
        import h5py

        with h5py.File(tmp_path / "x.h5", "w") as f:
            f["n"] = n
            f.create_dataset("x", data=x, chunks=(2, 2, 4), compression="gzip")
        files.append("x.h5")
    for name in files:
        with gr.open(tmp_path / name) as f:
            check_axes(f["x"], x)
            check_axes(f["n"], n)
            r = f["n"].reduce("sum,argmax,count,l1", 0, keepdims=True)
            assert r.sum.tolist() == [[12, 15, 18, 21]] and r.argmax.shape == (1, 4)
            assert r.count.dtype == np.int64 and r.l1.dtype == np.float64


def test_all_axes_of_no_elements(tmp_path):
    """Sums of no elements, and of NaNs that are skipped, are 0; those of elements that are all missing are NaN."""
    for x, total in (([], 0), ([[], []], 0), ([np.nan, np.nan], 0), ([np.nan, 1], 0), ([[1], [1]], np.nan), ([1], np.nan)):
        x = np.array(x, "f4")
        np.save(tmp_path / "x.npy", x)
        axes = tuple(range(x.ndim))
        with gr.open(tmp_path / "x.npy") as f:
            for source in (functools.partial(gr.reduce, x), f[0].reduce):
                for keepdims in (False, True):
                    found = source("sum,l1", axes, missing=1, nan="skip", keepdims=keepdims)
                    np.testing.assert_array_equal(found.sum, np.full(found.l1.shape if keepdims else (), total))
                    np.testing.assert_array_equal(found.l1, found.sum)


def test_indices_in_fortran_order(tmp_path):
    """An index is one in C order, whatever the order in the file."""
    x = np.random.default_rng(2).permutation(120).reshape(2, 5, 3, 4)
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    np.savez(tmp_path / "x.npz", c=x, f=np.asfortranarray(x), one=np.arange(3))
    for i, name in ((0, "x.npy"), ("f", "x.npz"), ("c", "x.npz")):
        with gr.open(tmp_path / name) as f:
            assert dict(f[i].reduce("argmin,q0.5,argmax")) == {"argmin": x.argmin(), "q0.5": 59.5, "argmax": x.argmax()}
            assert f[i].reduce("argmax", (0, 1, 2, 3)).argmax == x.argmax()
            assert all(row.results.argmax == (x.argmax() if row.name != "one" else 2) for row in f.summary("argmax"))
    y = x.copy()
    y[1, 2, 1, 3] = -1
    xs = [np.empty((0, 2), int), tmp_path / "x.npz", tmp_path / "x.npy", np.asfortranarray(y), tmp_path / "x.npy"]
    assert gr.total(xs, "argmin").argmin == 363 + y.argmin()
    xs[0] = np.full(7, 5)
    y[1, 2, 1, 3] = 5
    np.save(tmp_path / "y.npy", np.asfortranarray(-y))
    assert gr.total([*xs, tmp_path / "y.npy"], "argmin").argmin == 7 + 363 + 240 + (-y).argmin()
    assert gr.total(xs[:1], "argmin", missing=5).argmin == -1
    with gzip.open(tmp_path / "raw.gz", "wb") as file:  # does not state its size
        file.write(x.tobytes())
    xs = [tmp_path / "raw.gz", tmp_path / "y.npy", tmp_path / "raw.gz", tmp_path / "x.npy"]
    assert dict(gr.total(xs, "argmax,argmin,count", dtype="int64")) == {
        "argmax": x.argmax(), "argmin": 120 + (-y).argmin(), "count": 480}
    y[1, 2, 1, 3] = 999
    np.save(tmp_path / "y.npy", np.asfortranarray(y))
    assert gr.total(xs[::-1] + [tmp_path / "y.npy"], "argmax", dtype="int64").argmax == 240 + y.argmax()
    assert gr.total([tmp_path / "raw.gz", *xs], "argmax", dtype="int64").argmax == 240 + y.argmax()


def test_axes_of_packed_numbers(tmp_path):
    netCDF4 = pytest.importorskip("netCDF4")
    if not reads_hdf5():
        pytest.skip("built without libhdf5")
    path = tmp_path / "x.nc"
    stored = np.array([[1, 2, -9], [3, -9, -9], [5, 6, -9]], "i2")
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("y", 3)
        f.createDimension("x", 3)
        for name in ("t", "n"):
            v = f.createVariable(name, "i2", ("y", "x"), fill_value=-9)
            if name == "t":
                v.scale_factor, v.add_offset = 0.1, 273.15
            v.set_auto_maskandscale(False)
            v[:] = stored
    with netCDF4.Dataset(path) as f:  # read by that package
        assert gr.sum(f["n"]) == 17 and gr.reduce(f["n"], "missing", 0).missing.tolist() == [0, 1, 3]
    scaled = np.array([[None if n == -9 else Fraction(0.1) * int(n) + Fraction(273.15) for n in row] for row in stored])
    with gr.open(path) as f, gr.open(path, stored=True) as raw:
        for op in ("mean", "min", "max", "var", "std", "median"):
            for axis in (0, 1):
                found = getattr(f["t"], op)(axis=axis)
                assert found.dtype == np.float64
                np.testing.assert_array_equal(found, along(scaled, op, axis)[0])
        assert f["n"].min(axis=0).tolist() == [1, 2, -9] and f["n"].min(axis=0).dtype == np.int16
        assert f["n"].sum(axis=1).tolist()[:2] == [3, 3]
        check_axes(raw["t"], stored)
        for op in OPS:
            found = f["t"].reduce(op, 0)[op].tolist()
            lines = printed(path, op, 0, "--array=t")
            for value in found:
                assert value != value or repr(value) in lines or f"{value:.17g}" in lines, (op, value, lines)


def test_axes_that_cannot_be(tmp_path):
    x = np.arange(24.0).reshape(2, 3, 4)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "big.npy", np.full((2, 2), 2**62))
    with gr.open(tmp_path / "x.npy") as f:
        a = f[0]
        assert a.sum(axis=(0, 1, 2)) == 276.0 and a.max(keepdims=True).tolist() == [[[23.0]]]
        assert a.median() == 11.5 and a.reduce("median", (2, 0, 1)).median == 11.5
        for bad in (3, -4):
            with pytest.raises(ValueError, match="out of bounds"):
                a.sum(axis=bad)
        assert np.array_equal(a.sum(axis=(0, 1)), x.sum(axis=(0, 1))) and np.array_equal(a.max((2, 1)), x.max((1, 2)))
        with pytest.raises(gr.UnsupportedError, match="into memory"):
            a.sum(axis=(0, 2))
        with pytest.raises(gr.UnsupportedError, match="axis"):
            a.reduce("digest", 0)
        with pytest.raises(ValueError, match="shape"):
            a.sum(axis=0, out=np.empty(3))
    with pytest.raises(ValueError, match="closed"):
        a.sum(axis=0)
    with gr.open(tmp_path / "big.npy") as f, pytest.raises(gr.UnsupportedError, match="does not fit"):
        f[0].sum(axis=0)
    (tmp_path / "x.gz").write_bytes(gzip.compress(x.tobytes()))
    with gr.open(tmp_path / "x.gz", dtype="f8") as f:
        if f[0].shape == (None,):
            with pytest.raises(gr.UnsupportedError, match="unknown size"):
                f[0].sum(axis=0)


@skipped
def test_threads_share_a_file(arrays):
    from concurrent.futures import ThreadPoolExecutor

    f = gr.open(arrays)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: f["w"].sum(), range(100))) == {66.0}


@skipped
def test_many_files_are_closed(arrays):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        gr.open(arrays)["w"].sum()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


@pytest.mark.filterwarnings("error")
def test_warnings_that_are_errors(arrays):
    """Files that were opened with a warning are closed."""
    before = len(os.listdir("/proc/self/fd"))
    for call in (lambda: gr.open(arrays), lambda: gr.diff(arrays, arrays), lambda: gr.total([arrays])):
        for _ in range(20):
            with pytest.raises(gr.GpureduceWarning):
                call()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_a_total_with_a_warning_that_is_an_error(monkeypatch):
    """Its result is freed. Only a failure of a GPU or a thread makes the library warn then."""
    freed, total, free = [], lib.reduce_total, lib.result_free

    def warn(*arguments):
        assert total(*arguments) == 0
        raise gr.GpureduceWarning

    monkeypatch.setattr(lib, "reduce_total", warn)
    monkeypatch.setattr(lib, "result_free", lambda result: freed.append(bool(result)) or free(result))
    with pytest.raises(gr.GpureduceWarning):
        gr.total([[1, 2]])
    assert freed == [True]


def test_diff(tmp_path):
    a, b = np.arange(10.0), np.arange(10.0)
    b[3] += 1e-9
    assert gr.diff(a, a).different == 0 and gr.diff(a, a).rows == []
    assert gr.diff(a, b) and not gr.diff(a, a, all=True)
    found = gr.diff(a, b)
    assert found.different == 1 and len(found.rows) == 1
    assert gr.diff(a, b, tolerance="abs:1e-6").different == 0
    assert len(gr.diff(a, a, all=True).rows) == 1
    np.savez(tmp_path / "a.npz", x=a, y=a)
    np.savez(tmp_path / "b.npz", x=a, y=b)
    found = gr.diff(tmp_path / "a.npz", tmp_path / "b.npz", all=True)
    assert found.different == 1 and len(found.rows) == 2
    yes, no = np.bool_(True), np.bool_(False)  # of NumPy's, which ctypes does not take
    c = a.astype("f4")
    assert len(gr.diff(a, a, all=yes, stored=no).rows) == 1 and gr.diff(a, c, cast=no, ignore_dtype=no)
    assert not gr.diff(a, c, cast=yes) and not gr.diff(a, c, ignore_dtype=yes)
    for tolerance, different in (({"y": "abs:1e-6"}, 0), ({"x": "abs:1"}, 1), ({"*": "ulp:1", "y": "abs:1,ulp:1"}, 0),
                                 ({"*": "abs:1", "y": "ulp:1"}, 1), ({}, 1)):
        assert gr.diff(tmp_path / "a.npz", tmp_path / "b.npz", tolerance=tolerance).different == different
    with pytest.raises(FileNotFoundError):
        gr.diff(tmp_path / "nowhere", a)
    with pytest.raises(ValueError):
        gr.diff(a, b, tolerance="near")
    with pytest.raises(ValueError):
        gr.diff(a, b, tolerance={"*": "abs:1\nulp:2"})
    with pytest.raises(TypeError, match="abs:1e-6"):
        gr.diff(a, b, tolerance=1e-6)
    assert gr.diff(a, b, tolerance={"*": "abs:1e-6"}).different == 0
    with pytest.warns(gr.GpureduceWarning, match=r"no array matches \?\*"):
        assert gr.diff(a, b, tolerance={"?*": "abs:1e-6"}).different == 1
    json.dumps(found.rows)


@given(st.sampled_from(TYPES), st.integers(0, 40), st.integers(0, 2**32 - 1), st.sampled_from(LAYOUTS),
       st.sampled_from(LAYOUTS), st.integers(0, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_diff_in_memory(dtype, n, seed, layout, other, changes):
    """Arrays are compared where they are, whatever their strides and byte order."""
    a = make(dtype, (n, 3), seed, "finite")
    b = make(dtype, (n, 3), seed, "finite")
    rng = np.random.default_rng(seed)
    for _ in range(changes if n else 0):
        b[rng.integers(n), rng.integers(3)] = make(dtype, (), int(rng.integers(1000)), "finite")
    found = gr.diff(layouts(a, layout), layouts(b, other), all=True)
    different = sum(x != y for x, y in zip(numbers(a), numbers(b)))
    assert found.different == (different > 0)
    assert (found.rows[0]["different"], found.rows[0]["shape"]) == (different, [n, 3])


def test_diff_of_masks_nans_and_missing_values():
    x, y = np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, 3.0])
    assert gr.diff(x, x).different == 0 and gr.diff(x, y).different == 1
    assert gr.diff(x, y, nan="skip").different == 0
    with pytest.raises(gr.NaNError):
        gr.diff(x, y, nan="error")
    assert gr.diff(y, y, missing=3).different == 0 and gr.diff(y, y[::-1]).rows[0]["different"] == 2
    with pytest.raises(gr.UnsupportedError, match="mask"):
        gr.diff(np.ma.masked_array([1, 2], [False, True]), np.arange(2))


def test_total(tmp_path):
    x = np.array([[1.5, -2.0], [4.0, 0.25]])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "y.npz", a=x, b=x[0])
    x.astype(">f8").tofile(tmp_path / "raw")
    found = gr.total([tmp_path / "x.npy", x.T, str(tmp_path / "y.npz")], "sum,max,count,argmax")
    assert dict(found) == {"sum": 3 * 3.75 - 0.5, "max": 4.0, "count": 14, "argmax": 2}
    assert list(gr.total([tmp_path / "raw", x], "sum,median", dtype=">f8").values()) == [7.5, 0.875]
    assert gr.total([np.int32([1, 2]), np.uint64([2**64 - 1])]).sum == 2**64 + 2
    assert gr.total([np.array([True]), np.int8([3])], "sum,max") == {"sum": 4, "max": 3}
    assert gr.total([np.array([True])], "max").max is True
    masked = np.ma.masked_array([1, 2], [False, True])
    assert gr.total([masked, [5, 7]], "sum,missing", missing=7) == {"sum": 6, "missing": 2}
    with pytest.raises(FileNotFoundError):
        gr.total([x, tmp_path / "nowhere"])
    with pytest.raises(ValueError, match="nothing"):
        gr.total([])
    for one in ("x.npy", b"x.npy", tmp_path, 5):
        with pytest.raises(TypeError, match="list of paths"):
            gr.total(one)


@skipped
@pytest.mark.filterwarnings("ignore:.*skipped array c")
def test_a_total_of_what_cannot_be_read(arrays, tmp_path):
    assert gr.total([arrays]).sum == float(66 + 2**63 + 4)  # texts are no numbers
    np.savez(tmp_path / "c.npz", c=np.zeros(3, np.longdouble), x=np.zeros(2))
    with pytest.raises(gr.Error, match="f16"):
        gr.total([tmp_path / "c.npz"])


def test_files_are_no_arrays(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    f = gr.open(tmp_path / "x.npy")
    for call in (lambda: gr.sum(f[0]), lambda: gr.diff(f[0], np.ones(3)), lambda: gr.total([f])):
        with pytest.raises(TypeError, match="methods of its arrays"):
            call()


def test_parts_with_names_that_others_have(tmp_path):
    long = "n" * 600
    np.savez(tmp_path / "x.npz", **{"c.re": np.ones(1), "c": np.full(1, 3 + 4j), "c.re#2": np.full(1, 2.0),
                                    long: np.full(1, 5 + 6j)})
    found = {array.name: array.sum() for array in gr.open(tmp_path / "x.npz")}
    assert found == {"c.re": 1, "c.re#3": 3, "c.im": 4, "c.re#2": 2, long + ".re": 5, long + ".im": 6}


def test_digest(tmp_path):
    x = np.arange(6, dtype=">f4").reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    a = gr.open(tmp_path / "x.npy")[0]
    assert a.digest() == a.reduce("digest,sum").digest == gr.digest(x) == gr.reduce(x, "digest").digest
    with pytest.raises(gr.UnsupportedError, match="axis"):
        gr.reduce(x, "digest", axis=0)


def test_the_program():
    run = subprocess.run([sys.executable, "-m", "gpureduce", "--version"], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0 and gr.library_version() in run.stdout


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([t for t in TYPES if isinstance(t, str)]), st.integers(0, 400)), max_size=6),
       st.sampled_from(["propagate", "skip"]), st.integers(0, 2**32 - 1))
def test_summary_of_many(tmp_path_factory, members, nan, seed):
    """Results of all arrays together, against fractions."""
    random, arrays = np.random.default_rng(seed), {}
    for i, (dtype, size) in enumerate(members):
        x = random.integers(0, 100, size).astype(dtype) if dtype == "bool" else random.integers(0, 9, size).astype(dtype)
        if np.dtype(dtype).kind == "f" and size:
            x[random.integers(0, size, size // 50)] = np.nan
            x[random.integers(0, size, size // 9)] = [-0.0, np.inf, 0.5][i % 3]
        arrays[f"a{i}"] = x
    path = tmp_path_factory.mktemp("many") / "x.npz"
    np.savez(path, **arrays)
    ops = ["sum", "max", "median", "q0.1", "count"]
    with gr.open(path) as f:
        rows = list(f.summary(ops, nan=nan))
    assert [row.name for row in rows] == list(arrays)
    for row, x in zip(rows, arrays.values()):
        kept = x[x == x] if nan == "skip" else x
        for op in ("sum", "max", "median", "count"):
            assert same(row.results[op], expected(op, kept)), (op, x)
        propagates = len(kept) > 0 and (kept != kept).any()
        wanted = math.nan if propagates else quantile([v for v in numbers(kept)], Fraction(1, 10))
        assert same(row.results["q0.1"], wanted)


def test_summary_at_the_bound(tmp_path):
    """Arrays of about as many elements as are sorted whole."""
    arrays = {f"a{n}": np.random.default_rng(n).standard_normal(n).astype("f4") for n in (2**18 - 1, 2**18, 2**18 + 1)}
    np.savez(tmp_path / "x.npz", **arrays)
    rows = gr.open(tmp_path / "x.npz").summary("summary")
    for row, x in zip(rows, arrays.values()):
        low, middle, high = np.quantile(x.astype("f8"), [0.25, 0.5, 0.75])
        assert np.allclose([row.results["q0.25"], row.results.median, row.results["q0.75"]], [low, middle, high], 1e-6, 0)
        assert row.results.median == gr.median(x)
