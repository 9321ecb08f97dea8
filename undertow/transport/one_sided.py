"""Transport near thin surfaces that takes nothing from their other side (Guendelman et al. 2005, sections 3 and 4.1).

In a band around the surfaces the result of ``Advection`` is replaced. The backward path stops where it would come
within twice the elements' thickness of them. Of the values around its end those in sight are blended,

    q = sum over visible corners w_c q_c / sum over visible corners w_c,

so that a constant on each side stays that constant. MacCormack's correction is added only where nothing is hidden,
neither around the departure point nor on the way forward and around its end. After the surfaces moved, values they
passed over are those of the other side: they are taken anew from neighbours in sight, layer by layer (Gauss-Jacobi);
those without any take what the surface does. Surfaces around bodies hide what is inside from everything: values in
there, whose faces and cells may be open in part, are made anew in the same way, as seen from the surface next to them.

A value is joined to every value it is made of by straight ways that cross nothing, so behind a closed surface not a bit
of the other side arrives, whatever the flow.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.geometry.occlusion import (
    INSIDE,
    THICKNESS,
    Occlusion,
    find_nearest,
    gather_elements,
    is_hidden,
    select_elements,
)
from undertow.grid import GHOSTS, Array, padded, share
from undertow.grid.jitting import borrowing, helper
from undertow.transport.advection import (
    Advection,
    _carry,
    _confine,
    _find_offsets,
    _find_range,
    _find_strides,
    _sample_velocity_at,
)
from undertow.transport.interpolation import CENTRE, FACES

LAYERS = 8
"""Of values taken anew, one from the other."""

FOUND = np.uint8(4)
"""Mark of a value in a body that was made anew: no other is made from it."""

_HALVINGS = 24
"""Of the search for the place where a path stops."""


class OneSided:
    """The band around an ``Occlusion`` on one grid, and transport in it."""

    def __init__(self, advection: Advection, occlusion: Occlusion) -> None:
        grid = advection.grid
        self.grid, self.occlusion = grid, occlusion
        self._specs = advection.specs
        self.frame = advection.specs[0]
        self._wraps = np.array([advection.sides.is_periodic(axis) for axis in range(3)], dtype=np.int64)
        self._away = np.zeros(grid.padded, np.uint8)
        self._value = np.zeros(0, np.int64)
        """Values of the band, flat indices (location, z, y, x); the first ``_count``."""
        self._count = 0
        self._end = np.zeros((0, 3))
        """Where their paths end, index coordinates."""
        self._clear = np.zeros(0, np.uint8)
        """Whether all values around that are in sight, and the path did not stop before it."""
        self._swept = np.zeros((4, *grid.padded), np.uint8)
        self._place = np.zeros(0, np.int64)
        self._found = np.zeros((0, 2))
        self._known = np.zeros(0, np.uint8)

    def begin(self, first: int, by: Array, c: float, reach: int, beyond: bool) -> None:
        """For a transport of values at the locations from ``first`` by paths up to ``reach`` cells long, c = dt / dx:
        find the band; beyond: all within reach, whatever their own path."""
        self.occlusion.settle()
        while True:
            count = int(
                _find_band(
                    self.grid.spec, *self._specs, self.occlusion.spec, first, by, c, reach + 3, beyond, self._away,
                    self._value,
                )
            )  # fmt: skip
            if count <= len(self._value):
                break
            self._value = np.zeros(2 * count, np.int64)
            self._end, self._clear = np.zeros((2 * count, 3)), np.zeros(2 * count, np.uint8)
        self._count = count

    def predict(self, q: Array, first: int, by: Array, c: float, out: Array) -> None:
        """out = q at the departure points, in the band."""
        share(
            _advect_band, self._count, 64 * self._count, self.grid.spec, self._specs[0], self.occlusion.spec,
            self._value, q, first, by, c, self._end, self._clear, out,
        )  # fmt: skip

    def correct(self, q: Array, first: int, by: Array, c: float, predicted: Array, limiter: bool, out: Array) -> None:
        """out = predicted with MacCormack's correction where nothing is hidden, in the band; after ``predict``."""
        share(
            _correct_band, self._count, 64 * self._count, self.grid.spec, self._specs[0], self.occlusion.spec,
            self._value, q, first, by, c, self._end, self._clear, predicted, limiter, out,
        )  # fmt: skip

    def mark_swept(self) -> np.ndarray:
        """Cells (z, y, x) whose centres the surfaces pass over, as they were placed, or that lie in them then."""
        self.occlusion.mark_swept(self._swept)
        return self._swept[CENTRE]

    def uncover(self, u_f: Array, cells_c: Array, rest: tuple[float, ...], dt: float) -> None:
        """After the surfaces were placed anew: values they passed over, of u (3, Z, Y, X) and of the cell fields
        (n, Z, Y, X), either of which may be empty, which are ``rest`` where nothing is in sight; dt [s]: of the
        step."""
        occlusion = self.occlusion
        occlusion.mark_swept(self._swept)
        velocity = (occlusion.x_now - occlusion.x_seen) / dt
        occlusion.settle()
        if len(u_f):
            self._renew(u_f, FACES, velocity, np.zeros(3))
        if len(cells_c):
            self._renew(cells_c, CENTRE, velocity, np.array(rest))

    def _renew(self, q: Array, first: int, velocity: Array, rest: Array) -> None:
        spec, occlusion = self.grid.spec, self.occlusion
        while True:
            count = int(_list_swept(spec, self._specs[1], self._swept, first, self._place))
            if count <= len(self._place):
                break
            self._place = np.zeros(2 * count, np.int64)
            self._found, self._known = np.zeros((2 * count, 2)), np.zeros(2 * count, np.uint8)
        if count == 0:
            return
        place, found, known = self._place[:count], self._found[:count], self._known[:count]
        for layer in range(LAYERS + 1):
            last = layer == LAYERS
            share(
                _look_around, count, 256 * count, spec, self._wraps, occlusion.spec, occlusion.element, velocity,
                occlusion.open, q, first, self._swept, place, rest, last, found, known,
            )  # fmt: skip
            if not _take_found(spec, q, first, place, found, known, self._swept):
                return


