"""The shared library: its functions, its errors, and contexts, which calls take from a pool.

A function is called in one of two ways. Those that only look at memory are called with the GIL held
(``quick``), since giving it back costs more than they do. Those that may read much data give it back.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
import threading
import time
import warnings
import weakref
from numbers import Real
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

__all__ = [
    "ArgumentError", "CancelledError", "ChangedError", "Context", "DataError", "DeviceError", "Error",
    "GpureduceWarning", "InternalError", "NaNError", "OutOfMemoryError", "ReadError",
    "UnsupportedError", "borrow", "configure", "give_back", "home", "is_number", "library_version",
    "memory_is_limited", "natural", "unused",
]

UNKNOWN = 2**64 - 1
"""A count, size or offset that is unknown."""

HERE = os.path.dirname(os.path.abspath(__file__))
SONAME = "libgpureduce.so.0"

Progress = Callable[[int, Optional[int]], Any]
"""Is called with the bytes read, and those there are in all, None if unknown. True cancels."""


class Error(Exception):
    """Something that gpureduce cannot do. All its errors are of this class and of a built-in one.

    Attributes:
        offset: bytes from the beginning of the input to where it is wrong; None if unknown.
        array: the name of the array in a file; None if the error is not about one.
    """

    offset: Optional[int] = None
    array: Optional[str] = None


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""


class ArgumentError(Error, ValueError):
    """An argument has a value that makes no sense."""


class ReadError(Error, OSError):
    """The system cannot open or read a file."""


class DataError(Error, ValueError):
    """A file is damaged, or of a format or type that is not supported."""


class ChangedError(Error, OSError):
    """A file changed while it was read."""


class UnsupportedError(Error, NotImplementedError):
    """This input, or this build of the library, cannot give what is asked for."""


class NaNError(Error, ValueError):
    """There is a NaN, and ``nan="error"`` was asked for."""


class DeviceError(Error, RuntimeError):
    """A GPU failed, or there is none."""


class CancelledError(Error):
    """A progress function cancelled the call."""


class InternalError(Error, RuntimeError):
    """A check of the library itself failed: report this, please."""


class GpureduceWarning(UserWarning):
    """A warning of the library, such as one of elements that look like those of another type."""


_CANCELLED = 9
_ERRORS: Dict[int, Any] = {
    1: OutOfMemoryError, 2: ArgumentError, 3: ReadError, 4: DataError, 5: ChangedError,
    6: UnsupportedError, 7: NaNError, 8: DeviceError, _CANCELLED: CancelledError, 10: InternalError,
}

_TRY = re.compile(r"; try(?: (bool|bf16|f8e4m3|f8e5m2|[iuf][0-9]+))?(?: in GPR_ORDER_(BIG|LITTLE))?$")
_SPOKEN = (("(GPR_DEVICE)", "(gpureduce.configure(device='cpu'))"), ("(GPR_SKIP)", "(skip=)"),
           ("GPR_STORED ignores", "stored=True ignores"), (" GPR_SKIP", " skip"),
           ("(gpr_request_shape)", "(shape=)"), ("GPR_WINDOW", "window="),
           ("gpr_accumulator_", ""))
"""Advice of the library, and how it is given in Python."""


def _try_type(match: "re.Match[str]") -> str:
    name, order = match.groups()
    mark = {None: "", "BIG": ">", "LITTLE": "<"}[order]
    if name is None:
        return f"; try a dtype that begins with '{mark}'"
    code = re.fullmatch("([iuf])(8|16|32|64)", name)
    return f"; try dtype='{mark}{code[1] + str(int(code[2]) // 8) if code else name.replace('bf16', 'bfloat16')}'"


def spoken(text: bytes) -> str:
    """A text of the library that names the arguments of Python, where it named the keys of C."""
    found = text.decode("utf-8", "replace")
    for key, argument in _SPOKEN:
        found = found.replace(key, argument)
    return _TRY.sub(_try_type, found)


_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64)
_LOG = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
ROW = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p)
RESULT = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p)


def _find() -> str:
    """The path of the shared library: $GPUREDUCE_LIBRARY, the one in this package, or the system's."""
    named = os.environ.get("GPUREDUCE_LIBRARY")
    if named:
        return named
    inside = os.path.join(HERE, "native", SONAME)
    return inside if os.path.exists(inside) else SONAME


