"""What the walls of rigid bodies sweep of regions of fluid that they close off.

In a region without a way out the rows say that what its walls sweep sums to nothing,

    sum_{c in r} F_c . v = q_r,

and the level of its pressure answers. That holds a piston. It must say so of the walls that there are, though, and of
regions that are closed. The grid closes more than that:

- Slits where a body touches a wall or another body have no walls on the grid. The walls of a whole body sum to nothing:
  what is missing of them faces the slit, whose fluid is that of the largest region about the body. A box that lies on
  the floor of a closed tank leaves it as if the floor were not there.
- Solids that touch at a point or an edge, and bodies that touch each other, seal nothing: the little that they hold
  between them comes and goes through contacts that are wet. The sum of such a pocket is that of the region on the other
  side of its contacts. With as many pockets as contacts a pile of discs would have no freedom left to settle, and none
  of them could be lifted. What seals is a body that is flush with a wall, and what holds more than the bodies
  themselves is no pocket.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from undertow.geometry import SolidFields
from undertow.geometry.solids import SLIT
from undertow.grid import GHOSTS, Array, Grid
from undertow.linalg import Stencil

NEAR = 2
"""Contacts of a pocket are looked for so many cells about it."""

FLUSH = 0.02
"""Angle between surfaces that lie on each other [rad]."""

FLUSH_NODES = 2
"""Where a contact that seals is narrowest: it is as long as a cell."""


def find_excess(
    grid: Grid, solids: SolidFields, stencil: Stencil, dynamic_b: np.ndarray, cell: np.ndarray, body: np.ndarray,
    sums: Array, missing_b: Array,
) -> Array:  # fmt: skip
    """What the sums of F over regions (regions + 1, n, 6) have that walls must not sweep of them, in the same shape.

    dynamic_b (n,): 1 for bodies that have walls. cell, body (m,): where they are. sums: of F. missing_b (n, 6): of
    walls that face slits.
    """
    wanted, closed = sums.copy(), stencil.grounded == 0
    closed[0] = False
    border = np.unique(np.stack([stencil.label[cell].astype(np.int64), body]), axis=1)
    border = border[:, border[0] > 0]
    size = np.bincount(stencil.label, minlength=len(sums))
    for b in np.flatnonzero(np.abs(missing_b).max(axis=1) > 0.0):
        about = border[0, border[1] == b]
        home = about[np.argmax(size[about])] if len(about) else 0
        if closed[home]:
            wanted[home, b] += missing_b[b]
    wanted[np.abs(wanted) <= 1e-9 * np.abs(sums).max(axis=(0, 1), initial=0.0)] = 0.0
    pockets = _Pockets(grid, solids, stencil, dynamic_b)
    links: list[tuple[int, int]] = []
    for r in np.flatnonzero(closed & wanted.any(axis=(1, 2))).tolist():
        links += [(r, other) for other in pockets.joined(r, border[1, border[0] == r])]
    for pocket, other in _outlets(links, size):
        wanted[other] += wanted[pocket]
        wanted[pocket] = 0.0
    return np.asarray(sums - wanted)


def _outlets(links: list[tuple[int, int]], size: np.ndarray) -> list[tuple[int, int]]:
    """Every pocket, and the largest region that it is joined with, through other pockets or directly."""
    if not links:
        return []
    pocket, other = np.array(links).T
    _, part = connected_components(coo_matrix((np.ones(len(pocket)), (pocket, other)), shape=(len(size),) * 2))
    found = []
    for r in np.unique(pocket):
        members = np.flatnonzero(part == part[r])
        largest = members[np.argmax(size[members])]
        if largest != r:
            found.append((int(r), int(largest)))
    return found


class _Pockets:
    """Small regions that solids enclose which do not seal them."""

    def __init__(self, grid: Grid, solids: SolidFields, stencil: Stencil, dynamic_b: np.ndarray) -> None:
        self.grid, self.solids, self.label = grid, solids, stencil.label[: stencil.cells]
        self._fixed = [b for b, s in enumerate(solids.solids) if not dynamic_b[b] and not s.shape.is_sheet]

    def joined(self, region: int, bodies: np.ndarray) -> list[int]:
        """Regions on the other side of contacts about ``region`` that do not seal it; none if all do, or if it is
        larger than the bodies."""
        cell = np.flatnonzero(self.label == region)
        volume = self.grid.cell_volume * float(self.solids.volume_c.reshape(-1)[cell].sum())
        if volume > sum(self._volume(int(b)) for b in bodies):
            return []
        leaks = self._find_leaks(self._about(cell), bodies)
        if not len(leaks):
            return []
        return [int(r) for r in np.unique(self.label[self._about(leaks)]) if r not in (0, region)]

    def _find_leaks(self, node: np.ndarray, bodies: np.ndarray) -> np.ndarray:
        """Those of some nodes (flat) where two bodies are less than a cell apart, or a body and a wall are and are not
        flush there."""
        place, dx = self._place(node), self.grid.dx
        apart = np.stack([self._distance(int(b), place) for b in bodies])
        if len(bodies) > 1:
            between = np.sort(apart, axis=0)[:2].sum(axis=0) < dx
            if between.any():
                return node[between]
        wall = self._wall_distance(place)
        gap = apart.min(axis=0) + wall
        seam = (gap < dx) & (np.abs(wall) <= 0.5 * dx)
        node, place, gap, nearest = node[seam], place[seam], gap[seam], bodies[apart.argmin(axis=0)][seam]
        opposite = np.linalg.norm(self._normal(place, nearest) + self._normal(place, None), axis=1) < FLUSH
        flush = opposite | (gap < -SLIT * dx)
        beside = self._beside(node)
        part = connected_components(coo_matrix(beside))[1]
        leaks = np.zeros(len(node), dtype=bool)
        for one in range(int(part.max(initial=-1)) + 1):
            of = np.flatnonzero(part == one)
            narrowest = of[np.argmin(gap[of])]
            leaks[of] = np.count_nonzero(flush & beside[narrowest]) < FLUSH_NODES
        return np.asarray(node[leaks])

    def _normal(self, place: Array, body: np.ndarray | None) -> Array:
        """Out of the nearest wall at places (n, 3), or of the bodies (n,)."""
        h, found = 0.25 * self.grid.dx, np.zeros_like(place)
        for axis in self.grid.axes:
            step = h * np.eye(3)[axis]
            if body is None:
                found[:, axis] = self._wall_distance(place + step) - self._wall_distance(place - step)
                continue
            for b in np.unique(body):
                of = body == b
                found[of, axis] = self._distance(int(b), place[of] + step) - self._distance(int(b), place[of] - step)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1), 1e-300)[:, None])

    def _beside(self, node: np.ndarray) -> np.ndarray:
        """Which of some nodes (k, k) are at most a cell from each other."""
        index = np.stack(np.unravel_index(node, self.grid.padded), axis=1)
        return np.asarray(np.abs(index[:, None] - index[None]).max(axis=2) <= 1)

    def _volume(self, b: int) -> float:
        """Of a body [m3; 2D m2]."""
        shape = self.solids.solids[b].shape
        return (shape.planar_moments() if self.grid.dimensions == 2 else shape.moments()).volume

    def _about(self, cell: np.ndarray) -> np.ndarray:
        """Cells at most NEAR from some (flat)."""
        index = np.stack(np.unravel_index(cell, self.grid.padded), axis=1)
        step = np.arange(-NEAR, NEAR + 1)
        flat = np.zeros(1, np.int64) if self.grid.dimensions == 2 else step
        offset = np.stack(np.meshgrid(flat, step, step, indexing="ij"), axis=-1).reshape(-1, 3)
        about = np.unique((index[:, None] + offset).reshape(-1, 3), axis=0)
        inside = np.all((about >= 0) & (about < self.grid.padded), axis=1)
        return np.asarray(np.ravel_multi_index(tuple(about[inside].T), self.grid.padded))

    def _place(self, node: np.ndarray) -> Array:
        """Lower corners (n, 3) [m] of cells by their flat index."""
        grid = self.grid
        index = np.stack(np.unravel_index(node, grid.padded)[::-1], axis=1)
        place = np.array(grid.lower) + (index - GHOSTS) * grid.dx
        return np.asarray(place)

    def _distance(self, b: int, place: Array) -> Array:
        """Of places (n, 3) from a solid [m], across periodic sides too."""
        solids = self.solids
        position = solids.solids[b].motion.pose(solids.time)[0]
        return solids.solids[b].distance(position + solids.arms(place, position), solids.time, self.grid.dimensions)

    def _wall_distance(self, place: Array) -> Array:
        """Of places (n, 3) from the nearest wall that no force moves: of the domain, or a solid."""
        grid, found = self.grid, np.full(len(place), np.inf)
        for axis in grid.axes:
            for end, sign in ((grid.lower[axis], 1.0), (grid.upper[axis], -1.0)):
                if self.solids.walls[2 * axis + int(sign < 0.0)]:
                    found = np.minimum(found, sign * (place[:, axis] - end))
        for b in self._fixed:
            found = np.minimum(found, self._distance(b, place))
        return found


def walls_missing(grid: Grid, solids: SolidFields, total_b: Array) -> Array:
    """What the sums of F over all walls of bodies (n, 6) lack of nothing, but along axes on which a body leaves the
    domain: there its walls end."""
    missing = -total_b
    lower, upper = np.array(grid.lower), np.array(grid.upper)
    for b in np.flatnonzero(np.abs(total_b).max(axis=1, initial=0.0) > 0.0):
        low, high = solids.solids[b].extent(solids.time)
        leaves = (low < lower - SLIT * grid.dx) | (high > upper + SLIT * grid.dx)
        leaves &= np.isin(np.arange(3), grid.axes) & (solids.period == 0.0)
        missing[b, :3][leaves] = 0.0
        if leaves.any():
            missing[b, 3:] = 0.0
    return missing
