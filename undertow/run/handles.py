"""What a user holds of a running simulation: a solid, a joint, nodes, particles. Copies of the present state, SI units,
and what can be done to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array
from undertow.part import Nodes, Part, Push, Target
from undertow.solids.contact_record import ContactSet

Numbers = Sequence[float] | Array
"""Two numbers (2D) or three."""


@dataclass(frozen=True)
class Body:
    """A solid at the present time.

    position (3,) [m]; matrix (3, 3), body to world, and ``rotation``, the same as a quaternion; velocity (3,) [m/s] and
    angular_velocity (3,) [rad/s]; force of the fluid on it (3,) [N; 2D N/m] and its torque (3,) [N m; 2D N] over the
    last step, about the centre of mass, or about the position where the motion is given; contact_force and joint_force
    (3,) of other solids; load_force (3,) of loads on it; reaction_force (3,) of what holds nodes of a soft body, and
    hold_forces (k, 3) of each of its holds, in the order of the scene, nan where the step does not tell them apart;
    time [s].
    """

    name: str
    position: Array
    matrix: Array
    velocity: Array
    angular_velocity: Array
    force: Array
    torque: Array
    contact_force: Array
    joint_force: Array
    load_force: Array
    reaction_force: Array
    hold_forces: Array
    time: float
    _part: Part = field(repr=False, compare=False)

    def apply(
        self,
        force: Numbers = (0.0, 0.0, 0.0),
        torque: Numbers | float | None = None,
        at: Numbers | None = None,
        duration: float | None = None,
    ) -> None:
        """Put a force [N; 2D N/m] and a torque [N m; 2D N, one number] on it over the next step, or for ``duration``
        [s] from now, at a point of the world [m] that moves with it (default: its centre of mass).

        On a soft body the force acts on the node next to the point, or on all nodes by their masses. What is applied
        is part of the state: a run that is saved goes on with it.
        """
        if duration is not None and not (math.isfinite(duration) and duration > 0):
            raise UserError(f"body {self.name!r}: duration = {duration} s: must be positive; None is the next step")
        turn = _about_z(self.name, "torque", 0.0 if torque is None else torque)
        point = None if at is None else _three(self.name, "at", at)
        self._part.apply(self.name, self.time, Push(_three(self.name, "force", force), turn, point, duration))

    def move_to(
        self, position: Numbers | None = None, rotation: Numbers | float | None = None, *, at_time: float
    ) -> None:
        """Move a driven body evenly to a position [m] and a rotation, a quaternion (w, x, y, z) or an angle about z
        [rad], which it reaches at ``at_time`` [s] and keeps; a step ends there. The target before is forgotten."""
        if not (math.isfinite(at_time) and at_time > self.time):
            raise UserError(
                f"body {self.name!r}: at_time = {at_time} s: must come after the present time {self.time} s"
            )
        place = None if position is None else _three(self.name, "position", position)
        self._part.drive(self.name, self.time, Target(place, _rotation(self.name, rotation), at_time))

    def move_with(self, velocity: Numbers, angular_velocity: Numbers | float = 0.0) -> None:
        """Move a driven body with a velocity [m/s] and angular velocity [rad/s] (one number: about z) from now on."""
        omega = _about_z(self.name, "angular_velocity", angular_velocity)
        given = Target(velocity=_three(self.name, "velocity", velocity), angular_velocity=omega)
        self._part.drive(self.name, self.time, given)

    @property
    def angle(self) -> float:
        """How far it has turned about z [rad], from -pi to pi: its whole rotation in 2D."""
        return math.atan2(self.matrix[1, 0], self.matrix[0, 0])

    @property
    def rotation(self) -> Array:
        """Unit quaternion (w, x, y, z), body to world."""
        from undertow.rigid.bodies import quaternion_of_matrix

        return quaternion_of_matrix(self.matrix)


def _three(name: str, what: str, values: object) -> Array:
    """Two or three finite numbers as (3,)."""
    array = np.asarray(values, dtype=float)
    if array.shape not in ((2,), (3,)) or not np.isfinite(array).all():
        raise UserError(f"body {name!r}: {what} = {values}: must be two or three finite numbers")
    return np.append(array, [0.0] * (3 - len(array)))


def _about_z(name: str, what: str, values: Numbers | float) -> Array:
    """Three finite numbers, or one along z."""
    return _three(name, what, [0.0, 0.0, values] if np.ndim(values) == 0 else values)


def _rotation(name: str, value: Numbers | float | None) -> Array | None:
    """Matrix (3, 3) of a quaternion, or of an angle about z [rad]."""
    from undertow.rigid.bodies import rotation_matrix_of

    if value is None:
        return None
    q = np.asarray(value, dtype=float)
    if q.ndim == 0:
        q = np.array([math.cos(0.5 * float(q)), 0.0, 0.0, math.sin(0.5 * float(q))])
    if q.shape != (4,) or not np.isfinite(q).all() or not abs(math.hypot(*q) - 1.0) < 1e-6:
        raise UserError(
            f"body {name!r}: rotation = {value}: must be a unit quaternion (w, x, y, z), or an angle in rad"
        )
    return rotation_matrix_of(q / math.hypot(*q))


@runtime_checkable
class HasJoints(Protocol):
    """What knows joints by name."""

    def coordinate(self, name: str, axis: str = "") -> float:
        """A coordinate [rad or m]."""

    def target(self, joint: str, time: float, axis: str = "") -> float:
        """What its controller aims at [rad or m]."""

    def set_target(self, joint: str, value: float, rate: float = 0.0, axis: str = "") -> None:
        """Give its controller another aim."""


class JointHandle:
    """A free axis of a joint at the present time [s]; axis: "" where it has but one."""

    def __init__(self, name: str, axis: str, time: float, joints: HasJoints) -> None:
        self.name, self.axis, self.time, self._joints = name, axis, time, joints

    @property
    def coordinate(self) -> float:
        """Angle [rad] or displacement [m], 0 at the start."""
        return self._joints.coordinate(self.name, self.axis)

    @property
    def target(self) -> float:
        """What its controller aims at [rad or m]: the value that was set, or the curve of the scene. What is set stays,
        in the place of the curve, and is part of the state."""
        return self._joints.target(self.name, self.time, self.axis)

    @target.setter
    def target(self, value: float) -> None:
        self._joints.set_target(self.name, value, axis=self.axis)

    def aim(self, value: float, rate: float) -> None:
        """Set a target [rad or m] that moves at a rate [rad/s or m/s], as the controller sees it now."""
        self._joints.set_target(self.name, value, rate, self.axis)


@runtime_checkable
class HasNodes(Protocol):
    """A part with soft bodies."""

    def nodes(self, name: str) -> Nodes:
        """The nodes of one of them."""


@runtime_checkable
class HasContacts(Protocol):
    """A part whose bodies touch."""

    def contact_set(self) -> ContactSet:
        """Their contacts in the last step."""


@dataclass(frozen=True)
class Particles:
    """The particles of an SPH fluid at the present time, in the order of their numbers.

    position, velocity (n, 3) [m], [m/s]; density (n,) [kg/m3]; pressure (n,) [Pa]; spacing [m].
    """

    position: Array
    velocity: Array
    density: Array
    pressure: Array
    spacing: float


@dataclass(frozen=True)
class SurfaceMesh:
    """The surface of a liquid in 3D: vertices (n, 3) [m], triangles (m, 3) wound outwards, velocity (n, 3) [m/s] of the
    vertices."""

    vertices: Array
    triangles: Array
    velocity: Array
