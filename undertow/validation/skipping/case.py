"""A flat stone thrown over water: fast it skips, slowly it sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SURFACE = 0.3
"""Height of the water of the scene [m]."""


def throw(speed: float, resolution: int, end: float) -> dict[str, Any]:
    """Skips of the stone of the gallery thrown with ``speed`` [m/s], and where it ends.

    A skip: the stone has felt the water on its way down, and then feels it no more, rises, and is above the surface.
    """
    scene = ut.scene("stone-skipping", resolution=resolution)
    stone = scene.bodies["stone"].model_copy(update={"velocity": (speed, -1.5)})
    time = ut.Time(end=end, frame_rate=scene.time.frame_rate)
    sim = ut.Simulation(scene.model_copy(update={"objects": {**scene.objects, "stone": stone}, "time": time}))
    skips, sinking, hits = 0, False, 0.0
    while sim.time < end - 1e-9:
        sim.step()
        body = sim.body("stone")
        felt = any(body.force)
        hits = max(hits, float(body.velocity[1]))
        if sinking and not felt and body.velocity[1] > 0 and body.position[1] > SURFACE:
            skips, sinking = skips + 1, False
        sinking = sinking or (felt and body.velocity[1] < 0)
    body = sim.body("stone")
    return {"skips": skips, "x": float(body.position[0]), "height": float(body.position[1]), "fastest_rise": hits}


def run(full: bool = False) -> Iterator[Quantity]:
    """12 m/s and 2 m/s."""
    resolution = 240 if full else 120
    fast = throw(12.0, resolution, 0.45)
    yield quantity("fast_skips", float(fast.pop("skips")), **fast)
    slow = throw(2.0, resolution, 0.6)
    yield quantity("slow_skips", float(slow.pop("skips")), **slow)
