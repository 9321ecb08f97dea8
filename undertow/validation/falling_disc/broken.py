"""Defects that ``falling-disc`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "viscosity doubled": broken.fluid(viscosity=2.0),
}
