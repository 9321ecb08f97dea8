"""The symmetric indefinite form of the coupled solve (Robinson-Mosher et al. 2008 [@robinsonmosher2008], 16).

    [ G^T beta^-1 G    F   ] [  z ]   [ K u* - s ]
    [      F^T        -M   ] [ dv ] = [     0    ],        dv = M^-1 F^T z

Its Schur complement is the SPD form (thesis 5.5 [@schroeder2011]); it is here to be compared with that.
"""

from __future__ import annotations

import numpy as np

from undertow.coupling.rows import CoupledRows
from undertow.grid import Array
from undertow.linalg import DenseBlock, Minres, Multigrid


class IndefiniteSystem:
    """The system (16) of a coupled solve without joints: pressures and changes of twists, by MINRES.

    Preconditioned by a multigrid cycle for G^T beta^-1 G (in the paper incomplete Cholesky) and Mt^-1, one beside the
    other.
    """

    def __init__(self, rows: CoupledRows, block: DenseBlock) -> None:
        self.rows, self.block, self.cells = rows, block, int(np.prod(rows.shape))
        self.multigrid = Multigrid(rows.domain.grid, rows.domain.periodic_axes)
        self.size = self.cells + 6 * rows.bodies.count
        self._mass = np.zeros_like(block.inv_mass)

    def solve(self, row_c: Array, tolerance: float) -> tuple[Array, Array, int]:
        """z [Pa s] and dv (n, 6) for rows K u* - s, and how many iterations it took."""
        rows, block = self.rows, self.block
        assert rows.stencil is not None
        self.multigrid.setup(rows.stencil)
        self._mass[...] = np.linalg.pinv(block.inv_mass, hermitian=True)
        b, x = np.zeros(self.size), np.zeros(self.size)
        b[: self.cells] = row_c.reshape(-1)
        solver = Minres(self.size, [(0, self.size)])
        stats = solver.solve(self, b, x, tolerance, 2000, _BlockDiagonal(self))
        return x[: self.cells].reshape(rows.shape), x[self.cells :].reshape(-1, 6), stats.iterations

    def apply(self, x: Array, out: Array) -> None:
        """out = A x, flat."""
        rows, n = self.rows, self.cells
        z, dv = x[:n], x[n:].reshape(-1, 6)
        rows.operator.apply_fluid(z, out[:n])
        rows.walls.add_flux(1.0, dv, out[:n].reshape(rows.shape))
        out[n:].reshape(-1, 6)[...] = -np.einsum("bij,bj->bi", self._mass, dv)
        rows.walls.add_force(1.0, z.reshape(rows.shape), out[n:].reshape(-1, 6))


class _BlockDiagonal:
    """Multigrid for the pressures, Mt^-1 for the bodies."""

    def __init__(self, system: IndefiniteSystem) -> None:
        self.system = system

    def apply(self, x: Array, out: Array) -> None:
        system, n = self.system, self.system.cells
        shape = system.rows.shape
        system.multigrid.apply(x[:n].reshape(shape), out[:n].reshape(shape))
        system.block.apply_inverse_mass(x[n:].reshape(-1, 6), out[n:].reshape(-1, 6))
