"""Energies k / 2 (c(x) - c_0)^2 of one scalar: lengths of edges, altitudes of simplices, bending of triangles.

    gradient   k (c - c_0) grad c
    Hessian    k grad c grad c^T + k (c - c_0) grad grad c

grad grad c has closed forms. For a motion d of the nodes, d.(grad grad c) d is

    length      |d_1 - d_0|^2 / c across the edge
    altitude    -2 (n.d_i)(tau_i.q) - c |tau_i (n.d_i)|^2, summed over the nodes i of the face; tau_i: gradients of
                their weights, q: motion of the node against that of the foot of its altitude
    dihedral    -2 w_n u_t - 2 u_h u_n - w_n w_h, summed over both triangles; w = (d_1 - d_0) / length of the edge and
                u = q / h in the frame of the edge (t), the altitude h on it and the normal n

Without the negative values of the whole, K+, it is the projection to positive semidefinite: of an edge in closed form,
of an altitude and of the bends of a triangle, which are one element, from the eigenvalues on all motions beside
translation. The first term alone is the other form that is at hand (Gauss and Newton), the same at rest. Damping acts
along grad c (thesis 5.5.1 [@schroeder2011]).
"""

from __future__ import annotations

from math import atan2, floor, isnan, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import borrowing, helper

LENGTH, BEND, ALTITUDE = 0, 1, 2
SPRING_MODES = (3, 5, 4)
"""Modes by kind: an edge has its own direction and two across; a bend and an altitude that of their damping and those
of K+: at most 4 for each bend of a triangle (8 for 3 of them), 3 for an altitude."""


class Springs(NamedTuple):
    """m springs of k nodes: nodes (m, k); rest (m,) [m or rad]; stiffness, damping (m,) force or torque per unit of
    c and of its rate; weight (m, 3) of BEND; kind (m,); turn (m, 3) of BEND [rad]: angles that are counted from there,
    so that they do not jump where a fold turns over by pi.

    LENGTH: k = 2. BEND: k = 6, the nodes of a triangle and those of its neighbours beyond its edges 01, 12, 20; c is
    the sum of the three dihedral angles, 0 where flat, each times its weight. ALTITUDE: node 0 above the face of the
    others, k = 4, or above the edge 1, 2 in the x-y plane, k = 3; negative below it.
    """

    nodes: Any
    rest: Array
    stiffness: Array
    damping: Array
    weight: Array
    kind: Any
    turn: Array


@helper
def _dot(a, b):  # type: ignore[no-untyped-def]
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@helper
def _cross(a, b):  # type: ignore[no-untyped-def]
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@helper
def _minus(x, p, q):  # type: ignore[no-untyped-def]
    """x_p - x_q"""
    return x[p, 0] - x[q, 0], x[p, 1] - x[q, 1], x[p, 2] - x[q, 2]


@helper
def _put(out, row, s, a, t, b):  # type: ignore[no-untyped-def]
    """out[row] = s a + t b"""
    for i in range(3):
        out[row, i] = s * a[i] + t * b[i]


@helper
def _measure_length(x, g):  # type: ignore[no-untyped-def]
    d = _minus(x, 1, 0)
    size = max(sqrt(_dot(d, d)), 1e-300)
    _put(g, 0, -1.0 / size, d, 0.0, d)
    _put(g, 1, 1.0 / size, d, 0.0, d)
    return size


@helper
def _measure_angle(x, g):  # type: ignore[no-untyped-def]
    """Dihedral angle and its gradient (Bridson, Marino and Fedkiw 2003)."""
    e = _minus(x, 1, 0)
    n, m = _cross(_minus(x, 0, 2), _minus(x, 1, 2)), _cross(_minus(x, 1, 3), _minus(x, 0, 3))
    size, nn, mm = max(sqrt(_dot(e, e)), 1e-300), _dot(n, n), _dot(m, m)
    a, b = 1.0 / max(nn, 1e-300), 1.0 / max(mm, 1e-300)
    p = _dot(_minus(x, 2, 1), e) / size, _dot(_minus(x, 3, 1), e) / size
    q = _dot(_minus(x, 2, 0), e) / size, _dot(_minus(x, 3, 0), e) / size
    _put(g, 0, p[0] * a, n, p[1] * b, m)
    _put(g, 1, -q[0] * a, n, -q[1] * b, m)
    _put(g, 2, size * a, n, 0.0, m)
    _put(g, 3, 0.0, n, size * b, m)
    return atan2(_dot(_cross(m, n), e) / size, _dot(n, m))


