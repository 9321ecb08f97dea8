"""Defects that ``sine-interface`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from undertow.surface import crossings
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.sine_interface import case


def small() -> Iterator[Quantity]:
    """Both orders at 80 cells."""
    for name, order in case.ORDERS.items():
        for what, error in case.sine(80, order)._asdict().items():
            yield quantity(f"{name}_{what}_80", error)


def _linear(find: Callable[..., Any]) -> Callable[..., Any]:
    """Roots of the line through the two nodes."""

    def root(knots: tuple[float, ...], values: list[Any]) -> Any:
        low, high = values[knots.index(0.0)], values[knots.index(1.0)]
        return low / (low - high)

    return root


def _mean(find: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes have the plain mean of the cells about them."""

    def stencil(stride: np.ndarray) -> tuple[np.ndarray, Any]:
        steps, weights = find(stride)
        count = 2 ** len(stride)
        return steps[:count], np.full(count, 1.0 / count) * (weights.sum() > 0.0)

    return stencil


DEFECTS = {
    "crossings by the line between the nodes": broken.replaced(crossings, "_root_between", _linear),
    "nodes by the mean of four cells": broken.replaced(crossings, "_stencil", _mean),
    "slivers stay": broken.replaced(case, "SHORTEST", lambda shortest: 0.0),
}
