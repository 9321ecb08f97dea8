"""Scratch of the step of rigid bodies, and its loops over bodies."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, BodySpec, RigidBodies, apply_inverse_inertia, rotate, rotate_back
from undertow.rigid.orientation import rotational_energy
from undertow.rigid.shapes import BOUND, MIDDLE, CollisionShapes
from undertow.solids.contact import BODY, DEPTH
from undertow.solids.settings import SolidSettings


class Work:
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
        self.apart, self.no_mobility = np.full(n, -1, dtype=np.int64), np.zeros((0, 0))
        self.inv_inertia, self.packed = np.zeros((n, 6)), np.zeros((n, BODY))
        # bounding radii [m], infinite for planes, and the lengths that follow from them; near: how far contacts are
        # looked for where nothing moves, which for a plane is up to the other body; around: radii about the centres
        self.size = np.ascontiguousarray(shapes.arrays().number[self.shape, BOUND]) if n else np.zeros(0)
        self.touch, self.allowed, self.reach = settings.touch * self.size, settings.allowed * self.size, np.zeros(n)
        self.near = np.where(np.isfinite(self.touch), self.touch, 0.0)
        middle = shapes.arrays().number[self.shape, MIDDLE : MIDDLE + 3] if n else np.zeros((0, 3))
        self.around = self.size + np.linalg.norm(middle, axis=1)
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
def _evolve_velocities(bodies, gravity, force, torque, dt, out_v, out_omega):  # type: ignore[no-untyped-def]
    """v + dt (g + F / m), omega + dt I^-1 torque of the dynamic bodies; of others what they have."""
    for b in range(len(bodies.kind)):
        for i in range(3):
            out_v[b, i] = bodies.v[b, i]
            out_omega[b, i] = bodies.omega[b, i]
        if bodies.kind[b] == DYNAMIC:
            x, y, z = apply_inverse_inertia(
                bodies.q[b], bodies.inv_inertia[b], dt * torque[b, 0], dt * torque[b, 1], dt * torque[b, 2]
            )
            out_omega[b, 0] += x
            out_omega[b, 1] += y
            out_omega[b, 2] += z
            for i in range(3):
                out_v[b, i] += dt * (gravity[i] + bodies.inv_mass[b] * force[b, i])


@njit(cache=True)
def _advance_momenta(bodies, gravity, force, torque, dt):  # type: ignore[no-untyped-def]
    """p + dt (m g + F), L + dt torque of the dynamic bodies."""
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            for i in range(3):
                bodies.p[b, i] += dt * (gravity[i] / bodies.inv_mass[b] + force[b, i])
                bodies.L[b, i] += dt * torque[b, i]


@njit(cache=True)
def _derive_momenta(bodies):  # type: ignore[no-untyped-def]
    """p = m v, L = I omega of the dynamic bodies."""
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            x, y, z = rotate_back(bodies.q[b], bodies.omega[b, 0], bodies.omega[b, 1], bodies.omega[b, 2])
            k = bodies.inv_inertia[b]
            x = x / k[0] if k[0] > 0.0 else 0.0
            y = y / k[1] if k[1] > 0.0 else 0.0
            z = z / k[2] if k[2] > 0.0 else 0.0
            bodies.L[b, 0], bodies.L[b, 1], bodies.L[b, 2] = rotate(bodies.q[b], x, y, z)
            for i in range(3):
                bodies.p[b, i] = bodies.v[b, i] / bodies.inv_mass[b]


@njit(cache=True)
def _reach_bodies(kind, v, omega, size, touch, dt, out_reach):  # type: ignore[no-untyped-def]
    """dt |v|, what turning adds (at most the size of the body), and the distance that counts as touching."""
    for b in range(len(kind)):
        speed = sqrt(v[b, 0] ** 2 + v[b, 1] ** 2 + v[b, 2] ** 2)
        out_reach[b] = dt * speed
        if size[b] < 1e300:
            turn = sqrt(omega[b, 0] ** 2 + omega[b, 1] ** 2 + omega[b, 2] ** 2)
            out_reach[b] += min(dt * turn, 1.0) * size[b] + touch[b]


@njit(cache=True)
def _measure_energy(bodies, gravity):  # type: ignore[no-untyped-def]
    """(kinetic, potential) energy of the dynamic bodies, from their momenta."""
    kinetic, potential = 0.0, 0.0
    for b in range(len(bodies.kind)):
        if bodies.kind[b] == DYNAMIC:
            p, x = bodies.p[b], bodies.x[b]
            kinetic += 0.5 * bodies.inv_mass[b] * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
            kinetic += rotational_energy(bodies.q[b], bodies.inv_inertia[b], bodies.L[b])
            potential -= (gravity[0] * x[0] + gravity[1] * x[1] + gravity[2] * x[2]) / bodies.inv_mass[b]
    return kinetic, potential
