"""Fluids on a grid and the solids in them: from a scene to parts and a scheme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from undertow.coupling.bodies_in_fluid import BodiesInFluid
from undertow.coupling.contact_in_fluid import ContactInFluid, ContactOfBodiesAlone, ContactWithFluid
from undertow.coupling.couplings import GRID_COUPLINGS
from undertow.coupling.fields_under_surface import FieldsUnderSurface
from undertow.coupling.monolithic import MonolithicSolve, in_tank
from undertow.coupling.nodes_in_fluid import ContactInSolve, NodeSettings, NodesInFluid
from undertow.coupling.pockets import PocketSmoke
from undertow.coupling.prescribed import PrescribedSolids
from undertow.coupling.rigid_fluid import RigidFluidSettings, RigidFluidSolve, added_mass_limit
from undertow.coupling.schemes import AroundSolids, OneSolve, RigidFluid, TwoSolves, WithBodies
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_solve import SoftSolve, soft_monolithic
from undertow.errors import UserError
from undertow.fluid import Flow
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.grid_fluid import GridFluid
from undertow.fluid.phase import Phase
from undertow.fluid.water import WaterFlow
from undertow.geometry import Solid, SolidFields
from undertow.grid import Grid, Sides
from undertow.part import Part
from undertow.run import build
from undertow.run.assemble_solids import make_rigid, make_soft
from undertow.run.assemble_water import check_water, make_water
from undertow.run.assembly import Assembly
from undertow.run.machine import check_memory
from undertow.scene import Scene, SoftBody
from undertow.solids.rigid_part import RigidPart


@dataclass
class _Box:
    """The grid of a scene with its sides; notes: what a user should know."""

    scene: Scene
    grid: Grid = field(init=False)
    sides: Sides = field(init=False)
    side_velocity: Callable[[float], None] | None = field(init=False)
    notes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.grid, self.notes = build.build_grid(self.scene)
        check_memory(self.grid.cells, build.memory_needed(self.scene, self.grid))
        self.sides, self.side_velocity = build.build_sides(self.scene, self.grid)

    def solids(self) -> list[Solid]:
        """The solids of the scene as it places them."""
        solids, notes = build.build_solids(self.scene, self.grid)
        self.notes += notes
        return solids


def assemble_fluid(scene: Scene) -> Assembly:
    """A fluid on a grid, around and with solids."""
    box = _Box(scene)
    if scene.has_nodes:
        return _assemble_nodes(box)
    if scene.coupling == "none":
        return _assemble_prescribed(box)
    if scene.coupling == "rigid_fluid":
        return _assemble_rigid_fluid(box)
    return _assemble_bodies(box)


def _assemble_prescribed(box: _Box) -> Assembly:
    """Solids that move as prescribed."""
    scene, solids = box.scene, box.solids()
    fields = SolidFields(box.grid, solids) if solids else None
    part = PrescribedSolids(solids, build.drawn_colors(scene))
    flow: GridFluid
    if scene.has_surface:
        flow = water = make_water(scene, box.grid, box.sides, box.side_velocity, fields)
        box.notes += check_water(scene, water)
    else:
        emitters = build.build_emitters(scene, box.grid)
        flow = tank = Flow(box.grid, box.sides, fields, build.flow_settings(scene), emitters, box.side_velocity)
        box.notes += build.notes_at_start(solids, tank, list(scene.emitters))
    return Assembly([part, flow], AroundSolids(part, flow), box.notes)


def _make_bodies(box: _Box, rigid: RigidPart) -> BodiesInFluid:
    scene, solids = box.scene, box.solids()
    box.notes[:0] = rigid.notes
    volume = np.array([rigid.displaced_volume(b) for b in range(len(solids))])
    gravity = build.vector3(scene.gravity)
    return BodiesInFluid(box.grid, box.sides, rigid, solids, volume, gravity, bool(scene.joints))


def _assemble_bodies(box: _Box) -> Assembly:
    """Rigid bodies that fluid and bodies are solved for together."""
    scene = box.scene
    bodies = _make_bodies(box, make_rigid(scene))
    chosen, coupled = GRID_COUPLINGS[scene.coupling], bodies.coupled
    fields = chosen.fields(box.grid, bodies.placed)

    def make(phase: Phase, tolerance: float) -> MonolithicSolve:
        return chosen.solve(phase, tolerance, coupled, scene.lumped.mass)

    flow: GridFluid
    if scene.has_surface:
        flow = water = make_water(scene, box.grid, box.sides, box.side_velocity, fields, make)
        box.notes += check_water(scene, water)
    else:
        flow = tank = Flow(
            box.grid, box.sides, fields, build.flow_settings(scene), build.build_emitters(scene, box.grid),
            box.side_velocity, in_tank(make),
        )  # fmt: skip
        build.check_room(scene, tank.solve.rows.stencil.regions)
    solve = flow.solve
    assert isinstance(solve, MonolithicSolve)
    contact = ContactWithFluid(bodies.rigid.solids, flow, solve, coupled)
    return _coupled(box, bodies, [], flow, contact, solve)


def _assemble_nodes(box: _Box) -> Assembly:
    """Soft bodies, cloth, ropes and thin rigid shells among rigid bodies, solved for together with the fluid."""
    scene = box.scene
    rigid, part = make_soft(scene)
    box.notes += part.notes
    bodies = _make_bodies(box, rigid)
    soft = part.soft
    if scene.fluid.initial_vortices and not scene.has_surface:
        moved = soft.inv_mass > 0
        soft.v[moved] += np.stack(build.initial_velocity(scene)(*soft.x[moved].T), axis=1)
    densities = [item.density for item in scene.softs.values() if isinstance(item, SoftBody)]
    solves = 2 if scene.monolithic.scheme == "two_solves" else 1
    settings = NodeSettings(
        scene.soft.stepper, min(densities, default=np.inf), scene.soft.volume_recovery, solves
    )  # fmt: skip
    nodes = NodesInFluid(bodies, part, settings)
    equal = scene.soft.shell_weights == "equal"
    flow: GridFluid
    if scene.has_surface:
        fields: SoftFields = FieldsUnderSurface(box.grid, box.sides, bodies.placed, soft, equal)

        def make(phase: FreeSurface, tolerance: float) -> SoftSolve:
            nodes.solve = SoftSolve(phase, tolerance, nodes.coupled)
            return nodes.solve

        flow = water = make_water(scene, box.grid, box.sides, box.side_velocity, fields, make)
        box.notes += check_water(scene, water)
    else:
        fields = SoftFields(box.grid, box.sides, bodies.placed, soft, equal)
        flow = tank = Flow(
            box.grid, box.sides, fields, build.flow_settings(scene), build.build_emitters(scene, box.grid),
            box.side_velocity, soft_monolithic(nodes.coupled),
        )  # fmt: skip
        assert isinstance(tank.solve, SoftSolve)
        nodes.solve = tank.solve
        if nodes.solve.pockets.pockets and tank.smoke is not None:
            tank.held = PocketSmoke(nodes.solve.pockets, nodes.solve.rows)
    # what a source makes is not there yet
    if scene.waters or not scene.has_surface:
        build.check_room(scene, nodes.solve.rows.stencil.regions)
    return _coupled(box, bodies, [nodes], flow, ContactInSolve(nodes), nodes.solve)


def _coupled(
    box: _Box, bodies: BodiesInFluid, nodes: list[NodesInFluid], flow: GridFluid, contact: ContactInFluid,
    solve: MonolithicSolve | SoftSolve,
) -> Assembly:  # fmt: skip
    bodies.phase = solve.phase
    scheme: WithBodies = OneSolve(bodies, nodes, flow, contact)
    if box.scene.monolithic.scheme == "two_solves":
        assert isinstance(flow, Flow)
        scheme = TwoSolves(bodies, nodes, flow, contact, solve)
    return Assembly(_parts(bodies, nodes, flow), scheme, box.notes)


def _parts(bodies: BodiesInFluid, nodes: list[NodesInFluid], flow: GridFluid) -> list[Part]:
    return [bodies.rigid, *(one.part for one in nodes), bodies, *nodes, flow]


def _assemble_rigid_fluid(box: _Box) -> Assembly:
    """Water and bodies that are solved as water."""
    scene = box.scene
    bodies = _make_bodies(box, make_rigid(scene))
    _check_densities(scene, bodies)
    fields, moved = SolidFields(box.grid, bodies.prescribed), SolidFields(box.grid, bodies.moved)
    index = np.flatnonzero(bodies.dynamic_b)
    settings = RigidFluidSettings(scene.rigid_fluid.buoyancy)

    def make(phase: FreeSurface, tolerance: float) -> RigidFluidSolve:
        return RigidFluidSolve(phase, tolerance, moved, index, bodies.coupled, settings)

    flow: WaterFlow = make_water(scene, box.grid, box.sides, box.side_velocity, fields, make, moved)
    box.notes += check_water(scene, flow)
    assert isinstance(flow.solve, RigidFluidSolve)
    bodies.phase = flow.solve.phase
    contact = ContactOfBodiesAlone(bodies.rigid.solids)
    return Assembly(_parts(bodies, [], flow), RigidFluid(bodies, [], flow, contact, flow.solve), box.notes)


def _check_densities(scene: Scene, bodies: BodiesInFluid) -> None:
    """The explicit source of Rigid Fluid is unstable for bodies that are too light."""
    density = scene.fluid.density
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
