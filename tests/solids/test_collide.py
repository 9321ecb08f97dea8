"""Collisions: restitution, momentum, energy, and impulses that travel."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.geometry import Box, Plane, Sphere
from undertow.solids import SolidsWorld
from undertow.validation.bounce.case import drop
from undertow.validation.collision_momentum import case as momentum
from undertow.validation.incline_cube.case import slide


def test_bounce_of_one_second():
    for e in (0.5, 1.0):
        apex, gain = drop(e, 120.0)
        assert apex == pytest.approx(1.0, abs=0.12) and gain < 1e-12
    apex, _ = drop(0.0, 120.0)
    assert apex < 1e-9


def test_slide_at_the_frame_rate():
    distance, _ = slide(0.4, 30, 1.0, 1.0)
    exact = 1.0 + 0.5 * 9.81 * (0.5 - 0.4 * np.sqrt(0.75))
    assert distance == pytest.approx(exact, rel=1e-3)


def test_random_concave_pairs_keep_momentum(monkeypatch):
    """In collisions alone, and free pairs over whole steps with and without restitution."""
    monkeypatch.setattr(momentum, "PAIRS", 10)
    monkeypatch.setattr(momentum, "FREE", 6)
    for line in momentum.run():
        name = line["quantity"]
        # steps that part overlaps move bodies and leave their momenta
        bound = 1.0 if name.startswith("parted") else 0.05 if name.endswith(("parted", "all")) else 1e-12
        assert line["measured"] <= bound, line


@pytest.mark.parametrize(("speed", "gap"), [(0.0, 0.0), (2.0, 0.0), (2.0, 0.01), (0.1, 1e-3), (0.0, 5e-4)])
def test_what_a_landing_takes(speed, gap):
    """A ball that comes down with speed s onto a gap h dt loses m (s^2 + 4 G h) / 2 with G = g dt / 2: contact at n+1/2
    takes s + G - h of its velocity, from positions and momenta alike, and contact at n+1 the G + h that are left."""
    dt = 1 / 60
    world = SolidsWorld(tolerance=1e-12)
    world.add("ground", Plane())
    ball = world.add("ball", Sphere(0.1), (0, 0.1 + gap, 0), density=1000.0)
    world.bodies.set_velocity(ball, (0.0, -speed, 0.0))
    report = world.step(dt)
    assert world.bodies.x_b[ball, 1] == pytest.approx(0.1, abs=1e-12) and abs(world.bodies.v_b[ball, 1]) < 1e-12
    mass, G, h = world.bodies.mass_b[ball], 0.5 * 9.81 * dt, gap / dt
    lost = report.kinetic_before + report.potential_before - report.kinetic_after - report.potential_after
    assert lost == pytest.approx(0.5 * mass * (speed**2 + 4 * G * h), abs=1e-11)


def test_landing_edges_add_no_more_energy_than_gravity_does_in_half_a_step():
    """Boxes that tumble and meet the ground elsewhere than the step began: m (g dt)^2 / 8 at most, and never more than
    at the start."""
    rng = np.random.default_rng(5)
    dt, mass = 1 / 60, 1000.0 * 0.2 * 0.16 * 0.12
    for _ in range(8):
        world = SolidsWorld()
        world.add("ground", Plane(), friction=0.6)
        box = world.add("box", Box((0.2, 0.16, 0.12)), (0, 0.3, 0), momentum.random_turn(rng), 1000.0, friction=0.6)
        world.bodies.set_velocity(box, rng.normal(size=3), 5.0 * rng.normal(size=3))
        start = sum(world.solids.energy())
        for _ in range(40):
            report = world.step(dt)
            energy = report.kinetic_after + report.potential_after
            if not report.resolve_iterations:
                assert energy - report.kinetic_before - report.potential_before <= mass * (9.81 * dt) ** 2 / 8
            assert energy <= start * (1 + 1e-9)


def row_of_balls(moving):
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
    for i in range(5):
        ball = world.add(f"{i}", Sphere(0.1), (0.2 * i - (0.03 if i < moving else 0.0), 0, 0), density=1000.0,
                         restitution=1.0, friction=0.0)  # fmt: skip
        world.bodies.set_velocity(ball, (1.0 if i < moving else 0.0, 0, 0))
    return world


def test_newtons_cradle():
    """One ball in, one out: the impulse travels through the row within a step."""
    world = row_of_balls(1)
    for _ in range(8):
        world.step(1 / 60)
    np.testing.assert_allclose(world.bodies.v_b[:, 0], (0, 0, 0, 0, 1), atol=1e-9)


def test_equal_balls_part_at_a_right_angle():
    world = SolidsWorld(gravity=(0.0, 0.0, 0.0))
    a = world.add("a", Sphere(0.1), (-0.2, 0.1, 0), density=1000.0, restitution=1.0, friction=0.0)
    b = world.add("b", Sphere(0.1), (0, 0, 0), density=1000.0, restitution=1.0, friction=0.0)
    world.bodies.set_velocity(a, (2.0, 0, 0))
    for _ in range(20):
        world.step(1 / 60)
    va, vb = world.bodies.v_b[a], world.bodies.v_b[b]
    assert abs(va @ vb) < 1e-9 and np.linalg.norm(vb) > 0.5
    assert va @ va + vb @ vb == pytest.approx(4.0)


def test_bodies_at_rest_do_not_bounce():
    """Restitution acts on the velocity of time n, which a body at rest does not have."""
    world = SolidsWorld()
    world.add("ground", Plane(), restitution=1.0)
    box = world.add("box", Box((0.2, 0.2, 0.2)), (0, 0.1, 0), density=1000.0, restitution=1.0)
    for _ in range(60):
        world.step(1 / 60)
    assert world.bodies.x_b[box, 1] == pytest.approx(0.1, abs=1e-9)


def test_a_tumbling_box_never_gains_energy():
    world = SolidsWorld()
    world.add("ground", Plane(), friction=0.8)
    box = world.add("box", Box((0.1, 0.2, 0.4)), (0, 0.5, 0), density=1000.0, friction=0.8, restitution=0.5)
    world.bodies.set_velocity(box, (2.0, 0, 1.0), (5.0, 3.0, 8.0))
    energy = sum(world.solids.energy())
    for _ in range(90):
        report = world.step(1 / 60)
        assert report.kinetic_after + report.potential_after < energy * (1 + 1e-9)
        assert world.bodies.x_b[box, 1] > 0.04
    # at rest on one of its faces
    assert report.kinetic_after < 1e-4 * energy
