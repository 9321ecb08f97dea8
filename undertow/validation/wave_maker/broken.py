"""Defects that ``wave-maker`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.fluid import waves
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.wave_maker import case


def small() -> Iterator[Quantity]:
    """The wave in deep water."""
    amplitude, period = case.regular(*case.REGULAR["deep"], cells=24)
    yield quantity("amplitude_deep", amplitude)
    yield quantity("period_deep", period)


DEFECTS = {
    "frozen": broken.frozen(),
    "velocities of the wave turned round": broken.scaled(waves.WaveField, "velocity", -1.0),
    "strength halved": broken.scaled(waves.WaveField, "strength", 0.5),
    "dispersion of deep water with half of gravity": broken.scaled(waves, "wave_number", 2.0),
}
