"""Defects that ``sph-couette`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken
from undertow.validation.sph_poiseuille import case


def _thin(settings: Any) -> Any:
    return lambda density, sound_speed, viscosity, gravity: settings(density, sound_speed, 0.5 * viscosity, gravity)


DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity halved": broken.replaced(case, "SphSettings", _thin),
}
