"""Contacts of particles and bodies: the schemes against dense algebra, momentum, slip, and rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.sph.part import SphPart
from undertow.validation.sph_momentum.case import exchange, make_scene


def touching(scheme: str, slip: float) -> Any:
    """A simulation in the step in which particles touch its bodies."""
    sim = ut.Simulation(make_scene(slip, scheme), threads=1)
    sim.step()
    while sim.scheme.forcing.contacts < 4:  # type: ignore[attr-defined]
        sim.step()
    return sim


@pytest.mark.parametrize("at_surface", [False, True])
def test_momentum_is_exchanged_and_angular_momentum_follows_the_points_of_attack(at_surface: bool) -> None:
    found = exchange(at_surface, 0.5, "global", 15)
    assert found["contacts"] > 4 and found["linear"] < 1e-12 and found["angular"] < 1e-12
    assert found["made"] > 1e-5 if at_surface else found["made"] == 0.0
    assert found["off_surface"] < 0.03 if at_surface else found["off_surface"] > 0.1


def test_the_global_scheme_is_the_solution_of_all_constraints_and_momenta() -> None:
    """Unknowns: impulses of all contacts and changes of the twists, solved by dense least squares."""
    sim = ut.Simulation(make_scene(0.0, "global"), threads=1)
    forcing = sim.scheme.forcing  # type: ignore[attr-defined]
    fluid, bodies = forcing.fluid, forcing.bodies
    while True:
        dt = 0.9 * min([*fluid.limits().values(), *forcing.limits().values()])
        fluid.prepare()
        forcing.find_near()
        fluid.accelerate(dt)
        fluid.kick(dt)
        twists = forcing._twists
        twists.v[...], twists.omega[...], twists.x[...], twists.q[...] = (
            bodies.v_b, bodies.omega_b, bodies.x_b, bodies.q_b,
        )  # fmt: skip
        forcing._find_contacts(dt, bodies.spec)
        if forcing.contacts >= 6:
            break
        fluid.drift(dt)
        fluid.measure()
    n, c = forcing.contacts, forcing._contacts
    before = [a[:n].copy() for a in (c.wanted, c.arm)], twists.v.copy(), twists.omega.copy()
    kinds, owner, points = c.kind[:n].copy(), c.body[:n].copy(), c.point[:n].copy()
    normal, velocity = c.normal[:n].copy(), fluid.points.spec.motion[points, :3].copy()
    forcing._solve(dt, bodies.spec)
    assert (c.kind[:n] == kinds).all(), "a contact let go: the dense system below holds all of them"
    wanted, arm = before[0]
    size = 3 * n + 6 * bodies.count
    A, b = np.zeros((size, size)), np.zeros(size)
    for i in range(n):
        P = np.eye(3) if kinds[i] == 0 else np.eye(3) - np.outer(normal[i], normal[i])
        cross = np.array([[0, -arm[i, 2], arm[i, 1]], [arm[i, 2], 0, -arm[i, 0]], [-arm[i, 1], arm[i, 0], 0]])
        J = np.hstack([np.eye(3), -cross])
        rows, o = slice(3 * i, 3 * i + 3), 3 * n + 6 * owner[i]
        # impulse / m - P J D = P v-hat, and the bodies take the opposite impulses
        A[rows, rows] = np.eye(3) / fluid.mass
        A[rows, o : o + 6] = -P @ J
        relative = velocity[i] - before[1][owner[i]] - np.cross(before[2][owner[i]], arm[i])
        b[rows] = P @ (wanted[i] - relative)
        A[o : o + 6, rows] += J.T
    for k in range(bodies.count):
        from undertow.rigid.bodies import rotation_matrix_of

        R, o = rotation_matrix_of(bodies.q_b[k]), 3 * n + 6 * k
        A[o : o + 3, o : o + 3] = np.eye(3) * bodies.mass_b[k]
        A[o + 3 : o + 6, o + 3 : o + 6] = R @ np.diag(bodies.inertia_b[k]) @ R.T
    solution = np.linalg.lstsq(A, b, rcond=None)[0]
    impulse = solution[: 3 * n].reshape(n, 3)
    assert np.abs(c.impulse[:n] - impulse).max() < 1e-9 * np.abs(impulse).max()
    assert forcing.velocity_error < 1e-12


def test_one_contact_is_the_same_in_both_schemes() -> None:
    """A single particle against a free ball: (12) and (18) say the same."""
    answers = []
    for scheme in ("local", "global"):
        scene = make_scene(0.3, scheme)
        drop = ut.SphFluid(shape=ut.Box(size=(0.04, 0.04, 0.04)), position=(0.525, 0.525, 0.525), velocity=(2.0, 0, 0))
        ball = ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.72, 0.5, 0.5), density=300.0)
        sim = ut.Simulation(scene.model_copy(update={"objects": {"drop": drop, "ball": ball}}), threads=1)
        assert sim.part(SphPart).fluid.totals.particles == 1
        sim.advance_to(0.06)
        answers.append((sim.part(SphPart).fluid.velocities(), sim.body("ball").velocity))
    assert np.allclose(answers[0][0], answers[1][0], rtol=1e-12) and np.allclose(*[a[1] for a in answers], rtol=1e-12)
    assert answers[0][1][0] > 0


def test_a_particle_rests_at_its_radius_and_a_bouncing_one_returns() -> None:
    for restitution in (0.0, 1.0):
        scene = ut.Scene(
            name="rest",
            domain=ut.Domain(upper=(0.4, 0.4), resolution=20, sides={"y_high": "open"}),
            time=ut.Time(end=1.0, frame_rate=10),
            sph=ut.Sph(restitution=restitution, sound_speed=30.0),
            objects={
                "drop": ut.SphFluid(shape=ut.Box(size=(0.016, 0.016)), position=(0.21, 0.25)),
                "plate": ut.RigidBody(shape=ut.Box(size=(0.4, 0.1, 1.0)), position=(0.2, 0.05)),
            },
        )
        sim = ut.Simulation(scene, threads=1)
        fluid = sim.part(SphPart).fluid
        heights = []
        while sim.time < 0.34:
            sim.step()
            heights.append(float(fluid.positions()[0, 1]))
        if restitution == 0.0:
            last = np.array(heights[-200:])
            assert np.ptp(last) < 1e-6 * fluid.radius
            # it stops in the step in which it would touch: less than the way of a step above
            assert 0.0 <= last[0] - (0.1 + fluid.radius) < 1e-3 * fluid.radius
        else:
            low = int(np.argmin(heights))
            assert max(heights[low:]) > 0.24 and min(heights) >= 0.1 + fluid.radius * (1 - 1e-9)


def test_what_rests_is_not_thrown_up_by_restitution() -> None:
    """(8) throws back the velocity before the step, not the one that gravity adds in it: at a wall, and at a body."""
    for height, bodies in (
        (0.01, {}),
        (0.11, {"plate": ut.RigidBody(shape=ut.Box(size=(0.4, 0.1, 1.0)), position=(0.2, 0.05))}),
    ):
        scene = ut.Scene(
            name="rest",
            domain=ut.Domain(upper=(0.4, 0.4), resolution=20, sides={"y_high": "open"}),
            time=ut.Time(end=1.0, frame_rate=10),
            sph=ut.Sph(restitution=1.0, sound_speed=30.0),
            objects={"drop": ut.SphFluid(shape=ut.Box(size=(0.016, 0.016)), position=(0.21, height)), **bodies},
        )
        sim = ut.Simulation(scene, threads=1)
        fluid = sim.part(SphPart).fluid
        for _ in range(50):
            sim.step()
            assert fluid.totals.speed < 1e-12
        assert fluid.positions()[0, 1] == pytest.approx(height, abs=1e-6)


def test_schemes_and_shares_are_checked() -> None:
    sim = touching("global", 1.0)
    for change in ({"slip": 1.5}, {"restitution": -0.1}, {"scheme": "other"}):
        with pytest.raises(UserError):
            replace(sim.scheme.forcing.settings, **change)


def test_control_forces_and_contact_among_bodies_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    from undertow.validation.sph_contact.case import make_scene as make_stack

    errors = {}
    for rounds in (1, 8):
        monkeypatch.setattr("undertow.coupling.direct_forcing.ROUNDS", rounds)
        sim = ut.Simulation(make_stack(18), threads=1)
        forcing = sim.scheme.forcing  # type: ignore[attr-defined]
        errors[rounds] = 0.0
        for _ in range(60):
            report = sim.step()
            errors[rounds] = max(errors[rounds], forcing.contact_error())
        assert forcing.contacts > 0
        row = report.ledger
        assert row["forcing_contacts"] == forcing.contacts and row["contacts"] > 0 and row["unconverged"] == 0
        assert 1 <= row["rounds"] <= rounds
    assert errors[1] > 1e-3 and errors[8] < 0.01 * errors[1]
    forces = (forcing.pressure_b + forcing.control_b)[:2, 1] + forcing.solids.contact_force_b[:2, 1]
    np.testing.assert_allclose(forces, 9.81 * np.array([40.0, 22.5]), rtol=1e-3)
