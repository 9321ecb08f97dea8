"""Finite elements with linear shape functions: energy, force and the modes of their stiffness, one source for all of
them.

Three kinds of element share the kernels, because each has a 3x3 deformation gradient F = sum_a x_a (x) g_a + F_0 with
the gradients g_a of its shape functions in the rest state:

    SOLID      tetrahedra, F_0 = 0
    PLANE      triangles of a 2D scene, plane strain: F_0 = e_z (x) e_z
    MEMBRANE   triangles in space: the third column of F is the unit normal, so that the thickness does not stretch

F = U diag(s) V^T with rotations U, V; the smallest s is negative where an element is inverted (Irving, Teran and
Fedkiw 2004). An isotropic energy density psi(s) has g_i = dpsi/ds_i and h_ij = d2psi/ds_i ds_j, the stress P = U
diag(g) V^T, and a stiffness whose eigenmodes are known (Smith, de Goes and Kim 2019): in the frame of U and V three
stretches, the eigenvectors of h, and for every pair of axes a flip, (e_i e_j + e_j e_i) / sqrt 2, and a twist, (e_i
e_j - e_j e_i) / sqrt 2, of

    d_ij = (g_i - g_j) / (s_i - s_j),        t_ij = (g_i + g_j) / (s_i + s_j)

Clamping these to zero from below is the projection to positive semidefinite; the modes are the rows of the factor C
of thesis 5.5.1 [@schroeder2011].
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import borrowing, inlined
from undertow.soft.neo_hookean import _set_bounded, _set_cofactor, _volume_energy

STVK, NEO_HOOKEAN, COROTATED = 0, 1, 2
MODELS = {"stvk": STVK, "neo_hookean": NEO_HOOKEAN, "corotated": COROTATED}
SOLID, PLANE, MEMBRANE = 0, 1, 2
MODES = (9, 4, 6)
"""Modes of an element of each kind: stretches, flips and twists; for membranes two out of the plane."""

_LEAST_SUM = 1e-2
"""Least s_i + s_j, s_i: the corotated energy and membranes have a kink where they vanish."""


class Simplices(NamedTuple):
    """m elements of k nodes: nodes (m, k); gradient (m, k, 3) of the shape functions in the rest state [1/m]; volume
    (m,) [m3; 2D m2]; mu, lam (m,) Lame constants [Pa]; damping (m,) Rayleigh, force of the stiffness at rest times
    this time [s]; model, kind (m,)."""

    nodes: Any
    gradient: Array
    volume: Array
    mu: Array
    lam: Array
    damping: Array
    model: Any
    kind: Any


@inlined
def _rotate_columns(A, V, p, q):  # type: ignore[no-untyped-def]
    """One rotation of one-sided Jacobi (Hestenes 1958): columns p and q of A made orthogonal; the squared cosine
    between them before."""
    app = A[0, p] * A[0, p] + A[1, p] * A[1, p] + A[2, p] * A[2, p]
    aqq = A[0, q] * A[0, q] + A[1, q] * A[1, q] + A[2, q] * A[2, q]
    apq = A[0, p] * A[0, q] + A[1, p] * A[1, q] + A[2, p] * A[2, q]
    square = app * aqq
    if not apq * apq > 1e-32 * square:
        return 0.0
    zeta = 0.5 * (aqq - app) / apq
    t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta))
    c = 1.0 / sqrt(1.0 + t * t)
    s = c * t
    for i in range(3):
        a, b = A[i, p], A[i, q]
        A[i, p], A[i, q] = c * a - s * b, s * a + c * b
        a, b = V[i, p], V[i, q]
        V[i, p], V[i, q] = c * a - s * b, s * a + c * b
    return apq * apq / square


@borrowing
def _set_perpendicular(U, a, b, c):  # type: ignore[no-untyped-def]
    """Column c of U = cross product of columns a and b."""
    U[0, c] = U[1, a] * U[2, b] - U[2, a] * U[1, b]
    U[1, c] = U[2, a] * U[0, b] - U[0, a] * U[2, b]
    U[2, c] = U[0, a] * U[1, b] - U[1, a] * U[0, b]


@inlined
def _diagonalise_pair(app, aqq, apq, apr, aqr):  # type: ignore[no-untyped-def]
    """One rotation of Jacobi's method for a symmetric matrix: (app, aqq, apr, aqr, c, s) with apq made zero."""
    if abs(apq) <= 1e-17 * (abs(app) + abs(aqq)):
        return app, aqq, apr, aqr, 1.0, 0.0
    d = 0.5 * (aqq - app)
    t = apq / (abs(d) + sqrt(d * d + apq * apq))
    if d < 0.0:
        t = -t
    c = 1.0 / sqrt(1.0 + t * t)
    s = c * t
    return app - t * apq, aqq + t * apq, c * apr - s * aqr, s * apr + c * aqr, c, s


