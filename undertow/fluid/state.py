"""Settings, state and report of a flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from undertow.grid import Array
from undertow.linalg import SolveStats
from undertow.surface import Surface

if TYPE_CHECKING:
    from undertow.fluid.advected import AdvectedField


@dataclass(frozen=True)
class FlowSettings:
    """density [kg/m^3], viscosity [Pa s], gravity and acceleration [m/s^2].

    In a fluid of one density that fills its domain gravity only orients smoke buoyancy and adds the hydrostatic part of
    forces on solids: it is balanced by the hydrostatic pressure, and the pressure here is p - rho g.x.
    ``acceleration`` drives the fluid.
    """

    density: float = 1.0
    viscosity: float = 0.0
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    acceleration: tuple[float, float, float] = (0.0, 0.0, 0.0)
    advection: str = "maccormack"
    limiter: bool = True
    viscosity_form: str = "split"
    no_slip: str = "wall_rows"
    stepper: str = "first_order"
    tolerance: float = 1e-6


@dataclass
class FlowState:
    """What evolves. u (3, Z, Y, X) [m/s], in a liquid also in the air near it; p (Z, Y, X) [Pa], 0 in the air;
    u_previous, empty but for the second-order stepper; and the fields that the flow carries, by name."""

    u: Array
    p: Array
    u_previous: Array
    fields: Mapping[str, AdvectedField]
    previous_time_step: float = 0.0

    def own_arrays(self) -> dict[str, Array]:
        """The arrays of the flow itself by name, as views to save from and to restore into."""
        named = {"u": self.u, "p": self.p, "u_previous": self.u_previous}
        return {name: array for name, array in named.items() if array.size}

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve, by name."""
        return {
            **self.own_arrays(),
            **{n: array for field in self.fields.values() for n, array in field.arrays().items()},
        }

    @property
    def smoke(self) -> Array:
        """(Z, Y, X) [kg/m^3]"""
        return self.fields["smoke"].values_c[0]

    @property
    def temperature(self) -> Array:
        """(Z, Y, X) [K]"""
        return self.fields["smoke"].values_c[1]

    @property
    def surface(self) -> Surface:
        """The surface of a liquid."""
        return self.fields["extent"].surface  # type: ignore[attr-defined, no-any-return]


@dataclass(frozen=True)
class SolidForce:
    """Force of the fluid on a solid [N; 2D N/m] and its torque [N m; 2D N].

    About the centre of mass of a solid that the fluid moves, about the position of one whose motion is given.
    """

    pressure: tuple[float, float, float]
    viscous: tuple[float, float, float]
    torque: tuple[float, float, float]

    @property
    def total(self) -> tuple[float, float, float]:
        return tuple(p + v for p, v in zip(self.pressure, self.viscous, strict=True))  # type: ignore[return-value]


@dataclass
class FlowReport:
    """What the implicit solves of a step did."""

    solves: list[SolveStats] = field(default_factory=list)
    row_before: float = 0.0
    """largest |K u* - s| before the solve [m^3/s]"""
    row_after: float = 0.0
    """largest |K u - s| after it, the incompressibility residual"""
    leak: float = 0.0
    """volume that crosses solids per time [m^3/s]: sum of |K u - s| over the cells at solids, and what flows through
    solids too thin for the grid to see"""

    @property
    def iterations(self) -> int:
        return sum(s.iterations for s in self.solves)

    @property
    def residual(self) -> float:
        """What the last solve of each kind of rows left, relative to the largest right-hand side of such rows.

        A solve on what an earlier one left has a small right-hand side of its own, to which nothing is to be relative.
        """
        last = {s.rows: s.residual for s in self.solves}
        scale = dict.fromkeys(last, 0.0)
        for s in self.solves:
            scale[s.rows] = max(scale[s.rows], s.residual / s.relative if s.relative > 0 else 0.0)
        return max((last[rows] / scale[rows] for rows in last if scale[rows] > 0), default=0.0)

    @property
    def passes(self) -> int:
        """Most passes of a solve with one-sided rows."""
        return max((s.passes for s in self.solves), default=0)

    @property
    def incompatibility(self) -> float:
        return max((s.incompatibility for s in self.solves), default=0.0)
