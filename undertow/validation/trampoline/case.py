"""Balls on a trampoline: none falls through, and the toss lifts them."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.scene.gallery.trampoline import make_scene
from undertow.validation.analysis import Quantity, quantity

STROKE = 0.4


def toss(resolution: int, balls: int, end: float) -> tuple[int, float, int]:
    """(Balls under the sheet at the end, gain of the highest ball over the stroke, most crossings of the sheet)."""
    sim = ut.Simulation(make_scene(resolution, balls))
    soft = sim.model.soft  # type: ignore[attr-defined]
    surfaces = sim.model.soft_solids.surfaces  # type: ignore[attr-defined]
    names = [f"ball-{i}" for i in range(balls)]
    rest, highest, crossings, frame = 0.0, 0.0, 0, 0.0
    while sim.time < end - 1e-9:
        sim.step()
        top = max(float(sim.body(name).position[1]) for name in names)
        if sim.time < 1.6:
            rest = top
        highest = max(highest, top) if sim.time > 1.6 else 0.0
        if sim.time >= frame:
            crossings, frame = max(crossings, surfaces.crossings(soft.x)), frame + 1 / 24
    lowest = float(soft.x[:, 1].min())
    through = sum(float(sim.body(name).position[1]) < lowest for name in names)
    return through, (highest - rest) / STROKE, crossings


def run(full: bool = False) -> Iterator[Quantity]:
    """16 elements across the sheet and 3 balls (full: 32 and 5), 2.4 s."""
    through, gain, crossings = toss(32 if full else 16, 5 if full else 3, 2.4)
    yield quantity("through", through)
    yield quantity("tossed", gain)
    yield quantity("crossings", crossings)
