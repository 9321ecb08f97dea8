"""What a fluid of particles is told, and what it tells.

Equation numbers are those of Becker, Tessendorf and Teschner [@becker2009].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from undertow.errors import UserError
from undertow.grid import Array
from undertow.sph.kernels import SUPPORT


def check_share(name: str, value: float) -> None:
    """A setting between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise UserError(f"sph.{name} = {value}: must lie between 0 and 1")


@dataclass(frozen=True)
class SphSettings:
    """density [kg/m3] at rest; sound_speed [m/s]; viscosity: dynamic [Pa s]; gravity (3,) [m/s2]; restitution: of
    particles at the domain's walls, 0 to 1; full: the fluid has no free surface, so its pressure may be negative;
    surface_tension [N/m]: of the free surface, see ``tension``; artificial: the viscosity is that of alpha, (5), and
    kinematic [m2/s]."""

    density: float = 1000.0
    sound_speed: float = 20.0
    viscosity: float = 0.0
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    restitution: float = 0.0
    full: bool = False
    surface_tension: float = 0.0
    artificial: bool = False

    def __post_init__(self) -> None:
        for name in ("density", "sound_speed"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise UserError(f"sph.{name} = {getattr(self, name)}: must be positive")
        for name, unit in (("viscosity", "Pa s"), ("surface_tension", "N/m")):
            if not (isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise UserError(f"sph.{name} = {getattr(self, name)} {unit}: must not be negative")
        check_share("restitution", self.restitution)

    @property
    def kinematic_viscosity(self) -> float:
        """nu = mu / rho [m2/s]."""
        return self.viscosity if self.artificial else self.viscosity / self.density


def viscosity_of_alpha(alpha: float, spacing: float, sound_speed: float, dimensions: int) -> float:
    """Kinematic viscosity [m2/s] of the artificial viscosity alpha: alpha h c / (2 (d + 2)) (Monaghan 2005, 8.8)."""
    return alpha * 0.5 * SUPPORT[dimensions] * spacing * sound_speed / (2.0 * (dimensions + 2.0))


@dataclass(frozen=True)
class SphTotals:
    """Sums over the fluid: particles, momentum (3,) [kg m/s], angular_momentum (3,) about the origin [kg m2/s], kinetic
    and potential energy [J] (2D: per metre); largest speed [m/s], acceleration [m/s2] and density [kg/m3]."""

    particles: int
    momentum: Array
    angular_momentum: Array
    kinetic: float
    potential: float
    speed: float
    acceleration: float
    density: float
