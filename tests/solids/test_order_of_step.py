"""The pieces of the step that later ones could hide: each is looked at where it acts."""

from __future__ import annotations

import dataclasses

import numpy as np

from undertow.geometry import Box, Plane, Sphere
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.joints import Joints
from undertow.solids import SolidsWorld


def parting(world: SolidsWorld, body: int, pin: np.ndarray) -> float:
    """Speed of the point of a body where a joint holds it to the world [m/s]."""
    bodies = world.bodies
    return float(np.linalg.norm(bodies.v_b[body] + np.cross(bodies.omega_b[body], pin - bodies.x_b[body])))


def test_collisions_leave_jointed_bodies_together():
    """Thesis 4.4: a ball strikes a hanging rod off its centre of percussion; after the collision the pin is at rest."""
    world = SolidsWorld()
    pin = np.array([0.0, 1.0, 0.0])
    rod = world.add("rod", Box((0.1, 1.0, 0.1)), (0.0, 0.5, 0.0), density=500.0, restitution=0.5)
    ball = world.add("ball", Sphere(0.1), (-0.16, 0.3, 0.0), density=2000.0, restitution=0.5)
    world.bodies.set_velocity(ball, (5.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.solids.joints = joints = Joints(world.bodies)
    joints.add("pin", "ball", None, "rod", tuple(pin))
    collided, _ = world.solids.collide(0.0, 1 / 60)
    world.bodies.derive_velocities()
    assert collided == 1
    assert np.linalg.norm(world.bodies.v_b[rod]) > 1.0
    assert parting(world, rod, pin) < 1e-9


def test_velocities_fit_the_joints_before_the_last_contact_solve():
    """Thesis 4.6, step 3: a block that turns fast about a pin no longer moves along its circle: put right."""
    arm = 0.5
    world = SolidsWorld()
    world.add("ground", Plane())
    block = world.add("block", Box((0.1, 0.1, 0.1)), (arm, 0.05, 0.0), density=1000.0)
    world.bodies.set_velocity(block, (0.0, 0.0, -20.0 * arm), (0.0, 20.0, 0.0))
    world.solids.joints = joints = Joints(world.bodies)
    pin = np.array([0.0, 0.05, 0.0])
    joints.add("pin", "ball", None, "block", tuple(pin))
    seen = []
    build = world.solids._build_rows

    def look(contacts, count, final, dt):
        if final:
            gravity = world.solids.gravity * dt
            seen.append(parting(world, block, pin) - float(np.linalg.norm(gravity)))
        return build(contacts, count, final, dt)

    world.solids._build_rows = look
    for _ in range(5):
        world.step(1 / 120)
    # 10 degrees per step leave 1.7 m/s without it
    assert len(seen) == 5 and max(seen) < 0.01


def test_the_first_contact_solve_is_clamped():
    """Thesis 2.3.2 also where positions move: a solve that begins with wild impulses and stops after two
    sweeps adds no energy to (x^n, v^n + dt/2 g)."""
    gains = {}
    for clamp in (True, False):
        world = SolidsWorld()
        world.add("ground", Plane())
        for n in range(6):
            world.add(f"box{n}", Box((0.2, 0.2, 0.2)), (0.0, 0.1 + 0.2 * n, 0.0), density=1e3)
        for _ in range(10):
            world.step(1 / 60)
        solids = world.solids
        solids.settings = dataclasses.replace(solids.settings, clamp=clamp, iterations=2)
        solids._positions.impulse[...] *= 50.0
        solve, gain = solids._solve_contacts, []

        def energy(world=world):
            work, spec = world.solids._work, world.bodies.spec
            kinetic = 0.0
            for n in range(1, world.bodies.count):
                own = rotation_matrix_of(spec.q[n]).T @ work.omega[n]
                kinetic += 0.5 * np.sum(work.v[n] ** 2) / spec.inv_mass[n] + 0.5 * np.sum(own**2 / spec.inv_inertia[n])
            return kinetic

        def look(rows, memory, dt, start, solids=solids, solve=solve, gain=gain):
            before = energy()
            found = solve(rows, memory, dt, start)
            if memory is solids._positions:
                gain.append(energy() / before - 1.0)
            return found

        solids._solve_contacts = look
        world.step(1 / 60)
        gains[clamp] = gain[0]
    assert gains[True] < 1e-12 and gains[False] > 1.0, gains
