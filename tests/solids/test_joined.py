"""Joints and contact in one step."""

from __future__ import annotations

import numpy as np

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
        # a push out of an overlap does not know of joints: what it opens, the next step closes
        assert joints.errors().max() < 1e-3
    assert joints.errors().max() < 1e-6
    weight = 6.0 * 9.81
    assert np.abs(world.bodies.v_b[bar]).max() < 1e-3
    assert not world.solids.overlapping()
    total = world.solids.contact_force_b[bar] + world.solids.joint_force_b[bar]
    np.testing.assert_allclose(total, (0.0, weight, 0.0), atol=0.02 * weight)
    torque = world.solids.contact_torque_b[bar] + world.solids.joint_torque_b[bar]
    assert np.abs(torque).max() < 0.02 * 0.3 * weight
    # friction with the ground shares the load with the hinge, so the statics leave it open how
    assert 0.25 * weight < world.solids.contact_force_b[bar, 1] < weight
