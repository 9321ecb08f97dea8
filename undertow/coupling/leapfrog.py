"""Leapfrog: a surface at the ends of steps, the velocity that moves it in their middles.

    x^n+1   = x^n     + dt_n v^n+1/2                                                                           drift
    v^n+3/2 = v^n+1/2 + (dt_n + dt_n+1) / 2 a(x^n+1)                                                            kick

The kick is the implicit solve; how long the next step will be is known before it. With both at the same times the pair
is symplectic Euler, whose invariant H - dt/2 x.a has a part of first order in dt: where steps change in phase with a
wave, as those of a CFL number do, it gains energy. The first kick is of half a step, from the velocity of the start.

A step may turn out shorter than the one that was planned. Then v^n+1/2 is taken between the two velocities about it:
a mean of both, which has no more energy. What is seen from outside, surface and velocity of one time, is found in the
same way.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from undertow.fluid import Flow
from undertow.grid import Array
from undertow.part import Scheme, StepOutcome, restore_arrays

SAME = 1e-9
"""Times nearer than this part of a step are the same."""


class Leapfrog(Scheme):
    """Positions and velocities half a step apart, as in the head of the module.

    velocity_time: of the velocity; before_time: of the one before the last kick [s]; equal before the first kick.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.velocity_time = self.before_time = 0.0
        self._fraction, self._planned = 1.0, 0.0

    @abstractmethod
    def drift(self, time: float, dt: float) -> None:
        """Positions from ``time`` by dt [s] with the velocity of the middle of that step."""

    @abstractmethod
    def kick(self, time: float, kick: float, dt: float) -> StepOutcome:
        """The velocity by the forces of the positions at ``time`` over ``kick`` [s]; dt: the step that follows [s]."""

    @property
    def planned_step(self) -> float:
        return math.inf if self.velocity_time == self.before_time else self._planned

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        self._aim(time, time_step)
        end, middle = time + time_step, time + time_step + 0.5 * next_step
        kick = middle - self.velocity_time
        self._fraction = (end - self.velocity_time) / kick
        self.drift(time, time_step)
        done = self.kick(end, kick, next_step)
        self.before_time, self.velocity_time, self._planned = self.velocity_time, middle, next_step
        return done

    def _aim(self, time: float, dt: float) -> None:
        """The velocity of the middle of the step dt [s]."""
        flow, middle = self.flow, time + 0.5 * dt
        if self.velocity_time == self.before_time:
            self.kick(time, middle - self.velocity_time, dt)
        elif self.velocity_time - middle > SAME * dt:
            flow.blend_velocity((middle - self.before_time) / (self.velocity_time - self.before_time), flow.state.u)
            flow.finish(flow.state.u)
        else:
            return
        self.velocity_time = middle

    def restart(self, time: float) -> None:
        self.velocity_time = self.before_time = time
        self._fraction = 1.0

    @contextmanager
    def synchronised(self) -> Iterator[None]:
        flow, own = self.flow, self.flow.state.u
        if self._fraction < 1.0:
            np.copyto(flow.seen_f, own)
            flow.blend_velocity(self._fraction, flow.seen_f)
            flow.state.u = flow.seen_f
        try:
            yield
        finally:
            flow.state.u = own

    def arrays(self) -> dict[str, Array]:
        return {"u_before": self.flow.u_star}

    def numbers(self) -> dict[str, Any]:
        return {
            "velocity_time": self.velocity_time, "before_time": self.before_time,
            "fraction": self._fraction, "planned": self._planned,
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(Leapfrog.arrays(self), arrays)
        self.velocity_time, self.before_time = numbers["velocity_time"], numbers["before_time"]
        self._fraction, self._planned = numbers["fraction"], numbers["planned"]
