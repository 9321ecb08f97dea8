"""Conjugate gradients for velocities of nodes and pressures of rings, a whole solve in one call of every thread.

    q = A p,   x += alpha p,   r -= alpha q,   z = M^-1 r,   p <- z + beta p
    alpha = r.z / p.q,         beta = r.z / (r.z of the iteration before)

    nodes     A = P (m + K + contacts), K 3x3 blocks by rows, P the free directions of every node; M its own blocks
    rings     A = G^T P m^-1 G + slack, G^T the rows of the rings; M its diagonal

Every thread has the same nodes in all passes; sums are those of chunks of nodes, added in their order by every thread
for itself, so that all take the same way, and the bits do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.errors import SolveError
from undertow.grid import Array
from undertow.grid.jitting import helper, inlined
from undertow.grid.threads import meet, share_together
from undertow.linalg.krylov import KrylovStats

CHUNK = 256
"""Nodes of a partial sum."""

ENDED, LIMIT, NOT_POSITIVE = 0, 1, 2
"""How iterations end: by the residual, by their number, by p.q or r.z that is not positive."""


class NodeSystem(NamedTuple):
    """starts (n + 1,), columns, blocks (., 9): K by rows; free (n, 9); mass (n,); inverse (n, 9): blocks of M^-1."""

    starts: Any
    columns: Any
    blocks: Array
    free: Array
    mass: Array
    inverse: Array


class Contacts(NamedTuple):
    """Stencils of nodes (m, 4), weight (m, 4), block (m, 9), see ``Touching``; which of them touch a node, and with
    which weight: row[starts[i]] ... of part[starts[i]] ..."""

    nodes: Any
    weight: Array
    block: Array
    starts: Any
    row: Any
    part: Array


class RingSystem(NamedTuple):
    """starts (n + 1,), columns: the pattern of the rings; rows, turned (., 3): dV_i/dx_j by i and by j; free (n, 9);
    inv_mass (n,); slack (n,); inverse (n, 1): of the diagonal."""

    starts: Any
    columns: Any
    rows: Array
    turned: Array
    free: Array
    inv_mass: Array
    slack: Array
    inverse: Array


def _none(*shape: int) -> Array:
    return np.zeros(shape)


NO_NODES = NodeSystem(np.zeros(0, np.int64), np.zeros(0, np.int32), _none(0, 9), _none(0, 9), _none(0), _none(0, 9))
NO_CONTACTS = Contacts(
    np.zeros((0, 4), np.int64), _none(0, 4), _none(0, 9), np.zeros(0, np.int64), np.zeros(0, np.int64), _none(0)
)
NO_RINGS = RingSystem(
    np.zeros(0, np.int64), np.zeros(0, np.int32), _none(0, 3), _none(0, 3), _none(0, 9), _none(0), _none(0), _none(0, 1)
)


@helper
def _add_up(sums):  # type: ignore[no-untyped-def]
    """The sum of partial sums, in their order."""
    total = 0.0
    for c in range(len(sums)):
        total += sums[c]
    return total


@inlined
def _times(A, n, a, b, c):  # type: ignore[no-untyped-def]
    """A[n] (a, b, c) for 3x3 matrices (n, 9)."""
    return (
        A[n, 0] * a + A[n, 1] * b + A[n, 2] * c,
        A[n, 3] * a + A[n, 4] * b + A[n, 5] * c,
        A[n, 6] * a + A[n, 7] * b + A[n, 8] * c,
    )


@helper
def _press_contacts(contacts, p, out_push, start, stop):  # type: ignore[no-untyped-def]
    """out_push (m, 3) = D sum of w_b p_b of the stencils start ... stop."""
    for m in range(start, stop):
        u0, u1, u2 = 0.0, 0.0, 0.0
        for a in range(4):
            w, j = contacts.weight[m, a], contacts.nodes[m, a]
            u0 += w * p[j, 0]
            u1 += w * p[j, 1]
            u2 += w * p[j, 2]
        out_push[m, 0], out_push[m, 1], out_push[m, 2] = _times(contacts.block, m, u0, u1, u2)


@helper
def _multiply_rows(system, contacts, push, p, out, start, stop):  # type: ignore[no-untyped-def]
    """out = A p of the nodes start ... stop; their part of p . A p."""
    blocks, total = system.blocks, 0.0
    for i in range(start, stop):
        m = system.mass[i]
        a, b, c = m * p[i, 0], m * p[i, 1], m * p[i, 2]
        for e in range(system.starts[i], system.starts[i + 1]):
            j = system.columns[e]
            u, v, w = p[j, 0], p[j, 1], p[j, 2]
            a += blocks[e, 0] * u + blocks[e, 1] * v + blocks[e, 2] * w
            b += blocks[e, 3] * u + blocks[e, 4] * v + blocks[e, 5] * w
            c += blocks[e, 6] * u + blocks[e, 7] * v + blocks[e, 8] * w
        if len(contacts.row):
            for e in range(contacts.starts[i], contacts.starts[i + 1]):
                w, j = contacts.part[e], contacts.row[e]
                a += w * push[j, 0]
                b += w * push[j, 1]
                c += w * push[j, 2]
        a, b, c = _times(system.free, i, a, b, c)
        out[i, 0], out[i, 1], out[i, 2] = a, b, c
        total += a * p[i, 0] + b * p[i, 1] + c * p[i, 2]
    return total


@helper
def _push_nodes(rings, p, out_push, start, stop):  # type: ignore[no-untyped-def]
    """out_push (n, 3) = P m^-1 G p of the nodes start ... stop."""
    for j in range(start, stop):
        a, b, c = 0.0, 0.0, 0.0
        for e in range(rings.starts[j], rings.starts[j + 1]):
            w = p[rings.columns[e], 0]
            a += rings.turned[e, 0] * w
            b += rings.turned[e, 1] * w
            c += rings.turned[e, 2] * w
        m = rings.inv_mass[j]
        out_push[j, 0], out_push[j, 1], out_push[j, 2] = _times(rings.free, j, m * a, m * b, m * c)


@helper
def _measure_rings(rings, push, p, out, start, stop):  # type: ignore[no-untyped-def]
    """out = A p of the rings start ... stop, their nodes pushed so; their part of p . A p."""
    total = 0.0
    for i in range(start, stop):
        a, b, c = 0.0, 0.0, 0.0
        for e in range(rings.starts[i], rings.starts[i + 1]):
            j = rings.columns[e]
            a += rings.rows[e, 0] * push[j, 0]
            b += rings.rows[e, 1] * push[j, 1]
            c += rings.rows[e, 2] * push[j, 2]
        out[i, 0] = a + b + c + rings.slack[i] * p[i, 0]
        total += out[i, 0] * p[i, 0]
    return total


@helper
def _advance_rings(rings, alpha, p, q, x, r, z, start, stop):  # type: ignore[no-untyped-def]
    """``_advance`` of the rings start ... stop."""
    rr, rz = 0.0, 0.0
    for i in range(start, stop):
        x[i, 0] += alpha * p[i, 0]
        r[i, 0] -= alpha * q[i, 0]
        z[i, 0] = rings.inverse[i, 0] * r[i, 0]
        rr += r[i, 0] * r[i, 0]
        rz += r[i, 0] * z[i, 0]
    return rr, rz


@helper
def _advance(system, alpha, p, q, x, r, z, start, stop):  # type: ignore[no-untyped-def]
    """x += alpha p, r -= alpha q, z = M^-1 r of the nodes start ... stop; their parts of r . r and r . z."""
    rr, rz = 0.0, 0.0
    for i in range(start, stop):
        for k in range(3):
            x[i, k] += alpha * p[i, k]
            r[i, k] -= alpha * q[i, k]
        a, b, c = r[i, 0], r[i, 1], r[i, 2]
        u, v, w = _times(system.inverse, i, a, b, c)
        z[i, 0], z[i, 1], z[i, 2] = u, v, w
        rr += a * a + b * b + c * c
        rz += a * u + b * v + c * w
    return rr, rz


@njit(cache=True, nogil=True, error_model="numpy")
def _iterate(system, contacts, rings, b, again, enough, most, work, sums, out_x, out_end, counter, pieces, piece, stop):  # type: ignore[no-untyped-def]
    """At most so many iterations on x (n, k), from 0 unless ``again``, until |r| <= enough; k = 3: nodes, 1: rings.

    work: r, p, q, z (n, k) and what lies between, pushes of contacts (m, 3) or of nodes (n, 3); sums (3,
    chunks): partial ones.
    out_end: iterations, |r| at first and at the end, how they ended, the last p.q and r.z.
    """
    r, p, q, z, push = work
    n, k = b.shape
    m = n if k == 1 else len(contacts.nodes)
    chunks = sums.shape[1]
    low, high = chunks * piece // pieces, chunks * (piece + 1) // pieces
    first, last = low * CHUNK, min(n, high * CHUNK)
    goal, done, how, alpha, rz, pq, residual, start = 0, 0, LIMIT, 0.0, 0.0, 1.0, 0.0, 0.0
    for i in range(first, last):
        for j in range(k):
            if not again:
                out_x[i, j] = 0.0
            r[i, j], p[i, j], q[i, j] = b[i, j], out_x[i, j], 0.0
    # turn 0: A x of what there is
    turn = 0 if again else 1
    while True:
        if turn > 0:
            for c in range(low, high):
                c0, c1 = c * CHUNK, min(n, c * CHUNK + CHUNK)
                if k == 1:
                    sums[1, c], sums[2, c] = _advance_rings(rings, alpha, p, q, out_x, r, z, c0, c1)
                else:
                    sums[1, c], sums[2, c] = _advance(system, alpha, p, q, out_x, r, z, c0, c1)
            goal += pieces
            meet(counter, goal)
            residual, before, rz = np.sqrt(_add_up(sums[1])), rz, _add_up(sums[2])
            if turn == 1:
                start = residual
            if residual <= enough:
                how = ENDED
            if residual <= enough or done == most:
                break
            if not rz > 0.0:
                how = NOT_POSITIVE
                break
            beta = rz / before if turn > 1 else 0.0
            for i in range(first, last):
                for j in range(k):
                    p[i, j] = z[i, j] + beta * p[i, j]
        goal += pieces
        meet(counter, goal)
        if m > 0:
            if k == 1:
                _push_nodes(rings, p, push, first, last)
            else:
                _press_contacts(contacts, p, push, m * piece // pieces, m * (piece + 1) // pieces)
            goal += pieces
            meet(counter, goal)
        for c in range(low, high):
            c0, c1 = c * CHUNK, min(n, c * CHUNK + CHUNK)
            if k == 1:
                sums[0, c] = _measure_rings(rings, push, p, q, c0, c1)
            else:
                sums[0, c] = _multiply_rows(system, contacts, push, p, q, c0, c1)
        goal += pieces
        meet(counter, goal)
        if turn == 0:
            for i in range(first, last):
                for j in range(k):
                    r[i, j] -= q[i, j]
                    q[i, j] = 0.0
        else:
            pq = _add_up(sums[0])
            if not pq > 0.0:
                how = NOT_POSITIVE
                break
            alpha = rz / pq
            done += 1
        turn += 1
    if piece == 0:
        out_end[0], out_end[1], out_end[2], out_end[3], out_end[4], out_end[5] = done, start, residual, how, pq, rz


class Gradients:
    """Solves for ``count`` nodes with three unknowns each, or rings with one (width); owns the work vectors."""

    def __init__(self, count: int, width: int = 3) -> None:
        self._work = [np.zeros((count, width)) for _ in range(4)]
        self._push = np.zeros((count if width == 1 else 0, 3))
        self._sums = np.zeros((3, -(-count // CHUNK)))
        self._end = np.zeros(6)
        self._system, self._contacts, self._rings = NO_NODES, NO_CONTACTS, NO_RINGS

    def set_nodes(self, system: NodeSystem, contacts: Contacts) -> None:
        """The system of nodes of the next solves."""
        self._system, self._contacts = system, contacts
        if len(self._push) < len(contacts.nodes):
            self._push = np.zeros((2 * len(contacts.nodes), 3))

    def set_rings(self, rings: RingSystem) -> None:
        """The system of rings of the next solves."""
        self._rings = rings

    def improve(self, b: Array, x: Array, tolerance: float, iterations: int) -> KrylovStats:
        """At most so many iterations from x (n, k) = 0 towards A x = b, fewer where the residual of the recurrence
        falls to tolerance |b|: for a caller to whom every one of them is a gain, and none is needed."""
        scale = float(np.sqrt((b * b).sum()))
        if not math.isfinite(scale):
            raise self._fail("the right-hand side is not finite", tolerance, scale)
        self._iterate(b, x, False, tolerance * scale, iterations)
        return KrylovStats(int(self._end[0]), scale, float(self._end[2]), scale)

    def solve(
        self, b: Array, x: Array, tolerance: float, iterations: int, scale: float | None = None
    ) -> KrylovStats:  # fmt: skip
        """A x = b from x (n, k) to |b - A x| <= tolerance scale, the true residual; raises ``PhysicsError`` where that
        is not reached. scale: |b| unless it is given."""
        norm = float(np.sqrt((b * b).sum()))
        scale = norm if scale is None else scale
        if not (math.isfinite(norm) and math.isfinite(scale)):
            raise self._fail("the right-hand side is not finite", tolerance, scale)
        if norm == 0.0:
            x[...] = 0.0
            return KrylovStats(0, 0.0, 0.0, 0.0)
        enough, done, before, first = tolerance * scale, 0, math.inf, math.nan
        again = bool(x.any())
        while True:
            self._iterate(b, x, again, enough, iterations - done)
            more, start, residual, how, pq, rz = (float(value) for value in self._end)
            first = start if done == 0 else first
            if not (math.isfinite(residual) and math.isfinite(pq) and math.isfinite(rz)):
                raise self._fail("not a number", tolerance, scale)
            if start > enough and not start < 0.5 * before:
                raise self._fail("the true residual no longer falls (round-off)", tolerance, scale)
            if how == NOT_POSITIVE:
                raise self._fail(
                    f"the operator or its preconditioner is not positive (p.Ap = {pq:.3g}, r.Mr = {rz:.3g})",
                    tolerance, scale,
                )  # fmt: skip
            if how == LIMIT:
                raise self._fail("iteration limit reached", tolerance, scale)
            if more == 0:
                return KrylovStats(done, first, residual, scale)
            # what the recurrence says is looked at: the residual of the next turn is the true one
            done, before, again = done + int(more), start, True

    def _iterate(self, b: Array, x: Array, again: bool, enough: float, most: int) -> None:
        size = self._system.blocks.size + 2 * self._rings.rows.size
        share_together(
            _iterate, self._sums.shape[1], size, self._system, self._contacts, self._rings, b, again, enough, most,
            (*self._work, self._push), self._sums, x, self._end,
        )  # fmt: skip

    def _fail(self, reason: str, tolerance: float, scale: float) -> SolveError:
        done, _, residual = self._end[:3]
        relative = residual / scale if scale > 0 else math.nan
        return SolveError(
            f"conjugate gradients: {reason} after {int(done)} iterations: relative residual {relative:.3g}, "
            f"wanted {tolerance:.3g}",
            relative,
        )