try:
    _path = _find()
    _slow = ctypes.CDLL(_path)
    _quick = ctypes.PyDLL(_path)
except OSError as _error:
    raise ImportError(
        f"the shared library of gpureduce cannot be loaded: {_error}; install the package by"
        " 'pip install ./python' in the sources, or name the library in GPUREDUCE_LIBRARY"
    ) from _error


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    """A function of the library; one that it lacks says so when it is called."""
    try:
        function = library[name]
    except AttributeError:
        def absent(*_: Any) -> Any:
            raise UnsupportedError(f"this version of the shared library has no {name}: {_path}")
        return absent
    function.restype = result
    if arguments:
        function.argtypes = arguments
    return function


def quick(name: str, result: Any, *arguments: Any) -> Any:
    """A function that is called with the GIL held."""
    return _function(_quick, name, result, *arguments)


def slow(name: str, result: Any, *arguments: Any) -> Any:
    """A function that other Python threads run beside."""
    return _function(_slow, name, result, *arguments)


# Those without types of arguments are the ones of each call on a small array: they are given objects
# of ctypes, and small integers, which needs no conversion.
context_new = quick("gpr_context_new", c_int, c_void_p)
context_free = slow("gpr_context_free", None, c_void_p)
context_set = quick("gpr_context_set", c_int, c_void_p, c_int, c_uint64)
context_set_log = quick("gpr_context_set_log", None, c_void_p, c_void_p, c_void_p)
context_set_progress = quick("gpr_context_set_progress", None, c_void_p, c_void_p, c_void_p)
cancel = quick("gpr_cancel", None, c_void_p)
error_status = quick("gpr_error_status", c_int, c_void_p)
error_text = quick("gpr_error_text", c_char_p, c_void_p)
error_offset = quick("gpr_error_offset", c_uint64, c_void_p)
error_array = quick("gpr_error_array", c_char_p, c_void_p)
version = quick("gpr_version", c_char_p)

view_new = quick("gpr_view_new", c_int, c_void_p, c_void_p)
view_free = quick("gpr_view_free", None, c_void_p)
view_set_data = quick("gpr_view_set_data", c_int)
view_set_mask = quick("gpr_view_set_mask", c_int, c_void_p, c_int, c_void_p, c_uint64)
view_set_memory = quick("gpr_view_set_memory", c_int, c_void_p, c_int, c_int, c_void_p)

open_path = slow("gpr_open_path", c_int, c_void_p, c_char_p, c_void_p, c_void_p)
open_view = quick("gpr_open_view", c_int)
close = quick("gpr_close", None)
close_file = slow("gpr_close", None, c_void_p)
input_arrays = quick("gpr_input_arrays", c_size_t, c_void_p)
input_format = quick("gpr_input_format", c_char_p, c_void_p)
array_name = quick("gpr_array_name", c_char_p, c_void_p, c_size_t)
array_dtype = quick("gpr_array_dtype", c_char_p, c_void_p, c_size_t)
array_why_unreadable = quick("gpr_array_why_unreadable", c_char_p, c_void_p, c_size_t)
array_shape = quick("gpr_array_shape", c_uint, c_void_p, c_size_t, c_uint, c_void_p)
array_count = quick("gpr_array_count", c_uint64, c_void_p, c_size_t)
array_fact = quick("gpr_array_fact", c_uint64, c_void_p, c_size_t, c_int)
array_scale = quick("gpr_array_scale", c_int, c_void_p, c_size_t, c_void_p, c_void_p)
array_missing = quick("gpr_array_missing", c_size_t, c_void_p, c_size_t, c_char_p, c_size_t)

