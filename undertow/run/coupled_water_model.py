"""Water under a free surface and bodies that move each other; one solve for both: ``coupling = "monolithic"`` and
``"lumped"``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import undertow.geometry as geometry
from undertow.coupling.fractions import LumpedFields
from undertow.coupling.water import CoupledWaterSolve, LumpedWaterSolve
from undertow.fluid import FlowReport
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.run import build
from undertow.run.bodies_in_fluid import NONE, BodiesInFluid
from undertow.run.models import BodyForces, BodyState, ModelStep
from undertow.run.water_model import WaterModel
from undertow.scene import Scene
from undertow.solids import SolidsReport
from undertow.solids.medium import Medium

if TYPE_CHECKING:
    from undertow.output import BodyFrame


class WaterAround(Medium, Protocol):
    """The water as what bodies move in during one step."""

    report: FlowReport

    def finish(self) -> None:
        """What follows the contact at the end of a step."""


class BodiesInWater(WaterModel, ABC):
    """Water and the bodies in it, built from a scene; how they move each other is for the couplings to say.

    A step is that of the solids (thesis 4.2) with the water's whole step in the place of their forces: bodies collide
    and move with v^n, surface and velocity are transported, water and bodies are advanced together at the new
    positions, then contact stops what still approaches.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._solids_report: SolidsReport | None = None

    def _make_solids(self) -> list[geometry.Solid]:
        self.within = BodiesInFluid(self.scene, self.grid, self.sides)
        self.notes += self.within.notes
        return self.within.placed

    @abstractmethod
    def _surround(self, time: float, time_step: float) -> WaterAround:
        """The water of one step."""

    def limits(self, time: float) -> dict[str, float]:
        return {**super().limits(time), **self.within.limits()}

    def step(self, time: float, time_step: float) -> ModelStep:
        around = self._surround(time, time_step)
        self._solids_report = self.within.model.solids.step(time, time_step, medium=around)
        around.finish()
        self._take_forces(time_step)
        quantities = self._quantities(around.report)
        self._check_volume(quantities, time + time_step)
        events = tuple(self.within.model.events(self._solids_report))
        return ModelStep(around.report.iterations, around.report, quantities, events)

    def _take_forces(self, dt: float) -> None:
        """Of the water over a step of dt [s]."""
        self._forces = self.flow.forces() | self.within.fluid_forces(dt)

    def _quantities(self, report: FlowReport) -> dict[str, float]:
        return {**super()._quantities(report), **self.within.quantities(self._solids_report)}

    def columns(self) -> list[str]:
        self._solids_report = None
        return list(self._quantities(FlowReport()))

    def state(self, name: str, time: float) -> BodyState:
        return self.within.model.state(name, time)

    def forces(self, name: str) -> BodyForces:
        return self.within.forces(name, self._forces.get(name, NONE))

    def body_frames(self, time: float) -> list[BodyFrame]:
        return build.prescribed_frames(self.scene, self.within.placed, time)

    def arrays(self) -> dict[str, Array]:
        return {**super().arrays(), **self.within.model.arrays()}

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        own = super().arrays()
        self.within.model.restore({name: a for name, a in arrays.items() if name not in own}, {}, time)
        super().restore({name: a for name, a in arrays.items() if name in own}, scalars, time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        return super().locate(name, index) if name in super().arrays() else self.within.model.locate(name, index)


class CoupledWaterModel(BodiesInWater):
    """Water and bodies projected together; ``lumped``: the water of mixed dual cells moves with the bodies."""

    flow_solve: CoupledWaterSolve

    def _make_fields(self) -> SolidFields:
        fields = LumpedFields if self.scene.coupling == "lumped" else SolidFields
        return fields(self.grid, self.solids)

    def _make_solve(self, *args: Any) -> CoupledWaterSolve:
        domain, phi_c, gravity, tolerance = args
        given = (domain, phi_c, gravity, tolerance, self.within.coupled)
        if self.scene.coupling == "lumped":
            self.flow_solve = LumpedWaterSolve(*given, self.scene.lumped.mass)
        else:
            self.flow_solve = CoupledWaterSolve(*given)
        return self.flow_solve

    def _surround(self, time: float, time_step: float) -> WaterAround:
        return _CoupledWater(self, time, time_step)


class _CoupledWater:
    """Water that is solved for together with the bodies."""

    def __init__(self, model: CoupledWaterModel, time: float, time_step: float) -> None:
        self.model, self.time, self.time_step = model, time, time_step
        self.report = FlowReport()

    def advance(self, expected_b: Array) -> None:
        """The water's step: surface, transport, then one solve for water and bodies."""
        self.model.within.set_weight(self.time_step)
        self.model.within.coupled.impulse_b += expected_b
        self.report = self.model.flow.advance(self.time, self.time_step)

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses and moments of the bodies with the water that moves along."""
        return self.model.flow_solve.monolithic.mobility()

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses of contact move bodies and water."""
        flow, coupled = self.model.flow, self.model.within.coupled
        coupled.impulse_b[:, :3], coupled.impulse_b[:, 3:] = p_b, L_b
        self.report.solves += self.model.flow_solve.push(flow.state.u, flow.state.p, self.time_step)

    def finish(self) -> None:
        """Velocities go into air and solids."""
        self.model.flow.finish(self.model.flow.state.u)
