"""Defects that ``zalesak`` must see."""

from __future__ import annotations

from undertow.surface import Surface
from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "carried backwards": broken.first_argument(Surface, "advance", lambda u: -u),
    "half the speed": broken.first_argument(Surface, "advance", lambda u: 0.5 * u),
}
