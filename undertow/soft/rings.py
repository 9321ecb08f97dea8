"""Solids that keep the volume of every one-ring (thesis chapter 3 [@schroeder2011]).

The ring of a node is the elements around it; each element of k nodes gives a k-th of its volume to each of them.
Keeping the volume of rings instead of elements leaves as many constraints as nodes, and does not lock.

    volumes    V_i(x) = sum of V_e / k over the ring
    rows       (G^T v)_i = dV_i/dt = sum over the ring of grad V_e . v / k
    positions  G^T (w - v) = (V_0 - V(x + dt v)) / dt, clamped to V_0 / recovery   (3.1), G^T at x + dt v
    velocity   G^T v = 0                                                 (3.2)
    implicit   gradient of the step's potential + G p = 0,   V(x^n + dt v) = V(x^n)

Where elasticity or damping is implicit the rows belong to that same solve (5.10, ``RingConstraint``): projected after
it in the metric of the masses they would leave the rest of the compressible solid. Elsewhere they are a constraint
block of a ``CoupledSystem``: alone they are the Poisson solves of (3.1) and (3.2); beside the damping rows they are the
single system of 5.10. Here G^T is the divergence itself; the thesis writes -G^T for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.linalg import CoupledSystem, Stencil, VelocityBlock
from undertow.linalg.coupled import SolveStats
from undertow.soft.bodies import SoftBodies
from undertow.soft.gradients import Gradients, RingSystem
from undertow.soft.implicit import Held, Joined, NodeBlock
from undertow.soft.simplices import PLANE, SOLID, Simplices, _add_ring_rows
from undertow.soft.spread import Pattern


@njit(cache=True, nogil=True)
def _apply_rings(starts, columns, rows, v, out, start, stop):  # type: ignore[no-untyped-def]
    """out_i = sum_j dV_i/dx_j . v_j"""
    for i in range(start, stop):
        a, b, c = 0.0, 0.0, 0.0
        for p in range(starts[i], starts[i + 1]):
            j = columns[p]
            a += rows[p, 0] * v[j, 0]
            b += rows[p, 1] * v[j, 1]
            c += rows[p, 2] * v[j, 2]
        out[i] = a + b + c


@njit(cache=True, nogil=True)
def _add_rings_transposed(starts, columns, rows, z, out, start, stop):  # type: ignore[no-untyped-def]
    """out_j += sum_i dV_i/dx_j z_i"""
    for j in range(start, stop):
        a, b, c = 0.0, 0.0, 0.0
        for p in range(starts[j], starts[j + 1]):
            w = z[columns[p]]
            a += rows[p, 0] * w
            b += rows[p, 1] * w
            c += rows[p, 2] * w
        out[j, 0] += a
        out[j, 1] += b
        out[j, 2] += c


class RingRows:
    """The rows of the rings of chosen nodes as constraints on the velocities ``soft``: one row per node of all bodies,
    empty for those not chosen. With velocities ``slack`` (rows,), rates of volume beside those of the nodes:
    G^T v + slack."""

    name = "rings"
    damping = False
    folded = False

    def __init__(self, bodies: SoftBodies, nodes: Any) -> None:
        """nodes: those whose bodies keep their volume."""
        self.bodies = bodies
        chosen = np.zeros(bodies.count, dtype=bool)
        chosen[nodes] = True
        groups = [g for g in bodies.forces.groups if isinstance(g, Simplices) and g.kind[0] in (SOLID, PLANE)]
        kept = [_select(group, chosen[group.nodes[:, 0]]) for group in groups]
        self.groups = [group for group in kept if len(group.nodes)]
        self.nodes = np.flatnonzero(chosen)
        self.pattern = Pattern([g.nodes for g in self.groups], bodies.count)
        places = len(self.pattern.columns)
        self._rows, self._columns, self._squares = (np.zeros((places, 3)) for _ in range(3))
        self._volume = np.zeros(bodies.count)
        self.shape: tuple[int, ...] = (bodies.count,)
        self.target: Array | None = None
        self.stencil: Stencil | None = None
        self.rest = self.measure(bodies.rest)
        """Volumes of the rings at rest."""

    def measure(self, x: Array) -> Array:
        """Volumes of the rings (rows,) at x (n, 3); the rows are set to those of x."""
        for array in (self._volume, self._rows, self._columns):
            array[...] = 0.0
        for group, spread in zip(self.groups, self.pattern.spreads, strict=True):
            share(
                _add_ring_rows, len(self._volume), 64 * len(group.nodes), group, spread, x,
                self._volume, self._rows, self._columns,
            )  # fmt: skip
        return self._volume.copy()

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        p = self.pattern
        share(_apply_rings, len(out), self._rows.size, p.rows, p.columns, self._rows, w["soft"], out)
        if "slack" in w:
            out += w["slack"]

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        p = self.pattern
        share(_add_rings_transposed, len(z), self._rows.size, p.rows, p.columns, self._columns, z, w["soft"])
        if "slack" in w:
            w["slack"][...] += z

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        p, found = self.pattern, np.zeros(self.shape)
        np.multiply(self._rows, self._rows, out=self._squares)
        share(_apply_rings, len(out), self._rows.size, p.rows, p.columns, self._squares, inv_mass["soft"], found)
        out += found
        if "slack" in inv_mass:
            out += inv_mass["slack"]

    def system(self, block: NodeBlock, slack: Array, inverse: Array) -> RingSystem:
        """The rows on the velocities of ``block``, with slack (rows,) and the inverse (rows,) of the diagonal."""
        p = self.pattern
        return RingSystem(
            p.rows, p.columns, self._rows, self._columns, block.free, block.inverse, slack, inverse[:, None]
        )  # fmt: skip

    def matrix(self) -> Any:
        """G^T as a sparse matrix (rows, 3 n)."""
        import scipy.sparse as sparse

        columns = (3 * self.pattern.columns[:, None] + np.arange(3)).reshape(-1)
        shape = (self.shape[0], 3 * self.bodies.count)
        return sparse.csr_matrix((self._rows.reshape(-1), columns, 3 * self.pattern.rows), shape=shape)


def _select(group: Simplices, rows: Any) -> Simplices:
    return Simplices(*(np.ascontiguousarray(array[rows]) for array in group))


FARTHEST = 0.3
"""Most that a correction moves nodes in a step, as a part of the size of an element."""


ROUNDS = 4
"""Most corrections in a step, each from where the last has led, where volume is regained at once."""


ITERATIONS = 20000
"""Most of a solve: a ball pressed to 2% of its thickness takes 6000."""

LEAST = 1e-4
"""Rates of volume, as a part of all volume in a step, below which they are rounding."""

SLACK, SLACK_IMPLICIT = 1e-7, 1e-6
"""How much a ring yields to its own pressure, as a part of what its nodes would if nothing held them; the second beside
stiffness. Where contact holds every node of an element, some pressures move nothing and some rates have no velocity.
Without slack conjugate gradients diverge there; beside stiffness, with 1e-7, such pressures grow to 1e8 times others
in steps of one iteration, and the next steps feel them."""


class RingProjection:
    """Keeps the volume of rings: corrects the velocity of the positions (3.1), and projects velocities (3.2).

    What ``join`` names does not part or approach by that: contact among soft surfaces inside both solves, by symmetric
    sweeps (thesis 3.4).
    """

    def __init__(self, bodies: SoftBodies, nodes: Any, recovery: float, tolerance: float = 3e-4) -> None:
        """recovery [s]: shortest time over which lost volume is regained; tolerance: root mean
        square of the volumes of rings that may be wrong after a solve, relative."""
        self.bodies, self.recovery, self.tolerance = bodies, recovery, tolerance
        self.rows = RingRows(bodies, nodes)
        chosen = np.isin(np.arange(bodies.count), nodes)
        self.parts = {part.name for part in bodies.parts if chosen[part.first]}
        self.block = NodeBlock(bodies)
        self._slack = VelocityBlock("slack", np.zeros(self.rows.shape))
        self._yielded = np.zeros(self.rows.shape)
        self.system = CoupledSystem([self.block, self._slack], [self.rows])
        self._solver = Gradients(bodies.count, 1)
        self._length = float(np.mean(self.rows.rest[self.rows.nodes])) ** (1.0 / bodies.dimensions)
        self._pressure = {False: np.zeros(self.rows.shape), True: np.zeros(self.rows.shape)}
        self._steps = np.zeros(2)

    def join(self, joined: Joined) -> None:
        """Contacts of soft surfaces in the next solves."""
        self.block.join(joined)

    damps = False
    """Whether damping is solved here, not before."""

    solved = False
    """Whether v^n+1 comes from a solve that has the rows already: positions are then corrected for what is lost
    beyond the tolerance, and for nothing else."""

    def damp(self, x: Array, elastic: float, damping: float, rate: Array | None = None) -> None:
        """Nothing: damping and elasticity have acted before these projections (see ``ring_system``)."""

    def correct(self, v: Array, dt: float, held: Held | None = None, stiffness: Array | None = None) -> SolveStats:
        """v (n, 3) so that positions that move with it for dt [s] regain their volume (3.1).

        The rows are those of the positions that v leads to, and only what is wrong there is solved for: rows of the
        start are wrong by the square of the way. stiffness (n,) [kg]: dt^2 K of the nodes, which resist beside their
        masses; by masses alone the light nodes of small elements would move, and crush these.
        """
        rows, wanted = self.rows, self.rows.rest
        if self.recovery > dt:
            volume = rows.measure(self.bodies.x)
            wanted = volume + dt * self._clamp((wanted - volume) / dt)
        scale = self.tolerance * float(np.linalg.norm(rows.rest))
        change, total = np.zeros_like(v), np.zeros(rows.shape)
        pressure, stats = self.begin(dt, True), SolveStats(0, 0.0, 0.0, 0.0, True, 0, 0.0, "dual")
        self.block.refresh(stiffness)
        for turn in range(ROUNDS if self.recovery == 0 else 1):
            lacks = wanted - rows.measure(self.bodies.x + dt * v)
            if (turn > 0 or self.solved) and float(np.linalg.norm(lacks)) <= scale:
                break
            rows.target = lacks / dt
            change[...] = 0.0
            if turn > 0 or self.solved:
                pressure[...] = 0.0
            stats = self._solve(change, dt, held, True)
            # beyond a part of an element the rows say nothing
            farthest = dt * float(np.abs(change).max(initial=0.0))
            part = min(1.0, FARTHEST * self._length / max(farthest, 1e-300))
            v += part * change
            total += part * pressure
        pressure[...] = total
        if stiffness is not None:
            self.block.refresh()
        return stats

    def _clamp(self, rate: Array) -> Array:
        """Rates of at most V_0 / recovery. The rates of a body are scaled together: clamped one by one they can be
        such that no velocity has them, because pressures whose mean in every element is 0 do nothing."""
        rate = rate.copy()
        for part in self.bodies.parts:
            if part.name in self.parts:
                rows, rest = rate[part.nodes], self.rows.rest[part.nodes]
                rows /= max(1.0, float(np.max(np.abs(rows) * self.recovery / rest, initial=0.0)))
        return rate

    def project(self, v: Array, x: Array, dt: float, held: Held | None = None) -> SolveStats:
        """v (n, 3) without divergence at the positions x (3.2)."""
        self.rows.measure(x)
        self.rows.target = None
        self.begin(dt, False)
        return self._solve(v, dt, held, False)

    def begin(self, dt: float, positions: bool) -> Array:
        """The first guess of the pressures of a step of dt [s] (rows,): impulses, those of the last step in proportion
        to its length. Unchanged, those of a long step would be far too much for a short one, and within its tolerance,
        which is one of volumes."""
        pressure, last = self._pressure[positions], self._steps[int(positions)]
        pressure *= dt / last if last > 0 else 0.0
        self._steps[int(positions)] = dt
        return pressure

    def add_impulse(self, out: Array) -> None:
        """out (n, 3) [N s] += what would have held all nodes against the last ``project``: G p."""
        self.rows.add_transpose(self._pressure[False], {"soft": out})

    def _solve(self, w: Array, dt: float, held: Held | None, positions: bool) -> SolveStats:
        """Rows on w (n, 3), a velocity or a change of it. The tolerance is relative to all volume in a step where what
        is lost is regained; else to the rates there are, down to ``LEAST``: what a short step changes is little, and
        all of the pressure."""
        self.block.hold(held or Held())
        pressure = self._pressure[positions]
        scale = self.least * float(np.linalg.norm(self.rows.rest)) / dt
        self._slack.inv_mass[...] = 0.0
        if held is not None and len(held.body):
            np.multiply(self._diagonal(), SLACK, out=self._slack.inv_mass)
        if not len(self.block.joined.nodes):
            return self._solve_alone(w, pressure, scale)
        self._yielded[...] = 0.0
        found = {"soft": w, "slack": self._yielded}
        return self.system.solve(
            found, {"rings": pressure}, self.tolerance, ITERATIONS, scale if self.solved else None, least=scale
        )

    @property
    def least(self) -> float:
        """Of all volume in a step, what the tolerance is relative to at least."""
        return 1.0 if self.solved else LEAST

    def _solve_alone(self, w: Array, pressure: Array, scale: float) -> SolveStats:
        """The same system where nothing is joined, which is swept one after another: solved by all threads at once."""
        rows, block, slack = self.rows, self.block, self._slack.inv_mass
        b, diagonal = np.zeros(rows.shape), slack.copy()
        rows.apply({"soft": w}, b)
        if rows.target is not None:
            b -= rows.target
        rows.add_diagonal({"soft": block.inv_mass}, diagonal)
        inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        self._solver.set_rings(rows.system(block, slack, inverse))
        scale = scale if self.solved else max(scale, float(np.linalg.norm(b)))
        stats = self._solver.solve(b[:, None], pressure[:, None], self.tolerance, ITERATIONS, scale)
        impulse = np.zeros_like(w)
        rows.add_transpose(pressure, {"soft": impulse})
        block.apply_inverse_mass(impulse, impulse)
        w -= impulse
        residuals = stats.residual_start, stats.residual, stats.relative
        return SolveStats(stats.iterations, *residuals, True, 0, 0.0, "dual")

    def _diagonal(self) -> Array:
        """That of the operator of the rings (rows,) if nothing held their nodes."""
        found = np.zeros(self.rows.shape)
        self.rows.add_diagonal({"soft": self.block.inv_mass_alone}, found)
        return found

    def arrays(self) -> dict[str, Array]:
        """What evolves: the pressures that the next solves start from, and the steps they are impulses of [s]."""
        found = {"soft_ring_positions": self._pressure[True], "soft_ring_velocities": self._pressure[False]}
        return {**found, "soft_ring_steps": self._steps}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]

    def error(self, x: Array) -> float:
        """Largest relative error of the volume of a whole body (closed part) at x (n, 3)."""
        now = self.rows.measure(x)
        worst = 0.0
        for part in self.bodies.parts:
            if part.name in self.parts:
                now_of, rest_of = now[part.nodes].sum(), self.rows.rest[part.nodes].sum()
                worst = max(worst, abs(float(now_of / rest_of) - 1.0))
        return worst


class RingConstraint:
    """Rings as rows of an implicit step: V(x^n + dt v) = V(x^n), with impulses -G p on the nodes.

    Newton's method solves for the changes d of velocities and q of pressures,

        [ A     G      ] [ d ]   [ -(g + G p)      ]
        [ G^T  -slack  ] [ q ] = [ slack p - c     ],     A = M + dt^2 K + dt (-D) + contacts,   c = (V - V(x^n)) / dt

    and p + q, c and the diagonal S of G^T A^-1 G make the potential that steps must lower,

        Phi + (p + q).c + sum of (c - slack (p + q))^2 / (2 S),

    which is stationary where the equations hold; without slack its slope along d is -d.A d - sum of c^2 / S.
    """

    def __init__(self, rings: RingProjection) -> None:
        rings.solved = True
        self.rings, self.rows = rings, rings.rows
        self.tolerance = rings.tolerance
        shape = self.rows.shape
        self.rate, self.slack, self.inverse = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        """c (rows,) [m3/s]; slack; the inverse of S, 0 for empty rows."""
        self.pressure = np.zeros(shape)
        """p (rows,) [N s / m2]."""
        self._start, self._dt, self._size = np.zeros(shape), 1.0, float(np.linalg.norm(self.rows.rest))

    def begin(self, x: Array, dt: float) -> None:
        """A step of dt [s] from x (n, 3); pressures are those of the step before."""
        self._start, self._dt = self.rows.measure(x), dt
        self.pressure = self.rings.begin(dt, False)
        self.weigh(self.rings.block.inv_mass_alone, self.rings.block.inv_mass_alone)

    def weigh(self, inv_mass: Array, inv_mass_alone: Array) -> None:
        """S of effective inverse masses (n, 3) of the free directions, and slack of those if nothing were held."""
        own, alone = np.zeros(self.rows.shape), np.zeros(self.rows.shape)
        self.rows.add_diagonal({"soft": inv_mass}, own)
        self.rows.add_diagonal({"soft": inv_mass_alone}, alone)
        np.multiply(alone, SLACK_IMPLICIT, out=self.slack)
        own += self.slack
        self.inverse[...] = 0.0
        np.divide(1.0, own, out=self.inverse, where=own > 0.0)

    def add_gradient(self, x: Array, gradient: Array) -> float:
        """p.c + sum of (c - slack p)^2 / (2 S) at x (n, 3); G p is added to the gradient (n, 3)."""
        np.subtract(self.rows.measure(x), self._start, out=self.rate)
        self.rate /= self._dt
        self.rows.add_transpose(self.pressure, {"soft": gradient})
        return float(self.pressure @ self.rate) + 0.5 * float(self.inverse @ self.left() ** 2)

    def left(self) -> Array:
        """c - slack p (rows,): what the rows are from being met [m3/s]."""
        return np.asarray(self.rate - self.slack * self.pressure)

    def apply(self, v: Array) -> Array:
        """G^T v (rows,)."""
        out = np.zeros(self.rows.shape)
        self.rows.apply({"soft": v}, out)
        return out

    @property
    def holds(self) -> bool:
        """Whether volumes are kept within the tolerance."""
        return self._dt * float(np.linalg.norm(self.left())) <= self.tolerance * self._size
