"""Implicit tension: mesh, rows and their inverse against dense ones, energy, drops that fly, bodies, resumption."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.solve import PressureSolve
from undertow.fluid.tension import SurfaceTension
from undertow.fluid.tension_rows import TensionRows
from undertow.fluid.two_phase import OtherFluid, TwoPhase
from undertow.grid import GHOSTS, WALL, Grid, Sides

SIGMA, RADIUS, DENSITY = 0.07, 0.3, 1000.0
MIDDLE = (0.51, 0.487, 0.5234)


def solve_of(dimensions, n=12, dt=1.0, waves=0.0, seed=0, other=None):
    """A drop in the unit box, askew in its cells, its radius waved by so much, with rows of steps of dt [s]."""
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / n, dimensions=dimensions)
    x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) - MIDDLE[axis] for axis in range(3))
    y, z = y[:, None], z[:, None, None] if dimensions == 3 else np.zeros((grid.padded[0], 1, 1))
    far = np.sqrt(x**2 + y**2 + z**2)
    a, b = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 2)
    angle = np.arctan2(y, x)
    phi_c = far - RADIUS * (1.0 + waves * (np.cos(2.0 * angle + a) + 0.5 * np.cos(3.0 * angle + b) + z / RADIUS))
    domain = FluidDomain(grid, Sides(grid, [WALL] * 6, [True] * 6), None, DENSITY)
    none = (0.0, 0.0, 0.0)
    phase = FreeSurface(domain, phi_c, none) if other is None else TwoPhase(domain, phi_c, none, OtherFluid(other))
    solve = PressureSolve(phase, 1e-10)
    phase.tensions = (SurfaceTension(domain, phi_c, SIGMA),)
    phase.folded = (TensionRows(phase.tensions[0]),)
    phase.set_time_step(dt)
    solve.rebuild()
    solve.place()
    return solve


def random_velocity(solve, seed=0):
    u = np.random.default_rng(seed).normal(size=solve.phase.inv_mass_f.shape)
    return np.ascontiguousarray(u * (solve.phase.inv_mass_f > 0.0))


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_mesh_is_a_closed_ball_and_its_points_are_the_crossed_faces(dimensions):
    phase = solve_of(dimensions, 24).phase
    rows = phase.folded[0]
    whole = 2.0 * np.pi * RADIUS if dimensions == 2 else 4.0 * np.pi * RADIUS**2
    assert rows.area.sum() == pytest.approx(whole, rel=0.02)
    away = rows.point[:, :dimensions] - np.array(MIDDLE[:dimensions])
    outward = away / np.linalg.norm(away, axis=1, keepdims=True)
    assert np.einsum("ij,ij->i", outward, rows.normal[:, :dimensions]).min() > 0.995
    assert np.array_equal(np.sort(rows.face), np.sort(phase.tensions[0].face))
    # integral of |grad n_x|^2, but for what short segments are widened
    n = rows.normal[:, 0]
    assert n @ rows.S @ n == pytest.approx(SIGMA * (np.pi / RADIUS if dimensions == 2 else 8.0 * np.pi / 3.0), rel=0.1)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("other", [None, 1.0, 3000.0])
def test_uniform_motion_is_seen_exactly_and_left_alone(dimensions, other):
    solve = solve_of(dimensions, other=other)
    rows, u = solve.phase.folded[0], solve.phase.domain.grid.face_field()
    way = np.array([0.3, -0.7, 0.2 if dimensions == 3 else 0.0])
    u += way[:, None, None, None]
    assert rows.of(u) == pytest.approx(rows.normal @ way, abs=1e-13)
    before = u.copy()
    rows.reduce(rows.wanted(u), u)
    assert np.abs(u - before).max() < 1e-12


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("other", [None, 1.0])
def test_the_folded_system_is_that_of_dense_masses(dimensions, other):
    """u after the solve against (beta + dt^2 H^T S H) and K as dense matrices."""
    solve = solve_of(dimensions, 8 if dimensions == 2 else 6, dt=3.0, waves=0.03, other=other)
    phase, rows = solve.phase, solve.phase.folded[0]
    size, free = phase.inv_mass_f.size, np.flatnonzero(phase.inv_mass_f.reshape(-1) > 0.0)
    u = random_velocity(solve)
    start, wanted = u.copy(), rows.wanted(u)
    rows.reduce(wanted, u)
    z = phase.domain.grid.cell_field()
    solve.solve(u, z, 3.0)
    H = np.zeros((len(rows.point), size))
    H[:, rows._faces] = rows.H.toarray()
    H = H[:, free]
    beta = 1.0 / phase.inv_mass_f.reshape(-1)[free]
    mass = np.diag(beta) + 9.0 * H.T @ rows.S.toarray() @ H
    K = np.zeros((z.size, len(free)))
    for column, face in enumerate(free):
        one = np.zeros(size)
        one[face] = 1.0
        row = phase.domain.grid.cell_field()
        solve.rows.apply({"fluid": one.reshape(u.shape)}, row)
        K[:, column] = row.reshape(-1)
    K = K[np.abs(K).sum(axis=1) > 0.0]
    right = beta * start.reshape(-1)[free] + 9.0 * H.T @ rows.S.toarray() @ wanted
    free_u = np.linalg.solve(mass, right)
    push = np.linalg.solve(mass, K.T)
    free_u -= push @ np.linalg.lstsq(K @ push, K @ free_u, rcond=1e-12)[0]
    assert u.reshape(-1)[free] == pytest.approx(free_u, abs=2e-7 * np.abs(free_u).max())


@pytest.mark.parametrize("dimensions,cases", [(2, 20), (3, 3)])
def test_the_solve_takes_energy_of_motion_and_surface(dimensions, cases):
    """Of velocities against the translation of the drop; that of the surface to second order, the rows' dt^2 / 2."""
    for seed in range(cases):
        solve = solve_of(dimensions, dt=2.0, waves=0.05, seed=seed)
        rows, u = solve.phase.folded[0], random_velocity(solve, seed)
        wanted = rows.wanted(u)
        free = solve.phase.inv_mass_f > 0.0
        before = 0.5 * (u[free] ** 2 / solve.phase.inv_mass_f[free]).sum()
        before += 0.5 * 4.0 * (rows.of(u) - wanted) @ rows.S @ (rows.of(u) - wanted)
        rows.reduce(wanted, u)
        solve.solve(u, solve.phase.domain.grid.cell_field(), 2.0)
        after = 0.5 * (u[free] ** 2 / solve.phase.inv_mass_f[free]).sum()
        after += 0.5 * 4.0 * (rows.of(u) - wanted) @ rows.S @ (rows.of(u) - wanted)
        assert after < before


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_closed_surface_does_not_pull_itself_along(dimensions):
    solve = solve_of(dimensions, waves=0.1)
    phase, u = solve.phase, solve.phase.domain.grid.face_field()
    phase.tensions[0].add_impulse(1.0, phase.inv_mass_f, u)
    phase.add_rough(1.0, u)
    mass = np.divide(1.0, phase.inv_mass_f, out=np.zeros_like(u), where=phase.inv_mass_f > 0.0)
    given = (mass * u).sum(axis=(1, 2, 3))
    assert np.abs(given).max() < 1e-10 * np.abs(mass * u).sum()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_long_steps_take_few_more_iterations(dimensions):
    """At twenty capillary limits, from rest under tension alone."""
    n, found = 24, []
    limit = np.sqrt(DENSITY / n**3 / (4.0 * np.pi * SIGMA))
    for dt in (0.0, 20.0 * limit):
        solve = solve_of(dimensions, n, dt, waves=0.05)
        phase, grid = solve.phase, solve.phase.domain.grid
        u, z = grid.face_field(), grid.cell_field()
        phase.give_known(grid.cell_field(), max(dt, limit), solve.rows.stencil, z, u)
        found.append(solve.solve(u, z, max(dt, limit))[-1].iterations)
    assert found[1] <= 2 * found[0]


