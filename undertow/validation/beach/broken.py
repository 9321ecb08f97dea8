"""Defects that ``beach`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.wave_zones import WaveZone
from undertow.validation import broken, stepping
from undertow.validation.analysis import Quantity
from undertow.validation.beach import case


def small() -> Iterator[Quantity]:
    """The longest wave, and still water."""
    with stepping.replaced(case, "WAVES", {"half": (2, 0.5)}), stepping.replaced(case, "CALM", 0.2):
        yield from case.run()


def _no_beach(act: Callable[..., None]) -> Callable[..., None]:
    """What a region does, of makers alone."""

    def act_of_makers(zone: WaveZone, *args: Any) -> None:
        zone.middle = args[0] if isinstance(args[0], float) else zone.middle
        if len(zone.wave.amplitude):
            act(zone, *args)

    return act_of_makers


DEFECTS = {
    "frozen": broken.frozen(),
    "a wall in the place of the beach": broken.together(
        broken.replaced(WaveZone, "add_sources", _no_beach), broken.replaced(WaveZone, "add_forces", _no_beach)
    ),
    "damping sets in at once": broken.replaced(
        WaveZone, "__init__", lambda make: lambda z, c, s, w, d, g: make(z, c, s, w, 4.0 * d, 0.0)
    ),
    "volume of the regions is not counted": broken.replaced(
        LiquidSurface, "count_volume", lambda count: lambda liquid, volume: None
    ),
}
