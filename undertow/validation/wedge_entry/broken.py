"""Defects that ``wedge-entry`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.wedge_entry import case


def small() -> Iterator[Quantity]:
    """Three coarse grids: the experiment is not reached yet and finds nothing."""
    curves = [case.fall(cells) for cells in (16, 32, 64)]
    steps = [float(np.abs(b[:, 1] - a[:, 1]).max()) for a, b in zip(curves, curves[1:], strict=False)]
    yield quantity("convergence", steps[1] / steps[0])
    yield quantity("similarity_force", case.impulse(32))


def _coarsest(scene: Any) -> Any:
    return scene.model_copy(update={"domain": scene.domain.model_copy(update={"resolution": 64})})


DEFECTS = {
    "frozen": broken.frozen(),
    "constant: every grid is the coarsest": broken.scene_changed(_coarsest),
}
