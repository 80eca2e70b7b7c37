"""Accumulators: partial results that grow, merge exactly in any order, and pickle."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import byref, c_void_p
from fractions import Fraction
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple, Union

from . import _library as lib
from ._arrays import HOST, NATIVE, TYPE_NAMES, Array, kind_of, masked, parse_type
from ._library import Context
from ._reductions import Results, exact_of, make_key, op_names, set_view, value_of

TEXT_MAX = 4096


class Accumulator:
    """A partial result: elements are added to it, and others like it are merged into it, in any order.

    Its results are those of one pass over all the elements, to the last bit. It pickles in less than
    5 KB. Threads may share it, and one thread at a time works on it.

    Args:
        dtype: the type of the elements: "float32", np.int16, torch.bfloat16 ...
        ops: the operations, as of `gpureduce.reduce`, except quantiles. argmin, argmax and digest need
            every piece to be added by `add_at`.
        ddof, nan, missing: as of `gpureduce.reduce`.

    >>> import gpureduce as gr
    >>> import numpy as np
    >>> acc = gr.Accumulator("float64", ["sum", "std"])
    >>> acc.add(np.array([1.0, 2.0]))
    >>> other = gr.Accumulator("float64", ["sum", "std"])
    >>> other.add(np.array([3.0, 4.0]))
    >>> acc.merge(other)
    >>> acc.result("sum"), acc.result("std")
    (10.0, 1.118033988749895)
    """

    def __init__(self, dtype: Any, ops: Union[str, Sequence[str]] = ("sum",), *, ddof: int = 0,
                 nan: str = "propagate", missing: Any = None) -> None:
        self._open(parse_type(dtype)[0], op_names(ops), ddof, nan, missing, None)

    def _open(self, dtype: bytes, ops: Tuple[str, ...], ddof: int, nan: str, missing: Any,
              text: Optional[bytes]) -> None:
        self._handle = c_void_p()
        self._dtype, self._ops = dtype, ops
        self._settings = (ddof, nan, tuple(missing) if isinstance(missing, list) else missing)
        self._key = make_key([op.encode() for op in ops], nan, missing, ddof)
        self._adopt(lib.home(), text)

    def _adopt(self, context: Context, text: Optional[bytes]) -> None:
        """Makes the accumulator one of a context, of what was written as text."""
        with lib.unused(context.lock):
            context.collect()
            handle = c_void_p()
            request = context.request(self._key)
            if text is None:
                context.check(lib.accumulator_new(context.handle, self._dtype, request, byref(handle)))
            else:
                context.check(lib.accumulator_read(context.handle, text, len(text), request,
                                                   byref(handle)))
        self._context, self._handle = context, handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and self._context.generation == lib.generation():
            # Waiting for the lock here could be waiting for a thread that waits for this one.
            self._context.garbage.append(self._handle)

    @contextlib.contextmanager
    def _used(self) -> Iterator[Context]:
        """Its context, which no other thread uses meanwhile. After a fork the child takes another."""
        if self._context.generation != lib.generation():
            lock = lib.unused(self._context.lock)
            if not lock.acquire(blocking=False):
                raise RuntimeError("another thread used this accumulator during the fork")
            try:
                self._adopt(lib.home(), self._write(self._context))
            finally:
                lock.release()
        with lib.unused(self._context.lock):
            self._context.collect()
            yield self._context

    def _write(self, context: Context) -> bytes:
        text = ctypes.create_string_buffer(TEXT_MAX)
        length = context.check_some(lib.accumulator_write(self._handle, text, TEXT_MAX))
        if length >= TEXT_MAX:
            text = ctypes.create_string_buffer(length + 1)
            lib.accumulator_write(self._handle, text, length + 1)
        return text.value

    @property
    def ops(self) -> Tuple[str, ...]:
        """The names of the operations."""
        return self._ops

    @property
    def dtype(self) -> str:
        """The element type, such as "float32"."""
        return TYPE_NAMES[self._dtype]

    def add(self, x: Any, *, mask: Any = None) -> None:
        """Adds the elements of an array, which has the accumulator's type.

        TypeError for another type: nothing is converted.
        """
        self._add(x, mask, None)

    def add_at(self, x: Any, start: int, *, mask: Any = None) -> None:
        """Adds elements, in C order, that are those from number `start` on of a larger array.

        Every element may be added once, and all must be added by this method. While they are in more than 16
        ranges with gaps between them, they cannot be pickled or written, nor copied or merged by another thread than
        the one that made the accumulator, nor have other results than those of `ops`: UnsupportedError.
        """
        self._add(x, mask, lib.natural("start", start))

    def _add(self, x: Any, mask: Any, start: Optional[int]) -> None:
        array = masked(x, mask)
        if array.type != self._dtype:
            raise TypeError(f"the array has elements of type {TYPE_NAMES[array.type]}, the"
                            f" accumulator is of {self.dtype}")
        if array.memory != HOST:
            self._add_device(array, start)
            return
        with self._used() as context:
            set_view(context, array)
            if start is None:
                context.run(lib.accumulator_add, self._handle, context.view)
            else:
                context.run(lib.accumulator_add_at, self._handle, context.view, start)

    def _add_device(self, array: Array, start: Optional[int]) -> None:
        """Adds elements on a GPU. They are read after the work that is now on their stream."""
        if start is not None:
            raise lib.UnsupportedError("an array on a GPU can only be added by `add`")
        if array.mask_form:
            raise lib.UnsupportedError("an array on a GPU cannot be added with a mask; use `reduce`")
        if array.order != NATIVE or array.strides is not None and array.size > 1:
            raise lib.UnsupportedError("an array on a GPU must be in C order and native: copy it first")
        with self._used() as context:
            context.check(lib.accumulator_add_device(self._handle, array.address, array.size,
                                                     array.stream))
            if hasattr(array.keep, "record_stream"):
                # torch does not use the memory for anything else before the elements were read.
                import torch

                array.keep.record_stream(torch.cuda.current_stream(array.ordinal))
            else:
                self._results(context, self._handle, ())  # waits

    def merge(self, other: "Accumulator") -> None:
        """Adds what another accumulator has, which has an equal type, operations and settings."""
        if not isinstance(other, Accumulator):
            raise TypeError(f"an accumulator merges with another one, not {type(other).__name__}")
        if (self._dtype, self._key) != (other._dtype, other._key):
            raise ValueError(f"accumulators that differ in type, operations or settings do not merge:"
                             f" {self!r} and {other!r}")
        with self._used() as context:
            if context is other._context:
                context.check(lib.accumulator_merge(self._handle, other._handle))
                return
        text = other.to_bytes()
        with self._used() as context:
            copy = c_void_p()
            context.check(lib.accumulator_read(context.handle, text, len(text),
                                               context.request(self._key), byref(copy)))
            try:
                context.check(lib.accumulator_merge(self._handle, copy))
            finally:
                lib.accumulator_free(copy)

    def clear(self) -> None:
        """Makes it one of no elements again."""
        with self._used() as context:
            context.check(lib.accumulator_clear(self._handle))

    def result(self, op: Optional[str] = None) -> Any:
        """The result of one operation so far, or of all of them as `Results`. More can be added after.

        `op` may also be one whose result follows from what it has, such as "mean" where "sum" is among
        the operations. ValueError for others.
        """
        if op is not None and op not in self._ops:
            op_names((op,))  # refuses what is no name
            return self._derived(op)
        with self._used() as context:
            values = self._results(context, self._handle, self._ops if op is None else (op,))
        return Results(values) if op is None else values[op]

    def _results(self, context: Context, handle: c_void_p, ops: Sequence[str]) -> Dict[str, Any]:
        result = c_void_p()
        context.check(lib.accumulator_snapshot(handle, byref(result)))
        try:
            return {op: value_of(context, result, op.encode(), kind_of(self._dtype)) for op in ops}
        finally:
            lib.result_free(result)

    def _derived(self, op: str) -> Any:
        """The result of an operation that it was not made for."""
        other = c_void_p()
        with self._used() as context:
            text = self._write(context)
            request = context.request(((op.encode(),),) + self._key[1:])
            status = lib.accumulator_read(context.handle, text, len(text), request, byref(other))
            if status:
                raise ValueError(f"{op} is not among the operations of {self!r}, nor does it follow from"
                                 f" them") from context.error(status)
            try:
                return self._results(context, other, (op,))[op]
            finally:
                lib.accumulator_free(other)

    def exact_sum(self) -> Fraction:
        """The sum so far before it is rounded; "sum" must be among the operations."""
        result = c_void_p()
        with self._used() as context:
            context.check(lib.accumulator_snapshot(self._handle, byref(result)))
            try:
                return exact_of(context, result, b"sum")
            finally:
                lib.result_free(result)

    def to_bytes(self, *, name: str = "memory", count: Optional[int] = None) -> bytes:
        """All that it has, as a line of text without a newline.

        If pieces were added by `add_at`, it is one of gpureduce-partial(5). The program merges such lines
        if they have one name, and one count: the elements of the whole array, which are those up to the
        end of the last piece if not given.
        """
        if "\0" in name:
            raise ValueError(f"a name has no NUL: {name!r}")
        with self._used() as context:
            context.check(lib.accumulator_set_array(self._handle, name.encode(), None,
                                                    lib.natural("count", count or 0)))
            try:
                return self._write(context)
            finally:  # or results are those of a part of so many elements
                lib.accumulator_set_array(self._handle, None, None, 0)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restore, (self._dtype, self._ops, *self._settings, self.to_bytes())

    def copy(self) -> "Accumulator":
        """Another accumulator that has what this one has."""
        other = Accumulator.__new__(Accumulator)
        other._open(self._dtype, self._ops, *self._settings, None)
        other.merge(self)
        return other

    __copy__ = copy

    def __deepcopy__(self, _memo: Any) -> "Accumulator":
        return self.copy()

    def __repr__(self) -> str:
        given = zip(("ddof", "nan", "missing"), self._settings, (0, "propagate", None))
        settings = "".join(f", {name}={value!r}" for name, value, default in given if value != default)
        return f"Accumulator({self.dtype!r}, {list(self._ops)!r}{settings})"


def _restore(dtype: bytes, ops: Tuple[str, ...], ddof: int, nan: str, missing: Any, text: bytes
             ) -> Accumulator:
    self = Accumulator.__new__(Accumulator)
    self._open(dtype, ops, ddof, nan, missing, text)
    return self
