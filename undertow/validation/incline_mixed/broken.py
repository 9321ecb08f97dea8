"""Defects that ``incline-mixed`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.incline_mixed import case

DEFECTS = {
    "frozen": broken.frozen(),
    "no friction": broken.together(
        broken.world_bodies(friction=0.0), broken.replaced(case, "SoftContacts", broken.last_argument(0.0))
    ),
    "momentum lost": broken.momentum_lost(0.01),
}
