"""Water under a free surface and solids, some of them soft, that move each other (``coupling = "monolithic"``)."""

from __future__ import annotations

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.soft_solve import SoftSolve
from undertow.coupling.soft_water import SoftWaterFields
from undertow.fluid.free_surface import FreeSurface
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.part import Part
from undertow.run import build
from undertow.run.assemble_solids import make_soft
from undertow.run.bodies_in_fluid import BodiesInFluid
from undertow.run.coupled_water_model import BodiesInWater, WaterAround
from undertow.run.soft_in_fluid import SoftInFluid, SolvedWithSoft
from undertow.scene import Scene
from undertow.transport.interpolation import CENTRE

DRAWN = 0.1
"""How deep the centres of cells beside a shell count as being in water in pictures [cells]."""


class SoftWaterModel(BodiesInWater):
    """Water and all solids in it projected together; a step is as in ``SoftCoupledModel``."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        # what a source makes is not there yet
        if scene.waters:
            build.check_room(scene, self.inside.solve.rows.stencil)

    def _make_parts(self) -> list[Part]:
        return [self.solid.rigid, self.solid, self.within, self.inside, self.flow]

    def _make_solids(self) -> list[geometry.Solid]:
        rigid, self.solid = make_soft(self.scene)
        self.within = BodiesInFluid(self.scene, self.grid, self.sides, rigid)
        self.notes += self.within.notes + self.solid.notes
        self.soft, self.bodies = self.solid.soft, self.within.bodies
        self.inside = SoftInFluid(self.scene, self.solid, self.within)
        return self.within.placed

    def _make_fields(self) -> SolidFields:
        equal = self.scene.soft.shell_weights == "equal"
        return SoftWaterFields(self.grid, self.sides, self.solids, self.soft, equal)

    def _make_solve(self, phase: FreeSurface, tolerance: float) -> SoftSolve:
        self.inside.solve = SoftSolve(phase, tolerance, self.inside.coupled)
        return self.inside.solve

    def _surround(self, time: float, time_step: float) -> WaterAround:
        return _WaterAround(self, time, time_step)

    def _take_forces(self, dt: float) -> None:
        super()._take_forces(dt)
        self.inside.take_step(dt)

    def _measure_residual(self) -> float:
        soft = self.inside.solve
        soft.block.take(soft.moved.v)
        return self.flow.largest_row(self.flow.state.u)

    def _seen_water(self) -> Array:
        """Water beside a shell ends at the centres of its cells: further on it would show behind it."""
        phi, shells = super()._seen_water(), self.flow.shells
        if shells is None:
            return phi
        apart = np.zeros(phi.shape, dtype=bool)
        hidden = shells.surface.sight.hidden[CENTRE]
        for axis in range(3):
            above = hidden & (1 << axis) > 0
            apart |= above | np.roll(above, -1, axis=2 - axis)
        return np.where(apart & (phi < 0.0), np.maximum(phi, -DRAWN * self.grid.dx), phi)


class _WaterAround(SolvedWithSoft):
    """The water and the soft bodies as what rigid bodies move in during one step."""

    def __init__(self, model: SoftWaterModel, time: float, time_step: float) -> None:
        super().__init__(model.bodies)
        self.model, self.time, self.time_step = model, time, time_step

    def advance(self, expected_b: Array) -> None:
        """Nodes to n+1, contacts there, the water's step: surface, transport, then one solve for water and solids."""
        expected_b[...] = 0.0
        inside = self.model.inside
        inside.prepare(self.time, self.time_step)
        self.model.within.set_weight(self.time_step)
        self.report = self.model.flow.advance(self.time, self.time_step)
        inside.count_contact()

    def finish(self) -> None:
        """Velocities go into air and solids."""
        self.model.flow.finish(self.model.flow.state.u)
