"""Joints: rows are rates of errors, stabilisation conserves momentum, joints hold, limits push, thresholds break."""

import numpy as np
import pytest

from undertow.errors import PhysicsError, UserError
from undertow.geometry import ConstantCurve, Keyframes, SineCurve, VelocityCurves
from undertow.rigid.bodies import RigidBodies, conjugate, multiply_quaternions, rotation_matrix_of
from undertow.rigid.joint import KINDS
from undertow.rigid.joints import Joints
from undertow.rigid.orientation import advance_poses

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
FREEDOMS = {"fixed": 0, "ball": 3, "hinge": 1, "universal": 2, "prismatic": 1, "planar": 3}


def _turn(rng):
    q = rng.standard_normal(4)
    return q / np.linalg.norm(q)


def _pair(kind, seed=0, method="global", **more):
    """Two bodies of random poses and masses with one joint between them."""
    rng = np.random.default_rng(seed)
    bodies = RigidBodies()
    for name in ("a", "b"):
        bodies.add(
            name, 0, rng.standard_normal(3), _turn(rng), rng.uniform(0.5, 2.0), rng.uniform(0.3, 0.5, 3), None,
            rng.standard_normal(3), rng.standard_normal(3),
        )  # fmt: skip
    joints = Joints(bodies, method)
    second = (1.0, -1.0, 0.0) if kind == "universal" else None
    joints.add("joint", kind, "a", "b", rng.standard_normal(3), (1.0, 1.0, 0.5), second, **more)
    return bodies, joints


def _apart(kind, method, distance):
    """Such a pair, the anchors a distance [m] apart and the frames turned by 6 rad/m times that."""
    angle = 3 * distance
    turn = np.array([np.cos(angle), 0.6 * np.sin(angle), 0.8 * np.sin(angle), 0.0])
    bodies, joints = _pair(kind, method=method)
    frame = joints._joints[0]
    frame.position[1] += distance * np.array([0.5, -0.8, 0.6])
    q = bodies.q_b[1]
    frame.turn[1] = multiply_quaternions(
        multiply_quaternions(conjugate(q), multiply_quaternions(turn, q)), frame.turn[1]
    )
    return bodies, joints


def _advance(bodies, dt, order=2, fix=True):
    return lambda v, omega, x, q: advance_poses(bodies.spec, v, omega, dt, order, fix, x, q)


def _momenta(bodies, v, omega):
    """Total momentum, and angular momentum about the origin."""
    p, L = np.zeros(3), np.zeros(3)
    for b in range(bodies.count):
        R = rotation_matrix_of(bodies.q_b[b])
        part = bodies.mass_b[b] * v[b]
        p += part
        L += np.cross(bodies.x_b[b], part) + R @ (bodies.inertia_b[b] * (R.T @ omega[b]))
    return np.concatenate([p, L])


def _energy(bodies, v, omega):
    total = 0.0
    for b in range(bodies.count):
        local = rotation_matrix_of(bodies.q_b[b]).T @ omega[b]
        total += 0.5 * bodies.mass_b[b] * v[b] @ v[b] + 0.5 * bodies.inertia_b[b] @ local**2
    return float(total)


def _step(bodies, joints, time, dt, gravity=-9.81):
    """The step of chapter 4 without contact."""
    dynamic = bodies.inv_mass_b > 0
    bodies.move_kinematic(time + 0.5 * dt, place=False)
    v, omega = bodies.v_b.copy(), bodies.omega_b.copy()
    v[dynamic, 1] += 0.5 * dt * gravity
    advance = _advance(bodies, dt)
    joints.pre_stabilise(v, omega, time, dt, advance)
    joints.carry(bodies.p_b, bodies.L_b)
    advance(v, omega, bodies.x_b, bodies.q_b)
    bodies.move_kinematic(time + dt, place=True)
    joints.follow(bodies.p_b, bodies.L_b, dt)
    bodies.p_b[dynamic, 1] += dt * gravity * bodies.mass_b[dynamic]
    bodies.derive_velocities()
    joints.post_stabilise(bodies.v_b, bodies.omega_b)
    for b in np.flatnonzero(dynamic):
        bodies.set_velocity(b, bodies.v_b[b].copy(), bodies.omega_b[b].copy())
    return [broken.name for broken in joints.end_step(dt)]


