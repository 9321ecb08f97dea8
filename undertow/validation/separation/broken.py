"""Defects that ``separation`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.separation import PartingCells
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.separation import case


def small() -> Iterator[Quantity]:
    """The plates, and still water for a second."""
    yield from case.run_plates()
    case_end, case.STILL_END = case.STILL_END, 1.0
    try:
        for name, value in case.still().items():
            yield quantity(f"still_{name}", value)
    finally:
        case.STILL_END = case_end


def _no_separation(separates: Any) -> Any:
    return property(lambda phase: False)


def _all_pull(pulls: Any) -> Any:
    return lambda rows, cell: rows.walls.are_walls(cell) & (rows.phase.liquid_c.reshape(-1)[cell] > 0.0)


def _none_pressed(room: Any) -> Any:
    return lambda rows: 1.0 + 0.0 * room(rows)


DEFECTS = {
    "walls that hold water": broken.replaced(FreeSurface, "separates", _no_separation),
    "every wall at the air is open": broken.together(
        broken.replaced(PartingCells, "_pulls", _all_pull), broken.replaced(PartingCells, "room", _none_pressed)
    ),
    "frozen": broken.frozen(),
}
