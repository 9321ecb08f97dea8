"""Newton's cradle on hinges: energy and momentum that joints and restitution pass on together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, pi, radians, sin, sqrt
from typing import NamedTuple

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

LENGTH, RADIUS, ANGLE, BALLS = 1.0, 0.1, 30.0, 5
PERIOD = 2.0 * pi * sqrt((LENGTH**2 + 0.4 * RADIUS**2) / (9.81 * LENGTH)) * (1.0 + radians(ANGLE) ** 2 / 16.0)
"""Of one ball [s]."""
SWINGS = 2.6


class Swung(NamedTuple):
    """Energy at the end and the most there ever was, over that of the start; largest speed of the last ball over that
    of the first."""

    energy: float
    most: float
    last: float


def make_scene(
    raised: int = 1, rate: int = 240, restitution: float = 1.0, masses: Sequence[float] = (1.0,) * BALLS
) -> ut.Scene:
    """Balls on hinges to the world, the first ``raised`` of them to the side; masses relative to that of water."""
    objects: dict[str, ut.RigidBody | ut.Joint] = {}
    for i, mass in enumerate(masses):
        x, angle = 2.0 * RADIUS * i, radians(ANGLE) if i < raised else 0.0
        objects[f"ball-{i}"] = ut.RigidBody(
            shape=ut.Sphere(radius=RADIUS), position=(x - LENGTH * sin(angle), -LENGTH * cos(angle), 0.0),
            density=1000.0 * mass, restitution=restitution, friction=0.0,
        )  # fmt: skip
        objects[f"hinge-{i}"] = ut.Joint(kind="hinge", child=f"ball-{i}", position=(x, 0.0, 0.0))
    time = ut.Time(end=SWINGS * PERIOD, fixed_step=1.0 / rate)
    return ut.Scene(name="cradle", time=time, objects=objects, solids=ut.Solids())


def swing(scene: ut.Scene, end: float) -> Swung:
    """Run to ``end`` [s]."""
    sim = ut.Simulation(scene)
    names = [name for name in scene.objects if name.startswith("ball")]
    masses = [scene.bodies[name].density * 4.0 / 3.0 * pi * RADIUS**3 for name in names]  # type: ignore[operator]
    lowest = -9.81 * LENGTH * sum(masses)
    heights = [scene.bodies[name].position[1] for name in names]
    start = sum(9.81 * mass * height for mass, height in zip(masses, heights, strict=True)) - lowest
    energy = most = first = last = 0.0
    while sim.time < end - 1e-9:
        row = sim.step().ledger
        energy = (row["kinetic_energy"] + row["potential_energy"] - lowest) / start
        most = max(most, energy)
        first = max(first, float(sim.body(names[0]).velocity[0]))
        last = max(last, float(sim.body(names[-1]).velocity[0]))
    return Swung(energy, most, last / first)


def run(full: bool = False) -> Iterator[Quantity]:
    """2.6 periods with one ball at two steps, with two and three, with unequal masses and with less restitution."""
    end = SWINGS * PERIOD
    fine, coarse = swing(make_scene(), end), swing(make_scene(rate=60), end)
    yield quantity("loss_fine", abs(1.0 - fine.energy))
    yield quantity("loss_coarse", abs(1.0 - coarse.energy))
    yield quantity("last", fine.last)
    two, three = swing(make_scene(2), end), swing(make_scene(3), end)
    yield quantity("loss_two", abs(1.0 - two.energy))
    yield quantity("loss_three", abs(1.0 - three.energy))
    unequal = swing(make_scene(masses=(1.0, 3.0, 0.5, 2.0, 1.0)), end)
    yield quantity("loss_unequal", abs(1.0 - unequal.energy))
    others = [swing(make_scene(rate=120, restitution=e), 0.5 * end) for e in (0.5, 0.0)]
    yield quantity("gain", max(run.most for run in (fine, coarse, two, three, unequal, *others)) - 1.0)
