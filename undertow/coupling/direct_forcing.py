"""Particles and rigid bodies by direct forcing (Becker, Tessendorf and Teschner 2009 [@becker2009], algorithm 1).

A step:

    neighbours, fluid and body forces                   1, 2
    v*, x* of fluid and bodies                          3    prediction
    contacts of particles with bodies at x*             4
    control forces                                      5    local (12) or global (18)
    velocities with them; bodies move                   6    contact among bodies, friction, joints: ``Solids``
    particles pushed out of the bodies                  7-9  (20)

Fluid and bodies exchange the pressure and viscous forces of boundary particles, equal and opposite along the line
between two particles, and the control forces. Contacts are found in the bodies' signed distances: a particle touches
where its distance is less than its radius, so contact points lie on the true surface, with the normals of the body.

Where the paper is left: with full slip (eps = 1) a control force is normal; slip acts on all particles of the layer
next to a body, as the pressure of boundary particles keeps many a hair's breadth away from it; a particle may touch
several bodies, whose solves are repeated in turn; contacts that would pull are dropped; forces act on body and particle
at one point, at the particle, unless ``at_surface`` asks for the paper's two points, which make angular momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import Array, share
from undertow.rigid.bodies import DYNAMIC, RigidBodies, apply_inverse_inertia, rotate, rotate_back
from undertow.rigid.fields import shape_distance, shape_gradient, unit_vector
from undertow.rigid.shapes import CollisionShapes
from undertow.solids import Solids, SolidsReport
from undertow.sph import SphFluid, add_penalty

HELD = 1e6
"""Times heavier is a particle that a wall holds."""

TURNS = 8
"""Rounds over the bodies, where a particle touches several or contacts pull."""


@dataclass(frozen=True)
class ForcingSettings:
    """slip: eps, share of the tangential velocity kept (0 sticks, 1 slides); restitution: delta; scheme: "local" or
    "global"; at_surface: the reaction acts at the contact point, as in the paper, in place of the particle."""

    slip: float = 1.0
    restitution: float = 0.0
    scheme: str = "global"
    at_surface: bool = False

    def __post_init__(self) -> None:
        for name in ("slip", "restitution"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UserError(f"sph.{name} = {getattr(self, name)}: must lie between 0 and 1")
        if self.scheme not in ("local", "global"):
            raise UserError(f"sph.scheme = {self.scheme!r}: the schemes are local and global")


class ContactSpec(NamedTuple):
    """Contacts, body by body: point (n,) and body (n,), normal (n, 3) out of the body, gap (n,) [m] of the particle's
    rim, arm (n, 3) from the body's centre of mass to where the force acts [m], wanted (n, 3) relative velocity of (8)
    or (9) [m/s], kind (n,): what it holds, impulse (n, 3) on the particle [N s], mass (n,) of the particle [kg], a
    large one where a wall holds it."""

    point: Any
    body: Any
    normal: Array
    gap: Array
    arm: Array
    wanted: Array
    kind: Any
    impulse: Array
    mass: Array


class Twists(NamedTuple):
    """Predicted motion of the bodies: v (n, 3) [m/s], omega (n, 3) [rad/s], and poses x (n, 3) [m], q (n, 4)."""

    v: Array
    omega: Array
    x: Array
    q: Array


class Poses(NamedTuple):
    """Where the bodies are: x (n, 3) [m], q (n, 4), and their shape (n,)."""

    x: Array
    q: Array
    shape: Any


FULL, NORMAL, TANGENTIAL, NOTHING = 0, 1, 2, 3
"""What a contact holds: the whole relative velocity, its normal part (full slip), its tangential part (9), nothing."""


class DirectForcing:
    """Fluid, bodies and their exchange; local (n, 3) [m]: boundary particles in the principal frames of body (n,)."""

    def __init__(
        self, fluid: SphFluid, solids: Solids, local: Array, body: Any, settings: ForcingSettings | None = None
    ) -> None:
        self.fluid, self.solids = fluid, solids
        self.bodies: RigidBodies = solids.bodies
        self.shapes: CollisionShapes = solids.shapes
        self.settings = settings or ForcingSettings()
        self.local = np.ascontiguousarray(local, dtype=float)
        self.body = np.ascontiguousarray(body, dtype=np.int64)
        n = self.bodies.count
        self.pressure_b, self.viscous_b, self.torque_b = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
        self._control, self._control_torque = np.zeros((n, 3)), np.zeros((n, 3))
        self._place, self._velocity = np.zeros_like(self.local), np.zeros_like(self.local)
        self._twists = Twists(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 4)))
        self._near = np.zeros((0, 2), dtype=np.int64)
        self._near_count = 0
        self._contacts = _make_contacts(0)
        self._distance, self._normal = np.zeros(0), np.zeros((0, 3))
        self.contacts = 0
        self.velocity_error = 0.0
        self._built = -1
        self.place_bodies()

    def place_bodies(self) -> None:
        """Boundary particles where the bodies are."""
        _place_boundary(self.bodies.spec, self.local, self.body, self._place, self._velocity)

    def begin(self) -> None:
        """Tell the fluid where the bodies are."""
        self.fluid.move_bodies(self._place, self._velocity)

    def limits(self) -> dict[str, float]:
        """Longest step [s]: a body may come nearer to a particle by half its radius."""
        found = self.fluid.limits()
        fastest = float(np.abs(self._velocity).max(initial=0.0))
        if fastest > 0:
            found["body"] = 0.5 * self.fluid.radius / fastest
        return found

    def step(self, time: float, dt: float) -> SolidsReport:
        """One step from ``time`` by ``dt`` [s]."""
        fluid, bodies, spec = self.fluid, self.bodies, self.bodies.spec
        fluid.prepare()
        self._find_near()
        fluid.accelerate(dt)
        self._repel()
        _gather_forces(spec, self._place, self.body, fluid.body_force, self.pressure_b, self.viscous_b, self.torque_b)
        fluid.kick(dt)
        bodies.move_kinematic(time + dt, place=False)
        gravity = self.solids.gravity
        force, torque = self.pressure_b + self.viscous_b, self.torque_b
        _predict_bodies(spec, gravity, force, torque, dt, *self._twists)
        self._find_contacts(dt)
        self._solve(dt)
        report = self.solids.step(time, dt, force + self._control, torque + self._control_torque)
        self._share_control()
        fluid.drift(dt)
        self.place_bodies()
        fluid.move_bodies(self._place, self._velocity)
        self._correct()
        fluid.measure()
        return report

    def _repel(self) -> None:
        """Control forces do it."""

    def _find_near(self) -> None:
        """Pairs of particles and bodies that may touch before the lists are made anew."""
        fluid = self.fluid
        if self._built == fluid.rebuilds:
            return
        self._built = fluid.rebuilds
        args = (fluid.points.spec, fluid.count, fluid.neighbours.spec, self.body)
        self._near_count = int(_list_near(*args, self._near))
        if self._near_count > len(self._near):
            self._near = np.zeros((2 * self._near_count, 2), dtype=np.int64)
            self._contacts = _make_contacts(2 * self._near_count)
            self._distance, self._normal = np.zeros(2 * self._near_count), np.zeros((2 * self._near_count, 3))
            _list_near(*args, self._near)
        near = self._near[: self._near_count]
        near[...] = near[np.argsort(near[:, 1], kind="stable")]

    def _find_contacts(self, dt: float) -> None:
        settings, fluid = self.settings, self.fluid
        self._measure(self._twists.x, self._twists.q, dt)
        self.contacts = int(
            _find_contacts(
                fluid.points.spec, self._near, self._near_count, self._distance, self._normal, self._twists,
                fluid.walls, fluid.radius, dt, settings.slip, settings.restitution, settings.at_surface, self._contacts,
            )
        )  # fmt: skip

    def _solve(self, dt: float) -> None:
        self._control[...], self._control_torque[...] = 0.0, 0.0
        if self.contacts == 0:
            self.velocity_error = 0.0
            return
        args = (
            self._contacts, self.contacts, self.fluid.points.spec, self.bodies.spec, self._twists,
            self.bodies.dimensions == 2,
        )  # fmt: skip
        if self.settings.scheme == "local":
            _solve_local(*args)
        else:
            _solve_global(*args, TURNS)
        self.velocity_error = float(
            _sum_control(self._contacts, self.contacts, self.fluid.points.spec, self._twists, dt, self._control,
                         self._control_torque)
        )  # fmt: skip

    def _share_control(self) -> None:
        """Control forces count with the pressure."""
        self.pressure_b += self._control
        self.torque_b += self._control_torque

    def _correct(self) -> None:
        """Two rounds: where two faces meet, the first push may lead into the other."""
        spec, fluid = self.bodies.spec, self.fluid
        for _ in range(2):
            self._measure(spec.x, spec.q, 0.0)
            args = (fluid.points.spec, self._near, self._near_count, self._distance, self._normal)
            if _push_out(*args, fluid.radius, fluid.walls) == 0:
                break

    def _measure(self, x: Array, q: Array, dt: float) -> None:
        """Distances of the particles near bodies at poses x, q."""
        n, poses = self._near_count, Poses(x, q, self.bodies.shape_b)
        share(
            _measure_distances, n, 16 * n, self.fluid.points.spec, self._near, poses, self.shapes.arrays(),
            2.0 * self.fluid.radius, dt, self._distance, self._normal,
        )  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """What evolves beside fluid and bodies: the forces last reported."""
        return {"forcing_pressure": self.pressure_b, "forcing_viscous": self.viscous_b, "forcing_torque": self.torque_b}

    def restore(self, arrays: Any) -> None:
        """Take over what ``arrays`` gave; fluid and bodies have been restored."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]
        self.place_bodies()
        self.begin()
        self._built = -1


