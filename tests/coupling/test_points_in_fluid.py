"""Corners of rigid bodies, and bodies smaller than an element, on soft faces in a fluid rest between the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.scene import toml
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart

SIZE, DENSITY = 0.2, 400.0
BELOW = {"shape": {"type": "box", "size": [0.5, 0.02]}, "position": [0.5, 0.3]}


def make(fluid: float | None, thrown: float = 0.0, **values: Any) -> ut.Simulation:
    """A brick on a cushion of elements of 0.1 m, its corners between the nodes; fluid: density [kg/m3], None: dry.
    thrown [m/s]: onto the cushion, which is free then, and beside its middle."""
    around, friction = fluid or 0.0, 0.3
    cushion = {
        "type": "soft_body", "shape": {"type": "box", "size": [0.4, 0.2]}, "position": [0.5, 0.4], "element_size": 0.1,
        "density": 100.0 + around, "youngs_modulus": 4e3, "damping": 0.05, "friction": friction,
        "holds": [] if thrown else [BELOW],
    }  # fmt: skip
    brick = {
        "type": "rigid_body", "shape": {"type": "box", "size": [SIZE, SIZE]}, "density": DENSITY + around,
        "position": [0.54 if thrown else 0.5, 0.601], "friction": friction, "velocity": [0.3 * thrown, -thrown],
    }  # fmt: skip
    tables: dict[str, Any] = {
        "name": "brick", "objects": {"cushion": cushion | values, "brick": brick}, "soft": {"stepper": "implicit"},
        "gravity": [0.0, 0.0 if thrown else -9.81], "time": {"end": 10.0, "frame_rate": 0.5, "fixed_step": 0.004},
    }  # fmt: skip
    if fluid is not None:
        tables |= {"domain": {"upper": [1.0, 1.0], "resolution": 16, "sides": {"y_high": "open"}},
                   "fluid": {"density": fluid, "tolerance": 1e-8}, "coupling": "monolithic"}  # fmt: skip
    return ut.Simulation(toml.scene_from_dict(tables), threads=1)


def test_a_brick_rests_on_a_cushion_in_thin_fluid_as_without_fluid() -> None:
    """It sank 7 cm further: none of the nodes met it."""
    found = []
    for fluid in (None, 1e-6):
        sim = make(fluid)
        sim.advance_to(0.6)
        found.append(0.601 - sim.body("brick").position[1])
    assert found[0] > 0.02
    assert found[1] == pytest.approx(found[0], rel=0.01)


def test_a_brick_rests_on_a_cushion_in_water() -> None:
    """Contact carries its weight in water, and its corners are where the faces below them are."""
    sim = make(1000.0, youngs_modulus=1e5)
    sim.advance_to(0.6)
    brick, nodes = sim.body("brick"), sim.nodes("cushion")
    top = nodes.position[nodes.rest[:, 1] > 0.499]
    top = top[np.argsort(top[:, 0])]
    gap = brick.position[1] - 0.5 * SIZE - np.interp(0.5 + np.array([-0.5, 0.5]) * SIZE, top[:, 0], top[:, 1])
    assert brick.contact_force[1] == pytest.approx(DENSITY * SIZE**2 * 9.81, rel=0.01)
    assert np.abs(gap).max() < 0.01 * SIZE
    assert abs(brick.velocity[1]) < 1e-2


def test_a_brick_thrown_on_a_cushion_keeps_momentum() -> None:
    """But for what 1 g of fluid takes; and their energy falls."""
    sim = make(1e-6, thrown=1.0)
    part, bodies = sim.part(SoftPart), sim.part(RigidPart).bodies
    nodes, mass, moment = part.soft, bodies.mass_b[0], 1.0 / bodies.inv_inertia_b[0, 2]
    momentum, energy, touching = [], [], 0
    for _ in range(25):
        sim.step()
        v, spin = bodies.v_b[0], bodies.omega_b[0, 2]
        momentum.append(nodes.mass @ nodes.v + mass * v)
        kinetic = nodes.mass @ (nodes.v**2).sum(axis=1) + mass * v @ v + moment * spin**2
        energy.append(0.5 * kinetic + part.elastic_energy)
        touching += len(sim.contacts().gap)
    assert touching > 20
    assert np.abs(np.array(momentum) - [0.3 * 16.0, -16.0, 0.0]).max() < 1e-6
    assert np.diff(energy).max() < 0.0
    assert energy[-1] < 0.9 * 0.5 * 16.0 * 1.09
