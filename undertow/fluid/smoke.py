"""Smoke: density and temperature carried by the flow, with sources, cooling and buoyancy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from undertow.grid import GHOSTS, Array, Grid, Sides
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

    def is_on(self, time: float) -> bool:
        return self.start <= time < self.stop


class Smoke:
    """Transport and sources of smoke on one grid."""

    def __init__(
        self,
        grid: Grid,
        sides: Sides,
        settings: SmokeSettings,
        emitters: tuple[SmokeEmitter, ...],
        advection: Advection,
    ) -> None:
        self.grid = grid
        self.sides = sides
        self.settings = settings
        self.emitters = emitters
        self.advection = advection
        self.scratch_c = grid.cell_field()

    def emit(self, time: float, smoke_c: Array, temperature_c: Array, u_f: Array) -> None:
        """Set the emitters' values in their regions."""
        for emitter in self.emitters:
            if emitter.is_on(time):
                np.copyto(smoke_c, emitter.density, where=emitter.inside_c)
                np.copyto(temperature_c, emitter.temperature, where=emitter.inside_c)
                if emitter.velocity is not None:
                    for axis in self.grid.axes:
                        np.copyto(u_f[axis], emitter.velocity[axis], where=emitter.inside_c)

    def transport(self, smoke_c: Array, temperature_c: Array, by_f: Array, open_c: Array, dt: float) -> None:
        """Carry both fields by ``by_f`` over dt, then let them decay; cells inside solids hold no smoke."""
        s = self.settings
        fields = (
            (smoke_c, s.dissipation, 0.0, s.inflow_density),
            (temperature_c, s.cooling, s.ambient_temperature, s.inflow_temperature),
        )
        for q_c, rate, rest, inflow in fields:
            self.sides.fill_centred(q_c, inflow, rest)
            self.advection.centred(q_c, by_f, dt, self.scratch_c, inflow, rest)
            _relax(self.grid.spec, self.scratch_c, open_c, rest, float(np.exp(-rate * dt)), q_c)
            self.sides.fill_centred(q_c, inflow, rest)


@njit(parallel=True, cache=True)
def _relax(spec, q, open_c, rest, factor, out):  # type: ignore[no-untyped-def]
    for row in prange(spec.nz * spec.ny):
        k = row // spec.ny + GHOSTS
        j = row % spec.ny + GHOSTS
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = rest + (factor * (q[k, j, i] - rest) if open_c[k, j, i] > 0.0 else 0.0)
