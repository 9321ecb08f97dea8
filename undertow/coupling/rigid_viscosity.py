"""Rigid bodies that viscosity drags along, in the step that comes before the pressure (``fluid.viscous_step``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from undertow.coupling.drag import DraggedInverse, TwistDrag
from undertow.grid import Array
from undertow.rigid.rows import BLOCK

if TYPE_CHECKING:
    from undertow.coupling.rigid_solids import RigidSolids

HEAVY_ENOUGH = 20.0
"""A body whose displaced fluid weighs less than this many times what it weighs itself follows the last pressure."""


class DraggedBodies:
    """The bodies of a dense block, ``drag`` being their rows.

    Bodies too have the velocities that their weight and the last pressure lead to, but for those so light that what is
    not their own pressure would throw them about.
    """

    def __init__(self, solids: RigidSolids, drag: TwistDrag) -> None:
        self.solids, self.block, self.drag, self.drags = solids, solids.block, drag, [drag]
        self.inverse = DraggedInverse(drag, solids.block)
        shape = (solids.coupled.bodies.count, 6)
        self._twist, self._ahead, self._given = (np.zeros(shape) for _ in range(3))

    def rebuild(self, inv_mass_f: Array) -> None:
        self.drag.rebuild()
        self.drag.keep(inv_mass_f)
        self.drag.keep_bodies(~self.solids.elsewhere_b)

    def set_time_step(self, dt: float) -> None:
        """Of the rows [s], for the masses of now."""
        self.drag.time_step = dt
        self.inverse.setup()

    def begin(self, u_f: Array, z_c: Array | None, dt: float) -> Array:
        solids, ahead = self.solids, self._ahead
        self.set_time_step(dt)
        self._twist[...] = solids.take(u_f)
        ahead[...] = 0.0
        if z_c is not None:
            solids.at_rest.impulse(dt, ahead)
            solids.walls.add_force(1.0, z_c, ahead)
            ahead += solids.coupled.impulse_b
            ahead[solids.displaced_b >= HEAVY_ENOUGH * solids.coupled.bodies.mass_b] = 0.0
            self.block.apply_inverse_mass(ahead, ahead)
        self._twist += ahead
        return self._twist

    def momenta(self, v: Array) -> list[Array]:
        return [self.solids.coupled.bodies.mass_b[:, None] * v[:, :3]]

    def end(self, w: Mapping[str, Array]) -> None:
        twist = w[BLOCK]
        self._given[...] = 0.0
        self.drag.add_impulse(w["fluid"], twist, self._given)
        twist -= self._ahead
        self.solids.end_viscous(w["fluid"], twist, self._given)