@inlined
def _turn_columns(V, p, q, c, s):  # type: ignore[no-untyped-def]
    for i in range(3):
        a, b = V[i, p], V[i, q]
        V[i, p], V[i, q] = c * a - s * b, s * a + c * b


@borrowing
def _diagonalise_gram(F, V):  # type: ignore[no-untyped-def]
    """V: the eigenvectors of F^T F (columns) by Jacobi's method; F becomes F V. Whether its columns are orthogonal to
    round-off: not so where the stretches differ by much, since F^T F squares them."""
    a = F[0, 0] * F[0, 0] + F[1, 0] * F[1, 0] + F[2, 0] * F[2, 0]
    b = F[0, 1] * F[0, 1] + F[1, 1] * F[1, 1] + F[2, 1] * F[2, 1]
    c = F[0, 2] * F[0, 2] + F[1, 2] * F[1, 2] + F[2, 2] * F[2, 2]
    d = F[0, 0] * F[0, 1] + F[1, 0] * F[1, 1] + F[2, 0] * F[2, 1]
    e = F[0, 0] * F[0, 2] + F[1, 0] * F[1, 2] + F[2, 0] * F[2, 2]
    f = F[0, 1] * F[0, 2] + F[1, 1] * F[1, 2] + F[2, 1] * F[2, 2]
    for _ in range(8):
        off = d * d + e * e + f * f
        if off <= 1e-34 * (a * a + b * b + c * c):
            break
        a, b, e, f, p, q = _diagonalise_pair(a, b, d, e, f)
        d = 0.0
        _turn_columns(V, 0, 1, p, q)
        a, c, d, f, p, q = _diagonalise_pair(a, c, e, d, f)
        e = 0.0
        _turn_columns(V, 0, 2, p, q)
        b, c, d, e, p, q = _diagonalise_pair(b, c, f, d, e)
        f = 0.0
        _turn_columns(V, 1, 2, p, q)
    for i in range(3):
        u, v, w = F[i, 0], F[i, 1], F[i, 2]
        for j in range(3):
            F[i, j] = u * V[0, j] + v * V[1, j] + w * V[2, j]
    return min(a, b, c) > 1e-4 * max(a, b, c)