@helper
def _measure_altitude(x, g, k):  # type: ignore[no-untyped-def]
    r = _minus(x, 0, 1)
    t = _minus(x, 2, 1)
    if k == 3:
        size = max(sqrt(_dot(t, t)), 1e-150)
        n = -t[1] / size, t[0] / size, 0.0
        w = _dot(r, t) / (size * size)
        _put(g, 0, 1.0, n, 0.0, n)
        _put(g, 1, w - 1.0, n, 0.0, n)
        _put(g, 2, -w, n, 0.0, n)
        return _dot(n, r)
    u = _minus(x, 3, 1)
    N = _cross(t, u)
    size = max(sqrt(_dot(N, N)), 1e-300)
    n = N[0] / size, N[1] / size, N[2] / size
    v = _dot(_cross(r, u), n) / size
    w = _dot(_cross(t, r), n) / size
    _put(g, 0, 1.0, n, 0.0, n)
    _put(g, 1, v + w - 1.0, n, 0.0, n)
    _put(g, 2, -v, n, 0.0, n)
    _put(g, 3, -w, n, 0.0, n)
    return _dot(n, r)


@helper
def _take_hinge(x, i, out):  # type: ignore[no-untyped-def]
    """The four nodes of edge i of a triangle and its neighbours: the edge, the third node, the neighbour's."""
    for j in range(3):
        out[0, j], out[1, j] = x[i, j], x[(i + 1) % 3, j]
        out[2, j], out[3, j] = x[(i + 2) % 3, j], x[3 + i, j]


@helper
def _give_hinge(g, i, w, out):  # type: ignore[no-untyped-def]
    """Add w times the rows of the four nodes to those of the triangle and its neighbours."""
    for j in range(3):
        out[i, j] += w * g[0, j]
        out[(i + 1) % 3, j] += w * g[1, j]
        out[(i + 2) % 3, j] += w * g[2, j]
        out[3 + i, j] += w * g[3, j]


@borrowing
def _measure_bend(x, w, turn, y, h, angle, g):  # type: ignore[no-untyped-def]
    """Weighted sum of the dihedral angles of a triangle, each within pi of ``turn``. angle (3,), not a number where not
    known yet, and the gradients h (3, 4, 3) are kept for the other sums of the same triangle; y (4, 3) is scratch."""
    for a in range(6):
        for i in range(3):
            g[a, i] = 0.0
    c = 0.0
    for i in range(3):
        if w[i] != 0.0:
            if isnan(angle[i]):
                _take_hinge(x, i, y)
                angle[i] = _measure_angle(y, h[i])
            c += w[i] * (angle[i] + 2 * pi * floor(0.5 + (turn[i] - angle[i]) / (2 * pi)))
            _give_hinge(h[i], i, w[i], g)
    return c


@helper
def _take_nodes(group, e, first, k, x, z, angle):  # type: ignore[no-untyped-def]
    """z (k, 3): positions of the nodes of element e; angles (3,) are forgotten unless the element before it, from
    ``first`` on, has the same nodes."""
    same = e > first
    for a in range(k):
        same = same and group.nodes[e, a] == group.nodes[e - 1, a]
    if same:
        return
    for i in range(3):
        angle[i] = nan
        for a in range(k):
            z[a, i] = x[group.nodes[e, a], i]


@borrowing
def _measure(group, e, k, x, y, h, angle, g):  # type: ignore[no-untyped-def]
    """c and its gradient g (k, 3) at the positions x (k, 3); y, h, angle as for ``_measure_bend``."""
    if group.kind[e] == LENGTH:
        return _measure_length(x, g)
    if group.kind[e] == BEND:
        return _measure_bend(x, group.weight[e], group.turn[e], y, h, angle, g)
    return _measure_altitude(x, g, k)


@njit(cache=True, nogil=True)
def _measure_turns(group, x, out_turn, start, stop):  # type: ignore[no-untyped-def]
    """The dihedral angles (m, 3) of bends at x (n, 3), within pi of 0."""
    z, y, h = np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((4, 3))
    for e in range(start, stop):
        for a in range(6):
            for i in range(3):
                z[a, i] = x[group.nodes[e, a], i]
        for i in range(3):
            if group.weight[e, i] != 0.0:
                _take_hinge(z, i, y)
                out_turn[e, i] = _measure_angle(y, h)


