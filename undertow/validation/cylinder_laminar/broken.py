"""Defects that ``cylinder-laminar`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.validation import broken
from undertow.validation.analysis import Quantity, observed_order, quantity
from undertow.validation.cylinder_laminar import case


def small() -> Iterator[Quantity]:
    """Three coarse grids."""
    sizes = (20, 40)
    reference = case.simulate(80, "split")
    errors = [abs(case.simulate(n, "split") - reference) for n in sizes]
    for axis, name in enumerate("uv"):
        yield quantity(name, float(reference[axis]))
        yield quantity(f"order_{name}_split", observed_order(sizes, [float(error[axis]) for error in errors]))


DEFECTS = {
    "constant": broken.sampled("velocity", 0.0),
    "frozen": broken.frozen(),
}
