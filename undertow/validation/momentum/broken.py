"""Defects that ``momentum`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.fluid import Flow
from undertow.fluid.steppers import FlowReport
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.momentum import case

LEAK = 1.0 + 1e-9


def small() -> Iterator[Quantity]:
    """Two configurations of each kind."""
    return broken.smaller(case, COUNT=2)


def _idle(project: Any) -> Any:
    return lambda self, u_f, viscous_dt: FlowReport()


def _leaky(project: Any) -> Any:
    def leak(self: Flow, u_f: Any, viscous_dt: float) -> FlowReport:
        report: FlowReport = project(self, u_f, viscous_dt)
        u_f *= LEAK
        return report

    return leak


DEFECTS = {
    "no solve": broken.replaced(Flow, "project", _idle),
    "momentum from nowhere": broken.replaced(Flow, "project", _leaky),
}
