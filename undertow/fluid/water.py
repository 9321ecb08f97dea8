"""Water: an incompressible liquid under a free surface, around solids that move as prescribed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from undertow.errors import PhysicsError, UserError
from undertow.fluid import measure
from undertow.fluid.domain import FluidDomain
from undertow.fluid.drawing import drawn_surface
from undertow.fluid.forces import add_acceleration
from undertow.fluid.free_surface import FreeSurface, is_dry
from undertow.fluid.grid_fluid import GridFluid
from undertow.fluid.limits import flow_limits
from undertow.fluid.mixture import Mixture
from undertow.fluid.owed import OwedVolume
from undertow.fluid.shells import ShellSides
from undertow.fluid.solve import PressureSolve, SplitImplicit
from undertow.fluid.state import FlowReport, SolidForce
from undertow.geometry import Solid, SolidFields
from undertow.geometry.solids import mean_of_corners
from undertow.geometry.thin import ThinWalls
from undertow.grid import GHOSTS, Array, Grid, Sides, share, share_face_rows, share_rows
from undertow.grid.jitting import borrowing
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    MOMENTUM,
    VOLUME,
    Limit,
    Quantity,
    components,
    restore_arrays,
    vector,
)
from undertow.surface import Surface
from undertow.transport import Advection, Extrapolation

AIR_LAYERS = 4
"""Layers of faces in air and solids that get the water's velocity: what its transport reads."""

SURFACE_LAYERS = 5
"""The same for the velocity that moves the surface: as far as the level set and its particles reach."""

SLIVER = 0.1
"""Faces with a smaller open part take their neighbours' velocity: that of water in a slit must not spread."""

STRAY_DEPTH = 0.1
"""Particles of the air that are deeper than this in the water are dropped [cells]: their smallest radius."""

NEXT, NEAR, AIR, WATER = np.int64(1), np.int64(2), np.int64(1), np.int64(-1)
"""Where cells inside solids look for air and for water [cells], and for which of them."""


@dataclass(frozen=True)
class WaterSettings:
    """density [kg/m^3], viscosity [Pa s], gravity and further acceleration [m/s^2], scheme of velocity transport,
    solver tolerance, part of the volume beyond which a loss or gain stops the run (infinite: none does)."""

    density: float = 1000.0
    viscosity: float = 0.0
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)
    acceleration: tuple[float, float, float] = (0.0, 0.0, 0.0)
    advection: str = "maccormack"
    limiter: bool = True
    tolerance: float = 1e-6
    volume_bound: float = np.inf


@dataclass(frozen=True)
class WaterEmitter:
    """A region that is kept full of water moving at ``velocity`` [m/s] while it is on.

    distance_c (Z, Y, X): signed distance to the region at cell centres, ghosts included [m]. viscosity [Pa s]: of what
    it emits, where that differs from place to place.
    """

    name: str
    distance_c: Array
    velocity: tuple[float, float, float]
    start: float = 0.0
    stop: float = np.inf
    viscosity: float = 0.0

    @cached_property
    def faces(self) -> list[np.ndarray]:
        """Both faces along each axis of every cell of the region, bool (Z, Y, X)."""
        inside = self.distance_c <= 0.0
        return [inside | np.roll(inside, 1, axis=2 - axis) for axis in range(3)]

    def is_on(self, time: float) -> bool:
        return self.start <= time < self.stop


@dataclass(frozen=True)
class VolumeSource:
    """Water made (rate > 0) or drained (rate < 0) [m^3/s; 2D m^2/s] in the liquid cells of a region while it is on.

    inside_c: bool (Z, Y, X), cells of the region. Without a liquid cell in it nothing happens.
    """

    name: str
    inside_c: np.ndarray
    rate: float
    start: float = 0.0
    stop: float = np.inf

    def is_on(self, time: float) -> bool:
        return self.start <= time < self.stop


@dataclass
class WaterState:
    """What evolves: u (3, Z, Y, X) [m/s], also in the air near the water; p (Z, Y, X) [Pa], 0 in the air; surface."""

    u: Array
    p: Array
    surface: Surface


