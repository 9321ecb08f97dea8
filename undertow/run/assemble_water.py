"""The water of a scene: its surface, sources, drains and viscosities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.fluid import Flow
from undertow.fluid.advected import Content, FieldContext
from undertow.fluid.drawing import padded_centres
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.liquid import LiquidSurface, MakePhase, VolumeSource, WaterEmitter
from undertow.fluid.two_fluids import InterfaceTracker, TwoFluids, viscosity_of_both
from undertow.fluid.two_phase import OtherFluid, TwoPhase
from undertow.fluid.variable_viscosity import VariableViscosity, ViscositySource
from undertow.fluid.volume_tracking import Untracked, VolumeTracker
from undertow.grid import GHOSTS, SIDE_NAMES, Array, Grid, Sides
from undertow.run import build
from undertow.scene import Bubble, Drain, Inflow, Open, Outflow, Scene, Wall, Water, WaterSource
from undertow.scene.domain import ContactAngles
from undertow.surface import Surface, SurfaceSettings
from undertow.surface.contact_angle import RIGHT_ANGLES, Angles

PARTICLES_PER_CELL = {2: 32, 3: 16}
"""About the surface, unless the scene says otherwise. In 3D four times as many cost half of a step and keep no more
volume in splashes, where the surface is lost between cells whatever repairs it."""

REDISTANCE_AFTER = 0.25
"""With tension phi is made a distance again when the surface may have moved so far [cells]: capillary waves make steps
short, and every time the curvature changes a little."""


def make_liquid(
    scene: Scene, grid: Grid, sides: Sides, make_phase: MakePhase, hidden: Sequence[geometry.Solid],
    contact_angles: Mapping[str, float],
) -> Callable[[FieldContext], LiquidSurface]:  # fmt: skip
    """What makes the surface of a scene's water; hidden: solids that are not drawn; contact_angles: of solids by name
    [degrees]."""
    surface = Surface(
        grid,
        sides,
        np.maximum(_distance(grid, scene.waters), -_distance(grid, scene.bubbles)),
        SurfaceSettings(
            particles=scene.surface.particles,
            per_cell=scene.surface.particles_per_cell or PARTICLES_PER_CELL[grid.dimensions],
            volume_correction=scene.surface.volume_correction,
            redistance_after=REDISTANCE_AFTER if scene.surface.tension > 0.0 else 0.0,
            contact_angles=_angles_of_sides(scene),
            seed=scene.seed,
        ),
    )
    emitters, drains = _regions(scene, grid)
    # through open sides water may leave
    leaves = any(isinstance(side, Open | Outflow | Inflow) for side in scene.need_domain().sides.values())
    bound = math.inf if leaves else scene.surface.volume_bound
    extent, tracker = (LiquidSurface, VolumeTracker) if scene.fluid.air is None else (TwoFluids, InterfaceTracker)
    make_tracker = tracker if scene.surface.volume_tracking else Untracked
    return lambda context: extent(
        context, surface, emitters, drains, bound, make_phase, hidden, make_tracker, scene.surface.tension,
        contact_angles, scene.surface.tension_step == "implicit",
    )  # fmt: skip


def _angles_of_sides(scene: Scene) -> tuple[Angles, ...]:
    """Contact angles of the six sides [degrees]."""
    angles = list(RIGHT_ANGLES)
    for name, side in scene.need_domain().sides.items():
        if isinstance(side, Wall) and side.contact_angle is not None:
            angle = side.contact_angle
            pair = (angle.advancing, angle.receding) if isinstance(angle, ContactAngles) else angle
            angles[SIDE_NAMES.index(name)] = pair
    return tuple(angles)


def _region(name: str, item: Water | WaterSource | Drain | Bubble) -> geometry.Solid:
    return geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))


def _distance(grid: Grid, items: Mapping[str, Water | WaterSource | Drain] | Mapping[str, Bubble]) -> Array:
    """Signed distance of the union of shapes at cell centres, ghosts included [m]; far away without any."""
    phi = np.full(grid.padded, float(max(grid.cells)) * grid.dx)
    points = padded_centres(grid)
    for name, item in items.items():
        distance = _region(name, item).distance(points, 0.0, grid.dimensions).reshape(grid.padded)
        np.minimum(phi, distance, out=phi)
    return phi


def phase_of(scene: Scene) -> MakePhase:
    """What makes the phase of a scene's water, with another fluid beyond its surface or without."""
    air = scene.fluid.air
    if air is None:
        return FreeSurface
    atmosphere = math.inf if air.atmosphere is None else air.atmosphere
    return partial(TwoPhase, other=OtherFluid(air.density, air.viscosity, atmosphere))


