"""Defects that ``fracture-inertia`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.geometry import level_set_cuts
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.fracture_inertia import case


def small() -> Iterator[Quantity]:
    """The hull alone."""
    shape, placed = case.make_bodies()["hull"]
    errors = case.find_errors(shape, placed)
    yield quantity("inertia_64", errors[-2])
    yield quantity("centre_64", errors[-1])


def _half_a_cell(make: Any) -> Any:
    def find(lattice: Any, share: Any) -> Any:
        volume, centre, tensor = make(lattice, share)
        return volume, centre + 0.5 * lattice.spacing, tensor

    return find


def _every_cell(make: Any) -> Any:
    """A cell counts whole where any of it lies inside."""
    return lambda lattice, share: make(lattice, np.ceil(share))


DEFECTS = {
    "cells by their lower corners": broken.replaced(level_set_cuts, "sum_moments", _half_a_cell),
    "cells at the surface count whole": broken.replaced(level_set_cuts, "sum_moments", _every_cell),
}
