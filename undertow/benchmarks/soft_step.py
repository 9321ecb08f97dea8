"""Seconds per frame of a soft ball of 100,000 tetrahedra that lands on the ground, at 24 frames per second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene.gallery.soft_sphere_drop import make_scene
from undertow.solids.soft_part import SoftPart

RESOLUTION, STEPS = 25, 4
THESIS = 18.0
"""Seconds per frame of the thesis for 104k tetrahedra (section 3.5)."""

SMOKE = {"RESOLUTION": 6}


def run(threads: int) -> Iterator[dict[str, Any]]:
    """A few steps of the ball with one-rings while it is being squeezed."""
    scene = make_scene(RESOLUTION)
    objects = {name: scene.objects[name] for name in ("ground", "rings")}
    objects["rings"] = objects["rings"].model_copy(update={"position": (0.0, 0.5, 0.0), "velocity": (0.0, -3.0, 0.0)})
    start = time.perf_counter()
    sim = ut.Simulation(scene.model_copy(update={"objects": objects}), threads=threads)
    sim.step()
    compile_seconds = time.perf_counter() - start
    start, simulated, iterations = time.perf_counter(), sim.time, 0
    for _ in range(STEPS):
        iterations += sim.step().iterations
    seconds = time.perf_counter() - start
    simulated = sim.time - simulated
    count = len(sim.part(SoftPart).soft.parts[0].cells)
    per_frame = seconds / simulated / 24.0
    yield {
        "quantity": "seconds_per_frame",
        "size": count,
        "seconds_per_step": seconds / STEPS,
        "throughput": count * STEPS / seconds,
        "unit": "tetrahedra/s",
        "iterations": iterations / STEPS,
        "compile_seconds": compile_seconds,
        "ratio": THESIS / per_frame,
        "against": "thesis, 18 s per frame (2011)",
        "measured": per_frame,
    }
