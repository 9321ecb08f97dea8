"""Curvature of a level set, fitted at cell centres and taken from there to the interface.

    kappa = div(g / |g|) = (|g|^2 tr B - g.B g) / |g|^3,      g = grad phi,   B = its Hessian

by central differences of second order; sum of the principal curvatures, positive where the liquid is convex. At a place
between cell centres the values of those around it are interpolated linearly. The area gradient of a marching-cubes mesh
does not converge to it, which is why the forces in 3D come from here.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from undertow.grid import GHOSTS, Array, Grid


def curvature_of_cells(grid: Grid, phi_c: Array, cell: np.ndarray) -> Array:
    """kappa (n,) [1/m] at the centres of cells (n,), flat, one cell of which is known around each.

    No larger than of a ball (2D: disc) of one cell's radius: more the grid does not show.
    """
    phi, dx = phi_c.reshape(-1), grid.dx
    pz, py, px = grid.padded
    step = (1, px, py * px)[: grid.dimensions]
    here = phi[cell]
    gradient = [(phi[cell + s] - phi[cell - s]) / (2.0 * dx) for s in step]
    hessian = {
        (a, b): (phi[cell + s] - 2.0 * here + phi[cell - s]) / dx**2
        if a == b
        else (phi[cell + s + t] - phi[cell + s - t] - phi[cell - s + t] + phi[cell - s - t]) / (4.0 * dx**2)
        for a, s in enumerate(step)
        for b, t in enumerate(step)
        if b >= a
    }
    square = sum(g * g for g in gradient)
    trace = sum(hessian[a, a] for a in grid.axes)
    along = sum(
        gradient[a] * gradient[b] * h * (1.0 if a == b else 2.0) for (a, b), h in hessian.items()
    )  # fmt: skip
    kappa = (square * trace - along) / np.maximum(square, 1e-12) ** 1.5
    most = (grid.dimensions - 1) / dx
    return np.asarray(np.clip(kappa, -most, most))


def curvature_at(grid: Grid, phi_c: Array, place: Array) -> Array:
    """kappa (n,) [1/m] at places (n, 3) [m] in the domain; ghosts of phi filled."""
    index = (place - np.array(grid.lower)) / grid.dx - 0.5 + GHOSTS
    base = np.floor(index).astype(np.int64)
    part = index - base
    base[:, grid.dimensions :] = GHOSTS
    pz, py, px = grid.padded
    stride = np.array([1, px, py * px])[: grid.dimensions]
    base = np.clip(base[:, : grid.dimensions], 1, np.array([px, py, pz])[: grid.dimensions] - 3)
    flat = base @ stride + (GHOSTS * px * py if grid.dimensions == 2 else 0)
    around = [np.array(bits) for bits in product((0, 1), repeat=grid.dimensions)]
    cells = np.stack([flat + bits @ stride for bits in around], axis=1)
    weights = np.stack(
        [np.prod(np.where(bits, part[:, grid.axes], 1.0 - part[:, grid.axes]), axis=1) for bits in around], axis=1
    )
    needed, index_of = np.unique(cells, return_inverse=True)
    kappa = curvature_of_cells(grid, phi_c, needed)
    return np.asarray((kappa[index_of.reshape(cells.shape)] * weights).sum(axis=1))
