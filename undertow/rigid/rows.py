"""Rigid bodies and joints as blocks of ``CoupledSystem``: twists with dense masses, and rows between two bodies.

Appendix C [@schroeder2011] writes the joints as G^T M^-1 G j = -G^T v (C.1) with the projections P inside G. Here the
free directions are removed instead: a joint has as many rows as it takes degrees of freedom,

    K = diag(weight) k,    k w = k_a (v_a, omega_a) + k_b (v_b, omega_b).

Joints in loops are redundant (a plane four-bar of hinges has three rows too many), and G^T M^-1 G is then singular.
So every row is compliant: it is a damping row, P = I, with weight^2 = 1 / (COMPLIANCE diag(k M^-1 k^T)). Repeating the
solve on what is left makes the constraint exact in every direction in which the rows can act. An implicit motor is the
same kind of row with weight^2 = dt kd + dt^2 kp (see ``control``); a row with weight 0 is switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.linalg import DenseBlock, Stencil
from undertow.rigid.bodies import RigidBodies, rotate

BLOCK = "rigid"
"""Name of the velocity block."""

COMPLIANCE = 1e-10
"""Of a constraint row, relative to its own effective inverse mass."""

MOST_ROWS = 8
"""No joint has more rows than this."""


class RigidVelocities(DenseBlock):
    """Twists (v, omega) of all bodies, (n, 6) [m/s, rad/s]; the inverse mass of a body that is not dynamic is 0."""

    def __init__(self, count: int) -> None:
        super().__init__(BLOCK, np.zeros((count, 6, 6)))

    def set_masses(self, bodies: RigidBodies) -> None:
        """Inverse masses diag(1/m, R I0^-1 R^T) at the bodies' orientations of now."""
        # couplings may have written to all of it
        self.inv_mass[...] = 0.0
        _fill_inverse_masses(bodies.inv_mass_b, bodies.inv_inertia_b, bodies.q_b, self.inv_mass)
        self.refresh()


