"""Defects that ``volume-long`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.volume_long import case


def small() -> Iterator[Quantity]:
    """16 cells along the cube, a second."""
    yield from case.run(cells=16, end=1.0)


def _shift(by: float) -> Any:
    def change(sim: Any) -> None:
        sim.flow.state.surface.phi_c[...] += by

    return change


DEFECTS = {
    "water leaks": broken.after_steps(_shift(1e-2)),
    "water grows": broken.after_steps(_shift(-1e-2)),
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
}
