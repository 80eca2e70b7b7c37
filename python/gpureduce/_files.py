"""Files: their arrays, and what is in them."""

from __future__ import annotations

import contextlib
import html
import os
import threading
from ctypes import byref, c_double, c_uint64, c_void_p, create_string_buffer
from fractions import Fraction
from functools import partial
from operator import index
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union,
                    cast)

from . import _library as lib
from ._arrays import NATIVE, TYPE_NAMES, Array, describe, kind_of, parse_type
from ._library import Context, Progress
from ._reductions import (COUNTS, INDICES, SUMMARY, Number, Results, along_axis, checked_axes, columns_of_one,
                          exact_of, finish, kept_dimensions, make_key, may_be_of_nothing, of_nothing, op_names, portions,
                          quantiles_of, set_view, shaped, typed, value_of, values_of)

Path = Union[str, "os.PathLike[str]", bytes, "os.PathLike[bytes]"]


def _options(context: Context, dtype: Any, skip: int, stored: bool, format: Optional[str],
             shape: Optional[Sequence[int]] = None, window: Optional[int] = None) -> c_void_p:
    """A request that says how files are read; the caller frees it."""
    raw = None if dtype is None else parse_type(dtype)
    options = context.new_request(make_key([]))
    try:
        if raw is not None:
            context.check(lib.request_type(options, *raw))
        context.check(lib.request_set(options, lib.KEY_SKIP, lib.natural("skip", skip)))
        context.check(lib.request_set(options, lib.KEY_STORED, bool(stored)))
        if format is not None:
            context.check(lib.request_format(options, os.fsencode(format)))
        if shape is not None:
            sizes = [lib.UNKNOWN if n == -1 else lib.natural("shape", n) for n in shape]
            context.check(lib.request_shape(options, len(sizes), (c_uint64 * len(sizes))(*sizes)))
        if window is not None:
            context.check(lib.request_set(options, lib.KEY_WINDOW, lib.natural("window", window)))
    except BaseException:
        lib.request_free(options)
        raise
    return options


def _in_c_order(handle: Any, number: int, element: int) -> int:
    """The number in C order of an element of an array, given that in the order of the file."""
    if element < 0 or lib.array_fact(handle, number, lib.FACT_FORTRAN_ORDER) != 1:
        return element
    sizes = (c_uint64 * 64)()
    found, step = 0, lib.array_count(handle, number)
    for size in sizes[:lib.array_shape(handle, number, 64, sizes)]:
        step //= size
        element, place = divmod(element, size)
        found += place * step
    return found


