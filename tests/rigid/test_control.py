"""PD control: the implicit formula, stability at any gain, equal and opposite torques, bounds."""

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import ConstantCurve, SineCurve, TableCurve
from undertow.rigid.bodies import RigidBodies, multiply_quaternions
from undertow.rigid.control import JointControl, Ramp
from undertow.rigid.joints import Joints
from undertow.rigid.orientation import advance_poses

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def hold(joint, stiffness, damping, at=0.0):
    """A controller that keeps a joint where it is asked to be."""
    return JointControl(joint, ConstantCurve(at), stiffness, damping)


def _step(bodies, joints, time, dt, gravity=0.0):
    """The step of chapter 4 without contact."""
    dynamic = bodies.inv_mass_b > 0
    v, omega = bodies.v_b.copy(), bodies.omega_b.copy()
    v[dynamic, 1] += 0.5 * dt * gravity
    joints.apply_control(v, omega, time, dt, carry=True)
    joints.pre_stabilise(v, omega, time, dt, lambda v, w, x, q: advance_poses(bodies.spec, v, w, dt, 2, True, x, q))
    joints.carry(bodies.p_b, bodies.L_b)
    advance_poses(bodies.spec, v, omega, dt, 2, True, bodies.x_b, bodies.q_b)
    joints.follow(bodies.p_b, bodies.L_b, dt)
    bodies.p_b[dynamic, 1] += dt * gravity * bodies.mass_b[dynamic]
    bodies.derive_velocities()
    joints.apply_control(bodies.v_b, bodies.omega_b, time, dt, carry=False)
    joints.post_stabilise(bodies.v_b, bodies.omega_b)
    for b in np.flatnonzero(dynamic):
        bodies.set_velocity(b, bodies.v_b[b].copy(), bodies.omega_b[b].copy())
    joints.end_step(dt)


def _wheel(inertia=0.5, **more):
    """A wheel on an axle through its centre."""
    bodies = RigidBodies()
    bodies.add("wheel", 0, np.zeros(3), UPRIGHT, 1.0, np.full(3, inertia))
    joints = Joints(bodies)
    joints.add("axle", "hinge", None, "wheel", (0, 0, 0), **more)
    return bodies, joints


def _arm(links):
    """Rods of 1 m and 1 kg in a row along x, each with a motor."""
    bodies = RigidBodies()
    joints = Joints(bodies)
    for b in range(links):
        bodies.add(f"rod{b}", 0, np.array([0.5 + b, 0.0, 0.0]), UPRIGHT, 1.0, np.array([0.01, 1 / 12, 1 / 12]))
        joints.add(f"j{b}", "hinge", f"rod{b - 1}" if b else None, f"rod{b}", (float(b), 0.0, 0.0))
    return bodies, joints


def test_the_impulse_is_the_implicit_one():
    """I (w' - w) = h (-kp (theta + dt w' - theta_t) - kd (w' - rate_t)) for a wheel alone."""
    bodies, joints = _wheel()
    target = TableCurve([0.0, 1.0], [0.3, 1.1])
    joints.control(JointControl("axle", target, 40.0, 3.0))
    v, omega = np.zeros((1, 3)), np.array([[0.0, 0.0, 2.0]])
    dt, time = 0.1, 0.2
    joints.apply_control(v, omega, time, dt, carry=True)
    new, h = omega[0, 2], dt / 2
    torque = -40.0 * (0.0 + dt * new - target.value(time + dt)) - 3.0 * (new - 0.8)
    assert 0.5 * (new - 2.0) == pytest.approx(h * torque, rel=1e-9)
    joints.carry(np.zeros((1, 3)), np.zeros((1, 3)))
    joints.end_step(dt)
    assert joints.torque_b[0, 2] == pytest.approx(0.5 * torque, rel=1e-9)
    assert joints.torque_j[0, 2] == pytest.approx(0.5 * torque, rel=1e-9)


def test_a_slider_is_controlled_by_forces():
    bodies = RigidBodies()
    bodies.add("bead", 0, np.array([0.0, 3.0, 0.0]), UPRIGHT, 2.0, np.ones(3))
    joints = Joints(bodies)
    joints.add("rail", "prismatic", None, "bead", (0, 0, 0), axis=(0, 1, 0))
    joints.control(hold("rail", 2000.0, 100.0, at=0.2))
    for n in range(120):
        _step(bodies, joints, n / 60, 1 / 60, gravity=-9.81)
    assert joints.coordinate("rail") == pytest.approx(0.2 - 2 * 9.81 / 2000.0, rel=1e-6)
    assert joints.force_b[0, 1] == pytest.approx(2 * 9.81, rel=1e-6)


