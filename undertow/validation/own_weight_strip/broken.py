"""Defects that ``own-weight-strip`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.own_weight_strip import case

DEFECTS = {
    "nothing moves": broken.equilibrium(case, None),
    "wrong sign": broken.equilibrium(case, -1.0),
    "weight halved": broken.equilibrium(case, 0.5),
}
