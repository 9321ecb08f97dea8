"""Contact with Coulomb friction: all contacts of all bodies at once, by nonsmooth Gauss-Seidel with acceleration.

For every contact c with normal n (from body b to body a), relative velocity u = v_a + omega_a x r_a - v_b - omega_b
x r_b and impulse j on a (-j on b):

    u_n + max(gap, 0) / dt >= 0,   j_n >= 0,   one of them 0         (a body may close its gap, not more)
    |j_t| <= mu j_n;   if it slides, j_t = -mu j_n u_t / |u_t|       (Coulomb)

One contact is solved exactly with the others held (``_solve_coulomb``); contacts are visited from the ground up and
back down (Guendelman, Bridson and Fedkiw 2003, section 8, order the bodies that way), from the impulses of the last
step, and the sweeps are mixed as Anderson (1965) does, which is to a fixed-point iteration what GMRES is to a linear
one. Where contacts all but coincide (two normals at the corner of a link, the ends of a short edge) sweeps hand a load
on from one to the other by the same small change for thousands of times. A mix of equal changes is a leap along them,
which may end the handing on or lead far away: the state that the least change led to is the one that is kept.

Energy. With u- before and u+ after, the impulses change the kinetic energy by sum j.(u- + u+) / 2. At the solution
j.u+ <= 0 for every contact (a gap closes, friction opposes slip) and sum j.(u+ - u-) = |J^T j|^2 in the inverse
mass, so the change is never positive, in the frame of the kinematic bodies. ``_clamp_rows`` holds an unfinished
solve to that: per group of touching bodies the impulses are scaled by the epsilon of thesis 2.3.2 [@schroeder2011].
The state it is measured in is (x^n, v^n+1/2) before the contacts, with the forces of the half step in it, so that a
body at rest, whose impulse takes away exactly what gravity has given, is not frozen; measured against (x^n, v^n) it
would be.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import helper, inlined
from undertow.rigid.bodies import DYNAMIC

DEPTH = 10
"""Iterates the acceleration looks back on."""

NEWTON_STEPS = 3
"""Of the slip speed, for the first normal impulse, from below, hardly ever the last of them; one for each after it."""

_LEVER, _FRAME, _K, _FRICTION, _TARGET, _IMPULSE = 0, 6, 15, 27, 28, 29
PACKED = 32
"""Columns of a packed row, and where they start."""

_OMEGA, _MASS, _INERTIA = 3, 6, 7
BODY = 16
"""Columns of a packed body, two lines of cache: its velocities, inverse mass and inverse inertia."""

SLIDE_STEPS = 4
SLIDE_CHANGE = 0.0001
"""Steps of the normal impulse of a sliding contact per visit, from the one it has, at most, and the part of its change
in the visit that is left for the next one: sweeps do not converge faster than that."""


class ContactRows(NamedTuple):
    """One row per contact, scratch; in the frame (normal, tangent, tangent) whose tangents make K diagonal.

    body (m, 2): a, b; source (m,): index in the contacts found; lever (m, 6): r_a, r_b [m]; frame (m, 9): n, t1, t2;
    k (m, 12): Knn, Kn1, Kn2, K11, K22 [1/kg], inverse moments about n and across n [1/(kg m2)], and of the sticking
    solution 1 / K11, 1 / K22 [kg], Kn1 / K11, Kn2 / K22, 1 / (Knn - Kn1^2 / K11 - Kn2^2 / K22) [kg]; law (m, 4):
    friction, restitution, rolling and spinning length [m]; target (m,): largest closing speed allowed [m/s]; before
    (m, 6): relative velocity and angular velocity before the solve; impulse, start (m, 6): impulse [N s] and angular
    impulse [N m s] on a, now and before the solve; last (m, 6): scratch; island, order (m,). packed (m, PACKED), pair
    (m, 2): what a visit needs, in the order of the visits, so that a sweep runs along memory.
    """

    body: Any
    source: Any
    lever: Array
    frame: Array
    k: Array
    law: Array
    target: Array
    before: Array
    impulse: Array
    start: Array
    last: Array
    island: Any
    order: Any
    packed: Array
    pair: Any


def make_rows(room: int) -> ContactRows:
    """Rows for ``room`` contacts."""
    whole = np.int64
    return ContactRows(
        np.zeros((room, 2), whole), np.zeros(room, whole), np.zeros((room, 6)), np.zeros((room, 9)),
        np.zeros((room, 12)), np.zeros((room, 4)), np.zeros(room), np.zeros((room, 6)), np.zeros((room, 6)),
        np.zeros((room, 6)), np.zeros((room, 6)), np.zeros(room, whole), np.zeros(room, whole),
        np.zeros((room, PACKED)), np.zeros((room, 2), whole),
    )  # fmt: skip


@inlined
def _cross(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@helper
def _any_tangent(nx, ny, nz):  # type: ignore[no-untyped-def]
    """A unit vector across n: the axis n has least of, turned by n."""
    if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
        x, y, z = 0.0, nz, -ny
    elif abs(ny) <= abs(nz):
        x, y, z = -nz, 0.0, nx
    else:
        x, y, z = ny, -nx, 0.0
    size = 1.0 / sqrt(x * x + y * y + z * z)
    return x * size, y * size, z * size


@inlined
def _multiply_inertia(inertia, x, y, z):  # type: ignore[no-untyped-def]
    """Symmetric (6,) xx, yy, zz, xy, xz, yz times (x, y, z)."""
    return (
        inertia[0] * x + inertia[3] * y + inertia[4] * z,
        inertia[3] * x + inertia[1] * y + inertia[5] * z,
        inertia[4] * x + inertia[5] * y + inertia[2] * z,
    )


@helper
def _lever_mass(inertia, rx, ry, rz, ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    """(r x a).I^-1 (r x b): the turning part of a.K b."""
    px, py, pz = _cross(rx, ry, rz, ax, ay, az)
    qx, qy, qz = _cross(rx, ry, rz, bx, by, bz)
    qx, qy, qz = _multiply_inertia(inertia, qx, qy, qz)
    return px * qx + py * qy + pz * qz


@inlined
def _apply_impulse(rows, i, v, omega, inv_mass, inv_inertia, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Add an impulse, given in the frame of row i, to the velocities of its bodies."""
    f = rows.frame[i]
    jx = d0 * f[0] + d1 * f[3] + d2 * f[6]
    jy = d0 * f[1] + d1 * f[4] + d2 * f[7]
    jz = d0 * f[2] + d1 * f[5] + d2 * f[8]
    r = rows.lever[i]
    a, b = rows.body[i, 0], rows.body[i, 1]
    m = inv_mass[a]
    if m > 0.0:
        v[a, 0] += m * jx
        v[a, 1] += m * jy
        v[a, 2] += m * jz
        x, y, z = _cross(r[0], r[1], r[2], jx, jy, jz)
        x, y, z = _multiply_inertia(inv_inertia[a], x, y, z)
        omega[a, 0] += x
        omega[a, 1] += y
        omega[a, 2] += z
    m = inv_mass[b]
    if m > 0.0:
        v[b, 0] -= m * jx
        v[b, 1] -= m * jy
        v[b, 2] -= m * jz
        x, y, z = _cross(r[3], r[4], r[5], jx, jy, jz)
        x, y, z = _multiply_inertia(inv_inertia[b], x, y, z)
        omega[b, 0] -= x
        omega[b, 1] -= y
        omega[b, 2] -= z