class FileArray:
    """An array in a file, which is read when a result is asked for.

    Attributes:
        name: its name in the file; "" where the file is one array.
        dtype: its element type, such as "float32"; of one that cannot be read, what the file calls it.
        shape: its sizes. Raw numbers have one dimension, unless `open` was given others.
        why_unreadable: the reason why it cannot be read; None if it can.
        scale: (factor, offset) if the file says that a stored number x stands for factor * x + offset,
            which results are of; None if it stands for itself.
        missing: the stored numbers that the file calls missing, such as "-9999, 1e+30 to inf, nan".
    """

    def __init__(self, file: "File", number: int) -> None:
        self._file, self._number = file, number
        handle = file._input
        self.name = file._names[number]
        self._type: bytes = lib.array_dtype(handle, number) or b""
        why = lib.array_why_unreadable(handle, number)
        self.dtype = self._type.decode("utf-8", "replace")
        if why is None:
            self.dtype = TYPE_NAMES.get(self._type, self.dtype)
        self.why_unreadable: Optional[str] = None if why is None else why.decode("utf-8", "replace")
        sizes = (c_uint64 * 64)()
        rank = lib.array_shape(handle, number, 64, sizes)
        self.shape: Tuple[Optional[int], ...] = tuple(
            None if n == lib.UNKNOWN else n for n in sizes[:rank])
        count = lib.array_count(handle, number)
        self.size: Optional[int] = None if count == lib.UNKNOWN else count
        scale, offset = c_double(), c_double()
        given = lib.array_scale(handle, number, byref(scale), byref(offset))
        self.scale: Optional[Tuple[float, float]] = (scale.value, offset.value) if given else None
        text = create_string_buffer(lib.array_missing(handle, number, None, 0) + 1)
        lib.array_missing(handle, number, text, len(text))
        self.missing = text.value.decode()

    def __repr__(self) -> str:
        sizes = " x ".join("?" if n is None else str(n) for n in self.shape)
        return f"<gpureduce array {self.name!r}: {self.dtype}, {sizes or 'one element'}>"

    def reduce(self, ops: Union[str, Sequence[str]], axis: Any = None, *, ddof: int = 0, keepdims: bool = False,
               nan: str = "propagate", missing: Any = None) -> Results:
        """Several operations in one pass over the file: see `gpureduce.reduce`.

        Args:
            axis: one axis, a tuple of neighbours, or None. A digest is of all elements: along an axis it is an
                UnsupportedError, and so is an integer that does not fit 64 bits.

        Along an axis the results of arrays with a scale are float64, or 64-bit integers where the scale keeps
        them integers. Without one argmin and argmax are indices in C order, of a pipe, whose shape is
        unknown, in its own; of several equal elements of an array in Fortran order it is the first in the file.
        """
        names = op_names(ops)
        key = make_key([name.encode() for name in names], nan, missing, ddof)
        if axis is None and not keepdims:
            return Results(dict(zip(names, self._whole(key))))
        return Results(dict(zip(names, self._along(names, key, axis, keepdims))))

    def _whole(self, key: Any) -> List[Any]:
        """The results of operations, then of quantiles, for all elements."""
        found: List[Any] = []
        for part in portions(key):
            found += self._file._reduced(self._number, part, partial(self._values, key=part))
        return found

    def _values(self, context: Context, result: Any, key: Any) -> List[Any]:
        """The results of a request for all elements."""
        found = values_of(context, result, key, kind_of(self._type))
        for i, op in enumerate(key[0]):
            if op.decode() in INDICES:
                found[i] = _in_c_order(self._file._input, self._number, found[i])
        return found

    def _along(self, names: Tuple[str, ...], key: Any, axis: Any, keepdims: bool) -> List[Any]:
        """The results of operations along axes, or of all elements with the dimensions kept."""
        if self.why_unreadable is not None:
            return self._whole(key)  # an error that says why
        shape = tuple(n for n in self.shape if n is not None)
        if len(shape) < len(self.shape):
            raise lib.UnsupportedError("an array of unknown size has no axis; decompress it into a file first")
        axes = checked_axes(axis, shape, names, keepdims)
        if len(axes) == len(shape):
            results = self._whole(key)
            if axis is not None and axes and (key[5] or self.missing) and \
                    may_be_of_nothing(names, results, kind_of(self._type)) and \
                    0 < self._whole(((b"missing",), (), None) + key[3:])[0] == self.size:
                # The least element of nothing is the first missing value; NaN among floats, and with a scale.
                first = self._natively(((b"min",), (), None) + key[3:], shape, axes)[0].item()
                results = [of_nothing(name.encode(), value, "f" if first != first else kind_of(self._type),
                                      (str(int(first)).encode(),) if first == first else ())
                           for name, value in zip(names, results)] + results[len(names):]
            if not keepdims:
                return results
            results = columns_of_one(key[0] + tuple(q[0] for q in key[1]), results, kind_of(self._type))
        elif axes[-1] - axes[0] >= len(axes):
            raise lib.UnsupportedError("an array of a file is reduced along axes that are neighbours; read it into memory"
                                       " and call gpureduce.reduce for others")
        else:
            results = self._natively(key, shape, axes)
        array = Array(0, self._type, NATIVE, shape, None, None)
        results = [typed(name, one, array) if self.scale is None or name in COUNTS else one
                   for name, one in zip(names, results)] + results[len(names):]
        return kept_dimensions(results, shape, axes) if keepdims else results

    def _natively(self, key: Any, shape: Tuple[int, ...], axes: Tuple[int, ...]) -> List[Any]:
        """The results of operations along axes that are neighbours."""
        file = self._file
        with lib.unused(file._lock):
            file._check_open()
            return along_axis(file._context, file._input, self._number, key[:-1] + (len(axes),), shape, axes[0],
                              file._progress)

    def _one(self, op: str, axis: Any, out: Any, keepdims: bool, nan: str, missing: Any, ddof: int = 0) -> Any:
        return finish(self.reduce([op], axis, ddof=ddof, keepdims=keepdims, nan=nan, missing=missing)[op], out)

    def sum(self, axis: Any = None, *, out: Any = None, keepdims: bool = False,
            nan: str = "propagate", missing: Any = None) -> Any:
        """The sum: see `gpureduce.sum`; axis as of `reduce`."""
        return self._one("sum", axis, out, keepdims, nan, missing)

    def mean(self, axis: Any = None, *, out: Any = None, keepdims: bool = False,
             nan: str = "propagate", missing: Any = None) -> Any:
        """The mean: see `gpureduce.mean`; axis as of `reduce`."""
        return self._one("mean", axis, out, keepdims, nan, missing)

    def min(self, axis: Any = None, *, out: Any = None, keepdims: bool = False,
            nan: str = "propagate", missing: Any = None) -> Any:
        """The least element; NaN if there is none. Along an axis: see `gpureduce.min`; axis as of `reduce`."""
        return self._one("min", axis, out, keepdims, nan, missing)

    def max(self, axis: Any = None, *, out: Any = None, keepdims: bool = False,
            nan: str = "propagate", missing: Any = None) -> Any:
        """The greatest element; otherwise like `min`."""
        return self._one("max", axis, out, keepdims, nan, missing)

    def argmin(self, axis: Optional[int] = None, *, out: Any = None, keepdims: bool = False,
               nan: str = "propagate", missing: Any = None) -> Any:
        """The index of the least element: see `gpureduce.argmin`; -1 if there is none."""
        return self._one("argmin", axis, out, keepdims, nan, missing)

    def argmax(self, axis: Optional[int] = None, *, out: Any = None, keepdims: bool = False,
               nan: str = "propagate", missing: Any = None) -> Any:
        """The index of the greatest element; otherwise like `argmin`."""
        return self._one("argmax", axis, out, keepdims, nan, missing)

    def std(self, axis: Any = None, *, ddof: int = 0, out: Any = None, keepdims: bool = False,
            nan: str = "propagate", missing: Any = None) -> Any:
        """The standard deviation: see `gpureduce.std`; axis as of `reduce`."""
        return self._one("std", axis, out, keepdims, nan, missing, ddof)

    def var(self, axis: Any = None, *, ddof: int = 0, out: Any = None, keepdims: bool = False,
            nan: str = "propagate", missing: Any = None) -> Any:
        """The variance: see `gpureduce.var`; axis as of `reduce`."""
        return self._one("var", axis, out, keepdims, nan, missing, ddof)

    def median(self, axis: Any = None, *, out: Any = None, keepdims: bool = False,
               nan: str = "propagate", missing: Any = None) -> Any:
        """The median: see `gpureduce.median`; axis as of `reduce`."""
        return self._one("median", axis, out, keepdims, nan, missing)

    def quantile(self, q: Any, axis: Any = None, *, keepdims: bool = False, nan: str = "propagate",
                 missing: Any = None) -> Any:
        """A quantile, or an array of several: see `gpureduce.quantile`; axis as of `reduce`."""
        shape, quantiles = quantiles_of(q)
        names = () if quantiles else ("count",)  # which has the shape of one
        key = make_key([name.encode() for name in names], nan, missing, quantiles=quantiles)
        found = self._whole(key) if axis is None and not keepdims else self._along(names, key, axis, keepdims)
        return shaped(found, shape)

    def exact_sum(self, *, nan: str = "propagate", missing: Any = None) -> Fraction:
        """The sum before it is rounded: see `gpureduce.exact_sum`."""
        key = make_key([b"sum"], nan, missing)
        return cast(Fraction, self._file._reduced(self._number, key, partial(exact_of, op=b"sum")))

    def digest(self) -> str:
        """A text that tells whether arrays are the same: see `gpureduce.digest`."""
        return cast(str, self.reduce(["digest"])["digest"])

    def summary(self) -> "Summary":
        """An overview of this array."""
        results = None if self.why_unreadable is not None else self.reduce(SUMMARY)
        return Summary(SUMMARY, [Row(self.name, self.dtype, self.shape, results, self.why_unreadable)])


