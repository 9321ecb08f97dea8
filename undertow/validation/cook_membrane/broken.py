"""Defects that ``cook-membrane`` must see."""

from __future__ import annotations

from typing import Any

from undertow.validation import broken
from undertow.validation.cook_membrane import case


def _without_rings(deflect: Any) -> Any:
    return lambda cells, ratio, rings, **options: deflect(cells, ratio, False, **options)


DEFECTS = {
    "half as stiff": broken.replaced(case, "E", lambda modulus: 0.5 * modulus),
    "wrong sign": broken.replaced(case, "TRACTION", lambda load: -load),
    "rings left out": broken.replaced(case, "deflect", _without_rings),
}
