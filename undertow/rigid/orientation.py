"""Orientation of rigid bodies in free flight: updates of order 1, 2, 3 and the rotation that gives the energy back.

R_new = exp(u*) R with u = dt omega + dt^2/2 omega' + dt^3 (...), thesis 4.4.1 and appendix A [@schroeder2011]; u holds
dt already. The angular momentum is not touched, so it is conserved exactly. The kinetic energy is not: a thin shard
that turns several times per step can gain an order of magnitude in one of them. So the orientation is then turned
about an axis across L until the energy is what it was (2.2.2 to 2.2.4): the trajectory is approximate, momentum and
energy are exact.

Everything is computed in the principal frame, where the inertia is diagonal: exp(u*) R = R exp((R^T u)*).
"""

from __future__ import annotations

from math import cos, isfinite, sin, sqrt

from numba import njit

from undertow.errors import PhysicsError
from undertow.grid import Array
from undertow.rigid.bodies import STATIC, BodySpec, rotate_back

_ROUND_OFF = 1e-15
"""Energy errors below this, relative, are left alone."""

_PASSES = 4
"""The first turn is exact but for rounding, which the shape of a shard magnifies; further turns take that out."""


def advance_poses(
    bodies: BodySpec, v: Array, omega: Array, dt: float, order: int, fix: bool, out_x: Array, out_q: Array
) -> None:
    """Poses after dt [s] at velocities v, omega (n, 3) [m/s, rad/s], from those in ``bodies`` into out_x, out_q.

    order 1, 2 or 3 of the orientation update; ``fix``: turn back to the energy at the start. Bodies that are not
    dynamic have no inertia and turn by exp(dt omega). out_x, out_q may be the arrays of ``bodies``.
    """
    if order not in (1, 2, 3):
        raise ValueError(f"order = {order}: the orientation updates have order 1, 2 or 3")
    bad = _advance_poses(bodies, v, omega, float(dt), int(order), bool(fix), out_x, out_q)
    if bad >= 0:
        raise PhysicsError(
            f"rigid body {bad}: velocity {v[bad]} m/s, angular velocity {omega[bad]} rad/s: not finite; "
            "a force or a contact went wrong"
        )


@njit(cache=True)
def _advance_poses(bodies, v, omega, dt, order, fix, out_x, out_q):  # type: ignore[no-untyped-def]
    """Returns the first body whose new pose is not finite, or -1."""
    bad = -1
    for b in range(len(bodies.kind)):
        for i in range(3):
            out_x[b, i] = bodies.x[b, i] + dt * v[b, i]
        if bodies.kind[b] == STATIC:
            w, x, y, z = bodies.q[b, 0], bodies.q[b, 1], bodies.q[b, 2], bodies.q[b, 3]
        else:
            w, x, y, z = advance_orientation(
                bodies.q[b], bodies.inv_inertia[b], omega[b, 0], omega[b, 1], omega[b, 2], dt, order, fix
            )
        out_q[b, 0], out_q[b, 1], out_q[b, 2], out_q[b, 3] = w, x, y, z
        if bad < 0 and not isfinite(w + out_x[b, 0] + out_x[b, 1] + out_x[b, 2]):
            bad = b
    return bad


@njit(cache=True)
def advance_orientation(q, inv_inertia, ox, oy, oz, dt, order, fix):  # type: ignore[no-untyped-def]
    """Quaternion (4 numbers) after dt of a body at q (4,) with angular velocity (ox, oy, oz) in the world [rad/s].

    inv_inertia (3,) principal; an axis with 0 is locked (or the body has no inertia) and takes part as given.
    """
    ox, oy, oz = rotate_back(q, ox, oy, oz)
    ix, iy, iz = inv_inertia[0], inv_inertia[1], inv_inertia[2]
    lx = ox / ix if ix > 0.0 else 0.0
    ly = oy / iy if iy > 0.0 else 0.0
    lz = oz / iz if iz > 0.0 else 0.0
    ux, uy, uz = _rotation_vector(order, ix, iy, iz, lx, ly, lz, ox, oy, oz, dt)
    dw, dx, dy, dz = exp_quaternion(ux, uy, uz)
    if fix and ix > 0.0 and iy > 0.0 and iz > 0.0:
        energy = 0.5 * (lx * ox + ly * oy + lz * oz)
        dw, dx, dy, dz = _restore_energy(energy, ix, iy, iz, lx, ly, lz, dw, dx, dy, dz)
    w, x, y, z = multiply(q[0], q[1], q[2], q[3], dw, dx, dy, dz)
    size = 1.0 / sqrt(w * w + x * x + y * y + z * z)
    return w * size, x * size, y * size, z * size


