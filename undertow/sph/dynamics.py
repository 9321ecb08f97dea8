"""Kernels of the weakly compressible fluid: gather over lists, nothing is scattered.

Equation numbers are those of Becker, Tessendorf and Teschner [@becker2009].
"""

from __future__ import annotations

from math import sqrt

from numba import njit, uint64

from undertow.sph.neighbours import GHOST

CHUNK = 2048
"""Points whose sums are taken together: a fixed number, so that sums depend on no thread count."""

COUNT, MASS_X, KINETIC, POTENTIAL, SPIN_X = 0, 1, 4, 5, 6
SUMS = 9
MOVED, MOVED_WALL, SPEED, DENSITY, ACCELERATION, ESCAPED = range(SUMS, SUMS + 6)
COLUMNS = SUMS + 6
"""Columns of the partial results of ``_measure_points``: sums first, then largest values."""

OPTIONS = {"reassoc", "contract", "arcp", "nsz"}
"""What the compiler may do to sums; NaN and infinity keep their meaning."""


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _sum_density(numbers, points, lists, start, stop):  # type: ignore[no-untyped-def]
    """rho_i = sum m_j W_ij over fluid and boundary particles (Akinci et al. 2012, eq. 6), and P / rho^2 of (6).

    P = rho0 c^2 / 7 ((rho / rho0)^7 - 1), not negative where there is a free surface: it would pull particles together.
    """
    place, inv = points.place, numbers.inv_radius
    for i in range(start, stop):
        if points.label[i] < 0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        total = 1.0
        for n in range(uint64(lists.starts[i]), uint64(lists.middle[i])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            q = sqrt(dx * dx + dy * dy + dz * dz) * inv
            t = max(1.0 - q, 0.0)
            t *= t
            total += t * t * (4.0 * q + 1.0)
        # fluid has one mass; not to read that of neighbours saves an eighth of the time
        total *= place[i, 3]
        for n in range(uint64(lists.middle[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            q = sqrt(dx * dx + dy * dy + dz * dz) * inv
            t = max(1.0 - q, 0.0)
            t *= t
            total += place[j, 3] * t * t * (4.0 * q + 1.0)
        rho = numbers.w * total
        ratio = rho / numbers.rest
        cube = ratio * ratio * ratio
        pressure = max(numbers.stiffness * (cube * cube * ratio - 1.0), numbers.least)
        points.change[i, 3] = rho
        points.motion[i, 3] = pressure / (rho * rho)


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _extrapolate_fluid(numbers, points, lists, boundary, gravity, start, stop):  # type: ignore[no-untyped-def]
    """Pressure and velocity of the fluid at boundary particles (Adami, Hu and Adams 2012, eqs. 23 and 27).

    p_w = sum (p_f + rho_f g . (x_w - x_f)) W / sum W; velocity 2 v_wall - sum v_f W / sum W, so that the mean of both
    is that of the wall at its surface.
    """
    place, motion, inv = points.place, points.motion, numbers.inv_radius
    for i in range(start, stop):
        if points.label[i] >= 0 or points.label[i] == GHOST:
            continue
        k = -1 - points.label[i]
        weight, p, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1], place[i, 2] - place[j, 2]
            q = sqrt(dx * dx + dy * dy + dz * dz) * inv
            t = max(1.0 - q, 0.0)
            t = t * t * t * t * (4.0 * q + 1.0)
            rho = points.change[j, 3]
            weight += t
            p += t * (motion[j, 3] * rho * rho + rho * (gravity[0] * dx + gravity[1] * dy + gravity[2] * dz))
            u += t * motion[j, 0]
            v += t * motion[j, 1]
            w += t * motion[j, 2]
        c = 1.0 / weight if weight > 0.0 else 0.0
        motion[i, 3] = max(c * p, numbers.least) / (numbers.rest * numbers.rest)
        s = 1.0 if weight > 0.0 else 0.0
        motion[i, 0] = (1.0 + s) * boundary.velocity[k, 0] - c * u
        motion[i, 1] = (1.0 + s) * boundary.velocity[k, 1] - c * v
        motion[i, 2] = (1.0 + s) * boundary.velocity[k, 2] - c * w


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _sum_forces(numbers, points, lists, boundary, gravity, start, stop):  # type: ignore[no-untyped-def]
    """Acceleration (4) of the fluid: - sum m_j (P_i/rho_i^2 + P_j/rho_j^2 + Pi_ij) grad W + g.

    Pi_ij = -nu' (v_ij . x_ij) / (near + far x_ij^2), nu' = 2 (d + 2) nu / rho0 (Monaghan 2005, eq. 8.8); (5) for the
    artificial viscosity, R^2 below for that of a fluid (see ``kernels``).
    """
    place, motion, inv = points.place, points.motion, numbers.inv_radius
    for i in range(start, stop):
        if points.label[i] < 0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        u, v, w, p = motion[i, 0], motion[i, 1], motion[i, 2], motion[i, 3]
        ax, ay, az = 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.middle[i])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            r_sq = dx * dx + dy * dy + dz * dz
            t = max(1.0 - sqrt(r_sq) * inv, 0.0)
            s = (u - motion[j, 0]) * dx + (v - motion[j, 1]) * dy + (w - motion[j, 2]) * dz
            c = t * t * t * (p + motion[j, 3] - numbers.viscous * s / (numbers.near + numbers.far * r_sq))
            ax += c * dx
            ay += c * dy
            az += c * dz
        ax *= place[i, 3]
        ay *= place[i, 3]
        az *= place[i, 3]
        for n in range(uint64(lists.middle[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            r_sq = dx * dx + dy * dy + dz * dz
            t = max(1.0 - sqrt(r_sq) * inv, 0.0)
            s = (u - motion[j, 0]) * dx + (v - motion[j, 1]) * dy + (w - motion[j, 2]) * dz
            nu = numbers.viscous * boundary.stick[-1 - points.label[j]]
            c = place[j, 3] * t * t * t * (p + motion[j, 3] - nu * s / (numbers.near + numbers.far * r_sq))
            ax += c * dx
            ay += c * dy
            az += c * dz
        points.change[i, 0] = gravity[0] - numbers.g * ax
        points.change[i, 1] = gravity[1] - numbers.g * ay
        points.change[i, 2] = gravity[2] - numbers.g * az


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _sum_reactions(numbers, points, lists, boundary, start, stop):  # type: ignore[no-untyped-def]
    """Force on boundary particles: the terms of ``_sum_forces`` seen from the other end."""
    place, motion, inv = points.place, points.motion, numbers.inv_radius
    for k in range(start, stop):
        i = boundary.where[k]
        fx, fy, fz, sx, sy, sz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = place[j, 0] - place[i, 0], place[j, 1] - place[i, 1], place[j, 2] - place[i, 2]
            r_sq = dx * dx + dy * dy + dz * dz
            t = max(1.0 - sqrt(r_sq) * inv, 0.0)
            s = (motion[j, 0] - motion[i, 0]) * dx + (motion[j, 1] - motion[i, 1]) * dy
            s += (motion[j, 2] - motion[i, 2]) * dz
            t = place[j, 3] * t * t * t
            c = t * (motion[j, 3] + motion[i, 3])
            fx += c * dx
            fy += c * dy
            fz += c * dz
            c = -t * numbers.viscous * boundary.stick[k] * s / (numbers.near + numbers.far * r_sq)
            sx += c * dx
            sy += c * dy
            sz += c * dz
        c = numbers.g * place[i, 3]
        boundary.force[k, 0], boundary.force[k, 1], boundary.force[k, 2] = c * fx, c * fy, c * fz
        boundary.force[k, 3], boundary.force[k, 4], boundary.force[k, 5] = c * sx, c * sy, c * sz


@njit(cache=True, nogil=True)
def _copy_ghosts(points, index, source, shift, start, stop):  # type: ignore[no-untyped-def]
    """Ghosts are as the particles they copy, a period away."""
    for n in range(start, stop):
        i, j = index[n], source[n]
        for a in range(3):
            points.place[i, a] = points.place[j, a] + shift[n, a]
        for a in range(4):
            points.motion[i, a] = points.motion[j, a]
        points.change[i, 3] = points.change[j, 3]


@njit(cache=True, nogil=True)
def _kick_points(points, dt, start, stop):  # type: ignore[no-untyped-def]
    """Leapfrog, first half: v(t + dt/2) = v(t - dt/2) + dt a(t), the prediction v* of algorithm 1."""
    for i in range(start, stop):
        if points.label[i] >= 0:
            for a in range(3):
                points.motion[i, a] += dt * points.change[i, a]


@njit(cache=True, nogil=True)
def _drift_points(points, walls, dt, start, stop):  # type: ignore[no-untyped-def]
    """Leapfrog, second half: x += dt v, kept half a spacing inside the walls by direct forcing.

    walls (3, 3): lowest and highest coordinate of a centre, and the restitution delta. A particle that would pass is
    stopped or thrown back, v_n = -delta v_n(t) (8) with the velocity before the acceleration of the step, and put on
    the wall (20), both at once as walls do not move (algorithm 2).
    """
    for i in range(start, stop):
        if points.label[i] < 0:
            continue
        for a in range(3):
            x = points.place[i, a] + dt * points.motion[i, a]
            if x < walls[a, 0]:
                x = walls[a, 0]
                if points.motion[i, a] < 0.0:
                    points.motion[i, a] = -walls[a, 2] * min(points.motion[i, a] - dt * points.change[i, a], 0.0)
            elif x > walls[a, 1]:
                x = walls[a, 1]
                if points.motion[i, a] > 0.0:
                    points.motion[i, a] = -walls[a, 2] * max(points.motion[i, a] - dt * points.change[i, a], 0.0)
            points.place[i, a] = x


@njit(cache=True, nogil=True)
def _measure_points(points, count, gravity, box, out_partial, start, stop):  # type: ignore[no-untyped-def]
    """Sums and largest values over chunks of points; box (2, 3): where particles leave the domain [m]."""
    for chunk in range(start, stop):
        out = out_partial[chunk]
        out[:] = 0.0
        for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            x, y, z, m = points.place[i, 0], points.place[i, 1], points.place[i, 2], points.place[i, 3]
            dx, dy = x - points.origin[0] - points.built[0, i], y - points.origin[1] - points.built[1, i]
            dz = z - points.origin[2] - points.built[2, i]
            moved = dx * dx + dy * dy + dz * dz
            column = MOVED if points.label[i] >= 0 or points.label[i] == GHOST else MOVED_WALL
            if not moved <= out[column]:
                out[column] = moved
            if points.label[i] < 0:
                continue
            u, v, w = points.motion[i, 0], points.motion[i, 1], points.motion[i, 2]
            speed_sq = u * u + v * v + w * w
            a_sq = points.change[i, 0] ** 2 + points.change[i, 1] ** 2 + points.change[i, 2] ** 2
            out[COUNT] += 1.0
            out[MASS_X] += m * u
            out[MASS_X + 1] += m * v
            out[MASS_X + 2] += m * w
            out[KINETIC] += 0.5 * m * speed_sq
            out[POTENTIAL] -= m * (gravity[0] * x + gravity[1] * y + gravity[2] * z)
            out[SPIN_X] += m * (y * w - z * v)
            out[SPIN_X + 1] += m * (z * u - x * w)
            out[SPIN_X + 2] += m * (x * v - y * u)
            # written so that NaN is kept
            if not speed_sq <= out[SPEED]:
                out[SPEED] = speed_sq
            if not points.change[i, 3] <= out[DENSITY]:
                out[DENSITY] = points.change[i, 3]
            if not a_sq <= out[ACCELERATION]:
                out[ACCELERATION] = a_sq
            for a in range(3):
                if points.place[i, a] < box[0, a] or points.place[i, a] > box[1, a]:
                    out[ESCAPED] = 1.0
