"""How high a ball must fall to break a plate, and the weight that breaks one: against formulas, at several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

GRAVITY = 9.81
STRENGTH = 5.0
"""Of the plate, an impulse [N s]."""
BALL, PLATE = 1.0, 400.0
"""Masses [kg]."""
FORCE = 3000.0
"""Strength of the plate that is loaded [N]."""
PLATE_LOADED = 20.0
START, RATE, END = 2400.0, 200.0, 5.0
"""The load on it at first [N], by how much it grows [N/s], and how long [s]."""
STEP = 1.0 / 240.0
BISECTIONS = 9


def plate(mass: float, restitution: float, fracture: ut.Fracture) -> dict[str, ut.RigidBody]:
    """A plate on the ground."""
    return {
        "ground": ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0, 0, 0), restitution=restitution),
        "plate": ut.RigidBody(
            shape=ut.Box(size=(1.0, 0.1, 1.0)), position=(0, 0.05, 0), mass=mass, restitution=restitution,
            fracture=fracture,
        ),
    }  # fmt: skip


def breaks(height: float, step: float, restitution: float, at: float = 0.0) -> bool:
    """Whether a ball that falls from a height [m] on the plate, ``at`` [m] from its middle, breaks it."""
    fracture = ut.Fracture(pattern="radial", pieces=8, strength=STRENGTH)
    objects = plate(PLATE, restitution, fracture)
    objects["ball"] = ut.RigidBody(
        shape=ut.Sphere(radius=0.05), position=(at, 0.15 + height, 0.0), mass=BALL, restitution=restitution
    )
    fall = float(np.sqrt(2.0 * height / GRAVITY))
    scene = ut.Scene(
        name="fracture-threshold", gravity=(0.0, -GRAVITY, 0.0), objects=objects,
        time=ut.Time(end=fall + 0.1, frame_rate=1.0 / step, fixed_step=step),
    )  # fmt: skip
    sim = ut.Simulation(scene)
    while sim.time < fall + 3.0 * step:
        if sim.step().broken:
            return True
    return False


def threshold(breaks_at: Callable[[float], bool], low: float, high: float) -> float:
    """Where ``breaks_at`` changes from false at low to true at high."""
    if breaks_at(low) or not breaks_at(high):
        return float("nan")
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if breaks_at(middle) else (middle, high)
    return 0.5 * (low + high)


def breaking_load(step: float) -> float:
    """Force [N] under which a plate breaks on which it grows slowly, and which stands on the ground."""
    objects = plate(PLATE_LOADED, 0.0, ut.Fracture(pattern="radial", pieces=8, strength_force=FORCE))
    grows = ut.Table(times=(0.0, END), values=((0.0, -START, 0.0), (0.0, -START - RATE * END, 0.0)))
    loaded = objects["plate"].model_copy(update={"loads": (ut.ForceLoad(force=grows),)})
    scene = ut.Scene(
        name="breaking-load", gravity=(0.0, -GRAVITY, 0.0), objects={**objects, "plate": loaded},
        time=ut.Time(end=END, frame_rate=1.0 / step, fixed_step=step),
    )  # fmt: skip
    sim = ut.Simulation(scene)
    while sim.time < END - step:
        report = sim.step()
        if report.broken:
            return START + RATE * report.time
    return float("nan")


def run(full: bool = False) -> Iterator[Quantity]:
    """Heights in parts of that by hand, and breaking loads at steps of 1/60 and 1/240 s."""
    for name, restitution in (("height", 0.0), ("height_bouncing", 0.5)):
        # the impulse of a ball and a plate that meet at v: (1 + e) m v, with the plate on the ground as good as fixed
        mass = BALL if restitution == 0.0 else BALL * PLATE / (BALL + PLATE)
        by_hand = (STRENGTH / ((1.0 + restitution) * mass)) ** 2 / (2.0 * GRAVITY)
        found = threshold(lambda h, e=restitution: breaks(h, STEP, e), 0.8 * by_hand, 1.2 * by_hand)  # type: ignore[misc]
        yield quantity(name, found / by_hand, height=found, by_hand=by_hand)
    loads = {rate: breaking_load(1.0 / rate) for rate in (60, 240)}
    expected = FORCE - PLATE_LOADED * GRAVITY
    yield quantity("load", loads[240] / expected, loads=loads, by_hand=expected)
    yield quantity("load_change", abs(loads[240] / loads[60] - 1.0), loads=loads)
