"""Defects that ``standing-wave`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from undertow.fluid import Flow, FlowReport
from undertow.fluid.midpoint import MidpointTransport
from undertow.part import StepOutcome
from undertow.run.simulation import Simulation
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.standing_wave import case


def small() -> Iterator[Quantity]:
    """Two periods and one random sequence."""
    yield from case.run(periods=2.0, sequences=1)


def _same_times(kick: Callable[..., FlowReport]) -> Callable[..., FlowReport]:
    """Symplectic Euler: every kick is as long as the drift before it, and there is none before the first drift."""

    def same(flow: Flow, time: float, duration: float, dt: float, since: float) -> FlowReport:
        moved = flow.moved_for
        return kick(flow, time, moved, dt, since) if moved > 0.0 else FlowReport()

    return same


def _no_first_kick(take: Callable[..., None]) -> Callable[..., None]:
    """Velocities belong to half a step before where they are taken to be."""

    def begin(sim: Simulation, assembly: Any) -> None:
        take(sim, assembly)
        scheme: Any = sim.scheme
        aim = scheme._aim

        def late(time: float, dt: float) -> StepOutcome:
            if scheme.velocity_time > scheme.before_time:
                return aim(time, dt)
            scheme.velocity_time = time + 0.5 * dt
            return StepOutcome(0, None)

        scheme._aim = late

    return begin


DEFECTS = {
    "frozen": broken.frozen(),
    "velocities of the same times": broken.replaced(Flow, "kick", _same_times),
    "no half kick at the start": broken.replaced(Simulation, "_take", _no_first_kick),
    "transport of first order": broken.replaced(MidpointTransport, "goes_on", lambda original: lambda own, kick: False),
    "weight halved": broken.gravity(0.5),
}
