"""Step II: collisions with restitution on the velocities of time n, pair after pair.

A pair takes part if one of its contacts would be crossed in the step at the velocities of the forces' half step and is
coming together at time n (Guendelman, Bridson and Fedkiw 2003, section 6: at time n a body at rest on another has no
speed to bounce with). All contacts of the pair that are crossed are solved together for u_n+ = -e u_n- with Coulomb
friction; several passes, the deepest pair first, let impulses travel through a row of bodies. Pairs without
restitution are left to the contact step, which lets them land exactly where they meet.

Joints act in a collision as they do in a step. Bodies of a mechanism answer impulses not with M^-1 but with

    P M^-1,   P = 1 - M^-1 G^T (G M^-1 G^T)^-1 G,   G the rows of its joints,

the masses that its joints leave it. With them u_n+ = -e u_n- holds after the joints have acted; bodies that bounce as
if they were free and are put back on their joints afterwards (thesis 4.2, step II) lose in each bounce the energy of
what the projection removes, at any step: I / (m L^2) of it for a ball on a hinge L away.

The impulses of a pair are scaled by epsilon (thesis 2.3.2 [@schroeder2011]) so that they never raise the kinetic
energy of (x^n, v^n); relative velocities are those of the two bodies, so a kinematic body counts in its own frame.
"""

from __future__ import annotations

from math import atan2, cos, sin

import numpy as np
from numba import njit

from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC
from undertow.solids.contact import _apply_impulse, _cross, _multiply_inertia, _relative_velocity, _solve_coulomb

_LEAST = 1e-9
"""Mobility of a contact in a direction that joints lock, in parts of that of the free bodies: locked directions do not
move, and ask for no impulse."""

_SWEEPS = 50
"""Of one pair's contacts at most; a pair has few of them."""


@njit(cache=True)
def _collide_pairs(  # type: ignore[no-untyped-def]
    rows,
    starts,
    pairs,
    bodies,
    v_half,
    omega_half,
    inv_inertia,
    dt,
    passes,
    clamp,
    depth,
    queue,
    slot,
    mobility,
    out_p,
    out_L,
):
    """Change p, L, v, omega of ``bodies`` and v_half, omega_half alike; returns (pairs collided, clamped).

    depth, queue (pairs,): scratch. mobility (6 k, 6 k): P M^-1 of the bodies that are joined; slot (n,): which of them
    a body is, -1: free. p and L of those get the impulses of contact alone, v and omega what the joints make of them.
    out_p, out_L (n, 3) gather the impulses given to the bodies; those of the rows, in the world, are added to
    ``rows.start``.
    """
    collided, clamped = 0, 0
    pair = np.zeros((12, 12))
    for _ in range(passes):
        waiting = 0
        for p in range(pairs):
            deepest = 0.0
            if rows.law[starts[p], 1] > 0.0:
                for i in range(starts[p], starts[p + 1]):
                    deepest = min(deepest, _crossing(rows, i, bodies, v_half, omega_half, dt))
            if deepest < 0.0:
                k = waiting
                while k > 0 and depth[k - 1] > deepest:
                    depth[k], queue[k] = depth[k - 1], queue[k - 1]
                    k -= 1
                depth[k], queue[k] = deepest, p
                waiting += 1
        if waiting == 0:
            break
        for k in range(waiting):
            p = queue[k]
            hit, held = _collide_pair(
                rows, starts[p], starts[p + 1], bodies, v_half, omega_half, inv_inertia, dt, clamp, slot, mobility,
                pair, out_p, out_L,
            )  # fmt: skip
            collided += hit
            clamped += held
    return collided, clamped


@helper
def _crossing(rows, i, bodies, v_half, omega_half, dt):  # type: ignore[no-untyped-def]
    """Gap at the end of the step [m] if contact i is crossed and coming together at time n, else 0."""
    u, _, _ = _relative_velocity(rows, i, bodies.v, bodies.omega)
    w, _, _ = _relative_velocity(rows, i, v_half, omega_half)
    gap = dt * (rows.target[i] + w)
    return gap if gap < 0.0 and u < 0.0 else 0.0


