"""Solids too thin for the grid: the faces that let fluid through them, so that a run can say how much crossed.

A solid thinner than a cell can pass between the nodes: its area fractions stay open, although it separates the centres
of two cells. Such faces are found by sphere tracing along the segment between the centres: a step by the distance to
the solid never jumps over it.
"""

from __future__ import annotations

import numpy as np

from undertow.geometry.solids import Solid, SolidFields
from undertow.grid import GHOSTS, Array

TRACED = 32
"""Steps after which a segment that runs along a solid is taken as not crossed."""


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
        grid, near = fields.grid, fields.body_c == b
        found = []
        for axis in grid.axes:
            inner = [slice(GHOSTS, GHOSTS + n) for n in reversed(grid.cells)]
            inner[2 - axis] = slice(GHOSTS + 1, GHOSTS + grid.cells[axis])
            either = near | np.roll(near, 1, axis=2 - axis)
            index = np.argwhere(either[tuple(inner)]) + [part.start for part in inner]
            high = np.array(grid.lower) + (index[:, ::-1] - GHOSTS + 0.5) * grid.dx
            across = _is_between(fields, fields.solids[b], high - grid.dx * np.eye(3)[axis], axis)
            flat = np.ravel_multi_index(tuple(index[across].T), grid.padded)
            found.append(axis * int(np.prod(grid.padded)) + flat)
        return np.concatenate(found)


def _is_between(fields: SolidFields, solid: Solid, start: Array, axis: int) -> np.ndarray:
    """Whether the solid lies between points (n, 3) and those one cell further along the axis, both being outside it."""
    grid = fields.grid
    position = solid.motion.pose(fields.time)[0]

    def distance(points: Array) -> Array:
        return solid.distance(position + fields.arms(points, position), fields.time, grid.dimensions)

    step, crossed = grid.dx * np.eye(3)[axis], np.zeros(len(start), dtype=bool)
    active = (
        np.flatnonzero((distance(start) > 0.0) & (distance(start + step) > 0.0)) if len(start) else np.zeros(0, int)
    )
    way = np.zeros(len(active))
    for _ in range(TRACED):
        if not active.size:
            break
        gap = distance(start[active] + (way / grid.dx)[:, None] * step)
        crossed[active[gap < 1e-6 * grid.dx]] = True
        way = way + gap
        left = (gap >= 1e-6 * grid.dx) & (way < grid.dx)
        active, way = active[left], way[left]
    return crossed
