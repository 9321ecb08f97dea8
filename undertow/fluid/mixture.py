"""Viscosity that differs from place to place and that the liquid carries along: mu_t + u . grad mu = 0."""

from __future__ import annotations

import numpy as np

from undertow.grid import Array, Grid
from undertow.transport import Advection, Extrapolation

LAYERS = 4
"""Of cells in air and solids that have the viscosity of the liquid beside them: where it may be in the next step."""


class Mixture:
    """Viscosity mu_c (Z, Y, X) [Pa s] at cell centres and mu_f (3, Z, Y, X), its means on faces, which follow it.

    Interpolation mixes: where two liquids meet there is a layer of cells in between, which grows slowly.
    """

    def __init__(self, grid: Grid, mu_c: Array) -> None:
        self.grid = grid
        self.mu_c, self._new_c = mu_c.copy(), grid.cell_field()
        self.mu_f = grid.face_field()
        self._valid_c = np.zeros(grid.padded, dtype=np.uint8)
        self._lowest, self._highest = float(mu_c.min()), float(mu_c.max())
        self.take(mu_c)

    def advance(self, advection: Advection, u_f: Array, dt: float) -> None:
        """Carry mu along over dt [s]; ``spread`` is to follow."""
        advection.sides.fill_centred(self.mu_c, self._lowest, self._lowest)
        advection.centred(self.mu_c, u_f, dt, self._new_c, self._lowest, self._lowest)
        np.clip(self._new_c, self._lowest, self._highest, out=self.mu_c)

    def spread(self, extrapolation: Extrapolation, phi_c: Array, open_c: np.ndarray) -> None:
        """Continue mu from the liquid outside solids into the cells beside it."""
        np.logical_and(phi_c <= 0.0, open_c, out=self._valid_c.view(bool))
        extrapolation.centred(self.mu_c, self._valid_c, LAYERS)
        self._average()

    def take(self, mu_c: Array) -> None:
        """Continue from a viscosity that was saved."""
        self.mu_c[...] = mu_c
        self._average()

    def expect(self, mu: float) -> None:
        """A liquid of ``mu`` [Pa s] may be filled in later."""
        self._lowest, self._highest = min(self._lowest, mu), max(self._highest, mu)

    def fill(self, inside_c: np.ndarray, mu: float) -> None:
        """Cells (bool) that are filled with a liquid of ``mu`` [Pa s]."""
        self.mu_c[inside_c] = mu

    def _average(self) -> None:
        mu = self.mu_c
        for axis in self.grid.axes:
            out = np.moveaxis(self.mu_f[axis], 2 - axis, 0)
            cells = np.moveaxis(mu, 2 - axis, 0)
            np.add(cells[1:], cells[:-1], out=out[1:])
            out[0] = 2.0 * cells[0]
            out *= 0.5
