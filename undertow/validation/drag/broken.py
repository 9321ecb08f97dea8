"""Defects that ``drag`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.drag import case


def small() -> Iterator[Quantity]:
    """The thin and the thick fluid."""
    thin, thick = case.depth(0.1, 1.0, 20), case.depth(3.0, 1.0, 20)
    yield quantity("thin_over_thick", thin["depth"] / thick["depth"])
    yield quantity("thin_depth", thin["depth"])


def _thin(scene: Any) -> Any:
    return scene.model_copy(update={"sph": scene.sph.model_copy(update={"alpha": 0.1})})


DEFECTS = {
    "every fluid is thin": broken.scene_changed(_thin),
    "frozen": broken.frozen(),
}