class WaterFlow(GridFluid):
    """State, work arrays and the step of one body of water.

    ``surface`` holds the water of time 0. ``side_velocity(time)`` sets the velocity planes of the sides for a time;
    None when they are constant. ``make_solve``: makes the solve of a phase and a tolerance, where bodies take
    part in it. ``bodies``: solids that the surface keeps out of although the solve has fluid in their place.
    Without viscosity walls should slip. ``mixture``: viscosity that the water carries along, in the place of the
    settings' one.
    """

    state: WaterState

    def __init__(
        self,
        grid: Grid,
        sides: Sides,
        solids: SolidFields | None,
        surface: Surface,
        settings: WaterSettings,
        emitters: Sequence[WaterEmitter] = (),
        sources: Sequence[VolumeSource] = (),
        side_velocity: Callable[[float], None] | None = None,
        make_solve: Callable[[FreeSurface, float], SplitImplicit] = PressureSolve,
        bodies: SolidFields | None = None,
        mixture: Mixture | None = None,
    ) -> None:
        self.grid = grid
        self.sides = sides
        self.solids = solids
        self.bodies = bodies
        self.settings = settings
        self.emitters = tuple(emitters)
        self.sources = tuple(sources)
        self.side_velocity = side_velocity
        self.thin = [ThinWalls(fields) for fields in (solids, bodies) if fields is not None]
        self.domain = FluidDomain(grid, sides, solids, settings.density)
        self.advection = Advection(grid, sides, settings.advection, settings.limiter)
        self.extrapolation = Extrapolation(grid, sides)
        self.state = WaterState(grid.face_field(), grid.cell_field(), surface)
        self.solve = make_solve(FreeSurface(self.domain, surface.phi_c, settings.gravity), settings.tolerance)
        assert isinstance(self.solve.phase, FreeSurface)
        self.phase: FreeSurface = self.solve.phase
        self.mixture = mixture
        if settings.viscosity > 0.0 or mixture is not None:
            slips = [solid.slip for solid in solids.solids] if solids is not None else []
            viscosity = settings.viscosity if mixture is None else mixture
            self.solve.set_viscosity(viscosity, np.array(slips, dtype=np.int64))
        self.u_star = grid.face_field()
        self.row_c = grid.cell_field()
        self.z_c, self.start_c = grid.cell_field(), grid.cell_field()
        self.wet_f = np.zeros((3, *grid.padded), dtype=np.uint8)
        self.no_field_f, self.no_field_c = np.zeros((0, 0, 0, 0)), np.zeros((0, 0, 0))
        self.open_c = np.ones(grid.padded, dtype=np.uint8)
        self.was_open_c = np.ones(grid.padded, dtype=np.uint8)
        self.edge_c = np.zeros(grid.padded, dtype=np.uint8)
        self.solid_c = None if solids is None and bodies is None else grid.cell_field()
        self.emitted_volume = 0.0
        self.report = FlowReport()
        """What the solves of the last step did."""
        self.shells: ShellSides | None = None
        self.owed = OwedVolume(grid)
        self.place(0.0)
        if solids is not None and solids.occlusion is not None:
            self.shells = ShellSides(self.advection, solids.occlusion, surface)
            self.extrapolation = self.shells.extrapolation
        # the volume correction keeps what is outside the solids
        surface.target_volume = self.volume()
        self.owed.measure(surface, self.solid_c, self.open_c, self.row_c)
        if self.mixture is not None:
            self.mixture.spread(self.extrapolation, surface.phi_c, self.open_c)
        self._rebuild_solve()
        self._check_regions()
        self.start_volume = self.volume()
        self.hidden: list[Solid] = []
        """Solids that are not drawn, inside which no water is drawn either."""

    def _check_regions(self) -> None:
        """Emitters inside solids and drains without water are mistakes."""
        inside = self.grid.interior
        open_c = self.domain.volume_c[inside] > 0.0
        for emitter in self.emitters:
            cells = emitter.distance_c[inside] <= 0.0
            if not cells.any():
                raise UserError(f"emitter '{emitter.name}' holds no cell centre: make it larger or the grid finer")
            if not (cells & open_c).any():
                raise UserError(f"emitter '{emitter.name}' lies inside a solid: move one of them")
        for source in self.sources:
            cells = source.inside_c[inside] & open_c
            if not cells.any():
                raise UserError(f"volume source '{source.name}' holds no open cell centre: move it or make it larger")
            if source.rate < 0.0 and not (cells & (self.phase.liquid_c[inside] > 0.0)).any():
                raise UserError(f"drain '{source.name}' holds no water at the start: move it under the surface")

    def advance(self, time: float, dt: float) -> FlowReport:
        s = self.state
        self.emit(time)
        np.copyto(self.was_open_c, self.open_c)
        self.place(time + dt)
        self.continue_for_surface(s.u, self.u_star)
        closed_f = self.no_field_f if self.bodies is None else self.bodies.area_f
        self.owed.carry(s.surface.phi_c, self.u_star, dt, self.domain.area_f, closed_f)
        s.surface.advance(self.u_star, dt, self.solid_c, self.settings.gravity)  # phi_t + u.grad phi = 0
        self.drop_stray_air()
        self.extend_into_solids()
        self.owed.absorb(s.surface)
        if self.bodies is None and self.solid_c is not None:
            # the book knows nothing of cells that a solid has just left
            np.minimum(self.was_open_c, self.open_c, out=self.was_open_c)
            self.owed.disown(s.surface, self.solid_c, self.was_open_c, self.row_c)
        self.count_volume(self.owed.settle(s.surface, self.u_star, self.solid_c, self.open_c, self.row_c))
        if self.mixture is not None:
            self.mixture.advance(self.advection, s.u, dt)
            self.mixture.spread(self.extrapolation, s.surface.phi_c, self.open_c)
        near_c = s.surface.phi_c if self.bodies is None else None
        self.advection.velocity(s.u, s.u, dt, self.u_star, near_c)  # (5.25)
        self.advection.leave_uncorrected(s.surface.phi_c, self.u_star)
        if self.shells is not None:
            self.shells.uncover(self.u_star, dt)
        add_acceleration(self.grid, self.settings.acceleration, dt, self.u_star)
        self.set_sources(time, dt)
        self.report = self.project(self.u_star, dt)  # (5.3) with thesis 6.3.7
        s.u, self.u_star = self.u_star, s.u
        return self.report

    # the verbs of a step -------------------------------------------------------------------------------------------

    def emit(self, time: float) -> None:
        """Fill the regions of the emitters and set their velocity."""
        s = self.state
        on = [emitter for emitter in self.emitters if emitter.is_on(time)]
        self.owed.spare([emitter.distance_c for emitter in on])
        if not on:
            return
        s.surface.level_set.fill_ghosts(s.surface.phi_c)
        before = self.volume()
        for emitter in on:
            np.minimum(s.surface.phi_c, emitter.distance_c, out=s.surface.phi_c)
            if self.mixture is not None:
                self.mixture.fill(emitter.distance_c <= 0.0, emitter.viscosity)
            for axis in self.grid.axes:
                inside = self.grid.interior_faces(axis)
                np.copyto(s.u[axis][inside], emitter.velocity[axis], where=emitter.faces[axis][inside])
        s.surface.rebuild()
        self.owed.measure(s.surface, self.solid_c, self.open_c, self.row_c)
        self.count_volume(self.volume() - before)
        self.sides.fill_velocity(s.u)

    def place(self, time: float) -> None:
        """Put sides and solids at ``time`` [s] and rebuild what depends on where they are."""
        if self.side_velocity is not None:
            self.side_velocity(time)
        changed = [fields is not None and fields.update(time) for fields in (self.solids, self.bodies)]
        if changed[0]:
            self.domain.rebuild()
            self.owed.find_chambers(self.domain.area_f, self.domain.volume_c)
        if any(changed):
            self._see_solids()

    def _see_solids(self) -> None:
        """Distance of all solids at cell centres and which centres are outside."""
        assert self.solid_c is not None
        pz, py, _ = self.grid.padded
        fields = [found for found in (self.solids, self.bodies) if found is not None]
        outs = [(self.solid_c, self.open_c), (self.row_c, self.edge_c)]
        for found, (distance_c, open_c) in zip(fields, outs, strict=False):
            share(_average_nodes, pz * py, self.grid.cell_count, self.grid.spec, found.phi_n, distance_c, open_c)
        if len(fields) == 2:
            np.minimum(self.solid_c, self.row_c, out=self.solid_c)
            np.minimum(self.open_c, self.edge_c, out=self.open_c)
        # as phi: what is below a solid that lies on the floor is not outside it
        self.state.surface.level_set.mirror(self.solid_c)

    def drop_stray_air(self) -> None:
        """Remove the particles of the air that have got into the water, now that they have repaired phi once.

        They ride on a velocity that is made up a cell away from the water. Where sheets of water meet, those that are
        left behind inside would go on taking volume away: 11% of a dam break after its impact, 3% without them.
        """
        surface = self.state.surface
        surface.particles.drop_escaped_air(surface.phi_c, STRAY_DEPTH * self.grid.dx)

    def extend_into_solids(self) -> None:
        """Centres just inside solids are water where there is water beside them, and air where it is far from any.

        So no film of air lets pressure out through cut cells, and a solid that leaves the water takes none along. All
        other values stay: the level set of still water around solids keeps its bits.
        """
        if self.solid_c is None:
            return
        phi, extended = self.state.surface.phi_c, self.no_field_c
        if self.shells is not None:
            extended = self.row_c
            np.copyto(extended, phi)
            self.extrapolation.centred(extended, self.open_c, 1)
        share_rows(self.grid, _follow_outside, extended, self.open_c, phi)
        self.state.surface.level_set.fill_ghosts(phi)

    def set_sources(self, time: float, dt: float) -> None:
        """Rates of what the level set owes and of volume sources, these spread evenly over the liquid cells of their
        regions."""
        phase = self.phase
        self.owed.rates(dt, phase.source_c)
        if self.bodies is not None:
            # bodies are liquid to the solve, but no water
            phase.source_c *= self.open_c
        for source in self.sources:
            if source.is_on(time):
                cells = source.inside_c & (phase.phi_c <= 0.0) & (self.open_c == 1)
                cells &= self.inside_c
                count = int(np.count_nonzero(cells))
                if count:
                    phase.source_c[cells] += source.rate / count
                    # the flux of the next step takes it out again
                    self.owed.owed_c[cells] += source.rate * dt / (count * self.grid.cell_volume)
                    self.count_volume(source.rate * dt)

    def count_volume(self, volume: float) -> None:
        """Note that sources added a volume [m^3]: the volume correction, where it is on, must not undo it."""
        self.emitted_volume += volume
        self.state.surface.target_volume += volume

    @cached_property
    def inside_c(self) -> np.ndarray:
        """True in interior cells."""
        inside = np.zeros(self.grid.padded, dtype=bool)
        inside[self.grid.interior] = True
        return inside

    def project(self, u_f: Array, dt: float) -> FlowReport:
        """The pressure solve on u_f in place; the pressure goes to the state."""
        s, phase, target = self.state, self.phase, self.solve.rows.target
        self.sides.fill_velocity(u_f)
        self._rebuild_solve()
        report = FlowReport()
        self.start_c[...], self.z_c[...] = 0.0, 0.0
        if s.p.any():
            phase.dual_of(s.p, dt, self.start_c, self.z_c)
        report.solves = self.solve.diffuse(u_f, self.z_c, dt)
        phase.start_from_surface(dt, self.start_c)
        phase.add_surface_impulse(dt, self.start_c, u_f)
        report.row_before = self.largest_row(u_f)
        phase.dual_of(s.p, dt, self.start_c, self.z_c)
        if not s.p.any():
            # nothing has been solved for yet: the water at rest is the guess
            np.copyto(self.z_c, 0.0, where=self.solve.rows.stencil.diagonal_c > 0.0)
        self.solve.take_known(self.start_c, dt)
        report.solves += self.solve.solve(u_f, self.z_c, dt)
        phase.pressure_of(self.z_c, dt, self.start_c, s.p)
        report.row_after = self.largest_row(u_f)
        if self.solids is not None and target is not None:
            report.leak = measure.wall_leak(self.grid, self.row_c, target, self.solids.body_c)
        for thin in self.thin:
            report.leak += thin.leak(u_f, s.surface.phi_c)
        return report

    def _rebuild_solve(self) -> None:
        """The solve takes over the present surface, solids and sources."""
        self.solve.rebuild()
        self.solve.place()

    def set_velocity(self, u_f: Array) -> None:
        """Go on from the velocity u_f (3, Z, Y, X) [m/s] of the water; the air takes it from there."""
        self.state.u[...] = u_f
        self.finish(self.state.u)

    def finish(self, u_f: Array) -> None:
        """Velocities of the water go into air and solids, layer by layer; ghosts."""
        self._mark_wet_faces(u_f, self.no_field_f)
        if self.bodies is not None:
            self.wet_f *= self.bodies.area_f >= SLIVER
        if self.shells is not None:
            self.shells.know(self.solve.carried(), self.wet_f)
            self.solve.set_carried(u_f)
        self.extrapolation.velocity(u_f, self.wet_f, AIR_LAYERS)
        if self.shells is not None:
            self.solve.set_carried(u_f)
        self.sides.fill_velocity(u_f)

    def continue_for_surface(self, u_f: Array, out_f: Array) -> None:
        """The velocity that moves the surface: u with the air cells at the surface made free of divergence.

        Means of neighbours are constant along the normal, so that the surface would move as the water half a cell below
        it does. Their outward faces close the air cells, which is of second order and changes no volume. The water's
        own velocity is not transported from there: a jet would draw its tip along ever faster. Inside solids it follows
        their walls: what falls off a solid would draw water out of it.
        """
        phase, d = self.phase, self.domain
        self._mark_wet_faces(u_f, out_f)
        if self.shells is not None:
            self.shells.recall(self.solve.carried(), self.wet_f)
        if self.bodies is not None:
            # what moves with a body would take the water's edge along
            self.wet_f *= self.bodies.area_f >= SLIVER
        share_rows(
            self.grid, _mark_edge_cells, phase.wet_rows, phase.liquid_c, phase.inv_mass_f, d.volume_c, self.edge_c
        )  # fmt: skip
        share_rows(
            self.grid, _close_air_cells, phase.liquid_c, self.edge_c, d.inv_mass_f, d.area_f, out_f, self.wet_f
        )  # fmt: skip
        self.extrapolation.velocity(out_f, self.wet_f, SURFACE_LAYERS - 1)
        if self.solids is not None:
            solids = self.solids
            share_face_rows(
                self.grid, _follow_walls, self.solid_c, solids.distance_f, solids.inner_c, u_f, out_f
            )  # fmt: skip
        self.sides.fill_velocity(out_f)

    def _mark_wet_faces(self, u_f: Array, out_f: Array) -> None:
        """Where the water gives the velocity; u goes to ``out_f``, or, if that is empty, is cleared elsewhere."""
        phase = self.phase
        share_face_rows(
            self.grid, _mark_wet_faces, phase.wet_rows, phase.inv_mass_f, self.domain.area_f, u_f, out_f, self.wet_f
        )  # fmt: skip

    # what others ask -----------------------------------------------------------------------------------------------

    def limits(self, time: float) -> list[Limit]:
        """Water, sides and solids cross at most one cell, and the shortest waves are stable.

        Surface and velocity are advanced one after the other, which is stable for omega dt < 2; the shortest wave of
        the grid has omega^2 = pi |g| / dx.
        """
        limits = flow_limits(self.grid, self.sides, self.state.u, self.solids, self.settings.advection, time)
        g = float(np.linalg.norm(self.phase.gravity))
        if g > 0.0:
            limits.append(Limit("surface_waves", float(np.sqrt(self.grid.dx / g)), "cfl"))
        return limits

    def end_step(self, time: float) -> None:
        """Water lost or gained beyond the bound stops the run."""
        bound = self.settings.volume_bound
        wanted = self.start_volume + self.emitted_volume
        found = self.volume() + self.state.surface.spray.total_volume if np.isfinite(bound) else wanted
        if abs(found - wanted) > bound * wanted:
            raise PhysicsError(
                f"the water has {found:.4g} of {wanted:.4g} m{self.grid.dimensions} at t = {time:.6g} s, off by more "
                f"than surface.volume_bound = {bound:g}; raise the resolution, lower time.cfl, or set "
                f"surface.volume_correction"
            )

    def frames(self, time: float) -> list[object]:
        surface = drawn_surface(self)
        return [] if surface is None else [surface]

    def forces(self) -> dict[str, SolidForce]:
        """Force and torque of the water on every solid: of the pressure on the walls inside cut cells, and of the
        viscous wall rows of those that move as prescribed.

        Rows on the whole strain carry the traction; a wall that turns with its water feels none.
        """
        if self.solids is None or not self.solids.solids:
            return {}
        count, viscous = len(self.solids.solids), self.solve.before
        partial = self.grid.row_sums(measure.SUMS * count).reshape(-1, count, measure.SUMS)
        partial[...] = 0.0
        walls, walls_z = (None, self.row_c) if viscous is None else (viscous.walls, viscous.walls_z)
        measure.add_wall_forces(self.domain, self.solids, self.state.p, walls, walls_z, partial)
        total = partial.sum(axis=0)
        return {
            name: SolidForce(vector(total[b, :3]), vector(total[b, 3:6]), vector(total[b, 6:9]))
            for b, name in enumerate(self.solids.names)
        }

    def volume(self) -> float:
        """Volume of the water outside the solids by the level set, without spray [m^3; 2D m^2]."""
        return self.state.surface.volume(self.solid_c)

    def ledger(self) -> dict[str, float]:
        """Physical sums of the present state."""
        return {quantity.name: quantity.value for quantity in self._sums()}

    def _sums(self) -> Iterator[Quantity]:
        """Volume, momentum, angular momentum about the origin, kinetic energy, potential energy against the domain's
        lower corner, volume of spray, volume emitted so far."""
        grid, s = self.grid, self.state
        mass = self.settings.density * grid.cell_volume
        partial = grid.row_sums(8)
        partial[...] = 0.0
        share_rows(
            grid, measure._sum_liquid_rows, s.surface.phi_c, self._open_volume(), s.u, self.phase.gravity, partial
        )  # fmt: skip
        total = partial.sum(axis=0) * mass
        yield Quantity("fluid_volume", self.volume(), VOLUME)
        yield Quantity("spray_volume", s.surface.spray.total_volume, VOLUME)
        yield from components("momentum", total[:3], MOMENTUM)
        yield from components("angular_momentum", total[3:6], ANGULAR_MOMENTUM)
        yield Quantity("kinetic_energy", float(total[6]), ENERGY)
        yield Quantity("potential_energy", float(total[7]), ENERGY)
        yield Quantity("emitted_volume", self.emitted_volume, VOLUME)
        yield Quantity("owed_volume", self.owed.total, VOLUME)

    def quantities(self) -> Iterator[Quantity]:
        yield from self._sums()
        yield from measure.side_flows(self.grid, self.sides, self.state.u, self.domain.area_f, self.state.surface.phi_c)
        yield from measure.solve_quantities(self.report, self.grid.cell_volume)

    def _open_volume(self) -> Array:
        """Part of each cell outside all solids (Z, Y, X)."""
        if self.bodies is None:
            return self.domain.volume_c
        np.add(self.domain.volume_c, self.bodies.volume_c, out=self.row_c)
        self.row_c -= 1.0
        return np.maximum(self.row_c, 0.0, out=self.row_c)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that evolves, by name."""
        s = self.state
        emitted = np.array([self.emitted_volume])
        mixed = {} if self.mixture is None else {"viscosity": self.mixture.mu_c}
        owed = {"owed_c": self.owed.owed_c}
        return {"u": s.u, "p": s.p, "emitted_volume": emitted, **owed, **mixed, **s.surface.arrays()}

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        return self.grid.describe(index) if len(index) >= 3 else super().locate(name, index)

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, object], time: float) -> None:
        s = self.state
        restore_arrays({"u": s.u, "p": s.p}, arrays)
        self.emitted_volume = float(arrays["emitted_volume"][0])
        if self.mixture is not None:
            self.mixture.take(arrays["viscosity"])
        s.surface.restore(dict(arrays))
        self.place(time)
        if self.shells is not None:
            self.shells.start()
            s.surface.look()
        self.owed.owed_c[...] = arrays["owed_c"]
        self.owed.measure(s.surface, self.solid_c, self.open_c, self.row_c)
        self._rebuild_solve()
        if self.shells is not None:
            self._mark_wet_faces(self.no_field_f, self.no_field_f)
            self.shells.know(self.solve.carried(), self.wet_f)


@njit(cache=True, nogil=True)
def _average_nodes(spec, phi_n, out_distance, out_open, start, stop):  # type: ignore[no-untyped-def]
    """Signed distance of solids at cell centres, ghosts included as far as nodes go; open: the centre is outside."""
    rows_y = spec.ny + 2 * GHOSTS
    for row in range(start, stop):
        k = row // rows_y
        j = row % rows_y
        for i in range(spec.nx + 2 * GHOSTS):
            distance = mean_of_corners(spec, phi_n, k, j, i)
            out_distance[k, j, i] = distance
            out_open[k, j, i] = 1 if distance >= 0.0 else 0


@borrowing
def _is_beside(spec, phi, open_c, k0, j0, i0, reach, sign):  # type: ignore[no-untyped-def]
    """Whether one of the cells within ``reach`` has its centre outside solids in the air (sign 1) or water (-1)."""
    over = reach if spec.dimensions == 3 else 0
    for k in range(k0 - over, k0 + over + 1):
        for j in range(j0 - reach, j0 + reach + 1):
            for i in range(i0 - reach, i0 + reach + 1):
                if open_c[k, j, i] == 1 and (phi[k, j, i] > 0.0) == (sign > 0):
                    return True
    return False


@borrowing
def _continue_inward(spec, open_c, phi, k, j, i):  # type: ignore[no-untyped-def]
    """Mean of phi over the neighbours whose centre is outside solids; phi itself without any."""
    total, known = 0.0, 0
    for a in range(spec.dimensions):
        at = i if a == 0 else (j if a == 1 else k)
        n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
        for end in range(2):
            if at == (GHOSTS if end == 0 else GHOSTS + n - 1):
                continue
            out = 2 * end - 1
            kn, jn, im = k + out * int(a == 2), j + out * int(a == 1), i + out * int(a == 0)
            if open_c[kn, jn, im] == 1:
                total += phi[kn, jn, im]
                known += 1
    return total / known if known > 0 else phi[k, j, i]


@njit(cache=True, nogil=True)
def _follow_outside(spec, extended, open_c, phi, start, stop):  # type: ignore[no-untyped-def]
    """In cells inside solids, e being the value continued from outside: e if all around is water, at least e - dx, and
    e if that is air and no water is within two cells: then the surface inside a thin wall has drifted through it.

    extended: the values e where shells hide neighbours, else empty: one layer, from neighbours that are left alone.

    Beside a contact line the surface inside the solid is the continuation of that outside and stays.
    """
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if open_c[k, j, i] == 1:
                continue
            e = extended[k, j, i] if extended.size > 0 else _continue_inward(spec, open_c, phi, k, j, i)
            if e > 0.0:
                # a distance cannot change by more than a cell between neighbours
                phi[k, j, i] = max(phi[k, j, i], e - spec.dx)
                if phi[k, j, i] <= 0.0 and not _is_beside(spec, phi, open_c, k, j, i, NEAR, WATER):
                    phi[k, j, i] = e
            elif phi[k, j, i] > 0.0 and not _is_beside(spec, phi, open_c, k, j, i, NEXT, AIR):
                phi[k, j, i] = e


@njit(cache=True, nogil=True)
def _mark_wet_faces(spec, wet, inv_mass, area, u, copy, out, start, stop):  # type: ignore[no-untyped-def]
    """1 where the water gives the velocity, else 0; u, unless it is empty, is cleared where it does not, or copied."""
    rows_y = spec.ny + 1
    for row in range(start, stop):
        k = row // rows_y + GHOSTS
        j = row % rows_y + GHOSTS
        for a in range(spec.dimensions):
            dry = is_dry(spec, wet, k, j, a)
            if dry:
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    out[a, k, j, i] = 0
            else:
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    out[a, k, j, i] = (inv_mass[a, k, j, i] > 0.0) & (area[a, k, j, i] >= SLIVER)
            if copy.size > 0:
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    copy[a, k, j, i] = u[a, k, j, i]
            elif u.size > 0 and dry:
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    u[a, k, j, i] = 0.0
            elif u.size > 0:
                inner = 0
                for i in range(GHOSTS + 1, GHOSTS + spec.nx):
                    inner += out[a, k, j, i]
                # in most rows all but the two ends are wet: then those alone are touched
                for i in range(GHOSTS, GHOSTS + spec.nx + 1, spec.nx if inner == spec.nx - 1 else 1):
                    u[a, k, j, i] *= out[a, k, j, i]


@njit(cache=True, nogil=True)
def _mark_edge_cells(spec, wet, liquid, wet_mass, volume, out, start, stop):  # type: ignore[no-untyped-def]
    """1 in air cells with a face that the water moves, solids' cells left out."""
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = 0
        dry = is_dry(spec, wet, k, j, np.int64(1)) and is_dry(spec, wet, k, j + 1, np.int64(1))
        if dry and spec.dimensions == 3:
            dry = is_dry(spec, wet, k, j, np.int64(2)) and is_dry(spec, wet, k + 1, j, np.int64(2))
        for i in range(GHOSTS, GHOSTS if dry else GHOSTS + spec.nx):
            if liquid[k, j, i] > 0.0 or volume[k, j, i] < 1.0:
                continue
            for a in range(spec.dimensions):
                high = wet_mass[a, k + int(a == 2), j + int(a == 1), i + int(a == 0)]
                if wet_mass[a, k, j, i] > 0.0 or high > 0.0:
                    out[k, j, i] = 1