@helper
def _is_carried(spec, kind, location, k, j, i):  # type: ignore[no-untyped-def]
    """Whether a value is transported: inside, and no face whose velocity is prescribed."""
    i0, i1 = _find_range(kind[0], kind[1], spec.nx, location == 0)
    j0, j1 = _find_range(kind[2], kind[3], spec.ny, location == 1)
    k0, k1 = _find_range(kind[4], kind[5], spec.nz, location == 2)
    return i0 <= i < i1 and j0 <= j < j1 and k0 <= k < k1


@helper
def _is_apart(spec, frame, by, p, location, k, j, i, c, away):  # type: ignore[no-untyped-def]
    """Whether the paths from a value backward and forward, and all values around their ends and on the way, keep clear
    of all elements, the nearest of which is in a cell ``away`` cells off (largest of the three distances)."""
    room = away - 2.0 - 2.0 * THICKNESS
    if frame.wraps:
        # beyond the ghosts elements are not known
        if frame.wrap_x > 0.0:
            room = min(room, i - 2.0, spec.nx + 2 * GHOSTS - i - 3.0)
        if frame.wrap_y > 0.0:
            room = min(room, j - 2.0, spec.ny + 2 * GHOSTS - j - 3.0)
        if frame.wrap_z > 0.0:
            room = min(room, k - 2.0, spec.nz + 2 * GHOSTS - k - 3.0)
    if room < 0.0:
        return False
    hx, hy, hz = _find_offsets(location)
    u, v, w = _carry(frame, by, p, _find_strides(frame, location))
    if not abs(c) * max(abs(u), abs(v), abs(w)) <= room:
        return False
    for turn in range(2):
        s = 0.5 * c if turn == 0 else -0.5 * c
        x, _ = _confine(i + hx - s * u, frame.end_x, frame.wraps, frame.wrap_x, frame.inv_x, 0.0)
        y, _ = _confine(j + hy - s * v, frame.end_y, frame.wraps, frame.wrap_y, frame.inv_y, 0.0)
        z, _ = _confine(k + hz - s * w, frame.end_z, frame.wraps, frame.wrap_z, frame.inv_z, 0.0)
        mid_u, mid_v, mid_w = _sample_velocity_at(frame, by, x, y, z)
        # the limiter looks around the place that 2 u - u_mid leads to
        fastest = max(
            abs(mid_u), abs(mid_v), abs(mid_w), abs(2.0 * u - mid_u), abs(2.0 * v - mid_v), abs(2.0 * w - mid_w)
        )
        if not abs(c) * fastest <= room:
            return False
    return True


