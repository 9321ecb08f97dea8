"""Defects that ``thin-solid`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.geometry import SolidFields
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.thin_solid import case


def small() -> Iterator[Quantity]:
    """A still plate, a moved one, and the pressure on one."""
    end, case.END = case.END, 0.6
    try:
        yield quantity("still", case.hold(0.3, 30.0, 0.37)["beyond"])
        moved = case.move(0.3, 0.0, 2, 0.6)
        yield quantity("moved", moved["beyond"])
        yield quantity("moved_speed", moved["speed"])
        yield from case.run_press()
        free = case.watch_free(case.make_gate(0.3, 0.0), 0.3 / case.CELLS, 0.2)
        yield quantity("free", free["beyond"])
        yield quantity("carried", case.carry(0.3, 0.13))
    finally:
        case.END = end


def _does_nothing(method: Any) -> Any:
    return lambda fields, **given: None


DEFECTS = {
    "open faces in plates that forces move": broken.replaced(SolidFields, "closes_moved", lambda was: False),
    "open faces in thin solids": broken.replaced(SolidFields, "close_thin", _does_nothing),
    "transport through thin solids": broken.replaced(SolidFields, "hide_thin", _does_nothing),
    "frozen": broken.frozen(),
}