def _ends_of_a_move(bodies, joints, rng, out_rates, h):
    """Errors and coordinates after and before a random motion over h [s]; out_rates: what the rows make of it."""
    v, omega = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    joints._evaluate(bodies.x_b, bodies.q_b, build=True)
    joints._rows.rates(np.hstack([v, omega]), out_rates)
    ends = []
    for sign in (1.0, -1.0):
        x, q = np.empty((2, 3)), np.empty((2, 4))
        _advance(bodies, sign * h, order=1, fix=False)(v, omega, x, q)
        joints._evaluate(x, q, build=False)
        ends.append((joints._error.copy(), joints._raw.copy()))
    return ends


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_rates_of_the_errors(kind):
    """k w = d(error)/dt by central differences, for random velocities: one row per degree of freedom taken."""
    bodies, joints = _pair(kind)
    rng = np.random.default_rng(4)
    joints._refresh()
    joints._evaluate(bodies.x_b, bodies.q_b, build=True)
    rates, h = np.zeros(len(joints._error)), 1e-6
    held = joints._constraint_rows()
    assert held.sum() == 6 - FREEDOMS[kind]
    for _ in range(4):
        ends = _ends_of_a_move(bodies, joints, rng, rates, h)
        difference = (ends[0][0] - ends[1][0]) / (2 * h)
        np.testing.assert_allclose(difference[held], rates[held], atol=1e-8)
        if kind in ("hinge", "prismatic"):
            unit = joints._unit_c[0]
            assert (ends[0][1][0] - ends[1][1][0]) / (2 * h) / unit == pytest.approx(rates[-1], abs=1e-8)


