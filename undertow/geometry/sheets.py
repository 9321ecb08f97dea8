"""Thin sheets as bodies: triangles, in 2D edges, with a thickness that gives them mass and nothing else.

A sheet may be open (a bowl, a boat) or closed around a hollow. It has two sides and no inside: no cell is solid because
of it, and a fluid sees it as a shell (``coupling.voxel``, ``geometry.occlusion``). For contact it is as thick as
``contact`` says, rounded at its rim.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.collision import CollisionEntry, Frame, sheet_entry
from undertow.geometry.generated import BOAT_LEAN, BOAT_OUTLINE
from undertow.geometry.meshes import load_triangles
from undertow.geometry.moments import Moments
from undertow.geometry.shape import Shape, Surface
from undertow.grid import Array

TABLE_POINTS = {2: 192, 3: 96}
"""Points of a table of distances along the longest side of a sheet."""

AROUND = 24
"""Corners of a bowl around its axis."""


@dataclass(frozen=True, eq=False)
class Sheet(Shape):
    """Vertices (n, 3) [m] and elements, triangles (m, 3) or in 2D edges (m, 2); thick [m]: of the material."""

    vertices: Array
    elements: Any
    thick: float

    def __post_init__(self) -> None:
        if not len(self.elements):
            raise UserError("shell: has no triangles; give a mesh with some")
        if not float(self.sizes().min()) > 0.0:
            raise UserError("shell: has an element without size; remove points and triangles that coincide")

    @property
    def dimensions(self) -> int:
        return int(self.elements.shape[1])

    def sizes(self) -> Array:
        """Areas [m2], in 2D lengths [m], of the elements (m,)."""
        p = self.vertices[self.elements]
        along = p[:, 1] - p[:, 0]
        if self.dimensions == 2:
            return np.asarray(np.linalg.norm(along, axis=1))
        return np.asarray(0.5 * np.linalg.norm(np.cross(along, p[:, 2] - p[:, 0]), axis=1))

    def bounds(self) -> tuple[Array, Array]:
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    def extent(self) -> float:
        """Longest side of its box [m]."""
        return float(np.ptp(self.vertices, axis=0).max())

    def spacing(self) -> float:
        """Of a table of its distance [m]."""
        return self.extent() / TABLE_POINTS[self.dimensions]

    def contact(self) -> float:
        """Half the thickness that others feel [m]: at least a spacing of the table, which cannot tell sides below."""
        return max(0.5 * self.thick, self.spacing())

    def thickness(self, dimensions: int = 3) -> float:
        """As others feel it [m]."""
        return 2.0 * self.contact()

    def distance(self, points: Array) -> Array:
        """Distance [m] of body-frame points (n, 3) from the sheet as others feel it."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        if self.dimensions == 3:
            import igl

            elements = np.ascontiguousarray(self.elements)
            square = igl.point_mesh_squared_distance(points, self.vertices, elements)[0]
        else:
            square = np.full(len(points), np.inf)
            for start, end in self.vertices[self.elements][..., :2]:
                along, arm = end - start, points[:, :2] - start
                s = np.clip(arm @ along / (along @ along), 0.0, 1.0)
                square = np.minimum(square, ((arm - s[:, None] * along) ** 2).sum(axis=1))
        return np.asarray(np.sqrt(square) - self.contact())

    def sample_points(self, spacing: float) -> Array:
        """Points (n, 3) [m] all over the sheet, about ``spacing`` [m] apart, its vertices first."""
        parts = [self.vertices]
        for p in self.vertices[self.elements]:
            longest = max(float(np.linalg.norm(p[a] - p[a - 1])) for a in range(len(p)))
            count = max(1, int(np.ceil(longest / spacing)))
            i, j = (a.ravel() for a in np.meshgrid(np.arange(count + 1), np.arange(count + 1)))
            j = j if self.dimensions == 3 else np.zeros_like(j)
            weight = np.stack([count - i - j, i, j], axis=1)[i + j <= count, : self.dimensions] / count
            parts.append(weight @ p)
        points = np.concatenate(parts)
        # neighbours share edges: each place once, in the order found
        _, first = np.unique(np.round(points / (0.5 * spacing)).astype(np.int64), axis=0, return_index=True)
        keep = np.union1d(first, np.arange(len(self.vertices)))
        return np.ascontiguousarray(points[keep])

    def measure(self) -> tuple[float, Array, Array]:
        """Volume of the material [m3; 2D m2], centre (3,) [m], and integral of x x^T about it (3, 3) [m5; 2D m4].

        Over a simplex of k corners p with sum s: size (sum of p p^T + s s^T) / (k (k + 1)).
        """
        origin = self.vertices.mean(axis=0)
        p, size, k = self.vertices[self.elements] - origin, self.sizes(), self.dimensions
        s = p.sum(axis=1)
        arm = (size[:, None] * s).sum(axis=0) / (k * size.sum())
        second = np.einsum("m,mai,maj->ij", size, p, p) + np.einsum("m,mi,mj->ij", size, s, s)
        second = second / (k * (k + 1)) - size.sum() * np.outer(arm, arm)
        return float(self.thick * size.sum()), origin + arm, self.thick * second

    def moments(self) -> Moments:
        """As if all its mass were on its triangles; it displaces nothing."""
        mass, centre, second = self.measure()
        return Moments(0.0, mass, centre, np.trace(second) * np.eye(3) - second)

    def planar_moments(self) -> Moments:
        mass, centre, second = self.measure()
        return Moments(0.0, mass, centre, np.diag([0.0, 0.0, float(np.trace(second))]))

    def collision_entry(self, frame: Frame, dimensions: int) -> CollisionEntry:
        return sheet_entry(self, frame)

    def as_sheet(self) -> Sheet | None:
        return self

    def surface(self, resolution: int = 48) -> Surface:
        """A closed surface as thick as the sheet, for drawing; in 2D walls across z."""
        if self.dimensions == 3:
            return thicken(self.vertices, self.elements, 0.5 * self.thick)
        p = self.vertices[self.elements]
        along = p[:, 1] - p[:, 0]
        across = np.stack([-along[:, 1], along[:, 0], np.zeros(len(p))], axis=1)
        across *= 0.5 * self.thick / np.linalg.norm(along, axis=1)[:, None]
        depth = np.array([0.0, 0.0, 0.5 * self.extent()])
        ring = np.stack([p[:, 0] - across, p[:, 1] - across, p[:, 1] + across, p[:, 0] + across], axis=1)
        vertices = np.concatenate([ring - depth, ring + depth], axis=1).reshape(-1, 3)
        walls = [t for a in range(4) for t in ((a, (a + 1) % 4, a + 4), ((a + 1) % 4, (a + 1) % 4 + 4, a + 4))]
        return vertices, (8 * np.arange(len(p))[:, None, None] + np.array(walls)).reshape(-1, 3)


