"""Defects that ``balloon`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "the jet is off": broken.objects("Emitter", velocity=lambda v: tuple(0.0 for _ in v)),
}
