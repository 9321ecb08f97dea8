"""Signed distances [m] in the body frame: one jitted function for every analytic shape, one for sampled tables.

Negative inside. The formulas are exact Euclidean distances, inside and outside; the derivations of the box, the capped
cylinder, the capsule and the torus are in Hart 1996, "Sphere tracing", The Visual Computer 12, appendix. The long axis
of capsule and cylinder and the axis of the torus is the body y axis (up).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import borrowing

SPHERE, BOX, CAPSULE, CYLINDER, TORUS, PLANE, TABLE = range(7)
"""Kinds of shape; TABLE is a distance sampled on a body-space grid (meshes)."""

PARAMETERS = 4
"""Length of the parameter row of a shape: (radius), (half sizes), (radius, half length), (radius, tube), (normal)."""
FIRST = np.int64(0)
"""Of a type of its own: a plain number would have the distance compiled once more."""


def distance_analytic(kind: int, parameters: Array, points: Array) -> Array:
    """Signed distance of an analytic shape at body-frame points [m], shape (n, 3) -> (n,)."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"points: shape {points.shape}, must be (n, 3)")
    out = np.empty(len(points))
    _evaluate_distance(kind, parameters.reshape(1, PARAMETERS), points, out)
    return out


@njit(cache=True)
def _evaluate_distance(kind, parameters, points, out_distance):  # type: ignore[no-untyped-def]
    for n in range(points.shape[0]):
        out_distance[n] = analytic_distance(kind, parameters, FIRST, points[n, 0], points[n, 1], points[n, 2])


@borrowing
def analytic_distance(kind, c, b, x, y, z):  # type: ignore[no-untyped-def]
    """Distance of one body-frame point from the shape ``kind`` whose parameters are row b of ``c``."""
    if kind == SPHERE:
        return sqrt(x * x + y * y + z * z) - c[b, 0]
    if kind == BOX:
        qx = abs(x) - c[b, 0]
        qy = abs(y) - c[b, 1]
        qz = abs(z) - c[b, 2]
        inner = min(max(qx, qy, qz), 0.0)
        px = max(qx, 0.0)
        py = max(qy, 0.0)
        pz = max(qz, 0.0)
        return sqrt(px * px + py * py + pz * pz) + inner
    if kind == CAPSULE:
        q = y - min(max(y, -c[b, 1]), c[b, 1])
        return sqrt(x * x + q * q + z * z) - c[b, 0]
    if kind == CYLINDER:
        qr = sqrt(x * x + z * z) - c[b, 0]
        qy = abs(y) - c[b, 1]
        inner = min(max(qr, qy), 0.0)
        pr = max(qr, 0.0)
        py = max(qy, 0.0)
        return sqrt(pr * pr + py * py) + inner
    if kind == TORUS:
        q = sqrt(x * x + z * z) - c[b, 0]
        return sqrt(q * q + y * y) - c[b, 1]
    return c[b, 0] * x + c[b, 1] * y + c[b, 2] * z


@borrowing
def table_value(tables, start, nz, ny, nx, fx, fy, fz):  # type: ignore[no-untyped-def]
    """Trilinear value of the table (z, y, x) that begins at ``tables[start]`` at fx, fy, fz in units of its spacing."""
    i = min(int(fx), nx - 2)
    j = min(int(fy), ny - 2)
    k = min(int(fz), nz - 2)
    fx -= i
    fy -= j
    fz -= k
    p = start + (k * ny + j) * nx + i
    q = p + nx * ny
    p0 = (1.0 - fx) * tables[p] + fx * tables[p + 1]
    p1 = (1.0 - fx) * tables[p + nx] + fx * tables[p + nx + 1]
    q0 = (1.0 - fx) * tables[q] + fx * tables[q + 1]
    q1 = (1.0 - fx) * tables[q + nx] + fx * tables[q + nx + 1]
    return (1.0 - fz) * ((1.0 - fy) * p0 + fy * p1) + fz * ((1.0 - fy) * q0 + fy * q1)
