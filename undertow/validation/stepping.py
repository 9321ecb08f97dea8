"""One place that stands between the cases and everything they step: what ``smoke`` and ``broken`` hook into."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

Step = Callable[[], Any]
"""One step of the object, with the arguments that the case gave."""
Hook = Callable[[Any, Step, Step], Any]
"""hook(object, step, skip): take the step, or skip it: the clock goes on and the last report is returned once more."""


def stepped_classes() -> list[tuple[type, str]]:
    """Classes that cases step, and the method that takes a step."""
    from undertow.fluid import Flow
    from undertow.run.simulation import Simulation
    from undertow.soft import ImplicitMidpoint, Leapfrog, Newmark
    from undertow.solids import SolidsWorld
    from undertow.solids.soft_step import SoftSolids
    from undertow.sph import SphFluid
    from undertow.surface import Surface

    steppers = [(cls, "step") for cls in (Flow, SphFluid, ImplicitMidpoint, Leapfrog, Newmark, SoftSolids)]
    return [(Simulation, "_step_towards"), (SolidsWorld, "step"), *steppers, (Surface, "advance")]


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute of a class, module or object that is another one for a while."""
    own = name in vars(owner)
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Every step that a case takes goes through ``hook``; what a step does inside itself does not."""
    inside = False
    last: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside:
                return original(self, *args, **kwargs)

            def take() -> Any:
                nonlocal inside
                inside = True
                try:
                    last[self] = original(self, *args, **kwargs)
                finally:
                    inside = False
                return last[self]

            def skip() -> Any:
                last[self] = pass_time(self, last.get(self), *args)
                return last[self]

            return hook(self, take, skip)

        return step

    with ExitStack() as stack:
        for cls, name in stepped_classes():
            stack.enter_context(replaced(cls, name, wrap(getattr(cls, name))))
        yield


def pass_time(stepped: Any, report: Any, *args: Any) -> Any:
    """Only the clock of the object goes on, as a step with these arguments would have moved it; returns the report."""
    from undertow.run.simulation import Simulation, StepReport
    from undertow.solids import SolidsWorld

    if isinstance(stepped, SolidsWorld):
        stepped.time += float(args[0])
    if isinstance(stepped, Simulation):
        before, stepped.time = stepped.time, float(args[0])
        stepped.step_count += 1
        while stepped.next_frame_time() <= stepped.time:
            stepped.frame += 1
        assert isinstance(report, StepReport)
        return dataclasses.replace(
            report, step=stepped.step_count, time=stepped.time, time_step=stepped.time - before
        )  # fmt: skip
    return report


class SkipAfter:
    """A hook that takes the first steps of every object and skips all others; counts both."""

    def __init__(self, steps: int, most: int | None = None) -> None:
        self.steps, self.most = steps, most
        self.taken = self.skipped = 0
        self._own: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def __call__(self, stepped: Any, step: Step, skip: Step) -> Any:
        """Take or skip."""
        done = self._own.get(stepped, 0)
        self._own[stepped] = done + 1
        if done < self.steps:
            self.taken += 1
            return step()
        self.skipped += 1
        return skip()
