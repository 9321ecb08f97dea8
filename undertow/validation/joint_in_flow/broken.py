"""Defects that ``joint-in-flow`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "joints slip by a micrometre": broken.ledger_column("joint_error", 1e-6),
}
