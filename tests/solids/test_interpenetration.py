"""Interpenetration resolution around a central body: every case of appendix B against a dense limit."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.geometry import Box, Sphere
from undertow.rigid.narrow import ContactSpec
from undertow.solids import SolidsWorld
from undertow.solids.contact import _invert_inertia
from undertow.solids.interpenetration import LEFT, Overlaps, resolve_interpenetration
from undertow.validation.messenger.case import LIGHT, RADIUS, misplaced, resolve

ALLOWED = 1e-9


def make_world(positions, statics, dimensions=3):
    """Balls of different masses; those in ``statics`` do not move."""
    world = SolidsWorld(dimensions=dimensions)
    for i, position in enumerate(positions):
        density = None if i in statics else 500.0 * (1 + i)
        world.add(f"{i}", Sphere(0.1), position, density=density)
    return world


def contacts_of(points, normals, depths):
    """Body 0 against bodies 1, 2, ...: one contact each."""
    n = len(points)
    return ContactSpec(
        np.zeros(n, dtype=np.int64), np.arange(1, n + 1), np.array(points, dtype=float), np.array(normals, dtype=float),
        -np.array(depths, dtype=float), np.zeros(n, dtype=np.int64), np.arange(n + 1),
    )  # fmt: skip


def part(world, contacts):
    """One sweep: displacements (n, 6)."""
    spec = world.bodies.spec
    inv_inertia = np.zeros((world.bodies.count, 6))
    _invert_inertia(spec, spec.q, inv_inertia)
    overlaps = Overlaps()
    allowed = np.full(world.bodies.count, ALLOWED)
    resolve_interpenetration(
        contacts,
        len(contacts.a),
        spec,
        spec.x.copy(),
        spec.q.copy(),
        inv_inertia,
        allowed,
        1,
        world.bodies.dimensions,
        overlaps,
    )
    return overlaps.spec.moved[: world.bodies.count].copy()


def cross(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def expected(world, contacts, epsilon=1e-7):
    """Motion of body 0 by (B.2) with static bodies of the large mass 1 / epsilon, dense."""
    b = world.bodies
    free = [0, 1, 2, 3, 4, 5] if b.dimensions == 3 else [0, 1, 5]
    A, rhs = np.zeros((6, 6)), np.zeros(6)
    A[:3, :3] = np.eye(3) * b.mass_b[0]
    A[3:, 3:] = np.diag(b.inertia_b[0])
    for i in range(len(contacts.a)):
        o = int(contacts.b[i])
        H = np.hstack([np.eye(3), cross(contacts.point[i] - b.x_b[0]).T])
        q = cross(contacts.point[i] - b.x_b[o])
        if b.mass_b[o] > 0:
            inverse = np.diag(b.inv_inertia_b[o])
            K = np.eye(3) / b.mass_b[o] + q @ inverse @ q.T
        else:
            K = epsilon * np.eye(3)
        d = (-contacts.gap[i] - LEFT * ALLOWED) * contacts.normal[i]
        A += H.T @ np.linalg.solve(K, H)
        rhs += H.T @ np.linalg.solve(K, d)
    D = np.zeros(6)
    D[free] = np.linalg.solve(A[np.ix_(free, free)], rhs[free])
    return D


RIGHT, LEFT_SIDE, FRONT = (0.15, 0.0, 0.0), (-0.15, 0.0, 0.0), (0.0, 0.0, 0.15)

# (position of an outer body, static, point, normal) of every outer body
CASES = {
    "dynamic": [
        (RIGHT, False, (0.09, 0.01, 0.0), (-1, 0, 0)),
        ((0, 0.15, 0.02), False, (0.0, 0.09, 0.02), (0, -1, 0)),
    ],
    "one static": [
        (RIGHT, True, (0.09, 0.01, 0.0), (-1, 0, 0)),
        ((0, 0.15, 0.02), False, (0.0, 0.09, 0.02), (0, -1, 0)),
    ],
    "coincident": [
        (RIGHT, True, (0.09, 0.01, 0.0), (-1, 0, 0)),
        ((0.1, 0.1, 0), True, (0.09, 0.01, 0.0), (-1, 0, 0)),
        (LEFT_SIDE, False, (-0.09, 0.02, 0.01), (1, 0, 0)),
    ],
    "collinear": [
        (RIGHT, True, (0.09, 0.01, 0.0), (-1, 0, 0)),
        (LEFT_SIDE, True, (-0.09, 0.01, 0.0), (-0.6, -0.8, 0)),
        (FRONT, False, (0.03, 0.04, 0.09), (0, 0, -1)),
    ],
    "general": [
        (RIGHT, True, (0.09, 0.01, 0.0), (-1, 0, 0)),
        (LEFT_SIDE, True, (-0.09, 0.01, 0.0), (0, -1, 0)),
        (FRONT, True, (0.0, 0.03, 0.09), (0, 0, -1)),
        ((0, -0.15, 0), False, (0.0, -0.09, 0.0), (0, 1, 0)),
    ],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_central_motion_is_the_limit_of_heavy_static_bodies(name, dimensions):
    outers = CASES[name]
    positions = np.array([(0.0, 0.0, 0.0), *(outer[0] for outer in outers)])
    points, normals = np.array([outer[2] for outer in outers]), np.array([outer[3] for outer in outers], dtype=float)
    statics = [i + 1 for i, outer in enumerate(outers) if outer[1]]
    if dimensions == 2:
        points[:, 2] = normals[:, 2] = positions[:, 2] = 0.0
        normals[np.linalg.norm(normals, axis=1) < 0.5] = (0, -1, 0)
    world = make_world(positions, statics, dimensions)
    contacts = contacts_of(points, normals, 0.001 * (1 + np.arange(len(points))))
    wanted = expected(world, contacts)
    # body 0 comes first, and all that is left for the others is done with it
    moved = part(world, contacts)[0]
    np.testing.assert_allclose(moved, wanted, atol=2e-5 * np.abs(wanted).max() + 1e-9)


def test_pushes_do_not_move_the_centre_of_mass():
    world = make_world([(0, 0, 0), (0.19, 0, 0), (0, 0.19, 0)], ())
    contacts = contacts_of([(0.095, 0, 0), (0, 0.095, 0)], [(-1, 0, 0), (0, -1, 0)], [0.01, 0.01])
    moved = part(world, contacts)
    mass = world.bodies.mass_b
    np.testing.assert_allclose(mass @ moved[:, :3], 0.0, atol=1e-15)
    turned = (np.cross(world.bodies.x_b, mass[:, None] * moved[:, :3]) + world.bodies.inertia_b * moved[:, 3:]).sum(
        axis=0
    )
    np.testing.assert_allclose(turned, 0.0, atol=1e-15)


def test_central_bodies_beat_pairs_in_a_row_of_messengers():
    central, _, lost = resolve(True, 100.0, left=0.1)
    pairwise, _, also = resolve(False, 100.0, left=0.1)
    assert pairwise > 1.5 * central and lost == also == 0


def test_a_ball_out_of_its_row_is_missed_wherever_it_went():
    row = np.zeros((LIGHT + 2, 3))
    row[:, 0] = 2 * RADIUS * np.arange(LIGHT + 2)
    assert misplaced(row) == 0
    for axis in range(3):
        for way in (-1.0, 1.0):
            for ball in range(LIGHT + 2):
                x = row.copy()
                x[ball, axis] += way * 6 * RADIUS
                assert misplaced(x) > 0, (axis, way, ball)
    x = row.copy()
    x[2] = np.nan
    assert misplaced(x) > 0


def momenta_of(b):
    """Momentum, angular momentum about the origin, kinetic energy of dynamic bodies."""
    free = b.mass_b > 0
    inverse = np.zeros((b.count, 6))
    _invert_inertia(b.spec, b.spec.q, inverse)
    omega = np.einsum("nij,nj->ni", inverse[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3), b.L_b)
    energy = 0.5 * ((b.p_b[free] ** 2).sum(axis=1) / b.mass_b[free]).sum() + 0.5 * (omega * b.L_b)[free].sum()
    return b.p_b[free].sum(axis=0), (np.cross(b.x_b, b.p_b) + b.L_b)[free].sum(axis=0), energy


def overlapping(dimensions, seed, floor=False):
    """Three rows of four boxes that overlap, with random masses, turns and velocities."""
    rng = np.random.default_rng(seed)
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0), dimensions=dimensions)
    planar, turning = ([1, 1, 0], [0, 0, 1]) if dimensions == 2 else ([1, 1, 1], [1, 1, 1])
    box = Box((0.2, 0.1, 0.15))
    for row in range(3):
        for i in range(4):
            where = np.array([0.17 * i, 2.0 * row, 0.0]) + 0.01 * rng.normal(size=3) * planar
            angle = 0.1 * rng.normal()
            turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
            world.add(f"{row}-{i}", box, where, turn, 10.0 ** rng.uniform(2, 4))
            v, omega = rng.normal(size=3) * planar, 5 * rng.normal(size=3) * turning
            world.bodies.set_velocity(world.bodies.count - 1, v, omega)
    if floor:
        world.add("floor", box, (0.0, -0.095, 0.0))
    return world


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_parted_bodies_keep_momentum_and_angular_momentum_and_gain_no_energy(dimensions, seed):
    world = overlapping(dimensions, seed)
    b = world.bodies
    p, L, energy = momenta_of(b)
    x = b.x_b.copy()
    sweeps, _ = world.solids.part()
    assert sweeps > 0 and np.abs(b.x_b - x).max() > 1e-3
    p_new, L_new, energy_new = momenta_of(b)
    scale = np.abs(b.p_b).sum()
    assert np.abs(p_new - p).max() < 1e-13 * scale and np.abs(L_new - L).max() < 1e-13 * 4.0 * scale
    assert 0.5 * energy < energy_new <= energy * (1 + 1e-14)
    # velocities are those of the momenta
    assert np.allclose(b.v_b * b.mass_b[:, None], b.p_b, rtol=1e-14)


def test_bodies_that_lean_on_a_static_one_keep_their_momenta():
    """The static body takes what their displacement changes; another group beside them is seen to all the same."""
    world = overlapping(3, 1, floor=True)
    b = world.bodies
    before = b.p_b.copy(), b.L_b.copy()
    assert world.solids.part()[0] > 0
    assert np.array_equal(b.p_b[:4], before[0][:4]) and np.array_equal(b.L_b[:4], before[1][:4])
    assert not np.array_equal(b.L_b[4:8], before[1][4:8])


@pytest.mark.parametrize("seed", range(3))
def test_a_dense_cluster_is_not_thrown_apart(seed):
    """Central bodies that overlap dozens of others drag these along, each time farther, until nothing is a number; pair
    by pair they stay where they are and come apart."""
    rng = np.random.default_rng(seed)
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0), resolve_iterations=30)
    for n, place in enumerate(np.ndindex(4, 4, 4)):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        at = 0.019 * np.array(place) + rng.uniform(-0.002, 0.002, 3)
        size = (0.02, 0.02, 0.02) if n % 2 else (0.01, 0.02, 0.04)
        world.add(f"{n}", Box(size), at, turn * np.sign(np.linalg.det(turn)), density=2400.0)
    x, before = world.bodies.x_b.copy(), world.solids.overlapping()[0][2]
    _, depth = world.solids.part()
    assert np.abs(world.bodies.x_b - x).max() < 0.06
    assert depth < 0.5 * before
