"""Open fractions of the faces beside shells: both sides of a thin wall as cut cells, with one velocity per face.

The section of a plane of faces across an axis is divided by a shell. The face that holds the velocity of a side is the
last one whose line between cell centres the shell leaves alone. It stands for the section up to the shell: what it
takes from, or leaves to, the next face is tau,

    phi_f = 1 + sum tau,      o_f = 1 - phi_f,      F_f = A o_f J,      masses rho dx^d phi_f,

J being the shell's velocity where it crosses the plane. A coupled face lets A J v pass as before (o = 1), and carries of
its fluid what no face beside it stands for: near places where the shell lies across the axis, and fluid moves with it.
The masses of a plane add up to its fluid, and a uniform motion of all meets the rows. That is the Galerkin form of cut
cells on both sides with the pressure of parts that a shell cuts off from their cell continued linearly from the cells
beside them, so that no unknowns are added; on voxel faces alone a body of sheet has an added mass of first order.

Crossings with lines between faces of a plane find the section: exact in 2D; in 3D the midpoint rule along the two
axes of the plane, weighted by the squares of the normal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.coupling.pieces import SurfaceSpec
from undertow.coupling.voxel import VoxelFaces
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


def share_sections(voxel: VoxelFaces, surface: SurfaceSpec, free_f: np.ndarray, area_f: Array) -> Shares:
    """Open fractions of the faces beside a shell, in area_f, and what goes with them. free_f (3, Z, Y, X): faces that could be coupled.
    """
    import scipy.sparse as sparse

    grid = voxel.grid
    cells, stride = int(np.prod(grid.padded)), _strides(grid)
    coupled = np.zeros(3 * cells, dtype=bool)
    coupled[voxel.face] = True
    whole = (free_f.reshape(-1) > 0) & (area_f.reshape(-1) == 1.0) & ~coupled
    number = np.full(3 * cells, -1, np.int64)
    number[voxel.face] = np.arange(len(voxel.face))
    kept = np.full((len(voxel.face), 2), 0.5)
    to, of, part, element, at = [], [], [], [], []
    for across in grid.axes:
        found = voxel.cross_planes(across, surface)
        open_a, coupled_a, number_a = (x[across * cells : (across + 1) * cells] for x in (whole, coupled, number))
        for along in grid.axes:
            if along == across:
                continue
            one, crossed = find_single(grid, found, surface, across, along)
            cut = np.zeros(cells, dtype=bool)
            cut[crossed] = True
            step, beside = stride[along], coupled[along * cells : (along + 1) * cells]
            for side in (0, 1):
                # from the face on this side of the crossing to the one beyond it
                near = one.face - (step if side == 0 else 0)
                far = one.face - (0 if side == 0 else step)
                next_ = near + (-step if side == 0 else step)
                theta = one.place if side == 0 else 1.0 - one.place
                uncut = ~cut[near if side == 0 else next_]
                given = [
                    (open_a[near] & (open_a | coupled_a)[far], near, far, np.maximum(theta - 0.5, 0.0)),
                    (coupled_a[near] & open_a[next_] & uncut, next_, near, np.minimum(theta + 0.5, 1.0)),
                ]
                # the shell divides what a coupled face has
                mine = number_a[near]
                held = np.flatnonzero(mine >= 0)
                above = ~beside[near if side == 0 else near + step]
                above = above.astype(np.int64)
                shift = one.weight * np.minimum(theta, 0.5)
                np.add.at(kept, (mine[held], above[held]), shift[held])
                np.add.at(kept, (mine[held], 1 - above[held]), -shift[held])
                for chosen, who, whose, tau in given:
                    k = np.flatnonzero(chosen & (tau > 0.0))
                    to.append(across * cells + who[k])
                    of.append(across * cells + whose[k])
                    part.append((one.weight * tau)[k])
                    element.append(one.element[k])
                    at.append(one.at[k])
                    # of which half the coupled face loses it
                    lost = number_a[whose[k]]
                    half = ~beside[(whose if side == 0 else whose + step)[k]]
                    used = lost >= 0
                    np.add.at(kept, (lost[used], half.astype(np.int64)[used]), -(one.weight * tau)[k][used])
    who, whose, tau = np.concatenate(to), np.concatenate(of), np.concatenate(part)
    # no face loses all
    change = np.bincount(who, tau, 3 * cells)
    loss = np.bincount(whose, tau, 3 * cells)
    scale = np.minimum(1.0, np.where(coupled, 1.0, 1.0 - LEAST) / np.maximum(loss, 1e-300))
    tau = tau * scale[whose]
    change = np.bincount(who, tau, 3 * cells) - np.bincount(whose, tau, 3 * cells) * ~coupled
    area_f.reshape(-1)[...] += change
    element_, at_ = np.concatenate(element), np.concatenate(at)
    m, corners = len(surface.element), surface.element.shape[1]
    nodes = surface.element[element_ % max(m, 1)]
    taken = ~coupled[whose]
    rows = np.concatenate([who, whose[taken]])
    value = np.concatenate([-tau, tau[taken]])[:, None] * np.concatenate([at_, at_[taken]])[:, :corners]
    columns = 3 * np.concatenate([nodes, nodes[taken]]) + (rows // cells)[:, None]
    shape = (3 * cells, 3 * voxel.nodes)
    passed = sparse.csr_matrix(
        (value.reshape(-1), (np.repeat(rows, corners), columns.reshape(-1))), shape=shape
    )
    return Shares(passed, np.maximum(kept, 0.0))


def no_shares(grid: Grid, nodes: int, coupled: int = 0) -> Shares:
    """None; coupled faces carry half a cell on either side."""
    import scipy.sparse as sparse

    return Shares(sparse.csr_matrix((3 * int(np.prod(grid.padded)), 3 * nodes)), np.full((coupled, 2), 0.5))


def _strides(grid: Grid) -> tuple[int, int, int]:
    return 1, grid.padded[2], grid.padded[1] * grid.padded[2]
