"""Sections of shapes with the x-y plane: what a 2D scene sees of a solid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array

FLAT = 1e-6
"""Axes whose direction along z is as near to 0 or 1 lie in the x-y plane or across it."""

_CIRCLE = 128


class Outline(NamedTuple):
    """A disc (one point and a radius), a stadium (two points and a radius), or polygons, all (n, 3) with z = 0 [m].

    Polygons run counterclockwise around solid and clockwise around holes.
    """

    points: Array
    radius: float
    loops: list[Array]

    def is_convex(self) -> bool:
        """True for one polygon without inward corners."""
        if len(self.loops) != 1:
            return False
        along = np.roll(self.loops[0], -1, axis=0) - self.loops[0]
        ahead = np.roll(along, -1, axis=0)
        turn = along[:, 0] * ahead[:, 1] - along[:, 1] * ahead[:, 0]
        size = np.linalg.norm(along, axis=1) * np.linalg.norm(ahead, axis=1)
        # the corners are convex, and the polygon goes around once
        angle = np.arctan2(turn, np.einsum("ij,ij->i", along, ahead))
        return bool(np.all(turn > -1e-9 * size) and abs(angle.sum() - 2.0 * np.pi) < 1e-6 and len(along) <= 64)

    def as_loops(self) -> list[Array]:
        """Polygons, of a disc with its area, of a stadium inside it."""
        if self.loops:
            return self.loops
        if len(self.points) == 1:
            return [circle(self.radius) + self.points[0]]
        along = self.points[1] - self.points[0]
        # half circles at either end, counterclockwise
        start = np.arctan2(along[1], along[0]) - 0.5 * np.pi
        angle = start + np.pi * np.arange(_CIRCLE // 2 + 1) / (_CIRCLE // 2)
        arc = self.radius * np.stack([np.cos(angle), np.sin(angle), np.zeros(len(angle))], axis=1)
        return [np.concatenate([self.points[1] + arc, self.points[0] - arc])]

    def measure(self) -> tuple[float, Array, float]:
        """Area [m2], centroid (3,) [m] and second moment about the centroid [m4]."""
        if self.loops:
            return _measure_polygons(self.loops)
        r = self.radius
        length = float(np.linalg.norm(self.points[-1] - self.points[0]))
        disc, bar = np.pi * r * r, 2.0 * r * length
        # bar, and two half discs: about their own centroid 4 r / (3 pi) from the flat side, then moved out
        arm = 4.0 * r / (3.0 * np.pi)
        moment = bar * (length * length + 4.0 * r * r) / 12.0
        moment += disc * (0.5 * r * r - arm * arm + (0.5 * length + arm) ** 2)
        return disc + bar, self.points.mean(axis=0), moment

    def sample(self, spacing: float) -> Array:
        """Corners and points on the sides, at most ``spacing`` apart, and their outward normals, (n, 6)."""
        parts = []
        for loop in self.loops:
            along = np.roll(loop, -1, axis=0) - loop
            normals = np.stack([along[:, 1], -along[:, 0], np.zeros(len(loop))], axis=1)
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
            corners = normals + np.roll(normals, 1, axis=0)
            corners /= np.maximum(np.linalg.norm(corners, axis=1, keepdims=True), 1e-300)
            for start, step, normal, corner in zip(loop, along, normals, corners, strict=True):
                count = max(1, int(np.ceil(np.linalg.norm(step) / spacing)))
                rows = np.hstack([start + (np.arange(count) / count)[:, None] * step, np.tile(normal, (count, 1))])
                rows[0, 3:] = corner
                parts.append(rows)
        return np.concatenate(parts)

    def distance(self, points: Array) -> Array:
        """Signed distance [m] of points (n, 2) from the polygons, negative inside."""
        nearest = np.full(len(points), np.inf)
        winding = np.zeros(len(points))
        for loop in self.loops:
            for start, end in zip(loop[:, :2], np.roll(loop, -1, axis=0)[:, :2], strict=True):
                along, arm = end - start, points - start
                s = np.clip(arm @ along / (along @ along), 0.0, 1.0)
                nearest = np.minimum(nearest, np.einsum("ij,ij->i", arm - s[:, None] * along, arm - s[:, None] * along))
                side = along[0] * arm[:, 1] - along[1] * arm[:, 0]
                winding += (start[1] <= points[:, 1]) & (points[:, 1] < end[1]) & (side > 0)
                winding -= (end[1] <= points[:, 1]) & (points[:, 1] < start[1]) & (side < 0)
        return np.where(winding > 0, -1.0, 1.0) * np.sqrt(nearest)


def is_across_plane(name: str, axis: Array) -> bool:
    """Whether a unit vector is the z axis; in the x-y plane it is not, and else a UserError."""
    across = abs(axis[2]) > 1.0 - FLAT
    if not across and abs(axis[2]) > FLAT:
        raise UserError(refuse_tilt(name))
    return across


def refuse_tilt(name: str) -> str:
    """What a user reads whose body is turned about another axis than z in a 2D scene."""
    return (
        f"{name}: its axis is neither in the x-y plane nor across it: in a 2D scene bodies turn about z only; "
        "give a rotation about z, or one that lays the axis along z"
    )


def polygons(*loops: Array) -> Outline:
    """An outline of loops (n, 3)."""
    return Outline(np.zeros((0, 3)), 0.0, list(loops))


def circle(radius: float) -> Array:
    """Polygon with the area of a circle, counterclockwise."""
    angle = 2.0 * np.pi * np.arange(_CIRCLE) / _CIRCLE
    r = radius * np.sqrt(2.0 * np.pi / _CIRCLE / np.sin(2.0 * np.pi / _CIRCLE))
    return np.stack([r * np.cos(angle), r * np.sin(angle), np.zeros(_CIRCLE)], axis=1)


def counterclockwise(loop: Array) -> Array:
    """A polygon (n, 3) on z = 0, the right way round."""
    flat = loop * np.array([1.0, 1.0, 0.0])
    return flat if _measure_polygons([flat])[0] > 0 else np.ascontiguousarray(flat[::-1])


def _measure_polygons(loops: list[Array]) -> tuple[float, Array, float]:
    """Area, centroid and second moment about the centroid, by Green's theorem."""
    area, first, second = 0.0, np.zeros(3), 0.0
    for loop in loops:
        p, q = loop, np.roll(loop, -1, axis=0)
        w = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
        area += 0.5 * float(w.sum())
        first += ((p + q) * w[:, None]).sum(axis=0) / 6.0
        second += float((w * np.einsum("ij,ij->i", p, p + q) + w * np.einsum("ij,ij->i", q, q)).sum()) / 12.0
    centre = first / area
    return area, centre, second - area * float(centre @ centre)


