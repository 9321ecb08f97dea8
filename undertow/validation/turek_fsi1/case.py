"""Flow past a cylinder with an elastic flag: FSI1 of Turek and Hron 2006, and CFD1 with a rigid flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DRAG, LIFT, RISE = 14.29426, 0.7637, 0.8208773e-3
"""FSI1: drag and lift [N/m], uy of point A [m]."""

DRAG_RIGID, LIFT_RIGID = 14.2929, 1.11905
"""CFD1 [N/m]."""


def settle(n: int, elastic: bool, end: float) -> tuple[float, float, float]:
    """Drag and lift [N/m] on cylinder and flag, uy of point A [m], after ``end`` seconds with ``n`` cells across."""
    dx = 0.41 / n
    times = tuple(np.linspace(0.0, 2.0, 9))
    ramp = tuple((0.3 * 0.5 * (1.0 - np.cos(np.pi * t / 2.0)), 0.0) for t in times)
    flag: Any = ut.RigidBody(shape=ut.Box(size=(0.36, 0.02)), position=(0.42, 0.2))
    if elastic:
        hold = ut.Hold(shape=ut.Sphere(radius=0.0501), position=(0.2, 0.2))
        flag = ut.SoftBody(
            shape=ut.Box(size=(0.36, 0.02)),
            position=(0.42, 0.2),
            element_size=0.005,
            density=1000.0,
            youngs_modulus=1.4e6,
            poisson_ratio=0.4,
            model="stvk",
            holds=(hold,),
        )
    scene = ut.Scene(
        name="turek-fsi1",
        coupling="monolithic" if elastic else "none",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2.5, 0.41),
            resolution=n,
            resolution_along="y",
            sides={
                "x_low": ut.Inflow(velocity=ut.Table(times=times, values=ramp), profile="parabolic"),
                "x_high": "outflow",
            },
        ),
        time=ut.Time(end=end, frame_rate=1 / end, fixed_step=dx / 0.3),
        # the rigid flag's steady state must not depend on the step; in the split form the drag does by 1%
        fluid=ut.Fluid(density=1000.0, viscosity=1.0, tolerance=1e-5, viscosity_form="split" if elastic else "coupled"),
        objects={"cylinder": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.2, 0.2)), "flag": flag},
    )
    sim = ut.Simulation(scene)
    sim.advance_to(end)
    drag, lift = (float(x) for x in (sim.body("cylinder").force + sim.body("flag").force)[:2])
    if not elastic:
        return drag, lift, 0.0
    soft = sim.model.soft  # type: ignore[attr-defined]
    moved = soft.x - soft.rest
    tip = np.flatnonzero(soft.rest[:, 0] > soft.rest[:, 0].max() - 1e-9)
    return drag, lift, float(moved[tip[np.argmin(np.abs(soft.rest[tip, 1] - 0.2))], 1])


def run(full: bool) -> Iterator[Quantity]:
    """41, 82 and 123 cells across the channel, with ``full`` 82, 123 and 164; after 16 s the flag rests to 0.1%.

    Multiples of 41: the flag's edges lie on grid lines, so that all grids cut it alike.
    """
    sizes, end = (82, 123, 164) if full else (41, 82, 123), 16.0
    drag, lift, _ = settle(sizes[-1], False, end)
    yield quantity("drag_cfd1", drag / DRAG_RIGID, cells=sizes[-1], drag=drag)
    yield quantity("lift_cfd1", lift / LIFT_RIGID, info=True, cells=sizes[-1], lift=lift)
    found = [settle(n, True, end) for n in sizes]
    drags, lifts, rises = zip(*found, strict=True)
    yield quantity("drag", drags[-1] / DRAG, cells=sizes, drag=drags)
    yield quantity("lift", lifts[-1] / LIFT, info=True, cells=sizes, lift=lifts)
    yield quantity("rise", rises[-1] / RISE, cells=sizes, rise=rises)
    errors = [abs(rise / RISE - 1.0) for rise in rises]
    yield quantity("rise_convergence", max(b / a for a, b in zip(errors, errors[1:], strict=False)), errors=errors)
