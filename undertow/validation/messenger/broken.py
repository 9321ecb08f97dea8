"""Defects that ``messenger`` must see."""

from __future__ import annotations

from typing import Any

from undertow.solids.step import Solids
from undertow.validation import broken


def _make_pairwise(part: Any) -> Any:
    return lambda self, central: part(self, False)


def _make_idle(part: Any) -> Any:
    return lambda self, central: (1, 0.0)


DEFECTS = {
    "pair by pair in both": broken.replaced(Solids, "part", _make_pairwise),
    "nothing is parted": broken.replaced(Solids, "part", _make_idle),
}
