"""The force by which a fluid pulls a body apart that it does not press as a whole, such as a full vessel.

A plane through the centre of mass, with normal m, cuts the surface S of a body into two sides S+ and S-. On these the
fluid presses with

    F+- = - int_S+- p n dA,        F+ + F- = F,

and if halves of equal mass are to move as one, the section between them carries (F+ - F-) / 2. What pulls it apart is

    T = max(0, m . (F+ - F-) / 2),

of a vessel the pressure inside times the area of its section, less that outside, as of a boiler. The planes across the
principal axes are looked at. A stone deep in water, or a wall with water on both sides, is pressed together: T = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from undertow.geometry import Shape
from undertow.grid import Array

Pressure = Callable[[Array, Array], Array]
"""Pressure (n,) [Pa] of the fluid at points (n, 3) [m] of a surface with outward normals (n, 3)."""

FINEST = 16
"""Parts of an edge of a triangle at most."""


class SurfaceSamples(NamedTuple):
    """Points (n, 3) [m] of a surface and the area vectors (n, 3) about them, out of the solid [m2; 2D m]."""

    points: Array
    areas: Array


class Parting(NamedTuple):
    """What pulls a body apart along its axes: force T m (3, 3) [N; 2D N/m], a row per axis; point (3, 3) [m] in the
    middle of the load on the upper side of each."""

    force: Array
    point: Array


@lru_cache(maxsize=1024)
def sample_surface(shape: Shape, dimensions: int, spacing: float) -> SurfaceSamples:
    """Points about ``spacing`` [m] apart all over a shape, in its own frame; made once."""
    if dimensions == 2:
        return _sample_outline(shape, spacing)
    vertices, triangles = shape.surface(24)
    corners = vertices[triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    counts = np.clip(np.ceil(longest / spacing).astype(np.int64), 1, FINEST)
    area = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    points, areas = [], []
    for n in np.unique(counts):
        i, j = (k.ravel() for k in np.meshgrid(np.arange(n), np.arange(n)))
        # middles of the small triangles that stand upright, and of those between them
        middles = [np.stack([i, j], axis=1)[i + j < n - k] + (1 + k) / 3.0 for k in (0, 1)]
        a, b = (np.concatenate(middles) / n).T
        weights = np.stack([1.0 - a - b, a, b], axis=1)
        own = counts == n
        points.append(np.einsum("wc,tci->twi", weights, corners[own]).reshape(-1, 3))
        areas.append(np.repeat(area[own] / (n * n), len(weights), axis=0))
    return SurfaceSamples(np.concatenate(points), np.concatenate(areas))


def _sample_outline(shape: Shape, spacing: float) -> SurfaceSamples:
    points, areas = [], []
    for loop in shape.section(np.eye(3)).as_loops():
        start, way = loop[:, :2], np.roll(loop[:, :2], -1, axis=0) - loop[:, :2]
        counts = np.maximum(np.ceil(np.linalg.norm(way, axis=1) / spacing).astype(np.int64), 1)
        own = np.repeat(np.arange(len(loop)), counts)
        share = (np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts) + 0.5) / counts[own]
        flat = np.zeros((2, len(own), 3))
        flat[0, :, :2] = start[own] + share[:, None] * way[own]
        # counter-clockwise around the solid: outward is to the right
        flat[1, :, 0], flat[1, :, 1] = way[own, 1] / counts[own], -way[own, 0] / counts[own]
        points.append(flat[0])
        areas.append(flat[1])
    return SurfaceSamples(np.concatenate(points), np.concatenate(areas))


def find_parting(samples: SurfaceSamples, pressure: Array, centre: Array, axes: Array, dimensions: int) -> Parting:
    """What a pressure (n,) [Pa] at samples in the world pulls apart; centre (3,) [m] of mass, principal axes as
    columns."""
    load = -pressure[:, None] * samples.areas
    weight = np.linalg.norm(load, axis=1)
    force, point = np.zeros((3, 3)), np.tile(centre, (3, 1))
    for axis, along in enumerate(axes.T[:dimensions]):
        upper = (samples.points - centre) @ along > 0.0
        pull = 0.5 * float(along @ (load[upper].sum(axis=0) - load[~upper].sum(axis=0)))
        force[axis] = max(0.0, pull) * along
        if weight[upper].sum() > 0.0:
            point[axis] = weight[upper] @ samples.points[upper] / weight[upper].sum()
    return Parting(force, point)
