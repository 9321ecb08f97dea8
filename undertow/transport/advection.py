"""Transport of face and cell fields by a frozen face velocity: dq/dt + (u . grad) q = 0 over one time step.

Four schemes, chosen when the ``Advection`` is built:

- ``semi_lagrangian``: midpoint backtrace (Stam 1999, second-order path), linear interpolation. Unconditionally stable,
  first order in space at fixed dt / dx, dissipative.
- ``maccormack``: Selle, Fedkiw, Kim, Liu and Rossignac 2008, "An unconditionally stable MacCormack method",
  J. Sci. Comput. 35: second order, with the limiter of section 4 (clamped to the values around the departure point).
- ``eno3``: third-order Hamilton-Jacobi ENO upwind derivatives (Osher and Fedkiw 2003, "Level Set Methods and Dynamic
  Implicit Surfaces", section 3.3) and the third-order TVD Runge-Kutta method of Shu and Osher 1988. Needs CFL <= 1.
- ``none``: the field stays (Stokes flow).

Locations and index coordinates are those of ``transport/interpolation.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from undertow.errors import UserError
from undertow.grid import (
    GHOSTS,
    INFLOW,
    OPEN,
    OUTFLOW,
    WALL,
    Array,
    Grid,
    Sides,
    largest_entry,
    row_of_faces,
    share,
    share_face_rows,
)
from undertow.grid.jitting import borrowing, helper, inlined_contracting
from undertow.transport.interpolation import CENTRE, FACES, _check_field, _interpolate_at

if TYPE_CHECKING:
    from undertow.transport.one_sided import OneSided

SCHEMES = ("semi_lagrangian", "maccormack", "eno3", "none")

NEAR = 0.5
"""Faces beside cells less than this many cells below a surface are not corrected."""

_Spans = tuple[np.ndarray, np.ndarray]
"""First and end index per row (n, 2) of the values to predict, and of those to correct."""


class Advection:
    """Transports fields of one grid by one scheme; owns ``scratch_f``, free for others between calls.

    limiter: clamps the MacCormack correction; off only where the order is measured on smooth fields. one_sided: what
    replaces the result near thin surfaces, None without any.
    """

    def __init__(self, grid: Grid, sides: Sides, scheme: str, limiter: bool = True) -> None:
        if scheme not in SCHEMES:
            raise UserError(f'advection: scheme = "{scheme}" is not known; choose one of {", ".join(SCHEMES)}')
        self.grid = grid
        self.sides = sides
        self.scheme = scheme
        self.limiter = limiter
        self.one_sided: OneSided | None = None
        self.scratch_f = grid.face_field()
        rows = (grid.cells[1] + 1) * (grid.cells[2] + 1)
        self._everywhere = np.tile(np.array([0, grid.padded[2]]), (rows, 1))
        self._span, self._near_span = self._everywhere.copy(), self._everywhere.copy()
        self._own_span = np.zeros((grid.padded[0] * grid.padded[1], 2), dtype=np.int64)
        self.specs = (_frame(grid, sides), sides.spec.kind)
        self._transport = {
            "semi_lagrangian": self._semi_lagrangian,
            "maccormack": self._maccormack,
            "eno3": self._eno3,
            "none": self._none,
        }[scheme]

    @property
    def scratch_bytes(self) -> int:
        """Memory of the scratch fields [bytes]."""
        return self.scratch_f.nbytes

    def velocity(self, u_f: Array, by_f: Array, dt: float, out_f: Array, distance_c: Array | None = None) -> None:
        """Transport every face component of u by the velocity ``by`` [m/s] over dt [s].

        Ghosts of u and by must be filled. Boundary faces with a prescribed velocity (walls, inflow) are copied;
        ghosts of out, and the high face of a periodic axis, are left to ``Exchange.fill``. distance_c: signed
        distance [m] from where velocities are needed, so that rows far from it may keep what they have.
        """
        self._check(u_f, by_f, dt, out_f, (3, *self.grid.padded))
        span = near = self._everywhere
        if distance_c is not None:
            level = np.array([self.grid.dx])
            span = near = self._find_span(distance_c.reshape(-1, *self.grid.padded), level, by_f, dt, below=True)
            if span is not self._everywhere:
                # paths of what is needed end further away, where a prediction is enough
                near = self._near_span
                share_face_rows(self.grid, _widen_spans, 1, self._own_span, near)
        self._find_band(FACES, by_f, dt)
        self._transport(u_f, FACES, by_f, dt, out_f, self.sides.exchange.fill, (span, near))

    def leave_uncorrected(self, distance_c: Array, out_f: Array) -> None:
        """After ``velocity``: faces with a cell on either side whose distance is more than -NEAR cells keep what was
        predicted. Ghosts of distance_c must be filled.

        MacCormack's correction reads the velocities where a path arrives. Beyond a surface they are made up.
        """
        if self.scheme == "maccormack":
            share_face_rows(self.grid, _leave_uncorrected, distance_c, -NEAR * self.grid.dx, self.scratch_f, out_f)

    def centred(
        self,
        q_c: Array,
        by_f: Array,
        dt: float,
        out_c: Array,
        inflow: float | Sequence[float] = 0.0,
        ambient: float | Sequence[float] = 0.0,
    ) -> None:
        """Transport a cell field (Z, Y, X), or several (n, Z, Y, X) along the same paths, by ``by`` [m/s] over dt [s].

        Ghosts of q and by must be filled; ``inflow`` and ``ambient`` (one, or one per field) are the values beyond
        inflow and open sides, as in ``Exchange.fill``. Ghosts of out are left to the caller.
        """
        shape = self.grid.padded if q_c.ndim == 3 else (len(q_c), *self.grid.padded)
        self._check(q_c, by_f, dt, out_c, shape)
        q, out = (x.reshape(-1, *self.grid.padded) for x in (q_c, out_c))
        beyond = np.broadcast_to(inflow, len(q)), np.broadcast_to(ambient, len(q))

        def fill(fields: Array) -> None:
            for field, enters, rests in zip(fields, *beyond, strict=True):
                self.sides.exchange.fill(field, float(enters), float(rests))

        self._find_band(CENTRE, by_f, dt)
        span = self._find_span(q, beyond[1], by_f, dt, below=False)
        self._transport(q, CENTRE, by_f, dt, out, fill, (span, span))

    def _find_band(self, first: int, by: Array, dt: float) -> None:
        """Where thin surfaces are within reach of a step."""
        if self.one_sided is not None:
            # three stages of three values each, or a path and the values around its end
            c, eno = dt / self.grid.dx, self.scheme == "eno3"
            reach = 9.0 if eno else largest_entry(by) * c
            cells = int(min(reach, max(self.grid.cells))) if np.isfinite(reach) else 0
            self.one_sided.begin(first, by, c, cells, beyond=eno)

    def _find_span(self, q: Array, rest: np.ndarray, by: Array, dt: float, below: bool) -> np.ndarray:
        """First and end index per row of the cells that values of q unlike ``rest`` (or below it) can reach in dt."""
        speed = largest_entry(by)
        reach = speed * dt / self.grid.dx + 2.0
        # beyond a periodic side the paths go on at the other end; a velocity that is no number is for the kernels
        if any(self.sides.is_periodic(axis) for axis in self.grid.axes) or not reach < max(self.grid.cells):
            return self._everywhere
        planes, rows, _ = self.grid.padded
        share(
            _find_own_spans, planes * rows, self.grid.cell_count, q, np.array(rest, float), below,
            self._own_span,
        )  # fmt: skip
        share_face_rows(self.grid, _widen_spans, int(reach), self._own_span, self._span)
        return self._span

    def _check(self, q: Array, by_f: Array, dt: float, out: Array, shape: tuple[int, ...]) -> None:
        _check_field(self.grid, "field", q, shape)
        _check_field(self.grid, "out", out, shape)
        _check_field(self.grid, "by_f", by_f, (3, *self.grid.padded))
        if not 0.0 <= dt < np.inf:
            raise ValueError(f"advection: dt = {dt} s, must be finite and not negative")
        if np.may_share_memory(q, out) or np.may_share_memory(by_f, out):
            raise ValueError("advection: out shares memory with an input; give it a field of its own")

    def _none(
        self, q: Array, first: int, by: Array, dt: float, out: Array, fill: Callable[[Array], None], spans: _Spans
    ) -> None:
        np.copyto(out, q)

    def _semi_lagrangian(
        self, q: Array, first: int, by: Array, dt: float, out: Array, fill: Callable[[Array], None], spans: _Spans
    ) -> None:
        """q_new(x) = q(x - dt by(x - dt/2 by(x)))."""
        c = dt / self.grid.dx
        share_face_rows(self.grid, _advect_semi_lagrangian, *self.specs, spans[1], q, first, by, c, out)
        if self.one_sided is not None:
            self.one_sided.predict(q, first, by, c, out)

    def _maccormack(
        self, q: Array, first: int, by: Array, dt: float, out: Array, fill: Callable[[Array], None], spans: _Spans
    ) -> None:
        """q1 = A(q);  q_new = q1 + (q - A_reversed(q1)) / 2   (Selle et al. 2008, section 3)."""
        c = dt / self.grid.dx
        predicted = self.scratch_f[: len(q)]
        share_face_rows(self.grid, _advect_semi_lagrangian, *self.specs, spans[0], q, first, by, c, predicted)
        if self.one_sided is not None:
            self.one_sided.predict(q, first, by, c, predicted)
        fill(predicted)
        share_face_rows(
            self.grid, _correct_maccormack, *self.specs, spans[1], q, first, by, c, predicted, self.limiter, out
        )
        if self.one_sided is not None:
            self.one_sided.correct(q, first, by, c, predicted, self.limiter, out)

    def _eno3(
        self, q: Array, first: int, by: Array, dt: float, out: Array, fill: Callable[[Array], None], spans: _Spans
    ) -> None:
        """Shu and Osher 1988: q1 = q + dt L(q);  q2 = 3/4 q + 1/4 (q1 + dt L(q1));  1/3 q + 2/3 (q2 + dt L(q2))."""
        c = dt / self.grid.dx
        stage = self.scratch_f[: len(q)]
        share_face_rows(self.grid, _advance_eno3, *self.specs, self._everywhere, q, q, first, by, c, 0.0, out)
        fill(out)
        share_face_rows(self.grid, _advance_eno3, *self.specs, self._everywhere, q, out, first, by, c, 3.0 / 4.0, stage)
        fill(stage)
        share_face_rows(self.grid, _advance_eno3, *self.specs, self._everywhere, q, stage, first, by, c, 1.0 / 3.0, out)
        if self.one_sided is not None:
            self.one_sided.predict(q, first, by, c, out)


class _Frame(NamedTuple):
    """The grid as the kernels of this file see it; lengths are those of index coordinates.

    end: upper end of the domain (its lower end is GHOSTS on every axis).  wraps: whether any axis is periodic.
    wrap: period, 0 if not periodic.
    inv: 1 / cells.  row, plane, size: values per padded row, plane, component, unsigned (see ``_interpolate_at``).
    over: stride along z of a stencil and along_z: factor of the z velocity; both are 0 in 2D, which keeps every trace
    and every stencil in the plane.
    """

    end_x: float
    end_y: float
    end_z: float
    wraps: bool
    wrap_x: float
    wrap_y: float
    wrap_z: float
    inv_x: float
    inv_y: float
    inv_z: float
    along_z: float
    row: np.uint64
    plane: np.uint64
    size: np.uint64
    over: np.uint64


def _frame(grid: Grid, sides: Sides) -> _Frame:
    planes, rows, row = grid.padded
    end_x, end_y, end_z = (float(GHOSTS + n) for n in grid.cells)
    wrap_x, wrap_y, wrap_z = (float(n) if sides.is_periodic(axis) else 0.0 for axis, n in enumerate(grid.cells))
    inv_x, inv_y, inv_z = (1.0 / n for n in grid.cells)
    return _Frame(
        end_x, end_y, end_z,
        wrap_x + wrap_y + wrap_z > 0.0,
        wrap_x, wrap_y, wrap_z,
        inv_x, inv_y, inv_z,
        along_z=float(grid.dimensions == 3),
        row=np.uint64(row),
        plane=np.uint64(row * rows),
        size=np.uint64(row * rows * planes),
        over=np.uint64(row * rows if grid.dimensions == 3 else 0),
    )  # fmt: skip


@helper
def _find_range(low, high, n, own):  # type: ignore[no-untyped-def]
    """First and end index of the values that are transported along an axis between sides of the kinds low and high.

    own: the values are the faces normal to the axis, of which prescribed ones are not transported.
    """
    start = GHOSTS
    stop = GHOSTS + n
    if own:
        if low in (WALL, INFLOW):
            start += 1
        if high in (OUTFLOW, OPEN):
            stop += 1
    return start, stop


@borrowing
def _open_row(spec, kind, span, location, k, j, q, p, out):  # type: ignore[no-untyped-def]
    """Copy the values of row (k, j) that stay as they are; return the range of those that are transported.

    p: flat index of the first value of the padded row.  span: values outside of it see nothing but their own value.
    """
    if (j == GHOSTS + spec.ny and location != 1) or (k == GHOSTS + spec.nz and location != 2):
        return 0, 0
    i0, i1 = _find_range(kind[0], kind[1], spec.nx, location == 0)
    j0, j1 = _find_range(kind[2], kind[3], spec.ny, location == 1)
    k0, k1 = _find_range(kind[4], kind[5], spec.nz, location == 2)
    if j < j0 or j >= j1 or k < k0 or k >= k1:
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[p + np.uint64(i)] = q[p + np.uint64(i)]
        return 0, 0
    if location == 0:
        for i in (GHOSTS, GHOSTS + spec.nx):
            out[p + np.uint64(i)] = q[p + np.uint64(i)]
    low = min(max(i0, span[0]), i1)
    high = max(min(i1, span[1]), low)
    for i in range(i0, low):
        out[p + np.uint64(i)] = q[p + np.uint64(i)]
    for i in range(high, i1):
        out[p + np.uint64(i)] = q[p + np.uint64(i)]
    return low, high


@njit(cache=True, nogil=True)
def _find_own_spans(q, rest, below, out_span, start, stop):  # type: ignore[no-untyped-def]
    """First and end index per padded row of the values unlike their rest, or below it; (row length, 0) without any."""
    rows, length = q.shape[2], q.shape[3]
    for row in range(start, stop):
        k, j = row // rows, row % rows
        first, end = length, 0
        for m in range(q.shape[0]):
            for i in range(length):
                if q[m, k, j, i] < rest[m] if below else q[m, k, j, i] != rest[m]:
                    first = min(first, i)
                    end = max(end, i + 1)
        out_span[row, 0] = first
        out_span[row, 1] = end


@njit(cache=True, nogil=True)
def _widen_spans(spec, reach, own, out_span, start, stop):  # type: ignore[no-untyped-def]
    """The union of the spans of all rows within ``reach``, widened by as much."""
    padded = spec.ny + 2 * GHOSTS
    for line in range(start, stop):
        k, j = row_of_faces(spec, line)
        across = reach if spec.dimensions == 3 else 0
        first, end = spec.nx + 2 * GHOSTS, 0
        for kk in range(max(k - across, 0), min(k + across + 1, spec.nz + 2 * GHOSTS)):
            for jj in range(max(j - reach, 0), min(j + reach + 1, padded)):
                first = min(first, own[kk * padded + jj, 0])
                end = max(end, own[kk * padded + jj, 1])
        out_span[line, 0] = first - reach
        out_span[line, 1] = end + reach if end > 0 else 0


@helper
def _group(spec, first, fields):  # type: ignore[no-untyped-def]
    """How many locations the fields have and how many fields share each: cell fields all do, so their paths are one."""
    if first == CENTRE:
        return 1, fields
    return min(fields, spec.dimensions), 1


@helper
def _find_offsets(location):  # type: ignore[no-untyped-def]
    """From the lower corner of a cell to its value at ``location``, in cells."""
    return 0.0 if location == 0 else 0.5, 0.0 if location == 1 else 0.5, 0.0 if location == 2 else 0.5


@helper
def _find_strides(frame, location):  # type: ignore[no-untyped-def]
    """Backward stride, then forward strides per component, of the averages in ``_carry``."""
    one = np.uint64(1)
    none = np.uint64(0)
    back = one if location == 0 else (frame.row if location == 1 else (frame.plane if location == 2 else none))
    return (
        none if location == 0 else back,
        none if location == 1 else back,
        none if location == 2 else back,
        none if location == 0 else one,
        none if location == 1 else frame.row,
        none if location == 2 else frame.plane,
    )


@borrowing
def _average(by, p, back, forward):  # type: ignore[no-untyped-def]
    return 0.25 * ((by[p] + by[p - back]) + (by[p + forward] + by[p - back + forward]))


@borrowing
def _carry(frame, by, p, strides):  # type: ignore[no-untyped-def]
    """Velocity at a location: the component that lives there, the averages of the four nearest faces of the others.

    A component's own location has strides 0 and a centre no backward stride, so one formula serves all.
    """
    return (
        _average(by, p, strides[0], strides[3]),
        _average(by, p + frame.size, strides[1], strides[4]),
        _average(by, p + frame.size + frame.size, strides[2], strides[5]) * frame.along_z,
    )


@helper
def _confine(s, end, wraps, wrap, inv, margin):  # type: ignore[no-untyped-def]
    """Index coordinate inside the domain, wrapped if periodic, else clamped (NaN too); and whether it was clamped.

    margin: how far outside the clamped place lies. Free of branches, which cost more than the arithmetic, but for
    ``wraps``, the same for a whole loop, which the compiler takes out of it.
    """
    if wraps:
        s -= wrap * np.floor((s - GHOSTS) * inv)
    low = GHOSTS - margin
    high = end + margin
    inside = s if s >= low else low
    inside = inside if inside <= high else high
    return inside, inside != s


@inlined_contracting
def _sample_velocity_at(frame, by, x, y, z):  # type: ignore[no-untyped-def]
    """All components at index coordinates (x, y, z); the cell and fraction of an axis serve two components each."""
    xc = x - 0.5
    yc = y - 0.5
    zc = z - 0.5
    i = np.uint64(np.int64(x))
    j = np.uint64(np.int64(y)) * frame.row
    k = np.uint64(np.int64(z)) * frame.plane
    ic = np.uint64(np.int64(xc))
    jc = np.uint64(np.int64(yc)) * frame.row
    kc = np.uint64(np.int64(zc)) * frame.plane
    fx = x - np.int64(x)
    fy = y - np.int64(y)
    fz = z - np.int64(z)
    fxc = xc - np.int64(xc)
    fyc = yc - np.int64(yc)
    fzc = zc - np.int64(zc)
    one = np.uint64(1)
    size = frame.size
    u = _interpolate_at(by, kc + jc + i, one, frame.row, frame.over, fx, fyc, fzc)
    v = _interpolate_at(by, size + kc + j + ic, one, frame.row, frame.over, fxc, fy, fzc)
    w = _interpolate_at(by, size + size + k + jc + ic, one, frame.row, frame.over, fxc, fyc, fz)
    return u, v, w * frame.along_z


_TO, _AT, _MID, _BACK = np.int64(0), np.int64(4), np.int64(7), np.int64(10)
_LINES = 14
"""Rows of scratch: places (x, y, z, 1 or 0 if it was clamped) from _TO and from _BACK, velocities from _AT and _MID."""


@inlined_contracting
def _place_row(frame, lines, to, y0, z0, hx, speed, c, margin, i0, i1):  # type: ignore[no-untyped-def]
    """Lines from ``to``: places (i + hx, y0, z0) - c x the velocity in the lines from ``speed``, inside the domain."""
    x, y, z, kept = lines[to], lines[to + 1], lines[to + 2], lines[to + 3]
    u, v, w = lines[speed], lines[speed + 1], lines[speed + 2]
    for i in range(i0, i1):
        x[i], out_x = _confine(i + hx - c * u[i], frame.end_x, frame.wraps, frame.wrap_x, frame.inv_x, margin)
        y[i], out_y = _confine(y0 - c * v[i], frame.end_y, frame.wraps, frame.wrap_y, frame.inv_y, margin)
        z[i], out_z = _confine(z0 - c * w[i], frame.end_z, frame.wraps, frame.wrap_z, frame.inv_z, margin)
        kept[i] = 0.0 if out_x | out_y | out_z else 1.0


@inlined_contracting
def _trace_row(frame, by, row, strides, y0, z0, hx, c, margin, i0, i1, lines):  # type: ignore[no-untyped-def]
    """Departure points of the values i0 to i1 of a row by the midpoint rule; c = dt / dx, negative: arrival.

    The values lie at (i + hx, y0, z0), row: flat index of the first one. One loop over the row per stage: those that
    gather nothing become vector instructions, and the whole takes half the time of one loop over everything.
    """
    for i in range(i0, i1):
        lines[_AT, i], lines[_AT + 1, i], lines[_AT + 2, i] = _carry(frame, by, row + np.uint64(i), strides)
    _place_row(frame, lines, _TO, y0, z0, hx, _AT, 0.5 * c, 0.0, i0, i1)
    for i in range(i0, i1):
        lines[_MID, i], lines[_MID + 1, i], lines[_MID + 2, i] = _sample_velocity_at(
            frame, by, lines[0, i], lines[1, i], lines[2, i]
        )
    _place_row(frame, lines, _TO, y0, z0, hx, _MID, c, margin, i0, i1)


@helper
def _find_stencil(frame, base, x, y, z):  # type: ignore[no-untyped-def]
    """Flat index of the lowest of the values around (x, y, z), coordinates relative to the values' own lattice."""
    return base + np.uint64(np.int64(x)) + np.uint64(np.int64(y)) * frame.row + np.uint64(np.int64(z)) * frame.plane


