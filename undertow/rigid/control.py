"""PD control of a joint: a spring and a damper between its angle (or length) and a curve in time, implicit in velocity.

The torque of a controller with stiffness kp and damping kd at the end of the step is

    tau = -kp (theta + dt rate' - theta_t) - kd (rate' - rate_t),

with the rate' of the velocities it produces, the target theta_t at t + dt and its rate in the middle of the step. Over
a time h it gives the impulse h (kd + dt kp) (rate' - wanted), with

    wanted = (kp (theta_t - theta) + kd rate_t) / (kd + dt kp),

which is a damping row of ``CoupledSystem`` with weight^2 = h (kd + dt kp) and target weight x wanted. It is solved
together with the joints, so that a motor feels the inertia of the whole mechanism, and is stable for any gain and step.
PD control of articulated bodies: Weinstein, Guendelman & Fedkiw 2008, thesis 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Curve
from undertow.grid import Array


class ControlRow(NamedTuple):
    """What a controller wants now: weight_sq [N m s] (prismatic: [N s/m]) and the wanted rate [rad/s] (m/s)."""

    weight_sq: float
    rate: float


@dataclass(frozen=True)
class Ramp:
    """A target that moves at a constant rate [rad/s or m/s] from 0 at t = 0."""

    rate: float

    def value(self, t: float) -> float:
        """Target [rad or m] at a time [s]."""
        return self.rate * t

    def derivative(self, t: float) -> float:
        """Its rate [rad/s or m/s]."""
        return self.rate

    def integral(self, t0: float, t1: float) -> float:
        """Of the target over time [rad s or m s]."""
        return 0.5 * self.rate * (t1 * t1 - t0 * t0)


@dataclass(frozen=True)
class JointControl:
    """PD control of a coordinate of the joint called ``joint``; axis: which one, "" where there is but one.

    target: curve of one component, angle [rad] or length [m], 0 at the pose in which the joint was made. stiffness
    [N m/rad] and damping [N m s/rad] (prismatic: [N/m], [N s/m]), in a 2D scene per metre of depth. largest: bound of
    the torque [N m] or force [N].
    """

    joint: str
    target: Curve
    stiffness: float
    damping: float
    largest: float = inf
    axis: str = ""

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            value = getattr(self, name)
            if not (isfinite(value) and value >= 0):
                raise UserError(f"control of joint {self.joint!r}: {name} = {value}: must be 0 or more and finite")
        if self.stiffness == 0 and self.damping == 0:
            raise UserError(f"control of joint {self.joint!r}: stiffness and damping are both 0; give one of them")
        if not self.largest > 0:
            raise UserError(f"control of joint {self.joint!r}: largest = {self.largest}: must be positive, or left out")
        if np.ndim(self.target.value(0.0)) != 0:
            raise UserError(f"control of joint {self.joint!r}: target has several components; give a curve of one")

    def row(
        self, coordinate: float, time: float, horizon: float, duration: float, given: Array | None = None
    ) -> ControlRow:
        """The implicit row at a time [s]: target a ``horizon`` later [s], acting for ``duration`` [s].

        given (2,): value and rate of a target that takes the place of the curve, unless it is not a number.
        """
        kp, kd = self.stiffness, self.damping
        gain = kd + horizon * kp
        if given is not None and np.isfinite(given[0]):
            value, rate = float(given[0]), float(given[1])
        else:
            value = float(self.target.value(time + horizon))
            rate = float(self.target.derivative(time + 0.5 * horizon))
        pull = kp * (value - coordinate) + kd * rate
        return ControlRow(duration * gain, pull / gain)