class JointRows:
    """Row block of all joints, named ``joints``; K = diag(weight) k, see the head of the module.

    body (m, 2): indices of parent and child of each row, -1 for the world. k (m, 2, 6): what multiplies their twists.
    weight, wanted (m,): the latter is the target s, weighted like K. start (joints + 1,): the rows of each joint.
    """

    name = "joints"
    damping = True
    folded = False
    stencil: Stencil | None = None

    def __init__(self, start: np.ndarray, body: np.ndarray) -> None:
        self.start, self.body = start, body
        count = len(body)
        self.shape: tuple[int, ...] = (count,)
        self.k = np.zeros((count, 2, 6))
        self.weight = np.zeros(count)
        self.wanted = np.zeros(count)
        self.target: Array | None = self.wanted
        self._ones = np.ones(count)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        """out = K w"""
        _apply_rows(self.body, self.k, self.weight, w[BLOCK], out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """w += K^T z"""
        _add_rows_transpose(self.body, self.k, self.weight, z, w[BLOCK])

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """out += diag(K B^-1 K^T)"""
        _add_rows_diagonal(self.body, self.k, self.weight, inv_mass[BLOCK], out)

    def rates(self, w: Array, out: Array) -> None:
        """out = k w, without the weights."""
        _apply_rows(self.body, self.k, self._ones, w, out)

    def constrain(self, chosen: np.ndarray, inv_mass: Array) -> None:
        """Weight of a constraint for the rows where ``chosen``, 0 for the others and for rows that move nothing."""
        self.weight[...] = 0.0
        _add_rows_diagonal(self.body, self.k, self._ones, inv_mass, self.weight)
        can = chosen & (self.weight > 0)
        np.divide(1.0, COMPLIANCE * self.weight, out=self.weight, where=can)
        np.sqrt(self.weight, out=self.weight, where=can)
        self.weight[~can] = 0.0


class BandedFactor:
    """Cholesky factor of K B^-1 K^T + I of joint rows, banded in the order of Cuthill and McKee (1969).

    The preconditioner of the rows in ``CoupledSystem``: it is the whole operator, so that conjugate gradients end after
    one or two steps. Chains, trees and loops have a bandwidth of a few joints however long they are.
    """

    def __init__(self, rows: JointRows, movable_b: np.ndarray) -> None:
        self.rows = rows
        self.order, self.half = _order_rows(rows.start, rows.body, movable_b)
        self._factor = np.zeros((len(self.order), self.half + 1))
        self._work = np.zeros(len(self.order))

    def setup(self, inv_mass: Array) -> None:
        """Factor the operator of the rows and masses of now."""
        rows = self.rows
        _factor_band(rows.body, rows.k, rows.weight, inv_mass, self.order, self._factor)

    def apply(self, x: Array, out: Array) -> None:
        """out = (K B^-1 K^T + I)^-1 x"""
        _solve_band(self.order, self._factor, x, self._work, out)


def sweep_pairwise(rows: JointRows, inv_mass: Array, w: Array, z: Array) -> float:
    """One forward and one backward Gauss-Seidel sweep over the joints on (K B^-1 K^T + I) z = K w* - s.

    Each joint is solved exactly for its own rows (Weinstein, Teran & Fedkiw 2006). w (n, 6) and z are changed
    together, w = w* - B^-1 K^T z. Returns the largest change of a rate k w asked for in the backward sweep [1/s].
    """
    return float(_sweep_joints(rows.start, rows.body, rows.k, rows.weight, rows.wanted, inv_mass, w, z))


def _order_rows(start: np.ndarray, body: np.ndarray, movable_b: np.ndarray) -> tuple[np.ndarray, int]:
    """Rows in an order of small bandwidth, and that bandwidth. Joints are neighbours when they share a movable body."""
    joints = len(start) - 1
    touching: dict[int, list[int]] = {}
    for j in range(joints):
        for b in body[start[j]]:
            if b >= 0 and movable_b[b]:
                touching.setdefault(int(b), []).append(j)
    pairs = {(i, j) for group in touching.values() for i in group for j in group if i != j}
    if pairs:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        i, j = np.array(sorted(pairs)).T
        graph = csr_matrix((np.ones(len(i)), (i, j)), shape=(joints, joints))
        order = np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int64)
    else:
        order = np.arange(joints, dtype=np.int64)
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(start[j], start[j + 1]) for j in order)])
    first = np.zeros(joints + 1, dtype=np.int64)
    first[order] = np.concatenate([[0], np.cumsum(np.diff(start)[order])])[:-1]
    last = first[:-1] + np.diff(start) - 1
    half = max([int(n) - 1 for n in np.diff(start)] + [int(last[i] - first[j]) for i, j in pairs] + [0])
    return rows.astype(np.int64), half


@njit(cache=True)
def fill_axes(q, out):  # type: ignore[no-untyped-def]
    """Axes of the frame q in the world: out[i] = R(q) e_i."""
    out[0, 0], out[0, 1], out[0, 2] = rotate(q, 1.0, 0.0, 0.0)
    out[1, 0], out[1, 1], out[1, 2] = rotate(q, 0.0, 1.0, 0.0)
    out[2, 0], out[2, 1], out[2, 2] = rotate(q, 0.0, 0.0, 1.0)


@njit(cache=True)
def _fill_inverse_masses(inv_mass, inv_inertia, q, out):  # type: ignore[no-untyped-def]
    axes = np.empty((3, 3))
    for b in range(len(inv_mass)):
        fill_axes(q[b], axes)
        for i in range(3):
            out[b, i, i] = inv_mass[b]
        for i in range(3):
            for j in range(3):
                total = 0.0
                for a in range(3):
                    total += inv_inertia[b, a] * axes[a, i] * axes[a, j]
                out[b, 3 + i, 3 + j] = total


@njit(cache=True)
def _apply_rows(body, k, weight, w, out):  # type: ignore[no-untyped-def]
    for r in range(len(weight)):
        total = 0.0
        for side in range(2):
            b = body[r, side]
            if b >= 0:
                for i in range(6):
                    total += k[r, side, i] * w[b, i]
        out[r] = weight[r] * total


@njit(cache=True)
def _add_rows_transpose(body, k, weight, z, w):  # type: ignore[no-untyped-def]
    for r in range(len(weight)):
        scaled = weight[r] * z[r]
        for side in range(2):
            b = body[r, side]
            if b >= 0:
                for i in range(6):
                    w[b, i] += k[r, side, i] * scaled


