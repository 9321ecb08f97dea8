"""Defects that ``refinement-mismatch`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken


def _weigh(scene: Any) -> Any:
    body = scene.objects["square"]
    heavier = body.model_copy(update={"density": body.density * (1.0 + body.element_size)})
    return scene.model_copy(update={"objects": {"square": heavier}})


DEFECTS = {
    "frozen": broken.frozen(),
    "mass grows with the elements": broken.scene_changed(_weigh),
}