class PenaltyForcing(DirectForcing):
    """The method of repulsive forces in the place of contacts, for comparison; slip and restitution have no effect."""

    def _repel(self) -> None:
        add_penalty(self.fluid)

    def _find_contacts(self, dt: float) -> None:
        self.contacts = 0

    def _correct(self) -> None:
        """Nothing keeps particles out but the repulsion."""


def _make_contacts(room: int) -> ContactSpec:
    point, body, kind = (np.zeros(room, dtype=np.int64) for _ in range(3))
    normal, arm, wanted, impulse = (np.zeros((room, 3)) for _ in range(4))
    return ContactSpec(point, body, normal, np.zeros(room), arm, wanted, kind, impulse, np.zeros(room))


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
    """(particle, body) for every body with a boundary particle in a particle's list; how many, stored or not."""
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
def _measure_distances(points, near, poses, shapes, reach, dt, out_distance, out_normal, start, stop):  # type: ignore[no-untyped-def]
    """Signed distance at particles moved by dt v, of the bodies near them at given poses; within reach the normals."""
    for n in range(start, stop):
        i, b = near[n, 0], near[n, 1]
        x = points.place[i, 0] + dt * points.motion[i, 0] - poses.x[b, 0]
        y = points.place[i, 1] + dt * points.motion[i, 1] - poses.x[b, 1]
        z = points.place[i, 2] + dt * points.motion[i, 2] - poses.x[b, 2]
        x, y, z = rotate_back(poses.q[b], x, y, z)
        s = poses.shape[b]
        out_distance[n] = shape_distance(shapes, s, x, y, z)
        if out_distance[n] < reach:
            nx, ny, nz = shape_gradient(shapes, s, x, y, z)
            nx, ny, nz = rotate(poses.q[b], nx, ny, nz)
            out_normal[n, 0], out_normal[n, 1], out_normal[n, 2] = unit_vector(nx, ny, nz)


