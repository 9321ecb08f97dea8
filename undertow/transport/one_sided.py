"""Transport near thin surfaces that takes nothing from their other side (Guendelman et al. 2005, sections 3 and 4.1).

In a band around the surfaces the result of ``Advection`` is replaced. The backward path stops where it would come
within twice the elements' thickness of them. Of the values around its end those in sight are blended,

    q = sum over visible corners w_c q_c / sum over visible corners w_c,

so that a constant on each side stays that constant. MacCormack's correction is added only where nothing is hidden,
neither around the departure point nor on the way forward and around its end. After the surfaces moved, values they
passed over are those of the other side: they are taken anew from neighbours in sight, layer by layer (Gauss-Jacobi);
those without any take what the surface does.

A value is joined to every value it is made of by straight ways that cross nothing, so behind a closed surface not a bit
of the other side arrives, whatever the flow.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.geometry.occlusion import THICKNESS, Occlusion, gather_elements, is_hidden
from undertow.grid import GHOSTS, Array, share
from undertow.grid.jitting import helper
from undertow.transport.advection import Advection, _confine, _find_offsets, _find_range, _group
from undertow.transport.interpolation import CENTRE, FACES

LAYERS = 8
"""Of values taken anew, one from the other."""

_HALVINGS = 24
"""Of the search for the place where a path stops."""


class OneSided:
    """The band around an ``Occlusion`` on one grid, and transport in it."""

    def __init__(self, advection: Advection, occlusion: Occlusion) -> None:
        grid = advection.grid
        self.grid, self.occlusion = grid, occlusion
        self._specs = advection.specs
        self._wraps = np.array([advection.sides.is_periodic(axis) for axis in range(3)], dtype=np.int64)
        self._mark = np.zeros(grid.padded, np.uint8)
        self._cell = np.zeros(0, np.int64)
        self._count = 0
        self._end = np.zeros((0, 3, 3))
        """Where the paths of a band's values end, index coordinates; (band, locations, 3)."""
        self._clear = np.zeros((0, 3), np.uint8)
        """Whether all values around that are in sight, and the path did not stop before it."""
        self._swept = np.zeros((4, *grid.padded), np.uint8)
        self._place = np.zeros(0, np.int64)
        self._found = np.zeros((0, 2))
        self._known = np.zeros(0, np.uint8)

    def begin(self, reach: float) -> None:
        """For a transport whose paths are up to ``reach`` cells long: find the band."""
        self.occlusion.settle()
        cells = int(reach) + 3
        while True:
            count = int(_find_band(self.grid.spec, self.occlusion.spec, cells, self._mark, self._cell))
            if count <= len(self._cell):
                break
            self._cell = np.zeros(2 * count, np.int64)
            self._end, self._clear = np.zeros((2 * count, 3, 3)), np.zeros((2 * count, 3), np.uint8)
        self._count = count

    def predict(self, q: Array, first: int, by: Array, c: float, out: Array) -> None:
        """out = q at the departure points, in the band; c = dt / dx."""
        share(
            _advect_band, self._count, 64 * self._count, self.grid.spec, *self._specs, self.occlusion.spec,
            self._cell, q, first, by, c, self._end, self._clear, out,
        )  # fmt: skip

    def correct(self, q: Array, first: int, by: Array, c: float, predicted: Array, limiter: bool, out: Array) -> None:
        """out = predicted with MacCormack's correction where nothing is hidden, in the band; after ``predict``."""
        share(
            _correct_band, self._count, 64 * self._count, self.grid.spec, *self._specs, self.occlusion.spec,
            self._cell, q, first, by, c, self._end, self._clear, predicted, limiter, out,
        )  # fmt: skip

    def uncover(self, u_f: Array, cells_c: Array, rest: tuple[float, ...], dt: float) -> None:
        """After the surfaces were placed anew: values they passed over, of u (3, Z, Y, X) and of the cell fields
        (n, Z, Y, X), which are ``rest`` where nothing is in sight; dt [s]: of the step."""
        occlusion = self.occlusion
        occlusion.mark_swept(self._swept)
        velocity = (occlusion.x_now - occlusion.x_seen) / dt
        occlusion.settle()
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
                q, first, self._swept, place, rest, last, found, known,
            )  # fmt: skip
            if not _take_found(spec, q, first, place, found, known, self._swept):
                return


