"""Control forces of contacts between particles and bodies (algorithm 1, 5): the local and the global scheme.

Equation numbers are those of Becker, Tessendorf and Teschner [@becker2009].
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit

from undertow.coupling.forcing_contacts import FULL, NORMAL, NOTHING, TANGENTIAL
from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC, apply_inverse_inertia, rotate, rotate_back

SETTLED = 1e-9
"""Change of a particle's velocity in a turn over the bodies, relative to the fastest, at which nothing is left."""

SWEEPS, STEPS = 3, 60
"""Turns over the bodies before all contacts are solved together, and steps of that, at most."""


@njit(cache=True, nogil=True)
def _solve_local(contacts, count, points, bodies, twists):  # type: ignore[no-untyped-def]
    """Contacts one by one (12): F = 1/h [(1/m + 1/M) E + r~^T I^-1 r~]^-1 v-hat, all from the predicted velocities.

    A contact that would pull lets go and holds nothing, as in the global scheme.
    """
    K, f = np.zeros((3, 3)), np.zeros(3)
    for n in range(count):
        _missing(contacts, n, points, twists, f)
        b, r, normal = contacts.body[n], contacts.arm[n], contacts.normal[n]
        for c in range(3):
            ex, ey, ez = (1.0 if c == 0 else 0.0), (1.0 if c == 1 else 0.0), (1.0 if c == 2 else 0.0)
            # (I^-1 (r x e)) x r
            tx, ty, tz = r[1] * ez - r[2] * ey, r[2] * ex - r[0] * ez, r[0] * ey - r[1] * ex
            tx, ty, tz = apply_inverse_inertia(bodies.q[b], bodies.inv_inertia[b], tx, ty, tz)
            K[0, c], K[1, c], K[2, c] = ty * r[2] - tz * r[1], tz * r[0] - tx * r[2], tx * r[1] - ty * r[0]
            K[c, c] += 1.0 / contacts.mass[n] + bodies.inv_mass[b]
        if contacts.kind[n] == NORMAL:
            stiff = 0.0
            for a in range(3):
                for c in range(3):
                    stiff += normal[a] * K[a, c] * normal[c]
            along = (f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2]) / stiff
            for a in range(3):
                f[a] = along * normal[a]
        else:
            if contacts.kind[n] == TANGENTIAL:
                _flatten(K, normal, 1.0 / contacts.mass[n])
            _solve_small(K, f, 3)
        if f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2] >= 0.0 or contacts.kind[n] == TANGENTIAL:
            for a in range(3):
                contacts.impulse[n, a] = f[a]
        else:
            contacts.kind[n] = NOTHING
    for n in range(count):
        _apply(contacts, n, contacts.impulse[n], points, bodies, twists)


@njit(cache=True, nogil=True)
def _solve_global(contacts, count, points, bodies, twists, planar, turns):  # type: ignore[no-untyped-def]
    """All contacts of a body at once (18), the bodies in turn until nothing pulls and nothing is left; whether it was.

    Particles between two bodies: in turn each body makes them its own, and of what two heavy bodies have against each
    other only the share m / M is gone after a turn. After SWEEPS turns all contacts are solved together.
    With the change D = (dv, domega) of the body's twist and J_i D = dv + domega x r_i the wanted velocities and the
    momenta give (M + sum m_i J_i^T P_i J_i) D = -sum m_i J_i^T P_i v-hat_i, P_i the projection on what contact i holds,
    and the impulse m_i P_i (v-hat_i + J_i D) on particle i.
    """
    A, d, miss = np.zeros((6, 6)), np.zeros(6), np.zeros(3)
    for turn in range(turns):
        largest, change = 0.0, 0.0
        last = 0 if turn < SWEEPS else count
        if turn >= SWEEPS:
            change, largest = _solve_together(contacts, count, points, bodies, twists, miss)
        while last < count:
            first, b = last, contacts.body[last]
            while last < count and contacts.body[last] == b:
                last += 1
            d[:] = 0.0
            if bodies.kind[b] == DYNAMIC:
                A[:] = 0.0
                for n in range(first, last):
                    if contacts.kind[n] != NOTHING:
                        _missing(contacts, n, points, twists, miss)
                        _add_contact(contacts, n, miss, A, d)
                _add_mass(bodies, b, planar, A, d)
                _solve_small(A, d, 6)
            for n in range(first, last):
                if contacts.kind[n] == NOTHING:
                    continue
                _missing(contacts, n, points, twists, miss)
                _add_held(contacts, n, d, miss)
                i, m = contacts.point[n], contacts.mass[n]
                for a in range(3):
                    contacts.impulse[n, a] += m * miss[a]
                    points.motion[i, a] += miss[a]
                    change = max(change, abs(miss[a]))
                    largest = max(largest, abs(points.motion[i, a]))
            for a in range(3):
                twists.v[b, a] += d[a]
                twists.omega[b, a] += d[3 + a]
        pulled = False
        for n in range(count):
            normal, f = contacts.normal[n], contacts.impulse[n]
            along = f[0] * normal[0] + f[1] * normal[1] + f[2] * normal[2]
            if contacts.kind[n] < TANGENTIAL and along < 0.0:
                for a in range(3):
                    miss[a] = -f[a]
                _apply(contacts, n, miss, points, bodies, twists)
                contacts.impulse[n] = 0.0
                contacts.kind[n] = NOTHING
                pulled = True
        if not pulled and change <= SETTLED * largest:
            return True
    return False


