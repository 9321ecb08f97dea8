"""Pictures of smoke and solids without a graphics library: a rasteriser for meshes and a ray marcher for smoke.

Smoke is a single-scattering medium: along a view ray x(s) the radiance is

    L = int T(s) sigma(s) (sun p(theta) S(s) + sky A(s)) ds + T(end) L_surface,      T(s) = exp(-int_0^s sigma)

(Max 1995, "Optical models for direct volume rendering", eq. 8, with one scattering event). The optical depths tau to
the sun and to the zenith are swept once per frame through the grid, plane by plane from the top. Light that is
scattered more than once is imitated by octaves of weaker extinction, S = sum_i b^i exp(-a^i tau) (Wrenninge, Kulla and
Lundqvist 2013, "Oz: the great and volumetric"). Solids are rasterised; their soft shadows come from depth maps seen
from many directions over the disc of the sun and over the sky. All is deterministic; there are no random numbers.

The kernels release the interpreter lock and run on bands of rows in plain threads: pixels are independent, and without
``parallel=True`` they compile in half the time (8 s instead of 16 s, once per machine).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import get_num_threads, njit

from undertow.grid.jitting import helper
from undertow.output.camera import Camera
from undertow.output.frames import BodyFrame

BLOCK = 8
"""Edge of the blocks of cells that a ray skips when they hold no smoke."""

_SUN_DIRECTION = np.array([-0.66, 0.74, 0.12]) / np.linalg.norm([-0.66, 0.74, 0.12])
_SUN_RADIUS = 0.09  # rad; a broad lamp, for soft shadows
_SUN_MAPS = 12
_SUN_PART = 0.6 * _SUN_RADIUS / math.sqrt(_SUN_MAPS)
"""Middle radius of the part of the sun's disc that a map stands for [rad]."""
_SKY_MAPS = 20
_MAP_SIZE = 256
_FORWARD_SCATTERING = 0.25  # g of Henyey and Greenstein


class Surface(NamedTuple):
    """Triangles of all bodies: corners (m, 3, 3) [m], corner normals (m, 3, 3), linear colors (m, 3)."""

    corners: np.ndarray
    normals: np.ndarray
    colors: np.ndarray


class Lights(NamedTuple):
    """Depth maps (n, size, size) seen along axes (n, 3, 3) (rows: two in-plane axes and the direction to the light).

    The first ``sun_maps`` look towards the sun, the others towards the sky. A map spans ``centre`` +- ``radius`` [m].
    """

    maps: np.ndarray
    axes: np.ndarray
    centre: np.ndarray
    radius: float
    sun_maps: int


class Medium(NamedTuple):
    """Smoke ready to be marched.

    cells (nz, ny, nx, 3): extinction [1/m], sun light, sky light.  tau (nz, ny, nx): optical depth to the sun.
    blocks: 1 where a block of cells holds smoke.  lower (3,) [m], dx [m].
    """

    cells: np.ndarray
    tau: np.ndarray
    blocks: np.ndarray
    lower: np.ndarray
    dx: float


class Stage(NamedTuple):
    """What surrounds the domain: floor height [m], centre (3,) [m] and radius [m] of the scene, colors (5, 3).

    Rows of colors, all linear: sun, sky, horizon, zenith, floor.
    """

    floor: float
    centre: np.ndarray
    radius: float
    sun: np.ndarray
    colors: np.ndarray


def make_stage(lower: np.ndarray, upper: np.ndarray) -> Stage:
    """A studio around the domain: a floor under it that fades into the horizon."""
    centre, radius = 0.5 * (lower + upper), 0.5 * float(np.linalg.norm(upper - lower))
    colors = np.array(
        [
            [5.6, 5.0, 4.2],
            [0.34, 0.46, 0.68],
            [0.040, 0.052, 0.070],
            [0.006, 0.009, 0.015],
            [0.036, 0.046, 0.058],
        ]
    )
    return Stage(float(lower[1]), centre, radius, _SUN_DIRECTION, colors)


def make_surface(bodies: list[BodyFrame]) -> Surface:
    """Triangles with smooth normals, except across edges sharper than 37 degrees."""
    corners, normals, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for body in bodies:
        corner = body.vertices[body.triangles].astype(float)
        corners.append(corner)
        normals.append(_corner_normals(corner, np.asarray(body.triangles)))
        colors.append(body.triangle_colors.astype(float) ** 2.2)
    return Surface(np.concatenate(corners), np.concatenate(normals), np.concatenate(colors))