@njit(cache=True)
def _find_band(spec, occluder, reach, mark, out_cell):  # type: ignore[no-untyped-def]
    """Cells of the domain, and of one layer beyond its high sides, within ``reach`` of an element; their number."""
    px, py = spec.nx + 2 * GHOSTS, spec.ny + 2 * GHOSTS
    across = reach if spec.dimensions == 3 else 0
    mark[:] = 0
    for c in range(len(occluder.start) - 1):
        if occluder.start[c] == occluder.start[c + 1]:
            continue
        k, j, i = c // (px * py), c // px % py, c % px
        for kk in range(max(k - across, GHOSTS), min(k + across + 1, GHOSTS + spec.nz + 1)):
            for jj in range(max(j - reach, GHOSTS), min(j + reach + 1, GHOSTS + spec.ny + 1)):
                for ii in range(max(i - reach, GHOSTS), min(i + reach + 1, GHOSTS + spec.nx + 1)):
                    mark[kk, jj, ii] = 1
    found = 0
    for k in range(GHOSTS, GHOSTS + spec.nz + (1 if spec.dimensions == 3 else 0)):
        for j in range(GHOSTS, GHOSTS + spec.ny + 1):
            for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                if mark[k, j, i] == 1:
                    if found < len(out_cell):
                        out_cell[found] = (k * py + j) * px + i
                    found += 1
    return found


@helper
def _is_carried(spec, kind, location, k, j, i):  # type: ignore[no-untyped-def]
    """Whether a value is transported: inside, and no face whose velocity is prescribed."""
    i0, i1 = _find_range(kind[0], kind[1], spec.nx, location == 0)
    j0, j1 = _find_range(kind[2], kind[3], spec.ny, location == 1)
    k0, k1 = _find_range(kind[4], kind[5], spec.nz, location == 2)
    return i0 <= i < i1 and j0 <= j < j1 and k0 <= k < k1


@helper
def _blend_visible(frame, occluder, near, q, base, location, x, y, z):  # type: ignore[no-untyped-def]
    """Blend of the values of one component around (x, y, z) that see it; the weight in sight, and whether all do.

    Written as a first value and differences from it: values that are all one give that one to the last bit.
    """
    hx, hy, hz = _find_offsets(location)
    lx, ly, lz = x - hx, y - hy, z - hz
    i, j, k = int(lx), int(ly), int(lz)
    fx, fy, fz = lx - i, ly - j, lz - k
    first, total, weight = 0.0, 0.0, 0.0
    complete = True
    for n in range(8):
        a, b, c = n & 1, n >> 1 & 1, n >> 2
        w = (fx if a else 1.0 - fx) * (fy if b else 1.0 - fy) * (fz if c else 1.0 - fz)
        if w <= 0.0:
            continue
        if near[0] > 0 and is_hidden(
            occluder, near, x, y, z, i + a + hx - x, j + b + hy - y, k + c + hz - z, THICKNESS
        ):
            complete = False
            continue
        value = q[base + np.uint64(i + a) + np.uint64(j + b) * frame.row + np.uint64(k + c) * frame.plane]
        if weight == 0.0:
            first = value
        total += w * (value - first)
        weight += w
    return first + total / weight if weight > 0.0 else 0.0, weight, complete


@helper
def _gather_around(spec, occluder, x, y, z, stamp, near):  # type: ignore[no-untyped-def]
    """Elements among all values that are blended at (x, y, z)."""
    return gather_elements(spec, occluder, x - 1.0, y - 1.0, z - 1.0, x + 1.0, y + 1.0, z + 1.0, stamp, near)


@helper
def _velocity_at(spec, frame, occluder, by, x, y, z, stamp, near):  # type: ignore[no-untyped-def]
    """Velocity at (x, y, z) from the faces in sight; a component without any is 0."""
    _gather_around(spec, occluder, x, y, z, stamp, near)
    u, _, _ = _blend_visible(frame, occluder, near, by, np.uint64(0), 0, x, y, z)
    v, _, _ = _blend_visible(frame, occluder, near, by, frame.size, 1, x, y, z)
    w = 0.0
    if spec.dimensions == 3:
        w, _, _ = _blend_visible(frame, occluder, near, by, frame.size + frame.size, 2, x, y, z)
    return u, v, w


