"""Bodies of water: connected components of the liquid, found anew in every step.

Two liquid cells belong to one body of water if a way through open parts of faces leads from one to the other without
leaving the liquid. What is a body of its own, a cup that is carried above a pool, a drop, a puddle behind a wall, owes
and holds its own volume. Nothing is remembered from step to step, so that bodies that part or meet need no rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, neighbour, row_of_cells, share_rows
from undertow.grid.jitting import borrowing, inlined
from undertow.linalg import Stencil
from undertow.part import VOLUME, Quantity

SUMS = 6
"""What is summed over a body: liquid cells, volume error and volume [cells], volume times x, y and z [cells, m]."""


NAMED = 3
"""So many of the largest bodies have a column of the ledger."""


class BodyOfWater(NamedTuple):
    """volume, by the level set, and volume_error, what it should have more [m3; 2D m2]; centre of mass [m]."""

    volume: float
    volume_error: float
    centre: tuple[float, float, float]


class Waters:
    """The bodies of water of one surface. count: how many there are; label_c (Z, Y, X): the number of the one that a
    liquid cell belongs to, from 1 on, 0 elsewhere; sums (count + 1, SUMS): row 0 is what is in no body's reach."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._joined = Stencil(grid)
        self.label_c = self._joined.label.reshape(grid.padded)
        self.count = 0
        self.sums = np.zeros((1, SUMS))

    def find(
        self, phi_c: Array, open_c: np.ndarray, area_f: Array, closed_f: Array, work_f: Array, work_c: Array
    ) -> None:
        """The bodies of the surface phi_c [m]; area_f, closed_f: open parts of the faces, the second one or an empty
        array; work_f, work_c: scratch."""
        share_rows(self.grid, _join_liquid, phi_c, open_c, area_f, closed_f, work_f, work_c)
        self._joined.face_f, self._joined.dirichlet_c = work_f, work_c
        self._joined.setup()
        self.count = self._joined.regions

    def measure(
        self, phi_c: Array, open_c: np.ndarray, hidden_c: np.ndarray, component_c: np.ndarray, volume_c: Array,
        error_c: Array,
    ) -> None:  # fmt: skip
        """Sums of the volumes and volume errors of cells [cells] over the bodies."""
        self.sums = np.zeros((self.count + 1, SUMS))
        _sum_bodies(
            self.grid.spec, phi_c, open_c, hidden_c, component_c, self.label_c, volume_c, error_c, self.sums
        )  # fmt: skip

    def mean_error(self) -> Array:
        """Mean volume error of a liquid cell [parts of a cell] of no body, which is 0, and of each body."""
        mean = self.sums[:, 1] / np.maximum(self.sums[:, 0], 1.0)
        mean[0] = 0.0
        return np.asarray(mean)

    def quantities(self) -> Iterator[Quantity]:
        """How many there are, and the volumes by the level set of the largest."""
        volumes = [water.volume for water in self.largest(NAMED)] + NAMED * [0.0]
        yield Quantity("waters", self.count)
        for n in range(NAMED):
            yield Quantity(f"water_{n + 1}_volume", volumes[n], VOLUME)

    def largest(self, most: int) -> list[BodyOfWater]:
        """The ``most`` largest bodies, the largest first."""
        cell = self.grid.cell_volume
        order = np.argsort(-self.sums[1:, 2], kind="stable")[:most] + 1
        found = []
        for volume, error, *moment in self.sums[order, 1:][:, [1, 0, 2, 3, 4]]:
            x, y, z = (float(m / volume) if volume > 0.0 else 0.0 for m in moment)
            found.append(BodyOfWater(float(volume) * cell, float(error) * cell, (x, y, z)))
        return found


def _is_open(axis: int, face: tuple[np.ndarray, ...], area_f: Array, closed_f: Array) -> np.ndarray:
    found = area_f[axis][face] > 0.0
    return np.asarray(found & (closed_f[axis][face] > 0.0) if closed_f.size else found)


def is_closed(grid: Grid, cell: np.ndarray, area_f: Array, closed_f: Array) -> np.ndarray:
    """Whether cells (3, n), as z, y, x, have no open face; area_f, closed_f: as in ``Waters.find``."""
    found = np.ones(cell.shape[1], dtype=bool)
    for axis in grid.axes:
        for end in (0, 1):
            face = tuple(cell + end * np.eye(3, dtype=np.int64)[2 - axis][:, None])
            found &= ~_is_open(axis, face, area_f, closed_f)
    return found


