"""What a flow carries along, and where it ends: small objects that a ``Flow`` asks in turn.

An ``AdvectedField`` is something that the velocity carries: smoke with its temperature, a viscosity that differs from
place to place, the surface of a liquid. It says what of it evolves, how it is transported, what fills it, how it goes
on where there is no fluid, which forces it makes and what the ledger writes of it. A field says nothing about what it
has not. The ``Extent`` of a flow is the field that tells where its fluid is: the whole domain (``fluid.tank``), or what
lies under a surface (``fluid.liquid``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.fluid.state import FlowSettings
from undertow.fluid.waters import BodyOfWater
from undertow.grid import Array, Grid
from undertow.part import Limit, Quantity
from undertow.transport import Advection, Extrapolation

if TYPE_CHECKING:
    from undertow.fluid.solve import ImplicitSolve


@dataclass
class FieldContext:
    """What fields share with their flow.

    scratch_c (2, Z, Y, X): free for a field while it is transported. extent: where the fluid is, once that is known.
    """

    domain: FluidDomain
    advection: Advection
    scratch_c: Array
    settings: FlowSettings
    extent: Extent = field(init=False)

    @property
    def grid(self) -> Grid:
        return self.domain.grid


class AdvectedField:
    """Something that the flow carries.

    name: by which the flow's state has it. values_c (n, Z, Y, X): what it has at cell centres that solids may sweep
    over, with ``rest`` (n,), the values of fluid that nothing has changed. two_sided: whether it differs on both sides
    of a thin solid.
    """

    name: str
    values_c: Array = np.zeros((0, 0, 0, 0))
    rest: tuple[float, ...] = ()
    two_sided = False

    # state ----------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve, by names that are their own."""
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``arrays`` gave; solids are put where they were after that."""

    def resume(self) -> None:
        """After ``restore``, with the solids in their places."""

    def start(self) -> None:
        """At time 0, with the solids in their places."""

    # the verbs of a step --------------------------------------------------------------------------------------------

    def begin_step(self) -> None:
        """Before a step moves anything."""

    def emit(self, time: float, u_f: Array) -> None:
        """Sources that are on at ``time`` [s] fill their regions and set their velocity."""

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        """Carry the field along ``by_f`` [m/s], ghosts filled, over dt [s]; work_f: a face field that is free."""

    def after_sweep(self, dt: float) -> None:
        """After solids have moved and ``values_c`` were taken anew where thin ones passed over."""

    def add_sources(self, time: float, dt: float) -> None:
        """Volume that is made in the step of dt [s] after ``time`` [s]; before ``add_forces``."""

    def add_forces(self, u_f: Array, dt: float) -> None:
        """Forces that the field makes, over dt, on u_f, whose ghosts are filled."""

    def end_step(self, time: float) -> None:
        """Checks after all of a step that ends at ``time`` [s]."""

    # what is asked of it --------------------------------------------------------------------------------------------

    def cells(self) -> dict[str, Array]:
        """Fields at cell centres (Z, Y, X) by the names that users give them, SI units."""
        return {}

    def limits(self) -> Iterable[Limit]:
        """How long a step may be."""
        return ()

    def quantities(self) -> Iterable[Quantity]:
        """What the ledger says of it."""
        return ()

    def frames(self, u_f: Array) -> Iterable[object]:
        """What a frame shows of it, as the types of ``undertow.frames``."""
        return ()


class Extent(AdvectedField, ABC):
    """Where the fluid is. phase: what the pressure asks. extrapolation: of what goes on beyond the fluid. phi_c: level
    set of a liquid [m], None where the fluid fills the domain. solve: the implicit solve of the flow, which sets it."""

    name = "extent"
    phase: Phase
    extrapolation: Extrapolation
    solve: ImplicitSolve
    phi_c: Array | None = None

    @abstractmethod
    def see_thin(self, two_sided: bool) -> None:
        """Thin solids hide one side from the other in transport; two_sided: a field differs across them."""

    @abstractmethod
    def move_walls(self, time: float) -> bool:
        """Put solids at ``time`` [s]; whether the solve has to be rebuilt."""

    @abstractmethod
    def transport_velocity(self, u_f: Array, by_f: Array, dt: float, out_f: Array) -> None:
        """(5.25): out = u carried along by_f over dt."""

    @abstractmethod
    def sweep(self, u_f: Array, values_c: Array, rest: tuple[float, ...], dt: float) -> bool:
        """Velocity and cell values where thin solids passed over, from their new side; whether any may have."""

    def forget_closed(self, p_c: Array) -> None:
        """After the solve was rebuilt: cells that have no row any more have no pressure."""

    def after_solve(self) -> None:
        """After the solve."""

    @abstractmethod
    def extrapolate(self, u_f: Array) -> None:
        """Velocities go where there is no fluid."""

    @abstractmethod
    def extrapolate_rate(self, a_f: Array) -> None:
        """So do their rates of change, which no wall prescribes."""

    def recall(self) -> None:
        """After a restart: what the last ``extrapolate`` knew."""

    def limit_gap_velocity(self, u_f: Array, touching: bool) -> None:
        """Before u is transported, in narrow gaps between solids; touching: whether any touch each other."""

    def extend_cells(self, values_c: Array) -> None:
        """Continue cell values (Z, Y, X) of the fluid to where there may be fluid in the next step."""

    def shown(self, values_c: Array, rest: float) -> Array:
        """Cell values (Z, Y, X) of the fluid, ``rest`` where there is none."""
        return values_c

    def inside(self, cells: np.ndarray) -> np.ndarray:
        """Of cells (bool) those with fluid."""
        return cells

    @abstractmethod
    def volume(self) -> float:
        """Of the fluid [m3; 2D m2]."""

    @abstractmethod
    def fluid_part(self, out_c: Array) -> None:
        """out = the part of each cell that is fluid."""

    @abstractmethod
    def leak(self, u_f: Array) -> float:
        """What flows through solids too thin for the grid to see [m3/s; 2D m2/s]."""

    def events(self) -> tuple[str, ...]:
        """What happened in the last step that a user should know, in words."""
        return ()

    def bodies_of_water(self) -> list[BodyOfWater]:
        """Of a liquid under a surface, the largest first."""
        return []

    @abstractmethod
    def sums(self, u_f: Array) -> Iterable[Quantity]:
        """Volume, momentum and energy of the fluid."""


Content = Callable[[FieldContext], AdvectedField]
"""What makes a field of a flow."""
