"""Start-up of a flow between two walls under a uniform force (Morris, Fox and Zhu 1997)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from undertow.sph import PERIODIC, WALL, SphBox, SphFluid, SphSettings
from undertow.validation.analysis import Array, Quantity, quantity

WIDTH, VISCOSITY, FORCE = 1e-3, 1e-6, 1e-4
"""Of the channel [m], kinematic [m2/s], and the acceleration that drives the fluid [m/s2]."""
TIMES = (0.0225, 0.045, 0.1125, 0.225, 1.0)


def exact(y: Array, t: float) -> Array:
    """Velocity at heights y [m] and time t [s]: the parabola less a series that decays (Morris et al. 1997, eq. 21)."""
    u = FORCE / (2.0 * VISCOSITY) * y * (WIDTH - y)
    for n in range(100):
        k = (2 * n + 1) * np.pi / WIDTH
        u = u - 4.0 * FORCE / (VISCOSITY * WIDTH * k**3) * np.sin(k * y) * np.exp(-VISCOSITY * k * k * t)
    return np.asarray(u)


def channel(across: int, force: float, lid: float) -> SphFluid:
    """A fluid between walls, periodic along x, ``across`` particles wide; the upper wall moves with ``lid`` [m/s]."""
    dx = WIDTH / across
    length = 12 * dx
    velocity = np.zeros((6, 3))
    velocity[3, 0] = lid
    kind = (PERIODIC, PERIODIC, WALL, WALL, WALL, WALL)
    lower, upper = np.array([0.0, 0.0, -dx / 2]), np.array([length, WIDTH, dx / 2])
    box = SphBox(lower, upper, dx, 2, kind, velocity=velocity)
    fastest = max(FORCE * WIDTH**2 / (8.0 * VISCOSITY), lid)
    settings = SphSettings(1000.0, 10.0 * fastest, 1000.0 * VISCOSITY, (force, 0.0, 0.0))
    fluid = SphFluid(box, settings)
    fluid.add_fluid(box.lattice(), np.zeros(3))
    fluid.begin()
    return fluid


def departures(fluid: SphFluid, profile: Callable[[Array, float], Array], scale: float) -> dict[str, Any]:
    """Largest departure from a profile / scale at the times of the table."""
    found: dict[str, Any] = {}
    time = 0.0
    for target in TIMES:
        steps = int(np.ceil((target - time) / min(fluid.limits().values())))
        for _ in range(steps):
            fluid.step((target - time) / steps)
        time = target
        y, u = fluid.positions()[:, 1], fluid.velocities()[:, 0]
        found[f"t = {target:g} s"] = float(np.abs(u - profile(y, target)).max()) / scale
    return found


def run(full: bool = False) -> Iterator[Quantity]:
    """20 particles across (40 with ``full``)."""
    across = 40 if full else 20
    found = departures(channel(across, FORCE, 0.0), exact, FORCE * WIDTH**2 / (8.0 * VISCOSITY))
    yield quantity("profile", max(found.values()), across=across, **found)