@borrowing
def decompose(F, U, s, V):  # type: ignore[no-untyped-def]
    """F = U diag(s) V^T with rotations U, V; the s of smallest size carries the sign of det F. F becomes U diag(s)."""
    for i in range(3):
        for j in range(3):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(0 if _diagonalise_gram(F, V) else 30):
        off = max(_rotate_columns(F, V, 0, 1), _rotate_columns(F, V, 0, 2), _rotate_columns(F, V, 1, 2))
        # the rotations square what is left: cosines of 1e-8 become 1e-16
        if off < 1e-16:
            break
    for j in range(3):
        s[j] = sqrt(F[0, j] * F[0, j] + F[1, j] * F[1, j] + F[2, j] * F[2, j])
    large = 0 if s[0] >= s[1] and s[0] >= s[2] else (1 if s[1] >= s[2] else 2)
    small = 2 if s[2] <= s[0] and s[2] <= s[1] else (1 if s[1] <= s[0] else 0)
    if small == large:
        small = (large + 1) % 3
    middle = 3 - large - small
    if s[large] < 1e-300:
        for i in range(3):
            for j in range(3):
                U[i, j] = 1.0 if i == j else 0.0
        return
    for i in range(3):
        U[i, large] = F[i, large] / s[large]
    if s[middle] > 1e-14 * s[large]:
        for i in range(3):
            U[i, middle] = F[i, middle] / s[middle]
    else:
        # a needle: any direction across it
        k = 0 if abs(U[0, large]) < 0.6 else 1
        for i in range(3):
            U[i, small] = 1.0 if i == k else 0.0
        _set_perpendicular(U, large, small, middle)
        size = sqrt(U[0, middle] ** 2 + U[1, middle] ** 2 + U[2, middle] ** 2)
        for i in range(3):
            U[i, middle] /= size
    if (large + 1) % 3 == middle:
        _set_perpendicular(U, large, middle, small)
    else:
        _set_perpendicular(U, middle, large, small)
    s[small] = U[0, small] * F[0, small] + U[1, small] * F[1, small] + U[2, small] * F[2, small]


@borrowing
def _deform(group, e, x, F):  # type: ignore[no-untyped-def]
    """F = sum_a x_a (x) g_a + F_0, the third column of a membrane its unit normal."""
    for i in range(3):
        for j in range(3):
            F[i, j] = 0.0
    for a in range(group.nodes.shape[1]):
        n = group.nodes[e, a]
        for i in range(3):
            for j in range(3):
                F[i, j] += x[n, i] * group.gradient[e, a, j]
    if group.kind[e] == PLANE:
        F[0, 2], F[1, 2], F[2, 2] = 0.0, 0.0, 1.0
        F[2, 0], F[2, 1] = 0.0, 0.0
    elif group.kind[e] == MEMBRANE:
        _set_perpendicular(F, 0, 1, 2)
        size = sqrt(F[0, 2] ** 2 + F[1, 2] ** 2 + F[2, 2] ** 2)
        for i in range(3):
            F[i, 2] = F[i, 2] / size if size > 1e-300 else 0.0


@borrowing
def _respond(model, mu, lam, a, b, c):  # type: ignore[no-untyped-def]
    """(psi, g_1, g_2, g_3) of an energy density at the stretches a, b, c [Pa]."""
    if model == STVK:
        # psi = mu sum e_i^2 + lam / 2 (sum e_i)^2, e = (s^2 - 1) / 2
        ea, eb, ec = 0.5 * (a * a - 1.0), 0.5 * (b * b - 1.0), 0.5 * (c * c - 1.0)
        t = ea + eb + ec
        psi = mu * (ea * ea + eb * eb + ec * ec) + 0.5 * lam * t * t
        return psi, a * (2 * mu * ea + lam * t), b * (2 * mu * eb + lam * t), c * (2 * mu * ec + lam * t)
    J = a * b * c
    if model == NEO_HOOKEAN:
        # psi = mu / 2 (sum s_i^2 - 3) + f(J)
        f, q, _ = _volume_energy(mu, lam, J)
        psi = 0.5 * mu * (a * a + b * b + c * c - 3.0) + f
        return psi, mu * a + q * b * c, mu * b + q * a * c, mu * c + q * a * b
    # psi = mu sum (s_i - 1)^2 + lam / 2 (J - 1)^2  (Stomakhin et al. 2012)
    q = lam * (J - 1.0)
    psi = mu * ((a - 1.0) ** 2 + (b - 1.0) ** 2 + (c - 1.0) ** 2) + 0.5 * q * (J - 1.0)
    return psi, 2 * mu * (a - 1.0) + q * b * c, 2 * mu * (b - 1.0) + q * a * c, 2 * mu * (c - 1.0) + q * a * b


