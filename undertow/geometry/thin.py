"""Solids too thin for the grid: the faces that let fluid through them, so that a run can say how much crossed.

A solid thinner than a cell can pass between the nodes: its area fractions stay open, although it separates the centres
of two cells. Such faces are found by sphere tracing along the segment between the centres: a step by the distance to
the solid never jumps over it.
"""

from __future__ import annotations

import numpy as np

from undertow.geometry.solids import Solid, SolidFields
from undertow.grid import GHOSTS, Array

TRACED, MET = 16, 1e-3
"""Steps after which a segment that runs along a solid is taken as not crossed, and how near to it one has met it
[cells]: segments up to 70 degrees off the normal come that near in as many steps."""

CLOSE = 0.75
"""Faces further away from all solids than this are not looked at [cells]: half a cell, and the error of distances
that are interpolated in tables."""


class ThinWalls:
    """Faces that solids thinner than two cells separate.

    face (n,): flat indices into a face field (3, z, y, x) of faces between two cells outside the solid with the solid
    between their centres, at the time of the fields' last update.
    """

    def __init__(self, fields: SolidFields) -> None:
        self.fields = fields
        self.face = np.zeros(0, dtype=np.int64)
        grid = fields.grid
        self._thin = [b for b, solid in enumerate(fields.solids) if solid.thickness(grid.dimensions) < 2 * grid.dx]
        self._faces = {b: self.face for b in self._thin}
        self._poses: dict[int, Array] = {}

    def leak(self, u_f: Array, phi_c: Array | None = None) -> float:
        """Volume that crosses thin solids per time, sum of |u - v| times open area [m^3/s; 2D m^2/s].

        phi_c: level set of the fluid, negative in it; None: fluid everywhere.
        """
        self._find()
        fields, face = self.fields, self.face
        if not face.size:
            return 0.0
        flux = np.abs(u_f.reshape(-1)[face] - fields.velocity_f.reshape(-1)[face]) * fields.area_f.reshape(-1)[face]
        if phi_c is not None:
            z, y, x = phi_c.shape
            axis, high = np.divmod(face, z * y * x)
            phi = phi_c.reshape(-1)
            flux *= np.maximum(phi[high], phi[high - np.array([1, x, x * y])[axis]]) < 0.0
        return float(flux.sum()) * fields.grid.face_area

    def _find(self) -> None:
        """Bring ``face`` to the poses of now; solids that rest are looked at once."""
        changed = False
        for b in self._thin:
            solid, t = self.fields.solids[b], self.fields.time
            pose = np.concatenate([np.ravel(part) for part in solid.motion.pose(t)])
            if b in self._poses and np.array_equal(self._poses[b], pose) and solid.shape_at(t) is solid.shape:
                continue
            self._poses[b], self._faces[b], changed = pose, self._crossed(b), True
        if changed:
            self.face = np.unique(np.concatenate(list(self._faces.values())))

    def _crossed(self, b: int) -> np.ndarray:
        fields = self.fields
        grid, solid, size = fields.grid, fields.solids[b], int(np.prod(fields.grid.padded))
        near = fields.body_c == b
        stride = np.array([1, grid.padded[2], grid.padded[1] * grid.padded[2]])
        high, axes = [], []
        for a in grid.axes:
            inner = [slice(GHOSTS, GHOSTS + n) for n in reversed(grid.cells)]
            inner[2 - a] = slice(GHOSTS + 1, GHOSTS + grid.cells[a])
            # what lies between two centres is nearer to the middle of their face than half a cell
            close = (fields.area_f[a] > 0.0) & (fields.distance_f[a] < CLOSE * grid.dx)
            either = close & (near | np.roll(near, 1, axis=2 - a))
            index = np.argwhere(either[tuple(inner)]) + [part.start for part in inner]
            high.append(np.ravel_multi_index(tuple(index.T), grid.padded))
            axes.append(np.full(len(index), a))
        cell, axis = np.concatenate(high), np.concatenate(axes)
        low = cell - stride[axis]
        # every centre is looked at once
        centre, where = np.unique(np.concatenate([low, cell]), return_inverse=True)
        index = np.stack(np.unravel_index(centre, grid.padded)[::-1], axis=1)
        place = np.array(grid.lower) + (index - GHOSTS + 0.5) * grid.dx
        gap, first, last = _distances(fields, solid, place), where[: len(cell)], where[len(cell) :]
        # two balls that cover the way between the centres leave no room for the solid
        between = (gap[first] > 0.0) & (gap[last] > 0.0) & (gap[first] + gap[last] < grid.dx)
        cell, axis, first, last = cell[between], axis[between], first[between], last[between]
        across = _is_between(fields, solid, place[first], gap[first], gap[last], axis)
        return np.asarray(axis * size + cell)[across]


def _distances(fields: SolidFields, solid: Solid, points: Array) -> Array:
    """Signed distances (n,) [m] of a solid from points (n, 3) as it stands now, the nearest of its images."""
    position = solid.motion.pose(fields.time)[0]
    return solid.distance(position + fields.arms(points, position), fields.time, fields.grid.dimensions)


def _is_between(
    fields: SolidFields, solid: Solid, start: Array, gap: Array, gap_end: Array, axis: np.ndarray
) -> np.ndarray:
    """Whether the solid lies between points (n, 3) and those one cell further along their axes (n,), whose distances
    from it are positive."""
    dx = fields.grid.dx
    step, crossed = np.eye(3)[axis], np.zeros(len(start), dtype=bool)
    active, way = np.arange(len(start)), gap
    for _ in range(TRACED):
        if not active.size:
            break
        gap = _distances(fields, solid, start[active] + way[:, None] * step[active])
        met = gap < MET * dx
        crossed[active[met]] = True
        way = way + gap
        left = ~met & (way + gap_end[active] < dx)
        active, way = active[left], way[left]
    return crossed
