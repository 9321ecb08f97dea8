"""Rows, masses and pressure under a free surface: discrete identities, exactness, order."""

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import SMALLEST_THETA, FreeSurface
from undertow.fluid.solve import PressureSolve
from undertow.geometry import Box, ConstantCurve, Solid, SolidFields, Sphere, Static, VelocityCurves
from undertow.grid import OPEN, PERIODIC, WALL, Grid, Sides

NO_GRAVITY = (0.0, 0.0, 0.0)
DOWN = (0.0, -9.81, 0.0)


def level_set(grid, f):
    """f(x, y, z) at cell centres, ghosts by the formula too."""
    phi = grid.cell_field()
    coordinates = [grid.lower[a] + (np.arange(grid.padded[2 - a]) - 2.5) * grid.dx for a in range(3)]
    phi[...] = f(coordinates[0][None, None, :], coordinates[1][None, :, None], coordinates[2][:, None, None])
    return phi


def make(f, n=12, dimensions=2, kind=None, solids=None, gravity=DOWN, tolerance=1e-10):
    grid = Grid((n, n, n) if dimensions == 3 else (n, n, 1), 1.0 / n, dimensions=dimensions)
    fields = None
    if solids is not None:
        fields = SolidFields(grid, solids)
        fields.update(0.0)
    domain = FluidDomain(grid, Sides(grid, kind or [WALL] * 6, [True] * 6), fields, 1000.0)
    return PressureSolve(FreeSurface(domain, level_set(grid, f), gravity), tolerance)


def rebuild(solve):
    solve.rebuild()
    solve.place()


def project(solve, u, p, dt):
    """As a step does: what is known at the surface, then the solve; the pressure goes to p."""
    phase, grid = solve.phase, solve.phase.domain.grid
    z = grid.cell_field()
    phase.give_known(p, dt, solve.rows.stencil, z, u)
    stats = solve.solve(u, z, dt)
    phase.pressure_of(z, dt, p)
    return stats


def wavy(x, y, z):
    return y - 0.55 - 0.1 * np.sin(5.0 * x + 2.0 * z)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_rows_masses_and_stencil_are_one_operator(dimensions):
    """K B^-1 K^T z by the rows equals the stencil, and K^T is the transpose of K, in the cells with a row."""
    ball = Solid("ball", Sphere(0.22), Static((0.4, 0.5, 0.5 if dimensions == 3 else 0.0)))
    solve = make(wavy, dimensions=dimensions, kind=[WALL, OPEN, WALL, WALL, WALL, WALL], solids=[ball])
    rebuild(solve)
    rows = solve.rows
    rng = np.random.default_rng(1)
    inside = rows.domain.grid.interior
    z, v, out, stencil = (rows.domain.grid.cell_field() for _ in range(4))
    z[inside] = rng.normal(size=z[inside].shape) * (rows.stencil.diagonal_c[inside] > 0)
    force = rows.domain.grid.face_field()
    rows.add_transpose(z, {"fluid": force})
    w = rng.normal(size=force.shape)
    w[2 if dimensions == 2 else 3 :] = 0.0
    rows.apply({"fluid": w}, v)
    assert np.sum(v * z) == pytest.approx(np.sum(w * force), rel=1e-12)
    rows.apply({"fluid": rows.phase.inv_mass_f * force}, out)
    rows.stencil.apply(z, stencil)
    assert np.abs(out - stencil).max() < 1e-12 * np.abs(stencil).max()
    diagonal = rows.domain.grid.cell_field()
    rows.add_diagonal({"fluid": rows.phase.inv_mass_f}, diagonal)
    assert np.allclose(diagonal, rows.stencil.diagonal_c, rtol=1e-12)


def test_air_has_no_rows_and_thin_faces_keep_some_mass():
    solve = make(lambda x, y, z: y - (5.5 + 1e-7) / 12 + 0 * (x + z))
    rebuild(solve)
    rows = solve.rows
    inside = rows.domain.grid.interior
    assert np.array_equal(rows.phase.liquid_c[inside][0, :, 0], (np.arange(12) <= 5).astype(float))
    mass = 1.0 / rows.phase.inv_mass_f[1][rows.domain.grid.interior_faces(1)][0, 6, 0]
    assert mass == pytest.approx(SMALLEST_THETA * 1000.0 / 144)
    assert np.all(rows.phase.inv_mass_f[1][rows.domain.grid.interior_faces(1)][0, 7:] == 0.0)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("height", [0.5, 0.5 + 1e-9, 0.531, 13.5 / 24])
def test_still_water_keeps_still_and_its_pressure_is_linear(height, dimensions):
    """At any height within a cell, also where solids cut cells and pierce the surface."""
    depth = 0.5 if dimensions == 3 else 0.0
    solids = [
        Solid("step", Box((0.5, 0.4, 2.0)), Static((0.75, 0.1, depth))),
        Solid("ball", Sphere(0.15), Static((0.21, 0.52, depth))),
    ]
    solve = make(lambda x, y, z: y - height + 0 * (x + z), dimensions=dimensions, solids=solids)
    grid = solve.phase.domain.grid
    rebuild(solve)
    u, p = grid.face_field(), grid.cell_field()
    project(solve, u, p, 0.01)
    assert np.abs(u).max() < 1e-12
    y = grid.coordinates(1, 0.5)[None, :, None]
    rows = (solve.rows.stencil.diagonal_c > 0)[grid.interior]
    error = (p[grid.interior] - 9810.0 * (height - y)) * rows
    assert np.abs(error).max() < 1e-9 * 9810.0 * height