@inlined_contracting
def _interpolate_stencil(frame, q, r, x, y, z):  # type: ignore[no-untyped-def]
    return _interpolate_at(q, r, np.uint64(1), frame.row, frame.over, x - np.int64(x), y - np.int64(y), z - np.int64(z))


@njit(cache=True, nogil=True, fastmath={"contract"})
def _advect_semi_lagrangian(spec, frame, kind, span, q, first, by, c, out, start, stop):  # type: ignore[no-untyped-def]
    """out = q at the departure points."""
    groups, members = _group(spec, first, q.shape[0])
    q_flat = q.reshape(q.size)
    by_flat = by.reshape(by.size)
    out_flat = out.reshape(out.size)
    lines = np.empty((_LINES, q.shape[3]))
    for line in range(start, stop):
        k, j = row_of_faces(spec, line)
        row = np.uint64(k) * frame.plane + np.uint64(j) * frame.row
        for group in range(groups):
            location = first + group
            i0, i1 = np.int64(0), np.int64(0)
            for m in range(group, group + members):
                i0, i1 = _open_row(
                    spec, kind, span[line], location, k, j, q_flat, np.uint64(m) * frame.size + row, out_flat
                )
            strides = _find_strides(frame, location)
            hx, hy, hz = _find_offsets(location)
            # beyond a side the ghost's centre holds the value that flows in; for faces that place is the side itself
            margin = 0.5 if location == CENTRE else 0.0
            _trace_row(frame, by_flat, row, strides, j + hy, k + hz, hx, c, margin, i0, i1, lines)
            at, mid = lines[_AT : _AT + 3], lines[_MID : _MID + 3]
            for m in range(group, group + members):
                base = np.uint64(m) * frame.size
                for i in range(i0, i1):
                    x, y, z = lines[0, i] - hx, lines[1, i] - hy, lines[2, i] - hz
                    # 0, or NaN if a velocity on the way was not finite
                    zero = 0.0 * ((at[0, i] + at[1, i] + at[2, i]) + (mid[0, i] + mid[1, i] + mid[2, i]))
                    r = _find_stencil(frame, base, x, y, z)
                    out_flat[base + row + np.uint64(i)] = _interpolate_stencil(frame, q_flat, r, x, y, z) + zero


