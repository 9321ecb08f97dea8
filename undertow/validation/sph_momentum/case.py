"""Momentum that fluid and bodies exchange: linear exactly, angular as the points of attack say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import undertow as ut
from undertow.grid import Array
from undertow.validation.analysis import Quantity, quantity

RADIUS = 0.12
"""Of the ball [m]."""


def make_scene(slip: float, scheme: str) -> ut.Scene:
    """A cloud of viscous particles without gravity flies into two spinning bodies, nothing else near."""
    side = {name: "open" for name in ("x_low", "x_high", "y_low", "y_high", "z_low", "z_high")}
    return ut.Scene(
        name="sph-momentum",
        coupling="direct_forcing",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(1.0, 1.0, 1.0), resolution=20, sides=side),
        time=ut.Time(end=0.1, frame_rate=10),
        sph=ut.Sph(slip=slip, scheme=scheme, sound_speed=20.0, viscosity=1e-3),
        objects={
            "cloud": ut.SphFluid(
                shape=ut.Box(size=(0.4, 0.5, 0.5)), position=(0.35, 0.5, 0.5), velocity=(1.5, 0.2, -0.1)
            ),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=RADIUS), position=(0.72, 0.45, 0.5), density=600.0,
                velocity=(-0.5, 0.0, 0.1), angular_velocity=(1.0, -2.0, 3.0),
            ),
            "block": ut.RigidBody(
                shape=ut.Box(size=(0.1, 0.2, 0.2)), position=(0.61, 0.7, 0.55), density=2000.0,
                angular_velocity=(0.0, 4.0, 1.0),
            ),
        },
    )  # fmt: skip


def total(model: object) -> Array:
    """Linear momentum of fluid and bodies (3,) [kg m/s]."""
    fluid, bodies = model.fluid, model.forcing.bodies  # type: ignore[attr-defined]
    return np.asarray(fluid.mass * fluid.velocities().sum(axis=0) + bodies.p_b.sum(axis=0))


def exchange(at_surface: bool, slip: float, scheme: str, steps: int = 40) -> dict[str, float]:
    """Largest errors of a step over ``steps`` steps, relative to the impulses of the step.

    off_surface: how far from the surface of the ball reactions act on it, relative to its radius.
    """
    sim = ut.Simulation(make_scene(slip, scheme))
    model = sim.model
    forcing, fluid = model.forcing, model.fluid  # type: ignore[attr-defined]
    forcing.settings = replace(forcing.settings, at_surface=at_surface)
    linear, angular, contacts, off_surface = 0.0, 0.0, 0, 0.0
    ball = forcing.bodies.index("ball")
    for _ in range(steps):
        before, momentum = total(model), fluid.mass * np.abs(fluid.velocities()).sum()
        report = sim.step()
        linear = max(linear, float(np.abs(total(model) - before).max()) / momentum)
        n, found, twists = forcing.contacts, forcing._contacts, forcing._twists
        contacts += n
        if n == 0:
            continue
        impulse, arm = found.impulse[:n], found.arm[:n]
        centre, normal = twists.x[found.body[:n]], found.normal[:n]
        on_ball = np.linalg.norm(arm[found.body[:n] == ball], axis=1)
        off_surface = max(off_surface, float(np.abs(on_ball - RADIUS).max(initial=0.0)) / RADIUS)
        # where the particles are: the arm ends at them, or r_F less along the normal
        gap = (found.gap[:n] + fluid.radius)[:, None]
        place = centre + arm + (gap * normal if at_surface else 0.0)
        gained = np.cross(place, impulse).sum(axis=0)
        force, torque = forcing._control, forcing._control_torque
        lost = report.time_step * (np.cross(twists.x, force) + torque).sum(axis=0)
        expected = np.cross(gap * normal, impulse).sum(axis=0) if at_surface else np.zeros(3)
        scale = float(np.abs(np.cross(place, impulse)).sum())
        if scale > 0:
            angular = max(angular, float(np.abs(gained + lost - expected).max()) / scale)
    return {"linear": linear, "angular": angular, "contacts": contacts / steps, "off_surface": off_surface}


def run(full: bool = False) -> Iterator[Quantity]:
    """Sticking and sliding contacts, both schemes, both points of attack."""
    found = {
        (at_surface, slip, scheme): exchange(at_surface, slip, scheme)
        for at_surface in (False, True)
        for slip, scheme in ((0.0, "global"), (0.5, "local"), (1.0, "global"))
    }
    contacts: dict[str, Any] = {f"contacts, slip {k[1]:g}, {k[2]}": v["contacts"] for k, v in found.items()}
    yield quantity("linear", max(v["linear"] for v in found.values()), **contacts)
    yield quantity("angular_two_points", max(v["angular"] for k, v in found.items() if k[0]))
    yield quantity("angular_one_point", max(v["angular"] for k, v in found.items() if not k[0]))
