"""Defects that ``standing-wave`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from undertow.fluid import Flow, FlowReport
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.standing_wave import case


def small() -> Iterator[Quantity]:
    """Two periods and one random sequence."""
    yield from case.run(periods=2.0, sequences=1)


def _same_times(kick: Callable[..., FlowReport]) -> Callable[..., FlowReport]:
    """Symplectic Euler: every kick is as long as the drift before it, and there is none before the first drift."""

    def same(flow: Flow, time: float, duration: float, dt: float) -> FlowReport:
        moved = flow.moved_for
        return kick(flow, time, moved, dt) if moved > 0.0 else FlowReport()

    return same


DEFECTS = {
    "frozen": broken.frozen(),
    "velocities of the same times": broken.replaced(Flow, "kick", _same_times),
    "weight halved": broken.gravity(0.5),
}
