"""Mass, centre of mass and principal moments of inertia of shapes and closed meshes.

Shapes give their moments at density 1 (``Shape.moments``): by formulas, meshes by integrals over tetrahedra, sheets by
integrals over their triangles, in 2D edges, as if all their mass were on them.
In 2D per metre of depth: the section with the x-y plane, which turns about z alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Shape
from undertow.geometry.moments import principal_axes
from undertow.grid import Array
from undertow.rigid.bodies import quaternion_of_matrix, rotation_matrix_of


class MassProperties(NamedTuple):
    """What a body's motion needs to know of its shape.

    mass [kg; 2D kg/m]; centre (3,) of mass in the frame of the shape [m]; inertia (3,), principal moments [kg m2; 2D kg
    m: (0, 0, about z)]; rotation (4,): quaternion from the principal frame to the frame of the shape; volume [m3; 2D
    m2] that it displaces; centre_of_volume (3,) in the frame of the shape [m], None: the centre of mass.
    """

    mass: float
    centre: Array
    inertia: Array
    rotation: Array
    volume: float = 0.0
    centre_of_volume: Array | None = None


def mass_properties(
    shape: Shape,
    density: float | None = None,
    mass: float | None = None,
    dimensions: int = 3,
    inertia: object = None,
    centre: Array | None = None,
    name: str = "body",
) -> MassProperties:
    """Mass properties of a solid of uniform density [kg/m3], or of the given mass [kg; 2D kg/m].

    inertia: (3, 3), or the moments (3,) about the axes of the shape, at the centre of mass [kg m2], instead of the one
    of uniform density; 2D: the moment about z [kg m]. centre: of mass (3,) in the frame of the shape [m], instead of
    that of uniform density.
    """
    if shape.is_endless:
        raise UserError(f"{name}: a plane has no finite mass; make it static (no mass, no density)")
    if (density is None) == (mass is None):
        raise UserError(f"{name}: density = {density}, mass = {mass}: give one of them")
    for word, value in (("density", density), ("mass", mass)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise UserError(f"{name}: {word} = {value}: must be positive; a body without mass is static")
    found = (_flat_properties if dimensions == 2 else _solid_properties)(shape, density, mass, inertia, name)
    if centre is None:
        return found
    lower, upper = shape.bounds()
    outside = [a for a in range(dimensions) if not lower[a] <= centre[a] <= upper[a]]
    if outside:
        a = outside[0]
        raise UserError(
            f"{name}: centre_of_mass = {np.round(centre[:dimensions], 6).tolist()} m: lies outside the shape, which "
            f"reaches from {lower[a]:.4g} to {upper[a]:.4g} m along {'xyz'[a]}; give it in the frame of the shape"
        )
    middle = found.centre if found.centre_of_volume is None else found.centre_of_volume
    return found._replace(centre=np.asarray(centre, dtype=float), centre_of_volume=middle)


def _solid_properties(
    shape: Shape, density: float | None, mass: float | None, inertia: object, name: str
) -> MassProperties:
    volume, size, centre, tensor, middle = shape.moments()
    if not size > 0:
        raise UserError(f"{name}: encloses no volume ({size:.3g} m3); check the mesh")
    total = float(mass if mass is not None else density * size)  # type: ignore[operator]
    tensor = total / size * tensor if inertia is None else _read_inertia(inertia, name)
    moments, frame = principal_axes(tensor)
    _check_moments(moments, name)
    return MassProperties(total, centre, moments, quaternion_of_matrix(frame), volume, middle)


def add_points(found: MassProperties, points: Array, masses: Array) -> MassProperties:
    """Mass properties of a body with points (k, 3) of masses (k,) fixed to it, both in the frame of the shape."""
    middle = found.centre if found.centre_of_volume is None else found.centre_of_volume
    total = found.mass + float(masses.sum())
    centre = (found.mass * found.centre + masses @ points) / total
    arms = np.concatenate([found.centre[None], points]) - centre
    weights = np.concatenate([[found.mass], masses])
    second = np.einsum("k,ki,kj->ij", weights, arms, arms)
    if found.inertia[0] == 0.0:
        about_z = found.inertia[2] + second[0, 0] + second[1, 1]
        return found._replace(mass=total, centre=centre, inertia=np.array([0.0, 0.0, about_z]), centre_of_volume=middle)
    R = rotation_matrix_of(found.rotation)
    moments, frame = principal_axes(R @ np.diag(found.inertia) @ R.T + np.trace(second) * np.eye(3) - second)
    return MassProperties(total, centre, moments, quaternion_of_matrix(frame), found.volume, middle)


def _flat_properties(
    shape: Shape, density: float | None, mass: float | None, given: object, name: str
) -> MassProperties:
    """Of the section, per metre of depth; the principal frame has the world's z axis."""
    area, size, centre, tensor, middle = shape.planar_moments()
    total = float(mass if mass is not None else density * size)  # type: ignore[operator]
    about_z = total / size * tensor[2, 2]
    if given is not None:
        if np.ndim(given) != 0:  # type: ignore[arg-type]
            raise UserError(f"{name}: inertia = {given}: in 2D give one number, the moment about z [kg m]")
        about_z = float(given)  # type: ignore[arg-type]
        if not (np.isfinite(about_z) and about_z > 0):
            raise UserError(f"{name}: inertia = {about_z} kg m: must be positive")
    return MassProperties(total, centre, np.array([0.0, 0.0, about_z]), np.array([1.0, 0.0, 0.0, 0.0]), area, middle)


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
