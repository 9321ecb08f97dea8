"""Water under a free surface and bodies that move each other; one solve for both: ``coupling = "monolithic"`` and
``"lumped"``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import undertow.geometry as geometry
from undertow.coupling.fractions import LumpedFields
from undertow.coupling.lumped import LumpedSolve
from undertow.coupling.monolithic import MonolithicSolve
from undertow.fluid import FlowReport
from undertow.fluid.free_surface import FreeSurface
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.part import VOLUME_RATE, Part, Quantity, StepOutcome
from undertow.run.bodies_in_fluid import BodiesInFluid
from undertow.run.water_model import WaterModel
from undertow.scene import Scene
from undertow.solids.medium import Medium


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
        self._residual = 0.0

    def _make_parts(self) -> list[Part]:
        return [self.within.model, self.within, self.flow]

    def _make_solids(self) -> list[geometry.Solid]:
        self.within = BodiesInFluid(self.scene, self.grid, self.sides)
        self.notes += self.within.notes
        return self.within.placed

    @abstractmethod
    def _surround(self, time: float, time_step: float) -> WaterAround:
        """The water of one step."""

    def step(self, time: float, time_step: float) -> StepOutcome:
        around = self._surround(time, time_step)
        model = self.within.model
        solids = model.solids.step(time, time_step, medium=around)
        around.finish()
        model.take_report(solids)
        self._take_forces(time_step)
        self._residual = self._measure_residual()
        self._check_volume(time + time_step)
        return StepOutcome(around.report.iterations, around.report, tuple(model.events(solids)))

    def _take_forces(self, dt: float) -> None:
        """Of the water over a step of dt [s]."""
        self.within.take_forces(dt, self.flow.forces())

    @abstractmethod
    def _measure_residual(self) -> float:
        """Largest row of water and bodies as contact leaves them [m3/s]."""

    def quantities(self) -> Iterator[Quantity]:
        yield Quantity("coupling_residual", self._residual, VOLUME_RATE, "max")


class CoupledWaterModel(BodiesInWater):
    """Water and bodies projected together; ``lumped``: the water of mixed dual cells moves with the bodies."""

    flow_solve: MonolithicSolve

    def _make_fields(self) -> SolidFields:
        fields = LumpedFields if self.scene.coupling == "lumped" else SolidFields
        return fields(self.grid, self.solids)

    def _make_solve(self, phase: FreeSurface, tolerance: float) -> MonolithicSolve:
        if self.scene.coupling == "lumped":
            self.flow_solve = LumpedSolve(phase, tolerance, self.within.coupled, self.scene.lumped.mass)
        else:
            self.flow_solve = MonolithicSolve(phase, tolerance, self.within.coupled)
        return self.flow_solve

    def _surround(self, time: float, time_step: float) -> WaterAround:
        return _CoupledWater(self, time, time_step)

    def _measure_residual(self) -> float:
        self.within.coupled.take_twists(self.flow_solve.moved.v)
        return self.flow.largest_row(self.flow.state.u)


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
        return self.model.flow_solve.mobility()

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses of contact move bodies and water."""
        flow, coupled = self.model.flow, self.model.within.coupled
        coupled.impulse_b[:, :3], coupled.impulse_b[:, 3:] = p_b, L_b
        flow.z_c[...] = 0.0
        self.report.solves += self.model.flow_solve.push(flow.state.u, flow.z_c)
        flow.z_c /= self.time_step
        flow.state.p += flow.z_c

    def finish(self) -> None:
        """Velocities go into air and solids."""
        self.model.flow.finish(self.model.flow.state.u)