@helper
def _solve_together(contacts, count, points, bodies, twists, miss):  # type: ignore[no-untyped-def]
    """All contacts of all bodies by conjugate gradients in their impulses, from those found so far; what is left of the
    wanted velocities, and the largest velocity of a particle [m/s].

    Impulses change relative velocities by P (J M^-1 J^T + 1 / m) P, few of whose eigenvalues differ: one for all
    particles of one mass, six per body, and those of particles between bodies.
    """
    search, left = contacts.search, contacts.left
    size, largest = 0.0, 0.0
    for n in range(count):
        _missing(contacts, n, points, twists, miss)
        for a in range(3):
            left[n, a] = search[n, a] = miss[a]
            size += miss[a] * miss[a]
            largest = max(largest, abs(points.motion[contacts.point[n], a]))
    worst = sqrt(size)
    for _ in range(STEPS):
        if worst <= SETTLED * largest:
            break
        for n in range(count):
            _apply(contacts, n, search[n], points, bodies, twists)
        along = 0.0
        for n in range(count):
            _missing(contacts, n, points, twists, miss)
            for a in range(3):
                along += search[n, a] * (left[n, a] - miss[a])
        step = size / along if along > 0.0 else 0.0
        for n in range(count):
            for a in range(3):
                miss[a] = (step - 1.0) * search[n, a]
                contacts.impulse[n, a] += step * search[n, a]
            _apply(contacts, n, miss, points, bodies, twists)
        before, size, worst = size, 0.0, 0.0
        for n in range(count):
            _missing(contacts, n, points, twists, miss)
            for a in range(3):
                left[n, a] = miss[a]
                size += miss[a] * miss[a]
                worst = max(worst, abs(miss[a]))
        if step == 0.0:
            break
        for n in range(count):
            for a in range(3):
                search[n, a] = left[n, a] + size / before * search[n, a]
    return worst, largest


@njit(cache=True, nogil=True)
def _sum_control(contacts, count, dt, out_force, out_torque):  # type: ignore[no-untyped-def]
    """Control forces on the bodies (13), (14)."""
    for n in range(count):
        b, f, r = contacts.body[n], contacts.impulse[n], contacts.arm[n]
        for a in range(3):
            out_force[b, a] -= f[a] / dt
        out_torque[b, 0] -= (r[1] * f[2] - r[2] * f[1]) / dt
        out_torque[b, 1] -= (r[2] * f[0] - r[0] * f[2]) / dt
        out_torque[b, 2] -= (r[0] * f[1] - r[1] * f[0]) / dt


@njit(cache=True, nogil=True)
def _largest_error(contacts, count, points, twists):  # type: ignore[no-untyped-def]
    """Largest difference of wanted and present relative velocity [m/s]."""
    worst = 0.0
    miss = np.zeros(3)
    for n in range(count):
        _missing(contacts, n, points, twists, miss)
        worst = max(worst, sqrt(miss[0] ** 2 + miss[1] ** 2 + miss[2] ** 2))
    return worst


@helper
def _missing(contacts, n, points, twists, out):  # type: ignore[no-untyped-def]
    """v-hat: wanted less present relative velocity of contact n, the part it holds."""
    i, b = contacts.point[n], contacts.body[n]
    v, w, r = twists.v[b], twists.omega[b], contacts.arm[n]
    out[0] = contacts.wanted[n, 0] - points.motion[i, 0] + v[0] + w[1] * r[2] - w[2] * r[1]
    out[1] = contacts.wanted[n, 1] - points.motion[i, 1] + v[1] + w[2] * r[0] - w[0] * r[2]
    out[2] = contacts.wanted[n, 2] - points.motion[i, 2] + v[2] + w[0] * r[1] - w[1] * r[0]
    normal = contacts.normal[n]
    along = out[0] * normal[0] + out[1] * normal[1] + out[2] * normal[2]
    for a in range(3):
        if contacts.kind[n] == NORMAL:
            out[a] = along * normal[a]
        elif contacts.kind[n] == TANGENTIAL:
            out[a] -= along * normal[a]
        elif contacts.kind[n] == NOTHING:
            out[a] = 0.0


