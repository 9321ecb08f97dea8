"""The couplings of fluids on a grid with rigid bodies, by name: how bodies are seen on the grid, and the solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.fractions import LumpedFields, VolumeFractionFields
from undertow.coupling.lumped import LumpedSolve
from undertow.coupling.monolithic import MonolithicSolve
from undertow.fluid.phase import Phase
from undertow.geometry import SolidFields

Solve = Callable[[Phase, float, CoupledBodies, str], MonolithicSolve]
"""Of a phase, to a tolerance, with bodies; the last says which mass is lumped."""


class GridCoupling(NamedTuple):
    """fields: how bodies are seen on the grid. solve: of a phase and bodies."""

    fields: type[SolidFields]
    solve: Solve


def _monolithic(phase: Phase, tolerance: float, coupled: CoupledBodies, mass: str) -> MonolithicSolve:
    return MonolithicSolve(phase, tolerance, coupled)


GRID_COUPLINGS = {
    "monolithic": GridCoupling(SolidFields, _monolithic),
    "batty": GridCoupling(VolumeFractionFields, _monolithic),
    "lumped": GridCoupling(LumpedFields, LumpedSolve),
}
