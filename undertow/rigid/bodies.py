"""Rigid bodies as arrays: momentum is the state, velocity is derived.

A body lives in its principal frame: origin in the centre of mass, axes along the principal axes of inertia. ``q`` turns
that frame into the world. The shape of the user sits in it at ``shape_offset_b`` turned by ``shape_turn_b``.

In a 2D scene masses are per metre of depth, a body turns about z alone (its other inverse moments are 0) and stays in
the plane z = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.geometry import Motion
from undertow.geometry.motion import quaternion_of_matrix
from undertow.grid import Array

STATIC, KINEMATIC, DYNAMIC = 0, 1, 2
KIND_NAMES = ("static", "kinematic", "dynamic")


class BodySpec(NamedTuple):
    """What the kernels see of n bodies, all C-contiguous.

    kind (n,); x (n, 3) centre of mass [m]; q (n, 4) principal frame to world; p (n, 3) [kg m/s] and L (n, 3) about the
    centre of mass [kg m2/s], 0 unless dynamic; inv_mass (n,) [1/kg] and inv_inertia (n, 3) principal [1/(kg m2)], 0
    unless dynamic; v (n, 3) [m/s] and omega (n, 3) [rad/s], derived from p and L, or given for a kinematic body;
    friction, restitution (n,); rolling, spinning (n,) friction lengths [m]; shape (n,) index of the collision shape.
    """

    kind: Any
    x: Array
    q: Array
    p: Array
    L: Array
    inv_mass: Array
    inv_inertia: Array
    v: Array
    omega: Array
    friction: Array
    restitution: Array
    rolling: Array
    spinning: Array
    shape: Any


_WIDTH = {name: 3 for name in ("x", "p", "L", "inv_inertia", "v", "omega", "inertia", "shape_offset", "volume_arm")} | {
    "q": 4,
    "shape_turn": 4,
}
_SCALARS = ("mass", "inv_mass", "friction", "restitution", "rolling", "spinning")
_WHOLE = ("kind", "shape", "identity", "group", "mask")

SIDES = 1 << 62
"""Bit of the group that all bodies collide with: sides of the domain, and bodies without a group."""


class RigidBodies:
    """All rigid bodies of a simulation, in order of creation; bodies can be added and removed between steps.

    Arrays have room for more bodies than there are; ``spec`` gives views of the living ones. ``identity`` is a number
    that no other body of the run ever has, so that what is remembered about a body survives removal of others.
    """

    def __init__(self, dimensions: int = 3) -> None:
        self.dimensions = dimensions
        self.count = 0
        self.names: list[str] = []
        self.motions: dict[int, Motion] = {}
        self._next_identity = 0
        self._arrays: dict[str, Any] = {name: np.zeros((0, width)) for name, width in _WIDTH.items()}
        self._arrays |= {name: np.zeros(0) for name in _SCALARS}
        self._arrays |= {name: np.zeros(0, dtype=np.int64) for name in _WHOLE}
        self._viewed = (-1, -1)
        self._views: dict[str, Any] = {}
        self._spec: BodySpec

    def __getattr__(self, name: str) -> Any:
        """``x_b``, ``q_b``, ``mass_b`` ...: the living part of an array."""
        if name.endswith("_b") and name[:-2] in self.__dict__.get("_arrays", {}):
            return self._living()[name[:-2]]
        raise AttributeError(f"RigidBodies has no {name!r}")

    @property
    def spec(self) -> BodySpec:
        """Views of the living bodies for kernels."""
        self._living()
        return self._spec

    def _living(self) -> dict[str, Any]:
        """Views of the living bodies, the same until there are more or fewer of them, or more room."""
        now = self.count, len(self._arrays["mass"])
        if now != self._viewed:
            self._viewed = now
            self._views = {name: array[: self.count] for name, array in self._arrays.items()}
            self._spec = BodySpec(*(self._views[name] for name in BodySpec._fields))
        return self._views

    def index(self, name: str) -> int:
        """Position of a body by name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise UserError(
                f"body {name!r}: no such body; the bodies are {', '.join(self.names) or '(none)'}"
            ) from None

    def add(
        self,
        name: str,
        shape: int,
        position: Array,
        rotation: Array,
        mass: float = 0.0,
        inertia: Array | None = None,
        motion: Motion | None = None,
        velocity: Array | None = None,
        angular_velocity: Array | None = None,
        friction: float = 0.5,
        restitution: float = 0.0,
        rolling: float = 0.0,
        spinning: float = 0.0,
        shape_offset: Array | None = None,
        shape_turn: Array | None = None,
        volume_arm: Array | None = None,
        group: int = SIDES,
        mask: int = -1,
    ) -> int:
        """Add a body and return its index.

        position (3,) of the centre of mass [m], rotation (4,) of the principal frame. Dynamic with ``mass`` > 0 [kg; 2D
        kg/m] and principal moments ``inertia`` (3,) [kg m2] (2D: z alone); kinematic with a ``motion``; else static.
        volume_arm (3,): from its centre of mass to that of its volume, in the principal frame [m]; None: the same.
        group: bit of its collision group; mask: bits of the groups that it collides with.
        """
        if name in self.names:
            raise UserError(f"body {name!r}: exists already; names are unique")
        if not (np.isfinite(mass) and mass >= 0):
            raise UserError(
                f"body {name!r}: mass = {mass} kg: must be positive, or 0 for a body that forces do not move"
            )
        if mass > 0 and motion is not None:
            raise UserError(f"body {name!r}: has both a mass and a prescribed motion; give one of them")
        if mass > 0 and not all(np.isfinite(m) and m > 0 for m in np.asarray(inertia, dtype=float)[self._free]):
            raise UserError(f"body {name!r}: moments of inertia {inertia} kg m2: must be positive; check the mesh")
        if self.count == len(self._arrays["mass"]):
            self._grow()
        b = self.count
        self.count += 1
        self.names.append(name)
        for array in self._arrays.values():
            array[b] = 0
        kind = DYNAMIC if mass > 0 else KINEMATIC if motion is not None else STATIC
        if motion is not None:
            self.motions[b] = motion
        values = {
            "kind": kind, "shape": shape, "identity": self._next_identity, "x": position, "q": rotation, "mass": mass,
            "friction": friction, "restitution": restitution, "rolling": rolling, "spinning": spinning,
            "shape_turn": (1.0, 0.0, 0.0, 0.0) if shape_turn is None else shape_turn,
            "shape_offset": 0.0 if shape_offset is None else shape_offset, "group": group, "mask": mask | SIDES,
            "volume_arm": 0.0 if volume_arm is None else volume_arm,
        }  # fmt: skip
        self._next_identity += 1
        for key, value in values.items():
            self._arrays[key][b] = value
        if kind == DYNAMIC:
            self._set_mass(b, mass, np.asarray(inertia, dtype=float))
            self.set_velocity(b, velocity, angular_velocity)
        return b

    @property
    def _free(self) -> list[int]:
        """The principal axes about which bodies turn."""
        return [2] if self.dimensions == 2 else [0, 1, 2]

    def _set_mass(self, b: int, mass: float, inertia: Array) -> None:
        self._arrays["inertia"][b] = inertia
        self._arrays["inv_mass"][b] = 1.0 / mass
        for i in self._free:
            self._arrays["inv_inertia"][b, i] = 1.0 / inertia[i]

    def set_velocity(self, b: int, velocity: Array | None = None, angular_velocity: Array | None = None) -> None:
        """Set the momentum of a dynamic body from its velocity [m/s] and angular velocity [rad/s]."""
        v = np.zeros(3) if velocity is None else np.asarray(velocity, dtype=float)
        omega = np.zeros(3) if angular_velocity is None else np.asarray(angular_velocity, dtype=float)
        R = rotation_matrix_of(self._arrays["q"][b])
        self._arrays["p"][b] = self._arrays["mass"][b] * v
        self._arrays["L"][b] = R @ (self._arrays["inertia"][b] * (R.T @ omega))
        self._arrays["v"][b], self._arrays["omega"][b] = v, omega

    def remove(self, b: int) -> None:
        """Take a body out; those after it move down by one."""
        for array in self._arrays.values():
            array[b : self.count - 1] = array[b + 1 : self.count]
        self.count -= 1
        del self.names[b]
        self.motions = {i - (i > b): motion for i, motion in self.motions.items() if i != b}

    def withdraw(self) -> None:
        """Take back the body that was added last, as if it had never been: its identity is free again."""
        self.remove(self.count - 1)
        self._next_identity -= 1

    def move_kinematic(self, time: float, place: bool) -> None:
        """Velocities of kinematic bodies at a time [s]; with ``place`` their poses too."""
        for b, motion in self.motions.items():
            position, rotation = motion.pose(time)
            velocity, omega = motion.velocity(time)
            offset = rotation @ self._centre_in_shape(b)
            if place:
                self._arrays["x"][b] = position + offset
                self._arrays["q"][b] = multiply_quaternions(
                    quaternion_of_matrix(rotation), conjugate(self._arrays["shape_turn"][b])
                )
            self._arrays["v"][b] = velocity + np.cross(omega, offset)
            self._arrays["omega"][b] = omega

    def _centre_in_shape(self, b: int) -> Array:
        """Centre of mass in the frame of the user's shape (3,) [m]."""
        turn = rotation_matrix_of(self._arrays["shape_turn"][b])
        return np.asarray(-(turn.T @ self._arrays["shape_offset"][b]))

    def shape_pose(self, b: int) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3) of the user's shape."""
        R = rotation_matrix_of(self._arrays["q"][b])
        position = self._arrays["x"][b] + R @ self._arrays["shape_offset"][b]
        return position, R @ rotation_matrix_of(self._arrays["shape_turn"][b])

    def twists(self) -> Array:
        """Velocities and angular velocities (n, 6) [m/s, rad/s], as last derived."""
        return np.concatenate([self.v_b, self.omega_b], axis=1)

    def volume_arms(self) -> Array:
        """From the centres of mass to the centres of volume (n, 3) [m], where what bodies displace would have its
        weight."""
        arms = np.zeros((self.count, 3))
        for b in np.flatnonzero(self._arrays["volume_arm"][: self.count].any(axis=1)):
            arms[b] = rotation_matrix_of(self._arrays["q"][b]) @ self._arrays["volume_arm"][b]
        return arms

    def derive_velocities(self) -> None:
        """v = p / m and omega = I^-1 L of the dynamic bodies, in place."""
        _derive_velocities(self.spec)

    def arrays(self) -> dict[str, Array]:
        """What evolves, by name; saving and restoring it continues the run bit for bit."""
        names = ("x", "q", "p", "L", "v", "omega", "identity")
        return {f"rigid_{name}": self._arrays[name][: self.count] for name in names}

    def keep(self, identities: Array) -> None:
        """Take out all bodies but those with the given identities."""
        for b in range(self.count - 1, -1, -1):
            if self._arrays["identity"][b] not in identities:
                self.remove(b)

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]

    def _grow(self) -> None:
        room = max(16, 2 * len(self._arrays["mass"]))
        for name, array in self._arrays.items():
            larger = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
            larger[: len(array)] = array
            self._arrays[name] = larger