@pytest.mark.parametrize("method", ["global", "pairwise"])
@pytest.mark.parametrize("kind", KINDS)
def test_post_stabilisation_is_a_projection(kind, method):
    """Momentum stays, energy falls by that of the difference (mass-symmetric), a second time changes nothing."""
    bodies, joints = _pair(kind, method=method)
    v, omega = bodies.v_b.copy(), bodies.omega_b.copy()
    before, energy = _momenta(bodies, v, omega), _energy(bodies, v, omega)
    stats = joints.post_stabilise(v, omega)
    assert stats.error < 1e-11
    np.testing.assert_allclose(_momenta(bodies, v, omega), before, atol=1e-12)
    removed = _energy(bodies, v - bodies.v_b, omega - bodies.omega_b)
    assert energy - _energy(bodies, v, omega) == pytest.approx(removed, rel=1e-9)
    again = v.copy(), omega.copy()
    joints.post_stabilise(*again)
    np.testing.assert_allclose(again[0], v, atol=1e-11)
    np.testing.assert_allclose(again[1], omega, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_projection_before_forces_is_contained_in_the_one_after(kind):
    """P (P v + dv) = P (v + dv): why post-stabilisation of v^n (thesis 4.6, step 3) needs no solve of its own where
    nothing one-sided stands between it and that of v^n+1 (4.7, step 4)."""
    bodies, joints = _pair(kind)
    rng = np.random.default_rng(7)
    dv, domega = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    once = bodies.v_b + dv, bodies.omega_b + domega
    joints.post_stabilise(*once)
    first = bodies.v_b.copy(), bodies.omega_b.copy()
    joints.post_stabilise(*first)
    twice = first[0] + dv, first[1] + domega
    joints.post_stabilise(*twice)
    np.testing.assert_allclose(twice[0], once[0], atol=1e-11)
    np.testing.assert_allclose(twice[1], once[1], atol=1e-11)


def test_sweeps_that_do_not_converge_are_counted(monkeypatch):
    """Two sweeps are not enough for a loop (repeated solves still are); at rest there is nothing to count."""
    bodies, joints = _four_bar("pairwise")
    bodies.set_velocity(0, np.array([-1.5, 0.0, 0.0]), np.array([0.0, 0.0, 10.0]))
    joints.post_stabilise(bodies.v_b.copy(), bodies.omega_b.copy())
    assert joints.unswept == 0
    monkeypatch.setattr("undertow.rigid.joints._SWEEPS", 2)
    joints.post_stabilise(np.zeros_like(bodies.v_b), np.zeros_like(bodies.v_b))
    assert joints.unswept == 0
    joints.post_stabilise(bodies.v_b.copy(), bodies.omega_b.copy())
    assert joints.unswept > 0
    joints.end_step(1 / 60)
    assert joints.unswept == 0


@pytest.mark.parametrize(("kind", "shaft"), [("ball", 0), ("ball", 1), ("ball", 2), ("universal", 2)])
def test_the_last_rows_of_a_bent_joint_are_the_rates_of_its_coordinates(kind, shaft):
    bodies, joints = _apart(kind, "global", 0.1)
    joints._joints[0].shaft = shaft
    rng = np.random.default_rng(4)
    assert joints.coordinate("joint") > 0.1
    rates, h = np.zeros(len(joints._error)), 1e-6
    for _ in range(4):
        ends = _ends_of_a_move(bodies, joints, rng, rates, h)
        # every coordinate, the bend being the last
        moved = (ends[0][1] - ends[1][1]) / (2 * h)
        np.testing.assert_allclose(moved, rates[-len(moved) :], atol=1e-8)


@pytest.mark.parametrize("kind", ["ball", "universal"])
def test_a_bend_is_limited_by_a_cone(kind):
    """A rod that hangs and is pushed aside, across the axes of the world, stops at 0.5 rad from the vertical, where it
    loses energy, and falls off the limit again, which does not pull."""
    bodies = RigidBodies()
    bodies.add("rod", 0, np.array([0.0, -0.5, 0.0]), UPRIGHT, 2.0, np.array([1 / 6, 1e-2, 1 / 6]))
    joints = Joints(bodies)
    more = {"axis": (0, 1, 0)} if kind == "ball" else {"axis": (0, 0, 1), "second_axis": (1, 0, 0)}
    joints.add("socket", kind, None, "rod", (0, 0, 0), limits=(-np.inf, 0.5), **more)
    bodies.set_velocity(0, np.array([1.5, 0.0, 0.6]), np.array([-1.2, 0.0, 3.0]))
    bends, energies, torques = [], [], []
    for n in range(180):
        _step(bodies, joints, n / 120, 1 / 120)
        down = -(bodies.x_b[0] / np.linalg.norm(bodies.x_b[0]))[1]
        bends.append(np.arccos(min(down, 1.0)))
        assert joints.coordinate("socket") == pytest.approx(bends[-1], abs=1e-7)
        energies.append(_energy(bodies, bodies.v_b, bodies.omega_b) + 2 * 9.81 * bodies.x_b[0, 1])
        torques.append(np.linalg.norm(joints.torque_j[0]))
        assert joints.errors().max() < 1e-7
    bends, touching = np.array(bends), np.array(bends) > 0.5 - 1e-6
    assert bends.max() == pytest.approx(0.5, abs=1e-6) and 0 < touching.sum() < 5
    # from rest there it falls as a pendulum does: m g l / 2 sin over its inertia about the end
    fall = 0.5 * 9.81 * np.sin(0.5) / (1 / 6 + 0.5) * (10 / 120) ** 2
    assert bends[np.argmax(bends) + 10] == pytest.approx(0.5 - fall, abs=1e-3) and energies[-1] < energies[0] - 0.5
    assert np.diff(energies).max() < 1e-3 * (energies[0] + 9.81)
    if kind == "ball":
        # free of torque where it does not touch the cone
        assert max(t for t, now, before in zip(torques[1:], touching[1:], touching[:-1], strict=True)
                   if not now and not before) < 1e-9  # fmt: skip


def test_two_hinges_and_a_light_body_are_a_universal_joint_with_limits():
    """What is offered for angles with two ends: a rod hangs by a small cross, pushed both ways, and stops at 0.4 rad
    about x and at 0.2 rad about z."""
    bodies = RigidBodies()
    bodies.add("cross", 0, np.zeros(3), UPRIGHT, 0.02, np.full(3, 1e-5))
    bodies.add("rod", 0, np.array([0.0, -0.5, 0.0]), UPRIGHT, 2.0, np.array([1 / 6, 1e-2, 1 / 6]))
    joints = Joints(bodies)
    joints.add("about x", "hinge", None, "cross", (0, 0, 0), axis=(1, 0, 0), limits=(-0.4, 0.4))
    joints.add("about z", "hinge", "cross", "rod", (0, 0, 0), axis=(0, 0, 1), limits=(-0.2, 0.2))
    bodies.set_velocity(1, np.array([1.5, 0.0, -1.5]), np.array([3.0, 0.0, 3.0]))
    largest = np.zeros(2)
    for n in range(90):
        _step(bodies, joints, n / 120, 1 / 120)
        largest = np.maximum(largest, np.abs([joints.coordinate("about x"), joints.coordinate("about z")]))
        assert joints.errors().max() < 1e-6
    np.testing.assert_allclose(largest, (0.4, 0.2), atol=1e-6)


@pytest.mark.parametrize("method", ["global", "pairwise"])
@pytest.mark.parametrize("kind", KINDS)
def test_pre_stabilisation_closes_the_joint_in_one_step(kind, method):
    """Anchors 0.1 m and frames 0.6 rad apart: after the position update the error is round-off, momentum unchanged."""
    bodies, joints = _apart(kind, method, 0.1)
    assert joints.errors()[0] > 0.04
    for order, fix in ((1, False), (2, True), (3, True)):
        v, omega = bodies.v_b.copy(), bodies.omega_b.copy()
        stats = joints.pre_stabilise(v, omega, 0.0, 1 / 60, _advance(bodies, 1 / 60, order, fix))
        np.testing.assert_allclose(_momenta(bodies, v, omega), _momenta(bodies, bodies.v_b, bodies.omega_b), atol=1e-11)
        assert stats.error < 1e-8 and stats.iterations < 20
        x, q = bodies.x_b.copy(), bodies.q_b.copy()
        _advance(bodies, 1 / 60, order, fix)(v, omega, bodies.x_b, bodies.q_b)
        assert joints.errors()[0] < 1e-8
        bodies.x_b[...], bodies.q_b[...] = x, q
    p, L = np.zeros((2, 3)), np.zeros((2, 3))
    joints.carry(p, L)
    assert not p.any() and not L.any()


@pytest.mark.parametrize("kind", KINDS)
def test_what_closes_a_gap_is_not_carried_to_the_velocities(kind):
    """A joint that moves as it should but is 1 mm apart needs impulses for the position update alone."""
    bodies, joints = _apart(kind, "global", 1e-3)
    v, omega = bodies.v_b.copy(), bodies.omega_b.copy()
    joints.post_stabilise(v, omega)
    small = 1e-3 * v, 1e-3 * omega
    start = small[0].copy()
    joints.pre_stabilise(*small, 0.0, 1 / 60, _advance(bodies, 1 / 60))
    p, L = np.zeros((2, 3)), np.zeros((2, 3))
    joints.carry(p, L)
    np.testing.assert_allclose(p[0] + p[1], 0, atol=1e-12)
    assert np.linalg.norm(p) < 0.01 * np.linalg.norm(bodies.mass_b[:, None] * (small[0] - start))


def test_a_hinge_turns_through_half_turns_and_counts_them():
    """4.5.1: neither sign of the quaternion nor an angle of pi is special."""
    bodies = RigidBodies()
    bodies.add("wheel", 0, np.zeros(3), UPRIGHT, 1.0, np.ones(3), None, None, np.array([0.0, 0.0, 9.0]))
    joints = Joints(bodies)
    joints.add("axle", "hinge", None, "wheel", (0, 0, 0))
    for n in range(120):
        _step(bodies, joints, n / 60, 1 / 60, gravity=0.0)
        assert joints.errors()[0] < 1e-12
    assert joints.coordinate("axle") == pytest.approx(18.0, rel=1e-12)
    bodies, joints = _pair("hinge")
    flipped = np.array([0.0, 1.0, 0.0, 0.0])
    joints._joints[0].turn[1] = flipped  # some axis; then exactly the opposite one
    joints._joints[0].turn[0] = UPRIGHT
    bodies.q_b[...] = UPRIGHT
    joints._built = 0
    assert joints.errors()[0] == pytest.approx(2.0)


def _four_bar(method="global"):
    """Crank 0.3, coupler 0.8, rocker 0.6, ground 0.9, hinges about z: three rows too many in 3D."""
    bodies = RigidBodies()
    points = [np.zeros(3), np.array([0.0, 0.3, 0.0])]
    ground = np.array([0.9, 0.0, 0.0])
    d = np.linalg.norm(ground - points[1])
    along = (ground - points[1]) / d
    a = (0.8**2 - 0.6**2 + d**2) / (2 * d)
    points += [points[1] + a * along + np.sqrt(0.8**2 - a**2) * np.array([-along[1], along[0], 0.0]), ground]
    for name, p, q in zip(("crank", "coupler", "rocker"), points, points[1:], strict=False):
        length, angle = np.linalg.norm(q - p), np.arctan2(*(q - p)[1::-1])
        turn = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
        bodies.add(name, 0, (p + q) / 2, turn, length, length**3 / 12 * np.array([0.01, 1.0, 1.01]))
    joints = Joints(bodies, method)
    names = [None, "crank", "coupler", "rocker", None]
    for i in range(3):
        joints.add(f"j{i}", "hinge", names[i], names[i + 1], points[i])
    joints.add("j3", "hinge", None, "rocker", points[3])
    return bodies, joints


def test_a_closed_loop_with_redundant_rows_holds():
    bodies, joints = _four_bar()
    bodies.set_velocity(0, np.array([-15.0, 0.0, 0.0]), np.array([0.0, 0.0, 100.0]))
    start = _energy(bodies, bodies.v_b, bodies.omega_b)
    joints.post_stabilise(bodies.v_b, bodies.omega_b)
    for b in range(3):
        bodies.set_velocity(b, bodies.v_b[b].copy(), bodies.omega_b[b].copy())
    first = _energy(bodies, bodies.v_b, bodies.omega_b)
    assert 0.05 * start < first < start
    largest = 0.0
    for n in range(120):
        _step(bodies, joints, n / 120, 1 / 120, gravity=0.0)
        largest = max(largest, joints.errors().max())
    assert largest < 1e-9
    assert _energy(bodies, bodies.v_b, bodies.omega_b) == pytest.approx(first, rel=0.01)
    assert abs(joints.coordinate("j0")) > 2 * np.pi and np.abs(bodies.x_b[:, 2]).max() < 1e-12


def test_pairwise_and_global_agree_in_a_loop():
    results = []
    for method in ("global", "pairwise"):
        bodies, joints = _four_bar(method)
        bodies.set_velocity(0, np.array([-1.5, 0.0, 0.0]), np.array([0.0, 0.0, 10.0]))
        for n in range(6):
            _step(bodies, joints, n / 60, 1 / 60)
        results.append((bodies.x_b.copy(), bodies.v_b.copy()))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-8)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-6)


