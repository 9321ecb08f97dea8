"""Scenes of the thesis in which bodies break: frames per second, and the cost of one fracture.

Frames are those of 24 Hz, one step each, of the whole scene with its fractures, without the construction of the scene
and its patterns, which are made once (record 195). The thesis ran its scenes on one core of 3 GHz: 22 frames/s for the
cylinder, 4 for the rabbit, 15 or more for a wall and a ball, 3 and 0.26 late for 25 and 100 spheres on a table.

- ``cylinder_shatter``, ``bunny_shatter``: frames per second of the scene to its end.
- ``walls``: the same of each wall of ``wall-fracture`` with its ball alone, the slowest of the four.
- ``wall_event``: one fracture of a wall of 1.5 x 0.1 x 1 m (150 x 10 x 100 cells of 1 cm) into its pieces, which are
  then in the place of the wall: cuts, mass properties, collision geometry; the pattern has been made before.
- ``table_25``, ``table_100``: frames per second of ``table-1000-spheres`` with so many spheres, over the last quarter
  of a second; five steps per frame. All 1000 are ``fracture-table``.
"""

from __future__ import annotations

import gc
import statistics
import time as clock
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene.gallery import bunny_shatter, cylinder_shatter, table_1000_spheres, wall_fracture

RATE = 24.0
"""Frames per second."""
EVENTS = 7
LATE = 0.25
"""The last seconds of a table."""
TABLES = (25, 100)

SMOKE = {"EVENTS": 1, "TABLES": (2,), "SPHERES": {2: 0.26}}
SPHERES = {25: 3.0, 100: 0.26}
"""Frames per second of the thesis, late."""


def at_frames(scene: ut.Scene) -> ut.Scene:
    """A scene with one step per frame of 24 Hz."""
    return scene.model_copy(update={"time": scene.time.model_copy(update={"frame_rate": RATE})})


def alone(number: int) -> ut.Scene:
    """One wall of ``wall-fracture`` and its ball."""
    scene = at_frames(wall_fracture.make_scene())
    kept = ("ground", f"wall-{number}", f"ball-{number}")
    return scene.model_copy(update={"objects": {name: scene.objects[name] for name in kept}})


def frames(scene: ut.Scene, start: float = 0.0) -> tuple[float, int, int]:
    """Frames per second from ``start`` [s] to the end of a scene; bodies at the end; bodies that broke."""
    warm = ut.Simulation(scene, threads=1)
    while warm.time < scene.time.end - 1e-9 and start == 0.0:
        warm.step()
    sim, broken = ut.Simulation(scene, threads=1), 0
    while sim.time < start - 1e-9:
        broken += len(sim.step().broken)
    gc.collect()
    first, begun = sim.time, clock.perf_counter()
    while sim.time < scene.time.end - 1e-9:
        broken += len(sim.step().broken)
    return (sim.time - first) * RATE / (clock.perf_counter() - begun), len(sim.bodies), broken


def fracture() -> tuple[float, int]:
    """Seconds of one fracture of a wall, the median of several, and its pieces."""
    taken, pieces = [], 0
    for _ in range(EVENTS + 1):
        sim = ut.Simulation(alone(1), threads=1)
        sim.step()
        gc.collect()
        begun = clock.perf_counter()
        pieces = sim.break_body("wall-1", at=(-2.6, 0.5, 0.05), along=(0.0, 0.0, -1.0)).pieces
        taken.append(clock.perf_counter() - begun)
    return statistics.median(taken[1:]), pieces


def row(name: str, rate: float, thesis: float, size: str, **detail: Any) -> dict[str, Any]:
    """A rate against that of the thesis."""
    return {"quantity": name, "size": size, "threads": 1, "measured": rate, "throughput": rate, "unit": "frames/s",
            "ratio": rate / thesis, "against": f"thesis, {thesis:g} frames/s (2011)", "detail": detail}  # fmt: skip


def run(threads: int) -> Iterator[dict[str, Any]]:
    """All on one thread, as the thesis."""
    for name, make, thesis in (
        ("cylinder_shatter", cylinder_shatter.make_scene, 22.0), ("bunny_shatter", bunny_shatter.make_scene, 4.0),
    ):  # fmt: skip
        rate, bodies, broken = frames(at_frames(make()))
        yield row(name, rate, thesis, f"{bodies} bodies", broken=broken)
    found = [frames(alone(number)) for number in range(1, 5)]
    rate, bodies, broken = min(found)
    yield row("walls", rate, 15.0, f"{bodies} bodies", broken=broken, all=[one[0] for one in found])
    seconds, pieces = fracture()
    yield {"quantity": "wall_event", "size": f"{pieces} pieces", "threads": 1, "measured": seconds,
           "seconds_per_step": seconds}  # fmt: skip
    for count in TABLES:
        yield table(count, SPHERES[count])


def table(count: int, thesis: float) -> dict[str, Any]:
    """The late frames of a table with so many spheres."""
    scene = table_1000_spheres.make_scene(count)
    rate, bodies, broken = frames(scene, scene.time.end - LATE)
    return row(f"table_{count}", rate, thesis, f"{bodies} bodies", broken=broken, seconds_per_frame=1.0 / rate)
