"""The collapse of a column of particles: front against Martin and Moyce 1952."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.sph import OPEN, WALL, ImplicitFluid, SphBox, SphFluid, SphSettings, viscosity_of_alpha
from undertow.validation.analysis import Array, Quantity, quantity
from undertow.validation.dam_break.case import FRONT, LARGEST_SHIFT, WIDTH


def collapse(
    across: int, end: float, alpha: float = 0.1, method: type[SphFluid] = SphFluid
) -> tuple[Array, Array, float, float]:
    """T, Z, the largest density ratio and the share of steps whose solve stopped at its limit, of a column two widths
    high, ``across`` particles per width."""
    dx = WIDTH / across
    lower, upper = np.array([0.0, 0.0, -dx / 2]), np.array([5.0 * WIDTH, 2.5 * WIDTH, dx / 2])
    box = SphBox(lower, upper, dx, 2, (WALL, WALL, WALL, OPEN, WALL, WALL), stick=(0.0,) * 6)
    sound = 10.0 * np.sqrt(2.0 * 9.81 * 2.0 * WIDTH)
    fluid = method(box, SphSettings(1000.0, sound, viscosity_of_alpha(alpha, dx, sound, 2), artificial=True))
    lattice = box.lattice()
    fluid.add_fluid(lattice[(lattice[:, 0] < WIDTH) & (lattice[:, 1] < 2.0 * WIDTH)], np.zeros(3))
    fluid.begin()
    scale, time, densest, unconverged = float(np.sqrt(2.0 * 9.81 / WIDTH)), 0.0, 0.0, 0
    rows = [(0.0, 1.0)]
    while time * scale < end:
        dt = min(fluid.limits().values())
        fluid.step(dt)
        time += dt
        place = fluid.points.spec.place[: fluid.count][fluid.points.spec.label[: fluid.count] >= 0]
        rows.append((time * scale, float(place[:, 0].max() + 0.5 * dx) / WIDTH))
        densest = max(densest, fluid.totals.density / 1000.0)
        unconverged += int(isinstance(fluid, ImplicitFluid) and fluid.unconverged)
    t, z = np.array(rows).T
    return t, z, densest, unconverged / (len(rows) - 1)


def run(full: bool = False) -> Iterator[Quantity]:
    """30 particles per width (60 with ``full``), weakly compressible and incompressible."""
    across = 60 if full else 30
    yield compare("front", across, *collapse(across, FRONT[-1, 0])[:3])
    t, z, densest, unconverged = collapse(across, FRONT[-1, 0], method=ImplicitFluid)
    yield compare("front_iisph", across, t, z, densest)
    yield quantity("unconverged_iisph", unconverged, steps=len(t) - 1)


def compare(name: str, across: int, t: Array, z: Array, densest: float) -> Quantity:
    """The front against the measured one, after the best time shift."""
    shifts = np.linspace(0.0, LARGEST_SHIFT, 41)
    front = [np.interp(FRONT[:, 0] - shift, t, z) / FRONT[:, 1] - 1.0 for shift in shifts]
    best = int(np.argmin([np.abs(deviation).max() for deviation in front]))
    return quantity(
        name, float(np.abs(front[best]).max()), across=across, shift=float(shifts[best]),
        deviation=front[best].tolist(), density_ratio=densest,
    )  # fmt: skip