def _pendulum(dimensions=3, angle=0.0, limits=None, **more):
    """A rod of 1 m and 2 kg, hinged at its end in the origin, at an angle above the x axis."""
    bodies = RigidBodies(dimensions)
    direction = np.array([np.cos(angle), np.sin(angle), 0.0])
    turn = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    bodies.add("rod", 0, 0.5 * direction, turn, 2.0, np.array([1e-3, 1 / 6, 1 / 6]))
    joints = Joints(bodies)
    joints.add("pivot", "hinge", None, "rod", (0, 0, 0), limits=limits, **more)
    return bodies, joints


def test_carried_impulses_make_the_pendulum_second_order():
    """Energy after one second of swinging: the error falls by four when the step is halved, and is tiny."""
    errors = []
    for rate in (60, 120):
        bodies, joints = _pendulum()
        for n in range(rate):
            _step(bodies, joints, n / rate, 1 / rate)
        errors.append(abs(_energy(bodies, bodies.v_b, bodies.omega_b) + 2 * 9.81 * bodies.x_b[0, 1]))
    assert errors[1] < 0.01 and errors[0] / errors[1] > 3.5


def test_two_dimensions_are_three_in_the_plane():
    results = []
    for dimensions in (2, 3):
        bodies, joints = _pendulum(dimensions)
        for n in range(30):
            _step(bodies, joints, n / 60, 1 / 60)
        results.append(np.concatenate([bodies.x_b[0], bodies.q_b[0], bodies.omega_b[0]]))
    np.testing.assert_allclose(results[0], results[1], atol=1e-9)


