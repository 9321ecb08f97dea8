"""The couplings of fluids on a grid with rigid bodies, by name: how bodies are seen on the grid, and the solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.fractions import LumpedFields, VolumeFractionFields
from undertow.coupling.lumped import LumpedSolve, lumped
from undertow.coupling.monolithic import MonolithicSolve, monolithic
from undertow.fluid import FlowSettings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.fluid.solve import ImplicitSolve
from undertow.geometry import SolidFields

Solve = Callable[[Phase, float, CoupledBodies, str], MonolithicSolve]
"""Of a phase, to a tolerance, with bodies; the last says which mass is lumped."""

InTank = Callable[[CoupledBodies, str], Callable[[FluidDomain, FlowSettings], ImplicitSolve]]


class GridCoupling(NamedTuple):
    """fields: how bodies are seen on the grid. solve, in_tank: the solve of a phase, and what makes that of a flow."""

    fields: type[SolidFields]
    solve: Solve
    in_tank: InTank


def _monolithic(phase: Phase, tolerance: float, coupled: CoupledBodies, mass: str) -> MonolithicSolve:
    return MonolithicSolve(phase, tolerance, coupled)


GRID_COUPLINGS = {
    "monolithic": GridCoupling(SolidFields, _monolithic, lambda coupled, mass: monolithic(coupled)),
    "batty": GridCoupling(VolumeFractionFields, _monolithic, lambda coupled, mass: monolithic(coupled)),
    "lumped": GridCoupling(LumpedFields, LumpedSolve, lumped),
}
