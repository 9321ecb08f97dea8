"""Defects that ``sphere-press`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sphere_press import case


def small() -> Iterator[Quantity]:
    """5 elements across."""
    errors, _, thick, _ = case.press(5, (0.13,))
    yield quantity("volume_error_13", errors[0])
    yield quantity("thickness_13", thick[0])


def _slow(scene: Any) -> Any:
    return scene.model_copy(update={"soft": scene.soft.model_copy(update={"volume_recovery": 10.0})})


DEFECTS = {
    "frozen": broken.frozen(),
    "volume regained over ten seconds": broken.scene_changed(_slow),
}