@borrowing
def _stretch_stiffness(model, mu, lam, s, A):  # type: ignore[no-untyped-def]
    """A = h_ij (3, 3) [Pa]."""
    J = s[0] * s[1] * s[2]
    t = 0.5 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3.0)
    _, q, r = _volume_energy(mu, lam, J)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        c = s[j] * s[k]
        if model == STVK:
            A[i, i] = mu * (3 * s[i] * s[i] - 1.0) + lam * (t + s[i] * s[i])
            A[j, k] = lam * s[j] * s[k]
        elif model == NEO_HOOKEAN:
            A[i, i] = mu + r * c * c
            A[j, k] = r * (s[i] * s[k]) * (s[i] * s[j]) + q * s[i]
        else:
            A[i, i] = 2 * mu + lam * c * c
            A[j, k] = lam * (s[i] * s[k]) * (s[i] * s[j]) + lam * (J - 1.0) * s[i]
        A[k, j] = A[j, k]


@borrowing
def _pair_stiffness(model, mu, lam, s, i, j):  # type: ignore[no-untyped-def]
    """(d_ij, t_ij) in closed form, without the cancellation of their definition [Pa]."""
    J = s[0] * s[1] * s[2]
    if model == STVK:
        t = 0.5 * lam * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3.0) - mu
        square, product = s[i] * s[i] + s[j] * s[j], s[i] * s[j]
        return mu * (square + product) + t, mu * (square - product) + t
    third = s[3 - i - j]
    if model == NEO_HOOKEAN:
        _, q, _ = _volume_energy(mu, lam, J)
        return mu - q * third, mu + q * third
    q = lam * (J - 1.0) * third
    total = s[i] + s[j]
    if abs(total) < _LEAST_SUM:
        total = _LEAST_SUM if total >= 0.0 else -_LEAST_SUM
    return 2 * mu - q, 2 * mu - 4 * mu / total + q


@borrowing
def _eigen(A, W):  # type: ignore[no-untyped-def]
    """A symmetric (3, 3) becomes diagonal, its eigenvectors the columns of W (cyclic Jacobi)."""
    for i in range(3):
        for j in range(3):
            W[i, j] = 1.0 if i == j else 0.0
    for _ in range(30):
        off = abs(A[0, 1]) + abs(A[0, 2]) + abs(A[1, 2])
        if off <= 1e-17 * (abs(A[0, 0]) + abs(A[1, 1]) + abs(A[2, 2])):
            break
        for p in range(2):
            for q in range(p + 1, 3):
                if A[p, q] == 0.0:
                    continue
                theta = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + sqrt(1.0 + theta * theta))
                c = 1.0 / sqrt(1.0 + t * t)
                s = c * t
                for k in range(3):
                    a, b = A[k, p], A[k, q]
                    A[k, p], A[k, q] = c * a - s * b, s * a + c * b
                for k in range(3):
                    a, b = A[p, k], A[q, k]
                    A[p, k], A[q, k] = c * a - s * b, s * a + c * b
                for k in range(3):
                    a, b = W[k, p], W[k, q]
                    W[k, p], W[k, q] = c * a - s * b, s * a + c * b


@borrowing
def _stress(model, mu, lam, F, U, s, V, P):  # type: ignore[no-untyped-def]
    """Energy density [Pa] and stress P = dpsi/dF [Pa]; only the corotated model needs U diag(s) V^T, which take F."""
    if model == NEO_HOOKEAN:
        f, q, _ = _volume_energy(mu, lam, _set_cofactor(F, P))
        square = 0.0
        for i in range(3):
            for j in range(3):
                square += F[i, j] * F[i, j]
                P[i, j] = mu * F[i, j] + q * P[i, j]
        return 0.5 * mu * (square - 3.0) + f
    if model == STVK:
        # V is the strain (F^T F - 1) / 2
        psi, trace = 0.0, 0.0
        for i in range(3):
            for j in range(3):
                V[i, j] = 0.5 * (F[0, i] * F[0, j] + F[1, i] * F[1, j] + F[2, i] * F[2, j] - (1.0 if i == j else 0.0))
                psi += mu * V[i, j] * V[i, j]
            trace += V[i, i]
        for i in range(3):
            for j in range(3):
                strain = F[i, 0] * V[0, j] + F[i, 1] * V[1, j] + F[i, 2] * V[2, j]
                P[i, j] = 2 * mu * strain + lam * trace * F[i, j]
        return psi + 0.5 * lam * trace * trace
    decompose(F, U, s, V)
    psi, g0, g1, g2 = _respond(model, mu, lam, s[0], s[1], s[2])
    for i in range(3):
        for j in range(3):
            P[i, j] = g0 * U[i, 0] * V[j, 0] + g1 * U[i, 1] * V[j, 1] + g2 * U[i, 2] * V[j, 2]
    return psi


