"""Lid-driven cavity: unit square, lid at 1 m/s, the other walls at rest, steady state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, extreme, quantity
from undertow.validation.drawing import curves
from undertow.validation.lid_cavity_1000.ghia import U_OF_Y, V_OF_X

N = 128


def measure(reynolds: int, end: float) -> Iterator[Quantity]:
    """Extremes of u on x = 0.5 and v on y = 0.5, and the distance from the profiles of Ghia et al. 1982."""
    scene = ut.Scene(
        name=f"lid-cavity-{reynolds}",
        gravity=(0.0, 0.0),
        domain=ut.Domain(upper=(1.0, 1.0), resolution=N, sides={"y_high": ut.Wall(velocity=(1.0, 0.0))}),
        time=ut.Time(end=end, frame_rate=1.0, cfl=0.9, stepper="second_order"),
        fluid=ut.Fluid(density=1.0, viscosity=1.0 / reynolds, advection="eno3", tolerance=1e-5),
    )
    sim = ut.Simulation(scene)
    sim.advance_to(end)
    s = (np.arange(N) + 0.5) / N
    half = np.full(N, 0.5)
    u = sim.sample("velocity", np.column_stack([half, s]))[:, 0]
    v = sim.sample("velocity", np.column_stack([s, half]))[:, 1]
    yield quantity("u_min", extreme(u, largest=False))
    yield quantity("v_max", extreme(v, largest=True))
    yield quantity("v_min", extreme(v, largest=False))
    for name, table, found, along in (("u", U_OF_Y, u, "y [m]"), ("v", V_OF_X, v, "x [m]")):
        points = np.array(table["points"])
        inside = (points > s[0]) & (points < s[-1])
        difference = np.interp(points[inside], s, found) - np.array(table[reynolds])[inside]
        plot = curves(
            f"Lid-driven cavity, Re {reynolds}, {N} x {N}", along, f"{name} [m/s]",
            undertow=(s, found), of_Ghia_1982=(points, table[reynolds]),
        )  # fmt: skip
        yield quantity(f"ghia_{name}", float(np.max(np.abs(difference))), info=True, points=points[inside].tolist(),
                       difference=difference.tolist(), curves=plot)  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """Extremes of the centreline velocities at 128^2."""
    yield from measure(1000, 60.0)