def scene(dimensions=2, air=None, factor=10.0, n=16, coupling="none", **more):
    """An ellipse of water that swings."""
    dx, other = 1.0 / n, 0.0 if air is None else air["density"]
    step = factor * float(np.sqrt((DENSITY + other) * dx**3 / (4.0 * np.pi * SIGMA)))
    return ut.Scene(
        name="drop", gravity=[0.0] * dimensions, coupling=coupling,
        domain=ut.Domain(upper=[1.0] * dimensions, resolution=n),
        time=ut.Time(end=100.0 * step, max_step=step, frame_rate=0.01 / step),
        fluid=ut.Fluid(density=DENSITY, viscosity=0.0 if air is None else 0.01, air=air),
        surface=ut.Surface(tension=SIGMA, tension_step="implicit"),
        objects={
            "drop": ut.Water(shape=ut.Box(size=[0.5, 0.4, 0.45][:dimensions]), position=[0.5] * dimensions), **more
        },
    )  # fmt: skip


@pytest.mark.parametrize("air", [None, {"density": 1.0, "viscosity": 1e-4}])
def test_a_square_of_water_becomes_round_at_ten_capillary_steps(air):
    sim = ut.Simulation(scene(air=air))
    assert "capillary" not in {limit.name for limit in sim.flow.limits(0.0)}
    start = sim.flow.ledger()
    for _ in range(60):
        sim.step()
    end = sim.flow.ledger()
    assert end["kinetic_energy"] + end["surface_energy"] < start["surface_energy"]
    assert end["kinetic_energy"] < 2e-3 * start["surface_energy"]
    assert end["fluid_volume"] == pytest.approx(start["fluid_volume"], rel=0.01)
    assert end["surface_area"] == pytest.approx(2.0 * np.sqrt(np.pi * end["fluid_volume"]), rel=0.01)


