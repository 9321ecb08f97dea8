"""Defects that ``fracture-fit`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.geometry import PlacedPattern, fragments
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.fracture_fit import case


def small() -> Iterator[Quantity]:
    """The hull by one pattern, and ten steps of the bricks."""
    gap, overlap = case.measure_fit(case.make_bodies()["hull"], "voronoi")
    yield quantity("gap", gap)
    yield quantity("overlap", overlap)
    moved, _ = case.stand("brick", 0.8, 10.0 / case.RATE)
    yield quantity("moved_brick", moved / max(case.SIZE))


def _swollen(make: Any) -> Any:
    """Regions a little larger than they are, each about the centre of the pattern."""

    def to_body(self: PlacedPattern, points: Any) -> Any:
        return make(self, points + 1e-5 * (points - points.mean(axis=0)))

    return to_body


def _turned(make: Any) -> Any:
    """Principal axes with two of them exchanged, as a mirror has them."""

    def axes(tensor: Any) -> Any:
        moments, found = make(tensor)
        return moments[[1, 0, 2]], found[:, [1, 0, 2]] * (1.0, 1.0, -1.0001)

    return axes


DEFECTS = {
    "regions a little too large": broken.replaced(PlacedPattern, "to_body", _swollen),
    "axes that are not of length one": broken.replaced(fragments, "principal_axes", _turned),
    "the ground tilts": broken.scene_changed(lambda scene: scene.model_copy(update={"gravity": (9.0, -9.81, 0.0)})),
}