@helper
def _add_contact(contacts, n, miss, A, d):  # type: ignore[no-untyped-def]
    """Contact n in the equations of its body: A += m J^T P J, d -= m J^T P v-hat.

    J = [E, -r~], so J^T J = [E, -r~; r~, r^2 E - r r^T], and a normal n alone gives g g^T with g = J^T n = (n, r x n).
    """
    m, kind, normal = contacts.mass[n], contacts.kind[n], contacts.normal[n]
    x, y, z = contacts.arm[n, 0], contacts.arm[n, 1], contacts.arm[n, 2]
    for a in range(3):
        d[a] -= m * miss[a]
    d[3] -= m * (y * miss[2] - z * miss[1])
    d[4] -= m * (z * miss[0] - x * miss[2])
    d[5] -= m * (x * miss[1] - y * miss[0])
    if kind != NORMAL:
        for a in range(3):
            A[a, a] += m
        A[0, 4] += m * z
        A[0, 5] -= m * y
        A[1, 3] -= m * z
        A[1, 5] += m * x
        A[2, 3] += m * y
        A[2, 4] -= m * x
        A[3, 3] += m * (y * y + z * z)
        A[4, 4] += m * (z * z + x * x)
        A[5, 5] += m * (x * x + y * y)
        A[3, 4] -= m * x * y
        A[3, 5] -= m * x * z
        A[4, 5] -= m * y * z
    if kind != FULL:
        g = (
            normal[0], normal[1], normal[2], y * normal[2] - z * normal[1], z * normal[0] - x * normal[2],
            x * normal[1] - y * normal[0],
        )  # fmt: skip
        sign = m if kind == NORMAL else -m
        for a in range(6):
            for c in range(a, 6):
                A[a, c] += sign * g[a] * g[c]


@helper
def _add_held(contacts, n, d, out):  # type: ignore[no-untyped-def]
    """Add P J D, what contact n holds of the body's change d of twist at its arm."""
    kind, normal, r = contacts.kind[n], contacts.normal[n], contacts.arm[n]
    x = d[0] + d[4] * r[2] - d[5] * r[1]
    y = d[1] + d[5] * r[0] - d[3] * r[2]
    z = d[2] + d[3] * r[1] - d[4] * r[0]
    along = x * normal[0] + y * normal[1] + z * normal[2]
    whole, part = (0.0, along) if kind == NORMAL else (1.0, 0.0 if kind == FULL else -along)
    out[0] += whole * x + part * normal[0]
    out[1] += whole * y + part * normal[1]
    out[2] += whole * z + part * normal[2]


@helper
def _flatten(K, normal, along):  # type: ignore[no-untyped-def]
    """K to P K P + along n n^T, P the projection across the normal: what is solved for then has no normal part."""
    stiff = 0.0
    for a in range(3):
        for c in range(3):
            stiff += normal[a] * K[a, c] * normal[c]
    x = K[0, 0] * normal[0] + K[0, 1] * normal[1] + K[0, 2] * normal[2]
    y = K[1, 0] * normal[0] + K[1, 1] * normal[1] + K[1, 2] * normal[2]
    z = K[2, 0] * normal[0] + K[2, 1] * normal[1] + K[2, 2] * normal[2]
    g = (x, y, z)
    for a in range(3):
        for c in range(3):
            K[a, c] += (stiff + along) * normal[a] * normal[c] - normal[a] * g[c] - g[a] * normal[c]


@helper
def _solve_small(A, b, size):  # type: ignore[no-untyped-def]
    """Solve A x = b in place by elimination without pivoting (A symmetric positive definite); x in b."""
    for k in range(size):
        for i in range(k + 1, size):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, size):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]


@helper
def _apply(contacts, n, impulse, points, bodies, twists):  # type: ignore[no-untyped-def]
    """An impulse on the particle, and the opposite one on the body."""
    i, b, r = contacts.point[n], contacts.body[n], contacts.arm[n]
    for a in range(3):
        points.motion[i, a] += impulse[a] / contacts.mass[n]
        twists.v[b, a] -= bodies.inv_mass[b] * impulse[a]
    tx, ty, tz = (
        r[1] * impulse[2] - r[2] * impulse[1],
        r[2] * impulse[0] - r[0] * impulse[2],
        r[0] * impulse[1] - r[1] * impulse[0],
    )
    tx, ty, tz = apply_inverse_inertia(bodies.q[b], bodies.inv_inertia[b], tx, ty, tz)
    twists.omega[b, 0] -= tx
    twists.omega[b, 1] -= ty
    twists.omega[b, 2] -= tz


@helper
def _add_mass(bodies, b, planar, A, d):  # type: ignore[no-untyped-def]
    """Mass and inertia of a body, and the lower half of A from its upper one; in 2D it moves in the plane alone."""
    for a in range(6):
        for c in range(a):
            A[a, c] = A[c, a]
    for a in range(3):
        A[a, a] += 1.0 / bodies.inv_mass[b]
    if planar:
        for a in range(2, 5):
            A[a, :] = 0.0
            A[:, a] = 0.0
            A[a, a] = 1.0
            d[a] = 0.0
        A[5, 5] += 1.0 / bodies.inv_inertia[b, 2]
        return
    for c in range(3):
        x, y, z = rotate_back(bodies.q[b], 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        k = bodies.inv_inertia[b]
        x, y, z = rotate(bodies.q[b], x / k[0], y / k[1], z / k[2])
        A[3, 3 + c] += x
        A[4, 3 + c] += y
        A[5, 3 + c] += z
