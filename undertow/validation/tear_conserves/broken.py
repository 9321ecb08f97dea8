"""Defects that ``tear-conserves`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.run.simulation import Simulation
from undertow.soft import SoftBodies
from undertow.solids.soft_part import SoftPart
from undertow.solids.tearing import TearPart
from undertow.validation import broken, stepping
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.tear_conserves import case


def small() -> Iterator[Quantity]:
    """The coarse sheet and the coarse bar."""
    of = {"sheet": case.kept_sheet(), "bar": case.kept_bar()}
    torn = min(found["facets"] for found in of.values())
    for name in ("mass", "momentum"):
        yield quantity(name, max(found[name] for found in of.values()) if torn else float("nan"))
    yield quantity("angular_momentum", of["bar"]["angular_momentum"] if torn else float("nan"))
    yield quantity("energy_gained", max(found["energy"] for found in of.values()) if torn else float("nan"))
    load, pieces = case.sheet_fails(0.1)
    yield quantity("pieces", pieces)
    yield quantity("strength_cloth_low", load)
    yield quantity("strength_cloth_high", load)


def _at_rest(adopt: Any) -> Any:
    """Nodes that are new when a body tears stand still."""

    def changed(self: SoftPart, before: Any, time: float) -> None:
        adopt(self, before, time)
        own = np.arange(self.soft.count)
        self.soft.v[self.soft.origin != own] = 0.0

    return changed


def _heavy(add: Any) -> Any:
    """Every node keeps the mass that it had before it split."""

    def changed(self: Any, name: str, position: Any, mass: Any, *args: Any, **options: Any) -> Any:
        origin = options.get("origin")
        if origin is not None:
            whole = np.bincount(origin, mass, minlength=len(mass))
            mass = whole[origin]
        return add(self, name, position, mass, *args, **options)

    return changed


def _late(shares: Any) -> Any:
    """Elements bear a tenth more than their limit."""

    def changed(self: TearPart, part: Any, limit: Any) -> Any:
        share, direction = shares(self, part, limit)
        return share / 1.1, direction

    return changed


def _stretched(adopt: Any) -> Any:
    """A body that tears is a thousandth longer afterwards."""

    def changed(self: SoftPart, before: Any, time: float) -> None:
        adopt(self, before, time)
        self.soft.x[...] *= 1.001

    return changed


def _heavily(remake: Any) -> Any:
    """``remake`` with nodes that keep their mass."""
    def changed(self: Any, table: Any) -> None:
        with stepping.replaced(SoftBodies, "add", _heavy(SoftBodies.add)):
            remake(self, table)

    return changed


DEFECTS = {
    "new nodes stand still": broken.replaced(SoftPart, "adopt", _at_rest),
    "split nodes keep the whole mass": broken.replaced(Simulation, "remake", _heavily),
    "elements bear a tenth more": broken.replaced(TearPart, "shares", _late),
    "a tear strains what is left": broken.replaced(SoftPart, "adopt", _stretched),
    "nothing tears": broken.replaced(TearPart, "judge", lambda old: lambda self, torn: []),
}
