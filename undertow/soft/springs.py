"""Energies k / 2 (c(x) - c_0)^2 of one scalar: lengths of edges, altitudes of simplices, bending of triangles.

    gradient   k (c - c_0) grad c
    Hessian    k grad c grad c^T + k (c - c_0) grad grad c

The first term of the Hessian is positive semidefinite and has one mode, grad c; of the second only that of a stretched
edge is kept where positive semidefiniteness is asked for. Damping acts along grad c (thesis 5.5.1 [@schroeder2011]).
"""

from __future__ import annotations

from math import atan2, floor, isnan, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import helper

LENGTH, BEND, ALTITUDE = 0, 1, 2
SPRING_MODES = (3, 1, 1)
"""Modes by kind: an edge has its own direction and two across."""


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
    size, nn, mm = sqrt(_dot(e, e)), _dot(n, n), _dot(m, m)
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
        size = sqrt(_dot(t, t))
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


@helper
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


@helper
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


@njit(cache=True, nogil=True)
def _add_spring_blocks(group, spread, x, elastic, damping, project, out_blocks, start, stop):  # type: ignore[no-untyped-def]
    """elastic K + damping (-D) of the springs, see ``_factor_springs``, added to the rows start ... stop of a matrix of
    blocks (., 9)."""
    z, g, y, h, angle = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start:
            continue
        _take_nodes(group, e, spread.begin[start], k, x, z, angle)
        c = _measure(group, e, k, z, y, h, angle, g)
        along, across = elastic * group.stiffness[e] + damping * group.damping[e], 0.0
        if group.kind[e] == LENGTH:
            # the two modes across an edge together: 1 - g g^T
            across = elastic * group.stiffness[e] * (1.0 - group.rest[e] / c)
            if project:
                across = max(across, 0.0)
        for a in range(k):
            if not start <= group.nodes[e, a] < stop:
                continue
            for b in range(k):
                p = spread.slot[e, a, b]
                for i in range(3):
                    for j in range(3):
                        out_blocks[p, 3 * i + j] += (along - across) * g[a, i] * g[b, j]
                    if across != 0.0:
                        out_blocks[p, 4 * i] += across if a == b else -across


@njit(cache=True, nogil=True)
def _factor_springs(group, x, elastic, damping, project, out_modes, out_values, start, stop):  # type: ignore[no-untyped-def]
    """Modes (m, r, k, 3) and values (m, r) with elastic K + damping (-D) = sum_r value_r mode_r mode_r^T.

    Of K what the head of the module says; with ``project`` off the modes across an edge may be negative.
    """
    z, g, y, h, angle = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    for e in range(start, stop):
        _take_nodes(group, e, start, k, x, z, angle)
        c = _measure(group, e, k, z, y, h, angle, g)
        out_values[e, 0] = elastic * group.stiffness[e] + damping * group.damping[e]
        for a in range(k):
            for i in range(3):
                out_modes[e, 0, a, i] = g[a, i]
        if group.kind[e] != LENGTH:
            continue
        across = elastic * group.stiffness[e] * (1.0 - group.rest[e] / c)
        if project:
            across = max(across, 0.0)
        d = g[1, 0], g[1, 1], g[1, 2]
        u = (0.0, -d[2], d[1]) if abs(d[0]) < 0.6 else (d[2], 0.0, -d[0])
        size = sqrt(_dot(u, u))
        u = u[0] / size, u[1] / size, u[2] / size
        v = _cross(d, u)
        for r in range(1, 3):
            out_values[e, r] = across
            for i in range(3):
                t = u[i] if r == 1 else v[i]
                out_modes[e, r, 0, i], out_modes[e, r, 1, i] = -t, t


@helper
def _unit_rate(N, dN):  # type: ignore[no-untyped-def]
    """n = N / |N| and its rate."""
    size = sqrt(_dot(N, N))
    n = N[0] / size, N[1] / size, N[2] / size
    s = _dot(n, dN)
    return n, ((dN[0] - s * n[0]) / size, (dN[1] - s * n[1]) / size, (dN[2] - s * n[2]) / size), size, s