@njit(cache=True, nogil=True)
def _find_contacts(points, near, count, distances, normals, twists, walls, radius, dt, eps, delta, at_surface, out):  # type: ignore[no-untyped-def]
    """Contacts at x* (algorithm 1, 4) with the relative velocity that (8) or (9) wants; how many."""
    found = 0
    for n in range(count):
        i, b = near[n, 0], near[n, 1]
        x = points.place[i, 0] + dt * points.motion[i, 0]
        y = points.place[i, 1] + dt * points.motion[i, 1]
        z = points.place[i, 2] + dt * points.motion[i, 2]
        distance, nx, ny, nz = distances[n], normals[n, 0], normals[n, 1], normals[n, 2]
        # fluid next to a body slips as eps says, whether pressure presses it on or not
        if distance >= (radius if eps == 1.0 else 2.0 * radius):
            continue
        back = distance if at_surface else 0.0
        rx, ry, rz = x - back * nx - twists.x[b, 0], y - back * ny - twists.x[b, 1], z - back * nz - twists.x[b, 2]
        v, w = twists.v[b], twists.omega[b]
        ux = points.motion[i, 0] - (v[0] + w[1] * rz - w[2] * ry)
        uy = points.motion[i, 1] - (v[1] + w[2] * rx - w[0] * rz)
        uz = points.motion[i, 2] - (v[2] + w[0] * ry - w[1] * rx)
        un = ux * nx + uy * ny + uz * nz
        # relative velocity before the prediction, for the bounce
        before = un - dt * (points.change[i, 0] * nx + points.change[i, 1] * ny + points.change[i, 2] * nz)
        kind = NORMAL if eps == 1.0 else FULL
        wn = -delta * min(before, 0.0)
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
def _missing(contacts, n, points, twists, out):  # type: ignore[no-untyped-def]
    """v-hat: wanted less present relative velocity of contact n, the part it holds."""
    i, b = contacts.point[n], contacts.body[n]
    v, w, r = twists.v[b], twists.omega[b], contacts.arm[n]
    out[0] = contacts.wanted[n, 0] - points.motion[i, 0] + v[0] + w[1] * r[2] - w[2] * r[1]
    out[1] = contacts.wanted[n, 1] - points.motion[i, 1] + v[1] + w[2] * r[0] - w[0] * r[2]
    out[2] = contacts.wanted[n, 2] - points.motion[i, 2] + v[2] + w[0] * r[1] - w[1] * r[0]
    normal = contacts.normal[n]
    along = out[0] * normal[0] + out[1] * normal[1] + out[2] * normal[2]
    for a in range(3):
        if contacts.kind[n] == NORMAL:
            out[a] = along * normal[a]
        elif contacts.kind[n] == TANGENTIAL:
            out[a] -= along * normal[a]
        elif contacts.kind[n] == NOTHING:
            out[a] = 0.0


