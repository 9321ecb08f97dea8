"""Defects that ``rigid-fluid-cost`` must see."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from undertow.validation import broken
from undertow.validation.rigid_fluid_cost import case


def _burn(seconds: float) -> None:
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def _slow(cost: Callable[[int], float]) -> broken.Defect:
    """The coupling takes ``cost(bodies)`` [s] of processor time more in every step."""

    def change(make: Any) -> Any:
        def build(count: int) -> Any:
            sim = make(count)
            solve = sim.flow.solve
            prepare = solve.prepare

            def slowly(*args: Any, **kwargs: Any) -> Any:
                _burn(cost(count))
                return prepare(*args, **kwargs)

            solve.prepare = slowly
            return sim

        return build

    return broken.replaced(case, "make", change)


DEFECTS = {
    "slow": _slow(lambda bodies: 0.05),
    "grows with the square of the bodies": _slow(lambda bodies: 1e-5 * bodies**2),
}
