"""Defects that ``capillary-wave`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from undertow.fluid.tension import SurfaceTension
from undertow.fluid.two_fluids import PhaseViscosity
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.capillary_wave import case


def small() -> Iterator[Quantity]:
    """Sixteen cells per wavelength."""
    yield quantity("rms_16", case.difference(16, 1.0))


def _stronger(find: Callable[..., None]) -> Callable[..., None]:
    """A fifth more tension."""

    def wrong(tension: SurfaceTension) -> None:
        find(tension)
        tension.kappa *= 1.2

    return wrong


def _inviscid(mix: Callable[..., None]) -> Callable[..., None]:
    """Hardly any viscosity."""

    def wrong(viscosity: PhaseViscosity) -> None:
        mix(viscosity)
        viscosity.mu_c *= 0.01
        viscosity.mu_f *= 0.01

    return wrong


DEFECTS = {
    "frozen": broken.frozen(),
    "tension a fifth too large": broken.replaced(SurfaceTension, "find", _stronger),
    "hardly viscous": broken.replaced(PhaseViscosity, "_mix", _inviscid),
}
