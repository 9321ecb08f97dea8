"""Fluids on a grid and the solids in them: from a scene to parts and a scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from undertow.coupling.bodies_in_fluid import BodiesInFluid
from undertow.coupling.contact_in_fluid import ContactOfBodiesAlone, ContactWithFluid
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.fields_under_surface import FieldsUnderSurface
from undertow.coupling.fractions import LumpedFields, VolumeFractionFields
from undertow.coupling.lumped import LumpedWalls
from undertow.coupling.nodes_in_fluid import NodeSettings, NodesInFluid
from undertow.coupling.pockets import PocketSmoke
from undertow.coupling.prescribed import PrescribedSolids
from undertow.coupling.projection import CoupledProjection, make_projection
from undertow.coupling.rigid_fluid import JoinedSurface, RigidFluidSettings, RigidFluidSolve, added_mass_limit
from undertow.coupling.schemes import (
    AroundSolids,
    OneSolve,
    RigidFluid,
    SurfaceAroundSolids,
    TwoKicks,
    TwoSolves,
    WithBodies,
)
from undertow.coupling.soft_fields import SoftFields
from undertow.errors import UserError
from undertow.fluid import Flow
from undertow.fluid.liquid import MakePhase
from undertow.fluid.phase import Phase
from undertow.fluid.smoke import Smoke
from undertow.fluid.solve import SplitImplicit
from undertow.geometry import Solid, SolidFields
from undertow.grid import PERIODIC, WALL, Grid, Sides
from undertow.part import Part
from undertow.rigid.table import BodyTable
from undertow.run import build
from undertow.run.assemble_solids import make_rigid, make_soft
from undertow.run.assemble_water import check_water, make_liquid, phase_of, set_velocity, viscosity_contents
from undertow.run.assemble_waves import tell_waves, wave_contents
from undertow.run.assembly import Assembly
from undertow.run.memory import check_memory
from undertow.scene import Scene, SoftBody
from undertow.solids.rigid_part import RigidPart


@dataclass
class _Box:
    """The grid of a scene with its sides, and its bodies; starts: at t = 0. notes: what a user should know."""

    scene: Scene
    table: BodyTable
    starts: bool
    grid: Grid = field(init=False)
    sides: Sides = field(init=False)
    side_velocity: Callable[[float], None] | None = field(init=False)
    notes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.grid, self.notes = build.build_grid(self.scene)
        check_memory(self.scene, self.grid)
        self.sides, self.side_velocity = build.build_sides(self.scene, self.grid)

    def solids(self) -> list[Solid]:
        """The solids of the table as it places them."""
        solids, notes = build.build_solids(self.scene, self.table, self.grid)
        self.notes += notes
        return solids

    def flow(
        self,
        fields: SolidFields | None,
        make_solve: Callable[[Any, float], SplitImplicit] | None = None,
        make_phase: MakePhase | None = None,
        kept_out: Sequence[Solid] = (),
    ) -> Flow:
        """The fluid around solids that are ``fields``, which fills the domain or has a surface; kept_out: further
        solids that the surface keeps out of."""
        scene, grid = self.scene, self.grid
        contents = [*viscosity_contents(scene, grid), *build.smoke_contents(scene, grid), *wave_contents(scene)]
        settings = build.flow_settings(scene)
        if not scene.has_surface:
            return Flow(grid, self.sides, fields, settings, contents, self.side_velocity, make_solve)
        solids = [*(() if fields is None else fields.solids), *kept_out]
        hidden = [solid for solid in solids if not self.table[solid.name].description.visible]
        angles = {entry.name: entry.description.contact_angle for entry in self.table}
        given = {name: angle for name, angle in angles.items() if angle is not None}
        liquid = make_liquid(scene, grid, self.sides, make_phase or phase_of(scene), hidden, given)
        flow = Flow(grid, self.sides, fields, settings, contents, self.side_velocity, make_solve, liquid)
        set_velocity(scene, flow)
        self.notes += [*check_water(scene, flow), *tell_waves(scene, flow)] if self.starts else []
        return flow


def prescribed(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Solids that move as prescribed."""
    box = _Box(scene, table, starts)
    solids = box.solids()
    part = PrescribedSolids(solids, table)
    fields = SolidFields(box.grid, part.placed) if solids else None
    flow = box.flow(fields)
    box.notes += build.notes_at_start(solids, flow, list(scene.emitters))
    around = SurfaceAroundSolids if flow.phase.moves else AroundSolids
    return Assembly([part, flow], around(part, flow), box.notes)


def _make_bodies(box: _Box, rigid: RigidPart, notes: list[str]) -> BodiesInFluid:
    scene, solids = box.scene, box.solids()
    box.notes[:0] = notes
    volume = np.array([rigid.displaced_volume(b) for b in range(len(solids))])
    gravity = build.gravity_at_start(scene)
    return BodiesInFluid(box.grid, box.sides, rigid, solids, volume, gravity, rigid.joints.count > 0)


