"""Seconds per step of eight gears that are thrown into a tank on three bunnies, at the grid of the paper."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut

CELLS = 64
"""Along x: 64 x 68 x 64 in all, as in the paper."""
PAPER = 27.5
"""Seconds per step (Carlson, Mucha and Turk 2004, section 6)."""
COARSE = 24
START, STEPS = 0.06, 20
"""When all gears are in the water and the first have met bunnies [s], and how many steps are timed from then on."""

SMOKE = {"CELLS": 16, "COARSE": 12}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """The mean over the steps; a coarse run through the same times compiles all kinds of contact before them."""
    begun = time.perf_counter()
    ut.Simulation(ut.scene("gears-and-bunnies", resolution=COARSE), threads).advance_to(2.0 * START)
    compiled = time.perf_counter() - begun
    sim = ut.Simulation(ut.scene("gears-and-bunnies", resolution=CELLS), threads)
    while sim.time < START:
        sim.step()
    begun, iterations = time.perf_counter(), 0
    for _ in range(STEPS):
        iterations += sim.step().iterations
    step = (time.perf_counter() - begun) / STEPS
    cells = sim.flow.grid.cells
    yield {
        "quantity": "seconds_per_step",
        "size": "x".join(str(n) for n in cells),
        "threads": threads,
        "seconds_per_step": step,
        "throughput": sim.flow.grid.cell_count / step,
        "unit": "cells/s",
        "iterations": iterations / STEPS,
        "compile_seconds": compiled,
        "ratio": PAPER / step,
        "against": f"Carlson, Mucha and Turk, {PAPER:g} s per step (2004)",
        "measured": step,
    }
