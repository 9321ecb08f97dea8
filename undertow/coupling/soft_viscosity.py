"""All solids that viscosity drags along, soft ones among them, in the step that comes before the pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from undertow.coupling.drag import DragRows
from undertow.coupling.soft_drag import NodesInverse, SoftDrag
from undertow.coupling.solid_velocities import BLOCK
from undertow.grid import Array
from undertow.linalg.coupled import FoldedRowBlock

if TYPE_CHECKING:
    from undertow.coupling.node_solids import NodeSolids


class DraggedSolids:
    """The solids of a solve; see ``fluid.viscous_step``.

        Mt (v - v*) = -C_d^T C_d (u, v),      v* = v^n + Mt^-1 J^T beta (u* - J v^n),

    Mt being the masses of the solve that follows, elasticity and the water that shells carry included: a stiff body is
    slowed down as a whole, not its outermost nodes alone. That water's velocity is handed over here, so that none of
    the momentum which shells are given is taken for water that goes slower than they do. Solids too have the velocities
    that forces and the last pressure lead to, which are taken back after the step; those that touch something have no
    more than they have, since what contact gives them is not known yet.

    fluid: the other rows of the step, of which the dissipation is measured too.
    """

    def __init__(
        self, soft: NodeSolids, drags: Sequence[SoftDrag | DragRows], fluid: Sequence[FoldedRowBlock]
    ) -> None:
        self.soft, self.block, self.drags, self.fluid = soft, soft.block, drags, fluid
        self.inverse = NodesInverse(drags, soft.block)
        shape = soft.block.shape
        self._loose, self._ahead = np.zeros(shape), np.zeros(shape)

    def rebuild(self, inv_mass_f: Array) -> None:
        for drag in self.drags:
            drag.rebuild()
            drag.keep(inv_mass_f)
            drag.keep_bodies(self.block.member_b)

    def set_time_step(self, dt: float) -> None:
        """Of the rows [s], for the masses of now."""
        for drag in self.drags:
            drag.time_step = dt
        self.inverse.setup()

    def begin(self, u_f: Array, z_c: Array | None, dt: float) -> Array:
        soft, block, contacts = self.soft, self.block, self.soft.coupled.contacts
        v = np.zeros(block.shape)
        soft.set_masses(dt)
        block.take(v)
        brought = soft.walls.lumped_momentum(u_f, v)
        start = v + block.loose_answer(brought)
        self._loose[...] = start
        block.settle(start, np.zeros(0))
        if z_c is None or not soft.incremental or (contacts is not None and contacts.count):
            v[...] = start
        else:
            known = np.zeros((soft.coupled.rigid.bodies.count, 6))
            soft.rigid.at_rest.impulse(dt, known)
            brought += soft.walls.push(z_c)
            block.twists(brought)[block.member_b] += known[block.member_b]
            soft.add_forces(v, dt, brought)
            block.settle(v, np.zeros(0))
        np.subtract(v, start, out=self._ahead)
        self.set_time_step(dt)
        return v

    def momenta(self, v: Array) -> list[Array]:
        coupled = self.soft.coupled
        member = self.block.member_b
        return [coupled.bodies.mass[:, None] * v[self.block.nodes], coupled.rigid.bodies.p_b * member[:, None]]

    def impulse(self, w: Mapping[str, Array]) -> Array:
        """What the drag gives the solids over the step (n + 2 m, 3) [N s, N m s]."""
        return np.asarray(sum(drag.impulse(w["fluid"], w[BLOCK]) for drag in self.drags))

    def end(self, w: Mapping[str, Array]) -> None:
        u_f, v, block, coupled = w["fluid"], w[BLOCK], self.block, self.soft.coupled
        rigid, moved = coupled.rigid, block.member_b
        drag = self.impulse(w)
        rigid.viscous_b[moved] += block.twists(drag)[moved]
        coupled.dissipated += self.dissipation(w)
        v -= self._ahead
        left = self.soft.take_joint_impulses(v - self._loose, drag)
        # what the solve's tolerance left is theirs: nodes of their own got all that changed their momentum
        coupled.viscous += np.where(block.inv_mass > 0.0, drag + left, drag)[block.nodes]
        block.give(v)
        self.soft.move_carried(u_f, v)

    def dissipation(self, w: Mapping[str, Array]) -> float:
        """What viscosity takes at these velocities over the step [J]."""
        gram = {"fluid": np.zeros_like(w["fluid"]), BLOCK: np.zeros_like(w[BLOCK])}
        for row in (*self.fluid, *self.drags):
            row.add_gram(w, gram)
        return float((gram["fluid"] * w["fluid"]).sum() + (gram[BLOCK] * w[BLOCK]).sum())
