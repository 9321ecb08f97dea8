"""Grids of signed distance: a distance sampled once in the body frame, which kernels interpolate trilinearly.

As fine as the fluid's grid it is second order for smooth surfaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array


@dataclass(frozen=True, eq=False)
class SdfGrid:
    """Distance, and for moving meshes velocity, on a body-space grid.

    origin (3,) and spacing [m]; values (1 or 4, z, y, x): distance [m] and velocity x, y, z [m/s] of the nearest point
    of the surface; lower, upper (3,): bounds of the surface.
    """

    origin: Array
    spacing: float
    values: Array
    lower: Array
    upper: Array


MOST_SAMPLES = 5e7
"""Points of the grid of a shape: half a gigabyte."""


def find_lattice(
    lower: Array, upper: Array, spacing: float, margin: float, flat: bool, name: str = "mesh"
) -> tuple[Array, tuple[int, int, int]]:
    """Origin and shape (z, y, x) of a grid around a box, or of three layers about z = 0."""
    counts = np.ceil((upper - lower + 2.0 * margin) / spacing).astype(int) + 1
    centre = 0.5 * (lower + upper)
    if flat:
        counts[2], centre[2] = 3, 0.0
    size = float(np.prod(counts.astype(float)))
    if size > MOST_SAMPLES:
        raise UserError(
            f"{name}: {np.round(upper - lower, 3).tolist()} m large, {size:.2g} points of {spacing:.3g} m; cut it to "
            "about the size of the domain, or lower the resolution"
        )
    origin = centre - 0.5 * (counts - 1) * spacing
    return origin, (int(counts[2]), int(counts[1]), int(counts[0]))


COARSE = 4
"""A grid is first sampled at every COARSE-th point, then exactly where the surface is near."""


def sample_distance(
    evaluate: Callable[[Array], Array], origin: Array, spacing: float, shape: tuple[int, int, int], band: float
) -> Array:
    """Values at the points of a grid (1 or 4, z, y, x) of ``evaluate``: points (n, 3) -> (1 or 4, n), distance first.

    Exact up to ``band`` outside and half of it inside; farther away interpolated from every fourth point.
    """
    axes = [origin[a] + spacing * np.arange(shape[2 - a]) for a in range(3)]
    strides = [COARSE if n > 2 * COARSE else 1 for n in shape]
    counts = [-(-(n - 1) // stride) + 1 for n, stride in zip(shape, strides, strict=True)]
    coarse_axes = [origin[a] + strides[2 - a] * spacing * np.arange(counts[2 - a]) for a in range(3)]
    values = evaluate(_lattice(*coarse_axes)).reshape(-1, *counts)
    if max(strides) == 1:
        return values
    for axis in range(3):
        values = _refine(values, axis + 1, shape[axis], strides[axis])
    # interpolation over a coarse cell is off by less than half its diagonal
    slack = 0.5 * np.sqrt(3.0) * COARSE * spacing
    near = (values[0] < band + slack) & (values[0] > -0.5 * band - slack)
    values[:, near] = evaluate(_lattice(*axes)[near.ravel()])
    return np.ascontiguousarray(values)


def _lattice(x: Array, y: Array, z: Array) -> Array:
    """All points of a table, x fastest, (n, 3)."""
    Z, Y, X = np.meshgrid(z, y, x, indexing="ij")
    return np.stack([X.ravel(), Y.ravel(), Z.ravel()], axis=1)


def _refine(values: Array, axis: int, count: int, stride: int) -> Array:
    """Linear interpolation of every stride-th point along an axis to all ``count`` of them."""
    place = np.arange(count) / stride
    low = np.minimum(place.astype(int), values.shape[axis] - 2)
    weight = (place - low).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    return (1.0 - weight) * np.take(values, low, axis=axis) + weight * np.take(values, low + 1, axis=axis)
