"""The MAC grid, where its values live, its ghost cells and the sides of the domain."""

from undertow.grid import jitting  # noqa: F401  (first: it tells Numba where kernels are kept)
from undertow.grid.exchange import INFLOW, OPEN, OUTFLOW, PERIODIC, WALL, Exchange, SideSpec
from undertow.grid.grid import GHOSTS, Array, Grid, GridSpec
from undertow.grid.index import neighbour, padded, row_of_cells, row_of_faces, row_of_padded, strides, unit_step
from undertow.grid.operators import largest_entry, largest_of_rows, sum_rows
from undertow.grid.sides import KIND_NAMES, SIDE_NAMES, Sides
from undertow.grid.threads import share, share_face_rows, share_rows

__all__ = [
    "GHOSTS", "INFLOW", "KIND_NAMES", "OPEN", "OUTFLOW", "PERIODIC", "SIDE_NAMES", "WALL",
    "Array", "Exchange", "Grid", "GridSpec", "SideSpec", "Sides", "largest_entry", "largest_of_rows",
    "neighbour", "padded", "row_of_cells", "row_of_faces", "row_of_padded", "share", "share_face_rows", "share_rows",
    "strides", "sum_rows", "unit_step",
]  # fmt: skip