def test_a_limit_stops_the_fall_and_only_pushes():
    """A rod falls 0.5 rad onto its limit, rests on it with the torque of its weight, and leaves it when lifted."""
    bodies, joints = _pendulum(limits=(-0.5, 1.0))
    lowest, energy = 0.0, 0.0
    for n in range(60):
        _step(bodies, joints, n / 60, 1 / 60)
        lowest = min(lowest, joints.coordinate("pivot"))
        total = _energy(bodies, bodies.v_b, bodies.omega_b) + 2 * 9.81 * bodies.x_b[0, 1]
        assert total < energy + 0.02
        energy = max(total, -100.0)
    assert lowest == pytest.approx(-0.5, abs=1e-9) and joints.coordinate("pivot") == pytest.approx(-0.5, abs=1e-9)
    assert np.abs(bodies.omega_b).max() < 1e-9
    assert joints.torque_j[0, 2] == pytest.approx(2 * 9.81 * 0.5 * np.cos(0.5), rel=1e-6)
    _step(bodies, joints, 1.0, 1 / 60, gravity=9.81)
    assert joints.coordinate("pivot") > -0.5 + 1e-3 and abs(joints.torque_j[0, 2]) < 1e-9


def test_a_slider_stops_at_its_limit():
    bodies = RigidBodies()
    bodies.add("bead", 0, np.array([0.0, 0.2, 0.0]), UPRIGHT, 3.0, np.ones(3))
    joints = Joints(bodies)
    joints.add("rail", "prismatic", None, "bead", (0, 0, 0), axis=(0, 1, 0), limits=(-0.3, 0.3))
    for n in range(6):
        _step(bodies, joints, n / 60, 1 / 60)
    assert joints.coordinate("rail") == pytest.approx(-0.5 * 9.81 * 0.01, rel=1e-9)
    for n in range(60):
        _step(bodies, joints, n / 60, 1 / 60)
    assert joints.coordinate("rail") == pytest.approx(-0.3, abs=1e-10)
    assert joints.force_j[0] == pytest.approx([0, 3 * 9.81, 0], abs=1e-6)


