"""Joints of a body that breaks go to the piece that holds their point."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from undertow.geometry import Shape
from undertow.grid import Array
from undertow.rigid.bodies import (
    RigidBodies,
    conjugate,
    multiply_quaternions,
    quaternion_of_matrix,
    rotation_matrix_of,
)
from undertow.rigid.joint import WORLD, Joint
from undertow.rigid.mass import MassProperties
from undertow.rigid.table import BodyDescription


class JointEnd(NamedTuple):
    """A piece as a joint needs it: identity; shape with its position (3,) [m] and rotation (3, 3); x (3,) [m] and q
    (4,) of its principal frame."""

    identity: int
    shape: Shape
    position: Array
    rotation: Array
    x: Array
    q: Array

    @classmethod
    def of(cls, identity: int, body: BodyDescription, found: MassProperties | None) -> JointEnd:
        """A dynamic body where it is described to be."""
        assert found is not None
        position, R = body.motion.pose(0.0)
        q = multiply_quaternions(quaternion_of_matrix(R), found.rotation)
        return cls(identity, body.shape, position, R, position + R @ found.centre, q)

    def distance(self, point: Array) -> float:
        """Signed distance [m] of a point (3,) of the world."""
        return float(self.shape.distance(((point - self.position) @ self.rotation)[None])[0])


def move_joint(joint: Joint, gone: Collection[int], ends: Sequence[JointEnd], bodies: RigidBodies) -> Joint:
    """A joint at the piece next to its point, in the place of each of its bodies that are gone, in their poses of
    now."""
    position, turn, held = joint.position.copy(), joint.turn.copy(), [joint.parent, joint.child]
    for side in range(2):
        if held[side] == WORLD or held[side] not in gone:
            continue
        b = int(np.flatnonzero(bodies.identity_b == held[side])[0])
        point = bodies.x_b[b] + rotation_matrix_of(bodies.q_b[b]) @ position[side]
        frame = multiply_quaternions(bodies.q_b[b], turn[side])
        end = min(ends, key=lambda one: one.distance(point))
        position[side] = rotation_matrix_of(end.q).T @ (point - end.x)
        turn[side] = multiply_quaternions(conjugate(end.q), frame)
        held[side] = end.identity
    arms = [float(np.linalg.norm(p)) for p, one in zip(position, held, strict=True) if one != WORLD]
    return replace(
        joint, parent=held[0], child=held[1], position=position, turn=turn, length=max(arms, default=0.0) or 1.0
    )