@borrowing
def _bound(q, p, right, up, over):  # type: ignore[no-untyped-def]
    """Smallest and largest of the eight values around flat index p (strides as in ``_interpolate_at``)."""
    r = p + over
    low = min(min(q[p], q[p + right]), min(q[p + up], q[p + up + right]))
    high = max(max(q[p], q[p + right]), max(q[p + up], q[p + up + right]))
    low = min(low, min(min(q[r], q[r + right]), min(q[r + up], q[r + up + right])))
    high = max(high, max(max(q[r], q[r + right]), max(q[r + up], q[r + up + right])))
    return low, high


@njit(cache=True, nogil=True, fastmath={"contract"})
def _correct_maccormack(  # type: ignore[no-untyped-def]
    spec, frame, kind, span, q, first, by, c, predicted, limiter, out, start, stop
):
    """out = predicted + (q - predicted carried back) / 2; predicted itself where a trace left the domain.

    The limiter looks around the departure point. It is not traced again: with u at the start and u_m at the midpoint of
    the way forward, 2 u - u_m is the midpoint velocity of the way back up to second order, which moves the point by far
    less than a cell. Where all values around it are equal nothing is left to correct.
    """
    groups, members = _group(spec, first, q.shape[0])
    q_flat = q.reshape(q.size)
    by_flat = by.reshape(by.size)
    out_flat = out.reshape(out.size)
    predicted_flat = predicted.reshape(predicted.size)
    lines = np.empty((_LINES, q.shape[3]))
    for line in range(start, stop):
        k, j = row_of_faces(spec, line)
        row = np.uint64(k) * frame.plane + np.uint64(j) * frame.row
        for group in range(groups):
            location = first + group
            i0, i1 = np.int64(0), np.int64(0)
            for m in range(group, group + members):
                i0, i1 = _open_row(
                    spec, kind, span[line], location, k, j, q_flat, np.uint64(m) * frame.size + row, out_flat
                )
            strides = _find_strides(frame, location)
            hx, hy, hz = _find_offsets(location)
            _trace_row(frame, by_flat, row, strides, j + hy, k + hz, hx, -c, 0.0, i0, i1, lines)
            for axis in range(3):
                at, mid = lines[_AT + axis], lines[_MID + axis]
                for i in range(i0, i1):
                    mid[i] = 2.0 * at[i] - mid[i]
            _place_row(frame, lines, _BACK, j + hy, k + hz, hx, _MID, c, 0.0, i0, i1)
            back = lines[_BACK : _BACK + 4]
            for m in range(group, group + members):
                base = np.uint64(m) * frame.size
                for i in range(i0, i1):
                    p = base + row + np.uint64(i)
                    value = predicted_flat[p]
                    r = _find_stencil(frame, base, back[0, i] - hx, back[1, i] - hy, back[2, i] - hz)
                    low, high = _bound(q_flat, r, np.uint64(1), frame.row, frame.over)
                    if not limiter or low != high:
                        x, y, z = lines[0, i] - hx, lines[1, i] - hy, lines[2, i] - hz
                        r = _find_stencil(frame, base, x, y, z)
                        returned = _interpolate_stencil(frame, predicted_flat, r, x, y, z)
                        value += 0.5 * lines[3, i] * back[3, i] * (q_flat[p] - returned)
                        if limiter:
                            value = low if value < low else value
                            value = high if value > high else value
                    out_flat[p] = value


