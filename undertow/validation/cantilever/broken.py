"""Defects that ``cantilever`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.cantilever import case

DEFECTS = {
    "nothing moves": broken.equilibrium(case, None),
    "wrong sign": broken.equilibrium(case, -1.0),
    "load halved": broken.equilibrium(case, 0.5),
}
