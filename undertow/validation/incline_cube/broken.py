"""Defects that ``incline-cube`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.world(gravity=(0.0, -4.905, 0.0)),
    "no friction": broken.world_bodies(friction=0.0),
    "momentum lost": broken.momentum_lost(0.01),
}
