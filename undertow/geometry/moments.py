"""Mass moments at density 1, of closed surfaces, and how moments add up and move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array

_ALIGNED = 1e-12
"""Products of inertia below this, relative, are rounding: the frame of the shape is principal already."""


class Moments(NamedTuple):
    """Of a solid at density 1.

    volume [m3; 2D m2] that it displaces; mass [m3; 2D m2], which differs from the volume if parts of it have densities
    of their own, or if it is a sheet; centre (3,) of mass [m]; inertia about it: tensor (3, 3) [m5], in 2D the moment
    about z alone, as the last of its entries [m4]; centre_of_volume (3,) [m], None: the centre of mass.
    """

    volume: float
    mass: float
    centre: Array
    inertia: Array
    centre_of_volume: Array | None = None


def uniform(volume: float, centre: Array, inertia: Array) -> Moments:
    """Moments of a solid of one density."""
    return Moments(volume, volume, centre, inertia)


def planar(area: float, centre: Array, about_z: float) -> Moments:
    """Moments of a section of one density, per metre of depth."""
    return Moments(area, area, centre, np.diag([0.0, 0.0, about_z]))


def shifted(mass: float, arm: Array, dimensions: int = 3) -> Array:
    """Inertia (3, 3) of a point mass at an arm (3,), after Steiner: m (r^2 1 - r r^T); in 2D about z alone."""
    if dimensions == 2:
        return np.diag([0.0, 0.0, mass * float(arm[:2] @ arm[:2])])
    return mass * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))


def principal_axes(tensor: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and axes as columns (3, 3) of an inertia tensor: a rotation, as near to I as it can be."""
    off = max(abs(tensor[0, 1]), abs(tensor[1, 2]), abs(tensor[2, 0]))
    if off <= _ALIGNED * np.trace(tensor):
        return np.diag(tensor).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(tensor)
    # the axis with the largest component along x becomes the first, then y
    order: list[int] = []
    for row in range(3):
        free = [k for k in range(3) if k not in order]
        order.append(max(free, key=lambda k: abs(axes[row, k])))
    axes = axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0, -1.0, 1.0)
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1.0
    return moments[order], axes


def integrate_mesh(vertices: Array, triangles: Any) -> tuple[float, Array, Array]:
    """Volume [m3], centroid (3,) [m] and inertia tensor about it at density 1 (3, 3) [m5] of a closed mesh.

    Exact integrals over the tetrahedra between a point and each triangle, which need the surface closed but neither
    convex nor simply connected (Tonon 2004, "Explicit exact formulas for the 3-D tetrahedron inertia tensor").
    """
    # about a point of the mesh, so that a mesh far from its origin loses no digits
    origin = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, n]] - origin for n in range(3))
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = float(det.sum() / 6.0)
    if not volume > 0:
        return volume, origin, np.zeros((3, 3))
    s = a + b + c
    arm = (det[:, None] * s).sum(axis=0) / 24.0 / volume
    # integral of x x^T over a tetrahedron with a corner at the origin: det (sum of p p^T + s s^T) / 120
    second = sum(np.einsum("n,ni,nj->ij", det, p, p) for p in (a, b, c, s)) / 120.0
    second = second - volume * np.outer(arm, arm)
    return volume, origin + arm, np.trace(second) * np.eye(3) - second


def measure_thickness(vertices: Array, triangles: Any, share: float = 0.02) -> float:
    """Length of rays shot inward from the middle of up to 100 triangles spread over the mesh: the smallest but a share
    of them [m].

    The shortest few are dropped: near sharp edges every solid is as thin as one likes.
    """
    a, b, c = (vertices[triangles[:, n]] for n in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    chosen = np.unique(np.linspace(0, len(triangles) - 1, 100).astype(np.int64))
    chosen = chosen[area[chosen] > 0]
    edge1, edge2 = b - a, c - a
    lengths = []
    for n in chosen:
        direction = -normals[n] / area[n]
        origin = (a[n] + b[n] + c[n]) / 3.0
        # Moeller and Trumbore 1997: solve origin + t direction = a + u edge1 + v edge2
        p = np.cross(direction, edge2)
        det = np.einsum("ij,ij->i", edge1, p)
        det[np.abs(det) < 1e-300] = np.inf
        s = origin - a
        u = np.einsum("ij,ij->i", s, p) / det
        q = np.cross(s, edge1)
        v = q @ direction / det
        t = np.einsum("ij,ij->i", edge2, q) / det
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
        hit[n] = False
        if hit.any():
            lengths.append(float(t[hit].min()))
    return float(np.quantile(lengths, share)) if lengths else 0.0
