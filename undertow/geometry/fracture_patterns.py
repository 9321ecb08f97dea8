"""Fracture patterns: all of space cut into labelled regions about a point and a normal (thesis 2.4.1 and 2.4.3,
[@schroeder2011]), to be placed on a body where it is hit.

A pattern is a tiling of the unit box by closed meshes. Its centre is where the impact goes, its normal is laid along
the normal of the impact, and its up direction as near to the body's y axis as the normal lets it. In 3D the normal is
the z axis of the box, in 2D its y axis; regions of 2D patterns are prisms along z over a tiling of the unit square.

Regions that share a face share its triangles, or lie on either side of one plane, so that nothing is left between them.
Random numbers are those of a counter (Philox) keyed by the seed: the same pattern for the same seed, everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.meshes import READABLE, MeshShape, load_mesh
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

    @property
    def volume(self) -> float:
        """Of the box."""
        return float(np.prod(self.size))


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
    known = [key for key in inspect.signature(PATTERNS[name]).parameters][3:]
    for key in options:
        if key not in known:
            raise UserError(
                f"fracture pattern {name}: {key} is none of its options"
                + (f"; it has {', '.join(known)}" if known else "; it has none, leave it out")
            )
    return _make_pattern(name, seed, pieces, dimensions, tuple(sorted(options.items())))


@lru_cache(maxsize=64)
def _make_pattern(name: str, seed: int, pieces: int, dimensions: int, options: tuple[tuple[str, Any], ...]) -> Pattern:
    random = np.random.Generator(np.random.Philox(key=seed))
    regions = PATTERNS[name](random, pieces, dimensions, **dict(options))
    meshes = tuple(MeshShape(v, t, f"region {n} of fracture pattern {name}") for n, (v, t) in enumerate(regions))
    x, y, z = np.eye(3)
    normal, up = (z, y) if dimensions == 3 else (y, -x)
    return Pattern(name, meshes, np.ones(3), np.full(3, 0.5), normal, up, dimensions)


HOLES = 1e-5
"""Share of the box of a folder of meshes that may be in none of them, or in two: what single precision leaves."""


def from_folder(
    folder: str | Path, centre: Sequence[float] | None = None, normal: Sequence[float] = (0.0, 0.0, 1.0)
) -> Pattern:
    """A pattern of one closed mesh per file (OBJ, PLY, STL, glTF) of a folder, which tile their common box.

    The box is scaled evenly so that its longest side is 1. centre (3,): of fracture, in the units of the files, default
    the middle of the box; normal (3,): what is laid along the normal of the impact. Read once, and again when a file
    has changed.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"fracture pattern {folder}: there is no such folder; give one with a closed mesh per region")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in READABLE)
    if len(paths) < 2:
        raise UserError(
            f"fracture pattern {folder}: {len(paths)} mesh(es): a pattern needs at least two; export every region as a "
            f"file of its own ({', '.join(READABLE)})"
        )
    stamps = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return _read_folder(folder, stamps, None if centre is None else tuple(centre), tuple(normal))


@lru_cache(maxsize=16)
def _read_folder(
    folder: Path,
    stamps: tuple[tuple[Path, int, int], ...],
    centre: tuple[float, ...] | None,
    normal: tuple[float, ...],
) -> Pattern:
    given = [(path.name, _load_region(folder, path)) for path, _, _ in stamps]
    lower = np.min([mesh.bounds()[0] for _, mesh in given], axis=0)
    upper = np.max([mesh.bounds()[1] for _, mesh in given], axis=0)
    side = float(np.max(upper - lower))
    size = (upper - lower) / side
    meshes = [(name, MeshShape((mesh.vertices - lower) / side, mesh.triangles, name)) for name, mesh in given]
    _check_tiling(folder, meshes, size)
    where = 0.5 * size if centre is None else (np.array(centre, dtype=float) - lower) / side
    if where.shape != (3,) or not np.all((where > 0.0) & (where < size)):
        raise UserError(
            f"fracture pattern {folder}: centre = {list(centre or ())}: lies outside the box of the meshes, which "
            f"reaches from {lower.tolist()} to {upper.tolist()}; give a point inside"
        )
    along = np.array(normal, dtype=float)
    length = float(np.linalg.norm(along))
    if along.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        raise UserError(f"fracture pattern {folder}: normal = {list(normal)}: must be three numbers that are not all 0")
    along = along / length
    up = _frame(along, False)[:, 1]
    return Pattern(str(folder), tuple(mesh for _, mesh in meshes), size, where, along, up, 3)


