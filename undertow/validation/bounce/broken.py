"""Defects that ``bounce`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.bounce import case


def small() -> Iterator[Quantity]:
    """Apex and energy at 300 Hz."""
    for e, name in ((0.0, "apex_0"), (0.5, "apex_05"), (1.0, "apex_1")):
        apex, gain = case.drop(e, 300.0)
        yield quantity(name, apex)
        yield quantity("energy_gain", gain)


DEFECTS = {
    "frozen": broken.frozen(),
    "no restitution": broken.world_bodies(restitution=0.0),
    "always elastic": broken.world_bodies(restitution=1.0),
    "momentum lost": broken.momentum_lost(0.01),
}
