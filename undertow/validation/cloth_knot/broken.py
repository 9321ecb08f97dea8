"""Defects that ``cloth-knot`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "wrong sign of gravity": broken.gravity(-1.0),
    "no weight": broken.gravity(0.0),
}
