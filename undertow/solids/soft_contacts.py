"""Nodes of soft bodies against the signed distances of rigid ones."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.rigid.bodies import RigidBodies, rotate, rotate_back
from undertow.rigid.colliders import Colliders
from undertow.rigid.fields import shape_distance, shape_gradient, unit_vector
from undertow.rigid.shapes import BOUND, MIDDLE, CollisionShapes
from undertow.soft import SoftBodies

FREE, SLIDES, STICKS = 0, 1, 2
"""What a node does at the body it is near."""


@njit(cache=True, nogil=True)
def _find_nearest(nodes, x, radius, reach, ignored, shapes, bodies, out_body, out_gap, out_normal, start, stop):  # type: ignore[no-untyped-def]
    """Nearest rigid body of every node within its reach: its number (-1: none), gap and normal towards the node.

    ignored (k, bodies): 1 for the bodies a node does not touch; of no length: none.
    """
    for k in range(start, stop):
        n = nodes[k]
        out_body[k] = -1
        best = reach[k]
        for b in range(len(bodies.kind)):
            if k < len(ignored) and ignored[k, b] == 1:
                continue
            s = bodies.shape[b]
            dx, dy, dz = x[n, 0] - bodies.x[b, 0], x[n, 1] - bodies.x[b, 1], x[n, 2] - bodies.x[b, 2]
            mx, my, mz = shapes.number[s, MIDDLE], shapes.number[s, MIDDLE + 1], shapes.number[s, MIDDLE + 2]
            bound = sqrt(mx * mx + my * my + mz * mz) + shapes.number[s, BOUND] + best + radius[k]
            if bound < 1e300 and dx * dx + dy * dy + dz * dz > bound * bound:
                continue
            px, py, pz = rotate_back(bodies.q[b], dx, dy, dz)
            gap = shape_distance(shapes, s, px, py, pz) - radius[k]
            if gap < best:
                best = gap
                gx, gy, gz = shape_gradient(shapes, s, px, py, pz)
                gx, gy, gz = unit_vector(gx, gy, gz)
                out_normal[k, 0], out_normal[k, 1], out_normal[k, 2] = rotate(bodies.q[b], gx, gy, gz)
                out_body[k], out_gap[k] = b, gap


def gaps_to_others(x: Array, own: Any, reach: float, colliders: Colliders, shapes: CollisionShapes) -> Array:
    """Distance (k,) [m] of points (k, 3) from the nearest body, at most ``reach`` [m], but for that of their own
    (k,)."""
    bodies, k = colliders.bodies, len(x)
    colliders.update()
    ignored = (colliders.owner[None, :] == np.asarray(own)[:, None]).astype(np.int64)
    gap, least = np.full(k, reach), np.full(k, reach)
    share(
        _find_nearest, k, 32 * k * bodies.count, np.arange(k), np.ascontiguousarray(x), np.zeros(k), least, ignored,
        shapes.arrays(), colliders.spread(bodies.spec), np.zeros(k, dtype=np.int64), gap, np.zeros((k, 3)),
    )  # fmt: skip
    return gap


class SoftContacts:
    """The nodes of soft bodies that can touch rigid bodies, and the contacts of now.

    nodes (k,); radius (k,) [m]: distance kept from bodies; friction (k,).
    """

    def __init__(
        self, soft: SoftBodies, rigid: RigidBodies, shapes: CollisionShapes, nodes: Any, radius: Array, friction: Array
    ) -> None:
        self.soft, self.rigid, self.shapes = soft, rigid, shapes
        self._colliders = Colliders(rigid, shapes)
        self.nodes = np.ascontiguousarray(nodes, dtype=np.int64)
        self.radius, self.friction = np.ascontiguousarray(radius), np.ascontiguousarray(friction)
        k = len(self.nodes)
        self.body = np.full(k, -1, dtype=np.int64)
        self.gap, self.normal = np.zeros(k), np.zeros((k, 3))
        self.carrier = np.full(k, -1, dtype=np.int64)
        """Which of the bodies that move with the nodes."""
        self.ignored = np.zeros((0, 0), dtype=np.int64)
        """1 where a node does not touch a body (k, bodies), or of no length."""
        self.velocity = np.zeros((k, 3))
        """Velocity of the body at the node (k, 3) [m/s]."""

    def find(self, x: Array, reach: Array) -> None:
        """Contacts at the positions x (n, 3) within reach (k,) [m]."""
        rigid = self.rigid
        if rigid.count == 0:
            return
        spec, k = rigid.spec, len(self.nodes)
        self._colliders.update()
        whole, owner = self._colliders.are_bodies, self._colliders.owner
        ignored = self.ignored if whole or not len(self.ignored) else self.ignored[:, owner]
        share(
            _find_nearest, k, 32 * k * rigid.count, self.nodes, x, self.radius, reach, ignored,
            self.shapes.arrays(), self._colliders.spread(spec), self.body, self.gap, self.normal,
        )  # fmt: skip
        if not whole:
            self.body[...] = np.where(self.body < 0, -1, owner[self.body])
        if self.soft.dimensions == 2:
            self.normal[:, 2] = 0.0
        b = np.maximum(self.body, 0)
        self.velocity[...] = rigid.v_b[b] + np.cross(rigid.omega_b[b], x[self.nodes] - rigid.x_b[b])

    def follow(self, w: Array) -> None:
        """Velocities of the bodies at the nodes when the carriers move with w (b, 6)."""
        chosen = self.carrier >= 0
        twist = w[self.carrier[chosen]]
        arm = self.soft.x[self.nodes[chosen]] - self.rigid.x_b[self.body[chosen]]
        self.velocity[chosen] = twist[:, :3] + np.cross(twist[:, 3:], arm)

    def mu(self) -> Array:
        """Friction of every contact (k,): the geometric mean of node and body."""
        if self.rigid.count == 0:
            return np.zeros(len(self.nodes))
        return np.asarray(np.sqrt(self.friction * self.rigid.friction_b[np.maximum(self.body, 0)]))
