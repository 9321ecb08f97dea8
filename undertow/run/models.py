"""What advances the parts of a simulation by a step, as long as every kind of scene has a class of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from undertow.part import Part


@dataclass(frozen=True)
class ModelStep:
    """What a step did: iterations of its solves, its own report, and what happened that a user should know, in
    words."""

    iterations: int
    report: Any
    events: tuple[str, ...] = ()


class Model(Part):
    """The parts of a scene, each after those that it depends on, and their step. A part itself, the last."""

    name = "scheme"
    notes: list[str]
    """What a user should know before the run."""

    parts: Sequence[Part] = ()
    """What evolves, without the model itself."""

    def step(self, time: float, time_step: float) -> ModelStep:
        """Advance from ``time`` by ``time_step`` [s]."""
        raise TypeError(type(self).__name__)
