"""The contact solve on cases with known answers, and what must hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.geometry import Box, ConstantCurve, Plane, Sphere, VelocityCurves, rotation_matrix
from undertow.solids import SolidSettings, SolidsWorld, largest_motion
from undertow.solids.contact import _clamp_rows, _solve_coulomb

G = 9.81


def solve(b, K, mu):
    """Impulse of one contact by the kernel's function, called as sweeps do: from the impulse it has."""
    n, p, q = K[0, 0], K[0, 1] / K[1, 1], K[0, 2] / K[2, 2]
    arrow = n, K[0, 1], K[0, 2], K[1, 1], K[2, 2]
    k = np.array([*arrow, 0, 0, 1 / K[1, 1], 1 / K[2, 2], p, q, 1 / (n - p * K[0, 1] - q * K[0, 2])])
    j = np.zeros(3)
    for _ in range(12):
        j = np.array(_solve_coulomb.py_func(*b, k, mu, j[0]))
    return j


def random_contact(rng):
    """A positive matrix with a diagonal tangential block."""
    d = rng.uniform(0.5, 2.0, 3)
    K = np.diag(d)
    K[0, 1] = K[1, 0] = 0.3 * rng.uniform(-1, 1) * np.sqrt(d[0] * d[1])
    K[0, 2] = K[2, 0] = 0.3 * rng.uniform(-1, 1) * np.sqrt(d[0] * d[2])
    return K


def test_one_contact_obeys_coulomb():
    rng = np.random.default_rng(0)
    kinds = {"open": 0, "stick": 0, "slide": 0}
    for _ in range(300):
        K, mu = random_contact(rng), rng.uniform(0.05, 0.6)
        b = rng.normal(size=3) * (1.0, *np.full(2, 10.0 ** rng.uniform(-2, 0)))
        j = solve(b, K, mu)
        u = b + K @ j
        if b[0] >= 0:
            kinds["open"] += 1
            assert not j.any()
            continue
        assert j[0] > 0 and abs(u[0]) < 1e-9
        if np.hypot(*u[1:]) < 1e-9:
            kinds["stick"] += 1
            assert np.hypot(*j[1:]) <= mu * j[0] * (1 + 1e-9)
        else:
            kinds["slide"] += 1
            assert np.hypot(*j[1:]) == pytest.approx(mu * j[0], rel=1e-6)
            # friction against slip; NEWTON_STEPS leave an angle of the order of 1e-4, which the sweeps take out
            assert j[1:] @ u[1:] == pytest.approx(-np.hypot(*j[1:]) * np.hypot(*u[1:]), rel=1e-4)
    assert min(kinds.values()) > 20


def stack(count=4, **settings):
    world = SolidsWorld(**settings)
    world.add("ground", Plane())
    for i in range(count):
        world.add(f"box {i}", Box((0.2, 0.2, 0.2)), (0.0, 0.1 + 0.2 * i, 0.0), density=1000.0)
    return world


def test_forces_under_a_stack():
    world = stack()
    for _ in range(40):
        world.step(1 / 60)
    weight = 8.0 * G
    force = world.solids.contact_force_b
    np.testing.assert_allclose(force[0], (0, -4 * weight, 0), atol=1e-3 * weight)
    np.testing.assert_allclose(force[1:], np.tile((0, weight, 0), (4, 1)), atol=1e-3 * weight)
    assert np.abs(world.solids.contact_torque_b[1:]).max() < 1e-3 * weight * 0.2


def test_a_stack_at_rest_neither_moves_nor_freezes():
    """The clamp of the first contact step: against (x^n, v^n) it would discard the impulses of bodies at rest."""
    world = stack(3, tolerance=1e-10, iterations=200)
    x, q = world.bodies.x_b.copy(), world.bodies.q_b.copy()
    for _ in range(30):
        report = world.step(1 / 60)
        assert report.clamped == 0
    moved, turned = largest_motion(world.bodies, x, q)
    assert moved < 1e-6 and turned < 1e-3
    # pulled up it must leave at once
    force = np.zeros((4, 3))
    force[3, 1] = 2 * 8.0 * G
    for _ in range(6):
        world.step(1 / 60, force_b=force)
    assert world.bodies.x_b[3, 1] - x[3, 1] == pytest.approx(0.5 * G * 0.1**2, rel=1e-3)


def test_a_rolling_ball_and_a_sliding_one():
    """Sphere on an incline: a = 5/7 g sin while it rolls, g (sin - mu cos) when friction is too weak for that."""
    angle = np.radians(20.0)
    tilt = rotation_matrix((0.0, 0.0, 1.0), -20.0)
    for mu, expected in ((0.3, 5 / 7 * np.sin(angle)), (0.05, np.sin(angle) - 0.05 * np.cos(angle))):
        world = SolidsWorld()
        world.add("plane", Plane(), rotation=tilt, friction=mu)
        ball = world.add("ball", Sphere(0.1), 0.1 * tilt[:, 1], density=1000.0, friction=mu)
        for _ in range(60):
            world.step(1 / 60)
        assert world.bodies.v_b[ball] @ tilt[:, 0] == pytest.approx(G * expected, rel=1e-3)


