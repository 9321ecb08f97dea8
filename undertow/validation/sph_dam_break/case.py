"""The collapse of a column of particles: front against Martin and Moyce 1952."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.grid import Array
from undertow.sph import OPEN, WALL, SphBox, SphFluid, SphSettings, viscosity_of_alpha
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.dam_break.case import FRONT, LARGEST_SHIFT, WIDTH


def collapse(across: int, end: float, alpha: float = 0.1) -> tuple[Array, Array, float]:
    """T, Z and the largest density ratio of a column two widths high, ``across`` particles per width."""
    dx = WIDTH / across
    lower, upper = np.array([0.0, 0.0, -dx / 2]), np.array([5.0 * WIDTH, 2.5 * WIDTH, dx / 2])
    box = SphBox(lower, upper, dx, 2, (WALL, WALL, WALL, OPEN, WALL, WALL), stick=(0.0,) * 6)
    sound = 10.0 * np.sqrt(2.0 * 9.81 * 2.0 * WIDTH)
    fluid = SphFluid(box, SphSettings(1000.0, sound, viscosity_of_alpha(alpha, dx, sound, 2)))
    lattice = box.lattice()
    fluid.add_fluid(lattice[(lattice[:, 0] < WIDTH) & (lattice[:, 1] < 2.0 * WIDTH)], np.zeros(3))
    fluid.begin()
    scale, time, densest = float(np.sqrt(2.0 * 9.81 / WIDTH)), 0.0, 0.0
    rows = [(0.0, 1.0)]
    while time * scale < end:
        dt = min(fluid.limits().values())
        fluid.step(dt)
        time += dt
        place = fluid.points.spec.place[: fluid.count][fluid.points.spec.label[: fluid.count] >= 0]
        rows.append((time * scale, float(place[:, 0].max() + 0.5 * dx) / WIDTH))
        densest = max(densest, fluid.totals.density / 1000.0)
    t, z = np.array(rows).T
    return t, z, densest


def run(full: bool = False) -> Iterator[Quantity]:
    """30 particles per width (60 with ``full``)."""
    across = 60 if full else 30
    t, z, densest = collapse(across, FRONT[-1, 0])
    shifts = np.linspace(0.0, LARGEST_SHIFT, 41)
    front = [np.interp(FRONT[:, 0] - shift, t, z) / FRONT[:, 1] - 1.0 for shift in shifts]
    best = int(np.argmin([np.abs(deviation).max() for deviation in front]))
    yield quantity(
        "front", float(np.abs(front[best]).max()), across=across, shift=float(shifts[best]),
        deviation=front[best].tolist(), density_ratio=densest,
    )  # fmt: skip
