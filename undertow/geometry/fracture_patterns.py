"""Fracture patterns: all of space cut into labelled regions about a point and a normal (thesis 2.4.1 and 2.4.3,
[@schroeder2011]), to be placed on a body where it is hit.

A pattern is a tiling of the unit box by closed meshes. Its centre is where the impact goes, its normal is laid along
the normal of the impact, and its up direction as near to the body's y axis as the normal lets it. In 3D the normal is
the z axis of the box, in 2D its y axis; regions of 2D patterns are prisms along z over a tiling of the unit square.

Regions that share a face share its triangles, or lie on either side of one plane, so that nothing is left between them.
Random numbers are those of a counter (Philox) keyed by the seed: the same pattern for the same seed, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.meshes import MeshShape
from undertow.grid import Array

MOST_REGIONS = 5000
"""Regions of a pattern."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Labelled regions that tile a box.

    regions: closed meshes, a region's label is its place among them; size (3,): upper corner of the box, whose longest
    side is 1 and whose lower corner is the origin; centre (3,) of fracture in the box; normal, up (3,): unit vectors at
    right angles; dimensions: 2 or 3.
    """

    name: str
    regions: tuple[MeshShape, ...]
    size: Array
    centre: Array
    normal: Array
    up: Array
    dimensions: int


def make_pattern(name: str, seed: int = 0, pieces: int = 24, dimensions: int = 3, **options: Any) -> Pattern:
    """The pattern ``name`` of ``PATTERNS``, of about ``pieces`` regions; made once and kept.

    options: those of its function, such as ``grading`` of ``voronoi``.
    """
    if name not in PATTERNS:
        raise UserError(f"fracture pattern {name!r}: there is no such pattern; choose one of {', '.join(PATTERNS)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UserError(f"fracture pattern {name}: seed = {seed!r}: must be a whole number, 0 or more")
    if isinstance(pieces, bool) or not isinstance(pieces, int) or not 2 <= pieces <= MOST_REGIONS:
        raise UserError(
            f"fracture pattern {name}: pieces = {pieces!r}: must be a whole number from 2 to {MOST_REGIONS}"
        )
    if dimensions not in (2, 3):
        raise UserError(f"fracture pattern {name}: dimensions = {dimensions!r}: must be 2 or 3")
    return _make_pattern(name, seed, pieces, dimensions, tuple(sorted(options.items())))


@lru_cache(maxsize=64)
def _make_pattern(name: str, seed: int, pieces: int, dimensions: int, options: tuple[tuple[str, Any], ...]) -> Pattern:
    random = np.random.Generator(np.random.Philox(key=seed))
    regions = PATTERNS[name](random, pieces, dimensions, **dict(options))
    meshes = tuple(MeshShape(v, t, f"region {n} of fracture pattern {name}") for n, (v, t) in enumerate(regions))
    x, y, z = np.eye(3)
    normal, up = (z, y) if dimensions == 3 else (y, -x)
    return Pattern(name, meshes, np.ones(3), np.full(3, 0.5), normal, up, dimensions)


# makers: (random numbers, pieces, dimensions) -> vertices and triangles of every region -------------------------------

Regions = list[tuple[Array, Any]]


def _voronoi(random: np.random.Generator, pieces: int, dimensions: int, grading: float = 0.0) -> Regions:
    """Cells of random seeds; ``grading`` g draws those at a share s of the way from the centre to the box in to
    s^(1 + g)."""
    if not (np.isfinite(grading) and 0.0 <= grading <= 4.0):
        raise UserError(f"fracture pattern voronoi: grading = {grading}: must be from 0 (uniform) to 4")
    arm = random.random((pieces, dimensions)) - 0.5
    share = 2.0 * np.abs(arm).max(axis=1, keepdims=True)
    seeds = 0.5 + arm * share**grading
    if dimensions == 3:
        return _voronoi_cells(seeds)
    return _layered(_voronoi_polygons(seeds), 1)


def _radial(random: np.random.Generator, pieces: int, dimensions: int, layers: int = 1) -> Regions:
    """Straight rays from the centre and rings about it, denser towards it, in ``layers`` along the normal."""
    return _layered(_rays_and_rings(random, pieces, layers, 0.3, 0.0), layers, dimensions)


PATTERNS: dict[str, Callable[..., Regions]] = {
    "radial": _radial,
    "voronoi": _voronoi,
}
"""Every pattern that is made by rule."""


# tilings of the unit square and of the unit box -----------------------------------------------------------------------


def _rays_and_rings(
    random: np.random.Generator, pieces: int, layers: int, turn: float, bend: float
) -> list[Array]:
    """Polygons between rays and rings about the middle of the unit square: rays turned by up to ``turn`` of half their
    distance, corners moved by up to ``bend`` of half the distance of their neighbours."""
    wanted = max(pieces / layers, 3.0)
    rays = max(5, round(np.sqrt(2.0 * wanted)))
    rings = max(1, round(wanted / rays))
    spread = turn * (random.random(rays) - 0.5)
    angle = 2.0 * np.pi * (np.arange(rays) + spread) / rays
    # radii of inner rings, which leave a share of the square to the outermost pieces
    radius = 0.46 * (np.arange(1, rings) / rings) ** 1.5
    gap = np.diff(np.concatenate([[0.0], radius, [0.5]]))
    shift = random.random((2, len(radius), rays)) - 0.5
    r = radius[:, None] + bend * shift[0] * np.minimum(gap[:-1], gap[1:])[:, None]
    a = angle[None, :] + bend * shift[1] * (2.0 * np.pi / rays) * (1.0 - turn)
    corner = 0.5 + np.stack([r * np.cos(a), r * np.sin(a)], axis=-1)
    polygons = []
    for k in range(rays):
        following = (k + 1) % rays
        inner = [np.array([0.5, 0.5])]
        for ring in corner:
            polygons.append(np.array([*inner, ring[k], ring[following]]))
            inner = [ring[following], ring[k]]
        polygons.append(np.array([*inner, *_walk_square(angle[k], angle[following])]))
    return polygons


def _walk_square(start: float, end: float) -> Array:
    """Points of the edge of the unit square seen from its middle between two angles, counter-clockwise, with the
    corners between them."""
    start, end = start % (2.0 * np.pi), end % (2.0 * np.pi)
    end += 2.0 * np.pi * (end <= start)
    corners = 0.25 * np.pi + 0.5 * np.pi * np.arange(8)
    angles = [start, *corners[(corners > start) & (corners < end)], end]
    points = []
    for angle in angles:
        direction = np.array([np.cos(angle), np.sin(angle)])
        points.append(np.clip(0.5 + 0.5 * direction / np.abs(direction).max(), 0.0, 1.0))
    return np.array(points)


def _layered(polygons: list[Array], layers: int, dimensions: int = 2) -> Regions:
    """Prisms over polygons (n, 2), counter-clockwise, in equal layers from z = 0 to 1."""
    if isinstance(layers, bool) or not isinstance(layers, int) or not 1 <= layers <= 100:
        raise UserError(f"fracture pattern: layers = {layers!r}: must be a whole number from 1 to 100")
    if dimensions == 2 and layers > 1:
        raise UserError(f"fracture pattern: layers = {layers} has no effect in 2D; leave it out")
    z = np.linspace(0.0, 1.0, layers + 1)
    return [_prism(polygon, low, high) for low, high in zip(z[:-1], z[1:], strict=True) for polygon in polygons]


def _prism(polygon: Array, low: float | Array, high: float | Array) -> tuple[Array, Any]:
    """Prism over a polygon (n, 2), counter-clockwise, between heights z, one for all corners or (n,)."""
    n = len(polygon)
    floor = np.column_stack([polygon, np.broadcast_to(low, n)])
    roof = np.column_stack([polygon, np.broadcast_to(high, n)])
    cap = triangulate_polygon(polygon)
    i = np.arange(n)
    j = (i + 1) % n
    sides = [np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])]
    return np.concatenate([floor, roof]), np.concatenate([cap[:, ::-1], cap + n, *sides])


def triangulate_polygon(polygon: Array) -> Any:
    """Triangles (n - 2, 3) of a simple polygon (n, 2), counter-clockwise, by cutting off ears."""
    left = list(range(len(polygon)))
    triangles = []
    while len(left) > 3:
        best, chosen = -np.inf, 0
        for m in range(len(left)):
            i, j, k = left[m - 1], left[m], left[(m + 1) % len(left)]
            a, b, c = polygon[i], polygon[j], polygon[k]
            area = _cross(b - a, c - a)
            rest = polygon[[p for p in left if p not in (i, j, k)]]
            holds = (_cross(b - a, rest - a) >= 0) & (_cross(c - b, rest - b) >= 0) & (_cross(a - c, rest - c) >= 0)
            # the ear whose shape is best: twice the area over the square of the longest side
            quality = area / max(float(np.sum((p - q) ** 2)) for p, q in ((a, b), (b, c), (c, a)))
            if area > 0.0 and not holds.any() and quality > best:
                best, chosen = quality, m
        if best == -np.inf:
            raise UserError("polygon: it crosses or touches itself; give its corners in order")
        triangles.append([left[chosen - 1], left[chosen], left[(chosen + 1) % len(left)]])
        del left[chosen]
    return np.array([*triangles, left], dtype=np.int64)


def _cross(a: Array, b: Array) -> Any:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _mirrored(seeds: Array) -> Array:
    """Seeds (n, d) in the unit box and their images in its sides, so that the cells of the seeds end there."""
    images = [seeds]
    for axis in range(seeds.shape[1]):
        for side in (0.0, 1.0):
            image = seeds.copy()
            image[:, axis] = 2.0 * side - image[:, axis]
            images.append(image)
    return np.concatenate(images)


def _find_voronoi(seeds: Array) -> tuple[Array, list[tuple[int, int, list[int]]]]:
    """Vertices (n, d) of the Voronoi cells in the unit box, and their faces: cell, neighbour, corners."""
    from scipy.spatial import Voronoi

    found = Voronoi(_mirrored(seeds))
    vertices = found.vertices
    for side in (0.0, 1.0):
        vertices = np.where(np.abs(vertices - side) < 1e-9, side, vertices)
    faces = []
    for (i, j), corners in zip(found.ridge_points.tolist(), found.ridge_vertices, strict=True):
        if min(i, j) < len(seeds):
            faces.append((min(i, j), max(i, j), corners))
    return vertices, faces


def _voronoi_cells(seeds: Array) -> Regions:
    """Voronoi cells of seeds (n, 3) in the unit box; neighbours share the triangles of their face."""
    vertices, faces = _find_voronoi(seeds)
    triangles: list[list[Any]] = [[] for _ in seeds]
    for i, j, corners in faces:
        first = int(np.argmin(corners))
        loop = np.array(corners[first:] + corners[:first])
        a, b, c = vertices[loop[0]], vertices[loop[1:-1]], vertices[loop[2:]]
        outward = np.cross(b - a, c - a).sum(axis=0) @ (a - seeds[i])
        fan = np.column_stack([np.full(len(loop) - 2, loop[0]), loop[1:-1], loop[2:]])
        fan = fan if outward > 0.0 else fan[:, ::-1]
        triangles[i].append(fan)
        if j < len(seeds):
            triangles[j].append(fan[:, ::-1])
    regions = []
    for own in triangles:
        used, number = np.unique(np.concatenate(own), return_inverse=True)
        regions.append((vertices[used], number.reshape(-1, 3)))
    return regions


def _voronoi_polygons(seeds: Array) -> list[Array]:
    """Voronoi cells of seeds (n, 2) in the unit square, counter-clockwise."""
    vertices, faces = _find_voronoi(seeds)
    corners: list[set[int]] = [set() for _ in seeds]
    for i, j, ends in faces:
        corners[i].update(ends)
        if j < len(seeds):
            corners[j].update(ends)
    polygons = []
    for seed, own in zip(seeds, corners, strict=True):
        arm = vertices[sorted(own)] - seed
        polygons.append(seed + arm[np.argsort(np.arctan2(arm[:, 1], arm[:, 0]), kind="stable")])
    return polygons
