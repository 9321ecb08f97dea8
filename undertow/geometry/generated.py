"""Meshes made by rule: convex hulls, gears and boats."""

from __future__ import annotations

import numpy as np

from undertow.errors import UserError
from undertow.geometry.meshes import MeshShape
from undertow.grid import Array


def make_hull(points: Array) -> MeshShape:
    """Convex hull of points (n, 3), or the prism over the hull of points (n, 2), as long along z as it is wide [m]."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.asarray(points, dtype=float)
    try:
        hull = ConvexHull(points)
    except QhullError:
        raise UserError(
            f"hull: {len(points)} points span no volume; give {points.shape[1] + 1} or more that do not lie in a "
            f"{'plane' if points.shape[1] == 3 else 'line'}"
        ) from None
    if points.shape[1] == 2:
        return extrude(points[hull.vertices], float(np.ptp(points, axis=0).max()), "hull")
    used = np.unique(hull.simplices)
    triangles = np.searchsorted(used, hull.simplices)
    vertices = points[used]
    corners = vertices[triangles]
    inward = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                       hull.equations[:, :3]) < 0  # fmt: skip
    triangles[inward] = triangles[inward][:, ::-1]
    return MeshShape(vertices, triangles, "hull")


def extrude(outline: Array, length: float, name: str) -> MeshShape:
    """Prism of a convex outline (n, 2), counter-clockwise, centred on z = 0 [m]."""
    n = len(outline)
    low = np.column_stack([outline, np.full(n, -length / 2)])
    vertices = np.concatenate([low, low + (0.0, 0.0, length)])
    i = np.arange(n)
    j = (i + 1) % n
    fan = np.column_stack([np.zeros(n - 2, dtype=int), np.arange(1, n - 1), np.arange(2, n)])
    triangles = [fan[:, ::-1], fan + n, np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])]
    return MeshShape(vertices, np.concatenate(triangles), name)


def make_gear(radius: float, thickness: float, teeth: int, depth: float, hole: float) -> MeshShape:
    """A gear about z with trapezoidal teeth: ``depth`` and ``hole`` are shares of ``radius`` [m].

    Without a hole (0) the inner outline is a point.
    """
    step = 2 * np.pi / teeth
    # root, rise, tip, fall of a tooth, as fractions of the tooth's angle
    corners = [(0.0, 1 - depth), (0.30, 1 - depth), (0.40, 1.0), (0.60, 1.0), (0.70, 1 - depth)]
    angle = np.array([(t + f) * step for t in range(teeth) for f, _ in corners])
    reach = np.array([r for _ in range(teeth) for _, r in corners]) * radius
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    outer, n = ring * reach[:, None], len(angle)
    half = thickness / 2

    def plane(xy: Array, z: float) -> Array:
        return np.column_stack([xy, np.full(len(xy), z)])

    i = np.arange(n)
    j = (i + 1) % n
    if hole == 0:
        vertices = np.concatenate([plane(outer, -half), plane(outer, half), [[0, 0, -half], [0, 0, half]]])
        parts = [
            np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n]),
            np.column_stack([j, i, np.full(n, 2 * n)]), np.column_stack([i + n, j + n, np.full(n, 2 * n + 1)]),
        ]  # fmt: skip
        return MeshShape(vertices, np.concatenate(parts), "gear")
    inner = ring * (hole * radius)
    vertices = np.concatenate([plane(outer, -half), plane(outer, half), plane(inner, -half), plane(inner, half)])
    a, b, c, d = (i, j), (i + n, j + n), (i + 2 * n, j + 2 * n), (i + 3 * n, j + 3 * n)
    parts = []
    for (p, q), (r, s) in ((a, b), (b, d), (d, c), (c, a)):  # outside, top, hole, bottom
        parts += [np.column_stack([p, q, s]), np.column_stack([p, s, r])]
    return MeshShape(vertices, np.concatenate(parts), "gear")


BOAT_OUTLINE = ((-0.5, -0.42), (-0.15, -0.5), (0.15, -0.45), (0.35, -0.28), (0.5, 0.0))
"""Half of a boat's rim seen from above, stern to bow: shares of length and width."""

BOAT_LEAN = 0.8
"""Size of a boat's bottom over that of its rim."""


def make_boat(length: float, width: float, height: float, wall: float) -> MeshShape:
    """An open boat along x, bow at +x, centred on its box: flat bottom, sides that lean outwards, walls ``wall`` thick
    measured across the rim, a bottom as thick [m].
    """
    half = np.array(BOAT_OUTLINE)
    # the bow is one point; seen from above (x, -z) the outline runs counter-clockwise
    outline = np.concatenate([half, half[-2::-1] * (1.0, -1.0)])
    n = len(outline)

    def ring(shrink_x: float, shrink_z: float, y: float) -> Array:
        return np.column_stack([outline[:, 0] * shrink_x, np.full(n, y), -outline[:, 1] * shrink_z])

    low, lean = -height / 2, BOAT_LEAN
    rings = [
        ring(lean * length, lean * width, low),
        ring(length, width, height / 2),
        ring(length - 2 * wall, width - 2 * wall, height / 2),
        ring(lean * length - 2 * wall, lean * width - 2 * wall, low + wall),
    ]
    i = np.arange(n)
    j = (i + 1) % n
    parts = []
    for first in range(3):  # outside, rim, inside
        a, b, c, d = i + first * n, j + first * n, j + (first + 1) * n, i + (first + 1) * n
        parts += [np.column_stack([a, b, c]), np.column_stack([a, c, d])]
    fan = np.column_stack([np.zeros(n - 2, dtype=int), np.arange(1, n - 1), np.arange(2, n)])
    parts += [fan[:, ::-1], fan + 3 * n]
    return MeshShape(np.concatenate(rings), np.concatenate(parts), "boat")
