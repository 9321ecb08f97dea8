"""Defects that ``mixed-stack`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "pushed aside": broken.scene_changed(lambda scene: scene.model_copy(update={"gravity": (1.0, -9.81, 0.0)})),
}