@njit(cache=True, nogil=True)
def _add_simplex_forces(group, spread, x, out_energy, out_force, start, stop):  # type: ignore[no-untyped-def]
    """Energy (m,) [J] of the elements; their forces -V P g_a [N] added to the nodes start ... stop of (n, 3)."""
    F, U, V, P, s = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    k = group.nodes.shape[1]
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start:
            continue
        _deform(group, e, x, F)
        psi = _stress(group.model[e], group.mu[e], group.lam[e], F, U, s, V, P)
        w = group.volume[e]
        if spread.low[e] >= start:
            out_energy[e] = w * psi
        for a in range(k):
            n = group.nodes[e, a]
            if start <= n < stop:
                for i in range(3):
                    f = P[i, 0] * group.gradient[e, a, 0] + P[i, 1] * group.gradient[e, a, 1]
                    out_force[n, i] -= w * (f + P[i, 2] * group.gradient[e, a, 2])


@borrowing
def _project_positive(A, W, B):  # type: ignore[no-untyped-def]
    """A symmetric (3, 3) without its negative eigenvalues; W, B are scratch."""
    first = A[0, 0] * A[1, 1] - A[0, 1] * A[0, 1]
    whole = (
        A[2, 2] * first
        - A[1, 2] * (A[0, 0] * A[1, 2] - A[0, 1] * A[0, 2])
        + A[0, 2] * (A[0, 1] * A[1, 2] - A[1, 1] * A[0, 2])
    )
    size = A[0, 0] + A[1, 1] + A[2, 2]
    # of a negative trace the cube is less than any determinant near 0, and size alone would let that pass
    if A[0, 0] > 0.0 and first > 0.0 and whole > 1e-9 * abs(size * size * size):
        return
    for i in range(3):
        for j in range(3):
            B[i, j] = A[i, j]
    _eigen(B, W)
    for i in range(3):
        for j in range(3):
            A[i, j] = 0.0
            for r in range(3):
                A[i, j] += max(B[r, r], 0.0) * W[i, r] * W[j, r]


@borrowing
def _set_moduli(group, e, elastic, damping, project, s, A, D, X, W, B):  # type: ignore[no-untyped-def]
    """Moduli in the frame of U and V [Pa]: A_ij = C_iijj, D_ij = C_ijij, X_ij = C_ijji; all others vanish.

    A flip d and a twist t make D_ij = D_ji = (d + t) / 2 and X_ij = (d - t) / 2. The damping of the rate of strain,
    the mode a e_ij + b e_ji of stretches a, b (see ``_add_damping``), adds the squares and the product of a and b.
    """
    model, mu, lam, kind = group.model[e], group.mu[e], group.lam[e], group.kind[e]
    rate = damping * group.damping[e]
    axes = 3 if kind == SOLID else 2
    for i in range(3):
        for j in range(3):
            A[i, j], D[i, j], X[i, j] = 0.0, 0.0, 0.0
    if elastic != 0.0:
        _stretch_stiffness(model, mu, lam, s, A)
        if axes == 2:
            A[0, 2], A[1, 2], A[2, 0], A[2, 1], A[2, 2] = 0.0, 0.0, 0.0, 0.0, 0.0
        if project:
            _project_positive(A, W, B)
    for i in range(axes):
        for j in range(axes):
            A[i, j] = elastic * A[i, j] + rate * (lam + (2 * mu if i == j else 0.0))
    for i in range(axes - 1):
        for j in range(i + 1, axes):
            flip, twist = _pair_stiffness(model, mu, lam, s, i, j)
            if project:
                flip, twist = max(flip, 0.0), max(twist, 0.0)
            a, b = s[i], s[j]
            c = 2.0 * rate * mu / max(a * a + b * b, 1e-300)
            D[i, j] = 0.5 * elastic * (flip + twist) + c * a * a
            D[j, i] = 0.5 * elastic * (flip + twist) + c * b * b
            X[i, j] = 0.5 * elastic * (flip - twist) + c * a * b
            X[j, i] = X[i, j]
    if kind == MEMBRANE:
        _, g0, g1, _ = _respond(model, mu, lam, s[0], s[1], s[2])
        for i in range(2):
            value = (g0 if i == 0 else g1) / max(s[i], _LEAST_SUM)
            D[2, i] = elastic * (max(value, 0.0) if project else value)


