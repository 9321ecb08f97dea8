"""The 7-point operator of a pressure, its overlay of extra links, and the connected regions it couples.

    (A p)_c = sum over the faces f of c of a_f (p_c - p_n)  +  d_c p_c

``face_f[axis, z, y, x]`` is a_f of the LOWER face of each cell, [A_f^2 / beta_f]; ``dirichlet_c`` is d_c, the sum of
the coefficients of the faces behind which p = 0. Boundary faces (index GHOSTS and GHOSTS + n along their axis) are
zero except along periodic axes, where the two are one face and hold the same value. A cell whose diagonal is zero is
inactive: its p stays 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from undertow.grid import GHOSTS, Array, Grid, share_rows
from undertow.grid.jitting import borrowing

_GAP = 4
"""Rows without unknowns between others that are not worth a part of their own."""


class Overlay(NamedTuple):
    """Links of the operator that the grid has no place for: further copies of cut cells and faces between them.

    Unknowns are numbered: the padded grid's cells by flat index, then the copies. Link m adds mass[m] (p[cell] -
    p[side]) to the row of ``cell`` and its negative to the row of ``side``; ``side`` -1 is a place where p = 0.
    ``copies`` unknowns follow those of the grid. The empty overlay is the plain stencil.
    """

    cell: NDArray[np.int64]
    side: NDArray[np.int64]
    mass: Array
    copies: int = 0

    @staticmethod
    def empty() -> Overlay:
        return Overlay(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@njit(cache=True, nogil=True)
def _apply_rows(spec, active, face, dirichlet, p, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        if active[row] == 0:
            out[k, j, GHOSTS : GHOSTS + spec.nx] = 0.0
            continue
        # counting from 0 on rows lets the compiler see that no index is negative: vector instructions
        a_x, a_y, a_yu, a_z, a_zu = face[0, k, j], face[1, k, j], face[1, k, j + 1], face[2, k, j], face[2, k + 1, j]
        p_y, p_yu, p_z, p_zu = p[k, j - 1], p[k, j + 1], p[k - 1, j], p[k + 1, j]
        p_c, d, to = p[k, j], dirichlet[k, j], out[k, j, GHOSTS : GHOSTS + spec.nx]
        for m in range(spec.nx):
            i = m + GHOSTS
            c = p_c[i]
            to[m] = (
                a_x[i] * (c - p_c[i - 1])
                + a_x[i + 1] * (c - p_c[i + 1])
                + a_y[i] * (c - p_y[i])
                + a_yu[i] * (c - p_yu[i])
                + a_z[i] * (c - p_z[i])
                + a_zu[i] * (c - p_zu[i])
                + d[i] * c
            )


@njit(cache=True, nogil=True)
def _sum_diagonal_rows(spec, face, dirichlet, out, out_active, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        for i in range(GHOSTS, GHOSTS + spec.nx):
            out[k, j, i] = (
                face[0, k, j, i]
                + face[0, k, j, i + 1]
                + face[1, k, j, i]
                + face[1, k, j + 1, i]
                + face[2, k, j, i]
                + face[2, k + 1, j, i]
                + dirichlet[k, j, i]
            )
        active = 0
        for i in range(GHOSTS, GHOSTS + spec.nx):
            active += out[k, j, i] > 0.0
        out_active[row] = 1 if active > 0 else 0


@njit(cache=True)
def _apply_links(cell, side, mass, p, out):  # type: ignore[no-untyped-def]
    """The overlay's part; serial because links share rows."""
    for m in range(cell.size):
        c, s = cell[m], side[m]
        if s < 0:
            out[c] += mass[m] * p[c]
        else:
            flux = mass[m] * (p[c] - p[s])
            out[c] += flux
            out[s] -= flux


@njit(cache=True)
def _fill_periodic(spec, px, py, pz, p):  # type: ignore[no-untyped-def]
    """One layer of ghosts beyond each periodic side; enough for a 7-point operator."""
    g, nx, ny, nz = GHOSTS, spec.nx, spec.ny, spec.nz
    if px:
        for k in range(g, g + nz):
            for j in range(g, g + ny):
                p[k, j, g - 1] = p[k, j, g + nx - 1]
                p[k, j, g + nx] = p[k, j, g]
    if py:
        for k in range(g, g + nz):
            for i in range(g, g + nx):
                p[k, g - 1, i] = p[k, g + ny - 1, i]
                p[k, g + ny, i] = p[k, g, i]
    if pz:
        for j in range(g, g + ny):
            for i in range(g, g + nx):
                p[g - 1, j, i] = p[g + nz - 1, j, i]
                p[g + nz, j, i] = p[g, j, i]


