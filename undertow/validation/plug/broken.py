"""Defects that ``plug`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.plug import case


def small() -> Iterator[Quantity]:
    """The disc for a second."""
    for what, value in case.hold(case.make_2d(40, "lumped"), case.MIDDLE, 1.0).items():
        yield quantity(f"{what}_2d_lumped", value)


def _smaller_ball(scene: Any) -> Any:
    ball = scene.objects["ball"].model_copy(update={"shape": ut.Sphere(radius=0.9 * case.RADIUS)})
    return scene.model_copy(update={"objects": {**scene.objects, "ball": ball}})


DEFECTS = {
    "a ball that does not fit": broken.scene_changed(_smaller_ball),
    "wrong sign of gravity": broken.gravity(-1.0),
}
