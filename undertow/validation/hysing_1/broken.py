"""Defects that ``hysing-1`` must see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from undertow.fluid.tension import SurfaceTension
from undertow.fluid.two_fluids import PhaseViscosity, TwoFluids
from undertow.fluid.two_phase import TwoPhase
from undertow.validation import broken
from undertow.validation.analysis import Quantity
from undertow.validation.hysing_1 import case


def small() -> Iterator[Quantity]:
    """The coarse grid."""
    found = case.rise(40)
    yield from case.compare(40, found)
    yield from case.series(40, found)


def _no_jump(find: Callable[..., None]) -> Callable[..., None]:
    """Without tension."""

    def none(tension: SurfaceTension) -> None:
        find(tension)
        tension.kappa[...] = 0.0

    return none


def _of_the_cell(set_masses: Callable[..., None]) -> Callable[..., None]:
    """Faces weigh as the liquid everywhere."""

    def wrong(phase: TwoPhase) -> None:
        set_masses(phase)
        phase.inv_mass_f[...] = phase.domain.inv_mass_f

    return wrong


def _one_viscosity(mix: Callable[..., None]) -> Callable[..., None]:
    """The bubble as thick as the liquid."""

    def wrong(viscosity: PhaseViscosity) -> None:
        mix(viscosity)
        viscosity.mu_c[...] = viscosity.viscosity
        viscosity.mu_f[...] = viscosity.viscosity

    return wrong


DEFECTS = {
    "frozen": broken.frozen(),
    "no tension": broken.replaced(SurfaceTension, "find", _no_jump),
    "one mass": broken.replaced(TwoPhase, "_set_masses", _of_the_cell),
    "one viscosity": broken.replaced(PhaseViscosity, "_mix", _one_viscosity),
    "volume left alone": broken.left_out(TwoFluids, "_correct_volume"),
}
