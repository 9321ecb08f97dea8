"""A soft beam on the floor of a channel bends in the stream: where its tip is, under refinement (thesis 5.11.5)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, observed_order, quantity

SPEED = 0.25


def tip(n: int, end: float = 1.0) -> Array:
    """Position (2,) [m] of the upper right node after ``end`` seconds with ``n`` cells across the channel."""
    dx = 1.0 / n
    hold = ut.Hold(shape=ut.Box(size=(0.2, 0.01)), position=(1.0, 0.0))
    scene = ut.Scene(
        name="beam-in-flow",
        coupling="monolithic",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2.0, 1.0),
            resolution=2 * n,
            sides={
                "x_low": ut.Inflow(velocity=(SPEED, 0.0)),
                "x_high": "outflow",
                "y_low": ut.Wall(slip=True),
                "y_high": ut.Wall(slip=True),
            },
        ),
        time=ut.Time(end=end, frame_rate=1 / end, fixed_step=0.5 * dx / SPEED),
        fluid=ut.Fluid(density=100.0, viscosity=1.0, initial_velocity=(SPEED, 0.0), tolerance=1e-6),
        objects={
            "beam": ut.SoftBody(
                shape=ut.Box(size=(0.1, 0.5)),
                position=(1.0, 0.25),
                element_size=0.025,
                density=200.0,
                youngs_modulus=4000.0,
                poisson_ratio=0.4,
                damping=0.02,
                holds=(hold,),
            )
        },
    )
    sim = ut.Simulation(scene)
    soft = sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    corner = int(np.argmax(soft.rest[:, 0] + soft.rest[:, 1]))
    sim.advance_to(end)
    return np.array(soft.x[corner, :2])


def run(full: bool) -> Iterator[Quantity]:
    """Against the finest grid: 128 cells across with ``full``, else 64; the beam stays as it is, steps shrink along."""
    finest = 128 if full else 64
    sizes = [finest // 8, finest // 4, finest // 2]
    reference = tip(finest)
    errors = [float(np.linalg.norm(tip(n) - reference)) for n in sizes]
    yield quantity("order", observed_order(sizes, errors), cells=sizes, errors=errors, tip=reference.tolist())
