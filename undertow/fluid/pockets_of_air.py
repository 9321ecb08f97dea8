"""Bodies of a gas between a liquid, solids and the sides, each with its volume, or with p V = const.

Every cell keeps the amount of gas in it: its volume or, of gas that gives way to pressure, p V. A body has the sum over
its cells; what is in the liquid since the last step belongs to the body beside it. So bodies that part or meet need no
rule, and the sum over all of them is kept. Bodies that reach an open side hold what they have room for; where none
does, the largest is the one that takes what the discrete walls of moving solids make and lose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from undertow.fluid.crossed import Crossings
from undertow.fluid.domain import FluidDomain
from undertow.fluid.expansion import Expansion
from undertow.fluid.waters import Waters
from undertow.grid import GHOSTS, Array
from undertow.part import Quantity, Unit

PRESSURE = Unit("Pa", "Pa")

LEAST = 0.01
"""Of the pressure of the atmosphere that a body begins with."""

SMALL = 1e-3
"""Volume of gas that counts as none [cells]."""

RINGS = 3
"""Gas is looked for in so many rings of cells around one that it has left."""


class Held(NamedTuple):
    """Cells (n,), flat, that hold gas, the body (n,) of each, from 1 on, and the volume (n,) of gas in it [cells];
    label: of all cells, flat, 0 for those beside no gas."""

    cell: np.ndarray
    of: np.ndarray
    volume: Array
    label: np.ndarray


class AirBodies:
    """The bodies of gas of one flow. sides: axis and end of those that gas passes. offsets (27,): of the cells around
    one, flat. closed: whether a body (n,) keeps its amount. amount_c: State."""

    def __init__(self, domain: FluidDomain, sides: Sequence[tuple[int, int]], offsets: np.ndarray) -> None:
        self.domain, self.grid, self.sides, self._offsets = domain, domain.grid, tuple(sides), offsets
        self.amount_c = self.grid.cell_field()
        self.closed = np.zeros(0, dtype=bool)

    def arrays(self) -> dict[str, Array]:
        """All that evolves."""
        return {"air_amount": self.amount_c}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what ``arrays`` gave."""
        self.amount_c[...] = arrays["air_amount"]

    def start(self, bodies: Waters, held: Held, crossings: Crossings, gravity: Array, density: float) -> None:
        """The amounts of bodies in a liquid of that density at rest."""
        self.find_closed(bodies)
        self.spread(held, bodies.sums[:, 2])

    def resume(self, bodies: Waters, held: Held) -> None:
        """What follows from the state."""
        self.find_closed(bodies)

    def update(self, bodies: Waters, held: Held, gravity: Array) -> None:
        """Amounts of the bodies where they are now."""
        self.spread(held, self.amounts(bodies, held.label))

    def lacking(self, bodies: Waters, held: Held) -> Array:
        """What the liquid lacks beside every body (n + 1,) that keeps its volume [cells], 0 for the others."""
        wanted = self.amounts(bodies, held.label)
        return np.where(np.concatenate([[False], self.closed]), bodies.sums[:, 2] - wanted, 0.0)

    def quantities(self, bodies: Waters, most: int) -> Iterator[Quantity]:
        """What the ledger says of the largest bodies beside their volumes."""
        return iter(())

    def find_closed(self, bodies: Waters) -> None:
        """Which bodies reach no open side; where none does, all but the largest."""
        reached = np.zeros(bodies.count + 1, dtype=bool)
        for axis, end in self.sides:
            inner = list(self.grid.interior)
            at = GHOSTS + self.grid.cells[axis] - 1 if end else GHOSTS
            inner[2 - axis] = slice(at, at + 1)
            reached[np.unique(bodies.label_c[tuple(inner)])] = True
        if bodies.count and not reached[1:].any():
            self.take_largest(bodies, reached)
        self.closed = ~reached[1:]

    def take_largest(self, bodies: Waters, reached: np.ndarray) -> None:
        """Of a closed tank."""
        reached[1 + int(np.argmax(bodies.sums[1:, 2]))] = True

    def amounts(self, bodies: Waters, label: np.ndarray) -> Array:
        """Of the bodies of now (n + 1,); label: of all cells, flat. Bodies that reach an open side have what they have
        room for."""
        cell = np.flatnonzero(self.amount_c)
        here = self._reach(label, cell)
        if bodies.count:
            here[here == 0] = 1 + int(np.argmax(bodies.sums[1:, 2]))
        found = np.asarray(np.bincount(here, self.amount_c.reshape(-1)[cell], bodies.count + 1), dtype=np.float64)
        return self.fill_open(bodies, found)

    def fill_open(self, bodies: Waters, amount: Array) -> Array:
        """Amounts with those of open bodies, and of bodies that have none, by their room."""
        known = np.concatenate([[True], self.closed]) & (amount > 0.0)
        return np.where(known, amount, bodies.sums[:, 2])

    def spread(self, held: Held, amount: Array) -> None:
        """Amounts (n + 1,) go to the cells as the gas is in them."""
        weight = np.maximum(held.volume, SMALL)
        whole = np.bincount(held.of, weight, len(amount))
        self.amount_c[...] = 0.0
        self.amount_c.reshape(-1)[held.cell] = weight * (amount / np.maximum(whole, SMALL))[held.of]

    def _reach(self, label: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Numbers of the bodies that cells (n,) are in, or that are nearest, no solid being between; 0 where none is
        near."""
        found, room = label[cell].astype(np.int64), self.domain.volume_c.reshape(-1) > 0.0
        clear = np.ones((len(cell), len(self._offsets)), dtype=bool)
        for ring in range(1, RINGS + 1):
            left = np.flatnonzero(found == 0)
            around = np.clip(cell[left, None] + ring * self._offsets, 0, len(label) - 1)
            clear[left] &= room[around]
            found[left] = np.where(clear[left], label[around], 0).max(axis=1, initial=0)
        return found


class AirPockets(AirBodies):
    """Bodies with p V = const. Those that reach an open side have the pressure of the atmosphere. P_c of a cell is that
    of its body and of the weight of the gas between it and the middle of the body.

    pressures: of the bodies of now (n,) [Pa], absolute. density: of the gas [kg/m3].
    """

    def __init__(
        self, domain: FluidDomain, sides: Sequence[tuple[int, int]], offsets: np.ndarray, expansion: Expansion,
        density: float,
    ) -> None:  # fmt: skip
        super().__init__(domain, sides, offsets)
        self.expansion, self.density = expansion, density
        self.pressures = np.zeros(0)

    def arrays(self) -> dict[str, Array]:
        e = self.expansion
        found = {**super().arrays(), "air_pressure": e.pressure_c, "air_room": e.volume_c}
        return {**found, "air_time_step": np.array([e.time_step])}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        super().restore(arrays)
        e = self.expansion
        e.pressure_c[...], e.volume_c[...] = arrays["air_pressure"], arrays["air_room"]
        e.time_step = float(arrays["air_time_step"][0])

    def start(self, bodies: Waters, held: Held, crossings: Crossings, gravity: Array, density: float) -> None:
        """Closed bodies begin at the pressure of still liquid where it touches them, from the level of the open ones,
        or of the largest, where that is the atmosphere's."""
        self.find_closed(bodies)
        label = bodies.label_c.reshape(-1)[crossings.other]
        count = np.bincount(label, minlength=bodies.count + 1)
        mean = np.bincount(label, crossings.places(self.grid) @ gravity, bodies.count + 1) / np.maximum(count, 1)
        at = ~self.closed & (count[1:] > 0)
        if bodies.count and not at.any():
            at = np.arange(bodies.count) == np.argmax(bodies.sums[1:, 2])
        level = float(mean[1:][at].mean()) if at.any() else 0.0
        atmosphere = self.expansion.atmosphere
        found = np.maximum(atmosphere + density * (mean - level), LEAST * atmosphere)
        found[1:] = np.where(self.closed & (count[1:] > 0), found[1:], atmosphere)
        self._take(bodies, held, found * bodies.sums[:, 2], gravity)

    def resume(self, bodies: Waters, held: Held) -> None:
        super().resume(bodies, held)
        found = np.bincount(held.of, self.amount_c.reshape(-1)[held.cell], bodies.count + 1)
        amount = np.asarray(found, dtype=np.float64)
        self.pressures = self._pressures(bodies, amount)[1:]

    def update(self, bodies: Waters, held: Held, gravity: Array) -> None:
        self._take(bodies, held, self.amounts(bodies, held.label), gravity)

    def lacking(self, bodies: Waters, held: Held) -> Array:
        """Nothing: volumes follow from the flow."""
        return np.zeros(bodies.count + 1)

    def quantities(self, bodies: Waters, most: int) -> Iterator[Quantity]:
        """Absolute pressures; that of the atmosphere where there are fewer bodies."""
        order = np.argsort(-bodies.sums[1:, 2], kind="stable")[:most]
        found = [*self.pressures[order], *([self.expansion.atmosphere] * (most - len(order)))]
        for n in range(most):
            yield Quantity(f"bubble_{n + 1}_pressure", float(found[n]), PRESSURE)

    def take_largest(self, bodies: Waters, reached: np.ndarray) -> None:
        """In a closed tank all bodies keep their amount."""

    def fill_open(self, bodies: Waters, amount: Array) -> Array:
        known = np.concatenate([[True], self.closed]) & (amount > 0.0)
        return np.where(known, amount, self.expansion.atmosphere * bodies.sums[:, 2])

    def _pressures(self, bodies: Waters, amount: Array) -> Array:
        """Of the bodies (n + 1,) [Pa]; that of the atmosphere of those without volume."""
        volume = bodies.sums[:, 2]
        found = np.where(volume > SMALL, amount / np.maximum(volume, SMALL), self.expansion.atmosphere)
        found[0] = self.expansion.atmosphere
        return found

    def _take(self, bodies: Waters, held: Held, amount: Array, gravity: Array) -> None:
        """Amounts (n + 1,) [Pa cells] of the bodies, and what they make of the cells."""
        self.spread(held, amount)
        e, size, own = self.expansion, bodies.count + 1, self._pressures(bodies, amount)
        self.pressures = own[1:]
        # cells of the liquid hold no gas for the solve, and what reaches an open side passes it instead of giving way
        mine = bodies.label_c.reshape(-1)[held.cell] > 0
        mine &= np.concatenate([[False], self.closed])[held.of]
        cell, of, weight = held.cell[mine], held.of[mine], np.maximum(held.volume[mine], SMALL)
        whole = np.bincount(of, weight, size)
        e.volume_c[...], e.pressure_c[...] = 0.0, e.atmosphere
        room = weight * (np.maximum(bodies.sums[:, 2], 0.0) / np.maximum(whole, SMALL))[of] * self.grid.cell_volume
        place = self.grid.index(cell) - GHOSTS + 0.5
        height = (np.array(self.grid.lower) + place * self.grid.dx) @ gravity
        middle = np.bincount(of, room * height, size) / np.maximum(np.bincount(of, room, size), 1e-300)
        e.volume_c.reshape(-1)[cell] = room
        e.pressure_c.reshape(-1)[cell] = own[of] + self.density * (height - middle[of])
