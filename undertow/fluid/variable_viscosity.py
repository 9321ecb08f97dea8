"""Viscosity that differs from place to place and that the liquid carries along: mu_t + u . grad mu = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from undertow.fluid.advected import AdvectedField, FieldContext
from undertow.grid import Array
from undertow.part import restore_arrays


class ViscositySource(NamedTuple):
    """A region, bool (Z, Y, X), that is filled with a liquid of ``viscosity`` [Pa s] from ``start`` to ``stop`` [s]."""

    inside_c: np.ndarray
    viscosity: float
    start: float = 0.0
    stop: float = np.inf


class VariableViscosity(AdvectedField):
    """Viscosity mu_c (Z, Y, X) [Pa s] at cell centres and mu_f (3, Z, Y, X), its means on faces, which follow it.

    Interpolation mixes: where two liquids meet there is a layer of cells in between, which grows slowly.
    """

    name = "viscosity"

    def __init__(self, context: FieldContext, mu_c: Array, sources: Sequence[ViscositySource] = ()) -> None:
        self.context, self.sources = context, tuple(sources)
        self.grid = context.grid
        self.mu_c, self.mu_f, self._new_c = mu_c.copy(), self.grid.face_field(), self.grid.cell_field()
        known = [float(mu_c.min()), float(mu_c.max()), *(source.viscosity for source in sources)]
        self._lowest, self._highest = min(known), max(known)
        self._average()

    def arrays(self) -> dict[str, Array]:
        return {"viscosity": self.mu_c}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        restore_arrays(self.arrays(), arrays)
        self._average()

    def start(self) -> None:
        self._extend()

    def emit(self, time: float, u_f: Array) -> None:
        for source in self.sources:
            if source.start <= time < source.stop:
                self.mu_c[source.inside_c] = source.viscosity

    def transport(self, by_f: Array, dt: float, work_f: Array) -> None:
        advection, new_c = self.context.advection, self._new_c
        advection.sides.exchange.fill(self.mu_c, self._lowest, self._lowest)
        advection.centred(self.mu_c, by_f, dt, new_c, self._lowest, self._lowest)
        np.clip(new_c, self._lowest, self._highest, out=self.mu_c)
        self._extend()

    def cells(self) -> dict[str, Array]:
        return {"viscosity": self.mu_c}

    def _extend(self) -> None:
        self.context.extent.extend_cells(self.mu_c)
        self._average()

    def _average(self) -> None:
        mu = self.mu_c
        for axis in self.grid.axes:
            out = np.moveaxis(self.mu_f[axis], 2 - axis, 0)
            cells = np.moveaxis(mu, 2 - axis, 0)
            np.add(cells[1:], cells[:-1], out=out[1:])
            out[0] = 2.0 * cells[0]
            out *= 0.5
