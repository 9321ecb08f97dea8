"""Solids too thin for the grid: the faces that let fluid through them, so that a run can say how much crossed.

A solid thinner than a cell can pass between the nodes: its area fractions stay open, although it separates the centres
of two cells. For a mesh the lines through the centres are cut with its triangles: an even number of cuts between
neighbouring centres, the first of them inwards, is a solid between them. For other shapes such faces are found by
sphere tracing along the segment between the centres: a step by the distance to the solid never jumps over it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.geometry.meshes import MeshShape
from undertow.geometry.occlusion import THICKNESS, side_of_edge
from undertow.geometry.solids import POSITION, Solid, SolidFields
from undertow.grid import GHOSTS, Array, strides

TRACED, MET = 24, 0.5 * THICKNESS
"""Steps after which a segment that runs along a solid is taken as not crossed, and how near to it one has met it
[cells]: segments up to 70 degrees off the normal come that near in as many steps, and thin plates close faces at twice
that distance."""

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
        self._thin = [
            b
            for b, solid in enumerate(fields.solids)
            if not solid.shape.is_sheet and solid.thickness(grid.dimensions) < 2 * grid.dx
        ]
        self._faces = {b: self.face for b in self._thin}
        self._poses: dict[int, Array] = {}
        self._cut_face, self._cut_place = np.zeros(0, dtype=np.int64), np.zeros(0)

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
            mesh = solid.shape_at(t).as_mesh() if self.fields.grid.dimensions == 3 else None
            self._poses[b], changed = pose, True
            self._faces[b] = self._crossed(b) if mesh is None else self._cut(b, mesh)
        if changed:
            self.face = np.unique(np.concatenate(list(self._faces.values())))

    def _cut(self, b: int, shape: MeshShape) -> np.ndarray:
        """The faces of a mesh: those whose segment its triangles cut an even number of times, first inwards."""
        fields = self.fields
        grid, rotation = fields.grid, fields.solids[b].motion.pose(fields.time)[1]
        turned = shape.vertices @ rotation.T
        found = [np.zeros(0, dtype=np.int64)]
        for position in fields.spec.rows[b :: len(fields.solids), POSITION : POSITION + 3]:
            # centres of cells have whole numbers
            vertices = (turned + (position - np.array(grid.lower))) / grid.dx - 0.5
            room = _cut_lines(grid.spec, vertices, shape.triangles, self._cut_face, self._cut_place)
            if room > len(self._cut_face):
                self._cut_face, self._cut_place = np.zeros(2 * room, dtype=np.int64), np.zeros(2 * room)
                _cut_lines(grid.spec, vertices, shape.triangles, self._cut_face, self._cut_place)
            face, place = self._cut_face[:room], self._cut_place[:room]
            order = np.lexsort((np.abs(place), face))
            face, first, count = np.unique(face[order], return_index=True, return_counts=True)
            found.append(face[(count % 2 == 0) & (place[order][first] < 0.0)])
        face = np.concatenate(found)
        return face[fields.area_f.reshape(-1)[face] > 0.0]

    def _crossed(self, b: int) -> np.ndarray:
        fields = self.fields
        grid, solid, size = fields.grid, fields.solids[b], fields.grid.size
        near = fields.body_c == b
        stride = grid.stride
        high, axes = [], []
        for a in grid.axes:
            inner = [slice(GHOSTS, GHOSTS + n) for n in reversed(grid.cells)]
            inner[2 - a] = slice(GHOSTS + 1, GHOSTS + grid.cells[a])
            # what lies between two centres is nearer to the middle of their face than half a cell
            close = (fields.area_f[a] > 0.0) & (fields.distance_f[a] < CLOSE * grid.dx)
            either = close & (near | np.roll(near, 1, axis=2 - a))
            index = np.argwhere(either[tuple(inner)]) + [part.start for part in inner]
            high.append(grid.number(index[:, ::-1]))
            axes.append(np.full(len(index), a))
        cell, axis = np.concatenate(high), np.concatenate(axes)
        low = cell - stride[axis]
        # every centre is looked at once
        centre, where = np.unique(np.concatenate([low, cell]), return_inverse=True)
        place = grid.position(grid.index(centre))
        gap, first, last = _distances(fields, solid, place), where[: len(cell)], where[len(cell) :]
        # what runs along the surface as near as it is met is not crossed by it
        outside = gap > MET * grid.dx
        # two balls that cover the way between the centres leave no room for the solid
        between = outside[first] & outside[last] & (gap[first] + gap[last] < grid.dx)
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


@njit(cache=True)
def _cut_lines(spec, vertices, triangles, out_face, out_place):  # type: ignore[no-untyped-def]
    """Cuts of a mesh with the lines through cell centres, between two centres of the domain; returns how many.

    vertices: in cells, the first centre at 0. face: flat index of the face between the two centres. place: along the
    line from one cell before the first centre, negative where the line goes into the mesh.
    """
    n = (spec.nx, spec.ny, spec.nz)
    _, row, plane = strides(spec)
    stride = (1, row, plane)
    size = plane * (spec.nz + 2 * GHOSTS)
    corner = GHOSTS * (plane + row + 1)
    count = 0
    for t in range(triangles.shape[0]):
        p, q, r = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            x0 = min(vertices[p, b], vertices[q, b], vertices[r, b])
            x1 = max(vertices[p, b], vertices[q, b], vertices[r, b])
            y0 = min(vertices[p, c], vertices[q, c], vertices[r, c])
            y1 = max(vertices[p, c], vertices[q, c], vertices[r, c])
            for y in range(max(int(np.ceil(y0)), 0), min(int(np.floor(y1)), n[c] - 1) + 1):
                for x in range(max(int(np.ceil(x0)), 0), min(int(np.floor(x1)), n[b] - 1) + 1):
                    wr = side_of_edge(vertices, p, q, b, c, x, y)
                    wp = side_of_edge(vertices, q, r, b, c, x, y)
                    wq = side_of_edge(vertices, r, p, b, c, x, y)
                    if (wr > 0.0) != (wp > 0.0) or (wr > 0.0) != (wq > 0.0):
                        continue
                    place = (wp * vertices[p, a] + wq * vertices[q, a] + wr * vertices[r, a]) / (wp + wq + wr)
                    low = int(np.floor(place))
                    if low < 0 or low + 1 >= n[a]:
                        continue
                    if count < out_face.size:
                        at = corner + (low + 1) * stride[a] + x * stride[b] + y * stride[c]
                        out_face[count] = a * size + at
                        # the normal of a triangle that is seen turning left points along the line
                        out_place[count] = place + 1.0 if wr > 0.0 else -(place + 1.0)
                    count += 1
    return count
