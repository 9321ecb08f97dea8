"""Water over a finished picture: rays that it reflects and refracts, followed through water and solids.

Where the water is the first thing that a ray from the camera meets, the ray splits by Schlick's fit of Fresnel's law.
Both parts are followed from surface to surface until they meet a solid, the floor or the sky: at a surface of water
they go on by Snell's law, or are thrown back where it has no solution, and what a second surface mirrors is taken from
the sky alone. Light is lost in the water by the law of Beer and Lambert. Between the water and what it touches, solids
or the floor, there is no air. What the water covers is lit through it, straight from above; it gathers no light, and
what is dry is lit as if it were not there.

Triangles are looked up in a grid of cells that a ray walks through (Amanatides and Woo 1987, "A fast voxel traversal
algorithm for ray tracing"). One ray per pixel, four where the picture changes from pixel to pixel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Grid
from undertow.grid.jitting import helper
from undertow.output.camera import Camera
from undertow.output.frames import SurfaceFrame
from undertow.output.raymarch import (
    Lights,
    Medium,
    Stage,
    Surface,
    _in_bands,
    _shade_background,
    _shade_surface,
    rasterize,
)

_INDEX = 1.33
_REFLECTANCE = 0.02
"""Of water at a right angle."""

_ABSORPTION = np.array([2.2, 0.55, 0.38])
"""Optical depth of the three colors over the radius of the scene."""

_SCATTERED = np.array([0.012, 0.060, 0.085])
"""Light that deep water gives back."""

_SURFACES = 8
"""Surfaces of water that a ray is followed through."""

_FILM = 0.6
"""Depth of water, seen from the camera, below which a solid behind it is dry [gaps]."""

_CONTRAST = 0.12
"""Pixels whose light differs from that of a neighbour by this share are drawn with four rays."""

_COLORS = np.array(
    [
        [5.6, 5.0, 4.2],
        [0.50, 0.62, 0.80],
        [0.42, 0.50, 0.58],
        [0.10, 0.17, 0.28],
        [0.22, 0.25, 0.27],
    ]
)
"""Sun, sky, horizon, zenith and floor of the stage of water, linear: a clear sky, where smoke stands in a dark room."""


class Cells(NamedTuple):
    """Triangles sorted into cells: those of cell c are items[starts[c]:starts[c + 1]].

    lower (3,) [m], width [m] of a cell, shape (3,) in x, y, z; corners (m, 3, 3) [m] of the triangles, the first
    ``solids`` of them of solids, the others of water, with corner normals (m, 3, 3) for the latter. gap [m]: water
    that is closer to a solid or to the floor touches it.
    """

    lower: np.ndarray
    width: float
    shape: np.ndarray
    starts: np.ndarray
    items: np.ndarray
    corners: np.ndarray
    normals: np.ndarray
    solids: int
    gap: float


def in_daylight(stage: Stage) -> Stage:
    """The stage with the light that water is seen in."""
    return stage._replace(colors=_COLORS)


def square_edges(water: SurfaceFrame, grid: Grid) -> SurfaceFrame:
    """The water with the edges that it has at the sides of its grid.

    The mesh is made between centres of cells and cuts off half a cell where two sides meet and where the surface meets
    a side. Vertices that are so close to a side, and do not face it, are moved on to it.
    """
    vertices = water.vertices.astype(float)
    for axis in range(3):
        askew = np.abs(water.normals[:, axis]) < 0.7
        for wall in (grid.lower[axis], grid.upper[axis]):
            vertices[askew & (np.abs(vertices[:, axis] - wall) < 0.501 * grid.dx), axis] = wall
    corners = vertices[water.triangles]
    twice = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return SurfaceFrame(vertices, water.triangles[twice > 1e-9 * grid.dx**2], water.normals, water.velocity)


def add_water(
    picture: np.ndarray,
    water: SurfaceFrame,
    solids: Surface,
    lights: Lights,
    medium: Medium,
    camera: Camera,
    stage: Stage,
    gap: float,
) -> np.ndarray:
    """The picture (height, width, 3), linear, with the water in front of what it shows.

    gap [m]: water that is closer to a solid or to the floor touches it.
    """
    height, width, _ = picture.shape
    if len(water.triangles) == 0:
        return picture
    corners = water.vertices[water.triangles].astype(float)
    front, triangle = rasterize(corners, camera, width, height)
    behind, _ = rasterize(solids.corners, camera, width, height)
    # a film on a solid that is thinner than the water is known is none
    seen = front * (1.0 - _FILM * gap * behind) > behind
    wet = seen.reshape(height, 2, width, 2)
    triangle[~seen] = -1
    some, whole = wet.any(axis=(1, 3)), wet.all(axis=(1, 3))
    cells = _sort_triangles(solids, corners, _normals(corners, water.normals[water.triangles]), gap)
    out = np.asarray(picture, dtype=float).copy()
    scene = (cells, solids, lights, medium, stage, camera)
    _in_bands(height, _shade_rows, *scene, some, 1, front, triangle, picture, out)
    again = some & (~whole | _changes(out))
    _in_bands(height, _shade_rows, *scene, again, 4, front, triangle, picture, out)
    return np.asarray(out, dtype=picture.dtype)


def _normals(corners: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Unit normals at the corners (m, 3, 3): those of the surface, but of the triangle past an edge of the water."""
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    face /= np.maximum(np.linalg.norm(face, axis=1, keepdims=True), 1e-300)
    smooth = np.einsum("mij,mj->mi", normals, face) > 0.5
    return np.where(smooth[..., None], normals, face[:, None]).astype(float)


