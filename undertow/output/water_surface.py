"""The surface of water as a picture shows it: sheet and drops as one smooth surface.

A level set holds crests and streams that are hardly a cell thick as flat pieces with sharp rims, and what it cannot
hold flies as separate drops. For a picture

    phi' = min(phi, G * phi),      phi = smin(level set, distance to the drops)

with smin(a, b) = min(a, b) - max(k - |a - b|, 0)^2 / 4k, k a cell, which makes drops grow together that are closer
than half a cell, closes the gaps between them (G a Gaussian about a cell wide: where two parts come close, phi has a
ridge, which G lowers, and where the water is thin it has a valley, which is left as it is, so that nothing gets lost).
The triangles of phi' = 0 on cells of half the edge are then smoothed by steps that shrink and swell by turns (Taubin
1995, "A signal processing approach to fair surface design", eq. 4), which rounds rims and keeps volumes. Level water
and the sides of the domain stay where they are.
"""

from __future__ import annotations

import numpy as np

from undertow.grid import Grid
from undertow.output.frames import FrameData, SurfaceFrame
from undertow.output.water import square_edges

_GAP = 0.7
"""Standard deviation of G [cells]."""

_SHRINK, _SWELL, _STEPS = 0.5, -0.53, 10
"""Of Taubin's steps: the two factors, and how often both are done."""

_FEW, _FEW_STEPS = 150, 3
"""Parts of so few vertices, drops, are smoothed by so few steps: more would take their shape from them."""

_FINEST = 1.0e6
"""Cells of a grid that is still refined: finer ones show no facets."""


def smooth_water(frame: FrameData) -> SurfaceFrame | None:
    """The water of a frame as one smooth surface, or the frame's own where it has no level set to make it of."""
    surface, grid = frame.surface, frame.grid
    if surface is None or grid is None or "level_set" not in frame.cell_fields:
        return surface
    fine, phi = _refined(grid, np.asarray(frame.cell_fields["level_set"], dtype=float))
    _, centres, radii = take_drops(surface.vertices, surface.triangles)
    alone = _are_alone(fine, phi, centres, radii)
    _add_drops(fine, phi, centres[~alone], radii[~alone], grid.dx)
    mesh = _zero_surface(fine, _close_gaps(phi, _GAP * grid.dx / fine.dx))
    sheet = _fair(square_edges(mesh, fine), fine)
    balls = round_drops(centres[alone], radii[alone])
    return SurfaceFrame(
        np.concatenate([sheet.vertices, balls.vertices]),
        np.concatenate([sheet.triangles, balls.triangles + len(sheet.vertices)]),
        np.concatenate([sheet.normals, balls.normals]),
        np.concatenate([sheet.velocity, balls.velocity]),
    )


def round_drops(centres: np.ndarray, radii: np.ndarray) -> SurfaceFrame:
    """Balls of 80 triangles about centres (n, 3) [m] with radii (n,) [m]."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    tips = np.array([[0.0, y, z * golden] for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    tips = np.concatenate([np.roll(tips, shift, axis=1) for shift in range(3)]) / np.sqrt(1.0 + golden**2)
    edge = 2.0 / np.sqrt(1.0 + golden**2)
    near = np.abs(np.linalg.norm(tips[:, None] - tips, axis=2) - edge) < 1e-9
    faces = [
        (a, b, c) for a in range(12) for b in range(a) for c in range(b) if near[a, b] and near[b, c] and near[c, a]
    ]
    corners = tips[np.array(faces)]
    corners = np.where((np.linalg.det(corners) > 0.0)[:, None, None], corners, corners[:, ::-1])
    middles = corners + np.roll(corners, -1, axis=1)
    middles /= np.linalg.norm(middles, axis=2, keepdims=True)
    quarters = [np.stack([corners[:, i], middles[:, i], middles[:, i - 1]], axis=1) for i in range(3)]
    every = np.concatenate([*quarters, middles]).reshape(-1, 3).round(12)
    points, triangles = np.unique(every, axis=0, return_inverse=True)
    n, m = len(centres), len(points)
    vertices = centres[:, None] + radii[:, None, None] * points
    indices = triangles.reshape(1, -1, 3) + m * np.arange(n)[:, None, None]
    normals = np.tile(points, (n, 1))
    return SurfaceFrame(vertices.reshape(-1, 3), indices.reshape(-1, 3), normals, np.zeros_like(normals))


def take_drops(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The drops in the mesh of a frame, which has them as icosahedra: which triangles (m,) are theirs, centres (n, 3)
    [m], radii (n,) [m] of spheres of their volume. A drop is a part of its own with 20 triangles, corners at one
    distance from their centre."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    count = len(vertices)
    a, b = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    _, part = connected_components(coo_matrix((np.ones(len(a), dtype=np.int8), (a, b)), shape=(count, count)), False)
    corners, faces = np.bincount(part), np.bincount(part[triangles[:, 0]], minlength=int(part.max(initial=-1)) + 1)
    whole = (corners == 12) & (faces == 20)
    points = np.asarray(vertices, dtype=float)
    centre = np.stack([np.bincount(part, weights=points[:, i]) for i in range(3)], axis=1) / corners[:, None]
    away = np.linalg.norm(points - centre[part], axis=1)
    mean = np.bincount(part, weights=away) / corners
    uneven = np.bincount(part, weights=np.abs(away - mean[part])) / corners
    whole &= uneven < 1e-3 * mean
    return whole[part[triangles[:, 0]]], centre[whole], mean[whole] / _reach()


def _reach() -> float:
    """Distance of the corners of an icosahedron from its centre, in radii of the sphere of its volume."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    volume = 5.0 / 12.0 * (3.0 + np.sqrt(5.0)) * 2.0**3  # of edge 2
    return float(np.sqrt(1.0 + golden**2) * np.cbrt(4.0 / 3.0 * np.pi / volume))


