"""Contacts of particles with bodies: which may touch, where they are, what velocity they want.

Equation numbers are those of Becker, Tessendorf and Teschner [@becker2009].
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, apply_inverse_inertia, rotate, rotate_back
from undertow.rigid.fields import shape_distance, shape_gradient, unit_vector

HELD = 1e6
"""Times heavier is a particle that a wall holds."""

NEXT_TO = 2.0
"""Distance, in radii, within which eps acts on particles that do not touch: the layer next to a body."""

FULL, NORMAL, TANGENTIAL, NOTHING = 0, 1, 2, 3
"""What a contact holds: the whole relative velocity, its normal part (full slip), its tangential part (9), nothing."""


class ContactSpec(NamedTuple):
    """Contacts, body by body: point (n,) and body (n,), normal (n, 3) out of the body, gap (n,) [m] of the particle's
    rim, arm (n, 3) from the body's centre of mass to where the force acts, both before the step [m], wanted (n, 3)
    relative velocity of (8) or (9) [m/s], kind (n,): what it holds, impulse (n, 3) on the particle [N s], mass (n,) of
    the particle [kg], a large one where a wall holds it; search, left (n, 3): of conjugate gradients."""

    point: Any
    body: Any
    normal: Array
    gap: Array
    arm: Array
    wanted: Array
    kind: Any
    impulse: Array
    mass: Array
    search: Array
    left: Array


class Twists(NamedTuple):
    """Predicted motion of the bodies: v (n, 3) [m/s], omega (n, 3) [rad/s], and poses x (n, 3) [m], q (n, 4)."""

    v: Array
    omega: Array
    x: Array
    q: Array


class NearSpec(NamedTuple):
    """Particles that may touch bodies before the lists are made anew, body by body: pair (n, 2) of a particle's point
    and a body, signed distance (n,) [m] of the body there, normal (n, 3) out of the body where it is within reach."""

    pair: Any
    distance: Array
    normal: Array


class Rules(NamedTuple):
    """What contacts want: slip eps and restitution delta of (8); radius r_F of a particle [m]; at_surface: forces act
    at the contact point, in place of the particle; walls (3, 3): lowest and highest coordinates of particles [m]."""

    slip: float
    restitution: float
    radius: float
    at_surface: bool
    walls: Array


class Poses(NamedTuple):
    """Where the bodies are: x (n, 3) [m], q (n, 4), and their shape (n,)."""

    x: Array
    q: Array
    shape: Any


def make_near(room: int) -> NearSpec:
    """Room for so many pairs."""
    return NearSpec(np.zeros((room, 2), dtype=np.int64), np.zeros(room), np.zeros((room, 3)))


def make_contacts(room: int) -> ContactSpec:
    """Room for so many contacts."""
    point, body, kind = (np.zeros(room, dtype=np.int64) for _ in range(3))
    normal, arm, wanted, impulse, search, left = (np.zeros((room, 3)) for _ in range(6))
    return ContactSpec(point, body, normal, np.zeros(room), arm, wanted, kind, impulse, np.zeros(room), search, left)


@njit(cache=True, nogil=True)
def _place_boundary(bodies, local, body, out_place, out_velocity):  # type: ignore[no-untyped-def]
    """World positions and velocities of points given in the frames of bodies."""
    for k in range(len(body)):
        b = body[k]
        x, y, z = rotate(bodies.q[b], local[k, 0], local[k, 1], local[k, 2])
        w, v = bodies.omega[b], bodies.v[b]
        out_velocity[k, 0] = v[0] + w[1] * z - w[2] * y
        out_velocity[k, 1] = v[1] + w[2] * x - w[0] * z
        out_velocity[k, 2] = v[2] + w[0] * y - w[1] * x
        out_place[k, 0], out_place[k, 1], out_place[k, 2] = bodies.x[b, 0] + x, bodies.x[b, 1] + y, bodies.x[b, 2] + z


@njit(cache=True, nogil=True)
def _gather_forces(bodies, place, body, force, out_pressure, out_viscous, out_torque):  # type: ignore[no-untyped-def]
    """Forces on boundary particles as forces and torques about the centres of mass."""
    out_pressure[:] = 0.0
    out_viscous[:] = 0.0
    out_torque[:] = 0.0
    for k in range(len(body)):
        b = body[k]
        x, y, z = place[k, 0] - bodies.x[b, 0], place[k, 1] - bodies.x[b, 1], place[k, 2] - bodies.x[b, 2]
        fx, fy, fz = force[k, 0] + force[k, 3], force[k, 1] + force[k, 4], force[k, 2] + force[k, 5]
        for a in range(3):
            out_pressure[b, a] += force[k, a]
            out_viscous[b, a] += force[k, 3 + a]
        out_torque[b, 0] += y * fz - z * fy
        out_torque[b, 1] += z * fx - x * fz
        out_torque[b, 2] += x * fy - y * fx


@njit(cache=True, nogil=True)
def _predict_bodies(bodies, gravity, force, torque, dt, out_v, out_omega, out_x, out_q):  # type: ignore[no-untyped-def]
    """v*, omega*, x*, q* (algorithm 1, 3); orientation to first order, as it only finds contacts."""
    for b in range(len(bodies.kind)):
        ax, ay, az = 0.0, 0.0, 0.0
        if bodies.kind[b] == DYNAMIC:
            ax, ay, az = apply_inverse_inertia(
                bodies.q[b], bodies.inv_inertia[b], torque[b, 0], torque[b, 1], torque[b, 2]
            )
        w = out_omega[b]
        w[0], w[1], w[2] = bodies.omega[b, 0] + dt * ax, bodies.omega[b, 1] + dt * ay, bodies.omega[b, 2] + dt * az
        for a in range(3):
            out_v[b, a] = bodies.v[b, a]
            if bodies.kind[b] == DYNAMIC:
                out_v[b, a] += dt * (gravity[a] + bodies.inv_mass[b] * force[b, a])
            out_x[b, a] = bodies.x[b, a] + dt * out_v[b, a]
        q = bodies.q[b]
        h = 0.5 * dt
        out_q[b, 0] = q[0] - h * (w[0] * q[1] + w[1] * q[2] + w[2] * q[3])
        out_q[b, 1] = q[1] + h * (w[0] * q[0] + w[1] * q[3] - w[2] * q[2])
        out_q[b, 2] = q[2] + h * (w[1] * q[0] + w[2] * q[1] - w[0] * q[3])
        out_q[b, 3] = q[3] + h * (w[2] * q[0] + w[0] * q[2] - w[1] * q[1])
        size = sqrt(out_q[b, 0] ** 2 + out_q[b, 1] ** 2 + out_q[b, 2] ** 2 + out_q[b, 3] ** 2)
        for a in range(4):
            out_q[b, a] /= size


@njit(cache=True, nogil=True)
def _list_near(points, count, lists, body, out_near):  # type: ignore[no-untyped-def]
    """(particle, body) for every body with a boundary particle in a particle's list; how many, at least."""
    found = 0
    for i in range(count):
        if points.label[i] < 0:
            continue
        last = -1
        first = found
        for n in range(lists.middle[i], lists.starts[i + 1]):
            k = -1 - points.label[lists.listed[n]]
            if k >= len(body) or body[k] == last:
                continue
            last = body[k]
            known = False
            for m in range(first, min(found, len(out_near))):
                known = known or out_near[m, 1] == last
            if not known:
                if found < len(out_near):
                    out_near[found, 0], out_near[found, 1] = i, last
                found += 1
    return found


