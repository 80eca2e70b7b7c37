"""Arrays where they are: packages, protocols, and what is refused."""

import array
import ctypes
import itertools
import mmap
import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import gpureduce as gr

from oracle import OPS

NUMBERS = [3, 1, 2, 100, 7, 0]


def test_numbers_and_sequences():
    assert gr.sum(5) == 5 and gr.sum(2.5) == 2.5 and gr.sum(True) == 1
    assert gr.sum([1, 2, 3]) == 6 and gr.sum(((1.5, 2.5), (3, 4))) == 11.0
    assert gr.sum(np.float32(1.5)) == 1.5 and gr.sum(np.array(7)) == 7


@pytest.mark.parametrize("letter", "bBhHiIlLqQfd")
def test_buffers(letter):
    numbers = array.array(letter, NUMBERS)
    for x in (numbers, memoryview(numbers), memoryview(numbers)[::-1], memoryview(numbers)[1::2]):
        values = memoryview(x).tolist()
        assert gr.sum(x) == sum(values) and gr.max(x) == max(values)
        assert type(gr.sum(x)) is (float if letter in "fd" else int)
    assert gr.sum(memoryview(numbers)[:0]) == 0
    assert gr.sum(memoryview(bytes(numbers)).cast(letter, (2, 3)), axis=0).tolist() == [103, 8, 2]
    assert gr.max(memoryview(bytes(numbers)).cast(letter, (2, 3)), axis=0).dtype == np.dtype(letter)


def test_bytes():
    assert gr.sum(b"\1\2\3") == 6 and gr.max(bytearray(b"\1\xff")) == 255
    with mmap.mmap(-1, 4096) as memory:
        memory[:3] = b"abc"
        assert gr.sum(memory) == sum(b"abc")
    assert gr.sum((ctypes.c_int32 * 3)(1, -2, 4)) == 3
    big = (ctypes.c_int32.__ctype_be__ * 2)(1, 256)
    assert gr.sum(big) == 257


def test_a_buffer_can_be_changed_afterwards():
    memory = bytearray(100)
    gr.sum(memory)
    memory.append(1)  # BufferError if someone still held it
    assert gr.sum(memory) == 1


def test_memmap(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(1000, dtype="i4"))
    assert gr.sum(np.load(path, mmap_mode="r")) == 499500
    with open(path, "rb") as file:
        assert gr.sum(np.memmap(file, "i4", "r", offset=128)) == 499500


@pytest.mark.parametrize("field", (None, 0))
def test_addresses_of_numpy(monkeypatch, field):
    from gpureduce import _arrays

    monkeypatch.setattr(_arrays, "_field", field)
    numbers = np.arange(60, dtype="i4")
    for x in (numbers, numbers[7:], numbers.reshape(3, 4, 5)[1:], np.array(5), numbers.astype(">i4")):
        assert _arrays.pointer_of(x).value == x.ctypes.data == _arrays.address_of(x)
        assert gr.sum(x) == sum(x.ravel().tolist())
    assert _arrays._field == (field if field == 0 else object.__basicsize__)


def test_read_only_and_broadcast():
    x = np.arange(4.0)
    x.flags.writeable = False
    assert gr.sum(x) == 6.0
    assert gr.sum(np.broadcast_to(x, (1000, 4))) == 6000.0
    assert gr.sum(np.broadcast_to(np.float64(0.1), (10,))) == 1.0
    assert gr.sum(np.broadcast_to(x, (3, 4)), axis=0).tolist() == [0, 3, 6, 9]


def test_many_dimensions():
    x = np.arange(2**10).reshape((2,) * 10)
    assert gr.sum(x.transpose(range(9, -1, -1))) == 2**10 * (2**10 - 1) // 2
    assert np.array_equal(gr.sum(x, axis=(0, 3, 7, 9)), x.sum(axis=(0, 3, 7, 9)))


class Interface:  # pylint: disable=too-few-public-methods
    def __init__(self, **interface):
        self.__array_interface__ = interface


def test_array_interface():
    x = np.arange(6, dtype=">i4").reshape(2, 3)
    assert gr.sum(Interface(**x.__array_interface__)) == 15
    assert gr.sum(Interface(**x[:, ::2].__array_interface__)) == 10
    with pytest.raises(TypeError, match="mask"):
        gr.sum(Interface(mask=x, **x.__array_interface__))


def test_images():
    """Arrays with sizes are not read by Arrow's interface, which has none. Pillow's images have both."""
    class Image:  # pylint: disable=too-few-public-methods
        pixels = np.arange(6, dtype="u1").reshape(2, 3)
        __array_interface__ = property(lambda self: self.pixels.__array_interface__)

        def __arrow_c_array__(self, _schema=None):
            raise AssertionError("it is not asked")

    assert gr.max(Image(), axis=0).tolist() == [3, 4, 5]
    images = pytest.importorskip("PIL.Image")
    assert gr.max(images.fromarray(Image.pixels), axis=0).tolist() == [3, 4, 5]
    assert gr.sum(images.new("RGB", (4, 5), (1, 2, 3)), axis=(0, 1)).tolist() == [20, 40, 60]