@borrowing
def _set_element(w, A, D, X, U, h, k, B, K):  # type: ignore[no-untyped-def]
    """K (k, k, 9) = w U C(a, b) U^T, C_ij = sum C_irjs h_ar h_bs: the stiffness between nodes a and b with gradients h
    in the frame of V. Gradients add up to 0, and so do the blocks of a row: those of node 0 are the rest."""
    for b in range(k):
        for i in range(9):
            K[0, b, i], K[b, 0, i] = 0.0, 0.0
    for a in range(1, k):
        for b in range(a, k):
            for i in range(3):
                j, l = (i + 1) % 3, (i + 2) % 3  # noqa: E741
                B[i, i] = w * (A[i, i] * h[a, i] * h[b, i] + D[i, j] * h[a, j] * h[b, j] + D[i, l] * h[a, l] * h[b, l])
                B[i, j] = w * (A[i, j] * h[a, i] * h[b, j] + X[i, j] * h[a, j] * h[b, i])
                B[i, l] = w * (A[i, l] * h[a, i] * h[b, l] + X[i, l] * h[a, l] * h[b, i])
            for i in range(3):
                b0 = U[i, 0] * B[0, 0] + U[i, 1] * B[1, 0] + U[i, 2] * B[2, 0]
                b1 = U[i, 0] * B[0, 1] + U[i, 1] * B[1, 1] + U[i, 2] * B[2, 1]
                b2 = U[i, 0] * B[0, 2] + U[i, 1] * B[1, 2] + U[i, 2] * B[2, 2]
                for j in range(3):
                    K[a, b, 3 * i + j] = b0 * U[j, 0] + b1 * U[j, 1] + b2 * U[j, 2]
            for i in range(3):
                for j in range(3):
                    K[b, a, 3 * j + i] = K[a, b, 3 * i + j]
    for a in range(1, k):
        for b in range(1, k):
            for i in range(9):
                K[a, 0, i] -= K[a, b, i]
                K[0, a, i] -= K[b, a, i]
    for a in range(1, k):
        for i in range(9):
            K[0, 0, i] -= K[a, 0, i]


@njit(cache=True, nogil=True)
def _add_simplex_blocks(group, spread, x, elastic, damping, project, bounded, out_blocks, start, stop):  # type: ignore[no-untyped-def]
    """elastic K + damping (-D) of the elements added to the rows start ... stop of a matrix of blocks (., 9).

    The matrix of ``_factor_simplices``, from the moduli in the frame of U and V instead of from modes: a fifth
    of the operations. ``bounded``: without damping, neo-Hookean tetrahedra in closed form where that can be had.
    """
    F, U, V, s = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    A, D, X, W = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    B, K, h = np.zeros((3, 3)), np.zeros((4, 4, 9)), np.zeros((4, 3))
    k = group.nodes.shape[1]
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start or (elastic == 0.0 and group.damping[e] == 0.0):
            continue
        _deform(group, e, x, F)
        quick = bounded and damping == 0.0 and group.kind[e] == SOLID and group.model[e] == NEO_HOOKEAN
        if not (
            quick and _set_bounded(elastic * group.volume[e], group.mu[e], group.lam[e], group.gradient[e], F, A, h, K)
        ):
            decompose(F, U, s, V)
            for a in range(k):
                for i in range(3):
                    h[a, i] = 0.0
                    for j in range(3):
                        h[a, i] += V[j, i] * group.gradient[e, a, j]
            _set_moduli(group, e, elastic, damping, project, s, A, D, X, W, B)
            _set_element(group.volume[e], A, D, X, U, h, k, B, K)
        for a in range(k):
            if start <= group.nodes[e, a] < stop:
                for b in range(k):
                    p = spread.slot[e, a, b]
                    for i in range(9):
                        out_blocks[p, i] += K[a, b, i]


