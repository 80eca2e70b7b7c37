"""Arrays of other packages, as the library sees them: an address, a type, sizes and strides.

Nothing is copied but what is said below. A package is never imported here: who has an array of it has
imported it.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import nullcontext, suppress
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

NATIVE, LITTLE, BIG = 0, 1, 2
MASK_NONE, MASK_MISSING_BYTES, MASK_VALID_BYTES, MASK_VALID_BITS = 0, 1, 2, 3
HOST, CUDA = 0, 1

SIZES: Dict[bytes, int] = {
    b"u8": 1, b"i8": 1, b"bool": 1, b"u16": 2, b"i16": 2, b"u32": 4, b"i32": 4, b"u64": 8, b"i64": 8,
    b"f16": 2, b"bf16": 2, b"f32": 4, b"f64": 8, b"f8e4m3": 1, b"f8e5m2": 1,
}
"""The element types of the library, and the bytes of an element."""

NAMES: Dict[str, bytes] = {
    "bool": b"bool", "uint8": b"u8", "int8": b"i8", "uint16": b"u16", "int16": b"i16",
    "uint32": b"u32", "int32": b"i32", "uint64": b"u64", "int64": b"i64", "float16": b"f16",
    "bfloat16": b"bf16", "float32": b"f32", "float64": b"f64", "float8_e4m3fn": b"f8e4m3",
    "float8_e5m2": b"f8e5m2",
}
"""Element types by the names that NumPy, ml_dtypes and torch give them."""

TYPE_NAMES: Dict[bytes, str] = {code: name for name, code in NAMES.items()}
"""The names that NumPy, ml_dtypes and torch give to the element types."""

# NumPy's letters count bytes, where the names of the program count bits. Names that mean one type to
# NumPy and another to the program are neither.
_CODES: Dict[str, bytes] = {
    "?": b"bool", "b1": b"bool", "u1": b"u8", "i1": b"i8", "u2": b"u16", "i2": b"i16", "u4": b"u32",
    "i4": b"i32", "u8": b"u64", "i8": b"i64", "f2": b"f16", "f4": b"f32", "f8": b"f64"}
_AMBIGUOUS = {"u8": "uint8 or uint64", "i8": "int8 or int64", "f16": "float16"}

_ADVICE = {
    "c": "take x.real and x.imag",
    "M": "convert it first: x.astype('i8'), in which NaT is -2**63",
    "m": "convert it first: x.astype('i8'), in which NaT is -2**63",
    "O": "convert it first: x.astype('f8')",
    "g": "convert it first: x.astype('f8')",
}


def kind_of(name: bytes) -> str:
    """"f" of an element type of floats; "i", "u", or "b"."""
    return "f" if name[:2] == b"bf" else name[:1].decode()


def package_of(x: Any) -> str:
    """The name of the package that an object's type is of."""
    return type(x).__module__.partition(".")[0]


