"""Which neighbouring values see each other past thin surfaces, and extrapolation that looks at no other (Guendelman et
al. 2005, sections 3 and 4.4)."""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.geometry.occlusion import THICKNESS, Occlusion, gather_elements, is_hidden
from undertow.grid import GHOSTS, Array, Grid, Sides, padded, share, share_face_rows, unit_step
from undertow.transport.advection import Advection, _find_offsets
from undertow.transport.extrapolation import UNKNOWN, Extrapolation, _count_places
from undertow.transport.interpolation import CENTRE
from undertow.transport.one_sided import OneSided

REACH = 8
"""Distances from surfaces are counted up to so many cells."""

FAR = np.uint8(255)
"""Of cells further away."""


class Sight:
    """What an ``Occlusion`` hides from each other, of the values of one grid; ``look`` brings it to where that has
    settled.

    hidden (4, Z, Y, X) uint8, of the faces of three axes and of cell centres: 1, 2 and 4 for a value that does not see
    the next lower one of its kind along x, y and z. away_c (Z, Y, X) uint8: cells to the nearest one with an element in
    it (largest of the three distances), FAR beyond REACH.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.hidden = np.zeros((4, *grid.padded), np.uint8)
        self.away_c = np.full(grid.padded, FAR)

    def look(self, occlusion: Occlusion) -> None:
        """Past the elements where they are seen now."""
        planes, rows, _ = self.grid.padded
        _measure_away(self.grid.spec, occlusion.spec, self.away_c)
        share(
            _find_hidden, planes * rows, self.grid.cell_count, self.grid.spec, occlusion.spec, self.away_c, self.hidden
        )


class Shells:
    """Thin surfaces as one field sees them: where they were when the field was transported last, until it follows.

    leader: where they are now. transport: of the field; sight: of its values, as they are.
    """

    def __init__(self, advection: Advection, leader: Occlusion) -> None:
        self.leader = leader
        closed = len(leader.element) - leader.open
        self.occlusion = Occlusion(advection.grid, leader.element, len(leader.x_now), closed)
        self.transport = OneSided(advection, self.occlusion)
        self.sight = Sight(advection.grid)

    def start(self) -> None:
        """Where they are now, without a way from where they were."""
        self.occlusion.place(self.leader.x_now, self.leader.shift)
        self.occlusion.settle()
        self.sight.look(self.occlusion)

    def follow(self, u_f: Array, cells_c: Array, rest: tuple[float, ...], dt: float) -> None:
        """To where they are now; values that they pass over are taken anew (``OneSided.uncover``)."""
        self.occlusion.place(self.leader.x_now, self.leader.shift)
        self.transport.uncover(u_f, cells_c, rest, dt)
        self.sight.look(self.occlusion)


class OneSidedExtrapolation(Extrapolation):
    """``Extrapolation`` from neighbours in sight alone, on a grid without periodic sides.

    faces, cells: what is seen of faces, and of cell centres.
    """

    def __init__(self, grid: Grid, sides: Sides, faces: Sight, cells: Sight) -> None:
        super().__init__(grid, sides)
        self.faces, self.cells = faces, cells

    def _sweep(self, q: Array, first: int, layers: int) -> None:
        hidden = self.cells.hidden[CENTRE:] if first == CENTRE else self.faces.hidden[:3]
        for current in range(1, layers + 1):
            share_face_rows(self.grid, _fill_seen_layer, q, first, hidden, current, self._layer_f[: len(q)])


@njit(cache=True)
def _measure_away(spec, occluder, out_away):  # type: ignore[no-untyped-def]
    px, py, pz = padded(spec)
    across = REACH if spec.dimensions == 3 else 0
    out_away[:] = FAR
    for cell in range(len(occluder.start) - 1):
        if occluder.start[cell] == occluder.start[cell + 1]:
            continue
        k, j, i = cell // (px * py), cell // px % py, cell % px
        for kk in range(max(k - across, 0), min(k + across + 1, pz)):
            for jj in range(max(j - REACH, 0), min(j + REACH + 1, py)):
                aside = max(abs(kk - k), abs(jj - j))
                for ii in range(max(i - REACH, 0), min(i + REACH + 1, px)):
                    out_away[kk, jj, ii] = min(out_away[kk, jj, ii], np.uint8(max(aside, abs(ii - i))))


@njit(cache=True, nogil=True)
def _find_hidden(spec, occluder, away, out_hidden, start, stop):  # type: ignore[no-untyped-def]
    """Per row of the padded planes, see ``Sight``."""
    room = len(occluder.corner) + 1
    stamp, near = np.zeros(room, np.int64), np.zeros(room, np.int64)
    py, px = out_hidden.shape[2], out_hidden.shape[3]
    for row in range(start, stop):
        k, j = row // py, row % py
        for location in range(4):
            hx, hy, hz = _find_offsets(location)
            for i in range(px):
                out_hidden[location, k, j, i] = 0
                if away[k, j, i] > 1:
                    continue
                x, y, z = i + hx, j + hy, k + hz
                bits = 0
                for axis in range(spec.dimensions):
                    ex, ey, ez = -1.0 * int(axis == 0), -1.0 * int(axis == 1), -1.0 * int(axis == 2)
                    gather_elements(spec, occluder, x + ex, y + ey, z + ez, x, y, z, stamp, near)
                    if is_hidden(occluder, near, x, y, z, ex, ey, ez, THICKNESS):
                        bits |= 1 << axis
                out_hidden[location, k, j, i] = np.uint8(bits)


@njit(cache=True, nogil=True)
def _fill_seen_layer(spec, q, first, hidden, current, out_layer, start, stop):  # type: ignore[no-untyped-def]
    """One sweep, as that of ``Extrapolation``, over neighbours in sight."""
    components = min(q.shape[0], spec.dimensions)
    for row in range(start, stop):
        k, j = row // (spec.ny + 1), row % (spec.ny + 1)
        for c in range(components):
            a = first + c
            if j >= _count_places(spec.ny, a == 1, 0) or k >= _count_places(spec.nz, a == 2, 0):
                continue
            for i in range(_count_places(spec.nx, a == 0, 0)):
                kk, jj, ii = k + GHOSTS, j + GHOSTS, i + GHOSTS
                if out_layer[c, kk, jj, ii] != UNKNOWN:
                    continue
                total, known = 0.0, 0
                for axis in range(spec.dimensions):
                    bit = 1 << axis
                    ks, js, is_ = unit_step(axis)
                    if out_layer[c, kk - ks, jj - js, ii - is_] < current and hidden[c, kk, jj, ii] & bit == 0:
                        total += q[c, kk - ks, jj - js, ii - is_]
                        known += 1
                    kh, jh, ih = kk + ks, jj + js, ii + is_
                    if out_layer[c, kh, jh, ih] < current and hidden[c, kh, jh, ih] & bit == 0:
                        total += q[c, kh, jh, ih]
                        known += 1
                if known > 0:
                    q[c, kk, jj, ii] = total / known
                    out_layer[c, kk, jj, ii] = current
