"""Faces in narrow gaps, between two walls that are less than a cell apart, and how much of their velocity is advected.

A wall that cuts a cell leaves open sections across an axis that grow or shrink from the one face to the other, so that

    V <= max(phi_lo, phi_hi)

for the open volume V of the cell. Between two walls the sections are wider inside than at both ends: the ratio of the
two says how narrow the cell is, 1 away from gaps and 0 in a film that walls shut on both sides. Walls of the domain are
closed faces.

Walls that approach each other squeeze the fluid out: mass conservation fixes the flux phi u of a face in a gap, and u
grows as 1 / phi. The fluid there weighs phi of a face. Transport carries velocities, not momenta: what a gap gives to
whole faces beside it would be 1 / phi too much. What it may carry is w u + (1 - w) times the velocity about the gap,
w = phi: the flux, which stays bounded however narrow the gap is.
"""

from __future__ import annotations

import numpy as np

from undertow.fluid.domain import FluidDomain
from undertow.grid import GHOSTS, Array

GAP = 0.2
"""Faces with less than this fraction open are gaps where solids touch."""

SLIVER = 1e-3
"""Faces with less than this fraction open have no velocity to speak of, wherever they are."""

NARROW = 0.9
"""Cells are narrow if their ends are narrower than this part of their volume: corners of bodies that the grid rounds
come to 0.98."""


def find_narrow_faces(domain: FluidDomain, least: float, work_c: np.ndarray) -> tuple[np.ndarray, Array]:
    """Faces of which less than the whole velocity is to be carried, flat indices (m,) of the padded face field, in
    order, and the parts w (m,); work_c: (Z, Y, X) bytes.

    A face is in a gap if a cell beside it is narrow across another axis; w is the larger of what is open of the face
    and of what the cell has at its ends. Faces open by less than ``least`` have w = 0, in gaps or not.
    """
    grid = domain.grid
    np.less(domain.volume_c, 1.0, out=work_c.view(np.bool_))
    cell = np.flatnonzero(work_c)
    shape = np.array(grid.padded[::-1])
    stride = np.array([1, shape[0], shape[0] * shape[1]])
    at = cell[:, None] // stride % shape - GHOSTS
    inside = np.all((at >= 0) & (at < grid.cells), axis=1)
    cell, at = cell[inside], at[inside]
    area, inverse = (field.reshape(3, -1) for field in (domain.area_f, domain.inv_mass_f))
    volume = np.maximum(domain.volume_c.reshape(-1)[cell], 1e-300)
    upper, ends = {}, {}
    for axis in grid.axes:
        around = grid.cells[axis] if domain.periodic[axis] else 0
        upper[axis] = cell + stride[axis] * np.where(at[:, axis] == grid.cells[axis] - 1, 1 - around, 1)
        low, high = (area[axis, face] * (inverse[axis, face] > 0.0) for face in (cell, upper[axis]))
        ends[axis] = np.maximum(low, high) / volume
    faces, parts = [], []
    for axis in grid.axes:
        narrow = np.minimum.reduce([ends[other] for other in grid.axes if other != axis])
        narrow = np.where(narrow < NARROW, narrow, 1.0)
        for face in (cell, upper[axis]):
            part = np.where(area[axis, face] < least, 0.0, np.maximum(area[axis, face], narrow))
            used = (part < 1.0) & (inverse[axis, face] > 0.0)
            faces.append(axis * area.shape[1] + face[used])
            parts.append(part[used])
    face, part = np.concatenate(faces), np.concatenate(parts)
    # of the two cells beside a face the narrower one
    order = np.lexsort((part, face))
    face, part = face[order], part[order]
    first = np.diff(face, prepend=-1) > 0
    return face[first], part[first]
