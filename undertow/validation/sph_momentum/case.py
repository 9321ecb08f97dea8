"""Momentum that fluid and bodies exchange: linear exactly, angular as the points of attack say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import undertow as ut
from undertow.solids.rigid_part import RigidPart
from undertow.sph.part import SphPart
from undertow.validation.analysis import Array, Quantity, quantity

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
        sph=ut.Sph(slip=slip, scheme=scheme, sound_speed=20.0, viscosity=1.0),
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


def momenta(sim: ut.Simulation, place: Array, centre: Array) -> Array:
    """Linear and, about the origin, angular momentum of all particles and bodies (2, 3), with the velocities they have
    now and particles at place (n, 3), centres of mass at centre (bodies, 3) [m]."""
    fluid, bodies = sim.part(SphPart).fluid, sim.part(RigidPart).bodies
    p = fluid.mass * fluid.velocities()
    linear = p.sum(axis=0) + bodies.p_b.sum(axis=0)
    angular = np.cross(place, p).sum(axis=0) + (np.cross(centre, bodies.p_b) + bodies.L_b).sum(axis=0)
    return np.stack([linear, angular])


def exchange(at_surface: bool, slip: float, scheme: str, steps: int = 40) -> dict[str, float]:
    """Largest errors of a step over ``steps`` steps: all velocities after it against those before, places as before.

    linear: change / sum of |m v|; angular: change, less sum of r n x j where the paper's two points make it, / sum of
    |x x m v|, j the impulses of contacts; made: that sum on this scale; drift: change from the first state to the last,
    each with its own places; off_surface: how far from the surface of the ball reactions act on it, relative to its
    radius: the way of a step at most where they act at the surface, as contacts are found at its end.
    """
    sim = ut.Simulation(make_scene(slip, scheme))
    forcing, fluid = sim.scheme.forcing, sim.part(SphPart).fluid  # type: ignore[attr-defined]
    forcing.settings = replace(forcing.settings, at_surface=at_surface)
    ball = forcing.bodies.index("ball")
    found = dict.fromkeys(("linear", "angular", "contacts", "made", "drift", "off_surface"), 0.0)
    first, made_in_all = momenta(sim, fluid.positions(), forcing.bodies.x_b), np.zeros(3)
    for _ in range(steps):
        place, centre = fluid.positions(), forcing.bodies.x_b.copy()
        before, velocity = momenta(sim, place, centre), fluid.velocities()
        momentum = float(fluid.mass * np.abs(velocity).sum())
        scale = float(fluid.mass * np.abs(np.cross(place, velocity)).sum())
        sim.step()
        change = momenta(sim, place, centre) - before
        found["linear"] = max(found["linear"], float(np.abs(change[0]).max()) / momentum)
        n, contacts = forcing.contacts, forcing._contacts
        found["contacts"] += n / steps
        impulse, arm, owner = contacts.impulse[:n], contacts.arm[:n], contacts.body[:n]
        # the particle's distance from the surface, r_F where it touches
        away = (contacts.gap[:n] + fluid.radius)[:, None] * contacts.normal[:n]
        made = np.cross(away, impulse).sum(axis=0) if at_surface else np.zeros(3)
        found["angular"] = max(found["angular"], float(np.abs(change[1] - made).max()) / scale)
        found["made"] = max(found["made"], float(np.abs(made).max()) / scale)
        made_in_all += made
        on_ball = np.linalg.norm(arm[owner == ball], axis=1)
        found["off_surface"] = max(found["off_surface"], float(np.abs(on_ball - RADIUS).max(initial=0.0)) / RADIUS)
    change = momenta(sim, fluid.positions(), forcing.bodies.x_b) - first
    found["drift"] = float(np.abs(change[1] - made_in_all).max()) / scale
    return found


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
    # with full slip forces are normal, and both points lie on their line
    yield quantity("made_by_two_points", min(v["made"] for k, v in found.items() if k[0] and k[1] < 1.0))
    yield quantity("drift_in_steps", max(v["drift"] for v in found.values()), info=True)
