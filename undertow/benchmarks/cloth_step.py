"""Seconds per frame of a sheet of 30,000 triangles that falls over a ball and onto itself, at 24 frames per second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene.gallery.cloth_knot import make_scene

RESOLUTION, STEPS = 122, 4


def run(threads: int) -> Iterator[dict[str, Any]]:
    """A few steps while the sheet bends over the ball, self-collision included."""
    scene = make_scene(RESOLUTION)
    sheet = scene.objects["sheet"].model_copy(update={"position": (0.08, 0.476, 0.05), "velocity": (0.0, -1.0, 0.0)})
    start = time.perf_counter()
    sim = ut.Simulation(scene.model_copy(update={"objects": {**scene.objects, "sheet": sheet}}), threads=threads)
    sim.step()
    compile_seconds = time.perf_counter() - start
    start, simulated, iterations = time.perf_counter(), sim.time, 0
    for _ in range(STEPS):
        iterations += sim.step().iterations
    seconds = time.perf_counter() - start
    count = len(sim.model.soft.parts[0].cells)  # type: ignore[attr-defined]
    yield {
        "quantity": "seconds_per_frame",
        "size": count,
        "seconds_per_step": seconds / STEPS,
        "throughput": count * STEPS / seconds,
        "unit": "triangles/s",
        "iterations": iterations / STEPS,
        "compile_seconds": compile_seconds,
        "measured": seconds / (sim.time - simulated) / 24.0,
    }