def _changes(light: np.ndarray) -> np.ndarray:
    """True in pixels that are lighter or darker than a neighbour."""
    level = light.sum(axis=2)
    out = np.zeros(level.shape, dtype=bool)
    for axis in (0, 1):
        a, b = np.moveaxis(level, axis, 0)[:-1], np.moveaxis(level, axis, 0)[1:]
        edge = np.abs(a - b) > _CONTRAST * (a + b)
        turned = np.moveaxis(out, axis, 0)
        turned[:-1] |= edge
        turned[1:] |= edge
    return out


def _sort_triangles(solids: Surface, corners: np.ndarray, normals: np.ndarray, gap: float) -> Cells:
    """Every triangle in all cells that its plane crosses within its box."""
    joined = np.concatenate([solids.corners, corners])
    low, high = joined.min(axis=1), joined.max(axis=1)
    lower, upper = low.min(axis=0), high.max(axis=0)
    size = float((upper - lower).max())
    margin = 1e-6 * size
    lower, upper = lower - margin, upper + margin
    width = max(float(np.prod(upper - lower) / (4.0 * len(joined) + 64.0)) ** (1 / 3), size / 160.0)
    shape = np.floor((upper - lower) / width).astype(np.int64) + 1
    first = np.floor((low - margin - lower) / width).astype(np.int32).clip(0, shape - 1).astype(np.int32)
    last = np.floor((high + margin - lower) / width).astype(np.int32).clip(0, shape - 1).astype(np.int32)
    span = last - first + 1
    count = span.prod(axis=1)
    owner = np.repeat(np.arange(len(joined), dtype=np.int32), count)
    within = np.arange(len(owner), dtype=np.int32) - np.repeat((np.cumsum(count) - count).astype(np.int32), count)
    i = within % span[owner, 0]
    within //= span[owner, 0]
    cell = np.stack([i, within % span[owner, 1], within // span[owner, 1]], axis=1) + first[owner]
    # of the cells in a triangle's box only those that its plane comes near
    face = np.cross(joined[:, 1] - joined[:, 0], joined[:, 2] - joined[:, 0])
    reach = 0.5 * width * np.abs(face).sum(axis=1) * (1.0 + 1e-6) + margin * np.linalg.norm(face, axis=1)
    offset = np.einsum("ij,ij->i", face, joined[:, 0] - lower)
    large = np.flatnonzero(count[owner] > 8)
    centre = (cell[large] + 0.5) * width
    away = np.abs(np.einsum("ij,ij->i", face[owner[large]], centre) - offset[owner[large]]) > reach[owner[large]]
    kept = np.ones(len(owner), dtype=bool)
    kept[large[away]] = False
    owner, cell = owner[kept], cell[kept]
    index = (cell[:, 2] * int(shape[1]) + cell[:, 1]) * int(shape[0]) + cell[:, 0]
    order = np.argsort(index, kind="stable")
    starts = np.zeros(int(shape.prod()) + 1, dtype=np.int64)
    np.cumsum(np.bincount(index, minlength=int(shape.prod())), out=starts[1:])
    normals = np.concatenate([solids.normals, normals])
    return Cells(lower, width, shape, starts, owner[order], joined, normals, len(solids.corners), gap)


@helper
def _meet(corners, t, x, y, z, dx, dy, dz, least):  # type: ignore[no-untyped-def]
    """How far the ray goes to triangle t, infinity if it misses or meets it before ``least`` (Moeller, Trumbore)."""
    ax, ay, az = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    ex, ey, ez = corners[t, 1, 0] - ax, corners[t, 1, 1] - ay, corners[t, 1, 2] - az
    fx, fy, fz = corners[t, 2, 0] - ax, corners[t, 2, 1] - ay, corners[t, 2, 2] - az
    px, py, pz = dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx
    det = ex * px + ey * py + ez * pz
    if det == 0.0:
        return np.inf
    gx, gy, gz = x - ax, y - ay, z - az
    u = (gx * px + gy * py + gz * pz) / det
    if u < -1e-9 or u > 1.0 + 1e-9:
        return np.inf
    qx, qy, qz = gy * ez - gz * ey, gz * ex - gx * ez, gx * ey - gy * ex
    v = (dx * qx + dy * qy + dz * qz) / det
    if v < -1e-9 or u + v > 1.0 + 1e-9:
        return np.inf
    s = (fx * qx + fy * qy + fz * qz) / det
    return s if s > least else np.inf


@helper
def _first_met(cells, x, y, z, dx, dy, dz, least):  # type: ignore[no-untyped-def]
    """The first triangle that the ray meets and how far it is; -1 and infinity if there is none."""
    nx, ny, nz = cells.shape[0], cells.shape[1], cells.shape[2]
    h = cells.width
    enter, leave = 0.0, np.inf
    for axis in range(3):
        o = (x if axis == 0 else (y if axis == 1 else z)) - cells.lower[axis]
        d = dx if axis == 0 else (dy if axis == 1 else dz)
        far = cells.shape[axis] * h
        if d == 0.0:
            if o < 0.0 or o > far:
                return -1, np.inf
        else:
            a, b = -o / d, (far - o) / d
            enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    if enter >= leave:
        return -1, np.inf
    px, py, pz = x + enter * dx - cells.lower[0], y + enter * dy - cells.lower[1], z + enter * dz - cells.lower[2]
    i = min(max(int(px / h), 0), nx - 1)
    j = min(max(int(py / h), 0), ny - 1)
    k = min(max(int(pz / h), 0), nz - 1)
    # along each axis: where the next plane of cells is, and how far from plane to plane
    sx, tx = (h / abs(dx), enter + ((i + (1 if dx > 0.0 else 0)) * h - px) / dx) if dx != 0.0 else (np.inf, np.inf)
    sy, ty = (h / abs(dy), enter + ((j + (1 if dy > 0.0 else 0)) * h - py) / dy) if dy != 0.0 else (np.inf, np.inf)
    sz, tz = (h / abs(dz), enter + ((k + (1 if dz > 0.0 else 0)) * h - pz) / dz) if dz != 0.0 else (np.inf, np.inf)
    found, best = -1, np.inf
    while True:
        c = (k * ny + j) * nx + i
        for n in range(cells.starts[c], cells.starts[c + 1]):
            t = cells.items[n]
            s = _meet(cells.corners, t, x, y, z, dx, dy, dz, least)
            if s < best:
                found, best = t, s
        if best <= min(tx, ty, tz):
            return found, best
        if tx <= ty and tx <= tz:
            i += 1 if dx > 0.0 else -1
            tx += sx
            if i < 0 or i >= nx:
                return found, best
        elif ty <= tz:
            j += 1 if dy > 0.0 else -1
            ty += sy
            if j < 0 or j >= ny:
                return found, best
        else:
            k += 1 if dz > 0.0 else -1
            tz += sz
            if k < 0 or k >= nz:
                return found, best


@helper
def _turn(cells, t, x, y, z, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Unit normal of water triangle t at (x, y, z), interpolated and turned against the ray, and whether the ray
    leaves the water there."""
    p = cells.corners[t]
    ex, ey, ez = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    fx, fy, fz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    gx, gy, gz = x - p[0, 0], y - p[0, 1], z - p[0, 2]
    ee, ef, ff = ex * ex + ey * ey + ez * ez, ex * fx + ey * fy + ez * fz, fx * fx + fy * fy + fz * fz
    ge, gf = gx * ex + gy * ey + gz * ez, gx * fx + gy * fy + gz * fz
    det = max(ee * ff - ef * ef, 1e-300)
    s = min(max((ff * ge - ef * gf) / det, 0.0), 1.0)
    r = min(max((ee * gf - ef * ge) / det, 0.0), 1.0)
    q = max(1.0 - s - r, 0.0)
    n = cells.normals[t]
    nx = q * n[0, 0] + s * n[1, 0] + r * n[2, 0]
    ny = q * n[0, 1] + s * n[1, 1] + r * n[2, 1]
    nz = q * n[0, 2] + s * n[1, 2] + r * n[2, 2]
    # by the triangle, whose interpolated normals may turn away at its rim
    ax, ay, az = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    leaves = ax * dx + ay * dy + az * dz > 0.0
    sign = -1.0 if leaves else 1.0
    if sign * (nx * dx + ny * dy + nz * dz) >= 0.0:
        nx, ny, nz = ax, ay, az
    length = sign / max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-300)
    return nx * length, ny * length, nz * length, leaves


@helper
def _mirrored(facing):  # type: ignore[no-untyped-def]
    """Share of the light that water mirrors, by the cosine of the angle in the air (Schlick 1994, eq. 15)."""
    return _REFLECTANCE + (1.0 - _REFLECTANCE) * (1.0 - min(facing, 1.0)) ** 5


@helper
def _depth(cells, x, y, z, least):  # type: ignore[no-untyped-def]
    """How far the surface is above a point in the water [m], solids between them left out of account: the way that
    light from above goes in the water; 0 where there is none."""
    way = 0.0
    for _ in range(_SURFACES):
        t, s = _first_met(cells, x, y + way, z, 0.0, 1.0, 0.0, least)
        if t < 0:
            return 0.0
        way += s
        if t >= cells.solids:
            return way
    return 0.0


@helper
def _follow(cells, solids, lights, medium, stage, x, y, z, dx, dy, dz, wet, share, light, out):  # type: ignore[no-untyped-def]
    """out (3,) += share of the light that comes along the ray from (x, y, z), which starts in the water or outside."""
    red, green, blue = share, share, share
    least = 1e-5 * stage.radius
    for _ in range(_SURFACES):
        t, s = _first_met(cells, x, y, z, dx, dy, dz, least)
        ground = (stage.floor - y) / dy if dy < 0.0 else np.inf
        if wet and t >= cells.solids:
            # what the water touches it is not parted from by the air that the mesh leaves between them
            behind, way = _first_met(cells, x + s * dx, y + s * dy, z + s * dz, dx, dy, dz, least)
            if 0 <= behind < cells.solids and way < cells.gap:
                t, s = behind, s + way
        if ground <= s or (wet and ground < s + cells.gap):
            t, s = -1, ground
        if wet:
            path = min(s, 8.0 * stage.radius) / stage.radius
            a, b, c = np.exp(-path * _ABSORPTION[0]), np.exp(-path * _ABSORPTION[1]), np.exp(-path * _ABSORPTION[2])
            out[0] += red * (1.0 - a) * _SCATTERED[0]
            out[1] += green * (1.0 - b) * _SCATTERED[1]
            out[2] += blue * (1.0 - c) * _SCATTERED[2]
            red, green, blue = red * a, green * b, blue * c
        if t < cells.solids:
            if t >= 0:
                _shade_surface(solids, lights, medium, stage, t, x, y, z, dx, dy, dz, s, light)
            else:
                _shade_background(lights, medium, stage, x, y, z, dx, dy, dz, light)
                toward = min(max(dx * stage.sun[0] + dy * stage.sun[1] + dz * stage.sun[2], 0.0), 1.0)
                for c in range(3):
                    light[c] += toward**600 * stage.colors[0, c]
            if wet and s < np.inf:
                # what lights it has come down through the water
                s -= min(s, 0.1 * cells.gap)
                depth = _depth(cells, x + s * dx, y + s * dy, z + s * dz, least) / stage.radius
                red *= np.exp(-depth * _ABSORPTION[0])
                green *= np.exp(-depth * _ABSORPTION[1])
                blue *= np.exp(-depth * _ABSORPTION[2])
            out[0] += red * light[0]
            out[1] += green * light[1]
            out[2] += blue * light[2]
            return
        x, y, z = x + s * dx, y + s * dy, z + s * dz
        nx, ny, nz, leaves = _turn(cells, t, x, y, z, dx, dy, dz)
        if leaves != wet:  # the far side of water that it was not in
            continue
        facing = -(nx * dx + ny * dy + nz * dz)
        ratio = _INDEX if leaves else 1.0 / _INDEX
        within = 1.0 - ratio * ratio * (1.0 - facing * facing)
        if within <= 0.0:
            dx, dy, dz = dx + 2.0 * facing * nx, dy + 2.0 * facing * ny, dz + 2.0 * facing * nz
            continue
        if not leaves:
            kept = _mirrored(facing)
            up = max(dy + 2.0 * facing * ny, 0.0)
            blend = np.sqrt(min(up, 1.0))
            horizon, zenith = stage.colors[2], stage.colors[3]
            out[0] += red * kept * (horizon[0] + (zenith[0] - horizon[0]) * blend)
            out[1] += green * kept * (horizon[1] + (zenith[1] - horizon[1]) * blend)
            out[2] += blue * kept * (horizon[2] + (zenith[2] - horizon[2]) * blend)
            red, green, blue = red * (1.0 - kept), green * (1.0 - kept), blue * (1.0 - kept)
        bend = ratio * facing - np.sqrt(within)
        dx, dy, dz = ratio * dx + bend * nx, ratio * dy + bend * ny, ratio * dz + bend * nz
        wet = not leaves
    # lost between mirrors: what deep water gives back
    out[0] += red * _SCATTERED[0]
    out[1] += green * _SCATTERED[1]
    out[2] += blue * _SCATTERED[2]


@njit(cache=True, nogil=True)
def _shade_rows(  # type: ignore[no-untyped-def]
    first, last, cells, solids, lights, medium, stage, camera, chosen, samples, front, triangle, picture, out
):
    """The chosen pixels of the rows [first, last): mean of the first ``samples`` of their 2 x 2 samples, those that see
    water by their rays; front: 1 / depth of the water, triangle: which of its own, -1 for none."""
    rows, columns = front.shape
    a = camera.axes
    light, total = np.zeros(3), np.zeros(3)
    for j in range(first, last):
        for i in range(chosen.shape[1]):
            if not chosen[j, i]:
                continue
            total[:] = 0.0
            for n in range(samples):
                row, column = 2 * j + n // 2, 2 * i + n % 2
                t = triangle[row, column]
                if t < 0:
                    for c in range(3):
                        total[c] += picture[j, i, c]
                    continue
                across = (2.0 * (column + 0.5) / columns - 1.0) * camera.half_width
                up = (1.0 - 2.0 * (row + 0.5) / rows) * camera.half_height
                dx = across * a[0, 0] + up * a[1, 0] + a[2, 0]
                dy = across * a[0, 1] + up * a[1, 1] + a[2, 1]
                dz = across * a[0, 2] + up * a[1, 2] + a[2, 2]
                depth = 1.0 / front[row, column]
                x = camera.position[0] + depth * dx
                y = camera.position[1] + depth * dy
                z = camera.position[2] + depth * dz
                length = np.sqrt(dx * dx + dy * dy + dz * dz)
                dx, dy, dz = dx / length, dy / length, dz / length
                nx, ny, nz, _ = _turn(cells, cells.solids + t, x, y, z, dx, dy, dz)
                facing = -(nx * dx + ny * dy + nz * dz)
                share = _mirrored(facing)
                mx, my, mz = dx + 2.0 * facing * nx, dy + 2.0 * facing * ny, dz + 2.0 * facing * nz
                _follow(cells, solids, lights, medium, stage, x, y, z, mx, my, mz, False, share, light, total)
                ratio = 1.0 / _INDEX
                bend = ratio * facing - np.sqrt(1.0 - ratio * ratio * (1.0 - facing * facing))
                dx, dy, dz = ratio * dx + bend * nx, ratio * dy + bend * ny, ratio * dz + bend * nz
                _follow(cells, solids, lights, medium, stage, x, y, z, dx, dy, dz, True, 1.0 - share, light, total)
            for c in range(3):
                out[j, i, c] = total[c] / samples
