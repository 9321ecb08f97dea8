"""From contacts found to rows of the contact solve: which contacts take part, and what is remembered of them."""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import Any

import numpy as np
from numba import njit

from undertow.grid import Array
from undertow.grid.jitting import helper
from undertow.rigid.bodies import DYNAMIC
from undertow.solids.contact import _apply_impulse, _apply_turn, _cross, _make_row, _relative_turn, _relative_velocity

FAST_TURN = 0.5
"""Turn per step [rad] from which the path of a contact point is no longer taken for straight."""


class Memory:
    """Impulses of the last step, where the next solve starts: rows sorted by pair.

    keys (m, 2): identities of a, b; point (m, 3): from the centre of mass of the dynamic body, a if both are [m];
    impulse (m, 6): impulse and angular impulse on a in the world [N s, N m s]. A contact is known again by its pair
    and place: the features of two faces that lie on each other change with round-off.
    """

    def __init__(self) -> None:
        self.count = 0
        self.dt = 0.0
        self.keys = np.zeros((0, 2), dtype=np.int64)
        self.point, self.impulse = np.zeros((0, 3)), np.zeros((0, 6))

    def reserve(self, room: int) -> None:
        """Room for so many contacts; what was remembered is gone if it has to grow."""
        if room > len(self.keys):
            self.keys = np.zeros((room, 2), dtype=np.int64)
            self.point, self.impulse = np.zeros((room, 3)), np.zeros((room, 6))

    def put_in(self, keys: Any, point: Array, force: Array) -> None:
        """Contacts (m,) more, with forces (m, 3) [N] on their first bodies, among those that are remembered."""
        n, self.dt = self.count, self.dt or 1.0
        every = np.concatenate([self.keys[:n], keys])
        order = np.lexsort((every[:, 1], every[:, 0]))
        impulse = np.concatenate([self.dt * force, np.zeros_like(force)], axis=1)
        points, impulses = np.concatenate([self.point[:n], point]), np.concatenate([self.impulse[:n], impulse])
        self.restore(every[order], points[order], impulses[order], np.array([self.dt]))

    def arrays(self) -> dict[str, Array]:
        """What evolves; dt (1,) [s]."""
        n = self.count
        return {"keys": self.keys[:n], "point": self.point[:n], "impulse": self.impulse[:n], "dt": np.array([self.dt])}

    def restore(self, keys: Array, point: Array, impulse: Array, dt: Array) -> None:
        """Take over what ``arrays`` gave."""
        self.count = len(keys)
        self.reserve(self.count)
        self.keys[: self.count], self.point[: self.count], self.impulse[: self.count] = keys, point, impulse
        self.dt = float(dt[0])


@helper
def _turned_by(ox, oy, oz, dt, rx, ry, rz):  # type: ignore[no-untyped-def]
    """(exp(dt omega*) - 1) r: how far a point of a body goes by turning."""
    size = sqrt(ox * ox + oy * oy + oz * oz)
    if size == 0.0:
        return 0.0, 0.0, 0.0
    ox, oy, oz = ox / size, oy / size, oz / size
    s, c = sin(dt * size), 1.0 - cos(dt * size)
    px, py, pz = _cross(ox, oy, oz, rx, ry, rz)
    qx, qy, qz = _cross(ox, oy, oz, px, py, pz)
    return s * px + c * qx, s * py + c * qy, s * pz + c * qz


@helper
def _misses(rows, i, gap, v, omega, dt):  # type: ignore[no-untyped-def]
    """Whether a point that turns fast is not beyond the surface at the end of the step, its path taken as it is curved.

    A body that turns several times per step moves its points by no more than its size, dt omega x r by far more.
    """
    a, b = rows.body[i, 0], rows.body[i, 1]
    fast_a = dt * dt * (omega[a, 0] ** 2 + omega[a, 1] ** 2 + omega[a, 2] ** 2) > FAST_TURN**2
    fast_b = dt * dt * (omega[b, 0] ** 2 + omega[b, 1] ** 2 + omega[b, 2] ** 2) > FAST_TURN**2
    if not (fast_a or fast_b):
        return False
    r, f = rows.lever[i], rows.frame[i]
    ax, ay, az = _turned_by(omega[a, 0], omega[a, 1], omega[a, 2], dt, r[0], r[1], r[2])
    bx, by, bz = _turned_by(omega[b, 0], omega[b, 1], omega[b, 2], dt, r[3], r[4], r[5])
    dx = ax - bx + dt * (v[a, 0] - v[b, 0])
    dy = ay - by + dt * (v[a, 1] - v[b, 1])
    dz = az - bz + dt * (v[a, 2] - v[b, 2])
    return gap + dx * f[0] + dy * f[1] + dz * f[2] > 0.0


@njit(cache=True)
def _build_rows(  # type: ignore[no-untyped-def]
    contacts, count, bodies, x, inv_inertia, v, omega, v_old, omega_old, touch, final, dt, rows, out_pairs
):
    """Rows of the contacts that take part; returns (rows, pairs); the rows of pair p start at out_pairs[p].

    Of the positions' contact: all within reach, but for points that turn fast and miss. Of the final velocities': those
    that touch (gap <= touch of both bodies), and for pairs that bounce only if they were not coming together before the
    forces of the step (v_old): those that do are left for the collisions of the next step.
    """
    m, pairs = np.int64(0), np.int64(0)
    last_a, last_b = -1, -1
    for c in range(count):
        a, b, gap = contacts.a[c], contacts.b[c], contacts.gap[c]
        near = gap <= min(touch[a], touch[b])
        if final and not near:
            continue
        if bodies.inv_mass[a] + bodies.inv_mass[b] == 0.0:
            continue
        _make_row(bodies, x, inv_inertia, a, b, contacts.point[c], contacts.normal[c], gap, dt, m, rows)
        if final:
            rows.target[m] = 0.0
            if rows.law[m, 1] > 0.0:
                u, _, _ = _relative_velocity(rows, m, v_old, omega_old)
                w, _, _ = _relative_velocity(rows, m, v, omega)
                if u < -abs(w - u):
                    continue
        elif not near and _misses(rows, m, gap, v, omega, dt):
            continue
        if a != last_a or b != last_b:
            out_pairs[pairs] = m
            pairs += 1
            last_a, last_b = a, b
        rows.source[m] = c
        m += 1
    out_pairs[pairs] = m
    return m, pairs


