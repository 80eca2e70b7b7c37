"""Reductions of dask arrays, chunk by chunk: exact, and so the same bits for any chunks.

The functions take a dask array, or an array of xarray's that has one, and return a dask array without
dimensions, which `compute` makes a number. Each chunk gives an accumulator of some hundred bytes.
With `axis` they return an array of the other dimensions; each chunk then gets all of the elements
along the axis.

>>> import dask.array as da
>>> import gpureduce.dask as gd
>>> x = da.from_array([1e16, 1.0, -1e16], chunks=1)
>>> float(gd.sum(x).compute())
1.0
"""

from __future__ import annotations

import builtins
from functools import partial
from importlib import import_module
from typing import Any, Dict, List, Tuple

from . import _reductions
from ._accumulators import Accumulator
from ._arrays import TYPE_NAMES, axes_of, describe, kind_of, parse_type
from ._library import NaNError
from ._reductions import INDICES, op_names

__all__ = ["accumulate", "max", "mean", "median", "min", "reduce", "std", "sum", "var"]

_da: Any = import_module("dask.array")
_delayed: Any = import_module("dask.delayed")
_core: Any = import_module("dask.core")
_tokenize: Any = import_module("dask.base").tokenize
_Graph: Any = import_module("dask.highlevelgraph").HighLevelGraph

_SPLIT = 16
"""Accumulators that a task merges."""


def _of_chunk(chunk: Any, dtype: bytes, ops: Any, settings: Dict[str, Any]) -> Accumulator:
    part = Accumulator(TYPE_NAMES[dtype], ops, **settings)
    if describe(chunk).type != dtype:
        raise TypeError(f"a chunk has elements of another type than {TYPE_NAMES[dtype]}")
    part.add(chunk)
    return part


def _merged(parts: List[Accumulator]) -> Accumulator:
    first = parts[0].copy()
    for other in parts[1:]:
        first.merge(other)
    return first


def _array_of(x: Any) -> Any:
    array = x if isinstance(x, _da.Array) else getattr(x, "data", x)
    if not isinstance(array, _da.Array):
        raise TypeError(f"{type(x).__name__} is no dask array")
    return array


def accumulate(x: Any, ops: Any = ("sum",), *, ddof: int = 0, nan: str = "propagate", missing: Any = None) -> Any:
    """A delayed object of dask's for the `gpureduce.Accumulator` of all elements.

    Args:
        x: a dask array, or an array of xarray's that has one.
        ops: the operations of the accumulator; not argmin, argmax and digest.
        ddof, nan, missing: as of `gpureduce.Accumulator`.
    """
    array = _array_of(x)
    names = op_names(ops)
    settings: Dict[str, Any] = {"ddof": ddof, "nan": nan, "missing": missing}
    if INDICES.union(("digest",)).intersection(names):
        raise ValueError("argmin, argmax and digest are not supported: a chunk is not a range of the elements")
    dtype = parse_type(array.dtype)[0]
    Accumulator(TYPE_NAMES[dtype], names, **settings)  # refuses now what each task would refuse
    of_chunk = partial(_of_chunk, dtype=dtype, ops=names, settings=settings)
    # A graph by hand: dask's delayed calls cost more than the reduction of a small chunk.
    name = "gpureduce-" + _tokenize(array, names, sorted(settings.items(), key=str))
    parts: List[Any] = [(name, 0, i) for i in range(array.npartitions)]
    graph: Dict[Any, Any] = {part: (of_chunk, chunk)
                             for part, chunk in zip(parts, _core.flatten(array.__dask_keys__()))}
    level = 0
    while len(parts) > _SPLIT:
        level += 1
        groups = [parts[i:i + _SPLIT] for i in range(0, len(parts), _SPLIT)]
        parts = [(name, level, i) for i in range(len(groups))]
        graph.update((part, (_merged, group)) for part, group in zip(parts, groups))
    graph[name] = (_merged, parts)
    return _delayed.Delayed(name, _Graph.from_collections(name, graph, dependencies=[array]))


def _result(part: Accumulator, op: str, dtype: Any, size: float) -> Any:
    """A result of all elements; of a slice of so many where that is not 0."""
    import numpy as np

    value = part.result(op)
    if 0 < size == part.result("missing"):
        value = _reductions.of_nothing(op.encode(), value, kind_of(part._dtype), part._key[5])
    if value != value and np.dtype(dtype).kind in "iub":
        raise ValueError(f"an array without elements has no {op}")
    return np.asarray(value, dtype=dtype)


