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
    """Orders of both velocity components against the split form on the finest grid, and of what parts the two forms."""
    sizes = [40, 80, 160, 320]
    finest = 640
    reference = simulate(finest, "split")
    # errors that fall as they should say nothing of what they fall to
    for axis, name in enumerate("uv"):
        yield quantity(name, reference[axis], cells=finest)
    found = {form: np.array([simulate(n, form) for n in sizes]) for form in ("coupled", "split")}
    # the finest grid is off by as much as the last two differ: towards this limit errors of first order show as such
    limit = 2 * reference - found["split"][-1]
    for form, velocities in found.items():
        for axis, name in enumerate("uv"):
            errors = np.abs(velocities[:, axis] - reference[axis])
            yield quantity(f"order_{name}_{form}", observed_order(sizes, errors), cells=sizes, errors=errors.tolist(),
                           reference_grid=finest, reference_velocity=reference.tolist())  # fmt: skip
            errors = np.abs(velocities[:, axis] - limit[axis])
            yield quantity(f"order_{name}_{form}_limit", observed_order(sizes, errors), info=True, cells=sizes,
                           errors=errors.tolist(), limit=limit.tolist())  # fmt: skip
    apart = np.linalg.norm(found["coupled"] - found["split"], axis=1)
    yield quantity("order_apart", observed_order(sizes, apart), cells=sizes, errors=apart.tolist())