@njit(cache=True, nogil=True)
def _held(kind, normal, a, b):  # type: ignore[no-untyped-def]
    """Entry of the projection on what a contact holds."""
    e = 1.0 if a == b else 0.0
    if kind == FULL:
        return e
    if kind == NORMAL:
        return normal[a] * normal[b]
    if kind == TANGENTIAL:
        return e - normal[a] * normal[b]
    return 0.0


@njit(cache=True, nogil=True)
def _solve_small(A, b, size):  # type: ignore[no-untyped-def]
    """Solve A x = b in place by elimination without pivoting (A symmetric positive definite); x in b."""
    for k in range(size):
        for i in range(k + 1, size):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, size):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]


@njit(cache=True, nogil=True)
def _solve_local(contacts, count, points, bodies, twists, planar):  # type: ignore[no-untyped-def]
    """Contacts one by one (12): F = 1/h [(1/m + 1/M) E + r~^T I^-1 r~]^-1 v-hat, all from the predicted velocities."""
    K, f = np.zeros((3, 3)), np.zeros(3)
    for n in range(count):
        _missing(contacts, n, points, twists, f)
        b, r, normal = contacts.body[n], contacts.arm[n], contacts.normal[n]
        for c in range(3):
            ex, ey, ez = (1.0 if c == 0 else 0.0), (1.0 if c == 1 else 0.0), (1.0 if c == 2 else 0.0)
            # (I^-1 (r x e)) x r
            tx, ty, tz = r[1] * ez - r[2] * ey, r[2] * ex - r[0] * ez, r[0] * ey - r[1] * ex
            tx, ty, tz = apply_inverse_inertia(bodies.q[b], bodies.inv_inertia[b], tx, ty, tz)
            K[0, c], K[1, c], K[2, c] = ty * r[2] - tz * r[1], tz * r[0] - tx * r[2], tx * r[1] - ty * r[0]
            K[c, c] += 1.0 / contacts.mass[n] + bodies.inv_mass[b]
        if contacts.kind[n] == NORMAL:
            stiff = 0.0
            for a in range(3):
                for c in range(3):
                    stiff += normal[a] * K[a, c] * normal[c]
            along = (f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2]) / stiff
            for a in range(3):
                f[a] = along * normal[a]
        else:
            _solve_small(K, f, 3)
        if f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2] >= 0.0 or contacts.kind[n] == TANGENTIAL:
            for a in range(3):
                contacts.impulse[n, a] = f[a]
    for n in range(count):
        _apply(contacts, n, contacts.impulse[n], points, bodies, twists)


