"""Places and measures of the grid."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid


def test_places_of_cells_and_faces() -> None:
    grid = Grid((4, 3, 2), 0.5, (1.0, 2.0, 3.0))
    x, y, z = grid.cell_centres()
    assert np.allclose(x.ravel(), [1.25, 1.75, 2.25, 2.75])
    assert np.allclose(z.ravel(), [3.25, 3.75])
    x, y, z = grid.face_centres(1)
    assert np.allclose(y.ravel(), [2.0, 2.5, 3.0, 3.5])
    assert x.size == 4 and z.size == 2
    assert grid.upper == (3.0, 3.5, 4.0)
    assert grid.padded == (2 + 2 * GHOSTS, 3 + 2 * GHOSTS, 4 + 2 * GHOSTS)
    for axis in range(3):
        shape = list(grid.cells[::-1])
        shape[2 - axis] += 1
        assert grid.cell_field()[grid.interior_faces(axis)].shape == tuple(shape)
    assert [*grid.sides()] == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 2, 0), (5, 2, 1)]


def test_measures_of_2d_are_per_metre_of_depth() -> None:
    grid = Grid((4, 3, 1), 0.5, dimensions=2)
    assert grid.cell_volume == pytest.approx(0.25)
    assert grid.face_area == pytest.approx(0.5)
    assert Grid((4, 3, 2), 0.5).cell_volume == pytest.approx(0.125)
    assert [*grid.axes] == [0, 1]
    assert len([*grid.sides()]) == 4