@njit(cache=True, nogil=True)
def _close_air_cells(spec, liquid, edge, inv_mass, area, u, out_known, start, stop):  # type: ignore[no-untyped-def]
    """sum_f phi u = 0 in the air cells beside liquid ones, by their faces towards other air; all their faces are known.

    A face towards other air belongs to one such cell alone, so that no two cells write to the same face.
    """
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if edge[k, j, i] == 0:
                continue
            flux, opening = 0.0, 0.0
            for change in range(2):
                for a in range(spec.dimensions):
                    az, ay, ax = int(a == 2), int(a == 1), int(a == 0)
                    for end in range(2):
                        out = 2 * end - 1
                        kf, jf, jx = k + end * az, j + end * ay, i + end * ax
                        ko, jo, io = k + out * az, j + out * ay, i + out * ax
                        free = inv_mass[a, kf, jf, jx] > 0.0
                        outward = free and liquid[ko, jo, io] == 0.0 and edge[ko, jo, io] == 0
                        if change == 0:
                            flux += out * area[a, kf, jf, jx] * u[a, kf, jf, jx]
                            opening += area[a, kf, jf, jx] if outward else 0.0
                        else:
                            out_known[a, kf, jf, jx] = 1 if free else 0
                            if outward:
                                u[a, kf, jf, jx] -= out * flux / opening


