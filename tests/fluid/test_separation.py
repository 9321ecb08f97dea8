"""Walls that water leaves: the conditions of one-sided rows, what is open, what stays closed."""

import numpy as np
import pytest

from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.separation import SUCTION
from undertow.fluid.solve import PressureSolve
from undertow.geometry import Box, ConstantCurve, Solid, SolidFields, Sphere, VelocityCurves
from undertow.grid import WALL, Grid, Sides

DT, G = 0.01, 9.81


def level_set(grid, f):
    phi = grid.cell_field()
    x, y, z = (grid.lower[a] + (np.arange(grid.padded[2 - a]) - 2.5) * grid.dx for a in range(3))
    phi[...] = f(x[None, None, :], y[None, :, None], z[:, None, None])
    return phi


def make(f, shape, place, velocity, n=16, dimensions=2):
    """A solid that moves as prescribed in a closed box of one metre."""
    grid = Grid((n, n, n) if dimensions == 3 else (n, n, 1), 1.0 / n, dimensions=dimensions)
    place = (*place, 0.5 if dimensions == 3 else 0.0)
    motion = VelocityCurves(ConstantCurve((0.0, velocity, 0.0)), ConstantCurve((0.0, 0.0, 0.0)), place)
    fields = SolidFields(grid, [Solid("plate", shape, motion)])
    fields.update(0.0)
    domain = FluidDomain(grid, Sides(grid, [WALL] * 6, [True] * 6), fields, 1000.0)
    solve = PressureSolve(FreeSurface(domain, level_set(grid, f), (0.0, -G, 0.0)), 1e-10)
    solve.rebuild()
    solve.place()
    return solve


def project(solve, fall=0.0):
    """From water that falls at a speed [m/s]; gravity is in the values at the surface: velocity, pressure, passes."""
    grid = solve.phase.domain.grid
    u, z, p = grid.face_field(), grid.cell_field(), grid.cell_field()
    u[1][...] = -fall
    p[...] = 1e-300
    solve.phase.give_known(p, DT, solve.rows.stencil, z, u)
    stats = solve.solve(u, z, DT)
    solve.phase.pressure_of(z, DT, p)
    return u, p, stats


def film(x, y, z):
    """Water between 0.4 and 0.7 m, on a plate."""
    return np.maximum(y - 0.7, 0.4 - y) + 0.0 * (x + z)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("place", [0.3, 0.317, 0.34])
def test_pressure_and_rows_of_walls_meet_the_conditions_of_complementarity(dimensions, place):
    """p >= 0, div u >= 0 and one of them 0 in wall cells at the air; K u = s in all others."""
    top = place + 0.1
    shape = Box((2.0, 0.2, 2.0)) if dimensions == 3 else Box((2.0, 0.2, 1.0))
    solve = make(lambda x, y, z: np.maximum(y - 0.7, top - 0.1 - y) + 0.0 * (x + z), shape, (0.5, place), -2 * G * DT,
                 dimensions=dimensions)  # fmt: skip
    u, p, stats = project(solve)
    phase, rows = solve.phase, solve.rows
    least = SUCTION * 1000.0 * G * phase.domain.grid.dx
    assert len(phase.open_cells) and stats[-1].passes <= 5
    flat = p.reshape(-1)
    assert (flat[phase.open_cells] == 0.0).all()
    assert (rows.left_in_open({"fluid": u}) < 0.0).all()
    liquid = phase.liquid_c.reshape(-1) > 0.0
    at_air = phase.at_air[liquid[phase.at_air]]
    assert (flat[at_air] > -least - 1e-6).all()
    left = phase.domain.grid.cell_field()
    rows.apply({"fluid": u}, left)
    left -= rows.target
    assert np.abs(left).max() < 1e-8


def test_a_film_parts_from_a_plate_that_falls_faster_than_water_and_else_does_not():
    fast = make(film, Box((2.0, 0.2, 1.0)), (0.5, 0.3), -2 * G * DT)
    u, p, _ = project(fast)
    wet = film(0.0, np.array([0.55]), 0.0) < 0.0
    assert wet.all()
    # free fall: no pressure anywhere in the film
    assert np.abs(p).max() < 2 * SUCTION * 1000.0 * G * 0.3
    slow = make(film, Box((2.0, 0.2, 1.0)), (0.5, 0.3), -0.5 * G * DT)
    u, p, stats = project(slow)
    assert not len(slow.phase.open_cells) and stats[-1].passes == 1
    assert p.max() == pytest.approx(1000.0 * 0.5 * G * 0.3, rel=0.15)


def test_under_water_walls_hold():
    """A ball that is pulled down fast under water takes it along: nothing opens, though it sucks."""
    solve = make(lambda x, y, z: y - 0.9 + 0.0 * (x + z), Sphere(0.15), (0.5, 0.45), -20.0)
    u, p, stats = project(solve)
    assert p.min() < 0.0
    assert not len(solve.phase.open_cells) and stats[-1].passes == 1


def test_opening_and_closing_a_cell_gives_the_rows_and_walls_that_were_there():
    solve = make(film, Box((2.0, 0.2, 1.0)), (0.5, 0.317), -1.0)
    rows, stencil = solve.rows, solve.rows.stencil
    before = [x.copy() for x in (stencil.face_f, stencil.dirichlet_c, stencil.diagonal, rows.target)]
    cells = solve.phase.at_air
    rows.open(cells)
    assert stencil.diagonal[cells].max() == 0.0 and np.abs(rows.target.reshape(-1)[cells]).max() == 0.0
    rows.open(np.zeros(0, np.int64))
    for old, new in zip(before, (stencil.face_f, stencil.dirichlet_c, stencil.diagonal, rows.target), strict=True):
        assert np.array_equal(old, new)
