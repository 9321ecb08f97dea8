"""Faces that solids thinner than two cells close: those between cells that do not see each other past them.

Open fractions are made of distances at the nodes. A solid thinner than a cell can pass between these, and one not much
thicker cuts cells in two, through which the fluid would go from one side to the other. So a cell with its centre in a
thin solid is solid. Any other belongs to one side of it, that of its place: its centre; where that lies inside another
solid, by the mean of its corners, the corner furthest from all. A face is closed, phi_f = 0, unless the places of its
two cells see each other (``Occlusion``), or both see one of the face's corners. Whatever is joined by open faces is
joined by a line that crosses no surface: a closed surface, or one that ends in walls, holds what is on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from undertow.geometry.hiding import ThinSolids
from undertow.geometry.occlusion import THICKNESS, Occlusion
from undertow.grid import GHOSTS, Array, Grid

if TYPE_CHECKING:
    from undertow.geometry.solids import Solid, SolidFields

OUTSIDE = 4.0 * THICKNESS
"""Corners nearer to solids than this are no places: from them nothing is seen [cells]."""


AHEAD = 16
"""Cells ahead of a moving solid among which one is looked for that it has not passed over."""

NORMAL = 0.05
"""Over which distances are compared for a normal [cells]."""


class ThinClosing:
    """The thin solids of one grid, the faces that they close and the cells that they fill, where they are now.

    face (m,): flat indices into a face field (3, z, y, x). cell (k,): flat indices of cells with their centre in a thin
    solid. beside (n,): of all cells next to thin solids, these among them.
    """

    def __init__(self, grid: Grid, solids: Sequence[Solid]) -> None:
        self.grid = grid
        self.surfaces = ThinSolids(grid, solids, closing=True)
        element = self.surfaces.element
        self.occlusion = Occlusion(grid, element, self.surfaces.count, len(element))
        self.face, self.cell = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.beside = np.zeros(0, np.int64)
        self._x = np.zeros((0, 3))
        self._stride = grid.stride
        corners = np.stack(np.meshgrid(*([0, 1] if a in grid.axes else [0] for a in range(3)), indexing="ij"), axis=-1)
        self._corners = corners.reshape(-1, 3)

    def close(self, fields: SolidFields) -> None:
        """After the open fractions of fields were measured: close what is to be closed."""
        x = self.surfaces.place(fields.time)
        if not np.array_equal(x, self._x):
            self._x = x
            self.occlusion.place(x, fields.find_images(x))
            self.occlusion.settle()
        # what is solid about them may have changed
        self._find(fields)
        fields.area_f.reshape(-1)[self.face] = 0.0
        fields.volume_c.reshape(-1)[self.cell] = 0.0

    def fill(self, fields: SolidFields, distance_c: Array, open_c: np.ndarray) -> None:
        """Fields (z, y, x) of distances from solids [m] and of centres that are outside: cells that are filled are
        solid, others have room up to the surface of thin solids (``surface.one_sided``) and know of other solids."""
        distance, dx = distance_c.reshape(-1), self.grid.dx
        cell = self.beside[self.are_beside(fields, self.beside)]
        distance[cell] = self.distance(fields, cell, thin=False)
        distance[self.cell] = -dx
        open_c.reshape(-1)[cell] = 1
        open_c.reshape(-1)[self.cell] = 0

    def distance(self, fields: SolidFields, cell: np.ndarray, thin: bool = True) -> Array:
        """Distance [m] of the centres of cells (k,) from thin parts of solids, or from all else, cut off as in the
        fields."""
        found, place = np.full(len(cell), fields.far), self._centres(cell)
        for solid in fields.solids if len(cell) else ():
            if solid.shape.is_sheet:
                continue
            position = solid.motion.pose(fields.time)[0]
            low, high = (end[: self.grid.dimensions] for end in solid.bounds(fields.time))
            own = (position + fields.arms(place, position))[:, : self.grid.dimensions]
            near = np.flatnonzero(np.all((own > low - fields.far) & (own < high + fields.far), axis=1))
            found[near] = np.minimum(found[near], self._distance(fields, solid, place[near], thin))
        return found

    def _distance(self, fields: SolidFields, solid: Solid, place: Array, thin: bool) -> Array:
        """Distance [m] of the thin parts of a solid, or of its others, from places (k, 3)."""
        position = solid.motion.pose(fields.time)[0]
        return self.surfaces.distance(solid, position + fields.arms(place, position), fields.time, thin)

    def _centres(self, cell: np.ndarray) -> Array:
        return np.array(self.grid.lower) + (self._index(cell, 0.5) - GHOSTS) * self.grid.dx

    def are_beside(self, fields: SolidFields, cell: np.ndarray) -> np.ndarray:
        """Whether what is nearest to cells (k,) are thin parts of solids."""
        body = fields.body_c.reshape(-1)[cell]
        found = np.zeros(len(cell), dtype=bool)
        for b in np.unique(body[body >= 0]):
            solid = fields.solids[b]
            if solid in self.surfaces.solids:
                of = np.flatnonzero(body == b)
                place = self._centres(cell[of])
                near, far = (self._distance(fields, solid, place, thin) for thin in (True, False))
                found[of] = near <= far
        return found

    def normals(self, fields: SolidFields, cell: np.ndarray) -> Array:
        """Unit vectors (k, 3) out of the thin parts of the solids nearest to the centres of cells (k,)."""
        grid, body = self.grid, fields.body_c.reshape(-1)[cell]
        place, found = self._centres(cell), np.zeros((len(cell), 3))
        for b in np.unique(body):
            chosen, solid = body == b, fields.solids[b]
            for axis in grid.axes:
                step = NORMAL * grid.dx * np.eye(3)[axis]
                ends = [self._distance(fields, solid, place[chosen] + side * step, True) for side in (1.0, -1.0)]
                found[chosen, axis] = ends[0] - ends[1]
        return found / np.maximum(np.linalg.norm(found, axis=1), 1e-300)[:, None]

    def apply(self, area_f: Array) -> None:
        """Close the same faces of open fractions that were measured otherwise."""
        area_f.reshape(-1)[self.face] = 0.0

    def _find(self, fields: SolidFields) -> None:
        grid, stride = self.grid, self._stride
        near = np.flatnonzero(np.diff(self.occlusion.spec.start))
        found, axes = [], []
        for a in grid.axes:
            face = np.union1d(near, near + stride[a])
            face = face[self._is_used(face, a, fields.period)]
            found.append(face)
            axes.append(np.full(len(face), a))
        upper, axis = np.concatenate(found), np.concatenate(axes)
        lower = upper - stride[axis]
        cell, where = np.unique(np.concatenate([lower, upper]), return_inverse=True)
        # solids that overlap are both meant
        inside = self.distance(fields, cell) <= OUTSIDE * grid.dx
        place, kind = self._find_places(fields, cell, inside)
        low, high = where[: len(upper)], where[len(upper) :]
        closed = (kind[low] == _NONE) | (kind[high] == _NONE)
        ask = np.flatnonzero(~closed)
        seen = self.occlusion.see(place[low[ask]], place[high[ask]])
        # around what bulges between places that are not centres
        rest = ask[~seen]
        about = rest[(kind[low[rest]] == _CORNER) | (kind[high[rest]] == _CORNER)]
        closed[rest] = True
        for step in self._corners:
            # corners of the face: those of the upper cell on its lower side
            chosen = about[closed[about] & (step[axis[about]] == 0)]
            if not len(chosen):
                continue
            corner = upper[chosen] + int(step @ stride)
            outside = fields.phi_n.reshape(-1)[corner] > OUTSIDE * grid.dx
            chosen, corner = chosen[outside], corner[outside]
            at = self._index(corner, 0.0)
            both = self.occlusion.see(place[low[chosen]], at)
            both &= self.occlusion.see(at, place[high[chosen]])
            closed[chosen[both]] = False
        size = grid.size
        face = axis[closed] * size + upper[closed]
        for a in grid.axes:
            if fields.period[a] > 0.0:
                # both ends of a periodic axis are one face
                at = self._along(upper[closed], a)
                twin = face[(axis[closed] == a) & (at == GHOSTS)] + grid.cells[a] * stride[a]
                face = np.concatenate([face, twin])
        self.cell = cell[inside]
        self.face = np.unique(np.concatenate([face, self._find_ends(self.cell, fields.period)]))
        self.beside = cell

    def _find_ends(self, cell: np.ndarray, period: Array) -> np.ndarray:
        """Faces on sides of the domain of cells that are filled: a slit under a solid is as wide as its walls above."""
        size, found = self.grid.size, [np.zeros(0, np.int64)]
        for a in self.grid.axes:
            if period[a] == 0.0:
                at = self._along(cell, a)
                found.append(a * size + cell[at == GHOSTS])
                found.append(a * size + cell[at == GHOSTS + self.grid.cells[a] - 1] + self._stride[a])
        return np.concatenate(found)

    def _find_places(self, fields: SolidFields, cell: np.ndarray, inside: np.ndarray) -> tuple[Array, np.ndarray]:
        """Places (k, 3) of cells in index coordinates, and what they are (k,)."""
        place = self._index(cell, 0.5)
        kind = np.where(inside, _NONE, np.where(self._mean(fields, cell) <= 0.0, _CORNER, _CENTRE))
        cut = np.flatnonzero(kind == _CORNER)
        phi = np.stack([fields.phi_n.reshape(-1)[cell[cut] + int(step @ self._stride)] for step in self._corners])
        best = phi.argmax(axis=0) if len(cut) else np.zeros(0, np.int64)
        furthest = phi[best, np.arange(len(cut))]
        place[cut] = self._index(cell[cut], 0.0) + self._corners[best] * self._used
        kind[cut[furthest <= OUTSIDE * self.grid.dx]] = _NONE
        return place, kind

    def _mean(self, fields: SolidFields, cell: np.ndarray) -> Array:
        """Mean distance of the corners of cells."""
        phi = fields.phi_n.reshape(-1)
        return np.mean([phi[cell + int(step @ self._stride)] for step in self._corners], axis=0)

    @property
    def _used(self) -> np.ndarray:
        return np.array([float(axis in self.grid.axes) for axis in range(3)])

    def _index(self, cell: np.ndarray, offset: float) -> Array:
        """Index coordinates of the lower corners of cells, moved by a part of a cell along the axes in use."""
        at = self.grid.index(cell).astype(float)
        return at + np.where(self._used > 0.0, offset, 0.5)

    def _along(self, cell: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(cell // self._stride[axis] % self.grid.padded[2 - axis])

    def _is_used(self, face: np.ndarray, axis: int, period: Array) -> np.ndarray:
        """Whether faces lie between two cells of the domain, those of periodic sides once."""
        used = (face >= 0) & (face < self.grid.size)
        for a in self.grid.axes:
            at = self._along(face, a)
            first = GHOSTS + (1 if a == axis and period[a] == 0.0 else 0)
            used &= (at >= first) & (at < GHOSTS + self.grid.cells[a])
        return np.asarray(used)


_NONE, _CENTRE, _CORNER = 0, 1, 2
"""What the place of a cell is."""


def find_ahead(
    fields: SolidFields, occlusion: Occlusion, swept_c: np.ndarray, volume_c: Array
) -> tuple[np.ndarray, np.ndarray]:
    """Cells (k,) that are swept and hold volume, and those nearest to them along an axis (k,) that are not, and that
    their centres saw when the occlusion was settled: along the way of the solids if there is one, else any."""
    grid, interior = fields.grid, np.zeros(swept_c.shape, dtype=bool)
    interior[fields.grid.interior] = True
    swept, inside = swept_c.reshape(-1) != 0, interior.reshape(-1)
    stride = grid.stride
    cell = np.flatnonzero(swept & inside & (volume_c.reshape(-1) != 0.0))
    way = (occlusion.x_now - occlusion.x_seen)[np.unique(occlusion.element)].mean(axis=0)
    own = fields.velocity_c.reshape(3, -1)[:, cell].T
    way = np.where((own != 0.0).any(axis=1)[:, None], own, way)
    ends = [(axis, side) for axis in grid.axes for side in (1, -1)]
    order = np.argsort([-side * way[:, axis] for axis, side in ends], axis=0, kind="stable")
    found = np.full(len(cell), -1, dtype=np.int64)
    place: Array = grid.index(cell).astype(float) + 0.5
    for rank in range(len(ends)):
        left = np.flatnonzero(found < 0)
        step = np.array(ends)[order[rank, left]]
        at, moving = cell[left].copy(), np.ones(len(left), dtype=bool)
        for _ in range(AHEAD):
            at[moving] += (step[:, 1] * stride[step[:, 0]])[moving]
            moving &= inside[at] & swept[at]
            if not moving.any():
                break
        end: Array = grid.index(at).astype(float) + 0.5
        reached = ~moving & inside[at] & occlusion.see(place[left], end)
        found[left[reached]] = at[reached]
    return cell[found >= 0], found[found >= 0]