@borrowing
def _set_mode(U, h, r, e, k, i, j, ci, cj, out_modes):  # type: ignore[no-untyped-def]
    """Mode r of element e = U Q V^T g_a of its nodes for Q = ci e_i e_j^T + cj e_j e_i^T, with h_a = V^T g_a."""
    for a in range(k):
        p, q = ci * h[a, j], cj * h[a, i]
        for c in range(3):
            out_modes[e, r, a, c] = U[c, i] * p + U[c, j] * q


@borrowing
def _add_damping(flip, twist, rate, a, b):  # type: ignore[no-untyped-def]
    """Values and turn (c, d) of the flip f and twist g of a pair with stretches a, b after damping ``rate`` is added.

    Thesis 5.5.1 damps the flip, which also resists the rotation of a strained element. Here the rate of strain is
    damped, the mode a e_ij + b e_ji, which is zero in a rotation: q = ((a + b) f + (a - b) g) / sqrt(2 (a^2 + b^2)).
    The new modes are c f + d g and d f - c g up to sign.
    """
    square = 2.0 * (a * a + b * b)
    if rate == 0.0 or square < 1e-300:
        return flip, twist, 1.0, 0.0
    p, q = (a + b) / sqrt(square), (a - b) / sqrt(square)
    A, B, C = flip + rate * p * p, twist + rate * q * q, rate * p * q
    if C == 0.0:
        return A, B, 1.0, 0.0
    middle, half = 0.5 * (A + B), 0.5 * (A - B)
    size = sqrt(half * half + C * C)
    # eigenvector of middle + size, from its larger component
    if half >= 0.0:
        c, d = half + size, C
    else:
        c, d = C, size - half
    n = sqrt(c * c + d * d)
    # the smaller value from the product of both: damping alone has none in a rotation, not even one of rounding
    small = (flip * twist + rate * (flip * q * q + twist * p * p)) / (middle + size) if middle > 0.0 else middle - size
    return middle + size, small, c / n, d / n