@njit(cache=True)
def _find_band(spec, frame, kind, occluder, first, by, c, reach, beyond, away, out_value):  # type: ignore[no-untyped-def]
    """Values that transport must look at: in cells within ``reach`` of an element, and, unless ``beyond``, with paths
    that do not keep clear of elements; as far as there is room, and their number. away: scratch."""
    px, py, pz = padded(spec)
    across = reach if spec.dimensions == 3 else 0
    none = np.uint8(255)
    away[:] = none
    for cell in range(len(occluder.start) - 1):
        if occluder.start[cell] == occluder.start[cell + 1]:
            continue
        k, j, i = cell // (px * py), cell // px % py, cell % px
        for kk in range(max(k - across, GHOSTS), min(k + across + 1, GHOSTS + spec.nz + 1)):
            for jj in range(max(j - reach, GHOSTS), min(j + reach + 1, GHOSTS + spec.ny + 1)):
                aside = max(abs(kk - k), abs(jj - j))
                for ii in range(max(i - reach, GHOSTS), min(i + reach + 1, GHOSTS + spec.nx + 1)):
                    off = np.uint8(min(max(aside, abs(ii - i)), 254))
                    away[kk, jj, ii] = min(away[kk, jj, ii], off)
    by_flat = by.reshape(by.size)
    found = 0
    for location in range(first, 4 if first == CENTRE else spec.dimensions):
        for k in range(GHOSTS, GHOSTS + spec.nz + (1 if spec.dimensions == 3 else 0)):
            for j in range(GHOSTS, GHOSTS + spec.ny + 1):
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    if away[k, j, i] == none or not _is_carried(spec, kind, location, k, j, i):
                        continue
                    p = (k * py + j) * px + i
                    if not beyond and _is_apart(
                        spec, frame, by_flat, np.uint64(p), location, k, j, i, c, np.float64(away[k, j, i])
                    ):
                        continue
                    if found < len(out_value):
                        out_value[found] = location * (px * py * pz) + p
                    found += 1
    return found


@borrowing
def blend_visible(frame, occluder, near, close, q, base, location, x, y, z):  # type: ignore[no-untyped-def]
    """Blend of the values of one component around (x, y, z) that see it; the weight in sight, and whether all do.

    near, close (m + 1,): elements gathered around, and scratch. Written as a first value and differences from it:
    values that are all one give that one to the last bit.
    """
    hx, hy, hz = _find_offsets(location)
    lx, ly, lz = x - hx, y - hy, z - hz
    i, j, k = int(lx), int(ly), int(lz)
    fx, fy, fz = lx - i, ly - j, lz - k
    first, total, weight = 0.0, 0.0, 0.0
    complete = True
    select_elements(occluder, near, i + hx, j + hy, k + hz, i + hx + 1.0, j + hy + 1.0, k + hz + 1.0, close)
    for n in range(8):
        a, b, c = n & 1, n >> 1 & 1, n >> 2
        w = (fx if a else 1.0 - fx) * (fy if b else 1.0 - fy) * (fz if c else 1.0 - fz)
        if w <= 0.0:
            continue
        if close[0] > 0 and is_hidden(
            occluder, close, x, y, z, i + a + hx - x, j + b + hy - y, k + c + hz - z, THICKNESS
        ):
            complete = False
            continue
        value = q[base + np.uint64(i + a) + np.uint64(j + b) * frame.row + np.uint64(k + c) * frame.plane]
        if weight == 0.0:
            first = value
        total += w * (value - first)
        weight += w
    return first + total / weight if weight > 0.0 else 0.0, weight, complete


