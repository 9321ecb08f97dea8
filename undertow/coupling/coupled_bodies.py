"""The rigid bodies that take part in a coupled solve, and what acts on them beside the fluid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.joints import Joints


@dataclass
class CoupledBodies:
    """The bodies that take part in a coupled solve, and what acts on them beside the fluid.

    volume_b (n,): true volume [m3; 2D m2]. impulse_b (n, 6): linear and angular impulse about the centre of mass of
    what acts over the step [N s, N m s]. pressure_b, viscous_b (n, 6): what pressure and viscosity
    gave in the last step [N s, N m s]. joint_b (n, 6): what the joints gave in the solves. slip_b (n,): 1 for bodies
    along which the fluid slides. joints: hold the bodies together in the solve itself. load_b (n, 6): mean force [N]
    and torque [N m] of loads over the step.
    """

    bodies: RigidBodies
    volume_b: Array
    slip_b: np.ndarray
    joints: Joints | None = None

    def __post_init__(self) -> None:
        self.impulse_b = np.zeros((self.bodies.count, 6))
        self.pressure_b = np.zeros((self.bodies.count, 6))
        self.viscous_b = np.zeros((self.bodies.count, 6))
        self.joint_b = np.zeros((self.bodies.count, 6))
        self.load_b = np.zeros((self.bodies.count, 6))

    def set_weight(self, gravity: Array, dt: float) -> None:
        """Impulses of the weight m g and of the loads over dt [s]."""
        mass = np.where(self.bodies.kind_b == DYNAMIC, self.bodies.mass_b, 0.0)
        self.impulse_b[...] = dt * self.load_b
        self.impulse_b[:, :3] += dt * mass[:, None] * gravity

    def take_twists(self, out_b: Array) -> None:
        """Twists (n, 6) of the bodies from their momenta, at their poses of now."""
        self.bodies.derive_velocities()
        out_b[:, :3], out_b[:, 3:] = self.bodies.v_b, self.bodies.omega_b

    def give_twists(self, twist_b: Array) -> None:
        """Momenta of the dynamic bodies from their twists (n, 6)."""
        bodies = self.bodies
        for b in np.flatnonzero(bodies.kind_b == DYNAMIC):
            bodies.set_velocity(int(b), twist_b[b, :3], twist_b[b, 3:])