@borrowing
def _mean_across(spec, u, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """Mean of the component b at the four faces about a face of the axis a."""
    ka, ja, ia = int(a == 2), int(a == 1), int(a == 0)
    kb, jb, ib = int(b == 2), int(b == 1), int(b == 0)
    low = u[b, k - ka, j - ja, i - ia] + u[b, k - ka + kb, j - ja + jb, i - ia + ib]
    return 0.25 * (low + u[b, k, j, i] + u[b, k + kb, j + jb, i + ib])


@njit(cache=True, nogil=True)
def _follow_walls(spec, solid, distance, wall, u, out, start, stop):  # type: ignore[no-untyped-def]
    """out = u - n n.(u - v) at faces inside solids where that is outward: walls that move at v give no water."""
    rows_y = spec.ny + 1
    for row in range(start, stop):
        k = row // rows_y + GHOSTS
        j = row % rows_y + GHOSTS
        for a in range(spec.dimensions):
            for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                if distance[a, k, j, i] >= 0.0:
                    continue
                kl, jl, il = k - int(a == 2), j - int(a == 1), i - int(a == 0)
                square, across, own = 0.0, 0.0, 0.0
                for b in range(spec.dimensions):
                    kb, jb, ib = int(b == 2), int(b == 1), int(b == 0)
                    if b == a:
                        n = solid[k, j, i] - solid[kl, jl, il]
                        speed = u[a, k, j, i]
                        own = n
                    else:
                        n = solid[k + kb, j + jb, i + ib] - solid[k - kb, j - jb, i - ib]
                        n = 0.25 * (n + solid[kl + kb, jl + jb, il + ib] - solid[kl - kb, jl - jb, il - ib])
                        speed = _mean_across(spec, u, a, b, k, j, i)
                    square += n * n
                    across += n * (speed - 0.5 * (wall[b, k, j, i] + wall[b, kl, jl, il]))
                if across > 0.0:
                    out[a, k, j, i] = u[a, k, j, i] - own * across / square
