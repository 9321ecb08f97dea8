"""Cut cells of curves and H of (6.38): closed, transposed, all of a force spread, and the level set's own cells."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid
from undertow.surface import Curve, InterfaceFinder, cut_cells, make_curve, merge_short, remesh
from undertow.surface.front import front_cells, spread, tension_rows


def _grid(n: int = 24) -> Grid:
    return Grid((n, n, 1), 1.0 / n, dimensions=2)


def _ellipse(grid: Grid) -> np.ndarray:
    x, y = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(2))
    place = np.stack(np.meshgrid(x - 0.51, y - 0.487), axis=-1)
    return np.repeat((np.hypot(place[..., 0] / 1.1, place[..., 1]) - 0.3)[None], grid.padded[0], axis=0)


def _curve(grid: Grid) -> Curve:
    return remesh(make_curve(InterfaceFinder(grid).find(_ellipse(grid))), grid.dx)


def test_cells_of_a_curve_are_closed():
    grid = _grid()
    cells = front_cells(_curve(grid), grid)
    for axis, step in ((0, 1), (1, grid.padded[2])):
        flat = cells.area_f[axis].reshape(-1)
        closing = (flat[cells.cell + step] - flat[cells.cell]) * grid.dx + cells.area * cells.normal[:, axis]
        assert np.abs(closing).max() < 1e-15


def test_without_merging_they_are_those_of_the_level_set():
    grid = _grid()
    phi_c = _ellipse(grid)
    own = front_cells(make_curve(InterfaceFinder(grid).find(phi_c)), grid)
    cut, area_f = cut_cells(phi_c, grid)
    inside = grid.interior
    assert np.abs((own.area_f - area_f)[:2, *inside]).max() < 1e-12
    assert np.array_equal(own.cell[own.area > 1e-12], cut.cell)
    assert np.abs(own.area[own.area > 1e-12] - cut.area).max() < 1e-14


def test_all_of_a_force_is_spread_and_constant_velocities_are_found():
    grid = _grid()
    curve = merge_short(make_curve(InterfaceFinder(grid).find(_ellipse(grid))), 0.3 * grid.dx)
    cells = front_cells(curve, grid)
    H, parts = spread(curve, cells)
    assert np.abs(np.asarray(parts.sum(axis=1)) - 1.0).max() < 1e-14
    random = np.random.default_rng(2)
    force, velocity = random.normal(size=H.shape[0]), random.normal(size=H.shape[1])
    assert force @ (H @ velocity) == pytest.approx((H.T @ force) @ velocity, rel=1e-13)
    # of a liquid that moves as a whole the points have the part across the interface
    found = (H @ (cells.normal @ (1.0, 0.0))).reshape(-1, 2)
    pull = curve.point[:, :2] - (0.51, 0.487)
    outward = pull / (1.1**2, 1.0)
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    assert np.abs(found - outward[:, :1] * outward).max() < 0.1


def test_damping_rows_are_the_second_derivative_of_the_length():
    grid = _grid(12)
    curve = _curve(grid)
    sigma, dt, h = 0.07, 0.01, 1e-6
    C = tension_rows(curve, sigma, dt)
    change = np.random.default_rng(4).normal(size=2 * len(curve.point))
    forces = []
    for sign in (1.0, -1.0):
        point = curve.point.copy()
        point[:, :2] += sign * h * change.reshape(-1, 2)
        forces.append(sigma * curve._replace(point=point).tension()[:, :2].reshape(-1))
    # C^T C = -dt D, D = dt df/dx
    found = C.T @ (C @ change)
    assert np.abs(found + dt**2 * (forces[0] - forces[1]) / (2.0 * h)).max() < 1e-6 * np.abs(found).max()


def test_a_front_in_3d_is_refused():
    with pytest.raises(ValueError, match="the grid is 3D"):
        front_cells(_curve(_grid()), Grid((8, 8, 8), 0.125))
