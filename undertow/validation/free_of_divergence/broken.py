"""Defects that ``free-of-divergence`` must see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from undertow.fluid import Flow
from undertow.fluid.steppers import FlowReport
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.free_of_divergence import case


def small() -> Iterator[Quantity]:
    """The cavity alone."""
    return broken.smaller(case, COARSE={"lid-cavity": 64})


def _idle(project: Any) -> Any:
    def leave(self: Flow, u_f: Any, viscous_dt: float) -> FlowReport:
        report = FlowReport()
        report.row_before = report.row_after = self.largest_row(u_f)
        return report

    return leave


DEFECTS = {
    "solved to a hundred times the tolerance": broken.fluid(tolerance=100.0),
    "no solve": broken.replaced(Flow, "project", _idle),
}
