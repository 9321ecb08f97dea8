"""Where cells and faces are in arrays: for kernels the functions here, for NumPy those of ``Grid``.

Rows of cells are numbered row = (k - GHOSTS) ny + (j - GHOSTS), rows of faces with ny + 1 in the place of ny; kernels
of ``share_rows`` and ``share_face_rows`` are given ranges of these. All are parts of the kernels that call them.
"""

from __future__ import annotations

from undertow.grid.grid import GHOSTS
from undertow.grid.jitting import inlined


@inlined
def row_of_cells(spec, row):  # type: ignore[no-untyped-def]
    """(k, j) of a row of cells."""
    return row // spec.ny + GHOSTS, row % spec.ny + GHOSTS


@inlined
def row_of_faces(spec, row):  # type: ignore[no-untyped-def]
    """(k, j) of a row of faces."""
    return row // (spec.ny + 1) + GHOSTS, row % (spec.ny + 1) + GHOSTS


@inlined
def row_of_padded(spec, row):  # type: ignore[no-untyped-def]
    """(k, j) of a row of the padded array."""
    return row // (spec.ny + 2 * GHOSTS), row % (spec.ny + 2 * GHOSTS)


@inlined
def unit_step(axis):  # type: ignore[no-untyped-def]
    """One cell along an axis, as (k, j, i)."""
    return int(axis == 2), int(axis == 1), int(axis == 0)


@inlined
def neighbour(k, j, i, axis, way):  # type: ignore[no-untyped-def]
    """The cell ``way`` cells further along an axis."""
    return k + way * int(axis == 2), j + way * int(axis == 1), i + way * int(axis == 0)


@inlined
def padded(spec):  # type: ignore[no-untyped-def]
    """Cells of the padded array along x, y, z."""
    return spec.nx + 2 * GHOSTS, spec.ny + 2 * GHOSTS, spec.nz + 2 * GHOSTS


@inlined
def strides(spec):  # type: ignore[no-untyped-def]
    """What one cell along x, y, z adds to the number of a cell in the padded array."""
    row = spec.nx + 2 * GHOSTS
    return 1, row, row * (spec.ny + 2 * GHOSTS)