def test_rolling_and_spinning_friction_stop_a_ball():
    world = SolidsWorld()
    world.add("ground", Plane())
    ball = world.add("ball", Sphere(0.1), (0, 0.1, 0), density=1000.0, rolling=0.01, spinning=0.01)
    world.bodies.set_velocity(ball, (0.5, 0, 0), (0, 5.0, -5.0))
    for _ in range(90):
        report = world.step(1 / 60)
        assert report.kinetic_after <= report.kinetic_before + 1e-11
    assert np.abs(world.bodies.v_b[ball]).max() < 1e-6 and np.abs(world.bodies.omega_b[ball]).max() < 1e-5
    # rolling resistance b: deceleration 5/7 g b / r; v^2 / (2 a)
    assert world.bodies.x_b[ball, 0] == pytest.approx(0.25 / (2 * 5 / 7 * G * 0.1), rel=0.05)


def test_an_elevator_lifts_and_a_belt_carries():
    """Kinematic bodies count in their own frame: clamping must not stop them from giving energy."""
    world = SolidsWorld()
    lift = VelocityCurves(ConstantCurve((0.5, 1.0, 0.0)), position=(0.0, -0.1, 0.0))
    world.add("lift", Box((2.0, 0.2, 2.0)), (0, -0.1, 0), motion=lift)
    box = world.add("box", Box((0.2, 0.2, 0.2)), (0, 0.1, 0), density=1000.0)
    for _ in range(60):
        report = world.step(1 / 60)
        assert report.clamped == 0
    np.testing.assert_allclose(world.bodies.v_b[box], (0.5, 1.0, 0.0), atol=1e-6)
    assert world.bodies.x_b[box, 1] == pytest.approx(1.1, abs=1e-5)


def test_landing_is_exact():
    """Without restitution a box closes its gap to nothing in one step and stays, as far as contact is solved."""
    world = SolidsWorld(tolerance=1e-9)
    world.add("ground", Plane())
    box = world.add("box", Box((0.2, 0.2, 0.2)), (0, 0.25, 0), density=1000.0)
    for _ in range(30):
        world.step(1 / 30)
    assert world.bodies.x_b[box, 1] == pytest.approx(0.1, abs=1e-9)


def test_two_dimensions():
    """In 2D a slab stands, nothing leaves the plane."""
    world = SolidsWorld(dimensions=2)
    world.add("ground", Plane())
    for i in range(3):
        world.add(f"box {i}", Box((0.2, 0.2, 1.0)), (0.01 * i, 0.1 + 0.2 * i, 0.0), density=1000.0)
    x, q = world.bodies.x_b.copy(), world.bodies.q_b.copy()
    for _ in range(60):
        world.step(1 / 60)
    moved, turned = largest_motion(world.bodies, x, q)
    assert moved < 1e-4 and turned < 0.05
    assert not world.bodies.x_b[:, 2].any() and not world.bodies.q_b[:, 1:3].any()


def test_resume_gives_the_same_bits():
    def run(steps, world):
        for _ in range(steps):
            world.step(1 / 60)
        return world

    def tumble():
        world = stack(2)
        world.bodies.set_velocity(2, (0.5, 0.0, 0.3), (1.0, 2.0, 3.0))
        return world

    one = run(20, tumble())
    two = run(10, tumble())
    three = tumble()
    three.bodies.restore({k: v.copy() for k, v in two.bodies.arrays().items()})
    three.solids.restore({k: v.copy() for k, v in two.solids.arrays().items()})
    three.time = two.time
    run(10, three)
    for name, array in one.bodies.arrays().items():
        assert np.array_equal(array, three.bodies.arrays()[name]), name


def test_bodies_come_and_go():
    world = stack(3)
    for _ in range(5):
        world.step(1 / 60)
    world.bodies.remove(world.bodies.index("box 2"))
    world.add("late", Box((0.2, 0.2, 0.2)), (0.0, 0.5, 0.0), density=1000.0)
    for _ in range(20):
        world.step(1 / 60)
    assert world.bodies.x_b[world.bodies.index("late"), 1] == pytest.approx(0.5, abs=1e-4)