@njit(cache=True, nogil=True)
def _leave_uncorrected(spec, distance, level, predicted, out, start, stop):  # type: ignore[no-untyped-def]
    for line in range(start, stop):
        k, j = row_of_faces(spec, line)
        for a in range(spec.dimensions):
            if (j == GHOSTS + spec.ny and a != 1) or (k == GHOSTS + spec.nz and a != 2):
                continue
            kl, jl, dx = k - int(a == 2), j - int(a == 1), int(a == 0)
            for i in range(GHOSTS, GHOSTS + spec.nx + dx):
                if max(distance[k, j, i], distance[kl, jl, i - dx]) > level:
                    out[a, k, j, i] = predicted[a, k, j, i]


@borrowing
def _derive_eno3(q, p, v, stride, reach):  # type: ignore[no-untyped-def]
    """dx v dq/ds by the third-order ENO polynomial from upwind (Osher and Fedkiw 2003, section 3.3).

    Differences are taken in the direction of the flow, s = +-stride (unsigned, so -stride wraps around), and a mirrored
    field gives the mirrored result. reach: 2 on the last face of the array, beyond which all values are those of the
    last ghost; else 3.
    """
    forward = v > 0.0
    s = stride if forward else np.uint64(0) - stride
    q_m3 = q[p - (np.uint64(3) if forward else reach) * s]
    q_m2 = q[p - s - s]
    q_m1 = q[p - s]
    q_0 = q[p]
    q_p1 = q[p + s]
    q_p2 = q[p + s + s]
    d1 = q_0 - q_m1
    d2_m2 = (q_m1 - q_m2) - (q_m2 - q_m3)
    d2_m1 = d1 - (q_m1 - q_m2)
    d2_0 = (q_p1 - q_0) - d1
    d2_p1 = (q_p2 - q_p1) - (q_p1 - q_0)
    behind = abs(d2_m1) <= abs(d2_0)
    d2 = d2_m1 if behind else d2_0
    d3_low = d2_m1 - d2_m2 if behind else d2_0 - d2_m1
    d3_high = d2_0 - d2_m1 if behind else d2_p1 - d2_0
    d3 = d3_low if abs(d3_low) <= abs(d3_high) else d3_high
    return abs(v) * (d1 + 0.5 * d2 + (1.0 / 3.0 if behind else -1.0 / 6.0) * d3)