@njit(cache=True, nogil=True)
def _apply(contacts, n, impulse, points, bodies, twists):  # type: ignore[no-untyped-def]
    """An impulse on the particle, and the opposite one on the body."""
    i, b, r = contacts.point[n], contacts.body[n], contacts.arm[n]
    for a in range(3):
        points.motion[i, a] += impulse[a] / contacts.mass[n]
        twists.v[b, a] -= bodies.inv_mass[b] * impulse[a]
    tx, ty, tz = (
        r[1] * impulse[2] - r[2] * impulse[1],
        r[2] * impulse[0] - r[0] * impulse[2],
        r[0] * impulse[1] - r[1] * impulse[0],
    )
    tx, ty, tz = apply_inverse_inertia(bodies.q[b], bodies.inv_inertia[b], tx, ty, tz)
    twists.omega[b, 0] -= tx
    twists.omega[b, 1] -= ty
    twists.omega[b, 2] -= tz


@njit(cache=True, nogil=True)
def _solve_global(contacts, count, points, bodies, twists, planar, turns):  # type: ignore[no-untyped-def]
    """All contacts of a body at once (18), the bodies in turn until nothing pulls and nothing is left.

    With the change D = (dv, domega) of the body's twist and J_i D = dv + domega x r_i the wanted velocities and the
    momenta give (M + sum m_i J_i^T P_i J_i) D = -sum m_i J_i^T P_i v-hat_i, P_i the projection on what contact i holds,
    and the impulse m_i P_i (v-hat_i + J_i D) on particle i.
    """
    A, d = np.zeros((6, 6)), np.zeros(6)
    miss, J, PJ = np.zeros(3), np.zeros((3, 6)), np.zeros((3, 6))
    for _ in range(turns):
        largest, change = 0.0, 0.0
        last = 0
        while last < count:
            first, b = last, contacts.body[last]
            while last < count and contacts.body[last] == b:
                last += 1
            A[:] = 0.0
            d[:] = 0.0
            for n in range(first, last):
                if contacts.kind[n] == NOTHING:
                    continue
                _missing(contacts, n, points, twists, miss)
                m = contacts.mass[n]
                _fill_arm(contacts.arm[n], J)
                normal = contacts.normal[n]
                for a in range(3):
                    for c in range(6):
                        s = 0.0
                        for e in range(3):
                            s += _held(contacts.kind[n], normal, a, e) * J[e, c]
                        PJ[a, c] = s
                for c in range(6):
                    for a in range(3):
                        d[c] -= m * J[a, c] * miss[a]
                        for e in range(6):
                            A[c, e] += m * J[a, c] * PJ[a, e]
            if bodies.kind[b] == DYNAMIC:
                _add_mass(bodies, b, planar, A, d)
                _solve_small(A, d, 6)
            else:
                d[:] = 0.0
            for n in range(first, last):
                if contacts.kind[n] == NOTHING:
                    continue
                _missing(contacts, n, points, twists, miss)
                _fill_arm(contacts.arm[n], J)
                m = contacts.mass[n]
                i, normal = contacts.point[n], contacts.normal[n]
                for a in range(3):
                    add = miss[a]
                    for e in range(3):
                        moved = 0.0
                        for c in range(6):
                            moved += J[e, c] * d[c]
                        add += _held(contacts.kind[n], normal, a, e) * moved
                    contacts.impulse[n, a] += m * add
                    points.motion[i, a] += add
                    change = max(change, abs(add))
                    largest = max(largest, abs(points.motion[i, a]))
            for a in range(3):
                twists.v[b, a] += d[a]
                twists.omega[b, a] += d[3 + a]
        pulled = False
        for n in range(count):
            normal, f = contacts.normal[n], contacts.impulse[n]
            along = f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2]
            if contacts.kind[n] < TANGENTIAL and along < 0.0:
                for a in range(3):
                    miss[a] = -f[a]
                _apply(contacts, n, miss, points, bodies, twists)
                contacts.impulse[n] = 0.0
                contacts.kind[n] = NOTHING
                pulled = True
        if not pulled and change <= 1e-9 * largest:
            break