class Array(NamedTuple):
    """An array in memory. `keep` keeps that memory from being freed; `dtype` is NumPy's, if known."""

    address: int
    type: bytes
    order: int
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]
    keep: Any
    dtype: Any = None
    mask_form: int = MASK_NONE
    mask_address: int = 0
    mask_offset: int = 0
    mask_keep: Any = None
    memory: int = HOST
    ordinal: int = 0
    stream: int = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def kind(self) -> str:
        """"f" of floats, "i", "u", or "b"."""
        return kind_of(self.type)

    def all_strides(self) -> Tuple[int, ...]:
        """The strides, also where elements are in C order without gaps."""
        if self.strides is not None:
            return self.strides
        strides, step = [], SIZES[self.type]
        for n in reversed(self.shape):
            strides.append(step)
            step *= n
        return tuple(reversed(strides))

    def mask_bytes(self) -> Any:
        """The mask as a NumPy array of the array's shape, true where an element is missing, or of its package
        where that is on a GPU; None."""
        import numpy as np

        if self.mask_form == MASK_NONE:
            return None
        if self.memory != HOST:
            root = package_of(self.mask_keep)
            if root not in ("torch", "cupy"):
                raise TypeError(f"a mask of {root} on a GPU is not supported along an axis; use axis=None")
            return self.mask_keep.reshape(self.shape)
        if self.mask_form == MASK_VALID_BITS:
            end = self.mask_offset + self.size
            entries = np.unpackbits(_memory(self.mask_address, "u1", ((end + 7) // 8,), (1,), self),
                                    bitorder="little")[self.mask_offset:end] == 0
        else:
            entries = _memory(self.mask_address + self.mask_offset, "u1", (self.size,), (1,), self)
            entries = (entries != 0) == (self.mask_form == MASK_MISSING_BYTES)
        return entries.reshape(self.shape)

    def with_mask(self, missing: Any) -> "Array":
        """This array with another mask, of NumPy's: true where an element is missing. With none if nothing is."""
        import numpy as np

        missing = np.ascontiguousarray(missing, dtype=bool)
        if not missing.any():
            return self._replace(mask_form=MASK_NONE, mask_address=0, mask_offset=0, mask_keep=None)
        return self._replace(mask_form=MASK_MISSING_BYTES, mask_address=missing.ctypes.data,
                             mask_offset=0, mask_keep=missing)

    def bits(self) -> Any:
        """The elements as a NumPy array of unsigned integers of the same size."""
        return _memory(self.address, f"u{SIZES[self.type]}", self.shape, self.all_strides(), self)


class _Memory:  # pylint: disable=too-few-public-methods
    def __init__(self, interface: Dict[str, Any], keep: Any) -> None:
        self.__array_interface__ = interface
        self.keep = keep


def _memory(address: int, typestr: str, shape: Sequence[int], strides: Sequence[int],
            keep: Any) -> Any:
    """Memory as a NumPy array that must not be written to."""
    import numpy as np

    if 0 in shape:
        return np.empty(shape, typestr)
    return np.asarray(_Memory({"version": 3, "typestr": "|u1" if typestr == "u1" else "=" + typestr,
                               "data": (address, True), "shape": tuple(shape),
                               "strides": tuple(strides)}, keep))


def _no_type(name: object, advice: str = "") -> TypeError:
    return TypeError(f"elements of type {name} are not supported{'; ' if advice else ''}{advice}")


def numpy_type(dtype: Any) -> Tuple[bytes, int]:
    """The element type and byte order of a dtype of NumPy's. TypeError for one that has none."""
    if dtype.names is not None:
        raise _no_type(f"{dtype} (a structure)", f"take a field, such as x[{dtype.names[0]!r}]")
    name = NAMES.get(dtype.name)
    if name is None:
        long = dtype.kind == "f" and dtype.char == "g"  # a letter that other packages give their types, too
        raise _no_type(dtype, _ADVICE.get("g" if long else dtype.kind, ""))
    return name, NATIVE if dtype.isnative else BIG if sys.byteorder == "little" else LITTLE


def parse_type(dtype: Any) -> Tuple[bytes, int]:
    """The element type and byte order of "float32", "f32", ">f4", np.float32 or torch.float32."""
    if isinstance(dtype, str):
        order, code = (dtype[0], dtype[1:]) if dtype[:1] in ("<", ">", "=", "|") else ("", dtype)
        if not order and code in _AMBIGUOUS:
            raise ValueError(f"{code!r} means two types: say {_AMBIGUOUS[code]}")
        name = NAMES.get(code) or _CODES.get(code) or \
            (code.encode() if not order and code.encode() in SIZES else None)
        if name is not None:
            return name, {"<": LITTLE, ">": BIG}.get(order, NATIVE)
        raise _no_type(dtype)
    name = NAMES.get(str(dtype).rpartition(".")[2])
    if name is not None:  # torch's
        return name, NATIVE
    import numpy as np

    return numpy_type(np.dtype(dtype))


_numpy_types: Dict[Any, Tuple[bytes, int]] = {}


def cached_type(dtype: Any) -> Tuple[bytes, int]:
    """numpy_type, remembered."""
    found = _numpy_types.get(dtype)
    if found is None:
        _numpy_types[dtype] = found = numpy_type(dtype)
    return found


class _Interface(ctypes.Structure):
    """The struct of NumPy's array interface."""

    _fields_ = [("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char),
                ("itemsize", ctypes.c_int), ("flags", ctypes.c_int), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("data", ctypes.c_size_t)]


_DATA: int = _Interface.data.offset


def address_of(x: Any) -> int:
    """Where an array of NumPy's begins: by the struct of its interface, in half the time of the dict."""
    interface = x.__array_struct__
    return ctypes.c_size_t.from_address(_capsule_pointer(interface, None) + _DATA).value


_field: Optional[int] = None
"""Bytes from an array object of NumPy's to its field with the address of the elements; 0 if unknown."""


def _find_field(x: Any) -> int:
    """`_field`: the first after the object's head, which modules in C are compiled for."""
    at = object.__basicsize__
    known = sys.implementation.name == "cpython" and \
        ctypes.c_size_t.from_address(id(x) + at).value == address_of(x)
    return at if known else 0


def pointer_of(x: Any) -> ctypes.c_void_p:
    """`address_of` in a quarter of the time, as an object that may be used as long as x is there."""
    global _field
    if _field is None:
        _field = _find_field(x)
    return ctypes.c_void_p.from_address(id(x) + _field) if _field else ctypes.c_void_p(address_of(x))


def _is_masked(kind: type) -> bool:
    """Whether a type of arrays of NumPy's has masks of numpy.ma or astropy. Those of others may say what counts."""
    import numpy as np

    return kind is not np.ndarray and (hasattr(kind, "unmasked") or issubclass(kind, np.ma.MaskedArray))


def of_numpy(x: Any) -> Array:
    """An array of NumPy's, with the mask of a masked one."""
    import numpy as np

    name, order = cached_type(x.dtype)
    array = Array(address_of(x), name, order, x.shape,
                  None if x.flags.c_contiguous else x.strides, x, x.dtype)
    mask = x.mask if _is_masked(type(x)) else None  # of numpy.ma it may be no array
    return array.with_mask(np.broadcast_to(mask, x.shape)) if isinstance(mask, np.ndarray) else array


#
# torch
#


_torch_types: Dict[Any, Optional[bytes]] = {}
_raw_stream: Any = None


def torch_type(dtype: Any) -> Optional[bytes]:
    """The element type of a dtype of torch's; None for one that has none."""
    try:
        return _torch_types[dtype]
    except KeyError:
        _torch_types[dtype] = found = NAMES.get(str(dtype)[6:])
        return found


def torch_stream(ordinal: int) -> int:
    """The current stream of torch's on a device."""
    global _raw_stream
    if _raw_stream is None:
        import torch

        # The first costs a tenth of the second; torch.compile uses it.
        _raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
            lambda device: torch.cuda.current_stream(device).cuda_stream)
    stream: int = _raw_stream(ordinal)
    return stream


def of_torch(x: Any) -> Array:
    """A tensor of torch's, on the CPU or a CUDA device; gradients do not matter."""
    import torch

    name = torch_type(x.dtype)
    if x.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {x.layout} is not supported; use x.to_dense()")
    if name is None:
        raise _no_type(x.dtype, "take x.real and x.imag" if x.is_complex() else "")
    if x.is_neg():
        raise TypeError("a tensor with the negative bit is not supported; use x.resolve_neg()")
    size = SIZES[name]
    array = Array(x.data_ptr(), name, NATIVE, tuple(x.shape),
                  None if x.is_contiguous() else tuple([n * size for n in x.stride()]), x)
    kind = x.device.type
    if kind not in ("cpu", "cuda"):
        raise TypeError(f"a tensor on {x.device} is not supported; use x.cpu()")
    if not array.address and x.numel():
        raise TypeError("a tensor without memory of its own is not supported")
    if kind == "cpu":
        return array
    return array._replace(memory=CUDA, ordinal=x.device.index, stream=torch_stream(x.device.index))


#
# CuPy
#


def of_cupy(x: Any) -> Array:
    """An array of CuPy's, on its current stream."""
    import cupy

    name, order = cached_type(x.dtype)
    return Array(x.data.ptr, name, order, x.shape, None if x.flags.c_contiguous else x.strides, x,
                 x.dtype, memory=CUDA, ordinal=x.device.id,
                 stream=cupy.cuda.get_current_stream().ptr)


def _owner(array: Array) -> Tuple[Any, str]:
    """What an array on a GPU was made of, and the name of its package."""
    x = array.keep[0] if isinstance(array.keep, tuple) else array.keep
    return x, package_of(x)


def empty_on_device(shape: Tuple[int, ...], array: Array, dtype: str) -> Optional[Tuple[Any, int]]:
    """An array of the package that an array on a GPU is of, on its GPU, and its address; None of other
    packages than PyTorch and CuPy, and of a PyTorch without that type."""
    x, root = _owner(array)
    if root == "torch":
        import torch

        if not hasattr(torch, dtype):
            return None
        found = torch.empty(shape, dtype=getattr(torch, dtype), device=x.device)
        return found, found.data_ptr()
    if root == "cupy":
        import cupy

        with x.device:
            found = cupy.empty(shape, dtype)
        return found, found.data.ptr
    return None


def rows_on_device(array: Array, axes: Sequence[int]) -> Optional[Array]:
    """A copy of an array on a GPU, with its mask, the last dimension of which is `axes` together; None of other
    packages than PyTorch and CuPy, and where there is no memory for it."""
    x, root = _owner(array)
    if root not in ("torch", "cupy") or array.size == 0:
        return None
    rank = len(array.shape)
    shape = tuple(n for i, n in enumerate(array.shape) if i not in axes) + (-1,)

    def rows(y: Any) -> Any:
        package = package_of(y)
        with y.device if package == "cupy" else nullcontext():
            return sys.modules[package].moveaxis(y, tuple(axes), tuple(range(rank - len(axes), rank))).reshape(shape)

    try:
        copy = describe(rows(x))
        return copy if array.mask_form == MASK_NONE else with_mask(copy, rows(array.mask_bytes()))
    except (RuntimeError, MemoryError):
        return None


def floats_on_device(array: Array) -> Optional[Array]:
    """A copy of an array on a GPU in float64, with its mask; None as of `rows_on_device`."""
    x, root = _owner(array)
    try:
        if root == "torch":
            return with_mask(describe(x.double()), array.mask_bytes())
        if root == "cupy":
            with x.device:
                return with_mask(describe(x.astype("f8")), array.mask_bytes())
    except (RuntimeError, MemoryError):
        pass
    return None


def stays_in_numpy(array: Array) -> bool:
    """Whether results along an axis are arrays of NumPy's: those of other packages' arrays on a GPU, too."""
    return array.memory == HOST or _owner(array)[1] not in ("torch", "cupy", "numba")


def on_device(values: Any, array: Array, elements: bool) -> Any:
    """Results along an axis, as an array of the package that the array on a GPU is of, on its GPU; of
    NumPy where that has no arrays of such numbers. `elements`: they get the type of the elements."""
    x, root = _owner(array)
    if not type(values).__module__.startswith("numpy"):  # it is there
        if not elements:
            return values
        return values.to(x.dtype) if root == "torch" else values.astype(x.dtype)
    if root == "torch":
        import torch

        found = torch.from_numpy(values).to(x.device)
        return found.to(x.dtype) if elements else found
    if root == "cupy":
        import cupy

        with x.device:
            return cupy.asarray(values)
    if root == "numba":
        from numba import cuda

        return cuda.to_device(values)
    return values


#
# Arrow, by its C data interface
#


class _ArrowSchema(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p)]


class _ArrowArray(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))

