"""A matrix-free geometric multigrid V-cycle for the 7-point operator, symmetric, as a preconditioner.

Cells are joined two by two along every axis, odd and very unequal sizes included, down to one cell. With a_f the
coefficient of a face (area / distance x constant) the coarse face is half the sum of the fine faces it is made of:
the area adds up, the distance doubles. The prolongation is the linear interpolation from the parent and its
neighbours on the child's side,

    e_child = E + sum over the axes of w_F (E_neighbour - E),    w_F = 1/4 if the coarse face F is open,

(Kwak 1999), with w_F falling to 0 as F closes; the restriction is its transpose. Smoothing is three half-sweeps of
red-black Gauss-Seidel before (black, red, black, from zero) and their mirror image after, so the cycle is symmetric
positive definite on the active cells; the third half-sweep saves a quarter of the iterations. What saves time:

- after a black half-sweep the residual is 0 on black cells: only that of red cells is restricted;
- the correction is needed on red cells only, as the black half-sweep that follows overwrites the black ones;
- the stages of smoothing run over the grid one plane behind the other, so coefficients come from memory once;
- rows without active cells are passed over, and rows whose links all have one coefficient (all but those at solids:
  what links to an inactive cell does not count, as x is 0 there) are summed without reading it.

Where walls one face thick divide the blocks of a fine level, the levels below it are those of ``linalg/graph.py``,
whose aggregates never join cells on both sides of a closed face.

Coefficients are kept in single precision (they only make a preconditioner), vectors in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, GridSpec, share, share_rows
from undertow.grid.jitting import borrowing
from undertow.linalg.coarsening import (
    _coarsen,
    _count_split,
    _invert_diagonal,
    _mark_rows,
    _take_coefficients,
    _weigh_faces,
)
from undertow.linalg.graph import GraphCycle
from undertow.linalg.stencil import Stencil, _clear_periodic, _fill_periodic

_SERIAL = 40000
"""Levels with fewer cells are swept serially: starting threads would cost more than the sweep."""

_OPENNESS = 6.0
"""w_F = 1/4 min(1, this x a_F / the larger diagonal of the two cells): 1/4 for open faces, small for narrow ones."""

_SPLIT_LEVELS = 3
"""Levels, from the finest, whose blocks are examined for walls that divide them; coarser ones have few blocks."""

_SPLIT_BLOCKS = 12
"""So many divided blocks, and one in a thousand, cost fewer iterations than the graph of ``linalg/graph.py``."""

_START, _RED, _BLACK, _RESIDUAL, _CORRECT = range(5)
"""Stages of smoothing: before the coarse grid start, red, black, residual; after it correct, black, red, black."""

_STAGES = 4
"""Stages on either side of the coarse grid."""

_WAITING, _ALONE = 1, 2
"""Phases of ``_smooth_chunks`` after the pass inside chunks: the planes that wait, and one stage by itself."""


class _Fine(NamedTuple):
    """A level as its smoothing sees it: A by rows, and the vectors of A x = r with t the residual.

    uniform (rows,): the coefficient all links of a row share, 0 for rows without active cells, negative for the others.
    face (3, Z, Y, X): a_f of lower faces; inverse (Z, Y, X): 1 / diagonal, 0 where inactive; r, x, t (Z, Y, X).
    """

    spec: GridSpec
    uniform: np.ndarray
    face: np.ndarray
    inverse: np.ndarray
    r: Array
    x: Array
    t: Array


class _Below(NamedTuple):
    """The next coarser level as prolongation and restriction see it: w_F (3, Z, Y, X), and r and x of its problem."""

    spec: GridSpec
    uniform: np.ndarray
    weight: np.ndarray
    r: Array
    x: Array


@borrowing
def _start_rows(fine, start, stop):  # type: ignore[no-untyped-def]
    """The first black half-sweep from x = 0: x = r / diagonal on black cells; rows without active cells are cleared."""
    nx, ny, x, t = fine.spec.nx, fine.spec.ny, fine.x, fine.t
    for row in range(start, stop):
        k = GHOSTS + row // ny
        j = GHOSTS + row % ny
        if fine.uniform[row] == 0.0:
            for i in range(GHOSTS, GHOSTS + nx):
                x[k, j, i] = 0.0
                t[k, j, i] = 0.0
            continue
        for m in range((k + j + 1) & 1, nx, 2):
            x[k, j, m + GHOSTS] = fine.inverse[k, j, m + GHOSTS] * fine.r[k, j, m + GHOSTS]


@borrowing
def _sum_neighbours(fine, c, k, j, out_line):  # type: ignore[no-untyped-def]
    """out_line[m] = sum a_f x_n of cell m of a row, both colours: vector instructions beat skipping every other one."""
    nx, face, x = fine.spec.nx, fine.face, fine.x
    x_c, x_y, x_yu, x_z, x_zu = x[k, j], x[k, j - 1], x[k, j + 1], x[k - 1, j], x[k + 1, j]
    if c > 0.0:
        for m in range(nx):
            i = m + GHOSTS
            out_line[m] = c * ((x_c[i - 1] + x_c[i + 1]) + (x_y[i] + x_yu[i]) + (x_z[i] + x_zu[i]))
        return
    a_x, a_y, a_yu, a_z, a_zu = face[0, k, j], face[1, k, j], face[1, k, j + 1], face[2, k, j], face[2, k + 1, j]
    for m in range(nx):
        i = m + GHOSTS
        out_line[m] = (
            a_x[i] * x_c[i - 1]
            + a_x[i + 1] * x_c[i + 1]
            + a_y[i] * x_y[i]
            + a_yu[i] * x_yu[i]
            + a_z[i] * x_z[i]
            + a_zu[i] * x_zu[i]
        )


@borrowing
def _relax_rows(fine, colour, line, start, stop):  # type: ignore[no-untyped-def]
    """Gauss-Seidel on the cells of one colour: x_c = (r_c + sum a_f x_n) / diagonal."""
    g, nx, ny = GHOSTS, fine.spec.nx, fine.spec.ny
    for row in range(start, stop):
        c = fine.uniform[row]
        if c == 0.0:
            continue
        k = g + row // ny
        j = g + row % ny
        _sum_neighbours(fine, c, k, j, line)
        other = (k + j + colour) & 1
        inverse_row, r_row, x_row = fine.inverse[k, j, g : g + nx], fine.r[k, j, g : g + nx], fine.x[k, j, g : g + nx]
        for m in range(nx):
            new = inverse_row[m] * (r_row[m] + line[m])
            x_row[m] = new if (m & 1) == other else x_row[m]


@borrowing
def _residual_rows(fine, line, start, stop):  # type: ignore[no-untyped-def]
    """t = r - A x; it is 0 on black cells, to rounding."""
    g, nx, ny = GHOSTS, fine.spec.nx, fine.spec.ny
    for row in range(start, stop):
        c = fine.uniform[row]
        if c == 0.0:
            continue
        k = g + row // ny
        j = g + row % ny
        _sum_neighbours(fine, c, k, j, line)
        inverse_row, r_row, x_row = fine.inverse[k, j, g : g + nx], fine.r[k, j, g : g + nx], fine.x[k, j, g : g + nx]
        t_row = fine.t[k, j, g : g + nx]
        for m in range(nx):
            held = x_row[m] / inverse_row[m]
            t_row[m] = r_row[m] + line[m] - held if inverse_row[m] > 0.0 else 0.0


@borrowing
def _correct_rows(fine, below, start, stop):  # type: ignore[no-untyped-def]
    """Active red cells: x += P e, e the solution of the level below."""
    g, spec, coarse, weight, e = GHOSTS, fine.spec, below.spec, below.weight, below.x
    halve_z = coarse.nz < spec.nz
    halve_y = coarse.ny < spec.ny
    halve_x = coarse.nx < spec.nx
    for row in range(start, stop):
        if fine.uniform[row] == 0.0:
            continue
        k = g + row // spec.ny
        j = g + row % spec.ny
        kc = g + (k - g) // 2 if halve_z else k
        jc = g + (j - g) // 2 if halve_y else j
        up_z = (k - g) & 1
        up_y = (j - g) & 1
        up_x = (k + j) & 1
        kn = kc + 2 * up_z - 1
        jn = jc + 2 * up_y - 1
        side = 2 * up_x - 1
        # red cells of a row are all first or all second children along x, so ic runs through the parents
        for m in range((spec.nx - up_x + 1) // 2 if halve_x else 1 - up_x):
            ic = m + g
            i = 2 * m + up_x + g
            c = e[kc, jc, ic]
            correction = (
                c
                + weight[0, kc, jc, ic + up_x] * (e[kc, jc, ic + side] - c)
                + weight[1, kc, jc + up_y, ic] * (e[kc, jn, ic] - c)
                + weight[2, kc + up_z, jc, ic] * (e[kn, jc, ic] - c)
            )
            fine.x[k, j, i] += correction if fine.inverse[k, j, i] > 0.0 else 0.0


@borrowing
def _stage_rows(down, number, fine, below, line, start, stop):  # type: ignore[no-untyped-def]
    """Stage ``number`` of the way down (start, red, black, residual) or up (correct, black, red, black)."""
    stage = number
    if not down:
        stage = _CORRECT if number == 0 else (_RED if number == 2 else _BLACK)
    if stage == _START:
        _start_rows(fine, start, stop)
    elif stage == _RESIDUAL:
        _residual_rows(fine, line, start, stop)
    elif stage == _CORRECT:
        _correct_rows(fine, below, start, stop)
    else:
        _relax_rows(fine, 1 if stage == _BLACK else 0, line, start, stop)


@njit(cache=True, nogil=True)
def _smooth_chunks(phase, number, down, length, lines, fine, below, start, stop):  # type: ignore[no-untyped-def]
    """Phases 0 and 1: all stages of the way down or up in one pass over memory, without periodic axes; 2: one alone.

    The grid is cut into chunks of ``length`` planes (rows in 2D). Phase 0: inside a chunk every stage runs one plane
    behind the one before it; planes whose neighbours belong to another chunk wait for phase 1, which does them stage by
    stage about each boundary between two chunks. Every cell sees exactly the values of separate sweeps, whatever the
    chunks.
    """
    rows = fine.spec.ny if fine.spec.nz > 1 else 1
    planes = fine.spec.nz if fine.spec.nz > 1 else fine.spec.ny
    for c in range(start, stop):
        low = c * length
        high = min(low + length, planes)
        wait_low, wait_high = np.int64(low > 0), np.int64(high < planes)
        behind = (_STAGES - 1) * (1 - wait_high)
        # one call of _stage_rows in the source: every further one is compiled again
        turns = 1
        if phase == 0:
            turns = _STAGES * (high - low + behind)
        elif phase == _WAITING:
            turns = _STAGES if high < planes else 0
        for turn in range(turns):
            stage = number
            begin, end = low, high
            if phase == 0:
                stage = turn % _STAGES
                begin = low + turn // _STAGES - stage
                first, last = low + stage * wait_low, high - stage * wait_high
                end = begin + 1 if first <= begin and begin < last else begin
            elif phase == _WAITING:
                # chunks are at least twice as long as there are stages: boundaries do not touch each other's planes
                stage = turn
                begin, end = high - stage, min(high + stage, planes)
            if begin < end:
                _stage_rows(down, stage, fine, below, lines[c], begin * rows, end * rows)


@njit(cache=True, nogil=True)
def _restrict_rows(t, below, start, stop):  # type: ignore[no-untyped-def]
    """r of the level below = P^T t for a t that lives on red cells.

    The four red children's sum, and w_F times the difference of the red children's sums across each coarse face.
    Children that do not exist (odd sizes, axes of one cell) are ghosts and zero. In rows without active cells nobody
    reads r.
    """
    g, coarse, weight, out = GHOSTS, below.spec, below.weight, below.r
    for row in range(start, stop):
        if below.uniform[row] == 0.0:
            continue
        kc = g + row // coarse.ny
        jc = g + row % coarse.ny
        k = g + 2 * (kc - g)
        j = g + 2 * (jc - g)
        for m in range(coarse.nx):
            ic = m + g
            i = 2 * m + g
            t000 = t[k, j, i]
            t011 = t[k, j + 1, i + 1]
            t101 = t[k + 1, j, i + 1]
            t110 = t[k + 1, j + 1, i]
            out[kc, jc, ic] = (
                t000
                + t011
                + t101
                + t110
                + weight[0, kc, jc, ic] * (t[k, j + 1, i - 1] + t[k + 1, j, i - 1] - t000 - t110)
                + weight[0, kc, jc, ic + 1] * (t[k, j, i + 2] + t[k + 1, j + 1, i + 2] - t011 - t101)
                + weight[1, kc, jc, ic] * (t[k, j - 1, i + 1] + t[k + 1, j - 1, i] - t000 - t101)
                + weight[1, kc, jc + 1, ic] * (t[k, j + 2, i] + t[k + 1, j + 2, i + 1] - t011 - t110)
                + weight[2, kc, jc, ic] * (t[k - 1, j, i + 1] + t[k - 1, j + 1, i] - t000 - t011)
                + weight[2, kc + 1, jc, ic] * (t[k + 2, j, i] + t[k + 2, j + 1, i + 1] - t101 - t110)
            )


@njit(cache=True)
def _wrap_children(spec, px, py, pz, t):  # type: ignore[no-untyped-def]
    """Ghosts of the residual as the restriction reads them: red children beyond a periodic side.

    If n is odd the last parent has one child along the axis: its second one (index n, or -1 seen from the first
    parent) does not exist, and the next parent's first child is at index n + 1.
    """
    g, nx, ny, nz = GHOSTS, spec.nx, spec.ny, spec.nz
    if px:
        odd = nx & 1
        for k in range(g, g + nz):
            for j in range(g, g + ny):
                t[k, j, g - 1] = 0.0 if odd else t[k, j, g + nx - 1]
                t[k, j, g + nx] = 0.0
                t[k, j, g + nx + odd] = t[k, j, g]
    if py:
        odd = ny & 1
        for k in range(g, g + nz):
            for i in range(g, g + nx):
                t[k, g - 1, i] = 0.0 if odd else t[k, g + ny - 1, i]
                t[k, g + ny, i] = 0.0
                t[k, g + ny + odd, i] = t[k, g, i]
    if pz:
        odd = nz & 1
        for j in range(g, g + ny):
            for i in range(g, g + nx):
                t[g - 1, j, i] = 0.0 if odd else t[g + nz - 1, j, i]
                t[g + nz, j, i] = 0.0
                t[g + nz + odd, j, i] = t[g, j, i]


class _Levels(NamedTuple):
    """All levels one after the other in flat buffers: what ``_Fine`` and ``_Below`` view."""

    uniform: np.ndarray
    face: np.ndarray
    weight: np.ndarray
    inverse: np.ndarray
    r: Array
    x: Array
    t: Array


@njit(cache=True)
def _open_level(table, level, flat):  # type: ignore[no-untyped-def]
    """The two views of a level; a row of the table is nx, ny, nz, the start of its cells, the start of its rows."""
    nx, ny, nz, start, row = table[level]
    shape = (nz + 2 * GHOSTS, ny + 2 * GHOSTS, nx + 2 * GHOSTS)
    stop = start + shape[0] * shape[1] * shape[2]
    spec = GridSpec(nx, ny, nz, 3, 1.0, 0.0, 0.0, 0.0)
    r = flat.r[start:stop].reshape(shape)
    x = flat.x[start:stop].reshape(shape)
    uniform = flat.uniform[row : row + ny * nz]
    fine = _Fine(
        spec,
        uniform,
        flat.face[3 * start : 3 * stop].reshape((3, shape[0], shape[1], shape[2])),
        flat.inverse[start:stop].reshape(shape),
        r,
        x,
        flat.t[start:stop].reshape(shape),
    )
    weight = flat.weight[3 * start : 3 * stop].reshape((3, shape[0], shape[1], shape[2]))
    return fine, _Below(spec, uniform, weight, r, x)


@njit(cache=True)
def _cycle_serial(table, level, px, py, pz, flat, line):  # type: ignore[no-untyped-def]
    """The V-cycle from ``level`` down and back, all levels in the flat buffers, one thread."""
    last = table.shape[0] - 1
    wraps = px or py or pz
    first = np.int64(0)  # a literal 0 would be a type of its own: every kernel below compiled once more
    for turn in range(level, 2 * last - level + 1):
        here = min(turn, 2 * last - turn)
        fine, _ = _open_level(table, here, flat)
        if here == last:
            fine.x[GHOSTS, GHOSTS, GHOSTS] = fine.inverse[GHOSTS, GHOSTS, GHOSTS] * fine.r[GHOSTS, GHOSTS, GHOSTS]
        else:
            _, below = _open_level(table, here + 1, flat)
            down = turn < last
            for stage in range(_STAGES):
                _stage_rows(down, stage, fine, below, line, first, fine.spec.ny * fine.spec.nz)
                if wraps and down and stage == 0:
                    _clear_red(fine.spec, fine.x)
                if wraps:
                    _fill_periodic(fine.spec, px, py, pz, fine.x)
            if down:
                if wraps:
                    _wrap_children(fine.spec, px, py, pz, fine.t)
                _restrict_rows(fine.t, below, first, below.spec.ny * below.spec.nz)


@njit(cache=True)
def _clear_red(spec, x):  # type: ignore[no-untyped-def]
    """Red cells to 0: along a periodic axis of odd length a red cell has a red neighbour, not to be stale."""
    for k in range(GHOSTS, GHOSTS + spec.nz):
        for j in range(GHOSTS, GHOSTS + spec.ny):
            for i in range(GHOSTS + ((k + j) & 1), GHOSTS + spec.nx, 2):
                x[k, j, i] = 0.0


class _Level:
    """The coefficients and vectors of one level. t, the residual, takes the place of d, which only ``setup`` reads."""

    def __init__(self, grid: Grid, start: int, row: int, flat: _Levels) -> None:
        self.grid, self.spec = grid, grid.spec
        shape = grid.padded
        stop = start + int(np.prod(shape))
        self.uniform = flat.uniform[row : row + grid.cells[1] * grid.cells[2]]
        self.face = flat.face[3 * start : 3 * stop].reshape((3, *shape))
        self.weight = flat.weight[3 * start : 3 * stop].reshape((3, *shape))
        self.inverse = flat.inverse[start:stop].reshape(shape)
        self.r = flat.r[start:stop].reshape(shape)
        self.x = flat.x[start:stop].reshape(shape)
        self.t = self.dirichlet = flat.t[start:stop].reshape(shape)
        self.below = _Below(self.spec, self.uniform, self.weight, self.r, self.x)

    def fine(self, r: Array, x: Array) -> _Fine:
        """The level with the vectors of a problem."""
        return _Fine(self.spec, self.uniform, self.face, self.inverse, r, x, self.t)


class Multigrid:
    """One symmetric V-cycle on a ``Stencil``. Call ``setup(stencil)`` after every change of its coefficients.

    Works for any number of cells along each axis, 2D and 3D. Links of the overlay are left to the Krylov method
    around it: the entries of copies are divided by their diagonal.
    """

    def __init__(self, grid: Grid, periodic: tuple[bool, bool, bool] = (False, False, False)) -> None:
        self.grid = grid
        self.periodic = (bool(periodic[0]), bool(periodic[1]), bool(periodic[2]))
        grids = [grid]
        while max(grids[-1].cells) > 1:
            nx, ny, nz = grids[-1].cells
            halved = ((nx + 1) // 2, (ny + 1) // 2, (nz + 1) // 2)
            grids.append(Grid(halved, 2 * grids[-1].dx, grid.lower, grid.dimensions))
        self._small = grid.cell_count < _SERIAL or len(grids) == 1
        cells = int(np.prod(grid.padded))
        # a large finest level has no vectors of its own: it works on those it is given
        self._fine_face: np.ndarray = np.zeros((3, *grid.padded), dtype=np.float32)
        self._fine_inverse: np.ndarray = np.zeros(grid.padded, dtype=np.float32)
        self._fine_uniform: np.ndarray = np.zeros(grid.cells[1] * grid.cells[2], dtype=np.float32)
        self._fine_t = np.zeros(grid.padded)
        coarse = grids if self._small else grids[1:]
        starts = np.cumsum([0] + [int(np.prod(g.padded)) for g in coarse]).astype(np.int64)
        rows = np.cumsum([0] + [g.cells[1] * g.cells[2] for g in coarse]).astype(np.int64)
        total = int(starts[-1])
        places = list(zip(coarse, starts, rows, strict=False))
        self.table = np.array([[*g.cells, start, row] for g, start, row in places], dtype=np.int64)
        self._buffers = _Levels(
            uniform=np.zeros(int(rows[-1]), dtype=np.float32),
            face=np.zeros(3 * total, dtype=np.float32),
            weight=np.zeros(3 * total, dtype=np.float32),
            inverse=np.zeros(total, dtype=np.float32),
            r=np.zeros(total),
            x=np.zeros(total),
            t=np.zeros(total),
        )
        self.levels = [_Level(g, int(start), int(row), self._buffers) for g, start, row in places]
        if self._small:
            finest = self.levels[0]
            self._fine_uniform, self._fine_face = finest.uniform, finest.face
            self._fine_inverse, self._fine_t = finest.inverse, finest.t
        self._cells = cells
        # one row of scratch per chunk of planes, one chunk per thread; results do not depend on how many
        self._lines = np.zeros((numba.get_num_threads(), grid.cells[0]))
        self._graph: GraphCycle | None = None
        self._graph_number = 0
        self._divided = np.zeros(((grid.cells[1] + 1) // 2) * ((grid.cells[2] + 1) // 2), dtype=np.int64)
        self.stencil: Stencil | None = None
        self._version = -1

    def setup(self, stencil: Stencil) -> None:
        """Take the coefficients as they are now; allocates only where thin walls need a graph."""
        if stencil.grid.cells != self.grid.cells or stencil.periodic != self.periodic:
            raise ValueError(
                f"multigrid: built for {self.grid.cells} cells, periodic {self.periodic}; the stencil has "
                f"{stencil.grid.cells}, {stencil.periodic}"
            )
        if stencil.version == 0:
            raise ValueError("multigrid: the stencil was never set up: call stencil.setup() first")
        flat = stencil.face_f.reshape(-1), stencil.diagonal[: self._cells]
        fine = self._fine_face.reshape(-1), self._fine_inverse.reshape(-1)
        share(_take_coefficients, self._cells, self._cells, *flat, *fine)
        spec, dirichlet = self.grid.spec, stencil.dirichlet_c
        face: np.ndarray = self._fine_face
        if any(self.periodic):
            _fill_periodic(spec, *self.periodic, self._fine_inverse)
        self._mark(self.grid, face, self._fine_inverse, self._fine_uniform)
        self._graph = None
        self._find_split(0, self.grid, face, self._fine_inverse, dirichlet)
        for number, level in enumerate(self.levels[1:] if self._small else self.levels, start=1):
            _, ny, nz = level.grid.cells
            corners = (ny + 1) * (nz + 1)
            share(
                _coarsen, corners, level.grid.cell_count, spec, level.spec, *self.periodic, face, dirichlet,
                level.face, level.dirichlet,
            )  # fmt: skip
            share_rows(level.grid, _invert_diagonal, level.face, level.dirichlet, level.inverse)
            if any(self.periodic):
                _fill_periodic(level.spec, *self.periodic, level.inverse)
            self._mark(level.grid, level.face, level.inverse, level.uniform)
            share(
                _weigh_faces, corners, level.grid.cell_count, level.spec, _OPENNESS, level.face, level.inverse,
                level.weight,
            )  # fmt: skip
            spec, face, dirichlet = level.spec, level.face, level.dirichlet
            self._find_split(number, level.grid, face, level.inverse, dirichlet)
        self.stencil, self._version = stencil, stencil.version

    def apply(self, r: Array, out: Array) -> None:
        """out = (one V-cycle for A x = r from x = 0); symmetric positive definite on the active cells.

        Arrays (Z, Y, X), or flat with the copies of the overlay at the end; ghosts of both must be zero.
        """
        stencil = self.stencil
        if stencil is None or stencil.version != self._version:
            raise RuntimeError("multigrid: the stencil has changed since setup; call setup(stencil) first")
        flat_r, flat_out = r.reshape(-1), out.reshape(-1)
        r_c = flat_r[: self._cells].reshape(self.grid.padded)
        out_c = flat_out[: self._cells].reshape(self.grid.padded)
        if self._small:
            inner = self.grid.interior
            self.levels[0].r[inner] = r_c[inner]
            self._cycle(0, self.levels[0].r, self.levels[0].x)
            out_c[inner] = self.levels[0].x[inner]
        else:
            coefficients = self._fine_uniform, self._fine_face, self._fine_inverse
            self._smooth_around(_Fine(self.grid.spec, *coefficients, r_c, out_c, self._fine_t), 0)
            if any(self.periodic):
                _clear_periodic(self.grid.spec, *self.periodic, out_c)
        if stencil.overlay.copies:
            flat_out[self._cells :] = flat_r[self._cells :] / stencil.diagonal[self._cells :]

    def _mark(self, grid: Grid, face: np.ndarray, inverse: np.ndarray, uniform: np.ndarray) -> None:
        """Rows that are empty or have one coefficient."""
        share_rows(grid, _mark_rows, face.view(np.int32), inverse.view(np.int32), uniform.view(np.int32))

    def _find_split(self, number: int, grid: Grid, face: np.ndarray, inverse: np.ndarray, dirichlet: Array) -> None:
        """Go on as a graph below this level if walls divide many of its blocks."""
        if self._graph is not None or number >= _SPLIT_LEVELS or max(grid.cells) == 1:
            return
        below = self.levels[number + int(self._small)]
        rows = below.grid.cells[1] * below.grid.cells[2]
        share_rows(below.grid, _count_split, grid.spec, face, inverse, dirichlet, self._divided)
        if int(self._divided[:rows].sum()) > _SPLIT_BLOCKS + below.grid.cell_count // 1000:
            self._graph = GraphCycle(grid, self.periodic, face, inverse, dirichlet, _OPENNESS)
            self._graph_number = number

    def _cycle(self, index: int, r: Array, x: Array) -> None:
        """The cycle from a coarse level on."""
        level = self.levels[index]
        if self._graph is None and level.grid.cell_count < _SERIAL:
            _cycle_serial(self.table, index, *self.periodic, self._buffers, self._lines[0])
        else:
            self._smooth_around(level.fine(r, x), index + 1)

    def _smooth_around(self, fine: _Fine, index: int) -> None:
        """Smooth, correct by the level ``index`` (or the graph in its place), smooth."""
        below = self.levels[index].below
        if self._graph is not None and index - int(self._small) == self._graph_number:
            self._stages(True, fine, below)
            flat = fine.x.reshape(-1)
            flat[self._graph.red] += self._graph.correct(fine.t.reshape(-1)[self._graph.red])
            self._stages(False, fine, below, 1)
            return
        self._stages(True, fine, below)
        if any(self.periodic):
            _wrap_children(fine.spec, *self.periodic, fine.t)
        _, ny, nz = self.levels[index].grid.cells
        share(_restrict_rows, ny * nz, self.levels[index].grid.cell_count, fine.t, below)
        self._cycle(index, below.r, below.x)
        if any(self.periodic):
            _fill_periodic(below.spec, *self.periodic, below.x)
        self._stages(False, fine, below)

    def _stages(self, down: bool, fine: _Fine, below: _Below, first: int = 0) -> None:
        """The stages from ``first`` on: in one pass, or one by one, with periodic axes with ghosts filled between."""
        wraps = any(self.periodic)
        if first == 0 and not wraps:
            for phase in (0, _WAITING):
                self._sweep(phase, 0, down, fine, below)
            return
        if first > 0 and wraps:
            _fill_periodic(fine.spec, *self.periodic, fine.x)
        for stage in range(first, _STAGES):
            self._sweep(_ALONE, stage, down, fine, below)
            if wraps and down and stage == 0:
                _clear_red(fine.spec, fine.x)
            if wraps:
                _fill_periodic(fine.spec, *self.periodic, fine.x)

    def _sweep(self, phase: int, stage: int, down: bool, fine: _Fine, below: _Below) -> None:
        """One phase of ``_smooth_chunks`` over the whole level."""
        spec = fine.spec
        planes = spec.nz if spec.nz > 1 else spec.ny
        length = max(8, -(-planes // len(self._lines)))
        chunks = -(-planes // length)
        if phase == _WAITING and chunks == 1:
            return
        swept = _STAGES * (_STAGES - 1) * (chunks - 1) if phase == _WAITING else planes
        cells = swept * (spec.nx * spec.ny * spec.nz // planes)
        share(_smooth_chunks, chunks, cells, phase, stage, down, length, self._lines, fine, below)