def _hanging(count, **more):
    bodies = RigidBodies()
    joints = Joints(bodies)
    for b in range(count):
        bodies.add(f"link{b}", 0, np.array([0.0, -0.5 - b, 0.0]), UPRIGHT, 1.0, np.full(3, 0.1))
        joints.add(f"j{b}", "ball", f"link{b - 1}" if b else None, f"link{b}", (0.0, -float(b), 0.0), **more)
    return bodies, joints


def test_forces_of_a_hanging_chain():
    bodies, joints = _hanging(5)
    for n in range(3):
        _step(bodies, joints, n / 60, 1 / 60)
        np.testing.assert_allclose(joints.force_j[:, 1], 9.81 * np.arange(5, 0, -1), rtol=1e-8)
    np.testing.assert_allclose(joints.force_b[:, 1], 9.81, rtol=1e-8)
    np.testing.assert_allclose(bodies.v_b, 0.0, atol=1e-9)


def test_a_joint_breaks_at_its_threshold():
    bodies, joints = _hanging(5, break_force=4.5 * 9.81)
    assert joints.excluded_pairs().tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert _step(bodies, joints, 0.0, 1 / 60) == ["j0"]
    for n in range(1, 31):
        assert _step(bodies, joints, n / 60, 1 / 60) == []
    np.testing.assert_allclose(bodies.v_b[:, 1], -9.81 * 0.5, rtol=1e-6)
    np.testing.assert_allclose(joints.force_j, 0.0, atol=1e-6)
    bodies, joints = _pair("fixed", break_torque=1e-3)
    assert joints.end_step(1.0) == []
    joints.post_stabilise(bodies.v_b, bodies.omega_b)
    (broken,) = joints.end_step(1.0)
    assert broken.name == "joint" and broken.torque > 1e-3 and broken.torque == np.linalg.norm(joints.torque_j[0])
    assert joints.excluded_pairs().tolist() == []
    saved = {name: array.copy() for name, array in joints.arrays().items()}
    _, other = _pair("fixed")
    other.restore(saved)
    assert other.broken_j.tolist() == [1]