@njit(cache=True, nogil=True)
def _measure_distances(points, near, poses, shapes, reach, within, dt, start, stop):  # type: ignore[no-untyped-def]
    """Signed distance at particles moved by dt v, of the bodies near them at given poses; within reach the normals.

    Distances of at least ``within`` are left as they are.
    """
    for n in range(start, stop):
        if near.distance[n] >= within:
            continue
        i, b = near.pair[n, 0], near.pair[n, 1]
        x = points.place[i, 0] + dt * points.motion[i, 0] - poses.x[b, 0]
        y = points.place[i, 1] + dt * points.motion[i, 1] - poses.x[b, 1]
        z = points.place[i, 2] + dt * points.motion[i, 2] - poses.x[b, 2]
        x, y, z = rotate_back(poses.q[b], x, y, z)
        s = poses.shape[b]
        near.distance[n] = shape_distance(shapes, s, x, y, z)
        if near.distance[n] < reach:
            nx, ny, nz = shape_gradient(shapes, s, x, y, z)
            nx, ny, nz = rotate(poses.q[b], nx, ny, nz)
            near.normal[n, 0], near.normal[n, 1], near.normal[n, 2] = unit_vector(nx, ny, nz)


@njit(cache=True, nogil=True)
def _find_contacts(points, near, count, bodies, twists, rules, dt, out):  # type: ignore[no-untyped-def]
    """Contacts at x* (algorithm 1, 4) with the relative velocity that (8) or (9) wants; how many.

    Arms are those of x(t), where velocities change in a leapfrog step: with those of x* the pair of forces would make
    the angular momentum dt v_r* x j, as neither particle nor body ends its step there.
    """
    found = 0
    eps, radius, walls = rules.slip, rules.radius, rules.walls
    for n in range(count):
        i, b = near.pair[n, 0], near.pair[n, 1]
        distance, nx, ny, nz = near.distance[n], near.normal[n, 0], near.normal[n, 1], near.normal[n, 2]
        # fluid next to a body slips as eps says, whether pressure presses it on or not
        if distance >= (radius if eps == 1.0 else NEXT_TO * radius):
            continue
        back = distance if rules.at_surface else 0.0
        rx = points.place[i, 0] - back * nx - bodies.x[b, 0]
        ry = points.place[i, 1] - back * ny - bodies.x[b, 1]
        rz = points.place[i, 2] - back * nz - bodies.x[b, 2]
        v, w = twists.v[b], twists.omega[b]
        ux = points.motion[i, 0] - (v[0] + w[1] * rz - w[2] * ry)
        uy = points.motion[i, 1] - (v[1] + w[2] * rx - w[0] * rz)
        uz = points.motion[i, 2] - (v[2] + w[0] * ry - w[1] * rx)
        un = ux * nx + uy * ny + uz * nz
        # of v_r(t), before the prediction, what approached bounces back
        v, w = bodies.v[b], bodies.omega[b]
        before = (points.motion[i, 0] - dt * points.change[i, 0] - v[0] - w[1] * rz + w[2] * ry) * nx
        before += (points.motion[i, 1] - dt * points.change[i, 1] - v[1] - w[2] * rx + w[0] * rz) * ny
        before += (points.motion[i, 2] - dt * points.change[i, 2] - v[2] - w[0] * ry + w[1] * rx) * nz
        kind = NORMAL if eps == 1.0 else FULL
        wn = -rules.restitution * min(before, 0.0)
        if un > 0.0 or distance >= radius:
            kind = NOTHING if eps == 1.0 else TANGENTIAL
            wn = un
        if kind == NOTHING:
            continue
        out.point[found], out.body[found], out.kind[found] = i, b, kind
        out.normal[found, 0], out.normal[found, 1], out.normal[found, 2] = nx, ny, nz
        out.gap[found] = distance - radius
        out.arm[found, 0], out.arm[found, 1], out.arm[found, 2] = rx, ry, rz
        out.wanted[found, 0] = eps * (ux - un * nx) + wn * nx
        out.wanted[found, 1] = eps * (uy - un * ny) + wn * ny
        out.wanted[found, 2] = eps * (uz - un * nz) + wn * nz
        out.impulse[found] = 0.0
        # a particle that is pressed against a wall of the domain gives way no more than the wall
        out.mass[found] = points.place[i, 3]
        for a in range(3):
            low = points.place[i, a] <= walls[a, 0] + 1e-3 * radius and out.normal[found, a] < -0.5
            high = points.place[i, a] >= walls[a, 1] - 1e-3 * radius and out.normal[found, a] > 0.5
            if low or high:
                out.mass[found] = HELD * points.place[i, 3]
        found += 1
    return found


@njit(cache=True, nogil=True)
def _push_out(points, near, count, rules):  # type: ignore[no-untyped-def]
    """Particles a radius away from the bodies (20), and inside the walls; how many were moved."""
    moved = 0
    for n in range(count):
        push = rules.radius - near.distance[n]
        if push <= 0.0:
            continue
        moved += 1
        i = near.pair[n, 0]
        for a in range(3):
            x = points.place[i, a] + push * near.normal[n, a]
            points.place[i, a] = min(max(x, rules.walls[a, 0]), rules.walls[a, 1])
    return moved