request_new = quick("gpr_request_new", c_int, c_void_p, c_void_p)
request_free = quick("gpr_request_free", None, c_void_p)
request_op = quick("gpr_request_op", c_int, c_void_p, c_char_p)
request_quantile = quick("gpr_request_quantile", c_int, c_void_p, c_char_p, c_uint64, c_uint64)
request_histogram = quick("gpr_request_histogram", c_int, c_void_p, c_uint64, c_double, c_double)
request_missing = quick("gpr_request_missing", c_int, c_void_p, c_char_p)
request_set = quick("gpr_request_set", c_int, c_void_p, c_int, c_uint64)
request_type = quick("gpr_request_type", c_int, c_void_p, c_char_p, c_int)
request_shape = quick("gpr_request_shape", c_int, c_void_p, c_uint, c_void_p)
request_format = quick("gpr_request_format", c_int, c_void_p, c_char_p)

reduce = slow("gpr_reduce", c_int)
reduce_memory = slow("gpr_reduce_memory", c_int)
reduce_memory_quick = quick("gpr_reduce_memory", c_int)
reduce_file = slow("gpr_reduce", c_int, c_void_p, c_size_t, c_void_p, c_void_p)
reduce_each = slow("gpr_reduce_each", c_int, c_void_p, c_void_p, RESULT, c_void_p)
reduce_total = slow("gpr_total", c_int, c_void_p, c_size_t, c_void_p, c_void_p)
axis_dtype = quick("gpr_axis_dtype", c_char_p, c_void_p, c_size_t, c_void_p, c_char_p)
reduce_axis = slow("gpr_reduce_axis", c_int, c_void_p, c_size_t, c_void_p, c_uint, c_void_p, c_uint64)

result_free = quick("gpr_result_free", None)
result_double = quick("gpr_result_double", c_int)
result_count = quick("gpr_result_count", c_int, c_void_p, c_char_p, c_void_p)
result_integer = quick("gpr_result_integer", c_size_t)
result_text = quick("gpr_result_text", c_size_t, c_void_p, c_char_p, c_char_p, c_size_t)
result_exact = quick("gpr_result_exact", c_size_t, c_void_p, c_char_p, c_char_p, c_size_t, c_void_p)
result_bins = quick("gpr_result_bins", c_uint64, c_void_p)
result_histogram = quick("gpr_result_histogram", c_int, c_void_p, c_void_p, c_void_p, c_void_p,
                         c_void_p)
result_profile = quick("gpr_result_profile", c_char_p, c_void_p)

accumulator_new = quick("gpr_accumulator_new", c_int, c_void_p, c_char_p, c_void_p, c_void_p)
accumulator_free = quick("gpr_accumulator_free", None, c_void_p)
accumulator_add = slow("gpr_accumulator_add", c_int, c_void_p, c_void_p)
accumulator_add_at = slow("gpr_accumulator_add_at", c_int, c_void_p, c_void_p, c_uint64)
accumulator_add_device = quick("gpr_accumulator_add_device", c_int, c_void_p, c_void_p, c_uint64, c_void_p)
accumulator_merge = slow("gpr_accumulator_merge", c_int, c_void_p, c_void_p)
accumulator_snapshot = slow("gpr_accumulator_snapshot", c_int, c_void_p, c_void_p)
accumulator_set_array = quick("gpr_accumulator_set_array", c_int, c_void_p, c_char_p, c_char_p, c_uint64)
accumulator_clear = quick("gpr_accumulator_clear", c_int, c_void_p)
accumulator_write = slow("gpr_accumulator_write", c_size_t, c_void_p, c_char_p, c_size_t)
accumulator_read = quick("gpr_accumulator_read", c_int, c_void_p, c_char_p, c_size_t, c_void_p,
                         c_void_p)

compare = slow("gpr_diff_inputs", c_int, c_void_p, c_void_p, c_void_p, c_char_p, c_void_p, c_void_p,
               c_int, c_void_p)


def library_version() -> str:
    """The version of the shared library, such as "0.1.0"."""
    return str(version().decode())


RequestKey = Tuple[Tuple[bytes, ...], Tuple[Tuple[bytes, int, int], ...],
                   Optional[Tuple[int, float, float]], int, int, Tuple[bytes, ...], bool, int]
"""Operations; quantiles: name, numerator, denominator; bins, least, most; NaN; ddof; missing; wait; axes that are
reduced as one."""