@helper
def _anchor(rows, i, kind):  # type: ignore[no-untyped-def]
    """Where the lever starts by which a contact is known again: 0 for that of body a, 3 for that of b."""
    return 0 if kind[rows.body[i, 0]] == DYNAMIC else 3


@njit(cache=True)
def _start_rows(  # type: ignore[no-untyped-def]
    rows, count, kind, identity, keys, points, remembered, known, scale, v, omega, inv_mass, inv_inertia
):
    """Velocities before the solve into ``before``; then every remembered impulse, times ``scale``, is given to the
    contact of its pair that is nearest to where it acted."""
    for i in range(count):
        before = rows.before[i]
        before[0], before[1], before[2] = _relative_velocity(rows, i, v, omega)
        before[3], before[4], before[5] = _relative_turn(rows, i, omega)
        for c in range(6):
            rows.impulse[i, c] = 0.0
            rows.start[i, c] = 0.0
    first: Any = np.int64(0)
    k = np.int64(0)
    while first < count and k < known:
        a, b = rows.body[first, 0], rows.body[first, 1]
        if keys[k, 0] < identity[a] or (keys[k, 0] == identity[a] and keys[k, 1] < identity[b]):
            k += 1
            continue
        stop = first
        while stop < count and rows.body[stop, 0] == a and rows.body[stop, 1] == b:
            stop += 1
        arm = _anchor(rows, first, kind)
        while k < known and keys[k, 0] == identity[a] and keys[k, 1] == identity[b]:
            nearest, best = first, 1e300
            for i in range(first, stop):
                r, p = rows.lever[i], points[k]
                d = (r[arm] - p[0]) ** 2 + (r[arm + 1] - p[1]) ** 2 + (r[arm + 2] - p[2]) ** 2
                if d < best:
                    nearest, best = i, d
            f, j, old = rows.frame[nearest], rows.impulse[nearest], remembered[k]
            for c in range(3):
                for d in range(3):
                    j[c] += scale * f[3 * c + d] * old[d]
                    j[3 + c] += scale * f[3 * c + d] * old[3 + d]
            k += 1
        first = stop
    for i in range(count):
        j = rows.impulse[i]
        _apply_impulse(rows, i, v, omega, inv_mass, inv_inertia, j[0], j[1], j[2])
        _apply_turn(rows, i, omega, inv_inertia, j[3], j[4], j[5])


@njit(cache=True)
def _restart_rows(rows, count, v, omega):  # type: ignore[no-untyped-def]
    """Go on from the impulses there are, after something else has changed the velocities."""
    for i in range(count):
        before = rows.before[i]
        before[0], before[1], before[2] = _relative_velocity(rows, i, v, omega)
        before[3], before[4], before[5] = _relative_turn(rows, i, omega)
        for c in range(6):
            rows.start[i, c] = rows.impulse[i, c]


@njit(cache=True)
def _remember_rows(rows, count, kind, identity, out_keys, out_point, out_impulse):  # type: ignore[no-untyped-def]
    """Pairs, places and world impulses of the rows."""
    for i in range(count):
        out_keys[i, 0] = identity[rows.body[i, 0]]
        out_keys[i, 1] = identity[rows.body[i, 1]]
        f, j, arm = rows.frame[i], rows.impulse[i], _anchor(rows, i, kind)
        for d in range(3):
            out_point[i, d] = rows.lever[i, arm + d]
            out_impulse[i, d] = j[0] * f[d] + j[1] * f[3 + d] + j[2] * f[6 + d]
            out_impulse[i, 3 + d] = j[3] * f[d] + j[4] * f[3 + d] + j[5] * f[6 + d]


@njit(cache=True)
def _give_momentum(rows, count, impulse, out_p, out_L):  # type: ignore[no-untyped-def]
    """Add world impulses (m, 6) of the rows to momenta (n, 3) of their bodies, equal and opposite at one point."""
    for i in range(count):
        a, b = rows.body[i, 0], rows.body[i, 1]
        r, j = rows.lever[i], impulse[i]
        ax, ay, az = _cross(r[0], r[1], r[2], j[0], j[1], j[2])
        bx, by, bz = _cross(r[3], r[4], r[5], j[0], j[1], j[2])
        out_p[a, 0] += j[0]
        out_p[a, 1] += j[1]
        out_p[a, 2] += j[2]
        out_L[a, 0] += ax + j[3]
        out_L[a, 1] += ay + j[4]
        out_L[a, 2] += az + j[5]
        out_p[b, 0] -= j[0]
        out_p[b, 1] -= j[1]
        out_p[b, 2] -= j[2]
        out_L[b, 0] -= bx + j[3]
        out_L[b, 1] -= by + j[4]
        out_L[b, 2] -= bz + j[5]