def _corner_normals(corner: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Unit normals (m, 3, 3) at the corners of triangles: the mean, by area, of those around the vertex that are turned
    against the triangle by less than 37 degrees."""
    if len(triangles) == 0:
        return np.zeros((0, 3, 3))
    face = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    unit = face / np.maximum(np.linalg.norm(face, axis=1, keepdims=True), 1e-300)
    # corners sorted by vertex; every corner with all of its vertex, itself among them
    vertex = triangles.ravel()
    order = np.argsort(vertex, kind="stable")
    _, group, count = np.unique(vertex[order], return_inverse=True, return_counts=True)
    each = count[group.ravel()]
    offset = np.cumsum(each) - each
    mate = np.arange(each.sum()) + np.repeat((np.cumsum(count) - count)[group.ravel()] - offset, each)
    own, other = np.repeat(order // 3, each), order[mate] // 3
    near = np.einsum("ij,ij->i", unit[own], unit[other]) > 0.8
    near |= own == other
    total = np.zeros((len(order), 3))
    total[order] = np.add.reduceat(face[other] * near[:, None], offset)
    total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300)
    return total.reshape(-1, 3, 3)


def make_lights(surface: Surface, stage: Stage) -> Lights:
    """Depth maps of the solids from directions spread evenly over the disc of the sun and over the sky."""
    if len(surface.corners) == 0:
        return Lights(np.zeros((0, 1, 1), np.float32), np.zeros((0, 3, 3)), stage.centre, 1.0, 0)
    points = surface.corners.reshape(-1, 3)
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = 1.02 * float(np.linalg.norm(points - centre, axis=1).max())
    axes = np.stack([_frame_of(d) for d in _light_directions(stage.sun)])
    maps = np.full((len(axes), _MAP_SIZE, _MAP_SIZE), -np.inf, dtype=np.float32)
    scratch = np.full((_MAP_SIZE, _MAP_SIZE), -1, dtype=np.int32)
    for i in range(len(axes)):
        local = (surface.corners - centre) @ axes[i].T
        local[..., :2] = (local[..., :2] / radius + 1.0) * (0.5 * _MAP_SIZE)
        _rasterize_triangles(np.ascontiguousarray(local), maps[i], scratch)
    return Lights(maps, axes, centre, radius, _SUN_MAPS)


def make_medium(
    smoke: np.ndarray, extinction: float, lower: np.ndarray, dx: float, lights: Lights, stage: Stage
) -> Medium:
    """Extinction and incoming light of every cell. smoke (nz, ny, nx), extinction [1/m] per unit of smoke."""
    sigma = np.ascontiguousarray(np.maximum(smoke, 0.0) * extinction, dtype=np.float32)
    sigma[sigma < 1e-3 * extinction] = 0.0
    tau_sun = np.zeros_like(sigma)
    sun = stage.sun
    _sweep_optical_depth(sigma, dx / sun[1], sun[0] / sun[1], sun[2] / sun[1], tau_sun)
    above = np.cumsum(sigma[:, ::-1], axis=1)[:, ::-1]
    tau_sky = np.ascontiguousarray(np.float32(dx) * (above - np.float32(0.5) * sigma))
    cells = np.zeros((*sigma.shape, 3), dtype=np.float32)
    near, origin = _near_smoke(sigma), np.asarray(lower, dtype=float)
    rows = sigma.shape[0] * sigma.shape[1]
    _in_bands(rows, _light_cells, sigma, near, tau_sun, tau_sky, origin, dx, lights, cells)
    return Medium(cells, tau_sun, _occupied_blocks(near), origin, dx)


def draw(
    camera: Camera, surface: Surface, lights: Lights, medium: Medium, stage: Stage, width: int, height: int, step: float
) -> np.ndarray:
    """The picture, linear RGB (height, width, 3). ``step`` is the march in cells."""
    depth, triangle = rasterize(surface.corners, camera, width, height)
    out = np.zeros((height, width, 3), dtype=np.float32)
    _in_bands(height, _shade_pixels, camera, surface, lights, medium, stage, depth, triangle, step, out)
    return out


def rasterize(corners: np.ndarray, camera: Camera, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """1 / distance along the camera's axis (0: nothing) and triangle of 2 x 2 samples per pixel, of the nearest
    triangle; corners (m, 3, 3) [m]."""
    depth = np.zeros((2 * height, 2 * width), dtype=np.float32)
    triangle = np.full(depth.shape, -1, dtype=np.int32)
    local = (corners - camera.position) @ camera.axes.T
    ahead = np.flatnonzero((local[..., 2] > 1e-6).all(axis=1)) if len(corners) else np.zeros(0, dtype=int)
    if len(ahead):
        local = local[ahead]
        inverse = 1.0 / local[..., 2]
        local[..., 0] = (local[..., 0] * inverse / camera.half_width + 1.0) * width
        local[..., 1] = (1.0 - local[..., 1] * inverse / camera.half_height) * height
        local[..., 2] = inverse
        _rasterize_triangles(np.ascontiguousarray(local), depth, triangle)
        triangle[triangle >= 0] = ahead[triangle[triangle >= 0]]
    return depth, triangle


def tone_map(linear: np.ndarray) -> np.ndarray:
    """Linear light to 8-bit sRGB through a filmic curve (Narkowicz 2015, fit of the ACES curve)."""
    x = np.asarray(linear)
    x = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    x = np.clip(x, 0.0, 1.0) ** (1 / 2.2)
    return np.asarray(x * 255.0 + 0.5, dtype=np.uint8)


def _in_bands(rows: int, kernel: Callable[..., None], *arguments: object) -> None:
    """Call ``kernel(first, last, *arguments)`` for bands that cover the rows, on as many threads as Numba uses."""
    edges = [rows * i // 32 for i in range(33)]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        for done in [pool.submit(kernel, a, b, *arguments) for a, b in zip(edges, edges[1:], strict=False)]:
            done.result()


def _frame_of(direction: np.ndarray) -> np.ndarray:
    """Rows: two axes across a direction, and the direction."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(direction[0]) < 0.7 else np.array([0.0, 0.0, 1.0])
    first = np.cross(direction, helper)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(direction, first), direction])


