"""Open fractions of the faces beside rigid shells: both sides of a thin wall as cut cells, one velocity per face.

A shell divides the section of a plane of faces across an axis. A face whose line between cell centres it leaves alone
stands for the section of its side up to the shell: what it takes from the next face, or leaves to it, is tau,

    phi_f = 1 + sum tau,      o_f = 1 - phi_f,      F_f = A o_f J,      masses rho dx^d phi_f,

J v being the velocity of the shell where it crosses the plane. A coupled face lets A J v pass as before (o = 1), and
carries of its fluid what no face beside it stands for: near places where the shell lies across the axis and the fluid
moves with it. The masses of a plane add up to its fluid, and a uniform motion of all meets the rows. It is the Galerkin
form of cut cells on both sides, the pressure of a part that the shell cuts off from its cell being continued linearly
from the cells beside it, so that there are no more unknowns. Voxel faces alone hold half a cell of fluid on either side
to the shell's velocity along it as well, and their steps stir the fluid: errors of first order (record 143).

Crossings with the lines between faces of a plane find the section: exact in 2D; in 3D the midpoint rule along the two
axes of the plane, weighted by the squares of the normal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.coupling.voxel import VoxelFaces
from undertow.geometry.pieces import SurfaceSpec
from undertow.grid import GHOSTS, Array, Grid

LEAST = 0.1
"""Of a face that stays open."""

SAME = 1e-6
"""Crossings of a line nearer to each other than this are one, of two elements at their common edge [cells]."""


class Crossings(NamedTuple):
    """Where a shell crosses lines between neighbouring faces of one plane, once each.

    face (k,): flat index of the upper of the two in the padded field of its axis. place (k,): in cells from the centre
    of the lower one. weight (k,): part in the midpoint rule. element (k,), at (k, 3): of the shell.
    """

    face: np.ndarray
    place: Array
    weight: Array
    element: np.ndarray
    at: Array


class Shares(NamedTuple):
    """What faces beside shells leave to them: rows o_f J (faces, 3 n), sparse, and the parts of the dual cells of
    coupled faces whose fluid they carry (r, 2), below and above."""

    passed: Any
    carried: Array


def find_single(grid: Grid, found: Any, surface: SurfaceSpec, across: int, along: int) -> tuple[Crossings, np.ndarray]:
    """Crossings with lines along an axis between faces across another, where there is one between two of them; all
    faces with any."""
    cells = int(np.prod(grid.padded))
    chosen = found.face // cells == along
    face, element, weight = found.face[chosen] % cells, found.element[chosen], found.weight[chosen]
    m, corners = len(surface.element), surface.element.shape[1]
    nodes = surface.element[element % m]
    where = np.einsum("ka,kai->ki", weight[:, :corners], surface.x[nodes]) + surface.shift[element // m]
    index = face // _strides(grid)[along] % grid.padded[2 - along]
    place = (where[:, along] - grid.lower[along]) / grid.dx - (index - 1 - GHOSTS + 0.5)
    order = np.lexsort((place, face))
    face, place, element, weight = face[order], place[order], element[order], weight[order]
    other = np.append(True, (np.diff(face) > 0) | (np.diff(place) > SAME))[: len(face)]
    face, place, element, weight = face[other], place[other], element[other], weight[other]
    _, first, count = np.unique(face, return_index=True, return_counts=True)
    one = first[count == 1]
    part = np.ones(len(one))
    if corners == 3:
        p = surface.x[surface.element[element[one] % m]]
        square = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]) ** 2
        part = square[:, along] / np.maximum(square[:, along] + square[:, 3 - across - along], 1e-300)
    return Crossings(face[one], np.clip(place[one], 0.0, 1.0), part, element[one], weight[one]), face


def share_sections(
    voxel: VoxelFaces, surface: SurfaceSpec, rigid: np.ndarray, free_f: np.ndarray, area_f: Array
) -> Shares:
    """Open fractions of the faces beside rigid shells, in area_f, and what goes with them. rigid (m,): elements of
    rigid shells. free_f (3, Z, Y, X): faces that could be coupled."""
    import scipy.sparse as sparse

    grid = voxel.grid
    cells, strides = int(np.prod(grid.padded)), _strides(grid)
    row = np.full(3 * cells, -1, np.int64)
    row[voxel.face] = np.arange(len(voxel.face))
    coupled = row >= 0
    whole = (free_f.reshape(-1) > 0) & (area_f.reshape(-1) == 1.0) & ~coupled
    carried = np.full((len(voxel.face), 2), 0.5)
    takes = []

    def is_above(face: np.ndarray, along: int, side: int) -> np.ndarray:
        """1 if the neighbour on this side of faces (k,) is on the side of the shell of the cell above them, else 0: no
        coupled face is between them then."""
        return (~coupled[along * cells + face + (strides[along] if side > 0 else 0)]).astype(np.int64)

    for across in grid.axes:
        found, first = voxel.cross_planes(across, surface), across * cells
        for along in grid.axes:
            if along == across:
                continue
            one, crossed = find_single(grid, found, surface, across, along)
            inside = free_f[across].reshape(-1) > 0
            used = (inside[one.face] | inside[one.face - strides[along]]) & rigid[one.element % len(rigid)]
            one = Crossings(*(array[used] for array in one))
            cut = np.zeros(cells, dtype=bool)
            cut[crossed] = True
            for side in (-1, 1):
                # from the face on this side of the crossing towards the one beyond it
                step = side * strides[along]
                near = one.face - (strides[along] if side < 0 else 0)
                far, behind = near - step, near + step
                theta = one.place if side < 0 else 1.0 - one.place
                is_free = whole[first + near] & (whole | coupled)[first + far]
                is_behind = coupled[first + near] & whole[first + behind] & ~cut[near if side < 0 else behind]
                for chosen, to, of, tau in (
                    (is_free, near, far, np.maximum(theta - 0.5, 0.0)),
                    (is_behind, behind, near, np.minimum(theta + 0.5, 1.0)),
                ):
                    k = np.flatnonzero(chosen & (tau > 0.0))
                    half = is_above(of[k], along, side)
                    takes.append((first + to[k], first + of[k], (one.weight * tau)[k], one.element[k], one.at[k], half))
                # the shell is beyond the middle of a coupled face: more of it is on this side
                k = np.flatnonzero(coupled[first + near])
                half, more = is_above(near[k], along, side), (one.weight * np.minimum(theta, 0.5))[k]
                np.add.at(carried, (row[first + near[k]], half), more)
                np.add.at(carried, (row[first + near[k]], 1 - half), -more)
    to, of, tau, element, at, half = (np.concatenate(part) for part in zip(*takes, strict=True))
    # no face loses all that it has
    most = np.where(coupled[of], 1.0, 1.0 - LEAST)
    tau = tau * np.minimum(1.0, most / np.maximum(np.bincount(of, tau, 3 * cells)[of], 1e-300))
    free = ~coupled[of]
    np.add.at(carried, (row[of[~free]], half[~free]), -tau[~free])
    # of elements that do not quite agree: what one half has too little the other gives
    short = np.minimum(carried, 0.0)
    carried += short[:, ::-1] - short
    face, part = np.concatenate([to, of[free]]), np.concatenate([tau, -tau[free]])
    area_f.reshape(-1)[...] += np.bincount(face, part, 3 * cells)
    corners = surface.element.shape[1]
    nodes = surface.element[element % max(len(surface.element), 1)]
    value = -part[:, None] * np.concatenate([at, at[free]])[:, :corners]
    columns = 3 * np.concatenate([nodes, nodes[free]]) + (face // cells)[:, None]
    shape = (3 * cells, 3 * voxel.nodes)
    rows = np.repeat(face, corners)
    passed = sparse.csr_matrix((value.reshape(-1), (rows, columns.reshape(-1))), shape=shape)
    return Shares(passed, np.maximum(carried, 0.0))  # rounding


def no_shares(grid: Grid, nodes: int, coupled: int = 0) -> Shares:
    """None; coupled faces carry half a cell on either side."""
    import scipy.sparse as sparse

    return Shares(sparse.csr_matrix((3 * int(np.prod(grid.padded)), 3 * nodes)), np.full((coupled, 2), 0.5))


def _strides(grid: Grid) -> tuple[int, int, int]:
    return 1, grid.padded[2], grid.padded[1] * grid.padded[2]