def test_overlapping_bodies_are_named_and_parted():
    world = SolidsWorld()
    world.add("ground", Plane())
    world.add("low", Box((0.2, 0.2, 0.2)), (0, 0.1, 0), density=1000.0)
    world.add("high", Box((0.2, 0.2, 0.2)), (0, 0.29, 0), density=1000.0)
    ((first, second, depth),) = world.solids.overlapping()
    assert {first, second} == {"low", "high"} and depth == pytest.approx(0.01)
    for _ in range(20):
        world.step(1 / 60)
    assert not world.solids.overlapping()
    assert np.abs(world.bodies.v_b).max() < 1e-3


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"orientation_order": 4}, "orientation_order"),
        ({"iterations": 0}, "iterations"),
        ({"tolerance": -1.0}, "tolerance"),
    ],
)
def test_bad_settings(settings, word):
    with pytest.raises(UserError, match=word):
        SolidSettings(**settings)


def test_bad_steps():
    world = stack(1)
    with pytest.raises(UserError, match="time step"):
        world.step(0.0)
    with pytest.raises(UserError, match="force_b"):
        world.step(0.01, force_b=np.zeros((1, 3)))


def test_each_group_of_bodies_is_clamped_by_itself():
    """Two pairs of balls meet. The impulse of the first is three times what stops it and is scaled back to twice, where
    its kinetic energy is what it was; the other pair keeps its own."""
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
    for i, x in enumerate((0.0, 0.2, 5.0, 5.2)):
        ball = world.add(f"{i}", Sphere(0.1), (x, 0, 0), density=1000.0, friction=0.0)
        world.bodies.set_velocity(ball, (1.0 - 2.0 * (i % 2), 0, 0))
    solids, bodies = world.solids, world.bodies
    solids.prepare()
    work = solids._work
    work.take_velocities(bodies.spec)
    count = solids._build_rows(*solids._find_contacts(work.near), True, 1 / 60)
    assert count == 2
    solids._solve_contacts(count, solids._velocities, 1 / 60, True)
    np.testing.assert_allclose(work.v[:, 0], 0.0, atol=1e-12)
    rows = solids._rows
    hit = int(np.flatnonzero(rows.body[:count].min(axis=1) == 0)[0])
    rows.impulse[hit, 0] *= 3.0
    work.v[:2, 0] += np.array([-2.0, 2.0])
    clamped = _clamp_rows(
        rows, count, work.v, work.omega, bodies.inv_mass_b, work.inv_inertia, work.energy, work.slope, work.scale
    )
    assert clamped == 1
    np.testing.assert_allclose(work.v[:, 0], (-1.0, 1.0, 0.0, 0.0), atol=1e-12)


def test_more_sweeps_never_leave_a_larger_change():
    """A heavy box falls on a stack: whatever the mixing leads to, an unfinished solve keeps the state of least change,
    with the velocities that its impulses give."""
    residuals = []
    for iterations in range(2, 30, 3):
        world = stack(5, iterations=iterations, tolerance=1e-12)
        top = world.add("weight", Box((0.4, 0.4, 0.4)), (0.05, 1.2, 0.02), density=9000.0)
        world.bodies.set_velocity(top, (1.0, -5.0, 0.3), (0.0, 2.0, 1.0))
        solids = world.solids
        solids.prepare()
        work = solids._work
        work.take_velocities(world.bodies.spec)
        before = world.bodies.p_b.copy(), work.v.copy()
        count = solids._build_rows(*solids._find_contacts(work.near), True, 1 / 60)
        solve = solids._solve_contacts(count, solids._velocities, 1 / 60, True)
        solids._remember(count, solids._velocities, 1 / 60)
        solids._gather(count, solids._velocities)
        gained = (work.v - before[1]) / np.maximum(world.bodies.inv_mass_b, 1e-300)[:, None]
        np.testing.assert_allclose(gained[1:], work.gained_p[1:], atol=1e-9 * np.abs(before[0]).max())
        residuals.append(solve.residual)
    assert count >= 20 and all(np.diff(residuals) <= 0.0) and residuals[-1] < 0.2 * residuals[0]


def test_planes_have_no_contacts_with_bodies_above_them():
    world = stack(1)
    ball = world.add("ball", Sphere(0.1), (3.0, 0.5, 0.0), density=1000.0)
    solids = world.solids
    solids.prepare()
    contacts, count = solids._find_contacts(solids._work.near)
    assert count == 4 and ball not in contacts.b[:count] and np.abs(contacts.gap[:count]).max() < 1e-12


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_high_tower_does_not_creep(dimensions):
    """20 boxes for 3 s: with as many sweeps as for low piles almost all solves stop short, and the tower leans."""
    world = SolidsWorld(dimensions)
    world.add("ground", Plane(), friction=0.5)
    for i in range(20):
        world.add(f"box{i}", Box((1.0, 1.0, 1.0)), (0.0, i + 0.5, 0.0), density=1000.0, friction=0.5)
    start = world.bodies.x_b.copy()
    reports = [world.step(1 / 60) for _ in range(180)]
    assert np.abs(world.bodies.x_b - start).max() < 1e-4
    assert sum(report.unconverged for report in reports) < 0.15 * 2 * len(reports)