def test_joints_of_removed_bodies_are_gone():
    bodies, joints = _hanging(4)
    _step(bodies, joints, 0.0, 1 / 60)
    bodies.remove(1)
    for n in range(1, 7):
        _step(bodies, joints, n / 60, 1 / 60)
    assert joints.broken_j.tolist() == [0, 1, 1, 0]
    assert bodies.v_b[0, 1] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(bodies.v_b[1:, 1], -9.81 * 0.1, rtol=1e-9)
    assert joints.errors()[3] < 1e-10


def test_a_body_that_follows_a_motion_carries_what_is_joined_to_it():
    """A crank that turns and swings by curves: the anchor of the link is on it at every step."""
    bodies = RigidBodies()
    motion = VelocityCurves(SineCurve((0, 0, 0), (0.3, 0, 0), 1.0), ConstantCurve((0, 0, 3.0)))
    bodies.add("crank", 0, np.zeros(3), UPRIGHT, motion=motion)
    bodies.move_kinematic(0.0, place=True)
    bodies.add("link", 0, np.array([1.0, 0.0, 0.0]), UPRIGHT, 1.0, np.full(3, 0.1))
    joints = Joints(bodies)
    joints.add("pin", "ball", "crank", "link", (0.5, 0.0, 0.0))
    for n in range(60):
        _step(bodies, joints, n / 60, 1 / 60)
        assert joints.errors()[0] < 1e-9
    assert bodies.x_b[0] == pytest.approx(motion.pose(1.0)[0])


def test_a_chain_of_short_links_holds_at_the_frame_rate():
    """Six links of 1 cm swing at 60 Hz, turning up to a radian in a step: joints hold and energy does not grow."""
    bodies = RigidBodies()
    joints = Joints(bodies)
    for b in range(6):
        bodies.add(f"link{b}", 0, np.array([0.005 + 0.01 * b, 0.0, 0.0]), UPRIGHT, 1e-3, np.full(3, 1e-8))
        joints.add(f"j{b}", "hinge", f"link{b - 1}" if b else None, f"link{b}", (0.01 * b, 0.0, 0.0))
    fastest = 0.0
    for n in range(60):
        _step(bodies, joints, n / 60, 1 / 60)
        fastest = max(fastest, float(np.abs(bodies.omega_b).max()) / 60)
        assert joints.errors().max() < 1e-6
        total = _energy(bodies, bodies.v_b, bodies.omega_b) + 9.81 * bodies.mass_b @ bodies.x_b[:, 1]
        assert total < 0.05 * 6e-3 * 9.81 * 0.03
    assert fastest > 0.5


def test_a_restored_run_continues_with_the_same_bits():
    whole, first, second = (_pendulum(limits=(-0.5, 4.0)) for _ in range(3))
    for n in range(20):
        _step(*whole, n / 60, 1 / 60)
    for n in range(10):
        _step(*first, n / 60, 1 / 60)
    for part in (0, 1):
        second[part].restore({name: array.copy() for name, array in first[part].arrays().items()})
    for n in range(10, 20):
        _step(*second, n / 60, 1 / 60)
    assert np.array_equal(whole[0].x_b, second[0].x_b) and np.array_equal(whole[0].L_b, second[0].L_b)
    assert np.array_equal(whole[1].coordinate_c, second[1].coordinate_c)


def test_hopeless_joints_are_named():
    bodies = RigidBodies()
    motion = Keyframes([0.0, 1.0], [(0, 0, 0), (10, 0, 0)])
    bodies.add("crank", 0, np.zeros(3), UPRIGHT, motion=motion)
    bodies.add("rod", 0, np.array([0.5, 0.0, 0.0]), UPRIGHT, 1.0, np.full(3, 0.1))
    joints = Joints(bodies)
    joints.add("wall", "ball", None, "rod", (1.0, 0.0, 0.0))
    joints.add("pull", "ball", "crank", "rod", (0.0, 0.0, 0.0))
    with pytest.raises(PhysicsError, match="joint '(wall|pull)': cannot be held: a rate of 10 1/s is left"):
        for n in range(60):
            _step(bodies, joints, n / 60, 1 / 60)
    bodies.x_b[0] = (-1.0, 0.0, 0.0)
    with pytest.raises(PhysicsError, match="joint '(wall|pull)': cannot be held: error .*length over the arm of 0.5 m"):
        joints.close()


