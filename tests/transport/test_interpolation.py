"""Point samples against scipy's linear interpolation of the padded arrays."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from undertow.grid import GHOSTS, Grid
from undertow.transport import sample_centred, sample_velocity


def brute_force(grid: Grid, q: np.ndarray, location: int, points: np.ndarray) -> np.ndarray:
    """Index coordinates of the points in the lattice of the location, in the order [z, y, x] of the array."""
    s = (points - np.array(grid.lower)) / grid.dx + GHOSTS
    s = np.clip(s, GHOSTS - 1, GHOSTS + np.array(grid.cells) + 1)
    s -= [0.0 if axis == location else 0.5 for axis in range(3)]
    if grid.dimensions == 2:
        s[:, 2] = GHOSTS
    return map_coordinates(q, s[:, ::-1].T, order=1)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_samples_equal_brute_force(dimensions: int) -> None:
    rng = np.random.default_rng(1)
    grid = Grid((6, 5, 4 if dimensions == 3 else 1), 0.3, (-0.4, 1.0, 2.0), dimensions)
    u = rng.standard_normal((3, *grid.padded))
    q = rng.standard_normal(grid.padded)
    span = np.array(grid.upper) - np.array(grid.lower)
    points = np.array(grid.lower) + rng.uniform(-0.5, 1.5, (300, 3)) * span
    points[0], points[1] = grid.lower, grid.upper
    samples = sample_velocity(grid, u, points)
    for c in grid.axes:
        assert np.allclose(samples[:, c], brute_force(grid, u[c], c, points), atol=1e-12)
    if dimensions == 2:
        assert not samples[:, 2].any()
    assert np.allclose(sample_centred(grid, q, points), brute_force(grid, q, 3, points), atol=1e-12)


def test_linear_fields_are_exact() -> None:
    rng = np.random.default_rng(2)
    grid = Grid((6, 5, 4), 0.3, (-0.4, 1.0, 2.0))
    slope = np.array([0.7, -1.1, 0.4])
    points = np.array(grid.lower) + rng.uniform(0.0, 1.0, (50, 3)) * (np.array(grid.upper) - np.array(grid.lower))
    pz, py, px = grid.padded
    x, y, z = (grid.lower[a] + (np.arange(n) - GHOSTS + 0.5) * grid.dx for a, n in enumerate((px, py, pz)))
    q = slope[0] * x[None, None, :] + slope[1] * y[None, :, None] + slope[2] * z[:, None, None]
    assert np.allclose(sample_centred(grid, q, points), points @ slope, atol=1e-12)


def test_wrong_arguments_are_named() -> None:
    grid = Grid((4, 4, 4), 1.0)
    with pytest.raises(ValueError, match=r"points: shape \(5, 2\), need \(n, 3\)"):
        sample_centred(grid, grid.cell_field(), np.zeros((5, 2)))
    with pytest.raises(ValueError, match=r"u_f: shape \(3, 4, 4, 4\)"):
        sample_velocity(grid, np.zeros((3, 4, 4, 4)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="C-contiguous"):
        sample_centred(grid, grid.cell_field().T, np.zeros((1, 3)))
