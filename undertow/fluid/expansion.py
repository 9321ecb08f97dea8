"""Gas that gives way to pressure: every cell of it has a rate of compression beside the velocities of its faces.

A gas of one temperature in a body of volume V has p V = const. With P the pressure that it has before a step of dt, and
the volume V_c that a cell has of it, the row of the cell says

    (K u)_c = v_c,      v_c = V_c / (P_c dt) (p_c - P_c),        linear in the change of p over the step:

what flows in is what the gas gives way by. With z = dt (p - p_rest) that is a velocity v of mass 1 / c,

    v* = -c z_P,      v = v* + c z,      c = V_c / (P_c dt^2),      z_P = dt (P_c - p_rest),

so that its rows are those of any other velocity: c is added to the diagonal of K B^-1 K^T, and the energy that a solve
takes away is that of faces and gas together. Pressures are above that of the atmosphere but for P_c in V_c / P_c.
"""

from __future__ import annotations

import numpy as np

from undertow.grid import Array, Grid
from undertow.linalg import Stencil

FIRST = 0.01
"""Step that the first preconditioner is for [s]."""


class Expansion:
    """The gas of a flow. atmosphere: the pressure beyond open sides [Pa]. pressure_c: P_c [Pa], absolute. volume_c: V_c
    [m3; 2D m2], 0 without gas. rate_c: v [m3/s; 2D m2/s]. time_step: of the last solve [s]."""

    def __init__(self, grid: Grid, atmosphere: float) -> None:
        self.atmosphere, self.time_step = atmosphere, FIRST
        self.pressure_c = np.full(grid.padded, atmosphere)
        self.volume_c, self.rate_c = grid.cell_field(), grid.cell_field()
        self.gives_c = grid.cell_field()
        """c, as it is in the stencil."""
        self._scratch_c = grid.cell_field()

    def build(self, stencil: Stencil) -> None:
        """Add c to a stencil whose coefficients are those of the faces."""
        np.divide(self.volume_c, self.pressure_c, out=self.gives_c)
        self.gives_c /= self.time_step**2
        stencil.dirichlet_c += self.gives_c

    def begin(self, dt: float, rest_c: Array, stencil: Stencil) -> None:
        """v* for a solve over dt [s] of the pressure above rest_c [Pa]."""
        stencil.dirichlet_c -= self.gives_c
        self.time_step = dt
        np.divide(self.volume_c, self.pressure_c, out=self.gives_c)
        self.gives_c /= dt**2
        stencil.dirichlet_c += self.gives_c
        np.maximum(stencil.dirichlet_c, 0.0, out=stencil.dirichlet_c)
        rate, more = self.rate_c, self._scratch_c
        np.subtract(self.pressure_c, self.atmosphere, out=more)
        more -= rest_c
        more *= -dt
        np.multiply(self.gives_c, more, out=rate)

    def take(self, z_c: Array) -> None:
        """v += c z"""
        np.multiply(self.gives_c, z_c, out=self._scratch_c)
        self.rate_c += self._scratch_c
