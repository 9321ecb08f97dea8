"""A plane four-bar linkage of hinges in 3D, its crank driven by PD control through four turns."""

from __future__ import annotations

from collections.abc import Iterator
from math import acos, atan2, cos, hypot, pi, sin

import numpy as np

from undertow.geometry import Sphere, TableCurve
from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.control import JointControl
from undertow.rigid.joints import Joints
from undertow.rigid.shapes import CollisionShapes
from undertow.solids import Solids
from undertow.validation.analysis import Quantity, quantity

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.9
START = pi / 2
TURNS, SECONDS = 4.0, 4.0
STIFFNESS, DAMPING = 1e4, 1e3


def rocker_angle(crank: float) -> float:
    """Angle of the rocker at its fixed hinge [rad] for that of the crank, both above the x axis; elbow up."""
    x, y = CRANK * cos(crank) - GROUND, CRANK * sin(crank)
    d = hypot(x, y)
    return atan2(y, x) - acos((d**2 + ROCKER**2 - COUPLER**2) / (2 * d * ROCKER))


def make() -> Solids:
    """Rods of 1 kg/m at rest with the crank upright."""
    angle = rocker_angle(START)
    points = np.array(
        [
            (0.0, 0.0, 0.0),
            (CRANK * cos(START), CRANK * sin(START), 0.0),
            (GROUND + ROCKER * cos(angle), ROCKER * sin(angle), 0.0),
            (GROUND, 0.0, 0.0),
        ]
    )
    bodies, shapes = RigidBodies(), CollisionShapes()
    shape = shapes.add(Sphere(0.01))
    for i, name in enumerate(("crank", "coupler", "rocker")):
        x, y, _ = points[i + 1] - points[i]
        length, half = hypot(x, y), 0.5 * atan2(y, x)
        inertia = length**3 * np.array([1e-3, 1 / 12, 1 / 12])
        middle = 0.5 * (points[i] + points[i + 1])
        bodies.add(name, shape, middle, np.array([cos(half), 0.0, 0.0, sin(half)]), length, inertia)
    joints = Joints(bodies)
    joints.add("drive", "hinge", None, "crank", points[0])
    joints.add("first", "hinge", "crank", "coupler", points[1])
    joints.add("second", "hinge", "coupler", "rocker", points[2])
    joints.add("last", "hinge", None, "rocker", points[3])
    target = TableCurve([0.0, SECONDS], [0.0, 2 * pi * TURNS], "smooth")
    joints.control(JointControl("drive", target, STIFFNESS, DAMPING))
    return Solids(bodies, shapes, joints=joints)


def loop_error(bodies: RigidBodies) -> float:
    """Largest distance between points that are joined, relative to the crank, or tilt out of the plane [rad]."""
    lengths = (CRANK, COUPLER, ROCKER)
    along = [0.5 * length * rotation_matrix_of(q)[:, 0] for length, q in zip(lengths, bodies.q_b, strict=True)]
    tails, heads = bodies.x_b - np.array(along), bodies.x_b + np.array(along)
    apart = np.array([tails[0], tails[1] - heads[0], tails[2] - heads[1], heads[2] - np.array([GROUND, 0.0, 0.0])])
    tilt = [np.linalg.norm(rotation_matrix_of(q)[:2, 2]) for q in bodies.q_b]
    return float(max(np.linalg.norm(apart, axis=1).max() / CRANK, *tilt))


def direction(q: Array) -> float:
    """Angle of a rod above the x axis [rad]."""
    x, y, _ = rotation_matrix_of(q)[:, 0]
    return atan2(y, x)


def run(full: bool = False) -> Iterator[Quantity]:
    """Largest errors over four turns in four seconds and one second of rest, at 60 steps per second."""
    solids = make()
    bodies, joints, dt = solids.bodies, solids.joints, 1 / 60
    target = joints.controls[0].target
    loop = tracking = rocker = torque = 0.0
    for n in range(round((SECONDS + 1.0) / dt)):
        solids.step(n * dt, dt)
        angle = joints.coordinate("drive")
        loop = max(loop, loop_error(bodies))
        tracking = max(tracking, abs(angle - float(target.value((n + 1) * dt))))
        # the rocker points from the coupler to its fixed hinge
        off = direction(bodies.q_b[2]) - pi - rocker_angle(START + angle)
        rocker = max(rocker, abs((off + pi) % (2 * pi) - pi))
        torque = max(torque, abs(float(joints.torque_j[0, 2])))
    yield quantity("loop_error", loop, steps_per_second=60, rocker_error=rocker)
    yield quantity("angle_error", tracking, steps_per_second=60, largest_torque=torque)
