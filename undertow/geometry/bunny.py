"""A rabbit of the project's own making: rounded ellipsoids, smoothly joined, as a watertight mesh."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry.meshes import MeshShape
from undertow.geometry.motion import rotation_matrix
from undertow.grid import Array


class _Part(NamedTuple):
    """Ellipsoid: centre, half axes, tilt in degrees about x, then about z. The rabbit looks along +x, y is up."""

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    tilt: tuple[float, float] = (0.0, 0.0)


_BODY = (
    _Part((-0.10, 0.28, 0.00), (0.30, 0.25, 0.23), (0.0, 12.0)),  # back and belly
    _Part((0.12, 0.33, 0.00), (0.17, 0.22, 0.17), (0.0, -10.0)),  # chest
    _Part((0.24, 0.58, 0.00), (0.18, 0.155, 0.145), (0.0, -12.0)),  # head
    _Part((0.37, 0.535, 0.00), (0.085, 0.075, 0.08)),  # snout
    _Part((-0.42, 0.27, 0.00), (0.085, 0.085, 0.085)),  # tail
)
_SIDE = (  # one of each on either side, given for +z
    _Part((0.14, 0.85, 0.085), (0.055, 0.20, 0.075), (14.0, 14.0)),  # ear
    _Part((-0.16, 0.17, 0.17), (0.20, 0.16, 0.085), (0.0, 12.0)),  # thigh
    _Part((-0.05, 0.055, 0.19), (0.19, 0.055, 0.065)),  # hind foot
    _Part((0.22, 0.17, 0.09), (0.06, 0.16, 0.06), (0.0, 8.0)),  # fore leg
    _Part((0.27, 0.05, 0.095), (0.095, 0.05, 0.055)),  # fore paw
)
_BLEND = 0.035
"""Radius over which parts flow into each other, as a fraction of the height."""


def make_bunny(size: float = 1.0, resolution: int = 64) -> MeshShape:
    """A sitting rabbit, ``size`` metres tall, its bounding box centred on the origin, looking along +x.

    ``resolution``: points of the sampling along the height; the same number gives the same mesh.
    """
    if not (np.isfinite(size) and size > 0):
        raise UserError(f"bunny: size = {size}: must be positive; give the height in metres")
    if resolution < 24:
        raise UserError(f"bunny: resolution = {resolution}: must be at least 24, else the ears break off")
    from skimage.measure import marching_cubes

    h = 1.0 / resolution
    lower, upper = np.array([-0.6, -0.1, -0.4]), np.array([0.55, 1.15, 0.4])
    axes = [lower[a] + h * np.arange(int(np.ceil((upper[a] - lower[a]) / h)) + 1) for a in range(3)]
    X, Y, Z = np.meshgrid(*axes, indexing="ij")
    phi = _implicit(np.stack([X, Y, Z], axis=-1))
    vertices, triangles, _, _ = marching_cubes(phi, 0.0, spacing=(h, h, h))
    vertices = vertices.astype(np.float64)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    vertices = (vertices - 0.5 * (low + high)) * (size / (high[1] - low[1]))
    return MeshShape(vertices, triangles, name="bunny")


def _implicit(points: Array) -> Array:
    """Smooth union of the parts: -b log sum exp(-d / b), d roughly the distance from each part."""
    parts = [*_BODY]
    for part in _SIDE:
        x, y, z = part.centre
        parts += [part, _Part((x, y, -z), part.half, (-part.tilt[0], part.tilt[1]))]
    b = 0.5 * _BLEND
    total = np.zeros(points.shape[:-1])
    for part in parts:
        total += np.exp(-np.clip(_ellipsoid(points, part) / b, -40.0, 40.0))
    return np.asarray(-b * np.log(total))


def _ellipsoid(points: Array, part: _Part) -> Array:
    """First-order distance k0 (k0 - 1) / k1 from an ellipsoid, k0 = |p / half|, k1 = |p / half^2|."""
    R = rotation_matrix((0, 0, 1), part.tilt[1]) @ rotation_matrix((1, 0, 0), part.tilt[0])
    p = (points - np.array(part.centre)) @ R
    half = np.array(part.half)
    k0 = np.sqrt(np.sum((p / half) ** 2, axis=-1))
    k1 = np.sqrt(np.sum((p / half**2) ** 2, axis=-1))
    return np.asarray(k0 * (k0 - 1.0) / np.maximum(k1, 1e-12))
