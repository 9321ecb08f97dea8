"""Defects that ``beam-in-flow`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken


def _coarsest(scene: Any) -> Any:
    coarse = scene.domain.model_copy(update={"resolution": 16})
    return scene.model_copy(update={"domain": coarse, "time": scene.time.model_copy(update={"fixed_step": 0.125})})


DEFECTS = {
    "frozen": broken.frozen(),
    "constant: every grid is the coarsest": broken.scene_changed(_coarsest),
}
