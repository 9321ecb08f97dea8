"""Transport of the whole MAC velocity of a 128^3 box by itself: faces per second of each scheme.

The flow is the Taylor-Green vortex in a box with walls, largest CFL number 1. A step transports every face of the three
components once; set-up and compilation are outside the time, the median of several steps counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from undertow.grid import Array, Grid, Sides
from undertow.transport import Advection

CELLS = 128
STEPS = 5
QUANTITIES = {
    "semi_lagrangian": f"faces_per_second_{CELLS}",
    "maccormack": f"maccormack_faces_per_second_{CELLS}",
    "eno3": f"eno3_faces_per_second_{CELLS}",
}

SMOKE = {"CELLS": 12}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """One result per scheme."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        grid = Grid((CELLS, CELLS, CELLS), 1.0 / CELLS)
        sides = Sides(grid)
        u_f = _swirl(grid)
        sides.exchange.fill(u_f)
        out_f = grid.face_field()
        dt = grid.dx / float(np.abs(u_f).max())
        faces = sum(out_f[(axis, *grid.interior_faces(axis))].size for axis in grid.axes)
        for scheme, quantity in QUANTITIES.items():
            advection = Advection(grid, sides, scheme)
            compile_seconds = _compile(scheme)
            seconds = _time_steps(advection, u_f, dt, out_f)
            yield {
                "case": "advection",
                "quantity": quantity,
                "measured": faces / seconds,
                "size": f"{CELLS}^3",
                "threads": threads,
                "seconds_per_step": seconds,
                "throughput": faces / seconds,
                "unit": "faces/s",
                "iterations": None,
                "memory_mb": (u_f.nbytes + out_f.nbytes + advection.scratch_bytes) / 2**20,
                "compile_seconds": compile_seconds,
                "ratio": None,
                "against": None,
            }
    finally:
        numba.set_num_threads(before)


def _swirl(grid: Grid) -> Array:
    """Taylor-Green vortex, divergence-free and tangential to the walls of the unit box [m/s]."""
    u_f = grid.face_field()
    k = 2.0 * np.pi
    x, y, z = grid.face_centres(0)
    u_f[(0, *grid.interior_faces(0))] = np.sin(k * x) * np.cos(k * y) * np.cos(k * z)
    x, y, z = grid.face_centres(1)
    u_f[(1, *grid.interior_faces(1))] = np.cos(k * x) * np.sin(k * y) * np.cos(k * z)
    x, y, z = grid.face_centres(2)
    u_f[(2, *grid.interior_faces(2))] = -2.0 * np.cos(k * x) * np.cos(k * y) * np.sin(k * z)
    return u_f


def _compile(scheme: str) -> float:
    """Seconds of the first call, on a grid too small to cost anything else."""
    grid = Grid((4, 4, 4), 1.0)
    u_f, out_f = grid.face_field(), grid.face_field()
    start = time.perf_counter()
    Advection(grid, Sides(grid), scheme).velocity(u_f, u_f, 0.1, out_f)
    return time.perf_counter() - start


def _time_steps(advection: Advection, u_f: Array, dt: float, out_f: Array) -> float:
    """Median seconds of a step after one to warm the memory."""
    seconds = []
    for _ in range(STEPS + 1):
        start = time.perf_counter()
        advection.velocity(u_f, u_f, dt, out_f)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))
