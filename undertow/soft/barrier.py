"""A place inside a kernel where all its threads wait for each other.

A solve of a thousand short passes over all nodes takes longer to hand over to threads (``grid/threads.py``: 0.15 ms a
time, most of it waking up) than to compute. With a barrier a solve is handed over once: every thread has its own nodes
and goes through all passes, and waits for the others between two of them by looking at a counter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from undertow.grid import share
from undertow.grid.jitting import helper

_LEAST = 16384
"""Cells below which a thread more is not worth it."""

_PATIENCE = 2000
"""Looks at the counter before a thread lets others have its core between two of them."""

_sched_yield: Any = types.ExternalFunction("sched_yield", types.int32())


@intrinsic
def _count_one(context, counter):  # type: ignore[no-untyped-def]
    """Add 1 to counter[0]; what it was before."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, context.get_constant(types.int64, 1), "seq_cst")

    return types.int64(counter), code


@intrinsic
def _read_count(context, counter):  # type: ignore[no-untyped-def]
    """counter[0], as the other threads have left it."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(array.data, "acquire", 8)

    return types.int64(counter), code


@helper
def meet(counter, goal):  # type: ignore[no-untyped-def]
    """Come, and go on when ``goal`` have come: all pieces at the first place, twice as many at the second ..."""
    _count_one(counter)
    looks = 0
    while _read_count(counter) < goal:
        looks += 1
        if looks > _PATIENCE:
            _sched_yield()


def share_together(kernel: Callable[..., Any], count: int, cells: int, *args: Any) -> None:
    """kernel(*args, counter, pieces, piece, stop) by as many threads as Numba is set to, all at the same time: each
    takes one of ``pieces`` parts of ``count`` things, as it likes, and they ``meet`` at the counter, which is 0.

    cells: as of ``share``.
    """
    pieces = max(1, min(count, cells // _LEAST, numba.get_num_threads()))
    counter = np.zeros(1, dtype=np.int64)
    share(kernel, pieces, pieces * _LEAST * _LEAST, *args, counter, pieces)
