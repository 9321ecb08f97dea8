"""Settings, state and report of a flow."""

from __future__ import annotations

from dataclasses import dataclass, field

from undertow.fluid.smoke import SmokeSettings
from undertow.grid import Array
from undertow.linalg import SolveStats


@dataclass(frozen=True)
class FlowSettings:
    """density [kg/m^3], viscosity [Pa s], gravity and acceleration [m/s^2].

    Gravity only orients smoke buoyancy and adds the hydrostatic part of forces on solids: in a fluid of one density it
    is balanced by the hydrostatic pressure, and the pressure here is p - rho g.x. ``acceleration`` drives the fluid.
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
    smoke: SmokeSettings | None = None


@dataclass
class FlowState:
    """What evolves. u (3, Z, Y, X) [m/s], p (Z, Y, X) [Pa], u_previous for the second-order stepper, smoke [kg/m^3],
    temperature [K]; arrays of absent physics have size 0."""

    u: Array
    p: Array
    u_previous: Array
    smoke: Array
    temperature: Array
    previous_time_step: float = 0.0

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, as views to save from and to restore into."""
        named = {
            "u": self.u, "p": self.p, "u_previous": self.u_previous, "smoke": self.smoke,
            "temperature": self.temperature,
        }  # fmt: skip
        return {name: array for name, array in named.items() if array.size}


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
        return max((s.relative for s in self.solves), default=0.0)

    @property
    def incompatibility(self) -> float:
        return max((s.incompatibility for s in self.solves), default=0.0)
