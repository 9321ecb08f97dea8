"""Slip along a ramp: a layer of particles on a static plate, with gravity turned instead of the plate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.grid import Array
from undertow.validation.analysis import Quantity, quantity

SLOPE = np.radians(30.0)
LENGTH, PLATE, LAYER = 0.6, 0.1, 0.2
"""Of the periodic ramp, thickness of the plate and of the layer [m]."""
END = 0.25


def make_scene(slip: float, resolution: int) -> ut.Scene:
    """A ramp of 30 degrees, periodic along x; only the contact is between fluid and plate."""
    g = 9.81
    return ut.Scene(
        name="slip",
        gravity=(g * float(np.sin(SLOPE)), -g * float(np.cos(SLOPE))),
        domain=ut.Domain(
            upper=(LENGTH, 0.5), resolution=resolution,
            sides={"x_low": "periodic", "x_high": "periodic", "y_high": "open"},
        ),
        time=ut.Time(end=END, frame_rate=20),
        sph=ut.Sph(slip=slip),
        objects={
            "layer": ut.SphFluid(shape=ut.Box(size=(2 * LENGTH, LAYER)), position=(LENGTH / 2, PLATE + LAYER / 2)),
            "plate": ut.RigidBody(
                shape=ut.Box(size=(2 * LENGTH, PLATE, 1.0)), position=(LENGTH / 2, PLATE / 2), slip=True
            ),
        },
    )  # fmt: skip


def speeds(slip: float, resolution: int) -> tuple[Array, Array]:
    """Velocities along the ramp of the particles that touch it, and of all [m/s]."""
    sim = ut.Simulation(make_scene(slip, resolution))
    sim.advance_to(END)
    fluid = sim.model.fluid  # type: ignore[attr-defined]
    place, u = fluid.positions(), fluid.velocities()[:, 0]
    touching = place[:, 1] - PLATE < 2.0 * fluid.radius
    return u[touching], u


def run(full: bool = False) -> Iterator[Quantity]:
    """eps from no slip to full slip."""
    resolution = 60 if full else 30
    found = {eps: speeds(eps, resolution) for eps in (0.0, 0.25, 0.5, 0.75, 1.0)}
    means = [float(u.mean()) for u, _ in found.values()]
    falls = sum(b < a for a, b in zip(means, means[1:], strict=False))
    detail: dict[str, Any] = {f"eps {eps:g}": m for eps, m in zip(found, means, strict=True)}
    yield quantity("not_monotone", float(falls), **detail)
    free = 9.81 * float(np.sin(SLOPE)) * END
    yield quantity("frictionless", float(found[1.0][1].mean()) / free, slip_velocity=means[-1] / free)
    yield quantity("sticking", float(np.abs(found[0.0][0]).max()), touching=len(found[0.0][0]))
