"""Quantities derived from a face velocity, for output and the ledger, and sums and largest entries over a grid.

Divergence, gradient and the velocity gradient carry face weights and belong to ``fluid``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from undertow.grid.grid import Array, Grid
from undertow.grid.threads import share, share_rows

_PARTS = 64
"""Parts that a field is divided into for its largest entry."""
_MAGNITUDE = np.int64(2**63 - 1)
"""All bits of a number but that of its sign."""


def cell_velocity(grid: Grid, u_f: Array) -> Array:
    """Velocity at the interior cell centres [m/s], the average of the two faces of each axis, shape (3, nz, ny, nx).

    The third component is 0 in 2D. Ghosts are not read, boundary faces are.
    """
    _check_faces(grid, u_f)
    return _average_faces(grid, u_f, 0)


def vorticity(grid: Grid, u_f: Array) -> Array:
    """curl u at the interior cell centres [1/s], shape (3, nz, ny, nx).

    Central differences of the cell velocities, which equal the average of the curl over the edges of the cell:
    exact for a velocity linear in space, second order otherwise. Ghosts must be filled. In 2D only the z component
    is not 0.
    """
    _check_faces(grid, u_f)
    u = _average_faces(grid, u_f, 1)

    def derivative(component: int, axis: int) -> Array:
        """d u_component / d axis at interior cells."""
        if axis not in grid.axes or component not in grid.axes:
            return np.zeros(grid.cells[::-1])
        low, high = ([slice(1, -1) if a in grid.axes else slice(None) for a in (2, 1, 0)] for _ in range(2))
        low[2 - axis] = slice(None, -2)
        high[2 - axis] = slice(2, None)
        field = u[component]
        return np.asarray((field[tuple(high)] - field[tuple(low)]) / (2.0 * grid.dx))

    return np.stack(
        [
            derivative(2, 1) - derivative(1, 2),
            derivative(0, 2) - derivative(2, 0),
            derivative(1, 0) - derivative(0, 1),
        ]
    )


def _average_faces(grid: Grid, u_f: Array, rim: int) -> Array:
    """Cell velocities of the interior and ``rim`` ghost layers along the axes with physics."""
    cells = tuple(
        slice(s.start - rim, s.stop + rim) if axis in grid.axes else s
        for axis, s in zip((2, 1, 0), grid.interior, strict=True)
    )
    u = np.zeros((3, *(s.stop - s.start for s in cells)))
    for axis in grid.axes:
        above = list(cells)
        above[2 - axis] = slice(cells[2 - axis].start + 1, cells[2 - axis].stop + 1)
        np.add(u_f[axis][cells], u_f[axis][tuple(above)], out=u[axis])
        u[axis] *= 0.5
    return u


def _check_faces(grid: Grid, u_f: Array) -> None:
    if u_f.shape != (3, *grid.padded):
        raise ValueError(
            f"u_f: shape {u_f.shape}, {grid.cells} cells need {(3, *grid.padded)} (axis, z, y, x and ghosts)"
        )


def sum_rows(grid: Grid, shape: tuple[int, ...], kernel: Callable[..., Any], *args: Any) -> Array:
    """Sums of ``shape`` over the rows of cells: kernel(spec, *args, out (rows, *shape), start, stop) adds to what is 0
    at first. Rows are added in their order, whatever the threads."""
    return np.asarray(_over_rows(grid, shape, kernel, args).sum(axis=0))


def largest_of_rows(grid: Grid, shape: tuple[int, ...], kernel: Callable[..., Any], *args: Any) -> Array:
    """The largest, not less than 0, as ``sum_rows``."""
    return np.asarray(_over_rows(grid, shape, kernel, args).max(axis=0))


def _over_rows(grid: Grid, shape: tuple[int, ...], kernel: Callable[..., Any], args: tuple[Any, ...]) -> Array:
    partial = grid.row_sums(math.prod(shape)).reshape(-1, *shape)
    partial[...] = 0.0
    share_rows(grid, kernel, *args, partial)
    return partial


def largest_entry(field: Array) -> float:
    """Largest |entry| of a contiguous field; not finite if any entry is not."""
    bits = field.reshape(-1).view(np.int64)
    largest = np.zeros(_PARTS, dtype=np.int64)
    share(_find_largest, _PARTS, bits.size // 4, bits, largest)
    return float(largest.max(keepdims=True).view(np.float64)[0])


@njit(cache=True, nogil=True)
def _find_largest(bits, out, start, stop):  # type: ignore[no-untyped-def]
    """Magnitudes are ordered as their bits are, read as integers; those of inf and NaN are above all others."""
    for part in range(start, stop):
        largest = np.int64(0)
        for i in range(bits.size * part // out.size, bits.size * (part + 1) // out.size):
            largest = max(largest, bits[i] & _MAGNITUDE)
        out[part] = largest
