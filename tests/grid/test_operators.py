"""Derived quantities: exact on linear velocities."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, Grid
from undertow.grid.operators import cell_velocity, vorticity


def linear_velocity(grid: Grid, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """u = A x + b on all faces, ghosts included."""
    u = grid.face_field()
    pz, py, px = grid.padded
    for c in grid.axes:
        x, y, z = (
            grid.lower[a] + (np.arange(n) - GHOSTS + (0.0 if a == c else 0.5)) * grid.dx
            for a, n in enumerate((px, py, pz))
        )
        u[c] = A[c, 0] * x[None, None, :] + A[c, 1] * y[None, :, None] + A[c, 2] * z[:, None, None] + b[c]
    return u


@pytest.mark.parametrize("dimensions", (2, 3))
def test_linear_velocity_has_its_values_and_its_curl(dimensions: int) -> None:
    rng = np.random.default_rng(3)
    grid = Grid((5, 4, 3 if dimensions == 3 else 1), 0.2, (0.5, -1.0, 2.0), dimensions)
    A, b = rng.standard_normal((3, 3)), rng.standard_normal(3)
    if dimensions == 2:
        A[2] = A[:, 2] = b[2] = 0.0
    u = linear_velocity(grid, A, b)
    x, y, z = np.broadcast_arrays(*grid.cell_centres())
    expected = np.einsum("ca,akji->ckji", A, np.stack([x, y, z])) + b[:, None, None, None]
    assert np.allclose(cell_velocity(grid, u), expected, atol=1e-13)
    curl = np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    assert np.allclose(vorticity(grid, u), curl[:, None, None, None], atol=1e-12)


def test_shape_error_names_what_is_needed() -> None:
    grid = Grid((4, 4, 4), 1.0)
    with pytest.raises(ValueError, match="need \\(3, 10, 10, 10\\)"):
        cell_velocity(grid, np.zeros((3, 4, 4, 4)))