@helper
def _limit(s, end, wrap, margin):  # type: ignore[no-untyped-def]
    """Index coordinate kept inside the domain, or on a periodic axis inside the ghosts, where elements are known."""
    if wrap > 0.0:
        return min(max(s, 0.5), end + GHOSTS - 0.5)
    return min(max(s, GHOSTS - margin), end + margin)


@helper
def _stop_path(spec, frame, occluder, x, y, z, p, q, r, margin, stamp, near):  # type: ignore[no-untyped-def]
    """The last place towards (p, q, r) that sees (x, y, z) at twice the thickness, and 1 if it is (p, q, r) itself."""
    px = _limit(p, frame.end_x, frame.wrap_x, margin)
    py = _limit(q, frame.end_y, frame.wrap_y, margin)
    pz = _limit(r, frame.end_z, frame.wrap_z, margin)
    whole = 1 if px == p and py == q and pz == r else 0
    ex, ey, ez = px - x, py - y, pz - z
    reach = 2.0 * THICKNESS
    if gather_elements(
        spec, occluder, min(x, px) - reach, min(y, py) - reach, min(z, pz) - reach, max(x, px) + reach,
        max(y, py) + reach, max(z, pz) + reach, stamp, near,
    ) == 0 or not is_hidden(occluder, near, x, y, z, ex, ey, ez, reach):  # fmt: skip
        return px, py, pz, whole
    seen, hidden = 0.0, 1.0
    for _ in range(_HALVINGS):
        t = 0.5 * (seen + hidden)
        if is_hidden(occluder, near, x, y, z, t * ex, t * ey, t * ez, reach):
            hidden = t
        else:
            seen = t
    return x + seen * ex, y + seen * ey, z + seen * ez, 0


@helper
def _trace(spec, frame, occluder, by, x, y, z, c, margin, stamp, near):  # type: ignore[no-untyped-def]
    """Where the path of the midpoint rule from (x, y, z) ends, in the domain, and 1 if nothing stopped it; c = dt / dx,
    negative: forward."""
    u, v, w = _velocity_at(spec, frame, occluder, by, x, y, z, stamp, near)
    h = 0.5 * c
    mx, my, mz, free = _stop_path(spec, frame, occluder, x, y, z, x - h * u, y - h * v, z - h * w, 0.0, stamp, near)
    mx, _ = _confine(mx, frame.end_x, frame.wraps, frame.wrap_x, frame.inv_x, 0.0)
    my, _ = _confine(my, frame.end_y, frame.wraps, frame.wrap_y, frame.inv_y, 0.0)
    mz, _ = _confine(mz, frame.end_z, frame.wraps, frame.wrap_z, frame.inv_z, 0.0)
    u, v, w = _velocity_at(spec, frame, occluder, by, mx, my, mz, stamp, near)
    px, py, pz, whole = _stop_path(spec, frame, occluder, x, y, z, x - c * u, y - c * v, z - c * w, margin, stamp, near)
    px, _ = _confine(px, frame.end_x, frame.wraps, frame.wrap_x, frame.inv_x, margin)
    py, _ = _confine(py, frame.end_y, frame.wraps, frame.wrap_y, frame.inv_y, margin)
    pz, _ = _confine(pz, frame.end_z, frame.wraps, frame.wrap_z, frame.inv_z, margin)
    # 0, or NaN if a velocity on the way was not finite
    return px, py, pz, whole * free, 0.0 * (u + v + w)


