"""One-rings, contact and damping in a single symmetric positive system (thesis 3.6, 5.10 [@schroeder2011]).

The change d of the velocities v obeys, with C^T C = dt (-D) + dt^2 K+ and all constraints H d = s (5.43),

    M d + C^T C d + C^T C v_f + H^T q = 0,        H d = s

    [ I + C M^-1 C^T   C M^-1 H^T ] [ z ]   [ C v_f ]
    [   H M^-1 C^T     H M^-1 H^T ] [ q ] = [  -s   ],      d = -M^-1 (C^T z + H^T q)

a ``CoupledSystem`` with C as dual damping rows and two kinds of constraints: the rings, G^T d = what their rate lacks
(3.3), and the contacts of soft surfaces, N d = 0, one-sided: those that would pull by more than they press are let go.
What touches a rigid body is left out of M^-1, as in ``rings``. v_f is the velocity whose damping has not acted yet: in
the explicit schemes, whose damping is solved here, v (in the second half of Newmark's step v^n + v^n+1, as it is the
mean of both that is damped); 0 in the implicit one, where elasticity and damping balance at v already and resist the
change alone.

Sweeps over contacts (section 3.4) are an approximation to M^-1 on the velocities that contact allows, after damping;
here nothing is split and nothing is swept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from undertow.grid import Array
from undertow.linalg import CoupledSystem, Stencil
from undertow.linalg.coupled import SolveStats
from undertow.soft.bodies import SoftBodies
from undertow.soft.implicit import ElasticRows, Held, Joined
from undertow.soft.rings import ITERATIONS, SLACK, RingProjection

PASSES = 8
"""Most solves for contacts that would pull: these are let go, those that then approach are held again."""


class JoinedRows:
    """n . sum of w_a v_a of stencils of four nodes as constraints on the velocities ``soft``; rows that do not act, and
    those beyond the stencils there are, are empty."""

    name = "joined"
    damping = False
    folded = False
    stencil: Stencil | None = None

    def __init__(self, room: int) -> None:
        self.shape: tuple[int, ...] = (room,)
        self.target: Array | None = None
        self.joined, self.acts = Joined(), np.zeros(0, dtype=bool)

    def along(self, v: Array) -> Array:
        """Velocities (m,) of all stencils along their normals."""
        j = self.joined
        return np.asarray(np.einsum("ma,mai,mi->m", j.weight, v[j.nodes], j.normal))

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        out[...] = 0.0
        out[: len(self.acts)] = np.where(self.acts, self.along(w["soft"]), 0.0)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        j = self.joined
        pushed = np.where(self.acts, z[: len(j.nodes)], 0.0)
        push = pushed[:, None, None] * j.weight[:, :, None] * j.normal[:, None, :]
        nodes, v = j.nodes.reshape(-1), w["soft"]
        for axis in range(3):
            v[:, axis] += np.bincount(nodes, push[:, :, axis].reshape(-1), len(v))

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        j = self.joined
        m = inv_mass["soft"][j.nodes]
        out[: len(j.nodes)] += np.where(self.acts, np.einsum("ma,mai,mi->m", j.weight**2, m, j.normal**2), 0.0)


class RingSystem(RingProjection):
    """``RingProjection`` by the single system. Call ``damp`` before the solves of a step."""

    damps = True

    def __init__(
        self, bodies: SoftBodies, nodes: Any, recovery: float, tolerance: float = 3e-4, folded: bool = False
    ) -> None:
        """folded: C in the mass (a saddle point, solved by MINRES) in the place of rows of its own; the same w."""
        super().__init__(bodies, nodes, recovery, tolerance)
        self.elastic = ElasticRows(bodies.forces)
        self.elastic.folded = folded
        self.contacts = JoinedRows(0)
        self._rate: Array | None = None
        self._reserve(16)

    def _reserve(self, room: int) -> None:
        """Room for so many contacts."""
        self.contacts = JoinedRows(room)
        self.system = CoupledSystem([self.block, self._slack], [self.elastic, self.rows, self.contacts])
        self._duals = {row.name: np.zeros(row.shape) for row in (self.elastic, self.contacts)}

    def join(self, joined: Joined) -> None:
        """Contacts of soft surfaces in the next solves."""
        if len(joined.nodes) > self.contacts.shape[0]:
            self._reserve(2 * len(joined.nodes))
        self.contacts.joined, self.contacts.acts = joined, np.ones(len(joined.nodes), dtype=bool)

    def damp(self, x: Array, elastic: float, damping: float, rate: Array | None = None) -> None:
        """C^T C = elastic K+ + damping (-D) at x (n, 3) in the next solves; rate (n, 3): v_f of the first of them."""
        forces = self.bodies.forces
        if self.elastic.folded:
            forces.assemble(x, elastic, damping, self.elastic.blocks)
        forces.factor(x, elastic, damping)
        self._rate = rate

    def correct(self, v: Array, dt: float, held: Held | None = None, stiffness: Array | None = None) -> SolveStats:
        """As ``RingProjection.correct``; what resists beside the masses is C, not the stiffness of single nodes."""
        return super().correct(v, dt, held)

    def _solve(self, w: Array, dt: float, held: Held | None, positions: bool) -> SolveStats:
        self.block.hold(held or Held())
        C, N = self.elastic, self.contacts
        C.target, N.target = np.zeros(C.shape), np.zeros(N.shape)
        C.apply({"soft": w}, C.target)
        if self._rate is not None:
            moving = np.zeros(C.shape)
            C.apply({"soft": self._rate}, moving)
            C.target -= moving
            self._rate = None
        diagonal = self._diagonal()
        touched = (held is not None and len(held.body) > 0) or len(N.joined.nodes) > 0
        np.multiply(diagonal, SLACK if touched else 0.0, out=self._slack.inv_mass)
        rest = self.rows.rest / np.sqrt(np.where(diagonal > 0, diagonal, np.inf))
        scale = self.least * float(np.linalg.norm(rest)) / dt
        start, iterations = w.copy(), 0
        N.acts = np.ones(len(N.joined.nodes), dtype=bool)
        for _ in range(PASSES):
            N.apply({"soft": start}, N.target)
            stats = self._pass(w, positions, scale)
            iterations += stats.iterations
            pulls, comes = self._judge(w - start)
            if not (pulls | comes).any():
                break
            N.acts = (N.acts & ~pulls) | comes
            w[...] = start
        else:
            N.apply({"soft": start}, N.target)
            stats = self._pass(w, positions, scale)
            iterations += stats.iterations
        return replace(stats, iterations=iterations)

    def _pass(self, w: Array, positions: bool, scale: float) -> SolveStats:
        """The system with the contacts that act."""
        for dual in self._duals.values():
            dual[...] = 0.0
        self._yielded[...] = 0.0
        unknowns = {"rings": self._pressure[positions], **self._duals}
        return self.system.solve(
            {"soft": w, "slack": self._yielded}, unknowns, self.tolerance, ITERATIONS,
            scale if self.solved else None, least=scale,
        )  # fmt: skip

    def _judge(self, change: Array) -> tuple[Any, Any]:
        """Contacts that act and pull by more than they press, and others that approach, (m,) each."""
        N, m = self.contacts, len(self.contacts.acts)
        if N.joined.press is None:
            return np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
        pull, come = self._duals["joined"][:m] - N.joined.press, -N.along(change)
        pulls = N.acts & (pull > 1e-6 * np.abs(N.joined.press).max(initial=0.0))
        return pulls, ~N.acts & (come > 1e-9 * np.abs(change).max(initial=0.0))

    def add_impulse(self, out: Array) -> None:
        """out (n, 3) [N s] += what would have held all nodes against the last solve: C^T z + G p + N^T q."""
        super().add_impulse(out)
        for row in (self.elastic, self.contacts):
            row.add_transpose(self._duals[row.name], {"soft": out})
