"""Defects that ``hysing-2`` must see."""

from __future__ import annotations

from undertow.validation import broken
from undertow.validation.hysing_1.broken import DEFECTS as FIRST

DEFECTS = {
    "frozen": broken.frozen(),
    **{name: FIRST[name] for name in ("one mass", "volume left alone")},
}
