"""Defects that ``flag`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "no stream: the fluid is a thousandth as dense": broken.fluid(density=1e-3),
}
