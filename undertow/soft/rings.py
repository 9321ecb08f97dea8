"""Solids that keep the volume of every one-ring (thesis chapter 3 [@schroeder2011]).

The ring of a node is the elements around it; each element of k nodes gives a k-th of its volume to each of them.
Keeping the volume of rings instead of elements leaves as many constraints as nodes, and does not lock.

    volumes    V_i(x) = sum of V_e / k over the ring,        rows  (G^T v)_i = dV_i/dt = sum over the ring of grad V_e
    . v / k positions  G^T w = (V_0 - V(x)) / dt, clamped to V_0 / recovery      (3.1)
    velocity   G^T v = 0                                                 (3.2)

Rows are a constraint block of a ``CoupledSystem``: alone they are the Poisson solves of (3.1) and (3.2); beside the
damping rows they are the single system of 5.10. Here G^T is the divergence itself; the thesis writes -G^T for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from undertow.grid import Array, share
from undertow.linalg import CoupledSystem, Stencil
from undertow.linalg.coupled import SolveStats
from undertow.soft.bodies import SoftBodies
from undertow.soft.implicit import Held, NodeBlock
from undertow.soft.simplices import PLANE, SOLID, Simplices, _measure_volumes


class RingRows:
    """The rows of the rings of chosen nodes as constraints on the velocities ``soft``."""

    name = "rings"
    damping = False
    folded = False

    def __init__(self, bodies: SoftBodies, nodes: Any) -> None:
        """nodes: those whose bodies keep their volume."""
        import scipy.sparse as sparse

        self.bodies = bodies
        chosen = np.zeros(bodies.count, dtype=bool)
        chosen[nodes] = True
        groups = [g for g in bodies.forces.groups if isinstance(g, Simplices) and g.kind[0] in (SOLID, PLANE)]
        kept = [_select(group, chosen[group.nodes[:, 0]]) for group in groups]
        self.groups = [group for group in kept if len(group.nodes)]
        self.nodes = np.flatnonzero(chosen)
        row_of = np.cumsum(chosen) - 1
        self._volume = [np.zeros(len(g.nodes)) for g in self.groups]
        self._normal = [np.zeros(g.gradient.shape) for g in self.groups]
        total = sum(len(g.nodes) for g in self.groups)
        # elements to rings, and velocities to elements: one matrix of constant places for each
        share_of, ring, element, columns, first = [], [], [], [], 0
        for g in self.groups:
            m, k = g.nodes.shape
            ring.append(row_of[g.nodes].reshape(-1))
            element.append(np.repeat(first + np.arange(m), k))
            share_of.append(np.full(m * k, 1.0 / k))
            columns.append((3 * g.nodes[:, :, None] + np.arange(3)).reshape(-1))
            first += m
        self._share = sparse.csr_matrix(
            (np.concatenate(share_of), (np.concatenate(ring), np.concatenate(element))), shape=(len(self.nodes), total)
        )
        counts = np.concatenate([np.full(len(g.nodes), 3 * g.nodes.shape[1]) for g in self.groups])
        pointers = np.concatenate([[0], np.cumsum(counts)])
        self._flux = sparse.csr_matrix(
            (np.zeros(int(pointers[-1])), np.concatenate(columns), pointers), shape=(total, 3 * bodies.count)
        )
        self.shape: tuple[int, ...] = (len(self.nodes),)
        self.target: Array | None = None
        self.stencil: Stencil | None = None
        self.rest = self.measure(bodies.rest)
        """Volumes of the rings at rest."""
        self._matrix: Any = None

    def measure(self, x: Array) -> Array:
        """Volumes of the rings (rows,) at x (n, 3); the rows are set to those of x."""
        for group, volume, normal in zip(self.groups, self._volume, self._normal, strict=True):
            share(_measure_volumes, len(group.nodes), 32 * len(group.nodes), group, x, volume, normal)
        self._flux.data[...] = np.concatenate([normal.reshape(-1) for normal in self._normal])
        self._matrix = None
        return np.asarray(self._share @ np.concatenate(self._volume))

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        out[...] = self._share @ (self._flux @ w["soft"].reshape(-1))

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        flat = w["soft"].reshape(-1)
        flat += self._flux.T @ (self._share.T @ z)

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        rows = self.matrix()
        out += rows.multiply(rows) @ inv_mass["soft"].reshape(-1)

    def matrix(self) -> Any:
        """G^T as a sparse matrix (rows, 3 n)."""
        if self._matrix is None:
            self._matrix = (self._share @ self._flux).tocsr()
        return self._matrix


def _select(group: Simplices, rows: Any) -> Simplices:
    return Simplices(*(np.ascontiguousarray(array[rows]) for array in group))


class RingProjection:
    """Keeps the volume of rings: corrects the velocity of the positions (3.1), and projects velocities (3.2)."""

    def __init__(self, bodies: SoftBodies, nodes: Any, recovery: float, tolerance: float = 1e-6) -> None:
        """recovery [s]: shortest time over which lost volume is regained; tolerance: volume that
        may be wrong after a step, relative."""
        self.bodies, self.recovery, self.tolerance = bodies, recovery, tolerance
        self.rows = RingRows(bodies, nodes)
        self.block = NodeBlock(bodies)
        self.system = CoupledSystem([self.block], [self.rows])
        self._pressure = {False: np.zeros(self.rows.shape), True: np.zeros(self.rows.shape)}

    def correct(self, v: Array, dt: float, held: Held | None = None) -> SolveStats:
        """v (n, 3) so that positions that move with it for dt [s] regain their volume (3.1)."""
        volume = self.rows.measure(self.bodies.x)
        rate = (self.rows.rest - volume) / dt
        if self.recovery > dt:
            rate = self._clamp(rate)
        self.rows.target = rate
        return self._solve(v, dt, held, True)

    def _clamp(self, rate: Array) -> Array:
        """Rates of at most V_0 / recovery. The rates of a body are scaled together: clamped one by one they can be
        such that no velocity has them, because pressures whose mean in every element is 0 do nothing."""
        rate = rate.copy()
        for part in self.bodies.parts:
            rows = (self.rows.nodes >= part.first) & (self.rows.nodes < part.stop)
            most = float(np.max(np.abs(rate[rows]) * self.recovery / self.rows.rest[rows], initial=0.0))
            rate[rows] /= max(1.0, most)
        return rate

    def project(self, v: Array, x: Array, dt: float, held: Held | None = None) -> SolveStats:
        """v (n, 3) without divergence at the positions x (3.2)."""
        self.rows.measure(x)
        self.rows.target = None
        return self._solve(v, dt, held, False)

    def _solve(self, v: Array, dt: float, held: Held | None, positions: bool) -> SolveStats:
        """The tolerance is relative to all volume in a step, so that round-off in a body at rest is not solved for."""
        self.block.held = held or Held()
        pressure = self._pressure[positions]
        scale = float(np.linalg.norm(self.rows.rest)) / dt
        return self.system.solve({"soft": v}, {"rings": pressure}, self.tolerance, 5000, scale)

    def error(self, x: Array) -> float:
        """Largest relative error of the volume of a whole body (closed part) at x (n, 3)."""
        now = self.rows.measure(x)
        worst = 0.0
        for part in self.bodies.parts:
            rows = (self.rows.nodes >= part.first) & (self.rows.nodes < part.stop)
            if rows.any():
                worst = max(worst, abs(float(now[rows].sum() / self.rows.rest[rows].sum()) - 1.0))
        return worst
