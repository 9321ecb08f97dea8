"""Defects that ``bar-twist`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "mirrored": broken.body_reads(matrix=lambda R: R.T),
    "no weight": broken.gravity(0.0),
}