REQUESTS_MAX = 64
KEY_NAN, KEY_DDOF, KEY_STORED, KEY_SKIP, KEY_LENGTH, KEY_IGNORE_DTYPE, KEY_CAST, KEY_NO_WAIT, KEY_WINDOW, \
    KEY_AXES = 1, 2, 3, 4, 5, 8, 9, 10, 11, 12

FACT_FORTRAN_ORDER = 5

AUTO, CPU, GPU = 0, 1, 2
_DEVICES = {"auto": AUTO, "cpu": CPU, "gpu": GPU}
_THREADS, _MEMORY, _DEVICE, _GPU = 1, 2, 3, 4

settings: Tuple[Tuple[int, int], ...] = ()
"""What `configure` has set, and each context takes over before its next call: settings and values."""


def is_number(x: Any) -> bool:
    """Whether something is a real number of Python's or NumPy's, other than a bool."""
    return isinstance(x, Real) and not isinstance(x, bool)


def natural(name: str, value: Any) -> int:
    """An argument that is an integer of 64 bits without a sign, also one that is given as a float.

    TypeError if it is no number; ValueError for other numbers.
    """
    if not is_number(value):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    if value % 1 != 0 or not 0 <= value < UNKNOWN:
        raise ValueError(f"{name} is an integer from 0 on, not {value!r}")
    return int(value)


def configure(*, threads: Optional[int] = None, memory: Optional[int] = None,
              device: Optional[str] = None) -> None:
    """Changes how later calls of this process work. Results do not depend on it.

    Args:
        threads: threads that a call uses at most; 0, as at first: one for each core.
        memory: bytes of buffers that a call may allocate; 0, as at first: the library chooses. A call
            that needs more is an OutOfMemoryError, and one that cannot be limited, such as along an axis
            or of a compressed file, an UnsupportedError.
        device: "cpu"; "gpu", or "gpu:1" for one of several; "auto", as at first: whichever is faster.
            It is about files and arrays in memory of the host: those on a GPU are reduced there.

    What is None stays as it is.

    >>> import gpureduce as gr
    >>> gr.configure(threads=2, device="cpu")
    >>> gr.configure(threads=0, device="auto")
    """
    global settings
    found = dict(settings)
    for setting, name, value in ((_THREADS, "threads", threads), (_MEMORY, "memory", memory)):
        if value is not None:
            found[setting] = natural(name, value)
    if device is not None:
        if not isinstance(device, str):
            raise TypeError(f"device is a str, not {type(device).__name__}")
        kind, colon, number = device.partition(":")
        if kind not in _DEVICES or colon and not (kind == "gpu" and number.isdecimal()):
            raise ValueError(f"device is 'auto', 'cpu', 'gpu' or 'gpu:1', not {device!r}")
        found[_DEVICE], found[_GPU] = _DEVICES[kind], int(number or 0)
    if threads is not None:
        context = borrow()  # the library knows how many there can be
        try:
            context.check(context_set(context.handle, _THREADS, found[_THREADS]))
        finally:
            give_back(context)
    settings = tuple(sorted(found.items()))


def memory_is_limited() -> bool:
    """Whether `configure` has limited the memory of a call."""
    return dict(settings).get(_MEMORY, 0) > 0


# Grows in each forked child: a context of the parent's is then dead, as its threads are.
_generation = 0


_contexts: "weakref.WeakValueDictionary[int, Context]" = weakref.WeakValueDictionary()


def _progressed(user: int, done: int, of: int) -> int:
    """Runs Python's signal handlers, by being called, and the caller's function."""
    context = _contexts[user]
    try:
        if context.progress is not None and context.progress(done, None if of == UNKNOWN else of):
            return 1
    except BaseException as error:  # pylint: disable=broad-except
        context.pending = error
    return context.pending is not None


def _logged(user: int, text: bytes) -> None:
    _contexts[user].messages.append(spoken(text))


_on_progress, _on_log = _PROGRESS(_progressed), _LOG(_logged)


