"""Defects that ``kernel-moments`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.kernel_moments import case


def small() -> Iterator[Quantity]:
    """As it is."""
    return case.run()


def _value(kernel: Any) -> Any:
    return lambda *args: (1.01 * kernel(*args)[0], kernel(*args)[1])


def _slope(kernel: Any) -> Any:
    return lambda *args: (kernel(*args)[0], -kernel(*args)[1])


DEFECTS = {
    "kernel 1% too large": broken.replaced(case, "solver_kernel", _value),
    "wrong sign of its slope": broken.replaced(case, "solver_kernel", _slope),
}
