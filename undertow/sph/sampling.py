"""Boundary particles of bodies: one layer at depth r_P = half a spacing, so that contact points lie on the surface.

The layer comes from the body's signed distance (Becker et al. 2009, IV, after Bell, Yu and Mucha 2005): points of the
surface, in 2D its contour cut into even pieces, in 3D scattered over it and spread by mutual repulsion, moved in along
the normal by r_P. In a plate as thick as the spacing they meet in its middle; their volumes allow for that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Solid
from undertow.grid import Array
from undertow.sph.kernels import lattice_sums, make_numbers

Distance = Callable[[Array], Array]

_SPREADS = 30
"""Rounds of repulsion."""

_DEPTHS = 10
"""Steps in which points of a piece are moved in."""

_BLOCK = 4
"""Nodes along each axis that are asked for one distance first: of n^3 nodes only n^2 are near a surface."""


MARGIN = 3.0
"""Spacings beyond the domain within which bodies that rest have boundary particles: no kernel reaches farther."""

MOST_BOUNDARY = 5_000_000
"""Boundary particles of a body that moves, which has them all; some 2 GB with their neighbours."""

MOST_NODES = 200_000_000
"""Nodes at which the distance of a body is kept while its surface is found; 2 GB."""


def sample_solid(
    solid: Solid, lower: Array, upper: Array, spacing: float, dimensions: int, rests: bool = False
) -> Array:
    """Boundary particles (n, 3) [m] of a solid at t = 0 in a domain from lower to upper (3,) [m].

    A solid that ``rests`` has them in the domain and ``MARGIN`` around it, however large it is; one that moves has them
    all, since any of them may come into the domain later.
    """
    first, last = lower - MARGIN * spacing, upper + MARGIN * spacing
    low, high = solid.bounds(0.0)
    moves = not rests and bool(np.isfinite([low, high]).all())
    if moves:
        _check_boundary(solid.name, (high - low)[:dimensions], spacing)
        first, last = np.minimum(first, low - spacing), np.maximum(last, high + spacing)
    position, rotation = solid.motion.pose(0.0)
    if dimensions == 3 or abs(rotation[2, 2]) > 1.0 - 1e-9:
        corners = np.stack(np.meshgrid(*zip(first, last, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
        seen = (corners - position) @ rotation
        even = solid.shape.boundary_lattice(spacing, dimensions, seen.min(axis=0), seen.max(axis=0))
        if even is not None:
            points = even @ rotation.T + position
            return np.asarray(points[((points >= first) & (points <= last))[:, :dimensions].all(axis=1)])
    if moves:
        _check_nodes(solid.name, (high - low)[:dimensions], spacing)
    low, high = np.maximum(low, first), np.minimum(high, last)
    meshed = dimensions == 3 and solid.shape_at(0.0).as_mesh() is not None
    nearest = partial(solid.nearest, t=0.0) if meshed else None
    distance = partial(solid.distance, t=0.0, dimensions=dimensions)
    return sample_surface(distance, low, high, spacing, dimensions, nearest)


def _check_boundary(name: str, size: Array, spacing: float) -> None:
    """UserError when a box of the size (2,) or (3,) [m] has too many boundary particles."""
    count = size / spacing
    faces = 2.0 * float(count.sum() if len(size) == 2 else (count * np.roll(count, 1)).sum())
    if faces > MOST_BOUNDARY:
        words = f"moves and is {size.max():.3g} m long, up to {faces:.2g}"
        raise UserError(f"objects.{name}: {words} {_too_large(spacing)}")


def _check_nodes(name: str, size: Array, spacing: float) -> None:
    """UserError when a surface that is looked for in a box of the size (2,) or (3,) [m] takes too many nodes."""
    nodes = float(np.prod((4.0 if len(size) == 2 else 2.0) * size / spacing))
    if nodes > MOST_NODES:
        words = f"moves and is {size.max():.3g} m long: its surface is looked for at {nodes:.2g} points for"
        raise UserError(f"objects.{name}: {words} {_too_large(spacing)}")


def _too_large(spacing: float) -> str:
    return (
        f"boundary particles {spacing:.3g} m apart; make it smaller, lower domain.resolution, or let it rest: one that "
        "rests ends at the domain"
    )


def sample_piece(solid: Solid, spacing: float, dimensions: int) -> tuple[Array, Array]:
    """Boundary particles (n, 3) [m] at t = 0 of a piece of a body that broke, however small or thin, at least one; and
    the points (n, 3) of its surface that they belong to.

    Points an even distance apart on the faces of its surface, moved in by r_P, but no farther than to the middle of the
    piece: of a plate thinner than the spacing those of both sides lie on one another.
    """
    position, rotation = solid.motion.pose(0.0)
    if dimensions == 2:
        found = np.concatenate([_along(loop, spacing) for loop in solid.shape.section(rotation).as_loops()])
    else:
        vertices, triangles = solid.shape.surface(24)
        found = _scatter_on((vertices @ rotation.T)[triangles], spacing)
    points, distance = found + position, partial(solid.distance, t=0.0, dimensions=dimensions)
    if dimensions == 3 and len(points) > 1:
        nearest = partial(solid.nearest, t=0.0) if solid.shape.as_mesh() is not None else None
        for _ in range(_SPREADS):
            spread = _spread(points, spacing)
            points = _project(distance, spread, spacing, dimensions) if nearest is None else nearest(spread)
    slope = _slope(distance, points, spacing, dimensions)
    way = -slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 0.5)
    depth, least = np.zeros(len(points)), np.zeros(len(points))
    for step in 0.5 * spacing * (np.arange(_DEPTHS) + 1) / _DEPTHS:
        there = distance(points + step * way)
        deeper = there < least
        depth[deeper], least[deeper] = step, there[deeper]
    return np.asarray(points + depth[:, None] * way), points


def surface_points(solid: Solid, points: Array, spacing: float, dimensions: int) -> Array:
    """Points (n, 3) of the surface of a solid at t = 0 next to boundary particles (n, 3) [m] of it."""
    return _project(partial(solid.distance, t=0.0, dimensions=dimensions), points, spacing, dimensions)


def _along(loop: Array, spacing: float) -> Array:
    """Points (n, 3) at even distances along a closed line (m, 3) in the plane."""
    ends = np.concatenate([loop, loop[:1]])
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ends, axis=0), axis=1))])
    count = max(1, round(length[-1] / spacing))
    at = (np.arange(count) + 0.5) / count * length[-1]
    return np.stack([np.interp(at, length, ends[:, 0]), np.interp(at, length, ends[:, 1]), 0.0 * at], axis=1)


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
    from skimage.measure import marching_cubes

    vertices, triangles, _, _ = marching_cubes(values, 0.0)
    return _scatter_on(step * vertices[triangles], spacing)


def _scatter_on(corners: Array, spacing: float) -> Array:
    """Points (n, 3) on triangles (m, 3, 3), one for every square of the spacing."""
    from scipy.spatial import cKDTree

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


def boundary_volumes(position: Array, spacing: float, dimensions: int, is_piece: bool = False) -> Array:
    """Volumes (n,) [m3; 2D m2] of one layer of boundary particles at (n, 3) [m].

    V_k = V0 / sum_l W_kl (Akinci et al. 2012, eq. 4), V0 such that a flat layer, one spacing below a lattice of fluid,
    adds to its density what the half space beyond would add. Those of a piece, which may be a point or two, count no
    more than in a flat layer.
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
    if is_piece:
        total = np.maximum(total, plane)
    return np.asarray(sums.wall * spacing**dimensions * plane / total)