@njit(cache=True, nogil=True)
def _advect_band(spec, frame, kind, occluder, cell, q, first, by, c, out_end, out_clear, out, start, stop):  # type: ignore[no-untyped-def]
    """out = q at the departure points of the values of the cells; where they are, and whether nothing is hidden."""
    groups, members = _group(spec, first, q.shape[0])
    q_flat, by_flat, out_flat = q.reshape(q.size), by.reshape(by.size), out.reshape(out.size)
    py, px = q.shape[2], q.shape[3]
    stamp, near = np.zeros(len(occluder.corner) + 1, np.int64), np.zeros(len(occluder.corner) + 1, np.int64)
    for n in range(start, stop):
        k, j, i = cell[n] // (px * py), cell[n] // px % py, cell[n] % px
        for group in range(groups):
            location = first + group
            if not _is_carried(spec, kind, location, k, j, i):
                continue
            hx, hy, hz = _find_offsets(location)
            margin = 0.5 if location == CENTRE else 0.0
            x, y, z, whole, zero = _trace(
                spec, frame, occluder, by_flat, i + hx, j + hy, k + hz, c, margin, stamp, near
            )
            out_end[n, group, 0], out_end[n, group, 1], out_end[n, group, 2] = x, y, z
            _gather_around(spec, occluder, x, y, z, stamp, near)
            for m in range(group, group + members):
                base = np.uint64(m) * frame.size
                value, weight, complete = _blend_visible(frame, occluder, near, q_flat, base, location, x, y, z)
                p = base + np.uint64(cell[n])
                out_clear[n, group] = 1 if complete and whole == 1 else 0
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
    spec, frame, kind, occluder, cell, q, first, by, c, end, clear, predicted, limiter, out, start, stop
):
    """out = predicted + (q - predicted carried back) / 2 where nothing is hidden, else predicted."""
    groups, members = _group(spec, first, q.shape[0])
    q_flat, by_flat, out_flat = q.reshape(q.size), by.reshape(by.size), out.reshape(out.size)
    predicted_flat = predicted.reshape(predicted.size)
    py, px = q.shape[2], q.shape[3]
    stamp, near = np.zeros(len(occluder.corner) + 1, np.int64), np.zeros(len(occluder.corner) + 1, np.int64)
    for n in range(start, stop):
        k, j, i = cell[n] // (px * py), cell[n] // px % py, cell[n] % px
        for group in range(groups):
            location = first + group
            if not _is_carried(spec, kind, location, k, j, i):
                continue
            hx, hy, hz = _find_offsets(location)
            x, y, z, whole = 0.0, 0.0, 0.0, 0
            if clear[n, group] == 1:
                x, y, z, whole, _ = _trace(spec, frame, occluder, by_flat, i + hx, j + hy, k + hz, -c, 0.0, stamp, near)
                _gather_around(spec, occluder, x, y, z, stamp, near)
            for m in range(group, group + members):
                base = np.uint64(m) * frame.size
                p = base + np.uint64(cell[n])
                value = predicted_flat[p]
                if whole == 1:
                    returned, _, complete = _blend_visible(
                        frame, occluder, near, predicted_flat, base, location, x, y, z
                    )
                    if complete:
                        value += 0.5 * (q_flat[p] - returned)
                        if limiter:
                            e = end[n, group]
                            low, high = _bound_around(frame, q_flat, base, location, e[0], e[1], e[2])
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


@njit(cache=True, nogil=True)
def _look_around(  # type: ignore[no-untyped-def]
    spec, wraps, occluder, element, velocity, q, first, swept, place, rest, last, out_found, out_known, start, stop
):
    """Means of the known neighbours along the axes in sight of values still to be found (marked 1 in swept).

    last: those still without any take what the surfaces near them do, velocity or ``rest``.
    """
    _, nz, ny, nx = swept.shape
    n_of = (spec.nx, spec.ny, spec.nz)
    stamp, near = np.zeros(len(occluder.corner) + 1, np.int64), np.zeros(len(occluder.corner) + 1, np.int64)
    at = np.zeros(3, np.int64)
    value, total = np.zeros(2), np.zeros(2)
    for n in range(start, stop):
        out_known[n] = 0
        location = place[n] // (nz * ny * nx)
        at[2], at[1], at[0] = place[n] // (ny * nx) % nz, place[n] // nx % ny, place[n] % nx
        if swept[location, at[2], at[1], at[0]] == 0:
            continue
        component, fields = (0, q.shape[0]) if first == CENTRE else (location, 1)
        hx, hy, hz = _find_offsets(location)
        x, y, z = at[0] + hx, at[1] + hy, at[2] + hz
        _gather_around(spec, occluder, x, y, z, stamp, near)
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
                if swept[location, k, j, i] == 1:
                    continue
                ex = float(side) if axis == 0 else 0.0
                ey = float(side) if axis == 1 else 0.0
                ez = float(side) if axis == 2 else 0.0
                if is_hidden(occluder, near, x, y, z, ex, ey, ez, THICKNESS):
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
        if swept[location, k, j, i] == 0:
            continue
        if known[n] == 0:
            left = True
            continue
        if first == CENTRE:
            for field in range(q.shape[0]):
                q[field, k, j, i] = found[n, field]
        else:
            q[location, k, j, i] = found[n, 0]
        swept[location, k, j, i] = 0
    return left
