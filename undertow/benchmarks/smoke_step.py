"""A whole step of rising smoke past a moving sphere at 128^3: seconds per step and memory per cell."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut

CELLS = 128
WARM, TIMED = 5, 20


def make_scene(cells: int) -> ut.Scene:
    """The gallery's smoke-sphere in a cube, pressure to 1e-4."""
    plume = ut.scene("smoke-sphere")
    domain = ut.Domain(upper=(1.0, 1.0, 1.0), resolution=cells, sides={"y_high": "open"})
    fluid = plume.fluid.model_copy(update={"tolerance": 1e-4})
    time_ = plume.time.model_copy(update={"cfl": 1.0})
    return plume.model_copy(update={"domain": domain, "fluid": fluid, "time": time_})


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Median of the timed steps, and doubles per interior cell of everything the simulation holds."""
    begin = time.perf_counter()
    ut.Simulation(make_scene(16), threads).step()
    compile_seconds = time.perf_counter() - begin
    sim = ut.Simulation(make_scene(CELLS), threads)
    for _ in range(WARM):
        sim.step()
    seconds, iterations = [], []
    for _ in range(TIMED):
        begin = time.perf_counter()
        report = sim.step()
        seconds.append(time.perf_counter() - begin)
        iterations.append(report.iterations)
    size = held_bytes(sim)
    common = {
        "size": f"{CELLS}^3",
        "threads": threads,
        "memory_mb": size / 2**20,
        "compile_seconds": compile_seconds,
        "iterations": statistics.median(iterations),
    }
    median = statistics.median(seconds)
    yield common | {
        "quantity": f"seconds_{CELLS}",
        "measured": median,
        "seconds_per_step": median,
        "throughput": CELLS**3 / median,
        "unit": "cells/s",
    }
    yield common | {"quantity": "doubles_per_cell", "measured": size / 8 / CELLS**3}


def held_bytes(root: object) -> int:
    """Bytes of every array reachable from an object, each buffer counted once."""
    seen: set[int] = set()
    buffers: dict[int, int] = {}
    stack = [root]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            base = item
            while isinstance(base.base, np.ndarray):
                base = base.base
            buffers[id(base)] = base.nbytes
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple | set):
            stack.extend(item)
        elif type(item).__module__.startswith("undertow"):
            stack.extend(vars(item).values() if hasattr(item, "__dict__") else ())
    return sum(buffers.values())
