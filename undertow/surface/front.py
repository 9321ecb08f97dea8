"""Cells that a curve cuts, and forces on its points carried to their coupling faces and back (Schroeder 2011, 6.3.5).

A force f_k on a point is spread over the halves of its segments as a density f_k / l_k, linear along them (6.37),
integrated over what lies of each segment in a cell, alpha to beta of it, and projected on the normal of the cell:

    (H^T)_{i,k} = n_i sum over the segments s at k of (beta - alpha) w l_s / l_k                            (6.38)

where w is the mean over the part of what falls to k: (alpha + beta) / 2 where the segment ends in k, 1 minus that where
it begins there. The printed (6.38) has l_k / l_s instead: then the parts of a force add up to something else than it
unless neighbouring segments are of one length. H, the velocity of the points by that of the coupling faces, is the
transpose, so that the power is the same on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse

from undertow.grid import GHOSTS, Array, Grid
from undertow.surface.curve import Curve, Pieces, cut_at_cells


class FrontCells(NamedTuple):
    """Cells that a curve cuts: cell (m,) flat, in order; area (m,) [m]; normal (m, 2), outward from the liquid; pieces
    of the curve and, of each, the number of its cell, own; area_f (3, Z, Y, X): liquid part of every lower face."""

    cell: np.ndarray
    area: Array
    normal: Array
    pieces: Pieces
    own: np.ndarray
    area_f: Array


def front_cells(curve: Curve, grid: Grid, area_f: Array | None = None) -> FrontCells:
    """Cut cells of closed curves inside the domain, with the liquid on their left, outside of which there is none."""
    if grid.dimensions == 3:
        raise ValueError("front: the grid is 3D; curves are the interface in 2D")
    pieces = cut_at_cells(curve, grid)
    part = (pieces.beta - pieces.alpha)[:, None] * curve.ways()[pieces.segment, :2]
    cell, index = np.unique(pieces.cell, return_inverse=True)
    vector = np.stack([np.bincount(index, part[:, 1]), -np.bincount(index, part[:, 0])], axis=1)
    area = np.linalg.norm(vector, axis=1)
    normal = vector / np.maximum(area, 1e-300)[:, None]
    return FrontCells(cell, area, normal, pieces, index, _open_faces(curve, grid, area_f))


def _open_faces(curve: Curve, grid: Grid, area_f: Array | None) -> Array:
    """Liquid part of all faces, by the crossings s = 1 out of the liquid and -1 into it along each line of faces:
    [upper node is inside] + sum of s t, t being the place of a crossing on its face from 0 to 1."""
    area_f = grid.face_field() if area_f is None else area_f
    tail = curve.tail
    start = (curve.point[tail, :2] - np.array(grid.lower[:2])) / grid.dx + GHOSTS
    end = (curve.point[curve.after[tail], :2] - np.array(grid.lower[:2])) / grid.dx + GHOSTS
    for axis, sign in ((0, -1.0), (1, 1.0)):
        a, b = start[:, axis], end[:, axis]
        # a line belongs to the segments that end beyond it, so that points on it count once
        first, last = np.ceil(np.minimum(a, b)), np.ceil(np.maximum(a, b))
        count = (last - first).astype(np.int64)
        owner = np.repeat(np.arange(len(tail)), count)
        line = first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        way = b[owner] - a[owner]
        along = start[owner, 1 - axis] + (line - a[owner]) / way * (end - start)[owner, 1 - axis]
        s = sign * np.sign(way)
        at = np.floor(along)
        across, up = line.astype(np.int64), at.astype(np.int64)
        place = (up, across) if axis == 0 else (across, up)
        steps, parts = np.zeros((2, *grid.padded[1:]))
        np.add.at(steps, place, s)
        np.add.at(parts, place, s * (along - at))
        # nothing is inside before the first crossing
        inside = -np.cumsum(steps, axis=axis)
        area_f[axis, GHOSTS] = np.clip(inside + parts, 0.0, 1.0)
    return area_f


def spread(curve: Curve, cells: FrontCells) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """H (2 n, m) of (6.38): velocities of the n points, x and y in turn, by those of the m coupling faces; and what H
    is without the normals, (n, m): the parts of the force of a point that fall into each cell."""
    pieces = cells.pieces
    tail = curve.tail[pieces.segment]
    head = curve.after[tail]
    length = curve.lengths()[pieces.segment]
    total = np.maximum(curve.point_lengths(), 1e-300)
    part = (pieces.beta - pieces.alpha) * length
    middle = 0.5 * (pieces.alpha + pieces.beta)
    values = np.concatenate([part * (1.0 - middle) / total[tail], part * middle / total[head]])
    points, index = np.concatenate([tail, head]), np.concatenate([cells.own] * 2)
    parts = sparse.csr_matrix((values, (points, index)), shape=(len(curve.point), len(cells.cell)))
    along = [parts.multiply(cells.normal[None, :, axis]).tocoo() for axis in (0, 1)]
    rows = np.concatenate([2 * one.row + axis for axis, one in enumerate(along)])
    columns, data = (np.concatenate([getattr(one, name) for one in along]) for name in ("col", "data"))
    return sparse.csr_matrix((data, (rows, columns)), shape=(2 * len(curve.point), len(cells.cell))), parts


def tension_rows(curve: Curve, sigma: float, dt: float) -> sparse.csr_matrix:
    """C (segments, 2 n), a row dt sqrt(sigma / l) n^T (x_k - x_{k+1}) per segment (6.3.2): C^T C = -dt D, D being dt
    times the derivative of the forces of (6.36), of which n n^T is the whole."""
    tail = curve.tail
    head = curve.after[tail]
    way, length = curve.ways(), np.maximum(curve.lengths(), 1e-300)
    normal = np.stack([way[:, 1], -way[:, 0]], axis=1) / length[:, None]
    value = dt * np.sqrt(sigma / length)[:, None] * normal
    row = np.arange(len(tail))
    rows = np.concatenate([row, row, row, row])
    columns = np.concatenate([2 * tail, 2 * tail + 1, 2 * head, 2 * head + 1])
    data = np.concatenate([value[:, 0], value[:, 1], -value[:, 0], -value[:, 1]])
    return sparse.csr_matrix((data, (rows, columns)), shape=(len(tail), 2 * len(curve.point)))
