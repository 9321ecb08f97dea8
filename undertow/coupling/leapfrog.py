"""Leapfrog: surface, bodies and nodes at the ends of steps, the velocities that move them in their middles.

    x^n+1   = x^n     + dt_n v^n+1/2                                                                           drift
    v^n+3/2 = v^n+1/2 + (dt_n + dt_n+1) / 2 a(x^n+1)                                                            kick

The kick is the implicit solve; how long the next step will be is known before it. With both at the same times the pair
is symplectic Euler, whose invariant H - dt/2 x.a has a part of first order in dt: where steps change in phase with a
wave, as those of a CFL number do, it gains energy. The first kick is of half a step, from the velocity of the start.

A step may turn out shorter than the one that was planned. Then v^n+1/2 is taken between the two velocities about it:
a mean of both, which has no more energy; what loads did in the part that is taken back is owed. What is seen from
outside, positions and velocities of one time, is found in the same way. Where velocities are set, or bodies come or go,
all goes on from what is seen as from a start.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from undertow.fluid import Flow
from undertow.grid import Array
from undertow.part import Part, Scheme, StepOutcome, restore_arrays

SAME = 1e-9
"""Times nearer than this part of a step are the same."""


class Kicked(Protocol):
    """Solids whose velocities are those of the middles of steps."""

    name: str
    loads: Any
    """``RigidLoads`` or ``NodeLoads``."""

    def kicked(self) -> list[Array]:
        """What a kick changes, and what follows from it."""

    def derive_velocities(self, time: float) -> None:
        """What follows from it, at a time [s]."""

    def reported(self) -> list[Array]:
        """Forces and torques that are those of the last kick."""


class Leapfrog(Scheme):
    """Positions and velocities half a step apart, as in the head of the module.

    solids: those that are kicked with the flow. velocity_time: of the velocities; before_time: of those before the last
    kick [s]; equal before the first kick.
    """

    def __init__(self, flow: Flow, solids: Sequence[Kicked] = ()) -> None:
        self.flow, self.kicked_solids = flow, solids
        self.midpoint = flow.lead()
        self.velocity_time = self.before_time = 0.0
        self._fraction, self._planned, self._seen_time = 1.0, 0.0, 0.0
        self._before = [[array.copy() for array in one.kicked()] for one in solids]
        self._synchronised = False

    @abstractmethod
    def drift(self, time: float, dt: float) -> None:
        """Positions from ``time`` by dt [s] with the velocity of the middle of that step."""

    @abstractmethod
    def kick(self, time: float, kick: float, dt: float) -> StepOutcome:
        """The velocity by the forces of the positions at ``time`` over ``kick`` [s]; dt: the step that follows [s]."""

    @abstractmethod
    def show_ahead(self, ahead: float) -> None:
        """Solids that move as prescribed have their velocity of ``ahead`` [s] after where they are."""

    def look_ahead(self, ahead: float) -> None:
        """All that moves as prescribed has the velocity of the middle of the step, ``ahead`` [s] from where it is."""
        self.flow.ahead = ahead
        self.show_ahead(ahead)

    @property
    def since_kick(self) -> float:
        """How long the velocity is ahead of that before the last kick [s]."""
        return self.velocity_time - self.before_time

    @property
    def planned_step(self) -> float:
        return math.inf if self.velocity_time == self.before_time else self._planned

    def acts(self, time: float, time_step: float, next_step: float) -> tuple[float, float]:
        return time + 0.5 * time_step, time + time_step + 0.5 * next_step

    def acted(self, since: float, until: float) -> tuple[float, float]:
        return self.before_time, self.velocity_time

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        first = self._aim(time, time_step)
        self.look_ahead(-0.5 * time_step)
        self.drift(time, time_step)
        done = self._kick(time + time_step, next_step)
        return StepOutcome(first.iterations + done.iterations, done.details, (*first.events, *done.events))

    def _aim(self, time: float, dt: float) -> StepOutcome:
        """The velocity of the middle of the step dt [s]."""
        middle = time + 0.5 * dt
        if self.velocity_time == self.before_time:
            return self._kick(time, dt)
        if self.velocity_time - middle > SAME * dt:
            self.look_ahead(middle - time)
            self._go_back((middle - self.before_time) / (self.velocity_time - self.before_time), time)
            self.velocity_time = middle
        return StepOutcome(0, None)

    def _kick(self, time: float, dt: float) -> StepOutcome:
        """From the middle of the step before ``time`` to that of the step dt [s] after it."""
        middle = time + 0.5 * dt
        kick = middle - self.velocity_time
        self._fraction, self._planned, self._seen_time = (time - self.velocity_time) / kick, dt, time
        self._keep()
        self.look_ahead(0.5 * dt)
        starts = self.velocity_time == self.before_time
        done = self.kick(time, kick, dt)
        if starts:
            # what makes a velocity that is given one of the fluid, at once, is no acceleration
            self.midpoint.forget()
        self.before_time, self.velocity_time = self.velocity_time, middle
        return done

    def _keep(self) -> None:
        for solids, before in zip(self.kicked_solids, self._before, strict=True):
            for own, array in zip(before, solids.kicked(), strict=True):
                own[...] = array

    def _blend(self, fraction: float, time: float) -> None:
        """Velocities of the solids between those before the last kick and those after it."""
        for solids, before in zip(self.kicked_solids, self._before, strict=True):
            for own, array in zip(before, solids.kicked(), strict=True):
                array += (fraction - 1.0) * (array - own)
            solids.derive_velocities(time)

    def _go_back(self, fraction: float, time: float) -> None:
        """To velocities within the last kick, with everything at ``time`` [s]; what loads did since is owed."""
        flow = self.flow
        flow.move_sides(time)
        self._blend(fraction, time)
        for solids in self.kicked_solids:
            solids.loads.take_back((1.0 - fraction) * (self.velocity_time - self.before_time))
        flow.blend_velocity(fraction, flow.state.u)
        flow.finish(flow.state.u)

    def restart(self, time: float) -> None:
        self.look_ahead(0.0)
        if self.velocity_time > self.before_time:
            self._go_back(self._fraction, time)
        self._begin(time)

    def _begin(self, time: float) -> None:
        """Velocities are those of ``time`` [s]."""
        self.velocity_time = self.before_time = time
        self._fraction = 1.0
        self.midpoint.forget()

    @contextmanager
    def synchronised(self) -> Iterator[None]:
        if self._fraction == 1.0 or self._synchronised:
            yield
            return
        flow, own = self.flow, self.flow.state.u
        kept = [[array.copy() for array in solids.kicked()] for solids in self.kicked_solids]
        np.copyto(flow.seen_f, own)
        flow.blend_velocity(self._fraction, flow.seen_f)
        flow.state.u, self._synchronised = flow.seen_f, True
        self._blend(self._fraction, self._seen_time)
        try:
            yield
        finally:
            flow.state.u, self._synchronised = own, False
            for solids, arrays in zip(self.kicked_solids, kept, strict=True):
                for array, value in zip(solids.kicked(), arrays, strict=True):
                    array[...] = value

    def adopt(self, before: Part | None, time: float) -> None:
        """All parts have taken over what is seen at a time [s]: it begins as at the start."""
        if isinstance(before, Leapfrog):
            for solids in self.kicked_solids:
                solids.loads.take_back((1.0 - before._fraction) * (before.velocity_time - before.before_time))
        self._begin(time)

    def arrays(self) -> dict[str, Array]:
        found = {"u_before": self.flow.u_star, **self.midpoint.arrays()}
        for solids, before in zip(self.kicked_solids, self._before, strict=True):
            found |= {f"{solids.name}_before_{number}": array for number, array in enumerate(before)}
        return found

    def numbers(self) -> dict[str, Any]:
        return {
            "velocity_time": self.velocity_time, "before_time": self.before_time,
            "fraction": self._fraction, "planned": self._planned, "seen_time": self._seen_time,
            **self.midpoint.numbers(),
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(Leapfrog.arrays(self), arrays)
        self.velocity_time, self.before_time = numbers["velocity_time"], numbers["before_time"]
        self._fraction, self._planned = numbers["fraction"], numbers["planned"]
        self._seen_time = numbers["seen_time"]
        self.midpoint.restore(numbers)
