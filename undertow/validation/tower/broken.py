"""Defects that ``tower`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.tower import case


def small() -> Iterator[Quantity]:
    """Five boxes."""
    return islice(case.run(), 2)


DEFECTS = {
    "pushed aside": broken.scene_changed(lambda scene: scene.model_copy(update={"gravity": (8.0, -9.81, 0.0)})),
    "boxes creep": broken.after_steps(broken.creep(1e-6)),
}