@helper
def _collide_pair(  # type: ignore[no-untyped-def]
    rows, start, stop, bodies, v_half, omega_half, inv_inertia, dt, clamp, slot, mobility, pair, out_p, out_L
):
    a, b = rows.body[start, 0], rows.body[start, 1]
    joined = slot[a] >= 0 or slot[b] >= 0
    # frames and masses of the rows are those of free bodies; the contact solve of the step needs them again
    kept_frame, kept_k = rows.frame[start:stop].copy(), rows.k[start:stop].copy()
    if joined:
        _fill_pair(a, b, slot, mobility, bodies.inv_mass, inv_inertia, pair)
        for i in range(start, stop):
            _join_row(rows, i, pair, bodies.inv_mass[a] + bodies.inv_mass[b])
    hit = False
    for i in range(start, stop):
        u0, u1, u2 = _relative_velocity(rows, i, bodies.v, bodies.omega)
        rows.before[i, 0], rows.before[i, 1], rows.before[i, 2] = u0, u1, u2
        crossed = _crossing(rows, i, bodies, v_half, omega_half, dt) < 0.0
        # wanted normal velocity, in ``last`` as scratch; a contact that is not crossed takes no part
        rows.last[i, 0] = -rows.law[i, 1] * u0 if crossed else 1.0
        rows.last[i, 1] = 1.0 if crossed else 0.0
        hit = hit or crossed
        for c in range(6):
            rows.impulse[i, c] = 0.0
    if not hit:
        rows.frame[start:stop], rows.k[start:stop] = kept_frame, kept_k
        return 0, 0
    for _ in range(_SWEEPS):
        change, size = 0.0, 0.0
        for i in range(start, stop):
            if rows.last[i, 1] == 0.0:
                continue
            u0, u1, u2 = _relative_velocity(rows, i, bodies.v, bodies.omega)
            k, j = rows.k[i], rows.impulse[i]
            jn, j1, j2 = _solve_coulomb(
                u0 - k[0] * j[0] - k[1] * j[1] - k[2] * j[2] - rows.last[i, 0],
                u1 - k[1] * j[0] - k[3] * j[1],
                u2 - k[2] * j[0] - k[4] * j[2],
                k,
                rows.law[i, 0],
                j[0],
            )
            d0, d1, d2 = jn - j[0], j1 - j[1], j2 - j[2]
            j[0], j[1], j[2] = jn, j1, j2
            if joined:
                _apply_joined(rows, i, a, b, bodies.v, bodies.omega, pair, d0, d1, d2)
            else:
                _apply_impulse(rows, i, bodies.v, bodies.omega, bodies.inv_mass, inv_inertia, d0, d1, d2)
            change, size = max(change, abs(d0), abs(d1), abs(d2)), max(size, jn)
        if change <= 1e-12 * size:
            break
    e = 1.0
    if clamp:
        energy, slope = 0.0, 0.0
        for i in range(start, stop):
            u0, u1, u2 = _relative_velocity(rows, i, bodies.v, bodies.omega)
            j, before = rows.impulse[i], rows.before[i]
            energy += j[0] * before[0] + j[1] * before[1] + j[2] * before[2]
            slope += j[0] * u0 + j[1] * u1 + j[2] * u2
        slope -= energy
        if slope > 0.0 and -2.0 * energy < slope:
            e = max(-2.0 * energy / slope, 0.0)
    # one impulse and one angular impulse per body; momenta first, velocities from them
    px, py, pz, ax, ay, az, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        f, j, r = rows.frame[i], rows.impulse[i], rows.lever[i]
        jx = e * (j[0] * f[0] + j[1] * f[3] + j[2] * f[6])
        jy = e * (j[0] * f[1] + j[1] * f[4] + j[2] * f[7])
        jz = e * (j[0] * f[2] + j[1] * f[5] + j[2] * f[8])
        px, py, pz = px + jx, py + jy, pz + jz
        rows.start[i, 0], rows.start[i, 1], rows.start[i, 2] = (
            rows.start[i, 0] + jx, rows.start[i, 1] + jy, rows.start[i, 2] + jz,
        )  # fmt: skip
        x, y, z = _cross(r[0], r[1], r[2], jx, jy, jz)
        ax, ay, az = ax + x, ay + y, az + z
        x, y, z = _cross(r[3], r[4], r[5], jx, jy, jz)
        bx, by, bz = bx - x, by - y, bz - z
        s = e - 1.0
        if e < 1.0 and joined:
            _apply_joined(rows, i, a, b, bodies.v, bodies.omega, pair, s * j[0], s * j[1], s * j[2])
        elif e < 1.0:
            _apply_impulse(rows, i, bodies.v, bodies.omega, bodies.inv_mass, inv_inertia, s * j[0], s * j[1], s * j[2])
    rows.frame[start:stop], rows.k[start:stop] = kept_frame, kept_k
    if joined:
        wrench = (px, py, pz, ax, ay, az, -px, -py, -pz, bx, by, bz)
        _move_joined(a, b, slot, mobility, wrench, bodies.v, bodies.omega, v_half, omega_half)
    _receive(bodies, v_half, omega_half, inv_inertia, a, slot[a] < 0, px, py, pz, ax, ay, az, out_p, out_L)
    _receive(bodies, v_half, omega_half, inv_inertia, b, slot[b] < 0, -px, -py, -pz, bx, by, bz, out_p, out_L)
    return 1, 1 if e < 1.0 - 1e-9 else 0


