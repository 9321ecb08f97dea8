"""Plane Poiseuille flow driven by a uniform acceleration, between no-slip sides and walls that cut the cells."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, observed_order, quantity

HEIGHT = 1.0
PEAK = 1.0
NU = 0.1


OFFSETS = (0.03, 0.21, 0.38, 0.47, 0.55, 0.72, 0.96)
"""Places of a wall inside a cell, in cells."""

KEEP_GRID = True
"""The grid is part of what is compared."""


def simulate_cut(n: int, form: str, advection: str) -> float:
    """The same between walls about a tenth of the height thick, the worst of their places inside a cell."""
    whole = math.ceil(0.1 * n) / n
    return max(simulate(n, form, advection, whole + offset * HEIGHT / n) for offset in OFFSETS)


def simulate(n: int, form: str, advection: str, gap: float) -> float:
    """Largest error of the steady profile relative to its peak; ``gap``: thickness of the walls [m].

    Without walls inside the domain at the centres of the faces, else of the means over the open parts of all faces.
    """
    width = HEIGHT - 2 * gap
    objects = {}
    if gap:
        for name, middle in (("floor", gap - 0.5), ("ceiling", HEIGHT - gap + 0.5)):
            objects[name] = ut.RigidBody(shape=ut.Box(size=(4.0, 1.0, 1.0)), position=(0.5, middle))
    scene = ut.Scene(
        name="poiseuille", gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(8 * HEIGHT / n, HEIGHT),
            resolution=n,
            resolution_along="y",
            sides={"x_low": "periodic", "x_high": "periodic"},
        ),
        time=ut.Time(end=100.0, frame_rate=0.1, fixed_step=10.0),
        fluid=ut.Fluid(
            density=1.0, viscosity=NU, advection=advection, viscosity_form=form,
            acceleration=(8 * NU * PEAK / width**2, 0.0), tolerance=1e-10,
        ),
        objects=objects,
    )  # fmt: skip
    sim = ut.Simulation(scene)
    sim.advance_to(100.0)
    edges = np.arange(n + 1) * HEIGHT / n
    low, high = np.clip(edges[:-1], gap, HEIGHT - gap), np.clip(edges[1:], gap, HEIGHT - gap)
    faces = high > low
    middles, sizes = 0.5 * (low + high)[faces], (high - low)[faces]
    exact = 4 * PEAK * (middles - gap) * (HEIGHT - gap - middles) / width**2
    if gap:
        exact -= 4 * PEAK * sizes**2 / (12 * width**2)
    found = sim.state.u[0][sim.flow.grid.interior][0, faces, 4]
    return float(np.max(np.abs(found - exact)) / PEAK)


def run(full: bool = False) -> Iterator[Quantity]:
    """Order and error with the domain's own walls; the same with walls that cut the cells."""
    sizes = [8, 16, 32, 64]
    errors = [simulate(n, "split", "semi_lagrangian", 0.0) for n in sizes]
    yield quantity("order", observed_order(sizes, errors), cells=sizes, errors=errors)
    yield quantity("velocity_32", 1.0 - errors[2], cells=32)
    cut = [simulate_cut(n, "split", "semi_lagrangian") for n in sizes[1:]]
    yield quantity("order_cut", observed_order(sizes[1:], cut), cells=sizes[1:], errors=cut)
