"""Defects that ``local-global`` must see."""

from __future__ import annotations

import time
from typing import Any

from undertow.validation import broken
from undertow.validation.local_global import case


def _swap(make_scene: Any) -> Any:
    other = {"local": "global", "global": "local"}
    return lambda scheme, *args: make_scene(other[scheme], *args)


def _slow(measure: Any) -> Any:
    """Every solve takes 20 ms of processor time more."""
    simulation = case.ut.Simulation

    def build(*args: Any, **kwargs: Any) -> Any:
        sim = simulation(*args, **kwargs)
        forcing: Any = sim.scheme.forcing  # type: ignore[attr-defined]
        solve = forcing._solve

        def slowly(*inner: Any) -> Any:
            start = time.process_time()
            while time.process_time() - start < 0.02:
                pass
            return solve(*inner)

        forcing._solve = slowly
        return sim

    def slow(*args: Any) -> Any:
        with broken.replaced(case.ut, "Simulation", lambda _: build)():
            return measure(*args)

    return slow


DEFECTS = {
    "schemes swapped": broken.replaced(case, "make_scene", _swap),
    "slow": broken.replaced(case, "measure", _slow),
}
