"""A matrix-free geometric multigrid V-cycle for the 7-point operator, symmetric, as a preconditioner.

Cells are joined two by two along every axis, odd and very unequal sizes included, down to one cell. With a_f the
coefficient of a face (area / distance x constant) the coarse face is half the sum of the fine faces it is made of:
the area adds up, the distance doubles. The prolongation is the linear interpolation from the parent and its
neighbours on the child's side,

    e_child = E + sum over the axes of w_F (E_neighbour - E),    w_F = 1/4 if the coarse face F is open,

(Kwak 1999), with w_F falling to 0 as F closes; the restriction is its transpose. Smoothing is one red-black
Gauss-Seidel sweep before (red, black, from zero) and its mirror image after, so the cycle is symmetric positive
definite on the active cells. Three facts save memory traffic, which is what bounds the speed:

- after red, black from zero the residual is 0 on black cells and  sum a_f x_n  on red ones, where x was r / diagonal:
  it takes the place of x on the red cells, and x is made again from r when the correction comes;
- the correction is needed on red cells only, as the black half-sweep that follows overwrites the black ones;
- the three stages of smoothing run over the grid one plane behind the other, so coefficients come from memory once.

Where walls one face thick divide the blocks of a fine level, the levels below it are those of ``linalg/graph.py``,
whose aggregates never join cells on both sides of a closed face.

Coefficients are kept in single precision (they only make a preconditioner), vectors in double precision.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import njit

from undertow.grid import GHOSTS, Array, Grid, GridSpec, share, share_rows
from undertow.linalg.graph import GraphCycle
from undertow.linalg.stencil import Stencil, _clear_periodic, _fill_periodic

_SERIAL = 20000
"""Levels with fewer cells are swept serially: starting threads would cost more than the sweep."""

_DIRICHLET = 1.0
"""Coarse d_C = this x the sum of its children's d_c."""

_OPENNESS = 6.0
"""w_F = 1/4 min(1, this x a_F / the larger diagonal of the two cells): 1/4 for open faces, small for narrow ones."""

_SPLIT_LEVELS = 3
"""Levels, from the finest, whose blocks are examined for walls that divide them; coarser ones have few blocks."""

_SPLIT_BLOCKS = 12
"""So many divided blocks, and one in a thousand, cost fewer iterations than the graph of ``linalg/graph.py``."""

_START, _BLACK, _RESIDUAL, _CORRECT, _RED = range(5)
"""Stages of smoothing: before the coarse grid start, black, residual; after it correct, black, red."""

_ALONE = 3
"""The phase of ``_smooth_chunks`` that runs one stage; those before it make up the pass over three stages."""


@njit(cache=True)
def _start_rows(spec, inverse, r, x, start, stop):  # type: ignore[no-untyped-def]
    """The first red half-sweep from x = 0: x = r / diagonal on red cells."""
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        for m in range((k + j) & 1, spec.nx, 2):
            x[k, j, m + GHOSTS] = inverse[k, j, m + GHOSTS] * r[k, j, m + GHOSTS]


@njit(cache=True)
def _sum_neighbours(spec, face, x, k, j, out_line):  # type: ignore[no-untyped-def]
    """out_line[m] = sum a_f x_n of cell m of a row, both colours: vector instructions beat skipping every other one."""
    a_x, a_y, a_yu, a_z, a_zu = face[0, k, j], face[1, k, j], face[1, k, j + 1], face[2, k, j], face[2, k + 1, j]
    x_c, x_y, x_yu, x_z, x_zu = x[k, j], x[k, j - 1], x[k, j + 1], x[k - 1, j], x[k + 1, j]
    for m in range(spec.nx):
        i = m + GHOSTS
        out_line[m] = (
            a_x[i] * x_c[i - 1]
            + a_x[i + 1] * x_c[i + 1]
            + a_y[i] * x_y[i]
            + a_yu[i] * x_yu[i]
            + a_z[i] * x_z[i]
            + a_zu[i] * x_zu[i]
        )


@njit(cache=True)
def _relax_rows(spec, face, inverse, r, x, colour, line, start, stop):  # type: ignore[no-untyped-def]
    """Gauss-Seidel on the cells of one colour: x_c = (r_c + sum a_f x_n) / diagonal."""
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        _sum_neighbours(spec, face, x, k, j, line)
        for m in range((k + j + colour) & 1, spec.nx, 2):
            x[k, j, m + GHOSTS] = inverse[k, j, m + GHOSTS] * (r[k, j, m + GHOSTS] + line[m])