def _light_directions(sun: np.ndarray) -> list[np.ndarray]:
    """Sunflower points on the disc of the sun, then on the upper hemisphere, cosine-weighted."""
    golden = math.pi * (3.0 - math.sqrt(5.0))
    frame = _frame_of(sun)
    directions = []
    for i in range(_SUN_MAPS):
        r, angle = _SUN_RADIUS * math.sqrt((i + 0.5) / _SUN_MAPS), i * golden
        d = sun + r * (math.cos(angle) * frame[0] + math.sin(angle) * frame[1])
        directions.append(d / np.linalg.norm(d))
    for i in range(_SKY_MAPS):
        r, angle = math.sqrt((i + 0.5) / _SKY_MAPS), i * golden
        directions.append(np.array([r * math.cos(angle), math.sqrt(1.0 - r * r), r * math.sin(angle)]))
    return directions


def _near_smoke(sigma: np.ndarray) -> np.ndarray:
    """True in the cells with smoke and in their neighbours, corners included: where trilinear samples find smoke."""
    near = sigma > 0.0
    for axis in range(3):
        smoke = near.copy()
        head: list[slice] = [slice(None)] * 3
        tail: list[slice] = [slice(None)] * 3
        head[axis], tail[axis] = slice(None, -1), slice(1, None)
        near[tuple(head)] |= smoke[tuple(tail)]
        near[tuple(tail)] |= smoke[tuple(head)]
    return near