_ARROW = {b"c": b"i8", b"C": b"u8", b"s": b"i16", b"S": b"u16", b"i": b"i32", b"I": b"u32",
          b"l": b"i64", b"L": b"u64", b"e": b"f16", b"f": b"f32", b"g": b"f64"}


_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ArrowStream(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("get_schema", _GET), ("get_next", _GET), ("get_last_error", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


class _Streamed:  # pylint: disable=too-few-public-methods
    """The schema and the array of a stream of Arrow's with one chunk at most, which frees them."""

    def __init__(self, capsule: Any) -> None:
        self.schema, self.array, more = _ArrowSchema(), _ArrowArray(), _ArrowArray()
        address = _capsule_pointer(capsule, b"arrow_array_stream")
        stream = _ArrowStream.from_address(address)
        failed = stream.get_schema(address, ctypes.byref(self.schema)) or self.schema.format in _ARROW and (
            stream.get_next(address, ctypes.byref(self.array)) or
            self.array.release and stream.get_next(address, ctypes.byref(more)))  # others keep what they have
        chunks = bool(more.release)
        if chunks:
            _RELEASE(more.release)(ctypes.byref(more))
        if failed or chunks:
            raise TypeError("Arrow data " + ("in chunks; make them one" if chunks else "that cannot be read"))

    def __del__(self) -> None:
        for one in (self.schema, self.array):
            if one.release:
                _RELEASE(one.release)(ctypes.byref(one))


def _is_extension(schema: _ArrowSchema) -> bool:
    """Whether the elements are of an extension type, for which the numbers that are stored mean something else."""
    texts: List[bytes] = []
    at = schema.metadata or 0
    for _ in range(2 * ctypes.c_int32.from_address(at).value if at else 0):  # keys and values
        at += 4 + (len(texts[-1]) if texts else 0)
        texts.append(ctypes.string_at(at + 4, ctypes.c_int32.from_address(at).value))
    return b"ARROW:extension:name" in texts[::2]


def of_arrow(x: Any) -> Array:
    """An Arrow array, with its validity bitmap. One in chunks is copied into one chunk first."""
    if not hasattr(x, "__arrow_c_array__"):
        for join in ("combine_chunks", "rechunk"):
            if hasattr(x, join):
                x = getattr(x, join)()
                break
    keep: Any
    if hasattr(x, "__arrow_c_array__"):
        keep = x.__arrow_c_array__()
        schema = _ArrowSchema.from_address(_capsule_pointer(keep[0], b"arrow_schema"))
        found = _ArrowArray.from_address(_capsule_pointer(keep[1], b"arrow_array"))
    elif hasattr(x, "__arrow_c_stream__"):
        keep = _Streamed(x.__arrow_c_stream__())
        schema, found = keep.schema, keep.array
    else:
        raise TypeError(f"Arrow data of type {type(x).__name__} have no __arrow_c_array__; update their package")
    extension = _is_extension(schema)
    name = None if extension else _ARROW.get(schema.format or b"")
    if schema.format == b"+s" and not hasattr(x, "type"):
        raise TypeError(f"Arrow data of type {type(x).__name__} are not one array; take a column")
    if name is None or schema.dictionary:
        stated = getattr(x, "type", getattr(x, "dtype", (schema.format or b"").decode()))
        raise _no_type(f"{stated} (Arrow)", "take its storage" if extension else
                       "bits are no bytes: cast it to uint8" if schema.format == b"b" else "")
    if not found.release:  # a stream of no chunks
        return Array(0, name, NATIVE, (0,), None, None)
    array = Array((found.buffers[1] or 0) + found.offset * SIZES[name], name, NATIVE,
                  (found.length,), None, (x, keep))
    if found.null_count == 0 or not found.buffers[0]:
        return array
    return array._replace(mask_form=MASK_VALID_BITS, mask_address=found.buffers[0],
                          mask_offset=found.offset)


#
# pandas
#


def of_pandas(x: Any) -> Array:
    """A series or an index of pandas', or an array of an extension type, with its mask."""
    values = getattr(x, "array", x)
    if hasattr(values, "_mask") and hasattr(values, "_data"):  # Int64, Float64, boolean
        return of_numpy(values._data).with_mask(values._mask)
    if package_of(getattr(values, "_pa_array", getattr(values, "_data", None))) == "pyarrow":  # before 2.1
        return of_arrow(values.__arrow_array__())
    import numpy as np

    dtype = getattr(x, "dtype", type(x).__name__)
    if isinstance(dtype, np.dtype) or hasattr(dtype, "numpy_dtype") and hasattr(values, "_ndarray"):
        return of_numpy(x.to_numpy())  # as of x.array, too
    raise _no_type(f"{dtype} (pandas)", "convert it first: x.to_numpy('f8')")


#
# DLPack
#


class _DLTensor(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLVersioned(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_capsule_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))

_DL_TYPES = {(0, 8): b"i8", (0, 16): b"i16", (0, 32): b"i32", (0, 64): b"i64", (1, 8): b"u8",
             (1, 16): b"u16", (1, 32): b"u32", (1, 64): b"u64", (2, 16): b"f16", (2, 32): b"f32",
             (2, 64): b"f64", (4, 16): b"bf16", (6, 8): b"bool", (10, 8): b"f8e4m3",
             (12, 8): b"f8e5m2"}
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13


def of_dlpack(x: Any) -> Array:
    """An array with __dlpack__, on the CPU or a CUDA device. The legacy stream waits for its work."""
    device, ordinal = x.__dlpack_device__()
    device = int(device)
    if device not in (_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED):
        raise TypeError(f"an array on a device of DLPack's type {device} is not supported")
    stream = {"stream": 1} if device in (_DL_CUDA, _DL_CUDA_MANAGED) else {}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:  # of a producer that knows no versions
        capsule = x.__dlpack__(**stream)
    # A capsule that is not taken over frees itself.
    if _capsule_is(capsule, b"dltensor_versioned"):
        versioned = _DLVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise TypeError(f"version {versioned.major} of DLPack is not supported")
        tensor = versioned.tensor
    else:
        tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    name = _DL_TYPES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        raise _no_type(f"{getattr(x, 'dtype', (tensor.code, tensor.bits))} (DLPack)")
    rank, size = tensor.ndim, SIZES[name]
    strides = [n * size for n in tensor.strides[:rank]] if tensor.strides else None
    array = Array((tensor.data or 0) + tensor.byte_offset, name, NATIVE, tuple(tensor.shape[:rank]),
                  None if strides is None else tuple(strides), (x, capsule))
    return array._replace(memory=CUDA, ordinal=ordinal) if stream else array


#
# The buffer protocol, and the interfaces of arrays
#

_BUFFER = {"?": b"bool", "b": b"i8", "B": b"u8", "e": b"f16", "f": b"f32", "d": b"f64"}
_BUFFER_INTEGERS = "hHiIlLqQnN"


def _buffer_type(text: str) -> Tuple[bytes, int]:
    """The element type and byte order of a format of the struct module's."""
    mark = text[:1] if text[:1] in "@=<>!" and text else "@"
    letter = text.lstrip("@=<>!") if text[1:] else text
    name = _BUFFER.get(letter)
    if name is None and len(letter) == 1 and letter in _BUFFER_INTEGERS:
        import struct

        try:
            bits = 8 * struct.calcsize(mark + letter)
        except struct.error:
            raise _no_type(f"{text!r} (buffer)") from None
        name = f"{'i' if letter.islower() and letter != 'N' else 'u'}{bits}".encode()
    if name is None:
        raise _no_type(f"{text!r} (buffer)")
    return name, LITTLE if mark == "<" else BIG if mark in ">!" else NATIVE


class _Buffer(ctypes.Structure):  # pylint: disable=too-few-public-methods
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p),
                ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Buffer),
                                ctypes.c_int)(("PyObject_GetBuffer", ctypes.pythonapi))
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_Buffer))(
    ("PyBuffer_Release", ctypes.pythonapi))
