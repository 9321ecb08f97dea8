"""Bodies as arrays: frames, momentum, removal."""

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import Keyframes
from undertow.rigid.bodies import (
    DYNAMIC,
    KINEMATIC,
    STATIC,
    RigidBodies,
    multiply_quaternions,
    quaternion_of_matrix,
    rotation_matrix_of,
)


def _turn(seed: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=4)
    return q / np.linalg.norm(q)


def test_quaternions_and_matrices_agree():
    for seed in range(50):
        a, b = _turn(seed), _turn(seed + 100)
        A, B = rotation_matrix_of(a), rotation_matrix_of(b)
        assert np.allclose(rotation_matrix_of(multiply_quaternions(a, b)), A @ B, atol=1e-14)
        assert np.allclose(rotation_matrix_of(quaternion_of_matrix(A)), A, atol=1e-14)


def test_momentum_is_the_state_and_velocity_derived():
    bodies = RigidBodies()
    v, omega = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.5])
    b = bodies.add("top", 0, np.zeros(3), _turn(1), 2.0, np.array([1.0, 2.0, 3.0]), None, v, omega)
    bodies.v_b[:] = 0
    bodies.omega_b[:] = 0
    bodies.derive_velocities()
    assert bodies.kind_b[b] == DYNAMIC
    assert np.allclose(bodies.v_b[b], v, atol=1e-15) and np.allclose(bodies.omega_b[b], omega, atol=1e-14)
    assert np.allclose(bodies.p_b[b], 2 * v)


def test_a_body_turns_about_z_alone_in_two_dimensions():
    bodies = RigidBodies(dimensions=2)
    bodies.add("disc", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), 2.0, np.array([0.0, 0.0, 4.0]))
    bodies.L_b[0] = (5.0, 6.0, 8.0)
    bodies.derive_velocities()
    assert np.array_equal(bodies.omega_b[0], [0.0, 0.0, 2.0])


def test_bodies_can_be_removed():
    bodies = RigidBodies()
    for i in range(40):
        bodies.add(f"b{i}", i, np.full(3, float(i)), np.array([1.0, 0, 0, 0]))
    bodies.remove(3)
    assert bodies.count == 39 and bodies.names[3] == "b4" and bodies.x_b[3, 0] == 4.0 and bodies.identity_b[3] == 4
    assert bodies.add("new", 0, np.zeros(3), np.array([1.0, 0, 0, 0])) == 39
    assert bodies.identity_b[39] == 40 and bodies.kind_b[39] == STATIC
    with pytest.raises(UserError, match="no such body"):
        bodies.index("b3")


def test_a_kinematic_body_follows_its_shape_frame():
    motion = Keyframes([0.0, 1.0], [(0, 0, 0), (1, 0, 0)], [((0, 0, 1), 0), ((0, 0, 1), 90)], "linear")
    turn, offset = _turn(5), np.array([0.1, 0.2, -0.3])
    bodies = RigidBodies()
    b = bodies.add("arm", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), motion=motion, shape_offset=offset, shape_turn=turn)
    assert bodies.kind_b[b] == KINEMATIC
    bodies.move_kinematic(0.5, place=True)
    position, rotation = bodies.shape_pose(b)
    expected_position, expected_rotation = motion.pose(0.5)
    assert np.allclose(position, expected_position, atol=1e-14) and np.allclose(rotation, expected_rotation, atol=1e-14)
    before = bodies.x_b[b].copy()
    bodies.move_kinematic(0.5 + 1e-6, place=True)
    assert np.allclose((bodies.x_b[b] - before) / 1e-6, bodies.v_b[b], atol=1e-5)


def test_bad_bodies_are_refused():
    bodies = RigidBodies()
    with pytest.raises(UserError, match="must be positive"):
        bodies.add("flat", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), 1.0, np.array([1.0, 0.0, 1.0]))
    assert bodies.count == 0
    upright, moments = np.array([1.0, 0, 0, 0]), np.ones(3)
    bodies.add("one", 0, np.zeros(3), upright)
    with pytest.raises(UserError, match="body 'one': exists already; names are unique"):
        bodies.add("one", 0, np.zeros(3), upright)
    motion = Keyframes([0.0, 1.0], [(0, 0, 0), (1, 0, 0)])
    with pytest.raises(UserError, match="body 'two': has both a mass and a prescribed motion; give one of them"):
        bodies.add("two", 0, np.zeros(3), upright, 1.0, moments, motion)
    for mass in (-1.0, np.nan, np.inf):
        with pytest.raises(UserError, match=f"body 'two': mass = {mass} kg: must be positive, or 0"):
            bodies.add("two", 0, np.zeros(3), upright, mass, moments)
    assert bodies.names == ["one"]


def test_a_body_that_is_taken_back_leaves_no_trace():
    bodies, plain = RigidBodies(), RigidBodies()
    upright = np.array([1.0, 0, 0, 0])
    bodies.add("wrong", 0, np.ones(3), upright, 2.0, np.ones(3), None, np.ones(3), np.ones(3), rolling=0.1)
    bodies.withdraw()
    for each in (bodies, plain):
        each.add("right", 0, np.zeros(3), upright)
    assert bodies.names == ["right"] and bodies.identity_b[0] == 0
    for name, array in plain.arrays().items():
        assert np.array_equal(array, bodies.arrays()[name]), name
    assert bodies.rolling_b[0] == 0 and bodies.mass_b[0] == 0