class File:
    """A file of one array or several, as `gpureduce.open` returns it.

    It is a sequence of arrays by number, and a mapping by name: ``f[0]``, ``f["w"]``, ``len(f)``,
    ``"w" in f``, ``for a in f``. It is closed by `close`, a with statement, or when it is forgotten.

    Attributes:
        path: the path, as it was given.
        format: such as "npy" or "safetensors".
    """

    def __init__(self, path: Path, *, dtype: Any = None, skip: int = 0, stored: bool = False,
                 format: Optional[str] = None, shape: Optional[Sequence[int]] = None,
                 window: Optional[int] = None, progress: Optional[Progress] = None) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"a path is a str, bytes or os.PathLike, not {type(path).__name__}; that of a descriptor is"
                            " such as '/dev/fd/3'")
        os.stat(path)  # the usual exceptions, such as FileNotFoundError
        self.path = path
        self._progress = progress
        self._lock = threading.RLock()
        self._input: Optional[int] = None
        self._context = context = Context()
        options = _options(context, dtype, skip, stored, format, shape, window)
        handle = c_void_p()
        try:
            context.run(lib.open_path, context.handle, os.fsencode(path), options, byref(handle))
        finally:
            self._input = handle.value  # to be closed, also where a warning is an error
            lib.request_free(options)
        self.format = (lib.input_format(handle) or b"").decode()
        self._names = [(lib.array_name(handle, i) or b"").decode("utf-8", "surrogateescape")
                       for i in range(lib.input_arrays(handle))]
        self._numbers = {name: i for i, name in reversed(list(enumerate(self._names)))}

    def _check_open(self) -> None:
        if self._input is None:
            raise ValueError("the file is closed")
        if self._context.generation != lib.generation():
            raise RuntimeError("a file that was opened before a fork; open it again")

    def _reduced(self, number: int, key: Any, look: Callable[[Context, Any], Any]) -> Any:
        """What `look` finds in the result of a request for an array."""
        result = c_void_p()
        # Ctrl-C may come anywhere; the lock itself is given back by code in C, which it does not interrupt.
        with lib.unused(self._lock):
            self._check_open()
            context = self._context
            try:
                context.run(lib.reduce_file, self._input, number, context.request(key), byref(result),
                            progress=self._progress)
                return look(context, result)
            finally:
                lib.result_free(result)

    def close(self) -> None:
        """Closes the file; its arrays can then not be read. Again: does nothing."""
        with lib.unused(self._lock):
            handle, self._input = self._input, None  # first: what follows may be interrupted
            if handle is not None and self._context.is_of_this_process():
                lib.close_file(handle)

    def __del__(self) -> None:
        if getattr(self, "_input", None) is not None:
            self.close()

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("a file cannot be copied or pickled; open its path again")

    def __getitem__(self, which: Union[int, str]) -> FileArray:
        if isinstance(which, str):
            try:
                number = self._numbers[which]
            except KeyError:
                raise KeyError(f"{os.fsdecode(self.path)} has no array {which!r}") from None
        else:
            try:
                number = range(len(self))[index(which)]
            except IndexError:
                raise IndexError(f"{os.fsdecode(self.path)} has no array {which}: it has {len(self)}") from None
        with lib.unused(self._lock):
            self._check_open()
            return FileArray(self, number)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[FileArray]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return len(self._names)

    def keys(self) -> List[str]:
        """The names of the arrays, in the order of the file."""
        return list(self._names)

    def __repr__(self) -> str:
        state = "" if self._input is not None else ", closed"
        count = "1 array" if len(self) == 1 else f"{len(self)} arrays"
        return f"<gpureduce file {os.fsdecode(self.path)!r}: {self.format}, {count}{state}>"

    def summary(self, ops: Union[str, Sequence[str]] = SUMMARY, *, ddof: int = 0, nan: str = "propagate",
                missing: Any = None) -> "Summary":
        """An overview of each array, or other results of each, found in one go: see `gpureduce.reduce`.

        It prints as a table, in notebooks too.

        >>> import gpureduce as gr
        >>> import numpy as np, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "x.npz")
        >>> np.savez(path, a=np.arange(5), b=[0.5, 2])
        >>> gr.open(path).summary(["sum", "median"])
        array  type     shape  sum  median
        a      int64    5       10       2
        b      float64  2      2.5    1.25
        """
        names = op_names(ops)
        key = make_key([name.encode() for name in names], nan, missing, ddof)
        arrays = list(self)
        found: List[Optional[Results]] = [None] * len(arrays)
        failures: List[BaseException] = []

        def take(_user: Any, number: int, address: Optional[int]) -> int:
            array, result = arrays[number], c_void_p(address)
            try:
                if result:
                    found[number] = Results(dict(zip(names, array._values(self._context, result, key))))
                elif array.why_unreadable is None:
                    failures.append(self._context.error(lib.error_status(self._context.handle)))
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)
            finally:
                lib.result_free(result)
            return len(failures)

        with lib.unused(self._lock):
            self._check_open()
            try:
                self._context.run(lib.reduce_each, self._input, self._context.request(key), lib.RESULT(take),
                                  None, progress=self._progress)
            except lib.CancelledError:
                if failures:
                    raise failures[0] from None
                raise
        return Summary(names, [Row(array.name, array.dtype, array.shape, results, array.why_unreadable)
                               for array, results in zip(arrays, found)])