_STRIDES = 0x18  # with sizes, strides, and memory that may be read-only


def of_buffer(view: memoryview) -> Array:
    """Memory by the buffer protocol: bytes, bytearray, array.array, mmap and others."""
    name, order = _buffer_type(view.format)
    if view.suboffsets:
        raise TypeError("a buffer of pointers to rows is not supported")
    found = _Buffer()
    _get_buffer(view, ctypes.byref(found), _STRIDES)
    address = found.buf or 0
    _release_buffer(ctypes.byref(found))  # `view` still holds it
    return Array(address, name, order, view.shape or (),
                 None if view.c_contiguous else view.strides, view)


_driver: Any = None


def _device_of(address: int) -> int:
    """The number of the CUDA device that memory is on."""
    global _driver
    ordinal = ctypes.c_int()
    try:
        _driver = _driver or ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise TypeError(f"an array on a GPU, but there is no driver of CUDA: {error}") from None
    status = _driver.cuPointerGetAttribute(ctypes.byref(ordinal), 9, ctypes.c_uint64(address))
    if status:
        raise TypeError(f"an array whose memory is no CUDA device's: error {status} of CUDA")
    return ordinal.value


def of_cuda(x: Any) -> Array:
    """An array with __cuda_array_interface__."""
    import numpy as np

    interface: Dict[str, Any] = x.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("the mask of a CUDA array is not supported")
    name, order = cached_type(np.dtype(interface["typestr"]))
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    address = interface["data"][0]
    array = Array(address or 0, name, order, shape, None if strides is None else tuple(strides), x)
    if 0 in shape:
        return array
    stream = interface.get("stream")
    return array._replace(memory=CUDA, ordinal=_device_of(address),
                          stream=0 if stream is None else stream)


