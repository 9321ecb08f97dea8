"""A liquid under a free surface: level set, particles and volume tracking, which the flow carries along.

    phi_t + u.grad phi = 0

The surface moves with a velocity that goes on into the air and into solids; what it makes or loses is tracked
(``fluid.volume_tracking``) and given back as sources of the next projection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from undertow.errors import PhysicsError, UserError
from undertow.fluid import measure
from undertow.fluid.advected import Extent, FieldContext
from undertow.fluid.along_interface import follow_interface
from undertow.fluid.contact_line import ContactLines
from undertow.fluid.domain import FluidDomain
from undertow.fluid.drawing import drawn_surface
from undertow.fluid.free_surface import FreeSurface, is_dry
from undertow.fluid.shells import ShellSides
from undertow.fluid.surface_phase import SurfacePhase
from undertow.fluid.tension import SurfaceTension
from undertow.fluid.tension_rows import TensionRows
from undertow.fluid.volume_tracking import VolumeTracker
from undertow.fluid.waters import BodyOfWater
from undertow.geometry import Solid
from undertow.geometry.solids import mean_of_corners
from undertow.geometry.thin import ThinWalls
from undertow.grid import GHOSTS, Array, Grid, share, share_face_rows, share_rows
from undertow.grid.jitting import borrowing
from undertow.part import VOLUME, Limit, Quantity
from undertow.surface import Surface
from undertow.surface.contact_angle import NONE_GIVEN, SolidAngles, cosines_of
from undertow.transport import Extrapolation

AIR_LAYERS = 4
"""Layers of faces in air and solids that get the liquid's velocity: what its transport reads. As many layers of cells
have the values of the liquid beside them: where it may be in the next step."""

SURFACE_LAYERS = 5
"""The same for the velocity that moves the surface: as far as the level set and its particles reach."""

SLIVER = 0.1
"""Faces with a smaller open part take their neighbours' velocity: that of water in a narrow gap must not spread."""

SHORTEST = 0.01
"""Errors of the volume are corrected over no less than this, in units of sqrt(dx / g): a step of no length, to a time
that a user asks for, would need an endless velocity."""

STRAY_DEPTH = 0.1
"""Particles of the air that are deeper than this in the water are dropped [cells]: their smallest radius."""

INSIDE = 2.5
"""So far water that begins where a solid ends goes on inside it [cells]."""

MOVED = 0.02
"""Surfaces that are put on walls from further away are made distances at once [cells]."""

NEXT, NEAR, AIR, WATER = np.int64(1), np.int64(2), np.int64(1), np.int64(-1)
"""Where cells inside solids look for air and for water [cells], and for which of them."""


@dataclass(frozen=True)
class WaterEmitter:
    """A region that is kept full of water moving at ``velocity`` [m/s] while it is on.

    distance_c (Z, Y, X): signed distance to the region at cell centres, ghosts included [m].
    """

    name: str
    distance_c: Array
    velocity: tuple[float, float, float]
    start: float = 0.0
    stop: float = np.inf

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


MakePhase = Callable[[FluidDomain, Array, tuple[float, float, float]], SurfacePhase]
"""What makes the phase of a domain, a level set and gravity."""


