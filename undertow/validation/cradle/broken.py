"""Defects that ``cradle`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.cradle import case


def small() -> Iterator[Quantity]:
    """One ball for a period."""
    fine = case.swing(case.make_scene(), case.PERIOD)
    yield quantity("loss_fine", abs(1.0 - fine.energy))
    yield quantity("last", fine.last)


DEFECTS = {
    "frozen": broken.frozen(),
    "restitution 0.9": broken.objects("RigidBody", restitution=0.9),
    "momentum lost": broken.momentum_lost(1e-3),
}
