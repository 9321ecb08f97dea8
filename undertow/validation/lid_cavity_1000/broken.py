"""Defects that ``lid-cavity-1000`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "wrong sign": broken.sampled("velocity", -1.0),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