def _load_region(folder: Path, path: Path) -> MeshShape:
    try:
        return load_mesh(path)
    except UserError as error:
        raise UserError(f"fracture pattern {folder}: {error}") from None


def _check_tiling(folder: Path, meshes: list[tuple[str, MeshShape]], size: Array) -> None:
    """Raise where two regions overlap, or where a part of the box is in none."""
    from manifold3d import Error, Manifold, Mesh64

    box = float(np.prod(size))
    solids = []
    for name, mesh in meshes:
        solid = Manifold(Mesh64(mesh.vertices, np.ascontiguousarray(mesh.triangles, dtype=np.uint64)))
        if solid.status() != Error.NoError or solid.volume() <= 0.0:
            raise UserError(
                f"fracture pattern {folder}: {name} encloses no space that can be cut ({solid.status().name}); mend "
                "the mesh: closed, wound outward, two triangles at every edge"
            )
        solids.append(solid)
    covered = 0.0
    for n, (name, mesh) in enumerate(meshes):
        covered += solids[n].volume()
        lower, upper = mesh.bounds()
        for m in range(n):
            other, away = meshes[m][1].bounds()
            if np.any(other >= upper) or np.any(away <= lower):
                continue
            shared = (solids[n] ^ solids[m]).volume()
            if shared > HOLES * box:
                raise UserError(
                    f"fracture pattern {folder}: {name} and {meshes[m][0]} overlap, by {100.0 * shared / box:.3g}% of "
                    "the box; subtract one from the other"
                )
    if covered < (1.0 - HOLES) * box:
        raise UserError(
            f"fracture pattern {folder}: its {len(meshes)} meshes leave holes, {100.0 * (1.0 - covered / box):.3g}% of "
            "their box is in none of them; add what is missing, or scale the pieces so that they fill the box"
        )


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
    return _layered(_rays_and_rings(random, pieces, dimensions, layers, 0.0), layers)


def _glass(random: np.random.Generator, pieces: int, dimensions: int, layers: int = 1, bend: float = 0.6) -> Regions:
    """Rays that bend where they cross rings, as a pane breaks; ``bend``: by how much of what keeps them apart."""
    if not (np.isfinite(bend) and 0.0 <= bend <= 0.9):
        raise UserError(f"fracture pattern glass: bend = {bend}: must be from 0 (straight) to 0.9")
    return _layered(_rays_and_rings(random, pieces, dimensions, layers, bend), layers)


def _brick(random: np.random.Generator, pieces: int, dimensions: int) -> Regions:
    """A wall of bricks twice as long as high, every other course, and in 3D every other layer, moved by half a brick.

    Nothing of it is random.
    """
    rows = max(1, round((2.0 * pieces) ** (1.0 / dimensions)))
    levels = np.linspace(0.0, 1.0, rows + 1)
    # lengths of 2 / rows; the first and last brick of a course are what is left
    even = np.unique(np.concatenate([np.arange(0, rows, 2), [rows]])) / rows
    odd = np.unique(np.concatenate([[0], np.arange(1, rows, 2), [rows]])) / rows
    layers = rows if dimensions == 3 else 1
    depth = np.linspace(0.0, 1.0, layers + 1)
    regions = []
    for layer in range(layers):
        for row in range(rows):
            ends = even if (row + layer) % 2 == 0 else odd
            for x0, x1 in zip(ends[:-1], ends[1:], strict=True):
                y0, y1 = levels[row : row + 2]
                outline = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
                regions.append(_prism(outline, depth[layer], depth[layer + 1]))
    return regions


