"""Water with a free surface and the solids in it, some of them soft, in one solve.

The rows of ``fluid.pressure`` in the liquid cells, solved for q = p - rho (g.x - c) as without bodies
(``fluid.free_surface``). The hydrostatic part acts on the pieces of soft surfaces in liquid cells as a known force
-rho (g.x - c) s at the middle of each piece: exact for what lies under the surface, since the potential is linear and
pieces are flat. On rigid bodies it is that of ``coupling.hydrostatic``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from undertow.coupling.soft_fields import SoftFields, closest_point, index_range
from undertow.geometry import Solid
from undertow.geometry.solids import BAND
from undertow.grid import GHOSTS, Array, Grid, Sides
from undertow.soft import SoftBodies


class FieldsUnderSurface(SoftFields):
    """``SoftFields`` whose phi_n and inner_c, what a surface of water keeps out of and follows inside, have the soft
    bodies too."""

    def __init__(
        self, grid: Grid, sides: Sides, solids: Sequence[Solid], bodies: SoftBodies, equal_weights: bool = False
    ) -> None:
        super().__init__(grid, sides, solids, bodies, equal_weights)
        self.inner_c = np.zeros_like(self.velocity_c)
        self._winding, self._square = np.zeros(grid.padded, dtype=np.int64), np.zeros(grid.padded)
        self._own_f = np.zeros((3, *grid.padded))

    def end_at(self, sides: Sides) -> None:
        """Under a surface there is room: slits at walls are closed."""
        super().end_at(sides)
        self.rigid.walls[...] = self.walls

    def update(self, t: float) -> bool:
        changed = super().update(t)
        if len(self.closed):
            band = BAND * self.grid.dx
            self._winding[...], self._square[...] = 0, band * band
            surface = self.surface._replace(element=self.closed)
            _mark_distance(self.grid.spec, surface, band, self._square, self._winding)
            join_inside(self._square, self._winding, self.phi_n)
        return changed

    def set_velocities(self) -> None:
        """Velocities of the walls of soft bodies; in cells the mean of their faces that no solid is nearer to."""
        super().set_velocities()
        self.inner_c[...] = self.velocity_c
        self._own_f[...] = 0.0
        self._own_f.reshape(-1)[self.near_arrays().face[self.nearer]] = 1.0
        for axis in self.grid.axes:
            own, wall, out = (np.moveaxis(f[axis], 2 - axis, 0) for f in (self._own_f, self.velocity_f, self.inner_c))
            faces = own[:-1] + own[1:]
            mean = (own * wall)[:-1] + (own * wall)[1:]
            np.divide(mean, faces, out=out[:-1], where=faces > 0.0)


@njit(cache=True)
def _mark_distance(spec, surface, band, out_square, out_winding):  # type: ignore[no-untyped-def]
    """Squared distance from the closed surfaces of the nodes within the band, and how often lines along x have entered
    them less left them between the node before and each node.

    A line through an edge crosses one of its two elements: the side on which a point lies is asked of each edge in
    one direction, whichever element it is asked for.
    """
    corners = surface.element.shape[1]
    x = np.zeros((3, 3))
    for e in range(len(surface.element)):
        low, high = np.full(3, 1e300), np.full(3, -1e300)
        for a in range(corners):
            for c in range(3):
                x[a, c] = surface.x[surface.element[e, a], c]
                low[c], high[c] = min(low[c], x[a, c]), max(high[c], x[a, c])
        i0, i1 = index_range(spec.x0, spec.dx, spec.nx, low[0] - band, high[0] + band)
        j0, j1 = index_range(spec.y0, spec.dx, spec.ny, low[1] - band, high[1] + band)
        k0, k1 = GHOSTS, GHOSTS
        if spec.dimensions == 3:
            k0, k1 = index_range(spec.z0, spec.dx, spec.nz, low[2] - band, high[2] + band)
        for k in range(k0, k1 + 1):
            z = spec.z0 + (k - GHOSTS) * spec.dx
            for j in range(j0, j1 + 1):
                y = spec.y0 + (j - GHOSTS) * spec.dx
                for i in range(i0, i1 + 1):
                    square, _, _, _ = closest_point(surface, 0, e, spec.x0 + (i - GHOSTS) * spec.dx, y, z)
                    out_square[k, j, i] = min(out_square[k, j, i], square)
                turn, at = 0, 0.0
                if corners == 2:
                    if (x[0, 1] > y) != (x[1, 1] > y):
                        turn = 1 if x[0, 1] > y else -1
                        at = x[0, 0] + (y - x[0, 1]) * (x[1, 0] - x[0, 0]) / (x[1, 1] - x[0, 1])
                else:
                    total, count = 0.0, 0
                    for a in range(3):
                        p, q = surface.element[e, (a + 1) % 3], surface.element[e, (a + 2) % 3]
                        u, v = min(p, q), max(p, q)
                        uy, uz = surface.x[u, 1], surface.x[u, 2]
                        side = (surface.x[v, 1] - uy) * (z - uz) - (surface.x[v, 2] - uz) * (y - uy)
                        positive = side >= 0.0
                        if p > q:
                            side, positive = -side, not positive
                        count += 1 if positive else -1
                        total += side
                        at += side * x[a, 0]
                    if count == 3 or count == -3:
                        turn = -1 if count == 3 else 1
                        at = at / total if total != 0.0 else x[0, 0]
                if turn != 0:
                    i = max(int(np.floor((at - spec.x0) / spec.dx)) + 1 + GHOSTS, 0)
                    if i < spec.nx + 2 * GHOSTS:
                        out_winding[k, j, i] += turn


def join_inside(square: Array, winding: np.ndarray, phi: Array) -> None:
    """phi = min(phi, d), d being the distance from the surfaces, negative inside, as far as ``square`` has it; changes
    ``square`` and ``winding``."""
    np.cumsum(winding, axis=2, out=winding)
    distance = np.sqrt(square, out=square)
    np.negative(distance, out=distance, where=winding != 0)
    np.minimum(phi, distance, out=phi)