def rotation_matrix_of(q: Array) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def multiply_quaternions(a: Array, b: Array) -> Array:
    """The quaternion a b: first b, then a."""
    w, u, s, t = a[0], a[1:], b[0], b[1:]
    return np.concatenate([[w * s - u @ t], w * t + s * u + np.cross(u, t)])


def conjugate(q: Array) -> Array:
    """The inverse of a unit quaternion."""
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))


@njit(cache=True)
def rotate(q, x, y, z):  # type: ignore[no-untyped-def]
    """R(q) (x, y, z) as three numbers."""
    w, a, b, c = q[0], q[1], q[2], q[3]
    tx, ty, tz = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
    return x + w * tx + b * tz - c * ty, y + w * ty + c * tx - a * tz, z + w * tz + a * ty - b * tx


@njit(cache=True)
def rotate_back(q, x, y, z):  # type: ignore[no-untyped-def]
    """R(q)^T (x, y, z) as three numbers."""
    w, a, b, c = q[0], -q[1], -q[2], -q[3]
    tx, ty, tz = 2 * (b * z - c * y), 2 * (c * x - a * z), 2 * (a * y - b * x)
    return x + w * tx + b * tz - c * ty, y + w * ty + c * tx - a * tz, z + w * tz + a * ty - b * tx


@njit(cache=True)
def apply_inverse_inertia(q, inv_inertia, x, y, z):  # type: ignore[no-untyped-def]
    """R I0^-1 R^T (x, y, z) as three numbers."""
    x, y, z = rotate_back(q, x, y, z)
    return rotate(q, inv_inertia[0] * x, inv_inertia[1] * y, inv_inertia[2] * z)


@njit(cache=True)
def _derive_velocities(bodies):  # type: ignore[no-untyped-def]
    for b in range(len(bodies.kind)):
        if bodies.kind[b] != DYNAMIC:
            continue
        for i in range(3):
            bodies.v[b, i] = bodies.inv_mass[b] * bodies.p[b, i]
        x, y, z = apply_inverse_inertia(
            bodies.q[b], bodies.inv_inertia[b], bodies.L[b, 0], bodies.L[b, 1], bodies.L[b, 2]
        )
        bodies.omega[b, 0], bodies.omega[b, 1], bodies.omega[b, 2] = x, y, z