@helper
def _apply_turn(rows, i, omega, inv_inertia, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Add an angular impulse, given in the frame of row i, to the angular velocities of its bodies."""
    f = rows.frame[i]
    jx = d0 * f[0] + d1 * f[3] + d2 * f[6]
    jy = d0 * f[1] + d1 * f[4] + d2 * f[7]
    jz = d0 * f[2] + d1 * f[5] + d2 * f[8]
    a, b = rows.body[i, 0], rows.body[i, 1]
    x, y, z = _multiply_inertia(inv_inertia[a], jx, jy, jz)
    omega[a, 0] += x
    omega[a, 1] += y
    omega[a, 2] += z
    x, y, z = _multiply_inertia(inv_inertia[b], jx, jy, jz)
    omega[b, 0] -= x
    omega[b, 1] -= y
    omega[b, 2] -= z


@inlined
def _relative_velocity(rows, i, v, omega):  # type: ignore[no-untyped-def]
    """u of row i in its frame [m/s]."""
    a, b = rows.body[i, 0], rows.body[i, 1]
    r = rows.lever[i]
    f = rows.frame[i]
    ux = v[a, 0] + omega[a, 1] * r[2] - omega[a, 2] * r[1] - v[b, 0] - omega[b, 1] * r[5] + omega[b, 2] * r[4]
    uy = v[a, 1] + omega[a, 2] * r[0] - omega[a, 0] * r[2] - v[b, 1] - omega[b, 2] * r[3] + omega[b, 0] * r[5]
    uz = v[a, 2] + omega[a, 0] * r[1] - omega[a, 1] * r[0] - v[b, 2] - omega[b, 0] * r[4] + omega[b, 1] * r[3]
    return (
        ux * f[0] + uy * f[1] + uz * f[2],
        ux * f[3] + uy * f[4] + uz * f[5],
        ux * f[6] + uy * f[7] + uz * f[8],
    )


@helper
def _relative_turn(rows, i, omega):  # type: ignore[no-untyped-def]
    """omega_a - omega_b in the frame of row i [rad/s]."""
    a, b = rows.body[i, 0], rows.body[i, 1]
    f = rows.frame[i]
    x, y, z = omega[a, 0] - omega[b, 0], omega[a, 1] - omega[b, 1], omega[a, 2] - omega[b, 2]
    return x * f[0] + y * f[1] + z * f[2], x * f[3] + y * f[4] + z * f[5], x * f[6] + y * f[7] + z * f[8]


@njit(cache=True)
def _invert_inertia(bodies, q, out_inertia):  # type: ignore[no-untyped-def]
    """World inverse inertia R I0^-1 R^T (n, 6): xx, yy, zz, xy, xz, yz."""
    for b in range(len(bodies.kind)):
        w, x, y, z = q[b, 0], q[b, 1], q[b, 2], q[b, 3]
        # columns of R
        ax, ay, az = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)
        bx, by, bz = 2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)
        cx, cy, cz = 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)
        i, j, k = bodies.inv_inertia[b, 0], bodies.inv_inertia[b, 1], bodies.inv_inertia[b, 2]
        out_inertia[b, 0] = i * ax * ax + j * bx * bx + k * cx * cx
        out_inertia[b, 1] = i * ay * ay + j * by * by + k * cy * cy
        out_inertia[b, 2] = i * az * az + j * bz * bz + k * cz * cz
        out_inertia[b, 3] = i * ax * ay + j * bx * by + k * cx * cy
        out_inertia[b, 4] = i * ax * az + j * bx * bz + k * cx * cz
        out_inertia[b, 5] = i * ay * az + j * by * bz + k * cy * cz


@helper
def _make_row(bodies, x, inv_inertia, a, b, point, normal, gap, dt, i, rows):  # type: ignore[no-untyped-def]
    """Geometry, masses and law of one contact. Friction is the geometric mean of the two, restitution the larger."""
    rows.body[i, 0], rows.body[i, 1] = a, b
    r = rows.lever[i]
    for d in range(3):
        r[d] = point[d] - x[a, d]
        r[3 + d] = point[d] - x[b, d]
    nx, ny, nz = normal[0], normal[1], normal[2]
    sx, sy, sz = _any_tangent(nx, ny, nz)
    tx, ty, tz = _cross(nx, ny, nz, sx, sy, sz)
    Ia, Ib = inv_inertia[a], inv_inertia[b]
    m = bodies.inv_mass[a] + bodies.inv_mass[b]
    kss = m + _lever_mass(Ia, r[0], r[1], r[2], sx, sy, sz, sx, sy, sz)
    kss += _lever_mass(Ib, r[3], r[4], r[5], sx, sy, sz, sx, sy, sz)
    ktt = m + _lever_mass(Ia, r[0], r[1], r[2], tx, ty, tz, tx, ty, tz)
    ktt += _lever_mass(Ib, r[3], r[4], r[5], tx, ty, tz, tx, ty, tz)
    kst = _lever_mass(Ia, r[0], r[1], r[2], sx, sy, sz, tx, ty, tz)
    kst += _lever_mass(Ib, r[3], r[4], r[5], sx, sy, sz, tx, ty, tz)
    # the tangents that make the tangential block diagonal; where it is so already they stay as they are
    turn = 0.5 * atan2(2.0 * kst, kss - ktt) if abs(kst) > 1e-14 * (kss + ktt) else 0.0
    c, s = cos(turn), sin(turn)
    px, py, pz = c * sx + s * tx, c * sy + s * ty, c * sz + s * tz
    qx, qy, qz = c * tx - s * sx, c * ty - s * sy, c * tz - s * sz
    f = rows.frame[i]
    f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] = nx, ny, nz, px, py, pz, qx, qy, qz
    k = rows.k[i]
    k[0] = m + _lever_mass(Ia, r[0], r[1], r[2], nx, ny, nz, nx, ny, nz)
    k[0] += _lever_mass(Ib, r[3], r[4], r[5], nx, ny, nz, nx, ny, nz)
    k[1] = _lever_mass(Ia, r[0], r[1], r[2], nx, ny, nz, px, py, pz)
    k[1] += _lever_mass(Ib, r[3], r[4], r[5], nx, ny, nz, px, py, pz)
    k[2] = _lever_mass(Ia, r[0], r[1], r[2], nx, ny, nz, qx, qy, qz)
    k[2] += _lever_mass(Ib, r[3], r[4], r[5], nx, ny, nz, qx, qy, qz)
    k[3] = c * c * kss + 2.0 * c * s * kst + s * s * ktt
    k[4] = s * s * kss - 2.0 * c * s * kst + c * c * ktt
    jx, jy, jz = _multiply_inertia(Ia, nx, ny, nz)
    lx, ly, lz = _multiply_inertia(Ib, nx, ny, nz)
    k[5] = nx * (jx + lx) + ny * (jy + ly) + nz * (jz + lz)
    # the trace bounds the largest inverse moment across n
    k[6] = Ia[0] + Ia[1] + Ia[2] + Ib[0] + Ib[1] + Ib[2] - k[5]
    k[7], k[8] = 1.0 / k[3], 1.0 / k[4]
    k[9], k[10] = k[1] * k[7], k[2] * k[8]
    k[11] = 1.0 / (k[0] - k[1] * k[9] - k[2] * k[10])
    law = rows.law[i]
    law[0] = sqrt(bodies.friction[a] * bodies.friction[b])
    law[1] = max(bodies.restitution[a], bodies.restitution[b])
    law[2] = max(bodies.rolling[a], bodies.rolling[b])
    law[3] = max(bodies.spinning[a], bodies.spinning[b])
    rows.target[i] = max(gap, 0.0) / dt


@inlined
def _solve_coulomb(bn, b1, b2, k, mu, held):  # type: ignore[no-untyped-def]
    """Impulse (jn, j1, j2) of one contact whose velocity without it is b, by Coulomb's law; K is an arrow matrix.

    Open if bn >= 0. Sticking if the impulse that stops it lies in the cone. Sliding otherwise: jn = -bn / (Knn - mu
    Kn.d) with the slip direction d from b_t + jn K_tn = (s + mu jn K_tt) d, s >= 0 the slip speed: for given jn that is
    one monotone equation |d(s)| = 1, and Kn couples jn to d only weakly. ``held`` is the normal impulse of now, from
    which a sliding contact goes at most SLIDE_STEPS on: when the sweeps have converged, so has this.
    """
    if bn >= 0.0:
        return 0.0, 0.0, 0.0
    knn, kn1, kn2 = k[0], k[1], k[2]
    if mu == 0.0:
        return -bn / knn, 0.0, 0.0
    jn = (k[9] * b1 + k[10] * b2 - bn) * k[11]
    j1, j2 = -(b1 + kn1 * jn) * k[7], -(b2 + kn2 * jn) * k[8]
    if jn >= 0.0 and j1 * j1 + j2 * j2 <= mu * mu * jn * jn:
        return jn, j1, j2
    if held > 0.0:
        jn = held
    elif jn <= 0.0:
        jn = -bn / knn
    d1, d2, f, s = 0.0, 0.0, 0.0, 0.0
    for step in range(SLIDE_STEPS):
        r1, r2 = b1 + kn1 * jn, b2 + kn2 * jn
        a1, a2 = mu * jn * k[3], mu * jn * k[4]
        if step == 0:
            s = max(sqrt(r1 * r1 + r2 * r2) - max(a1, a2), 0.0)
        for _ in range(NEWTON_STEPS if step == 0 else 1):
            p = 1.0 / ((s + a1) * (s + a2))
            p1, p2 = (s + a2) * p, (s + a1) * p
            d1, d2 = r1 * p1, r2 * p2
            f = d1 * d1 + d2 * d2
            if f <= 1.0 + 1e-12 and (s == 0.0 or f >= 1.0 - 1e-12 or f == 0.0):
                break
            s = max(s + f * (sqrt(f) - 1.0) / (d1 * d1 * p1 + d2 * d2 * p2), 0.0)
        if f > 1.0 or (s > 0.0 and f > 0.0):
            f = 1.0 / sqrt(f)
            d1, d2 = d1 * f, d2 * f
        # where friction would draw the bodies together faster than jn parts them there is no solution of finite size
        new = -bn / max(knn - mu * (kn1 * d1 + kn2 * d2), 0.1 * knn)
        done = abs(new - jn) <= max(SLIDE_CHANGE * abs(new - held), 1e-12 * new)
        jn = new
        if done:
            break
    return jn, -mu * jn * d1, -mu * jn * d2


@inlined
def _push_body(body, rx, ry, rz, jx, jy, jz):  # type: ignore[no-untyped-def]
    """Add an impulse (world) at r from the centre of mass to the velocities of a packed body."""
    m = body[_MASS]
    if m > 0.0:
        body[0] += m * jx
        body[1] += m * jy
        body[2] += m * jz
        x, y, z = _cross(rx, ry, rz, jx, jy, jz)
        _turn_body(body, x, y, z)


@inlined
def _turn_body(body, x, y, z):  # type: ignore[no-untyped-def]
    """Add an angular impulse (world) to the angular velocity of a packed body."""
    body[_OMEGA] += body[_INERTIA] * x + body[_INERTIA + 3] * y + body[_INERTIA + 4] * z
    body[_OMEGA + 1] += body[_INERTIA + 3] * x + body[_INERTIA + 1] * y + body[_INERTIA + 5] * z
    body[_OMEGA + 2] += body[_INERTIA + 4] * x + body[_INERTIA + 5] * y + body[_INERTIA + 2] * z


@inlined
def _push_packed(row, a, b, d0, d1, d2):  # type: ignore[no-untyped-def]
    """Add an impulse, given in the frame of a packed row, to the velocities of its packed bodies a and b."""
    jx = d0 * row[_FRAME] + d1 * row[_FRAME + 3] + d2 * row[_FRAME + 6]
    jy = d0 * row[_FRAME + 1] + d1 * row[_FRAME + 4] + d2 * row[_FRAME + 7]
    jz = d0 * row[_FRAME + 2] + d1 * row[_FRAME + 5] + d2 * row[_FRAME + 8]
    _push_body(a, row[0], row[1], row[2], jx, jy, jz)
    _push_body(b, row[3], row[4], row[5], -jx, -jy, -jz)


@inlined
def _visit_packed(row, a, b):  # type: ignore[no-untyped-def]
    """Solve a packed row with all others held; returns the largest change of velocity [m/s]."""
    ax, ay, az, bx, by, bz = a[_OMEGA], a[_OMEGA + 1], a[_OMEGA + 2], b[_OMEGA], b[_OMEGA + 1], b[_OMEGA + 2]
    ux = a[0] + ay * row[2] - az * row[1] - b[0] - by * row[5] + bz * row[4]
    uy = a[1] + az * row[0] - ax * row[2] - b[1] - bz * row[3] + bx * row[5]
    uz = a[2] + ax * row[1] - ay * row[0] - b[2] - bx * row[4] + by * row[3]
    h0, h1, h2 = row[_IMPULSE], row[_IMPULSE + 1], row[_IMPULSE + 2]
    k0, k1, k2, k3, k4 = row[_K], row[_K + 1], row[_K + 2], row[_K + 3], row[_K + 4]
    bn = ux * row[_FRAME] + uy * row[_FRAME + 1] + uz * row[_FRAME + 2] - k0 * h0 - k1 * h1 - k2 * h2 + row[_TARGET]
    b1 = ux * row[_FRAME + 3] + uy * row[_FRAME + 4] + uz * row[_FRAME + 5] - k1 * h0 - k3 * h1
    b2 = ux * row[_FRAME + 6] + uy * row[_FRAME + 7] + uz * row[_FRAME + 8] - k2 * h0 - k4 * h2
    jn, j1, j2 = _solve_coulomb(bn, b1, b2, row[_K:_FRICTION], row[_FRICTION], h0)
    d0, d1, d2 = jn - h0, j1 - h1, j2 - h2
    if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
        row[_IMPULSE], row[_IMPULSE + 1], row[_IMPULSE + 2] = jn, j1, j2
        _push_packed(row, a, b, d0, d1, d2)
    return max(k0 * abs(d0), k3 * abs(d1), k4 * abs(d2))


@helper
def _visit_turn(k, law, j, row, a, b):  # type: ignore[no-untyped-def]
    """Torques of spinning |m_n| <= spinning jn and rolling |m_t| <= rolling jn of a row, each against the turn.

    k, law, j: of the row; row, a, b: the row and its bodies, packed.
    """
    f, jn = row[_FRAME:_K], row[_IMPULSE]
    wx, wy, wz = a[_OMEGA] - b[_OMEGA], a[_OMEGA + 1] - b[_OMEGA + 1], a[_OMEGA + 2] - b[_OMEGA + 2]
    m0, m1, m2 = 0.0, 0.0, 0.0
    if law[3] > 0.0 and k[5] > 0.0:
        bound = law[3] * jn
        m0 = min(max(j[3] - (wx * f[0] + wy * f[1] + wz * f[2]) / k[5], -bound), bound)
    if law[2] > 0.0 and k[6] > 0.0:
        m1 = j[4] - (wx * f[3] + wy * f[4] + wz * f[5]) / k[6]
        m2 = j[5] - (wx * f[6] + wy * f[7] + wz * f[8]) / k[6]
        size, bound = sqrt(m1 * m1 + m2 * m2), law[2] * jn
        if size > bound:
            m1, m2 = m1 * bound / size, m2 * bound / size
    d0, d1, d2 = m0 - j[3], m1 - j[4], m2 - j[5]
    x = d0 * f[0] + d1 * f[3] + d2 * f[6]
    y = d0 * f[1] + d1 * f[4] + d2 * f[7]
    z = d0 * f[2] + d1 * f[5] + d2 * f[8]
    _turn_body(a, x, y, z)
    _turn_body(b, -x, -y, -z)
    j[3], j[4], j[5] = m0, m1, m2


@helper
def _pack_bodies(v, omega, inv_mass, inv_inertia, out_bodies):  # type: ignore[no-untyped-def]
    for b in range(len(v)):
        body = out_bodies[b]
        body[_MASS] = inv_mass[b]
        for c in range(3):
            body[c], body[_OMEGA + c] = v[b, c], omega[b, c]
        for c in range(6):
            body[_INERTIA + c] = inv_inertia[b, c]


@helper
def _pack_rows(rows, count):  # type: ignore[no-untyped-def]
    """Rows in the order of the visits; whether any of them resists rolling or spinning."""
    turning = False
    for n in range(count):
        i, row = rows.order[n], rows.packed[n]
        rows.pair[n, 0], rows.pair[n, 1] = rows.body[i, 0], rows.body[i, 1]
        for c in range(6):
            row[_LEVER + c] = rows.lever[i, c]
        for c in range(9):
            row[_FRAME + c] = rows.frame[i, c]
        for c in range(12):
            row[_K + c] = rows.k[i, c]
        row[_FRICTION], row[_TARGET] = rows.law[i, 0], rows.target[i]
        for c in range(3):
            row[_IMPULSE + c] = rows.impulse[i, c]
        turning = turning or rows.law[i, 2] > 0.0 or rows.law[i, 3] > 0.0
    return turning


@helper
def _sweep_rows(rows, count, first, way, turning, bodies):  # type: ignore[no-untyped-def]
    """Visit all rows once, from ``first`` on, up (way 1) or down (-1); returns the largest change of velocity [m/s]."""
    change = 0.0
    for step in range(count):
        n = first + way * step
        row, a, b = rows.packed[n], bodies[rows.pair[n, 0]], bodies[rows.pair[n, 1]]
        change = max(change, _visit_packed(row, a, b))
        if turning:
            i = rows.order[n]
            _visit_turn(rows.k[i], rows.law[i], rows.impulse[i], row, a, b)
    return change


@njit(cache=True)
def _solve_rows(  # type: ignore[no-untyped-def]
    rows, count, history, gram, bodies, v, omega, inv_mass, inv_inertia, iterations, tolerance, least_goal
):
    """Change v, omega (n, 3) by the contact impulses; returns (sweeps, largest change in the last one [m/s], its goal).

    One iteration is a sweep forward and one back. tolerance is relative to the largest violation before the solve;
    the goal is at least ``least_goal`` [m/s].
    history (2, DEPTH + 1, room, 3), gram (DEPTH, DEPTH + 1): scratch of the acceleration; bodies (n, BODY): scratch.
    """
    largest, rounding = 0.0, 0.0
    for i in range(count):
        largest = max(largest, -(rows.before[i, 0] + rows.target[i]))
        rounding = max(rounding, rows.k[i, 0] * rows.impulse[i, 0])
    # bodies that the impulses they start from hold already are done to rounding
    goal = max(tolerance * largest, 1e-14 * rounding, least_goal)
    turning = _pack_rows(rows, count)
    _pack_bodies(v, omega, inv_mass, inv_inertia, bodies)
    packed, last = rows.packed, rows.last
    change, size_sq, kept, newest, sweeps = 0.0, 0.0, 0, 0, 0
    least, best = 1e300, history[0, DEPTH]
    for iteration in range(iterations):
        for n in range(count):
            for c in range(3):
                last[n, c] = packed[n, _IMPULSE + c]
        change = _sweep_rows(rows, count, np.int64(0), np.int64(1), turning, bodies)
        change = max(change, _sweep_rows(rows, count, count - 1, np.int64(-1), turning, bodies))
        sweeps += 2
        if change <= goal:
            break
        if change < least:
            least = change
            for n in range(count):
                for c in range(3):
                    best[n, c] = packed[n, _IMPULSE + c]
        if iteration == iterations - 1:
            break
        # Anderson: of the results so far, the mix whose changes cancel best
        old_sq, size_sq = size_sq, 0.0
        for n in range(count):
            for c in range(3):
                last[n, c] = (packed[n, _IMPULSE + c] - last[n, c]) * sqrt(packed[n, _K])
                size_sq += last[n, c] * last[n, c]
        if size_sq == 0.0:
            break
        if iteration > 0 and size_sq > old_sq:
            kept = 0
        newest = newest + 1 if kept > 0 and newest + 1 < DEPTH else 0
        kept = min(kept + 1, DEPTH)
        for n in range(count):
            for c in range(3):
                history[0, newest, n, c] = packed[n, _IMPULSE + c]
                history[1, newest, n, c] = last[n, c]
        for k in range(kept):
            s = 0.0
            for n in range(count):
                for c in range(3):
                    s += history[1, k, n, c] * last[n, c]
            gram[k, newest] = gram[newest, k] = s
        if kept > 1:
            _mix_weights(gram, kept)
            for n in range(count):
                for c in range(3):
                    last[n, c] = 0.0
            for k in range(kept):
                for n in range(count):
                    for c in range(3):
                        last[n, c] += gram[k, DEPTH] * history[0, k, n, c]
            _take_impulses(rows, count, bodies)
    if change > goal and change > least:
        change = least
        for n in range(count):
            for c in range(3):
                last[n, c] = best[n, c]
        _take_impulses(rows, count, bodies)
    for n in range(count):
        for c in range(3):
            rows.impulse[rows.order[n], c] = packed[n, _IMPULSE + c]
    for b in range(len(v)):
        for c in range(3):
            v[b, c], omega[b, c] = bodies[b, c], bodies[b, _OMEGA + c]
    return sweeps, change, goal


@helper
def _take_impulses(rows, count, bodies):  # type: ignore[no-untyped-def]
    """The impulses in ``last`` take the place of those of the packed rows, and the velocities go along."""
    for n in range(count):
        row, j = rows.packed[n], rows.last[n]
        d0, d1, d2 = j[0] - row[_IMPULSE], j[1] - row[_IMPULSE + 1], j[2] - row[_IMPULSE + 2]
        row[_IMPULSE], row[_IMPULSE + 1], row[_IMPULSE + 2] = j[0], j[1], j[2]
        _push_packed(row, bodies[rows.pair[n, 0]], bodies[rows.pair[n, 1]], d0, d1, d2)


@helper
def _mix_weights(gram, n):  # type: ignore[no-untyped-def]
    """Weights w of sum 1 with the least w.G w into the last column: G w = const, by elimination (G is positive)."""
    G = np.empty((DEPTH, DEPTH + 1))
    for i in range(n):
        for j in range(n):
            G[i, j] = gram[i, j]
        # rounding of the sums of products; changes that are equal still have a mix
        G[i, i] = G[i, i] * (1.0 + 1e-12) + 1e-300
        G[i, n] = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            f = G[i, k] / G[k, k]
            for j in range(k, n + 1):
                G[i, j] -= f * G[k, j]
    total = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            G[i, n] -= G[i, j] * gram[j, DEPTH]
        gram[i, DEPTH] = G[i, n] / G[i, i]
        total += gram[i, DEPTH]
    for i in range(n):
        gram[i, DEPTH] /= total


@njit(cache=True)
def _clamp_rows(rows, count, v, omega, inv_mass, inv_inertia, energy, slope, scale):  # type: ignore[no-untyped-def]
    """Scale the impulses of every island back to where they no longer raise its kinetic energy; returns how many.

    KE' - KE = e a + e^2 b / 2 with a = sum j.u-, b = sum j.(u+ - u-); e = -2 a / b when that is below 1, 0 when it is
    negative (thesis 2.3.2). energy, slope, scale (n,): scratch for a, b and e by island, which is a body of it.
    """
    for g in range(len(scale)):
        energy[g], slope[g] = 0.0, 0.0
    for i in range(count):
        u0, u1, u2 = _relative_velocity(rows, i, v, omega)
        w0, w1, w2 = _relative_turn(rows, i, omega)
        j, s, before, g = rows.impulse[i], rows.start[i], rows.before[i], rows.island[i]
        d0, d1, d2, d3, d4, d5 = j[0] - s[0], j[1] - s[1], j[2] - s[2], j[3] - s[3], j[4] - s[4], j[5] - s[5]
        a = d0 * before[0] + d1 * before[1] + d2 * before[2] + d3 * before[3] + d4 * before[4] + d5 * before[5]
        energy[g] += a
        slope[g] += d0 * u0 + d1 * u1 + d2 * u2 + d3 * w0 + d4 * w1 + d5 * w2 - a
    clamped = 0
    for g in range(len(scale)):
        a, b = energy[g], slope[g]
        scale[g] = max(-2.0 * a / b, 0.0) if b > 0.0 and -2.0 * a < b else 1.0
        clamped += scale[g] < 1.0 - 1e-9
    for i in range(count):
        e = scale[rows.island[i]]
        if e < 1.0:
            j, s = rows.impulse[i], rows.start[i]
            c = e - 1.0
            _apply_impulse(
                rows, i, v, omega, inv_mass, inv_inertia, c * (j[0] - s[0]), c * (j[1] - s[1]), c * (j[2] - s[2])
            )
            _apply_turn(rows, i, omega, inv_inertia, c * (j[3] - s[3]), c * (j[4] - s[4]), c * (j[5] - s[5]))
            for m in range(6):
                j[m] = s[m] + e * (j[m] - s[m])
    return clamped


@njit(cache=True)
def _order_rows(rows, count, kind, level, parent, fill):  # type: ignore[no-untyped-def]
    """Order of visits (from the ground up: fewest links to a static or kinematic body) and islands of touching bodies.

    level, parent (n,), fill (n + 2,): scratch. Two bodies are in one island if a chain of contacts between dynamic
    bodies joins them.
    """
    n = len(kind)
    far = n + 1
    for b in range(n):
        level[b] = far if kind[b] == DYNAMIC else 0
        parent[b] = b
    moving = True
    while moving:
        moving = False
        for i in range(count):
            a, b = rows.body[i, 0], rows.body[i, 1]
            if level[a] > level[b] + 1:
                level[a] = level[b] + 1
                moving = True
            elif level[b] > level[a] + 1:
                level[b] = level[a] + 1
                moving = True
    for b in range(n + 2):
        fill[b] = 0
    for i in range(count):
        fill[min(level[rows.body[i, 0]], level[rows.body[i, 1]])] += 1
    total = 0
    for b in range(n + 2):
        total, fill[b] = total + fill[b], total
    for i in range(count):
        low = min(level[rows.body[i, 0]], level[rows.body[i, 1]])
        rows.order[fill[low]] = i
        fill[low] += 1
    for i in range(count):
        a, b = rows.body[i, 0], rows.body[i, 1]
        if kind[a] == DYNAMIC and kind[b] == DYNAMIC:
            a, b = _root(parent, a), _root(parent, b)
            if a != b:
                parent[max(a, b)] = min(a, b)
    for i in range(count):
        a, b = rows.body[i, 0], rows.body[i, 1]
        rows.island[i] = _root(parent, a if kind[a] == DYNAMIC else b)


@helper
def _root(parent, b):  # type: ignore[no-untyped-def]
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b
