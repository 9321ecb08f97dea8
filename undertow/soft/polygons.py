"""Triangles that fill a polygon of the plane, with its corners and sides.

Points of the outline: its corners, and its sides in parts of the wanted size, finer where the polygon is thin. Inside a
lattice of equilateral triangles, away from the outline. Their Delaunay triangulation; parts of the outline that are no
edges of it are halved until they are (conforming Delaunay, Ruppert 1995); then inner points move to the mean of the
centres of their triangles, weighted by area (Lloyd's iteration on the dual), and are triangulated again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.soft.meshes import Mesh

FINEST = 32
"""Parts of the wanted size into which a side may be cut where the polygon is thin."""

SMOOTHINGS = 10
"""Times that inner points move."""

CLEAR = 0.6
"""Least distance of inner points from the outline, in element sizes."""


def mesh_polygon(name: str, corners: Array, size: float) -> Mesh:
    """Nodes (n, 3) and triangles (m, 3), counter-clockwise, that fill a simple polygon of corners (k, 2),
    counter-clockwise, with elements of ``size`` [m]; smaller ones where it is thinner."""
    outline, inner = _divide(name, corners, size), _lattice(corners, size)
    for _ in range(40):
        triangles = _triangulate(np.concatenate([outline, inner]), corners)
        missing = _missing(len(outline), triangles)
        if not len(missing):
            break
        middle = 0.5 * (outline[missing] + outline[(missing + 1) % len(outline)])
        outline = np.insert(outline, missing + 1, middle, axis=0)
    else:
        raise UserError(
            f"{name}: no triangles of {size:g} m fit its outline at ({middle[0, 0]:.3g}, {middle[0, 1]:.3g}); make "
            f"element_size smaller, or the corner there less sharp"
        )
    n = len(outline)
    for _ in range(SMOOTHINGS):
        moved = _smooth(np.concatenate([outline, inner]), triangles)[n:]
        found = _triangulate(np.concatenate([outline, moved]), corners)
        if len(_missing(n, found)):
            break
        inner, triangles = moved, found
    points = np.concatenate([outline, inner])
    used, cells = np.unique(triangles, return_inverse=True)
    return np.concatenate([points[used], np.zeros((len(used), 1))], axis=1), cells.reshape(-1, 3)


def polygon_distance(points: Array, corners: Array, skip: Any = ()) -> Array:
    """Distances (n,) [m] of points (n, 2) from the sides of a polygon (k, 2) but those of numbers ``skip``."""
    found = np.full(len(points), np.inf)
    for i in range(len(corners)):
        if i in skip:
            continue
        a, side = corners[i], corners[(i + 1) % len(corners)] - corners[i]
        s = np.clip((points - a) @ side / (side @ side), 0.0, 1.0)
        found = np.minimum(found, np.linalg.norm(points - a - s[:, None] * side, axis=1))
    return found


def is_inside(points: Array, corners: Array) -> Any:
    """Whether points (n, 2) are inside a polygon (k, 2): an odd number of sides is to the right of them."""
    odd = np.zeros(len(points), dtype=bool)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        spans = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
        rise = b[1] - a[1] if b[1] != a[1] else 1.0
        odd ^= spans & (points[:, 0] < a[0] + (points[:, 1] - a[1]) / rise * (b[0] - a[0]))
    return odd


def _divide(name: str, corners: Array, size: float) -> Array:
    """Points (n, 2) of the outline; parts are no longer than the distance of sides that do not meet theirs."""
    k, found = len(corners), []
    for i in range(k):
        a, b = corners[i], corners[(i + 1) % k]
        parts = max(1, round(float(np.linalg.norm(b - a)) / size))
        cuts = [a + j / parts * (b - a) for j in range(parts + 1)]
        skip = {(i - 1) % k, i, (i + 1) % k}
        start = 0
        while start < len(cuts) - 1:
            middle, length = 0.5 * (cuts[start] + cuts[start + 1]), float(np.linalg.norm(cuts[start + 1] - cuts[start]))
            thin = float(polygon_distance(middle[None], corners, skip)[0])
            if length <= 1.5 * thin:
                start += 1
            elif length > size / FINEST:
                cuts.insert(start + 1, middle)
            else:
                raise UserError(
                    f"{name}: {thin:.3g} m thick at ({middle[0]:.3g}, {middle[1]:.3g}), too thin for elements of "
                    f"{size:g} m, which are made smaller up to {FINEST} times; make element_size smaller, or the "
                    f"polygon thicker there"
                )
        found += cuts[:-1]
    return np.array(found)


def _lattice(corners: Array, size: float) -> Array:
    """Points (n, 2) of a lattice inside, away from the outline."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    rise = size * np.sqrt(0.75)
    rows = np.arange(0.5 * rise, high[1] - low[1], rise)
    lines = []
    for j, y in enumerate(rows):
        x = np.arange(low[0] + (0.25 + 0.5 * (j % 2)) * size, high[0], size)
        lines.append(np.column_stack([x, np.full(len(x), low[1] + y)]))
    points = np.concatenate(lines) if lines else np.zeros((0, 2))
    return np.asarray(points[is_inside(points, corners) & (polygon_distance(points, corners) > CLEAR * size)])


def _triangulate(points: Array, corners: Array) -> Any:
    """Delaunay triangles (m, 3) of points (n, 2) whose centres are inside, counter-clockwise, sorted."""
    from scipy.spatial import Delaunay

    triangles = Delaunay(points).simplices.astype(np.int64)
    p = points[triangles]
    u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    area = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    triangles[area < 0] = triangles[area < 0][:, ::-1]
    longest = np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2).max(axis=1)
    kept = triangles[is_inside(p.mean(axis=1), corners) & (np.abs(area) > 1e-9 * longest**2)]
    turned = (np.argmin(kept, axis=1)[:, None] + np.arange(3)) % 3
    kept = np.take_along_axis(kept, turned, axis=1)
    return kept[np.lexsort(kept.T[::-1])]


def _missing(count: int, triangles: Any) -> Any:
    """Which parts i, i + 1 of an outline of ``count`` points are no sides of triangles, run through that way."""
    sides = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    there = np.zeros(count, dtype=bool)
    along = (sides[:, 0] < count) & (sides[:, 1] == (sides[:, 0] + 1) % count)
    there[sides[along, 0]] = True
    return np.flatnonzero(~there)


def _smooth(points: Array, triangles: Any) -> Array:
    """Points (n, 2) at the mean of the centres of their triangles (m, 3), weighted by area."""
    p = points[triangles]
    u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    area = np.repeat(0.5 * np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]), 3)
    centre, n = np.repeat(p.mean(axis=1), 3, axis=0), len(points)
    flat = triangles.reshape(-1)
    total = np.maximum(np.bincount(flat, area, n), 1e-300)
    return np.column_stack([np.bincount(flat, area * centre[:, i], n) / total for i in range(2)])
