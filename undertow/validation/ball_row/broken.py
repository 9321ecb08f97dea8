"""Defects that ``ball-row`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "momentum lost": broken.momentum_lost(0.01),
    "mirrored": broken.mirrored(0),
}
