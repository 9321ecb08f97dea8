"""Scratch of the step of all solids."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import BodySpec, RigidBodies
from undertow.rigid.shapes import BOUND, CollisionShapes
from undertow.solids.contact import BODY, DEPTH

if TYPE_CHECKING:
    from undertow.solids.step import SolidSettings


class StepWork:
    """Scratch for the bodies of now and a number of contacts."""

    def __init__(self, bodies: RigidBodies, shapes: CollisionShapes, settings: SolidSettings) -> None:
        n = bodies.count
        self.identity = bodies.identity_b.copy()
        self.shape = bodies.shape_b.copy()
        self.v, self.omega = np.zeros((n, 3)), np.zeros((n, 3))
        self.v_old, self.omega_old = np.zeros((n, 3)), np.zeros((n, 3))
        self.dv, self.domega = np.zeros((n, 3)), np.zeros((n, 3))
        self.contact_force, self.contact_torque = np.zeros((n, 3)), np.zeros((n, 3))
        self.gained_p, self.gained_L = np.zeros((n, 3)), np.zeros((n, 3))
        self.nothing, self.nowhere = np.zeros((n, 3)), np.zeros(3)
        self.inv_inertia, self.packed = np.zeros((n, 6)), np.zeros((n, BODY))
        # bounding radii [m], infinite for planes, and the lengths that follow from them; near: how far contacts are
        # looked for where nothing moves, which for a plane is up to the other body
        self.size = np.ascontiguousarray(shapes.arrays().number[self.shape, BOUND]) if n else np.zeros(0)
        self.touch, self.allowed, self.reach = settings.touch * self.size, settings.allowed * self.size, np.zeros(n)
        self.near = np.where(np.isfinite(self.touch), self.touch, 0.0)
        self.gram = np.zeros((DEPTH, DEPTH + 1))
        self.energy, self.slope, self.scale = np.zeros(n), np.zeros(n), np.zeros(n)
        self.level, self.parent = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.fill = np.zeros(n + 2, dtype=np.int64)
        self.pairs = 0
        self.reserve(0)

    def reserve(self, contacts: int) -> None:
        """Room for so many contacts."""
        self.starts = np.zeros(contacts + 1, dtype=np.int64)
        self.history = np.zeros((2, DEPTH + 1, contacts, 3))
        self.depth, self.queue = np.zeros(contacts), np.zeros(contacts, dtype=np.int64)

    def stale(self, bodies: RigidBodies) -> bool:
        """Whether the bodies are not those this was made for."""
        return not (np.array_equal(self.identity, bodies.identity_b) and np.array_equal(self.shape, bodies.shape_b))

    def given(self, value: Array | None, name: str) -> Array:
        """A force or torque per body (n, 3), or none."""
        if value is None:
            return self.nothing
        if np.shape(value) != self.v.shape:
            raise UserError(f"{name}_b: shape {np.shape(value)}: must be {self.v.shape}, three numbers per body")
        return np.ascontiguousarray(value, dtype=float)

    def reach_of(self, spec: BodySpec, dt: float) -> Array:
        """How far the bodies may come in the step (n,) [m]; starts the sums of the contact forces."""
        _reach_bodies(spec.kind, self.v, self.omega, self.size, self.touch, dt, self.reach)
        self.contact_force[...], self.contact_torque[...] = 0.0, 0.0
        return self.reach

    def keep_velocities(self, spec: BodySpec) -> None:
        self.v_old[...], self.omega_old[...] = spec.v, spec.omega

    def take_velocities(self, spec: BodySpec) -> None:
        self.v[...], self.omega[...] = spec.v, spec.omega


@njit(cache=True)
def _reach_bodies(kind, v, omega, size, touch, dt, out_reach):  # type: ignore[no-untyped-def]
    """dt |v|, what turning adds (at most the size of the body), and the distance that counts as touching."""
    for b in range(len(kind)):
        speed = sqrt(v[b, 0] ** 2 + v[b, 1] ** 2 + v[b, 2] ** 2)
        out_reach[b] = dt * speed
        if size[b] < 1e300:
            turn = sqrt(omega[b, 0] ** 2 + omega[b, 1] ** 2 + omega[b, 2] ** 2)
            out_reach[b] += min(dt * turn, 1.0) * size[b] + touch[b]