@njit(cache=True, nogil=True)
def _add_spring_forces(group, spread, x, out_energy, out_force, start, stop):  # type: ignore[no-untyped-def]
    """Energy (m,) [J] of the springs; their forces [N] added to the nodes start ... stop of (n, 3)."""
    z, g, y, h, angle = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start:
            continue
        _take_nodes(group, e, spread.begin[start], k, x, z, angle)
        c = _measure(group, e, k, z, y, h, angle, g) - group.rest[e]
        if spread.low[e] >= start:
            out_energy[e] = 0.5 * group.stiffness[e] * c * c
        for a in range(k):
            n = group.nodes[e, a]
            if start <= n < stop:
                for i in range(3):
                    out_force[n, i] -= group.stiffness[e] * c * g[a, i]


@borrowing
def _first_of_family(group, e, k):  # type: ignore[no-untyped-def]
    """The first of the bends of one triangle, which stand together; an altitude is alone."""
    while e > 0:
        for a in range(k):
            if group.nodes[e, a] != group.nodes[e - 1, a]:
                return e
        e -= 1
    return e


@borrowing
def _end_of_family(group, e, k):  # type: ignore[no-untyped-def]
    """One beyond the last of them."""
    while e + 1 < len(group.nodes):
        for a in range(k):
            if group.nodes[e, a] != group.nodes[e + 1, a]:
                return e + 1
        e += 1
    return e + 1


@helper
def _add_square(s, g, k, S):  # type: ignore[no-untyped-def]
    """S (3 k, 3 k) += s g g^T"""
    flat = g.reshape(18)
    for p in range(3 * k):
        row, t = S[p], s * flat[p]
        for q in range(3 * k):
            row[q] += t * flat[q]


@helper
def _add_angle_curvature(x, i, s, S):  # type: ignore[no-untyped-def]
    """S += s grad grad of the dihedral angle at edge i of a triangle and its neighbours x (6, 3)."""
    p, q = i, (i + 1) % 3
    e = _minus(x, q, p)
    ee = _dot(e, e)
    for wing in range(2):
        r = (i + 2) % 3 if wing == 0 else 3 + i
        d = _minus(x, r, p)
        N = _cross(e, d) if wing == 0 else _cross(d, e)
        NN = _dot(N, N)
        if not NN > 0.0 or not ee > 0.0:
            continue
        size, area = sqrt(ee), sqrt(NN)
        share, inv = _dot(d, e) / ee, size / area
        # the frame of edge, altitude and normal; weights of the motion u of the wing and of w of the edge
        t = e[0] / size, e[1] / size, e[2] / size
        h = (d[0] - share * e[0]) * inv, (d[1] - share * e[1]) * inv, (d[2] - share * e[2]) * inv
        n = N[0] / area, N[1] / area, N[2] / area
        nodes = p, q, r
        u, w = ((share - 1.0) * inv, -share * inv, inv), (-1.0 / size, 1.0 / size, 0.0)
        for a in range(3):
            for b in range(3):
                both = -s * (u[a] * u[b] + 0.5 * w[a] * w[b])
                one, other = -s * w[a] * u[b], -s * u[a] * w[b]
                for k in range(3):
                    for m in range(3):
                        S[3 * nodes[a] + k, 3 * nodes[b] + m] += (
                            one * n[k] * t[m] + other * t[k] * n[m] + both * (h[k] * n[m] + n[k] * h[m])
                        )


@helper
def _add_altitude_curvature(x, g, k, c, s, S):  # type: ignore[no-untyped-def]
    """S += s grad grad of an altitude c with the gradient g (k, 3)."""
    n = g[0, 0], g[0, 1], g[0, 2]
    t = _minus(x, 2, 1)
    if k == 3:
        size = max(_dot(t, t), 1e-300)
        p = t[0] / size, t[1] / size, t[2] / size
        q = 0.0, 0.0, 0.0
    else:
        u = _minus(x, 3, 1)
        N = _cross(t, u)
        size = max(sqrt(_dot(N, N)), 1e-300)
        p, q = _cross(u, n), _cross(n, t)
        p, q = (p[0] / size, p[1] / size, p[2] / size), (q[0] / size, q[1] / size, q[2] / size)
    tau = (0.0, 0.0, 0.0), (-p[0] - q[0], -p[1] - q[1], -p[2] - q[2]), p, q
    for a in range(k):
        beta = _dot((g[a, 0], g[a, 1], g[a, 2]), n)
        for b in range(k):
            other = _dot((g[b, 0], g[b, 1], g[b, 2]), n)
            both = c * _dot(tau[a], tau[b])
            for i in range(3):
                for j in range(3):
                    S[3 * a + i, 3 * b + j] -= s * (
                        other * n[i] * tau[a][j] + beta * tau[b][i] * n[j] + both * n[i] * n[j]
                    )


