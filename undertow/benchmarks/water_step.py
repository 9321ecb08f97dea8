"""Water that moves a body and is moved by it, half a cube full: seconds per frame at 64^3 and 128^3.

The peer is Mantaflow's one-way water in Blender with as many steps per frame. It is not run from here: without it in
the run there is no ratio, nothing is passed, and the line says so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.benchmarks.smoke_step import held_bytes

SIZES = (64, 128)
AGAINST = "not compared: Mantaflow is not in this run"
STEPS_PER_FRAME = 2
FRAME_RATE = 30.0
WARM, TIMED = 4, 12


def make_scene(cells: int) -> ut.Scene:
    """A unit cube half full of water and a heavy sphere that falls into it."""
    return ut.Scene(
        name="water-step",
        coupling="monolithic",
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells),
        time=ut.Time(end=1.0, frame_rate=FRAME_RATE, fixed_step=1.0 / (FRAME_RATE * STEPS_PER_FRAME)),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-4),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.5, 0.5, 0.5)),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.12), position=(0.5, 0.64, 0.5), velocity=(0.0, -0.6, 0.0), density=2000.0
            ),
        },
    )


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Seconds per frame, doubles per cell."""
    begin = time.perf_counter()
    ut.Simulation(make_scene(16), threads).step()
    compile_seconds = time.perf_counter() - begin
    for cells in SIZES:
        sim = ut.Simulation(make_scene(cells), threads)
        for _ in range(WARM):
            sim.step()
        seconds, iterations = [], []
        for _ in range(TIMED if cells < 100 else TIMED // 2):
            begin = time.perf_counter()
            report = sim.step()
            seconds.append(time.perf_counter() - begin)
            iterations.append(report.iterations)
        step = statistics.median(seconds)
        size = held_bytes(sim.flow)
        common = {
            "size": f"{cells}^3",
            "threads": threads,
            "memory_mb": size / 2**20,
            "compile_seconds": compile_seconds,
            "iterations": statistics.median(iterations),
            "seconds_per_step": step,
            "throughput": cells**3 / step,
            "unit": "cells/s",
        }
        yield common | {"quantity": f"seconds_per_frame_{cells}", "measured": STEPS_PER_FRAME * step}
        yield common | {"quantity": f"speedup_{cells}", "measured": None, "compared": False, "against": AGAINST}
        yield common | {"quantity": f"doubles_per_cell_{cells}", "measured": size / 8 / cells**3}