def test_array_method():
    class Container:  # pylint: disable=too-few-public-methods
        def __array__(self, dtype=None, copy=None):
            return np.ma.masked_greater(np.arange(5), limit)

    limit = 9
    assert gr.sum(Container()) == 10
    limit = 2
    assert tuple(gr.reduce(Container(), "sum,missing").values()) == (3, 2)
    with pytest.raises(TypeError, match="missing"):
        gr.sum([Container(), [1] * 5])


class Capsule:
    """An array that only has DLPack."""

    def __init__(self, x, versions=True):
        self.x, self.versions = x, versions

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        if not self.versions and options:
            raise TypeError("no such option")
        return self.x.__dlpack__(**options)


@pytest.mark.parametrize("dtype", ["bool", "u1", "i2", "u4", "i8", "f2", "f4", "f8"])
def test_dlpack(dtype):
    x = (np.arange(24) % 2).astype(dtype).reshape(4, 6)
    references = sys.getrefcount(x)
    for part in (x, x[::-1], x[:, 1::3], x.T, x[:0]):
        assert gr.sum(Capsule(part)) == int(part.sum()), dtype
    assert gr.sum(Capsule(x, versions=False)) == 12
    assert sys.getrefcount(x) == references


def test_dlpack_of_another_device():
    class Elsewhere(Capsule):
        def __dlpack_device__(self):
            return 10, 0

    with pytest.raises(TypeError, match="device"):
        gr.sum(Elsewhere(np.arange(3.0)))


class OnGPU:  # pylint: disable=too-few-public-methods
    """An array of the host that says it is on a GPU."""

    def __init__(self, x, **more):
        self.x = x
        self.__cuda_array_interface__ = dict(x.__array_interface__, **more)


@pytest.fixture
def fresh_contexts():
    gr._library._pool.clear()
    yield
    gr._library._pool.clear()


@pytest.mark.usefixtures("fresh_contexts")
def test_cuda_array_interface(monkeypatch):
    """What is handed to the library, of arrays on GPUs."""
    from gpureduce import _arrays, _library

    places, added = [], []
    x = np.arange(24, dtype="f4").reshape(4, 6)
    with pytest.raises(TypeError, match="CUDA"):  # no driver, or no memory of a GPU
        gr.sum(OnGPU(x))
    monkeypatch.setattr(_arrays, "_device_of", lambda address: 3)
    monkeypatch.setattr(_library, "view_set_memory", lambda view, *place: places.append(place) and None)
    monkeypatch.setattr(_library, "accumulator_add_device",
                        lambda acc, *what: added.append(what) and None)
    assert gr.sum(OnGPU(x)) == 276.0 and places == [(1, 3, 0)]
    assert gr.sum(OnGPU(x.T[::2], stream=7)) == float(x.T[::2].sum()) and places[1:] == [(1, 3, 7)]
    assert gr.sum(x) == 276.0 and not places[2:]  # by one call, which has no view
    assert gr.sum(x[::2]) == float(x[::2].sum()) and places[2:] == [(0, 0, 0)]
    for axis in (0, 1, (0, 1)):
        for keepdims in (False, True):
            found = gr.reduce(OnGPU(x), "sum,max,count", axis=axis, keepdims=keepdims)
            wanted = x.sum(axis=axis, keepdims=keepdims), x.max(axis=axis, keepdims=keepdims)
            assert np.array_equal(found.sum, wanted[0]) and np.array_equal(found.max, wanted[1])
    assert gr.sum(OnGPU(x), mask=OnGPU(x > 3)) == 6.0
    for refused in (lambda: gr.sum(OnGPU(x), mask=x > 3), lambda: gr.sum(OnGPU(x, mask=x)),
                    lambda: gr.sum(OnGPU(x), mask=OnGPU(x > 3, stream=2)),
                    lambda: gr.sum(OnGPU(x), mask=OnGPU((x > 3)[0])),
                    lambda: gr.sum(OnGPU(x), mask=OnGPU((x > 3).T.copy().T)),
                    lambda: gr.sum(OnGPU(x), mask=OnGPU(x)),
                    lambda: gr.sum(OnGPU(x), mask=OnGPU(x > 3), axis=0)):
        with pytest.raises(TypeError, match="mask"):
            refused()
    with pytest.raises(gr.UnsupportedError, match="mask"):
        gr.Accumulator("f4").add(OnGPU(x), mask=OnGPU(x > 3))
    places.clear()
    assert gr.total([OnGPU(x, stream=5), x, OnGPU(x)], "sum,count") == {"sum": 828.0, "count": 72}
    assert places == [(1, 3, 5), (0, 0, 0), (1, 3, 0)]
    assert gr.diff(OnGPU(x), x).different == 0 and gr.diff(OnGPU(x), OnGPU(x + x)).different == 1
    assert gr.sum(OnGPU(x[:0])) == 0.0
    acc = gr.Accumulator("f4")
    acc.add(OnGPU(x, stream=2))
    assert added == [(x.ctypes.data, 24, 2)]
    for refused in (lambda: acc.add(OnGPU(x.T)), lambda: acc.add_at(OnGPU(x), 0),
                    lambda: gr.Accumulator(">i4").add(OnGPU(x.view("i4").astype(">i4")))):
        with pytest.raises(gr.UnsupportedError):
            refused()
    with pytest.raises(TypeError, match="float32"):
        gr.Accumulator("f8").add(OnGPU(x))


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(12, dtype="float32").reshape(3, 4)
    assert gr.sum(x) == 66.0 and gr.max(x.T, axis=0).tolist() == [3, 7, 11]
    assert gr.sum(x.astype("bfloat16")) == 66.0 and gr.sum(x > 3) == 8
    for dtype in ("float32", "bfloat16", "int8", "bool"):
        assert gr.max(x.astype(dtype), axis=0).dtype == dtype
    with pytest.raises(TypeError, match="[Tt]rac"):
        jax.jit(gr.sum)(x)
    for dtype, text in (("int4", "int4 are not supported"), ("complex64", "x.real")):
        with pytest.raises(TypeError, match=text):
            gr.sum(x.astype(dtype))