@borrowing
def gather_way(spec, occluder, x, y, z, p, q, r, stamp, near):  # type: ignore[no-untyped-def]
    """Elements among all values that are blended on the way from (x, y, z) to (p, q, r)."""
    gather_elements(
        spec, occluder, min(x, p) - 1.0, min(y, q) - 1.0, min(z, r) - 1.0, max(x, p) + 1.0, max(y, q) + 1.0,
        max(z, r) + 1.0, stamp, near,
    )  # fmt: skip


@borrowing
def visible_velocity(spec, frame, occluder, by, x, y, z, near, close):  # type: ignore[no-untyped-def]
    """Velocity at (x, y, z) from the faces in sight; a component without any is 0."""
    u, _, _ = blend_visible(frame, occluder, near, close, by, np.uint64(0), 0, x, y, z)
    v, _, _ = blend_visible(frame, occluder, near, close, by, frame.size, 1, x, y, z)
    w = 0.0
    if spec.dimensions == 3:
        w, _, _ = blend_visible(frame, occluder, near, close, by, frame.size + frame.size, 2, x, y, z)
    return u, v, w


@borrowing
def _limit(s, end, wrap, margin):  # type: ignore[no-untyped-def]
    """Index coordinate kept inside the domain, or on a periodic axis inside the ghosts, where elements are known."""
    if wrap > 0.0:
        return min(max(s, 0.5), end + GHOSTS - 0.5)
    return min(max(s, GHOSTS - margin), end + margin)


@borrowing
def stop_path(spec, frame, occluder, x, y, z, p, q, r, margin, stamp, near):  # type: ignore[no-untyped-def]
    """The last place towards (p, q, r) that sees (x, y, z) at twice the thickness, and 1 if it is (p, q, r) itself.

    Leaves in ``near`` the elements among all values that are blended there."""
    px = _limit(p, frame.end_x, frame.wrap_x, margin)
    py = _limit(q, frame.end_y, frame.wrap_y, margin)
    pz = _limit(r, frame.end_z, frame.wrap_z, margin)
    whole = 1 if px == p and py == q and pz == r else 0
    ex, ey, ez = px - x, py - y, pz - z
    reach = 2.0 * THICKNESS
    gather_way(spec, occluder, x, y, z, px, py, pz, stamp, near)
    if not is_hidden(occluder, near, x, y, z, ex, ey, ez, reach):
        return px, py, pz, whole
    seen, hidden = 0.0, 1.0
    for _ in range(_HALVINGS):
        t = 0.5 * (seen + hidden)
        if is_hidden(occluder, near, x, y, z, t * ex, t * ey, t * ez, reach):
            hidden = t
        else:
            seen = t
    return x + seen * ex, y + seen * ey, z + seen * ez, 0


@borrowing
def _wrap(spec, frame, occluder, x, y, z, margin, stamp, near):  # type: ignore[no-untyped-def]
    """A place inside the domain; if that is elsewhere on a periodic axis, ``near`` holds the elements around it."""
    px, _ = _confine(x, frame.end_x, frame.wraps, frame.wrap_x, frame.inv_x, margin)
    py, _ = _confine(y, frame.end_y, frame.wraps, frame.wrap_y, frame.inv_y, margin)
    pz, _ = _confine(z, frame.end_z, frame.wraps, frame.wrap_z, frame.inv_z, margin)
    if px != x or py != y or pz != z:
        gather_way(spec, occluder, px, py, pz, px, py, pz, stamp, near)
    return px, py, pz


