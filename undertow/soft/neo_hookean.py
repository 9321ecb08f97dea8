"""The part of a neo-Hookean energy that depends on the volume, and a stiffness of tetrahedra in closed form.

    psi = mu / 2 (|F|^2 - 3) + f(J)
    K_ab = V (mu g_a . g_b + f'' c_a c_b^T + f' [F (g_a x g_b)]),     c_a = cof(F) g_a,     [t]_ij = eps_ijm t_m

Its modes in the frame of the stretches s (``soft/simplices.py``) are twists of mu + f' s_k, flips of mu - f' s_k, and
three stretches, whose matrix is mu + (J^2 f'' + J f') u u^T - J f' diag(u^2), u = 1 / s. Where f' <= 0 and lambda is
not negative the sum in brackets is at least lambda, so that only twists are negative, those with -f' s_k > mu. With f'
raised to -mu / s_max in the last term of K none is: a stiffness without negative modes that needs no decomposition.
"""

from __future__ import annotations

from math import log, sqrt

from undertow.grid.jitting import borrowing, inlined

_LEAST_J = 0.2
"""Below this J the logarithms of the energy go on as the parabola that touches them."""

_MOST = 1.3
"""-f' s_max / mu up to which f' is raised; with more, negative modes are taken away one by one."""


@borrowing
def _volume_energy(mu, lam, J):  # type: ignore[no-untyped-def]
    """f(J) = -mu log J + lam / 2 log^2 J and its two derivatives; below ``_LEAST_J`` the parabola that goes on from
    there."""
    K = max(J, _LEAST_J)
    u = log(K)
    f = -mu * u + 0.5 * lam * u * u
    f1 = (lam * u - mu) / K
    f2 = (lam + mu - lam * u) / (K * K)
    d = J - K
    return f + f1 * d + 0.5 * f2 * d * d, f1 + f2 * d, f2


@borrowing
def _set_cofactor(F, C):  # type: ignore[no-untyped-def]
    """C = cof F, the derivative of det F; returns det F."""
    for i in range(3):
        p, q = (i + 1) % 3, (i + 2) % 3
        C[i, 0] = F[p, 1] * F[q, 2] - F[p, 2] * F[q, 1]
        C[i, 1] = F[p, 2] * F[q, 0] - F[p, 0] * F[q, 2]
        C[i, 2] = F[p, 0] * F[q, 1] - F[p, 1] * F[q, 0]
    return F[0, 0] * C[0, 0] + F[0, 1] * C[0, 1] + F[0, 2] * C[0, 2]


@inlined
def _bound_stretch(F):  # type: ignore[no-untyped-def]
    """No less than the largest stretch of F: by the rows of F^T F (Gershgorin)."""
    a = F[0, 0] * F[0, 0] + F[1, 0] * F[1, 0] + F[2, 0] * F[2, 0]
    b = F[0, 1] * F[0, 1] + F[1, 1] * F[1, 1] + F[2, 1] * F[2, 1]
    c = F[0, 2] * F[0, 2] + F[1, 2] * F[1, 2] + F[2, 2] * F[2, 2]
    d = abs(F[0, 0] * F[0, 1] + F[1, 0] * F[1, 1] + F[2, 0] * F[2, 1])
    e = abs(F[0, 0] * F[0, 2] + F[1, 0] * F[1, 2] + F[2, 0] * F[2, 2])
    f = abs(F[0, 1] * F[0, 2] + F[1, 1] * F[1, 2] + F[2, 1] * F[2, 2])
    return sqrt(max(a + d + e, b + d + f, c + e + f))


@borrowing
def _complete_blocks(K):  # type: ignore[no-untyped-def]
    """The blocks below the diagonal, and those of node 0, from K_ab, 1 <= a <= b: rows of a stiffness add up to 0."""
    for a in range(1, 4):
        for b in range(a + 1, 4):
            for i in range(3):
                for j in range(3):
                    K[b, a, 3 * i + j] = K[a, b, 3 * j + i]
    for a in range(1, 4):
        for i in range(9):
            K[a, 0, i] = -(K[a, 1, i] + K[a, 2, i] + K[a, 3, i])
        for i in range(3):
            for j in range(3):
                K[0, a, 3 * i + j] = K[a, 0, 3 * j + i]
    for i in range(9):
        K[0, 0, i] = -(K[1, 0, i] + K[2, 0, i] + K[3, 0, i])


@borrowing
def _set_bounded(w, mu, lam, g, F, C, c, K):  # type: ignore[no-untyped-def]
    """K (4, 4, 9): w times the stiffness of a neo-Hookean tetrahedron with the gradients g (4, 3), f' raised as the
    head of the module says; C (3, 3), c (4, 3) are scratch. Returns whether that could be done; if not, K is not
    set."""
    J = _set_cofactor(F, C)
    _, f1, f2 = _volume_energy(mu, lam, J)
    bound = _bound_stretch(F)
    if lam < 0.0 or J < _LEAST_J or f1 > 0.0 or -f1 * bound > _MOST * mu:
        return False
    f1 = max(f1, -mu / bound)
    for a in range(1, 4):
        for i in range(3):
            c[a, i] = C[i, 0] * g[a, 0] + C[i, 1] * g[a, 1] + C[i, 2] * g[a, 2]
    for a in range(1, 4):
        for b in range(a, 4):
            d = w * mu * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
            n0 = w * f1 * (g[a, 1] * g[b, 2] - g[a, 2] * g[b, 1])
            n1 = w * f1 * (g[a, 2] * g[b, 0] - g[a, 0] * g[b, 2])
            n2 = w * f1 * (g[a, 0] * g[b, 1] - g[a, 1] * g[b, 0])
            t0 = F[0, 0] * n0 + F[0, 1] * n1 + F[0, 2] * n2
            t1 = F[1, 0] * n0 + F[1, 1] * n1 + F[1, 2] * n2
            t2 = F[2, 0] * n0 + F[2, 1] * n1 + F[2, 2] * n2
            x, y, z = w * f2 * c[a, 0], w * f2 * c[a, 1], w * f2 * c[a, 2]
            K[a, b, 0], K[a, b, 1], K[a, b, 2] = x * c[b, 0] + d, x * c[b, 1] + t2, x * c[b, 2] - t1
            K[a, b, 3], K[a, b, 4], K[a, b, 5] = y * c[b, 0] - t2, y * c[b, 1] + d, y * c[b, 2] + t0
            K[a, b, 6], K[a, b, 7], K[a, b, 8] = z * c[b, 0] + t1, z * c[b, 1] - t0, z * c[b, 2] + d
    _complete_blocks(K)
    return True
