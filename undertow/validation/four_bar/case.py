"""A plane four-bar linkage of hinges in 3D, its crank driven by PD control through four turns."""

from __future__ import annotations

from collections.abc import Iterator
from math import acos, atan2, cos, degrees, hypot, pi, sin

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.9
START = pi / 2
TURNS, SECONDS = 4.0, 4.0
STIFFNESS, DAMPING = 1e4, 1e3
RATE = 60
NAMES = ("crank", "coupler", "rocker")


def rocker_angle(crank: float) -> float:
    """Angle of the rocker at its fixed hinge [rad] for that of the crank, both above the x axis; elbow up."""
    x, y = CRANK * cos(crank) - GROUND, CRANK * sin(crank)
    d = hypot(x, y)
    return atan2(y, x) - acos((d**2 + ROCKER**2 - COUPLER**2) / (2 * d * ROCKER))


def make() -> ut.Simulation:
    """Rods of 1 kg/m at rest with the crank upright."""
    angle = rocker_angle(START)
    points = [
        (0.0, 0.0, 0.0),
        (CRANK * cos(START), CRANK * sin(START), 0.0),
        (GROUND + ROCKER * cos(angle), ROCKER * sin(angle), 0.0),
        (GROUND, 0.0, 0.0),
    ]
    objects: dict[str, ut.RigidBody | ut.Joint] = {}
    for i, name in enumerate(NAMES):
        x, y, _ = np.subtract(points[i + 1], points[i])
        objects[name] = ut.RigidBody(
            shape=ut.Box(size=(hypot(x, y), 0.02, 0.02)),
            position=tuple(0.5 * np.add(points[i], points[i + 1])),
            rotation=ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=degrees(atan2(y, x))),
            mass=hypot(x, y),
        )
    target = ut.Table(times=(0.0, SECONDS), values=(0.0, 360.0 * TURNS), interpolation="smooth")
    drive = ut.Control(target=target, stiffness=STIFFNESS, damping=DAMPING)
    objects["drive"] = ut.Joint(kind="hinge", child="crank", position=points[0], control=drive)
    objects["first"] = ut.Joint(kind="hinge", parent="crank", child="coupler", position=points[1])
    objects["second"] = ut.Joint(kind="hinge", parent="coupler", child="rocker", position=points[2])
    objects["last"] = ut.Joint(kind="hinge", child="rocker", position=points[3])
    time = ut.Time(end=SECONDS + 1.0, fixed_step=1.0 / RATE)
    return ut.Simulation(ut.Scene(name="four-bar", time=time, objects=objects, solids=ut.Solids()))


def loop_error(x: Array, R: Array) -> float:
    """Largest distance between points that are joined, relative to the crank, or tilt out of the plane [rad].

    x (3, 3) [m]: middles of the rods; R (3, 3, 3): their rotations.
    """
    along = 0.5 * np.array([CRANK, COUPLER, ROCKER])[:, None] * R[:, :, 0]
    tails, heads = x - along, x + along
    apart = np.array([tails[0], tails[1] - heads[0], tails[2] - heads[1], heads[2] - np.array([GROUND, 0.0, 0.0])])
    tilt = np.linalg.norm(R[:, :2, 2], axis=1)
    return float(max(np.linalg.norm(apart, axis=1).max() / CRANK, tilt.max()))


def wanted(time: float) -> float:
    """Angle the crank is to have turned by [rad]: from rest to rest, 3 s^2 - 2 s^3."""
    s = min(time / SECONDS, 1.0)
    return 2 * pi * TURNS * s * s * (3.0 - 2.0 * s)


def run(full: bool = False) -> Iterator[Quantity]:
    """Largest errors over four turns in four seconds and one second of rest, at 60 steps per second."""
    sim = make()
    loop = tracking = rocker = force = turned = 0.0
    for _ in range(round((SECONDS + 1.0) * RATE)):
        sim.step()
        rods = [sim.body(name) for name in NAMES]
        R = np.array([rod.matrix for rod in rods])
        loop = max(loop, loop_error(np.array([rod.position for rod in rods]), R))
        angles = [atan2(r[1, 0], r[0, 0]) for r in R]
        # the crank turns by less than half a turn per step
        turned += (angles[0] - START - turned + pi) % (2 * pi) - pi
        tracking = max(tracking, abs(turned - wanted(sim.time)))
        # the rocker points from the coupler to its fixed hinge
        off = angles[2] - pi - rocker_angle(START + turned)
        rocker = max(rocker, abs((off + pi) % (2 * pi) - pi))
        force = max(force, float(np.linalg.norm(rods[0].joint_force)))
    yield quantity("loop_error", loop, steps_per_second=RATE, rocker_error=rocker)
    yield quantity("angle_error", tracking, steps_per_second=RATE, largest_force_on_crank=force)
