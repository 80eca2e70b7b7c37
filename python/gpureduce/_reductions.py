"""The functions: one pass over an array where it is, exact, rounded once."""

from __future__ import annotations

import builtins
import ctypes
import functools
import itertools
import math
import re
import sys
from contextlib import suppress
from ctypes import byref, c_void_p
from fractions import Fraction
from typing import (Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union)

from . import _library as lib
from ._arrays import (BIG, CUDA, HOST, LITTLE, NATIVE, SIZES, TYPE_NAMES, Array, axes_of, cached_type, describe,
                      empty_on_device, floats_on_device, kind_of, masked, on_device, package_of, pointer_of,
                      rows_on_device, stays_in_numpy, torch_stream, torch_type, with_mask)
from ._library import Context, Progress, RequestKey

Number = Union[int, float, bool]

NAN = {"propagate": 0, "skip": 1, "error": 2}
COUNTS = frozenset(("count", "nan", "inf", "zeros", "negatives", "subnormals", "missing"))
INDICES = frozenset(("argmin", "argmax"))
TYPED = frozenset(("min", "max", "absmin", "absmax"))
"""The operations whose results along an axis have the type of the elements, or of their magnitudes."""
ELEMENTS = TYPED | {"range"}
SUMS = frozenset(("sum", "sumsq", "l1", "l2"))
"""The operations whose results of no elements are 0."""
SUMMARY = ("count", "nan", "inf", "zeros", "min", "max", "mean", "std", "q0.25", "median", "q0.75")
"""The operations of the group "summary"."""
QUANTILES_MAX = 31
PLACES = 10**18
"""The largest denominator of a quantile."""

_NO_ELEMENTS = "an array without elements has no {}"