def monolithic(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Schroeder 2011, chapter 5."""
    box = _Box(scene, table, starts)
    has_nodes = bool(scene.softs) or any(entry.description.shape.is_sheet for entry in table)
    return _with_nodes(box) if has_nodes else _with_bodies(box, SolidFields, make_projection)


def volume_fraction(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Batty et al. 2007."""
    return _with_bodies(_Box(scene, table, starts), VolumeFractionFields, make_projection)


def lumped(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Robinson-Mosher et al. 2008."""

    def solve(phase: Phase, tolerance: float, coupled: CoupledBodies) -> CoupledProjection:
        walls = LumpedWalls(phase, coupled.bodies, scene.lumped.mass)
        return make_projection(phase, tolerance, coupled, walls=walls)

    return _with_bodies(_Box(scene, table, starts), LumpedFields, solve)


def _with_bodies(
    box: _Box, see: type[SolidFields], solve_of: Callable[[Phase, float, CoupledBodies], CoupledProjection]
) -> Assembly:
    """Rigid bodies that the fluid is solved for together with; see: how they are seen on the grid."""
    scene = box.scene
    bodies = _make_bodies(box, *make_rigid(scene, box.table, box.starts))
    coupled, fields = bodies.coupled, see(box.grid, bodies.placed)

    def make(phase: Phase, tolerance: float) -> CoupledProjection:
        return solve_of(phase, tolerance, coupled)

    flow = box.flow(fields, make)
    if not scene.has_surface:
        build.check_room(scene, box.table, flow.solve.rows.stencil.regions)
    solve = flow.solve
    assert isinstance(solve, CoupledProjection)
    return _coupled(box, bodies, [], flow, solve)


def _with_nodes(box: _Box) -> Assembly:
    """Soft bodies, cloth, ropes and thin rigid shells among rigid bodies, solved for together with the fluid."""
    scene = box.scene
    rigid, part, notes = make_soft(scene, box.table, box.starts)
    box.notes += part.notes
    bodies = _make_bodies(box, rigid, notes)
    soft = part.soft
    if scene.fluid.initial_vortices and not scene.has_surface:
        soft.v += np.where(soft.moves, np.stack(build.initial_velocity(scene)(*soft.x.T), axis=1), 0.0)
    densities = [item.density for item in scene.softs.values() if isinstance(item, SoftBody)]
    settings = NodeSettings(scene.soft.stepper, min(densities, default=np.inf), scene.soft.volume_recovery)
    nodes = NodesInFluid(bodies, part, settings)
    equal = scene.soft.shell_weights == "equal"
    see = FieldsUnderSurface if scene.has_surface else SoftFields

    def make(phase: Phase, tolerance: float) -> CoupledProjection:
        projection = make_projection(phase, tolerance, bodies.coupled, nodes.coupled)
        nodes.solids, nodes.rows = projection.nodes[0], projection.rows
        return projection

    flow = box.flow(see(box.grid, box.sides, bodies.placed, soft, equal), make)
    for carried in flow.fields:
        pockets = nodes.solids.pockets
        if isinstance(carried, Smoke) and (pockets.pockets or pockets.opened):
            sealed = all(kind in (WALL, PERIODIC) for kind in box.sides.kind) and not scene.has_surface
            carried.held.append(PocketSmoke(pockets, nodes.rows, sealed))
            flow.measure_sums()
    # what a source makes is not there yet
    if scene.waters or not scene.has_surface:
        build.check_room(scene, box.table, nodes.rows.stencil.regions)
    solve = flow.solve
    assert isinstance(solve, CoupledProjection)
    return _coupled(box, bodies, [nodes], flow, solve)


def _coupled(
    box: _Box, bodies: BodiesInFluid, nodes: list[NodesInFluid], flow: Flow, solve: CoupledProjection
) -> Assembly:
    bodies.phase = solve.phase
    contact = ContactWithFluid(bodies.rigid.solids, flow, solve, bodies.coupled)
    scheme: WithBodies = OneSolve(bodies, nodes, flow, contact)
    if box.scene.monolithic.solves == 2:
        moves = flow.phase.moves
        scheme = TwoKicks(bodies, nodes, flow, contact) if moves else TwoSolves(bodies, nodes, flow, contact, solve)
    return Assembly(_parts(bodies, nodes, flow), scheme, box.notes)


def _parts(bodies: BodiesInFluid, nodes: list[NodesInFluid], flow: Flow) -> list[Part]:
    return [bodies.rigid, *(one.part for one in nodes), bodies, *nodes, flow]


def rigid_fluid(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Carlson et al. 2004: water and bodies that are solved as water."""
    box = _Box(scene, table, starts)
    bodies = _make_bodies(box, *make_rigid(scene, box.table, box.starts))
    fields, moved = SolidFields(box.grid, bodies.prescribed), SolidFields(box.grid, bodies.moved)
    index = np.flatnonzero(bodies.dynamic_b)
    settings = RigidFluidSettings(scene.rigid_fluid.buoyancy)

    def make(phase: JoinedSurface, tolerance: float) -> RigidFluidSolve:
        return RigidFluidSolve(phase, tolerance, index, bodies.coupled, settings)

    flow = box.flow(fields, make, partial(JoinedSurface, fields=moved), moved.solids)
    assert isinstance(flow.solve, RigidFluidSolve)
    bodies.phase = flow.solve.phase
    _check_densities(scene, bodies)
    contact = ContactOfBodiesAlone(bodies.rigid.solids)
    return Assembly(_parts(bodies, [], flow), RigidFluid(bodies, [], flow, contact, flow.solve), box.notes)


def _check_densities(scene: Scene, bodies: BodiesInFluid) -> None:
    """The explicit source of Rigid Fluid is unstable for bodies that are too light."""
    density = float(bodies.phase.mass_of(1.0))
    for b, solid in enumerate(bodies.placed):
        if bodies.dynamic_b[b]:
            lower, upper = solid.shape_at(0.0).bounds()
            least = added_mass_limit(0.5 * (upper - lower), scene.dimensions)
            ratio = float(bodies.bodies.mass_b[b] / (density * bodies.coupled.volume_b[b]))
            if ratio < least:
                raise UserError(
                    f"objects.{solid.name}: {ratio:.3g} of the fluid's density; coupling = 'rigid_fluid' gives a "
                    f"body its buoyancy after the pressure is solved, which is unstable below C / (1 + 2 C) = "
                    f"{least:.3g}, C being the added mass of its shape; use coupling = 'monolithic', or a density "
                    f"of at least {least * density:.4g} kg/m3"
                )
