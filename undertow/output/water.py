"""Water over a finished picture: Fresnel reflection, refraction, absorption.

The surface is rasterised like the solids. A ray that meets it splits by Schlick's fit of Fresnel's law. Both parts are
followed in the depth buffers of the picture until they meet a solid that it shows (the refracted one also the back of
the water or the floor) and take the light seen there; what of the reflected part meets nothing sees the sky. Light is
lost in the water by the law of Beer and Lambert. One surface is crossed, so water seen through water is seen straight,
and what the picture does not show is not seen by way of the water either.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.grid.jitting import helper
from undertow.output.frames import SurfaceFrame
from undertow.output.raymarch import Camera, Stage, Surface, _in_bands, rasterize

_INDEX = 1.33
_REFLECTANCE = 0.02
"""Of water at a right angle."""

_ABSORPTION = np.array([2.2, 0.55, 0.38])
"""Optical depth of the three colors over the radius of the scene."""

_SCATTERED = np.array([0.012, 0.060, 0.085])
"""Light that deep water gives back."""

IN_AIR, IN_WATER = np.int64(0), np.int64(1)
"""Where a ray goes; of a type of their own, so that one function is compiled for both."""

_STEPS = 48
"""Places where a ray is compared with the depth buffers."""

_HALVINGS = 5

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


def in_daylight(stage: Stage) -> Stage:
    """The stage with the light that water is seen in."""
    return stage._replace(colors=_COLORS)


def add_water(picture: np.ndarray, water: SurfaceFrame, solids: Surface, camera: Camera, stage: Stage) -> np.ndarray:
    """The picture (height, width, 3), linear, with the water in front of what it shows."""
    height, width, _ = picture.shape
    if len(water.triangles) == 0:
        return picture
    corners = water.vertices[water.triangles].astype(float)
    normals = water.normals[water.triangles].astype(float)
    front, triangle = rasterize(corners, camera, width, height)
    back, _ = rasterize(corners, camera, width, height, farthest=True)
    behind, _ = rasterize(solids.corners, camera, width, height)
    seen = np.asarray(picture, dtype=float)
    out = np.empty_like(seen)
    buffers = np.stack([front, back, behind])
    _in_bands(height, _shade_rows, seen, buffers, triangle, corners, normals, camera, stage, out)
    return np.asarray(out, dtype=picture.dtype)


@helper
def _look_up(camera, buffers, x, y, z):  # type: ignore[no-untyped-def]
    """Sample (row, column) where the point (x, y, z) [m] appears, kept inside, 1 / depth there, and whether it was."""
    x -= camera.position[0]
    y -= camera.position[1]
    z -= camera.position[2]
    a = camera.axes
    depth = max(a[2, 0] * x + a[2, 1] * y + a[2, 2] * z, 1e-9)
    rows, columns = buffers.shape[1], buffers.shape[2]
    across = (a[0, 0] * x + a[0, 1] * y + a[0, 2] * z) / (depth * camera.half_width)
    up = (a[1, 0] * x + a[1, 1] * y + a[1, 2] * z) / (depth * camera.half_height)
    inside = abs(across) < 1.0 and abs(up) < 1.0
    column = min(max(int((across + 1.0) * 0.5 * columns), 0), columns - 1)
    row = min(max(int((1.0 - up) * 0.5 * rows), 0), rows - 1)
    return row, column, 1.0 / depth, inside


@helper
def _follow(camera, floor, buffers, x, y, z, dx, dy, dz, reach, where):  # type: ignore[no-untyped-def]
    """Follow a ray from (x, y, z) along the unit vector (dx, dy, dz) for at most ``reach`` [m].

    Returns the sample that it sees, how far it went, and whether it met anything: a solid of the picture or, in the
    water, the floor or the back of the water.
    """
    step = reach / _STEPS
    row, column, near, inside = _look_up(camera, buffers, x, y, z)
    for n in range(1, _STEPS + 1):
        s = n * step
        if dy < 0.0 and y + s * dy < floor:
            s = (floor - y) / dy
            row, column, near, inside = _look_up(camera, buffers, x + s * dx, y + s * dy, z + s * dz)
            return row, column, s, where == IN_WATER
        row, column, near, inside = _look_up(camera, buffers, x + s * dx, y + s * dy, z + s * dz)
        if not inside:
            if where == IN_AIR:
                return row, column, s, False
            continue  # on to the floor, unseen
        solid = buffers[2, row, column]
        # just behind the front of a solid; one far in front of the ray only hides it
        if solid > near and 1.0 / near - 1.0 / solid < 2.0 * step:
            # where the ray goes behind it, to a part of a step: else its outline would show the steps
            low = s - step
            for _ in range(_HALVINGS):
                mid = 0.5 * (low + s)
                row, column, near, inside = _look_up(camera, buffers, x + mid * dx, y + mid * dy, z + mid * dz)
                if buffers[2, row, column] > near:
                    s = mid
                else:
                    low = mid
            row, column, near, inside = _look_up(camera, buffers, x + s * dx, y + s * dy, z + s * dz)
            return row, column, s, True
        if where == IN_WATER and near < buffers[1, row, column]:
            return row, column, s, True
    return row, column, reach, where == IN_WATER


@helper
def _shade_sample(camera, stage, picture, buffers, corners, normals, row, column, t, out):  # type: ignore[no-untyped-def]
    """out += light of a sample that sees the triangle t of the water."""
    rows, columns = buffers.shape[1], buffers.shape[2]
    across = (2.0 * (column + 0.5) / columns - 1.0) * camera.half_width
    up = (1.0 - 2.0 * (row + 0.5) / rows) * camera.half_height
    a = camera.axes
    vx = across * a[0, 0] + up * a[1, 0] + a[2, 0]
    vy = across * a[0, 1] + up * a[1, 1] + a[2, 1]
    vz = across * a[0, 2] + up * a[1, 2] + a[2, 2]
    depth = 1.0 / buffers[0, row, column]
    x = camera.position[0] + depth * vx
    y = camera.position[1] + depth * vy
    z = camera.position[2] + depth * vz
    length = np.sqrt(vx * vx + vy * vy + vz * vz)
    vx, vy, vz = vx / length, vy / length, vz / length
    # the normal, interpolated between the corners
    ee, ef, ff, ge, gf = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(3):
        e = corners[t, 1, c] - corners[t, 0, c]
        f = corners[t, 2, c] - corners[t, 0, c]
        g = (x if c == 0 else (y if c == 1 else z)) - corners[t, 0, c]
        ee += e * e
        ef += e * f
        ff += f * f
        ge += g * e
        gf += g * f
    det = max(ee * ff - ef * ef, 1e-300)
    s = min(max((ff * ge - ef * gf) / det, 0.0), 1.0)
    r = min(max((ee * gf - ef * ge) / det, 0.0), 1.0)
    q = max(1.0 - s - r, 0.0)
    nx = q * normals[t, 0, 0] + s * normals[t, 1, 0] + r * normals[t, 2, 0]
    ny = q * normals[t, 0, 1] + s * normals[t, 1, 1] + r * normals[t, 2, 1]
    nz = q * normals[t, 0, 2] + s * normals[t, 1, 2] + r * normals[t, 2, 2]
    length = max(np.sqrt(nx * nx + ny * ny + nz * nz), 1e-300)
    facing = -(nx * vx + ny * vy + nz * vz) / length
    sign = 1.0 / length if facing >= 0.0 else -1.0 / length
    nx, ny, nz = sign * nx, sign * ny, sign * nz
    facing = min(abs(facing), 1.0)
    share = _REFLECTANCE + (1.0 - _REFLECTANCE) * (1.0 - facing) ** 5
    # what is reflected: a solid of the picture, or the sky
    mx, my, mz = vx + 2.0 * facing * nx, vy + 2.0 * facing * ny, vz + 2.0 * facing * nz
    reach = 1.5 * stage.radius
    mrow, mcolumn, _, met = _follow(camera, stage.floor, buffers, x, y, z, mx, my, mz, reach, IN_AIR)
    rise = min(max(my, 0.0), 1.0)
    glint = min(max(mx * stage.sun[0] + my * stage.sun[1] + mz * stage.sun[2], 0.0), 1.0) ** 600
    # what is refracted, by Snell's law
    ratio = 1.0 / _INDEX
    inner = ratio * facing - np.sqrt(1.0 - ratio * ratio * (1.0 - facing * facing))
    tx, ty, tz = ratio * vx + inner * nx, ratio * vy + inner * ny, ratio * vz + inner * nz
    reach = 2.0 * stage.radius
    trow, tcolumn, path, _ = _follow(camera, stage.floor, buffers, x, y, z, tx, ty, tz, reach, IN_WATER)
    for c in range(3):
        if met:
            reflected = picture[mrow // 2, mcolumn // 2, c]
        elif my < 0.0:
            reflected = stage.colors[4, c]
        else:
            horizon, zenith = stage.colors[2, c], stage.colors[3, c]
            reflected = horizon + (zenith - horizon) * np.sqrt(rise) + glint * stage.colors[0, c]
        kept = np.exp(-path / stage.radius * _ABSORPTION[c])
        through = kept * picture[trow // 2, tcolumn // 2, c] + (1.0 - kept) * _SCATTERED[c]
        out[c] += share * reflected + (1.0 - share) * through


@njit(cache=True, nogil=True)
def _shade_rows(first, last, picture, buffers, triangle, corners, normals, camera, stage, out):  # type: ignore[no-untyped-def]
    """Rows [first, last) of the picture: mean of 2 x 2 samples, those that see water shaded; buffers: 1 / depth of the
    front and the back of the water, of the solids."""
    for j in range(first, last):
        for i in range(picture.shape[1]):
            for c in range(3):
                out[j, i, c] = 0.0
            for n in range(4):
                row, column = 2 * j + n // 2, 2 * i + n % 2
                front = buffers[0, row, column]
                if front > 0.0 and front > buffers[2, row, column]:
                    t = triangle[row, column]
                    _shade_sample(camera, stage, picture, buffers, corners, normals, row, column, t, out[j, i])
                else:
                    for c in range(3):
                        out[j, i, c] += picture[j, i, c]
            for c in range(3):
                out[j, i, c] *= 0.25
