"""Defects that ``dam-break`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.dam_break import case

DEFECTS = {
    "frozen": broken.frozen(),
    "weight halved": broken.with_options(case, "FlowSettings", gravity=(0.0, -4.905, 0.0)),
    "weight sideways": broken.with_options(case, "FlowSettings", gravity=(-9.81, 0.0, 0.0)),
}
