"""A weakly compressible SPH fluid in a box, with boundary particles of whatever stands in it.

The step without bodies:

    neighbours                      lists, when points have moved far enough
    density, pressure               (6), Akinci et al. 2012
    boundary                        pressure and velocity extrapolated to boundary particles (Adami et al. 2012)
    forces                          (4), (5)
    v += dt a,  x += dt v           leapfrog; walls of the domain by direct forcing (algorithm 2)

Equation numbers are those of Becker et al. 2009 [@becker2009]. Equation (2) of that paper is not used: with the
constant volumes it proposes the corrected density is sum m W / sum V W = rho0 always, whatever the particles do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import pi, sqrt
from typing import Any

import numpy as np

from undertow.errors import PhysicsError, UserError
from undertow.grid import Array, share
from undertow.sph.dynamics import (
    ACCELERATION,
    CHUNK,
    COLUMNS,
    COUNT,
    DENSITY,
    ESCAPED,
    KINETIC,
    MASS_X,
    MOVED,
    MOVED_WALL,
    POTENTIAL,
    SPEED,
    SPIN_X,
    SUMS,
    _copy_ghosts,
    _drift_points,
    _extrapolate_fluid,
    _kick_points,
    _measure_points,
    _sum_density,
    _sum_forces,
    _sum_reactions,
)
from undertow.sph.kernels import check_dimensions, make_numbers
from undertow.sph.neighbours import GHOST, Neighbours, make_frame
from undertow.sph.periodic import make_ghosts, wrap_points
from undertow.sph.points import BoundarySpec, Points
from undertow.sph.settings import SphSettings, SphTotals
from undertow.sph.sides import OPEN, SphBox
from undertow.sph.tension import SurfaceTension

LEAST_SKIN, MOST_SKIN = 0.03, 0.2
"""Of the lists, in spacings: what points may come nearer to each other before the lists are made anew. Wide lists cost
in every step, narrow ones are made often; the cheapest skin grows with the root of the way in a step. At 0.2495 the
lattice has 24 neighbours more, 96 bytes of every particle."""

SOUND_CFL = 0.4
"""dt <= 0.4 h / (c + v) (Monaghan 1992), h half the radius of the kernel."""

VISCOUS_CFL, ARTIFICIAL_CFL = 0.09, 0.06
"""dt <= 0.09 h^2 / nu: on a lattice the fastest decaying wave is stable up to 0.140 (3D) and 0.180 (2D); with the pairs
of artificial viscosity 0.091 and 0.097."""

FORCE_CFL = 0.25
"""dt <= 0.25 sqrt(h / a) (Monaghan 1992)."""

CAPILLARY_CFL = 0.25
"""dt <= 0.25 sqrt(rho h^3 / (2 pi sigma)) (Brackbill, Kothe and Zemach 1992)."""

DENSEST = 1.5
"""Of the rest density: a fluid compressed beyond this has a sound speed that is far too low."""


class SphFluid:
    """The particles and their step. Add fluid and bodies, then ``begin``."""

    def __init__(self, box: SphBox, settings: SphSettings) -> None:
        check_dimensions(box.dimensions)
        self.box, self.settings = box, settings
        self.dimensions = box.dimensions
        self.spacing = box.spacing
        self.radius = 0.5 * box.spacing
        self.mass = settings.density * box.spacing**box.dimensions
        self.gravity = np.array(settings.gravity, dtype=float)
        self.numbers = make_numbers(
            box.dimensions,
            box.spacing,
            settings.density,
            settings.sound_speed,
            settings.kinematic_viscosity,
            settings.full,
            settings.surface_tension,
            settings.artificial,
        )
        self._next_label = 0
        reach = self.numbers.radius + MOST_SKIN * box.spacing
        margin = np.array([box.margin() if axis < box.dimensions else 0.0 for axis in range(3)])
        frame = make_frame(np.asarray(box.lower) - margin, np.asarray(box.upper) + margin, reach, box.dimensions)
        self.neighbours = Neighbours(frame)
        self.points = Points(np.array([frame.x, frame.y, frame.z]))
        # of the distance of two points by coordinates of single precision
        self._rounding = 2.0**-22 * float(np.linalg.norm(np.subtract(box.upper, box.lower) + 2.0 * margin))
        self._body_points = 0
        self._wall_side = np.zeros(0, dtype=np.int8)
        self.boundary = _make_boundary(0, 0)
        self.walls, self._exit = self._limits_of_box()
        self._partial = np.zeros((0, COLUMNS))
        self._tension = SurfaceTension()
        self._ghost = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros((0, 3)))
        self._stale = True
        # the widest first: there is room for the lists from then on, and memory that is touched first is slow
        self._skin = MOST_SKIN * box.spacing
        self._nearer = 0.0
        self._steps = 0
        self.rebuilds = 0
        self.lost = 0
        self.totals = SphTotals(0, np.zeros(3), np.zeros(3), 0.0, 0.0, 0.0, 0.0, 0.0)

    def _limits_of_box(self) -> tuple[Array, Array]:
        """Lowest and highest coordinate of centres at walls and their restitution (3, 3); where particles leave."""
        walls = np.column_stack([*self.box.room(), np.full(3, self.settings.restitution)])
        leave = np.array([[-np.inf] * 3, [np.inf] * 3])
        for s in range(2 * self.dimensions):
            if self.box.kind[s] == OPEN:
                leave[s % 2, s // 2] = (self.box.lower, self.box.upper)[s % 2][s // 2]
        return walls, leave

    def add_fluid(self, position: Array, velocity: Array) -> None:
        """Particles at (n, 3) [m] with velocities (n, 3) or (3,) [m/s]."""
        position = np.asarray(position, dtype=float)
        if position.ndim != 2 or position.shape[1] != 3:
            raise UserError(f"add_fluid: positions of shape {position.shape}; must be (n, 3)")
        label = self._next_label + np.arange(len(position))
        self._next_label += len(position)
        self.points.append(position, self.mass, np.asarray(velocity, dtype=float), label)
        self._stale = True

    def set_bodies(self, position: Array, volume: Array, stick: Array) -> None:
        """Boundary particles of bodies: (n, 3) [m], volumes (n,) [m3; 2D m2], and 1 where viscous fluid sticks (n,)."""
        self._body_points = len(position)
        wall_position, side = self.box.boundary()
        self._wall_side = side.astype(np.int8)
        walls = len(wall_position)
        self.boundary = _make_boundary(len(position), walls)
        self.boundary.stick[: len(position)] = stick
        self.boundary.stick[len(position) :] = np.array(self.box.stick)[self._wall_side]
        self.boundary.velocity[len(position) :] = np.asarray(self.box.velocity)[self._wall_side]
        self.points.reserve(self.points.count + len(position) + walls)  # and not more, as there is in growing
        label = -1 - np.arange(len(position) + walls)
        self.points.append(position, self.settings.density * np.asarray(volume), np.zeros(3), label[: len(position)])
        self.points.append(wall_position, self.mass, np.zeros(3), label[len(position) :])
        self._stale = True

    def set_side_velocity(self, side: int, velocity: Array) -> None:
        """Velocity (3,) [m/s] of a wall of the domain in its plane."""
        self.boundary.velocity[self._body_points :][self._wall_side == side] = velocity

    def begin(self) -> None:
        """Everything has been added."""
        if len(self.boundary.where) == 0:
            self.set_bodies(np.zeros((0, 3)), np.zeros(0), np.zeros(0))
        if self._next_label == 0:
            raise UserError("sph: there are no particles; give the fluid a region in the domain")
        self.prepare()
        self.accelerate(FORCE_CFL * sqrt(self.smoothing / max(float(np.linalg.norm(self.gravity)), 1.0)))
        self.measure()

    @property
    def count(self) -> int:
        """Points: fluid, boundary particles and ghosts."""
        return self.points.count

    @property
    def smoothing(self) -> float:
        """h [m], half the radius of the kernel."""
        return 0.5 * self.numbers.radius

    @property
    def sound_speed(self) -> float:
        """Of the fluid [m/s]."""
        return self.settings.sound_speed

    def limits(self) -> dict[str, float]:
        """Longest step by each rule [s]."""
        h, totals = self.smoothing, self.totals
        found = {"sound": SOUND_CFL * h / (self.sound_speed + totals.speed)}
        if totals.acceleration > 0:
            found["force"] = FORCE_CFL * sqrt(h / totals.acceleration)
        return found | self._explicit_limits()

    def _explicit_limits(self) -> dict[str, float]:
        """Longest step [s] for the fastest decay by viscosity and the shortest capillary wave."""
        settings, h = self.settings, self.smoothing
        found = {}
        nu = settings.kinematic_viscosity
        if nu > 0:
            found["viscosity"] = (ARTIFICIAL_CFL if settings.artificial else VISCOUS_CFL) * h * h / nu
        if settings.surface_tension > 0:
            found["tension"] = CAPILLARY_CFL * sqrt(settings.density * h**3 / (2.0 * pi * settings.surface_tension))
        return found

    def step(self, dt: float) -> None:
        """One step of dt [s] without moving bodies."""
        self.prepare()
        self.accelerate(dt)
        self.kick(dt)
        self.drift(dt)
        self.measure()
        self.check()

    def refresh(self) -> None:
        """The lists are made anew before the next step, whether points have moved or not."""
        self._stale = True

    def prepare(self) -> None:
        """Neighbours of the points where they are."""
        if self._stale:
            self._rebuild()
        else:
            self._update_ghosts()

    def accelerate(self, dt: float) -> None:
        """Density, pressure, boundary, forces; a step of dt [s] does not matter to a weakly compressible fluid."""
        n, spec, lists = self.count, self.points.spec, self.neighbours.spec
        bodies, boundary = self._body_points, self.boundary
        share(_sum_density, n, 64 * n, self.numbers, spec, lists)
        self._update_ghosts()
        share(_extrapolate_fluid, n, 16 * n, self.numbers, spec, lists, boundary, self.gravity)
        share(_sum_forces, n, 64 * n, self.numbers, spec, lists, boundary, self.gravity)
        self._contract()
        share(_sum_reactions, bodies, 64 * bodies, self.numbers, spec, lists, boundary)

    def _contract(self) -> None:
        """Surface tension among the forces."""
        if self.settings.surface_tension > 0:
            self._tension.add(self.numbers, self.points.spec, self.neighbours.spec, self.count, self._ghost)

    def kick(self, dt: float) -> None:
        """Velocities."""
        share(_kick_points, self.count, self.count, self.points.spec, dt)

    def drift(self, dt: float) -> None:
        """Positions."""
        share(_drift_points, self.count, self.count, self.points.spec, self.walls, dt)

    def move_bodies(self, position: Array, velocity: Array) -> None:
        """Put the boundary particles of bodies to (n, 3) [m], with the velocities of the bodies there (n, 3) [m/s]."""
        where = self.boundary.where[: self._body_points]
        self.points.spec.place[where, :3] = position
        self.boundary.velocity[: self._body_points] = velocity

    def weigh_bodies(self, rows: Any, volume: Array) -> None:
        """Boundary particles of bodies (k,) count with volumes (k,) [m3; 2D m2] from now on."""
        self.points.spec.place[self.boundary.where[rows], 3] = self.settings.density * volume

    @property
    def body_force(self) -> Array:
        """Pressure and viscous force of the fluid on the boundary particles of bodies (n, 6) [N; 2D N/m]."""
        return self.boundary.force[: self._body_points]

    def measure(self) -> SphTotals:
        """Totals; finds out whether the lists still hold and whether particles have left."""
        n = self.count
        chunks = -(-n // CHUNK)
        if chunks > len(self._partial):
            self._partial = np.zeros((2 * chunks, COLUMNS))
        share(_measure_points, chunks, n, self.points.spec, n, self.gravity, self._exit, self._partial)
        sums = self._partial[:chunks, :SUMS].sum(axis=0)
        most = self._partial[:chunks, SUMS:].max(axis=0)
        moved, wall, speed, density, acceleration, escaped = (float(most[c - SUMS]) for c in (
            MOVED, MOVED_WALL, SPEED, DENSITY, ACCELERATION, ESCAPED,
        ))  # fmt: skip
        # boundary particles are listed by fluid alone, so two of them need not be told apart
        self._nearer = sqrt(moved) + sqrt(max(moved, wall))
        self._steps += 1
        self._stale = self._stale or not self._nearer + self._rounding < self._skin
        if escaped:
            self._remove_escaped()
        self.totals = SphTotals(
            int(sums[COUNT]), sums[MASS_X : MASS_X + 3].copy(), sums[SPIN_X : SPIN_X + 3].copy(), float(sums[KINETIC]),
            float(sums[POTENTIAL]), sqrt(speed), sqrt(acceleration), density,
        )  # fmt: skip
        return self.totals

    def check(self) -> None:
        """The fluid must not have been compressed much."""
        ratio = self.totals.density / self.settings.density
        if ratio > DENSEST:
            raise PhysicsError(
                f"sph: the fluid is compressed to {ratio:.2f} times its rest density: the sound speed "
                f"{self.sound_speed:.3g} m/s is too low, or solids leave it no room; set sph.sound_speed to "
                f"{max(10.0 * self.totals.speed, 2.0 * self.sound_speed):.3g}, or give it room"
            )

    def fluid_rows(self) -> Array:
        """Points that are fluid, in the order of their labels."""
        label = self.points.spec.label[: self.count]
        rows = np.flatnonzero(label >= 0)
        return np.asarray(rows[np.argsort(label[rows])])

    def positions(self) -> Array:
        """Of the fluid, in the order of the labels (n, 3) [m]."""
        return self.points.spec.place[self.fluid_rows(), :3]

    def velocities(self) -> Array:
        """Of the fluid, in the order of the labels (n, 3) [m/s]."""
        return self.points.spec.motion[self.fluid_rows(), :3]

    def densities(self) -> Array:
        """Of the fluid, in the order of the labels (n,) [kg/m3]."""
        return self.points.spec.change[self.fluid_rows(), 3]

    def pressures(self) -> Array:
        """Of the fluid, in the order of the labels (n,) [Pa]."""
        rows = self.fluid_rows()
        return np.asarray(self.points.spec.motion[rows, 3] * self.points.spec.change[rows, 3] ** 2)

    def remove(self, chosen: Array) -> int:
        """Take out the points that are chosen (count,); how many."""
        self.points.keep(np.logical_not(chosen))
        self._stale = True
        return int(np.count_nonzero(chosen))

    def _remove_escaped(self) -> None:
        place, label = self.points.spec.place[: self.count, :3], self.points.spec.label[: self.count]
        outside = ((place < self._exit[0]) | (place > self._exit[1])).any(axis=1)
        self.lost += self.remove(outside & (label >= 0))
        self._find_boundary()

    def _rebuild(self) -> None:
        period, points = self.box.period, self.points
        source: Any = np.zeros(0, dtype=np.int64)
        shift = np.zeros((0, 3))
        if period.any():
            points.keep(points.spec.label[: points.count] != GHOST)
            wrap_points(points, self.box)
            source, shift = make_ghosts(points, self.box, 2.0 * (self.numbers.radius + MOST_SKIN * self.spacing))
        self.neighbours.reserve(len(points.spec.label))
        order = points.order
        self.neighbours.sort(points.spec.place, points.count, order)
        if period.any():
            inverse = np.empty(len(order), dtype=np.int64)
            inverse[order] = np.arange(len(order))
            ghosts = np.arange(points.count - len(source), points.count)
            self._ghost = (inverse[ghosts], inverse[source], shift)
        points.permute(order)
        self._choose_skin()
        self._update_lists()
        self.rebuilds += 1
        self._update_ghosts()

    def _choose_skin(self) -> None:
        """Skin of the next lists, by how fast points have come nearer to each other since the last.

        A list of the skin s (in spacings) holds (1 + s / R)^3 of the neighbours and lasts s / m steps, m the way that
        two points come nearer in a step; making it costs about three steps, so that s = 1.4 sqrt(m) is the cheapest by
        volume. The less costs little, and in a fluid at rest the next shell of its lattice, 24 neighbours of no weight
        at 2.236 spacings, stays out.
        """
        if self._steps > 0:
            pace = self._nearer / (self._steps * self.spacing)
            self._skin = min(max(sqrt(pace), LEAST_SKIN), MOST_SKIN) * self.spacing

    def _update_lists(self) -> None:
        spec, n = self.points.spec, self.points.count
        self.neighbours.set_reach(self.numbers.radius + self._skin)
        self.neighbours.build(spec.built, spec.label, n)
        self._find_boundary()
        self._stale = False
        self._steps = 0

    def _find_boundary(self) -> None:
        """The points of the boundary particles."""
        label = self.points.spec.label[: self.count]
        rows = np.flatnonzero((label < 0) & (label != GHOST))
        self.boundary.where[-1 - label[rows]] = rows

    def _update_ghosts(self) -> None:
        n = len(self._ghost[0])
        if n:
            share(_copy_ghosts, n, n, self.points.spec, *self._ghost)

    def arrays(self) -> dict[str, Array]:
        """What evolves, by name; saving and restoring it continues bit for bit."""
        n, spec = self.count, self.points.spec
        index, source, shift = self._ghost
        return {
            "sph_place": spec.place[:n], "sph_velocity": spec.motion[:n], "sph_density": spec.change[:n, 3],
            "sph_built": spec.built[:, :n], "sph_label": spec.label[:n], "sph_ghost_index": index,
            "sph_ghost_source": source, "sph_ghost_shift": shift,
        }  # fmt: skip

    def scalars(self) -> dict[str, Any]:
        """Numbers that evolve."""
        totals = self.totals
        return {
            "speed": totals.speed, "acceleration": totals.acceleration, "next": self._next_label, "lost": self.lost,
            "stale": self._stale, "skin": self._skin, "steps": self._steps,
        }  # fmt: skip

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any]) -> None:
        """Take over what ``arrays`` and ``scalars`` gave."""
        n = len(arrays["sph_label"])
        self.points.reserve(n)
        self.points.count = n
        spec = self.points.spec
        spec.label[:n] = arrays["sph_label"]
        self._skin = float(scalars["skin"])
        # the lists of the place they were made at, in the order that is already theirs
        spec.place[:n, :3], spec.place[:n, 3] = spec.origin + arrays["sph_built"].T, arrays["sph_place"][:, 3]
        self.neighbours.reserve(len(spec.label))
        self.neighbours.sort(spec.place, n, self.points.order)
        spec.built[:, :n] = arrays["sph_built"]
        self._update_lists()
        spec.place[:n], spec.motion[:n], spec.change[:n, 3] = (
            arrays["sph_place"], arrays["sph_velocity"], arrays["sph_density"],
        )  # fmt: skip
        self._ghost = tuple(np.array(arrays[f"sph_ghost_{key}"]) for key in ("index", "source", "shift"))  # type: ignore[assignment]
        self._next_label, self.lost = int(scalars["next"]), int(scalars["lost"])
        self.measure()
        self._stale, self._steps = bool(scalars["stale"]), int(scalars["steps"])
        totals = self.totals
        self.totals = SphTotals(
            totals.particles, totals.momentum, totals.angular_momentum, totals.kinetic, totals.potential,
            float(scalars["speed"]), float(scalars["acceleration"]), totals.density,
        )  # fmt: skip

    def take_fluid(self, before: SphFluid) -> None:
        """Go on with the particles of another fluid, among the own boundary particles."""
        label, rows, spec = self.points.spec.label[: self.count], before.fluid_rows(), before.points.spec
        self.points.keep((label < 0) & (label != GHOST))
        own = slice(self.count, self.count + len(rows))
        self.points.append(spec.place[rows, :3], spec.place[rows, 3], spec.motion[rows, :3], spec.label[rows])
        self.points.spec.motion[own, 3], self.points.spec.change[own, 3] = spec.motion[rows, 3], spec.change[rows, 3]
        self._next_label, self.lost, self._skin, self._steps = before._next_label, before.lost, before._skin, 0
        self.totals = before.totals
        self.renew_lists()

    def renew_lists(self) -> None:
        """Lists and sums of where all points are now, which have been put there and have not moved; densities stay, as
        do the largest speed and acceleration of the last step."""
        density, totals = self.densities(), self.totals
        self._stale = True
        self.prepare()
        self.points.spec.change[self.fluid_rows(), 3] = density
        self.totals = replace(self.measure(), speed=totals.speed, acceleration=totals.acceleration)


def _make_boundary(bodies: int, walls: int) -> BoundarySpec:
    """Boundary particles of bodies and of walls, on which no force is asked for."""
    count = bodies + walls
    return BoundarySpec(np.zeros(count, dtype=np.int64), np.zeros((count, 3)), np.zeros(count), np.zeros((bodies, 6)))