@njit(cache=True)
def _couple(k, r, side, inv_mass, b, other, other_side):  # type: ignore[no-untyped-def]
    """k_r B^-1 k_other^T through body b."""
    total = 0.0
    for i in range(6):
        part = 0.0
        for j in range(6):
            part += inv_mass[b, i, j] * k[other, other_side, j]
        total += k[r, side, i] * part
    return total


@njit(cache=True)
def _add_rows_diagonal(body, k, weight, inv_mass, out):  # type: ignore[no-untyped-def]
    for r in range(len(weight)):
        for side in range(2):
            b = body[r, side]
            if b >= 0:
                out[r] += weight[r] * weight[r] * _couple(k, r, side, inv_mass, b, r, side)


@njit(cache=True)
def _factor_band(body, k, weight, inv_mass, order, out):  # type: ignore[no-untyped-def]
    """Lower triangle of the factor: out[i, half + j - i] for the i-th and j-th row in the given order, j <= i."""
    half = out.shape[1] - 1
    for i in range(len(order)):
        r = order[i]
        low = max(0, i - half)
        for j in range(low, i + 1):
            s = order[j]
            total = 0.0
            if weight[r] * weight[s] > 0.0:
                for side in range(2):
                    b = body[r, side]
                    for other in range(2):
                        if b >= 0 and b == body[s, other]:
                            total += _couple(k, r, side, inv_mass, b, s, other)
                total *= weight[r] * weight[s]
            if i == j:
                total += 1.0
            for c in range(max(low, j - half), j):
                total -= out[i, half + c - i] * out[j, half + c - j]
            if i == j:
                # the identity keeps pivots above 1 but for rounding
                out[i, half] = sqrt(max(total, 0.5))
            else:
                out[i, half + j - i] = total / out[j, half]


@njit(cache=True)
def _solve_band(order, factor, x, work, out):  # type: ignore[no-untyped-def]
    half = factor.shape[1] - 1
    n = len(order)
    for i in range(n):
        total = x[order[i]]
        for c in range(max(0, i - half), i):
            total -= factor[i, half + c - i] * work[c]
        work[i] = total / factor[i, half]
    for i in range(n - 1, -1, -1):
        total = work[i]
        for c in range(i + 1, min(n, i + half + 1)):
            total -= factor[c, half + i - c] * work[c]
        work[i] = total / factor[i, half]
        out[order[i]] = work[i]


@njit(cache=True)
def _sweep_joints(start, body, k, weight, target, inv_mass, w, z):  # type: ignore[no-untyped-def]
    joints = len(start) - 1
    a = np.empty((MOST_ROWS, MOST_ROWS))
    x = np.empty(MOST_ROWS)
    change = 0.0
    for visit in range(2 * joints):
        if visit == joints:
            change = 0.0
        j = visit if visit < joints else 2 * joints - 1 - visit
        first = start[j]
        n = start[j + 1] - first
        for i in range(n):
            r = first + i
            rate = 0.0
            for side in range(2):
                b = body[r, side]
                if b >= 0:
                    for c in range(6):
                        rate += k[r, side, c] * w[b, c]
            x[i] = weight[r] * rate - target[r] - z[r]
            if weight[r] > 0.0:
                change = max(change, abs(x[i]) / weight[r])
            for c in range(i + 1):
                s = first + c
                total = 1.0 if c == i else 0.0
                for side in range(2):
                    b = body[r, side]
                    if b >= 0:
                        total += weight[r] * weight[s] * _couple(k, r, side, inv_mass, b, s, side)
                for e in range(c):
                    total -= a[i, e] * a[c, e]
                a[i, c] = sqrt(max(total, 0.5)) if c == i else total / a[c, c]
        for i in range(n):
            for c in range(i):
                x[i] -= a[i, c] * x[c]
            x[i] /= a[i, i]
        for i in range(n - 1, -1, -1):
            for c in range(i + 1, n):
                x[i] -= a[c, i] * x[c]
            x[i] /= a[i, i]
        for i in range(n):
            r = first + i
            z[r] += x[i]
            for side in range(2):
                b = body[r, side]
                if b >= 0:
                    for c in range(6):
                        total = 0.0
                        for e in range(6):
                            total += inv_mass[b, c, e] * k[r, side, e]
                        w[b, c] -= total * weight[r] * x[i]
    return change