@njit(cache=True)
def _clear_periodic(spec, px, py, pz, p):  # type: ignore[no-untyped-def]
    """Ghosts back to zero: sums run over whole padded arrays."""
    g, nx, ny, nz = GHOSTS, spec.nx, spec.ny, spec.nz
    if px:
        for k in range(g, g + nz):
            for j in range(g, g + ny):
                p[k, j, g - 1] = 0.0
                p[k, j, g + nx] = 0.0
                p[k, j, g + nx + 1] = 0.0
    if py:
        for k in range(g, g + nz):
            for i in range(g, g + nx):
                p[k, g - 1, i] = 0.0
                p[k, g + ny, i] = 0.0
                p[k, g + ny + 1, i] = 0.0
    if pz:
        for j in range(g, g + ny):
            for i in range(g, g + nx):
                p[g - 1, j, i] = 0.0
                p[g + nz, j, i] = 0.0
                p[g + nz + 1, j, i] = 0.0


@borrowing
def _find_root(parent, a):  # type: ignore[no-untyped-def]
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = np.int64(parent[a])
    return a


@borrowing
def _join(parent, a, b):  # type: ignore[no-untyped-def]
    """The smaller root wins, so a region is named by its first cell whatever the order of joins."""
    ra, rb = _find_root(parent, a), _find_root(parent, b)
    if ra < rb:
        parent[rb] = ra
        return ra
    parent[ra] = rb
    return rb


@njit(cache=True)
def _label_regions(  # type: ignore[no-untyped-def]
    spec, px, py, pz, active, face, diagonal, dirichlet, cell, side, mass, parent, out_label, out_grounded
):
    """Connected regions of active cells by two raster passes with union-find (Rosenfeld & Pfaltz 1966).

    out_label (flat: cells, then copies): 0 inactive, else the number 1 ... count of the region. Returns count.
    out_grounded: 1 for regions with a Dirichlet part.
    """
    g, nx, ny, nz = GHOSTS, spec.nx, spec.ny, spec.nz
    label = out_label[: diagonal.size].reshape(diagonal.shape)
    used = 0
    for k in range(g, g + nz):
        for j in range(g, g + ny):
            left = 0
            if active[(k - g) * ny + j - g] == 0:
                label[k, j, g : g + nx] = 0
                continue
            for i in range(g, g + nx):
                if not diagonal[k, j, i] > 0.0:
                    label[k, j, i] = 0
                    left = 0
                    continue
                here = 0
                if left > 0 and face[0, k, j, i] > 0.0:
                    here = left
                if j > g and face[1, k, j, i] > 0.0:
                    other = label[k, j - 1, i]
                    if here == 0:
                        here = other
                    elif other != here:
                        here = _join(parent, np.int64(here), np.int64(other))
                if k > g and face[2, k, j, i] > 0.0:
                    other = label[k - 1, j, i]
                    if here == 0:
                        here = other
                    elif other != here:
                        here = _join(parent, np.int64(here), np.int64(other))
                if here == 0:
                    used += 1
                    parent[used] = used
                    out_grounded[used] = 0
                    here = used
                if dirichlet[k, j, i] > 0.0:
                    out_grounded[here] = 1
                label[k, j, i] = here
                left = here
    if px:
        for k in range(g, g + nz):
            for j in range(g, g + ny):
                if face[0, k, j, g] > 0.0:
                    _join(parent, np.int64(label[k, j, g]), np.int64(label[k, j, g + nx - 1]))
    if py:
        for k in range(g, g + nz):
            for i in range(g, g + nx):
                if face[1, k, g, i] > 0.0:
                    _join(parent, np.int64(label[k, g, i]), np.int64(label[k, g + ny - 1, i]))
    if pz:
        for j in range(g, g + ny):
            for i in range(g, g + nx):
                if face[2, g, j, i] > 0.0:
                    _join(parent, np.int64(label[g, j, i]), np.int64(label[g + nz - 1, j, i]))
    for m in range(diagonal.size, out_label.size):
        used += 1
        parent[used] = used
        out_grounded[used] = 0
        out_label[m] = used
    for m in range(cell.size):
        for end in (cell[m], side[m]):
            if end >= 0 and out_label[end] == 0:
                used += 1
                parent[used] = used
                out_grounded[used] = 0
                out_label[end] = used
        if side[m] >= 0 and mass[m] > 0.0:
            _join(parent, np.int64(out_label[cell[m]]), np.int64(out_label[side[m]]))
    # number the roots in order, then let every provisional label name its region
    count = 0
    for a in range(1, used + 1):
        if parent[a] == a:
            count += 1
            parent[a] = -count
        else:
            root = a
            while parent[root] > 0:
                root = parent[root]
            parent[a] = parent[root]
    out_grounded[0] = 0
    for a in range(1, used + 1):
        parent[a] = -parent[a]
        # the number of a region is not above any of its provisional labels: none is read after it was written
        grounded = out_grounded[a]
        out_grounded[a] = 0
        if grounded == 1:
            out_grounded[parent[a]] = 1
    if used > count:
        for c in range(out_label.size):
            if out_label[c] > 0:
                out_label[c] = parent[out_label[c]]
    return count


@njit(cache=True)
def _mark_largest(label, value, out_largest):  # type: ignore[no-untyped-def]
    """out_largest[region] = max |value| over the region."""
    out_largest[:] = 0.0
    for c in range(value.size):
        v = abs(value[c])
        if v > out_largest[label[c]]:
            out_largest[label[c]] = v


