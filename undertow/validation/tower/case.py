"""Towers of boxes at default settings: how far they creep, and whether they gain energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SIDE, DENSITY, GRAVITY = 1.0, 1000.0, 9.81


class Stood(NamedTuple):
    """Farthest way of a box from its place [m], largest gain of energy over m g h, and the part of the contact solves
    that stopped short."""

    creep: float
    gain: float
    short: float


def stand(
    count: int, dimensions: int = 3, friction: float = 0.5, rate: int = 60, top: float = 1.0, end: float = 10.0
) -> Stood:
    """``count`` boxes on each other for ``end`` [s], the last one ``top`` times as dense."""
    flat = dimensions == 2
    ground = ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0, 0) if flat else (0, 0, 0), friction=friction)
    objects: dict[str, Any] = {"ground": ground}
    for i in range(count):
        place = (0.0, (i + 0.5) * SIDE, 0.0)
        objects[f"box-{i}"] = ut.RigidBody(
            shape=ut.Box(size=(SIDE, SIDE) if flat else (SIDE,) * 3), position=place[:2] if flat else place,
            density=DENSITY * (top if i == count - 1 else 1.0), friction=friction,
        )  # fmt: skip
    time = ut.Time(end=end, fixed_step=1.0 / rate)
    sim = ut.Simulation(ut.Scene(name="tower", time=time, objects=objects, solids=ut.Solids()))
    start = {name: np.array(sim.body(name).position) for name in objects}
    energy, gain, short, steps = 0.0, 0.0, 0.0, round(end * rate)
    for n in range(steps):
        row = sim.step().ledger
        energy = row["energy"] if n == 0 else energy
        gain = max(gain, row["energy"] - energy)
        short += row["unconverged"] / (2 * steps)
    creep = max(float(np.linalg.norm(sim.body(name).position - then)) for name, then in start.items())
    return Stood(creep, gain / (DENSITY * SIDE**3 * GRAVITY * SIDE), short)


def run(full: bool = False) -> Iterator[Quantity]:
    """Towers of 5, 15, 20 and 30 boxes, other frictions, steps and a heavy box on top."""
    runs = []
    for count in (5, 15, 20, 30):
        for dimensions in (2, 3):
            stood = stand(count, dimensions)
            runs.append(stood)
            yield quantity(f"creep_{count}_{dimensions}d", stood.creep, short=stood.short)
    others = {
        "slippery": {"count": 20, "friction": 0.1},
        "rough": {"count": 20, "friction": 2.0},
        "short": {"count": 20, "rate": 240, "end": 2.5},
        "heavy": {"count": 15, "top": 100.0},
    }
    for name, chosen in others.items():
        stood = stand(**chosen)  # type: ignore[arg-type]
        runs.append(stood)
        yield quantity(f"creep_{name}", stood.creep, short=stood.short)
    yield quantity("gain", max(stood.gain for stood in runs))
