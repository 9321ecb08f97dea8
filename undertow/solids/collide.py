"""Step II: collisions with restitution on the velocities of time n, pair after pair.

A pair takes part if one of its contacts would be crossed in the step at the velocities of the forces' half step and is
coming together at time n (Guendelman, Bridson and Fedkiw 2003, section 6: at time n a body at rest on another has no
speed to bounce with). All contacts of the pair that are crossed are solved together for u_n+ = -e u_n- with Coulomb
friction; several passes, the deepest pair first, let impulses travel through a row of bodies. Pairs without
restitution are left to the contact step, which lets them land exactly where they meet.

The impulses of a pair are scaled by epsilon (thesis 2.3.2 [@schroeder2011]) so that they never raise the kinetic
energy of (x^n, v^n); relative velocities are those of the two bodies, so a kinematic body counts in its own frame.
"""

from __future__ import annotations

from numba import njit

from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC
from undertow.solids.contact import _apply_impulse, _cross, _multiply_inertia, _relative_velocity, _solve_coulomb

_SWEEPS = 50
"""Of one pair's contacts at most; a pair has few of them."""


@njit(cache=True)
def _collide_pairs(  # type: ignore[no-untyped-def]
    rows, starts, pairs, bodies, v_half, omega_half, inv_inertia, dt, passes, clamp, depth, queue, out_p, out_L
):
    """Change p, L, v, omega of ``bodies`` and v_half, omega_half alike; returns (pairs collided, clamped).

    depth, queue (pairs,): scratch; out_p, out_L (n, 3) gather the impulses given to the bodies.
    """
    collided, clamped = 0, 0
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
                rows, starts[p], starts[p + 1], bodies, v_half, omega_half, inv_inertia, dt, clamp, out_p, out_L
            )
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
    rows, start, stop, bodies, v_half, omega_half, inv_inertia, dt, clamp, out_p, out_L
):
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
            _apply_impulse(rows, i, bodies.v, bodies.omega, bodies.inv_mass, inv_inertia, d0, d1, d2)
            change, size = max(change, abs(d0), abs(d1), abs(d2)), max(size, jn)
        if change <= 1e-12 * size:
            break
    e = 1.0
    if clamp:
        a, b = 0.0, 0.0
        for i in range(start, stop):
            u0, u1, u2 = _relative_velocity(rows, i, bodies.v, bodies.omega)
            j, before = rows.impulse[i], rows.before[i]
            a += j[0] * before[0] + j[1] * before[1] + j[2] * before[2]
            b += j[0] * u0 + j[1] * u1 + j[2] * u2
        b -= a
        if b > 0.0 and -2.0 * a < b:
            e = max(-2.0 * a / b, 0.0)
    a, b = rows.body[start, 0], rows.body[start, 1]
    # one impulse and one angular impulse per body; momenta first, velocities from them
    px, py, pz, ax, ay, az, bx, by, bz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        f, j, r = rows.frame[i], rows.impulse[i], rows.lever[i]
        jx = e * (j[0] * f[0] + j[1] * f[3] + j[2] * f[6])
        jy = e * (j[0] * f[1] + j[1] * f[4] + j[2] * f[7])
        jz = e * (j[0] * f[2] + j[1] * f[5] + j[2] * f[8])
        px, py, pz = px + jx, py + jy, pz + jz
        x, y, z = _cross(r[0], r[1], r[2], jx, jy, jz)
        ax, ay, az = ax + x, ay + y, az + z
        x, y, z = _cross(r[3], r[4], r[5], jx, jy, jz)
        bx, by, bz = bx - x, by - y, bz - z
        if e < 1.0:
            s = e - 1.0
            _apply_impulse(rows, i, bodies.v, bodies.omega, bodies.inv_mass, inv_inertia, s * j[0], s * j[1], s * j[2])
    _receive(bodies, v_half, omega_half, inv_inertia, a, px, py, pz, ax, ay, az, out_p, out_L)
    _receive(bodies, v_half, omega_half, inv_inertia, b, -px, -py, -pz, bx, by, bz, out_p, out_L)
    return 1, 1 if e < 1.0 - 1e-9 else 0


@helper
def _receive(bodies, v_half, omega_half, inv_inertia, b, px, py, pz, lx, ly, lz, out_p, out_L):  # type: ignore[no-untyped-def]
    """Give body b an impulse and an angular impulse; v and omega of ``bodies`` have them already."""
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
    m = bodies.inv_mass[b]
    v_half[b, 0] += m * px
    v_half[b, 1] += m * py
    v_half[b, 2] += m * pz
    x, y, z = _multiply_inertia(inv_inertia[b], lx, ly, lz)
    omega_half[b, 0] += x
    omega_half[b, 1] += y
    omega_half[b, 2] += z