@njit(cache=True)
def _residual_rows(spec, face, x, line, start, stop):  # type: ignore[no-untyped-def]
    """Red cells take the residual: what their black neighbours add to r - diagonal x = 0."""
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        _sum_neighbours(spec, face, x, k, j, line)
        for m in range((k + j) & 1, spec.nx, 2):
            x[k, j, m + GHOSTS] = line[m]


@njit(cache=True)
def _correct_rows(spec, coarse, weight, e, inverse, r, x, start, stop):  # type: ignore[no-untyped-def]
    """Red cells: x = r / diagonal + (P e)."""
    g = GHOSTS
    halve_z = coarse.nz < spec.nz
    halve_y = coarse.ny < spec.ny
    halve_x = coarse.nx < spec.nx
    for row in range(start, stop):
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
            x[k, j, i] = (
                inverse[k, j, i] * r[k, j, i]
                + c
                + weight[0, kc, jc, ic + up_x] * (e[kc, jc, ic + side] - c)
                + weight[1, kc, jc + up_y, ic] * (e[kc, jn, ic] - c)
                + weight[2, kc + up_z, jc, ic] * (e[kn, jc, ic] - c)
            )


@njit(cache=True)
def _stage_rows(stage, spec, coarse, weight, e, face, inverse, r, x, line, start, stop):  # type: ignore[no-untyped-def]
    if stage == _START:
        _start_rows(spec, inverse, r, x, start, stop)
    elif stage == _RESIDUAL:
        _residual_rows(spec, face, x, line, start, stop)
    elif stage == _CORRECT:
        _correct_rows(spec, coarse, weight, e, inverse, r, x, start, stop)
    else:
        _relax_rows(spec, face, inverse, r, x, 1 if stage == _BLACK else 0, line, start, stop)


