"""The water of a scene: its surface, sources, drains and viscosities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.fluid.drawing import padded_centres
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.mixture import Mixture
from undertow.fluid.solve import PressureSolve, SplitImplicit
from undertow.fluid.water import VolumeSource, WaterEmitter, WaterFlow, WaterSettings
from undertow.geometry import SolidFields
from undertow.grid import Array, Grid, Sides
from undertow.run import build
from undertow.scene import Drain, Inflow, Open, Outflow, Scene, Water, WaterSource
from undertow.surface import Surface, SurfaceSettings

PARTICLES_PER_CELL = {2: 32, 3: 16}
"""About the surface, unless the scene says otherwise. In 3D four times as many cost half of a step and keep no more
volume in splashes, where the surface is lost between cells whatever repairs it."""


def make_water(
    scene: Scene,
    grid: Grid,
    sides: Sides,
    side_velocity: Callable[[float], None] | None,
    fields: SolidFields | None,
    make_solve: Callable[[FreeSurface, float], SplitImplicit] = PressureSolve,
    bodies: SolidFields | None = None,
) -> WaterFlow:
    """The water around solids that are ``fields``; bodies: solids that the surface keeps out of although the solve has
    fluid in their place."""
    surface = Surface(
        grid,
        sides,
        _distance(grid, scene.waters),
        SurfaceSettings(
            particles=scene.surface.particles,
            per_cell=scene.surface.particles_per_cell or PARTICLES_PER_CELL[grid.dimensions],
            volume_correction=scene.surface.volume_correction,
            seed=scene.seed,
        ),
    )
    emitters, drains = _regions(scene, grid)
    flow = WaterFlow(
        grid, sides, fields, surface, _settings(scene), emitters, drains, side_velocity, make_solve, bodies,
        _mixture(scene, grid),
    )  # fmt: skip
    solids = [solid for found in (fields, bodies) if found is not None for solid in found.solids]
    flow.hidden = [solid for solid in solids if not scene.bodies[solid.name].drawn]
    _set_velocity(scene, flow)
    return flow


def _settings(scene: Scene) -> WaterSettings:
    fluid = scene.fluid
    # through open sides water may leave
    leaves = any(isinstance(side, Open | Outflow | Inflow) for side in scene.need_domain().sides.values())
    return WaterSettings(
        density=fluid.density,
        viscosity=fluid.viscosity,
        gravity=build.vector3(scene.gravity),
        acceleration=build.vector3(fluid.acceleration),
        advection=fluid.advection,
        limiter=fluid.limiter,
        tolerance=fluid.tolerance,
        volume_bound=math.inf if leaves else scene.surface.volume_bound,
    )


def _region(name: str, item: Water | WaterSource | Drain) -> geometry.Solid:
    return geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))


def _distance(grid: Grid, items: Mapping[str, Water | WaterSource | Drain]) -> Array:
    """Signed distance of the union of shapes at cell centres, ghosts included [m]; far away without any."""
    phi = np.full(grid.padded, float(max(grid.cells)) * grid.dx)
    points = padded_centres(grid)
    for name, item in items.items():
        distance = _region(name, item).distance(points, 0.0, grid.dimensions).reshape(grid.padded)
        np.minimum(phi, distance, out=phi)
    return phi


def _mixture(scene: Scene, grid: Grid) -> Mixture | None:
    """The viscosity where it differs from place to place; later objects over earlier ones."""
    if not scene.mixes_viscosities:
        return None
    mu_c = np.full(grid.padded, scene.fluid.viscosity)
    for name, item in scene.waters.items():
        mu_c[_distance(grid, {name: item}) <= 0.0] = scene.viscosity_of(item)
    mixture = Mixture(grid, mu_c)
    for source in scene.water_regions.values():
        if isinstance(source, WaterSource):
            mixture.expect(scene.viscosity_of(source))
    return mixture


def _regions(scene: Scene, grid: Grid) -> tuple[list[WaterEmitter], list[VolumeSource]]:
    emitters, drains = [], []
    for name, item in scene.water_regions.items():
        stop = math.inf if item.stop is None else item.stop
        distance = _distance(grid, {name: item})
        if isinstance(item, WaterSource):
            velocity, viscosity = build.vector3(item.velocity), scene.viscosity_of(item)
            emitters.append(WaterEmitter(name, distance, velocity, item.start, stop, viscosity))
        else:
            drains.append(VolumeSource(name, np.asarray(distance <= 0.0), -item.rate, item.start, stop))
    return emitters, drains


def _set_velocity(scene: Scene, flow: WaterFlow) -> None:
    """Every body of water starts with its velocity, on the faces of its cells."""
    for name, item in scene.waters.items():
        if any(item.velocity):
            inside = _distance(flow.grid, {name: item}) <= 0.0
            for axis in flow.grid.axes:
                faces = inside | np.roll(inside, 1, axis=2 - axis)
                flow.state.u[axis][faces] = build.vector3(item.velocity)[axis]
    flow.finish(flow.state.u)


def check_water(scene: Scene, flow: WaterFlow) -> list[str]:
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