def find_nearest_liquid(
    grid: Grid, cell: np.ndarray, freely: np.ndarray, most: int, phi_c: Array, open_c: np.ndarray, area_f: Array,
    closed_f: Array,
) -> np.ndarray:  # fmt: skip
    """The nearest liquid cell to each cell (3, n), both as z, y, x: the fewest faces away, by ways through open faces,
    or, where ``freely`` (n,), through any. -1 where none is within ``most`` faces."""
    first, last = np.full((3, 1), GHOSTS), np.array(grid.cells[::-1])[:, None] + GHOSTS - 1
    ways = [sign * np.eye(3, dtype=np.int64)[2 - axis] for axis in grid.axes for sign in (-1, 1)]
    found = np.full(cell.shape, -1)
    source, here, before = np.arange(cell.shape[1]), cell, np.zeros(0, dtype=np.int64)
    size = grid.size
    for _ in range(most):
        if not len(source):
            break
        sources, cells = [], []
        for way in ways:
            there, axis = here + way[:, None], 2 - int(np.flatnonzero(way)[0])
            face = tuple(np.maximum(here, there))
            ok = ((there >= first) & (there <= last)).all(axis=0)
            ok &= _is_open(axis, face, area_f, closed_f) | freely[source]
            sources.append(source[ok])
            cells.append(there[:, ok])
        flat = source * size + np.ravel_multi_index(tuple(here), grid.padded)
        joined = np.concatenate(sources) * size + np.ravel_multi_index(tuple(np.hstack(cells)), grid.padded)
        key = np.setdiff1d(joined, np.concatenate([flat, before]))
        before = flat
        source, here = key // size, np.stack(np.unravel_index(key % size, grid.padded))
        liquid = (phi_c[tuple(here)] <= 0.0) & (open_c[tuple(here)] == 1)
        arrived, at = np.unique(source[liquid], return_index=True)
        found[:, arrived] = here[:, liquid][:, at]
        goes_on = ~np.isin(source, arrived)
        source, here = source[goes_on], here[:, goes_on]
    return found


@inlined
def takes(phi, open_c, k, j, i):  # type: ignore[no-untyped-def]
    """Whether a cell is liquid with its centre outside solids: such cells take the errors of others."""
    return phi[k, j, i] <= 0.0 and open_c[k, j, i] == 1


@inlined
def around(spec, k, j, i, n):  # type: ignore[no-untyped-def]
    """The n-th of the cells around one, itself among them, mirrored at the sides: in 2D the first nine are all."""
    ii = min(max(i + n % 3 - 1, GHOSTS), GHOSTS + spec.nx - 1)
    jj = min(max(j + n // 3 % 3 - 1, GHOSTS), GHOSTS + spec.ny - 1)
    kk = min(max(k + (n // 9 + 2) % 3 - 1, GHOSTS), GHOSTS + spec.nz - 1) if spec.dimensions == 3 else k
    return kk, jj, ii


@borrowing
def same_component(component, k, j, i, kk, jj, ii):  # type: ignore[no-untyped-def]
    """Whether two cells are in the same component; one that is in none counts for all."""
    if component.size == 0:
        return True
    a, b = component[k, j, i], component[kk, jj, ii]
    return a == b or a == 0 or b == 0


@borrowing
def sees(hidden, k, j, i, kk, jj, ii):  # type: ignore[no-untyped-def]
    """Whether one way along x, y and z from the first of two cells, next to each other or diagonally, to the second is
    free of shells; the first is the one with the lower index."""
    if hidden.size == 0:
        return True
    if kk < k or (kk == k and (jj < j or (jj == j and ii < i))):
        k, j, i, kk, jj, ii = kk, jj, ii, k, j, i
    if ii != i and hidden[k, j, max(i, ii)] & 1:
        return False
    if jj != j and hidden[k, max(j, jj), ii] & 2:
        return False
    return kk == k or not hidden[kk, jj, ii] & 4


@njit(cache=True, nogil=True)
def _join_liquid(spec, phi, open_c, area, closed, out_face, out_cell, start, stop):  # type: ignore[no-untyped-def]
    """Face 1 between liquid cells that an open part of it joins, else 0; cell 1 in liquid cells outside solids."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out_cell[k, j, i] = 1.0 if takes(phi, open_c, k, j, i) else 0.0
            for a in range(3):
                at = i if a == 0 else (j if a == 1 else k)
                kl, jl, il = neighbour(k, j, i, a, -1)
                joined = phi[k, j, i] <= 0.0 and at > GHOSTS and a < spec.dimensions
                if joined:
                    joined = phi[kl, jl, il] <= 0.0 and area[a, k, j, i] > 0.0
                    joined = joined and (closed.size == 0 or closed[a, k, j, i] > 0.0)
                out_face[a, k, j, i] = 1.0 if joined else 0.0
                n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                if at == GHOSTS + n - 1:
                    out_face[a, k + int(a == 2), j + int(a == 1), i + int(a == 0)] = 0.0


@njit(cache=True)
def _sum_bodies(spec, phi, open_c, hidden, component, label, volume, error, out_sums):  # type: ignore[no-untyped-def]
    """The SUMS of each label. What is in a cell that is not liquid belongs to the body of a liquid cell around it."""
    for k in range(GHOSTS, GHOSTS + spec.nz):
        z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx
        for j in range(GHOSTS, GHOSTS + spec.ny):
            y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
            for i in range(GHOSTS, GHOSTS + spec.nx):
                v, e = volume[k, j, i], error[k, j, i]
                liquid = takes(phi, open_c, k, j, i)
                if v == 0.0 and e == 0.0 and not liquid:
                    continue
                body = label[k, j, i]
                for n in range(27 if spec.dimensions == 3 else 9):
                    if body > 0:
                        break
                    kk, jj, ii = around(spec, k, j, i, n)
                    if takes(phi, open_c, kk, jj, ii) and same_component(component, k, j, i, kk, jj, ii):
                        body = label[kk, jj, ii] if sees(hidden, k, j, i, kk, jj, ii) else 0
                x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
                out_sums[body, 0] += liquid
                out_sums[body, 1] += e
                out_sums[body, 2] += v
                out_sums[body, 3] += v * x
                out_sums[body, 4] += v * y
                out_sums[body, 5] += v * z
