"""``undertow bench poisson``: a pressure solve with an irregular solid and an air region, geometry new every time.

Multigrid-preconditioned conjugate gradients to 1e-6 at 64^3, 128^3 and 256^3. Before every solve the solid moves by a
fraction of a cell; stencil set-up (diagonal, regions) and multigrid set-up count. At 128^3 the same matrices are given
to pyamg's smoothed aggregation with CG (set-up plus solve) in the same run. Seconds are medians over the solves.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.grid import GHOSTS, Array, Grid
from undertow.linalg import ConjugateGradients, Multigrid, Stencil

TOLERANCE = 1e-6
SIZES = (64, 128, 256)
OFFSETS = (0.0, 0.37, 0.81)
"""Positions of the solid [cells], one per solve."""

SMOKE = {"SIZES": (8, 16)}


def fill_stencil(stencil: Stencil, offset: float = 0.0, solid: bool = True, air: bool = True) -> None:
    """Coefficients of a sphere (disc) of closed faces moved by ``offset`` cells and p = 0 in the air above a wave.

    a_f = open fraction x dx^(dimensions - 2), the fraction linear in the distance of the face from the sphere.
    """
    grid, periodic = stencil.grid, stencil.periodic
    stencil.dirichlet_c[...] = 0.0
    length = [n * grid.dx for n in grid.cells]
    centre = [0.5 * length[a] + offset * grid.dx * (1.0, 0.7, 0.3)[a] for a in range(3)]
    if grid.dimensions == 2:
        centre[2] = 0.5 * grid.dx
    radius = 0.23 * min(length[a] for a in grid.axes)
    x, y, z = grid.cell_centres()
    height = length[1] * (0.72 + 0.06 * np.sin(4 * np.pi * x / length[0]) * np.cos(2 * np.pi * z / length[2]))
    wet = np.zeros(grid.padded, dtype=bool)
    wet[grid.interior] = (y < height) if air else True
    for axis in grid.axes:
        x, y, z = grid.face_centres(axis)
        distance = np.sqrt((x - centre[0]) ** 2 + (y - centre[1]) ** 2 + (z - centre[2]) ** 2) - radius
        a = np.zeros(grid.padded)
        fraction = np.clip(0.5 + distance / grid.dx, 0.0, 1.0) if solid else np.ones_like(distance)
        a[grid.interior_faces(axis)] = fraction * grid.dx ** (grid.dimensions - 2)
        first, last, beyond = ([slice(None)] * 3 for _ in range(3))
        first[2 - axis] = slice(GHOSTS, GHOSTS + 1)
        last[2 - axis] = slice(GHOSTS + grid.cells[axis] - 1, GHOSTS + grid.cells[axis])
        beyond[2 - axis] = slice(GHOSTS + grid.cells[axis], GHOSTS + grid.cells[axis] + 1)
        a[tuple(beyond)] = a[tuple(first)]
        wet_low = np.roll(wet, 1, axis=2 - axis)
        wet_low[tuple(first)] = wet[tuple(last)]
        if not periodic[axis]:
            a[tuple(first)] = 0.0
            a[tuple(beyond)] = 0.0
        both = wet & wet_low
        both[tuple(beyond)] = both[tuple(first)]
        surface = np.where(wet ^ wet_low, a, 0.0)
        surface[tuple(beyond)] = surface[tuple(first)]
        stencil.face_f[axis] = np.where(both, a, 0.0)
        stencil.dirichlet_c += np.where(wet, surface + np.roll(surface, -1, axis=2 - axis), 0.0)


def make_stencil(
    grid: Grid,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    offset: float = 0.0,
    solid: bool = True,
    air: bool = True,
) -> Stencil:
    """A stencil filled by ``fill_stencil`` and set up."""
    stencil = Stencil(grid, periodic)
    fill_stencil(stencil, offset, solid, air)
    stencil.setup()
    return stencil


def make_right_hand_side(stencil: Stencil, seed: int = 0) -> Array:
    """Random on active cells (all frequencies), compatible with every singular region."""
    grid = stencil.grid
    b = grid.cell_field()
    b[grid.interior] = np.random.default_rng(seed).standard_normal(b[grid.interior].shape)
    b[stencil.diagonal_c == 0] = 0.0
    label = stencil.label[: stencil.cells]
    largest = np.zeros(stencil.regions + 1)
    np.maximum.at(largest, label, stencil.dirichlet_c.reshape(-1))
    count = np.bincount(label, minlength=stencil.regions + 1)
    mean = np.bincount(label, weights=b.reshape(-1), minlength=stencil.regions + 1) / np.maximum(count, 1)
    mean[(largest > 0) | (np.arange(stencil.regions + 1) == 0)] = 0.0
    return np.asarray(b - mean[label].reshape(b.shape))


def _solve_sequence(size: int) -> tuple[float, int, float, float]:
    """(median seconds of set-up plus solve, most iterations, compile seconds, doubles per cell) at one size."""
    grid = Grid((size, size, size), 1.0 / size)
    stencil, multigrid = Stencil(grid), Multigrid(grid)
    solver = ConjugateGradients(stencil.size)
    x = np.zeros(stencil.size)
    found: list[float] = []
    first, most = 0.0, 0
    for number, offset in enumerate((OFFSETS[0], *OFFSETS)):
        fill_stencil(stencil, offset)
        start = time.perf_counter()
        stencil.setup()
        multigrid.setup(stencil)
        ready = time.perf_counter()
        b = make_right_hand_side(stencil).reshape(-1)
        x[...] = 0.0
        go = time.perf_counter()
        stats = solver.solve(stencil, b, x, TOLERANCE, 200, multigrid)
        seconds = time.perf_counter() - go + ready - start
        if number == 0:
            first = seconds
        else:
            found.append(seconds)
            most = max(most, stats.iterations)
    median = statistics.median(found)
    arrays: list[np.ndarray] = [stencil.face_f, stencil.dirichlet_c, stencil.diagonal, stencil.label, stencil._parent]
    arrays += [x, b, *solver.work, *multigrid._buffers, multigrid._fine_face, multigrid._fine_inverse]
    return median, most, max(first - median, 0.0), sum(a.nbytes for a in arrays) / 8 / grid.cell_count


def to_matrix(stencil: Stencil) -> tuple[Any, np.ndarray]:
    """The active part of the operator as a scipy CSR matrix, and the flat indices of its unknowns."""
    from scipy import sparse

    grid = stencil.grid
    active = np.flatnonzero(stencil.diagonal > 0)
    number = np.full(stencil.size, -1, dtype=np.int64)
    number[active] = np.arange(active.size)
    rows, columns, values = [np.arange(active.size)], [np.arange(active.size)], [stencil.diagonal[active]]
    for axis in grid.axes:
        a = stencil.face_f[axis].reshape(-1)
        upper = np.flatnonzero(a > 0)
        lower = upper - (1, grid.padded[2], grid.padded[2] * grid.padded[1])[axis]
        rows += [number[upper], number[lower]]
        columns += [number[lower], number[upper]]
        values += [-a[upper], -a[upper]]
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_matrix(entries, shape=(active.size, active.size)), active


def _time_pyamg(size: int) -> tuple[float, str] | None:
    """(median seconds of set-up plus solve, what was measured) of pyamg on the same matrices; None without it."""
    try:
        import pyamg
    except ImportError:
        return None
    found = []
    for offset in OFFSETS:
        stencil = make_stencil(Grid((size, size, size), 1.0 / size), offset=offset)
        matrix, active = to_matrix(stencil)
        b = make_right_hand_side(stencil).reshape(-1)[active]
        start = time.perf_counter()
        levels = pyamg.smoothed_aggregation_solver(matrix, symmetry="symmetric")
        levels.solve(b, tol=TOLERANCE, accel="cg", maxiter=200)
        found.append(time.perf_counter() - start)
    against = f"pyamg {pyamg.__version__} smoothed aggregation + CG, same matrices, same run"
    return statistics.median(found), against


def compare(size: int, seconds: float) -> dict[str, Any]:
    """How many times as fast as pyamg in this run, and whether it is in it."""
    peer = _time_pyamg(size)
    if peer is None:
        missing = "not compared: pyamg is not in this run (install the extra peers)"
        return {"measured": None, "ratio": None, "compared": False, "against": missing}
    return {"measured": peer[0] / seconds, "ratio": peer[0] / seconds, "against": peer[1]}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Yield one object per quantity; ``threads`` is what the caller has set."""
    before = 0
    for size in SIZES:
        seconds, iterations, compiling, doubles = _solve_sequence(size)
        case = {
            "case": "poisson",
            "size": f"{size}^3",
            "threads": threads,
            "seconds_per_step": seconds,
            "throughput": size**3 / seconds,
            "unit": "cells/s",
            "iterations": iterations,
            "memory_mb": doubles * 8 * size**3 / 1e6,
            "compile_seconds": compiling,
        }
        yield {**case, "quantity": f"iterations_{size}", "measured": iterations, "ratio": None, "against": None}
        if before:
            growth = iterations / before
            quantity = f"iteration_growth_{size}"
            yield {**case, "quantity": quantity, "measured": growth, "ratio": growth, "against": f"{size // 2}^3"}
        before = iterations
        if size == 128:
            yield {**case, "quantity": f"speedup_pyamg_{size}", **compare(size, seconds)}
