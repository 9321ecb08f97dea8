"""Defects that ``hanging-cloth`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.hanging_cloth import case

DEFECTS = {
    "nothing moves": broken.equilibrium(case, None),
    "wrong sign": broken.equilibrium(case, -1.0),
    "weight sideways": broken.equilibrium(case, ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))),
}