@njit(cache=True, nogil=True)
def _smooth_chunks(  # type: ignore[no-untyped-def]
    phase, first, last, length, lines, spec, coarse, weight, e, face, inverse, r, x, start, stop
):
    """Phases 0, 1, 2: stages first, black, last in one pass over memory, without periodic axes; 3: first alone.

    The grid is cut into chunks of ``length`` planes (rows in 2D). Phase 0: inside a chunk black runs one plane behind
    the first stage and the last stage one behind black; planes whose neighbours belong to another chunk wait for
    phases 1 (black) and 2 (last). Every cell sees exactly the values of three separate sweeps, whatever the chunks.
    """
    rows = spec.ny if spec.nz > 1 else 1
    planes = spec.nz if spec.nz > 1 else spec.ny
    for c in range(start, stop):
        low = c * length
        high = min(low + length, planes)
        # one call of _stage_rows in the source: every further one is compiled again
        for turn in range(3 * (high - low) if phase == 0 else (1 if phase == 3 else 2)):
            stage = first
            begin, end = low, high
            if phase == 0:
                behind = turn % 3
                stage = first if behind == 0 else (_BLACK if behind == 1 else last)
                begin = low + turn // 3 - behind
                end = begin + 1 if begin >= low + behind else begin
            elif phase == 1:
                stage = _BLACK
                begin = low if turn == 0 else max(high - 1, low + 1)
                end = begin + 1 if begin < high else begin
            elif phase == 2:
                stage = last
                inner = min(low + 2, high)
                begin = low if turn == 0 else max(inner, high - 2)
                end = inner if turn == 0 else high
            if begin < end:
                _stage_rows(
                    stage, spec, coarse, weight, e, face, inverse, r, x, lines[c], begin * rows, end * rows
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _restrict_rows(coarse, weight, t, out, start, stop):  # type: ignore[no-untyped-def]
    """out = P^T t for a t that lives on red cells.

    The four red children's sum, and w_F times the difference of the red children's sums across each coarse face.
    Children that do not exist (odd sizes, axes of one cell) are ghosts and zero.
    """
    g = GHOSTS
    for row in range(start, stop):
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


@njit(cache=True)
def _open_level(table, level, face, weight, inverse, r, x):  # type: ignore[no-untyped-def]
    nx, ny, nz, start = table[level, 0], table[level, 1], table[level, 2], table[level, 3]
    shape = (nz + 2 * GHOSTS, ny + 2 * GHOSTS, nx + 2 * GHOSTS)
    stop = start + shape[0] * shape[1] * shape[2]
    return (
        GridSpec(nx, ny, nz, 3, 1.0, 0.0, 0.0, 0.0),
        face[3 * start : 3 * stop].reshape((3, shape[0], shape[1], shape[2])),
        weight[3 * start : 3 * stop].reshape((3, shape[0], shape[1], shape[2])),
        inverse[start:stop].reshape(shape),
        r[start:stop].reshape(shape),
        x[start:stop].reshape(shape),
    )


@njit(cache=True)
def _cycle_serial(table, level, px, py, pz, face, weight, inverse, r, x, line):  # type: ignore[no-untyped-def]
    """The V-cycle from ``level`` down and back, all levels in the flat buffers, one thread."""
    last = table.shape[0] - 1
    wraps = px or py or pz
    first = np.int64(0)  # a literal 0 would be a type of its own: every kernel below compiled once more
    for turn in range(level, 2 * last - level + 1):
        here = min(turn, 2 * last - turn)
        spec, face_h, _, inverse_h, r_h, x_h = _open_level(table, here, face, weight, inverse, r, x)
        if here == last:
            x_h[GHOSTS, GHOSTS, GHOSTS] = inverse_h[GHOSTS, GHOSTS, GHOSTS] * r_h[GHOSTS, GHOSTS, GHOSTS]
        else:
            coarse, _, weight_c, _, r_c, x_c = _open_level(table, here + 1, face, weight, inverse, r, x)
            down = turn < last
            for step in range(3):
                if down:
                    stage = _START if step == 0 else (_BLACK if step == 1 else _RESIDUAL)
                else:
                    stage = _CORRECT if step == 0 else (_BLACK if step == 1 else _RED)
                rows = spec.ny * spec.nz
                _stage_rows(stage, spec, coarse, weight_c, x_c, face_h, inverse_h, r_h, x_h, line, first, rows)
                if wraps and stage == _START:
                    _clear_black(spec, x_h)
                if wraps and stage == _RESIDUAL:
                    _wrap_children(spec, px, py, pz, x_h)
                elif wraps:
                    _fill_periodic(spec, px, py, pz, x_h)
            if down:
                _restrict_rows(coarse, weight_c, x_h, r_c, first, coarse.ny * coarse.nz)


@njit(cache=True)
def _clear_black(spec, x):  # type: ignore[no-untyped-def]
    """Black cells to 0: along a periodic axis of odd length a black cell has a black neighbour, not to be stale."""
    for k in range(GHOSTS, GHOSTS + spec.nz):
        for j in range(GHOSTS, GHOSTS + spec.ny):
            for i in range(GHOSTS + ((k + j + 1) & 1), GHOSTS + spec.nx, 2):
                x[k, j, i] = 0.0


@njit(cache=True, nogil=True)
def _take_coefficients(face, diagonal, out_face, out_inverse, start, stop):  # type: ignore[no-untyped-def]
    """Single-precision faces and inverse diagonal of the finest level; flat arrays."""
    cells = out_inverse.size
    for c in range(start, stop):
        out_face[c] = face[c]
        out_face[cells + c] = face[cells + c]
        out_face[2 * cells + c] = face[2 * cells + c]
        out_inverse[c] = 1.0 / diagonal[c] if diagonal[c] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _coarsen(spec, coarse, px, py, pz, face, dirichlet, factor, out_face, out_dirichlet, start, stop):  # type: ignore[no-untyped-def]
    """Coefficients of the next level. A periodic axis of one coarse cell couples it to itself: left out."""
    g = GHOSTS
    sx = 2 if coarse.nx < spec.nx else 1
    sy = 2 if coarse.ny < spec.ny else 1
    sz = 2 if coarse.nz < spec.nz else 1
    last_x = g + coarse.nx if px and coarse.nx > 1 else g + coarse.nx - 1
    last_y = g + coarse.ny if py and coarse.ny > 1 else g + coarse.ny - 1
    last_z = g + coarse.nz if pz and coarse.nz > 1 else g + coarse.nz - 1
    first_x = g if px and coarse.nx > 1 else g + 1
    first_y = g if py and coarse.ny > 1 else g + 1
    first_z = g if pz and coarse.nz > 1 else g + 1
    for row in range(start, stop):
        kc = g + row // (coarse.ny + 1)
        jc = g + row % (coarse.ny + 1)
        k = min(g + sz * (kc - g), g + spec.nz)
        j = min(g + sy * (jc - g), g + spec.ny)
        k1 = min(k + sz, g + spec.nz)
        j1 = min(j + sy, g + spec.ny)
        inside_z = kc < g + coarse.nz
        inside_y = jc < g + coarse.ny
        for ic in range(g, g + coarse.nx + 1):
            i = min(g + sx * (ic - g), g + spec.nx)
            i1 = min(i + sx, g + spec.nx)
            inside_x = ic < g + coarse.nx
            if inside_y and inside_z:
                total = 0.0
                if first_x <= ic and ic <= last_x:
                    for kk in range(k, k1):
                        for jj in range(j, j1):
                            total += face[0, kk, jj, i]
                out_face[0, kc, jc, ic] = total / sx
            if inside_x and inside_z:
                total = 0.0
                if first_y <= jc and jc <= last_y:
                    for kk in range(k, k1):
                        for ii in range(i, i1):
                            total += face[1, kk, j, ii]
                out_face[1, kc, jc, ic] = total / sy
            if inside_x and inside_y:
                total = 0.0
                if first_z <= kc and kc <= last_z:
                    for jj in range(j, j1):
                        for ii in range(i, i1):
                            total += face[2, k, jj, ii]
                out_face[2, kc, jc, ic] = total / sz
            if inside_x and inside_y and inside_z:
                total = 0.0
                for kk in range(k, k1):
                    for jj in range(j, j1):
                        for ii in range(i, i1):
                            total += dirichlet[kk, jj, ii]
                out_dirichlet[kc, jc, ic] = factor * total


@njit(cache=True, nogil=True)
def _count_split(coarse, spec, face, inverse, out_count, start, stop):  # type: ignore[no-untyped-def]
    """Blocks per coarse row whose active cells are not all connected through open faces inside the block."""
    g = GHOSTS
    for row in range(start, stop):
        k = g + 2 * (row // coarse.ny)
        j = g + 2 * (row % coarse.ny)
        out_count[row] = 0
        for ic in range(coarse.nx):
            i = g + 2 * ic
            least = np.float32(1.0)
            for m in range(4):
                a, b = m >> 1, m & 1
                x_face, y_face = face[0, k + a, j + b, i + 1], face[1, k + a, j + 1, i + b]
                least = min(min(least, x_face), min(y_face, face[2, k + 1, j + a, i + b]))
            if least > 0.0:
                continue
            # mark: the cells reached from the first active one; bit = x + 2 y + 4 z
            active, reached = 0, 0
            for bit in range(8):
                kk, jj, ii = k + (bit >> 2), j + ((bit >> 1) & 1), i + (bit & 1)
                if kk < g + spec.nz and jj < g + spec.ny and ii < g + spec.nx and inverse[kk, jj, ii] > 0.0:
                    active |= 1 << bit
            reached = active & -active
            for _ in range(4):
                for bit in range(8):
                    kk, jj, ii = k + (bit >> 2), j + ((bit >> 1) & 1), i + (bit & 1)
                    for axis in range(3):
                        pair = (1 << bit) | (1 << (bit ^ (1 << axis)))
                        upper = (bit >> axis) & 1
                        if (
                            upper == 1
                            and pair & active == pair
                            and pair & reached != 0
                            and face[axis, kk, jj, ii] > 0.0
                        ):
                            reached |= pair
                if reached == active:
                    break
            if reached == active:
                continue
            # a wall: a closed face between two parts with an open face opposite to it on either side
            walls = 0
            for bit in range(8):
                kk, jj, ii = k + (bit >> 2), j + ((bit >> 1) & 1), i + (bit & 1)
                for axis in range(3):
                    ends = 0
                    for end in (bit, bit ^ (1 << axis)):
                        ends |= 1 << ((reached >> end) & 1) if (active >> end) & 1 == 1 else 0
                    az, ay, ax = int(axis == 2), int(axis == 1), int(axis == 0)
                    if (
                        (bit >> axis) & 1 == 1
                        and ends == 3
                        and face[axis, kk + az, jj + ay, ii + ax] > 0.0
                        and face[axis, kk - az, jj - ay, ii - ax] > 0.0
                    ):
                        walls = 1
            out_count[row] += walls


@njit(cache=True, nogil=True)
def _invert_diagonal(spec, face, dirichlet, out, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        for i in range(GHOSTS, GHOSTS + spec.nx):
            total = (
                np.float64(face[0, k, j, i])
                + face[0, k, j, i + 1]
                + face[1, k, j, i]
                + face[1, k, j + 1, i]
                + face[2, k, j, i]
                + face[2, k + 1, j, i]
                + dirichlet[k, j, i]
            )
            out[k, j, i] = 1.0 / total if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _weigh_faces(spec, limit, face, inverse, out, start, stop):  # type: ignore[no-untyped-def]
    """A quarter, less where a face is narrow for the cells it joins and says little about the other side."""
    g = GHOSTS
    for row in range(start, stop):
        k = g + row // (spec.ny + 1)
        j = g + row % (spec.ny + 1)
        for i in range(g, g + spec.nx + 1):
            here = inverse[k, j, i]
            out[0, k, j, i] = 0.25 * min(1.0, limit * face[0, k, j, i] * min(here, inverse[k, j, i - 1]))
            out[1, k, j, i] = 0.25 * min(1.0, limit * face[1, k, j, i] * min(here, inverse[k, j - 1, i]))
            out[2, k, j, i] = 0.25 * min(1.0, limit * face[2, k, j, i] * min(here, inverse[k - 1, j, i]))


class _Level:
    """The coefficients of one level."""

    def __init__(self, grid: Grid, start: int, buffers: tuple[np.ndarray, ...]) -> None:
        self.grid, self.spec = grid, grid.spec
        shape = grid.padded
        stop = start + int(np.prod(shape))
        face, weight, inverse, dirichlet, r, x = buffers
        self.face = face[3 * start : 3 * stop].reshape((3, *shape))
        self.weight = weight[3 * start : 3 * stop].reshape((3, *shape))
        self.inverse = inverse[start:stop].reshape(shape)
        self.dirichlet = dirichlet[start:stop].reshape(shape)
        self.r = r[start:stop].reshape(shape)
        self.x = x[start:stop].reshape(shape)


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
        coarse = grids if self._small else grids[1:]
        starts = np.cumsum([0] + [int(np.prod(g.padded)) for g in coarse]).astype(np.int64)
        total = int(starts[-1])
        self.table = np.array([[*g.cells, start] for g, start in zip(coarse, starts, strict=False)], dtype=np.int64)
        self._buffers = (
            np.zeros(3 * total, dtype=np.float32),
            np.zeros(3 * total, dtype=np.float32),
            np.zeros(total, dtype=np.float32),
            np.zeros(total),
            np.zeros(total),
            np.zeros(total),
        )
        self.levels = [_Level(g, int(start), self._buffers) for g, start in zip(coarse, starts, strict=False)]
        if self._small:
            self._fine_face, self._fine_inverse = self.levels[0].face, self.levels[0].inverse
        self._cells = cells
        # one row of scratch per chunk of planes, two chunks per thread; results do not depend on how many
        self._lines = np.zeros((2 * numba.get_num_threads(), grid.cells[0]))
        self._graph: GraphCycle | None = None
        self._graph_number = 0
        self._divided = np.zeros(((grid.cells[1] + 1) // 2) * ((grid.cells[2] + 1) // 2), dtype=np.int64)
        self.stencil: Stencil | None = None
        self._version = -1

    def setup(self, stencil: Stencil) -> None:
        """Take the coefficients as they are now; no allocation."""
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
        self._graph = None
        self._find_split(0, self.grid, face, self._fine_inverse, dirichlet)
        for number, level in enumerate(self.levels[1:] if self._small else self.levels, start=1):
            _, ny, nz = level.grid.cells
            corners = (ny + 1) * (nz + 1)
            share(
                _coarsen, corners, level.grid.cell_count, spec, level.spec, *self.periodic, face, dirichlet, _DIRICHLET,
                level.face, level.dirichlet,
            )  # fmt: skip
            share_rows(level.grid, _invert_diagonal, level.face, level.dirichlet, level.inverse)
            if any(self.periodic):
                _fill_periodic(level.spec, *self.periodic, level.inverse)
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
            self._smooth_around(self.grid.spec, self._fine_face, self._fine_inverse, r_c, out_c, 0)
            if any(self.periodic):
                _clear_periodic(self.grid.spec, *self.periodic, out_c)
        if stencil.overlay.copies:
            flat_out[self._cells :] = flat_r[self._cells :] / stencil.diagonal[self._cells :]

    def _find_split(self, number: int, grid: Grid, face: np.ndarray, inverse: np.ndarray, dirichlet: Array) -> None:
        """Go on as a graph below this level if walls divide many of its blocks."""
        if self._graph is not None or number >= _SPLIT_LEVELS or max(grid.cells) == 1:
            return
        below = self.levels[number + int(self._small)]
        rows = below.grid.cells[1] * below.grid.cells[2]
        share_rows(below.grid, _count_split, grid.spec, face, inverse, self._divided)
        if int(self._divided[:rows].sum()) > _SPLIT_BLOCKS + below.grid.cell_count // 1000:
            self._graph = GraphCycle(grid, self.periodic, face, inverse, dirichlet, _OPENNESS)
            self._graph_number = number

    def _cycle(self, index: int, r: Array, x: Array) -> None:
        """The cycle from a coarse level on."""
        level = self.levels[index]
        structured = self._graph is None or index + 1 - int(self._small) > self._graph_number
        if structured and level.grid.cell_count < _SERIAL:
            face, weight, inverse, _, flat_r, flat_x = self._buffers
            _cycle_serial(self.table, index, *self.periodic, face, weight, inverse, flat_r, flat_x, self._lines[0])
        else:
            self._smooth_around(level.spec, level.face, level.inverse, r, x, index + 1)

    def _smooth_around(
        self, spec: GridSpec, face: np.ndarray, inverse: np.ndarray, r: Array, x: Array, index: int
    ) -> None:
        """Smooth, correct by the level ``index`` (or the graph in its place), smooth."""
        below = self.levels[index]
        arrays = (spec, below.spec, below.weight, below.x, face, inverse, r, x)
        self._stages(_START, _RESIDUAL, arrays)
        if self._graph is not None and index - int(self._small) == self._graph_number:
            flat = x.reshape(-1)
            correction = self._graph.correct(flat[self._graph.red])
            self._sweep(_ALONE, _START, _START, arrays)
            flat[self._graph.red] += correction
            for stage in (_BLACK, _RED):
                if any(self.periodic):
                    _fill_periodic(spec, *self.periodic, x)
                self._sweep(_ALONE, stage, stage, arrays)
            return
        share_rows(below.grid, _restrict_rows, below.weight, x, below.r)
        self._cycle(index, below.r, below.x)
        if any(self.periodic):
            _fill_periodic(below.spec, *self.periodic, below.x)
        self._stages(_CORRECT, _RED, arrays)

    def _stages(self, first: int, last: int, arrays: tuple) -> None:  # type: ignore[type-arg]
        """Stages first, black, last: in one pass, or with periodic axes one by one with ghosts filled between them."""
        spec, x = arrays[0], arrays[-1]
        if not any(self.periodic):
            for phase in range(_ALONE):
                self._sweep(phase, first, last, arrays)
            return
        self._sweep(_ALONE, first, last, arrays)
        if first == _START:
            _clear_black(spec, x)
        _fill_periodic(spec, *self.periodic, x)
        self._sweep(_ALONE, _BLACK, last, arrays)
        _fill_periodic(spec, *self.periodic, x)
        self._sweep(_ALONE, last, last, arrays)
        if last == _RESIDUAL:
            _wrap_children(spec, *self.periodic, x)

    def _sweep(self, phase: int, first: int, last: int, arrays: tuple) -> None:  # type: ignore[type-arg]
        """One phase of ``_smooth_chunks`` over the whole level."""
        spec = arrays[0]
        planes = spec.nz if spec.nz > 1 else spec.ny
        length = max(8, -(-planes // len(self._lines)))
        cells = spec.nx * spec.ny * spec.nz
        share(_smooth_chunks, -(-planes // length), cells, phase, first, last, length, self._lines, *arrays)
