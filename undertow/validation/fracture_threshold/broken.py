"""Defects that ``fracture-threshold`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.rigid.brittle import LoadHistory, Meeting
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.fracture_threshold import case


def small() -> Iterator[Quantity]:
    """A ball that does not bounce, at the two ends of the bound, and the load at one step."""
    by_hand = (case.STRENGTH / case.BALL) ** 2 / (2.0 * case.GRAVITY)
    low, high = (case.breaks(share * by_hand, case.STEP, 0.0) for share in (0.98, 1.02))
    yield quantity("height", 1.0 if high and not low else float("nan"))
    yield quantity("load", case.breaking_load(1.0 / 60.0) / (case.FORCE - case.PLATE_LOADED * case.GRAVITY))


def _halved(lasting: Any) -> Any:
    """Half of every collision lasts."""
    return lambda self, impulse, dt: 0.5 * impulse


def _late(within: Any) -> Any:
    """Loads of the last moments count a twentieth too little."""
    return lambda self, new, time, until: 0.95 * within(self, new, time, until)


DEFECTS = {
    "half of every collision counts": broken.replaced(Meeting, "lasting", _halved),
    "loads count too little": broken.replaced(LoadHistory, "_within", _late),
    "gravity is a tenth weaker": broken.scene_changed(
        lambda scene: scene.model_copy(update={"gravity": tuple(0.9 * g for g in scene.gravity)})
    ),
}