def _types(x: Any) -> Set[type]:
    """The types of what a list of lists has."""
    found = set(map(type, x))
    if any(issubclass(kind, (list, tuple)) for kind in found):
        found.update(*(_types(one) for one in x if isinstance(one, (list, tuple))))
    return found


def _has_masks(x: Any) -> bool:
    """Whether an array in a list of lists has missing elements, which NumPy would take for numbers or NaNs."""
    for one in x:
        if isinstance(one, (list, tuple)):
            if _has_masks(one):
                return True
        elif not isinstance(one, (int, float)):
            with suppress(TypeError, ValueError):
                if describe(one).mask_form != MASK_NONE:
                    return True
    return False


def of_list(x: Any) -> Array:
    """A list, as NumPy's array of it. TypeError where that has not the numbers of the list."""
    import operator

    import numpy as np

    types = _types(x)
    if any(_is_masked(kind) for kind in types):
        raise TypeError("a list of masked elements is not supported; use numpy.ma.array or numpy.ma.stack")
    if any(not issubclass(kind, (int, float, list, tuple, np.generic, np.ndarray)) for kind in types) and _has_masks(x):
        raise TypeError("a list of arrays with missing elements is not supported; concatenate them first")
    found = np.asarray(x)
    if found.dtype.kind != "f" or types <= {float}:
        return of_numpy(found)
    integers: List[int] = []
    for one in np.asarray(x, dtype=object).flat:
        with suppress(TypeError):
            integers.append(operator.index(bool(one) if isinstance(one, np.bool_) else one))
    if len(integers) == found.size > 0 and min(integers) >= 0:  # some are beyond int64
        return of_numpy(np.array(integers, "u8").reshape(found.shape))
    if len(integers) == found.size > 0:
        raise TypeError("a list of integers for which NumPy has no type; some are negative, others beyond int64")
    for integer in integers:
        if float(integer) != integer:
            raise TypeError(f"a list of floats with {integer}, which float64 rounds; use an array of floats")
    return of_numpy(found)