def viscosity_contents(scene: Scene, grid: Grid) -> list[Content]:
    """The viscosity where it differs from place to place, later objects over earlier ones; else nothing."""
    if scene.fluid.air is not None:
        return viscosity_of_both(scene.fluid.viscosity, scene.fluid.air.viscosity)
    if not scene.mixes_viscosities:
        return []
    mu_c = np.full(grid.padded, scene.fluid.viscosity)
    for name, item in scene.waters.items():
        mu_c[_distance(grid, {name: item}) <= 0.0] = scene.viscosity_of(item)
    sources = [
        ViscositySource(
            np.asarray(_distance(grid, {name: item}) <= 0.0), scene.viscosity_of(item), item.start,
            math.inf if item.stop is None else item.stop,
        )
        for name, item in scene.water_regions.items() if isinstance(item, WaterSource)
    ]  # fmt: skip
    return [lambda context: VariableViscosity(context, mu_c, sources)]


def _regions(scene: Scene, grid: Grid) -> tuple[list[WaterEmitter], list[VolumeSource]]:
    emitters, drains = [], []
    for name, item in scene.water_regions.items():
        stop = math.inf if item.stop is None else item.stop
        distance = _distance(grid, {name: item})
        if isinstance(item, WaterSource):
            emitters.append(WaterEmitter(name, distance, build.vector3(item.velocity), item.start, stop))
        else:
            drains.append(VolumeSource(name, np.asarray(distance <= 0.0), -item.rate, item.start, stop))
    return emitters, drains


def set_velocity(scene: Scene, flow: Flow) -> None:
    """Every body of water starts with its velocity, on the faces of its cells."""
    for name, item in scene.waters.items():
        if any(item.velocity) or item.velocity_field is not None:
            inside, grid, velocity = _distance(flow.grid, {name: item}) <= 0.0, flow.grid, build.start_velocity(item)
            for axis in grid.axes:
                faces = inside | np.roll(inside, 1, axis=2 - axis)
                index = np.argwhere(faces)[:, ::-1] - GHOSTS + 0.5 * (np.arange(3) != axis)
                flow.state.u[axis][faces] = velocity(np.array(grid.lower) + grid.dx * index)[:, axis]
    flow.finish(flow.state.u)


def check_water(scene: Scene, flow: Flow) -> list[str]:
    """Water that fills a sealed domain has no surface; of water thinner than a cell there is a note."""
    grid = flow.grid
    open_c = flow.domain.volume_c[grid.interior] > 0
    wet = (flow.state.surface.phi_c[grid.interior] <= 0) & open_c
    if scene.waters and not wet.any():
        raise UserError(
            f"objects: the water covers no cell centre of {grid.dx:g} m outside the solids; make it larger, "
            f"move it into the domain, or raise the resolution"
        )
    if (wet == open_c).all():
        raise UserError("objects: water fills the whole domain and has no surface; leave room for air")
    notes = []
    for name, item in scene.waters.items():
        thin = build.make_shape(name, item).thickness(grid.dimensions)
        if thin < 2 * grid.dx:
            notes.append(
                f"objects.{name}: {thin:.3g} m thick, less than two cells ({2 * grid.dx:.3g} m); "
                f"its surface is seen badly; raise the resolution"
            )
    return notes
