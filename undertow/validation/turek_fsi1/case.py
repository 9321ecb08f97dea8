"""Flow past a cylinder with an elastic flag: FSI1 of Turek and Hron 2006, and CFD1 with a rigid flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DRAG, DRAG_RIGID, RISE = 14.29426, 14.2929, 0.8208773e-3
"""Drag of FSI1 and CFD1 [N/m] and uy of point A [m]."""


def settle(n: int, elastic: bool, end: float) -> tuple[float, float]:
    """Drag [N/m] on cylinder and flag, and uy of point A [m], after ``end`` seconds with ``n`` cells across."""
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
        time=ut.Time(end=end, frame_rate=1 / end, fixed_step=0.5 * dx / 0.3),
        fluid=ut.Fluid(density=1000.0, viscosity=1.0, tolerance=1e-5),
        objects={"cylinder": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.2, 0.2)), "flag": flag},
    )
    sim = ut.Simulation(scene)
    sim.advance_to(end)
    drag = float(sim.body("cylinder").force[0] + sim.body("flag").force[0])
    if not elastic:
        return drag, 0.0
    soft = sim.model.soft  # type: ignore[attr-defined]
    moved = soft.x - soft.rest
    tip = np.flatnonzero(soft.rest[:, 0] > soft.rest[:, 0].max() - 1e-9)
    return drag, float(moved[tip[np.argmin(np.abs(soft.rest[tip, 1] - 0.2))], 1])


def run(full: bool) -> Iterator[Quantity]:
    """41, 62 and 82 cells across the channel (8 s), with ``full`` 62, 82 and 123 (15 s)."""
    sizes, end = ((62, 82, 123), 15.0) if full else ((41, 62, 82), 8.0)
    rigid, _ = settle(sizes[-1], False, end)
    yield quantity("drag_cfd1", rigid / DRAG_RIGID, cells=sizes[-1], drag=rigid)
    found = [settle(n, True, end) for n in sizes]
    yield quantity("drag", found[-1][0] / DRAG, cells=sizes, drag=[drag for drag, _ in found])
    rises = [rise for _, rise in found]
    yield quantity("rise", rises[-1] / RISE, cells=sizes, rise=rises)
    errors = [abs(rise / RISE - 1.0) for rise in rises]
    yield quantity("rise_convergence", max(b / a for a, b in zip(errors, errors[1:], strict=False)), errors=errors)