def test_closing_keeps_what_it_must():
    """A chain pulled apart is closed about its own centre of mass, and its impulses are equal and opposite."""
    rng = np.random.default_rng(1)
    bodies = RigidBodies()
    joints = Joints(bodies)
    for b in range(5):
        bodies.add(f"link{b}", 0, np.array([b + 0.5, 0.0, 0.0]), UPRIGHT, rng.uniform(1, 9), rng.uniform(0.1, 0.15, 3))
        if b:
            joints.add(f"j{b}", "ball", f"link{b - 1}", f"link{b}", (float(b), 0.0, 0.0))
    bodies.x_b[...] += 0.3 * rng.standard_normal((5, 3))
    centre = bodies.mass_b @ bodies.x_b / bodies.mass_b.sum()
    assert joints.errors().max() > 0.1
    stats = joints.close(1 / 60)
    assert stats.iterations < 100 and joints.errors().max() < 1e-8
    np.testing.assert_allclose(bodies.mass_b @ bodies.x_b / bodies.mass_b.sum(), centre, atol=1e-12)
    p, L = np.zeros((5, 3)), np.zeros((5, 3))
    joints.carry(p, L)
    np.testing.assert_allclose(p.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose((np.cross(bodies.x_b, p) + L).sum(axis=0), 0.0, atol=1e-9)


def test_mistakes_are_named():
    bodies, joints = _pendulum()
    bodies.add("table", 0, np.zeros(3), UPRIGHT)

    def add(kind="hinge", parent=None, child="rod", **more):
        joints.add("new", kind, parent, child, (0, 0, 0), **more)

    with pytest.raises(UserError, match="joint 'new': joins body 'door', which does not exist; the bodies are rod"):
        add(child="door")
    with pytest.raises(UserError, match="joins body 'wall', which does not exist"):
        add(parent="wall")
    with pytest.raises(UserError, match="to itself"):
        add(parent="rod")
    with pytest.raises(UserError, match="neither the world nor 'table' can move"):
        add(child="table")
    with pytest.raises(UserError, match=r"limits \(1.0, -1.0\): the lower one comes first"):
        add(limits=(1.0, -1.0))
    with pytest.raises(UserError, match="0 is the pose of now"):
        add(limits=(1.0, 2.0))
    with pytest.raises(UserError, match="no coordinate of a planar joint: its coordinates are x, y, angle; name one"):
        add(kind="planar", limits=(-1.0, 1.0))
    with pytest.raises(UserError, match="a ball joint bends up to an upper limit; .* its coordinates x, y, z"):
        add(kind="ball", limits=(-1.0, 1.0))
    with pytest.raises(UserError, match="break_force = 0: must be positive"):
        add(break_force=0)
    with pytest.raises(UserError, match="break_torque = -1"):
        add(break_torque=-1)
    with pytest.raises(UserError, match="kind = 'spring': must be one of fixed"):
        add(kind="spring")
    with pytest.raises(UserError, match="not all 0"):
        add(axis=(0, 0, 0))
    with pytest.raises(UserError, match="need a second_axis"):
        add(kind="universal")
    with pytest.raises(UserError, match="must be perpendicular"):
        add(kind="universal", second_axis=(0, 1, 1))
    with pytest.raises(UserError, match="second_axis on a hinge joint"):
        add(second_axis=(0, 1, 0))
    with pytest.raises(UserError, match="'pivot': exists already"):
        joints.add("pivot", "hinge", None, "rod", (0, 0, 0))
    with pytest.raises(UserError, match="no such joint; the joints are pivot"):
        joints.coordinate("elbow")
    with pytest.raises(UserError, match="must be global or pairwise"):
        Joints(bodies, "newton")
    bodies, joints = _pendulum(dimensions=2)
    with pytest.raises(UserError, match="need three dimensions"):
        add(kind="planar")
    with pytest.raises(UserError, match="in 2D hinges turn about z"):
        add(axis=(1, 0, 0))