def prism_loops(vertices: Array, triangles: Any) -> list[Array]:
    """Outline of a prism along z: the free edges of its upper end."""
    size = float(np.max(np.ptp(vertices, axis=0)))
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    upper = normals[:, 2] > 1.0 - FLAT
    level = np.concatenate([a[upper, 2], b[upper, 2], c[upper, 2]])
    prism = np.all((np.abs(normals[:, 2]) < FLAT) | (np.abs(normals[:, 2]) > 1.0 - FLAT))
    if not prism or len(level) == 0 or np.ptp(level) > 1e-6 * size:
        raise UserError(
            "mesh: in a 2D scene a mesh must be a prism along z with flat ends; extrude its outline along z"
        )
    if not vertices[:, 2].min() < 0.0 < vertices[:, 2].max():
        raise UserError("mesh: does not reach through the plane z = 0 of its own frame; move it there along z")
    own = triangles[upper]
    start, end = own.ravel(), own[:, [1, 2, 0]].ravel()
    inner = set(zip(end.tolist(), start.tolist(), strict=True))
    following = {i: j for i, j in zip(start.tolist(), end.tolist(), strict=True) if (i, j) not in inner}
    loops = []
    while following:
        first = i = min(following)
        chain = []
        while i in following:
            chain.append(i)
            i = following.pop(i)
        if i != first:
            raise UserError("mesh: outlines that touch in a point are not supported in a 2D scene; part them")
        loop = vertices[chain] * np.array([1.0, 1.0, 0.0])
        before, after = loop - np.roll(loop, 1, axis=0), np.roll(loop, -1, axis=0) - loop
        bend = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        corner = np.abs(bend) > 1e-9 * np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        loops.append(np.ascontiguousarray(loop[corner]))
    return loops


def slice_loops(vertices: Array, triangles: Any) -> list[Array]:
    """Polygons in which a closed surface, wound outward, meets the plane z = 0."""
    size = float(np.max(np.ptp(vertices, axis=0)))
    # beside the corners that lie on z = 0
    height = vertices[:, 2] - 1.23e-7 * size
    above = height[triangles] > 0.0
    ends: dict[int, Array] = {}
    following: dict[int, int] = {}
    for triangle, up in zip(triangles.tolist(), above.tolist(), strict=True):
        if all(up) or not any(up):
            continue
        cut: dict[bool, int] = {}
        for a in range(3):
            i, j = triangle[a], triangle[a - 2]
            if up[a] != up[a - 2]:
                low, high = min(i, j), max(i, j)
                # both triangles of an edge find the same point under the same number
                key = low * len(vertices) + high
                part = height[low] / (height[low] - height[high])
                ends[key] = (vertices[low] + part * (vertices[high] - vertices[low])) * np.array([1.0, 1.0, 0.0])
                cut[up[a]] = key
        # seen from above, with the solid on the left
        following[cut[True]] = cut[False]
    loops = []
    while following:
        first = i = min(following)
        chain = []
        while i in following:
            chain.append(ends[i])
            i = following.pop(i)
        if i != first:
            raise UserError("surface: its section with the plane z = 0 is not closed; close the surface")
        loop = np.array(chain)
        loops.append(loop[np.linalg.norm(loop - np.roll(loop, 1, axis=0), axis=1) > 1e-9 * size])
    if not loops:
        raise UserError("shape: does not reach through the plane z = 0 of its own frame; move it there along z")
    return loops
