"""Two fluids with an interface: one velocity carries both, and each connected body of either keeps its volume.

The velocity is continuous, so that nothing is extrapolated but into solids. Beside the level set runs the volume per
cell in flux form of ``fluid.volume_tracking``; what the level set has too little of the liquid it has too much of the
other fluid. Where a body of liquid l touches a body of the other fluid a, the error that lies there, E, is corrected by
moving that part of the interface along its normal, by as much everywhere,

    phi <- phi - E / A,        A its area,

which makes no flow, changes no curvature to first order, and asks nothing of the pressure, so that closed tanks are as
good as open ones. Sums of E over a piece of interface are free of the errors of the fluxes, which cancel. Nothing is
remembered but the error of every cell: bodies that part or meet need no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from undertow.fluid import measure
from undertow.fluid.advected import Content, FieldContext
from undertow.fluid.along_interface import follow_interface
from undertow.fluid.crossed import find_crossings
from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.pockets_of_air import AirBodies, AirPockets, Held
from undertow.fluid.two_phase import TwoPhase
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.volume_tracking import VolumeTracker
from undertow.fluid.waters import SUMS, BodyOfWater, Waters
from undertow.grid import GHOSTS, INFLOW, OPEN, OUTFLOW, Array, largest_entry
from undertow.part import VOLUME, Limit, Quantity
from undertow.surface import Surface

NAMED = 3
"""So many of the largest bodies of the other fluid have a column of the ledger."""

MOST = 0.1
"""No piece of the interface is moved by more than this in one step to keep volumes [cells]."""

RESOLVED = 10.0
"""Reynolds number of a cell below which it sees the shear of the lighter fluid."""

OWN_LAYERS = 4
"""Layers of faces beyond the interface that get the velocity of the heavier fluid for its own transport."""

PASSES = 8
"""At most so often in a step: areas by the level set are right to some percent, those of small bodies are not."""

LAST = 3
"""So many passes at the end are of the largest pieces alone, which make up for what the others lack."""

CLOSE = 1e-6
"""Pieces that are as near to where they keep volumes stay [cells]."""

BESIDE = 2
"""Rings of cells about a body of the other fluid in which the volumes of cells differ from whole ones by the body."""

REACH = 4
"""So far from the interface phi is moved with it [cells]."""


class _Pieces:
    """Pieces of interface, each between a body of liquid and one of the other fluid, and how far each is to move.

    cell (n,): flat; pair (n,): the piece of each. bodies (m, 2): of the liquid and of the other fluid, from 1 on.
    area, moved (m,): of each piece [faces of cells], and how far it was moved [cells]. lent: what the largest pieces
    hold for others, in both directions [cells].

    What a piece lacks, L, it gets by L / A. What it cannot get at once, because it would move by more than MOST, the
    largest piece that it is connected with by bodies gets for it as long as that lasts: a body too small for the grid,
    and one that has vanished, take nothing with them.
    """

    def __init__(self, cell: np.ndarray, pair: np.ndarray, bodies: np.ndarray) -> None:
        self.cell, self.pair, self.bodies = cell, pair, bodies
        self.area, self.moved, self.lent = np.zeros(len(bodies)), np.zeros(len(bodies)), 0.0
        self._slope = np.zeros(len(bodies))
        self._last = np.zeros(len(bodies)), np.zeros(len(bodies))
        """How far the pieces were moved last [cells], and what they lacked before."""

    def sum(self, values: np.ndarray) -> Array:
        """(m,) of values (n,) of the cells."""
        return np.asarray(np.bincount(self.pair, values, len(self.bodies)), dtype=np.float64)

    def measure(self, phi: Array, dx: float) -> None:
        """Areas by phi [m], flat."""
        self.area = self.sum(np.maximum(1.0 - np.abs(phi[self.cell]) / dx, 0.0))
        self._slope = np.maximum(self.area, 1.0)

    def more(self, lacking: Array, beside: Array, closed: np.ndarray) -> Array:
        """What (m,) must be added to ``lacking`` (m,) for bodies of the other fluid that are ``closed`` (n,) to lack on
        their whole surface what is given in ``beside`` (n + 1,); the largest piece of a body that is not takes it."""
        found, (_, other) = np.zeros(len(lacking)), self.bodies.T
        keeps = np.concatenate([[False], closed])
        whole = np.bincount(other, lacking, len(keeps))
        home = self._homes(np.where(keeps[other], 0.0, 1.0 + self.area))
        for body in np.unique(other[keeps[other]]):
            of = np.flatnonzero(other == body)
            first = of[np.argmax(self.area[of])]
            if not keeps[other[home[first]]]:
                found[first] += beside[body] - whole[body]
                found[home[first]] -= beside[body] - whole[body]
        return found

    def shift(self, lacking: Array, ends: bool) -> Array:
        """How far (m,) the pieces move now [cells], lacking (m,) [cells]; ends: only the largest ones still do."""
        wanted, home = lacking / self._slope, self._homes(self.area)
        shift = np.zeros(len(home)) if ends else self._clip(wanted)
        is_home = home == np.arange(len(home))
        unmet = np.where(is_home, 0.0, (wanted - shift) * self._slope)
        self.lent = float(np.abs(unmet).sum())
        held = np.bincount(home, unmet, len(home))
        shift = np.where(is_home, self._clip((lacking + held) / self._slope), shift)
        shift = np.where(np.abs(shift) > CLOSE, shift, 0.0)
        self.moved += shift
        self._last = shift, lacking.copy()
        return shift

    def learn(self, lacking: Array) -> None:
        """What the last move changed of what the pieces lack (m,): the next one goes by that."""
        shift, before = self._last
        slope = np.divide(before - lacking, shift, out=np.zeros_like(shift), where=np.abs(shift) > CLOSE)
        self._slope = np.where(slope > 0.25 * self._slope, np.minimum(slope, 2.0 * self._slope), self._slope)

    def _clip(self, shift: Array) -> Array:
        return np.asarray(np.clip(self.moved + shift, -MOST, MOST) - self.moved)

    def _homes(self, size: Array) -> np.ndarray:
        """The largest piece (m,) that each is connected with, by sizes (m,)."""
        from scipy.sparse import coo_array, csgraph

        first, (liquid, other) = int(self.bodies[:, 0].max()) + 1, self.bodies.T
        count = first + int(other.max()) + 1
        links = coo_array((np.ones(len(liquid)), (liquid, first + other)), shape=(count, count))
        group = csgraph.connected_components(links, directed=False)[1][liquid]
        order = np.lexsort((-size, group))
        number, start = np.unique(group[order], return_index=True)
        return np.asarray(order[start][np.searchsorted(number, group)])


class InterfaceTracker(VolumeTracker):
    """Volume tracking that moves the interface; nothing becomes spray and no cell makes volume."""

    sprays = False

    def rates(self, dt: float, out_c: Array) -> None:
        out_c[...] = 0.0


class TwoFluids(LiquidSurface):
    """The liquid of a flow and what is beyond its surface; bubbles: the connected bodies of that."""

    phase: TwoPhase

    def __init__(self, context: FieldContext, surface: Surface, *args: Any, **kwargs: Any) -> None:
        super().__init__(context, surface, *args, **kwargs)
        self.bubbles = Waters(self.grid)
        self._beyond_c, self._before_c = self.grid.cell_field(), self.grid.cell_field()
        self.along_f = self.grid.face_field()
        self.carried_f, self.known_f = self.grid.face_field(), np.zeros((3, *self.grid.padded), dtype=bool)
        self.viscosity = context.settings.viscosity
        self.lent = 0.0
        """Volume [m3; 2D m2] that bodies hold for others, which were too small for it in the last step."""
        passed = (OPEN, OUTFLOW, INFLOW)
        sides = [(axis, end) for _, axis, end in self.grid.sides() if self.sides.kind[2 * axis + end] in passed]
        offsets = self.phase.wall_cells.offsets
        self.air = AirBodies(self.domain, sides, offsets)
        for gas in self.phase.expansions:
            self.air = AirPockets(self.domain, sides, offsets, gas, self.phase.of_air(1.0))
        none = np.zeros(0, dtype=np.int64)
        self._held = Held(none, none, np.zeros(0), none)
        self._seen = {"air": 0, "liquid": 0}
        """Bodies of each when events were last asked for."""
        self._around = self.phase.wall_cells.offsets

    def arrays(self) -> dict[str, Array]:
        rate_f = self.phase.rate_f
        found = {**super().arrays(), **self.air.arrays()}
        return {**found, **({"pressure_rate": rate_f} if rate_f.size else {})}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        if self.phase.rate_f.size:
            self.phase.rate_f[...] = arrays["pressure_rate"]
        self.air.restore(arrays)

    def start(self) -> None:
        super().start()
        crossings, gravity = find_crossings(self.grid, self.surface.phi_c), np.array(self.phase.gravity)
        self.air.start(self.bubbles, self._held, crossings, gravity, self.phase.mass_of(1.0))
        self.events()

    def resume(self) -> None:
        super().resume()
        self.air.resume(self.bubbles, self._held)
        self.events()

    # the verbs of a step --------------------------------------------------------------------------------------------

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        super().transport(by_f, dt, work_f)
        self._correct_volume()
        self.air.update(self.bubbles, self._held, np.array(self.phase.gravity))

    def advance_surface(self, by_f: Array, dt: float) -> None:
        """With the velocity of the nearest place of the interface, where no particles have to be moved too."""
        if self.surface.settings.particles:
            super().advance_surface(by_f, dt)
            return
        follow_interface(self.grid, self.surface.phi_c, by_f, self.along_f)
        self.sides.exchange.fill(self.along_f)
        super().advance_surface(self.along_f, dt)

    def transport_velocity(self, u_f: Array, by_f: Array, dt: float, out_f: Array) -> None:
        """Both fluids by their one velocity. Where cells do not see the shear of the lighter one, the heavier one goes
        by its own alone, continued beyond the interface: many times its speed is not to be carried into it."""
        self.advection.velocity(u_f, by_f, dt, out_f)
        phase = self.phase
        light, heavy = sorted((phase.mass_of(1.0), phase.of_air(1.0)))
        alone = (1.0 - light / heavy) * self._unseen_shear(u_f)
        if alone == 0.0:
            return
        own_f, part_f = self.along_f, phase.part_f if phase.mass_of(1.0) == heavy else 1.0 - phase.part_f
        np.copyto(own_f, u_f)
        np.greater_equal(part_f, 1.0, out=self.known_f)
        self.known_f &= phase.inv_mass_f > 0.0
        self.extrapolation.velocity(own_f, self.known_f, OWN_LAYERS)
        self.sides.exchange.fill(own_f)
        self.advection.velocity(own_f, by_f, dt, self.carried_f)
        mass = part_f / (part_f + (1.0 - part_f) * light / heavy)
        self.carried_f -= out_f
        self.carried_f *= alone * mass
        out_f += self.carried_f

    def _unseen_shear(self, u_f: Array) -> float:
        """Re^2 / (Re^2 + RESOLVED^2), Re being the Reynolds number of a cell of the lighter fluid."""
        phase = self.phase
        is_liquid = phase.mass_of(1.0) < phase.of_air(1.0)
        viscosity = self.viscosity / phase.mass_of(1.0) if is_liquid else phase.other.viscosity / phase.of_air(1.0)
        flux = largest_entry(u_f) * self.grid.dx
        return flux**2 / (flux**2 + (RESOLVED * viscosity) ** 2) if flux > 0.0 else 0.0

    def drop_stray_air(self) -> None:
        """Particles of both fluids ride on a velocity that is theirs."""

    def _find_waters(self) -> None:
        super()._find_waters()
        np.subtract(1e-300, self.surface.phi_c, out=self._beyond_c)
        work_f, work_c = self.advection.scratch_f, self.row_c
        self.bubbles.find(self._beyond_c, self.open_c, self.domain.area_f, self._closed_f, work_f, work_c)
        self._measure_bubbles()

    def _measure_bubbles(self) -> None:
        """Volumes and centres of the bodies of the other fluid: what the liquid leaves of the cells of each, and of the
        cells about those, whose centres are in the liquid or in solids."""
        label = self.bubbles.label_c.reshape(-1).copy()
        np.subtract(self._open_volume(), self.tracker.volume_c, out=self._before_c)
        room = self._before_c.reshape(-1)
        inside = self.interior_c.reshape(-1)
        for _ in range(BESIDE):
            beside = np.flatnonzero((label == 0) & (np.abs(room) > 1e-12) & inside)
            label[beside] = label[beside[:, None] + self._around].max(axis=1)
        at = np.flatnonzero((label > 0) & inside)
        volume = room[at]
        place = np.array(self.grid.lower) + (self.phase.wall_cells.index(at) - GHOSTS + 0.5) * self.grid.dx
        sums = np.zeros((self.bubbles.count + 1, SUMS))
        for n, weight in ((0, np.ones(len(at))), (2, volume), *((3 + a, volume * place[:, a]) for a in range(3))):
            sums[:, n] = np.bincount(label[at], weight, len(sums))
        self.bubbles.sums = sums
        self._held = Held(at, label[at], volume, label)

    def _correct_volume(self) -> None:
        """Every piece of interface between two bodies is moved by what the level set lacks there."""
        surface, tracker = self.surface, self.tracker
        self.lent = 0.0
        cell, pair, bodies = self._find_pieces()
        if not len(bodies):
            return
        pieces = _Pieces(cell, pair, bodies)
        pieces.measure(surface.phi_c.reshape(-1), self.grid.dx)
        self.air.find_closed(self.bubbles)
        lacking = pieces.sum(tracker.error_c.reshape(-1)[cell]) + self._far_error(pieces)
        for number in range(PASSES):
            ends = number >= PASSES - LAST
            if not ends:
                more = pieces.more(lacking, self.air.lacking(self.bubbles, self._held), self.air.closed)
                self._settle(pieces, -more)
                lacking += more
            pieces.learn(lacking)
            gained = self._shift(pieces, lacking, ends)
            if not gained.any():
                break
            lacking -= gained
            self._measure_bubbles()
        self.lent = pieces.lent * self.grid.cell_volume
        if not pieces.moved.any():
            return
        hidden_c, component_c = surface.level_set.hidden_c, tracker.component_c
        tracker.waters.measure(
            surface.phi_c, self.open_c, hidden_c, component_c, tracker.volume_c, tracker.error_c
        )  # fmt: skip

    def _shift(self, pieces: _Pieces, lacking: Array, ends: bool) -> Array:
        """phi - E / A in the cells of every piece; what each gained (m,) [cells]."""
        surface, tracker = self.surface, self.tracker
        phi, shift = surface.phi_c.reshape(-1), pieces.shift(lacking, ends)
        if not shift.any():
            return np.zeros(len(shift))
        np.copyto(self._before_c, tracker.volume_c)
        phi[pieces.cell] -= self.grid.dx * shift[pieces.pair]
        surface.level_set.fill_ghosts(surface.phi_c)
        tracker.measure(surface, self.solid_c, self.open_c, self.row_c)
        np.subtract(tracker.volume_c, self._before_c, out=self._before_c)
        gained = pieces.sum(self._before_c.reshape(-1)[pieces.cell])
        self._settle(pieces, gained)
        return gained

    def _settle(self, pieces: _Pieces, gained: Array) -> None:
        """What was gained is lacking no longer, in the liquid cells of each piece at the interface, or, where it has
        none, in all its cells."""
        error, phi, cell = self.tracker.error_c.reshape(-1), self.surface.phi_c.reshape(-1), pieces.cell
        near = (phi[cell] <= 0.0) & (self.open_c.reshape(-1)[cell] == 1) & (phi[cell] > -2.0 * self.grid.dx)
        near |= pieces.sum(near)[pieces.pair] == 0.0
        error[cell[near]] -= (gained / np.maximum(pieces.sum(near), 1.0))[pieces.pair[near]]

    def _find_pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cells (n,), flat, near the interface; the number of the piece (n,) that each belongs to; the bodies of the
        liquid and of the other fluid (m, 2) that each piece parts."""
        phi, dx = self.surface.phi_c.reshape(-1), self.grid.dx
        inside = self.interior_c.reshape(-1)
        cell = np.flatnonzero(inside & (np.abs(phi) < REACH * dx))
        liquid, other = self.tracker.waters.label_c.reshape(-1), self.bubbles.label_c.reshape(-1)
        liquids, others = int(liquid.max(initial=0)) + 1, int(other.max(initial=0)) + 1
        key = np.zeros(phi.size, dtype=np.int64)
        if liquids == 2 and others == 2:
            key[cell] = others + 1
        else:
            near = cell[np.abs(phi[cell]) < 1.5 * dx]
            around = near[:, None] + self._around
            both = liquid[around].max(axis=1) * np.int64(others) + other[around].max(axis=1)
            whole = (liquid[around].max(axis=1) > 0) & (other[around].max(axis=1) > 0)
            key[near[whole]] = both[whole]
            for _ in range(REACH):
                left = cell[key[cell] == 0]
                key[left] = key[left[:, None] + self._around].max(axis=1)
        cell = cell[key[cell] > 0]
        found, pair = np.unique(key[cell], return_inverse=True)
        return cell, pair, np.stack([found // others, found % others], axis=1)

    def _far_error(self, pieces: _Pieces) -> Array:
        """Errors (m,) of cells far from any interface: they count for the largest piece of the body they are in, of
        the liquid or, where drops have vanished, of the other fluid."""
        found, error = np.zeros(len(pieces.bodies)), self.tracker.error_c.reshape(-1)
        cell = np.setdiff1d(np.flatnonzero(error), pieces.cell)
        labels = (self.tracker.waters.label_c.reshape(-1)[cell], self.bubbles.label_c.reshape(-1)[cell])
        for label, number in zip(labels, pieces.bodies.T, strict=True):
            for one in np.unique(label[label > 0]):
                of = np.flatnonzero(number == one)
                if len(of):
                    found[of[np.argmax(pieces.area[of])]] += error[cell[label == one]].sum()
        return found

    # what is asked of it --------------------------------------------------------------------------------------------

    def limits(self) -> Iterator[Limit]:
        """Waves between two fluids are as much slower as both weigh more than their difference."""
        mass, more = self.phase.mass_of(1.0), self.phase.of_air(1.0)
        slower = float(np.sqrt((mass + more) / max(abs(mass - more), 1e-6 * mass)))
        for limit in super().limits():
            yield limit._replace(time_step=limit.time_step * slower) if limit.name == "surface_waves" else limit

    def sums(self, u_f: Array) -> Iterator[Quantity]:
        both = {one.name: one for one in self._both_sums(u_f)}
        yield from (both.get(one.name, one) for one in super().sums(u_f))
        whole = float(self._open_volume()[self.grid.interior].sum()) * self.grid.cell_volume
        yield Quantity("air_volume", whole - self.volume(), VOLUME)
        largest = [body.volume for body in self.bodies_of_air()[:NAMED]] + NAMED * [0.0]
        yield Quantity("bubbles", self.bubbles.count)
        for n in range(NAMED):
            yield Quantity(f"bubble_{n + 1}_volume", largest[n], VOLUME)
        yield Quantity("volume_lent", self.lent, VOLUME)
        yield from self.air.quantities(self.bubbles, NAMED)

    def events(self) -> tuple[str, ...]:
        """A fluid that has vanished is told once; the other goes on alone."""
        counts = {"air": self.bubbles.count, "liquid": self.tracker.waters.count}
        gone = [name for name, count in counts.items() if count == 0 and self._seen[name] > 0]
        self._seen = counts
        return tuple(
            f"the {name} has vanished: its last bodies were smaller than the cells of {self.grid.dx:.3g} m; the other "
            "fluid goes on alone" for name in gone
        )  # fmt: skip

    def bodies_of_air(self) -> list[BodyOfWater]:
        """Connected bodies of the other fluid, the largest first."""
        return self.bubbles.largest(self.bubbles.count)

    def _both_sums(self, u_f: Array) -> Iterator[Quantity]:
        """Momenta and energies of both fluids; potential energy above that of both at rest, the solids being where they
        are."""
        phase, open_c = self.phase, self._open_volume().copy()
        liquid = measure.liquid_moments(phase, self.surface.phi_c, open_c, u_f, self.lowest)
        none = measure.Rest(self.lowest.place, np.zeros(3))
        np.subtract(1e-300, self.surface.phi_c, out=self._beyond_c)
        other = measure.liquid_moments(phase, self._beyond_c, open_c, u_f, none)
        # what the liquid leaves the other fluid takes
        other[7] = -liquid[7]
        return measure.named_sums(phase.mass_of(liquid) + phase.of_air(other))


class PhaseViscosity(VariableViscosity):
    """The viscosity of two fluids: that of each cell by the parts of both in it."""

    def __init__(self, context: FieldContext, viscosity: float, other: float) -> None:
        self.viscosity, self.other = viscosity, other
        super().__init__(context, np.full(context.grid.padded, viscosity))

    def arrays(self) -> dict[str, Array]:
        return {}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """It follows the interface."""

    def start(self) -> None:
        self._mix()

    def resume(self) -> None:
        self._mix()

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        self._mix()

    def _mix(self) -> None:
        phi_c = self.context.extent.phi_c
        assert phi_c is not None
        np.divide(phi_c, -self.grid.dx, out=self.mu_c)
        self.mu_c += 0.5
        np.clip(self.mu_c, 0.0, 1.0, out=self.mu_c)
        self.mu_c *= self.viscosity - self.other
        self.mu_c += self.other
        self._average()


def viscosity_of_both(viscosity: float, other: float) -> list[Content]:
    """What makes the viscosity of two fluids; nothing for inviscid ones."""
    if viscosity == 0.0 and other == 0.0:
        return []
    return [lambda context: PhaseViscosity(context, viscosity, other)]
