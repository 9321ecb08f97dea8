"""Water over a finished picture: Fresnel reflection of the sky, refraction in the plane of the picture, absorption.

The surface is rasterised like the solids. A ray that meets it splits by Schlick's fit of Fresnel's law; the reflected
part sees the sky, the refracted part goes on to the back of the water, or to what lies in it, and takes the light of
the pixel in which it comes out there. What is lost on the way follows the law of Beer and Lambert. One surface is
crossed, so water seen through water is seen straight.
"""

from __future__ import annotations

import numpy as np

from undertow.output.frames import SurfaceFrame
from undertow.output.raymarch import Camera, Stage, Surface, rasterize

_INDEX = 1.33
_REFLECTANCE = 0.02
"""Of water at a right angle."""

_ABSORPTION = np.array([2.6, 0.75, 0.55])
"""Optical depth of the three colors over the radius of the scene."""

_SCATTERED = np.array([0.010, 0.045, 0.060])
"""Light that deep water gives back."""


def add_water(picture: np.ndarray, water: SurfaceFrame, solids: Surface, camera: Camera, stage: Stage) -> np.ndarray:
    """The picture (height, width, 3), linear, with the water in front of what it shows."""
    height, width, _ = picture.shape
    if len(water.triangles) == 0:
        return picture
    corners = water.vertices[water.triangles].astype(float)
    front, triangle = rasterize(corners, camera, width, height)
    back, _ = rasterize(corners, camera, width, height, farthest=True)
    behind, _ = rasterize(solids.corners, camera, width, height)
    rows, columns = np.nonzero((front > 0) & (front > behind))
    if len(rows) == 0:
        return picture
    fine = np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1)
    fine[rows, columns] = _shade(
        rows, columns, front, np.maximum(back, behind), triangle, corners, water, camera, stage, picture
    )
    return np.asarray(fine.reshape(height, 2, width, 2, 3).mean(axis=(1, 3)), dtype=picture.dtype)


def _shade(
    rows: np.ndarray, columns: np.ndarray, front: np.ndarray, back: np.ndarray, triangle: np.ndarray,
    corners: np.ndarray, water: SurfaceFrame, camera: Camera, stage: Stage, picture: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Light of the samples (rows, columns) that see water."""
    height, width, _ = picture.shape
    x = ((columns + 0.5) / width - 1.0) * camera.half_width
    y = (1.0 - (rows + 0.5) / height) * camera.half_height
    ray = np.column_stack([x, y, np.ones(len(x))]) @ camera.axes
    length = np.linalg.norm(ray, axis=1)
    view = ray / length[:, None]
    near = length / front[rows, columns]
    # to the back of the water, a solid in it, or the floor
    floor = (stage.floor - camera.position[1]) / np.minimum(view[:, 1], -1e-9)
    far = np.minimum(length / np.maximum(back[rows, columns], 1e-30), np.where(view[:, 1] < 0, floor, np.inf))
    point = camera.position + near[:, None] * view
    normal = _normals(point, triangle[rows, columns], corners, water)
    facing = -np.sum(normal * view, axis=1)
    normal[facing < 0] *= -1.0
    facing = np.clip(np.abs(facing), 0.0, 1.0)
    reflected = view + 2.0 * facing[:, None] * normal
    share = _REFLECTANCE + (1.0 - _REFLECTANCE) * (1.0 - facing) ** 5
    # Snell's law into the water
    ratio = 1.0 / _INDEX
    inner = np.sqrt(1.0 - ratio**2 * (1.0 - facing**2))
    refracted = ratio * view + (ratio * facing - inner)[:, None] * normal
    depth = np.clip(far - near, 0.0, 2.0 * stage.radius)
    seen = _look_up(point + depth[:, None] * refracted, camera, picture)
    kept = np.exp(-depth[:, None] / stage.radius * _ABSORPTION)
    through = kept * seen + (1.0 - kept) * _SCATTERED
    return np.asarray(share[:, None] * _sky(reflected, stage) + (1.0 - share)[:, None] * through)


def _normals(point: np.ndarray, triangle: np.ndarray, corners: np.ndarray, water: SurfaceFrame) -> np.ndarray:
    """Normals at points of triangles, interpolated between the corners."""
    a, b, c = (corners[triangle, i] for i in range(3))
    e, f, g = b - a, c - a, point - a
    ee, ef, ff = np.sum(e * e, 1), np.sum(e * f, 1), np.sum(f * f, 1)
    ge, gf = np.sum(g * e, 1), np.sum(g * f, 1)
    det = np.maximum(ee * ff - ef * ef, 1e-300)
    s, t = (ff * ge - ef * gf) / det, (ee * gf - ef * ge) / det
    weights = np.column_stack([1.0 - s - t, s, t])
    mixed = np.einsum("ij,ijk->ik", np.clip(weights, 0.0, 1.0), water.normals[water.triangles[triangle]].astype(float))
    return np.asarray(mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-300))


def _look_up(points: np.ndarray, camera: Camera, picture: np.ndarray) -> np.ndarray:
    """The picture where points of the scene appear in it."""
    height, width, _ = picture.shape
    local = (points - camera.position) @ camera.axes.T
    ahead = np.maximum(local[:, 2], 1e-9)
    column = (local[:, 0] / ahead / camera.half_width + 1.0) * 0.5 * width
    row = (1.0 - local[:, 1] / ahead / camera.half_height) * 0.5 * height
    i = np.clip(np.nan_to_num(column), 0, width - 1).astype(int)
    j = np.clip(np.nan_to_num(row), 0, height - 1).astype(int)
    return np.asarray(picture[j, i])


def _sky(direction: np.ndarray, stage: Stage) -> np.ndarray:
    """Sky and sun in a direction; below the horizon the floor."""
    sun_light, _, horizon, zenith, floor = stage.colors
    up = np.clip(direction[:, 1], 0.0, 1.0)[:, None]
    sky = horizon + (zenith - horizon) * np.sqrt(up) + 0.30 * np.clip(1.0 - up, 0.0, 1.0) ** 3 * stage.colors[1]
    glint = np.clip(direction @ stage.sun, 0.0, 1.0) ** 600
    light = sky + glint[:, None] * sun_light
    return np.asarray(np.where(direction[:, 1:2] < 0, floor, light))
