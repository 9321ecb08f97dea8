"""Water and bodies that are solved as water and then made rigid again (``coupling = "rigid_fluid"``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.rigid_fluid import RigidFluidSettings, RigidFluidSolve, added_mass_limit
from undertow.errors import UserError
from undertow.fluid import FlowReport
from undertow.fluid.free_surface import FreeSurface
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.part import restore_arrays
from undertow.run.coupled_water_model import BodiesInWater, WaterAround
from undertow.scene import Scene


class RigidFluidModel(BodiesInWater):
    """Water and bodies by Carlson, Mucha and Turk 2004.

    Solids that move as prescribed, the paper's immobile boundary, are walls of the water; bodies that forces move are
    water to the pressure and solid to the surface. Bodies that touch no water are left to the step of the solids.
    """

    flow_solve: RigidFluidSolve

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._check_densities()
        self.flow_solve.start(self.flow.state.u)
        self.flow.finish(self.flow.state.u)

    def _make_solids(self) -> list[geometry.Solid]:
        super()._make_solids()
        return [solid for b, solid in enumerate(self.within.placed) if not self.within.dynamic_b[b]]

    def _make_bodies(self) -> SolidFields:
        moved = [solid for b, solid in enumerate(self.within.placed) if self.within.dynamic_b[b]]
        self._fields = SolidFields(self.grid, moved)
        return self._fields

    def _make_solve(self, phase: FreeSurface, tolerance: float) -> RigidFluidSolve:
        index = np.flatnonzero(self.within.dynamic_b)
        settings = RigidFluidSettings(self.scene.rigid_fluid.buoyancy)
        self.flow_solve = RigidFluidSolve(phase, tolerance, self._fields, index, self.within.coupled, settings)
        return self.flow_solve

    def _check_densities(self) -> None:
        """The explicit source is unstable for bodies that are too light."""
        bodies, density = self.within.bodies, self.scene.fluid.density
        for b, solid in enumerate(self.within.placed):
            if self.within.dynamic_b[b]:
                lower, upper = solid.shape_at(0.0).bounds()
                least = added_mass_limit(0.5 * (upper - lower), self.grid.dimensions)
                ratio = float(bodies.mass_b[b] / (density * self.within.coupled.volume_b[b]))
                if ratio < least:
                    raise UserError(
                        f"objects.{solid.name}: {ratio:.3g} of the fluid's density; coupling = 'rigid_fluid' gives a "
                        f"body its buoyancy after the pressure is solved, which is unstable below C / (1 + 2 C) = "
                        f"{least:.3g}, C being the added mass of its shape; use coupling = 'monolithic', or a density "
                        f"of at least {least * density:.4g} kg/m3"
                    )

    def _surround(self, time: float, time_step: float) -> WaterAround:
        return _RigidWater(self, time, time_step)

    def _measure_residual(self) -> float:
        """The rows of the water: bodies have a velocity of their own."""
        return self.flow.largest_row(self.flow.state.u)

    def arrays(self) -> dict[str, Array]:
        return self.flow_solve.arrays()

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        restore_arrays(self.arrays(), arrays)


class _RigidWater:
    """Water that bodies are part of until the end of the step."""

    def __init__(self, model: RigidFluidModel, time: float, time_step: float) -> None:
        self.model, self.time, self.time_step = model, time, time_step
        self.report = FlowReport()

    def advance(self, expected_b: Array) -> None:
        """The water's step; its projection moves the bodies, and has its own idea of the contact to come."""
        expected_b[...] = 0.0
        self.report = self.model.flow.advance(self.time, self.time_step)

    def mobility(self) -> tuple[Array, Array]:
        """The bodies' own: the water follows in the next step."""
        bodies = self.model.within.bodies
        return bodies.inv_mass_b.copy(), bodies.inv_inertia_b.copy()

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses of contact."""
        self.model.flow_solve.push(p_b, L_b)

    def finish(self) -> None:
        """The rigidity projection; its velocities go into air and solids."""
        flow = self.model.flow
        self.model.flow_solve.make_rigid(flow.state.u, self.time_step)
        flow.finish(flow.state.u)
