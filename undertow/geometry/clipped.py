"""Shapes at rest that reach far beyond a grid: what is kept of them ends near it."""

from __future__ import annotations

import numpy as np

from undertow.geometry.distance import TABLE
from undertow.geometry.meshes import MeshShape
from undertow.geometry.moments import Moments
from undertow.geometry.motion import Static
from undertow.geometry.outline import Outline
from undertow.geometry.sdf_grid import find_lattice
from undertow.geometry.shape import Shape, Surface
from undertow.geometry.solids import BAND, Solid
from undertow.grid import GHOSTS, Array, Grid

MARGIN = BAND + GHOSTS + 3
"""Cells beyond the domain in which distances are asked for: ghosts, the band about solids, and the way to a wall."""


class ClippedShape(Shape):
    """A shape whose grid of distances (``sample``) ends at a box in the body frame; all else is that of the whole.

    The triangles of a mesh are split a diagonal of the box around it, with the middle of the box as the origin.
    Distances are those to the parts inside. Winding numbers are summed over both in single precision, which is enough
    for what is far away; on a ground of 100 km in one piece it leaves 7 mm about the surface with the wrong sign.
    All is exact in the box, and nothing may be asked outside of it; farther than the diagonal counts as that far.
    """

    def __init__(self, whole: Shape, lower: Array, upper: Array):
        self.whole = whole
        low, high = whole.bounds()
        self._bounds = np.clip(low, lower, upper), np.clip(high, lower, upper)
        self._middle, self._far = 0.5 * (lower + upper), float(np.linalg.norm(upper - lower))
        self._near: Surface | None = None
        if (mesh := whole.as_mesh()) is not None:
            near, away = split_triangles(
                mesh.vertices[mesh.triangles] - self._middle, 0.5 * (upper - lower) + self._far
            )
            self._near, self._all = _soup(near), _soup(np.concatenate([near, away]))

    def distance(self, points: Array) -> Array:
        import igl

        if self._near is None:
            return self.whole.distance(points)
        seen = np.ascontiguousarray(points - self._middle)
        size = np.full(len(seen), self._far)
        if len(self._near[0]):
            size = np.minimum(np.sqrt(igl.point_mesh_squared_distance(seen, *self._near)[0]), size)
        return np.where(igl.fast_winding_number(*self._all, seen) > 0.5, -size, size)

    def bounds(self) -> tuple[Array, Array]:
        """Of the part inside the box."""
        return self._bounds

    def surface(self, resolution: int = 48) -> Surface:
        return self.whole.surface(resolution)

    def thickness(self, dimensions: int = 3) -> float:
        return self.whole.thickness(dimensions)

    def section(self, rotation: Array) -> Outline:
        return self.whole.section(rotation)

    def moments(self) -> Moments:
        return self.whole.moments()

    def planar_moments(self) -> Moments:
        return self.whole.planar_moments()

    def as_mesh(self) -> MeshShape | None:
        return self.whole.as_mesh()


def split_triangles(corners: Array, half: Array) -> tuple[Array, Array]:
    """Triangles (m, 3, 3) [m] inside and outside of a box about the origin, half (3,) its half size, that cover the
    triangles (n, 3, 3) (Sutherland and Hodgman 1974)."""
    away = np.any((corners.min(axis=1) > half) | (corners.max(axis=1) < -half), axis=1)
    whole = np.all(np.abs(corners) <= half, axis=(1, 2))
    inside, outside = [corners[whole]], [corners[away]]
    for triangle in corners[~away & ~whole]:
        polygon = triangle
        for axis in range(3):
            for sign in (1.0, -1.0):
                height = half[axis] - sign * polygon[:, axis]
                outside.append(_fan(_cut(polygon, -height)))
                polygon = _cut(polygon, height)
        inside.append(_fan(polygon))
    return np.concatenate(inside), np.concatenate(outside)


def _fan(polygon: Array) -> Array:
    """Triangles (n - 2, 3, 3) of a convex polygon (n, 3)."""
    return np.stack([np.broadcast_to(polygon[:1], polygon[2:].shape), polygon[1:-1], polygon[2:]], axis=1)


def _soup(corners: Array) -> Surface:
    """Vertices and triangles of separate triangles (n, 3, 3)."""
    return np.ascontiguousarray(corners.reshape(-1, 3)), np.arange(3 * len(corners)).reshape(-1, 3)


def _cut(polygon: Array, height: Array) -> Array:
    """What of a polygon (n, 3) has a height (n,) of 0 or more."""
    kept = []
    for k in range(len(polygon)):
        a, b = height[k - 1], height[k]
        if (a < 0.0) != (b < 0.0):
            kept.append(polygon[k - 1] + a / (a - b) * (polygon[k] - polygon[k - 1]))
        if b >= 0.0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 3)


def clip_to_grid(solid: Solid, grid: Grid) -> Solid:
    """A solid of which the grid keeps what is near it: one at rest, seen by a grid of its distance (a mesh, a hull, a
    compound), that reaches beyond the domain. All others are returned as they are."""
    shape = solid.shape
    if shape.kind != TABLE or shape.is_animated or shape.is_sheet or not isinstance(solid.motion, Static):
        return check_size(solid, grid)
    lower, upper = (np.array(end) for end in (grid.lower, grid.upper))
    position, rotation = solid.motion.pose(0.0)
    ends = lower - MARGIN * grid.dx, upper + MARGIN * grid.dx
    corners = np.stack(np.meshgrid(*zip(*ends, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
    seen = (corners - position) @ rotation
    low, high = shape.bounds()
    if np.all(low >= seen.min(axis=0)) and np.all(high <= seen.max(axis=0)):
        return solid
    return Solid(solid.name, ClippedShape(shape, seen.min(axis=0), seen.max(axis=0)), solid.motion, solid.slip)


def check_size(solid: Solid, grid: Grid) -> Solid:
    """A solid whose distances the grid keeps wherever it is, or a UserError where these are too many: one that moves,
    or is repeated."""
    shape = solid.shape
    if shape.kind == TABLE and not shape.is_animated and not shape.is_sheet:
        flat, margin = grid.dimensions == 2, (BAND + 1) * grid.dx
        name = f"objects.{solid.name} (it moves, or the domain is periodic, else it would end there)"
        find_lattice(*shape.bounds(), grid.dx, margin, flat, name)
    return solid
