"""The step of an SPH fluid without bodies."""

from __future__ import annotations

from undertow.part import Scheme, StepOutcome
from undertow.sph.part import SphPart


class SphScheme(Scheme):
    """Particles alone; the step is that of ``SphFluid``, or of ``ImplicitFluid``."""

    def __init__(self, particles: SphPart) -> None:
        self.particles = particles

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        self.particles.begin_step(time, time_step)  # sides, sources, drains
        self.particles.fluid.step(time_step)  # neighbours, accelerations, v^n+1, x^n+1
        return StepOutcome(self.particles.iterations, self.particles.fluid.totals, tuple(self.particles.events()))
