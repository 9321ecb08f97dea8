"""Defects that ``fracture-conserves`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from undertow.geometry import fragments
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.fracture_conserves import case


def small() -> Iterator[Quantity]:
    """Four bodies."""
    return broken.smaller(case, COUNT=4)


def _lose(make: Any) -> Any:
    return lambda *args, **kwargs: make(*args, **kwargs)[:-1]


def _thesis(make: Any) -> Any:
    """The parent's velocity at the centres of the fragments without the turn."""

    def conserve(mass: float, centre: Any, momentum: Any, spin: Any, pieces: Any) -> Any:
        found = make(mass, centre, momentum, spin, pieces)
        return replace(found, velocity_b=np.broadcast_to(np.asarray(momentum) / mass, found.velocity_b.shape))

    return conserve


DEFECTS = {
    "a fragment is lost": broken.replaced(case, "break_shape", _lose),
    "velocities without omega x r": broken.replaced(case, "conserve", _thesis),
    "inertia of a cube for every piece": broken.replaced(
        fragments, "principal_axes", lambda make: lambda tensor: (np.full(3, np.trace(tensor) / 3.0), np.eye(3))
    ),
}
