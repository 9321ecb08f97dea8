"""Seconds per step of the balloon at the size of Robinson-Mosher et al. 2008: 100 x 150 x 100 cells, 1000 triangles."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import undertow as ut

RESOLUTION, FIRST, STEPS = 150, 3, 8

SMOKE = {"RESOLUTION": 30}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Steps while the balloon fills, transport at the shell and the coupled solve included; the median of them."""
    scene = ut.scene("balloon", resolution=RESOLUTION)
    start = time.perf_counter()
    sim = ut.Simulation(scene, threads=threads)
    sim.step()
    compile_seconds = time.perf_counter() - start
    for _ in range(FIRST):
        sim.step()
    seconds, iterations = [], 0
    for _ in range(STEPS):
        start = time.perf_counter()
        iterations += sim.step().iterations
        seconds.append(time.perf_counter() - start)
    middle = statistics.median(seconds)
    assert sim.grid is not None
    yield {
        "quantity": "seconds_per_step",
        "size": sim.grid.cell_count,
        "seconds_per_step": middle,
        "throughput": sim.grid.cell_count / middle,
        "unit": "cells/s",
        "iterations": iterations / STEPS,
        "compile_seconds": compile_seconds,
        "measured": middle,
    }
