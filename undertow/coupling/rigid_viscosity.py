"""The viscous step of a liquid and the rigid bodies that it drags along, before the pressure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undertow.coupling.drag import BodiesInverse, DragRows
from undertow.fluid.mixture import Mixture
from undertow.fluid.strain import FreeViscosity
from undertow.grid import Array
from undertow.linalg import CoupledSystem, SolveStats
from undertow.rigid.bodies import DYNAMIC
from undertow.rigid.rows import BLOCK

if TYPE_CHECKING:
    from undertow.coupling.monolithic import MonolithicSolve

HEAVY_ENOUGH = 20.0
"""A body whose displaced fluid weighs less than this many times what it weighs itself follows the last pressure."""


class CoupledViscosity(FreeViscosity):
    """The viscous step of a liquid and the bodies that it drags along, both implicit.

    Bodies too have the velocities that their weight and the last pressure lead to, but for those so light that what is
    not their own pressure would throw them about.
    """

    def __init__(self, solve: MonolithicSolve, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        coupled, rows = solve.coupled, solve.rows
        bodies, count = coupled.bodies, len(slip_b)
        still = np.where(bodies.kind_b[:count] == DYNAMIC, 1, slip_b).astype(np.int64)
        super().__init__(rows, solve.tolerance, viscosity, still)
        self.coupled, self.monolithic = coupled, solve
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        exchange = viscosity.mu_f if isinstance(viscosity, Mixture) else viscosity
        self.drag = DragRows(rows.domain, bodies, exchange, slip_b, np.zeros(bodies.count))
        self.bodies_inverse = BodiesInverse(self.drag, solve.block)
        self.system = CoupledSystem(
            [self.block, solve.block], [self.strain, self.walls, self.drag], {BLOCK: self.bodies_inverse},
            self.planar,
        )  # fmt: skip
        self._twist, self.ahead_b = np.zeros((bodies.count, 6)), np.zeros((bodies.count, 6))

    def expect(self, p_c: Array, dt: float) -> bool:
        coupled, ahead, block = self.coupled, self.ahead_b, self.monolithic.block
        ahead[...] = 0.0
        if not super().expect(p_c, dt):
            return False
        self.monolithic.at_rest.impulse(dt, ahead)
        self.monolithic.moved.add_force(1.0, self.z_c, ahead)
        ahead += coupled.impulse_b
        ahead[self.monolithic.displaced_b >= HEAVY_ENOUGH * coupled.bodies.mass_b] = 0.0
        block.apply_inverse_mass(ahead.reshape(block.shape), ahead.reshape(block.shape))
        return True

    def solve(self, u_f: Array, dt: float) -> SolveStats:
        self.rebuild(dt)
        self.drag.rebuild()
        self.drag.keep(self.strain.inv_mass_f)
        self.drag.time_step = dt
        self.bodies_inverse.setup()
        coupled, twist, block = self.coupled, self._twist, self.monolithic.block
        coupled.take_twists(twist)
        twist += self.ahead_b
        u_f += self.ahead_f
        scale = scale_with(self.scale(u_f), u_f, coupled.bodies.mass_b[:, None] * twist[:, :3])
        velocities = {"fluid": u_f, BLOCK: twist.reshape(block.shape)}
        stats = self.system.solve(velocities, {"walls": self.walls_z}, self.tolerance, scale=scale)
        coupled.viscous_b[...] = 0.0
        self.drag.add_impulse(u_f, twist, coupled.viscous_b)
        twist -= self.ahead_b
        u_f -= self.ahead_f
        coupled.give_twists(twist)
        return stats


def scale_with(fluid: float, u_f: Array, *momenta: Array) -> float:
    """What the tolerance of a viscous solve is relative to, the momenta of the solids [N s] included: those that move
    in still water are slowed from their first step on. fluid: that of the velocities u_f alone."""
    own = float(np.sqrt(sum(np.sum(p * p) for p in momenta)))
    return float(np.hypot(fluid if u_f.any() else 0.0, own)) or 1.0