def outline_of(triangles: Any) -> Any:
    """Edges (m, 2) of the boundary of triangles, in their sense."""
    edges = np.concatenate([triangles[:, f] for f in ([0, 1], [1, 2], [2, 0])])
    _, first, count = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    return np.ascontiguousarray(edges[np.sort(first[count == 1])], dtype=np.int64)


def thicken(x: Array, triangles: Any, half: float) -> Surface:
    """A sheet (n, 3), (m, 3) as a closed surface: both sides moved out by ``half`` [m], and its rim."""
    p = x[triangles]
    area = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal = np.zeros_like(x)
    for a in range(3):
        np.add.at(normal, triangles[:, a], area)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    n = len(x)
    rim = outline_of(triangles)
    a, b = rim[:, 0], rim[:, 1]
    sides = np.concatenate([np.stack([b, a, a + n], axis=1), np.stack([b, a + n, b + n], axis=1)])
    return (
        np.concatenate([x + half * normal, x - half * normal]),
        np.concatenate([triangles, triangles[:, ::-1] + n, sides]),
    )


# sheets made by rule, about the middle of their box ------------------------------------------------------------------


def make_polyline(points: Array, closed: bool, thick: float) -> Sheet:
    """Edges along points (n, 2) [m] where they are, back to the first if ``closed``."""
    n = len(points)
    i = np.arange(n if closed else n - 1)
    return Sheet(np.column_stack([points, np.zeros(n)]), np.column_stack([i, (i + 1) % n]), thick)


