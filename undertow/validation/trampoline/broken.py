"""Defects that ``trampoline`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "no weight": broken.gravity(0.0),
}
