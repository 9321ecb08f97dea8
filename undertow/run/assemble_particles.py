"""From a scene to an SPH fluid and the solids in it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.direct_forcing import DirectForcing, ForcingSettings, PenaltyForcing, body_frames
from undertow.coupling.forcing_schemes import DirectForcingScheme, PenaltyScheme
from undertow.errors import UserError
from undertow.grid import SIDE_NAMES, Array, Grid
from undertow.part import Scheme
from undertow.run import build
from undertow.run.assemble_solids import make_rigid
from undertow.run.assembly import Assembly
from undertow.scene import Drain, Open, Outflow, Periodic, Scene, SphFluid, Static, Wall, WaterSource
from undertow.solids.rigid_part import RigidPart
from undertow.sph import (
    OPEN,
    PERIODIC,
    WALL,
    ImplicitFluid,
    SphBox,
    SphDrain,
    SphSettings,
    SphSource,
    boundary_volumes,
    make_source,
    region_distance,
    sample_solid,
    viscosity_of_alpha,
)
from undertow.sph import SphFluid as Fluid
from undertow.sph.part import SphPart
from undertow.sph.scheme import SphScheme
from undertow.sph.starting import Moving, add_filling, choose_sound_speed, fastest_motion, fill
from undertow.sph.surface import has_splashsurf

Shapes = Mapping[str, geometry.Solid]
"""Of the objects, by name."""


def assemble_particles(scene: Scene, starts: bool) -> Assembly:
    """The particles of a scene and the solids among them.

    starts: particles that crowd around bodies find their places before the first step; a run that goes on from a
    checkpoint has that behind it.
    """
    grid, notes = build.build_grid(scene)
    box, moving = _make_box(scene, grid)
    shaped = {**scene.sph_fluids, **scene.bodies, **scene.water_regions}
    shapes = {
        name: geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))
        for name, item in shaped.items()
    }
    fluids = [(shapes[name], build.vector3(item.velocity)) for name, item in scene.sph_fluids.items()]
    filling = fill(box, fluids, [shapes[name] for name in scene.bodies])
    settings, remarks = _read_settings(scene, box, shapes, moving, filling.full)
    notes += [*filling.notes, *remarks]
    fluid = (ImplicitFluid if scene.sph.method == "iisph" else Fluid)(box, settings)
    add_filling(fluid, filling)
    rigid = make_rigid(scene) if scene.bodies else None
    forcing = None if rigid is None else _make_forcing(scene, rigid, fluid, shapes)
    notes += [] if rigid is None else rigid.notes
    particles = SphPart(fluid, *_read_regions(scene, fluid, shapes), moving)
    if grid.dimensions == 3 and not has_splashsurf():
        notes.append('surface: made by Undertow; for that of pysplashsurf: pip install "undertow[sph]"')
    fluid.begin()
    if rigid is None or forcing is None:
        return Assembly([particles], SphScheme(particles), notes)
    forcing.begin()
    if filling.crowded and starts:
        forcing.settle()
    return Assembly([rigid, particles], _make_scheme(rigid, particles, forcing), notes)


def _make_box(scene: Scene, grid: Grid) -> tuple[SphBox, dict[int, geometry.Curve]]:
    """The domain, and the velocities over time of those sides whose velocity varies."""
    kind, stick, moving = [WALL] * 6, [1.0] * 6, dict[int, geometry.Curve]()
    velocity = np.zeros((6, 3))
    for s, side in enumerate(scene.need_domain().sides.values()):
        if isinstance(side, Open | Outflow):
            kind[s] = OPEN
        elif isinstance(side, Periodic):
            kind[s] = PERIODIC
        elif isinstance(side, Wall):
            stick[s] = _stick(scene, side.slip)
            curve = build.make_curve(side.velocity)
            velocity[s] = np.asarray(curve.value(0.0))
            if not isinstance(curve, geometry.ConstantCurve):
                moving[s] = curve
    lower, upper = np.array(grid.lower), np.array(grid.upper)
    return SphBox(lower, upper, grid.dx, grid.dimensions, tuple(kind), tuple(stick), velocity), moving


def _stick(scene: Scene, slip: bool) -> float:
    """1 where viscous fluid sticks; artificial viscosity sticks to nothing, as it stands for none."""
    return 0.0 if slip or scene.sph.viscosity is None else 1.0


def _read_settings(
    scene: Scene, box: SphBox, shapes: Shapes, moving: Mapping[int, geometry.Curve], full: bool
) -> tuple[SphSettings, list[str]]:
    """The numbers of the fluid, and notes on its speed of sound; full: it fills all the room that bodies leave."""
    sph, gravity, frames = scene.sph, build.vector3(scene.gravity), scene.time.frames
    times = [scene.time.frame_time(n) for n in range(0, frames + 1, max(1, frames // 100))]
    speed = fastest_motion(box, _read_motions(scene, shapes), moving, gravity, times)
    sound, notes = choose_sound_speed(sph.sound_speed, speed, sph.surface_tension, sph.density, box.spacing)
    viscosity = sph.viscosity
    if viscosity is None:
        viscosity = viscosity_of_alpha(sph.alpha, box.spacing, sound, box.dimensions)
    settings = SphSettings(
        sph.density,
        sound,
        viscosity,
        gravity,
        sph.restitution,
        full and OPEN not in box.kind[: 2 * box.dimensions],
        sph.surface_tension,
        artificial=sph.viscosity is None,
    )
    return settings, notes


def _read_motions(scene: Scene, shapes: Shapes) -> list[Moving]:
    """What moves: fluids, sources, bodies."""
    pushed: dict[str, SphFluid | WaterSource] = dict(scene.sph_fluids)
    pushed |= {name: item for name, item in scene.water_regions.items() if isinstance(item, WaterSource)}
    found = [Moving(shapes[name], item.velocity) for name, item in pushed.items()]
    for name, body in scene.bodies.items():
        moves = body.is_dynamic
        found.append(Moving(shapes[name], body.velocity, body.angular_velocity, not moves, falls=moves))
    return found


def _make_forcing(scene: Scene, rigid: RigidPart, fluid: Fluid, shapes: Shapes) -> DirectForcing:
    """Solids with their boundary particles; walls of the domain stop bodies too."""
    box, sph, penalty = fluid.box, scene.sph, scene.coupling == "penalty"
    position = [_sample(scene, shapes[name], box) for name in scene.bodies]
    local, owner = body_frames(rigid.bodies, position)
    volume = np.concatenate([boundary_volumes(p, box.spacing, box.dimensions) for p in position])
    stick = np.array([_stick(scene, body.slip) for body in scene.bodies.values()])
    if any(body.is_dynamic for body in scene.bodies.values()):
        for s in range(2 * box.dimensions):
            if box.kind[s] == WALL:
                rigid.add_wall(f"domain.{SIDE_NAMES[s]}", s // 2, s % 2 == 1, (box.lower, box.upper)[s % 2][s // 2])
    # boundary particles that repel do nothing else
    fluid.set_bodies(np.concatenate(position), 0.0 * volume if penalty else volume, stick[owner])
    settings = ForcingSettings(sph.slip, sph.restitution, sph.scheme, one_way=sph.one_way)
    method = PenaltyForcing if penalty else DirectForcing
    return method(fluid, rigid.solids, local, owner, settings)


def _make_scheme(rigid: RigidPart, particles: SphPart, forcing: DirectForcing) -> Scheme:
    if isinstance(forcing, PenaltyForcing):
        return PenaltyScheme(rigid, particles, forcing)
    return DirectForcingScheme(rigid, particles, forcing)


def _sample(scene: Scene, solid: geometry.Solid, box: SphBox) -> Array:
    """Boundary particles of a body at t = 0 (n, 3) [m]."""
    thickness = solid.thickness(box.dimensions)
    if thickness < (1.0 - 1e-3) * box.spacing:
        finer = math.ceil(scene.need_domain().resolution * box.spacing / thickness)
        raise UserError(
            f"objects.{solid.name}: {thickness:.3g} m thick, less than one particle ({box.spacing:.3g} m), which "
            f"cannot feel it; make it thicker, or raise domain.resolution to {finer}"
        )
    body = scene.bodies[solid.name]
    rests = isinstance(body.motion, Static) and not body.is_dynamic and not solid.shape.is_animated
    return sample_solid(solid, box.lower, box.upper, box.spacing, box.dimensions, rests)


def _read_regions(scene: Scene, fluid: Fluid, shapes: Shapes) -> tuple[list[SphSource], list[SphDrain]]:
    """Sources and drains."""
    sources, drains = [], []
    for name, item in scene.water_regions.items():
        stop = math.inf if item.stop is None else item.stop
        if isinstance(item, Drain):
            distance = region_distance(shapes[name], fluid.dimensions)
            drains.append(SphDrain(name, distance, item.rate, item.start, stop))
        else:
            velocity = np.array(build.vector3(item.velocity))
            sources.append(make_source(shapes[name], velocity, fluid, item.start, stop))
    return sources, drains
