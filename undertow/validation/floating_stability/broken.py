"""Defects that ``floating-stability`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from undertow.coupling import hydrostatic
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.floating_stability import case


def small() -> Iterator[Quantity]:
    """Righting arms of two boxes."""
    return case.righting(((1.0, 0.25), (1.15, 0.5)), (4.0, 16.0, 31.0))


def by_force_alone(whole: Callable[..., Any]) -> Callable[..., Any]:
    """The torque of the pieces at the water line is left out: those that are wet in part."""

    def measure(self: Any, loads: Any) -> None:
        loads.load[(loads.wet < loads.area * (1.0 - 1e-9)) & (loads.slit == 0), 3:] = 0.0
        whole(self, loads)

    return measure


DEFECTS = {
    "no torque at the water line": broken.replaced(hydrostatic.Hydrostatic, "_sum", by_force_alone),
    "a third heavier": broken.objects("RigidBody", density=lambda density: 1.5 * density),
}
