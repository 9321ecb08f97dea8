"""The interface of y = sin x and its curvature; points and curvature of a sphere and a torus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from undertow.grid import GHOSTS, Array, Grid
from undertow.surface import InterfaceFinder, curvature_at, cut_cells, make_curve, merge_short
from undertow.validation.analysis import Quantity, quantity

SIZES = (40, 80, 160, 320)
"""Cells over the height of the strip."""
ORDERS = {"third": 3, "fourth": 4}
SHORTEST = 0.1
"""Of a segment [cells]."""
EDGE = 8
"""Cells beside the ends that are left out."""
TORUS = (32, 64)
MIDDLE = np.array([0.51, 0.487, 0.5234])
RADIUS, RING, PIPE = 0.2, 0.25, 0.1
DIAMETER_CELLS = 12.8


class Errors(NamedTuple):
    """Largest and mean error of the points and of their curvature."""

    points: float
    points_mean: float
    curvature: float
    curvature_mean: float


def distance_to_sine(x: Array, y: Array) -> Array:
    """Signed distance to y = sin x, negative where y is larger: Newton's method from the nearest of many points."""
    from scipy.spatial import cKDTree

    knots = np.linspace(-1.0, 9.0, 4001)
    _, nearest = cKDTree(np.stack([knots, np.sin(knots)], axis=1)).query(np.stack([x.ravel(), y.ravel()], axis=1))
    s = knots[nearest].reshape(x.shape)
    for _ in range(20):
        slope = (s - x) + (np.sin(s) - y) * np.cos(s)
        bend = 1.0 + np.cos(s) ** 2 - (np.sin(s) - y) * np.sin(s)
        s = s + np.clip(-slope / np.where(bend > 0.05, bend, 1.0), -0.01, 0.01)
    return np.where(y >= np.sin(x), -1.0, 1.0) * np.hypot(s - x, np.sin(s) - y)


def places(grid: Grid) -> list[Array]:
    """x, y, z of all cell centres, ghosts included, that broadcast to a field."""
    x, y, z = (grid.coordinates(axis, 0.5 - GHOSTS, grid.padded[2 - axis]) for axis in range(3))
    return [x[None, None, :], y[None, :, None], z[:, None, None]]


def sine(n: int, order: int) -> Errors:
    """The table's errors on 2n x n cells over [0, 8] x [-2, 2]."""
    grid = Grid((2 * n, n, 1), 4.0 / n, (0.0, -2.0, 0.0), 2)
    x, y, _ = places(grid)
    phi_c = np.repeat(distance_to_sine(*np.broadcast_arrays(x, y)), grid.padded[0], axis=0)
    curve = merge_short(make_curve(InterfaceFinder(grid, order).find(phi_c)), SHORTEST * grid.dx)
    at, height = curve.point[:, 0], curve.point[:, 1]
    inner = (at > EDGE * grid.dx) & (at < 8.0 - EDGE * grid.dx)
    away = np.abs(height - np.sin(at))[inner]
    bend = np.abs(np.sin(at)) * (1.0 + np.cos(at) ** 2) ** -1.5
    wrong = np.abs(np.linalg.norm(curve.curvature(), axis=1) - bend)[inner]
    return Errors(float(away.max()), float(away.mean()), float(wrong.max()), float(wrong.mean()))


def sphere(cells: int, order: int) -> tuple[float, float]:
    """Largest error of the points [m] and mean relative one of the curvature on the coupling faces."""
    grid = Grid((cells,) * 3, 1.0 / cells)
    phi_c = np.sqrt(sum((x - m) ** 2 for x, m in zip(places(grid), MIDDLE, strict=True))) - RADIUS
    point = InterfaceFinder(grid, order).find(phi_c).point
    cut, _ = cut_cells(phi_c, grid, order=order)
    wrong = np.abs(curvature_at(grid, phi_c, cut.centre) * RADIUS / 2.0 - 1.0)
    away = np.abs(np.linalg.norm(point - MIDDLE, axis=1) - RADIUS)
    return float(away.max()), float(np.average(wrong, weights=cut.area))


def torus(cells: int, order: int) -> tuple[float, float, float]:
    """Largest error of the points [m]; mean and largest one of the curvature on the coupling faces [1/m]."""
    grid = Grid((cells,) * 3, 1.0 / cells)
    x, y, z = (a - m for a, m in zip(places(grid), MIDDLE, strict=True))
    phi_c = np.hypot(np.hypot(x, z) - RING, y) - PIPE
    cut, _ = cut_cells(phi_c, grid, order=order)
    point = InterfaceFinder(grid, order).find(phi_c).point - MIDDLE
    away = np.abs(np.hypot(np.hypot(point[:, 0], point[:, 2]) - RING, point[:, 1]) - PIPE)
    centre = cut.centre - MIDDLE
    outward = np.hypot(centre[:, 0], centre[:, 2]) - RING
    cosine = outward / np.hypot(outward, centre[:, 1])
    wrong = np.abs(curvature_at(grid, phi_c, cut.centre) - 1.0 / PIPE - cosine / (RING + PIPE * cosine))
    return float(away.max()), float(np.average(wrong, weights=cut.area)), float(wrong.max())


def run(full: bool = False) -> Iterator[Quantity]:
    """Both orders at four sizes; sphere and torus."""
    for name, order in ORDERS.items():
        for n in SIZES:
            for what, error in sine(n, order)._asdict().items():
                yield quantity(f"{name}_{what}_{n}", error)
        coarse, fine = TORUS
        few, many = torus(coarse, order), torus(fine, order)
        steps = np.log2(fine / coarse)
        yield quantity(f"{name}_points_order_torus", float(np.log2(few[0] / many[0]) / steps))
        small, large = sphere(coarse, order)[0], sphere(fine, order)[0]
        yield quantity(f"{name}_points_order_sphere", float(np.log2(small / large) / steps))
    yield quantity("curvature_sphere", sphere(round(DIAMETER_CELLS / (2.0 * RADIUS)), 4)[1], unit="relative")
    few, many = (torus(n, 4) for n in TORUS)
    yield quantity("curvature_order_torus", float(np.log2(few[1] / many[1]) / np.log2(TORUS[1] / TORUS[0])))
    yield quantity("curvature_torus_largest", many[2], unit="1/m", info=True, coarse=few[2])