@njit(cache=True, nogil=True)
def _fill_arm(r, out_J):  # type: ignore[no-untyped-def]
    """J = [E, -r~]: velocity at an arm from a twist."""
    out_J[:] = 0.0
    for a in range(3):
        out_J[a, a] = 1.0
    out_J[0, 4], out_J[0, 5] = r[2], -r[1]
    out_J[1, 3], out_J[1, 5] = -r[2], r[0]
    out_J[2, 3], out_J[2, 4] = r[1], -r[0]


@njit(cache=True, nogil=True)
def _add_mass(bodies, b, planar, A, d):  # type: ignore[no-untyped-def]
    """Mass and inertia of a body; in 2D it moves in the plane alone."""
    for a in range(3):
        A[a, a] += 1.0 / bodies.inv_mass[b]
    if planar:
        for a in range(2, 5):
            A[a, :] = 0.0
            A[:, a] = 0.0
            A[a, a] = 1.0
            d[a] = 0.0
        A[5, 5] += 1.0 / bodies.inv_inertia[b, 2]
        return
    for c in range(3):
        x, y, z = rotate_back(bodies.q[b], 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        k = bodies.inv_inertia[b]
        x, y, z = rotate(bodies.q[b], x / k[0], y / k[1], z / k[2])
        A[3, 3 + c] += x
        A[4, 3 + c] += y
        A[5, 3 + c] += z


@njit(cache=True, nogil=True)
def _sum_control(contacts, count, points, twists, dt, out_force, out_torque):  # type: ignore[no-untyped-def]
    """Control forces on the bodies (13), (14); largest error of a relative velocity [m/s]."""
    worst = 0.0
    miss = np.zeros(3)
    for n in range(count):
        b, f, r = contacts.body[n], contacts.impulse[n], contacts.arm[n]
        for a in range(3):
            out_force[b, a] -= f[a] / dt
        out_torque[b, 0] -= (r[1] * f[2] - r[2] * f[1]) / dt
        out_torque[b, 1] -= (r[2] * f[0] - r[0] * f[2]) / dt
        out_torque[b, 2] -= (r[0] * f[1] - r[1] * f[0]) / dt
        _missing(contacts, n, points, twists, miss)
        worst = max(worst, sqrt(miss[0] ** 2 + miss[1] ** 2 + miss[2] ** 2))
    return worst


@njit(cache=True, nogil=True)
def _push_out(points, near, count, distances, normals, radius, walls):  # type: ignore[no-untyped-def]
    """Particles a radius away from the bodies (20), and inside the walls; how many were moved."""
    moved = 0
    for n in range(count):
        push = radius - distances[n]
        if push <= 0.0:
            continue
        moved += 1
        i = near[n, 0]
        for a in range(3):
            x = points.place[i, a] + push * normals[n, a]
            points.place[i, a] = min(max(x, walls[a, 0]), walls[a, 1])
    return moved