def test_a_drop_in_free_fall_falls_freely():
    """u = g t, but for the part factor^2 / (4 pi r^3) of its mass, r in cells, that the rows add to what speeds up: 1%
    here. Rows that damp its motion would take as much off its speed in every step."""
    one = scene(factor=8.0, n=32)
    one = one.model_copy(update={"gravity": (0.0, -0.02)})
    sim = ut.Simulation(one)
    for _ in range(10):
        sim.step()
    flow = sim.flow
    wet = flow.phase.inv_mass_f[1] > 0.0
    mass = 1.0 / flow.phase.inv_mass_f[1][wet]
    assert float(mass @ flow.state.u[1][wet] / mass.sum()) == pytest.approx(-0.02 * sim.time, rel=0.03)


def test_where_a_solid_meets_the_surface_the_capillary_limit_stays():
    """The faces that it cuts have no rows: a ball half in the surface limits the step, one inside the drop does not."""
    for height, limited in ((0.72, True), (0.5, False)):
        ball = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0.5, height], density=500.0)
        sim = ut.Simulation(scene(coupling="monolithic", ball=ball))
        assert ("capillary" in {limit.name for limit in sim.flow.limits(0.0)}) == limited
        start = sim.flow.ledger()["surface_energy"]
        for _ in range(12):
            sim.step()
            now = sim.flow.ledger()
            # the explicit force on an edge of the square is off by a part of it
            assert now["surface_energy"] + now["kinetic_energy"] < 1.01 * start


def test_a_resumed_run_repeats_every_bit(tmp_path):
    sim = ut.Simulation(scene(air={"density": 1.0, "viscosity": 1e-4}))
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "drop.h5")
    again = ut.load(tmp_path / "drop.h5")
    for one in (sim, again):
        for _ in range(3):
            one.step()
    assert np.array_equal(sim.flow.state.u, again.flow.state.u)
    assert np.array_equal(sim.flow.state.surface.phi_c, again.flow.state.surface.phi_c)


def test_what_does_not_go_with_it_is_refused():
    with pytest.raises(UserError, match=r"tension_step.*no effect.*surface\.tension"):
        ut.Scene.model_validate({**scene().model_dump(), "surface": {"tension_step": "implicit"}})
    with pytest.raises(UserError, match=r"tension_step.*markers.*surface\.particles = false"):
        scene_with = {"tension": SIGMA, "tension_step": "implicit", "particles": True}
        ut.Scene.model_validate({**scene().model_dump(), "surface": scene_with})


def test_a_surface_that_has_gone_leaves_nothing_in_the_stencil():
    solve, plain = solve_of(2, other=1.0), solve_of(2, other=1.0)
    plain.phase.folded = ()
    for one in (solve, plain):
        one.phase.phi_c[...] = -0.5
        one.rebuild()
    assert len(solve.phase.folded[0].point) == 0 and solve.phase.folded[0].complete
    np.testing.assert_array_equal(solve.rows.stencil.face_f, plain.rows.stencil.face_f)


def test_a_scene_without_a_surface_is_told_so():
    whole = ut.Water(shape=ut.Box(size=[4.0, 4.0]), position=[0.5, 0.5])
    with pytest.raises(UserError, match="has no surface"):
        ut.Simulation(scene(air={"density": 1.0, "viscosity": 1e-4}, drop=whole))