def _occupied_blocks(near: np.ndarray) -> np.ndarray:
    """1 where a block of BLOCK^3 cells holds a cell near smoke."""
    padded = np.pad(near, [(0, -n % BLOCK) for n in near.shape])
    bz, by, bx = (n // BLOCK for n in padded.shape)
    # one axis at a time: a reduction over three axes at once is slow
    blocks = padded.reshape(bz, BLOCK, -1).any(axis=1).reshape(bz, by, BLOCK, -1).any(axis=2)
    return np.ascontiguousarray(blocks.reshape(bz, by, bx, BLOCK).any(axis=3), dtype=np.uint8)


@njit(cache=True)
def _rasterize_triangles(corners, out_depth, out_triangle):  # type: ignore[no-untyped-def]
    """Keep the largest depth per sample; corners (m, 3, 3) are (column, row, depth), depth linear on screen."""
    rows, columns = out_depth.shape
    for t in range(corners.shape[0]):
        x0, y0, d0 = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
        x1, y1, d1 = corners[t, 1, 0], corners[t, 1, 1], corners[t, 1, 2]
        x2, y2, d2 = corners[t, 2, 0], corners[t, 2, 1], corners[t, 2, 2]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if area == 0.0:
            continue
        first_row = max(0, math.ceil(min(y0, y1, y2) - 0.5))
        last_row = min(rows - 1, math.floor(max(y0, y1, y2) - 0.5))
        first_column = max(0, math.ceil(min(x0, x1, x2) - 0.5))
        last_column = min(columns - 1, math.floor(max(x0, x1, x2) - 0.5))
        for row in range(first_row, last_row + 1):
            y = row + 0.5
            for column in range(first_column, last_column + 1):
                x = column + 0.5
                w1 = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
                w2 = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
                w0 = 1.0 - w1 - w2
                if w0 < -1e-9 or w1 < -1e-9 or w2 < -1e-9:
                    continue
                d = w0 * d0 + w1 * d1 + w2 * d2
                if d > out_depth[row, column]:
                    out_depth[row, column] = d
                    out_triangle[row, column] = t


@helper
def _visible_fraction(lights, first, last, x, y, z, bias):  # type: ignore[no-untyped-def]
    """Share of the maps first ... last - 1 that see a point, each compared at four texels and blended.

    A map of the sun stands for a part of its disc. Where a surface (bias > 0) is half in the sun, each is compared at
    four places across that part, as far apart as the part looks from the point by way of what hides it: else every map
    would draw an edge of its own, and the shadow had rings.
    """
    if last <= first:
        return 1.0
    size = lights.maps.shape[1]
    scale = 0.5 * size / lights.radius
    px, py, pz = x - lights.centre[0], y - lights.centre[1], z - lights.centre[2]
    total = 0.0
    hidden = 0
    distance = 0.0
    for m in range(first, last):
        a = lights.axes[m]
        c = (a[0, 0] * px + a[0, 1] * py + a[0, 2] * pz + lights.radius) * scale - 0.5
        r = (a[1, 0] * px + a[1, 1] * py + a[1, 2] * pz + lights.radius) * scale - 0.5
        if not (0.0 <= c < size - 1 and 0.0 <= r < size - 1):
            total += 1.0
            continue
        height = a[2, 0] * px + a[2, 1] * py + a[2, 2] * pz + bias
        i, j = int(c), int(r)
        fx, fy = c - i, r - j
        depth = lights.maps[m]
        if depth[j, i] <= height:
            total += (1.0 - fx) * (1.0 - fy)
        else:
            hidden += 1
            distance += depth[j, i] - height
        if depth[j, i + 1] <= height:
            total += fx * (1.0 - fy)
        if depth[j + 1, i] <= height:
            total += (1.0 - fx) * fy
        if depth[j + 1, i + 1] <= height:
            total += fx * fy
    if first > 0 or bias == 0.0 or hidden == 0 or total == 0.0:
        return total / (last - first)
    reach = _SUN_PART * distance / hidden * scale
    if reach < 0.5:
        return total / (last - first)
    total = 0.0
    for m in range(first, last):
        a = lights.axes[m]
        c = (a[0, 0] * px + a[0, 1] * py + a[0, 2] * pz + lights.radius) * scale - 0.5
        r = (a[1, 0] * px + a[1, 1] * py + a[1, 2] * pz + lights.radius) * scale - 0.5
        height = a[2, 0] * px + a[2, 1] * py + a[2, 2] * pz + bias
        # turned from map to map, so that edges do not fall together
        right, up = reach * math.cos(2.4 * m), reach * math.sin(2.4 * m)
        for _ in range(4):
            i, j = int(c + right), int(r + up)
            fx, fy = c + right - i, r + up - j
            right, up = -up, right
            if not (0 <= i < size - 1 and 0 <= j < size - 1):
                total += 0.25
                continue
            for n in range(4):
                if lights.maps[m, j + n // 2, i + n % 2] <= height:
                    total += 0.25 * (fx if n % 2 else 1.0 - fx) * (fy if n // 2 else 1.0 - fy)
    return total / (last - first)


@njit(cache=True)
def _sweep_optical_depth(sigma, path, shift_x, shift_z, out_tau):  # type: ignore[no-untyped-def]
    """tau(p) = tau(q) + (sigma(p) + sigma(q)) / 2 |p - q|, q where the ray to the light meets the plane above [1].

    The shift from p to q, in cells, is the same everywhere, and so are the weights of the four cells around q.
    """
    nz, ny, nx = sigma.shape
    si, sk = int(math.floor(shift_x)), int(math.floor(shift_z))
    fx, fz = shift_x - si, shift_z - sk
    for m in range(ny - 1):
        j = ny - 2 - m
        for k in range(nz):
            for dk in range(2):
                kk = k + sk + dk
                if not 0 <= kk < nz:
                    continue
                wz = fz if dk == 1 else 1.0 - fz
                for di in range(2):
                    w = wz * (fx if di == 1 else 1.0 - fx)
                    shift = si + di
                    for i in range(max(0, -shift), min(nx, nx - shift)):
                        above = out_tau[kk, j + 1, i + shift] + 0.5 * path * sigma[kk, j + 1, i + shift]
                        out_tau[k, j, i] += w * above
            for i in range(nx):
                out_tau[k, j, i] += 0.5 * path * sigma[k, j, i]


@njit(nogil=True, cache=True)
def _light_cells(first, last, sigma, near, tau_sun, tau_sky, lower, dx, lights, out_cells):  # type: ignore[no-untyped-def]
    """Extinction, sun light and sky light of each cell, solids and other smoke in the way.

    Also the clear cells ``near`` smoke are lit: samples between them and smoke mix both.
    """
    nz, ny, nx = sigma.shape
    for row in range(first, last):
        k = row // ny
        j = row - k * ny
        for i in range(nx):
            if not near[k, j, i]:
                continue
            x = lower[0] + (i + 0.5) * dx
            y = lower[1] + (j + 0.5) * dx
            z = lower[2] + (k + 0.5) * dx
            tau = tau_sun[k, j, i]
            # octaves of multiple scattering; the weights sum to one, so thin smoke stays single scattering
            sun = 0.68 * math.exp(-tau) + 0.24 * math.exp(-0.30 * tau) + 0.08 * math.exp(-0.08 * tau)
            high = tau_sky[k, j, i]
            sky = 0.75 * math.exp(-0.5 * high) + 0.25 * math.exp(-0.10 * high)
            out_cells[k, j, i, 0] = sigma[k, j, i]
            out_cells[k, j, i, 1] = sun * _visible_fraction(lights, 0, lights.sun_maps, x, y, z, 0.0)
            out_cells[k, j, i, 2] = sky


@helper
def _interpolate(field, x, y, z):  # type: ignore[no-untyped-def]
    """Trilinear value of a cell field at (x, y, z) in cells from the lower corner, constant past the outer centres."""
    nz, ny, nx = field.shape
    x = min(max(x - 0.5, 0.0), nx - 1.0)
    y = min(max(y - 0.5, 0.0), ny - 1.0)
    z = min(max(z - 0.5, 0.0), nz - 1.0)
    i, j, k = min(int(x), max(nx - 2, 0)), min(int(y), max(ny - 2, 0)), min(int(z), max(nz - 2, 0))
    i1, j1, k1 = min(i + 1, nx - 1), min(j + 1, ny - 1), min(k + 1, nz - 1)
    fx, fy, fz = x - i, y - j, z - k
    low = (field[k, j, i] * (1 - fx) + field[k, j, i1] * fx) * (1 - fy) + (
        field[k, j1, i] * (1 - fx) + field[k, j1, i1] * fx
    ) * fy
    high = (field[k1, j, i] * (1 - fx) + field[k1, j, i1] * fx) * (1 - fy) + (
        field[k1, j1, i] * (1 - fx) + field[k1, j1, i1] * fx
    ) * fy
    return low * (1 - fz) + high * fz


@helper
def _box_span(medium, ox, oy, oz, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Where the ray o + s d is inside the grid: s from first to last (empty when first >= last)."""
    nz, ny, nx = medium.tau.shape
    first, last = 0.0, np.inf
    for axis in range(3):
        o = ox if axis == 0 else (oy if axis == 1 else oz)
        d = dx if axis == 0 else (dy if axis == 1 else dz)
        n = nx if axis == 0 else (ny if axis == 1 else nz)
        low = medium.lower[axis] - o
        high = low + n * medium.dx
        if d == 0.0:
            if low > 0.0 or high < 0.0:
                return 0.0, -1.0
            continue
        a, b = low / d, high / d
        first = max(first, min(a, b))
        last = min(last, max(a, b))
    return first, last


@helper
def _sun_through_smoke(medium, sun, x, y, z):  # type: ignore[no-untyped-def]
    """Transmittance of the smoke between a surface point and the sun: tau where the ray enters the grid."""
    first, last = _box_span(medium, x, y, z, sun[0], sun[1], sun[2])
    if first >= last:
        return 1.0
    tau = _interpolate(
        medium.tau,
        (x + first * sun[0] - medium.lower[0]) / medium.dx,
        (y + first * sun[1] - medium.lower[1]) / medium.dx,
        (z + first * sun[2] - medium.lower[2]) / medium.dx,
    )
    return 0.8 * math.exp(-tau) + 0.2 * math.exp(-0.3 * tau)


@njit(cache=True)
def _march_smoke(medium, stage, ox, oy, oz, dx, dy, dz, end, jitter, step, out):  # type: ignore[no-untyped-def]
    """Radiance of the smoke on o + s d, |d| = 1, s < end, added to out (3,); returns the transmittance.

    Each step has one sample, ``jitter`` of the way along it. The last is as long as what is left, and the last few have
    a second sample, as far from their end as the first is from their start: else a surface in dense smoke shows the
    pattern of the jitter."""
    first, last = _box_span(medium, ox, oy, oz, dx, dy, dz)
    last = min(last, end)
    transmittance = 1.0
    if first >= last:
        return transmittance
    g = _FORWARD_SCATTERING
    # light travels along -sun and leaves along -d: their angle is that between sun and d reversed
    cosine = dx * stage.sun[0] + dy * stage.sun[1] + dz * stage.sun[2]
    phase = (1.0 - g * g) / (1.0 + g * g - 2.0 * g * cosine) ** 1.5
    ds = step * medium.dx
    bz, by, bx = medium.blocks.shape
    start = first
    sun_light = 0.0
    sky_light = 0.0
    nz, ny, nx = medium.tau.shape
    while start < last:
        length = min(ds, last - start)
        samples = 2 if last - start < 4.0 * ds else 1
        sigma = 0.0
        sun = 0.0
        sky = 0.0
        skipped = 0.0
        for sample in range(samples):
            s = start + (jitter if sample == 0 else 1.0 - jitter) * length
            x = (ox + s * dx - medium.lower[0]) / medium.dx
            y = (oy + s * dy - medium.lower[1]) / medium.dx
            z = (oz + s * dz - medium.lower[2]) / medium.dx
            i = min(max(int(x) // BLOCK, 0), bx - 1)
            j = min(max(int(y) // BLOCK, 0), by - 1)
            k = min(max(int(z) // BLOCK, 0), bz - 1)
            if medium.blocks[k, j, i] == 0:
                leave = np.inf
                for axis in range(3):
                    d = dx if axis == 0 else (dy if axis == 1 else dz)
                    p = x if axis == 0 else (y if axis == 1 else z)
                    b = i if axis == 0 else (j if axis == 1 else k)
                    if d > 0.0:
                        leave = min(leave, ((b + 1) * BLOCK - p) / d)
                    elif d < 0.0:
                        leave = min(leave, (b * BLOCK - p) / d)
                skipped = leave * medium.dx / ds
                continue
            x = min(max(x - 0.5, 0.0), nx - 1.0)
            y = min(max(y - 0.5, 0.0), ny - 1.0)
            z = min(max(z - 0.5, 0.0), nz - 1.0)
            i, j, k = min(int(x), max(nx - 2, 0)), min(int(y), max(ny - 2, 0)), min(int(z), max(nz - 2, 0))
            fx, fy, fz = x - i, y - j, z - k
            for dk in range(2):
                wz = fz if dk == 1 else 1.0 - fz
                for dj in range(2):
                    wy = wz * (fy if dj == 1 else 1.0 - fy)
                    for di in range(2):
                        w = wy * (fx if di == 1 else 1.0 - fx) / samples
                        cell = medium.cells[min(k + dk, nz - 1), min(j + dj, ny - 1), min(i + di, nx - 1)]
                        sigma += w * cell[0]
                        sun += w * cell[1]
                        sky += w * cell[2]
        if samples == 1 and skipped > 0.0:
            # whole steps only, so that the samples stay on one comb along the ray
            start += ds * max(1.0, math.ceil(skipped))
            continue
        if sigma > 0.0:
            passed = math.exp(-sigma * length)
            weight = transmittance * (1.0 - passed)
            sun_light += weight * sun
            sky_light += weight * sky
            transmittance *= passed
            if transmittance < 0.004:
                transmittance = 0.0
                break
        start += ds
    for c in range(3):
        out[c] += 0.22 * phase * stage.colors[0, c] * sun_light + 0.34 * stage.colors[1, c] * sky_light
    return transmittance


@helper
def _shade_surface(surface, lights, medium, stage, t, ox, oy, oz, dx, dy, dz, s, out):  # type: ignore[no-untyped-def]
    """Light leaving triangle t where the ray o + s d meets it: diffuse under sun and sky, a soft highlight."""
    x, y, z = ox + s * dx, oy + s * dy, oz + s * dz
    p = surface.corners[t]
    e1x, e1y, e1z = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    e2x, e2y, e2z = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    qx, qy, qz = x - p[0, 0], y - p[0, 1], z - p[0, 2]
    d11 = e1x * e1x + e1y * e1y + e1z * e1z
    d12 = e1x * e2x + e1y * e2y + e1z * e2z
    d22 = e2x * e2x + e2y * e2y + e2z * e2z
    q1 = qx * e1x + qy * e1y + qz * e1z
    q2 = qx * e2x + qy * e2y + qz * e2z
    det = max(d11 * d22 - d12 * d12, 1e-300)
    w1 = min(max((d22 * q1 - d12 * q2) / det, 0.0), 1.0)
    w2 = min(max((d11 * q2 - d12 * q1) / det, 0.0), 1.0)
    w0 = 1.0 - w1 - w2
    n = surface.normals[t]
    nx = w0 * n[0, 0] + w1 * n[1, 0] + w2 * n[2, 0]
    ny = w0 * n[0, 1] + w1 * n[1, 1] + w2 * n[2, 1]
    nz = w0 * n[0, 2] + w1 * n[1, 2] + w2 * n[2, 2]
    length = max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-300)
    nx, ny, nz = nx / length, ny / length, nz / length
    # seen from inside, or a mesh wound inwards; by the triangle, whose smoothed normals may turn away at its rim
    if dx * (e1y * e2z - e1z * e2y) + dy * (e1z * e2x - e1x * e2z) + dz * (e1x * e2y - e1y * e2x) > 0.0:
        nx, ny, nz = -nx, -ny, -nz
    lift = 0.012 * lights.radius
    x, y, z = x + lift * nx, y + lift * ny, z + lift * nz
    lx, ly, lz = stage.sun[0], stage.sun[1], stage.sun[2]
    facing = max(nx * lx + ny * ly + nz * lz, 0.0)
    sun = 0.0
    if facing > 0.0:
        sun = _visible_fraction(lights, 0, lights.sun_maps, x, y, z, lift)
        sun *= _sun_through_smoke(medium, stage.sun, x, y, z)
    open_sky = _visible_fraction(lights, lights.sun_maps, lights.maps.shape[0], x, y, z, lift)
    sky = open_sky * (0.5 + 0.5 * ny)
    bounce = 0.5 - 0.5 * ny
    hx, hy, hz = lx - dx, ly - dy, lz - dz
    h = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-300)
    highlight = max((nx * hx + ny * hy + nz * hz) / h, 0.0) ** 60.0
    rim = (1.0 - max(-(nx * dx + ny * dy + nz * dz), 0.0)) ** 4.0
    for c in range(3):
        light = 0.21 * stage.colors[0, c] * sun * facing + 0.80 * stage.colors[1, c] * sky
        light += 1.5 * stage.colors[4, c] * bounce
        out[c] = surface.colors[t, c] * light
        out[c] += stage.colors[0, c] * sun * 0.10 * highlight + stage.colors[1, c] * open_sky * 0.14 * rim


@helper
def _shade_background(lights, medium, stage, ox, oy, oz, dx, dy, dz, out):  # type: ignore[no-untyped-def]
    """Floor or backdrop along o + s d; returns s of the floor, or infinity."""
    up = max(dy, 0.0)
    blend = 1.0 - math.exp(-4.0 * up)
    for c in range(3):
        out[c] = stage.colors[2, c] * (1.0 - blend) + stage.colors[3, c] * blend
    if not (dy < 0.0 and oy > stage.floor):
        return np.inf
    s = (stage.floor - oy) / dy
    x, z = ox + s * dx, oz + s * dz
    rx, rz = x - stage.centre[0], z - stage.centre[2]
    far = math.sqrt(rx * rx + rz * rz) / stage.radius
    fade = min(max((far - 0.5) / 4.5, 0.0), 1.0)
    fade = 1.0 - (1.0 - fade) * (1.0 - fade)
    if fade >= 1.0:
        return s
    lift = 0.012 * lights.radius
    y = stage.floor + lift
    sun = _visible_fraction(lights, 0, lights.sun_maps, x, y, z, lift) * _sun_through_smoke(medium, stage.sun, x, y, z)
    sky = _visible_fraction(lights, lights.sun_maps, lights.maps.shape[0], x, y, z, lift)
    for c in range(3):
        light = 0.30 * stage.colors[0, c] * sun * stage.sun[1] + 0.42 * stage.colors[1, c] * sky
        out[c] = stage.colors[4, c] * light * (1.0 - fade) + out[c] * fade
    return s


@helper
def _is_edge(surface, triangle, row, column, near, far):  # type: ignore[no-untyped-def]
    """Whether the 2 x 2 samples from (row, column) on show surfaces that lie apart or face apart.

    A ray through their middle would meet neither: it would be lit below the one that is in front, in its shadow.
    """
    t = triangle[row, column]
    for a in range(1, 4):
        other = triangle[row + a // 2, column + a % 2]
        if other != t:
            if near < 0.998 * far:
                return True
            n, m = surface.normals[t, 0], surface.normals[other, 0]
            if n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < 0.9:
                return True
    return False


@njit(nogil=True, cache=True)
def _shade_pixels(first, last, camera, surface, lights, medium, stage, depth, triangle, step, out_rgb):  # type: ignore[no-untyped-def]
    """One ray per pixel, four where the solids' samples in the pixel differ (silhouettes, edges)."""
    height, width, _ = out_rgb.shape
    ox, oy, oz = camera.position
    surface_light = np.zeros(3)
    light = np.zeros(3)
    for row in range(first, last):
        for column in range(width):
            near, far = np.inf, 0.0
            for a in range(4):
                d = depth[2 * row + a // 2, 2 * column + a % 2]
                near, far = min(near, d), max(far, d)
            rays = 4 if far > 0.0 and _is_edge(surface, triangle, 2 * row, 2 * column, near, far) else 1
            # interleaved gradient noise (Jimenez 2014): an even, fixed pattern that hides the bands of the steps
            noise = 0.06711056 * column + 0.00583715 * row
            noise = 52.9829189 * (noise - math.floor(noise))
            jitter = noise - math.floor(noise)
            for a in range(rays):
                if rays == 4:
                    sx, sy = column + 0.25 + 0.5 * (a % 2), row + 0.25 + 0.5 * (a // 2)
                else:
                    sx, sy = column + 0.5, row + 0.5
                cx = (2.0 * sx / width - 1.0) * camera.half_width
                cy = (1.0 - 2.0 * sy / height) * camera.half_height
                dx = cx * camera.axes[0, 0] + cy * camera.axes[1, 0] + camera.axes[2, 0]
                dy = cx * camera.axes[0, 1] + cy * camera.axes[1, 1] + camera.axes[2, 1]
                dz = cx * camera.axes[0, 2] + cy * camera.axes[1, 2] + camera.axes[2, 2]
                length = math.sqrt(dx * dx + dy * dy + dz * dz)
                dx, dy, dz = dx / length, dy / length, dz / length
                inverse = depth[2 * row + a // 2, 2 * column + a % 2]
                if rays == 1 and inverse > 0.0:
                    inverse = 0.5 * (near + far)
                end = _shade_background(lights, medium, stage, ox, oy, oz, dx, dy, dz, surface_light)
                if inverse > 0.0 and length / inverse < end:
                    end = length / inverse
                    t = triangle[2 * row + a // 2, 2 * column + a % 2]
                    _shade_surface(surface, lights, medium, stage, t, ox, oy, oz, dx, dy, dz, end, surface_light)
                light[0] = light[1] = light[2] = 0.0
                clear = _march_smoke(medium, stage, ox, oy, oz, dx, dy, dz, end, jitter, step, light)
                for c in range(3):
                    out_rgb[row, column, c] += (light[c] + clear * surface_light[c]) / rays
