"""A cube on an inclined plane with Coulomb friction: a = g (sin - mu cos) when it slides, none when mu > tan."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, radians, sin, tan

import numpy as np

from undertow.geometry import Box, Plane, rotation_matrix
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Quantity, quantity

ANGLE = 30.0
GRAVITY = 9.81
START, END = 1.0, 2.0
"""Speed at the start [m/s] and duration [s]."""


def slide(friction: float, rate: float, speed: float, duration: float) -> tuple[float, float]:
    """Distance slid downhill [m] and final speed [m/s] at ``rate`` steps per second."""
    world = SolidsWorld()
    tilt = rotation_matrix((0.0, 0.0, 1.0), -ANGLE)
    down, up = tilt @ np.array([1.0, 0.0, 0.0]), tilt @ np.array([0.0, 1.0, 0.0])
    world.add("plane", Plane(), rotation=tilt, friction=friction)
    cube = world.add("cube", Box((0.2, 0.2, 0.2)), 0.1 * up, tilt, 1000.0, friction=friction, velocity=speed * down)
    start = world.bodies.x_b[cube].copy()
    for _ in range(round(duration * rate)):
        world.step(1.0 / rate)
    return float(down @ (world.bodies.x_b[cube] - start)), float(np.linalg.norm(world.bodies.v_b[cube]))


def run(full: bool = False) -> Iterator[Quantity]:
    """Distance slid against v t + a t^2 / 2 at 30 Hz and 300 Hz; drift of a cube that sticks."""
    mu = 0.4
    angle = radians(ANGLE)
    exact = START * END + 0.5 * GRAVITY * (sin(angle) - mu * cos(angle)) * END**2
    for rate in (30, 300):
        distance, _ = slide(mu, rate, START, END)
        yield quantity(f"position_{rate}hz", distance / exact, distance=distance, exact=exact)
    mu = 1.01 * tan(angle)
    worst, creep, late = 0.0, {}, {}
    for rate in (30, 300):
        creep[rate], speed = slide(mu, rate, 0.0, END)
        late[rate] = abs(creep[rate] - slide(mu, rate, 0.0, 0.5 * END)[0]) / (0.5 * END)
        worst = max(worst, abs(creep[rate]) / END, speed)
    yield quantity("drift_stick", worst, creep=creep, friction=mu, limit=tan(angle))
    yield quantity("drift_late", max(late.values()), drifts=late)
