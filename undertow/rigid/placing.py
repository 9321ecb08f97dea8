"""Bodies as users place them: a shape at a position, turned, with the mass it has; bodies live in their principal
frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import (
    RigidBodies,
    conjugate,
    multiply_quaternions,
    quaternion_of_matrix,
    rotation_matrix_of,
)
from undertow.rigid.mass import MassProperties


def place_body(
    bodies: RigidBodies,
    name: str,
    shape: int,
    position: Array,
    rotation: Array,
    found: MassProperties | None = None,
    **options: Any,
) -> int:
    """Add a body whose shape is at position (3,) [m] turned by rotation (3, 3); returns its index.

    shape: index of the collision shape, made for the principal frame of ``found``. found: mass properties of a dynamic
    body; None for one that is not. options: as for ``RigidBodies.add``.
    """
    q = quaternion_of_matrix(rotation)
    if found is None:
        return bodies.add(name, shape, position, q, **options)
    middle = found.centre if found.centre_of_volume is None else found.centre_of_volume
    return bodies.add(
        name,
        shape,
        np.asarray(position) + rotation @ found.centre,
        multiply_quaternions(q, found.rotation),
        found.mass,
        found.inertia,
        shape_offset=-(rotation_matrix_of(found.rotation).T @ found.centre),
        shape_turn=conjugate(found.rotation),
        volume_arm=rotation_matrix_of(found.rotation).T @ (middle - found.centre),
        **options,
    )
