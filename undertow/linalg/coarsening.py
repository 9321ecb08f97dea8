"""Set-up of the multigrid: coefficients of the levels, and what is worth knowing about them before a solve.

Coarse faces and weights of the interpolation as ``linalg/multigrid.py`` describes them; blocks that walls divide; rows
that are empty or have one coefficient.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.grid import GHOSTS

_MIXED = np.float32(-1.0).view(np.int32)
"""The bits of -1: a row whose links differ."""

_HELD = 0.05
"""A Dirichlet part of so much of its diagonal holds a cell: one face in air does, on a coarse level too, and a mass on
the diagonal that is small does not."""


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
def _coarsen(spec, coarse, px, py, pz, face, dirichlet, out_face, out_dirichlet, start, stop):  # type: ignore[no-untyped-def]
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
                out_dirichlet[kc, jc, ic] = total


@njit(cache=True, nogil=True)
def _count_split(coarse, spec, face, inverse, dirichlet, out_count, start, stop):  # type: ignore[no-untyped-def]
    """Blocks per coarse row whose active cells are not all connected through open faces inside the block.

    Air between two parts is no wall: both are held by its Dirichlet value, and joining them leaks nothing.
    """
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
                        and min(
                            dirichlet[kk, jj, ii] * inverse[kk, jj, ii],
                            dirichlet[kk - az, jj - ay, ii - ax] * inverse[kk - az, jj - ay, ii - ax],
                        )
                        < _HELD
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
def _mark_rows(spec, face, inverse, out_uniform, start, stop):  # type: ignore[no-untyped-def]
    """0 for rows without active cells, c for rows whose links between active cells are all c, else -1.

    All arrays are the bits of float32 as int32: positive ones have the same order, and the least and the largest of
    integers are found with vector instructions.
    """
    most, none = np.int32(2**31 - 1), np.int32(0)
    for row in range(start, stop):
        k = GHOSTS + row // spec.ny
        j = GHOSTS + row % spec.ny
        a_x, a_y, a_yu, a_z, a_zu = face[0, k, j], face[1, k, j], face[1, k, j + 1], face[2, k, j], face[2, k + 1, j]
        d, d_y, d_yu, d_z, d_zu = (
            inverse[k, j],
            inverse[k, j - 1],
            inverse[k, j + 1],
            inverse[k - 1, j],
            inverse[k + 1, j],
        )
        least, largest, active = most, none, none
        for m in range(spec.nx):
            i = m + GHOSTS
            here = d[i]
            active = max(active, here)
            x, y, yu = min(here, d[i - 1]) > none, min(here, d_y[i]) > none, min(here, d_yu[i]) > none
            z, zu = min(here, d_z[i]) > none, min(here, d_zu[i]) > none
            least = min(least, a_x[i] if x else most)
            least = min(least, a_y[i] if y else most)
            least = min(least, a_yu[i] if yu else most)
            least = min(least, a_z[i] if z else most)
            least = min(least, a_zu[i] if zu else most)
            largest = max(largest, a_x[i] if x else none)
            largest = max(largest, a_y[i] if y else none)
            largest = max(largest, a_yu[i] if yu else none)
            largest = max(largest, a_z[i] if z else none)
            largest = max(largest, a_zu[i] if zu else none)
        if active == none:
            out_uniform[row] = none
        else:
            out_uniform[row] = least if largest > none and least == largest else _MIXED


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
