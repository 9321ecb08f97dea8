"""Balls and soft rings on a trampoline: none falls through, the toss lifts them, and only by the work of the rim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import undertow as ut
from undertow.scene.gallery.trampoline import make_scene
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Quantity, quantity

STROKE = 0.4


class Toss(NamedTuple):
    """through: balls and rings under the sheet at the end; height [m]: gain of the highest ball; crossings: most of
    sheet and rings; gain [J]: largest of the energy of everything at any time over that at any time before, beyond the
    work of the rim between the two; work [J]: of the rim; weight [N] of a ball."""

    through: int
    height: float
    crossings: int
    gain: float
    work: float
    weight: float


def toss(resolution: int, balls: int, rings: int, end: float) -> Toss:
    """Balls and rings fall on the sheet, which is moved at 1.5 s."""
    sim = ut.Simulation(make_scene(resolution, balls, rings))
    soft = sim.part(SoftPart).soft
    surfaces = sim.part(SoftPart).soft_solids.surfaces
    names = [f"ball-{i}" for i in range(balls)]
    rest, highest, crossings, frame = 0.0, 0.0, 0, 0.0
    work, least, gain = 0.0, float("inf"), 0.0
    while sim.time < end - 1e-9:
        row = sim.step().ledger
        work += row["soft_work"]
        free = row["energy"] - work
        least = min(least, free)
        gain = max(gain, free - least)
        top = max(float(sim.body(name).position[1]) for name in names)
        if sim.time < 1.6:
            rest = top
        highest = max(highest, top) if sim.time > 1.6 else 0.0
        if sim.time >= frame:
            crossings, frame = max(crossings, surfaces.crossings(soft.x)), frame + 1 / 24
    lowest = float(soft.x[soft.parts[0].nodes, 1].min())
    fallen = [*names, *(f"ring-{i}" for i in range(rings))]
    through = sum(float(sim.body(name).position[1]) < lowest for name in fallen)
    bodies = sim.part(RigidPart).bodies
    weight = 9.81 / float(bodies.inv_mass_b[bodies.index(names[0])])
    return Toss(through, highest - rest, crossings, gain, work, weight)


def run(full: bool = False) -> Iterator[Quantity]:
    """16 elements across the sheet, 2 balls and a ring (full: 32, 3 and 3), 2.4 s."""
    found = toss(32, 3, 3, 2.4) if full else toss(16, 2, 1, 2.4)
    yield quantity("through", found.through)
    yield quantity("tossed", found.height / STROKE)
    yield quantity("tossed_over_work", found.weight * found.height / found.work, work=found.work)
    yield quantity("energy_gain", found.gain / found.work)
    yield quantity("crossings", found.crossings)