@borrowing
def _set_family(group, first, stop, k, x, y, h, angle, g, moment, elastic, damping, curved, S):  # type: ignore[no-untyped-def]
    """S (3 k, 3 k) = elastic K + damping (-D) of the bends first ... stop of a triangle, or of one altitude, at x (k,
    3); of K the whole if ``curved``, else k grad c grad c^T. y, h, angle as for ``_measure_bend``; moment (3,)
    scratch."""
    S[:, :] = 0.0
    moment[:] = 0.0
    for e in range(first, stop):
        c = _measure(group, e, k, x, y, h, angle, g)
        _add_square(elastic * group.stiffness[e] + damping * group.damping[e], g, k, S)
        force = elastic * group.stiffness[e] * (c - group.rest[e])
        if group.kind[e] == ALTITUDE:
            if curved:
                _add_altitude_curvature(x, g, k, c, force, S)
        else:
            for i in range(3):
                moment[i] += force * group.weight[e, i]
    if curved and group.kind[first] == BEND:
        for i in range(3):
            if moment[i] != 0.0:
                _add_angle_curvature(x, i, moment[i], S)


@helper
def _reduce(S, k, R):  # type: ignore[no-untyped-def]
    """R (3 k - 3, 3 k - 3) = B S B^T: the motions of k nodes less translation, in the orthonormal basis (1 ... 1, -r, 0
    ... 0) / sqrt(r (r + 1)), r = 1 ... k - 1."""
    for r in range(1, k):
        w = 1.0 / sqrt(r * (r + 1.0))
        for i in range(3):
            for b in range(3 * k):
                R[3 * (r - 1) + i, b] = -r * w * S[3 * r + i, b]
            for a in range(r):
                for b in range(3 * k):
                    R[3 * (r - 1) + i, b] += w * S[3 * a + i, b]
    for row in range(3 * k - 3):
        for j in range(3):
            total = R[row, j]
            for r in range(1, k):
                w, own = 1.0 / sqrt(r * (r + 1.0)), R[row, 3 * r + j]
                R[row, 3 * (r - 1) + j] = w * (total - r * own)
                total += own


@helper
def _expand(v, k, out):  # type: ignore[no-untyped-def]
    """out (k, 3) = B^T v, see ``_reduce``."""
    for i in range(3):
        below = 0.0
        for r in range(k - 1, 0, -1):
            t = v[3 * (r - 1) + i] / sqrt(r * (r + 1.0))
            out[r, i] = below - r * t
            below += t
        out[0, i] = below


@borrowing
def _make_tridiagonal(A, V, d, e, v, w, n):  # type: ignore[no-untyped-def]
    """V A V^T with the diagonal d (n,) and e (n - 1,) beside it, V a product of Householder's reflections; A (n, n)
    symmetric is used up; v, w (n,) scratch."""
    for p in range(n):
        for q in range(n):
            V[p, q] = 1.0 if p == q else 0.0
    for k in range(n - 1):
        rest = 0.0
        for p in range(k + 2, n):
            rest += A[k, p] * A[k, p]
        first = A[k, k + 1]
        d[k], e[k] = A[k, k], first
        # what is less than 1e-140 is nothing, and its square would be
        if rest < 1e-280:
            continue
        size = sqrt(first * first + rest)
        e[k] = size if first < 0.0 else -size
        beta = 1.0 / (size * (size + abs(first)))
        for p in range(k + 1, n):
            v[p] = A[k, p]
        v[k + 1] -= e[k]
        # A - v w^T - w v^T with w = beta A v - (beta^2 v.A v / 2) v
        along = 0.0
        for q in range(k + 1, n):
            w[q] = 0.0
        for p in range(k + 1, n):
            t = beta * v[p]
            for q in range(k + 1, n):
                w[q] += t * A[p, q]
        for p in range(k + 1, n):
            along += w[p] * v[p]
        for p in range(k + 1, n):
            w[p] -= 0.5 * beta * along * v[p]
        for p in range(k + 1, n):
            a, b = v[p], w[p]
            for q in range(k + 1, n):
                A[p, q] -= a * w[q] + b * v[q]
        for q in range(n):
            w[q] = 0.0
        for p in range(k + 1, n):
            t = beta * v[p]
            for q in range(n):
                w[q] += t * V[p, q]
        for p in range(k + 1, n):
            t = v[p]
            for q in range(n):
                V[p, q] -= t * w[q]
    d[n - 1] = A[n - 1, n - 1]


