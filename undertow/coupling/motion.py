"""The motion of bodies as the fluid's solids ask for it."""

from __future__ import annotations

import numpy as np

from undertow.geometry.motion import Motion, Pose, Twist
from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, conjugate, multiply_quaternions


class BodyMotion:
    """That of a dynamic body: where it is now, whatever the time.

    Pose and twist of body b of ``bodies``; the reference point is the origin of the user's shape."""

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


class MotionAhead:
    """A prescribed motion that shows the velocity of ``ahead`` [s] later with the pose of now."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.ahead = motion, 0.0

    def pose(self, t: float) -> Pose:
        """Position (3,) [m] and rotation (3, 3) at time t."""
        return self.motion.pose(t)

    def velocity(self, t: float) -> Twist:
        """Velocity (3,) [m/s] and angular velocity (3,) [rad/s] at t + ahead."""
        return self.motion.velocity(t + self.ahead)


def effective_twists(bodies: RigidBodies, x_b: Array, q_b: Array, dt: float) -> Array:
    """Twists (n, 6) that take bodies from centres x_b (n, 3) [m] and turns q_b (n, 4) to where they are, in dt [s]."""
    found = np.zeros((bodies.count, 6))
    found[:, :3] = (bodies.x_b - x_b) / dt
    for b in range(bodies.count):
        turn = multiply_quaternions(bodies.q_b[b], conjugate(q_b[b]))
        sine = float(np.linalg.norm(turn[1:]))
        # the shorter way around
        angle = 2.0 * np.arctan2(sine, abs(turn[0]))
        if sine > 0.0:
            found[b, 3:] = np.copysign(angle / sine, turn[0]) * turn[1:] / dt
    return found