@pytest.mark.parametrize("gain", [1e2, 1e6, 1e12])
def test_stable_at_any_gain(gain):
    """Three links against gravity at 60 Hz: the stiffer, the closer to the target; never unstable."""
    bodies, joints = _arm(3)
    for b in range(3):
        joints.control(hold(f"j{b}", gain, gain / 10, at=0.2 * (b + 1)))
    for n in range(90):
        _step(bodies, joints, n / 60, 1 / 60, gravity=-9.81)
    angles = np.array([joints.coordinate(f"j{b}") for b in range(3)])
    assert np.abs(bodies.omega_b).max() < (0.1 if gain < 1e4 else 1e-4)
    np.testing.assert_allclose(angles, [0.2, 0.4, 0.6], atol=max(60.0 / gain, 1e-6))
    assert joints.errors().max() < 1e-9


def test_a_motor_feels_the_whole_mechanism():
    """The shoulder of a straight arm with stiff elbows drives the inertia n^3 / 3 of all its links, implicitly."""
    bodies, joints = _arm(3)
    joints.control(JointControl("j0", ConstantCurve(0.0), 0.0, 100.0))
    for b in (1, 2):
        joints.control(hold(f"j{b}", 1e9, 1e8))
    v, omega = np.zeros((3, 3)), np.zeros((3, 3))
    omega[:, 2] = 1.0
    v[:, 1] = bodies.x_b[:, 0]
    joints.apply_control(v, omega, 0.0, 0.2, carry=False)
    joints.post_stabilise(v, omega)
    h = 0.1 * 100.0
    np.testing.assert_allclose(omega[:, 2], 9.0 / (9.0 + h), rtol=1e-5)


def test_torques_are_equal_and_opposite():
    """Two free wheels with a motor between them, and the torque it is bounded by."""
    bodies = RigidBodies()
    for name in ("a", "b"):
        bodies.add(name, 0, np.zeros(3), UPRIGHT, 1.0, np.full(3, 0.5 if name == "a" else 2.0))
    joints = Joints(bodies)
    joints.add("motor", "hinge", "a", "b", (0, 0, 0))
    joints.control(JointControl("motor", ConstantCurve(1.0), 1e4, 1e2, largest=3.0))
    total, rates = 0.0, []
    for n in range(6):
        _step(bodies, joints, n / 60, 1 / 60)
        rates.append(bodies.omega_b[1, 2])
        total = float(bodies.L_b[0, 2] + bodies.L_b[1, 2])
        assert joints.torque_b[0, 2] == pytest.approx(-3.0) and joints.torque_b[1, 2] == pytest.approx(3.0)
    assert abs(total) < 1e-13
    np.testing.assert_allclose(rates, 3.0 / 2.0 * np.arange(1, 7) / 60, rtol=1e-9)


def test_a_moving_target_is_followed():
    bodies, joints = _wheel()
    target = SineCurve(0.0, 1.0, 0.5)
    joints.control(JointControl("axle", target, 1e5, 1e3))
    for n in range(120):
        _step(bodies, joints, n / 60, 1 / 60)
        if n > 10:  # it starts at rest
            assert joints.coordinate("axle") == pytest.approx(target.value((n + 1) / 60), abs=2e-4)


def test_broken_joints_are_not_driven():
    bodies, joints = _wheel(break_torque=1.0)
    joints.control(hold("axle", 1e4, 1e2, at=1.0))
    _step(bodies, joints, 0.0, 1 / 60)
    assert joints.broken_j[0] == 1
    rate = bodies.omega_b[0, 2]
    _step(bodies, joints, 1 / 60, 1 / 60)
    assert bodies.omega_b[0, 2] == pytest.approx(rate, rel=1e-12)


def test_mistakes_are_named():
    _, joints = _wheel()
    with pytest.raises(UserError, match="stiffness = -1.0: must be 0 or more"):
        hold("axle", -1.0, 1.0)
    with pytest.raises(UserError, match="damping = nan"):
        hold("axle", 1.0, float("nan"))
    with pytest.raises(UserError, match="both 0"):
        hold("axle", 0.0, 0.0)
    with pytest.raises(UserError, match="largest = 0"):
        JointControl("axle", ConstantCurve(0.0), 1.0, 1.0, largest=0)
    with pytest.raises(UserError, match="several components"):
        JointControl("axle", ConstantCurve((1.0, 2.0, 3.0)), 1.0, 1.0)
    with pytest.raises(UserError, match="joint 'elbow': no such joint"):
        joints.control(hold("elbow", 1.0, 1.0))
    joints.control(hold("axle", 1.0, 1.0))
    with pytest.raises(UserError, match="has one controller"):
        joints.control(hold("axle", 1.0, 1.0))
    joints.add("pin", "ball", None, "wheel", (0, 0, 0))
    with pytest.raises(UserError, match="is ball, whose bend has no two ways; name one of its coordinates x, y, z"):
        joints.control(hold("pin", 1.0, 1.0))