def describe(x: Any) -> Array:
    """Any array, as the library sees it. TypeError if it is none, or its elements are no numbers."""
    # While another thread imports a package, its module is there without types.
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(x, (getattr(numpy, "ndarray", ()), getattr(numpy, "generic", ()))):
        return of_numpy(x if isinstance(x, numpy.ndarray) else numpy.asarray(x))
    if isinstance(x, getattr(torch, "Tensor", ())):
        return of_torch(x)
    root, kinds = package_of(x), {kind.__module__.partition(".")[0] for kind in type(x).__mro__}
    if root == "dask":
        raise TypeError("a dask array has no elements yet; use the functions of gpureduce.dask, or x.compute()")
    if "pandas" in kinds:  # also of a type that is derived from one of its types
        if hasattr(x, "columns"):
            raise TypeError("a data frame is no array; take a column, such as x['name']")
        return of_pandas(x)
    if root == "xarray":
        if hasattr(x, "data_vars"):
            raise TypeError("a dataset is no array; take a variable, such as x['name']")
        return describe(x.data)
    if root == "netCDF4":
        return describe(x[...])  # its own array has values in the place of what is missing
    shaped = hasattr(type(x), "__array_interface__")  # images of Pillow, whose Arrow arrays have one dimension
    if not shaped and (hasattr(x, "__arrow_c_array__") or hasattr(x, "__arrow_c_stream__")) or \
            root in ("pyarrow", "polars") and hasattr(x, "null_count") and hasattr(x, "to_numpy"):  # of older versions
        return of_arrow(x)
    if root == "cupy":
        return of_cupy(x)
    # The __cuda_array_interface__ of JAX lacks types, and says nothing of streams.
    if root.startswith("jax") and hasattr(x, "__dlpack_device__"):
        cached_type(x.dtype)  # DLPack has no int4
        try:
            return of_dlpack(x)
        except BufferError:  # an array on several devices, which is brought to the host
            import numpy as np

            return of_numpy(np.asarray(x))
    if hasattr(x, "__cuda_array_interface__"):
        return of_cuda(x)
    try:
        view = memoryview(x)
    except TypeError:
        pass
    except ValueError as error:  # a format that memoryview does not know
        raise TypeError(str(error)) from None
    else:
        return of_buffer(view)
    if hasattr(x, "__array_interface__"):
        if x.__array_interface__.get("mask") is not None:
            raise TypeError("the mask of __array_interface__ is not supported")
        import numpy as np

        return of_numpy(np.asarray(x))
    if hasattr(x, "__dlpack_device__"):
        return of_dlpack(x)
    if isinstance(x, (list, tuple)):
        return of_list(x)
    if hasattr(x, "__array__") or isinstance(x, (int, float, complex)):
        import numpy as np

        return of_numpy(np.asanyarray(x))  # with a mask, if it has one
    if type(x).__module__ == "gpureduce._files":
        raise TypeError(f"{type(x).__name__} is not in memory: call the methods of its arrays, such as f[0].sum(), or give"
                        " the path of the file to total or diff")
    raise TypeError(f"{type(x).__name__} is no array: it has neither the buffer protocol nor"
                    " __array_interface__, __cuda_array_interface__ or __dlpack__")


