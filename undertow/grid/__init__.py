"""The MAC grid, where its values live, its ghost cells and the sides of the domain."""

from undertow.grid import jitting  # noqa: F401  (first: it tells Numba where kernels are kept)
from undertow.grid.grid import GHOSTS, Array, Grid, GridSpec
from undertow.grid.operators import largest_entry
from undertow.grid.sides import INFLOW, KIND_NAMES, OPEN, OUTFLOW, PERIODIC, SIDE_NAMES, WALL, Sides, SideSpec
from undertow.grid.threads import share, share_face_rows, share_rows

__all__ = [
    "GHOSTS", "INFLOW", "KIND_NAMES", "OPEN", "OUTFLOW", "PERIODIC", "SIDE_NAMES", "WALL",
    "Array", "Grid", "GridSpec", "SideSpec", "Sides", "largest_entry", "share", "share_face_rows", "share_rows",
]  # fmt: skip
