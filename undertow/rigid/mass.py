"""Mass, centre of mass and principal moments of inertia of shapes and closed meshes.

Meshes by exact integrals over the tetrahedra between the origin and each triangle, which need the surface closed but
neither convex nor simply connected (Tonon 2004, "Explicit exact formulas for the 3-D tetrahedron inertia tensor").
Sheets by integrals over their triangles, in 2D edges, as if all their mass were on them.
In 2D per metre of depth: the section with the x-y plane, which turns about z alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import AnalyticShape, Box, Capsule, Cylinder, MeshShape, Plane, Sheet, Sphere, Torus
from undertow.grid import Array
from undertow.rigid.bodies import quaternion_of_matrix, rotation_matrix_of
from undertow.rigid.sections import section_of

_ALIGNED = 1e-12
"""Products of inertia below this, relative, are rounding: the frame of the shape is principal already."""


class MassProperties(NamedTuple):
    """What a body's motion needs to know of its shape.

    mass [kg; 2D kg/m]; centre (3,) of mass in the frame of the shape [m]; inertia (3,), principal moments [kg m2; 2D kg
    m: (0, 0, about z)]; rotation (4,): quaternion from the principal frame to the frame of the shape.
    """

    mass: float
    centre: Array
    inertia: Array
    rotation: Array


def mass_properties(
    shape: AnalyticShape | MeshShape | Sheet,
    density: float | None = None,
    mass: float | None = None,
    dimensions: int = 3,
    inertia: object = None,
    name: str = "body",
) -> MassProperties:
    """Mass properties of a solid of uniform density [kg/m3], or of the given mass [kg; 2D kg/m].

    inertia: (3, 3), or the moments (3,) about the axes of the shape, at the centre of mass [kg m2], instead of the one
    of uniform density; 2D: the moment about z [kg m].
    """
    if isinstance(shape, Plane):
        raise UserError(f"{name}: a plane has no finite mass; make it static (no mass, no density)")
    if (density is None) == (mass is None):
        raise UserError(f"{name}: density = {density}, mass = {mass}: give one of them")
    for word, value in (("density", density), ("mass", mass)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise UserError(f"{name}: {word} = {value}: must be positive; a body without mass is static")
    if dimensions == 2:
        return _flat_properties(shape, density, mass, inertia, name)
    volume, centre, tensor = _uniform(shape)
    if not volume > 0:
        raise UserError(f"{name}: encloses no volume ({volume:.3g} m3); check the mesh")
    total = float(mass if mass is not None else density * volume)  # type: ignore[operator]
    tensor = total / volume * tensor if inertia is None else _read_inertia(inertia, name)
    moments, frame = principal_axes(tensor)
    _check_moments(moments, name)
    return MassProperties(total, centre, moments, quaternion_of_matrix(frame))


def add_points(found: MassProperties, points: Array, masses: Array) -> MassProperties:
    """Mass properties of a body with points (k, 3) of masses (k,) fixed to it, both in the frame of the shape."""
    total = found.mass + float(masses.sum())
    centre = (found.mass * found.centre + masses @ points) / total
    arms = np.concatenate([found.centre[None], points]) - centre
    weights = np.concatenate([[found.mass], masses])
    second = np.einsum("k,ki,kj->ij", weights, arms, arms)
    if found.inertia[0] == 0.0:
        about_z = found.inertia[2] + second[0, 0] + second[1, 1]
        return MassProperties(total, centre, np.array([0.0, 0.0, about_z]), found.rotation)
    R = rotation_matrix_of(found.rotation)
    moments, frame = principal_axes(R @ np.diag(found.inertia) @ R.T + np.trace(second) * np.eye(3) - second)
    return MassProperties(total, centre, moments, quaternion_of_matrix(frame))


def _flat_properties(
    shape: AnalyticShape | MeshShape | Sheet, density: float | None, mass: float | None, given: object, name: str
) -> MassProperties:
    """Of the section, per metre of depth; the principal frame has the world's z axis."""
    if isinstance(shape, Sheet):
        area, centre, second = shape.measure()
        moment = float(np.trace(second))
    else:
        area, centre, moment = section_of(shape, np.eye(3)).measure()
    total = float(mass if mass is not None else density * area)  # type: ignore[operator]
    about_z = total / area * moment
    if given is not None:
        if np.ndim(given) != 0:  # type: ignore[arg-type]
            raise UserError(f"{name}: inertia = {given}: in 2D give one number, the moment about z [kg m]")
        about_z = float(given)  # type: ignore[arg-type]
        if not (np.isfinite(about_z) and about_z > 0):
            raise UserError(f"{name}: inertia = {about_z} kg m: must be positive")
    return MassProperties(total, centre, np.array([0.0, 0.0, about_z]), np.array([1.0, 0.0, 0.0, 0.0]))


