"""Interpenetration resolution around a central body (thesis 4.6.1 and appendix B [@schroeder2011]).

One central body c at a time is parted from every outer body o that it overlaps, all at once. The impulses j_o on the
outer bodies at the points of overlap p_o give, over a pseudo-time of 1, the displacements.

    m_c^-1 j + r_o*^T I_c^-1 j_tau - K_o j_o = d_o,   j = -sum j_o,   j_tau = -sum r_o x j_o   (4.1), (B.1)

Eliminating j_o leaves 6 unknowns D = (dx_c, dtheta_c), the motion of the central body:

    A_d D = b_d,   A_d = M_c + sum_d H_d^T K_d^-1 H_d,   b_d = sum_d H_d^T K_d^-1 d_d,   H_o = (1, r_o*^T)

which is (4.2), (B.2).

Displaced bodies with the momenta of before have another angular momentum, x x p, and turned ones another energy
(``restore_momenta`` gives both back to bodies that lean on nothing).

Static outer bodies have the limit of infinite mass, all alike (K = epsilon): they determine D in the column space Y of
A_s = sum_s H_s^T H_s, the dynamic ones in its null space Z (B.3.2), which is known in closed form (B.3.3): no static
body, Z is everything; points that coincide, Z turns about the point; on a line, Z turns about the line; else Z is
empty.

Overlap of a pair is one vector d at one point: along the mean normal, as deep as its deepest contact, at the mean of
its contact points weighted by depth, so that a body that lies flat is not turned.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from undertow.grid import Array
from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC, BodySpec
from undertow.rigid.narrow import ContactSpec
from undertow.rigid.orientation import exp_quaternion, multiply
from undertow.solids.contact import _cross, _lever_mass, _multiply_inertia

WORSE = 2.0
"""A sweep that leaves an overlap so many times as deep as the deepest was at first, and deeper than the nearer centre
of its bodies was, has diverged. It is taken back, and the next ones go pair by pair: in a dense cluster of light bodies
every central body may drag its neighbours into others, farther and farther."""

LEFT = 0.5
"""Part of the allowed overlap that bodies are left with when they are parted."""
NONE = np.int64(0)
"""Of a type of its own: a plain number would have the functions it is given to compiled once more."""


class OverlapSpec(NamedTuple):
    """What the kernels see of the overlapping pairs: scratch.

    body (p, 2): a, b; lump (p, 7): point [m], normal and depth [m]; the pairs of body b are outer[start[b] :
    start[b + 1]]; moved (n, 6): how far bodies have been moved [m] and turned [rad].
    """

    body: Any
    lump: Array
    start: Any
    outer: Any
    moved: Array


class _Small(NamedTuple):
    """Small matrices: A (6, 6) and b (6,) of (4.2) by dynamic (d) and static (s) outer bodies, the rows of Z and Y
    (6, 6), the system in a part of them, the motion D (6,) and one K (3, 3)."""

    Ad: Array
    As: Array
    bd: Array
    bs: Array
    basis: Array
    system: Array
    rhs: Array
    D: Array
    K: Array


class Overlaps:
    """The overlapping pairs of a set of contacts, and how far their bodies have been moved; buffers are kept."""

    def __init__(self) -> None:
        self.count = 0
        self.spec = _make_spec(0, 0)

    def reserve(self, contacts: int, bodies: int) -> None:
        """Room for so many contacts and bodies."""
        pairs, room = len(self.spec.body), len(self.spec.moved)
        if contacts > pairs or bodies > room:
            self.spec = _make_spec(max(64, 2 * contacts) if contacts > pairs else pairs, max(bodies, room))


def _make_spec(pairs: int, bodies: int) -> OverlapSpec:
    whole = np.int64
    return OverlapSpec(
        np.zeros((pairs, 2), whole), np.zeros((pairs, 7)), np.zeros(bodies + 2, whole), np.zeros(2 * pairs, whole),
        np.zeros((bodies, 6)),
    )  # fmt: skip


def resolve_interpenetration(
    contacts: ContactSpec,
    count: int,
    bodies: BodySpec,
    x: Array,
    q: Array,
    inv_inertia: Array,
    allowed: Array,
    iterations: int,
    dimensions: int,
    overlaps: Overlaps,
    share: float = 1.0,
    central: bool = True,
) -> tuple[int, float]:
    """Move x (n, 3), q (n, 4) until no overlap is deeper than ``allowed`` (n,) [m] of both bodies, or ``iterations``.

    ``contacts``: ``count`` of them, at x; their gaps are taken along with the bodies. inv_inertia (n, 6) world.
    share: part of every push that is made. ``central`` False parts the bodies pair by pair. Returns (iterations,
    depth left [m]).
    """
    overlaps.reserve(count, len(bodies.kind))
    spec = overlaps.spec
    pairs, depth = _gather_overlaps(contacts, count, bodies.kind, allowed, spec)
    overlaps.count = pairs
    if pairs == 0:
        return 0, depth
    done, depth = _part_bodies(pairs, spec, bodies, x, inv_inertia, allowed, iterations, dimensions, share, central)
    _move_bodies(bodies.kind, spec.moved, x, q, contacts, count)
    return int(done), float(depth)


class Placed(NamedTuple):
    """Where the bodies of overlapping pairs stood before they were parted: x (k, 3) [m] and inverse inertia (k, 6)."""

    body: np.ndarray
    x: Array
    inv_inertia: Array


def remember_places(overlaps: Overlaps, bodies: BodySpec, inv_inertia: Array) -> Placed:
    """Of the bodies that have just been moved; inv_inertia (n, 6) of before."""
    moved = overlaps.spec.moved[: len(bodies.kind)]
    body = np.flatnonzero(moved.any(axis=1))
    return Placed(body, bodies.x[body] - moved[body, :3], inv_inertia[body])


def restore_momenta(overlaps: Overlaps, bodies: BodySpec, placed: Placed, inv_inertia: Array) -> None:
    """Momentum, angular momentum and at most the energy of before for bodies that were parted and lean on nothing.

    Bodies that overlapped, directly or through others, are one group. With V, Omega the motion of the group as one
    rigid body of its P and L, now about its new centre of mass X with its new inertia I, and dv_i, domega_i what its
    bodies have beyond that, which carries neither P nor L,

        I Omega = L_old - X x P,   v_i = V + Omega x (x_i - X) + s dv_i,   omega_i = Omega + s domega_i,

    s <= 1 being the largest that leaves no more kinetic energy than there was. A group with a static or kinematic body
    is left alone: that body takes the difference.
    """
    kind, n = bodies.kind, len(bodies.kind)
    pair = overlaps.spec.body[: overlaps.count]
    free = kind[placed.body] == DYNAMIC
    body = placed.body[free]
    if not len(body):
        return
    graph = csr_array((np.ones(len(pair)), (pair[:, 0], pair[:, 1])), shape=(n, n))
    groups, label = connected_components(graph, directed=False)
    leans = np.bincount(label, weights=kind != DYNAMIC, minlength=groups) > 0.0
    loose = ~leans[label[body]]
    body = body[loose]
    if not len(body):
        return
    old_x, old_inverse = placed.x[free][loose], placed.inv_inertia[free][loose]
    _, g = np.unique(label[body], return_inverse=True)
    count = int(g.max()) + 1

    def total(values: Array) -> Array:
        out = np.zeros((count, *values.shape[1:]))
        np.add.at(out, g, values)
        return out

    x, p, L = bodies.x[body], bodies.p[body], bodies.L[body]
    m = 1.0 / bodies.inv_mass[body]
    inverse = _matrices(inv_inertia[body])
    inertia = np.linalg.pinv(inverse, hermitian=True)
    M = total(m)
    X, V = total(m[:, None] * x) / M[:, None], total(p) / M[:, None]
    r = x - X[g]
    wanted = total(np.cross(old_x - X[g], p) + L)
    whole = total(inertia + m[:, None, None] * (_dot(r, r)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :]))
    back = np.linalg.pinv(whole, hermitian=True)
    Omega = np.einsum("gij,gj->gi", back, wanted)
    Omega_now = np.einsum("gij,gj->gi", back, total(np.cross(r, p) + L))
    dv = p / m[:, None] - V[g] - np.cross(Omega_now[g], r)
    domega = np.einsum("kij,kj->ki", inverse, L) - Omega_now[g]
    spin = np.einsum("kij,kj->ki", inertia, domega)
    before = total(_dot(p, p) / m + np.einsum("ki,kij,kj->k", L, _matrices(old_inverse), L))
    rigid = M * _dot(V, V) + _dot(Omega, wanted)
    beyond = total(m * _dot(dv, dv) + _dot(domega, spin))
    s = np.sqrt(np.clip((before - rigid) / np.where(beyond > 0.0, beyond, 1.0), 0.0, 1.0))[g][:, None]
    bodies.p[body] = m[:, None] * (V[g] + np.cross(Omega[g], r) + s * dv)
    bodies.L[body] = np.einsum("kij,kj->ki", inertia, Omega[g]) + s * spin


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->i", a, b)


def _matrices(sym: Array) -> Array:
    """Symmetric matrices (n, 3, 3) of their entries xx, yy, zz, xy, xz, yz (n, 6)."""
    return sym[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)


@njit(cache=True)
def _gather_overlaps(contacts, count, kind, allowed, out):  # type: ignore[no-untyped-def]
    """Pairs with a contact deeper than allowed, and the pairs of each body; nothing has moved.

    Returns (pairs, deepest overlap of all contacts [m]).
    """
    pairs, c, worst = 0, 0, 0.0
    while c < count:
        a, b = contacts.a[c], contacts.b[c]
        depth, weight = 0.0, 0.0
        px, py, pz, nx, ny, nz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while c < count and contacts.a[c] == a and contacts.b[c] == b:
            w = -contacts.gap[c]
            if w > 0.0:
                depth, weight = max(depth, w), weight + w
                p, n = contacts.point[c], contacts.normal[c]
                px, py, pz = px + w * p[0], py + w * p[1], pz + w * p[2]
                nx, ny, nz = nx + w * n[0], ny + w * n[1], nz + w * n[2]
            c += 1
        worst = max(worst, depth)
        size = sqrt(nx * nx + ny * ny + nz * nz)
        if depth > min(allowed[a], allowed[b]) and size > 1e-6 * weight and (kind[a] == DYNAMIC or kind[b] == DYNAMIC):
            out.body[pairs, 0], out.body[pairs, 1] = a, b
            f = out.lump[pairs]
            f[0], f[1], f[2], f[3], f[4], f[5] = px / weight, py / weight, pz / weight, nx / size, ny / size, nz / size
            f[6] = depth
            pairs += 1
    n = len(kind)
    for b in range(n + 2):
        out.start[b] = 0
    for p in range(pairs):
        out.start[out.body[p, 0] + 2] += 1
        out.start[out.body[p, 1] + 2] += 1
    for b in range(2, n + 2):
        out.start[b] += out.start[b - 1]
    for p in range(pairs):
        for side in range(2):
            b = out.body[p, side]
            out.outer[out.start[b + 1]] = p
            out.start[b + 1] += 1
    for b in range(n):
        for i in range(6):
            out.moved[b, i] = 0.0
    return pairs, worst


@helper
def _depth_now(p, overlaps, x):  # type: ignore[no-untyped-def]
    """Depth of pair p after the motion so far: depth - n.(motion of a - motion of b) at its point."""
    f = overlaps.lump[p]
    depth = f[6]
    for side in range(2):
        b = overlaps.body[p, side]
        m = overlaps.moved[b]
        dx, dy, dz = _cross(m[3], m[4], m[5], f[0] - x[b, 0], f[1] - x[b, 1], f[2] - x[b, 2])
        away = (m[0] + dx) * f[3] + (m[1] + dy) * f[4] + (m[2] + dz) * f[5]
        depth += away if side == 1 else -away
    return depth


@helper
def _nearer_centre(p, overlaps, x):  # type: ignore[no-untyped-def]
    """Distance of the point of pair p from the nearer of its two bodies [m]."""
    f, nearest = overlaps.lump[p], 1e300
    for side in range(2):
        b = overlaps.body[p, side]
        dx, dy, dz = f[0] - x[b, 0], f[1] - x[b, 1], f[2] - x[b, 2]
        nearest = min(nearest, sqrt(dx * dx + dy * dy + dz * dz))
    return nearest


@njit(cache=True)
def _part_bodies(  # type: ignore[no-untyped-def]
    pairs, overlaps, bodies, x, inv_inertia, allowed, iterations, dimensions, share, central
):
    """Sweep over central bodies, or pairs, and over pairs when that has diverged; returns (sweeps, depth left)."""
    n, body, start = len(bodies.kind), overlaps.body, overlaps.start
    small = _Small(
        np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6), np.zeros(6), np.zeros((6, 6)), np.zeros((6, 6)),
        np.zeros(6), np.zeros(6), np.zeros((3, 3)),
    )  # fmt: skip
    one = np.zeros(1, np.int64)
    first, last, before, around = 0.0, 0.0, overlaps.moved.copy(), central
    for sweep in range(iterations + 1):
        depth, through = 0.0, 0.0
        for p in range(pairs):
            deep = _depth_now(p, overlaps, x)
            # what is no number is too deep as well
            if not deep <= min(allowed[body[p, 0]], allowed[body[p, 1]]):
                deep = deep if deep == deep else np.inf
                depth = max(depth, deep)
                if deep > _nearer_centre(p, overlaps, x):
                    through = max(through, deep)
        if sweep == 0:
            first = depth
        elif through > WORSE * first:
            overlaps.moved[:], depth = before, last
            if not around:
                return sweep, depth
            around = False
        if depth == 0.0 or sweep == iterations:
            return sweep, depth
        before[:], last = overlaps.moved, depth
        if around:
            for c in range(n):
                if start[c + 1] > start[c] and bodies.kind[c] == DYNAMIC:
                    outers = overlaps.outer[start[c] : start[c + 1]]
                    _part_central(c, outers, overlaps, bodies, x, inv_inertia, allowed, dimensions, share, small)
        else:
            for p in range(pairs):
                one[0] = p
                c = body[p, 0] if bodies.kind[body[p, 0]] == DYNAMIC else body[p, 1]
                _part_central(c, one, overlaps, bodies, x, inv_inertia, allowed, dimensions, share, small)
    return iterations, last


@helper
def _impulse_factor(inv_mass, inertia, x, b, px, py, pz, out_K):  # type: ignore[no-untyped-def]
    """K = 1/m + q*^T I^-1 q* of body b at a point."""
    qx, qy, qz = px - x[b, 0], py - x[b, 1], pz - x[b, 2]
    for i in range(3):
        ax, ay, az = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
        for j in range(3):
            bx, by, bz = 1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0
            out_K[i, j] = _lever_mass(inertia[b], qx, qy, qz, ax, ay, az, bx, by, bz) + (inv_mass[b] if i == j else 0.0)


@helper
def _invert_symmetric(K):  # type: ignore[no-untyped-def]
    """Inverse of a symmetric 3 x 3 matrix in place."""
    a, b, c, d, e, f = K[0, 0], K[1, 1], K[2, 2], K[0, 1], K[0, 2], K[1, 2]
    A, B, C = b * c - f * f, a * c - e * e, a * b - d * d
    D, E, F = e * f - d * c, d * f - e * b, d * e - a * f
    det = a * A + d * D + e * E
    K[0, 0], K[1, 1], K[2, 2] = A / det, B / det, C / det
    K[0, 1], K[0, 2], K[1, 2] = D / det, E / det, F / det
    K[1, 0], K[2, 0], K[2, 1] = K[0, 1], K[0, 2], K[1, 2]


@helper
def _add_outer(K, rx, ry, rz, dx, dy, dz, A, b):  # type: ignore[no-untyped-def]
    """A += H^T K H, b += H^T K d with H = (1, r*^T): motion of the point is dx + dtheta x r."""
    H = ((1.0, 0.0, 0.0, 0.0, rz, -ry), (0.0, 1.0, 0.0, -rz, 0.0, rx), (0.0, 0.0, 1.0, ry, -rx, 0.0))
    d = (dx, dy, dz)
    for i in range(6):
        for m in range(3):
            h = 0.0
            for k in range(3):
                h += H[k][i] * K[k, m]
            b[i] += h * d[m]
            for j in range(6):
                A[i, j] += h * H[m][j]


@helper
def _solve_spd(A, n, b):  # type: ignore[no-untyped-def]
    """Solve the leading n x n system by Cholesky, both overwritten; the solution is in b."""
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        A[j, j] = sqrt(max(A[j, j], 1e-300))
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    for i in range(n):
        for k in range(i):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[k, i] * b[k]
        b[i] /= A[i, i]


@helper
def _orthonormalise(basis, have, want):  # type: ignore[no-untyped-def]
    """Rows ``have``.. of basis against those before (Gram and Schmidt, twice); returns how many are independent."""
    n = have
    for r in range(have, want):
        for _ in range(2):
            for k in range(n):
                dot = 0.0
                for i in range(6):
                    dot += basis[k, i] * basis[r, i]
                for i in range(6):
                    basis[r, i] -= dot * basis[k, i]
        size = 0.0
        for i in range(6):
            size += basis[r, i] * basis[r, i]
        if size > 1e-12:
            for i in range(6):
                basis[n, i] = basis[r, i] / sqrt(size)
            n += 1
    return n


@helper
def _null_space(c, outers, overlaps, bodies, x, statics, dimensions, length, out_basis):  # type: ignore[no-untyped-def]
    """Rows of out_basis: first an orthonormal basis of Z, then of its complement Y; returns (size of Z, of both).

    Turns are measured in arc of ``length`` [m], the size of the body. In 2D only x, y and the turn about z are free.
    """
    body, lump = overlaps.body, overlaps.lump
    mx, my, mz = 0.0, 0.0, 0.0
    for o in outers:
        if bodies.kind[_other(o, c, body)] != DYNAMIC:
            mx, my, mz = mx + lump[o, 0] / statics, my + lump[o, 1] / statics, mz + lump[o, 2] / statics
    # the point farthest from the mean gives the line, the one farthest from the line whether it is one
    ux, uy, uz, span = 0.0, 0.0, 0.0, 0.0
    for o in outers:
        if bodies.kind[_other(o, c, body)] != DYNAMIC:
            dx, dy, dz = lump[o, 0] - mx, lump[o, 1] - my, lump[o, 2] - mz
            if dimensions == 2:
                dz = 0.0
            size = sqrt(dx * dx + dy * dy + dz * dz)
            if size > span:
                ux, uy, uz, span = dx, dy, dz, size
    off = 0.0
    small = 1e-6 * length
    if span > small:
        ux, uy, uz = ux / span, uy / span, uz / span
        for o in outers:
            if bodies.kind[_other(o, c, body)] != DYNAMIC:
                sx, sy, sz = _cross(ux, uy, uz, lump[o, 0] - mx, lump[o, 1] - my, lump[o, 2] - mz)
                off = max(off, sqrt(sx * sx + sy * sy + sz * sz))
    rx, ry, rz = mx - x[c, 0], my - x[c, 1], mz - x[c, 2]
    want = NONE
    if statics == 0:
        for i in range(6):
            if dimensions == 3 or i == 0 or i == 1 or i == 5:
                _unit_row(out_basis, want, i)
                want += 1
    elif span <= small:
        # turns about the common point: dx = r x w, dtheta = w
        for i in range(3):
            if dimensions == 3 or i == 2:
                wx, wy, wz = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
                _turn_row(out_basis, want, rx, ry, rz, wx, wy, wz, length)
                want += 1
    elif off <= small and dimensions == 3:
        _turn_row(out_basis, want, rx, ry, rz, ux, uy, uz, length)
        want += 1
    nz = _orthonormalise(out_basis, NONE, want)
    total = nz
    free = 6 if dimensions == 3 else 3
    for i in range(6):
        if total < free and (dimensions == 3 or i == 0 or i == 1 or i == 5):
            _unit_row(out_basis, total, i)
            total = _orthonormalise(out_basis, total, total + 1)
    return nz, total


@helper
def _unit_row(basis, r, i):  # type: ignore[no-untyped-def]
    for k in range(6):
        basis[r, k] = 1.0 if k == i else 0.0


@helper
def _turn_row(basis, r, rx, ry, rz, wx, wy, wz, length):  # type: ignore[no-untyped-def]
    tx, ty, tz = _cross(rx, ry, rz, wx, wy, wz)
    b = basis[r]
    b[0], b[1], b[2], b[3], b[4], b[5] = tx, ty, tz, wx * length, wy * length, wz * length


@helper
def _other(p, c, body):  # type: ignore[no-untyped-def]
    return body[p, 1] if body[p, 0] == c else body[p, 0]


@helper
def _push(o, c, overlaps, x, allowed, share):  # type: ignore[no-untyped-def]
    """How far c has to move from the other body of pair o, along the normal; half of what is allowed is left.

    A body pushed until it just touches would lose the contact and fall, or be pushed again, for ever.
    """
    body = overlaps.body
    s = _depth_now(o, overlaps, x) - LEFT * min(allowed[body[o, 0]], allowed[body[o, 1]])
    return share * s if body[o, 0] == c else -share * s


@helper
def _part_central(  # type: ignore[no-untyped-def]
    c, outers, overlaps, bodies, x, inv_inertia, allowed, dimensions, share, small
):
    """Part the dynamic body c from its outer bodies: solve for its motion D, then each j_o from (B.3)."""
    body, lump, moved = overlaps.body, overlaps.lump, overlaps.moved
    Ad, As, bd, bs, D, K = small.Ad, small.As, small.bd, small.bs, small.D, small.K
    statics, deep = NONE, False
    for o in outers:
        other = _other(o, c, body)
        if bodies.kind[other] != DYNAMIC:
            statics += 1
        deep = deep or _depth_now(o, overlaps, x) > min(allowed[c], allowed[other])
    if not deep:
        return
    length = 0.0
    for o in outers:
        length = max(length, abs(lump[o, 0] - x[c, 0]), abs(lump[o, 1] - x[c, 1]), abs(lump[o, 2] - x[c, 2]))
    length = max(length, 1e-12)
    for i in range(6):
        bd[i] = bs[i] = 0.0
        for j in range(6):
            Ad[i, j] = As[i, j] = 0.0
    _add_own_mass(bodies.inv_mass[c], inv_inertia[c], dimensions, Ad, K)
    for o in outers:
        other = _other(o, c, body)
        f = lump[o]
        s = _push(o, c, overlaps, x, allowed, share)
        rx, ry, rz = f[0] - x[c, 0], f[1] - x[c, 1], f[2] - x[c, 2]
        if bodies.kind[other] == DYNAMIC:
            _impulse_factor(bodies.inv_mass, inv_inertia, x, other, f[0], f[1], f[2], K)
            _invert_symmetric(K)
            _add_outer(K, rx, ry, rz, s * f[3], s * f[4], s * f[5], Ad, bd)
        else:
            for i in range(3):
                for j in range(3):
                    K[i, j] = 1.0 if i == j else 0.0
            _add_outer(K, rx, ry, rz, s * f[3], s * f[4], s * f[5], As, bs)
    nz, total = _null_space(c, outers, overlaps, bodies, x, statics, dimensions, length, small.basis)
    # turns in units of 1 / length from here on
    for i in range(3, 6):
        bd[i], bs[i] = bd[i] / length, bs[i] / length
        for j in range(6):
            Ad[i, j], As[i, j] = Ad[i, j] / length, As[i, j] / length
    for i in range(6):
        for j in range(3, 6):
            Ad[i, j], As[i, j] = Ad[i, j] / length, As[i, j] / length
        D[i] = 0.0
    # Y^T A_s Y y = Y^T b_s, then Z^T A_d Z z = Z^T (b_d - A_d Y y)
    _add_component(As, bs, nz, total, small)
    _add_component(Ad, bd, np.int64(0), nz, small)
    for i in range(3, 6):
        D[i] /= length
    for o in outers:
        other = _other(o, c, body)
        if bodies.kind[other] != DYNAMIC:
            continue
        f = lump[o]
        s = _push(o, c, overlaps, x, allowed, share)
        rx, ry, rz = f[0] - x[c, 0], f[1] - x[c, 1], f[2] - x[c, 2]
        tx, ty, tz = _cross(D[3], D[4], D[5], rx, ry, rz)
        ex, ey, ez = D[0] + tx - s * f[3], D[1] + ty - s * f[4], D[2] + tz - s * f[5]
        _impulse_factor(bodies.inv_mass, inv_inertia, x, other, f[0], f[1], f[2], K)
        _invert_symmetric(K)
        jx = K[0, 0] * ex + K[0, 1] * ey + K[0, 2] * ez
        jy = K[1, 0] * ex + K[1, 1] * ey + K[1, 2] * ez
        jz = K[2, 0] * ex + K[2, 1] * ey + K[2, 2] * ez
        m = moved[other]
        w = bodies.inv_mass[other]
        m[0], m[1], m[2] = m[0] + w * jx, m[1] + w * jy, m[2] + w * jz
        tx, ty, tz = _cross(f[0] - x[other, 0], f[1] - x[other, 1], f[2] - x[other, 2], jx, jy, jz)
        tx, ty, tz = _multiply_inertia(inv_inertia[other], tx, ty, tz)
        m[3], m[4], m[5] = m[3] + tx, m[4] + ty, m[5] + tz
    for i in range(6):
        moved[c, i] += D[i]


@helper
def _add_own_mass(inv_mass, inertia, dimensions, A, K):  # type: ignore[no-untyped-def]
    """A += M_c: mass and moments of inertia of the central body, from their inverses."""
    for i in range(3):
        A[i, i] += 1.0 / inv_mass
    if dimensions == 2:
        A[5, 5] += 1.0 / inertia[2]
        return
    K[0, 0], K[1, 1], K[2, 2] = inertia[0], inertia[1], inertia[2]
    K[0, 1], K[0, 2], K[1, 2] = inertia[3], inertia[4], inertia[5]
    K[1, 0], K[2, 0], K[2, 1] = K[0, 1], K[0, 2], K[1, 2]
    _invert_symmetric(K)
    for i in range(3):
        for j in range(3):
            A[3 + i, 3 + j] += K[i, j]


@helper
def _add_component(A, b, first, last, small):  # type: ignore[no-untyped-def]
    """D += sum y_k e_k over rows first..last of the basis e, with e_i.A (D + sum y_k e_k) = e_i.b."""
    n, basis, rhs, D = last - first, small.basis, small.rhs, small.D
    for i in range(n):
        e = basis[first + i]
        s = 0.0
        for k in range(6):
            r = b[k]
            for m in range(6):
                r -= A[k, m] * D[m]
            s += e[k] * r
        rhs[i] = s
        for j in range(n):
            g = basis[first + j]
            s = 0.0
            for k in range(6):
                for m in range(6):
                    s += e[k] * A[k, m] * g[m]
            small.system[i, j] = s
    _solve_spd(small.system, n, rhs)
    for i in range(n):
        for k in range(6):
            D[k] += rhs[i] * basis[first + i, k]


@njit(cache=True)
def _move_bodies(kind, moved, out_x, out_q, contacts, count):  # type: ignore[no-untyped-def]
    """x += dx, q = exp(dtheta) q, and the gaps of the contacts along with them."""
    for c in range(count):
        a, b = contacts.a[c], contacts.b[c]
        p, n = contacts.point[c], contacts.normal[c]
        for side in range(2):
            o = a if side == 0 else b
            m = moved[o]
            dx, dy, dz = _cross(m[3], m[4], m[5], p[0] - out_x[o, 0], p[1] - out_x[o, 1], p[2] - out_x[o, 2])
            away = (m[0] + dx) * n[0] + (m[1] + dy) * n[1] + (m[2] + dz) * n[2]
            contacts.gap[c] += away if side == 0 else -away
    for b in range(len(kind)):
        m = moved[b]
        if kind[b] == DYNAMIC and (
            m[0] != 0.0 or m[1] != 0.0 or m[2] != 0.0 or m[3] != 0.0 or m[4] != 0.0 or m[5] != 0.0
        ):
            for i in range(3):
                out_x[b, i] += m[i]
            w, ax, ay, az = exp_quaternion(m[3], m[4], m[5])
            w, ax, ay, az = multiply(w, ax, ay, az, out_q[b, 0], out_q[b, 1], out_q[b, 2], out_q[b, 3])
            size = 1.0 / sqrt(w * w + ax * ax + ay * ay + az * az)
            out_q[b, 0], out_q[b, 1], out_q[b, 2], out_q[b, 3] = w * size, ax * size, ay * size, az * size
