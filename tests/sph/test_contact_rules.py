"""Rules of direct forcing on few particles: letting go, particles between bodies, and the short cuts of algorithm 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.sph.part import SphPart

OPEN_SIDES = {name: "open" for name in ("x_low", "x_high", "y_low", "y_high")}
DX = 0.02


def make_sim(objects: dict[str, Any], gravity: float = 0.0, **sph: Any) -> Any:
    """Particles 0.02 m apart in an open square of 0.4 m."""
    scene = ut.Scene(
        name="rules",
        coupling="direct_forcing",
        gravity=(0.0, -gravity),
        domain=ut.Domain(upper=(0.4, 0.4), resolution=20, sides=OPEN_SIDES),
        time=ut.Time(end=1.0, frame_rate=10),
        sph=ut.Sph(**{"sound_speed": 20.0, **sph}),
        objects=objects,
    )
    return ut.Simulation(scene, threads=1)


def make_drop(height: float, velocity: tuple[float, float] = (0.0, 0.0)) -> ut.SphFluid:
    """One particle in the middle."""
    return ut.SphFluid(shape=ut.Box(size=(0.016, 0.016)), position=(0.21, height), velocity=velocity)


def make_plate(height: float, density: float | None = 1000.0, speed: float = 0.0, x: float = 0.21) -> ut.RigidBody:
    """A plate 0.04 m thick; a static one without density."""
    moving: dict[str, Any] = {} if density is None else {"density": density, "velocity": (0.0, speed)}
    return ut.RigidBody(shape=ut.Box(size=(0.1, 0.04, 1.0)), position=(x, height), **moving)


@pytest.mark.parametrize("scheme", ["local", "global"])
@pytest.mark.parametrize("slip", [0.4, 1.0])
def test_a_particle_that_moves_away_is_not_pulled(slip: float, scheme: str) -> None:
    """(9): it touches, and leaves with the normal velocity it has; along the body it slips as eps says, once a step."""
    sim = make_sim({"drop": make_drop(0.19, (0.3, 0.05)), "plate": make_plate(0.16, x=0.235)}, slip=slip, scheme=scheme)
    fluid, forcing = sim.part(SphPart).fluid, sim.scheme.forcing
    place = fluid.points.spec.place
    place[fluid.fluid_rows(), 1] = 0.18 + 0.9 * fluid.radius  # a tenth of the radius too near
    before = fluid.velocities()[0].copy()
    momentum = fluid.mass * before
    sim.step()
    after, plate = fluid.velocities()[0], sim.body("plate").velocity
    assert after[1] == pytest.approx(before[1], rel=1e-12) and abs(plate[1]) < 1e-15
    assert abs(forcing.control_b[0, 1]) <= 1e-12 * abs(forcing.control_b[0, 0])
    if slip == 1.0:
        assert forcing.contacts == 0 and after[0] == before[0]
    else:
        # relative to the plate at the particle, which turns a little as it is pushed along
        arm = forcing._contacts.arm[0]
        omega = sim.body("plate").angular_velocity[2]
        assert forcing.contacts == 1 and after[0] - (plate[0] - omega * arm[1]) == pytest.approx(slip * before[0])
        assert fluid.mass * after[0] + forcing.bodies.p_b[0, 0] == pytest.approx(momentum[0], rel=1e-12)
    # and one that comes nearer is stopped
    fluid.points.spec.motion[fluid.fluid_rows(), 1] = -0.05
    place[fluid.fluid_rows(), 1] = 0.18 + 0.9 * fluid.radius
    sim.step()
    assert fluid.velocities()[0, 1] > -0.01 and forcing.control_b[0, 1] < 0.0


@pytest.mark.parametrize(("density", "slip"), [(50.0, 1.0), (1000.0, 1.0), (1000.0, 0.0), (1e5, 1.0)])
def test_a_particle_between_two_plates_keeps_them_apart(density: float, slip: float) -> None:
    """Plates that close in on a particle from both sides stop at a diameter, with their momentum and no more energy."""
    objects = {
        "drop": make_drop(0.19),
        "low": make_plate(0.15, density, 0.2),
        "high": make_plate(0.25, 2 * density, -0.2),
    }
    sim = make_sim(objects, slip=slip)
    fluid, forcing = sim.part(SphPart).fluid, sim.scheme.forcing
    bodies = forcing.bodies

    def momentum() -> Any:
        return fluid.mass * fluid.velocities().sum(axis=0) + bodies.p_b.sum(axis=0)

    def energy() -> float:
        return float(fluid.totals.kinetic + forcing.solids.energy()[0])

    start, most, least = momentum(), energy(), np.inf
    scale = np.abs(bodies.p_b).sum()
    while sim.time < 0.2:
        sim.step()
        y = fluid.positions()[0, 1]
        least = min(least, y - bodies.x_b[0, 1] - 0.02, bodies.x_b[1, 1] - 0.02 - y)
        assert energy() <= most * (1.0 + 1e-9)
    assert np.abs(momentum() - start).max() < 1e-9 * scale
    assert least > 0.97 * fluid.radius
    # all move on together
    common = (bodies.p_b[:, 1].sum()) / bodies.mass_b.sum()
    assert np.abs(bodies.v_b[:, 1] - common).max() < 1e-3


def test_a_particle_between_bodies_is_solved_with_all_of_them() -> None:
    """Two plates of different mass with four particles between them: every constraint and both momenta, densely."""
    drop = ut.SphFluid(shape=ut.Box(size=(0.076, 0.016)), position=(0.20, 0.19))
    sim = make_sim({"drop": drop, "low": make_plate(0.16, 3e4, 0.2), "high": make_plate(0.22, 7e4, -0.1)})
    forcing, fluid = sim.scheme.forcing, sim.part(SphPart).fluid
    bodies = forcing.bodies
    assert fluid.totals.particles == 4
    mass, speed = np.append(bodies.mass_b, 4 * fluid.mass), np.append(bodies.v_b[:, 1], 0.0)
    while forcing.contacts < 8:
        sim.step()
    # nothing can bounce: one velocity for all, off the middle one rate of turning
    assert not forcing.unfinished_turns and forcing.dropped == 0
    arm = forcing._contacts.arm[:8]
    top = forcing._contacts.body[:8] == 1
    gap = bodies.v_b[1, 1] + bodies.omega_b[1, 2] * arm[top, 0] - bodies.v_b[0, 1] - bodies.omega_b[0, 2] * arm[~top, 0]
    assert np.abs(gap).max() < 1e-7
    assert bodies.v_b[:, 1] @ mass[:2] + fluid.mass * fluid.velocities()[:, 1].sum() == pytest.approx(mass @ speed)


def test_every_pair_of_particle_and_body_is_listed_once() -> None:
    """Between upright plates the list of a particle names them in turn, row by row."""
    drop = ut.SphFluid(shape=ut.Box(size=(0.036, 0.056)), position=(0.20, 0.20))
    plates = {
        n: ut.RigidBody(shape=ut.Box(size=(0.04, 0.2, 1.0)), position=(x, 0.2)) for n, x in (("a", 0.16), ("b", 0.24))
    }
    sim = make_sim({"drop": drop, **plates})
    sim.step()
    forcing, fluid = sim.scheme.forcing, sim.part(SphPart).fluid
    pairs = forcing._near.pair[: forcing._near_count]
    assert sorted(map(tuple, pairs.tolist())) == sorted((i, b) for i in fluid.fluid_rows().tolist() for b in (0, 1))


def make_basin(body: ut.RigidBody, gravity: float = 9.81, **sph: Any) -> Any:
    """A block of fluid on a static plate, and a body above."""
    floor = ut.RigidBody(shape=ut.Box(size=(0.4, 0.06, 1.0)), position=(0.2, 0.03))
    fluid = ut.SphFluid(shape=ut.Box(size=(0.24, 0.12)), position=(0.2, 0.14))
    return make_sim({"fluid": fluid, "floor": floor, "body": body}, gravity, **sph)


@pytest.mark.parametrize(("slip", "scheme"), [(1.0, "global"), (0.3, "local")])
def test_static_bodies_by_algorithm_2_are_those_of_algorithm_1(
    slip: float, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from undertow.coupling.direct_forcing import DirectForcing

    answers = []
    for one_way in (True, False):
        post = ut.RigidBody(shape=ut.Box(size=(0.04, 0.08, 1.0)), position=(0.2, 0.1))
        sim = make_basin(post, slip=slip, scheme=scheme)
        assert sim.scheme.forcing.is_one_way
        if not one_way:
            monkeypatch.setattr(DirectForcing, "is_one_way", property(lambda self: False))
        contacts = 0
        while sim.time < 0.1:
            sim.step()
            contacts = max(contacts, sim.scheme.forcing.contacts)
        assert contacts > 8
        particles = sim.particles
        answers.append((particles.position, particles.velocity, sim.body("body").force))
    (x, v, f), (y, w, g) = answers
    # the ends of the post's edges round contacts: distances measured before and after the correction differ there
    assert np.abs(x - y).max() < 2e-3 * DX and np.abs(v - w).max() < 0.02
    assert np.median(np.abs(x - y)) < 1e-6 * DX and f == pytest.approx(g, abs=0.02 * np.abs(g).max())


def test_one_way_bodies_fall_as_if_there_were_no_fluid_and_the_fluid_feels_them() -> None:
    """(21) against the full solve with a body so heavy that the fluid cannot move it."""
    answers = []
    for one_way, density in ((True, 500.0), (False, 1e12)):
        stone = ut.RigidBody(
            shape=ut.Box(size=(0.08, 0.04, 1.0)), position=(0.2, 0.23), density=density, velocity=(0.3, -1.0)
        )
        sim = make_basin(stone, one_way=one_way, sound_speed=30.0)
        assert sim.scheme.forcing.is_one_way == one_way
        contacts, dt = 0, 0.0
        for time in np.arange(0.002, 0.0501, 0.002):
            dt = max(dt, sim.advance_to(float(time)).time_step)
            contacts = max(contacts, sim.scheme.forcing.contacts)
        assert contacts > 4
        state = sim.body("body")
        assert state.velocity == pytest.approx([0.3, -1.0 - 9.81 * sim.time, 0.0], abs=1e-7)
        # to the first order of the step, as bodies move
        fallen = sim.time + 0.5 * 9.81 * sim.time**2
        assert state.position == pytest.approx([0.2 + 0.3 * sim.time, 0.23 - fallen, 0.0], abs=9.81 * dt * sim.time)
        assert np.abs(state.force).max() > 10.0, "what the fluid exerts is told all the same"
        answers.append((sim.time, sim.part(SphPart).fluid.positions(), sim.part(SphPart).fluid.velocities()))
    assert answers[0][0] == pytest.approx(answers[1][0], abs=1e-12)
    assert np.median(np.abs(answers[0][1] - answers[1][1])) < 1e-3 * DX
    assert np.abs(answers[0][1] - answers[1][1]).max() < 0.05 * DX


def test_one_way_belongs_to_direct_forcing() -> None:
    sim = make_basin(make_plate(0.3, None))
    for coupling in ("penalty", "none"):
        with pytest.raises(ValueError, match="sph.one_way = True: has no effect .* set coupling = 'direct_forcing'"):
            ut.Scene(**{**dict(sim.scene), "coupling": coupling, "sph": ut.Sph(one_way=True)})
