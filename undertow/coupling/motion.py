"""The motion of a dynamic body as the fluid's solids ask for it: where the body is now, whatever the time."""

from __future__ import annotations

import numpy as np

from undertow.geometry.motion import Pose, Twist
from undertow.rigid.bodies import RigidBodies


class BodyMotion:
    """Pose and twist of body b of ``bodies``; the reference point is the origin of the user's shape."""

    def __init__(self, bodies: RigidBodies, b: int) -> None:
        self.bodies, self.b = bodies, b

    def pose(self, t: float) -> Pose:
        """Position (3,) [m] and rotation (3, 3) of now."""
        return self.bodies.shape_pose(self.b)

    def velocity(self, t: float) -> Twist:
        """Velocity (3,) [m/s] of the shape's origin and angular velocity (3,) [rad/s] of now."""
        position, _ = self.bodies.shape_pose(self.b)
        omega = np.array(self.bodies.omega_b[self.b])
        return np.asarray(self.bodies.v_b[self.b] + np.cross(omega, position - self.bodies.x_b[self.b])), omega
