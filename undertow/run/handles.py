"""What a user holds of a running simulation: a solid, nodes, particles. Copies of the present state, SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from undertow.grid import Array
from undertow.part import Nodes


@dataclass(frozen=True)
class Body:
    """A solid at the present time.

    position (3,) [m]; matrix (3, 3), body to world, and ``rotation``, the same as a quaternion; velocity (3,) [m/s] and
    angular_velocity (3,) [rad/s]; force of the fluid on it (3,) [N; 2D N/m] and its torque (3,) [N m; 2D N] over the
    last step, about the centre of mass, or about the position where the motion is given; contact_force and joint_force
    (3,) of other solids; time [s].
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
    time: float

    @property
    def angle(self) -> float:
        """How far it has turned about z [rad], from -pi to pi: its whole rotation in 2D."""
        return math.atan2(self.matrix[1, 0], self.matrix[0, 0])

    @property
    def rotation(self) -> Array:
        """Unit quaternion (w, x, y, z), body to world."""
        from undertow.rigid.bodies import quaternion_of_matrix

        return quaternion_of_matrix(self.matrix)


@runtime_checkable
class HasNodes(Protocol):
    """A part with soft bodies."""

    def nodes(self, name: str) -> Nodes:
        """The nodes of one of them."""


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
