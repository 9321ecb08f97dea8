"""Linear interpolation of face and cell fields at any point.

Kernels work in *index coordinates*: s = (x - lower) / dx + GHOSTS, so that the lower face of padded cell i lies at
s = i and its centre at s = i + 1/2. The *location* of a value is 0, 1, 2 for a face normal to x, y, z and 3 for a cell
centre; a field is passed to kernels as ``[component, z, y, x]`` with the location of its first component, so faces
(3 components from location 0) and centres (1 component at location 3) share one specialisation. In 2D the z coordinate
is the mid-plane, and only that plane is read.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, share
from undertow.grid.jitting import borrowing, helper

FACES, CENTRE = 0, 3
"""Location of the first component of a face field and of a cell field."""


def sample_velocity(grid: Grid, u_f: Array, points: Array) -> Array:
    """Velocity [m/s] at ``points`` (n, 3) [m], trilinear from the faces, shape (n, 3).

    Ghosts must be filled. Points further than one cell outside the domain are moved to that distance; the z coordinate
    is ignored in 2D, where the third component of the result is 0.
    """
    _check_field(grid, "u_f", u_f, (3, *grid.padded))
    return _sample(grid, u_f, FACES, points)


def sample_centred(grid: Grid, q_c: Array, points: Array) -> Array:
    """Value of the cell field ``q_c`` at ``points`` (n, 3) [m], trilinear, shape (n,). Ghosts must be filled."""
    _check_field(grid, "q_c", q_c, grid.padded)
    return _sample(grid, q_c[None], CENTRE, points)[:, 0]


def _sample(grid: Grid, q: Array, first: int, points: Array) -> Array:
    places = np.ascontiguousarray(points, dtype=np.float64)
    if places.ndim != 2 or places.shape[1] != 3:
        raise ValueError(f"points: shape {places.shape}, need (n, 3); add z = 0 to points of a 2D grid")
    values = np.zeros((len(places), q.shape[0]))
    share(_sample_points, len(places), len(places), grid.spec, q, first, places, values)
    return values


def _check_field(grid: Grid, name: str, field: Array, shape: tuple[int, ...]) -> None:
    """Kernels assume padded, C-contiguous float64 fields of the grid."""
    if field.shape != shape:
        raise ValueError(
            f"{name}: shape {field.shape}, a grid of {grid.cells} cells needs {shape} (z, y, x with {GHOSTS} ghosts)"
        )
    if field.dtype != np.float64 or not field.flags.c_contiguous:
        raise ValueError(f"{name}: must be float64 and C-contiguous, not {field.dtype}; allocate it with the grid")


@borrowing
def _interpolate_at(q, p, right, up, over, fx, fy, fz):  # type: ignore[no-untyped-def]
    """Linear blend of the eight values of the flat field q around index p; exact for constants.

    The strides right, up, over (along x, y, z) and p are uint64: Numba then leaves out its test for negative indices,
    a third of the time of this function. In 2D ``over`` is 0, so that the plane is blended with itself.
    """
    a = q[p]
    b = q[p + up]
    a += fx * (q[p + right] - a)
    b += fx * (q[p + up + right] - b)
    a += fy * (b - a)
    r = p + over
    c = q[r]
    d = q[r + up]
    c += fx * (q[r + right] - c)
    d += fx * (q[r + up + right] - d)
    c += fy * (d - c)
    return a + fz * (c - a)


@helper
def _index_coordinate(x, lower, dx, n):  # type: ignore[no-untyped-def]
    """Index coordinate of x [m], kept within one cell of the domain (a NaN goes to the low end)."""
    s = (x - lower) / dx + GHOSTS
    if not s > GHOSTS - 1.0:
        return GHOSTS - 1.0
    return min(s, GHOSTS + n + 1.0)


@helper
def _interpolate_location(spec, q, component, location, x, y, z):  # type: ignore[no-untyped-def]
    """Value at the point (x, y, z) [m] of the component of q[component, z, y, x] that lives at ``location``."""
    sx = _index_coordinate(x, spec.x0, spec.dx, spec.nx) - (0.0 if location == 0 else 0.5)
    sy = _index_coordinate(y, spec.y0, spec.dx, spec.ny) - (0.0 if location == 1 else 0.5)
    sz = np.float64(GHOSTS)
    if spec.dimensions == 3:
        sz = _index_coordinate(z, spec.z0, spec.dx, spec.nz) - (0.0 if location == 2 else 0.5)
    i = int(sx)
    j = int(sy)
    k = int(sz)
    p = np.uint64(((component * q.shape[1] + k) * q.shape[2] + j) * q.shape[3] + i)
    up = np.uint64(q.shape[3])
    over = np.uint64(q.shape[3] * q.shape[2] if spec.dimensions == 3 else 0)
    return _interpolate_at(q.reshape(q.size), p, np.uint64(1), up, over, sx - i, sy - j, sz - k)


@njit(cache=True, nogil=True)
def _sample_points(spec, q, first, points, out_values, start, stop):  # type: ignore[no-untyped-def]
    components = min(q.shape[0], spec.dimensions)
    for n in range(start, stop):
        for c in range(components):
            out_values[n, c] = _interpolate_location(spec, q, c, first + c, points[n, 0], points[n, 1], points[n, 2])