@borrowing
def _trace(spec, frame, occluder, by, x, y, z, c, margin, stamp, near, close):  # type: ignore[no-untyped-def]
    """Where the path of the midpoint rule from (x, y, z) ends, in the domain, and 1 if nothing stopped it; c = dt / dx,
    negative: forward. Leaves in ``near`` the elements around that place."""
    gather_way(spec, occluder, x, y, z, x, y, z, stamp, near)
    u, v, w = visible_velocity(spec, frame, occluder, by, x, y, z, near, close)
    h = 0.5 * c
    mx, my, mz, free = stop_path(spec, frame, occluder, x, y, z, x - h * u, y - h * v, z - h * w, 0.0, stamp, near)
    mx, my, mz = _wrap(spec, frame, occluder, mx, my, mz, 0.0, stamp, near)
    u, v, w = visible_velocity(spec, frame, occluder, by, mx, my, mz, near, close)
    px, py, pz, whole = stop_path(spec, frame, occluder, x, y, z, x - c * u, y - c * v, z - c * w, margin, stamp, near)
    px, py, pz = _wrap(spec, frame, occluder, px, py, pz, margin, stamp, near)
    # 0, or NaN if a velocity on the way was not finite
    return px, py, pz, whole * free, 0.0 * (u + v + w)


@helper
def make_scratch(occluder):  # type: ignore[no-untyped-def]
    """Arrays (m + 1,) for searches among m elements."""
    room = len(occluder.corner) + 1
    return np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)


@helper
def _find_place(value, nz, ny, nx):  # type: ignore[no-untyped-def]
    """Location, indices k, j, i and flat index in its component of a value."""
    return value // (nz * ny * nx), value // (ny * nx) % nz, value // nx % ny, value % nx, value % (nz * ny * nx)


@helper
def _find_fields(first, location, fields):  # type: ignore[no-untyped-def]
    """First and end of the fields that have a value at a location: cell fields all share theirs."""
    return (0, fields) if first == CENTRE else (location, location + 1)


@njit(cache=True, nogil=True)
def _advect_band(spec, frame, occluder, values, q, first, by, c, out_end, out_clear, out, start, stop):  # type: ignore[no-untyped-def]
    """out = q at the departure points of the values; where they are, and whether nothing is hidden."""
    q_flat, by_flat, out_flat = q.reshape(q.size), by.reshape(by.size), out.reshape(out.size)
    stamp, near, close = make_scratch(occluder)
    for n in range(start, stop):
        location, k, j, i, at = _find_place(values[n], q.shape[1], q.shape[2], q.shape[3])
        hx, hy, hz = _find_offsets(location)
        margin = 0.5 if location == CENTRE else 0.0
        x, y, z, whole, zero = _trace(
            spec, frame, occluder, by_flat, i + hx, j + hy, k + hz, c, margin, stamp, near, close
        )
        out_end[n, 0], out_end[n, 1], out_end[n, 2] = x, y, z
        field, end = _find_fields(first, location, q.shape[0])
        for m in range(field, end):
            base = np.uint64(m) * frame.size
            value, weight, complete = blend_visible(frame, occluder, near, close, q_flat, base, location, x, y, z)
            p = base + np.uint64(at)
            out_clear[n] = 1 if complete and whole == 1 else 0
            # the end sees the value itself at least
            out_flat[p] = (value if weight > 0.0 else q_flat[p]) + zero


@helper
def _bound_around(frame, q, base, location, x, y, z):  # type: ignore[no-untyped-def]
    """Smallest and largest of the values of one component around (x, y, z)."""
    hx, hy, hz = _find_offsets(location)
    p = base + np.uint64(int(x - hx)) + np.uint64(int(y - hy)) * frame.row + np.uint64(int(z - hz)) * frame.plane
    low, high = q[p], q[p]
    for n in range(1, 8):
        value = q[p + np.uint64(n & 1) + np.uint64(n >> 1 & 1) * frame.row + np.uint64(n >> 2) * frame.over]
        low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True, nogil=True)