def _printable(text: str) -> str:
    """A text of a file as tables show it: control characters, and bytes that are no UTF-8, are escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Row(NamedTuple):
    """A row of a summary: an array, and its results, or the reason why it has none."""

    name: str
    dtype: str
    shape: Tuple[Optional[int], ...]
    results: Optional[Results]
    why_unreadable: Optional[str]


class Summary(Sequence[Row]):
    """An overview of arrays, a `Row` for each. str, repr and notebooks show it as a table."""

    def __init__(self, ops: Sequence[str], rows: List[Row]) -> None:
        self._ops, self._rows = ops, rows

    def __getitem__(self, i: Any) -> Any:
        return self._rows[i]

    def __len__(self) -> int:
        return len(self._rows)

    def _cells(self) -> List[List[str]]:
        cells = [["array", "type", "shape", *self._ops]]
        for row in self._rows:
            line = [_printable(row.name), _printable(row.dtype), "x".join("?" if n is None else str(n) for n in row.shape)]
            if row.results is None:
                line.append(f"cannot be read: {_printable(row.why_unreadable or '')}")
            else:
                for op in self._ops:
                    value = row.results[op]
                    line.append(f"{value:.8g}" if isinstance(value, float) else
                                value if isinstance(value, str) else str(int(value)))
            cells.append(line)
        return cells

    def __repr__(self) -> str:
        cells = self._cells()
        full = [line for line in cells if len(line) == len(cells[0])]
        widths = [max(len(line[i]) for line in full) for i in range(len(cells[0]))]
        for line in cells:
            widths[:3] = [max(width, len(cell)) for width, cell in zip(widths, line[:3])]
        return "\n".join("  ".join(
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            if len(line) == len(widths) else
            "  ".join([cell.ljust(width) for cell, width in zip(line, widths[:3])] + line[3:])
            for line in cells)

    def _repr_html_(self) -> str:
        head, *lines = self._cells()
        rows = ["<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>"]
        for line in lines:
            texts = "".join(f'<td style="text-align: left">{html.escape(cell)}</td>'
                            for cell in line[:3])
            if len(line) == 4:
                texts += f'<td colspan="{len(self._ops)}">{html.escape(line[3])}</td>'
            else:
                texts += "".join(f"<td>{html.escape(cell)}</td>" for cell in line[3:])
            rows.append(f"<tr>{texts}</tr>")
        return "<table>\n" + "\n".join(rows) + "\n</table>"


def open(path: Path, *, dtype: Any = None, skip: int = 0, stored: bool = False,
         format: Optional[str] = None, shape: Optional[Sequence[int]] = None,
         window: Optional[int] = None, progress: Optional[Progress] = None) -> File:
    """Opens a file of any format that the program gpureduce reads.

    Args:
        path: a str, bytes, or an object of pathlib's. A directory of safetensors or GGUF files, and an
            index (*.safetensors.index.json), stand for all arrays of their files.
        dtype: the element type of a raw file, such as "float64", ">i2" or np.int8; little-endian float32
            if not given.
        skip: bytes before the first element of a raw file.
        stored: take numbers as they are stored: ignore what the file says about scales and missing
            values.
        format: as of --format of the program: "fortran" and "zlib" have to be named, and "raw" reads any
            file as numbers. If not given, the first bytes tell it.
        shape: the sizes of a raw file, in C order; one may be -1: what the others leave.
        window: the largest window of a zstd frame that is read, as the logarithm of its bytes to base 2,
            up to 31; 27 if not given.
        progress: is called while its arrays are reduced, as by `gpureduce.reduce`.

    Raises:
        FileNotFoundError, PermissionError and other exceptions of OSError.
        DataError: the file is damaged, or of a format that is not supported.

    >>> import gpureduce as gr
    >>> import numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.arange(5))
    >>> with gr.open(path) as f:
    ...     f.format, len(f), f[0].dtype, f[0].shape, f[0].sum()
    ('npy', 1, 'int64', (5,), 10)
    """
    return File(path, dtype=dtype, skip=skip, stored=stored, format=format, shape=shape, window=window,
                progress=progress)


class Difference(NamedTuple):
    """The result of `diff`: how many arrays differ, and for each the object that the program prints with
    --diff --json. It is true if any does."""

    different: int
    rows: List[Dict[str, Any]]

    def __bool__(self) -> bool:
        return self.different > 0


@contextlib.contextmanager
def _inputs(xs: Sequence[Any], dtype: Any, skip: int, stored: bool, format: Optional[str]
            ) -> Iterator[Tuple[Context, List[c_void_p]]]:
    """A context, and inputs of it: files, where there are paths, and arrays in memory."""
    handles: List[c_void_p] = []
    context = lib.borrow()
    try:
        options = _options(context, dtype, skip, stored, format)
        try:
            for x in xs:
                handle = c_void_p()
                handles.append(handle)
                if isinstance(x, (str, bytes, os.PathLike)):
                    os.stat(x)
                    context.run(lib.open_path, context.handle, os.fsencode(x), options, byref(handle))
                else:
                    set_view(context, x)
                    context.check(lib.open_view(context.handle, context.view, byref(handle)))
        finally:
            lib.request_free(options)
        yield context, handles
    finally:
        for handle in handles:
            lib.close_file(handle)
        lib.give_back(context)


def _described(x: Any) -> Any:
    """A path, or an array in memory as the library sees it. Whoever has it keeps that memory."""
    return x if isinstance(x, (str, bytes, os.PathLike)) else describe(x)


def _of_total(element: int, handles: Sequence[c_void_p], count: Callable[[c_void_p], int]) -> int:
    """The number of an element of all inputs, with that in its array in C order, given that in the order of its file.
    `count`: finds the number of elements of an input that does not state it; UNKNOWN of a pipe, after which indices
    remain those in the order of the files."""
    arrays = [(handle, i) for handle in handles for i in range(lib.input_arrays(handle))
              if lib.array_why_unreadable(handle, i) is None]
    while arrays and lib.array_fact(*arrays[-1], lib.FACT_FORTRAN_ORDER) != 1:
        arrays.pop()
    before = 0
    for handle, i in arrays:
        here = lib.array_count(handle, i)
        here = here if here < lib.UNKNOWN else count(handle)
        if element < before + here:
            return before + _in_c_order(handle, i, element - before)
        before += here
    return element


def total(xs: Iterable[Any], ops: Union[str, Sequence[str]] = ("sum",), *, ddof: int = 0,
          nan: str = "propagate", missing: Any = None, dtype: Any = None, skip: int = 0,
          stored: bool = False, format: Optional[str] = None, progress: Optional[Progress] = None) -> Results:
    """Several operations on all elements of several files and arrays, as if they were one array.

    Args:
        xs: paths of files, all arrays of which count, and arrays in memory, also of GPUs, in any
            mixture.
        ops, ddof, nan, missing, progress: as of `gpureduce.reduce`. Quantiles need arrays of one type,
            files that are no containers, and no array on a GPU. Indices count over all, after a pipe in the order of
            the files.
        dtype, skip, stored, format: as of `gpureduce.open`, for all files.

    Raises:
        Error: an array of a file cannot be read: nothing is left out of a total.

    >>> import gpureduce as gr
    >>> gr.total([[1, 2], [3.5]], ["sum", "max", "count"])
    Results(sum=6.5, max=3.5, count=3)
    """
    if isinstance(xs, (str, bytes, os.PathLike)) or not hasattr(xs, "__iter__"):
        raise TypeError(f"a total is of a list of paths and arrays, not of one {type(xs).__name__}")
    names = op_names(ops)
    key = make_key([name.encode() for name in names], nan, missing, ddof)
    result = c_void_p()
    with _inputs([_described(x) for x in xs], dtype, skip, stored, format) as (context, handles):
        if not handles:
            raise ValueError("a total of nothing has no type; give a file or an array")
        kinds = {kind_of(lib.array_dtype(handle, i) or b"")
                 for handle in handles for i in range(lib.input_arrays(handle))}
        kind = next((one for one in "fiub" if one in kinds), "f")
        inputs = (c_void_p * len(handles))(*handles)
        try:
            context.run(lib.reduce_total, inputs, len(handles), context.request(key), byref(result),
                        progress=progress)
            found = {name: value_of(context, result, name.encode(), kind) for name in names}

            def count(handle: c_void_p) -> int:
                lib.result_free(result)
                result.value = None
                try:
                    context.run(lib.reduce_file, handle, 0, context.request(make_key([b"count"])), byref(result),
                                progress=progress)
                except lib.ArgumentError:  # a pipe can be reduced once
                    return lib.UNKNOWN
                return int(value_of(context, result, b"count", kind))

            for name in INDICES.intersection(names):
                found[name] = _of_total(found[name], handles, count)
            return Results(found)
        finally:
            lib.result_free(result)


def _tolerance(tolerance: Union[None, str, Mapping[str, str]]) -> Optional[bytes]:
    """Tolerances as the library reads them."""
    if not isinstance(tolerance, (type(None), str, Mapping)):
        raise TypeError(f'a tolerance is a str such as "abs:1e-6", or a dict, not {type(tolerance).__name__}')
    if tolerance is None or isinstance(tolerance, str):
        lines = [] if tolerance is None else [tolerance]
    else:
        lines = [f"{pattern}={limits}" for pattern, limits in tolerance.items()]
    if any("\n" in line for line in lines):
        raise ValueError("a tolerance has no newline")
    return "\n".join(lines).encode() if lines else None


def diff(a: Any, b: Any, *, tolerance: Union[None, str, Mapping[str, str]] = None, all: bool = False,
         nan: str = "propagate", missing: Any = None, dtype: Any = None, skip: int = 0,
         stored: bool = False, format: Optional[str] = None, ignore_dtype: bool = False,
         cast: bool = False) -> Difference:
    """Compares two files, or containers array by array, or arrays in memory.

    Args:
        a, b: a path of a file, or an array in memory, also of a GPU, whose name in rows is "memory". Two
            of one type on one GPU are compared there; else an array on a GPU is copied.
        tolerance: how far elements may be apart, a list of "ulp:4", "abs:1e-6" and "rel:1e-6" with
            commas in between, of which one is enough. None: they must be equal. A dict has such
            lists for patterns of names, {"*": "ulp:1", "*.bias": "abs:1e-5"}, of which the last one
            that matches counts.
        all: report arrays that are equal as well.
        nan: "propagate": two NaNs are equal, and a NaN differs from a number; "skip": pairs with a NaN
            are ignored; "error": NaNError.
        missing: as of `gpureduce.sum`. An element that is missing on both sides is equal, on one side
            different.
        dtype, skip, stored, format: as of `gpureduce.open`, for both files.
        ignore_dtype: arrays of two types do not differ if all values are equal, which are compared
            exactly.
        cast: compare elements of b with those of a rounded to the type of b, to nearest, ties to even.

    Raises:
        UnsupportedError: an array has masked elements.

    >>> import gpureduce as gr
    >>> import numpy as np
    >>> a = np.array([1.0, 2.0, 3.0])
    >>> gr.diff(a, a).different
    0
    >>> b = a.copy(); b[1] = 2.5
    >>> gr.diff(a, b).different
    1
    """
    import json

    rows: List[Dict[str, Any]] = []
    failure: List[BaseException] = []

    def row(_user: Any, line: bytes) -> int:
        try:
            rows.append(json.loads(line.decode("utf-8", "replace")))
        except BaseException as error:  # pylint: disable=broad-except
            failure.append(error)
        return len(failure)

    key = make_key([], nan, missing)
    callback = lib.ROW(row)
    different = c_uint64()
    with _inputs([_described(a), _described(b)], dtype, skip, stored, format) as (context, handles):
        request = context.new_request(key)
        try:
            context.check(lib.request_set(request, lib.KEY_IGNORE_DTYPE, bool(ignore_dtype)))
            context.check(lib.request_set(request, lib.KEY_CAST, bool(cast)))
            context.run(lib.compare, *handles, request,
                        _tolerance(tolerance), callback, None, bool(all),
                        byref(different))
        except lib.CancelledError:
            if failure:
                raise failure[0] from None
            raise
        finally:
            lib.request_free(request)
    return Difference(different.value, rows)
