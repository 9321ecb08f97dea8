"""Defects that ``incompressible-statics`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.soft.rings import RingConstraint
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.incompressible_statics import case


def small() -> Iterator[Quantity]:
    """One beam at the longest step, and the slab."""
    rest, x, tip = case.reference(case.make_beam(0.0, 0.01, 0.0), 0.0)
    height = case.swing(case.make_beam(0.0, 0.01, 0.0), rest + 0.95 * (x - rest))
    yield quantity("tip_10", height / tip)
    yield quantity("force_2d", case.squeeze(2, 0.0, 0.7, 5e-3)[0])


def _unheld(_: object) -> object:
    """Pressures of the solve that are forgotten: volume is left to the correction of positions."""

    def add_gradient(self: RingConstraint, x: object, gradient: object) -> float:
        self.rate[...], self.pressure[...] = 0.0, 0.0
        return 0.0

    return add_gradient


DEFECTS = {
    "frozen": broken.frozen(),
    "volume after the solve": broken.replaced(RingConstraint, "add_gradient", _unheld),
    "half the modulus": broken.objects("SoftBody", youngs_modulus=lambda modulus: 0.5 * modulus),
}
