"""``undertow bench stencil``: the variable-coefficient 7-point operator against the memory bandwidth of the machine.

The bandwidth is that of a STREAM triad a = b + s c (McCalpin 1995) measured in the same run with the same threads, on
arrays of 128 MiB: STREAM's own rule asks for at least four times the last-level cache.
Compulsory traffic of the operator per cell: three face coefficients, one Dirichlet
coefficient and p read, the result written (6 doubles); of the triad two reads and one write (3 doubles). As in
STREAM, the line a store fetches first is not counted on either side.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, Grid, share
from undertow.linalg import Stencil

SIZES = (128, 256)
REPEATS = 20

SMOKE = {"SIZES": (16,), "REPEATS": 1}


@njit(cache=True, nogil=True)
def _add_scaled(b, c, scale, out_a, start, stop):  # type: ignore[no-untyped-def]
    # on slices and counted from 0, so that no index can be negative: vector instructions
    a_part, b_part, c_part = out_a[start:stop], b[start:stop], c[start:stop]
    for i in range(stop - start):
        a_part[i] = b_part[i] + scale * c_part[i]


def make_triad(cells: int = 2**24) -> Callable[[], None]:
    """A triad on arrays of ``cells`` doubles, compiled; one call moves 24 bytes per entry."""
    a, b, c = np.zeros(cells), np.ones(cells), np.full(cells, 2.0)
    share(_add_scaled, cells, cells, b, c, 3.0, a)
    return lambda: share(_add_scaled, cells, cells, b, c, 3.0, a)


def _time(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _make_stencil(size: int) -> tuple[Stencil, Array, Array]:
    grid = Grid((size, size, size), 1.0 / size)
    stencil = Stencil(grid)
    rng = np.random.default_rng(0)
    for axis in grid.axes:
        stencil.face_f[axis][grid.interior] = rng.random(grid.cells[::-1])
    stencil.dirichlet_c[grid.interior] = 0.1
    p, out = grid.cell_field(), grid.cell_field()
    p[grid.interior] = rng.random(grid.cells[::-1])
    return stencil, p, out


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Yield one object per size; ``threads`` is what the caller has set."""
    triad_call = make_triad()
    for size in SIZES:
        stencil, p, out = _make_stencil(size)
        compiling = _time(lambda stencil=stencil, p=p, out=out: stencil.apply(p, out))
        # taken in turn, so that both see the same moods of the machine
        pairs = [(_time(triad_call), _time(lambda s=stencil, p=p, out=out: s.apply(p, out))) for _ in range(REPEATS)]
        triad = 24.0 * 2**24 / statistics.median(pair[0] for pair in pairs)
        seconds = statistics.median(pair[1] for pair in pairs)
        fraction = 48.0 * size**3 / seconds / triad
        yield {
            "case": "stencil",
            "quantity": f"bandwidth_fraction_{size}",
            "measured": fraction,
            "size": f"{size}^3",
            "threads": threads,
            "seconds_per_step": seconds,
            "throughput": size**3 / seconds,
            "unit": "cells/s",
            "iterations": None,
            "memory_mb": 6 * p.nbytes / 1e6,
            "compile_seconds": max(compiling - seconds, 0.0),
            "ratio": fraction,
            "against": f"STREAM triad in the same run, {triad / 1e9:.1f} GB/s",
        }