@borrowing
def _diagonalise(A, V, d, work, n):  # type: ignore[no-untyped-def]
    """Eigenvalues d (n,) of a symmetric matrix A (n, n), which is used up, and its vectors, the rows of V:
    Householder's tridiagonal form, then QL iterations with implicit shifts. work (3, n)."""
    e = work[0]
    _make_tridiagonal(A, V, d, e, work[1], work[2], n)
    size = 0.0
    for p in range(n):
        size = max(size, abs(d[p]), abs(e[p]) if p < n - 1 else 0.0)
    for p in range(n):
        for _ in range(60):
            m = p
            while m < n - 1 and abs(e[m]) > 1e-17 * size + 1e-16 * (abs(d[m]) + abs(d[m + 1])):
                m += 1
            if m == p:
                break
            g = 0.5 * (d[p + 1] - d[p]) / e[p]
            r = sqrt(g * g + 1.0)
            g = d[m] - d[p] + e[p] / (g + (r if g >= 0.0 else -r))
            s, c, shift, whole = 1.0, 1.0, 0.0, True
            for i in range(m - 1, p - 1, -1):
                f, b = s * e[i], c * e[i]
                r = sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= shift
                    whole = False
                    break
                s, c = f / r, g / r
                g = d[i + 1] - shift
                r = (d[i] - g) * s + 2.0 * c * b
                shift = s * r
                d[i + 1] = g + shift
                g = c * r - b
                for q in range(n):
                    low, high = V[i, q], V[i + 1, q]
                    V[i + 1, q], V[i, q] = s * low + c * high, c * low - s * high
            if whole:
                d[p] -= shift
                e[p] = g
            e[m] = 0.0


@helper
def _sort_values(d, n, order):  # type: ignore[no-untyped-def]
    """order (n,): the places of the values d, largest first."""
    for r in range(n):
        place = r
        while place > 0 and d[order[place - 1]] < d[r]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = r


@borrowing
def _add_squares(slot, scale, G, count, k, a, out_blocks):  # type: ignore[no-untyped-def]
    """The row of node a of the blocks += sum_c scale_c G_c G_c^T, G (count, 3 k)."""
    for b in range(k):
        p = slot[a, b]
        for i in range(3):
            for j in range(3):
                t = out_blocks[p, 3 * i + j]
                for c in range(count):
                    t += scale[c] * G[c, 3 * a + i] * G[c, 3 * b + j]
                out_blocks[p, 3 * i + j] = t


