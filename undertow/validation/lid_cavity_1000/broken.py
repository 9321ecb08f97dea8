"""Defects that ``lid-cavity-1000`` must see: at its own size, as 96 cells do not reach its bounds."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
