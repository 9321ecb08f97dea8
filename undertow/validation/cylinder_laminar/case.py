"""Laminar flow past a cylinder (thesis 5.11.3): both forms converge to one velocity at (3, 2.25) m, t = 0.5 s."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, observed_order, quantity

END = 0.5


def simulate(n: int, form: str) -> np.ndarray:
    """Velocity (2,) at the sample point [m/s]."""
    scene = ut.Scene(
        name="cylinder-laminar",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(4.0, 4.0),
            resolution=n,
            sides={
                "x_low": ut.Inflow(velocity=(1.0, 0.0)),
                "x_high": "outflow",
                "y_low": ut.Wall(slip=True),
                "y_high": ut.Wall(slip=True),
            },
        ),
        time=ut.Time(end=END, frame_rate=1 / END, fixed_step=0.4 * 4.0 / n, stepper="second_order"),
        fluid=ut.Fluid(density=1.0, viscosity=0.1, advection="maccormack", viscosity_form=form),
        objects={"cylinder": ut.RigidBody(shape=ut.Sphere(radius=0.5), position=(2.0, 2.0))},
    )
    sim = ut.Simulation(scene)
    sim.advance_to(END)
    return np.asarray(sim.sample("velocity", [(3.0, 2.25)])[0, :2])


def run(full: bool = False) -> Iterator[Quantity]:
    """Orders of both velocity components against the split form on the finest grid."""
    sizes = [40, 80, 160, 320]
    finest = 640
    reference = simulate(finest, "split")
    for form in ("coupled", "split"):
        found = [simulate(n, form) for n in sizes]
        for axis, name in enumerate("uv"):
            errors = [abs(float(v[axis] - reference[axis])) for v in found]
            yield quantity(f"order_{name}_{form}", observed_order(sizes, errors), cells=sizes, errors=errors,
                           reference_grid=finest, reference_velocity=reference.tolist())  # fmt: skip