def test_jax_on_several_devices():
    pytest.importorskip("jax")
    code = ("import jax, gpureduce as gr, numpy as np\n"
            "from jax.sharding import Mesh, NamedSharding, PartitionSpec\n"
            "mesh = Mesh(np.array(jax.devices()), ('d',))\n"
            "for axes in (PartitionSpec('d'), PartitionSpec()):\n"
            "    x = jax.device_put(jax.numpy.arange(8.0).reshape(2, 4), NamedSharding(mesh, axes))\n"
            "    print(gr.sum(x), gr.max(x, axis=0).tolist())\n")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                         env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    assert run.stdout == "28.0 [4.0, 5.0, 6.0, 7.0]\n" * 2, run.stderr


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        x = np.arange(-8, 9).astype(dtype)
        assert gr.sum(x) == 0.0 and gr.max(x) == 8.0 and gr.sum(x[x > 0]) == 36.0
        assert gr.max(np.stack([x, x]), axis=1).dtype == x.dtype
    for name in ("float8_e4m3fnuz", "int4", "int2"):  # the last is of later versions
        if hasattr(ml_dtypes, name):
            with pytest.raises(TypeError, match="not supported$"):
                gr.sum(np.zeros(3, getattr(ml_dtypes, name)))


def test_masked_arrays():
    x = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    assert gr.sum(x) == 8 and gr.reduce(x, "missing").missing == 1
    assert gr.sum(x, axis=0).tolist() == [4, 4]
    assert gr.sum(np.ma.masked_array([1, 2])) == 3
    assert gr.sum(np.ma.masked_less(np.arange(5), 3)[::-1]) == 7


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    assert gr.sum(x) == 66.0 and gr.sum(x.T[1:]) == 54.0 and gr.sum(x, axis=0).tolist() == [12, 15, 18, 21]
    assert gr.max(x, axis=0).dtype == np.float32
    assert gr.sum(x.requires_grad_()) == 66.0
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.uint8, torch.int16,
                  torch.int32, torch.int64, torch.float8_e4m3fn, torch.float8_e5m2):
        assert gr.max(torch.arange(8).to(dtype)) == 7
    assert gr.sum(torch.tensor([True, False, True])) == 2
    assert gr.sum(torch.tensor(2.5)) == 2.5 and gr.sum(torch.zeros(0)) == 0.0
    big = torch.tensor([1e8, 1.0, -1e8])
    assert gr.sum(big) == 1.0
    for wrong, message in ((torch.zeros(2, dtype=torch.complex64), "x.real"),
                           (torch.eye(3).to_sparse(), "to_dense"),
                           (torch.zeros(2, device="meta"), "not supported"),
                           (torch._efficientzerotensor(2), "without memory of its own"),
                           (torch.tensor([1j]).conj().imag, "resolve_neg")):
        with pytest.raises(TypeError, match=message):
            gr.sum(wrong)


