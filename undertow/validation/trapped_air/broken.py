"""Defects that ``trapped-air`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from undertow.fluid.expansion import Expansion
from undertow.fluid.pockets_of_air import AirBodies, AirPockets
from undertow.fluid.waters import Waters
from undertow.grid import Array
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.trapped_air import case


def small() -> Iterator[Quantity]:
    """As judged."""
    yield from case.run()


def _stiff(build: Callable[..., None]) -> Callable[..., None]:
    """Gas that gives way ten times less."""

    def wrong(gas: Expansion, *args: object) -> None:
        kept = gas.volume_c.copy()
        gas.volume_c *= 0.1
        build(gas, *args)
        gas.volume_c[...] = kept

    return wrong


def _of_the_air(fill_open: Callable[..., Array]) -> Callable[..., Array]:
    """The pressure of the atmosphere in the cup too."""

    def wrong(pockets: AirPockets, bodies: Waters, amount: Array) -> Array:
        return fill_open(pockets, bodies, np.zeros_like(amount))

    return wrong


def _by_the_fluxes(lacking: Callable[..., Array]) -> Callable[..., Array]:
    """No body is held at its volume."""

    def wrong(air: AirBodies, bodies: Waters, *args: object) -> Array:
        whole = lacking(air, bodies, *args)
        air.closed = np.zeros_like(air.closed)
        return np.zeros_like(whole)

    return wrong


DEFECTS = {
    "frozen": broken.frozen(),
    "gas gives way too little": broken.replaced(Expansion, "begin", _stiff),
    "pressure of the atmosphere in the cup": broken.replaced(AirPockets, "fill_open", _of_the_air),
    "volumes by the fluxes alone": broken.replaced(AirBodies, "lacking", _by_the_fluxes),
}
