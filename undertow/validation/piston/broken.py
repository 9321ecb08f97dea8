"""Defects that ``piston`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from undertow.run import assemble_fluid
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.piston import case


def small() -> Iterator[Quantity]:
    """One piston for a tenth of a second, and the press in balance, out of it, and turned."""
    for water in (False, True):
        most, _ = case.way(case.make_pipe({"piston": (0.5, 2000.0)}, water, cells=20), end=0.1)
        yield quantity(f"moved_{'water' if water else 'tank'}_monolithic", most)
    yield quantity("force_balanced", case.press(0.0, (3000.0, 0.08), (2000.0, 0.16))[0])
    yield quantity("speed_grid", case.press(0.0, (3000.0, 0.08), (2000.0, 0.08))[1])
    # cells that piston and wall cut both
    yield quantity("force_inclined_10", case.press(10.0, (3000.0, 0.08), None)[0])


def _of_walls(change: Callable[[Any], None]) -> broken.Defect:
    """The walls of the bodies of every projection are changed once they are made."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def make_projection(*args: Any, **options: Any) -> Any:
            projection = original(*args, **options)
            change(projection.rigid.walls.cut)
            return projection

        return make_projection

    return broken.replaced(assemble_fluid, "make_projection", make)


def _forget_levels(cut: Any) -> None:
    """What walls sweep of closed regions is taken off, whatever closes them."""

    def close(stencil: Any, dynamic_b: Any, centre_b: Any) -> None:
        cell, body, f = (array[: cut.size] for array in cut.spec)
        cut.excess = np.zeros((stencil.regions + 1, cut.count, 6))
        np.add.at(cut.excess, (stencil.label[cell], body), f)
        cut.excess[stencil.grounded != 0] = 0.0
        cut.has_excess, cut._label = bool(cut.excess.any()), stencil.label
        cut.cells = np.maximum(np.bincount(stencil.label, minlength=len(cut.excess)), 1).astype(float)

    cut.close = close


def _seal_all(cut: Any) -> None:
    """Every pocket is closed, and slits too."""
    cut.close = lambda stencil, dynamic_b, centre_b: None


def _unshare(cut: Any) -> None:
    """A cell that several solids cut belongs to the nearest one."""
    cut._share = lambda dynamic_b, centre_b, diagonal_c: None


DEFECTS = {
    "levels are not felt": _of_walls(_forget_levels),
    "all that touches seals": _of_walls(_seal_all),
    "cells of the nearest solid": _of_walls(_unshare),
}
