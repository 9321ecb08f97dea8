"""The surface of water cut where it enters bodies.

The level set goes on into solids, and so does its mesh. What of it lies deeper inside a closed body than a fraction of
a cell is cut away, triangle by triangle, along that depth: nothing is left to be seen through a transparent body, and
what is left still reaches the body from all sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from undertow.output.frames import BodyFrame, SurfaceFrame

KEPT = 0.15
"""Depth that the water keeps inside of a body [cells]."""


def cut_surface(surface: SurfaceFrame, bodies: Sequence[BodyFrame], dx: float) -> SurfaceFrame:
    """The surface without what is deeper than KEPT dx inside a closed body; dx [m] is the cell of the fluid's grid."""
    for body in bodies:
        if not body.backdrop and len(body.triangles) and is_closed(body):
            depth = depth_inside(body, surface.vertices, dx)
            if (depth > KEPT * dx).any():
                surface = _cut(surface, depth - KEPT * dx)
    return surface


def is_closed(body: BodyFrame) -> bool:
    """Whether every edge has two triangles, once in each direction."""
    t = body.triangles.astype(np.int64)
    a, b = t.ravel(), np.roll(t, -1, axis=1).ravel()
    n = len(body.vertices)
    return bool(np.array_equal(np.sort(a * n + b), np.sort(b * n + a)))


def depth_inside(body: BodyFrame, points: np.ndarray, reach: float) -> np.ndarray:
    """How deep points (n, 3) are inside a closed body [m], negative outside and where they are far away."""
    from scipy.spatial import cKDTree

    corners = body.vertices[body.triangles].astype(float)
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    near = np.flatnonzero(((points > low) & (points < high)).all(axis=1))
    depth = np.full(len(points), -reach)
    if len(near) == 0:
        return depth
    sites, normals = _sites(corners, 0.5 * reach)
    away, index = cKDTree(sites).query(points[near])
    # by the plane of the nearest site where it is close, else by the distance: far inside or far outside
    height = ((points[near] - sites[index]) * normals[index]).sum(axis=1)
    depth[near] = np.where(away < reach, -height, np.where(height < 0.0, away, -away))
    return depth


def _sites(corners: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Points spread over triangles (m, 3, 3), at most ``spacing`` [m] apart, and the normals there."""
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = face / np.maximum(np.linalg.norm(face, axis=1, keepdims=True), 1e-300)
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    count = np.clip(np.ceil(longest / spacing).astype(int), 1, 64)
    points, owner = [], []
    for n in np.unique(count):
        chosen = np.flatnonzero(count == n)
        weights = np.array([(i + 1 / 3, j + 1 / 3) for i in range(n) for j in range(n - i)]) / n
        full = np.column_stack([weights, 1.0 - weights.sum(axis=1)])
        points.append(np.einsum("wc,mcx->mwx", full, corners[chosen]).reshape(-1, 3))
        owner.append(np.repeat(chosen, len(weights)))
    return np.concatenate(points), normals[np.concatenate(owner)]


def _cut(surface: SurfaceFrame, value: np.ndarray) -> SurfaceFrame:
    """The part of a surface where a value of its vertices (n,), linear on triangles, is not positive."""
    inside = value > 0.0
    count = inside[surface.triangles].sum(axis=1)
    parts = [surface.triangles[count == 0]]
    arrays = [surface.vertices, surface.normals, surface.velocity]
    fresh: list[list[np.ndarray]] = [[], [], []]
    start = len(surface.vertices)
    for lost in (1, 2):
        triangles = surface.triangles[count == lost]
        flags = inside[triangles]
        # the corner that is alone on its side first
        lone = (flags if lost == 1 else ~flags).argmax(axis=1)
        a, b, c = (np.take_along_axis(triangles, ((lone + i) % 3)[:, None], axis=1)[:, 0] for i in range(3))
        made = []
        for other in (b, c):
            share = (value[a] / (value[a] - value[other]))[:, None]
            for store, values in zip(fresh, arrays, strict=True):
                store.append(values[a] * (1.0 - share) + values[other] * share)
            made.append(start + np.arange(len(a)))
            start += len(a)
        ab, ac = made
        if lost == 1:
            parts += [np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)]
        else:
            parts.append(np.stack([a, ab, ac], axis=1))
    vertices, normals, velocity = (np.concatenate([old, *new]) for old, new in zip(arrays, fresh, strict=True))
    triangles = np.concatenate(parts)
    used, index = np.unique(triangles, return_inverse=True)
    length = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    return SurfaceFrame(vertices[used], index.reshape(-1, 3), (normals / length)[used], velocity[used])
