"""Seconds per frame of the boat that balls sink, at the grid of the paper, reported; doubles per cell."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.benchmarks.smoke_step import held_bytes

CELLS, COARSE = 160, 32
"""Along x: 160 x 120 x 160 in all, as in the paper; the tank of the gallery is shallower."""
DEPTH = {"domain.upper": [1.0, 0.75, 1.0]}
WARM, TIMED = 1, 2
"""Frames before the clock starts and while it runs: the boat settles and the first ball lands in it."""


def run(threads: int, cells: int = CELLS) -> Iterator[dict[str, Any]]:
    """The mean over the frames; a coarse run through the same times compiles before them."""
    scene = ut.scene("boat-spheres", resolution=cells, set=DEPTH)
    frame = 1.0 / scene.time.frame_rate
    begun = time.perf_counter()
    coarse = ut.scene("boat-spheres", resolution=COARSE, set=DEPTH)
    ut.Simulation(coarse, threads).advance_to((WARM + TIMED) * frame)
    compiled = time.perf_counter() - begun
    sim = ut.Simulation(scene, threads)
    while sim.time < (WARM - 1e-6) * frame:
        sim.step()
    begun, steps, iterations = time.perf_counter(), 0, 0
    while sim.time < (WARM + TIMED - 1e-6) * frame:
        iterations += sim.step().iterations
        steps += 1
    seconds = time.perf_counter() - begun
    grid = sim.flow.grid
    size = held_bytes(sim.flow)
    common = {
        "size": "x".join(str(n) for n in grid.cells),
        "threads": threads,
        "seconds_per_step": seconds / steps,
        "throughput": grid.cell_count * steps / seconds,
        "unit": "cells/s",
        "iterations": iterations / steps,
        "compile_seconds": compiled,
        "memory_mb": size / 2**20,
    }
    yield common | {"quantity": "seconds_per_frame", "measured": seconds / TIMED}
    yield common | {"quantity": "doubles_per_cell", "measured": size / 8 / grid.cell_count}
