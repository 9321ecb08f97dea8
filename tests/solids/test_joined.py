"""Joints and contact in one step."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import PhysicsError
from undertow.geometry import Box, Plane
from undertow.rigid.joints import Joints
from undertow.solids import SolidsWorld


def test_a_hinged_bar_falls_on_the_ground_and_rests():
    world = SolidsWorld()
    world.add("ground", Plane())
    bar = world.add("bar", Box((0.6, 0.1, 0.1)), (0.0, 0.3, 0.0), density=1000.0)
    joints = Joints(world.bodies)
    joints.add("hinge", "hinge", None, "bar", (-0.3, 0.3, 0.0), axis=(0.0, 0.0, 1.0))
    world.solids.joints = joints
    energy = sum(world.solids.energy())
    for _ in range(90):
        report = world.step(1 / 60)
        assert report.kinetic_after + report.potential_after < energy * (1 + 1e-6)
        # a push out of an overlap does not know of joints: what it opens is closed at once
        assert joints.errors().max() < 1e-9
    weight = 6.0 * 9.81
    assert np.abs(world.bodies.v_b[bar]).max() < 1e-3
    assert not world.solids.overlapping()
    total = world.solids.contact_force_b[bar] + world.solids.joint_force_b[bar]
    np.testing.assert_allclose(total, (0.0, weight, 0.0), atol=0.02 * weight)
    torque = world.solids.contact_torque_b[bar] + world.solids.joint_torque_b[bar]
    assert np.abs(torque).max() < 0.02 * 0.3 * weight
    # friction with the ground shares the load with the hinge, so the statics leave it open how
    assert 0.25 * weight < world.solids.contact_force_b[bar, 1] < weight


def make_chain(count, length, height):
    """Bars in a row, level, the first one held at its end."""
    world = SolidsWorld()
    world.add("ground", Plane())
    joints = Joints(world.bodies)
    for i in range(count):
        place = ((i + 0.5) * length, height, 0.0)
        world.add(f"bar {i}", Box((length, 0.2 * length, 0.2 * length)), place, density=1000.0)
        parent = f"bar {i - 1}" if i else None
        joints.add(f"joint {i}", "hinge" if i else "ball", parent, f"bar {i}", (i * length, height, 0.0))
    world.solids.joints = joints
    return world, joints


def test_a_chain_that_falls_on_the_ground_stays_joined():
    world, joints = make_chain(6, 0.2, 0.5)
    start = sum(world.solids.energy())
    for _ in range(90):
        report = world.step(1 / 60)
        assert joints.errors().max() < 1e-9
        assert report.kinetic_after + report.potential_after <= start * (1 + 1e-9)
    assert report.contacts > 0


def test_links_that_turn_too_far_in_a_step_are_refused_and_held_in_a_shorter_one():
    """Thirty links of 1 cm let go level whip by more than a radian per step at 60 Hz, not at 240 Hz."""
    world, joints = make_chain(30, 0.01, 1.0)
    for _ in range(120):
        world.step(1 / 240)
        assert joints.errors().max() < 1e-9
    world, joints = make_chain(30, 0.01, 1.0)
    with pytest.raises(PhysicsError, match=r"joint .* cannot be held: .* take a shorter one"):
        for _ in range(30):
            world.step(1 / 60)
