"""A motion whose targets are given while a simulation runs."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from undertow.geometry.motion import Pose, Twist, rotation_exponential, rotation_logarithm
from undertow.grid import Array
from undertow.part import Target

ARRIVED = 1e-9
"""Share of the way's duration by which a time may miss its end through rounding."""


class Way(NamedTuple):
    """From a pose at ``start`` [s] with constant velocities to another one at ``end`` [s], which is then kept.

    position, rotation: at the start; velocity (3,) [m/s], angular_velocity (3,) [rad/s]; target: the pose at the end,
    None where there is no end.
    """

    start: float
    end: float
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    target: Pose | None


class Driven:
    """x(t) = x0 + (t - t0) v, R(t) = exp([(t - t0) omega]x) R0 up to the target, from then on at rest in it.

    At rest in (position, rotation) until it is told to move. The way of now is its state.
    """

    def __init__(self, position: Array, rotation: Array) -> None:
        none = np.zeros(3)
        self.way = Way(-inf, -inf, position, rotation, none, none, (position, rotation))

    def move_to(self, time: float, position: Array | None, rotation: Array | None, at_time: float) -> None:
        """From where it is at ``time`` to a pose at ``at_time`` [s], evenly; what is None stays as it is."""
        x, R = self.pose(time)
        x1, R1 = x if position is None else position, R if rotation is None else rotation
        duration = at_time - time
        v, omega = (x1 - x) / duration, rotation_logarithm(R1 @ R.T) / duration
        self.way = Way(time, at_time, x, R, v, omega, (x1, R1))

    def move_with(self, time: float, velocity: Array, angular_velocity: Array) -> None:
        """From where it is at ``time`` [s] with constant velocities [m/s], [rad/s], without an end."""
        self.way = Way(time, inf, *self.pose(time), velocity, angular_velocity, None)

    def aim(self, time: float, target: Target) -> None:
        """Take a target at ``time`` [s]."""
        if target.at_time is not None:
            self.move_to(time, target.position, target.rotation, target.at_time)
        else:
            assert target.velocity is not None and target.angular_velocity is not None
            self.move_with(time, target.velocity, target.angular_velocity)

    def pose(self, t: float) -> Pose:
        way = self.way
        if way.target is not None and self.remaining(t) == 0.0:
            return way.target
        passed = max(0.0, t - way.start)
        return way.position + passed * way.velocity, rotation_exponential(passed * way.angular_velocity) @ way.rotation

    def velocity(self, t: float) -> Twist:
        """That of the way up to its end, which belongs to it."""
        way = self.way
        if way.start <= t <= way.end + self._slack():
            return way.velocity, way.angular_velocity
        return np.zeros(3), np.zeros(3)

    def remaining(self, t: float) -> float:
        """Time from t to the end of the way [s]: 0 where it has ended, infinite where it has no end."""
        left = self.way.end - t
        return left if left > self._slack() else 0.0

    def _slack(self) -> float:
        way = self.way
        return ARRIVED * (way.end - way.start) if way.target is not None and way.end > way.start else 0.0

    def numbers(self) -> list[list[float] | None]:
        """The way as plain numbers; None where it never moved."""
        way = self.way
        if way.start == -inf:
            return [None]
        target = None if way.target is None else [*way.target[0], *way.target[1].ravel()]
        rows = ([way.start, 0.0 if way.target is None else way.end], way.position, way.rotation.ravel())
        found: list[list[float] | None] = [[float(v) for v in row] for row in rows]
        found += [[float(v) for v in way.velocity], [float(v) for v in way.angular_velocity]]
        return [*found, None if target is None else [float(v) for v in target]]

    def restore(self, numbers: list[list[float] | None]) -> None:
        """Take over what ``numbers`` gave."""
        if numbers[0] is None:
            return
        (start, end), position, rotation, velocity, angular = (np.array(row) for row in numbers[:5])
        last = None if numbers[5] is None else np.array(numbers[5])
        target = None if last is None else (last[:3], last[3:].reshape(3, 3))
        end = inf if last is None else float(end)
        self.way = Way(float(start), end, position, rotation.reshape(3, 3), velocity, angular, target)
