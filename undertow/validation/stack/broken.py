"""Defects that ``stack`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.stack import case


def small() -> Iterator[Quantity]:
    """Three boxes for a second."""
    moved, turned, _ = case.stand(case.boxes(3), 1.0)
    yield quantity("motion_10_boxes", moved)
    yield quantity("turn_10_boxes", turned)


DEFECTS = {
    "pushed aside": broken.scene_changed(lambda scene: scene.model_copy(update={"gravity": (8.0, -9.81, 0.0)})),
    "boxes creep": broken.after_steps(broken.creep(1e-4)),
}
