"""A plate falls through a channel, held back by the tangential drag of the fluid on both sides alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DENSITY, MASS, HEIGHT, GAP, VISCOSITY, GRAVITY = 100.0, 150.0, 1.0, 1.0 / 3.0, 100.0, 9.8
FIRST = (12, 13, 14)
"""Coarsest grids with the remainders 0, 1, 2 of three."""

LENGTH = 1.5
"""Of the plate: it reaches through the domain at both ends."""

EXACT = -(MASS + DENSITY * GAP * HEIGHT) * GRAVITY * GAP / (2 * HEIGHT * VISCOSITY)
"""Steady velocity of the plate [m/s]."""


def terminal(cells: int, coupling: Literal["monolithic", "lumped"] = "monolithic") -> float:
    """Steady velocity of the plate, which is put back to the middle of the domain after every step.

    ``monolithic``: with wall rows; ``lumped``: at the faces of solid cells, with extra ones behind.
    """
    # buoyancy has no place in a channel without a pressure gradient: the weight that the plate feels is M g
    displaced = DENSITY * GAP * LENGTH
    weight = GRAVITY * MASS / (MASS - displaced)
    scene = ut.Scene(
        name="channel-structure",
        coupling=coupling,
        gravity=(0.0, -weight),
        domain=ut.Domain(upper=(1.0, HEIGHT), resolution=cells, sides={"y_low": "open", "y_high": "open"}),
        time=ut.Time(end=100.0, frame_rate=20.0, fixed_step=0.05),
        fluid=ut.Fluid(
            density=DENSITY,
            viscosity=VISCOSITY,
            acceleration=(0.0, -GRAVITY),
            advection="none",
            tolerance=1e-10,
            no_slip="wall_rows" if coupling == "monolithic" else "extra_faces",
        ),
        objects={"plate": ut.RigidBody(shape=ut.Box(size=(GAP, LENGTH)), position=(0.5, 0.5), mass=MASS)},
    )
    sim = ut.Simulation(scene)
    bodies = sim.scheme.bodies.bodies  # type: ignore[attr-defined]
    place, turn = bodies.x_b.copy(), bodies.q_b.copy()
    before, now = 0.0, 1.0
    while abs(now - before) > 1e-10 * abs(now) and sim.step_count < 400:
        sim.step()
        bodies.x_b[...], bodies.q_b[...] = place, turn
        before, now = now, float(sim.body("plate").velocity[1])
    return now


def run(full: bool) -> Iterator[Quantity]:
    """Wall rows on grids on which the plate's sides cut the cells: one more than a multiple of three.

    They are exact for this flow: what is left is the tolerance of the solves and of the steady state, and a
    slope over the grids says nothing. Reported is the order that leads from an error of 1 at one cell to that measured,
    the lowest of the grids. Solid cells: where the plate's sides are in a cell depends on the cells modulo three, so
    that grids with the same remainder are compared; the lowest order of the three.
    """
    sizes = (16, 31, 61) if full else (16, 31)
    errors = [abs(terminal(n) / EXACT - 1.0) for n in sizes]
    orders = [-np.log(max(error, 1e-16)) / np.log(n) for n, error in zip(sizes, errors, strict=True)]
    yield quantity("order_wall_rows", min(orders), cells=sizes, errors=errors, exact=EXACT)
    ladders = [[first, 2 * first - rest] + ([4 * first - 3 * rest] if full else []) for rest, first in enumerate(FIRST)]
    found = {n: abs(terminal(n, "lumped") / EXACT - 1.0) for ladder in ladders for n in ladder}
    orders = [float(-np.polyfit(np.log(ladder), np.log([found[n] for n in ladder]), 1)[0]) for ladder in ladders]
    yield quantity("order_voxel", min(orders), errors=found, orders=orders)