def _wood(random: np.random.Generator, pieces: int, dimensions: int, slant: float = 0.4) -> Regions:
    """Splinters along the up direction of the pattern (2D: along its normal), each broken across by a slanted plane
    near the centre; ``slant``: how far these reach along the grain, as a share of the box."""
    if not (np.isfinite(slant) and 0.0 <= slant <= 0.45):
        raise UserError(f"fracture pattern wood: slant = {slant}: must be from 0 (square) to 0.45")
    count = max(2, pieces // 2)
    heights = 0.5 + slant * (random.random(count) - 0.5)
    if dimensions == 2:
        ends = (np.arange(count + 1) + np.concatenate([[0.0], 0.7 * (random.random(count - 1) - 0.5), [0.0]])) / count
        tilts = slant * (random.random(count) - 0.5)
        outlines = []
        for x0, x1, y, dy in zip(ends[:-1], ends[1:], heights, tilts, strict=True):
            outlines.append(np.array([(x0, 0.0), (x1, 0.0), (x1, y + dy), (x0, y - dy)]))
            outlines.append(np.array([(x0, y - dy), (x1, y + dy), (x1, 1.0), (x0, 1.0)]))
        return _layered(outlines, 1)
    regions = []
    for polygon, height in zip(_voronoi_polygons(random.random((count, 2))), heights, strict=True):
        arm = polygon - polygon.mean(axis=0)
        tilt = random.random(2) - 0.5
        lean = arm @ tilt
        cut = height + 0.5 * slant * lean / max(float(np.abs(lean).max()), np.finfo(float).tiny)
        for low, high in ((0.0, cut), (cut, 1.0)):
            vertices, triangles = _prism(polygon, low, high)
            # the grain, z of the prism, is y of the box: (x, y, z) <- (x, z, 1 - y)
            regions.append((np.column_stack([vertices[:, 0], vertices[:, 2], 1.0 - vertices[:, 1]]), triangles))
    return regions


PATTERNS: dict[str, Callable[..., Regions]] = {
    "radial": _radial,
    "brick": _brick,
    "voronoi": _voronoi,
    "glass": _glass,
    "wood": _wood,
}
"""Every pattern that is made by rule."""


# tilings of the unit square and of the unit box -----------------------------------------------------------------------


TURN = 0.3
"""Share of half the angle between rays by which each is turned at most."""


def _rays_and_rings(
    random: np.random.Generator, pieces: int, dimensions: int, layers: int, bend: float
) -> list[Array]:
    """Polygons between rays and rings about the middle of the unit square, their corners moved by up to ``bend`` of
    what keeps them apart."""
    if isinstance(layers, bool) or not isinstance(layers, int) or not 1 <= layers <= 100:
        raise UserError(f"fracture pattern: layers = {layers!r}: must be a whole number from 1 to 100")
    if dimensions == 2 and layers > 1:
        raise UserError(f"fracture pattern: layers = {layers} has no effect in 2D; leave it out")
    wanted = max(pieces / layers, 3.0)
    rays = max(5, round(np.sqrt(2.0 * wanted)))
    rings = max(1, round(wanted / rays))
    spread = TURN * (random.random(rays) - 0.5)
    angle = 2.0 * np.pi * (np.arange(rays) + spread) / rays
    # radii of inner rings, which leave a share of the square to the outermost pieces
    radius = 0.46 * (np.arange(1, rings) / rings) ** 1.5
    gap = np.diff(np.concatenate([[0.0], radius, [0.5]]))
    shift = random.random((2, len(radius), rays)) - 0.5
    r = radius[:, None] + bend * shift[0] * np.minimum(gap[:-1], gap[1:])[:, None]
    a = angle[None, :] + bend * shift[1] * (2.0 * np.pi / rays) * (1.0 - TURN)
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


def _layered(polygons: list[Array], layers: int) -> Regions:
    """Prisms over polygons (n, 2), counter-clockwise, in equal layers from z = 0 to 1."""
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
    a, b, c = polygon[left]
    if _cross(b - a, c - a) < 0.0:
        raise UserError("polygon: it crosses or touches itself; give its corners in order")
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


# on a body ------------------------------------------------------------------------------------------------------------

MARGIN = 1.01
"""How much larger than needed a placed pattern is, so that its outer faces cut nothing."""


@dataclass(frozen=True, eq=False)
class PlacedPattern:
    """A pattern on a body: its point q is at ``point + axes @ (q - pattern.centre)`` in the frame of the body's shape.

    point (3,): where the body is hit [m]; axes (3, 3): a rotation times lengths of the pattern's box [m], its columns
    at right angles; dimensions: 2 or 3.
    """

    pattern: Pattern
    point: Array
    axes: Array

    def to_body(self, points: Array) -> Array:
        """Points (n, 3) of the pattern's box in the frame of the body's shape [m]."""
        return np.asarray(self.point + (points - self.pattern.centre) @ self.axes.T)

    def planes_to_body(self, planes: Array) -> Array:
        """Planes (k, 4), n . q <= d, of the pattern's box in the frame of the body's shape, with unit normals."""
        normals = planes[:, :3] @ np.linalg.inv(self.axes)
        offset = planes[:, 3] + normals @ self.point - planes[:, :3] @ self.pattern.centre
        size = np.linalg.norm(normals, axis=1)
        return np.asarray(np.column_stack([normals, offset]) / size[:, None])


def align_pattern(
    pattern: Pattern, bounds: tuple[Array, Array], point: object, normal: object
) -> PlacedPattern:
    """The pattern with its centre at ``point`` (3,) [m] and its normal along ``normal`` (3,), scaled evenly so that it
    encloses ``bounds``, lower and upper corner (3,) [m]; all in the frame of the body's shape.

    Its up direction is laid as near to the y axis (3D; to -z where the normal is the y axis) as the normal lets it.
    """
    point, normal = np.array(point, dtype=float), np.array(normal, dtype=float)
    lower, upper = (np.asarray(end, dtype=float) for end in bounds)
    if point.shape != (3,) or not np.all(np.isfinite(point)):
        raise UserError(f"fracture: point = {point.tolist()}: must be three finite lengths [m]")
    flat = pattern.dimensions == 2
    if flat and normal.shape == (3,):
        normal[2] = 0.0
    length = float(np.linalg.norm(normal))
    if normal.shape != (3,) or not (np.isfinite(length) and length > 0.0):
        raise UserError(f"fracture: normal = {normal.tolist()}: must be a direction, three numbers that are not all 0")
    normal = normal / length
    rotation = _frame(normal, flat) @ np.column_stack(
        [np.cross(pattern.up, pattern.normal), pattern.up, pattern.normal]
    ).T  # fmt: skip
    corners = np.stack(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
    reach = (corners - point) @ rotation
    # in units of the box, how far it reaches from the centre of fracture
    low, high = pattern.centre, pattern.size - pattern.centre
    needed = MARGIN * np.maximum(reach.max(axis=0) / high, -reach.min(axis=0) / low)
    d = pattern.dimensions
    scale = np.full(3, max(float(needed[:d].max()), np.finfo(float).tiny))
    if flat:
        point = point * (1.0, 1.0, 0.0)
        scale[2] = 4.0 * max(float(np.max(upper - lower)), float(np.abs([lower[2], upper[2]]).max()))
    return PlacedPattern(pattern, point, rotation * scale)


def _frame(normal: Array, flat: bool) -> Array:
    """Rotation whose columns are side, up and normal."""
    up = np.array([0.0, 1.0, 0.0])
    if flat:
        up = np.array([-normal[1], normal[0], 0.0])
    elif abs(normal[1]) > 1.0 - 1e-6:
        up = np.array([0.0, 0.0, -1.0])
    up = up - (up @ normal) * normal
    up = up / np.linalg.norm(up)
    return np.column_stack([np.cross(up, normal), up, normal])
