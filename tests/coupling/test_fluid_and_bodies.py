"""Scenes in which fluid and bodies move each other."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.fluid.gaps import SLIVER, find_narrow_faces


def tank(density=100.0, resolution=12, **changes):
    """A ball in a full tank of water with a closed lid."""
    fields = {
        "name": "tank",
        "coupling": "monolithic",
        "domain": ut.Domain(upper=(0.9, 1.2), resolution=resolution),
        "time": ut.Time(end=2.0, frame_rate=20.0),
        "fluid": ut.Fluid(density=1000.0, tolerance=1e-6),
        "objects": {"ball": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.43, 0.6), density=density)},
    }
    return ut.Scene(**{**fields, **changes})


@pytest.mark.parametrize("height", [0.96, 0.99, 1.02, 1.15])
def test_a_ball_at_an_open_side_rises_through_it(height):
    """No end of a body is beyond the side, where no pressure could answer."""
    domain = ut.Domain(upper=(0.9, 1.2), resolution=12, sides={"y_high": "open"})
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.2), position=(0.43, height), density=500.0)
    sim = ut.Simulation(tank(domain=domain, objects={"ball": ball}))
    for _ in range(3):
        report = sim.step()
    # (1 - 1/2) / (1/2 + C): added mass between that of a ring and that of half a disc in free fluid
    slow, fast = (0.5 / (0.5 + c) for c in (1.35, 0.5))
    assert slow < sim.body("ball").velocity[1] / (9.81 * sim.time) < fast
    assert report.ledger["divergence_max"] < 1e-3


@pytest.mark.parametrize("solves", [1, 2])
def test_a_light_ball_rises_and_rests_under_the_lid(solves):
    """It accelerates as its added mass allows, ends against the lid, and the fluid comes to rest; nothing leaks."""
    sim = ut.Simulation(tank(monolithic=ut.Monolithic(solves=solves)))
    first = sim.step()
    volume, mass = np.pi * 0.15**2, 100.0
    # added mass of a disc between walls three diameters apart lies between that of free fluid and of a ring
    slow, fast = (9.81 * (1000 - mass) / (mass + c * 1000) for c in (1.35, 1.0))
    assert slow < sim.body("ball").velocity[1] / first.time_step < fast
    before = sim.scheme.rigid.momenta_of("ball")[0][1]
    duration = sim.step().time_step
    if solves == 1:
        duration = sim.scheme.velocity_time - sim.scheme.before_time
    gained = sim.scheme.rigid.momenta_of("ball")[0][1] - before
    assert sim.body("ball").force[1] == pytest.approx(gained / duration + mass * volume * 9.81, rel=1e-6)
    largest = 0.0
    while sim.time < 2.0:
        row = sim.step().ledger
        largest = max(largest, row["kinetic_energy"] + row["kinetic_energy_solids"])
        assert row["leak"] < 1e-4
    assert sim.body("ball").position[1] == pytest.approx(1.05, abs=2e-3)
    assert abs(sim.body("ball").velocity[1]) < 1e-3
    assert row["kinetic_energy"] < 0.5 * largest
    assert row["coupling_residual"] < 1e-3
    # the contact holds what buoyancy is too much
    assert sim.body("ball").contact_force[1] == pytest.approx(-9.81 * volume * 900.0, rel=0.1)


def test_energy_as_a_body_sinks():
    """Kinetic energy gained is the potential energy lost, to first order in the step and less what transport takes."""
    sim = ut.Simulation(tank(density=3000.0, time=ut.Time(end=2.0, frame_rate=100.0)))
    start = sim.step().ledger["potential_energy"]
    for _ in range(30):
        row = sim.step().ledger
    kinetic = row["kinetic_energy"] + row["kinetic_energy_solids"]
    assert 0.9 < kinetic / (start - row["potential_energy"]) < 1.06


@pytest.mark.parametrize("solves", [1, 2])
def test_saved_and_loaded_it_goes_on_bit_for_bit(goes_on, solves):
    """Also with joints, viscosity and contact."""
    link = ut.RigidBody(shape=ut.Capsule(radius=0.06, length=0.2), position=(0.43, 0.6), density=1300.0)
    scene = tank(
        monolithic=ut.Monolithic(solves=solves),
        fluid=ut.Fluid(density=1000.0, viscosity=2.0),
        objects={
            "link": link,
            "pin": ut.Joint(kind="hinge", child="link", position=(0.43, 0.75)),
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.1), position=(0.2, 0.105), density=2000.0, velocity=(0.3, 0.0)
            ),
        },
    )
    sim = ut.Simulation(scene)
    for _ in range(3):
        sim.step()
    again = goes_on(sim, 2)
    assert sim.body("link").joint_force == pytest.approx(again.body("link").joint_force, rel=0, abs=0)
    assert abs(sim.body("link").joint_force[1]) > 10.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "none"}, "needs coupling = 'monolithic' or"),
        ({"objects": {"ball": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.4, 0.6))}}, "give one a density"),
        ({"time": ut.Time(end=1.0, stepper="second_order")}, "first-order stepper"),
        ({"fluid": ut.Fluid(viscosity=1.0, no_slip="extra_faces")}, "extra_faces"),
        ({"coupling": "lumped", "monolithic": ut.Monolithic(solves=2)}, "set coupling = 'monolithic'"),
    ],
)
def test_scenes_it_cannot_run_are_refused_with_a_remedy(changes, words):
    with pytest.raises(Exception, match=words.replace("'", ".")):
        tank(**changes)


def test_a_body_that_fills_the_domain_is_refused():
    scene = tank(objects={"block": ut.RigidBody(shape=ut.Box(size=(2.0, 3.0)), position=(0.45, 0.6), density=10.0)})
    with pytest.raises(UserError, match="leave no fluid"):
        ut.Simulation(scene)


def test_slivers_have_no_velocity_of_their_own():
    """A cell that is open by a millionth: what the tolerance leaves of its row is 3000 m/s there, and would be carried
    to its neighbours in the next step."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.450603, 0.614422), density=100.0)
    sim = ut.Simulation(tank(objects={"ball": ball}))
    inner = (slice(0, 2), *sim.grid.interior)
    area, u = sim.flow.domain.area_f[inner], sim.state.u[inner]
    u[(area > 0.0) & (area < SLIVER)] = 3000.0
    assert u.max() == 3000.0
    sim.flow.limit_gap_velocity(sim.flow.state.u, False)
    assert np.abs(u).max() == 0.0


