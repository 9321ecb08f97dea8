"""Couplings that the monolithic one is compared with: lumped mass and momentum, and volume fractions."""

import numpy as np
import pytest

import undertow as ut
from undertow.grid import GHOSTS
from undertow.validation.two_material_column.case import interface_error


def tank(coupling, density=0.4, **changes):
    """A disc in a closed tank of 10 x 8 cells with an open top."""
    fields = {
        "name": "tank",
        "coupling": coupling,
        "gravity": (0.0, -9.81),
        "domain": ut.Domain(upper=(1.0, 0.8), resolution=10, sides={"y_high": "open"}),
        "time": ut.Time(end=1.0, frame_rate=100.0),
        "fluid": ut.Fluid(density=1.0, tolerance=1e-11),
        "objects": {
            "body": ut.RigidBody(
                shape=ut.Box(size=(0.33, 0.24)), position=(0.47, 0.41), density=density,
                rotation=ut.Rotation(degrees=20.0), angular_velocity=(0.0, 0.0, 1.0),
            )
        },
    }  # fmt: skip
    return ut.Scene(**{**fields, **changes})


def shaken(sim, seed=0):
    """Random velocity on the faces that are open or that the body carries."""
    flow = sim.flow
    rng = np.random.default_rng(seed)
    u = flow.grid.face_field()
    free = flow.domain.inv_mass_f > 0.0
    if hasattr(flow.solids, "carried_f"):
        free |= flow.solids.carried_f > 0.0
    u[free] = rng.normal(size=int(free.sum()))
    return u


def test_fractions_of_dual_cells_against_sampling():
    sim = ut.Simulation(tank("volume_fraction"))
    solids, grid = sim.flow.solids, sim.flow.grid
    s = (np.arange(60) + 0.5) / 60 - 0.5
    for axis in (0, 1):
        for j, i in ((4, 4), (3, 5), (5, 3), (2, 6), (4, 7)):
            corner = np.array([i, j], float) + 0.5
            corner[axis] -= 0.5
            x, y = np.meshgrid((corner[0] + s) * grid.dx, (corner[1] + s) * grid.dx)
            points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
            is_open = (solids.solids[0].distance(points, 0.0, 2) > 0.0).mean()
            assert solids.area_f[axis, GHOSTS, GHOSTS + j, GHOSTS + i] == pytest.approx(is_open, abs=0.03)


def test_volume_fractions_minimise_the_kinetic_energy():
    """Batty et al. 2007 from scratch, dense: the least change of w V rho u^2 + M v^2 with mixed velocities that have no
    divergence."""
    sim = ut.Simulation(tank("volume_fraction"))
    flow, grid = sim.flow, sim.flow.grid
    u = shaken(sim)
    inverse = flow.domain.inv_mass_f
    free = np.argwhere(inverse > 0.0)
    number = {tuple(f): n for n, f in enumerate(free)}
    w = flow.solids.dual_f
    body = sim.scheme.bodies.bodies
    x, y = body.x_b[0, :2]
    twist = np.zeros((body.count, 6))
    sim.scheme.bodies.coupled.take_twists(twist)
    unknown = np.concatenate([u[tuple(free.T)], twist[0, [0, 1, 5]]])
    faces = 1.0 / inverse[tuple(free.T)]
    inside = free[:, 2] < GHOSTS + 8
    np.testing.assert_allclose(faces[inside], w[tuple(free[inside].T)] * grid.cell_volume, rtol=1e-12)
    masses = np.concatenate([faces, [0.4 * 0.33 * 0.24] * 2, [1.0 / body.inv_inertia_b[0, 2]]])
    rows = []
    for j in range(8):
        for i in range(10):
            row = np.zeros(len(unknown))
            for axis in (0, 1):
                for end in (0, 1):
                    k = (axis, GHOSTS, GHOSTS + j + (end if axis else 0), GHOSTS + i + (0 if axis else end))
                    side = (0, 10, 8)[axis + 1]
                    is_wall = (i, j)[axis] + end in (0, side) and not (axis == 1 and end == 1)
                    if is_wall:
                        continue
                    part = w[k] if k in number else 0.0
                    if k in number:
                        row[number[k]] += (1 - 2 * end) * part
                    px = (k[3] - GHOSTS + (0.5 if axis else 0.0)) * grid.dx - x
                    py = (k[2] - GHOSTS + (0.0 if axis else 0.5)) * grid.dx - y
                    row[-3:] += (1 - 2 * end) * (1.0 - part) * np.array([1 - axis, axis, px if axis else -py])
            rows.append(row)
    K = np.array(rows)
    active = flow.solve.rows.stencil.diagonal_c[GHOSTS, GHOSTS:-GHOSTS, GHOSTS:-GHOSTS].reshape(-1) > 0.0
    assert np.abs(K[~active]).max(initial=0.0) < 1e-12
    K = K[active]
    A = K / masses @ K.T
    expected = unknown - (K.T @ np.linalg.lstsq(A, K @ unknown, rcond=1e-12)[0]) / masses
    sim.scheme.bodies.coupled.impulse_b[...] = 0.0
    flow.solve.solve(u, grid.cell_field(), 0.01)
    sim.scheme.bodies.coupled.take_twists(twist)
    found = np.concatenate([u[tuple(free.T)], twist[0, [0, 1, 5]]])
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize(("density", "mass"), [(0.01, "full"), (1.0, "diagonal"), (100.0, "full")])
def test_the_lumped_solve_is_that_of_the_indefinite_system(density, mass):
    """Thesis 5.5: with the same mass and beta both forms give the same velocities and pressures; momentum is kept."""
    sim = ut.Simulation(tank("lumped", density, lumped=ut.Lumped(mass=mass)))
    flow, solve, coupled = sim.flow, sim.flow.solve, sim.scheme.bodies.coupled
    wet = solve.rigid.walls.wet
    u = shaken(sim, 3)
    coupled.impulse_b[...] = 0.0
    twist = np.zeros((coupled.bodies.count, 6))
    coupled.take_twists(twist)
    # lump by hand
    fluid = np.zeros_like(twist)
    np.add.at(fluid, wet.body, (wet.beta * u.reshape(-1)[wet.face])[:, None] * wet.across)
    brought = fluid - np.einsum("bij,bj->bi", solve.rigid.walls.lumped_b, twist)
    start = twist + np.einsum("bij,bj->bi", solve.rigid.block.inv_mass, brought)
    row = flow.grid.cell_field()
    solve.rows.apply({"fluid": u, "rigid": start}, row)
    row[solve.rows.stencil.diagonal_c <= 0.0] = 0.0
    z, change, iterations = solve.indefinite().solve(row, 1e-12)
    found, pressure = u.copy(), flow.grid.cell_field()
    solve.solve(found, pressure, 0.01)
    coupled.take_twists(twist)
    np.testing.assert_allclose(twist[0], (start + change)[0], atol=1e-8)
    np.testing.assert_allclose(pressure, z, atol=1e-8 * np.abs(z).max())
    np.testing.assert_allclose(found.reshape(-1)[wet.face], wet.across @ twist[0], atol=1e-12)
    assert iterations < 60
    # what the pressure gave the body and what it gave the carried fluid is the pressure on the closed faces
    total = np.zeros((coupled.bodies.count, 6))
    solve.rigid.walls.add_force(1.0, pressure, total)
    carried = solve.rigid.walls.lumped_b[0] @ twist[0] - fluid[0]
    np.testing.assert_allclose(coupled.pressure_b[0] + carried, total[0], atol=1e-9)


