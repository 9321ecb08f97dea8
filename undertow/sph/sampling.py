"""Boundary particles of bodies: one layer at depth r_P = half a spacing, so that contact points lie on the surface.

The layer comes from the body's signed distance (Becker et al. 2009, IV, after Bell, Yu and Mucha 2005): points of the
surface, in 2D its contour cut into even pieces, in 3D scattered over it and spread by mutual repulsion, moved in along
the normal by r_P. In a plate as thick as the spacing they meet in its middle; their volumes allow for that.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.sph.kernels import lattice_sums, make_numbers

Distance = Callable[[Array], Array]

_SPREADS = 30
"""Rounds of repulsion."""

_BLOCK = 4
"""Nodes along each axis that are asked for one distance first: of n^3 nodes only n^2 are near a surface."""


def sample_box(
    size: Array, spacing: float, dimensions: int, lower: Array | None = None, upper: Array | None = None
) -> Array:
    """Boundary particles (n, 3) [m] of a box (3,) [m] about the origin, on an even lattice of its faces.

    lower, upper (3,) [m]: corners of the part that is wanted, of a box that is larger than the domain; memory and time
    grow with that part and not with the box.
    """
    inner = np.maximum(np.asarray(size, dtype=float) - spacing, 0.0)
    last = np.round(inner / spacing).astype(np.int64)
    if dimensions == 2:
        last[2] = 0
    pitch = inner / np.maximum(last, 1)
    first, stop = np.zeros(3, dtype=np.int64), last + 1
    for axis in range(3):
        if last[axis] == 0:
            continue
        if lower is not None:
            first[axis] = np.clip(np.ceil((lower[axis] + 0.5 * inner[axis]) / pitch[axis]), 0, last[axis] + 1)
        if upper is not None:
            stop[axis] = np.clip(np.floor((upper[axis] + 0.5 * inner[axis]) / pitch[axis]) + 1, 0, last[axis] + 1)
    ranges = [np.arange(i, n) for i, n in zip(first, stop, strict=True)]
    faces = []
    for axis in range(dimensions):
        # the edges that faces share are those of the first of them
        inside = [r[(r > 0) & (r < n)] if a < axis else r for a, (r, n) in enumerate(zip(ranges, last, strict=True))]
        for end in {0, int(last[axis])}:
            inside[axis] = ranges[axis][ranges[axis] == end]
            faces.append(np.stack(np.meshgrid(*inside, indexing="ij"), axis=-1).reshape(-1, 3))
    index = np.concatenate(faces)
    index = index[np.lexsort(index.T[::-1])]
    place = np.where(index == last, 0.5 * inner, index * pitch - 0.5 * inner)
    return np.ascontiguousarray(np.where(last > 0, place, 0.0))


def sample_surface(
    distance: Distance,
    lower: Array,
    upper: Array,
    spacing: float,
    dimensions: int,
    nearest: Callable[[Array], Array] | None = None,
) -> Array:
    """Boundary particles (n, 3) [m] of the body with the signed distance, within a box around it; none when the surface
    does not cross the box.

    nearest: points (n, 3) of the surface nearest to points, of bodies that know them; in the place of 21 distances.
    """
    step = 0.25 * spacing if dimensions == 2 else 0.5 * spacing
    axes = [np.arange(a - 2 * step, b + 2.5 * step, step) for a, b in zip(lower, upper, strict=True)]
    if dimensions == 2:
        axes[2] = np.zeros(1)
    if any(len(a) == 0 for a in axes):
        return np.zeros((0, 3))
    values = _measure_nodes(distance, axes, step)
    if values.min() > 0.0 or values.max() < 0.0:
        return np.zeros((0, 3))
    origin = np.array([a[0] for a in axes])
    # points of the surface, then moved in: the level -r_P itself breaks up where a wall is just as thick as a particle
    found = _contours(values[..., 0], step, spacing) if dimensions == 2 else _scatter(values, step, spacing)
    points = found + origin
    if dimensions == 2:
        points[:, 2] = 0.0
    for _ in range(_SPREADS if dimensions == 3 else 0):
        spread = _spread(points, spacing)
        points = _project(distance, spread, spacing, dimensions) if nearest is None else nearest(spread)
    points = _project(distance, points, spacing, dimensions)
    slope = _slope(distance, points, spacing, dimensions)
    steep = np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 0.5)
    return np.asarray(points - 0.5 * spacing * slope / steep)


def _measure_nodes(distance: Distance, axes: list[Array], step: float) -> Array:
    """Signed distance [m] at nodes of axes with the step [m]: exact in all cells that the surface crosses.

    Blocks of nodes that are farther from it, by the distance of their middle, have that.
    """
    sizes = [_BLOCK if len(a) > 1 else 1 for a in axes]
    middles = [a[::n] + 0.5 * (n - 1) * step for a, n in zip(axes, sizes, strict=True)]
    blocks = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1)
    values: Any = distance(blocks.reshape(-1, 3)).reshape(blocks.shape[:3])
    # half the diagonal of a block, and that of a cell beside it
    near: Any = np.abs(values) <= (0.5 * (_BLOCK - 1) + 1.0) * sqrt(3.0) * step
    for axis, n in enumerate(sizes):
        values, near = (np.repeat(a, n, axis=axis).take(range(len(axes[axis])), axis=axis) for a in (values, near))
    index = np.nonzero(near)
    values[index] = distance(np.column_stack([a[i] for a, i in zip(axes, index, strict=True)]))
    return np.ascontiguousarray(values)


def _contours(values: Array, step: float, spacing: float) -> Array:
    """Points (n, 3) at even distances along the contours 0 of values [x, y]."""
    from skimage.measure import find_contours

    parts = []
    for loop in find_contours(values, 0.0):
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(loop, axis=0), axis=1))]) * step
        count = max(1, round(length[-1] / spacing))
        at = (np.arange(count) + 0.5) / count * length[-1]
        parts.append(step * np.stack([np.interp(at, length, loop[:, a]) for a in range(2)], axis=1))
    flat = np.concatenate([np.zeros((0, 2)), *parts])
    return np.column_stack([flat, np.zeros(len(flat))])


def _scatter(values: Array, step: float, spacing: float) -> Array:
    """Points (n, 3) on the level 0 of values [x, y, z], one for every square of the spacing."""
    from scipy.spatial import cKDTree
    from skimage.measure import marching_cubes

    vertices, triangles, _, _ = marching_cubes(values, 0.0)
    corners = step * vertices[triangles]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    wanted = max(1, round(float(area.sum()) / spacing**2))
    draw = np.random.default_rng(0)
    which = np.searchsorted(np.cumsum(area), draw.uniform(0.0, area.sum(), 30 * wanted), side="right")
    a, b = draw.uniform(size=(2, len(which)))
    a, b = np.where(a + b > 1.0, 1.0 - a, a), np.where(a + b > 1.0, 1.0 - b, b)
    chosen = corners[np.minimum(which, len(corners) - 1)]
    dense = chosen[:, 0] + a[:, None] * (chosen[:, 1] - chosen[:, 0]) + b[:, None] * (chosen[:, 2] - chosen[:, 0])
    tree, gap = cKDTree(dense), 0.8 * spacing
    free, kept = np.ones(len(dense), dtype=bool), []
    for i in range(len(dense)):
        if free[i]:
            kept.append(i)
            free[tree.query_ball_point(dense[i], gap)] = False
    return np.asarray(dense[kept])


def _spread(points: Array, spacing: float) -> Array:
    """Points pushed apart by those nearer than the spacing of an even layer."""
    from scipy.spatial import cKDTree

    pairs = cKDTree(points).query_pairs(1.15 * spacing, output_type="ndarray")
    away = points[pairs[:, 0]] - points[pairs[:, 1]]
    size = np.maximum(np.linalg.norm(away, axis=1), 1e-12)
    push = 0.15 * (1.15 * spacing / size - 1.0).clip(0.0, 1.0)[:, None] * away
    moved = points.copy()
    np.add.at(moved, pairs[:, 0], push)
    np.add.at(moved, pairs[:, 1], -push)
    return moved


def _slope(distance: Distance, points: Array, spacing: float, dimensions: int) -> Array:
    """Gradient of the distance at points (n, 3)."""
    h = 0.05 * spacing
    slope = np.zeros_like(points)
    for axis in range(dimensions):
        ahead = np.zeros(3)
        ahead[axis] = h
        slope[:, axis] = (distance(points + ahead) - distance(points - ahead)) / (2.0 * h)
    return slope


def _project(distance: Distance, points: Array, spacing: float, dimensions: int) -> Array:
    """Points moved along the gradient to the surface."""
    for _ in range(3):
        slope = _slope(distance, points, spacing, dimensions)
        steep = np.maximum(np.einsum("ij,ij->i", slope, slope), 0.25)
        points = points - (distance(points) / steep)[:, None] * slope
    return points


def boundary_volumes(position: Array, spacing: float, dimensions: int) -> Array:
    """Volumes (n,) [m3; 2D m2] of one layer of boundary particles at (n, 3) [m].

    V_k = V0 / sum_l W_kl (Akinci et al. 2012, eq. 4), V0 such that a flat layer, one spacing below a lattice of fluid,
    adds to its density what the half space beyond would add.
    """
    from scipy.spatial import cKDTree

    sums = lattice_sums(dimensions)
    flat = spacing * np.stack(np.meshgrid(*[np.arange(-4.0, 5.0)] * (dimensions - 1), indexing="ij"), axis=-1)
    numbers = make_numbers(dimensions, spacing, 1.0, 1.0, 0.0)

    def value(r: Array) -> Array:
        q = r * numbers.inv_radius
        return np.asarray(numbers.w * np.clip(1.0 - q, 0.0, None) ** 4 * (4.0 * q + 1.0))

    plane = float(value(np.linalg.norm(flat.reshape(-1, dimensions - 1), axis=1)).sum())
    if len(position) == 0:
        return np.zeros(0)
    tree = cKDTree(position)
    pairs = tree.query_pairs(numbers.radius, output_type="ndarray")
    total = np.full(len(position), float(value(np.zeros(1))[0]))
    near = value(np.linalg.norm(position[pairs[:, 0]] - position[pairs[:, 1]], axis=1))
    for side in range(2):
        total += np.bincount(pairs[:, side], weights=near, minlength=len(position))
    return np.asarray(sums.wall * spacing**dimensions * plane / total)
