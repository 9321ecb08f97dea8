"""Smoke, or dye: density and temperature that the fluid carries, with sources, cooling and buoyancy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numba import njit

from undertow.fluid.advected import AdvectedField, FieldContext
from undertow.fluid.forces import VorticityConfinement, add_buoyancy
from undertow.grid import GHOSTS, Array, row_of_cells, share_rows
from undertow.part import MASS, Quantity, restore_arrays


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


class HeldSmoke(Protocol):
    """Smoke in regions that nothing can leave: transport past moving surfaces must not change its mass.

    restored: mass [kg; 2D kg/m] that the last step gave or took.
    """

    restored: float

    def find_cells(self, smoke_c: Array) -> None:
        """Find the cells of the regions, before a step moves the surfaces."""

    def weigh(self, smoke_c: Array) -> None:
        """Note what each region holds, before a step moves the surfaces."""

    def restore(self, smoke_c: Array, left: float) -> None:
        """Scale the smoke of each region, where its surfaces are now, to ``left`` times what it held."""


class Smoke(AdvectedField):
    """Density [kg/m^3] and temperature [K] that the fluid carries: smoke in a gas, dye in a liquid.

    ds/dt + u.grad s = -d s and dT/dt + u.grad T = -c (T - T_0), with sources. values_c (2, Z, Y, X): both; beyond the
    surface of a liquid they are those of the liquid beside it. held: what keeps the smoke of closed regions.
    """

    name = "smoke"
    two_sided = True

    def __init__(self, context: FieldContext, settings: SmokeSettings, emitters: Sequence[SmokeEmitter] = ()) -> None:
        self.context, self.settings, self.emitters = context, settings, tuple(emitters)
        grid, self.sides = context.grid, context.domain.sides
        self.values_c = np.zeros((2, *grid.padded))
        self.smoke_c, self.temperature_c = self.values_c
        self.rest = (0.0, settings.ambient_temperature)
        self.temperature_c[:] = settings.ambient_temperature
        self.held: list[HeldSmoke] = []
        self.confinement = VorticityConfinement(
            grid, context.domain.periodic, settings.confinement, context.advection.scratch_f, context.scratch_c[1]
        )

    def arrays(self) -> dict[str, Array]:
        return {"smoke": self.smoke_c, "temperature": self.temperature_c}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        restore_arrays(self.arrays(), arrays)

    def begin_step(self) -> None:
        for held in self.held:
            held.find_cells(self.smoke_c)

    def emit(self, time: float, u_f: Array) -> None:
        """Set the emitters' values in their regions."""
        sets_velocity = emits = False
        for emitter in self.emitters:
            if emitter.is_on(time):
                emits = True
                inside = self.context.extent.inside(emitter.inside_c)
                np.copyto(self.smoke_c, emitter.density, where=inside)
                np.copyto(self.temperature_c, emitter.temperature, where=inside)
                if emitter.velocity is not None:
                    for axis in self.context.grid.axes:
                        np.copyto(u_f[axis], emitter.velocity[axis], where=emitter.faces(axis))
            sets_velocity |= emitter.velocity is not None
        if emits:
            for value in self.values_c:
                self.context.extent.extend_cells(value)
        if sets_velocity:
            self.sides.exchange.fill(u_f)

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        """Carry both fields along, then let them decay; cells inside solids hold no smoke."""
        for held in self.held:
            held.weigh(self.smoke_c)
        s, context = self.settings, self.context
        inflow = (s.inflow_density, s.inflow_temperature)
        factor = (float(np.exp(-s.dissipation * dt)), float(np.exp(-s.cooling * dt)))
        for value, enters, rest in zip(self.values_c, inflow, self.rest, strict=True):
            self.sides.exchange.fill(value, enters, rest)
        context.advection.centred(self.values_c, by_f, dt, context.scratch_c, inflow, self.rest)
        for n, value in enumerate(self.values_c):
            share_rows(
                context.grid, _relax, context.scratch_c[n], context.domain.volume_c, self.rest[n], factor[n], value
            )
            context.extent.extend_cells(value)
            self.sides.exchange.fill(value, inflow[n], self.rest[n])

    def after_sweep(self, dt: float) -> None:
        for held in self.held:
            held.restore(self.smoke_c, float(np.exp(-self.settings.dissipation * dt)))

    def add_forces(self, u_f: Array, dt: float) -> None:
        """Buoyancy and confinement."""
        s, gravity = self.settings, self.context.settings.gravity
        length = float(np.linalg.norm(gravity))
        x, y, z = (-g / length if length > 0 else 0.0 for g in gravity)
        add_buoyancy(
            self.context.grid, self.smoke_c, self.temperature_c, (x, y, z), s.buoyancy_density, s.buoyancy_temperature,
            s.ambient_temperature, dt, u_f,
        )  # fmt: skip
        if s.confinement > 0.0:
            self.confinement.add(dt, u_f)

    def cells(self) -> dict[str, Array]:
        names = ("smoke", "temperature")
        return {
            name: self.context.extent.shown(value, rest)
            for name, value, rest in zip(names, self.values_c, self.rest, strict=True)
        }

    def quantities(self) -> Iterator[Quantity]:
        part = self.context.scratch_c[1]
        self.context.extent.fluid_part(part)
        part *= self.smoke_c
        grid = self.context.grid
        yield Quantity("smoke_mass", float(part[grid.interior].sum()) * grid.cell_volume, MASS)
        if self.held:
            yield Quantity("smoke_restored", sum(held.restored for held in self.held), MASS)


@njit(cache=True, nogil=True)
def _relax(spec, q, open_c, rest, factor, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = rest + (factor * (q[k, j, i] - rest) if open_c[k, j, i] > 0.0 else 0.0)