def test_water_in_free_fall_feels_gravity_and_no_pressure():
    """A drop that touches nothing: every face of it is accelerated by g, whatever theta is."""
    solve = make(lambda x, y, z: np.sqrt((x - 0.52) ** 2 + (y - 0.47) ** 2) - 0.28 + 0 * z, n=16)
    grid = solve.phase.domain.grid
    rebuild(solve)
    u, p = grid.face_field(), grid.cell_field()
    project(solve, u, p, 0.02)
    wet = solve.rows.phase.inv_mass_f > 0
    assert np.abs(u[1][wet[1]] + 9.81 * 0.02).max() < 1e-8
    assert np.abs(u[0][wet[0]]).max() < 1e-8
    assert np.abs(p).max() < 1e-6


def test_sources_make_their_volume_and_closed_water_takes_none():
    solve = make(wavy)
    rows = solve.rows
    grid = solve.phase.domain.grid
    rows.phase.source_c[3, 5, 6] = 0.3
    rebuild(solve)
    u, p = grid.face_field(), grid.cell_field()
    project(solve, u, p, 0.01)
    row = grid.cell_field()
    rows.apply({"fluid": u}, row)
    assert row[3, 5, 6] == pytest.approx(-0.3, rel=1e-6)
    row[3, 5, 6] = 0.0
    assert np.abs(row).max() < 1e-7

    full = make(lambda x, y, z: -1.0 + 0 * (x + y + z))
    rebuild(full)
    u[...] = 0.0
    assert project(full, u, p, 0.01)[0].regions_singular == 1
    assert np.abs(u).max() == 0.0


def test_a_moving_solid_pushes_the_water_before_it():
    """Volume taken by the solid leaves through the surface: the flux there equals the wall's."""
    motion = VelocityCurves(ConstantCurve((0.0, -0.5, 0.0)), position=(0.5, 0.55, 0.0))
    solve = make(lambda x, y, z: y - 0.61 + 0 * (x + z), n=20, solids=[Solid("piston", Box((0.4, 0.31, 1.0)), motion)])
    grid = solve.phase.domain.grid
    rebuild(solve)
    u, p = grid.face_field(), grid.cell_field()
    project(solve, u, p, 0.01)
    surface = u[1][grid.interior_faces(1)][0, 12] * solve.phase.domain.area_f[1][grid.interior_faces(1)][0, 12] / 20
    assert surface.sum() == pytest.approx(0.4 * 0.5, rel=1e-6)


def pressure_error(n, shift):
    """A drop of radius 0.31 with q = (r^2 - R^2)(1 + x/2) inside: largest error of the pressure."""
    x0, y0, radius = 0.5 + shift / n, 0.5 - 0.7 * shift / n, 0.31

    def exact(x, y):
        return ((x - x0) ** 2 + (y - y0) ** 2 - radius**2) * (1.0 + 0.5 * x)

    solve = make(
        lambda x, y, z: np.sqrt((x - x0) ** 2 + (y - y0) ** 2) - radius + 0 * z,
        n=n,
        gravity=NO_GRAVITY,
        tolerance=1e-11,
    )
    grid = solve.phase.domain.grid
    rebuild(solve)
    u, p = grid.face_field(), grid.cell_field()
    x, y, _ = grid.face_centres(0)
    r2 = (x - x0) ** 2 + (y - y0) ** 2 - radius**2
    u[0][grid.interior_faces(0)] = (2.0 * (x - x0) * (1.0 + 0.5 * x) + 0.5 * r2) / 1000.0
    x, y, _ = grid.face_centres(1)
    u[1][grid.interior_faces(1)] = 2.0 * (y - y0) * (1.0 + 0.5 * x) / 1000.0
    project(solve, u, p, 1.0)
    x, y, _ = grid.cell_centres()
    liquid = solve.rows.phase.liquid_c[grid.interior] > 0
    return np.abs((p[grid.interior] - exact(x, y))[liquid]).max()


def test_pressure_is_second_order_at_the_surface():
    sizes = [16, 32, 64]
    errors = [max(pressure_error(n, shift) for shift in (0.0, 0.31)) for n in sizes]
    slope = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope > 1.8, errors


def test_periodic_sides_are_refused():
    grid = Grid((8, 8, 1), 0.1, dimensions=2)
    domain = FluidDomain(grid, Sides(grid, [PERIODIC, PERIODIC, WALL, WALL, WALL, WALL]), None, 1000.0)
    with pytest.raises(UserError, match="x_low is periodic"):
        FreeSurface(domain, grid.cell_field(), DOWN)
