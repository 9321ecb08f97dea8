"""The scene ``sinking-gems``: stones come to rest on the floor, the cork under the lid, and amber sinks behind them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

STONES = ("ruby", "emerald", "pearl")


def lowest(sim: ut.Simulation, name: str) -> float:
    """Height of the lowest point of a body above the floor [m]."""
    (frame,) = (frame for frame in sim.frame_data(fields=()).bodies if frame.name == name)
    return float(frame.vertices[:, 1].min())


def highest(sim: ut.Simulation, name: str) -> float:
    """Height of the highest point of a body [m]."""
    (frame,) = (frame for frame in sim.frame_data(fields=()).bodies if frame.name == name)
    return float(frame.vertices[:, 1].max())


def run(full: bool) -> Iterator[Quantity]:
    """24 x 36 x 16 cells; with ``full`` 48 x 72 x 32, those of the scene."""
    scene = ut.scene("sinking-gems", resolution=72 if full else 36)
    sim = ut.Simulation(scene)
    height = scene.domain.upper[1]  # type: ignore[union-attr]
    start = {name: sim.body(name).position[1] for name in (*STONES, "amber")}
    fallen = dict.fromkeys(start, 0.0)
    fastest = 0.0
    while sim.time < scene.time.end:
        sim.step()
        fastest = max(fastest, float(np.abs(sim.state.u).max()))
        if sim.time < 0.4:
            fallen = {name: start[name] - sim.body(name).position[1] for name in start}
    yield quantity("speed", fastest / float(np.sqrt(2.0 * 9.81 * height)))
    yield quantity("stones", max(lowest(sim, name) for name in STONES) / height, steps=sim.step_count)
    yield quantity("cork", 1.0 - highest(sim, "cork") / height)
    yield quantity("amber", fallen["amber"] / min(fallen[name] for name in STONES), fallen=fallen)