class Results(Mapping[str, Any]):
    """The results of several operations, by name and as attributes.

    >>> import gpureduce as gr
    >>> r = gr.reduce([1, 2, 6], ["sum", "mean"])
    >>> r["sum"], r.mean
    (9, 3.0)
    >>> dict(r)
    {'sum': 9, 'mean': 3.0}
    """

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, op: str) -> Any:
        return self._values[op]

    def __getattr__(self, op: str) -> Any:
        if op.startswith("_"):
            raise AttributeError(op)
        try:
            return self._values[op]
        except KeyError:
            raise AttributeError(f"{op} was not asked for") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Results({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"

    def __reduce__(self) -> Tuple[Any, ...]:
        return Results, (self._values,)


#
# Requests
#


def missing_text(value: Any) -> bytes:
    """A missing value as the library reads it."""
    if isinstance(value, (bool, int)):
        return str(int(value)).encode()
    if hasattr(value, "item"):
        if getattr(value, "mask", False):
            raise ValueError("a missing value is masked")
        item = value.item()
        if type(item) is not type(value):  # as of np.longdouble
            return missing_text(item)
    if isinstance(value, float):
        # 2.0**60 is that, and not the shortest decimal number that is nearest to it.
        return (str(int(value)) if abs(value) < 2.0**64 and value.is_integer() else repr(value)).encode()
    raise TypeError(f"a missing value is a number, not {type(value).__name__}")


def make_key(ops: Sequence[bytes], nan: str = "propagate", missing: Any = None, ddof: Any = 0,
             quantiles: Tuple[Tuple[bytes, int, int], ...] = (),
             histogram: Optional[Tuple[int, float, float]] = None, wait: bool = True) -> RequestKey:
    """The key of a request. Not to wait for results on a GPU is for those who go on on its stream."""
    if nan not in NAN:
        raise ValueError(f"nan is 'propagate', 'skip' or 'error', not {nan!r}")
    if missing is None:
        values: Tuple[bytes, ...] = ()
    elif isinstance(missing, (list, tuple)):
        values = tuple(missing_text(value) for value in missing)
    else:
        values = (missing_text(missing),)
    return tuple(ops), quantiles, histogram, NAN[nan], lib.natural("ddof", ddof), values, wait, 1


def op_names(ops: Union[str, Sequence[str]]) -> Tuple[str, ...]:
    """The names of operations, those of groups included."""
    names: List[str] = []
    for op in map(str.strip, ops.split(",")) if isinstance(ops, str) else ops:
        if not isinstance(op, str):
            raise TypeError(f"an operation is a str, not {type(op).__name__}")
        if "\0" in op:
            raise lib.ArgumentError(f"unknown operation {op!r}")
        names.extend(SUMMARY if op == "summary" else (op,))
    if not names:
        raise ValueError("no operation is asked for")
    return tuple(dict.fromkeys(names))


#
# Results
#


def integer_of(context: Context, result: Any, op: bytes) -> Optional[int]:
    """The result of an operation as an integer; None if it is none."""
    text = context.text
    length = lib.result_integer(result, op, text, len(text))
    if length >= len(text):
        text = ctypes.create_string_buffer(length + 1)
        lib.result_integer(result, op, text, length + 1)
    return int(text.value) if length else None


def digest_of(context: Context, result: Any) -> str:
    """The digest."""
    text = ctypes.create_string_buffer(64)
    context.check_some(lib.result_text(result, b"digest", text, 64))
    return text.value.decode()


def value_of(context: Context, result: Any, op: bytes, kind: str) -> Any:
    """The result of an operation on elements of a kind (Array.kind)."""
    name = op.decode()
    if name == "digest":
        return digest_of(context, result)
    if name in COUNTS or name in INDICES:
        context.check(lib.result_count(result, op, byref(context.count)))
        count = context.count.value
        return -1 if count == lib.UNKNOWN else count
    context.check(lib.result_double(result, op, context.double_ref))
    value = context.double.value
    if kind == "f" or value != value or not (name in ELEMENTS or name in ("sum", "sumsq", "l1")):
        return value
    integer: Optional[int] = integer_of(context, result, op)
    if integer is None:
        return value
    return bool(integer) if kind == "b" and name in ELEMENTS else integer


def values_of(context: Context, result: Any, key: RequestKey, kind: str) -> List[Any]:
    """The results of the operations, then of the quantiles, of a request."""
    return [value_of(context, result, op, kind) for op in key[0]] + \
        [value_of(context, result, name, "f") for name, _, _ in key[1]]


def exact_of(context: Context, result: Any, op: bytes) -> Fraction:
    """The exact value of an operation. ValueError if it is no number."""
    text = ctypes.create_string_buffer(1024)
    length = lib.result_exact(result, op, text, 1024, byref(context.exponent))
    if not length:
        context.check(lib.result_double(result, op, context.double_ref))
        value = context.double.value
        if value - value != 0:
            raise ValueError(f"the {op.decode()} is {value}, which is no fraction")
        raise context.error(lib.error_status(context.handle))
    if length >= 1024:
        text = ctypes.create_string_buffer(length + 1)
        lib.result_exact(result, op, text, length + 1, byref(context.exponent))
    return int(text.value, 16) * Fraction(2) ** context.exponent.value


#
# Arrays
#


def set_view(context: Context, array: Array) -> None:
    """Makes the view of a context one of an array."""
    if len(array.shape) > 64:
        raise ValueError("an array has at most 64 dimensions")
    context.address.value = array.address
    set_data(context, context.address, array.type, array.order, array.shape, array.strides)
    if array.mask_form or context.masked:
        context.masked = True
        context.check(lib.view_set_mask(context.view, array.mask_form, array.mask_address,
                                        array.mask_offset))
        context.masked = bool(array.mask_form)
    set_place(context, (array.memory, array.ordinal, array.stream))


def set_data(context: Context, pointer: Any, dtype: bytes, order: int, shape: Sequence[int], strides: Any) -> None:
    """Sets the elements of a context's view; strides of None are those of C order."""
    rank = len(shape)
    context.shape[:rank] = list(shape)
    if strides is not None:
        context.strides[:rank] = list(strides)
        strides = context.strides
    context.check(lib.view_set_data(context.view, pointer, dtype, order, rank, context.shape, strides))


def set_place(context: Context, place: Tuple[int, int, int]) -> None:
    """Sets where the memory of a context's view is: a kind of memory, a device, a stream."""
    if place != context.place:
        context.place = (-1, 0, 0)
        context.check(lib.view_set_memory(context.view, *place))
        context.place = place


def _give_back(context: Context) -> None:
    """Frees the input and the result of a context, and returns it to the pool."""
    if context.result:
        lib.result_free(context.result)
        context.result.value = None
    if context.input:
        lib.close(context.input)
        context.input.value = None
    lib.give_back(context)


class _Opened:
    """A context whose input is an array, within a with statement; it frees its result at the end."""

    def __init__(self, array: Array) -> None:
        self.array = array  # keeps its memory
        self.context = context = lib.borrow()
        try:
            set_view(context, array)
            context.check(lib.open_view(context.handle, context.view, context.input_ref))
        except BaseException:
            _give_back(context)
            raise

    def __enter__(self) -> Context:
        return self.context

    def __exit__(self, *_: Any) -> None:
        _give_back(self.context)


def _reduced(context: Context, key: RequestKey, progress: Optional[Progress] = None) -> Any:
    """The result of a request for all elements of a context's input; it belongs to the context."""
    context.run(lib.reduce, context.input, ctypes.c_size_t(0), context.request(key),
                context.result_ref, progress=progress)
    return context.result


def reduce_array(array: Array, key: RequestKey, progress: Optional[Progress] = None
                 ) -> List[Any]:
    """The results of the operations and quantiles of a request, for all elements."""
    with _Opened(array) as context:
        result = _reduced(context, key, progress)
        return values_of(context, result, key, array.kind)


#
# Along axes
#


def _merged(array: Array, axes: Sequence[int]) -> Optional[Array]:
    """The array with the dimensions `axes` as the last one, if they are one in memory: the order of
    the elements in it does not matter."""
    strides = array.all_strides()
    kept = [i for i in range(len(array.shape)) if i not in axes]
    parts = sorted(((strides[i], array.shape[i]) for i in axes if array.shape[i] != 1),
                   key=lambda part: -abs(part[0]))
    for (outer, _), (inner, n) in zip(parts, parts[1:]):
        if outer != inner * n:
            return None
    count = math.prod(n for _, n in parts)
    return array._replace(shape=tuple(array.shape[i] for i in kept) + (count,),
                          strides=tuple(strides[i] for i in kept)
                          + (parts[-1][0] if parts else SIZES[array.type],))


def _no_room(what: str) -> OverflowError:
    return OverflowError(f"a sum along the axis is too large for {what};"
                         " reduce the slices one by one for integers of any size")


def portions(key: RequestKey) -> Iterator[RequestKey]:
    """Requests for the operations and the quantiles of one, since the library takes a number of quantiles at a
    time."""
    for i in range(0, builtins.max(len(key[1]), len(key[0]) > 0), QUANTILES_MAX):
        yield (key[0] if i == 0 else (), key[1][i:i + QUANTILES_MAX]) + key[2:]


_WORDS = {b"f64": "float64", b"i64": "int64", b"u64": "uint64"}
"""The types of results along an axis."""


def _empty(shape: Tuple[int, ...], dtype: str) -> Tuple[Any, int]:
    """An array of NumPy's, and its address."""
    import numpy as np

    found = np.empty(shape, dtype)
    return found, found.ctypes.data


def along_axis(context: Context, source: Any, number: int, key: RequestKey, shape: Tuple[int, ...], axis: int,
               progress: Optional[Progress],
               empty: Callable[[Tuple[int, ...], str], Optional[Tuple[Any, int]]] = _empty) -> List[Any]:
    """The results of operations, then of quantiles, along one axis of an array of an input, whose shape is given, or
    along as many from it on as the key says: an array each, as `empty` makes it."""
    kept = shape[:axis] + shape[axis + key[-1]:]
    found: List[Any] = []
    for part in portions(key):
        request = context.request(part)
        some = []
        for op in part[0] + tuple(q[0] for q in part[1]):
            name = lib.axis_dtype(source, number, request, op)
            if name is None:
                raise context.error(lib.error_status(context.handle))
            one = empty(kept, _WORDS[name])
            if one is None:
                raise lib.UnsupportedError(f"there are no arrays of {_WORDS[name]} for the results")
            some.append(one)
        pointers = (ctypes.c_void_p * len(some))(*[address for _, address in some])
        context.run(lib.reduce_axis, source, number, request, axis, pointers, math.prod(kept), progress=progress)
        found += [one for one, _ in some]
    return found


def _one_axis_on_device(array: Array, key: RequestKey, axis: int, progress: Optional[Progress]
                        ) -> List[Any]:
    """As _one_axis, of an array on a GPU: there, where its package and the library can have them so."""
    if (array.mask_form == 0 or array.kind == "f") and array.size > 0:
        with suppress(lib.UnsupportedError), _Opened(array) as context:
            return along_axis(context, context.input, 0, key, array.shape, axis, progress,
                              lambda shape, dtype: empty_on_device(shape, array, dtype))
    length = math.prod(array.shape[axis:axis + key[-1]])
    if array.kind != "f" and SIZES[array.type] <= 4 and 0 < length <= _WIDENED and not key[5]:
        wide = floats_on_device(array)
        if wide is not None and wide.size > 0:
            found = _one_axis_on_device(wide, key, axis, progress)
            return [_narrow(op, one, array.kind) for op, one in zip(key[0], found)] + found[len(key[0]):]
    return _by_slices(array, key, range(axis, axis + key[-1]), progress)


_WIDENED = 1 << 20
"""Elements of a slice of integers of 32 bits, or of their differences, the sums of which float64 has."""


def _narrow(op: bytes, values: Any, kind: str) -> Any:
    """Results of integers that were found in float64 by a GPU, or slice by slice, in their type."""
    if op.decode() not in _INTEGERS | ELEMENTS or not str(values.dtype).endswith("float64"):
        return values
    lost = values != values
    if op == b"sum":
        values[lost] = 0
    elif bool(lost.any()):
        return values
    word = "int64" if kind != "u" and op.decode() in _INTEGERS else "uint64"
    if package_of(values) != "torch":
        return values.astype(word)
    torch = sys.modules["torch"]
    return values.to(getattr(torch, word, torch.int64))


_LONG = 1 << 21
"""Elements of a slice from which on a few are faster one after the other, each by all threads, than all by one
thread each."""


def _is_quantile(op: bytes) -> bool:
    return op == b"median" or op[:1] in (b"p", b"q")


def _one_axis(array: Array, key: RequestKey, axis: int, progress: Optional[Progress]) -> List[Any]:
    """The results along one axis, or along as many from it on as the key says."""
    if array.memory != HOST:
        return _one_axis_on_device(array, key, axis, progress)
    axes = range(axis, axis + key[-1])
    length = math.prod(array.shape[i] for i in axes)
    if length >= _LONG and array.size < 8 * length and (key[1] or builtins.any(_is_quantile(op) for op in key[0])):
        return _by_slices(array, key, axes, progress)
    try:
        return _native_axis(array, key, axis, progress)
    except lib.UnsupportedError:  # an integer does not fit, or there is none
        if array.kind == "f" or lib.memory_is_limited():
            raise
    found = _some_empty(array, key, axis, progress)
    return _by_slices(array, key, axes, progress) if found is None else found


def _native_axis(array: Array, key: RequestKey, axis: int, progress: Optional[Progress]) -> List[Any]:
    with _Opened(array) as context:
        return along_axis(context, context.input, 0, key, array.shape, axis, progress)


def _some_empty(array: Array, key: RequestKey, axis: int, progress: Optional[Progress]) -> Optional[List[Any]]:
    """The results where all elements of some slices are masked: their sums are 0, and other integers NaN. None where
    that is not why there are no integers."""
    import numpy as np

    mask = array.mask_bytes()
    if mask is None or key[5]:
        return None
    axes = tuple(range(axis, axis + key[-1]))
    empty = mask.all(axis=axes)
    filled = array.with_mask(mask & ~np.expand_dims(empty, axes))
    try:
        found = _native_axis(filled, key, axis, progress) if empty.any() else None
    except lib.UnsupportedError:
        return None
    if found is None:
        return None
    whole = [one.dtype != np.float64 and op.decode() not in COUNTS | INDICES for op, one in zip(key[0], found)]
    rest = tuple(op for op, integers in zip(key[0], whole) if not integers)
    others = iter(_native_axis(array, (rest, key[1]) + key[2:], axis, progress) if rest or key[1] else [])
    for i, op in enumerate(key[0]):
        if not whole[i]:
            found[i] = next(others)
        elif op == b"sum":
            found[i][empty] = 0
        else:
            found[i] = _with_nans(op, found[i], empty)
    return found[:len(key[0])] + list(others)


def _with_nans(op: bytes, integers: Any, empty: Any) -> Any:
    """Integers as float64, with a NaN in some places."""
    import numpy as np

    found = integers.astype("f8")
    found[empty] = np.nan
    large = ~empty & (np.abs(found) >= _EXACT)
    if builtins.any(int(x) != int(y) for x, y in zip(found[large], integers[large])):
        raise _no_float(op)
    return found


def _no_float(op: bytes) -> OverflowError:
    return OverflowError(f"the {op.decode()} of a slice without elements is NaN, and float64 cannot hold"
                         " that of another slice; reduce the slices one by one")


def _by_slices(array: Array, key: RequestKey, axes: Sequence[int], progress: Optional[Progress]
               ) -> List[Any]:
    """The results of each slice, one after the other."""
    import numpy as np

    strides = array.all_strides()
    kept = [i for i in range(len(array.shape)) if i not in axes]
    shape = [array.shape[i] for i in kept]
    mask = array.mask_bytes()
    if mask is not None:
        package = np if array.memory == HOST else sys.modules[package_of(mask)]
        mask = package.moveaxis(mask, kept, tuple(range(len(kept))))
    part = array._replace(shape=tuple(array.shape[i] for i in axes), mask_form=0, mask_keep=None,
                          strides=tuple(strides[i] for i in axes))
    rows: List[List[Number]] = []
    ops = key[0] + tuple(q[0] for q in key[1])
    counted = ((b"missing",) + key[0],) + key[1:]
    for index in itertools.product(*map(range, shape)):
        one = part._replace(address=array.address + builtins.sum(
            i * strides[k] for i, k in zip(index, kept)))
        missing, *values = reduce_array(one if mask is None else with_mask(one, mask[index]), counted, progress)
        rows.append([of_nothing(op, value, array.kind, key[5]) for op, value in zip(ops, values)]
                    if 0 < missing == one.size else values)
    columns = list(zip(*rows)) if rows else [()] * len(ops)
    return [_column(op, column, array.kind).reshape(shape) for op, column in zip(ops, columns)]


def may_be_of_nothing(names: Sequence[str], results: Sequence[Any], kind: str) -> bool:
    """Whether results of all elements may be those of none, and some of these others along an axis."""
    return builtins.any(value == 0 if name in SUMS else kind != "f" and value != value
                        for name, value in zip(names, results))


def of_nothing(op: bytes, value: Number, kind: str, missing: Tuple[bytes, ...]) -> Number:
    """The result of a slice all of whose elements are missing, which is `value` without an axis."""
    name = op.decode()
    if name == "digest" or name in COUNTS | INDICES or kind != "f" and name == "sum" and not missing:
        return value
    if not missing or kind == "f" or name not in _INTEGERS | ELEMENTS:
        return math.nan
    first = int(missing[0]) if b"." not in missing[0] and b"e" not in missing[0] else int(float(missing[0]))
    return bool(first) if kind == "b" and name != "sum" else first if first >= 0 or name in _INTEGERS else math.nan


def _column(op: bytes, values: Sequence[Number], kind: str) -> Any:
    """Results of slices as an array of 64 bits."""
    import numpy as np

    if op.decode() in COUNTS:
        return np.array(values, "u8")
    if op.decode() in INDICES:
        return np.array(values, "i8")
    if op.decode() not in _INTEGERS | ELEMENTS:
        return np.array(values, "f8")
    if kind == "f" or any(isinstance(value, float) for value in values):
        found = np.array(values, "f8")
        if kind != "f" and not builtins.all(x == y or x != x for x, y in zip(values, found.tolist())):
            raise _no_float(op)
        return found
    dtype = "i8" if kind == "i" and op in (b"sum", b"min", b"max") else "u8"
    try:
        return np.array(values, dtype) if values or op in (b"sum", b"min", b"max") \
            else np.array(values, "f8")
    except OverflowError:
        raise _no_room({"i8": "int64", "u8": "uint64"}[dtype]) from None


def _placed(error: BaseException, order: Sequence[int], shape: Tuple[int, ...]) -> BaseException:
    """An error about an element of an array whose dimension i is number order[i] of one of a shape, the last ones perhaps
    joined: with its place in that."""
    match = re.search(r"element ([0-9,]+) is", str(error))
    if match is None:
        return error
    place = [int(i) for i in match[1].split(",")]
    last = place.pop()
    joined = []
    for i in reversed(order[len(place):]):
        joined.append(last % shape[i])
        last //= shape[i]
    named = dict(zip(order, place + joined[::-1]))
    text = ",".join(str(named[i]) for i in range(len(shape)))
    error.args = (str(error).replace(match[0], f"element {text} is", 1),)
    return error


def _turned(array: Array, key: RequestKey, axes: Sequence[int], progress: Optional[Progress]) -> List[Any]:
    """The results along several axes of an array in memory of the host, whose dimensions are taken as they lie: first
    those that are kept, then `axes`, and at last those that are kept and lie closest together."""
    import numpy as np

    strides = array.all_strides()
    by_stride = sorted(range(len(array.shape)), key=lambda i: -abs(strides[i]))
    least = builtins.min((abs(strides[i]) for i in axes if array.shape[i] > 1), default=0)
    outer = [i for i in by_stride if i not in axes and abs(strides[i]) >= least]
    inner = [i for i in by_stride if i not in axes and abs(strides[i]) < least]
    order = outer + [i for i in by_stride if i in axes] + inner
    mask = array.mask_bytes()
    turned = array._replace(shape=tuple(array.shape[i] for i in order), mask_form=0, mask_keep=None,
                            strides=tuple(strides[i] for i in order))
    if mask is not None:
        turned = turned.with_mask(mask.transpose(order))
    back = np.argsort(outer + inner)
    try:
        return [one.reshape([array.shape[i] for i in outer + inner]).transpose(back)
                for one in _one_axis(turned, key[:-1] + (len(axes),), len(outer), progress)]
    except lib.NaNError as error:
        raise _placed(error, order, array.shape) from None


def reduce_axes(array: Array, key: RequestKey, axes: Sequence[int],
                progress: Optional[Progress] = None) -> List[Any]:
    """The results along `axes`, ascending: an array of 64-bit numbers of the other dimensions each."""
    if len(axes) == 1:
        return _one_axis(array, key, axes[0], progress)
    kept = [i for i in range(len(array.shape)) if i not in axes]
    merged = _merged(array, axes) if array.mask_form == 0 and key[3] != NAN["error"] else None
    if merged is not None:
        return _one_axis(merged, key, len(kept), progress)
    if array.memory == HOST:
        return _turned(array, key, axes, progress)
    if array.strides is None and axes[-1] - axes[0] + 1 == len(axes):  # the mask is in C order, too
        return _one_axis(array, key[:-1] + (len(axes),), axes[0], progress)
    rows = rows_on_device(array, axes)
    try:
        return _by_slices(array, key, axes, progress) if rows is None else _one_axis(rows, key, len(kept), progress)
    except lib.NaNError as error:
        raise _placed(error, kept + list(axes), array.shape) from None


def _keeps_type(op: str, kind: str) -> bool:
    """Whether results along an axis have the type of the elements. The magnitude of -128 is no int8."""
    return op in ("min", "max") or op in TYPED and kind != "i"


def typed(op: str, values: Any, array: Array) -> Any:
    """Results along an axis in the type that NumPy's users expect."""
    import numpy as np

    if not isinstance(values, np.ndarray) and array.dtype is None:
        return values  # it is on a GPU
    if op in COUNTS or op == "sum" and array.kind == "b":
        return values.astype(np.int64, copy=False)
    dtype = array.dtype
    if op in TYPED and dtype is None and stays_in_numpy(array):
        try:
            dtype = np.dtype(TYPE_NAMES[array.type])
        except TypeError:  # of ml_dtypes, which was not imported
            return values
    if op in TYPED and dtype is not None:
        dtype = dtype.newbyteorder("=")
        if not _keeps_type(op, array.kind):
            dtype = np.dtype(f"u{SIZES[array.type]}")
        if array.kind == "f" or values.dtype.kind != "f":
            return values.astype(dtype)
    return values


def columns_of_one(ops: Sequence[bytes], values: Sequence[Number], kind: str) -> List[Any]:
    """Results of all elements as arrays of one number each."""
    return [_column(op, [value], kind) for op, value in zip(ops, values)]


def kept_dimensions(results: Sequence[Any], shape: Tuple[int, ...], axes: Sequence[int]) -> List[Any]:
    """Results along axes of an array of a shape, with these axes of size 1."""
    wide = tuple(1 if i in axes else n for i, n in enumerate(shape))
    return [one.reshape(wide) for one in results]


def checked_axes(axis: Any, shape: Tuple[int, ...], names: Sequence[str], keepdims: bool) -> Tuple[int, ...]:
    """The axes of an array of a shape that an argument names, None for all, ascending. An error if these
    operations cannot be along them."""
    rank = len(shape)
    axes = tuple(range(rank)) if axis is None else axes_of(axis, rank)
    least = [name for name in names if name in ("min", "max") or name in INDICES]
    if least and math.prod(shape[i] for i in axes) == 0 and \
            math.prod(n for i, n in enumerate(shape) if i not in axes) > 0:
        raise ValueError(_NO_ELEMENTS.format(least[0]))
    if "digest" in names and (keepdims or len(axes) < rank):
        raise lib.UnsupportedError("a digest is of all elements: it has no axis")
    if 1 < len(axes) < rank and INDICES.intersection(names):
        raise ValueError("argmin and argmax are along one axis, or of all elements")
    if not axes and rank > 0:
        raise ValueError("axis=() leaves nothing to reduce")
    return axes


#
# The functions
#


def run(x: Any, names: Tuple[str, ...], axis: Any, keepdims: bool, nan: str, missing: Any, mask: Any,
        ddof: Any = 0, quantiles: Tuple[Tuple[bytes, int, int], ...] = (),
        progress: Optional[Progress] = None) -> List[Any]:
    """The results of operations, then of quantiles, for any array: numbers, or arrays of NumPy's."""
    array = masked(x, mask)
    key = make_key([name.encode() for name in names], nan, missing, ddof, quantiles)
    rank = len(array.shape)
    axes = checked_axes(axis, array.shape, names, keepdims)
    results: List[Any] = []
    if len(axes) < rank:
        results = reduce_axes(array, key, axes, progress)
    else:
        for part in portions(key):
            results += reduce_array(array, part, progress)
        ops = key[0] + tuple(q[0] for q in quantiles)
        if axis is not None and axes and (key[5] or array.mask_form) and \
                may_be_of_nothing(names, results, array.kind) and \
                0 < array.size == reduce_array(array, ((b"missing",), (), None) + key[3:], progress)[0]:
            results = [of_nothing(op, value, array.kind, key[5]) for op, value in zip(ops, results)]
        if not keepdims:
            return results
        results = columns_of_one(ops, results, array.kind)
    results = [typed(name, one, array) for name, one in zip(names, results)] + results[len(names):]
    if keepdims:
        results = kept_dimensions(results, array.shape, axes)
    if array.memory != HOST and len(axes) < rank:
        # Integers that are float64 have NaNs among them.
        results = [on_device(one, array, name is not None and _keeps_type(name, array.kind) and
                             (array.kind == "f" or not str(one.dtype).endswith("float64")))
                   for one, name in itertools.zip_longest(results, names)]
    return results


def finish(result: Any, out: Any) -> Any:
    """Puts a result into `out`, if there is one."""
    if out is None:
        return result
    import numpy as np

    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is an array of NumPy's, not {type(out).__name__}")
    result = np.asarray(result)
    if out.shape != result.shape:
        raise ValueError(f"out has the shape {out.shape}, the result {result.shape}")
    kind = result.dtype.kind  # "O" of an integer of more than 64 bits
    if out.dtype.kind in "iu" and (kind == "O" or kind in "iu" and (result.astype(out.dtype) != result).any()):
        raise OverflowError(f"a result is too large for {out.dtype}, the type of out")
    np.copyto(out, result.astype(float) if kind == "O" and out.dtype.kind in "fc" else result, casting="same_kind")
    return out


@functools.lru_cache(maxsize=256)
def _simple_of(op: str, small: int = 1 << 15) -> Tuple[bytes, RequestKey, int]:
    name = op.encode()
    return name, make_key((name,), wait=False), small


_SIMPLE = {op: _simple_of(op, small) for small, ops in (
    (1 << 17, ("sum", "mean", "min", "max")), (1 << 15, ("std", "var", "median"))) for op in ops}
"""The name and the key of operations, and the elements up to which the GIL is kept: that takes some 30
microseconds, of a median 300."""
_ONE = ctypes.c_size_t(0)
_EXACT = float(2**53)
_HERE = (HOST, 0, 0)
_SPARE = 8192
"""The results along an axis of a GPU for which a context keeps memory from one call to the next."""
_NO_SPARE = (None, None)
_INTEGERS = frozenset(("sum", "min", "max"))
"""The operations whose results are integers if the elements are."""
_LARGE = frozenset(("sumsq", "l1", "absmin", "absmax", "range"))
"""Others, which binary64 may lack of few elements of any type."""
_WIDE = frozenset((b"i64", b"u64"))
"""The types a few of whose elements may have a sum that binary64 lacks."""


def _memory_of(x: Any) -> Optional[Tuple[Any, int, bytes, int, Tuple[int, int, int], Any]]:
    """Of an array of NumPy's, or one of torch's in C order: its address, size, type, byte order, place, and strides,
    None of one in C order. None if x is anything else, or has no elements."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if type(x) is getattr(numpy, "ndarray", None):  # which a module lacks while another thread imports it
        size = x.size
        if not size:
            return None
        return (pointer_of(x), size, *cached_type(x.dtype), _HERE, None if x.flags.c_contiguous else x.strides)
    if torch is None or type(x) is not getattr(torch, "Tensor", None) or x.layout is not torch.strided or \
            not x.is_contiguous() or x.is_neg():
        return None
    size, name, address = x.numel(), torch_type(x.dtype), x.data_ptr()
    if not size or name is None or not address:
        return None
    if x.is_cuda:
        ordinal = x.get_device()
        return c_void_p(address), size, name, NATIVE, (CUDA, ordinal, torch_stream(ordinal)), None
    return (c_void_p(address), size, name, NATIVE, _HERE, None) if x.is_cpu else None


def simple(op: str, x: Any) -> Any:
    """An operation but digest on all elements of an array of NumPy's, or one of torch's in C order, at the least cost.

    NotImplemented if x is anything else, or the result takes more.
    """
    memory = _memory_of(x)
    if memory is None:
        return NotImplemented
    pointer, size, dtype, order, place, strides = memory
    if op in _LARGE and kind_of(dtype) != "f":
        return NotImplemented
    name, key, small = _SIMPLE.get(op) or _simple_of(op)
    context = lib.borrow()
    try:
        request = context.requests.get(key) or context.request(key)
        if place is _HERE and strides is None:
            context.count.value = size
            result_ref = context.result_ref if size >= small or dtype in _WIDE else None
            if size < small and context.settings is lib.settings:
                # It ends before anyone could want to interrupt it.
                status = lib.reduce_memory_quick(request, pointer, dtype, order, context.count,
                                                 context.double_ref, result_ref)
                if status:
                    raise context.error(status)
            else:
                context.run(lib.reduce_memory, request, pointer, dtype, order, context.count,
                            context.double_ref, result_ref)
        else:
            if context.masked:
                return NotImplemented
            set_place(context, place)
            set_data(context, pointer, dtype, order, (size,) if strides is None else x.shape, strides)
            context.check(lib.open_view(context.handle, context.view, context.input_ref))
            if place is not _HERE and context.settings is lib.settings:
                context.check(lib.reduce(context.input, _ONE, request, context.result_ref))
            else:
                context.run(lib.reduce, context.input, _ONE, request, context.result_ref)
            lib.result_double(context.result, name, context.double_ref)
        value: Any = context.double.value
        if op in COUNTS or op in INDICES:
            return int(value)
        if dtype[0] == 102 or dtype == b"bf16" or op not in _INTEGERS:
            return value
        if not -_EXACT < value < _EXACT:
            value = integer_of(context, context.result, name)
        return bool(value) if dtype == b"bool" and op != "sum" else int(value)
    finally:
        _give_back(context)


def _simple_axis(op: str, x: Any, axis: int, ddof: Any) -> Any:
    """An operation but digest along an axis of an array of NumPy's, or of a tensor of torch's on a GPU in C order,
    at the least cost. On a GPU, as torch's own, it need not be done when this returns.

    NotImplemented if x is anything else, or the result takes more.
    """
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    here = type(x) is getattr(numpy, "ndarray", None)
    if not here and (type(x) is not getattr(torch, "Tensor", None) or not x.is_cuda):
        return NotImplemented
    memory, shape = _memory_of(x), tuple(x.shape)
    rank = len(shape)
    if memory is None or not 2 <= rank <= 64 or not -rank <= axis < rank:
        return NotImplemented
    axis %= rank
    pointer, size, dtype, order, place, strides = memory
    name, key, small = _SIMPLE.get(op) or _simple_of(op)
    kind = kind_of(dtype)
    if here and shape[axis] >= _LONG and _is_quantile(name) or \
            op in TYPED and kind != "f" and not _keeps_type(op, kind):
        return NotImplemented
    context = lib.borrow()
    try:
        if context.masked or context.settings is not lib.settings:
            return NotImplemented
        request = context.request(key if ddof == 0 else make_key((name,), ddof=ddof))
        set_place(context, place)
        set_data(context, pointer, dtype, order, shape, strides)
        context.check(lib.open_view(context.handle, context.view, context.input_ref))
        kept = shape[:axis] + shape[axis + 1:]
        counts = op in COUNTS or op in INDICES
        word = getattr(numpy if here else torch, "float64" if kind == "f" and not counts else
                       _WORDS[lib.axis_dtype(context.input, 0, request, name)], None)
        if word is None:
            return NotImplemented
        if numpy is not None and here:
            found = numpy.empty(kept, word)
            arguments = context.input, 0, request, axis, byref(pointer_of(found)), size // shape[axis]
            if size >= small:
                context.run(lib.reduce_axis, *arguments)
            elif lib.reduce_axis(*arguments):  # which ends before anyone could want to interrupt it
                return NotImplemented
            return found.astype(numpy.int64 if counts or op == "sum" and kind == "b" else
                                x.dtype.newbyteorder("=") if _keeps_type(op, kind) else word, copy=False)
        assert torch is not None
        like = kept, word, place, torch.is_inference_mode_enabled()
        (known, found), context.spare = context.spare, _NO_SPARE
        if known != like:
            found = x.new_empty(kept, dtype=word)
        context.address.value = found.data_ptr()
        if lib.reduce_axis(context.input, 0, request, axis, byref(context.address), size // shape[axis]):
            return NotImplemented
        if size // shape[axis] <= _SPARE:
            # While the GPU works there is time to allocate for the next call, which does so where
            # there is no memory now.
            with suppress(RuntimeError):
                context.spare = like, torch.empty_like(found)
        return found.to(x.dtype) if _keeps_type(op, kind) else found
    except lib.UnsupportedError:
        return NotImplemented
    finally:
        _give_back(context)


def _shorter(op: str, x: Any, axis: Any, ddof: Any) -> Any:
    """An operation but digest, without other arguments. NotImplemented if the result takes more than the shorter
    way has."""
    if type(axis) is int:
        return _simple_axis(op, x, axis, ddof)
    return simple(op, x) if axis is None and ddof == 0 else NotImplemented


def _one(op: str, x: Any, axis: Any, out: Any, keepdims: bool, nan: str, missing: Any, mask: Any,
         ddof: Any = 0) -> Any:
    """One operation, with the arguments of `sum`, and the ddof of `std`."""
    if out is None and not keepdims and nan == "propagate" and missing is None and mask is None:
        value = _shorter(op, x, axis, ddof)
        if value is not NotImplemented:
            return value
    return finish(run(x, (op,), axis, keepdims, nan, missing, mask, ddof)[0], out)


def sum(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
        nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The sum of all elements, or along axes: exact, and rounded once.

    Args:
        x: an array of any package, with elements of integers, floats or bools.
        axis: an axis, or several in a tuple; None, all.
        out: an array of NumPy's for the results along an axis.
        keepdims: axes that were reduced remain, with size 1.
        nan: "propagate": a NaN makes the result NaN; "skip": NaNs are left out; "error": NaNError.
        missing: a value, or up to four in a list, that stands for no number wherever it occurs.
        mask: an array of bools, broadcast to the shape of x: true where an element is missing. Entries are
            those of the elements at the same places.

    Returns:
        An int for integers and bools, with all digits; a float otherwise. Along an axis an array of
        NumPy's of int64, uint64 or float64, without the dimensions reduced. A slice whose elements are
        all missing gives NaN; among integers 0, or the first value of `missing` if there is one.

    Raises:
        TypeError: x is no array, or its elements are no numbers that are supported.
        ValueError: an axis does not exist, or labels of pandas' or xarray's say that the mask has another order
            than x.
        OverflowError: an integer along an axis does not fit 64 bits, or the type of `out`; or it is among NaNs,
            in float64, which cannot hold it.
        Error: the library cannot do it; see its subclasses.

    >>> import gpureduce as gr
    >>> import numpy as np
    >>> gr.sum(np.array([1e8, 1, -1e8], dtype=np.float32))
    1.0
    >>> gr.sum(np.array([[2**62, 2**62], [1, 2**62]]))
    13835058055282163713
    >>> gr.sum(np.array([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    """
    return _one("sum", x, axis, out, keepdims, nan, missing, mask)


def mean(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
         nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The arithmetic mean: the exact sum divided by the count, rounded once. Arguments as of `sum`.

    NaN if there are no elements.

    >>> import gpureduce as gr
    >>> gr.mean([1, 2, 4])
    2.3333333333333335
    >>> gr.mean([1.0, float("nan"), 3.0], nan="skip")
    2.0
    """
    return _one("mean", x, axis, out, keepdims, nan, missing, mask)


def min(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
        nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The least element. Arguments as of `sum`.

    ValueError if there are no elements; NaN if all are missing or skipped. Along an axis the results
    have the type of the elements.

    >>> import gpureduce as gr
    >>> gr.min([3, 1, 2])
    1
    >>> gr.min([3, -9999, 2], missing=-9999)
    2
    """
    return _one("min", x, axis, out, keepdims, nan, missing, mask)


def max(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
        nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The greatest element; otherwise like `min`.

    >>> import gpureduce as gr
    >>> gr.max([[3, 1], [2, 5]], axis=1)
    array([3, 5])
    """
    return _one("max", x, axis, out, keepdims, nan, missing, mask)


def argmin(x: Any, axis: Optional[int] = None, *, out: Any = None, keepdims: bool = False,
           nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The index of the least element, the first of several, or that of the first NaN. Arguments as of `sum`.

    It is along one axis, or, of all elements, the index in C order. -1 if all are missing or skipped; ValueError if
    there are no elements, or `axis` has several axes and not all. Along an axis the results are int64.

    >>> import gpureduce as gr
    >>> gr.argmin([[3, 1], [2, 5]])
    1
    >>> gr.argmin([[3, 1], [2, 5]], axis=0)
    array([1, 0])
    """
    return _one("argmin", x, axis, out, keepdims, nan, missing, mask)


def argmax(x: Any, axis: Optional[int] = None, *, out: Any = None, keepdims: bool = False,
           nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The index of the greatest element; otherwise like `argmin`.

    >>> import gpureduce as gr
    >>> gr.argmax([3, -9999, 20, 20], missing=-9999)
    2
    """
    return _one("argmax", x, axis, out, keepdims, nan, missing, mask)


def std(x: Any, axis: Any = None, *, ddof: int = 0, out: Any = None, keepdims: bool = False,
        nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The standard deviation: the root of the exact variance, rounded once. Arguments as of `sum`.

    Args:
        ddof: what is subtracted from the count before it divides; an integer from 0 on.

    NaN if nothing is left to divide by.

    >>> import gpureduce as gr
    >>> gr.std([1, 2, 3, 4])
    1.118033988749895
    """
    return _one("std", x, axis, out, keepdims, nan, missing, mask, ddof)


def var(x: Any, axis: Any = None, *, ddof: int = 0, out: Any = None, keepdims: bool = False,
        nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The variance, rounded once; otherwise like `std`.

    >>> import gpureduce as gr
    >>> gr.var([1, 2, 3, 4], ddof=1)
    1.6666666666666667
    """
    return _one("var", x, axis, out, keepdims, nan, missing, mask, ddof)


def median(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
           nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """The median: the middle element, or the exact mean of the two in the middle, rounded once.

    Arguments as of `sum`. NaN if there are no elements.

    >>> import gpureduce as gr
    >>> gr.median([5, 1, 2, 4])
    3.0
    """
    return _one("median", x, axis, out, keepdims, nan, missing, mask)


def quantile(x: Any, q: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False,
             nan: str = "propagate", missing: Any = None, mask: Any = None) -> Any:
    """Quantiles, interpolated linearly as numpy.quantile does by default, exactly, and rounded once.

    Args:
        q: a number from 0 to 1, or an array of them. 0.1 means one tenth, the decimal that Python
            prints, rounded to 18 places, not the binary number next to it. A Fraction is taken as it is;
            its denominator is at most 10**18.

    Other arguments as of `sum`. Returns a float for one q; otherwise an array whose first dimensions are
    those of q: of NumPy's, or along an axis of an array on a GPU of that one's package.

    >>> import gpureduce as gr
    >>> gr.quantile([10, 20, 30, 40], 0.25)
    17.5
    >>> gr.quantile([10, 20, 30, 40], [0, 0.5, 1])
    array([10., 25., 40.])
    """
    if type(q) is float:
        return _one(_quantile_name(q), x, axis, out, keepdims, nan, missing, mask)
    shape, quantiles = quantiles_of(q)
    # Without a quantile, a count has the shape of one.
    results = run(x, () if quantiles else ("count",), axis, keepdims, nan, missing, mask, quantiles=quantiles)
    return finish(shaped(results, shape), out)


def quantiles_of(q: Any) -> Tuple[Tuple[int, ...], Tuple[Tuple[bytes, int, int], ...]]:
    """The shape of quantiles, and each, with a name."""
    fractions: List[Any] = [q]
    shape: Tuple[int, ...] = ()
    if not lib.is_number(q):
        import numpy as np

        if np.ma.is_masked(q):
            raise ValueError("the quantiles have masked elements")
        list_of_q = np.asarray(q, dtype=object) if isinstance(q, (list, tuple)) else np.asarray(q)
        shape = list_of_q.shape
        fractions = list(list_of_q.ravel())
    return shape, tuple((f"quantile_{i}".encode(),) + ratio(one) for i, one in enumerate(fractions))


def shaped(results: Sequence[Any], shape: Tuple[int, ...]) -> Any:
    """The results of quantiles of a shape, as one number or array."""
    if shape == ():
        return results[0]
    package = package_of(results[0])
    if package in ("torch", "cupy"):  # on a GPU
        found = sys.modules[package].stack(list(results))
    else:
        import numpy as np

        found = np.asarray(results, dtype=float)
    return found[:math.prod(shape)].reshape(shape + tuple(found.shape[1:]))


def ratio(q: Any) -> Tuple[int, int]:
    """A quantile as a numerator and a denominator: that of the decimal that Python prints."""
    if not lib.is_number(q):
        raise TypeError(f"a quantile is a number, not {type(q).__name__}")
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is from 0 to 1, not {q!r}")
    return _decimal(q)


@functools.lru_cache(maxsize=256)
def _quantile_name(q: float) -> str:
    """The operation that is this quantile."""
    numerator, denominator = ratio(q)
    whole, places = divmod(numerator * PLACES // denominator, PLACES)
    return f"q{whole}.{places:018d}".rstrip("0")


@functools.lru_cache(maxsize=256, typed=True)  # a fraction takes as long as a small array
def _decimal(q: Any) -> Tuple[int, int]:
    fraction = q if isinstance(q, Fraction) else Fraction(round(Fraction(str(q)) * PLACES), PLACES)
    if fraction.denominator > PLACES:
        raise ValueError(f"a quantile has a denominator of at most 10**18, not {q!r}")
    return fraction.numerator, fraction.denominator


def _around(x: float) -> Tuple[float, float]:
    """The range of a histogram of one number: a half to each side, or as little as can be told apart."""
    return (builtins.min(x - 0.5, math.nextafter(x, -math.inf)),
            builtins.max(x + 0.5, math.nextafter(x, math.inf)))


def histogram(x: Any, bins: int = 10, range: Optional[Tuple[float, float]] = None, *,
              nan: str = "propagate", missing: Any = None, mask: Any = None) -> Tuple[Any, Any]:
    """Counts of elements in bins of equal width, as numpy.histogram.

    Args:
        bins: the number of bins, from 1 to 65536.
        range: the least and the greatest edge; None, the minimum and the maximum.

    Other arguments as of `sum`. An element is compared with the exact edges; the last bin includes its
    upper edge. Elements outside of the range are not counted.

    Returns:
        The counts, int64, and the edges, float64, one more; both are arrays of NumPy's.

    Raises:
        ValueError: the range is empty or not finite, as it is where elements are infinite or NaN and no
            range was given.

    >>> import gpureduce as gr
    >>> gr.histogram([1, 2, 1], bins=2, range=(0, 4))
    (array([2, 1]), array([0., 2., 4.]))
    """
    import numpy as np

    if isinstance(bins, bool) or not hasattr(bins, "__index__"):
        raise TypeError(f"bins is the number of bins of equal width, an integer, not {type(bins).__name__}"
                        + ("; edges are not supported" if hasattr(bins, "__len__") else ""))
    array = masked(x, mask)
    ops = [b"min", b"max", b"count"] if range is None else [b"count"]

    def count(low: float, high: float) -> Tuple[Any, Any, List[Any]]:
        with _Opened(array) as context:
            result = _reduced(context, make_key(ops, nan, missing, histogram=(int(bins), low, high)))
            counts = np.empty(int(bins), np.int64)  # of a number that the library takes
            edges = np.empty(int(bins) + 1)
            context.check(lib.result_histogram(result, counts.ctypes.data, edges.ctypes.data, None,
                                               None))
            return counts, edges, [value_of(context, result, op, array.kind) for op in ops]

    if range is not None:
        low, high = map(float, range)
        if not (math.isfinite(low) and math.isfinite(high)) or low > high:
            raise ValueError(f"the range from {low} to {high} is not finite and ascending")
        return count(*(_around(low) if low == high else (low, high)))[:2]
    try:
        counts, edges, ends = count(math.nan, math.nan)
    except lib.UnsupportedError:
        # There are infinities, if there is nothing else.
        ends = reduce_array(array, make_key(ops, nan, missing))
        if math.isfinite(ends[0]) and math.isfinite(ends[1]):
            raise
    low, high = (0.0, 1.0) if ends[2] == 0 else (float(ends[0]), float(ends[1]))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"the range from {low} to {high} is not finite; give one")
    if ends[2] == 0 or ends[0] == ends[1]:
        return count(*(_around(low) if low == high else (low, high)))[:2]
    return counts, edges


def reduce(x: Any, ops: Union[str, Sequence[str]], axis: Any = None, *, ddof: int = 0,
           keepdims: bool = False, nan: str = "propagate", missing: Any = None, mask: Any = None,
           progress: Optional[Progress] = None) -> Results:
    """Several operations in one pass.

    Args:
        ops: names of operations, in a list, or one str with commas between them: sum, mean, min, max,
            count, argmin, argmax, nan, inf, var, std, sumsq, rms, l1, l2, absmax, absmin, range,
            zeros, negatives, subnormals, missing, median, digest; q0.1 and p10, a quantile and a
            percentile; and summary, an overview.
        progress: a function that is called with the bytes read so far, and their total, about fifty
            times a second, by the thread that called. If it returns true, CancelledError is raised.

    Other arguments as of `sum` and `std`. Indices are into the array in C order, -1 if there is none.

    Returns:
        The results by name, and as attributes: see `Results`.

    >>> import gpureduce as gr
    >>> gr.reduce([3, 1, 2], "min,argmin,p50")
    Results(min=1, argmin=1, p50=2.0)
    >>> gr.reduce([[3.0, 4.0], [6.0, 8.0]], ["l2"], axis=1).l2
    array([ 5., 10.])
    """
    names = op_names(ops)
    found: List[Any] = [NotImplemented]
    # Each operation has a kernel of its own on a GPU; the CPU finds several together.
    if not keepdims and nan == "propagate" and missing is None and mask is None and progress is None and \
            "digest" not in names and (len(names) == 1 or axis is not None and getattr(x, "is_cuda", False)):
        found = [_shorter(name, x, axis, ddof) for name in names]
    if builtins.any(one is NotImplemented for one in found):
        found = run(x, names, axis, keepdims, nan, missing, mask, ddof, progress=progress)
    return Results(dict(zip(names, found)))


def exact_sum(x: Any, *, nan: str = "propagate", missing: Any = None, mask: Any = None) -> Fraction:
    """The sum of all elements before it is rounded. Arguments as of `sum`.

    ValueError if it is no number, because an element is infinite or NaN.

    >>> import gpureduce as gr
    >>> gr.exact_sum([1e-30, 1.0]) == gr.exact_sum([1e-30]) + 1
    True
    """
    array = masked(x, mask)
    with _Opened(array) as context:
        return exact_of(context, _reduced(context, make_key([b"sum"], nan, missing)), b"sum")


def digest(x: Any) -> str:
    """A text that tells whether arrays are the same: of the type, the count, and the bits in C order.

    It depends neither on strides nor on the byte order, and is what `gpureduce --op=digest` prints of
    any file with these elements. One with masked elements has none: UnsupportedError.

    >>> import gpureduce as gr
    >>> import numpy as np
    >>> gr.digest(np.array([1.5, -0.25, 3], dtype=np.float32))
    'f32:3:ba900116bc8a562cf1c0c1dacecaba83'
    """
    with _Opened(describe(x)) as context:
        return digest_of(context, _reduced(context, make_key([b"digest"])))
