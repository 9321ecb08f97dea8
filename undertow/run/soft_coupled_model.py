"""Fluid and soft bodies that move each other: one solve for both (``coupling = "monolithic"``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_solve import CoupledSoft, SoftSolve, soft_monolithic
from undertow.fluid import Flow, FlowReport, SolidForce
from undertow.grid import GHOSTS, Array
from undertow.run import build
from undertow.run.ledger import fluid_quantities
from undertow.run.machine import check_memory
from undertow.run.models import BodyForces, BodyState, ModelStep, WithoutExtras, take_arrays, vector
from undertow.run.soft_model import SoftModel
from undertow.run.timestep import flow_limits
from undertow.scene import Scene, SoftBody

if TYPE_CHECKING:
    from undertow.output import BodyFrame
    from undertow.output.soft import SoftFrame

NONE = SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3)


class SoftCoupledModel(WithoutExtras):
    """A flow, the soft bodies in it and rigid solids that move as prescribed, built from a scene.

    A step moves the nodes with v^n (``newmark``: to the middle of the step), transports the fluid, and solves for both
    at the new positions.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.solid = SoftModel(scene)
        self.soft = self.solid.soft
        if scene.fluid.initial_vortices:
            moved = self.soft.inv_mass > 0
            self.soft.v[moved] += np.stack(build.initial_velocity(scene)(*self.soft.x[moved].T), axis=1)
        solids, notes = build.build_solids(scene, self.grid)
        self.notes += self.solid.notes + notes
        densities = [item.density for item in scene.softs.values() if isinstance(item, SoftBody)]
        lightest = min(densities, default=np.inf)
        self.coupled = CoupledSoft(self.soft, scene.soft.stepper, lightest, scene.soft.volume_recovery)
        self.fields = SoftFields(self.grid, self.sides, solids, self.soft)
        self.flow = Flow(
            self.grid,
            self.sides,
            self.fields,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
            soft_monolithic(self.coupled),
        )
        solve = self.flow.solve
        assert isinstance(solve, SoftSolve)
        self.solve = solve
        build.check_room(scene, solve.rows.stencil)
        self._gravity = np.array(build.vector3(scene.gravity))
        self._weight = self.soft.mass[:, None] * self._gravity
        self._forces = dict.fromkeys([*scene.bodies, *scene.softs], NONE)
        self._previous_step = 0.0
        self._dissipated = 0.0
        self._told = False
        self._elastic = self._measure_elastic()

    def limits(self, time: float) -> dict[str, float]:
        """Of the flow and its sides; nodes move at most one cell."""
        limits = flow_limits(self.flow, time)
        speed = float(np.abs(self.soft.v).sum(axis=1).max())
        if speed > 0:
            limits["body_motion"] = self.grid.dx / speed
        fall = float(np.linalg.norm(self._gravity))
        if fall > 0:
            limits["body_weight"] = float(np.sqrt(self.grid.dx / fall))
        return limits

    def step(self, time: float, time_step: float) -> ModelStep:
        """See the head of the class."""
        soft = self.soft
        soft.move_handles(time, time_step)
        middle = self.coupled.stepper == "newmark"
        soft.x += (0.5 * (self._previous_step + time_step) if middle else time_step) * soft.v
        self._previous_step = time_step
        self.coupled.external[...] = self._weight
        self.solid.bodies.move_kinematic(time + time_step, place=True)
        report = self.flow.step(time, time_step)
        self.solve.set_coupled_faces(self.flow.state.u)
        self.sides.fill_velocity(self.flow.state.u)
        self._dissipated += self.coupled.dissipated
        self._elastic = self._measure_elastic()
        self._take_forces(time_step)
        return ModelStep(report.iterations, report, self._quantities(report), self._explain_pockets())

    def _explain_pockets(self) -> tuple[str, ...]:
        """A pocket with a net flux is explained once."""
        rows = self.solve.rows
        assert rows.stencil is not None
        text = "" if self._told else self.solve.pockets.explain(rows.stencil, self.flow.domain.periodic_axes)
        self._told = self._told or bool(text)
        return (text,) if text else ()

    def _measure_elastic(self) -> float:
        """Elastic energy at the end of the step [J]."""
        x = self.soft.x
        if self.coupled.stepper == "newmark":
            x = x + 0.5 * self._previous_step * self.soft.v
        return self.soft.forces.measure(x, np.zeros_like(x))

    def _take_forces(self, dt: float) -> None:
        """Of the fluid on solids and soft bodies; torque about the centre of mass."""
        coupled, soft = self.coupled, self.soft
        if self.scene.bodies:
            self._forces |= self._rigid_forces()
        pressure = coupled.pressure / dt + coupled.buoyancy
        for part in soft.parts:
            nodes = part.nodes
            arm = soft.x[nodes] - self.state(part.name, 0.0).position
            torque = np.cross(arm, pressure[nodes] + coupled.viscous[nodes] / dt).sum(axis=0)
            self._forces[part.name] = SolidForce(
                vector(pressure[nodes].sum(axis=0)), vector(coupled.viscous[nodes].sum(axis=0) / dt), vector(torque)
            )

    def _rigid_forces(self) -> dict[str, SolidForce]:
        """Of the fluid on solids: what acts on the walls in cells near them, less the part on soft walls there."""
        found = self.flow.forces()
        fields, rows, grid, settings = self.fields, self.solve.rows, self.grid, self.flow.settings
        soft_volume = np.zeros(grid.padded)
        soft_volume[grid.interior] = (fields.rigid.volume_c - fields.volume_c)[grid.interior] * grid.cell_volume
        body_c = fields.body_c.reshape(-1)
        near = (rows.soft_area != 0.0).any(axis=0) | (soft_volume.reshape(-1) != 0.0)
        cell = np.flatnonzero((body_c >= 0) & near)
        soft_c = soft_volume.reshape(-1)[cell]
        on_soft = (self.flow.state.p.reshape(-1)[cell] * rows.soft_area[:, cell]).T
        index = np.stack(np.unravel_index(cell, grid.padded)[::-1], axis=1) - GHOSTS
        place = np.array(grid.lower) + (index + 0.5) * grid.dx
        for b, solid in enumerate(fields.solids):
            here = body_c[cell] == b
            arm = fields.arms(place[here], fields.spec.position[b])
            force = found[solid.name]
            # the volume that soft bodies take there counted for buoyancy, and for the drag of turning
            taken = on_soft[here] - settings.density * soft_c[here, None] * self._gravity
            turning = 0.0 if solid.slip else 2.0 * settings.viscosity * soft_c[here].sum() * fields.angular_velocity(b)
            pressure = np.array(force.pressure) - taken.sum(axis=0)
            torque = np.array(force.torque) - np.cross(arm, taken).sum(axis=0) + turning
            found[solid.name] = SolidForce(vector(pressure), force.viscous, vector(torque))
        return found

    def _quantities(self, report: FlowReport) -> dict[str, float]:
        soft = self.soft
        linear, angular = soft.momentum()
        row = fluid_quantities(self.flow, report, self._forces)
        self._add_carried(row)
        row |= {f"momentum_solids_{axis}": float(p) for axis, p in zip("xyz", linear, strict=True)}
        row |= {f"angular_momentum_solids_{axis}": float(p) for axis, p in zip("xyz", angular, strict=True)}
        return row | {
            "kinetic_energy_solids": soft.kinetic_energy(),
            "potential_energy_solids": -float((self._weight * soft.x).sum()),
            "soft_elastic_energy": self._elastic,
            "soft_volume": sum(soft.volume(part) for part in soft.parts if part.closed),
            "dissipated_energy": self._dissipated,
            **self.solve.pockets.quantities(),
        }

    def _add_carried(self, row: dict[str, float]) -> None:
        """The fluid of the faces that shells couple, which counts as closed in the sums over the flow."""
        fields, u = self.fields, self.flow.state.u.reshape(-1)
        mass = fields.voxel_mass(self.flow.settings.density)
        if not len(mass):
            return
        axis = fields.voxel.face // int(np.prod(self.grid.padded))
        carried = u[fields.voxel.face]
        row["kinetic_energy"] += 0.5 * float((mass * carried**2).sum())
        for a, p in enumerate(np.bincount(axis, mass * carried, 3)):
            row[f"momentum_{'xyz'[a]}"] += float(p)

    def columns(self) -> list[str]:
        return list(self._quantities(FlowReport()))

    def state(self, name: str, time: float) -> BodyState:
        return self.solid.state(name, time)

    def forces(self, name: str) -> BodyForces:
        found = self._forces[name]
        return BodyForces(pressure=found.pressure, viscous=found.viscous, torque=found.torque)

    def body_frames(self, time: float) -> list[BodyFrame]:
        return self.solid.body_frames(time)

    def surface_frame(self) -> None:
        """A fluid of one phase has no surface."""
        return None

    def soft_frame(self) -> SoftFrame:
        return self.solid.soft_frame()

    def arrays(self) -> dict[str, Array]:
        return {**self.flow.state.arrays(), **self.soft.arrays()}

    def scalars(self) -> dict[str, Any]:
        forces = {name: [f.pressure, f.viscous, f.torque] for name, f in self._forces.items()}
        return {
            "flow": self.flow.state.scalars(), "forces": forces, "previous_step": self._previous_step,
            "dissipated": self._dissipated,
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        take_arrays(self.arrays(), arrays)
        self.flow.state.restore_scalars(scalars["flow"])
        for name, vectors in scalars["forces"].items():
            self._forces[name] = SolidForce(*(vector(v) for v in vectors))
        self._previous_step, self._dissipated = scalars["previous_step"], scalars["dissipated"]
        self._elastic = self._measure_elastic()
        self.flow.place(time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name in self.flow.state.arrays():
            return build.describe_cell(self.grid, index)
        return self.solid.locate(name, index)
