"""Pressure, viscosity and the coupling to solids in one system: no step is split (5.30) [@schroeder2011].

With C all damping rows (between faces, at walls, between faces and solids; the elasticity and damping of solids are in
their masses) and K those of incompressibility, velocities and pressures are solved for together,

    [ B + C^T C   K^T ] [ w - w* ]   [ C^T (s_C - C w*) ]
    [     K        0  ] [   z    ] = [     s - K w*     ]

the same w and z as those of (5.30), in which the duals of C are the unknowns in the place of w: nine numbers in a cell
for three, and more iterations the more viscous the fluid is, since that system has no preconditioner for them but its
diagonal. Here velocities of solids have the inverse of their masses with their drag, and pressures

    (K (B + C^T C)^-1 K^T)^-1  ~  (K B^-1 K^T)^-1 + dt mu / V                                (Cahouet and Chabard 1988)

V being the volume of a cell: the first is right where the fluid is thin, the second where it is thick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from undertow.coupling.poles import Poles
from undertow.fluid.pressure import PressureRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, SolveStats
from undertow.linalg.coupled import MassBlock, RowBlock
from undertow.linalg.krylov import Preconditioner
from undertow.linalg.stencil import Stencil

MOST_ITERATIONS = 5000
"""Of the solve, before it is given up."""

STILL = 1e-12
"""Error of the velocities that is small enough, however slow they are [m/s]."""


class WholeRows:
    """Divergence rows with the whole of K^T: that of the ends of bodies is part of the force on the fluid.

    (Where the pressure is solved for alone it cancels against their masses, see ``coupling.poles``.)
    """

    name = "pressure"
    damping = False
    folded = False

    def __init__(self, rows: PressureRows, poles: Poles | None) -> None:
        self.rows, self.poles, self.shape = rows, poles, rows.shape
        self._ends_c = np.zeros(rows.shape if poles is not None else 0)

    @property
    def target(self) -> Array | None:
        return self.rows.target

    def region_stencil(self) -> Stencil:
        return self.rows.stencil

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        self.rows.apply(w, out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        self.rows.add_transpose(z, w)
        if self.poles is not None:
            self.poles.add_push(z, w["fluid"])

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """Without the ends, whose part is that of masses without C^T C and may be negative."""
        self.rows.add_diagonal(inv_mass, out)
        if self.poles is not None:
            self._ends_c[...] = 0.0
            self.poles.add_diagonal(self._ends_c)
            out -= self._ends_c


class _ThickPressure:
    """The preconditioner of the pressures: that of an inviscid fluid, and dt mu / V."""

    def __init__(self, thin: Preconditioner, rows: PressureRows) -> None:
        self.thin, self.rows = thin, rows
        self._thickness_c, self._work_c = np.zeros(rows.shape), np.zeros(rows.shape)

    def setup(self, thickness: float) -> None:
        """dt mu / V of now, in cells that have a pressure."""
        np.greater(self.rows.stencil.diagonal_c, 0.0, out=self._thickness_c)
        self._thickness_c *= thickness

    def apply(self, x: Array, out: Array) -> None:
        self.thin.apply(x, out)
        np.multiply(self._thickness_c, x.reshape(self._thickness_c.shape), out=self._work_c)
        out += self._work_c.reshape(out.shape)


class Unsplit:
    """The system of a fluid and solids; ``thin``, ``inverses``: preconditioners, set up by their owners."""

    def __init__(
        self, viscosity: float, blocks: Sequence[MassBlock], rows: PressureRows,
        damping: Sequence[RowBlock], thin: Preconditioner, inverses: Mapping[str, Preconditioner],
        poles: Poles | None = None,
    ) -> None:  # fmt: skip
        self.phase, self.viscosity, grid = rows.phase, viscosity, rows.domain.grid
        self._pressure = _ThickPressure(thin, rows)
        self.system = CoupledSystem(
            blocks, [WholeRows(rows, poles), *damping],
            {"pressure": self._pressure, **inverses}, grid.dimensions == 2,
        )  # fmt: skip
        self._z = np.zeros(rows.shape)

    def solve(
        self, w: Mapping[str, Array], z_c: Array, walls_z: Array, tolerance: float, viscous_dt: float
    ) -> SolveStats:
        """w* with the impulse of the guess z_c [Pa s] -> w; what the pressure does beyond z_c is added to it.

        Starting from the guess, nothing is as fast as a light body would be without the pressure, and the tolerance is
        relative to what is. walls_z: dual of the walls that move as prescribed.
        """
        grid = self.phase.domain.grid
        self._pressure.setup(viscous_dt * self.viscosity / grid.cell_volume)
        self._z[...] = 0.0
        least = STILL / tolerance * float(np.sqrt(self.phase.mass_of(grid.cell_volume) * grid.cell_count))
        z = {"pressure": self._z, "walls": walls_z}
        stats = self.system.solve(w, z, tolerance, MOST_ITERATIONS, least=least)
        z_c += self._z
        return stats