@njit(cache=True, nogil=True)
def _add_spring_blocks(group, spread, x, elastic, damping, project, bounded, out_blocks, start, stop):  # type: ignore[no-untyped-def]
    """elastic K + damping (-D) of the springs added to the rows start ... stop of a matrix of blocks (., 9): K+ if
    ``project``, else all of K; of bends and altitudes k grad c grad c^T if ``bounded``."""
    z, g, y, h, angle = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    S, R, V, moment = np.zeros((3 * k, 3 * k)), np.zeros((3 * k - 3, 3 * k)), np.zeros((15, 15)), np.zeros(3)
    values, work, G, scale = np.zeros(15), np.zeros((3, 15)), np.zeros((3, 18)), np.zeros(3)
    after = 0
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start or e < after:
            continue
        angle[:] = nan
        for a in range(k):
            for i in range(3):
                z[a, i] = x[group.nodes[e, a], i]
        single = group.kind[e] == LENGTH
        squares = single or bounded
        after = e + 1 if single else _end_of_family(group, e, k)
        across = 0.0
        if squares:
            after = min(after, e + 3)
            for f in range(e, after):
                c = _measure(group, f, k, z, y, h, angle, g)
                if single:
                    # the two modes across an edge together: 1 - g g^T
                    across = elastic * group.stiffness[e] * (1.0 - group.rest[e] / c)
                    if project:
                        across = max(across, 0.0)
                scale[f - e] = elastic * group.stiffness[f] + damping * group.damping[f] - across
                for a in range(k):
                    for i in range(3):
                        G[f - e, 3 * a + i] = g[a, i]
        elif project and elastic != 0.0:
            _set_family(group, e, after, k, z, y, h, angle, g, moment, elastic, 0.0, True, S)
            _reduce(S, k, R)
            _diagonalise(R, V, values, work, 3 * k - 3)
            _set_family(group, e, after, k, z, y, h, angle, g, moment, 0.0, damping, False, S)
            for r in range(3 * k - 3):
                if values[r] > 0.0:
                    _expand(V[r], k, g)
                    _add_square(values[r], g, k, S)
        else:
            _set_family(group, e, after, k, z, y, h, angle, g, moment, elastic, damping, True, S)
        for a in range(k):
            if not start <= group.nodes[e, a] < stop:
                continue
            if squares:
                _add_squares(spread.slot[e], scale, G, after - e, k, a, out_blocks)
                if across != 0.0:
                    for b in range(k):
                        for i in range(3):
                            out_blocks[spread.slot[e, a, b], 4 * i] += across if a == b else -across
            else:
                for b in range(k):
                    p = spread.slot[e, a, b]
                    for i in range(3):
                        for j in range(3):
                            out_blocks[p, 3 * i + j] += S[3 * a + i, 3 * b + j]


@njit(cache=True, nogil=True)
def _factor_springs(group, x, elastic, damping, out_modes, out_values, start, stop):  # type: ignore[no-untyped-def]
    """Modes (m, r, k, 3) and values (m, r) with elastic K+ + damping (-D) = sum_r value_r mode_r mode_r^T.

    The modes of K+ of a triangle's bends, the largest values first, are dealt out to them in their order.
    """
    z, g, y, h, angle = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros(3)
    k, rows = group.nodes.shape[1], out_values.shape[1]
    S, R, V, moment = np.zeros((3 * k, 3 * k)), np.zeros((3 * k - 3, 3 * k)), np.zeros((15, 15)), np.zeros(3)
    values, work = np.zeros(15), np.zeros((3, 15))
    family, order = -1, np.zeros(15, dtype=np.int64)
    for e in range(start, stop):
        first = _first_of_family(group, e, k) if group.kind[e] == BEND else e
        if first != family:
            family = first
            angle[:] = nan
            for a in range(k):
                for i in range(3):
                    z[a, i] = x[group.nodes[e, a], i]
            if group.kind[e] != LENGTH and elastic != 0.0:
                end = _end_of_family(group, e, k) if group.kind[e] == BEND else e + 1
                _set_family(group, first, end, k, z, y, h, angle, g, moment, elastic, 0.0, True, S)
                _reduce(S, k, R)
                _diagonalise(R, V, values, work, 3 * k - 3)
                _sort_values(values, 3 * k - 3, order)
        c = _measure(group, e, k, z, y, h, angle, g)
        for a in range(k):
            for i in range(3):
                out_modes[e, 0, a, i] = g[a, i]
        if group.kind[e] != LENGTH:
            out_values[e, 0] = damping * group.damping[e]
            for r in range(1, rows):
                place = (e - first) * (rows - 1) + r - 1
                out_values[e, r] = 0.0
                if place < 3 * k - 3 and elastic != 0.0:
                    out_values[e, r] = max(values[order[place]], 0.0)
                    _expand(V[order[place]], k, out_modes[e, r])
            continue
        out_values[e, 0] = elastic * group.stiffness[e] + damping * group.damping[e]
        across = max(elastic * group.stiffness[e] * (1.0 - group.rest[e] / c), 0.0)
        d = g[1, 0], g[1, 1], g[1, 2]
        u = (0.0, -d[2], d[1]) if abs(d[0]) < 0.6 else (d[2], 0.0, -d[0])
        size = max(sqrt(_dot(u, u)), 1e-300)
        u = u[0] / size, u[1] / size, u[2] / size
        v = _cross(d, u)
        for r in range(1, 3):
            out_values[e, r] = across
            for i in range(3):
                t = u[i] if r == 1 else v[i]
                out_modes[e, r, 0, i], out_modes[e, r, 1, i] = -t, t
