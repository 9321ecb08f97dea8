"""Rigid bodies that viscosity drags along, in the step that comes before the pressure (``fluid.viscous_step``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from undertow.coupling.drag import BodiesInverse, TwistDrag
from undertow.grid import Array
from undertow.rigid.rows import BLOCK

if TYPE_CHECKING:
    from undertow.coupling.monolithic import MonolithicSolve

HEAVY_ENOUGH = 20.0
"""A body whose displaced fluid weighs less than this many times what it weighs itself follows the last pressure."""


class DraggedBodies:
    """The bodies of a solve, ``drag`` being their rows.

    Bodies too have the velocities that their weight and the last pressure lead to, but for those so light that what is
    not their own pressure would throw them about.
    """

    def __init__(self, solve: MonolithicSolve, drag: TwistDrag) -> None:
        self.solve, self.block, self.drag, self.drags = solve, solve.block, drag, [drag]
        self.inverse = BodiesInverse(drag, solve.block)
        shape = (solve.coupled.bodies.count, 6)
        self._twist, self._ahead, self._given = (np.zeros(shape) for _ in range(3))

    def rebuild(self, inv_mass_f: Array) -> None:
        self.drag.rebuild()
        self.drag.keep(inv_mass_f)

    def begin(self, u_f: Array, z_c: Array | None, dt: float) -> Array:
        solve, ahead, shape = self.solve, self._ahead, self.block.shape
        self.drag.time_step = dt
        self.inverse.setup()
        self._twist[...] = solve.begin(u_f)
        ahead[...] = 0.0
        if z_c is not None:
            solve.at_rest.impulse(dt, ahead)
            solve.moved.add_force(1.0, z_c, ahead)
            ahead += solve.coupled.impulse_b
            ahead[solve.displaced_b >= HEAVY_ENOUGH * solve.coupled.bodies.mass_b] = 0.0
            self.block.apply_inverse_mass(ahead.reshape(shape), ahead.reshape(shape))
        self._twist += ahead
        return self._twist.reshape(shape)

    def momenta(self, v: Array) -> list[Array]:
        return [self.solve.coupled.bodies.mass_b[:, None] * v.reshape(-1, 6)[:, :3]]

    def end(self, w: Mapping[str, Array]) -> None:
        twist = w[BLOCK].reshape(-1, 6)
        self._given[...] = 0.0
        self.drag.add_impulse(w["fluid"], twist, self._given)
        twist -= self._ahead
        self.solve.end_viscous(w["fluid"], twist, self._given)