def _with_mask_on_device(array: Array, mask: Any) -> Array:
    """An array on a GPU with a mask there."""
    root = package_of(mask)
    if root in ("torch", "cupy"):
        with suppress(RuntimeError, ValueError):  # where it has no such shape
            mask = sys.modules[root].broadcast_to(mask, array.shape)
        mask = mask.contiguous() if root == "torch" else mask.copy()
    found = describe(mask)
    if found.type != b"bool" or found.shape != array.shape or (
            found.memory, found.ordinal, found.stream) != (array.memory, array.ordinal, array.stream) or (
                found.strides not in (None, found._replace(strides=None).all_strides())):
        raise TypeError("a mask of an array on a GPU is an array of bool on that GPU and its stream, of its"
                        " shape, in C order")
    return array._replace(mask_form=MASK_MISSING_BYTES, mask_address=found.address, mask_keep=found.keep)


def _labels_agree(x: Any, mask: Any) -> bool:
    """False if labels of pandas' or xarray's say that a mask has its entries in another order than an array."""
    own: Any
    others: Any
    if package_of(x) == package_of(mask) == "xarray":
        own, others = getattr(x, "indexes", {}), getattr(mask, "indexes", {})
        return bool(x.dims[max(0, len(x.dims) - len(mask.dims)):] == mask.dims and
                    all(others[name].equals(own[name]) for name in mask.dims if name in own and name in others))
    own, others = getattr(x, "index", None), getattr(mask, "index", None)
    return not package_of(own) == package_of(others) == "pandas" or bool(own.equals(others))


