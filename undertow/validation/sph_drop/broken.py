"""Defects that ``sph-drop`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken


def _slack(scene: Any) -> Any:
    half = 0.5 * scene.sph.surface_tension
    return scene.model_copy(update={"sph": scene.sph.model_copy(update={"surface_tension": half})})


DEFECTS = {
    "frozen": broken.frozen(),
    "tension halved": broken.scene_changed(_slack),
}
