"""A fluid around solids that move as prescribed."""

from __future__ import annotations

from undertow.fluid import Flow
from undertow.geometry import SolidFields
from undertow.part import StepOutcome
from undertow.run import build
from undertow.run.machine import check_memory
from undertow.run.models import Model
from undertow.run.prescribed import PrescribedSolids
from undertow.scene import Scene


class FluidModel(Model):
    """A flow with its sides and solids, built from a scene."""

    def __init__(self, scene: Scene) -> None:
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        solids, notes = build.build_solids(scene, self.grid)
        self.notes += notes
        self.solids = PrescribedSolids(scene, solids)
        self.flow = Flow(
            self.grid,
            self.sides,
            SolidFields(self.grid, solids) if solids else None,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
        )
        self.notes += build.notes_at_start(solids, self.flow, list(scene.emitters))
        self.parts = [self.solids, self.flow]

    def step(self, time: float, time_step: float) -> StepOutcome:
        report = self.flow.step(time, time_step)
        self.flow.measure_sums()
        self.solids.set_forces(self.flow.forces())
        return StepOutcome(report.iterations, report)
