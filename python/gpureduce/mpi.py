"""Accumulators across the ranks of an MPI program, with mpi4py.

>>> from mpi4py import MPI                                      # doctest: +SKIP
>>> import gpureduce as gr, gpureduce.mpi                       # doctest: +SKIP
>>> acc = gr.Accumulator("float64", ["sum", "std"])             # doctest: +SKIP
>>> acc.add(my_part_of_the_array)                               # doctest: +SKIP
>>> everywhere = MPI.COMM_WORLD.allreduce(acc, gr.mpi.merge)    # doctest: +SKIP
>>> everywhere.result("std")                                    # doctest: +SKIP

The results have the same bits for any number of ranks and any division among them.
"""

from __future__ import annotations

from ._accumulators import Accumulator

__all__ = ["merge"]


def merge(a: Accumulator, b: Accumulator) -> Accumulator:
    """A new accumulator of what both have: an operation for mpi4py's reduce and allreduce, and for
    functools.reduce.

    >>> import functools
    >>> import gpureduce as gr
    >>> from gpureduce.mpi import merge
    >>> parts = []
    >>> for numbers in ([1, 2], [3], [4, 5]):
    ...     part = gr.Accumulator("int64")
    ...     part.add(numbers)
    ...     parts.append(part)
    >>> functools.reduce(merge, parts).result("sum")
    15
    """
    both = a.copy()
    both.merge(b)
    return both
