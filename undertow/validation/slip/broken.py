"""Defects that ``slip`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken


def _sticking(scene: Any) -> Any:
    return scene.model_copy(update={"sph": scene.sph.model_copy(update={"slip": 0.0})})


DEFECTS = {
    "frozen": broken.frozen(),
    "sticking whatever eps": broken.scene_changed(_sticking),
    "weight halved": broken.gravity(0.5),
}