@helper
def _plus(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@helper
def _curve_altitude(x, d, k, out):  # type: ignore[no-untyped-def]
    """Rate of the gradient of an altitude when the nodes move with d (k, 3)."""
    r, dr = _minus(x, 0, 1), _minus(d, 0, 1)
    t, dt = _minus(x, 2, 1), _minus(d, 2, 1)
    if k == 3:
        n, dn, size, s = _unit_rate((-t[1], t[0], 0.0), (-dt[1], dt[0], 0.0))
        w = _dot(r, t) / (size * size)
        dw = (_dot(dr, t) + _dot(r, dt)) / (size * size) - 2 * w * s / size
        _put(out, 0, 1.0, dn, 0.0, n)
        _put(out, 1, w - 1.0, dn, dw, n)
        _put(out, 2, -w, dn, -dw, n)
        return
    u, du = _minus(x, 3, 1), _minus(d, 3, 1)
    n, dn, size, s = _unit_rate(_cross(t, u), _plus(_cross(dt, u), _cross(t, du)))
    p, q = _cross(r, u), _cross(t, r)
    v, w = _dot(p, n) / size, _dot(q, n) / size
    dv = (_dot(_plus(_cross(dr, u), _cross(r, du)), n) + _dot(p, dn)) / size - v * s / size
    dw = (_dot(_plus(_cross(dt, r), _cross(t, dr)), n) + _dot(q, dn)) / size - w * s / size
    _put(out, 0, 1.0, dn, 0.0, n)
    _put(out, 1, v + w - 1.0, dn, dv + dw, n)
    _put(out, 2, -v, dn, -dv, n)
    _put(out, 3, -w, dn, -dw, n)


@helper
def _inverse_rate(n, dn):  # type: ignore[no-untyped-def]
    """a = n / |n|^2 and its rate."""
    nn = _dot(n, n)
    s = 2 * _dot(n, dn) / nn
    a = n[0] / nn, n[1] / nn, n[2] / nn
    return a, (dn[0] / nn - s * a[0], dn[1] / nn - s * a[1], dn[2] / nn - s * a[2])


@helper
def _curve_angle(x, d, out):  # type: ignore[no-untyped-def]
    """Rate of the gradient of a dihedral angle when the nodes move with d (4, 3)."""
    e, de = _minus(x, 1, 0), _minus(d, 1, 0)
    size = sqrt(_dot(e, e))
    dsize = _dot(e, de) / size
    a02, a12, b13, b03 = _minus(x, 0, 2), _minus(x, 1, 2), _minus(x, 1, 3), _minus(x, 0, 3)
    da02, da12, db13, db03 = _minus(d, 0, 2), _minus(d, 1, 2), _minus(d, 1, 3), _minus(d, 0, 3)
    n, dn = _inverse_rate(_cross(a02, a12), _plus(_cross(da02, a12), _cross(a02, da12)))
    m, dm = _inverse_rate(_cross(b13, b03), _plus(_cross(db13, b03), _cross(b13, db03)))
    # shares of the normals in the gradients of nodes 0 and 1, and their rates
    p, q = -_dot(a12, e) / size, -_dot(b13, e) / size
    dp = -(_dot(da12, e) + _dot(a12, de)) / size - p * dsize / size
    dq = -(_dot(db13, e) + _dot(b13, de)) / size - q * dsize / size
    r, s = -_dot(a02, e) / size, -_dot(b03, e) / size
    dr = -(_dot(da02, e) + _dot(a02, de)) / size - r * dsize / size
    ds = -(_dot(db03, e) + _dot(b03, de)) / size - s * dsize / size
    for i in range(3):
        out[0, i] = dp * n[i] + p * dn[i] + dq * m[i] + q * dm[i]
        out[1, i] = -(dr * n[i] + r * dn[i] + ds * m[i] + s * dm[i])
        out[2, i] = dsize * n[i] + size * dn[i]
        out[3, i] = dsize * m[i] + size * dm[i]


@njit(cache=True, nogil=True)
def _curve_springs(group, x, d, out_force, start, stop):  # type: ignore[no-untyped-def]
    """k (c - c_0) (grad grad c) d of bends and altitudes (m k, 3): what their factor leaves out of the Hessian."""
    z, g, u, v = np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((6, 3)), np.zeros((4, 3))
    y, h, t, angle = np.zeros((4, 3)), np.zeros((3, 4, 3)), np.zeros((4, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    for e in range(start, stop):
        _take_nodes(group, e, start, k, x, z, angle)
        for a in range(k):
            for i in range(3):
                u[a, i] = d[group.nodes[e, a], i]
        c = group.stiffness[e] * (_measure(group, e, k, z, y, h, angle, g) - group.rest[e])
        if group.kind[e] == LENGTH:
            c = 0.0
        elif group.kind[e] == BEND:
            g[:, :] = 0.0
            for i in range(3):
                if group.weight[e, i] != 0.0:
                    _take_hinge(z, i, y)
                    _take_hinge(u, i, t)
                    _curve_angle(y, t, v)
                    _give_hinge(v, i, group.weight[e, i], g)
        else:
            _curve_altitude(z, u, k, g)
        for a in range(k):
            for i in range(3):
                out_force[e * k + a, i] = c * g[a, i]