def _along(chunk: Any, op: str, dtype: Any, axes: Tuple[int, ...], settings: Dict[str, Any]) -> Any:
    import numpy as np

    try:
        found = getattr(_reductions, op)(chunk, axis=axes, **settings)
    except NaNError as error:
        error.args = (str(error).replace("memory", "a chunk", 1),)  # the indices are those in the chunk
        raise
    if found.dtype != dtype and found.size > 0:  # with a NaN among integers, say
        raise ValueError(f"the {op} of a chunk is {found.dtype}, not {dtype}: a slice of it has no elements, or it has"
                         " another type")
    return np.asarray(found, dtype=dtype)


def _one(x: Any, op: str, axis: Any, settings: Dict[str, Any]) -> Any:
    import numpy as np

    if "ddof" in settings and op not in ("std", "var"):
        raise TypeError(f"{op} got an unexpected keyword argument 'ddof'")
    array = _array_of(x)
    axes = axes_of(tuple(range(array.ndim)) if axis is None else axis, array.ndim)
    if not axes and array.ndim > 0:
        raise ValueError("axis=() leaves nothing to reduce")
    whole = len(axes) == array.ndim
    # It also looks at the settings.
    part = accumulate(x, ("sum" if op == "median" and not whole else op,), **settings)
    if not whole:
        one = np.ones((1,) * array.ndim, array.dtype)
        dtype = getattr(_reductions, op)(one, axis=axes, **{**settings, "missing": None}).dtype
        if builtins.any(len(array.chunks[i]) > 1 for i in axes):
            # "auto" divides by the number of elements, which is NaN if a size is unknown.
            array = array.rechunk({i: -1 if i in axes or array.size == 0 else "auto" for i in range(array.ndim)
                                   if i in axes or array.size >= 0})
        return array.map_blocks(_along, op, dtype, axes, settings, drop_axis=axes, dtype=dtype,
                                meta=np.empty((0,) * (array.ndim - len(axes)), dtype))
    dtype = "f8"
    if array.dtype.kind in "iub":
        if op == "sum":
            dtype = "O"  # an int of Python's, which has all digits
        elif op in ("min", "max"):
            dtype = array.dtype
    name = f"{part.key}-{op}{'' if axis is None else '-along'}"
    graph = {(name,): (partial(_result, op=op, dtype=dtype, size=0 if axis is None else array.size), part.key)}
    return _da.Array(_Graph.from_collections(name, graph, dependencies=[part]), name, (), dtype=dtype)


def reduce(x: Any, ops: Any, **settings: Any) -> Any:
    """A delayed object for the `gpureduce.Results` of several operations, in one pass.

    >>> import dask.array as da
    >>> import gpureduce.dask as gd
    >>> gd.reduce(da.arange(10, chunks=3), ["sum", "std"], ddof=1).compute()
    Results(sum=45, std=3.0276503540974917)
    """
    if "axis" in settings:
        raise TypeError("along an axis there are sum, mean, std, var, min, max and median, a function each;"
                        " gpureduce.reduce(x.compute(), ...) has all operations")
    return accumulate(x, ops, **settings).result()


def sum(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The sum; of integers as an object, an int of Python's, whatever its size. Settings: nan, missing.

    Along an axis sums of integers are of 64 bits; one that does not fit is an OverflowError.
    """
    return _one(x, "sum", axis, settings)


def mean(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The mean, float64. Settings: nan, missing."""
    return _one(x, "mean", axis, settings)


def std(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The standard deviation, float64. Settings: ddof, nan, missing."""
    return _one(x, "std", axis, settings)


def var(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The variance, float64. Settings: ddof, nan, missing."""
    return _one(x, "var", axis, settings)


def min(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The least element; NaN, or of integers a ValueError, if there is none. Settings: nan, missing."""
    return _one(x, "min", axis, settings)


def max(x: Any, axis: Any = None, **settings: Any) -> Any:
    """The greatest element; otherwise like `min`."""
    return _one(x, "max", axis, settings)


def median(x: Any, axis: Any, **settings: Any) -> Any:
    """The median along an axis, float64: chunks tell none of all elements. Settings: nan, missing."""
    return _one(x, "median", axis, settings)