def _correct_band(  # type: ignore[no-untyped-def]
    spec, frame, occluder, values, q, first, by, c, ends, clear, predicted, limiter, out, start, stop
):
    """out = predicted + (q - predicted carried back) / 2 where nothing is hidden, else predicted."""
    q_flat, by_flat, out_flat = q.reshape(q.size), by.reshape(by.size), out.reshape(out.size)
    predicted_flat = predicted.reshape(predicted.size)
    stamp, near, close = make_scratch(occluder)
    for n in range(start, stop):
        location, k, j, i, at = _find_place(values[n], q.shape[1], q.shape[2], q.shape[3])
        hx, hy, hz = _find_offsets(location)
        x, y, z, whole = 0.0, 0.0, 0.0, 0
        if clear[n] == 1:
            x, y, z, whole, _ = _trace(
                spec, frame, occluder, by_flat, i + hx, j + hy, k + hz, -c, 0.0, stamp, near, close
            )
        field, end = _find_fields(first, location, q.shape[0])
        for m in range(field, end):
            base = np.uint64(m) * frame.size
            p = base + np.uint64(at)
            value = predicted_flat[p]
            if whole == 1:
                returned, _, complete = blend_visible(
                    frame, occluder, near, close, predicted_flat, base, location, x, y, z
                )
                if complete:
                    value += 0.5 * (q_flat[p] - returned)
                    if limiter:
                        low, high = _bound_around(frame, q_flat, base, location, ends[n, 0], ends[n, 1], ends[n, 2])
                        value = min(max(value, low), high)
            out_flat[p] = value


@njit(cache=True)
def _list_swept(spec, kind, swept, first, out_place):  # type: ignore[no-untyped-def]
    """Flat indices (location, z, y, x) of the values of a field to be taken anew, as far as there is room; how many.

    Values that are not transported are as they are prescribed: no longer marked.
    """
    found = 0
    _, nz, ny, nx = swept.shape
    for location in range(first, 4 if first == CENTRE else spec.dimensions):
        for k in range(nz):
            for j in range(ny):
                for i in range(nx):
                    if swept[location, k, j, i] == 0:
                        continue
                    if not _is_carried(spec, kind, location, k, j, i):
                        swept[location, k, j, i] = 0
                        continue
                    if found < len(out_place):
                        out_place[found] = ((location * nz + k) * ny + j) * nx + i
                    found += 1
    return found


@borrowing
def _find_views(occluder, near, size, free, mark, x, y, z, out):  # type: ignore[no-untyped-def]
    """From where, relative to it, a value (x, y, z) looks around, and from how many places; out (2, 3).

    In a body: from just outside the surface next to it. On the surface of one: from both sides of it. Else from itself.
    """
    least, nearest = 1e300, -1
    ax, ay, az = 0.0, 0.0, 0.0
    corner = occluder.corner
    for n in range(1, near[0] + 1):
        e = near[n]
        if e % size < free:
            continue
        px, py, pz = x - corner[e, 0, 0], y - corner[e, 0, 1], z - corner[e, 0, 2]
        ux, uy, uz = (
            corner[e, 1, 0] - corner[e, 0, 0], corner[e, 1, 1] - corner[e, 0, 1], corner[e, 1, 2] - corner[e, 0, 2],
        )  # fmt: skip
        tx, ty, tz = (
            corner[e, 2, 0] - corner[e, 0, 0], corner[e, 2, 1] - corner[e, 0, 1], corner[e, 2, 2] - corner[e, 0, 2],
        )  # fmt: skip
        v, w = find_nearest(px, py, pz, ux, uy, uz, tx, ty, tz)
        dx, dy, dz = v * ux + w * tx - px, v * uy + w * ty - py, v * uz + w * tz - pz
        square = dx * dx + dy * dy + dz * dz
        if square < least:
            least, nearest = square, e
            ax, ay, az = dx, dy, dz
    distance = np.sqrt(least)
    for c in range(3):
        out[0, c] = 0.0
    beyond = 4.0 * THICKNESS
    if nearest >= 0 and distance <= THICKNESS:
        for c in range(3):
            out[0, c] = beyond * occluder.plane[nearest, c]
            out[1, c] = -out[0, c]
        return 2
    if nearest >= 0 and mark & INSIDE and distance < 1.0 - beyond:
        far = 1.0 + beyond / distance
        out[0, 0], out[0, 1], out[0, 2] = far * ax, far * ay, far * az
    return 1


