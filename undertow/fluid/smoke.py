"""Smoke: density and temperature carried by the flow, with sources, cooling and buoyancy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, Sides, share_rows
from undertow.transport import Advection


@dataclass(frozen=True)
class SmokeSettings:
    """How smoke behaves.

    buoyancy_density: downward acceleration per unit of smoke density [m/s^2 per kg/m^3]; buoyancy_temperature: upward
    acceleration per kelvin above ambient [m/s^2/K]; cooling, dissipation: decay rates [1/s]; confinement: epsilon [-].
    """

    buoyancy_density: float = 0.0
    buoyancy_temperature: float = 0.0
    ambient_temperature: float = 293.0
    cooling: float = 0.0
    dissipation: float = 0.0
    confinement: float = 0.0
    inflow_density: float = 0.0
    inflow_temperature: float = 293.0


@dataclass(frozen=True)
class SmokeEmitter:
    """Region that holds its smoke density [kg/m^3], temperature [K] and, if given, velocity [m/s] while it is on.

    inside_c: bool (Z, Y, X), cells of the region.
    """

    inside_c: np.ndarray
    density: float
    temperature: float
    velocity: tuple[float, float, float] | None = None
    start: float = 0.0
    stop: float = np.inf

    def faces(self, axis: int) -> np.ndarray:
        """Both faces along ``axis`` of every cell of the region, bool (Z, Y, X)."""
        return self._faces[axis]

    @cached_property
    def _faces(self) -> list[np.ndarray]:
        return [self.inside_c | np.roll(self.inside_c, 1, axis=2 - axis) for axis in range(3)]

    def is_on(self, time: float) -> bool:
        return self.start <= time < self.stop


class Smoke:
    """Transport and sources of smoke on one grid; ``both_c`` (2, Z, Y, X) are density and temperature.

    scratch_c (2, Z, Y, X): free for others between calls.
    """

    def __init__(
        self,
        grid: Grid,
        sides: Sides,
        settings: SmokeSettings,
        emitters: tuple[SmokeEmitter, ...],
        advection: Advection,
        scratch_c: Array,
    ) -> None:
        self.grid = grid
        self.sides = sides
        self.settings = settings
        self.emitters = emitters
        self.advection = advection
        self.scratch_c = scratch_c

    def emit(self, time: float, smoke_c: Array, temperature_c: Array, u_f: Array) -> None:
        """Set the emitters' values in their regions."""
        for emitter in self.emitters:
            if emitter.is_on(time):
                np.copyto(smoke_c, emitter.density, where=emitter.inside_c)
                np.copyto(temperature_c, emitter.temperature, where=emitter.inside_c)
                if emitter.velocity is not None:
                    for axis in self.grid.axes:
                        np.copyto(u_f[axis], emitter.velocity[axis], where=emitter.faces(axis))

    def transport(self, both_c: Array, by_f: Array, open_c: Array, dt: float) -> None:
        """Carry both fields by ``by_f`` over dt, then let them decay; cells inside solids hold no smoke."""
        s = self.settings
        rest = (0.0, s.ambient_temperature)
        inflow = (s.inflow_density, s.inflow_temperature)
        factor = (float(np.exp(-s.dissipation * dt)), float(np.exp(-s.cooling * dt)))
        for n in (0, 1):
            self.sides.fill_centred(both_c[n], inflow[n], rest[n])
        self.advection.centred(both_c, by_f, dt, self.scratch_c, inflow, rest)
        for n in (0, 1):
            share_rows(self.grid, _relax, self.scratch_c[n], open_c, rest[n], factor[n], both_c[n])
            self.sides.fill_centred(both_c[n], inflow[n], rest[n])


@njit(cache=True, nogil=True)
def _relax(spec, q, open_c, rest, factor, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = rest + (factor * (q[k, j, i] - rest) if open_c[k, j, i] > 0.0 else 0.0)