def _callers_level() -> int:
    """The stack level of a warning by the function that calls this: that of the line which called the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("gpureduce", "contextlib"):
        level, frame = level + 1, frame.f_back
    return level


class Context:
    """A context of the library, a view that each call sets, and the requests made before."""

    def __init__(self) -> None:
        self.generation = _generation
        self.process = os.getpid()
        self.handle = c_void_p()
        self.lock: Any = threading.RLock()
        self.requests: Dict[RequestKey, c_void_p] = {}
        self.garbage: List[c_void_p] = []
        self.view = c_void_p()
        if context_new(byref(self.handle)):
            raise OutOfMemoryError("there is not enough memory for a context")
        self.check(view_new(self.handle, byref(self.view)))
        self.settings: Tuple[Tuple[int, int], ...] = ()
        self.masked = False
        self.place = (0, 0, 0)
        self.input = c_void_p()
        self.result = c_void_p()
        self.double = c_double()
        self.count = c_uint64()
        self.exponent = c_int64()
        self.text = ctypes.create_string_buffer(64)
        self.address = c_void_p()
        self.shape = (c_uint64 * 64)()
        self.strides = (c_int64 * 64)()
        self.input_ref = byref(self.input)
        self.result_ref = byref(self.result)
        self.double_ref = byref(self.double)
        self.spare: Tuple[Any, Any] = (None, None)
        self.pending: Optional[BaseException] = None
        self.progress: Optional[Progress] = None
        self.messages: List[str] = []
        self.called = False  # whether the library calls _on_progress
        _contexts[id(self)] = self
        context_set_log(self.handle, _on_log, c_void_p(id(self)))

    def is_of_this_process(self) -> bool:
        """Whether no fork has copied it: its threads are then not in this process. A forked child forgets what other
        threads had before it calls _forked."""
        return self.generation == _generation and self.process == os.getpid()

    def __del__(self) -> None:
        if not getattr(self, "handle", None) or not self.is_of_this_process():
            return
        self.collect()
        for request in self.requests.values():
            request_free(request)
        view_free(self.view)
        context_free(self.handle)
        self.handle = c_void_p()

    def collect(self) -> None:
        """Frees the accumulators that were forgotten since the last call."""
        while self.garbage:
            accumulator_free(self.garbage.pop())

    def error(self, status: int) -> BaseException:
        """The exception of a status that is not 0, with the text of the last error."""
        pending, self.pending = self.pending, None
        if pending is not None:
            return pending
        text = spoken(error_text(self.handle) or b"")
        error: Error = _ERRORS.get(status, InternalError)(text or f"error {status}")
        offset, array = error_offset(self.handle), error_array(self.handle)
        error.offset = None if offset == UNKNOWN else offset
        error.array = None if array is None else array.decode("utf-8", "surrogateescape")
        return error

    def check(self, status: int) -> None:
        """Raises the exception of a status that is not 0."""
        if status:
            raise self.error(status)

    def check_some(self, length: int) -> int:
        """Raises the last error where a function that returns a length has returned 0."""
        if not length:
            raise self.error(error_status(self.handle))
        return length

    def run(self, function: Any, *arguments: Any, progress: Optional[Progress] = None) -> None:
        """Calls a function that may take long, so that signals and `progress` can end it.

        Raises what the function, a handler of a signal or `progress` did, and warns of what the
        library warns of.
        """
        self.progress, self.pending = progress, None
        if self.settings is not settings:
            for setting, value in settings:
                self.check(context_set(self.handle, setting, value))
            self.settings = settings
        thread = threading.current_thread()
        main = thread is threading.main_thread()
        called = main or progress is not None
        if self.called != called:
            # Other threads have no handlers to run.
            context_set_progress(self.handle, _on_progress if called else None, c_void_p(id(self)))
            self.called = called  # last: Ctrl-C may come before that
        if main:
            # A signal handler may raise an exception before the first instruction of a callback,
            # where nothing catches it; ctypes hands that to this hook.
            hook = sys.unraisablehook

            def keep(unraisable: Any) -> None:
                if "ctypes callback" in (unraisable.err_msg or "") and threading.get_ident() == thread.ident:
                    self.pending = unraisable.exc_value
                else:
                    hook(unraisable)

            sys.unraisablehook = keep
            try:
                status = function(*arguments)
            finally:
                sys.unraisablehook = hook
                self.progress = None
        elif thread.daemon and (called or function in (compare, reduce_each)):
            _calling.add(self)  # before it looks: _end finds this call, or it does not begin
            try:
                status = _CANCELLED if _ending else function(*arguments)
            finally:
                self.progress = None
                _calling.discard(self)
            # _end may cancel the call that takes its place, too.
            while _ending and status == _CANCELLED and self.pending is None:
                if function in (compare, reduce_each):
                    raise SystemExit  # of the thread, which says nothing and gives its locks back
                context_set_progress(self.handle, None, None)
                self.called = False
                status = function(*arguments)
        else:
            status = function(*arguments)
            self.progress = None
        if self.messages:
            messages, self.messages = self.messages, []
            for message in messages:
                warnings.warn(message, GpureduceWarning, stacklevel=_callers_level())
        if status or self.pending is not None:
            raise self.error(status)

    def request(self, key: RequestKey) -> c_void_p:
        """A request for these operations, made once."""
        handle = self.requests.get(key)
        if handle is None:
            if len(self.requests) >= REQUESTS_MAX:
                request_free(self.requests.pop(next(iter(self.requests))))
            handle = self.new_request(key)
            self.requests[key] = handle
        return handle

    def new_request(self, key: RequestKey) -> c_void_p:
        """Makes a request, which the caller frees."""
        ops, quantiles, histogram, nan, ddof, missing, wait, axes = key
        handle = c_void_p()
        self.check(request_new(self.handle, byref(handle)))
        try:
            for op in ops:
                self.check(request_op(handle, op))
            for name, numerator, denominator in quantiles:
                self.check(request_quantile(handle, name, numerator, denominator))
            if histogram is not None:
                self.check(request_histogram(handle, *histogram))
            for value in missing:
                self.check(request_missing(handle, value))
            self.check(request_set(handle, KEY_NAN, nan))
            self.check(request_set(handle, KEY_DDOF, ddof))
            self.check(request_set(handle, KEY_NO_WAIT, int(not wait)))
            self.check(request_set(handle, KEY_AXES, axes))
        except BaseException:
            request_free(handle)
            raise
        return handle


# Contexts that daemon threads use in calls that call functions of Python.
_calling: Set[Context] = set()
_ending = False
_END_SECONDS = 5


def _end() -> None:
    """Ends these calls before Python ends. After that a thread that calls a function of Python would be ended there, and
    with it the memory that the library's threads work on. Functions that Python calls at its end may wait for what such
    threads do, or for locks that they have."""
    global _ending
    _ending = True
    last = time.monotonic() + _END_SECONDS
    while _calling and time.monotonic() < last:
        for context in _calling.copy():
            cancel(context.handle)
        time.sleep(0.001)


atexit.register(_end)


# Contexts that no call uses. Taking and giving back are atomic; a call from within another, such as
# by a signal handler or a progress function, takes another one.
_pool: List[Context] = []
_home = threading.local()


def borrow() -> Context:
    """Takes a context, for one call."""
    try:
        return _pool.pop()
    except IndexError:
        return Context()


give_back: Callable[[Context], None] = _pool.append


def unused(lock: Any) -> Any:
    """The lock of a context or a file, to be taken. RuntimeError if this thread has it: a progress function or a signal
    handler then asks, and has interrupted the call that took it."""
    if lock._is_owned():
        raise RuntimeError("a progress function or a signal handler cannot use the file or the accumulators of the call"
                           " that it interrupts")
    return lock


def home() -> Context:
    """The context that accumulators made by this thread belong to; they take its lock."""
    try:
        context: Context = _home.context
    except AttributeError:
        context = _home.context = Context()
    return Context() if context.lock._is_owned() else context


def generation() -> int:
    """Another number after each fork."""
    return _generation


def _forked() -> None:
    global _generation, _home
    _generation += 1
    _pool.clear()
    _calling.clear()
    _home = threading.local()


os.register_at_fork(after_in_child=_forked)