def masked(x: Any, mask: Any) -> Array:
    """The array that `describe` makes of an object, with another mask besides its own if that is not None."""
    array = describe(x)
    if mask is None:
        return array
    if not _labels_agree(x, mask):
        raise ValueError("the mask has other labels than the array; align it first, or pass mask.values if its order"
                         " is that of the array")
    return with_mask(array, mask)


def with_mask(array: Array, mask: Any) -> Array:
    """The array with another mask besides its own, which is true where an element is missing."""
    import numpy as np

    if array.memory != HOST:
        return _with_mask_on_device(array, mask)
    if np.ma.is_masked(mask):
        raise ValueError("the mask has masked elements")
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(f"a mask has elements of type bool, not {mask.dtype}")
    mask = np.broadcast_to(mask, array.shape)
    own = array.mask_bytes()
    return array.with_mask(mask if own is None else mask | own)


def axes_of(axis: Any, rank: int) -> Tuple[int, ...]:
    """Axes as numbers from 0 to rank - 1. ValueError for one that does not exist, or is there twice."""
    import operator

    found: List[int] = []
    for one in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(one, (bool, str)):
            raise TypeError(f"an axis is a number, not {one!r}" + (
                f"; of an array of xarray's: x.reduce(gpureduce.sum, dim={one!r})" if isinstance(one, str) else ""))
        number = operator.index(one)
        if not -rank <= number < rank:
            raise ValueError(f"axis {number} is out of bounds for an array of {rank} dimensions")
        if number % rank in found:
            raise ValueError(f"axis {number} is given twice")
        found.append(number % rank)
    return tuple(sorted(found))
