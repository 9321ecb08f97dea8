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
from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.two_phase import TwoPhase
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.volume_tracking import VolumeTracker
from undertow.fluid.waters import SUMS, BodyOfWater, Waters
from undertow.grid import GHOSTS, Array, largest_entry
from undertow.part import VOLUME, Limit, Quantity
from undertow.surface import Surface

NAMED = 3
"""So many of the largest bodies of the other fluid have a column of the ledger."""

MOST = 0.05
"""The interface is moved by no more than this in one step [cells]."""

RESOLVED = 10.0
"""Reynolds number of a cell below which it sees the shear of the lighter fluid."""

OWN_LAYERS = 4
"""Layers of faces beyond the interface that get the velocity of the heavier fluid for its own transport."""

PASSES = 2
"""How often in a step: areas by the level set are right to some percent."""

REACH = 4
"""So far from the interface phi is moved with it [cells]."""


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
        self._seen = {"air": 0, "liquid": 0}
        """Bodies of each when events were last asked for."""
        self._around = self.phase.wall_cells.offsets

    def arrays(self) -> dict[str, Array]:
        rate_f = self.phase.rate_f
        return {**super().arrays(), **({"pressure_rate": rate_f} if rate_f.size else {})}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        if self.phase.rate_f.size:
            self.phase.rate_f[...] = arrays["pressure_rate"]

    def start(self) -> None:
        super().start()
        self.events()

    def resume(self) -> None:
        super().resume()
        self.events()

    # the verbs of a step --------------------------------------------------------------------------------------------

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        super().transport(by_f, dt, work_f)
        self._correct_volume()

    def advance_surface(self, by_f: Array, dt: float) -> None:
        """With the velocity of the nearest place of the interface, where no particles have to be moved too."""
        if self.surface.settings.particles:
            super().advance_surface(by_f, dt)
            return
        follow_interface(self.grid, self.surface.phi_c, by_f, self.along_f)
        self.sides.fill_velocity(self.along_f)
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
        self.sides.fill_velocity(own_f)
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
        self._measure_bubbles(*self._find_pieces()[:3])

    def _measure_bubbles(self, cell: np.ndarray, piece: np.ndarray, bodies: np.ndarray) -> None:
        """Volumes and centres of the bodies of the other fluid: what the liquid leaves of the cells of each, and of
        liquid cells near it, since the level set gives some more than they hold."""
        label = self.bubbles.label_c.reshape(-1).copy()
        near = label[cell] == 0
        label[cell[near]] = bodies[piece[near], 1]
        at = np.flatnonzero((label > 0) & self.interior_c.reshape(-1))
        volume = self._open_volume().reshape(-1)[at] - self.tracker.volume_c.reshape(-1)[at]
        place = np.array(self.grid.lower) + (self.phase.wall_cells.index(at) - GHOSTS + 0.5) * self.grid.dx
        sums = np.zeros((self.bubbles.count + 1, SUMS))
        for n, weight in ((0, np.ones(len(at))), (2, volume), *((3 + a, volume * place[:, a]) for a in range(3))):
            sums[:, n] = np.bincount(label[at], weight, len(sums))
        self.bubbles.sums = sums

    def _correct_volume(self) -> None:
        """Every piece of interface between two bodies is moved by what the level set lacks there."""
        surface, tracker = self.surface, self.tracker
        if not tracker.error_c.any():
            return
        cell, pair, bodies = self._find_pieces()
        if not len(bodies):
            return
        for _ in range(PASSES):
            if not self._shift(cell, pair, bodies):
                return
        self._measure_bubbles(cell, pair, bodies)
        hidden_c, component_c = surface.level_set.hidden_c, tracker.component_c
        tracker.waters.measure(
            surface.phi_c, self.open_c, hidden_c, component_c, tracker.volume_c, tracker.error_c
        )  # fmt: skip

    def _shift(self, cell: np.ndarray, pair: np.ndarray, bodies: np.ndarray) -> bool:
        """phi - E / A in the cells of every piece; whether anything moved."""
        surface, tracker, dx, count = self.surface, self.tracker, self.grid.dx, len(bodies)
        phi, error = surface.phi_c.reshape(-1), tracker.error_c.reshape(-1)
        lacking = np.asarray(np.bincount(pair, error[cell], count), dtype=np.float64)
        area = np.asarray(np.bincount(pair, np.maximum(1.0 - np.abs(phi[cell]) / dx, 0.0), count), dtype=np.float64)
        lacking += self._far_error(np.setdiff1d(np.flatnonzero(error), cell), bodies[:, 0], area)
        shift = np.clip(lacking / np.maximum(area, 1.0), -MOST, MOST) * dx
        if not shift.any():
            return False
        np.copyto(self._before_c, tracker.volume_c)
        phi[cell] -= shift[pair]
        surface.level_set.fill_ghosts(surface.phi_c)
        tracker.measure(surface, self.solid_c, self.open_c, self.row_c)
        self._settle(cell, pair, count)
        return True

    def _settle(self, cell: np.ndarray, pair: np.ndarray, count: int) -> None:
        """What was gained is lacking no longer, in the liquid cells of each piece that had an error."""
        error, phi = self.tracker.error_c.reshape(-1), self.surface.phi_c.reshape(-1)
        change = (self.tracker.volume_c - self._before_c).reshape(-1)
        gained = np.bincount(pair, change[cell], count)
        wet = (phi[cell] <= 0.0) & (self.open_c.reshape(-1)[cell] == 1)
        near = wet & (phi[cell] > -2.0 * self.grid.dx)
        cells = np.bincount(pair, near, count)
        error[cell[near]] -= (gained / np.maximum(cells, 1.0))[pair[near]]

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

    def _far_error(self, cell: np.ndarray, number: np.ndarray, area: Array) -> Array:
        """Errors of cells far from any interface count for the largest piece of their body of liquid."""
        found = np.zeros(len(area))
        error, label = self.tracker.error_c.reshape(-1), self.tracker.waters.label_c.reshape(-1)
        for one in np.unique(label[cell]):
            of = np.flatnonzero(number == one)
            if one > 0 and len(of):
                found[of[np.argmax(area[of])]] += error[cell[label[cell] == one]].sum()
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
