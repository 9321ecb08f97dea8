"""Defects that ``added-mass`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.added_mass import case
from undertow.validation.analysis import Quantity, quantity


def small() -> Iterator[Quantity]:
    """The cylinder at two densities."""
    errors = []
    for ratio in (0.1, 10.0):
        expected = (ratio - 1.0) / (ratio + case.EXACT[2])
        errors.append(abs(case.acceleration(16, 2, ratio, case.OFFSETS[1]) / expected - 1.0))
    yield quantity("acceleration_cylinder", max(errors))
    yield case.under_surface(8, 2, 32)


DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "no added mass": broken.fluid(density=1e-6),
    "mirrored": broken.mirrored(1),
}
