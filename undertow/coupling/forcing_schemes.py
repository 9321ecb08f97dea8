"""The step of an SPH fluid and rigid bodies: by direct forcing, and by repulsive forces for comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from undertow.coupling.direct_forcing import DirectForcing
from undertow.geometry import Solid, Static
from undertow.grid import Array
from undertow.part import SPEED, Limit, Part, Quantity, Scheme, StepOutcome
from undertow.rigid.table import carry_rows
from undertow.solids import SolidsReport
from undertow.solids.rigid_part import RigidPart
from undertow.sph import add_penalty
from undertow.sph.part import SphPart


class _ForcingScheme(Scheme):
    """What both have: the exchange between particles and bodies, and what is said of it."""

    def __init__(self, rigid: RigidPart, particles: SphPart, forcing: DirectForcing) -> None:
        self.rigid, self.particles, self.forcing = rigid, particles, forcing
        rigid.moved_by_fluid = not forcing.settings.one_way
        self._warned: set[str] = set()

    def begin_step(self, time: float, dt: float) -> None:
        """Sides, sources and drains, and loads on the bodies."""
        self.particles.begin_step(time, dt)
        self.rigid.begin_step(time, dt)
        self.forcing.load_b[...] = self.rigid.loads.mean_b

    def limits(self, time: float) -> list[Limit]:
        return [Limit(name, longest) for name, longest in self.forcing.limits().items()]

    def finish(self, report: SolidsReport) -> StepOutcome:
        """Sums over the fluid, and the forces on the bodies over the step."""
        self.particles.fluid.measure()
        self.particles.fluid.check()
        self.rigid.take_report(report)
        self._take_forces()
        events = (*self.rigid.events(report), *self.particles.events(), *self._events())
        return StepOutcome(max(report.iterations, self.particles.iterations), report, events)

    def _take_forces(self) -> None:
        """Pressure and viscous force on boundary particles, control forces of particles that touch."""
        forces, forcing, count = self.rigid.force_table, self.forcing, len(self.forcing.pressure_b)
        forces.pressure[:count], forces.viscous[:count] = forcing.pressure_b, forcing.viscous_b
        forces.control[:count], forces.torque[:count] = forcing.control_b, forcing.torque_b

    def _events(self) -> list[str]:
        """Solves of the step that ended before they were done; each is named once per run."""
        forcing, troubles = self.forcing, {}
        if forcing.unfinished_rounds:
            troubles["rounds"] = (
                f"control forces and contact among bodies still differ by {forcing.disagreement:.3g} m/s after "
                f"{forcing.rounds} rounds; lower time.max_step"
            )
        if forcing.unfinished_turns:
            troubles["turns"] = (
                "control forces of particles between two bodies were not found: the bodies squeeze fluid that cannot "
                "get away; raise domain.resolution or leave more room between them"
            )
        new = [kind for kind in troubles if kind not in self._warned]
        self._warned.update(new)
        return [f"{troubles[kind]} (the ledger counts how often)" for kind in new]

    def quantities(self) -> Iterator[Quantity]:
        """Contacts of particles and bodies, and those that would pull; rounds with the contact of bodies, and what they
        still change; whether rounds, or solves over bodies that share particles, ended too early."""
        forcing = self.forcing
        yield Quantity("forcing_contacts", forcing.contacts)
        yield Quantity("dropped_contacts", forcing.dropped)
        yield Quantity("velocity_error", forcing.velocity_error, SPEED, "max")
        yield Quantity("rounds", forcing.rounds)
        yield Quantity("disagreement", forcing.disagreement, SPEED, "max")
        yield Quantity("unfinished_rounds", forcing.unfinished_rounds)
        yield Quantity("unfinished_turns", forcing.unfinished_turns)

    def arrays(self) -> dict[str, Array]:
        return self.forcing.arrays()

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.forcing.restore(arrays)

    def adopt(self, before: Part | None, time: float) -> None:
        """Forces by identity; bodies that are new take the place of the particles that are there, but for pieces, which
        have the place of the body that broke."""
        fluid, forcing, new = self.particles.fluid, self.forcing, self.rigid.bodies.identity_b
        old = before.rigid.bodies.identity_b if isinstance(before, _ForcingScheme) else np.zeros(0, dtype=np.int64)
        if isinstance(before, _ForcingScheme):
            arrays = before.forcing.arrays()
            self.forcing.restore({name: carry_rows(array, old, new) for name, array in arrays.items()})
        forcing.place_bodies()
        forcing.begin()
        x = fluid.points.spec.place[: fluid.count, :3]
        taken = np.zeros(fluid.count, dtype=bool)
        for entry in self.rigid.table:
            if entry.identity not in old and not entry.description.is_piece:
                pose = self.rigid.bodies.shape_pose(self.rigid.bodies.index(entry.name))
                solid = Solid(entry.name, entry.description.shape, Static(*pose))
                taken |= solid.distance(x, time, fluid.dimensions) < fluid.radius
        self.particles.displace(taken)
        fluid.renew_lists()


class DirectForcingScheme(_ForcingScheme):
    """Control forces of Becker, Tessendorf and Teschner 2009 [@becker2009] (``direct_forcing``); numbers of lines are
    those of algorithm 1."""

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        fluid, forcing = self.particles.fluid, self.forcing
        self.begin_step(time, time_step)  # sides, sources, drains, loads
        fluid.prepare()  # 1  neighbours
        forcing.find_near()  # 1  particles near bodies
        fluid.accelerate(time_step)  # 2  forces on the fluid
        forcing.gather_forces()  # 2  forces on the bodies
        fluid.kick(time_step)  # 3  v* of the fluid
        report = forcing.move(time, time_step)  # 3 to 9  control forces, bodies, places
        return self.finish(report)


class PenaltyScheme(_ForcingScheme):
    """Repulsive forces between particles and bodies instead of contacts (``sph.penalty``)."""

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        fluid, forcing = self.particles.fluid, self.forcing
        self.begin_step(time, time_step)  # sides, sources, drains, loads
        fluid.prepare()  # neighbours
        forcing.find_near()
        fluid.accelerate(time_step)  # forces on the fluid
        add_penalty(fluid)  # and those that repel it from bodies, equal and opposite
        forcing.gather_forces()  # forces on the bodies
        fluid.kick(time_step)  # v of the fluid
        report = forcing.move(time, time_step)  # bodies, places
        return self.finish(report)
