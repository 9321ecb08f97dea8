"""Water under a free surface, around solids that move as prescribed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

import undertow.geometry as geometry
from undertow.errors import PhysicsError, UserError
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.mixture import Mixture
from undertow.fluid.solve import PressureSolve, SplitImplicit
from undertow.fluid.water import VolumeSource, WaterEmitter, WaterFlow, WaterSettings
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, Array
from undertow.part import Part, StepOutcome
from undertow.run import build
from undertow.run.machine import check_memory
from undertow.run.models import Model
from undertow.run.prescribed import PrescribedSolids
from undertow.scene import Drain, Inflow, Open, Outflow, Scene, Water, WaterSource
from undertow.surface import Surface, SurfaceSettings, drop_mesh, join_meshes, surface_mesh

if TYPE_CHECKING:
    from undertow.output import SurfaceFrame


PARTICLES_PER_CELL = {2: 32, 3: 16}
"""About the surface, unless the scene says otherwise. In 3D four times as many cost half of a step and keep no more
volume in splashes, where the surface is lost between cells whatever repairs it."""


class WaterModel(Model):
    """Water with its sides and solids, built from a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.solids = self._make_solids()
        surface = Surface(
            self.grid,
            self.sides,
            self._distance(scene.waters),
            SurfaceSettings(
                particles=scene.surface.particles,
                per_cell=scene.surface.particles_per_cell or PARTICLES_PER_CELL[self.grid.dimensions],
                volume_correction=scene.surface.volume_correction,
                seed=scene.seed,
            ),
        )
        fluid = scene.fluid
        settings = WaterSettings(
            density=fluid.density,
            viscosity=fluid.viscosity,
            gravity=build.vector3(scene.gravity),
            acceleration=build.vector3(fluid.acceleration),
            advection=fluid.advection,
            limiter=fluid.limiter,
            tolerance=fluid.tolerance,
        )
        fields = self._make_fields()
        emitters, drains = self._regions()
        self.flow = WaterFlow(
            self.grid, self.sides, fields, surface, settings, emitters, drains, side_velocity, self._make_solve,
            self._make_bodies(), self._make_mixture(),
        )  # fmt: skip
        self.parts = self._make_parts()
        self._start_volume = self.flow.volume()
        self._set_velocity()
        self._check_water()

    def _make_parts(self) -> list[Part]:
        """What evolves: the solids, then the water."""
        self.prescribed = PrescribedSolids(self.scene, self.solids)
        return [self.prescribed, self.flow]

    def _make_solids(self) -> list[geometry.Solid]:
        """The solids that the water sees."""
        solids, notes = build.build_solids(self.scene, self.grid)
        self.notes += notes
        return solids

    def _make_fields(self) -> SolidFields | None:
        """The solids as the grid sees them; None without any."""
        return SolidFields(self.grid, self.solids) if self.solids else None

    def _make_solve(self, phase: FreeSurface, tolerance: float) -> SplitImplicit:
        """The implicit solve."""
        return PressureSolve(phase, tolerance)

    def _make_mixture(self) -> Mixture | None:
        """The viscosity where it differs from place to place; later objects over earlier ones."""
        scene = self.scene
        if not scene.mixes_viscosities:
            return None
        mu_c = np.full(self.grid.padded, scene.fluid.viscosity)
        for name, item in scene.waters.items():
            mu_c[self._distance({name: item}) <= 0.0] = scene.viscosity_of(item)
        mixture = Mixture(self.grid, mu_c)
        for source in scene.water_regions.values():
            if isinstance(source, WaterSource):
                mixture.expect(scene.viscosity_of(source))
        return mixture

    def _make_bodies(self) -> SolidFields | None:
        """Solids that the surface keeps out of although the solve has fluid in their place."""
        return None

    def _distance(self, items: Mapping[str, Water | WaterSource]) -> Array:
        """Signed distance of the union of shapes at cell centres, ghosts included [m]; far away without any."""
        grid = self.grid
        phi = np.full(grid.padded, float(max(grid.cells)) * grid.dx)
        points = self._centres()
        for name, item in items.items():
            region = geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))
            np.minimum(phi, region.distance(points, 0.0, grid.dimensions).reshape(grid.padded), out=phi)
        return phi

    def _centres(self) -> Array:
        """Cell centres (n, 3) of the padded grid [m]."""
        grid = self.grid
        z, y, x = (np.arange(n) - GHOSTS for n in grid.padded)
        axes = [grid.lower[a] + (index + 0.5) * grid.dx for a, index in enumerate((x, y, z))]
        zz, yy, xx = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
        return np.column_stack([xx.ravel(), yy.ravel(), zz.ravel()])

    def _regions(self) -> tuple[list[WaterEmitter], list[VolumeSource]]:
        emitters, drains = [], []
        for name, item in self.scene.water_regions.items():
            stop = math.inf if item.stop is None else item.stop
            if isinstance(item, WaterSource):
                distance = self._distance({name: item})
                velocity, viscosity = build.vector3(item.velocity), self.scene.viscosity_of(item)
                emitters.append(WaterEmitter(name, distance, velocity, item.start, stop, viscosity))
            else:
                drains.append(VolumeSource(name, self._inside(name, item), -item.rate, item.start, stop))
        return emitters, drains

    def _inside(self, name: str, item: Drain) -> np.ndarray:
        region = geometry.Solid(name, build.make_shape(name, item), build.make_motion(item))
        distance = region.distance(self._centres(), 0.0, self.grid.dimensions).reshape(self.grid.padded)
        return np.asarray(distance <= 0.0)

    def _set_velocity(self) -> None:
        """Every body of water starts with its velocity, on the faces of its cells."""
        for name, item in self.scene.waters.items():
            if any(item.velocity):
                inside = self._distance({name: item}) <= 0.0
                for axis in self.grid.axes:
                    faces = inside | np.roll(inside, 1, axis=2 - axis)
                    self.flow.state.u[axis][faces] = build.vector3(item.velocity)[axis]
        self.flow.finish(self.flow.state.u)

    def _check_water(self) -> None:
        """Water that fills a sealed domain has no surface; water thinner than a cell is seen badly."""
        open_c = self.flow.domain.volume_c[self.grid.interior] > 0
        wet = (self.flow.state.surface.phi_c[self.grid.interior] <= 0) & open_c
        if self.scene.waters and not wet.any():
            raise UserError(
                f"objects: the water covers no cell centre of {self.grid.dx:g} m outside the solids; make it larger, "
                f"move it into the domain, or raise the resolution"
            )
        if (wet == open_c).all():
            raise UserError("objects: water fills the whole domain and has no surface; leave room for air")
        for name, item in self.scene.waters.items():
            thin = build.make_shape(name, item).thickness(self.grid.dimensions)
            if thin < 2 * self.grid.dx:
                self.notes.append(
                    f"objects.{name}: {thin:.3g} m thick, less than two cells ({2 * self.grid.dx:.3g} m); "
                    f"its surface is seen badly; raise the resolution"
                )

    def step(self, time: float, time_step: float) -> StepOutcome:
        report = self.flow.step(time, time_step)
        self.prescribed.set_forces(self.flow.forces())
        self._check_volume(time + time_step)
        return StepOutcome(report.iterations, report)

    def _check_volume(self, time: float) -> None:
        """Water lost or gained beyond the bound stops the run; through open sides it may leave."""
        domain = self.scene.need_domain()
        if any(isinstance(side, Open | Outflow | Inflow) for side in domain.sides.values()):
            return
        wanted = self._start_volume + self.flow.emitted_volume
        found = self.flow.volume() + self.flow.state.surface.spray.total_volume
        bound = self.scene.surface.volume_bound
        if abs(found - wanted) > bound * wanted:
            raise PhysicsError(
                f"the water has {found:.4g} of {wanted:.4g} m{self.grid.dimensions} at t = {time:.6g} s, off by more "
                f"than surface.volume_bound = {bound:g}; raise the resolution, lower time.cfl, or set "
                f"surface.volume_correction"
            )

    def frames(self, time: float) -> list[object]:
        surface = self.surface_frame()
        return [] if surface is None else [surface]

    def surface_frame(self) -> SurfaceFrame | None:
        """The surface and the drops of the spray as triangles; None in 2D."""
        if self.grid.dimensions == 2:
            return None
        from undertow.output import SurfaceFrame

        surface = self.flow.state.surface
        spray = surface.spray
        drops = drop_mesh(spray.position, spray.radius(), spray.velocity)
        return SurfaceFrame(*join_meshes(surface_mesh(self.grid, self._seen_water(), self.flow.state.u), drops))

    def _seen_water(self) -> Array:
        """The level set [m], without the water that it has inside bodies that are not drawn and would hide it."""
        phi, grid = self.flow.state.surface.phi_c, self.grid
        hidden = [solid for solid in self.solids if not self.scene.bodies[solid.name].drawn]
        if not hidden:
            return phi
        time = self.flow.solids.time if self.flow.solids is not None else 0.0
        points = self._centres()
        for solid in hidden:
            phi = np.maximum(phi, -solid.distance(points, time, grid.dimensions).reshape(grid.padded))
        return phi
