"""What fluids on a grid have in common, for schemes that advance them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from undertow.fluid import measure
from undertow.fluid.domain import FluidDomain
from undertow.fluid.solve import ImplicitSolve
from undertow.fluid.state import FlowReport, SolidForce
from undertow.geometry import SolidFields
from undertow.grid import Array, Grid, Sides
from undertow.part import Part


class FluidState(Protocol):
    """What evolves: u (3, Z, Y, X) [m/s] and p (Z, Y, X) [Pa] at least."""

    u: Array
    p: Array


class GridFluid(Part):
    """A fluid on a grid. solve: the implicit part of its step. z_c: dt p of the solve [Pa s]; row_c: scratch. report:
    what the solves of the last step did."""

    name = "flow"
    grid: Grid
    sides: Sides
    solids: SolidFields | None
    domain: FluidDomain
    solve: ImplicitSolve
    report: FlowReport
    z_c: Array
    row_c: Array
    state: FluidState

    def begin_step(self) -> None:
        """Before a step moves anything."""

    def step(self, time: float, dt: float) -> FlowReport:
        """Advance the state from ``time`` by ``dt`` [s]."""
        report = self.advance(time, dt)
        self.finish(self.state.u)
        return report

    @abstractmethod
    def advance(self, time: float, dt: float) -> FlowReport:
        """A step up to the implicit solve: ``finish`` is to follow, after what else changes the velocity."""

    @abstractmethod
    def finish(self, u_f: Array) -> None:
        """Velocities go where there is no fluid: into solids and air; ghosts."""

    def end_step(self, time: float) -> None:
        """Sums and checks after all of a step that ends at ``time`` [s]."""

    def limit_gap_velocity(self, u_f: Array, touching: bool) -> None:
        """Before u is transported, in narrow gaps between solids; touching: whether any touch each other."""

    @abstractmethod
    def forces(self) -> dict[str, SolidForce]:
        """Force and torque of the fluid on every solid over the last step."""

    @abstractmethod
    def set_velocity(self, u_f: Array) -> None:
        """Go on from the velocity u_f (3, Z, Y, X) [m/s]."""

    def largest_row(self, u_f: Array) -> float:
        """Largest |K u - s|, the residual of incompressibility [m3/s]."""
        self.solve.rows.apply({"fluid": u_f}, self.row_c)
        return measure.largest_difference(self.grid, self.row_c, self.solve.rows.target)