@njit(cache=True, nogil=True)
def _factor_simplices(group, x, elastic, damping, out_modes, out_values, start, stop):  # type: ignore[no-untyped-def]
    """Modes (m, r, k, 3) and values (m, r) with elastic K+ + damping (-D) = sum_r value_r mode_r mode_r^T.

    K+ is the stiffness, d2 energy / dx2, without its negative values; -D the Rayleigh damping:
    group.damping times the stiffness at rest, turned with the element (thesis 5.5.1 [@schroeder2011] but for the
    rotation, see above).
    """
    F, U, V, s = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    A, W, h = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((4, 3))
    half = sqrt(0.5)
    k = group.nodes.shape[1]
    for e in range(start, stop):
        _deform(group, e, x, F)
        decompose(F, U, s, V)
        for a in range(k):
            for i in range(3):
                h[a, i] = 0.0
                for j in range(3):
                    h[a, i] += V[j, i] * group.gradient[e, a, j]
        model, mu, lam, kind, w = group.model[e], group.mu[e], group.lam[e], group.kind[e], group.volume[e]
        rate = damping * group.damping[e]
        _stretch_stiffness(model, mu, lam, s, A)
        axes = 3 if kind == SOLID else 2
        if axes == 2:
            A[0, 2], A[1, 2], A[2, 0], A[2, 1], A[2, 2] = 0.0, 0.0, 0.0, 0.0, 0.0
        _eigen(A, W)
        if rate > 0.0:
            # the sum of both, which need not have the same eigenvectors
            for i in range(axes):
                F[i, 0], F[i, 1], F[i, 2] = W[i, 0], W[i, 1], W[i, 2]
                s_i = elastic * max(A[i, i], 0.0)
                A[i, i] = s_i
            v0, v1, v2 = A[0, 0], A[1, 1], A[2, 2]
            for i in range(axes):
                for j in range(axes):
                    A[i, j] = F[i, 0] * v0 * F[j, 0] + F[i, 1] * v1 * F[j, 1]
                    if axes == 3:
                        A[i, j] += F[i, 2] * v2 * F[j, 2]
                    A[i, j] += rate * (lam + (2 * mu if i == j else 0.0))
            _eigen(A, W)
        for r in range(axes):
            value = A[r, r] if rate > 0.0 else elastic * A[r, r]
            slot = r if r < 2 else 6
            out_values[e, slot] = w * max(value, 0.0)
            for a in range(k):
                for c in range(3):
                    m = U[c, 0] * W[0, r] * h[a, 0] + U[c, 1] * W[1, r] * h[a, 1]
                    if axes == 3:
                        m += U[c, 2] * W[2, r] * h[a, 2]
                    out_modes[e, slot, a, c] = m
        for i in range(axes - 1):
            for j in range(i + 1, axes):
                flip, twist = _pair_stiffness(model, mu, lam, s, i, j)
                flip, twist = max(flip, 0.0), max(twist, 0.0)
                first = 2 if i + j == 1 else (4 if i + j == 2 else 7)
                flip, twist, c, d = _add_damping(elastic * flip, elastic * twist, 2.0 * rate * mu, s[i], s[j])
                out_values[e, first], out_values[e, first + 1] = w * flip, w * twist
                _set_mode(U, h, first, e, k, i, j, half * (c + d), half * (c - d), out_modes)
                _set_mode(U, h, first + 1, e, k, i, j, half * (c - d), -half * (c + d), out_modes)
        if kind == MEMBRANE:
            _, g0, g1, _ = _respond(model, mu, lam, s[0], s[1], s[2])
            for i in range(2):
                value = (g0 if i == 0 else g1) / max(s[i], _LEAST_SUM)
                out_values[e, 4 + i] = w * elastic * max(value, 0.0)
                for a in range(k):
                    for c in range(3):
                        out_modes[e, 4 + i, a, c] = U[c, 2] * h[a, i]


@njit(cache=True, nogil=True)
def _add_ring_rows(group, spread, x, out_volume, out_row, out_column, start, stop):  # type: ignore[no-untyped-def]
    """Each element of k nodes adds a k-th of its volume to those of its nodes, V_i (n,), and of the gradient of its
    volume, V cof(F) g_a, the area-weighted normals of thesis 3.3 over 3 (inward), to dV_i/dx_j, by rows i and, in
    ``out_column``, by rows j of the same pattern (., 3)."""
    F, C, g = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((4, 3))
    k = group.nodes.shape[1]
    for e in range(spread.begin[start], spread.end[stop]):
        if spread.high[e] < start:
            continue
        _deform(group, e, x, F)
        w = group.volume[e] / k
        J = _set_cofactor(F, C)
        for a in range(k):
            for i in range(3):
                h = C[i, 0] * group.gradient[e, a, 0] + C[i, 1] * group.gradient[e, a, 1]
                g[a, i] = w * (h + C[i, 2] * group.gradient[e, a, 2])
        for a in range(k):
            n = group.nodes[e, a]
            if start <= n < stop:
                out_volume[n] += w * J
                for b in range(k):
                    p = spread.slot[e, a, b]
                    for i in range(3):
                        out_row[p, i] += g[b, i]
                        out_column[p, i] += g[a, i]