@helper
def _receive(bodies, v_half, omega_half, inv_inertia, b, free, px, py, pz, lx, ly, lz, out_p, out_L):  # type: ignore[no-untyped-def]
    """Give body b an impulse and an angular impulse; v and omega of ``bodies`` have them already, and those of the half
    step too if it is joined to others."""
    out_p[b, 0] += px
    out_p[b, 1] += py
    out_p[b, 2] += pz
    out_L[b, 0] += lx
    out_L[b, 1] += ly
    out_L[b, 2] += lz
    if bodies.kind[b] != DYNAMIC:
        return
    bodies.p[b, 0] += px
    bodies.p[b, 1] += py
    bodies.p[b, 2] += pz
    bodies.L[b, 0] += lx
    bodies.L[b, 1] += ly
    bodies.L[b, 2] += lz
    if not free:
        return
    m = bodies.inv_mass[b]
    v_half[b, 0] += m * px
    v_half[b, 1] += m * py
    v_half[b, 2] += m * pz
    x, y, z = _multiply_inertia(inv_inertia[b], lx, ly, lz)
    omega_half[b, 0] += x
    omega_half[b, 1] += y
    omega_half[b, 2] += z


@helper
def _fill_pair(a, b, slot, mobility, inv_mass, inv_inertia, out):  # type: ignore[no-untyped-def]
    """Mobility (12, 12) of two bodies: blocks of the joined ones, M^-1 of a free one."""
    out[:, :] = 0.0
    for s in range(2):
        body = a if s == 0 else b
        if slot[body] < 0:
            k, r = inv_inertia[body], 6 * s
            for i in range(3):
                out[r + i, r + i] = inv_mass[body]
                out[r + 3 + i, r + 3 + i] = k[i]
            out[r + 3, r + 4], out[r + 4, r + 3] = k[3], k[3]
            out[r + 3, r + 5], out[r + 5, r + 3] = k[4], k[4]
            out[r + 4, r + 5], out[r + 5, r + 4] = k[5], k[5]
            continue
        for t in range(2):
            other = slot[a] if t == 0 else slot[b]
            if other >= 0:
                for i in range(6):
                    for j in range(6):
                        out[6 * s + i, 6 * t + j] = mobility[6 * slot[body] + i, 6 * other + j]