@pytest.mark.parametrize("package", ["torch", "numpy"])
def test_a_package_that_another_thread_imports(package):
    """Its module is then there without types."""
    code = (f"import gpureduce as gr, sys, types; sys.modules[{package!r}] = types.ModuleType({package!r})\n"
            "print(gr.sum(b'abc'), gr.reduce(memoryview(b'abc'), 'max,std').max)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "294 99\n", run.stderr


def test_pandas():
    pandas = pytest.importorskip("pandas")
    assert gr.sum(pandas.Series([1.5, 2.5])) == 4.0 and gr.sum(pandas.Series([1, 2])) == 3
    assert gr.sum(pandas.Index([1, 2, 4])) == 7 and gr.sum(pandas.Series([1.5, 2.5]).array) == 4.0
    frame = pandas.DataFrame({"a": [1, 2], "b": [0.5, 1]})
    assert gr.sum(frame["b"]) == 1.5
    for one in (frame, type("Derived", (pandas.DataFrame,), {})(frame)):
        with pytest.raises(TypeError, match="a data frame is no array"):
            gr.sum(one)
    for dtype in ("Int64", "UInt8", "Float32", "Float64"):
        x = pandas.Series([1, None, 5], dtype=dtype)
        found = gr.reduce(x, "sum,count,missing,max")
        assert tuple(found.values()) == (6, 2, 1, 5)
        assert gr.sum(pandas.Series([1, 2], dtype=dtype)) == 3
        derived = type("Derived", (pandas.Series,), {})(x)
        assert gr.reduce(derived, "sum,count,missing,max") == found
    assert gr.sum(pandas.Series([True, None], dtype="boolean")) == 1
    for wrong in (pandas.NA, pandas.Series(["a"]), pandas.Series(["a"], dtype="category"),
                  pandas.Series(pandas.to_datetime(["2020-01-01"]))):
        with pytest.raises(TypeError):
            gr.sum(wrong)


def test_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    for name in ("int8", "uint8", "int16", "uint32", "int64", "float32", "float64"):
        kind = getattr(pyarrow, name)()
        x = pyarrow.array([1, None, 3, 4, None, 6, 7, 8, 9, None, 11], kind)
        found = gr.reduce(x, "sum,missing,argmax")
        assert tuple(found.values()) == (49, 3, 10), name
        for start in range(1, 10):
            part = x.slice(start)
            values = [v for v in part.to_pylist() if v is not None]
            found = gr.reduce(part, "sum,missing")
            assert (found.sum, found.missing) == (sum(values), len(part) - len(values))
        assert gr.sum(pyarrow.array([1, 2], kind)) == 3
    chunked = pyarrow.chunked_array([[1, None], [3]])
    assert gr.sum(chunked) == 4 and gr.reduce(chunked, "missing").missing == 1
    # Chunks of pyarrow 14, and an array of pyarrow 13; NumPy's arrays of them have NaNs for what is missing.
    old = {"__module__": "pyarrow.lib", "null_count": 1, "to_numpy": None,
           "__array__": lambda _, *dtype, **copy: np.array([1, np.nan, 3])}
    assert gr.sum(type("Chunked", (), {**old, "combine_chunks": lambda _: chunked.combine_chunks()})()) == 4
    with pytest.raises(TypeError, match="update"):
        gr.sum(type("Int64Array", (), old)())
    for wrong in (pyarrow.array([True]), pyarrow.array(["a"]), pyarrow.table({"a": [1]}),
                  pyarrow.array(["a", "b"]).dictionary_encode()):
        with pytest.raises(TypeError):
            gr.sum(wrong)


def test_extension_types_of_arrow():
    """Their numbers mean something else, such as months, or bools that are not 0."""
    pyarrow = pytest.importorskip("pyarrow", "15")

    class Month(pyarrow.ExtensionType):
        def __init__(self):
            super().__init__(pyarrow.int64(), "test.month")

        def __arrow_ext_serialize__(self):
            return b"abc"

    storage = pyarrow.array([1, None, 3], "int64")
    months = pyarrow.ExtensionArray.from_storage(Month(), storage)
    for wrong in (months, pyarrow.chunked_array([months])):
        with pytest.raises(TypeError, match="extension<test.month.*take its storage"):
            gr.sum(wrong)
    assert gr.sum(months.storage) == 4
    field = pyarrow.field("a", "int64", metadata={"unit": "ARROW:extension:name", "": "x"})
    column = {"__arrow_c_array__": lambda _: (field.__arrow_c_schema__(), storage.__arrow_c_array__()[1])}
    assert gr.sum(type("Column", (), column)()) == 4


def test_streams_of_arrow():
    """Series of polars', say, need no pyarrow."""
    pyarrow = pytest.importorskip("pyarrow", "15")

    class Stream:  # pylint: disable=too-few-public-methods
        def __init__(self, *chunks):
            self.chunked = pyarrow.chunked_array(list(chunks), None if chunks else "int64")

        def __arrow_c_stream__(self, _schema=None):
            return self.chunked.__arrow_c_stream__()

    before = pyarrow.total_allocated_bytes()
    for x, found in ((Stream([1, None, 3]), (4, 1)), (Stream(pyarrow.array([9, 1, None])[1:]), (1, 1)), (Stream(), (0, 0)),
                     (Stream(pyarrow.array([], "int64")), (0, 0)), (pyarrow.chunked_array([[1, None], [3]]), (4, 1))):
        assert tuple(gr.reduce(x, "sum,missing").values()) == found
    for x, text in ((Stream([1], [2]), "in chunks"), (Stream(["a"]), "not supported"), (Stream([True]), "uint8"),
                    (pyarrow.table({"a": [1]}), "take a column"), (pyarrow.record_batch({"a": [1]}), "take a column")):
        with pytest.raises(TypeError, match=text):
            gr.sum(x)
    batch = pyarrow.record_batch({"a": [1, 2]})
    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    with pytest.raises(TypeError, match="take a column"):
        gr.sum(reader)
    assert reader.read_all().num_rows == 4
    del x, batch, reader
    assert pyarrow.total_allocated_bytes() == before
    polars = pytest.importorskip("polars")
    x = polars.concat([polars.Series([1, None]), polars.Series([3])], rechunk=False)
    assert tuple(gr.reduce(x, "sum,missing").values()) == (4, 1)


def test_arrow_in_pandas():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    x = pandas.Series([1, None, 3], dtype="int64[pyarrow]")
    assert tuple(gr.reduce(x, "sum,missing").values()) == (4, 1)
    chunked = pyarrow.chunked_array([[1, None], [3]])  # as pandas 2.0 keeps it
    x = type("Values", (), {"__module__": "pandas.core.arrays", "_data": chunked, "__arrow_array__": lambda self: self._data})
    assert tuple(gr.reduce(x(), "sum,missing").values()) == (4, 1)


@pytest.mark.parametrize("x, message", [
    (np.zeros(2, complex), "x.real"), (np.zeros(2, "M8[s]"), "'i8'.*NaT"), (np.zeros(2, "m8[s]"), "'i8'"),
    (np.array([1, None]), "astype"), (np.zeros(2, "longdouble"), "astype"), (np.array(["a"]), "not supp"),
    (np.zeros(2, [("a", "f4"), ("b", "i2")]), "field"), (np.zeros(2, "V3"), "not supported"),
    ([1, "a"], "not supported"), ([2**70], "astype"), (1j, "x.real"), (None, "is no array"),
    ("text", "is no array"), ({1, 2}, "is no array"), (iter([1]), "is no array"),
    ((ctypes.c_wchar * 2)("a"), "not supported"), (object(), "is no array")])
def test_types_that_are_refused(x, message):
    for function in (gr.sum, gr.median, gr.exact_sum, gr.histogram):
        with pytest.raises(TypeError, match=message) as info:
            function(x)
        assert not isinstance(info.value.__context__, KeyError)  # the type that is not in a dict


@pytest.mark.parametrize("x, message", [
    ([2**53 + 1, 0.5], "9007199254740993"), ([[1.5], (2**63 - 1,)], "9223372036854775807"), ([2**63, -1], "negative"),
    ([np.uint64(5), np.int64(-3)], "negative"), ([np.array([2**53 + 1]), np.array([0.5])], "9007199254740993"),
    ([Fraction(1, 3), 0.5], "astype"), ([Decimal("0.1")], "astype"), ([2**64, 0.5], "astype"),
    ([1.0, np.ma.masked], "masked"), ([[np.ma.array([1, 2], mask=[True, False])]], "masked")])
def test_lists_that_numpy_changes(x, message):
    for function in (gr.sum, gr.exact_sum, gr.digest, gr.Accumulator("float64").add):
        with pytest.raises(TypeError, match=message):
            function(x)


@pytest.mark.parametrize("x", [
    [2**53 + 2, 0.5], [2**63, 0.25], [True, 0.5], [[1, 2**60], [3.5, False]], [2**64 - 1, 1], [-2**63, -1], [[np.uint64(2)], [np.int64(3)]],
    [np.float32(0.1), 1, 2.5], (np.array([1, 2]), [0.5, 3]), [np.float16(2), np.int8(3)], [np.bool_(True), 2.0], []])
def test_lists(x):
    numbers = [one if isinstance(one, (int, np.integer)) else float(one) for one in np.asarray(x, dtype=object).flat]
    exact = sum(Fraction(int(one) if isinstance(one, np.integer) else one) for one in numbers)
    assert gr.exact_sum(x) == exact
    assert gr.sum(x) == (float(exact) if not numbers or float in map(type, numbers) else exact)


@pytest.mark.parametrize("package, make, gone", [
    ("pyarrow", lambda p: p.array, None), ("pyarrow", lambda p: lambda x: p.chunked_array([x]), None),
    ("pandas", lambda p: lambda x: p.Series(x, dtype="Int64"), None),
    ("netCDF4", lambda p: lambda x: variable(p, x), -9)])
def test_lists_of_arrays_with_missing_elements(package, make, gone):
    made = make(pytest.importorskip(package))
    for x in ([made([2**53 + 1, gone])], [[1, 2], made([gone, 3])], ([made([1, gone])],)):
        with pytest.raises(TypeError, match="list of arrays with missing elements"):
            gr.max(x, nan="skip")
    assert gr.max([made([2**53 + 1, 2]), [1, 5]]) == 2**53 + 1


def test_masks_of_astropy():
    Masked = pytest.importorskip("astropy.utils.masked").Masked
    x, gone = np.arange(12.0).reshape(3, 4), np.arange(12).reshape(3, 4) % 5 == 0
    for y, mask in ((Masked(x, gone), gone), (Masked(x, gone)[::-1, 1:], gone[::-1, 1:]), (Masked(x, False), x < 0)):
        plain = np.ma.array(y.unmasked, mask=mask)
        assert gr.sum(y) == gr.sum(plain) == plain.sum() and gr.reduce(y, "missing").missing == mask.sum()
        np.testing.assert_array_equal(gr.mean(y, axis=0), gr.mean(plain, axis=0))
    with pytest.raises(TypeError, match="masked"):
        gr.sum([Masked(x[0], gone[0]), x[1]])


def test_masks_of_other_kinds():
    """A mask of a subclass of NumPy's array may be anything, such as what counts."""
    class Cut(np.ndarray):
        mask = np.array([True, True, False])

    x = np.array([1.0, 2.0, 4.0]).view(Cut)
    assert gr.sum(x) == 7 and gr.sum([x, x]) == 14


def variable(netCDF4, x, number=itertools.count()):
    file = netCDF4.Dataset(f"{next(number)}.nc", "w", diskless=True)
    file.createDimension("x", len(x))
    found = file.createVariable("x", "i8", "x", fill_value=-9)
    found[:] = x
    return found


def test_masks_that_are_refused():
    x = np.arange(3.0)
    with pytest.raises(TypeError, match="bool"):
        gr.sum(x, mask=[0, 1, 0])
    with pytest.raises(ValueError):
        gr.sum(x, mask=[True, False])
    with pytest.raises(ValueError, match="masked elements"):
        gr.sum(x, mask=np.ma.array([True, False, False], mask=[False, True, False]))


@pytest.mark.parametrize("package", ["torch", "cupy"])
def test_axes_on_a_gpu(package):
    """Results along an axis stay on the GPU, and are those of the host."""
    there = pytest.importorskip(package)
    if not there.cuda.is_available():
        pytest.skip("no GPU")
    rng = np.random.default_rng(5)
    for shape in ((1, 1), (3, 50), (400, 7), (5, 1000), (20, 3, 60)):
        for dtype in ("f4", "f8", "f2"):
            x = rng.standard_normal(shape).astype(dtype)
            x.reshape(-1)[:: 1 + x.size // 3] = np.nan if shape[0] == 3 else 1000
            y = there.from_numpy(x).cuda() if package == "torch" else there.asarray(x)
            ops = ["sum", "mean", "min", "max", "var", "std", "sumsq", "l1", "l2", "rms", "argmin", "argmax", "absmin",
                   "absmax", "range", "count", "nan", "inf", "zeros", "negatives", "subnormals", "missing", "median",
                   "q0.1"]
            for axis, nan in itertools.product(range(x.ndim), ("propagate", "skip")):
                wanted = gr.reduce(x, ops, axis=axis, nan=nan, missing=1000)
                found = gr.reduce(y, ops, axis=axis, nan=nan, missing=1000)
                for op in ops:
                    assert type(found[op]) is type(y) and found[op].device == y.device
                    one = found[op].cpu().numpy() if package == "torch" else there.asnumpy(found[op])
                    assert one.dtype == wanted[op].dtype
                    assert np.array_equal(one, wanted[op], equal_nan=True), (op, shape, axis, nan)
            for axis, op in itertools.product(range(x.ndim), ("sum", "max", "std", "median", "argmax", "zeros")):
                try:
                    wanted = gr.reduce(x, [op], axis=axis, nan="error")[op]
                except gr.NaNError as error:
                    with pytest.raises(gr.NaNError, match=re.escape(str(error)) + "$"):
                        gr.reduce(y, [op], axis=axis, nan="error")
                else:
                    found = gr.reduce(y, [op], axis=axis, nan="error")[op]
                    one = found.cpu().numpy() if package == "torch" else there.asnumpy(found)
                    assert np.array_equal(one, wanted), (op, shape, axis)
            turned = y.swapaxes(0, -1)
            assert gr.sum(turned, axis=0, keepdims=True).shape == (1,) + tuple(turned.shape[1:])
            assert type(gr.sum(y, axis=0, nan="skip")) is type(y)


def torch_with_a_gpu():
    """The module; without it, or a GPU, the test is skipped."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return torch


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i2", "i4", "i8", "?"])
def test_indices_of_masked_tensors_on_a_gpu(dtype):
    """Indices, and those of NaNs, are those of the first elements that a mask leaves."""
    torch = torch_with_a_gpu()
    rng = np.random.default_rng(7)
    for size, kept in ((1, 0.5), (300, 0.02), (5000, 0.5), (1 << 20, 0.001), (1 << 20, 0.9)):
        x = (rng.standard_normal(size) * 50).astype(dtype)
        if x.dtype.kind == "f":
            x[rng.integers(0, size, 3)] = np.nan
        missing = rng.random(size) >= kept
        y, there = torch.from_numpy(x).cuda(), torch.from_numpy(missing).cuda()
        left = np.flatnonzero(~missing)
        numbers = left[~np.isnan(x[left])]
        found = gr.reduce(y, "argmin,argmax,missing", mask=there, nan="skip")
        assert found.missing == missing.sum()
        if numbers.size > 0:
            assert found.argmin == numbers[np.argmin(x[numbers])]
            assert found.argmax == numbers[np.argmax(x[numbers])]
        nans = left[np.isnan(x[left])]
        if nans.size > 0:
            with pytest.raises(gr.NaNError, match=f"element {nans[0]} is a NaN"):
                gr.sum(y, mask=there, nan="error")
        else:
            assert gr.sum(y, mask=there, nan="error") == gr.sum(x, mask=missing)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i2", "i4", "i8", "?"])
def test_an_axis_of_a_tensor_on_a_gpu(dtype):
    """Functions of one operation take a shorter way: they have the results of the host, too."""
    torch = torch_with_a_gpu()
    rng = np.random.default_rng(6)
    for shape in ((2, 3), (70, 33), (3, 40, 130), (2, 5000)):
        x = (rng.standard_normal(shape) * 50).astype(dtype)
        if x.dtype.kind == "f":
            first = x.reshape(shape[0], -1)[0]
            first[:2] = np.finfo(dtype).max, np.finfo(dtype).tiny
            x.reshape(-1)[-2:] = np.inf, np.nan
        y = torch.from_numpy(x).cuda()
        for function, more in ((gr.sum, {}), (gr.mean, {}), (gr.min, {}), (gr.max, {}), (gr.var, {}),
                               (gr.std, {"ddof": 1}), (gr.median, {}), (gr.quantile, {"q": [0.25, 0.123, 1]})):
            for axis in range(-x.ndim, x.ndim):
                wanted, found = function(x, axis=axis, **more), function(y, axis=axis, **more)
                assert type(found) is torch.Tensor and found.device == y.device
                one = found.cpu().numpy()
                assert one.dtype == wanted.dtype
                assert np.array_equal(one, wanted, equal_nan=x.dtype.kind == "f"), (function, shape, axis)
        for axis in list(range(x.ndim)) + ([(0, 2), (0, 1)] if x.ndim == 3 else []):
            if type(axis) is tuple:
                for function in (gr.mean, gr.std, gr.max, gr.median):
                    found, wanted = function(y, axis=axis), function(x, axis=axis)
                    assert type(found) is torch.Tensor and np.array_equal(found.cpu().numpy(), wanted, equal_nan=True)
                continue
            wanted, several = gr.reduce(x, OPS, axis=axis), gr.reduce(y, OPS, axis=axis)
            for op in OPS:
                one = gr.reduce(y, [op], axis=axis)[op]
                assert type(one) is torch.Tensor and one.dtype == several[op].dtype
                for found in (one, several[op]):
                    assert np.array_equal(found.cpu().numpy(), wanted[op], equal_nan=wanted[op].dtype.kind == "f")
        with pytest.raises(ValueError):
            gr.sum(y, axis=x.ndim)
    if dtype == "f4":  # the place of a NaN is that in the array
        z = np.zeros((3, 4, 5), dtype)
        z[1, 2, 3] = np.nan
        for axis in (1, (0, 1), (1, 2), (0, 2)):
            with pytest.raises(gr.NaNError, match="element 1,2,3 is"):
                gr.sum(torch.from_numpy(z).cuda(), axis=axis, nan="error")
    if dtype in ("f4", "i4"):  # so large that rows are cut into long parts
        y = torch.randint(-2**31, 2**31, (3, 1 << 26), dtype=torch.int32, device="cuda")
        y[2, 1:] -= y[2, 1:]
        y = y.to(torch.float32) if dtype == "f4" else y
        assert gr.sum(y, axis=1).tolist() == [gr.sum(row) for row in y]
        for width in (1024, 6144):
            rows = y.reshape(-1, width)
            assert gr.sum(rows, axis=1)[7:9].tolist() == [gr.sum(row) for row in rows[7:9]]
    if dtype == "i8":
        with pytest.raises(OverflowError):
            gr.sum(torch.full((2, 4), 2**62).cuda(), axis=1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i4", "i8", "?"])
def test_masks_along_an_axis_of_a_tensor_on_a_gpu(dtype):
    """Masks are taken there, but those of integers of 64 bits slice by slice. They are broadcast."""
    torch = torch_with_a_gpu()
    rng = np.random.default_rng(5)
    for shape in ((3, 50), (40, 7), (4, 30, 20), (2, 6000)):
        x = (rng.standard_normal(shape) * 50).astype(dtype)
        if x.dtype.kind == "f":
            x.reshape(-1)[[5, 77]] = np.inf, np.nan
        y = torch.from_numpy(x).cuda()
        for mask in (rng.random(shape) < 0.4, rng.random(shape[:-1] + (1,)) < 0.4, np.zeros(shape, "?")):
            there = torch.from_numpy(mask).cuda()
            axes = list(range(x.ndim)) + ([(0, 1), (1, 2), (0, 2)] if x.ndim == 3 else [])
            for axis in axes if dtype != "i8" or x.ndim == 2 else [(1, 2), (0, 1)]:
                for nan in ("propagate", "skip"):
                    ops = [op for op in OPS if type(axis) is int or op[:3] != "arg"]
                    wanted = gr.reduce(x, ops, axis=axis, mask=mask, nan=nan)
                    found = gr.reduce(y, ops, axis=axis, mask=there, nan=nan)
                    for op in ops:
                        one = found[op].cpu().numpy()
                        assert one.dtype.kind == wanted[op].dtype.kind or wanted[op].dtype.kind in "iu", (op, shape, axis)
                        assert np.array_equal(one, wanted[op], equal_nan=one.dtype.kind == "f"), (op, shape, axis)


def test_quantiles_of_slices_of_any_length_on_a_gpu():
    """Slices of a few elements, of as many as shared memory holds, and of more."""
    torch = torch_with_a_gpu()
    rng = np.random.default_rng(9)
    for dtype, lengths in (("f8", (2, 23, 32, 33, 375, 384, 6000, 28000, 30000)),
                           ("f4", (31, 33, 740, 767, 768, 3500, 12000, 56000, 60000, 131072)),
                           ("i8", (1, 22, 380, 70000)), ("u1", (760, 60000))):
        for length in lengths:
            x = rng.standard_normal((40, length)) * 1e9
            x = (x.astype("i8") if dtype == "u1" else x).astype(dtype)
            for y, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
                q = [0.5, 1 / 3, 0.123456789012345678, 1]
                found = gr.quantile(torch.from_numpy(y).cuda(), q, axis=axis)
                assert np.array_equal(found.cpu().numpy(), gr.quantile(y, q, axis=axis)), (dtype, length, axis)


def test_streams_of_an_axis_on_a_gpu():
    """Results along an axis are there for what follows on the stream, and none is a graph's."""
    torch = torch_with_a_gpu()
    rng = np.random.default_rng(8)
    x = np.ldexp(rng.standard_normal((5, 200001)), rng.integers(-400, 400, (5, 200001)))
    x[1, 7], x[2, 9], x[3] = np.nan, np.inf, np.concatenate((x[0, :100000], x[0, 100000::-1]))
    x[3, 100000:] *= -1
    arrays = [(y, torch.from_numpy(np.ascontiguousarray(y)).cuda()) for y in (x, x[:, ::-1], x[:, 1:])]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    found = []
    for i, function in enumerate((gr.sum, gr.mean, gr.min, gr.max) * 9):
        with torch.cuda.stream(streams[i % 3]):
            y, there = arrays[i // 4 % 3]
            # What follows on the stream finds the results.
            found.append((function(y, axis=1), function(there, axis=1) * 1))
    torch.cuda.synchronize()
    for wanted, got in found:
        assert np.array_equal(got.cpu().numpy(), wanted, equal_nan=True)
    with torch.cuda.stream(streams[0]), pytest.raises(gr.DeviceError, match="the stream is being captured"):
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        try:
            kept = arrays[0][1] * 2  # torch warns of a graph that is empty
            gr.sum(kept, axis=1)
        finally:
            graph.capture_end()
    assert np.array_equal(gr.sum(arrays[0][1], axis=1).cpu().numpy(), gr.sum(x, axis=1), equal_nan=True)
