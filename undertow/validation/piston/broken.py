"""Defects that ``piston`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from undertow.coupling import walls
from undertow.coupling.walls import BodyWalls
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.piston import case


def small() -> Iterator[Quantity]:
    """One piston for a tenth of a second, the press in balance and out of it, and a disc in a corner."""
    for water in (False, True):
        most, _ = case.way(case.make_pipe({"piston": (0.5, 2000.0)}, water, cells=20), end=0.1)
        yield quantity(f"moved_{'water' if water else 'tank'}_monolithic", most)
    yield quantity("force_balanced", case.press(0.0, (3000.0, 0.08), (2000.0, 0.16))[0])
    yield quantity("speed_grid", case.press(0.0, (3000.0, 0.08), (2000.0, 0.08))[1])
    yield quantity("leaves_corner", case.leave_corner())


def _forgets_levels(_: Any) -> Callable[..., Any]:
    """What walls sweep of closed regions is taken off, whatever closes them."""

    def find(grid: Any, solids: Any, stencil: Any, dynamic: Any, cell: Any, body: Any, sums: Any, missing: Any) -> Any:
        return np.where((stencil.grounded == 0)[:, None, None], sums, 0.0)

    return find


def _all_seal(_: Any) -> Callable[..., Any]:
    """Every pocket is closed, and slits too."""

    def find(grid: Any, solids: Any, stencil: Any, dynamic: Any, cell: Any, body: Any, sums: Any, missing: Any) -> Any:
        return np.zeros_like(sums)

    return find


def _unshared(_: Any) -> Callable[..., None]:
    """A cell that several solids cut belongs to the nearest one."""
    return lambda self, dynamic_b, centre_b, diagonal_c: None


DEFECTS = {
    "levels are not felt": broken.replaced(walls, "find_excess", _forgets_levels),
    "all that touches seals": broken.replaced(walls, "find_excess", _all_seal),
    "cells of the nearest solid": broken.replaced(BodyWalls, "_share", _unshared),
}