@helper
def _wrench(rows, i, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Wrench on both bodies of row i by an impulse of the world on a."""
    r = rows.lever[i]
    ax, ay, az = _cross(r[0], r[1], r[2], dx, dy, dz)
    bx, by, bz = _cross(r[3], r[4], r[5], dx, dy, dz)
    return dx, dy, dz, ax, ay, az, -dx, -dy, -dz, -bx, -by, -bz


@helper
def _multiply_pair(pair, x, y):  # type: ignore[no-untyped-def]
    """x.A y"""
    total = 0.0
    for i in range(12):
        for j in range(12):
            total += x[i] * pair[i, j] * y[j]
    return total


@helper
def _join_row(rows, i, pair, free):  # type: ignore[no-untyped-def]
    """Frame and masses of row i by the mobility of its pair; ``free`` [1/kg]: that of the bodies without joints."""
    f, k = rows.frame[i], rows.k[i]
    n = _wrench(rows, i, f[0], f[1], f[2])
    s = _wrench(rows, i, f[3], f[4], f[5])
    t = _wrench(rows, i, f[6], f[7], f[8])
    kss, ktt, kst = _multiply_pair(pair, s, s), _multiply_pair(pair, t, t), _multiply_pair(pair, s, t)
    turn = 0.5 * atan2(2.0 * kst, kss - ktt) if abs(kst) > 1e-14 * (kss + ktt) else 0.0
    c, d = cos(turn), sin(turn)
    for m in range(3):
        f[3 + m], f[6 + m] = c * f[3 + m] + d * f[6 + m], c * f[6 + m] - d * f[3 + m]
    least = _LEAST * free
    kns, knt = _multiply_pair(pair, n, s), _multiply_pair(pair, n, t)
    k[0] = max(_multiply_pair(pair, n, n), least)
    k[1], k[2] = c * kns + d * knt, c * knt - d * kns
    k[3] = max(c * c * kss + 2.0 * c * d * kst + d * d * ktt, least)
    k[4] = max(d * d * kss - 2.0 * c * d * kst + c * c * ktt, least)
    k[7], k[8] = 1.0 / k[3], 1.0 / k[4]
    k[9], k[10] = k[1] * k[7], k[2] * k[8]
    k[11] = 1.0 / max(k[0] - k[1] * k[9] - k[2] * k[10], least)


@helper
def _apply_joined(rows, i, a, b, v, omega, pair, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Add an impulse, given in the frame of row i, to the velocities of its bodies by the mobility of the pair."""
    f = rows.frame[i]
    x = _wrench(
        rows, i, d0 * f[0] + d1 * f[3] + d2 * f[6], d0 * f[1] + d1 * f[4] + d2 * f[7], d0 * f[2] + d1 * f[5] + d2 * f[8]
    )
    for s in range(2):
        body = a if s == 0 else b
        for m in range(6):
            change = 0.0
            for j in range(12):
                change += pair[6 * s + m, j] * x[j]
            if m < 3:
                v[body, m] += change
            else:
                omega[body, m - 3] += change


@helper
def _move_joined(a, b, slot, mobility, wrench, v, omega, v_half, omega_half):  # type: ignore[no-untyped-def]
    """What a wrench (12,) on a and b moves in their mechanisms: v, omega of the others, v_half, omega_half of all."""
    for body in range(len(slot)):
        if slot[body] < 0:
            continue
        for m in range(6):
            change = 0.0
            for j in range(6):
                if slot[a] >= 0:
                    change += mobility[6 * slot[body] + m, 6 * slot[a] + j] * wrench[j]
                if slot[b] >= 0:
                    change += mobility[6 * slot[body] + m, 6 * slot[b] + j] * wrench[6 + j]
            if m < 3:
                v_half[body, m] += change
                if body != a and body != b:
                    v[body, m] += change
            else:
                omega_half[body, m - 3] += change
                if body != a and body != b:
                    omega[body, m - 3] += change
