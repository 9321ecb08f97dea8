"""Where the fluid is: open face fractions, face masses and prescribed faces of one grid with its sides and solids.

Notation of the kernels: ``area`` is the open fraction phi_f of a face in [0, 1]; the mass of a face is
beta_f = rho phi_f V (thesis 6.3.6: Ng, Min and Gibou 2009 in factored form), V halved on a p = 0 boundary, and its
inverse is 0 where the velocity is prescribed or the face is closed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.geometry import SolidFields
from undertow.grid import GHOSTS, INFLOW, PERIODIC, WALL, Array, Grid, Sides, share
from undertow.grid.jitting import borrowing
from undertow.linalg import used_planes


class FluidDomain:
    """Open fractions and masses, rebuilt when the solids move.

    area_f (3, Z, Y, X): open fraction of faces.  volume_c: open fraction of cells.  inv_mass_f (3, Z, Y, X): 1 / beta_f
    [1/kg; 2D m/kg].  open_f (uint8): faces whose velocity belongs to the fluid.
    ``voxel``: the reference treatment of thesis figure 5.2 instead of cut cells: a cell is solid when more than half of
    it is, every face that touches a solid cell has the solid's velocity, every other face is open.
    """

    def __init__(
        self, grid: Grid, sides: Sides, solids: SolidFields | None, density: float, voxel: bool = False
    ) -> None:
        self.grid = grid
        self.sides = sides
        self.solids = solids
        self.density = density
        self.voxel = voxel and solids is not None
        self.periodic = np.array([sides.is_periodic(a) and a in grid.axes for a in range(3)], dtype=np.int64)
        x, y, z = (bool(p) for p in self.periodic)
        self.periodic_axes = (x, y, z)
        if solids is not None:
            solids.end_at(sides)
            solids.close_thin()
        whole = solids is None or self.voxel
        self.area_f = np.ones((3, *grid.padded)) if whole else solids.area_f  # type: ignore[union-attr]
        self.volume_c = np.ones(grid.padded) if solids is None else solids.volume_c
        self.inv_mass_f = grid.face_field()
        self.open_f = np.ones((3, *grid.padded), dtype=np.uint8)
        self._whole = np.zeros(grid.padded[0] * grid.padded[1], dtype=np.uint8)
        self.rebuild()

    def rebuild(self) -> None:
        """Masses from the present open fractions."""
        planes, rows, _ = self.grid.padded
        share(
            _compute_inverse_mass, planes * rows, self.grid.cell_count, self.grid.spec, self.sides.spec.kind,
            self.area_f, self.volume_c, int(self.voxel), 1.0 / (self.density * self.grid.cell_volume), self.inv_mass_f,
            self.open_f, self._whole,
        )  # fmt: skip

    def set_wall_velocity(self, u_f: Array) -> None:
        """Faces that do not belong to the fluid take the solid's velocity."""
        if self.solids is not None:
            for axis in self.grid.axes:
                # plane by plane: no mask of the whole field
                planes = (used_planes(x[axis]) for x in (u_f, self.solids.velocity_f, self.open_f))
                for u, wall, is_open in zip(*planes, strict=True):
                    np.copyto(u, wall, where=is_open == 0)

    def prescribe(self, u_f: Array) -> None:
        """Before a solve: the faces of solid voxels are prescribed."""
        if self.voxel:
            self.set_wall_velocity(u_f)


@njit(cache=True)
def wrap(i, n, periodic):  # type: ignore[no-untyped-def]
    """Index i brought back into the interior of a periodic axis."""
    if periodic == 1:
        if i >= GHOSTS + n:
            return i - n
        if i < GHOSTS:
            return i + n
    return i


@borrowing
def has_body(spec, body, k, j):  # type: ignore[no-untyped-def]
    """Whether a row has cells near solids; body: their numbers, negative without one. Most rows have none."""
    row = body[k, j, GHOSTS : GHOSTS + spec.nx]
    count = 0
    for m in range(spec.nx):
        count += row[m] >= 0
    return count > 0


@njit(cache=True)
def last_face(n, periodic):  # type: ignore[no-untyped-def]
    """One past the last face index that is an unknown of its own along an axis of n cells."""
    return GHOSTS + n + 1 - periodic


@njit(cache=True, nogil=True)
def _compute_inverse_mass(  # type: ignore[no-untyped-def]
    spec, kind, area, volume, voxel, scale, out_inv_mass, out_open, out_whole, start, stop
):
    """1 / (rho phi V); 0 on closed and prescribed faces; the p = 0 boundary face has half the volume.

    out_whole: 1 for rows whose faces are all whole; those that were and are keep what they have.
    """
    n = (spec.nx, spec.ny, spec.nz)
    for row in range(start, stop):
        k = row // out_inv_mass.shape[2]
        j = row % out_inv_mass.shape[2]
        cut = 0
        for a in range(spec.dimensions):
            faces = area[a, k, j]
            for m in range(area.shape[3]):
                cut += faces[m] != 1.0
        if cut == 0 and voxel == 0 and out_whole[row] == 1:
            continue
        out_whole[row] = 1 if cut == 0 else 0
        for a in range(3):
            for i in range(out_inv_mass.shape[3]):
                out_inv_mass[a, k, j, i] = 0.0
                out_open[a, k, j, i] = 1
            if a >= spec.dimensions:
                continue
            kz = spec.nz + (1 if a == 2 else 0)
            jy = spec.ny + (1 if a == 1 else 0)
            ix = spec.nx + (1 if a == 0 else 0)
            if k < GHOSTS or k >= GHOSTS + kz or j < GHOSTS or j >= GHOSTS + jy:
                continue
            for i in range(GHOSTS, GHOSTS + ix):
                phi = area[a, k, j, i]
                solid = voxel == 1 and (
                    volume[k, j, i] < 0.5 or volume[k - int(a == 2), j - int(a == 1), i - int(a == 0)] < 0.5
                )
                if phi <= 0.0 or solid:
                    out_open[a, k, j, i] = 0
                    continue
                at = i if a == 0 else (j if a == 1 else k)
                factor = 1.0
                if at == GHOSTS or at == GHOSTS + n[a]:
                    side = kind[2 * a + (1 if at > GHOSTS else 0)]
                    if side == PERIODIC:
                        factor = 0.0 if at > GHOSTS else 1.0
                    else:
                        factor = 0.0 if side in (WALL, INFLOW) else 2.0
                out_inv_mass[a, k, j, i] = factor * scale / phi
