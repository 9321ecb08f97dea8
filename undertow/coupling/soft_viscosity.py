"""The viscous step of a liquid and of all solids that it drags along, soft ones among them, before the pressure."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.rigid_viscosity import scale_with
from undertow.coupling.soft_drag import NodesInverse, RigidDrag, SoftDrag
from undertow.coupling.solid_velocities import BLOCK
from undertow.coupling.solid_walls import seeing
from undertow.fluid.mixture import Mixture
from undertow.fluid.strain import FreeViscosity
from undertow.fluid.viscosity import WallRows
from undertow.grid import Array
from undertow.linalg import CoupledSystem, SolveStats
from undertow.rigid.bodies import DYNAMIC

if TYPE_CHECKING:
    from undertow.coupling.soft_solve import SoftSolve


class SoftViscosity(FreeViscosity):
    """The viscous step of a liquid and of the solids that it drags along, all implicit: it comes before the pressure.

        Mt (v - v*) = -C_d^T C_d (u, v),      v* = v^n + Mt^-1 J^T beta (u* - J v^n),

    Mt being the masses of the solve that follows, elasticity and the water that shells carry included: a stiff body is
    slowed down as a whole, not its outermost nodes alone. That water's velocity is handed over here, so that none of
    the momentum which shells are given is taken for water that goes slower than they do. Solids too have the velocities
    that forces and the last pressure lead to, which are taken back after the step.
    """

    def __init__(self, soft: SoftSolve, viscosity: float | Mixture, slip_b: np.ndarray) -> None:
        self.soft, rigid, domain = soft, soft.coupled.rigid, soft.domain
        still = np.where(rigid.bodies.kind_b[: len(slip_b)] == DYNAMIC, 1, slip_b).astype(np.int64)
        super().__init__(soft.rows, soft.tolerance, viscosity, still)
        exchange = viscosity.mu_f if isinstance(viscosity, Mixture) else viscosity
        walls = copy(soft.fields)
        walls.distance_f = soft.fields.rows_distance_f
        seen = seeing(domain, walls)
        self.walls = WallRows(seen, exchange, still, folded=True, half=False)
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        none = np.zeros(rigid.bodies.count)
        self.drags: list[SoftDrag | RigidDrag] = [
            SoftDrag(domain, soft.fields, exchange, rigid.bodies.count),
            RigidDrag(soft.block, seen, rigid.bodies, exchange, slip_b, none),
        ]
        self.nodes_inverse = NodesInverse(self.drags, soft.block)
        self.system = CoupledSystem(
            [self.block, soft.block], [self.strain, self.walls, *self.drags], {BLOCK: self.nodes_inverse}, self.planar
        )
        self._drag, self._joint = np.zeros(soft.block.shape), np.zeros(soft.block.shape)
        self._expected: Array | None = None
        self.dissipated = 0.0

    def expect(self, p_c: Array, dt: float) -> bool:
        """Solids that touch something have no more than they have: what contact gives them is not known yet."""
        soft, contacts, self._expected = self.soft, self.soft.coupled.contacts, None
        if not super().expect(p_c, dt):
            return False
        if soft.incremental and (contacts is None or not contacts.count):
            self._expected = soft.moved.push(self.z_c)
            known = np.zeros((soft.coupled.rigid.bodies.count, 6))
            soft.at_rest.impulse(dt, known)
            soft.block.twists(self._expected)[...] += known
        return True

    def solve(self, u_f: Array, dt: float) -> SolveStats:
        soft, block = self.soft, self.soft.block
        self.rebuild(dt)
        for drag in self.drags:
            drag.rebuild()
            drag.keep(self.strain.inv_mass_f)
            drag.time_step = dt
        v = np.zeros(block.shape)
        carried = soft.set_masses(dt)
        block.take(v)
        brought = soft.carried_momentum(u_f, v, carried)
        start = v + block.loose_answer(brought)
        block.settle(start, np.zeros(0))
        if self._expected is None:
            v[...] = start
        else:
            soft.add_forces(v, dt, brought + self._expected)
            block.settle(v, np.zeros(0))
        before, ahead = v.copy(), v - start
        u_f += self.ahead_f
        self.nodes_inverse.setup()
        w = {"fluid": u_f, BLOCK: v}
        momenta = soft.coupled.bodies.mass[:, None] * v[block.nodes], soft.coupled.rigid.bodies.p_b
        scale = scale_with(self.scale(u_f), u_f, *momenta)
        stats = self.system.solve(w, {"walls": self.walls_z}, self.tolerance, scale=scale)
        self._drag = np.asarray(sum(drag.impulse(u_f, v) for drag in self.drags))
        self._joint = np.asarray(block.matrix @ (v - before).reshape(-1)).reshape(block.shape) - self._drag
        self._measure(w)
        v -= ahead
        u_f -= self.ahead_f
        block.give(v)
        soft.set_coupled_faces(u_f)
        return stats

    def _measure(self, w: dict[str, Array]) -> None:
        """What viscosity takes at these velocities over the step [J]."""
        gram = {"fluid": np.zeros_like(w["fluid"]), BLOCK: np.zeros_like(w[BLOCK])}
        for row in (self.strain, self.walls, *self.drags):
            row.add_gram(w, gram)
        self.dissipated = float((gram["fluid"] * w["fluid"]).sum() + (gram[BLOCK] * w[BLOCK]).sum())

    def count(self, coupled: CoupledSoft) -> None:
        """Add what the viscous step did to what the one of the pressure has noted."""
        rigid, block = coupled.rigid, self.soft.block
        coupled.viscous += self._drag[block.nodes]
        rigid.viscous_b += block.twists(self._drag)
        moved = rigid.bodies.kind_b == DYNAMIC
        rigid.joint_b[moved] += block.twists(self._joint)[moved]
        coupled.dissipated += self.dissipated