def slit_parts(sim):
    """w of the faces of the domain, 1 where the whole velocity is carried (2, ny, nx)."""
    part = np.ones_like(sim.state.u)
    face, w = find_narrow_faces(sim.flow.domain, SLIVER, np.zeros_like(sim.flow.domain.open_f[0]))
    part.reshape(-1)[face] = w
    return part[(slice(0, 2), *sim.grid.interior)][:, 0]


@pytest.mark.parametrize("degrees", [0.0, 17.0, 45.0])
def test_a_body_alone_has_no_narrow_gaps(degrees):
    """Cells that one wall cuts, corners of a box included, carry what they have: slivers apart."""
    shapes = ut.Box(size=(0.33, 0.21)), ut.Sphere(radius=0.17)
    for shape in shapes:
        body = ut.RigidBody(
            shape=shape, position=(0.44, 0.61), density=2000.0, rotation={"axis": (0.0, 0.0, 1.0), "degrees": degrees}
        )
        sim = ut.Simulation(tank(objects={"body": body}))
        area = sim.flow.domain.area_f[(slice(0, 2), *sim.grid.interior)][:, 0]
        carried = slit_parts(sim)
        assert np.all(carried[area >= SLIVER] == 1.0)


def test_the_film_under_a_block_carries_its_flux():
    """A block 0.3 cells above the floor: of what is squeezed out at 10 m/s as much is carried as is open; what is
    beside it is left alone. The same at a wall beside it."""
    for turned in (False, True):
        size, place = ((0.2, 0.4), (0.13, 0.45)) if turned else ((0.4, 0.2), (0.45, 0.13))
        block = ut.RigidBody(shape=ut.Box(size=size), position=place, density=2000.0)
        sim = ut.Simulation(tank(objects={"block": block}))
        domain, inner = sim.flow.domain, (slice(0, 2), *sim.grid.interior)
        area, is_open, u = (field[inner][:, 0] for field in (domain.area_f, domain.open_f, sim.state.u))
        film = np.zeros(area.shape, dtype=bool)
        film[(1, slice(3, 7), 0) if turned else (0, 0, slice(3, 7))] = True
        # the grid rounds the corners of the block
        np.testing.assert_allclose(area[film], [0.375, 0.3, 0.3, 0.375], rtol=1e-9)
        np.testing.assert_allclose(slit_parts(sim), np.where(film, area, 1.0), rtol=1e-12)
        u[film] = 10.0
        sim.flow.limit_gap_velocity(sim.flow.state.u, False)
        np.testing.assert_allclose(u[film], 10.0 * area[film], rtol=1e-12)
        assert np.all(u[~film & (is_open > 0)] == 0.0)


@pytest.mark.parametrize(("density", "acceleration"), [(1100.0, 0.1 / 1.6), (3000.0, 2.0 / 3.5)])
def test_the_step_is_bound_by_the_acceleration_that_a_body_has(density, acceleration):
    """(m - rho V) g / (m + rho V C), the added mass C being between 0 and 1 for a ball in a narrow tank; before the
    first step it is not known, and weight alone counts."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.45, 0.9), density=density)
    sim = ut.Simulation(tank(objects={"ball": ball}, time=ut.Time(end=2.0, frame_rate=2.0)))

    def bound():
        return next(limit.time_step for part in sim.parts for limit in part.limits(sim.time) if "weight" in limit.name)

    free = np.sqrt(sim.grid.dx / 9.81)
    assert bound() == pytest.approx(free)
    sim.step()
    assert free / bound() == pytest.approx(np.sqrt(acceleration), rel=0.25)


def test_a_body_that_rests_on_the_floor_does_not_bind_the_step():
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.45, 0.12), density=3000.0)
    sim = ut.Simulation(tank(objects={"ball": ball}, time=ut.Time(end=2.0, frame_rate=20.0)))
    for _ in range(5):
        sim.step()
    limits = {limit.name: limit.time_step for part in sim.parts for limit in part.limits(sim.time)}
    assert limits.get("body_weight", np.inf) > 3.0 * np.sqrt(sim.grid.dx / 9.81)


def test_the_residual_of_the_ledger_is_relative_to_the_first_solve():
    """Solves for impulses of contact have small right-hand sides of their own."""
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.12), position=(0.45, 0.13), density=3000.0, velocity=(0.0, -0.5))
    sim = ut.Simulation(tank(objects={"ball": ball}, time=ut.Time(end=2.0, frame_rate=50.0)))
    reports = [sim.step() for _ in range(6)]
    assert max(len(report.details.solves) for report in reports) > 1
    assert all(0.0 < report.ledger["residual"] <= 1.01 * sim.scene.fluid.tolerance for report in reports)