FREE = [
    ("hinge", "", {"axis": (0, 0, 1)}),
    ("prismatic", "", {"axis": (0, 1, 0)}),
    ("ball", "x", {"axis": (1, 0, 0), "second_axis": (0, 0, 1)}),
    ("ball", "y", {"axis": (1, 0, 0), "second_axis": (0, 1, 0)}),
    ("ball", "z", {"axis": (0, 0, 1)}),
    ("universal", "first", {"axis": (0, 0, 1), "second_axis": (1, 0, 0)}),
    ("universal", "second", {"axis": (1, 0, 0), "second_axis": (0, 0, 1)}),
    ("planar", "x", {"axis": (0, 0, 1), "second_axis": (0, 1, 0)}),
    ("planar", "y", {"axis": (0, 0, 1), "second_axis": (1, 0, 0)}),
    ("planar", "angle", {"axis": (0, 0, 1)}),
]
"""Every free axis of every kind of joint, along the vertical or turning about the z of the world, and its joint."""
PLANE = [("hinge", "", {}), ("prismatic", "", {"axis": (0, 1, 0)})]
CASES = [(3, *free) for free in FREE] + [(2, *free) for free in PLANE]
MASS, ARM, G = 2.0, 0.5, 9.81


def _slides(kind, axis):
    return kind == "prismatic" or (kind == "planar" and axis != "angle")


def _hung(dimensions, kind, frame, at_centre=False, **limits):
    """A body of 2 kg half a metre along x from a joint with the world; what slides is held at its centre."""
    bodies = RigidBodies(dimensions)
    inertia = np.full(3, 0.1) if dimensions == 3 else np.array([0.0, 0.0, 0.1])
    bodies.add("body", 0, np.array([ARM, 0.0, 0.0]), UPRIGHT, MASS, inertia)
    joints = Joints(bodies)
    place = (ARM if at_centre else 0.0, 0.0, 0.0)
    joints.add("joint", kind, None, "body", place, **frame, **limits)
    return bodies, joints


@pytest.mark.parametrize(("dimensions", "kind", "axis", "frame"), CASES)
def test_a_motor_holds_a_weight_by_its_stiffness(dimensions, kind, axis, frame):
    """k theta = m g l cos(theta) of what turns, k s = m g of what slides; then a new target is followed."""
    bodies, joints = _hung(dimensions, kind, frame, _slides(kind, axis))
    stiffness, damping = 40.0, 12.0
    joints.control(JointControl("joint", ConstantCurve(0.0), stiffness, damping, axis=axis))
    if (kind, axis) == ("planar", "angle"):
        for side in ("x", "y"):
            joints.control(JointControl("joint", ConstantCurve(0.0), 1e5, 1e4, axis=side))
    if kind == "ball":  # it may turn as it likes about the other two
        bodies.set_velocity(0, np.array([0.0, 0.0, 0.01]), np.array([0.02, -0.02, 0.0]))
    held = {}
    # an arm above its joint would fall sideways
    for target in (0.0, -0.3 if kind == "ball" else 0.3):
        if target:
            joints.set_target("joint", target, axis=axis)
        for n in range(220):
            _step(bodies, joints, n / 40, 1 / 40, -G)
        held[target] = joints.coordinate("joint", axis)
        assert joints.errors().max() < 1e-8
        if kind == "ball":
            assert np.abs(bodies.x_b[0, 2]) < 0.03
    for target, found in held.items():
        arm = 1.0 if _slides(kind, axis) else ARM * np.cos(found)
        assert stiffness * (target - found) == pytest.approx(MASS * G * arm, rel=1e-4 if kind != "ball" else 5e-4)