def _uniform(shape: AnalyticShape | MeshShape | Sheet) -> tuple[float, Array, Array]:
    """Volume [m3], centre (3,) [m] and inertia tensor about it at density 1 (3, 3) [m5]."""
    if isinstance(shape, Sheet):
        volume, centre, second = shape.measure()
        return volume, centre, np.trace(second) * np.eye(3) - second
    if isinstance(shape, MeshShape):
        return integrate_mesh(shape.vertices, shape.triangles)
    volume = shape.volume()
    if isinstance(shape, Sphere):
        moments = np.full(3, 0.4 * shape.radius**2)
    elif isinstance(shape, Box):
        x, y, z = (s * s for s in shape.size)
        moments = np.array([y + z, z + x, x + y]) / 12.0
    elif isinstance(shape, Cylinder):
        r, h = shape.radius**2, shape.length**2
        moments = np.array([r / 4.0 + h / 12.0, r / 2.0, r / 4.0 + h / 12.0])
    elif isinstance(shape, Torus):
        R, r = shape.radius**2, shape.tube**2
        moments = np.array([R / 2.0 + 5.0 * r / 8.0, R + 0.75 * r, R / 2.0 + 5.0 * r / 8.0])
    else:
        assert isinstance(shape, Capsule)
        r, h = shape.radius, shape.length
        bar, ball = np.pi * r * r * h, 4.0 / 3.0 * np.pi * r**3
        # half balls: 2/5 r^2 about the flat centre, which is h/2 away, their centroids 3/8 r farther
        across = bar * (r * r / 4.0 + h * h / 12.0) + ball * (0.4 * r * r + h * h / 4.0 + 0.375 * h * r)
        along = bar * r * r / 2.0 + ball * 0.4 * r * r
        moments = np.array([across, along, across]) / volume
    return volume, np.zeros(3), volume * np.diag(moments)


def integrate_mesh(vertices: Array, triangles: Any) -> tuple[float, Array, Array]:
    """Volume [m3], centroid (3,) [m] and inertia tensor about it at density 1 (3, 3) [m5] of a closed mesh."""
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


def _read_inertia(given: object, name: str) -> Array:
    """The user's inertia as a symmetric tensor."""
    tensor = np.asarray(given, dtype=float)
    if tensor.shape == (3,):
        tensor = np.diag(tensor)
    if tensor.shape != (3, 3):
        raise UserError(f"{name}: inertia of shape {tensor.shape}: give three moments or a 3 x 3 tensor")
    if not np.allclose(tensor, tensor.T, rtol=1e-9, atol=1e-9 * np.abs(tensor).max()):
        raise UserError(f"{name}: inertia {tensor.tolist()} kg m2: must be symmetric")
    return 0.5 * (tensor + tensor.T)


def _check_moments(moments: Array, name: str) -> None:
    if not (np.all(np.isfinite(moments)) and moments.min() > 0):
        raise UserError(
            f"{name}: inertia with principal moments {moments} kg m2: must be positive definite; check it, or the mesh"
        )
    largest = float(moments.max())
    if 2.0 * largest > float(moments.sum()) * (1.0 + 1e-9):
        raise UserError(
            f"{name}: principal moments {moments} kg m2: the largest exceeds the sum of the others, which no solid can "
            "have; check the inertia given"
        )
