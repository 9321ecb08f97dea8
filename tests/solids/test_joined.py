"""Joints and contact in one step."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.geometry import Box, Plane, Sphere, rotation_matrix
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


def test_a_block_on_a_pin_is_slowed_by_friction():
    """A block of mass m slides round a ball joint L away on the ground: mu m g at L against m (L^2 + a^2 / 6), whatever
    share of the weight the joint and each corner take. Contact sees a block that has turned by 10 degrees in a step."""
    arm, side, friction, rate = 0.5, 0.1, 0.3, 120
    world = SolidsWorld()
    world.add("ground", Plane(), friction=friction)
    block = world.add("block", Box((side,) * 3), (arm, 0.5 * side, 0.0), density=1000.0, friction=friction)
    world.bodies.set_velocity(block, (0.0, 0.0, -20.0 * arm), (0.0, 20.0, 0.0))
    world.solids.joints = joints = Joints(world.bodies)
    joints.add("pin", "ball", None, "block", (0.0, 0.5 * side, 0.0))
    steps = 24
    for _ in range(steps):
        report = world.step(1 / rate)
        assert report.kinetic_after <= report.kinetic_before
        assert joints.errors().max() < 1e-9
    corners = np.hypot(arm, 0.5 * side) / arm
    slowed = friction * 9.81 * arm * corners / (arm**2 + side**2 / 6) * steps / rate
    assert 20.0 - world.bodies.omega_b[block, 1] == pytest.approx(slowed, rel=0.01)
    assert np.abs(world.bodies.omega_b[block, ::2]).max() < 1e-5


def make_chain(count, length, height, load=1.0, slope=0.0):
    """Bars in a row, ``slope`` degrees below the level, the first one held at its end, the last ``load`` times as
    dense."""
    world = SolidsWorld()
    world.add("ground", Plane())
    joints = Joints(world.bodies)
    for i in range(count):
        along = np.array([np.cos(np.radians(slope)), -np.sin(np.radians(slope)), 0.0])
        hook = np.array([0.0, height, 0.0])
        place = hook + (i + 0.5) * length * along
        density = 1000.0 * (load if i == count - 1 else 1.0)
        turn = rotation_matrix((0.0, 0.0, 1.0), -slope)
        world.add(f"bar {i}", Box((length, 0.2 * length, 0.2 * length)), place, turn, density)
        parent = f"bar {i - 1}" if i else None
        joints.add(f"joint {i}", "hinge" if i else "ball", parent, f"bar {i}", hook + i * length * along)
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


@pytest.mark.parametrize(("count", "length", "load"), [(30, 0.01, 1.0), (10, 0.1, 1e4)])
def test_light_links_hold_at_the_frame_rate(count, length, load):
    """Links let go level at 60 Hz that whip by more than a radian per step, or shake faster than it between a support
    and a load of ten thousand times their mass: joints hold, the chain stays in its plane and gains no energy."""
    world, joints = make_chain(count, length, 3.0, load)
    start = sum(world.solids.energy())
    closed = 0
    for _ in range(40):
        report = world.step(1 / 60)
        closed += report.joints.closings > 0
        assert joints.errors().max() < 1e-6
        assert report.kinetic_after + report.potential_after <= start * (1 + 1e-6)
    assert closed > 5
    assert world.bodies.x_b[-1, 1] < 3.0 - 0.4 * count * length
    assert np.abs(world.bodies.x_b[:, 2]).max() < 1e-6 * length


def test_a_heavy_load_on_a_light_chain_swings_as_a_pendulum():
    """A small swing under 10^4 times the mass of ten links: a quarter period of a pendulum, sqrt(l / g) pi / 2."""
    world, joints = make_chain(10, 0.1, 3.0, 1e4, slope=80.0)
    arm = 0.95
    start = world.bodies.x_b[-1, 0]
    quarter = 0.5 * np.pi * np.sqrt((arm**2 + 0.1**2 / 12) / (9.81 * arm))
    steps = 0
    while world.bodies.x_b[-1, 0] > 0.0 and steps < 100:
        before = world.bodies.x_b[-1, 0]
        world.step(1 / 60)
        steps += 1
    crossing = (steps - 1 + before / (before - world.bodies.x_b[-1, 0])) / 60
    assert start > 0.1 and crossing == pytest.approx(quarter, rel=0.05)


def test_broken_joints_and_unfinished_solves_are_reported():
    world, joints = make_chain(3, 0.2, 1.0)
    weight = 3 * 1000.0 * 0.2 * 0.04**2 * 9.81
    joints._joints[0].break_force = 0.5 * weight
    report = None
    for _ in range(60):
        report = world.step(1 / 60)
        if report.joints.broken:
            break
    ((name, force, torque),) = report.joints.broken
    assert name == "joint 0" and force > 0.5 * weight
    assert force == pytest.approx(np.linalg.norm(joints.force_j[0]))
    assert not world.step(1 / 60).joints.broken
    world = SolidsWorld(iterations=1)
    world.add("ground", Plane())
    for i in range(4):
        world.add(f"box {i}", Box((0.2, 0.2, 0.2)), (0.0, 0.1 + 0.2 * i, 0.0), density=1000.0)
    report = world.step(1 / 60)
    assert report.unconverged == 2 and report.residual > 0


@pytest.mark.parametrize("kind", ["hinge", "ball"])
@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (1.0, 3.0, 0.5)])
def test_a_cradle_keeps_its_energy(kind, masses):
    """Balls on joints collide with the masses that the joints leave them: m + I / L^2 along the row. Two equal ones
    exchange their velocities; free ones put back on their joints lose 2 I / (m L^2) of the energy, here 12%."""
    radius, arm = 0.2, 0.5
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
    world.solids.joints = joints = Joints(world.bodies)
    for i, mass in enumerate(masses):
        ball = world.add(
            f"b{i}", Sphere(radius), (2 * i * radius, 0, 0), density=1000.0 * mass, restitution=1.0, friction=0.0
        )
        joints.add(f"j{i}", kind, None, f"b{i}", (2 * i * radius, arm, 0.0))
        if i == 0:
            world.bodies.set_velocity(ball, (1.0, 0, 0), (0.0, 0.0, 1.0 / arm))
    start = world.solids.energy()[0]
    report = world.step(1e-3)
    assert report.collisions >= 2
    assert report.kinetic_after == pytest.approx(start, rel=1e-5)
    if masses == (1.0, 1.0, 1.0):
        np.testing.assert_allclose(world.bodies.v_b[:, 0], (0, 0, 1), atol=1e-5)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_hinged_bar_bounces_with_its_restitution(restitution):
    """A bar on a hinge meets a stop with friction: its speed changes by 1 + e, whatever the hinge takes."""
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
    world.add("stop", Box((0.2, 0.2, 0.2)), (0.9, -0.15, 0.0), restitution=restitution)
    bar = world.add("bar", Box((1.0, 0.1, 0.1)), (0.5, 0.001, 0.0), density=1000.0, restitution=restitution)
    world.bodies.set_velocity(bar, (0.0, -1.0, 0.0), (0.0, 0.0, -2.0))
    world.solids.joints = joints = Joints(world.bodies)
    joints.add("hinge", "hinge", None, "bar", (0.0, 0.001, 0.0))
    for _ in range(2):
        report = world.step(1e-3)
        assert report.kinetic_after <= report.kinetic_before * (1 + 1e-9)
        assert joints.errors().max() < 1e-9
    assert world.bodies.omega_b[bar, 2] == pytest.approx(2.0 * restitution, abs=2e-3)