def _refined(grid: Grid, phi: np.ndarray) -> tuple[Grid, np.ndarray]:
    """A grid of half the cell edge and the level set on it, linear between the centres of the coarse cells."""
    if phi.size > _FINEST:
        return grid, phi.copy()
    for axis in range(3):
        moved = np.moveaxis(phi, axis, 0)
        padded = np.concatenate([moved[:1], moved, moved[-1:]])
        fine = np.empty((2 * len(moved), *moved.shape[1:]))
        fine[0::2] = 0.75 * moved + 0.25 * padded[:-2]
        fine[1::2] = 0.75 * moved + 0.25 * padded[2:]
        phi = np.moveaxis(fine, 0, axis)
    nx, ny, nz = grid.cells
    return Grid((2 * nx, 2 * ny, 2 * nz), 0.5 * grid.dx, grid.lower), np.ascontiguousarray(phi)


def _are_alone(grid: Grid, phi: np.ndarray, centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Which drops (n,) are too far from the water and from each other to grow together: they are drawn as balls."""
    from scipy.ndimage import map_coordinates
    from scipy.spatial import cKDTree

    place = ((centres - np.asarray(grid.lower)) / grid.dx - 0.5)[:, ::-1]
    alone = map_coordinates(phi, place.T, order=1, mode="nearest") > radii + 1.2 * grid.dx
    if len(centres) > 1:
        away, other = (found[:, 1] for found in cKDTree(centres).query(centres, k=2))
        alone &= away > radii + radii[other] + 1.2 * grid.dx
    return np.asarray(alone)


def _add_drops(grid: Grid, phi: np.ndarray, centres: np.ndarray, radii: np.ndarray, blend: float) -> None:
    """phi = smin(phi, distance to the drops), in the cells around each. Drops are at least as large as they can be seen
    on the grid. blend [m]: k of smin."""
    lower, shape = np.asarray(grid.lower), np.array(grid.cells)
    radii = np.maximum(radii, 0.9 * grid.dx)
    for centre, radius in zip(centres, radii, strict=True):
        place = (centre - lower) / grid.dx - 0.5
        reach = (radius + blend) / grid.dx + 1.0
        first = np.clip(np.floor(place - reach).astype(int), 0, shape)
        last = np.clip(np.ceil(place + reach).astype(int) + 1, 0, shape)
        x, y, z = (np.arange(first[a], last[a]) - place[a] for a in range(3))
        distance = np.sqrt(z[:, None, None] ** 2 + y[:, None] ** 2 + x**2) * grid.dx - radius
        part = phi[first[2] : last[2], first[1] : last[1], first[0] : last[0]]
        part[...] = np.minimum(part, distance) - np.maximum(blend - np.abs(part - distance), 0.0) ** 2 / (4.0 * blend)


def _close_gaps(phi: np.ndarray, width: float) -> np.ndarray:
    """min(phi, G * phi); walls mirror the water. width: standard deviation of G [cells]."""
    from scipy.ndimage import gaussian_filter

    return np.minimum(phi, gaussian_filter(phi, width, mode="reflect"))


def _zero_surface(grid: Grid, phi: np.ndarray) -> SurfaceFrame:
    """Triangles of phi = 0 between the centres of cells, closed by the sides of the domain: one layer of |phi| around
    it puts the zero exactly there. Vertices on a side have the normal of the side."""
    from skimage.measure import marching_cubes

    inner = np.where(np.abs(phi) < 1e-6 * grid.dx, 1e-6 * grid.dx, phi)
    closed = np.abs(np.pad(inner, 1, mode="edge"))
    closed[1:-1, 1:-1, 1:-1] = inner
    if not closed.min() < 0.0:
        nothing = np.zeros((0, 3))
        return SurfaceFrame(nothing, np.zeros((0, 3), dtype=int), nothing, nothing)
    found, triangles, _, _ = marching_cubes(closed, 0.0, gradient_direction="ascent", allow_degenerate=False)
    points = np.asarray(grid.lower) + (found[:, ::-1].astype(float) - 0.5) * grid.dx
    normals = _vertex_normals(points, triangles)
    for axis in range(3):
        for end, wall in ((0, grid.lower[axis]), (1, grid.upper[axis])):
            on_side = np.abs(points[:, axis] - wall) < 1e-5 * grid.dx
            normals[on_side] = np.eye(3)[axis] * (2.0 * end - 1.0)
    return SurfaceFrame(points, triangles, normals, np.zeros_like(points))


def _vertex_normals(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Unit normals (n, 3) of vertices, those of their triangles by area; 0 where a vertex has none."""
    corners = points[triangles]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(points)
    for c in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(triangles[:, c], weights=face[:, axis], minlength=len(points))
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300))


