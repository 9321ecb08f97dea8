"""The interface mesh and cut cells: closed, watertight, of the order that they name (Schroeder 2011, 6.3.1)."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid
from undertow.surface import InterfaceFinder, cut_cells


def _grid(dimensions: int, cells: int) -> Grid:
    return Grid((cells, cells, cells if dimensions == 3 else 1), 1.0 / cells, dimensions=dimensions)


def _places(grid: Grid) -> list[np.ndarray]:
    """x, y, z of all cell centres, ghosts included; z = 0 in 2D."""
    x, y, z = ((np.arange(n) - GHOSTS + 0.5) * grid.dx for n in grid.padded[::-1])
    return [x[None, None, :], y[None, :, None], (z if grid.dimensions == 3 else 0.0 * z)[:, None, None]]


def _ball(grid: Grid, radius: float = 0.3) -> np.ndarray:
    """Distance to a ball that lies askew in its cells."""
    place = zip(_places(grid), (0.51, 0.487, 0.5234 if grid.dimensions == 3 else 0.0), strict=True)
    return np.sqrt(sum((x - c) ** 2 for x, c in place)) - radius


def _waves(grid: Grid) -> np.ndarray:
    """Sheets, necks and saddles a few cells thin; not a distance, but no steeper than one."""
    random = np.random.default_rng(7)
    x, y, z = _places(grid)
    phi, steepest = 0.0, 0.0
    for _ in range(6):
        k = 2.0 * np.pi * random.integers(-5, 6, 3) * (1.0, 1.0, float(grid.dimensions == 3))
        phi = phi + np.cos(k[0] * x + k[1] * y + k[2] * z + 6.0 * random.random())
        steepest += float(np.linalg.norm(k))
    return phi / steepest


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("shape", [_ball, _waves])
def test_cells_are_closed(dimensions, shape):
    grid = _grid(dimensions, 20)
    finder, area_f = InterfaceFinder(grid), grid.face_field()
    phi_c = shape(grid)
    interface = finder.find(phi_c)
    finder.open_faces(phi_c, area_f)
    cut = finder.cut_cells(interface, area_f)
    assert len(cut.cell) > 30
    # the coupling face is the sum of its simplices, and closes the cell
    vectors = np.zeros((area_f[0].size, 3))
    np.add.at(vectors, interface.cell, interface.area_vectors())
    assert np.abs(vectors[cut.cell] - cut.area[:, None] * cut.normal).max() < 1e-15
    for axis in grid.axes:
        flat, step = area_f[axis].reshape(-1), finder.crossings.stride[axis]
        closing = (flat[cut.cell + step] - flat[cut.cell]) * grid.face_area + cut.area * cut.normal[:, axis]
        assert np.abs(closing).max() < 1e-15
    assert np.all((cut.fraction >= 0.0) & (cut.fraction <= 1.0))
    assert np.all((area_f >= 0.0) & (area_f <= 1.0))
    # all other cells have no liquid faces or only such
    other = np.zeros(grid.padded, dtype=bool)
    other[grid.interior] = True
    rest = np.setdiff1d(np.flatnonzero(other), cut.cell)
    for axis in grid.axes:
        flat, step = area_f[axis].reshape(-1), finder.crossings.stride[axis]
        assert np.abs(flat[rest + step] - flat[rest]).max() < 1e-12


@pytest.mark.parametrize("shape", [_ball, _waves])
def test_triangles_have_no_holes(shape):
    interface = InterfaceFinder(_grid(3, 16)).find(shape(_grid(3, 16)))
    t = interface.simplex
    half = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    forward, counts = np.unique(half, axis=0, return_counts=True)
    backward = np.unique(half[:, ::-1], axis=0)
    # each edge is passed as often in one way as in the other; where waves leave the grid it ends
    alone = forward[~(forward[:, None] == backward).all(axis=2).any(axis=1)] if shape is _ball else None
    assert alone is None or len(alone) == 0
    if shape is _ball:
        assert counts.max() == 1
        assert len(interface.point) - len(half) // 2 + len(t) == 2
    else:
        inner = np.all(np.abs(interface.point - 0.5) < 0.49, axis=1)
        both, times = np.unique(np.sort(half, axis=1), axis=0, return_counts=True)
        assert np.all(times[inner[both].all(axis=1)] % 2 == 0)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("order", [3, 4])
def test_crossings_have_their_order(dimensions, order):
    errors = []
    for cells in (16, 32):
        grid = _grid(dimensions, cells)
        point = InterfaceFinder(grid, order).find(_ball(grid)).point
        away = np.linalg.norm(point - (0.51, 0.487, 0.5234 if dimensions == 3 else 0.0), axis=1) - 0.3
        errors.append(np.abs(away).max())
    assert np.log2(errors[0] / errors[1]) > order - 0.5


@pytest.mark.parametrize("dimensions", [2, 3])
def test_volume_of_a_ball(dimensions):
    """Fractions of cut cells and the full ones make up the ball to second order."""
    errors = []
    for cells in (16, 32):
        grid = _grid(dimensions, cells)
        cut, area_f = cut_cells(_ball(grid), grid)
        part = np.all(area_f[list(grid.axes)] == 1.0, axis=0).astype(float)
        part.reshape(-1)[cut.cell] = cut.fraction
        volume = part[grid.interior].sum() * grid.cell_volume
        errors.append(abs(volume / (np.pi * 0.09 if dimensions == 2 else 4.0 / 3.0 * np.pi * 0.027) - 1.0))
    assert errors[1] < 0.3 * errors[0] < 0.01


def test_a_mirrored_level_set_gives_the_mirrored_cells():
    grid = _grid(2, 20)
    phi_c = _waves(grid)
    cut, area_f = cut_cells(phi_c, grid)
    mirrored, area_m = cut_cells(np.ascontiguousarray(phi_c[:, :, ::-1]), grid)
    assert len(cut.cell) == len(mirrored.cell)
    assert np.abs(np.sort(cut.area) - np.sort(mirrored.area)).max() < 1e-14
    faces = grid.interior_faces(0)
    assert np.abs(area_f[0][faces] - area_m[0][faces][:, :, ::-1]).max() < 1e-12


def test_an_order_that_there_is_not():
    with pytest.raises(ValueError, match=r"order = 2, must be 3 or 4"):
        InterfaceFinder(_grid(2, 8), 2)
