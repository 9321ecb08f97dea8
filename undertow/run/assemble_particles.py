"""From a scene to an SPH fluid and the solids in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.coupling.crack_points import (
    CrackPoints,
    Layer,
    OldLayer,
    old_layer,
    piece_layer,
    share_layer,
    whole_layer,
)
from undertow.coupling.direct_forcing import DirectForcing, ForcingSettings, PenaltyForcing, body_frames
from undertow.coupling.forcing_schemes import DirectForcingScheme, PenaltyScheme
from undertow.errors import UserError
from undertow.grid import SIDE_NAMES, Array, Grid
from undertow.part import Scheme
from undertow.rigid.table import BodyEntry, BodyTable
from undertow.run import build
from undertow.run.assemble_solids import make_rigid
from undertow.run.assembly import Assembly
from undertow.run.memory import check_memory
from undertow.scene import Drain, Open, Outflow, Periodic, Scene, SphFluid, Wall, WaterSource
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

MakeScheme = Callable[[RigidPart, SphPart, DirectForcing], Scheme]


def direct_forcing(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Becker et al. 2009; also of solids that all move as prescribed."""
    return _assemble(scene, table, starts, DirectForcing, DirectForcingScheme)


def penalty(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Monaghan 2005."""
    return _assemble(scene, table, starts, PenaltyForcing, PenaltyScheme)


def _assemble(
    scene: Scene, table: BodyTable, starts: bool, method: type[DirectForcing], scheme: MakeScheme
) -> Assembly:
    """The particles of a scene and the solids of a table among them.

    Where particles start and how fast sound is follow from the bodies of the scene. starts: particles that crowd around
    bodies find their places before the first step; a run that goes on has that behind it.
    """
    grid, notes = build.build_grid(scene)
    check_memory(scene, grid)
    box, moving = _make_box(scene, grid)
    shapes = {
        name: geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))
        for name, item in {**scene.sph_fluids, **scene.water_regions}.items()
    }
    first = {entry.name: _solid(entry) for entry in table.first}
    fluids = [(shapes[name], build.start_velocity(item)) for name, item in scene.sph_fluids.items()]
    filling = fill(box, fluids, list(first.values()))
    settings, remarks = _read_settings(scene, table, box, shapes | first, moving, filling.full)
    notes += [*filling.notes, *remarks]
    fluid = (ImplicitFluid if scene.sph.method == "iisph" else Fluid)(box, settings)
    add_filling(fluid, filling)
    rigid, remarks = make_rigid(scene, table, starts) if len(table) else (None, [])
    forcing = None if rigid is None else _make_forcing(scene, rigid, fluid, method)
    notes += remarks
    particles = SphPart(fluid, *_read_regions(scene, fluid, shapes), moving)
    if grid.dimensions == 3 and not has_splashsurf():
        notes.append('surface: made by Undertow; for that of pysplashsurf: pip install "undertow[sph]"')
    fluid.begin()
    if rigid is None or forcing is None:
        return Assembly([particles], SphScheme(particles), notes)
    forcing.begin()
    if filling.crowded and starts:
        forcing.settle()
    return Assembly([rigid, particles], scheme(rigid, particles, forcing), notes)


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
    scene: Scene, table: BodyTable, box: SphBox, shapes: Shapes, moving: Mapping[int, geometry.Curve], full: bool
) -> tuple[SphSettings, list[str]]:
    """The numbers of the fluid, and notes on its speed of sound; full: it fills all the room that bodies leave."""
    sph, gravity, frames = scene.sph, build.gravity_at_start(scene), scene.time.frames
    times = [scene.time.frame_time(n) for n in range(0, frames + 1, max(1, frames // 100))]
    curve = build.make_curve(scene.gravity)
    strongest = max((curve.value(t) for t in times), key=lambda g: float(np.dot(g, g)))
    speed = fastest_motion(box, _read_motions(scene, table, shapes), moving, strongest, times)
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


def _read_motions(scene: Scene, table: BodyTable, shapes: Shapes) -> list[Moving]:
    """What moves: fluids, sources, bodies."""
    pushed: dict[str, SphFluid | WaterSource] = dict(scene.sph_fluids)
    pushed |= {name: item for name, item in scene.water_regions.items() if isinstance(item, WaterSource)}
    found = [Moving(shapes[name], _fastest(item)) for name, item in pushed.items()]
    for body in (entry.description for entry in table.first):
        moves = body.dynamic
        found.append(Moving(shapes[body.name], body.velocity, body.angular_velocity, not moves, falls=moves))
    return found


def _fastest(item: SphFluid | WaterSource) -> tuple[float, ...]:
    """The largest velocity that a fluid or source has [m/s]."""
    field = item.velocity_field if isinstance(item, SphFluid) else None
    if field is None:
        return item.velocity
    values: list[list[float]] = np.array(field.values, dtype=float).reshape(-1, field.components).tolist()
    return tuple(max(values, key=lambda velocity: math.hypot(*velocity)))


def _solid(entry: BodyEntry) -> geometry.Solid:
    return geometry.Solid(entry.name, entry.description.shape, entry.description.motion)


def _make_forcing(scene: Scene, rigid: RigidPart, fluid: Fluid, method: type[DirectForcing]) -> DirectForcing:
    """Solids with their boundary particles; walls of the domain stop bodies too."""
    box, sph = fluid.box, scene.sph
    layers = _layers(scene, rigid.table, box)
    position, volume = [one.points for one in layers], np.concatenate([one.volume for one in layers])
    local, owner = body_frames(rigid.bodies, position)
    stick = np.array([_stick(scene, entry.description.slip) for entry in rigid.table])
    if any(entry.description.dynamic for entry in rigid.table):
        for s in range(2 * box.dimensions):
            if box.kind[s] == WALL:
                rigid.add_wall(f"domain.{SIDE_NAMES[s]}", s // 2, s % 2 == 1, (box.lower, box.upper)[s % 2][s // 2])
    fluid.set_bodies(np.concatenate(position), volume if method.displaces else 0.0 * volume, stick[owner])
    settings = ForcingSettings(sph.slip, sph.restitution, sph.scheme, one_way=sph.one_way)
    forcing = method(fluid, rigid.solids, local, owner, settings)
    cracked = np.flatnonzero(np.concatenate([one.cracked for one in layers]))
    if len(cracked):
        surface = body_frames(rigid.bodies, [one.surface for one in layers])[0]
        forcing.cracks = CrackPoints(
            rigid.bodies, rigid.shapes, cracked, surface[cracked], owner[cracked], volume[cracked], box.spacing
        )
    return forcing


def _layers(scene: Scene, table: BodyTable, box: SphBox) -> list[Layer]:
    """Boundary particles of the bodies of a table at t = 0; pieces have those of the bodies of the scene that broke."""
    numbers = box.spacing, box.dimensions
    pieces = [entry for entry in table if entry.description.is_piece]
    taken: dict[str, tuple[OldLayer, Any]] = {}
    for root in {entry.name.partition("/")[0] for entry in pieces}:
        own = [entry for entry in pieces if _root(entry) == root]
        first = next((entry for entry in table.first if entry.name == root), None)
        if not own or first is None:
            continue
        layer = old_layer(_solid(first), _sample(scene, first, box), *numbers)
        shares = share_layer(layer, [(e.description.shape, *_place_in_root(e)) for e in own], box.spacing)
        taken |= {entry.name: (layer, points) for entry, points in zip(own, shares, strict=True)}
    found = list[Layer]()
    for entry in table:
        if not entry.description.is_piece:
            found.append(whole_layer(_sample(scene, entry, box), *numbers))
            continue
        old, mine = taken.get(entry.name, (None, None))
        cut_from = None if old is None else _place_in_root(entry)
        found.append(piece_layer(_solid(entry), cut_from, old, mine, *numbers))
    return found


def _root(entry: BodyEntry) -> str | None:
    """The body of the scene that a piece was cut from."""
    return None if entry.description.cut_from is None else entry.name.partition("/")[0]


def _place_in_root(entry: BodyEntry) -> tuple[Array, Array]:
    """Place [m] and axes, as rows, of a piece in the frame of the body of the scene that it was cut from."""
    cut = entry.description.cut_from
    assert cut is not None
    return np.array(cut[0]), np.array(cut[1:])


def _sample(scene: Scene, entry: BodyEntry, box: SphBox) -> Array:
    """Boundary particles of a body at t = 0 (n, 3) [m]."""
    solid = _solid(entry)
    thickness = solid.thickness(box.dimensions)
    if thickness < (1.0 - 1e-3) * box.spacing:
        finer = math.ceil(scene.need_domain().resolution * box.spacing / thickness)
        raise UserError(
            f"objects.{solid.name}: {thickness:.3g} m thick, less than one particle ({box.spacing:.3g} m), which "
            f"cannot feel it; make it thicker, or raise domain.resolution to {finer}"
        )
    rests = entry.description.static and not entry.description.dynamic
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
