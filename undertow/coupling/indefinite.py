"""The symmetric indefinite form of the coupled solve (Robinson-Mosher et al. 2008 [@robinsonmosher2008], 16).

    [ G^T beta^-1 G    F   ] [  z ]   [ K u* - s ]
    [      F^T        -M   ] [ dv ] = [     0    ],        dv = M^-1 F^T z

Its Schur complement is the SPD form (thesis 5.5 [@schroeder2011]); it is here to be compared with that.
"""

from __future__ import annotations

import numpy as np

from undertow.fluid.pressure import PressureRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, InverseMass, Multigrid, VelocityBlock
from undertow.linalg.coupled import MassBlock


class IndefiniteSystem:
    """The system (16) of a coupled solve without joints: the coupled system with the twists kept as unknowns.

    Preconditioned by a multigrid cycle for G^T beta^-1 G (in the paper incomplete Cholesky) and M^-1, one beside the
    other.
    """

    def __init__(self, rows: PressureRows, block: MassBlock) -> None:
        self.rows, grid = rows, rows.domain.grid
        self.multigrid = Multigrid(grid, rows.domain.periodic_axes)
        planar = grid.dimensions == 2
        self.system = CoupledSystem(
            [VelocityBlock("fluid", rows.phase.inv_mass_f, planar), block], [rows],
            {"pressure": self.multigrid, block.name: InverseMass(block)}, planar, kept=[block.name],
        )  # fmt: skip
        self._change = {"fluid": np.zeros_like(rows.phase.inv_mass_f), block.name: np.zeros(block.shape)}

    def solve(self, row_c: Array, tolerance: float) -> tuple[Array, Array, int]:
        """z [Pa s] and dv (n, 6) for rows K u* - s, and how many iterations it took."""
        z, change = np.zeros(self.rows.shape), self._change
        self.multigrid.setup(self.rows.stencil)
        for dv in change.values():
            dv[...] = 0.0
        np.negative(row_c, out=self.system.right_hand_side("pressure"))
        stats = self.system.solve(change, {"pressure": z}, tolerance, 2000, known=True)
        return z, change[self.system.blocks[1].name].reshape(-1, 6), stats.iterations
