"""The velocity of the nearest place of the interface: what moves a level set whose zero alone has a velocity.

The speed normal to an interface that waves falls off to both sides of it, with a kink where viscosity is small, and
interpolation at the centres beside it, which carry phi, clips it. It is also what the rows of implicit tension
(``fluid.tension_rows``) expect of the surface: displacements by dt u_n of the interface itself.
"""

from __future__ import annotations

import numpy as np

from undertow.grid import GHOSTS, Array, Grid
from undertow.transport import sample_velocity

NORMAL = 2.5
"""So far from the interface phi moves with the velocity of the nearest place of it [cells]."""


def follow_interface(grid: Grid, phi_c: Array, by_f: Array, out_f: Array) -> None:
    """out = by [m/s] of the place of phi = 0 nearest to each face, within ``NORMAL`` cells of it; by elsewhere. Ghosts
    of by and phi are filled, those of out are left."""
    np.copyto(out_f, by_f)
    phi = phi_c.reshape(-1)
    stride = grid.stride
    for axis in grid.axes:
        middle = 0.5 * (phi_c + np.roll(phi_c, 1, axis=2 - axis))
        near = np.zeros(phi_c.shape, dtype=bool)
        inside = grid.interior_faces(axis)
        near[inside] = np.abs(middle[inside]) < NORMAL * grid.dx
        cell = np.flatnonzero(near)
        index = grid.index(cell)
        place = np.array(grid.lower) + grid.dx * (index - GHOSTS + 0.5 * (np.arange(3) != axis))
        normal = np.zeros((len(cell), 3))
        for a in grid.axes:
            if a == axis:
                normal[:, a] = 2.0 * (phi[cell] - phi[cell - stride[a]])
            else:
                low, high = cell - stride[a], cell + stride[a]
                normal[:, a] = 0.5 * (phi[high] - phi[low] + phi[high - stride[axis]] - phi[low - stride[axis]])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        place -= middle.reshape(-1)[cell, None] * normal
        out_f[axis].reshape(-1)[cell] = sample_velocity(grid, by_f, place)[:, axis]
