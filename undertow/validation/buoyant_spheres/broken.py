"""Defects that ``buoyant-spheres`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.gravity(0.5),
    "wrong sign": broken.gravity(-1.0),
}
