"""An SPH fluid as a part of a simulation: what enters and leaves it, its sides, ledger and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from undertow.frames import ParticleFrame, SurfaceFrame
from undertow.geometry import Curve
from undertow.grid import Array
from undertow.part import ANGULAR_MOMENTUM, ENERGY, MOMENTUM, SPEED, VOLUME, Limit, Part, Quantity, components
from undertow.sph.fluid import SphFluid
from undertow.sph.implicit import ImplicitFluid
from undertow.sph.sources import SphDrain, SphSource
from undertow.sph.surface import particle_surface


class SphPart(Part):
    """The particles of a fluid, its sources and drains, and sides that move.

    side_velocity: velocity (3,) [m/s] over time of the sides that move as given, by their numbers.
    """

    name = "particles"

    def __init__(
        self,
        fluid: SphFluid,
        sources: Sequence[SphSource] = (),
        drains: Sequence[SphDrain] = (),
        side_velocity: Mapping[int, Curve] | None = None,
    ) -> None:
        self.fluid, self.sources, self.drains = fluid, sources, drains
        self._side_velocity = side_velocity or {}
        self.drained = 0
        """Particles that drains have taken."""
        self.displaced = 0
        """Particles in whose place bodies have appeared."""
        self._warned = False

    def pull(self, gravity: Array) -> None:
        self.fluid.gravity[...] = gravity
        self.fluid.measure()

    # the step -------------------------------------------------------------------------------------------------------

    def begin_step(self, time: float, time_step: float) -> None:
        """Sides, sources and drains of the step from ``time`` by ``time_step`` [s]."""
        for side, curve in self._side_velocity.items():
            self.fluid.set_side_velocity(side, np.asarray(curve.value(time + time_step)))
        for source in self.sources:
            source.apply(self.fluid, time, time_step)
        for drain in self.drains:
            self.drained += drain.apply(self.fluid, time, time_step)

    @property
    def iterations(self) -> int:
        """Of the pressure solve of the last step."""
        return self.fluid.sweeps if isinstance(self.fluid, ImplicitFluid) else 0

    def events(self) -> list[str]:
        """A pressure solve that ended before it was done, once per run."""
        fluid = self.fluid
        if self._warned or not (isinstance(fluid, ImplicitFluid) and fluid.unconverged):
            return []
        self._warned = True
        return [
            f"the pressure solve stopped after {fluid.sweeps} sweeps with the density still {fluid.density_error:.2%} "
            "off on average; lower time.max_step (the ledger counts how often)"
        ]

    def limits(self, time: float) -> list[Limit]:
        return [Limit(name, value, "cfl" if name == "cfl" else "motion") for name, value in self.fluid.limits().items()]

    def displace(self, taken: Array) -> None:
        """Take out the particles of the points (n,) in whose place a body appears."""
        fluid = self.fluid
        self.displaced += fluid.remove(taken & (fluid.points.spec.label[: fluid.count] >= 0))

    # what is asked of it --------------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        fluid, totals = self.fluid, self.fluid.totals
        yield Quantity("particles", totals.particles)
        yield from components("momentum", totals.momentum, MOMENTUM)
        yield from components("angular_momentum", totals.angular_momentum, ANGULAR_MOMENTUM)
        yield Quantity("kinetic_energy", totals.kinetic, ENERGY)
        yield Quantity("potential_energy", totals.potential, ENERGY)
        yield Quantity("speed_max", totals.speed, SPEED, "max")
        yield Quantity("density_ratio", totals.density / fluid.settings.density, merge="max")
        yield Quantity("lost_particles", fluid.lost)
        yield Quantity("drained_particles", self.drained)
        yield Quantity("displaced_volume", self.displaced * fluid.spacing**fluid.dimensions, VOLUME)
        if isinstance(fluid, ImplicitFluid):
            yield Quantity("sweeps", fluid.sweeps)
            yield Quantity("density_error", fluid.density_error, merge="max")
            yield Quantity("pressure_unconverged", fluid.unconverged)

    def frames(self, time: float) -> list[object]:
        fluid, box = self.fluid, self.fluid.box
        lower, upper = np.array(box.lower), np.array(box.upper)
        particles = ParticleFrame(
            fluid.positions(), fluid.velocities(), fluid.pressures(), fluid.densities(), fluid.spacing, lower, upper
        )
        if box.dimensions == 2:
            return [particles]
        rows, spec = fluid.fluid_rows(), fluid.points.spec
        surface = particle_surface(spec.place[rows, :3], spec.motion[rows, :3], box.spacing, lower, upper)
        return [particles, SurfaceFrame(*surface)]

    # state ----------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        return self.fluid.arrays()

    def numbers(self) -> dict[str, Any]:
        regions = {source.name: source.travelled for source in self.sources}
        regions |= {drain.name: drain.owed for drain in self.drains}
        return {"fluid": self.fluid.scalars(), "regions": regions, "drained": self.drained, "displaced": self.displaced}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.fluid.restore(arrays, numbers["fluid"])
        self._restore_regions(numbers)

    def adopt(self, before: Part | None, time: float) -> None:
        """The particles as they are; boundary particles are those of the bodies of now."""
        if isinstance(before, SphPart):
            self.fluid.take_fluid(before.fluid)
            self._restore_regions(before.numbers())

    def _restore_regions(self, numbers: Mapping[str, Any]) -> None:
        self.drained, self.displaced = int(numbers["drained"]), int(numbers["displaced"])
        for source in self.sources:
            source.travelled = float(numbers["regions"][source.name])
        for drain in self.drains:
            drain.owed = float(numbers["regions"][drain.name])

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        spec = self.fluid.points.spec
        place = spec.origin + spec.built[:, index[-1] if name == "sph_built" else index[0]]
        return f"first of a particle near ({', '.join(f'{x:.4g}' for x in place)}) m"
