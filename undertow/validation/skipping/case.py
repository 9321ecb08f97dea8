"""A flat stone thrown over water: fast it skips, slowly it sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

FAST, SLOW = 12.0, 2.0
"""Speeds along the water [m/s]."""
LENGTH, HEIGHT, DEPTH = 9.6, 1.8, 0.3
"""Of the lake, longer than the gallery's so that the stone can come back, of the room above its floor, of the water."""


def make_scene(speed: float, across: int, length: float, end: float) -> ut.Scene:
    """The gallery's stone with ``speed`` [m/s] over a lake ``length`` [m] long, ``across`` particles per metre."""
    scene = ut.scene("stone-skipping-2d")
    stone = scene.bodies["stone"].model_copy(update={"velocity": (speed, -1.5)})
    lake = ut.SphFluid(shape=ut.Box(size=(length, DEPTH)), position=(length / 2, DEPTH / 2))
    domain = ut.Domain(
        upper=(length, HEIGHT), resolution=round(length * across), resolution_along="x", sides={"y_high": "open"}
    )
    time = ut.Time(end=end, frame_rate=scene.time.frame_rate)
    return scene.model_copy(update={"objects": {"lake": lake, "stone": stone}, "domain": domain, "time": time})


def throw(speed: float, across: int, length: float, end: float) -> dict[str, Any]:
    """Skips of the stone thrown with ``speed`` [m/s], and where it ends.

    A skip: the stone has been in the water, then all of it is more than a spacing above the surface at rest, and then
    it is in the water again. left: how often it left; depth: of its upper edge below the surface at the end [m].
    """
    sim = ut.Simulation(make_scene(speed, across, length, end))
    size = [2.0 * half for half in sim.scene.bodies["stone"].shape.half_size()]
    left, skips, wet, flying, highest, edge, half = 0, 0, False, False, 0.0, 0.0, 0.0
    while sim.time < end - 1e-9:
        sim.step()
        body = sim.body("stone")
        half = 0.5 * float(abs(body.matrix[1, 0]) * size[0] + abs(body.matrix[1, 1]) * size[1])
        edge = float(body.position[1]) - half - DEPTH
        if edge < 0.0:
            skips, wet, flying = skips + flying, True, False
        elif wet and edge > 1.0 / across:
            left, wet, flying = left + 1, False, True
        highest = max(highest, edge if flying else 0.0)
    return {
        "skips": skips, "left": left, "highest": highest, "x": float(sim.body("stone").position[0]),
        "depth": -edge - 2.0 * half, "speed": [float(v) for v in sim.body("stone").velocity],
    }  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """12 m/s and 2 m/s."""
    across = 67 if full else 33
    fast = throw(FAST, across, LENGTH, 1.0)
    yield quantity("fast_skips", float(fast.pop("skips")), **fast)
    slow = throw(SLOW, across, 0.4 * LENGTH, 0.8)
    depth = float(slow.pop("depth"))
    yield quantity("slow_skips", float(slow.pop("skips") + slow.pop("left")), **slow)
    yield quantity("slow_depth", depth, unit="m")
