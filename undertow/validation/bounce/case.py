"""A ball dropped from 1 m: apex e^2 x 1 m, first order in the time step, energy never above the start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.geometry import Plane, Sphere
from undertow.solids import SolidsWorld
from undertow.validation.analysis import Quantity, observed_order, quantity

RADIUS = 0.1
GRAVITY = 9.81


def drop(e: float, rate: float, height: float = 1.0) -> tuple[float, float]:
    """(apex after the first bounce / (e^2 height), or apex [m] for e = 0; largest relative rise of the energy)."""
    world = SolidsWorld()
    world.add("ground", Plane(), restitution=e)
    ball = world.add("ball", Sphere(RADIUS), (0.0, RADIUS + height, 0.0), density=1000.0, restitution=e)
    mass = world.bodies.mass_b[ball]
    fall = np.sqrt(2 * height / GRAVITY)
    bounced, apex, gain = False, 0.0, 0.0
    floor = mass * GRAVITY * RADIUS
    energy = mass * GRAVITY * (height + RADIUS) - floor
    for _ in range(int(rate * fall * (1.05 + 2 * e))):
        report = world.step(1.0 / rate)
        gain = max(gain, (report.kinetic_after + report.potential_after - floor) / energy - 1.0)
        v = world.bodies.v_b[ball, 1]
        bounced = bounced or world.time > fall * 1.02 or v > 0
        if bounced:
            # what is left of the rise, so that the apex does not depend on where the steps fall
            top = world.bodies.x_b[ball, 1] - RADIUS + max(v, 0.0) ** 2 / (2 * GRAVITY)
            apex = max(apex, top)
    return apex / (e * e * height) if e > 0 else apex, gain


def run(full: bool = False) -> Iterator[Quantity]:
    """Apex for e = 0, 0.5, 1 at 300 Hz; order of the mean error over 40 heights; largest rise of the energy."""
    gains = []
    for e, name in ((0.0, "apex_0"), (0.5, "apex_05"), (1.0, "apex_1")):
        apex, gain = drop(e, 300.0)
        gains.append(gain)
        yield quantity(name, apex)
    rates = [75.0, 150.0, 300.0, 600.0]
    heights = 1.0 + 0.3 * np.modf(np.arange(40) * 0.6180339887498949)[0]
    errors = []
    for rate in rates:
        found = [drop(0.5, rate, float(height)) for height in heights]
        gains += [gain for _, gain in found]
        errors.append(float(np.mean([abs(apex - 1.0) for apex, _ in found])))
    yield quantity("order", observed_order(rates, errors), rates=rates, errors=errors)
    yield quantity("energy_gain", max(gains))
