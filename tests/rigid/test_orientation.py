"""Orientation updates: order, momentum, energy, and the worst a shard can do."""

import numpy as np
import pytest

from undertow.errors import PhysicsError
from undertow.geometry import rotation_matrix
from undertow.rigid.bodies import RigidBodies, quaternion_of_matrix, rotation_matrix_of
from undertow.rigid.orientation import advance_poses, rotational_energy
from undertow.validation.free_top.case import SHARD, TOP, drift, exact_omega, exact_rotation, orders


def _body(inertia, omega, q=(1.0, 0.0, 0.0, 0.0), dimensions=3):
    bodies = RigidBodies(dimensions)
    bodies.add("top", 0, np.zeros(3), np.array(q), 1.0, np.array(inertia), angular_velocity=np.array(omega))
    return bodies


def _advance(bodies, dt, order, fix):
    s = bodies.spec
    advance_poses(s, s.v, s.omega, dt, order, fix, s.x, s.q)
    bodies.derive_velocities()


def test_the_exact_solution_is_that_of_the_table():
    """omega in the body for moments 1, 2, 3 and omega = (1, 1, 1), to the digits given; R I R^T omega stays."""
    times = np.array([1.0, 2.0, 5.0, 10.0])
    table = [
        (-0.12664, 1.40853, 0.81976),
        (-1.19958, 0.74900, 1.07067),
        (1.00798, -0.99196, 1.00267),
        (-0.60347, -1.27899, 0.88773),
    ]
    assert np.allclose(exact_omega(*TOP, times), table, atol=6e-6)
    inertia, omega = TOP
    for t in times:
        L = exact_rotation(inertia, omega, t) @ (inertia * exact_omega(inertia, omega, np.array([t]))[0])
        assert np.allclose(L, inertia * omega, atol=1e-12)
    h = 1e-5
    R, ahead = exact_rotation(inertia, omega, 1.0), exact_rotation(inertia, omega, 1.0 + h)
    spin = (ahead @ R.T - np.eye(3)) / h
    assert np.allclose([spin[2, 1], spin[0, 2], spin[1, 0]], R @ exact_omega(*TOP, np.array([1.0]))[0], atol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_order_of_the_updates(order):
    """Through whole steps of the solids."""
    found = orders(order, fix=False, end=2.0)
    assert min(found["order_rotation"], found["order_omega"]) > order - 0.1


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("body", [TOP, SHARD], ids=["top", "shard"])
def test_momentum_and_energy_stay(body, order):
    momentum, energy = drift(*body, order, steps=400)
    assert momentum < 1e-12 and energy < 1e-11


def test_without_the_fix_a_shard_gains_energy():
    bodies = _body(*SHARD)
    start = rotational_energy(bodies.q_b[0], bodies.inv_inertia_b[0], bodies.L_b[0])
    worst = start
    for _ in range(200):
        _advance(bodies, 1 / 30, 2, False)
        worst = max(worst, rotational_energy(bodies.q_b[0], bodies.inv_inertia_b[0], bodies.L_b[0]))
    assert worst > 5 * start


def test_the_fix_always_finds_the_energy():
    """Random bodies, from spheres to needles and plates, momentum near axes included, steps of up to many turns."""
    rng = np.random.default_rng(0)
    for trial in range(2000):
        half = 10 ** rng.uniform(-3, 0, 3)
        inertia = np.array([half[1] ** 2 + half[2] ** 2, half[2] ** 2 + half[0] ** 2, half[0] ** 2 + half[1] ** 2])
        if trial % 5 == 0:
            inertia[1] = inertia[2]
        direction = rng.normal(size=3) * 10 ** rng.uniform(-9, 0, 3)
        omega = 10 ** rng.uniform(-2, 3) * direction / np.linalg.norm(direction)
        q = rng.normal(size=4)
        bodies = _body(inertia, omega, q / np.linalg.norm(q))
        before = rotational_energy(bodies.q_b[0], bodies.inv_inertia_b[0], bodies.L_b[0])
        _advance(bodies, 1 / 30, 1 + trial % 3, True)
        after = rotational_energy(bodies.q_b[0], bodies.inv_inertia_b[0], bodies.L_b[0])
        # L sees the inertia through rounding of its direction, magnified by the ratio of the moments
        assert after == pytest.approx(before, rel=1e-14 * inertia.max() / inertia.min() + 1e-14)
        assert np.linalg.norm(bodies.q_b[0]) == pytest.approx(1.0, abs=1e-14)


def test_a_body_about_a_principal_axis_turns_exactly():
    for axis in range(3):
        omega = np.zeros(3)
        omega[axis] = 7.0
        bodies = _body([1.0, 2.0, 3.0], omega)
        _advance(bodies, 0.3, 3, True)
        assert np.allclose(rotation_matrix_of(bodies.q_b[0]), rotation_matrix(omega, np.degrees(2.1)), atol=1e-14)


def test_the_update_does_not_depend_on_the_frame():
    """Turning body and angular velocity turns the result."""
    turn = rotation_matrix((1, 2, -1), 77.0)
    inertia, omega = np.array([0.3, 1.0, 1.2]), np.array([3.0, -2.0, 1.0])
    for order in (1, 2, 3):
        plain, turned = _body(inertia, omega), _body(inertia, turn @ omega, quaternion_of_matrix(turn))
        for bodies in (plain, turned):
            _advance(bodies, 0.1, order, True)
        expected = turn @ rotation_matrix_of(plain.q_b[0])
        assert np.allclose(rotation_matrix_of(turned.q_b[0]), expected, atol=1e-13)


def test_locked_axes_and_bodies_without_inertia():
    flat = _body([0.0, 0.0, 0.5], (0.0, 0.0, 3.0), dimensions=2)
    _advance(flat, 0.2, 2, True)
    assert np.allclose(flat.q_b[0], [np.cos(0.3), 0.0, 0.0, np.sin(0.3)], atol=1e-15)
    bodies = RigidBodies()
    bodies.add("wall", 0, np.ones(3), np.array([1.0, 0.0, 0.0, 0.0]))
    _advance(bodies, 0.2, 3, True)
    assert np.array_equal(bodies.q_b[0], [1.0, 0.0, 0.0, 0.0]) and np.array_equal(bodies.x_b[0], np.ones(3))


def test_what_is_not_finite_is_named():
    bodies = _body([1.0, 2.0, 3.0], (1.0, 0.0, 0.0))
    bodies.omega_b[0, 1] = np.nan
    s = bodies.spec
    with pytest.raises(PhysicsError, match="rigid body 0.*not finite"):
        advance_poses(s, s.v, s.omega, 0.1, 2, True, s.x, s.q)
    with pytest.raises(ValueError, match="order = 4"):
        advance_poses(s, s.v, s.omega, 0.1, 4, True, s.x, s.q)