@njit(cache=True, nogil=True)
def _advance_eno3(spec, frame, kind, span, q_start, q, first, by, c, keep, out, start, stop):  # type: ignore[no-untyped-def]
    """out = keep q_start + (1 - keep) (q - dt (by . grad) q), one stage of the Runge-Kutta method; c = dt / dx.

    Written so that a constant stays constant to the last bit.
    """
    groups, members = _group(spec, first, q.shape[0])
    start_flat = q_start.reshape(q_start.size)
    q_flat = q.reshape(q.size)
    by_flat = by.reshape(by.size)
    out_flat = out.reshape(out.size)
    for line in range(start, stop):
        k, j = row_of_faces(spec, line)
        row = np.uint64(k) * frame.plane + np.uint64(j) * frame.row
        reach_y = np.uint64(2 if j == GHOSTS + spec.ny else 3)
        reach_z = np.uint64(2 if k == GHOSTS + spec.nz else 3)
        for component in range(groups * members):
            location = first if members > 1 else first + component
            base = np.uint64(component) * frame.size
            i0, i1 = _open_row(spec, kind, span[line], location, k, j, q_flat, base + row, out_flat)
            strides = _find_strides(frame, location)
            for i in range(i0, i1):
                p = row + np.uint64(i)
                r = base + p
                u, v, w = _carry(frame, by_flat, p, strides)
                reach_x = np.uint64(2 if i == GHOSTS + spec.nx else 3)
                rate = (
                    _derive_eno3(q_flat, r, u, np.uint64(1), reach_x)
                    + _derive_eno3(q_flat, r, v, frame.row, reach_y)
                    + _derive_eno3(q_flat, r, w, frame.over, reach_z)
                )
                out_flat[r] = start_flat[r] + (1.0 - keep) * ((q_flat[r] - start_flat[r]) - c * rate)