@njit(cache=True)
def rotational_energy(q, inv_inertia, L):  # type: ignore[no-untyped-def]
    """Energy of rotation 1/2 L^T R I0^-1 R^T L [J] of a body at q (4,) with angular momentum L (3,) [kg m2/s]."""
    x, y, z = rotate_back(q, L[0], L[1], L[2])
    return 0.5 * (inv_inertia[0] * x * x + inv_inertia[1] * y * y + inv_inertia[2] * z * z)


@njit(cache=True)
def multiply(aw, ax, ay, az, bw, bx, by, bz):  # type: ignore[no-untyped-def]
    """The quaternion a b as four numbers: first b, then a."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + bw * ax + ay * bz - az * by,
        aw * by + bw * ay + az * bx - ax * bz,
        aw * bz + bw * az + ax * by - ay * bx,
    )


@njit(cache=True)
def exp_quaternion(ux, uy, uz):  # type: ignore[no-untyped-def]
    """Quaternion of exp(u*): a turn by |u| about u."""
    angle_sq = ux * ux + uy * uy + uz * uz
    if angle_sq < 1e-8:
        s = 0.5 - angle_sq / 48.0
        return 1.0 - angle_sq / 8.0, s * ux, s * uy, s * uz
    angle = sqrt(angle_sq)
    s = sin(0.5 * angle) / angle
    return cos(0.5 * angle), s * ux, s * uy, s * uz


@njit(cache=True)
def _cross(ax, ay, az, bx, by, bz):  # type: ignore[no-untyped-def]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True)
def _rotation_vector(order, ix, iy, iz, lx, ly, lz, ox, oy, oz, dt):  # type: ignore[no-untyped-def]
    """u of appendix A in the principal frame; t = L x omega, omega' = I^-1 t.

    u = dt omega + dt^2/2 I^-1 t + dt^3/12 (omega x I^-1 t - 2 I^-1 (omega x t) + 2 I^-1 (L x I^-1 t))
    """
    ux, uy, uz = dt * ox, dt * oy, dt * oz
    if order == 1:
        return ux, uy, uz
    tx, ty, tz = _cross(lx, ly, lz, ox, oy, oz)
    ax, ay, az = ix * tx, iy * ty, iz * tz
    c = 0.5 * dt * dt
    ux, uy, uz = ux + c * ax, uy + c * ay, uz + c * az
    if order == 2:
        return ux, uy, uz
    bx, by, bz = _cross(ox, oy, oz, ax, ay, az)
    cx, cy, cz = _cross(ox, oy, oz, tx, ty, tz)
    dx, dy, dz = _cross(lx, ly, lz, ax, ay, az)
    c = dt * dt * dt / 12.0
    ux += c * (bx - 2.0 * ix * cx + 2.0 * ix * dx)
    uy += c * (by - 2.0 * iy * cy + 2.0 * iy * dy)
    uz += c * (bz - 2.0 * iz * cz + 2.0 * iz * dz)
    return ux, uy, uz


@njit(cache=True)
def _restore_energy(energy, ix, iy, iz, lx, ly, lz, dw, dx, dy, dz):  # type: ignore[no-untyped-def]
    """The turn d (principal frame) followed by the one that gives the body at angular momentum L its energy back.

    Axis L x omega, the direction in which the energy changes fastest; where that cannot reach the energy or hardly
    changes it, L x r with the principal axis r of most (energy too high) or least inertia, which always can (2.2.4).
    """
    for _ in range(_PASSES):
        # L seen from the turned body
        length = sqrt(lx * lx + ly * ly + lz * lz)
        mx, my, mz = _turn_back(dw, dx, dy, dz, lx, ly, lz)
        scale = length / max(sqrt(mx * mx + my * my + mz * mz), 1e-300)
        mx, my, mz = mx * scale, my * scale, mz * scale
        found = 0.5 * (ix * mx * mx + iy * my * my + iz * mz * mz)
        k = found - energy
        if not abs(k) > _ROUND_OFF * energy:
            break
        sx, sy, sz = _cross(mx, my, mz, ix * mx, iy * my, iz * mz)
        ok, x, y = _find_turn(k, found, ix, iy, iz, mx, my, mz, sx, sy, sz, 1e-8)
        if not ok:
            rx, ry, rz = _extreme_axis(k > 0.0, ix, iy, iz)
            sx, sy, sz = _cross(mx, my, mz, rx, ry, rz)
            ok, x, y = _find_turn(k, found, ix, iy, iz, mx, my, mz, sx, sy, sz, 0.0)
        if not ok:
            break
        size = 1.0 / sqrt(sx * sx + sy * sy + sz * sz)
        half = sqrt(0.5 * (1.0 + x))
        s = 0.5 * y / half * size
        dw, dx, dy, dz = multiply(dw, dx, dy, dz, half, s * sx, s * sy, s * sz)
        size = 1.0 / sqrt(dw * dw + dx * dx + dy * dy + dz * dz)
        dw, dx, dy, dz = dw * size, dx * size, dy * size, dz * size
    return dw, dx, dy, dz


@njit(cache=True)
def _turn_back(w, a, b, c, x, y, z):  # type: ignore[no-untyped-def]
    """R^T (x, y, z) of the quaternion (w, a, b, c)."""
    a, b, c = -a, -b, -c
    tx, ty, tz = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
    return x + w * tx + b * tz - c * ty, y + w * ty + c * tx - a * tz, z + w * tz + a * ty - b * tx


@njit(cache=True)
def _extreme_axis(heaviest, ix, iy, iz):  # type: ignore[no-untyped-def]
    """Principal axis of most or least inertia (the inverse moments are given)."""
    a, b, c = (-ix, -iy, -iz) if heaviest else (ix, iy, iz)
    if a >= b and a >= c:
        return 1.0, 0.0, 0.0
    if b >= c:
        return 0.0, 1.0, 0.0
    return 0.0, 0.0, 1.0


@njit(cache=True)
def _find_turn(k, found, ix, iy, iz, lx, ly, lz, sx, sy, sz, least):  # type: ignore[no-untyped-def]
    """(possible, cos e, sin e) of the smallest turn e about s (across L, any length) that takes k from the energy.

    k = a cos e sin e + c sin^2 e, a = (s x L).omega, b = 1/2 (s x L).I^-1 (s x L), c = KE - b (2.3); solved by (2.5)
    in the form of section 2.2.3, which does not cancel. The sign of sin e is that of (k - c sin^2 e) a: the thesis
    takes a > 0, which holds for s = L x omega only. Axes that change the energy by less than ``least``, relative, are
    refused.
    """
    size = sqrt(sx * sx + sy * sy + sz * sz)
    if not size > 0.0:
        return False, 1.0, 0.0
    sx, sy, sz = sx / size, sy / size, sz / size
    px, py, pz = _cross(sx, sy, sz, lx, ly, lz)
    a = px * ix * lx + py * iy * ly + pz * iz * lz
    b = 0.5 * (ix * px * px + iy * py * py + iz * pz * pz)
    c = found - b
    g = a * a + 4.0 * k * (c - k)
    if least == 0.0 and -1e-9 * found * found < g < 0.0:
        g = 0.0  # the last resort reaches the extremes of the energy exactly, but for rounding
    if g < 0.0 or abs(a) < least * found:
        return False, 1.0, 0.0
    n = c - 2.0 * k
    r = sqrt(c * c + a * a)
    root = abs(a) + sqrt(g)
    bottom = sqrt(root * root + 4.0 * k * k)
    if not (r > 0.0 and bottom > 0.0):
        return False, 1.0, 0.0
    x = sqrt(root * root + (c + n) * (c + n)) / (2.0 * r)
    y = 2.0 * abs(k) / bottom
    if (k - c * y * y) * a < 0.0:
        y = -y
    # one unit vector, whatever the rounding
    size = 1.0 / sqrt(x * x + y * y)
    return True, x * size, y * size