@njit(cache=True, nogil=True)
def _look_around(  # type: ignore[no-untyped-def]
    spec,
    wraps,
    occluder,
    element,
    velocity,
    free,
    q,
    first,
    swept,
    place,
    rest,
    last,
    out_found,
    out_known,
    start,
    stop,
):
    """Means of the known neighbours along the axes in sight of values still to be found (marked in swept).

    free: number of elements that are around no body. last: those still without any take what the surfaces near them do,
    velocity or ``rest``.
    """
    _, nz, ny, nx = swept.shape
    n_of = (spec.nx, spec.ny, spec.nz)
    stamp, near, _ = make_scratch(occluder)
    at = np.zeros(3, np.int64)
    value, total = np.zeros(2), np.zeros(2)
    view = np.zeros((2, 3))
    for n in range(start, stop):
        out_known[n] = 0
        location = place[n] // (nz * ny * nx)
        at[2], at[1], at[0] = place[n] // (ny * nx) % nz, place[n] // nx % ny, place[n] % nx
        mark = swept[location, at[2], at[1], at[0]]
        if mark == 0 or mark == FOUND:
            continue
        component, fields = (0, q.shape[0]) if first == CENTRE else (location, 1)
        hx, hy, hz = _find_offsets(location)
        x, y, z = at[0] + hx, at[1] + hy, at[2] + hz
        gather_way(spec, occluder, x, y, z, x, y, z, stamp, near)
        views = 1
        view[:] = 0.0
        if free < len(element):
            views = _find_views(occluder, near, len(element), free, mark, x, y, z, view)
        total[:] = 0.0
        count = 0
        for axis in range(spec.dimensions):
            # a face field has one value more along its own axis, unless the last is the first again
            length = n_of[axis] + (1 if axis == location and wraps[axis] == 0 else 0)
            for side in (-1, 1):
                there = at[axis] - GHOSTS + side
                if wraps[axis] == 1:
                    there = (there + length) % length
                if there < 0 or there >= length:
                    continue
                i = there + GHOSTS if axis == 0 else at[0]
                j = there + GHOSTS if axis == 1 else at[1]
                k = there + GHOSTS if axis == 2 else at[2]
                if swept[location, k, j, i] != 0:
                    continue
                ex = float(side) if axis == 0 else 0.0
                ey = float(side) if axis == 1 else 0.0
                ez = float(side) if axis == 2 else 0.0
                seen = False
                for v in range(views):
                    vx, vy, vz = view[v, 0], view[v, 1], view[v, 2]
                    if not seen and not is_hidden(
                        occluder, near, x + vx, y + vy, z + vz, ex - vx, ey - vy, ez - vz, THICKNESS
                    ):
                        seen = True
                if not seen:
                    continue
                for m in range(fields):
                    if count == 0:
                        value[m] = q[component + m, k, j, i]
                    total[m] += q[component + m, k, j, i] - value[m]
                count += 1
        if count == 0 and last:
            value[:fields] = rest[:fields]
            if first != CENTRE:
                for m in range(1, near[0] + 1):
                    for a in range(3):
                        total[0] += velocity[element[near[m] % len(element), a], location] / 3.0
            count = max(near[0], 1)
        if count > 0:
            for m in range(fields):
                out_found[n, m] = value[m] + total[m] / count
            out_known[n] = 1


@njit(cache=True)
def _take_found(spec, q, first, place, found, known, swept):  # type: ignore[no-untyped-def]
    """Write what was found and mark it known; whether anything is left to find."""
    _, nz, ny, nx = swept.shape
    left = False
    for n in range(len(place)):
        location = place[n] // (nz * ny * nx)
        k, j, i = place[n] // (ny * nx) % nz, place[n] // nx % ny, place[n] % nx
        mark = swept[location, k, j, i]
        if mark == 0 or mark == FOUND:
            continue
        if known[n] == 0:
            left = True
            continue
        if first == CENTRE:
            for field in range(q.shape[0]):
                q[field, k, j, i] = found[n, field]
        else:
            q[location, k, j, i] = found[n, 0]
        swept[location, k, j, i] = FOUND if mark & INSIDE else 0
    return left