def test_masses_and_moments_of_the_carried_fluid():
    """(22)-(24): both masses move as one in translation; the diagonal one couples nothing at the common centre."""
    found = {}
    for mass in ("full", "diagonal"):
        solve = ut.Simulation(tank("lumped", 0.5, lumped=ut.Lumped(mass=mass))).flow.solve
        found[mass] = solve.rigid.walls.lumped_b[0]
    wet = solve.rigid.walls.wet
    for axis in (0, 1):
        expected = wet.beta[wet.axis == axis].sum()
        for carried in found.values():
            assert carried[axis, axis] == pytest.approx(expected, rel=1e-12)
    own = solve.rigid.coupled.bodies.mass_b[0]
    centre = [(wet.beta * wet.place[:, a])[wet.axis == a].sum() / (own + found["full"][a, a]) for a in (0, 1)]
    # a turn about the common centre, v = -omega x centre, carries no linear momentum
    turn = np.array([centre[1], -centre[0], 0.0, 0.0, 0.0, 1.0])
    momentum = (found["diagonal"] + np.diag([own, own, 0.0, 0.0, 0.0, 0.0])) @ turn
    np.testing.assert_allclose(momentum[:2], 0.0, atol=1e-12)
    assert found["full"] == pytest.approx(found["full"].T, abs=1e-12)
    assert not np.allclose(found["full"], found["diagonal"], rtol=1e-3)


def test_pressure_between_two_materials():
    """Equation (2) of Robinson-Mosher et al. 2008 by lumping; by volume fractions a straight line for all densities."""
    for ratio in (1e-2, 1.0, 50.0):
        assert interface_error("lumped", ratio) < 1e-10
        assert interface_error("volume_fraction", ratio) == pytest.approx(abs(0.5 - ratio / (1.0 + ratio)), abs=1e-9)


@pytest.mark.parametrize("coupling", ["lumped", "volume_fraction"])
def test_a_light_body_rises_and_a_neutral_one_stays(coupling):
    speeds = []
    for density in (0.2, 1.0):
        sim = ut.Simulation(tank(coupling, density, time=ut.Time(end=0.05, frame_rate=20.0, fixed_step=0.01)))
        sim.advance_to(0.05)
        speeds.append(float(sim.body("body").velocity[1]))
    assert 0.1 < speeds[0] < 0.05 * 9.81 * 0.8 / 0.2
    assert abs(speeds[1]) < 0.05


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"fluid": ut.Fluid(viscosity=0.1)},
            "coupling = 'volume_fraction': .* use 'monolithic' or 'lumped', or remove fluid.viscosity = 0.1",
        ),
        ({"objects": {"still": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.4, 0.4))}}, "no body is moved"),
        (
            {"objects": {"soft": ut.SoftBody(shape=ut.Sphere(radius=0.1), position=(0.4, 0.4), element_size=0.05)}},
            "needs coupling = 'monolithic'",
        ),
        ({"lumped": ut.Lumped(mass="diagonal")}, "lumped.mass = 'diagonal': has no effect with coupling"),
        (
            {"objects": {"pool": ut.Water(shape=ut.Sphere(radius=0.2), position=(0.4, 0.4))}},
            "inviscid fluid that fills the domain; use .*'monolithic'.*, or remove objects.pool",
        ),
    ],
)
def test_what_they_do_without_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        tank("volume_fraction", **changes)
