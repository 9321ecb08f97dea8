"""Seconds per frame of a scene over some of its time, beside those of the thesis."""

from __future__ import annotations

import time
from typing import Any

import undertow as ut
from undertow.solids.soft_part import SoftPart

THESIS_RATE = 24.0
"""Frames per second."""


def seconds_per_frame(scene: ut.Scene, start: float, end: float, threads: int, thesis: float) -> dict[str, Any]:
    """A row of a benchmark: the mean from ``start`` to ``end`` [s] of the scene; what comes before is not timed.

    ratio: how many times as fast as the ``thesis`` [s per frame], on whatever computer that was in 2011.
    """
    begun = time.perf_counter()
    sim = ut.Simulation(scene, threads=threads)
    sim.step()
    compiled = time.perf_counter() - begun
    while sim.time < start - 1e-9:
        sim.step()
    begun, first, steps, iterations = time.perf_counter(), sim.time, 0, 0
    while sim.time < end - 1e-9:
        iterations += sim.step().iterations
        steps += 1
    seconds = time.perf_counter() - begun
    count = sum(len(part.cells) for part in sim.part(SoftPart).soft.parts)
    per_frame = seconds / (sim.time - first) / THESIS_RATE
    return {
        "quantity": "seconds_per_frame",
        "size": count,
        "seconds_per_step": seconds / steps,
        "throughput": count * steps / seconds,
        "unit": "elements/s",
        "iterations": iterations / steps,
        "compile_seconds": compiled,
        "ratio": thesis / per_frame,
        "against": f"thesis, {thesis:g} s per frame (2011)",
        "measured": per_frame,
    }
