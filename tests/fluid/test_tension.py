"""Tension of the surface of a liquid: pressure of a drop, net force, limit of the step, ledger, resumption."""

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.solve import PressureSolve
from undertow.fluid.tension import SurfaceTension
from undertow.grid import GHOSTS, WALL, Grid, Sides

SIGMA, RADIUS = 0.07, 0.3


def drop(dimensions, n=20):
    """A drop at rest in the unit box, askew in its cells."""
    grid = Grid((n, n, n if dimensions == 3 else 1), 1.0 / n, dimensions=dimensions)
    x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
    depth = (z - 0.5234) ** 2 if dimensions == 3 else 0.0 * z
    phi_c = np.sqrt((x[None, None] - 0.51) ** 2 + (y[:, None] - 0.487) ** 2 + depth[:, None, None]) - RADIUS
    domain = FluidDomain(grid, Sides(grid, [WALL] * 6, [True] * 6), None, 1000.0)
    solve = PressureSolve(FreeSurface(domain, phi_c, (0.0, 0.0, 0.0)), 1e-12)
    solve.phase.tensions = (SurfaceTension(domain, phi_c, SIGMA),)
    solve.rebuild()
    solve.place()
    return solve


def project(solve, dt):
    """Velocity and pressure after tension alone has acted on a fluid at rest."""
    phase, grid = solve.phase, solve.phase.domain.grid
    u, p, z = grid.face_field(), grid.cell_field(), grid.cell_field()
    phase.give_known(p, dt, solve.rows.stencil, z, u)
    solve.solve(u, z, dt)
    phase.pressure_of(z, dt, p)
    return u, p


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_drop_has_the_pressure_of_its_curvature_and_stays(dimensions):
    solve = drop(dimensions)
    grid = solve.phase.domain.grid
    dt = 0.01
    u, p = project(solve, dt)
    deep = (solve.phase.phi_c <= -2.0 * grid.dx) & (solve.phase.liquid_c > 0.0)
    laplace = (dimensions - 1) * SIGMA / RADIUS
    assert np.abs(p[deep] / laplace - 1.0).max() < 0.01
    # what curvature is wrong by moves it, and nothing else
    assert np.abs(u).max() < 0.02 * laplace * dt / (1000.0 * grid.dx)


def test_currents_of_a_resting_drop_fall_with_the_cells():
    """Curvature is of second order and what drives currents its gradient."""
    speed = [np.abs(project(drop(2, n), 0.01)[0]).max() for n in (20, 80)]
    assert speed[1] < 0.3 * speed[0]


@pytest.mark.parametrize("dimensions", [2, 3])
def test_constant_pressure_at_the_surface_moves_nothing(dimensions):
    """A surface of one curvature throughout has z = dt sigma kappa in every cell of the liquid, to rounding."""
    solve = drop(dimensions)
    solve.phase.tensions[0].kappa[...] = 2.5
    u, p = project(solve, 0.01)
    assert np.abs(p[solve.phase.liquid_c > 0.0] / (2.5 * SIGMA) - 1.0).max() < 1e-9
    assert np.abs(u).max() < 1e-14


def test_limit_is_that_of_the_shortest_capillary_wave():
    solve = drop(2)
    limit = solve.phase.tensions[0].limit(1000.0 * 0.05**3)
    assert limit.name == "capillary"
    assert limit.time_step == pytest.approx(np.sqrt(1000.0 * 0.05**3 / (4.0 * np.pi * SIGMA)), rel=1e-12)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_area_of_the_surface(dimensions):
    solve = drop(dimensions)
    exact = 2.0 * np.pi * RADIUS if dimensions == 2 else 4.0 * np.pi * RADIUS**2
    assert solve.phase.tensions[0].area() == pytest.approx(exact, rel=0.01)


def small_scene(**surface):
    return ut.Scene(
        name="drop", gravity=[0.0, 0.0], domain=ut.Domain(upper=[0.02, 0.02], resolution=16),
        time=ut.Time(end=0.02, frame_rate=100.0), fluid=ut.Fluid(density=1000.0, viscosity=1e-3), surface=surface,
        objects={"drop": ut.Water(shape=ut.Box(size=[0.01, 0.008]), position=[0.01, 0.01])},
    )  # fmt: skip


def test_a_square_drop_rounds_itself_and_resumes_bit_for_bit(tmp_path):
    sim = ut.Simulation(small_scene(tension=0.0728))
    reports = [sim.step() for _ in range(4)]
    assert reports[-1].limit == "capillary"
    sim.save(tmp_path / "drop.h5")
    again = ut.load(tmp_path / "drop.h5")
    for one in (sim, again):
        reports = [one.step() for _ in range(3)]
    assert np.array_equal(sim.state.u, again.state.u)
    assert np.array_equal(sim.flow.state.surface.phi_c, again.flow.state.surface.phi_c)
    ledger = reports[-1].ledger
    assert ledger["surface_energy"] == pytest.approx(0.0728 * ledger["surface_area"], rel=1e-12)
    assert ledger["surface_area"] < 0.036
    assert ledger["kinetic_energy"] > 0.0


def test_without_tension_nothing_is_said_of_it():
    assert "surface_area" not in ut.Simulation(small_scene()).step().ledger


def test_negative_tension_is_refused():
    with pytest.raises(UserError, match=r"surface\.tension.*-0\.07"):
        small_scene(tension=-0.07)
