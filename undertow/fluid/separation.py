"""Walls that water leaves: pressures of wall cells at the air do not pull.

A wall cell, one whose faces a solid or a side of the domain closes in part, has a row with two sides as long as it is
under water. Where the air can get to the wall,

    p >= 0,      div u >= 0,      p div u = 0                        (Batty, Bertails and Bridson 2007)

in the place of div u = 0 at walls of solids: a bound on the unknowns of the pressure solve (``linalg.active_set``). The
air gets to a wall cell that has air beside it, and from there to wall cells beside one that is open. A cell pulls when
p is negative both at its centre and at the foot of it on the wall: as long as either is under water, water at rest
presses. An open cell has p = 0 at its centre and no row, and the wall moves without it. Along sides of the domain that
pull the air passes too, but they hold their water: a cell beside one has rows that no side takes part in.

A solid with a contact angle bears suction up to the work of adhesion (Dupre 1869) of a cell's height of it,

    sigma (1 + cos theta) / dx

for air has to get between: no meniscus that the grid shows is curved more. Water hangs in tubes and under bodies.

In an open cell the water ends at the wall, which from there on is dry: the surface moves with the water, away from it.
A wall cell is pressed again when water flows towards the wall.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from undertow.fluid.domain import FluidDomain
from undertow.grid import GHOSTS, WALL, Array
from undertow.linalg.active_set import Bounds

if TYPE_CHECKING:
    from undertow.fluid.free_surface import FreeSurface
    from undertow.fluid.pressure import PressureRows

SUCTION = 1e-3
"""Suction that counts as none, in the weight of a cell of water: contact lines at rest must not flicker."""

MOST_PASSES = 5
"""Of the pressure solve."""


class WallCells:
    """Cells of a grid at the walls of a domain, as flat indices."""

    def __init__(self, domain: FluidDomain) -> None:
        self.domain, grid = domain, domain.grid
        _, py, px = grid.padded
        self.stride = np.array([1, px, px * py])
        self._found = np.zeros(0, np.int64)
        self._upper = np.array(grid.cells) + GHOSTS - 1
        self.offsets = np.zeros(1, np.int64)
        """To all cells that touch a cell, itself among them."""
        for axis in grid.axes:
            self.offsets = (self.offsets[:, None] + self.stride[axis] * np.array([-1, 0, 1])).reshape(-1)

    def index(self, cell: np.ndarray) -> np.ndarray:
        """Indices (n, 3) along x, y, z in the padded grid."""
        return np.stack(np.unravel_index(cell, self.domain.grid.padded)[::-1], axis=1)

    def beside(self, cell: np.ndarray) -> np.ndarray:
        """The cells that have a face in common with some of these."""
        if not len(cell):
            return cell
        ways = [way * self.stride[axis] for axis in self.domain.grid.axes for way in (-1, 1)]
        return np.unique(np.concatenate([cell + way for way in ways]))

    def around(self, cell: np.ndarray) -> np.ndarray:
        """These cells and all that touch them."""
        found = np.unique((cell[:, None] + self.offsets).reshape(-1))
        index = self.index(found)
        return np.asarray(found[np.all((index >= GHOSTS) & (index <= self._upper), axis=1)])

    def at_side(self, cell: np.ndarray) -> np.ndarray:
        """Whether each has a face on a wall of the domain (n,)."""
        index, kind = self.index(cell), self.domain.sides.kind
        found = np.zeros(len(cell), dtype=bool)
        for axis in self.domain.grid.axes:
            if kind[2 * axis] == WALL:
                found |= index[:, axis] == GHOSTS
            if kind[2 * axis + 1] == WALL:
                found |= index[:, axis] == self._upper[axis]
        return found

    def are_cut(self, cell: np.ndarray) -> np.ndarray:
        """Whether a solid closes a part of a face of each (n,)."""
        found = np.zeros(len(cell), dtype=bool)
        for axis in self.domain.grid.axes:
            area = self.domain.area_f[axis].reshape(-1)
            found |= (area[cell] < 1.0) | (area[cell + self.stride[axis]] < 1.0)
        return found

    def are_walls(self, cell: np.ndarray) -> np.ndarray:
        """Whether each is a wall cell (n,)."""
        return self.at_side(cell) | self.are_cut(cell)

    def at_air(self, wet_rows: np.ndarray, dirichlet_c: Array) -> np.ndarray:
        """Wall cells of the liquid with p = 0 beyond one of their faces."""
        d = self.domain
        while True:
            size = int(
                _find_at_air(d.grid.spec, d.sides.spec.kind, wet_rows, dirichlet_c, d.area_f, self._found)
            )  # fmt: skip
            if size <= len(self._found):
                return self._found[:size].copy()
            self._found = np.zeros(2 * size, np.int64)

    def potential(self, cell: np.ndarray, gravity: tuple[float, float, float]) -> Array:
        """g.x (n,) [m2/s2] of the centre of each cell."""
        grid = self.domain.grid
        return np.asarray((np.array(grid.lower) + (self.index(cell) - GHOSTS + 0.5) * grid.dx) @ np.array(gravity))

    def depth_of_foot(self, cell: np.ndarray, gravity: tuple[float, float, float]) -> Array:
        """By how much g.x of the foot of each centre on the wall of a solid is larger (n,) [m2/s2]; 0 where it is not,
        and at sides of the domain."""
        grid, solids, found = self.domain.grid, self.domain.solids, np.zeros(len(cell))
        if solids is None:
            return found
        cut = np.flatnonzero(self.are_cut(cell))
        corners = np.array([(a, b, c) for c in range(grid.dimensions - 1) for b in (0, 1) for a in (0, 1)])
        distance = solids.wall_n.reshape(-1)[cell[cut, None] + corners @ self.stride]
        outward = distance @ (2.0 * corners - 1.0)
        outward[:, grid.dimensions :] = 0.0
        length = np.linalg.norm(outward, axis=1)
        along = outward @ np.array(gravity) / np.where(length > 0.0, length, np.inf)
        found[cut] = np.maximum(-distance.mean(axis=1) * along, 0.0)
        return found


class PartingCells(Bounds):
    """The bounds of one solve; held: the cells that are open.

    w: velocities of the system, as the solve changes them. z_c: what it finds [Pa s], what was known before aside.
    tolerance: of the solve, relative.
    """

    def __init__(
        self, phase: FreeSurface, rows: PressureRows, w: Mapping[str, Array], z_c: Array, dt: float, tolerance: float
    ) -> None:  # fmt: skip
        super().__init__(phase.open_cells)
        self.most = MOST_PASSES
        self.phase, self.rows, self.w, self.z_c, self.dt = phase, rows, w, z_c, dt
        self.tolerance = tolerance
        self.walls = phase.wall_cells
        self._passed = np.zeros(0, np.int64)

    def room(self) -> Array:
        left, least = -self.rows.left_in_open(self.w), self._least() * self.rows.diagonal_in(self.held)
        # where water neither leaves the wall nor is pressed the air passes
        self._passed = np.union1d(self._passed, self.held[left > -least])
        return np.asarray(left - least)

    def beyond(self, stays: np.ndarray) -> np.ndarray:
        found, new = [], np.union1d(self.phase.at_air, self.walls.beside(stays))
        seen = self.held
        while len(new):
            new = np.setdiff1d(new, seen)
            seen = np.union1d(seen, new)
            new = new[self._pulls(new)]
            found.append(new)
            new = self.walls.beside(new)
        pulled = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
        cut = self.walls.are_cut(pulled)
        self._passed = np.union1d(self._passed, pulled[~cut])
        return pulled[cut]

    def allowed(self, held: np.ndarray) -> np.ndarray:
        ways = np.union1d(held, self._passed)
        new = found = np.intersect1d(ways, self.phase.at_air)
        while len(new):
            new = np.setdiff1d(np.intersect1d(self.walls.beside(new), ways), found)
            found = np.union1d(found, new)
        return np.intersect1d(found, held)

    def hold(self, held: np.ndarray) -> None:
        self.phase.add_known(self.z_c)
        self.phase.release(np.setdiff1d(held, self.phase.open_cells), self.dt, self.w["fluid"])
        self.rows.open(held)

    def _pulls(self, cell: np.ndarray) -> np.ndarray:
        """Whether each (n,) is a wall cell of the liquid with less than no pressure, by more than the solid bears."""
        phase = self.phase
        cell_is_liquid = phase.liquid_c.reshape(-1)[cell] > 0.0
        foot = phase.mass_of(self.dt * self.walls.depth_of_foot(cell, phase.gravity))
        pulls = self._above(cell) + foot < -self._least() - self.dt * phase.adhesion_in(cell)
        return np.asarray(cell_is_liquid & pulls & self.walls.are_walls(cell))

    def _above(self, cell: np.ndarray) -> Array:
        """dt p (n,) [Pa s] at the centres."""
        return self.phase.impulse_in(self.z_c, cell) - self.phase.impulse_without_pressure(cell, self.dt)

    def _least(self) -> float:
        """What does not count of an impulse [Pa s]: of weight; without any of what is solved for, and of what sources
        that correct the volume may draw."""
        phase, grid = self.phase, self.phase.domain.grid
        weight = SUCTION * phase.mass_of(float(np.linalg.norm(phase.gravity))) * grid.dx * self.dt
        if weight > 0.0 or not len(phase.at_air):
            return weight
        drawn = phase.mass_of(float(np.abs(phase.source_c).max())) / grid.cell_volume * grid.dx**2
        return max(drawn, self.tolerance * float(np.abs(self._above(phase.at_air)).max()))


@njit(cache=True)
def _find_at_air(spec, kind, wet, dirichlet, area, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room with the wall cells that have p = 0 beyond a face; returns how many."""
    found = 0
    _, ny, nx = dirichlet.shape
    for row in range(spec.ny * spec.nz):
        if wet[row] != 1:
            continue
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if dirichlet[k, j, i] <= 0.0:
                continue
            wall = False
            for a in range(spec.dimensions):
                kh, jh, ih = k + int(a == 2), j + int(a == 1), i + int(a == 0)
                n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                at = i if a == 0 else (j if a == 1 else k)
                wall |= area[a, k, j, i] < 1.0 or area[a, kh, jh, ih] < 1.0
                wall |= at == GHOSTS and kind[2 * a] == WALL
                wall |= at == GHOSTS + n - 1 and kind[2 * a + 1] == WALL
            if wall:
                if found < len(out):
                    out[found] = (k * ny + j) * nx + i
                found += 1
    return found
