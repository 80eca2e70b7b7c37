"""Exact, reproducible reductions of arrays, where they are: in memory, in files, across machines.

>>> import gpureduce as gr
>>> gr.sum([0.1] * 10), gr.mean([1, 2, 4]), gr.max([3, 1, 2])
(1.0, 2.3333333333333335, 3)

Every result is that of exact arithmetic on the elements, rounded once. It depends neither on the order
of the elements nor on threads, chunks or machines. See `reduce` for all operations, `open` for files,
`Accumulator` for partial results, and gpureduce.dask and gpureduce.mpi.

Several threads may call at the same time; other Python threads run meanwhile. Ctrl-C ends a call.
"""

from ._accumulators import Accumulator
from ._files import Difference, File, FileArray, Row, Summary, diff, open, total
from ._library import (
    ArgumentError, CancelledError, ChangedError, DataError, DeviceError, Error, GpureduceWarning,
    InternalError, NaNError, OutOfMemoryError, ReadError, UnsupportedError, configure,
    library_version,
)
from ._reductions import (
    Results, argmax, argmin, digest, exact_sum, histogram, max, mean, median, min, quantile, reduce, std, sum,
    var,
)

__version__ = "0.1.0"

__all__ = [
    "Accumulator", "ArgumentError", "CancelledError", "ChangedError", "DataError", "DeviceError",
    "Difference", "Error", "File", "FileArray", "GpureduceWarning", "InternalError", "NaNError",
    "OutOfMemoryError", "ReadError", "Results", "Row", "Summary", "UnsupportedError", "argmax", "argmin",
    "configure", "diff", "digest", "exact_sum", "histogram", "library_version", "max", "mean", "median", "min", "open",
    "quantile", "reduce", "std", "sum", "total", "var",
]
