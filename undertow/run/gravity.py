"""Gravity that changes in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from undertow.geometry import Curve
from undertow.grid import Array
from undertow.part import ACCELERATION, ENERGY, Part, Quantity, components

POTENTIAL = "potential_energy"
"""What the names of potential energies in gravity begin with."""


class Gravity(Part):
    """Gravity by a curve [m/s2]: in a step that of its mean over the time in which the forces of the step act.

    others: the parts that it pulls at. work [J]: of its change, the sum of what potential energies gained by that
    alone, where things are: the mean of the start and the end of each step.
    """

    name = "gravity"

    def __init__(self, curve: Curve, others: Sequence[Part]) -> None:
        self.curve, self.others = curve, others
        self.now: Array = np.array(curve.value(0.0), dtype=float)
        self._before, self.work = self.now, 0.0

    def act(self, since: float, until: float) -> None:
        """Forces act from one time to another [s] in the step that begins."""
        self._before = self.now
        self._pull(self.now)  # sums of now, also after loading
        old = self._potential()
        self._pull(np.asarray(self.curve.integral(since, until)) / (until - since))
        self.work += 0.5 * (self._potential() - old)

    def count_work(self, dt: float, lag: float) -> None:
        now, new = self.now, self._potential()
        self._pull(self._before)
        self.work += 0.5 * (new - self._potential())
        self._pull(now)

    def _pull(self, value: Array) -> None:
        self.now = value
        for part in self.others:
            part.pull(value)

    def _potential(self) -> float:
        found = (quantity for part in self.others for quantity in part.quantities())
        return sum(quantity.value for quantity in found if quantity.name.startswith(POTENTIAL))

    def quantities(self) -> Iterator[Quantity]:
        yield from components("gravity", self.now, ACCELERATION)
        yield Quantity("gravity_work", self.work, ENERGY)

    def numbers(self) -> dict[str, Any]:
        return {"now": self.now.tolist(), "work": self.work}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self._pull(np.array(numbers["now"]))
        self.work = numbers["work"]
