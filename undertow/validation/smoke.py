"""Every case and benchmark built and begun: two steps of each simulation on a coarse grid, the rest skipped.

The clock of a simulation goes on without it after two steps, so that a case comes to the lines that measure. What it
measures then means nothing and is not judged. A module may hold ``SMOKE``, a table of those of its constants that are
smaller here, ``KEEP_GRID = True`` where the grid may not be coarser, and a function ``smoke`` in the place of ``run``.
"""

from __future__ import annotations

import functools
import importlib
import time as clock
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

from undertow.errors import PhysicsError, UserError
from undertow.validation import stepping
from undertow.validation.runner import known
from undertow.validation.targets import find_target

STEPS = 2
CELLS = {2: 24, 3: 12}
"""Most cells or particles along the main side, by dimensions."""
MOST_SIMULATIONS = 12
"""A case that builds more than so many has been seen enough of."""
MOST_STEPS = 3000
"""Likewise of steps, most of them skipped."""
ARITHMETIC = (ArithmeticError, AssertionError, IndexError, ValueError, PhysicsError)
"""What a case may end by once steps have been skipped: there is nothing in its curves to be found."""


class Enough(BaseException):
    """Enough has been seen of a case."""


def smoke(kind: str, names: list[str], say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """One line per case (kind ``validate``) or benchmark (``bench``): measured is 1 when it has been begun."""
    for name in names:
        say(f"{name} ...")
        start = clock.monotonic()
        detail = _begin(kind, name)
        passed = "error" not in detail
        yield {
            "case": name, "quantity": "smoke", "measured": float(passed), "reference": 1.0, "error": 1.0 - passed,
            "tolerance": 0.0, "passed": passed, "seconds": round(clock.monotonic() - start, 3),
            "detail": {"kind": kind, **detail},
        }  # fmt: skip


def _begin(kind: str, name: str) -> dict[str, Any]:
    """What was seen of a case: steps taken and skipped, quantities, and how it ended."""
    hook, quantities = _Few(), 0
    try:
        module = importlib.import_module(known(kind)[name])
        with ExitStack() as stack:
            for constant, value in getattr(module, "SMOKE", {}).items():
                stack.enter_context(stepping.replaced(module, constant, value))
            stack.enter_context(_coarse(hook, not getattr(module, "KEEP_GRID", False)))
            stack.enter_context(stepping.hooked(hook))
            for found in _quantities(kind, module):
                quantities += 1
                _check(kind, name, found)
        ended = "at its end"
    except Enough:
        ended = "enough seen"
        if quantities == 0:
            return {"error": f"no quantity within {hook.skipped} steps and {hook.simulations} simulations; give the "
                    f"module a table SMOKE of smaller constants", "steps": hook.taken, "skipped": hook.skipped,
                    "quantities": 0}  # fmt: skip
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        ended = f"{type(error).__name__}: {error} ({where.filename.rsplit('undertow/', 1)[-1]}:{where.lineno})"
        if not hook.skipped or isinstance(error, UserError) or not isinstance(error, ARITHMETIC):
            return {"error": ended, "steps": hook.taken, "skipped": hook.skipped, "quantities": quantities}
    return {"ended": ended, "steps": hook.taken, "skipped": hook.skipped, "quantities": quantities}


def _quantities(kind: str, module: Any) -> Iterator[dict[str, Any]]:
    if hasattr(module, "smoke"):
        return iter(module.smoke())
    return iter(module.run(full=False) if kind == "validate" else module.run(1))


def _check(kind: str, name: str, found: dict[str, Any]) -> None:
    """A quantity of a case is judged or marked as information."""
    quantity = str(found["quantity"])
    if kind == "validate" and find_target(name, quantity) is None and not (found.get("detail") or {}).get("info"):
        raise KeyError(f"{quantity!r} has no target and is not marked as information")


class _Few(stepping.SkipAfter):
    """Two steps of every object, and an end to them."""

    def __init__(self) -> None:
        super().__init__(STEPS)
        self.simulations = 0

    def __call__(self, stepped: Any, step: stepping.Step, skip: stepping.Step) -> Any:
        if self.skipped > MOST_STEPS:
            raise Enough
        return super().__call__(stepped, step, skip)


def _coarse(hook: _Few, coarse: bool) -> Any:
    """Simulations on coarse grids, and not too many of them."""
    from undertow.run.simulation import Simulation

    original = Simulation.__init__

    @functools.wraps(original)
    def build(self: Any, scene: Any, *args: Any, **kwargs: Any) -> None:
        hook.simulations += 1
        if hook.simulations > MOST_SIMULATIONS:
            raise Enough
        domain = scene.domain
        if coarse and domain is not None and domain.resolution > CELLS[scene.dimensions]:
            smaller = domain.model_copy(update={"resolution": CELLS[scene.dimensions]})
            with suppress(UserError):  # bodies and emitters that need a finer grid
                original(self, scene.model_copy(update={"domain": smaller}), *args, **kwargs)
                return
        original(self, scene, *args, **kwargs)

    return stepping.replaced(Simulation, "__init__", build)
