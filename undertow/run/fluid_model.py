"""A fluid around solids that move as prescribed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from undertow.fluid import Flow, FlowReport, SolidForce
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.run import build
from undertow.run.ledger import fluid_quantities
from undertow.run.machine import check_memory
from undertow.run.models import BodyForces, BodyState, ModelStep, WithoutExtras, take_arrays, vector
from undertow.run.timestep import flow_limits
from undertow.scene import Scene

if TYPE_CHECKING:
    from undertow.output import BodyFrame


class FluidModel(WithoutExtras):
    """A flow with its sides and solids, built from a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.solids, notes = build.build_solids(scene, self.grid)
        self.notes += notes
        self.flow = Flow(
            self.grid,
            self.sides,
            SolidFields(self.grid, self.solids) if self.solids else None,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
        )
        self.notes += build.notes_at_start(self.solids, self.flow, list(scene.emitters))
        self._forces = {name: SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3) for name in scene.bodies}

    def limits(self, time: float) -> dict[str, float]:
        """Of the flow, and of moving walls and inflows (the flow may be at rest)."""
        return flow_limits(self.flow, time)

    def step(self, time: float, time_step: float) -> ModelStep:
        report = self.flow.step(time, time_step)
        self._forces = self.flow.forces()
        return ModelStep(report.iterations, report, self._quantities(report))

    def _quantities(self, report: FlowReport) -> dict[str, float]:
        return fluid_quantities(self.flow, report, self._forces)

    def columns(self) -> list[str]:
        return list(self._quantities(FlowReport()))

    def state(self, name: str, time: float) -> BodyState:
        solid = next(solid for solid in self.solids if solid.name == name)
        return BodyState(*solid.motion.pose(time), *solid.motion.velocity(time))

    def forces(self, name: str) -> BodyForces:
        found = self._forces[name]
        return BodyForces(pressure=found.pressure, viscous=found.viscous, torque=found.torque)

    def body_frames(self, time: float) -> list[BodyFrame]:
        return build.prescribed_frames(self.scene, self.solids, time)

    def surface_frame(self) -> None:
        """A fluid of one phase has no surface."""
        return None

    def arrays(self) -> dict[str, Array]:
        return dict(self.flow.state.arrays())

    def scalars(self) -> dict[str, Any]:
        forces = {name: [f.pressure, f.viscous, f.torque] for name, f in self._forces.items()}
        return {"flow": self.flow.state.scalars(), "forces": forces}

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        take_arrays(self.arrays(), arrays)
        self.flow.state.restore_scalars(scalars["flow"])
        for name, vectors in scalars["forces"].items():
            self._forces[name] = SolidForce(*(vector(v) for v in vectors))
        self.flow.place(time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        return build.describe_cell(self.grid, index)