class LiquidSurface(Extent):
    """The liquid of a flow: where it is, what fills and drains it, and what of its volume the level set has lost.

    ``surface`` holds the liquid of time 0. volume_bound: part of the volume beyond which a loss or gain stops the run.
    make_phase: of solids that are liquid to the pressure the phase knows (``SurfacePhase.displaced``), and the surface
    keeps out of them. hidden: solids that are not drawn, inside which no liquid is drawn either. make_tracker: how
    the volume is tracked. tension: of the surface [N/m]. contact_angles: of solids by name [degrees].
    Without viscosity walls should slip.
    """

    def __init__(
        self,
        context: FieldContext,
        surface: Surface,
        emitters: Sequence[WaterEmitter] = (),
        sources: Sequence[VolumeSource] = (),
        volume_bound: float = np.inf,
        make_phase: MakePhase = FreeSurface,
        hidden: Sequence[Solid] = (),
        make_tracker: Callable[[Grid], VolumeTracker] = VolumeTracker,
        tension: float = 0.0,
        contact_angles: Mapping[str, float] = NONE_GIVEN,
        implicit_tension: bool = False,
    ) -> None:
        domain, grid = context.domain, context.grid
        self.grid, self.domain, self.sides, self.advection = grid, domain, domain.sides, context.advection
        self.surface, self.phi_c = surface, surface.phi_c
        self.emitters, self.sources = tuple(emitters), tuple(sources)
        self.volume_bound = volume_bound
        self.phase: SurfacePhase = make_phase(domain, surface.phi_c, context.settings.gravity)
        if tension > 0.0:
            self.phase.tensions = (SurfaceTension(domain, surface.phi_c, tension),)
            if implicit_tension:
                self.phase.folded = (TensionRows(self.phase.tensions[0]),)
        self.solids = domain.solids
        self._all_solids = [fields for fields in (domain.solids, *self.phase.displaced) if fields is not None]
        self.thin = [ThinWalls(fields) for fields in self._all_solids]
        self.extrapolation = Extrapolation(grid, domain.sides)
        self.tracker = make_tracker(grid)
        self.shells: ShellSides | None = None
        self.row_c = context.scratch_c[1]
        self.row_f = self.advection.scratch_f
        self.wet_f = np.zeros((3, *grid.padded), dtype=np.uint8)
        self.no_faces = np.zeros(0, np.int64)
        self.no_field_f, self.no_field_c = np.zeros((0, 0, 0, 0)), np.zeros((0, 0, 0))
        self.open_c = np.ones(grid.padded, dtype=np.uint8)
        self.was_open_c = np.ones(grid.padded, dtype=np.uint8)
        self.edge_c = np.zeros(grid.padded, dtype=np.uint8)
        self.solid_c = grid.cell_field() if self._all_solids else None
        self.was_solid_c = grid.cell_field() if self._all_solids else None
        self.emitted_volume = self.start_volume = 0.0
        self.hidden = tuple(hidden)
        names = () if self.solids is None else self.solids.names
        self.angles = SolidAngles(grid, cosines_of(names, contact_angles))
        if self.solids is not None and tension > 0.0:
            sides = surface.level_set.angles.cosines()
            self.phase.lines = (ContactLines(surface.phi_c, self.solids, tension, self.angles.cosine, sides),)
        if self.angles.are_given:
            self.phase.adhesion = np.nan_to_num(tension * (1.0 + self.angles.cosine) / grid.dx)
        self.lowest = measure.Rest(np.zeros(3), np.zeros(3))
        """Against which potential energy counts."""

    def start(self) -> None:
        if self.solids is not None and self.solids.occlusion is not None:
            self.shells = ShellSides(self.advection, self.solids, self.surface)
            self.extrapolation = self.shells.extrapolation
        self._meet_solids()
        # the volume correction keeps what is outside the solids
        self.surface.target_volume = self.start_volume = self.volume()
        self._measure_waters()
        self.lowest = self._lie_down()
        self._check_regions()

    def _meet_solids(self) -> None:
        """Water that begins where a solid ends goes on inside it, so that no air lies between the two.

        Where the edge of the water lies along a solid, phi is that of INSIDE cells farther into the water, sideways and
        up: the surface goes on into the solid as it is beside it. Cells of a thin solid that open to the air beyond it
        keep theirs.
        """
        if self.solid_c is None:
            return
        grid, surface = self.grid, self.surface
        phi, reach = surface.phi_c, INSIDE * grid.dx
        inside = (self.open_c == 0) | (self.domain.volume_c < 0.5)
        outward = np.zeros((3, *grid.padded))
        for axis in grid.axes:
            outward[axis] = np.gradient(phi, grid.dx, axis=2 - axis)
        outward /= np.maximum(np.sqrt((outward**2).sum(axis=0)), 1e-300)
        at = np.indices(grid.padded, dtype=float)[::-1]
        # a little beyond the nearest point of the edge
        beyond = at + outward * ((0.6 - phi / grid.dx)[None])
        near = np.abs(phi) <= reach
        along = np.zeros(grid.padded, dtype=bool)
        along[near] = _sample(inside.astype(float), beyond[:, near], 0) > 0.5
        size = float(np.linalg.norm(self.phase.gravity))
        if size > 0.0:
            down = np.array(self.phase.gravity).reshape(3, 1, 1, 1) / size
            outward -= down * np.minimum((outward * down).sum(axis=0), 0.0)
        length = np.sqrt((outward**2).sum(axis=0))
        chosen = along & (length > 0.3) & (inside | (phi <= 0.0)) & self.interior_c
        source = at[:, chosen] - INSIDE * outward[:, chosen] / length[chosen]
        found = phi.copy()
        found[chosen] = np.minimum(phi[chosen], _sample(phi, source, 1))
        dry = self._opens_to_air(phi) & inside & (found <= 0.0)
        found[dry] = phi[dry]
        if np.any((found <= 0.0) & (phi > 0.0)):
            np.copyto(phi, found)
            surface.rebuild()
        self._meet_at_angles()
        surface.level_set.fill_ghosts(phi)

    def _opens_to_air(self, phi: Array) -> np.ndarray:
        """Cells with open faces, none of them to a cell of water whose centre is outside solids."""
        area = self.domain.area_f
        is_open, wet = np.zeros((2, *self.grid.padded), dtype=bool)
        water = (phi <= 0.0) & (self.open_c == 1)
        for axis in self.grid.axes:
            for end in (0, 1):
                through = np.roll(area[axis], -end, axis=2 - axis) > 0.0
                is_open |= through
                wet |= through & np.roll(water, 1 - 2 * end, axis=2 - axis)
        return is_open & ~wet

    def _lie_down(self) -> measure.Rest:
        """The liquid of now at rest around the solids of now, by the parts of cells that the ledger sums."""
        open_c = self._open_volume().copy()
        inside = self.grid.interior
        part = np.clip(0.5 - self.surface.phi_c[inside] / self.grid.dx, 0.0, 1.0)
        volume = float((part * open_c[inside]).sum()) * self.grid.cell_volume
        return measure.liquid_at_rest(self.phase, volume, open_c)

    def _measure_waters(self) -> None:
        """Of a surface that did not get where it is by a step."""
        self.tracker.measure(self.surface, self.solid_c, self.open_c, self.row_c)
        self._find_waters()

    def _find_waters(self) -> None:
        work_f = self.advection.scratch_f
        self.tracker.find_waters(self.surface, self.open_c, self.domain.area_f, self._closed_f, work_f)

    @property
    def _closed_f(self) -> Array:
        """Open parts of the faces between solids that are liquid to the pressure; empty without any."""
        return self.phase.displaced[0].area_f if self.phase.displaced else self.no_field_f

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
            if source.rate < 0.0 and not (cells & (self.surface.phi_c[inside] <= 0.0)).any():
                raise UserError(f"drain '{source.name}' holds no water at the start: move it under the surface")

    # state ----------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        emitted = np.array([self.emitted_volume])
        start, source_c = np.array([self.start_volume]), self.phase.source_c
        parted: dict[str, Array] = {"parted_c": self.phase.parted_c}  # type: ignore[dict-item]
        own = {"emitted_volume": emitted, "start_volume": start, "volume_source_c": source_c, **parted}
        rest = {"rest_place": self.lowest.place, "rest_moment": self.lowest.moment}
        return {**own, **rest, **self.tracker.arrays(), **self.surface.arrays()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        self.emitted_volume, self.start_volume = (float(arrays[f"{key}_volume"][0]) for key in ("emitted", "start"))
        self.lowest = measure.Rest(np.array(arrays["rest_place"]), np.array(arrays["rest_moment"]))
        self.surface.restore(dict(arrays))
        self.tracker.restore(arrays)
        self.phase.source_c[...] = arrays["volume_source_c"]
        self.phase.restore_parted(arrays["parted_c"])

    def resume(self) -> None:
        if self.shells is not None:
            self.shells.start()
            self.surface.look()
        self._measure_waters()

    def recall(self) -> None:
        if self.shells is not None:
            self._mark_wet_faces(self.no_field_f, self.no_field_f)
            self.shells.know(self.solve.carried(), self.wet_f)

    # the verbs of a step --------------------------------------------------------------------------------------------

    def emit(self, time: float, u_f: Array) -> None:
        """Fill the regions of the emitters and set their velocity."""
        self.part_from_walls()
        surface = self.surface
        on = [emitter for emitter in self.emitters if emitter.is_on(time)]
        self.tracker.skip([emitter.distance_c for emitter in on])
        if not on:
            return
        surface.level_set.fill_ghosts(surface.phi_c)
        before = self.volume()
        for emitter in on:
            np.minimum(surface.phi_c, emitter.distance_c, out=surface.phi_c)
            for axis in self.grid.axes:
                inside = self.grid.interior_faces(axis)
                np.copyto(u_f[axis][inside], emitter.velocity[axis], where=emitter.faces[axis][inside])
        surface.rebuild()
        self.tracker.measure(surface, self.solid_c, self.open_c, self.row_c)
        self.count_volume(self.volume() - before)
        self.sides.exchange.fill(u_f)

    def see_thin(self, two_sided: bool) -> None:
        """Rigid ones that close faces; surfaces of nodes that are cut exactly hide nothing. All are seen in ``start``,
        once they are in their places."""
        if self.solids is not None:
            self.solids.hide_thin(closing=True)

    def move_walls(self, time: float) -> bool:
        np.copyto(self.was_open_c, self.open_c)
        if self.solid_c is not None and self.was_solid_c is not None:
            np.copyto(self.was_solid_c, self.solid_c)
        changed = [fields.update(time) for fields in self._all_solids]
        if self.solids is not None and changed[0]:
            self.domain.rebuild()
            self.tracker.find_components(self.domain.area_f, self.domain.volume_c)
        if any(changed):
            self._see_solids()
        return True

    def _see_solids(self) -> None:
        """Distance of all solids at cell centres and which centres are outside."""
        assert self.solid_c is not None
        pz, py, _ = self.grid.padded
        outs = [(self.solid_c, self.open_c), (self.row_c, self.edge_c)]
        for found, (distance_c, open_c) in zip(self._all_solids, outs, strict=False):
            share(_average_nodes, pz * py, self.grid.cell_count, self.grid.spec, found.phi_n, distance_c, open_c)
        if len(self._all_solids) == 2:
            np.minimum(self.solid_c, self.row_c, out=self.solid_c)
            np.minimum(self.open_c, self.edge_c, out=self.open_c)
        if self.solids is not None and self.solids.closing is not None:
            self.solids.closing.fill(self.solids, self.solid_c, self.open_c)
        # as phi: what is below a solid that lies on the floor is not outside it
        self.surface.level_set.mirror(self.solid_c)

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        """The surface moves, and with it the volume that it should have."""
        surface, displaced = self.surface, self.phase.displaced
        self.continue_velocity(by_f, work_f)
        area_f, closed_f = self.domain.area_f, self._closed_f
        area = area_f.reshape(-1)
        closed = self.no_faces if self.shells is None else self.shells.closed
        opened = area[closed]
        # what thin solids have passed over was on the far side of them
        area[closed] = 0.0
        self.tracker.advect(surface.phi_c, work_f, dt, area_f, closed_f)
        area[closed] = opened
        if self.shells is not None:
            self.shells.push_ahead(self.tracker.tracked_c)
        parted, gap = self._leave_thin(work_f, dt)
        self.advance_surface(work_f, dt)  # phi_t + u.grad phi = 0
        self._open_thin(parted, gap)
        self.drop_stray_air()
        self.extend_into_solids()
        self.tracker.collect(surface)
        if not displaced and self.solid_c is not None:
            # the tracker knows nothing of cells that a solid has just left
            np.minimum(self.was_open_c, self.open_c, out=self.was_open_c)
            self.tracker.remove_spurious(surface, self.solid_c, self.was_open_c, self.row_c)
        self.count_volume(
            self.tracker.redistribute(surface, work_f, self.solid_c, self.open_c, area_f, closed_f, self.row_c)
        )
        self._find_waters()

    def advance_surface(self, by_f: Array, dt: float) -> None:
        """Along by_f, which goes on beyond the liquid."""
        if self.phase.folded:
            np.copyto(self.row_f, by_f)
            follow_interface(self.grid, self.surface.phi_c, self.row_f, by_f)
            self.sides.exchange.fill(by_f)
        self.surface.advance(by_f, dt, self.solid_c, self.phase.gravity, self.was_solid_c)

    def transport_velocity(self, u_f: Array, by_f: Array, dt: float, out_f: Array) -> None:
        near_c = None if self.phase.displaced else self.surface.phi_c
        self.advection.velocity(u_f, by_f, dt, out_f, near_c)
        self.advection.leave_uncorrected(self.surface.phi_c, out_f)

    def sweep(self, u_f: Array, values_c: Array, rest: tuple[float, ...], dt: float) -> bool:
        if self.shells is None:
            return False
        self.shells.uncover(u_f, values_c, rest, dt)
        return True

    def drop_stray_air(self) -> None:
        """Remove the particles of the air that have got into the water, now that they have repaired phi once.

        They ride on a velocity that is made up a cell away from the water. Where sheets of water meet, those that are
        left behind inside would go on taking volume away: 11% of a dam break after its impact, 3% without them.
        """
        self.surface.particles.drop_escaped_air(self.surface.phi_c, STRAY_DEPTH * self.grid.dx)

    def extend_into_solids(self) -> None:
        """Centres just inside solids are water where there is water beside them, and air where it is far from any.

        So no film of air lets pressure out through cut cells, and a solid that leaves the water takes none along. All
        other values stay: the level set of still water around solids keeps its bits.
        """
        if self.solid_c is None:
            return
        phi, extended = self.surface.phi_c, self.no_field_c
        if self.shells is not None:
            extended = self.row_c
            np.copyto(extended, phi)
            self.extrapolation.centred(extended, self.open_c, 1)
        share_rows(
            self.grid, _follow_outside, extended, self.domain.area_f, self.open_c, self.solid_c, self.phase.marked_c(),
            phi,
        )  # fmt: skip
        self._meet_at_angles()
        self.surface.level_set.fill_ghosts(phi)

    def _meet_at_angles(self) -> None:
        """The surface goes on into solids at their contact angles."""
        if self.solids is not None and self.solid_c is not None and self.angles.are_given:
            surface = self.surface
            self.angles.extend(
                surface.phi_c, self.solid_c, self.open_c, self.solids.body_c, renewed=surface.moved == 0.0
            )  # fmt: skip

    def after_solve(self) -> None:
        """Walls that the water has left are dry, and those that it comes back to are wet again."""
        phase = self.phase
        if not (len(phase.open_cells) or len(phase.marked)):
            return
        before = phase.marked[phase.parted_c.reshape(-1)[phase.marked] == 1]
        stays = np.zeros(0, np.int64)
        if self.solid_c is not None:
            stays = self._find_dry(phase.wall_cells.around(np.union1d(before, phase.open_cells)))
        phase.mark_parted(np.union1d(phase.open_cells, stays), before)

    def part_from_walls(self) -> None:
        """The surface is on the walls that the water has left, before it moves on: that far no volume changes."""
        phase, phi = self.phase, self.surface.phi_c.reshape(-1)
        cell = phase.marked[phase.parted_c.reshape(-1)[phase.marked] == 1]
        cell = cell[phi[cell] <= 0.0]
        if not len(cell):
            return
        assert self.solid_c is not None
        solid = self.solid_c.reshape(-1)
        room, around = self._room(cell), phase.wall_cells.around(cell)
        inside = around[solid[around] < 0.0]
        phi[inside] = np.maximum(phi[inside], -solid[inside])
        changed = phi[cell] < -room - MOVED * self.grid.dx
        phi[cell] = np.maximum(phi[cell], -room)
        if changed.any():
            self.surface.level_set.redistance(self.surface.phi_c)
            self._hold_thin(cell, -room)

    def _room(self, cell: np.ndarray) -> Array:
        """Distance of the centres of cells (k,) from all solids [m]."""
        assert self.solid_c is not None
        room = self.solid_c.reshape(-1)[cell]
        if self.solids is not None and self.solids.closing is not None:
            thin = np.flatnonzero(self.solids.closing.are_beside(self.solids, cell))
            room[thin] = np.minimum(room[thin], self.solids.closing.distance(self.solids, cell[thin]))
        return np.asarray(room)

    def _leave_thin(self, u_f: Array, dt: float) -> tuple[np.ndarray, Array]:
        """Cells (k,) beside thin solids that the water leaves, and phi + dt (u - v).n [m] in them: nothing is seen
        behind such a wall, and what is there moves away from it."""
        none = np.zeros(0, np.int64), np.zeros(0)
        if self.shells is None or self.solids is None or self.solids.closing is None:
            return none
        phase = self.phase
        cell = phase.marked[phase.parted_c.reshape(-1)[phase.marked] == 1]
        cell = cell[(self.open_c.reshape(-1)[cell] == 1) & (self.surface.phi_c.reshape(-1)[cell] <= 0.0)]
        cell = cell[self.solids.closing.are_beside(self.solids, cell)]
        if not len(cell):
            return none
        normal = self.solids.closing.normals(self.solids, cell)
        away = np.zeros(len(cell))
        for axis in self.grid.axes:
            u, v = u_f[axis].reshape(-1), self.solids.velocity_c[axis].reshape(-1)
            both = np.stack([cell, cell + int(np.prod(self.grid.padded[3 - axis :]))])
            weight = (self.domain.area_f[axis].reshape(-1)[both] > 0.0) + 1e-12
            away += normal[:, axis] * ((weight * u[both]).sum(axis=0) / weight.sum(axis=0) - v[cell])
        return cell, self.surface.phi_c.reshape(-1)[cell] + dt * away

    def _open_thin(self, cell: np.ndarray, gap: Array) -> None:
        """phi of cells beside thin walls is at least ``gap``, and what is inside of these walls is air."""
        if not len(cell):
            return
        assert self.solid_c is not None
        phi, solid = self.surface.phi_c.reshape(-1), self.solid_c.reshape(-1)
        around = self.phase.wall_cells.around(cell)
        inside = around[solid[around] < 0.0]
        phi[inside] = np.maximum(phi[inside], -solid[inside])
        changed = phi[cell] < gap - MOVED * self.grid.dx
        phi[cell] = np.maximum(phi[cell], gap)
        if changed.any():
            self.surface.level_set.redistance(self.surface.phi_c)
            self._hold_thin(cell, gap)

    def _hold_thin(self, cell: np.ndarray, least: Array) -> None:
        """Distances are not measured through thin solids: beside them the surface on a wall is known from phi alone."""
        if self.solids is not None and self.solids.closing is not None:
            phi, thin = self.surface.phi_c.reshape(-1), self.solids.closing.are_beside(self.solids, cell)
            phi[cell[thin]] = np.maximum(phi[cell[thin]], least[thin])

    def _find_dry(self, cell: np.ndarray) -> np.ndarray:
        """Those of cells near walls that the water has left where there is a gap between it and the wall."""
        phi, walls = self.surface.phi_c.reshape(-1), self.phase.wall_cells
        assert self.solid_c is not None
        cell = cell[phi[cell] > 0.0]
        cell = cell[phi[cell] > -self._room(cell)]
        cell = cell[walls.are_cut(cell)]
        return np.asarray(cell[(phi[cell[:, None] + walls.offsets] <= 0.0).any(axis=1)])

    def add_sources(self, time: float, dt: float) -> None:
        """Rates that correct the volume, and those of volume sources, spread evenly over the liquid cells of their
        regions."""
        phase = self.phase
        g = float(np.linalg.norm(self.phase.gravity))
        shortest = SHORTEST * np.sqrt(self.grid.dx / g) if g > 0.0 else 0.0
        self.tracker.rates(max(dt, shortest), phase.source_c)
        if phase.displaced:
            # bodies are liquid to the solve, but no water
            phase.source_c *= self.open_c
        for source in self.sources:
            if source.is_on(time):
                cells = source.inside_c & (phase.phi_c <= 0.0) & (self.open_c == 1)
                cells &= self.interior_c
                count = int(np.count_nonzero(cells))
                if count:
                    self.make_volume(cells, source.rate / count, dt)
                    self.count_volume(source.rate * dt)

    def make_volume(self, cells: tuple[Array, ...] | np.ndarray, rate: Array | float, dt: float) -> None:
        """Liquid cells, given as an index into fields, make volume at a rate each [m3/s; 2D m2/s] in a step of dt [s];
        who asks for it counts it."""
        self.phase.source_c[cells] += rate
        # the flux of the next step takes it out again
        self.tracker.expect(cells, rate * dt / self.grid.cell_volume)

    def count_volume(self, volume: float) -> None:
        """Note that sources added a volume [m^3]: the volume correction, where it is on, must not undo it."""
        self.emitted_volume += volume
        self.surface.target_volume += volume

    @cached_property
    def interior_c(self) -> np.ndarray:
        """True in interior cells."""
        inside = np.zeros(self.grid.padded, dtype=bool)
        inside[self.grid.interior] = True
        return inside

    def extrapolate(self, u_f: Array) -> None:
        """Velocities of the water go into air and solids, layer by layer."""
        self._know_wet_faces(u_f)
        if self.shells is not None:
            self.solve.set_carried(u_f)
        self.extrapolation.velocity(u_f, self.wet_f, AIR_LAYERS)

    def extrapolate_rate(self, a_f: Array) -> None:
        self._know_wet_faces(a_f)
        self.extrapolation.velocity(a_f, self.wet_f, AIR_LAYERS)

    def _know_wet_faces(self, u_f: Array) -> None:
        """Where values come from; they are cleared elsewhere."""
        self._mark_wet_faces(u_f, self.no_field_f)
        for fields in self.phase.displaced:
            self.wet_f *= fields.area_f >= SLIVER
        if self.shells is not None:
            self.shells.know(self.solve.carried(), self.wet_f)

    def continue_velocity(self, u_f: Array, out_f: Array) -> None:
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
        for fields in phase.displaced:
            # what moves with a body would take the water's edge along
            self.wet_f *= fields.area_f >= SLIVER
        share_rows(
            self.grid, _mark_edge_cells, phase.wet_rows, phase.liquid_c, phase.inv_mass_f, d.volume_c, self.edge_c
        )  # fmt: skip
        share_rows(
            self.grid, _close_air_cells, phase.liquid_c, self.edge_c, d.inv_mass_f, d.area_f, out_f, self.wet_f
        )  # fmt: skip
        self.extrapolation.velocity(out_f, self.wet_f, SURFACE_LAYERS - 1)
        if self.solids is not None:
            share_face_rows(
                self.grid, _follow_walls, self.solid_c, self.solids.distance_f, self.solids.inner_c,
                self.phase.marked_c(), u_f, out_f,
            )  # fmt: skip
        self.sides.exchange.fill(out_f)

    def _mark_wet_faces(self, u_f: Array, out_f: Array) -> None:
        """Where the water gives the velocity; u goes to ``out_f``, or, if that is empty, is cleared elsewhere."""
        phase = self.phase
        share_face_rows(
            self.grid, _mark_wet_faces, phase.wet_rows, phase.inv_mass_f, self.domain.area_f, u_f, out_f, self.wet_f
        )  # fmt: skip

    def extend_cells(self, values_c: Array) -> None:
        """Into air and solids."""
        known = self.edge_c.view(bool)
        np.less_equal(self.surface.phi_c, 0.0, out=known)
        np.logical_and(known, self.open_c, out=known)
        self.extrapolation.centred(values_c, self.edge_c, AIR_LAYERS)

    def shown(self, values_c: Array, rest: float) -> Array:
        return np.where(self.surface.phi_c <= 0.0, values_c, rest)

    def inside(self, cells: np.ndarray) -> np.ndarray:
        return np.asarray(cells & (self.surface.phi_c <= 0.0))

    # what is asked of it --------------------------------------------------------------------------------------------

    def limits(self) -> Iterator[Limit]:
        """The shortest waves are stable, those of gravity and those of tension.

        Surface and velocity are advanced one after the other, which is stable for omega dt < 2; the shortest wave of
        the grid has omega^2 = pi |g| / dx.
        """
        g = float(np.linalg.norm(self.phase.gravity))
        if g > 0.0:
            yield Limit("surface_waves", float(np.sqrt(self.grid.dx / g)), "cfl")
        for tension in self.phase.tensions:
            box = self.grid.dx**3
            if not self.phase.folded or not all(rows.complete for rows in self.phase.folded):
                yield tension.limit(self.phase.mass_of(box) + self.phase.of_air(box))

    def end_step(self, time: float) -> None:
        """Water lost or gained beyond the bound stops the run."""
        bound = self.volume_bound
        wanted = self.start_volume + self.emitted_volume
        found = self.volume() + self.surface.spray.total_volume if np.isfinite(bound) else wanted
        if abs(found - wanted) > bound * wanted:
            raise PhysicsError(
                f"the water has {found:.4g} of {wanted:.4g} m{self.grid.dimensions} at t = {time:.6g} s, off by more "
                f"than surface.volume_bound = {bound:g}; raise the resolution, lower time.cfl, or set "
                f"surface.volume_correction"
            )

    def frames(self, u_f: Array) -> list[object]:
        surface = drawn_surface(self, u_f)
        return [] if surface is None else [surface]

    def cells(self) -> dict[str, Array]:
        return {"level_set": self.surface.phi_c}

    def volume(self) -> float:
        """Volume of the water outside the solids by the level set, without spray [m^3; 2D m^2]."""
        return self.surface.volume(self.solid_c)

    def bodies_of_water(self) -> list[BodyOfWater]:
        return self.tracker.waters.largest(self.tracker.waters.count)

    def fluid_part(self, out_c: Array) -> None:
        """As the sums of the ledger: 1/2 - phi / dx between 0 and 1, times what is outside solids."""
        np.multiply(self.surface.phi_c, -1.0 / self.grid.dx, out=out_c)
        out_c += 0.5
        np.clip(out_c, 0.0, 1.0, out=out_c)
        out_c *= self.domain.volume_c

    def leak(self, u_f: Array) -> float:
        return sum(thin.leak(u_f, self.surface.phi_c) for thin in self.thin)

    def sums(self, u_f: Array) -> Iterator[Quantity]:
        yield Quantity("fluid_volume", self.volume(), VOLUME)
        yield Quantity("spray_volume", self.surface.spray.total_volume, VOLUME)
        yield from measure.liquid_sums(self.phase, self.surface.phi_c, self._open_volume(), u_f, self.lowest)
        for tension in self.phase.tensions:
            yield from tension.quantities()
        yield Quantity("emitted_volume", self.emitted_volume, VOLUME)
        yield from self.tracker.quantities()
        yield from self.tracker.waters.quantities()

    def _open_volume(self) -> Array:
        """Part of each cell outside all solids (Z, Y, X)."""
        if not self.phase.displaced:
            return self.domain.volume_c
        np.add(self.domain.volume_c, self.phase.displaced[0].volume_c, out=self.row_c)
        self.row_c -= 1.0
        return np.maximum(self.row_c, 0.0, out=self.row_c)


def _sample(values_c: Array, at: Array, order: int) -> Array:
    """Values (n,) at places at (3, n) in the indices (x, y, z) of cells; order 0: of the nearest cell, 1: linear."""
    from scipy.ndimage import map_coordinates

    return np.asarray(map_coordinates(values_c, at[::-1], order=order, mode="nearest"))


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
def _parted_near(spec, parted, k0, j0, i0):  # type: ignore[no-untyped-def]
    """1 beside a wall that is dry because water has left it, 2 beside one that it has come back to, else 0."""
    if parted.size == 0:
        return 0
    found = 0
    over = 1 if spec.dimensions == 3 else 0
    for k in range(k0 - over, k0 + over + 1):
        for j in range(j0 - 1, j0 + 2):
            for i in range(i0 - 1, i0 + 2):
                if parted[k, j, i] == 1:
                    return 1
                if parted[k, j, i] == 2:
                    found = 2
    return found


@borrowing
def _continue_inward(spec, area, open_c, phi, k, j, i):  # type: ignore[no-untyped-def]
    """Mean of phi over the neighbours whose centre is outside solids, those across open faces if there are any: the
    others are on the far side of a thin solid; phi itself without any."""
    total, known, through, reached = 0.0, 0, 0.0, 0
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
                if area[a, k + end * int(a == 2), j + end * int(a == 1), i + end * int(a == 0)] > 0.0:
                    through += phi[kn, jn, im]
                    reached += 1
    if reached > 0:
        return through / reached
    return total / known if known > 0 else phi[k, j, i]


@njit(cache=True, nogil=True)
def _follow_outside(  # type: ignore[no-untyped-def]
    spec, extended, area, open_c, solid, parted, phi, start, stop
):
    """In cells inside solids, e being the value continued from outside: e if all around is water, at least e - dx, and
    e if that is air and no water is within two cells: then the surface inside a thin wall has drifted through it.

    Deeper cells, into which nothing outside goes on, are air as far as they are deep where air is within two cells and
    no water within three: what was there has fallen off the solid.

    Walls that the water has left, parted = 1, stay dry as long as they are further from the water than from outside the
    solid. Where it is back, and beside walls that were dry before the last solve, parted = 2, it is water again.

    extended: the values e where shells hide neighbours, else empty: one layer, from neighbours that are left alone.

    Beside a contact line the surface inside the solid is the continuation of that outside and stays.
    """
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            if open_c[k, j, i] == 1:
                continue
            near = _parted_near(spec, parted, k, j, i)
            if near == 1 and phi[k, j, i] > -solid[k, j, i]:
                continue
            e = extended[k, j, i] if extended.size > 0 else _continue_inward(spec, area, open_c, phi, k, j, i)
            left = e <= 0.0 and phi[k, j, i] <= 0.0 and _is_beside(spec, phi, open_c, k, j, i, NEAR, AIR)
            if left and not _is_beside(spec, phi, open_c, k, j, i, NEAR + 1, WATER):
                phi[k, j, i] = -solid[k, j, i]
            elif near > 0 and e <= 0.0:
                phi[k, j, i] = e
            elif e > 0.0:
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
def _follow_walls(spec, solid, distance, wall, parted, u, out, start, stop):  # type: ignore[no-untyped-def]
    """out = u - n n.(u - v) at faces inside solids where that is outward: walls that move at v give no water, but
    those that the water leaves, parted = 1, follow it."""
    rows_y = spec.ny + 1
    for row in range(start, stop):
        k = row // rows_y + GHOSTS
        j = row % rows_y + GHOSTS
        for a in range(spec.dimensions):
            for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                if distance[a, k, j, i] >= 0.0 or _parted_near(spec, parted, k, j, i) == 1:
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
