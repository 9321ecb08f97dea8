"""Bodies on a grid as other couplings see them: fluid volumes of dual cells in the place of open areas of faces.

The dual cell of a face reaches from the one cell centre to the other. w_f, the part of it that is fluid, is the mean of
the open fractions of the cells of a grid twice as fine that lie in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from undertow.geometry import Solid, SolidFields
from undertow.geometry.solids import ANGULAR, LINEAR
from undertow.grid import GHOSTS, Array, Grid, Sides

COPIED = ("phi_n", "area_f", "volume_c", "body_c", "distance_f", "velocity_f", "velocity_c")


class DualFields(SolidFields):
    """The fields of solids, and ``dual_f`` (3, Z, Y, X): the fluid fraction w of the dual cells of faces."""

    closes_moved = False

    def __init__(self, grid: Grid, solids: Sequence[Solid]) -> None:
        super().__init__(grid, solids)
        self.cut = SolidFields(grid, solids)
        """The same with open areas."""
        self.cut.closes_moved = self.closes_moved
        cells = tuple(2 * n if axis in grid.axes else n for axis, n in enumerate(grid.cells))
        half = 0.5 * grid.dx
        lower = tuple(x if axis in grid.axes else 0.5 * x for axis, x in enumerate(grid.lower))
        fine = Grid((cells[0], cells[1], cells[2]), half, (lower[0], lower[1], lower[2]), grid.dimensions)
        self._fine = SolidFields(fine, solids)
        self.dual_f = np.ones((3, *grid.padded))

    def end_at(self, sides: Sides) -> None:
        """Solids are there once per period, and close slits at walls."""
        super().end_at(sides)
        self.cut.end_at(sides)
        self._fine.end_at(sides)

    def update(self, t: float) -> bool:
        """Bring all fields to time t; True if the geometry changed."""
        self.time = t
        changed = [fields.update(t) for fields in (self.cut, self._fine)]
        for name in COPIED:
            getattr(self, name)[...] = getattr(self.cut, name)
        self.spec = self.cut.spec
        for axis in self.grid.axes:
            self._measure_dual(axis)
        self._replace_areas()
        if self.closing is not None:
            self.closing.apply(self.area_f)
        self.place_occlusion(t)
        return any(changed)

    def close_thin(self) -> None:
        self.cut.close_thin()
        self.closing = self.cut.closing

    def hull(self) -> np.ndarray:
        return self.cut.hull()

    def _measure_dual(self, axis: int) -> None:
        """w of the faces of the domain across an axis."""
        grid, fine = self.grid, self._fine.volume_c
        inner = [slice(GHOSTS, GHOSTS + grid.cells[other] + int(other == axis)) for other in (2, 1, 0)]
        total = np.zeros(tuple(s.stop - s.start for s in inner))
        for step in range(2 ** len(grid.axes)):
            taken = []
            for other in (2, 1, 0):
                n = grid.cells[other]
                if other not in grid.axes:
                    taken.append(slice(GHOSTS, GHOSTS + 1))
                    continue
                bit = (step >> other) & 1
                first = GHOSTS + bit - (1 if other == axis else 0)
                count = n + 1 if other == axis else n
                taken.append(slice(first, first + 2 * count - 1, 2))
            total += fine[tuple(taken)]
        self.dual_f[axis][tuple(inner)] = total / 2 ** len(grid.axes)

    def _replace_areas(self) -> None:
        """What the coupling has in the place of open areas."""


class VolumeFractionFields(DualFields):
    """The volume fractions of Batty et al. 2007 in the place of open areas.

    They minimise the kinetic energy of fluid and bodies with u on w_f and the body's velocity on 1 - w_f of every dual
    cell. Written as rows that is mass conservation with w_f for the open fraction phi_f, masses rho w_f V, and walls
    that act at the centres of faces: the rows of ``fluid.pressure`` with other numbers in them.
    """

    def _replace_areas(self) -> None:
        self.area_f[...] = self.dual_f
        # moments of open parts are about the centres of faces
        self.phi_n[...] = self.far


class LumpedFields(DualFields):
    """Voxels: a cell is solid or fluid as its centre is; faces beside solid cells are closed.

    carried_f (3, Z, Y, X): the fluid fraction of the dual cells of faces between a solid and a fluid cell, 0 elsewhere.
    """

    def __init__(self, grid: Grid, solids: Sequence[Solid]) -> None:
        super().__init__(grid, solids)
        self.carried_f = np.zeros((3, *grid.padded))
        # walls lie on the faces of cells
        self.wall_n = np.full(grid.padded, self.far)

    def _replace_areas(self) -> None:
        grid = self.grid
        solid = np.zeros(grid.padded, dtype=bool)
        solid[grid.interior] = self._centre_distance() < 0.0
        self.volume_c[...] = ~solid
        self.area_f[...] = 1.0
        self.carried_f[...] = 0.0
        for axis in grid.axes:
            at, n = 2 - axis, grid.cells[axis]
            first, last = _plane(at, GHOSTS), _plane(at, GHOSTS + n)
            above, below = solid.copy(), np.roll(solid, 1, axis=at)
            if self.period[axis] > 0.0:
                above[last], below[first] = solid[first], solid[_plane(at, GHOSTS + n - 1)]
            else:
                # beside a side of the domain there is no other cell
                above[last], below[first] = below[last], above[first]
            self.area_f[axis][above | below] = 0.0
            mixed = above != below
            self.carried_f[axis][mixed] = self.dual_f[axis][mixed]
        self._move_closed_faces()

    def owners(self, axis: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Bodies (m,) whose solid cells lie beside faces (m,), by axis and flat index of the cell above; -1: none.

        Between two bodies it is that of the cell above.
        """
        padded, count = self.grid.padded, np.array(self.grid.cells)
        stride = np.array([1, padded[2], padded[1] * padded[2]])[axis]
        at = cell // stride % np.array(padded[::-1])[axis]
        turns = self.period[axis] > 0.0
        below = cell - np.where((at == GHOSTS) & turns, 1 - count[axis], 1) * stride
        above = cell - np.where((at == GHOSTS + count[axis]) & turns, count[axis], 0) * stride
        solid, label = self.volume_c.reshape(-1) == 0.0, self.body_c.reshape(-1).astype(np.int64)
        return np.where(solid[above], label[above], np.where(solid[below], label[below], -1))

    def face_arms(self, axis: np.ndarray, index: np.ndarray, centre: Array) -> Array:
        """From centres to those of faces (m, 3) [m], by axis and padded index (x, y, z) of the cell above."""
        place = np.array(self.grid.lower) + (index - GHOSTS + 0.5 * (1.0 - np.eye(3)[axis])) * self.grid.dx
        return self.arms(place, centre)

    def _move_closed_faces(self) -> None:
        """Faces beside solid cells have the velocity of the body at their own centres: what it carries moves as it."""
        grid = self.grid
        face = np.flatnonzero(self.area_f.reshape(-1) == 0.0)
        axis, cell = np.divmod(face, int(np.prod(grid.padded)))
        body = self.owners(axis, cell)
        face, axis, cell, body = (x[body >= 0] for x in (face, axis, cell, body))
        index = np.stack(np.unravel_index(cell, grid.padded)[::-1], axis=1)
        rows = self.spec.rows[body]
        arm = self.face_arms(axis, index, self.spec.position[body])
        moved = rows[:, LINEAR : LINEAR + 3] + np.cross(rows[:, ANGULAR : ANGULAR + 3], arm)
        self.velocity_f.reshape(-1)[face] = moved[np.arange(len(face)), axis]

    def _centre_distance(self) -> Array:
        """Signed distances at the centres of the cells of the domain (nz, ny, nx): nodes of the finer grid."""
        taken = []
        for axis in (2, 1, 0):
            n, first = self.grid.cells[axis], GHOSTS + 1
            taken.append(slice(first, first + 2 * n - 1, 2) if axis in self.grid.axes else slice(GHOSTS, GHOSTS + 1))
        return np.asarray(self._fine.phi_n[tuple(taken)])


def _plane(at: int, index: int) -> tuple[slice | int, ...]:
    """Subscript of the plane of an index along an axis of an array."""
    return tuple(index if a == at else slice(None) for a in range(3))