def make_plate(size: tuple[float, float], thick: float) -> Sheet:
    """A rectangle in the x-z plane [m]."""
    x, z = 0.5 * np.array(size)
    ring = np.array([[-x, 0.0, -z], [-x, 0.0, z], [x, 0.0, z], [x, 0.0, -z]])
    return Sheet(ring, np.array([[0, 1, 2], [0, 2, 3]]), thick)


def make_tub(size: tuple[float, ...], thick: float) -> Sheet:
    """A box [m] without its lid; in 2D a floor and two walls."""
    half = 0.5 * np.array(size)
    if len(size) == 2:
        x, y = half
        return make_polyline(np.array([[-x, y], [-x, -y], [x, -y], [x, y]]), False, thick)
    x, y, z = half
    ring = np.array([[-x, -y, -z], [-x, -y, z], [x, -y, z], [x, -y, -z]])
    return _make_walled(ring, ring * (1.0, -1.0, 1.0), thick)


def make_boat_sheet(length: float, width: float, height: float, thick: float) -> Sheet:
    """The outside of ``make_boat``: flat bottom, sides that lean outwards, bow at +x [m]."""
    half = np.array(BOAT_OUTLINE)
    outline = np.concatenate([half, half[-2::-1] * (1.0, -1.0)])
    ring = np.column_stack([outline[:, 0] * length, np.zeros(len(outline)), -outline[:, 1] * width])
    low, high = ring * (BOAT_LEAN, 0.0, BOAT_LEAN), ring
    return _make_walled(low - (0.0, 0.5 * height, 0.0), high + (0.0, 0.5 * height, 0.0), thick)


def _make_walled(low: Array, high: Array, thick: float) -> Sheet:
    """A convex floor (n, 3) and walls from it to a rim (n, 3)."""
    n = len(low)
    i = np.arange(n)
    j = (i + 1) % n
    fan = np.column_stack([np.zeros(n - 2, dtype=int), np.arange(1, n - 1), np.arange(2, n)])
    parts = [np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n]), fan[:, ::-1]]
    return Sheet(np.concatenate([low, high]), np.concatenate(parts), thick)


def make_bowl(radius: float, depth: float, thick: float, dimensions: int) -> Sheet:
    """The lowest part of a sphere, ``depth`` high [m]; in 2D of a circle."""
    angle = np.arccos(1.0 - depth / radius)
    count = max(3, int(np.ceil(angle / (2.0 * np.pi / AROUND))))
    middle = radius - 0.5 * depth
    if dimensions == 2:
        a = angle * np.linspace(-1.0, 1.0, 2 * count + 1)
        return make_polyline(np.column_stack([radius * np.sin(a), middle - radius * np.cos(a)]), False, thick)
    around = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rings = [np.array([[0.0, middle - radius, 0.0]])]
    for a in angle * np.arange(1, count + 1) / count:
        r = radius * np.sin(a)
        y = np.full(AROUND, middle - radius * np.cos(a))
        rings.append(np.column_stack([r * np.sin(around), y, r * np.cos(around)]))
    i = np.arange(AROUND)
    j = (i + 1) % AROUND
    parts = [np.column_stack([np.zeros(AROUND, dtype=int), j + 1, i + 1])]
    for ring in range(count - 1):
        a, b = 1 + ring * AROUND, 1 + (ring + 1) * AROUND
        parts += [np.column_stack([i + a, j + a, j + b]), np.column_stack([i + a, j + b, i + b])]
    return Sheet(np.concatenate(rings), np.concatenate(parts), thick)


def load_sheet(path: str | Path, scale: float, thick: float) -> Sheet:
    """The triangles of a mesh file, closed or not."""
    vertices, triangles = load_triangles(path)
    return Sheet(scale * vertices, triangles, thick)