def _fair(water: SurfaceFrame, grid: Grid) -> SurfaceFrame:
    """The water after Taubin's steps; vertices on a side of the domain stay on it."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    points, triangles = water.vertices.astype(float), water.triangles
    if len(triangles) == 0:
        return water
    before = points.copy()
    on_side = np.zeros((len(points), 3), dtype=bool)
    flat = np.zeros(len(triangles), dtype=bool)
    for axis in range(3):
        for wall in (grid.lower[axis], grid.upper[axis]):
            touches = np.abs(points[:, axis] - wall) < 1e-3 * grid.dx
            on_side[:, axis] |= touches
            flat |= touches[triangles].all(axis=1)
    free = triangles[~flat]
    a, b = free.ravel(), np.roll(free, -1, axis=1).ravel()
    count = len(points)
    ends = coo_matrix((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(count, count)).tocsr()
    degree = np.asarray(ends.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros(count), where=degree > 0.0)[:, None]
    part = connected_components(ends, directed=False)[1]
    small = np.bincount(part)[part] < _FEW
    moves = (degree > 0.0)[:, None] & ~on_side
    for step, factor in enumerate((_SHRINK, _SWELL) * _STEPS):
        if step == 2 * _FEW_STEPS:
            moves = moves & ~small[:, None]
        points += factor * moves * (inverse * (ends @ points) - points)
    _restore_volumes(before, points, triangles, part, np.asarray(on_side.any(axis=1)))
    normals = _vertex_normals(points, free)
    normals = np.where((np.abs(normals) > 0.0).any(axis=1, keepdims=True), normals, water.normals)
    return SurfaceFrame(points, triangles, normals, water.velocity)


def _restore_volumes(
    before: np.ndarray, points: np.ndarray, triangles: np.ndarray, part: np.ndarray, at_side: np.ndarray
) -> None:
    """Give the parts of a surface that touch no side of the domain the volume again that they had ``before``: points
    (n, 3) [m] are moved away from or towards the middle of their part (n,)."""
    count = int(part.max()) + 1
    size = np.bincount(part, minlength=count)
    total = np.stack([np.bincount(part, weights=points[:, a], minlength=count) for a in range(3)], axis=1)
    middle = total / np.maximum(size, 1)[:, None]
    owner = part[triangles[:, 0]]
    old, new = (
        np.bincount(owner, weights=np.linalg.det((x - middle[part])[triangles]), minlength=count)
        for x in (before, points)
    )
    held = np.bincount(part, weights=at_side, minlength=count) > 0.0
    ratio = np.where(~held & (new > 0.1 * old) & (old > 0.0), old / np.where(new > 0.0, new, 1.0), 1.0)
    points += (np.cbrt(ratio) - 1.0)[part, None] * (points - middle[part])