@pytest.mark.parametrize("arm", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, -0.3, 0.2)])
def test_swings_of_a_ball_joint_are_those_of_its_arm(arm):
    """With the shaft along the arm: turning about the shaft first changes the twist alone, and the swings are the
    rotation vector that brings the shaft to where it is."""
    bodies = RigidBodies()
    bodies.add("body", 0, 0.5 * np.array(arm), UPRIGHT, MASS, np.full(3, 0.1))
    joints = Joints(bodies)
    joints.add("joint", "ball", None, "body", (0, 0, 0))
    shaft = int(np.argmax(np.abs(arm)))
    swing = np.array([0.4, -0.7, 0.9])
    swing[shaft] = 0.0
    angle = np.linalg.norm(swing)
    for twist in (0.0, 1.1, -0.4):
        about = np.eye(3)[shaft]
        first = np.array([np.cos(0.5 * twist), *(np.sin(0.5 * twist) * about)])
        then = np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * swing / angle)])
        bodies.q_b[0] = multiply_quaternions(then, first)
        found = [joints.coordinate("joint", axis) for axis in "xyz"]
        np.testing.assert_allclose(found, swing + twist * about, atol=1e-12)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(("dimensions", "kind", "axis", "frame"), CASES)
def test_limits_stop_and_hold_on_both_sides(dimensions, kind, axis, frame, side):
    """What moves towards a limit stops at it and stays, without a rebound; a force towards it is held, one away not."""
    key = {"limits": (-0.2, 0.3)} if not axis else {"coordinate_limits": {axis: (-0.2, 0.3)}}
    bodies, joints = _hung(dimensions, kind, frame, _slides(kind, axis), **key)
    if _slides(kind, axis):
        bodies.set_velocity(0, np.array([0.0, side, 0.0]), np.zeros(3))
    elif kind == "planar":
        bodies.set_velocity(0, np.zeros(3), np.array([0.0, 0.0, side]))
    else:
        bodies.set_velocity(0, np.array([0.0, side * ARM, 0.0]), np.array([0.0, 0.0, side]))
    found = []
    for n in range(40):
        _step(bodies, joints, n / 60, 1 / 60)
        found.append(joints.coordinate("joint", axis))
    limit = 0.3 if side > 0 else -0.2
    assert found[-1] == pytest.approx(limit, abs=1e-6) and found[25] == pytest.approx(limit, abs=1e-6)
    assert max(found) < 0.3 + 1e-6 and min(found) > -0.2 - 1e-6
    if (kind, axis) != ("planar", "angle"):
        for n in range(60):
            _step(bodies, joints, n / 60, 1 / 60, side * G)
        assert joints.coordinate("joint", axis) == pytest.approx(limit, abs=1e-5)
        _step(bodies, joints, 0.0, 1 / 60, -side * G)
        assert side * (joints.coordinate("joint", axis) - limit) < -1e-3


def test_a_speed_is_driven_against_friction_of_its_own():
    """With no stiffness the rate alone is controlled; a target that was set is part of the state."""
    bodies, joints = _wheel()
    joints.control(JointControl("axle", Ramp(2.0), 0.0, 5.0))
    for n in range(60):
        _step(bodies, joints, n / 60, 1 / 60)
    assert bodies.omega_b[0, 2] == pytest.approx(2.0, rel=1e-3)
    joints.set_target("axle", 0.0, rate=-1.0)
    other = _wheel()[1]
    other.control(JointControl("axle", Ramp(2.0), 0.0, 5.0))
    other.restore({name: array.copy() for name, array in joints.arrays().items()})
    np.testing.assert_array_equal(other.target_k, [[0.0, -1.0]])
    for n in range(60, 120):
        _step(bodies, joints, n / 60, 1 / 60)
    assert bodies.omega_b[0, 2] == pytest.approx(-1.0, rel=1e-3)


def test_motors_that_make_no_sense_are_refused():
    bodies, joints = _hung(3, "fixed", {})
    with pytest.raises(UserError, match="nothing of it is free to be driven"):
        joints.control(hold("joint", 1.0, 1.0))
    bodies, joints = _hung(3, "ball", {})
    with pytest.raises(UserError, match="whose bend has no two ways; name one of its coordinates x, y, z"):
        joints.control(hold("joint", 1.0, 1.0))
    with pytest.raises(UserError, match="twist of a ball joint: its coordinates are x, y, z, bend; name one"):
        joints.control(JointControl("joint", ConstantCurve(0.0), 1.0, 1.0, axis="twist"))
    joints.control(JointControl("joint", ConstantCurve(0.0), 1.0, 1.0, axis="x"))
    with pytest.raises(UserError, match="a coordinate has one controller"):
        joints.control(JointControl("joint", ConstantCurve(0.0), 1.0, 1.0, axis="x"))
    with pytest.raises(UserError, match=r"coordinate 'y' has no controller; those there are: joint\.x"):
        joints.set_target("joint", 1.0, axis="y")
    with pytest.raises(UserError, match="must be finite numbers"):
        joints.set_target("joint", np.nan, axis="x")
