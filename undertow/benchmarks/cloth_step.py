"""Seconds per frame of a sheet of 30,000 triangles that falls over a ball and onto itself, at 24 frames per second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene.gallery.cloth_knot import make_scene
from undertow.solids.soft_part import SoftPart

RESOLUTION = 122
START, END = 10 / 24, 12 / 24
"""Time [s] of the frames that are timed: the sheet lies over the ball and on the ground, and touches itself."""

SMOKE = {"RESOLUTION": 12}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Two frames while the sheet folds onto itself, with the step and the tolerance of the scene."""
    start = time.perf_counter()
    sim = ut.Simulation(make_scene(RESOLUTION), threads=threads)
    sim.step()
    compile_seconds = time.perf_counter() - start
    while sim.time < START - 1e-9:
        sim.step()
    start, first, iterations, steps, met = time.perf_counter(), sim.time, 0, 0, 0
    while sim.time < END - 1e-9:
        report = sim.step()
        iterations, steps, met = iterations + report.iterations, steps + 1, met + int(report.ledger["soft_collisions"])
    seconds = time.perf_counter() - start
    if met == 0:
        raise ut.PhysicsError("cloth-step: the sheet does not touch itself in the frames that are timed")
    count = len(sim.part(SoftPart).soft.parts[0].cells)
    yield {
        "quantity": "seconds_per_frame",
        "size": count,
        "seconds_per_step": seconds / steps,
        "throughput": count * steps / seconds,
        "unit": "triangles/s",
        "iterations": iterations / steps,
        "compile_seconds": compile_seconds,
        "measured": seconds / (sim.time - first) / 24.0,
    }
