"""``undertow bench two-phase-poisson``: the pressure of two fluids, a pool with bubbles under a gas, against its liquid
under emptiness.

Twenty bubbles of 0.06 of the box and the space above the pool are of the second fluid, as heavy and a thousandth as
heavy as the liquid. Both solves go to 1e-6, set-up of stencil and cycle included, from the same random velocities;
processor seconds are medians over positions of the bubbles.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.solve import PressureSolve
from undertow.fluid.surface_phase import SurfacePhase
from undertow.fluid.two_phase import OtherFluid, TwoPhase
from undertow.grid import GHOSTS, WALL, Array, Grid, Sides

TOLERANCE = 1e-6
SIZES = (64, 128)
RATIOS = (1, 1000)
BUBBLES, RADIUS, POOL = 20, 0.06, 0.8
DENSITY = 1000.0
SEEDS = (0, 1, 2)
"""Of the places of the bubbles, one per solve."""

SMOKE = {"SIZES": (8, 16), "SEEDS": (0,)}


def level_set(grid: Grid, seed: int) -> Array:
    """Distance of cell centres, ghosts included, from the surfaces [m], negative in the liquid."""
    random = np.random.default_rng(seed)
    places: list[Array] = []
    while len(places) < BUBBLES:
        place = random.uniform(0.1, 0.9, 3) * (1.0, POOL, 1.0)
        if all(np.linalg.norm(place - other) > 2.4 * RADIUS for other in places):
            places.append(place)
    along = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
    x, y, z = (a.reshape(shape) for a, shape in zip(along, ((1, 1, -1), (1, -1, 1), (-1, 1, 1)), strict=True))
    phi = np.broadcast_to(y - POOL, grid.padded).copy()
    for a, b, c in places:
        np.maximum(phi, RADIUS - np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2), out=phi)
    return phi


def time_solves(size: int, ratio: float | None) -> tuple[float, int]:
    """(median processor seconds, most iterations); ratio: of the densities, None: under emptiness."""
    grid = Grid((size, size, size), 1.0 / size)
    found, most = [], 0
    for number, seed in enumerate((SEEDS[0], *SEEDS)):
        phi, domain = level_set(grid, seed), FluidDomain(grid, Sides(grid, [WALL] * 6, [True] * 6), None, DENSITY)
        phase: SurfacePhase
        if ratio is None:
            phase = FreeSurface(domain, phi, (0.0, 0.0, 0.0))
        else:
            phase = TwoPhase(domain, phi, (0.0, 0.0, 0.0), OtherFluid(DENSITY / ratio))
        solve, u, z = PressureSolve(phase, TOLERANCE), grid.face_field(), grid.cell_field()
        random = np.random.default_rng(seed)
        for axis in grid.axes:
            inner = grid.interior_faces(axis)
            u[axis][inner] = random.standard_normal(u[axis][inner].shape)
        domain.sides.exchange.fill(u)
        start = time.process_time()
        solve.rebuild()
        solve.place()
        # walls that let go of the liquid would take further solves
        stats = solve.system.solve({"fluid": u}, {"pressure": z}, TOLERANCE)
        seconds = time.process_time() - start
        if number > 0:
            found.append(seconds)
            most = max(most, stats.iterations)
    return statistics.median(found), most


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Yield one object per quantity; ``threads`` is what the caller has set."""
    before: dict[int, int] = {}
    for size in SIZES:
        alone, iterations_alone = time_solves(size, None)
        for ratio in RATIOS:
            seconds, iterations = time_solves(size, ratio)
            case = {
                "case": "two-phase-poisson", "size": f"{size}^3, ratio {ratio}", "threads": threads,
                "seconds_per_step": seconds, "throughput": size**3 / seconds, "unit": "cells/s",
                "iterations": iterations, "memory_mb": None, "compile_seconds": None,
            }  # fmt: skip
            name = f"{size}_ratio_{ratio}"
            yield {**case, "quantity": f"iterations_{name}", "measured": iterations, "ratio": None, "against": None}
            if ratio in before:
                growth = iterations / before[ratio]
                quantity = f"iteration_growth_{name}"
                yield {**case, "quantity": quantity, "measured": growth, "ratio": growth, "against": f"{size // 2}^3"}
            before[ratio] = iterations
            cost = seconds / alone
            against = f"the liquid alone under emptiness, {iterations_alone} iterations, same run"
            yield {**case, "quantity": f"cost_{name}", "measured": cost, "ratio": cost, "against": against}