@njit(cache=True)
def _remove_means(label, chosen, count, x, out_mean):  # type: ignore[no-untyped-def]
    """x minus its mean over every chosen region; returns the squared norm of what was removed."""
    out_mean[:] = 0.0
    for c in range(x.size):
        out_mean[label[c]] += x[c]
    removed = 0.0
    for region in range(out_mean.size):
        if chosen[region]:
            out_mean[region] /= count[region]
            removed += out_mean[region] ** 2 * count[region]
        else:
            out_mean[region] = 0.0
    for c in range(x.size):
        x[c] -= out_mean[label[c]]
    return removed


class Stencil:
    """The operator above on one grid. Write ``face_f`` and ``dirichlet_c``, then call ``setup``.

    face_f: (3, Z, Y, X) coefficients of lower faces.  dirichlet_c: (Z, Y, X).  diagonal_c: (Z, Y, X), made by
    ``setup``. label: flat int32, region number of every unknown (0 inactive).  regions: how many there are. version:
    counts calls of ``setup``, so that what is derived from the coefficients knows when it is out of date. active
    (ny nz,): 1 for rows of cells with unknowns.
    """

    def __init__(
        self, grid: Grid, periodic: tuple[bool, bool, bool] = (False, False, False), overlay: Overlay | None = None
    ) -> None:
        self.grid = grid
        self.periodic = (bool(periodic[0]), bool(periodic[1]), bool(periodic[2]))
        self.overlay = Overlay.empty() if overlay is None else overlay
        self.face_f = grid.face_field()
        self.dirichlet_c = grid.cell_field()
        self.diagonal_c = grid.cell_field()
        self.cells = self.dirichlet_c.size
        self.size = self.cells + self.overlay.copies
        self.diagonal = np.zeros(self.size)
        self.diagonal_c = self.diagonal[: self.cells].reshape(grid.padded)
        self.label = np.zeros(self.size, dtype=np.int32)
        self.active = np.ones(grid.cells[1] * grid.cells[2], dtype=np.uint8)
        self.regions = 0
        self.version = 0
        self._parent = np.zeros(self.size + 1, dtype=np.int32)
        self._grounded = np.zeros(self.size + 1, dtype=np.uint8)

    def setup(self) -> None:
        """Diagonal and connected regions of the coefficients as they are now. Allocates nothing of the grid's size."""
        spec, links = self.grid.spec, self.overlay
        share_rows(self.grid, _sum_diagonal_rows, self.face_f, self.dirichlet_c, self.diagonal_c, self.active)
        self.regions = int(
            _label_regions(
                spec, *self.periodic, self.active, self.face_f, self.diagonal_c, self.dirichlet_c, links.cell,
                links.side, links.mass, self._parent, self.label, self._grounded,
            )
        )  # fmt: skip
        if links.cell.size:
            self.diagonal[self.cells :] = 0.0
            np.add.at(self.diagonal, links.cell, links.mass)
            two_sided = links.side >= 0
            np.add.at(self.diagonal, links.side[two_sided], links.mass[two_sided])
        self.version += 1

    @property
    def grounded(self) -> np.ndarray:
        """1 for regions that have a Dirichlet part in a cell of the grid (regions + 1,), uint8."""
        return self._grounded[: self.regions + 1]

    def ranges(self) -> np.ndarray:
        """Parts (n, 2) of a flat vector that hold all unknowns: rows with some, joined where they are near."""
        ny, (_, py, px) = self.grid.cells[1], self.grid.padded
        row = np.flatnonzero(self.active)
        at = (row // ny + GHOSTS) * py + row % ny + GHOSTS
        first = np.flatnonzero(np.diff(at, prepend=-py) > _GAP)
        last = np.append(first[1:], len(at)) - 1
        return np.column_stack([at[first], at[last] + 1]) * px if len(at) else np.zeros((0, 2), dtype=np.int64)

    def apply(self, p: Array, out: Array) -> None:
        """out = A p. Arrays (Z, Y, X), or flat with the copies of the overlay at the end; ghosts of p must be zero."""
        if p.size != self.size or out.size != self.size:
            raise ValueError(f"stencil: p and out have {p.size} and {out.size} entries, the operator has {self.size}")
        spec = self.grid.spec
        flat_p, flat_out = p.reshape(-1), out.reshape(-1)
        p_c = flat_p[: self.cells].reshape(self.grid.padded)
        out_c = flat_out[: self.cells].reshape(self.grid.padded)
        wraps = any(self.periodic)
        if wraps:
            _fill_periodic(spec, *self.periodic, p_c)
        share_rows(self.grid, _apply_rows, self.active, self.face_f, self.dirichlet_c, p_c, out_c)
        if wraps:
            _clear_periodic(spec, *self.periodic, p_c)
        if self.overlay.cell.size:
            flat_out[self.cells :] = 0.0
            _apply_links(self.overlay.cell, self.overlay.side, self.overlay.mass, flat_p, flat_out)
