"""The MAC grid: always three axes, lower faces owned by cells, padded with ghosts.

See ``grid/README.md`` for the one drawing of the indexing. Fields are float64, C-contiguous and indexed ``[z, y, x]``
with x fastest; face fields are ``[axis, z, y, x]``. Points and vectors are (x, y, z).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GHOSTS = 3
"""Ghost layers on every side of every field, in every direction (ENO-3 reads three cells to either side)."""


class GridSpec(NamedTuple):
    """What kernels need of a grid; plain numbers, one Numba specialisation for 2D and 3D."""

    nx: int
    ny: int
    nz: int
    dimensions: int
    dx: float
    x0: float
    y0: float
    z0: float


@dataclass(frozen=True)
class Grid:
    """Uniform grid of cubic cells.

    cells: number of cells (nx, ny, nz); a 2D grid has nz == 1 and is the x-y plane per metre of depth.
    dx: edge of a cell [m].  lower: lower corner of the domain [m].
    """

    cells: tuple[int, int, int]
    dx: float
    lower: tuple[float, float, float] = (0.0, 0.0, 0.0)
    dimensions: int = 3

    def __post_init__(self) -> None:
        if self.dimensions not in (2, 3):
            raise ValueError(f"grid: dimensions = {self.dimensions}, must be 2 or 3")
        if self.dimensions == 2 and self.cells[2] != 1:
            raise ValueError(f"grid: a 2D grid has one cell along z, not {self.cells[2]}")
        if min(self.cells) < 1 or not self.dx > 0:
            raise ValueError(f"grid: cells = {self.cells}, dx = {self.dx}: all must be positive")

    @cached_property
    def spec(self) -> GridSpec:
        nx, ny, nz = self.cells
        x0, y0, z0 = (float(x) for x in self.lower)
        return GridSpec(nx, ny, nz, self.dimensions, float(self.dx), x0, y0, z0)

    @cached_property
    def _row_sums(self) -> dict[int, Array]:
        return {}

    def row_sums(self, columns: int) -> Array:
        """Scratch for sums over rows of cells, (rows, columns), whatever the last user left in it."""
        if columns not in self._row_sums:
            self._row_sums[columns] = np.zeros((self.cells[1] * self.cells[2], columns))
        return self._row_sums[columns]

    @property
    def axes(self) -> range:
        """The axes with physics: (0, 1) in 2D, (0, 1, 2) in 3D."""
        return range(self.dimensions)

    @property
    def upper(self) -> tuple[float, float, float]:
        return tuple(lo + n * self.dx for lo, n in zip(self.lower, self.cells, strict=True))  # type: ignore[return-value]

    @property
    def padded(self) -> tuple[int, int, int]:
        """Array shape (z, y, x) of a cell field, ghosts included."""
        nx, ny, nz = self.cells
        return (nz + 2 * GHOSTS, ny + 2 * GHOSTS, nx + 2 * GHOSTS)

    @property
    def cell_count(self) -> int:
        nx, ny, nz = self.cells
        return nx * ny * nz

    @property
    def cell_volume(self) -> float:
        """[m^3], in 2D per metre of depth [m^2]."""
        return float(self.dx**self.dimensions)

    @property
    def face_area(self) -> float:
        """[m^2], in 2D per metre of depth [m]."""
        return float(self.dx ** (self.dimensions - 1))

    @property
    def interior(self) -> tuple[slice, slice, slice]:
        """Slices of the interior cells of a cell field."""
        nx, ny, nz = self.cells
        return (slice(GHOSTS, GHOSTS + nz), slice(GHOSTS, GHOSTS + ny), slice(GHOSTS, GHOSTS + nx))

    def interior_faces(self, axis: int) -> tuple[slice, slice, slice]:
        """Slices of the faces normal to ``axis``, both boundary faces included (n + 1 of them along the axis)."""
        slices = list(self.interior)
        s = slices[2 - axis]
        slices[2 - axis] = slice(s.start, s.stop + 1)
        return (slices[0], slices[1], slices[2])

    # numbers of cells and faces in flattened arrays; those of faces are axis * size + cell ---------------------------

    @cached_property
    def size(self) -> int:
        """Cells of the padded array."""
        pz, py, px = self.padded
        return pz * py * px

    @cached_property
    def stride(self) -> NDArray[np.int64]:
        """What one cell along x, y, z adds to the number of a cell (3,)."""
        _, py, px = self.padded
        return np.array([1, px, px * py])

    def index(self, cell: NDArray[Any]) -> NDArray[np.int64]:
        """Indices (n, 3) along x, y, z in the padded array of cells (n,)."""
        return np.stack(np.unravel_index(cell, self.padded)[::-1], axis=1)

    def number(self, index: NDArray[Any]) -> NDArray[np.int64]:
        """Numbers (n,) of the cells with indices (n, 3) along x, y, z."""
        return np.asarray(np.ravel_multi_index(tuple(index.T[::-1]), self.padded), dtype=np.int64)

    def split(self, face: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Axes (n,) and cells (n,) of faces (n,)."""
        axis, cell = np.divmod(face, self.size)
        return axis, cell

    def position(self, index: NDArray[np.int64] | Array, offset: float | Array = 0.5) -> Array:
        """lower + (index - GHOSTS + offset) dx of indices (n, 3) in the padded array [m]: by default centres."""
        return np.asarray(np.array(self.lower) + (index - GHOSTS + offset) * self.dx)

    def wrap(self, index: NDArray[np.int64], periodic: tuple[bool, bool, bool]) -> NDArray[np.int64]:
        """Indices (n, 3) in the domain along periodic axes, the others as they are."""
        inside = (index - GHOSTS) % np.array(self.cells) + GHOSTS
        return np.asarray(np.where(periodic, inside, index))

    def cell_field(self) -> Array:
        return np.zeros(self.padded)

    def face_field(self) -> Array:
        return np.zeros((3, *self.padded))

    def coordinates(self, axis: int, offset: float, count: int | None = None) -> Array:
        """lower + (i + offset) dx for the interior indices i = 0 ... count - 1 along ``axis``."""
        n = self.cells[axis] if count is None else count
        return np.asarray(self.lower[axis] + (np.arange(n) + offset) * self.dx)

    def cell_centres(self) -> tuple[Array, Array, Array]:
        """x, y, z of the interior cell centres, broadcastable to (nz, ny, nx)."""
        x, y, z = (self.coordinates(a, 0.5) for a in range(3))
        return x[None, None, :], y[None, :, None], z[:, None, None]

    def face_centres(self, axis: int) -> tuple[Array, Array, Array]:
        """x, y, z of the faces of ``interior_faces(axis)``, broadcastable."""
        c = [self.coordinates(a, 0.0 if a == axis else 0.5, self.cells[a] + (1 if a == axis else 0)) for a in range(3)]
        return c[0][None, None, :], c[1][None, :, None], c[2][:, None, None]

    def sides(self) -> Iterator[tuple[int, int, int]]:
        """(side, axis, end) with side = 2 axis + end; end 0 is the low side, 1 the high side."""
        for axis in self.axes:
            for end in (0, 1):
                yield 2 * axis + end, axis, end

    def describe(self, index: tuple[int, ...]) -> str:
        """Words for an entry [..., z, y, x] of a padded field."""
        k, j, i = (int(v) - GHOSTS for v in index[-3:])
        place = [lo + (n + 0.5) * self.dx for lo, n in zip(self.lower, (i, j, k), strict=True)]
        near = ", ".join(f"{x:.4g}" for x in place[: self.dimensions])
        return f"first in cell ({i}, {j}, {k}) near ({near}) m"
