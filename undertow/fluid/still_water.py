"""What the pressure of water at rest does to solids, on their true surfaces.

The surface of a solid is cut by the cells (``geometry.body_surfaces``, ``geometry.pieces``). A piece s, n out of the
solid, belongs to the cell that it bounds the water of. What of it is below the surface feels force and torque alike,

    -rho int_s (g.x - r) (n, (x - x_b) x n) dA,

exactly, since the potential is linear and pieces are flat. It ends at the water line, in cells whose centre is in the
air too. r is g.x of the mean level of the body of water that the cell belongs to: there q = p - rho (g.x - c) is
-rho (r - c) at rest, and what is left in the cells that have a pressure,

    q + rho (r - c) = p - rho (g.x - r),

acts on the walls of the grid. So all of it is the transpose of what the wet part of a solid sweeps, for solids that are
moved and for those that move as prescribed.

Where a solid touches another one or a wall of the domain the slit is closed, and its pieces there bound no water. No
two solids fit so well that the water would not get between them: bodies that the fluid moves, and what they lie on,
feel its pressure in proportion to how wet they are beside the slit, else at their height. What solids that move as
prescribed cover of each other, and what lies on a side of the domain, feels nothing: their forces add up to what the
water loses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from undertow.geometry.body_surfaces import BodySurfaces, true_volume
from undertow.geometry.pieces import clip_half, clip_to_cell, find_bounds, set_element
from undertow.geometry.solids import SolidFields, distance_from, mean_of_corners
from undertow.grid import GHOSTS, Array, padded
from undertow.grid.jitting import borrowing
from undertow.linalg import Stencil

if TYPE_CHECKING:
    from undertow.fluid.surface_phase import SurfacePhase

NEAR = 1.5
"""Pieces less than this higher or lower than one in a slit say how wet it is [cells]."""

BESIDE = (0.01, 0.4, 0.8, 1.2)
"""How far out of the body the cell is looked for that a piece bounds the water of [cells]."""

LEVEL = 0.5
"""Surfaces tilted by more than the angle of this cosine have no height above a cell."""

FLUSH = 0.01
"""How far out of a piece [cells] what lies on it is looked for: of two walls in one plane one faces the other way."""

MOST = 6
"""Solids that a piece is looked for under."""


class LoadSpec(NamedTuple):
    """Pieces of the surfaces of solids in cells."""

    cell: np.ndarray  # (m,) flat index of the padded cell whose water they bound
    body: np.ndarray  # (m,)
    slit: np.ndarray  # (m,) 1: that cell has neither a pressure nor air, else 0
    region: np.ndarray  # (m,) the body of water it belongs to, 0: none
    area: np.ndarray  # (m,) [m2; 2D m]
    wet: np.ndarray  # (m,) the part of it below the surface
    height: np.ndarray  # (m,) g.x of their middle [m2/s2]
    load: np.ndarray  # (m, 6) what r = c makes of what is below the surface, over rho
    sweep: np.ndarray  # (m, 6) int (n, (x - x_b) x n) dA of that


def _make_loads(room: int) -> LoadSpec:
    cell, body, slit, region = (np.zeros(room, np.int64) for _ in range(4))
    area, wet, height = (np.zeros(room) for _ in range(3))
    return LoadSpec(cell, body, slit, region, area, wet, height, np.zeros((room, 6)), np.zeros((room, 6)))


class StillWater:
    """Loads of the water of ``phase`` at rest on ``solids``.

    load_b (n, 6): over rho, about the centres given. wet_b (n,): part of the surface of each that is wet. level
    (regions + 1,): g.x of the mean level of every body of water, c without any [m2/s2].
    """

    def __init__(self, phase: SurfacePhase, solids: SolidFields, count: int, volume_b: Array | None = None) -> None:
        """count: bodies, of which the first are the solids. volume_b (n,): true ones [m3; 2D m2], where known."""
        self.phase, self.solids, self.count, self.volume_b = phase, solids, count, volume_b
        self.load_b, self.wet_b = np.zeros((count, 6)), np.ones(count)
        self.level = np.zeros(1)
        self._surfaces: BodySurfaces | None = None
        self._chosen_b = np.zeros(0, dtype=bool)
        self._loads = _make_loads(0)
        self._open_c = np.zeros(phase.domain.grid.padded, dtype=np.uint8)
        self._open = np.zeros(0, np.int64)

    def measure(self, stencil: Stencil, chosen_b: np.ndarray, held_b: np.ndarray, centre_b: Array) -> None:
        """Loads of the water where it is now on the solids chosen (m,) where they are, about centres (n, 3) [m]; held_b
        (m,): those that move as prescribed."""
        phase, solids = self.phase, self.solids
        self.load_b[...] = 0.0
        self.level = self.phase.levels(stencil)
        placed, water = self._place(chosen_b), self._water_box()
        # dry pieces count for what bodies are wet of
        near = ~held_b[placed.body] | (
            (placed.x.max(axis=1) >= water[0]) & (placed.x.min(axis=1) <= water[1])
        ).all(axis=1)  # fmt: skip
        surface, body, part = placed.elements(near)
        grid, held = phase.domain.grid, held_b.astype(np.uint8)
        assert phase.domain.solids is not None
        label = stencil.label[: phase.phi_c.size].reshape(phase.phi_c.shape)
        upper = np.array([*grid.upper, 0.0][:3])
        while True:
            size = int(
                _find_loads(
                    grid.spec, upper, surface, body, part, held, solids.thin_b(), solids.spec.rows, solids.spec.tables,
                    len(solids.solids), solids.body_c, centre_b, phase.phi_c, phase.domain.solids.phi_n,
                    stencil.diagonal_c, phase.domain.volume_c, label, self._mark_open(), phase.level, phase.gravity,
                    self._loads,
                )
            )  # fmt: skip
            if size <= len(self._loads.cell):
                break
            self._loads = _make_loads(2 * size)
        self._sum(LoadSpec(*(array[:size] for array in self._loads)))

    def pressure_beside(self, stencil: Stencil, p_c: Array) -> Array:
        """p - rho (g.x - r) [Pa] (Z, Y, X) in cells that have a pressure, 0 elsewhere."""
        phase, grid = self.phase, self.phase.domain.grid
        cell = np.flatnonzero(stencil.label[: p_c.size])
        found = np.zeros(p_c.size)
        height = phase.wall_cells.potential(cell, phase.gravity)
        found[cell] = p_c.reshape(-1)[cell] - phase.mass_in(cell, height - self.level[stencil.label[cell]])
        return found.reshape(grid.padded)

    def _mark_open(self) -> np.ndarray:
        """1 in cells that walls do not hold, whose walls are dry."""
        flat = self._open_c.reshape(-1)
        flat[self._open] = 0
        self._open = self.phase.open_cells
        flat[self._open] = 1
        return self._open_c

    def _place(self, chosen_b: np.ndarray) -> BodySurfaces:
        """The surfaces of the solids chosen, where they are; those of shapes that deform are made anew."""
        solids, grid = self.solids, self.phase.domain.grid
        moving = any(solid.shape.is_animated for solid, chosen in zip(solids.solids, chosen_b, strict=True) if chosen)
        if self._surfaces is None or moving or not np.array_equal(chosen_b, self._chosen_b):
            volume_b = self.volume_b
            if volume_b is None:
                volume_b = np.array([true_volume(solid, grid.dimensions, solids.time) for solid in solids.solids])
            self._surfaces = BodySurfaces(grid, solids.solids, volume_b, chosen_b, solids.time)
            self._chosen_b = chosen_b.copy()
        self._surfaces.place(solids.time)
        return self._surfaces

    def _water_box(self) -> Array:
        """Lower and upper corner (2, 3) [m] of what the water is in, by rows of cells along x."""
        grid, wet = self.phase.domain.grid, self.phase.wet_rows.reshape(self.phase.domain.grid.cells[:0:-1]) > 0
        box = np.array([np.full(3, -np.inf), np.full(3, np.inf)])
        for axis, rows in ((1, wet.any(axis=0)), (2, wet.any(axis=1)))[: grid.dimensions - 1]:
            found = np.flatnonzero(rows)
            # what a piece bounds is looked for a cell and a half away
            ends = (found[0] - 2, found[-1] + 3) if len(found) else (np.inf, -np.inf)
            box[:, axis] = grid.lower[axis] + grid.dx * np.array(ends)
        return box

    def _sum(self, loads: LoadSpec) -> None:
        """Loads and wet parts of bodies; pieces in slits are as wet as those beside them, and by the level of the body
        of water that wets most of their body."""
        known, regions = loads.slit == 0, len(self.level)
        at = loads.body * regions + loads.region
        wetted = np.bincount(at, loads.wet * (loads.region > 0), self.count * regions).reshape(-1, regions)
        level_b = np.where(wetted.max(axis=1) > 0.0, self.level[wetted.argmax(axis=1)], self.phase.level)
        level = np.where(loads.region > 0, self.level[loads.region], level_b[loads.body])
        part = np.divide(loads.wet, loads.area, out=np.zeros(len(loads.wet)), where=loads.area > 0.0)
        part[~known] = self._wet_beside(loads, known)
        weight = np.where(known, 1.0, part)
        found = loads.load + (level - self.phase.level)[:, None] * loads.sweep
        np.add.at(self.load_b, loads.body, weight[:, None] * found)
        area, wet = (np.bincount(loads.body, x, self.count) for x in (loads.area, part * loads.area))
        self.wet_b[...] = wet / np.maximum(area, 1e-300)

    def _wet_beside(self, loads: LoadSpec, known: np.ndarray) -> Array:
        """Wet part (s,) of what bounds water near the pieces in slits: in the cells about theirs, else at their
        height."""
        grid = self.phase.domain.grid
        slit = LoadSpec(*(array[~known] for array in loads))
        open_ = LoadSpec(*(array[known] for array in loads))
        cells = grid.size
        key, at = np.unique(open_.body * cells + open_.cell, return_inverse=True)
        sums = np.stack([np.bincount(at, x, len(key)) for x in (open_.wet, open_.area)])
        near = np.zeros((2, len(slit.cell)))
        if not len(key):
            return near[0]
        stride = grid.stride[: grid.dimensions]
        steps = np.stack(np.meshgrid(*[(-1, 0, 1)] * grid.dimensions), axis=-1).reshape(-1, grid.dimensions)
        for step in steps @ stride:
            wanted = slit.body * cells + slit.cell + step
            place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            near += np.where(key[place] == wanted, sums[:, place], 0.0)
        reach = NEAR * grid.dx * float(np.linalg.norm(self.phase.gravity))
        for m in np.flatnonzero(near[1] == 0.0):
            of = (open_.body == slit.body[m]) & (np.abs(open_.height - slit.height[m]) <= reach)
            near[:, m] = open_.wet[of].sum(), open_.area[of].sum()
        return np.asarray(near[0] / np.maximum(near[1], 1e-300))


@borrowing
def _is_clear(spec, phi_n, k, j, i):  # type: ignore[no-untyped-def]
    """Whether a cell lies in the domain and its centre outside solids."""
    inside = i >= GHOSTS and i < GHOSTS + spec.nx and j >= GHOSTS and j < GHOSTS + spec.ny
    inside = inside and k >= GHOSTS and k < GHOSTS + spec.nz
    return inside and mean_of_corners(spec, phi_n, k, j, i) >= 0.0


@borrowing
def _slope(spec, phi, phi_n, k, j, i, az, ay, ax):  # type: ignore[no-untyped-def]
    """Derivative of phi along an axis, times dx, from neighbours outside solids; 0 without any."""
    low, high = phi[k - az, j - ay, i - ax], phi[k + az, j + ay, i + ax]
    has_low = _is_clear(spec, phi_n, k - az, j - ay, i - ax)
    has_high = _is_clear(spec, phi_n, k + az, j + ay, i + ax)
    if has_low and has_high:
        return 0.5 * (high - low)
    if has_high:
        return high - phi[k, j, i]
    return phi[k, j, i] - low if has_low else 0.0


@borrowing
def _surface_level(spec, phi, phi_n, g, k, j, i):  # type: ignore[no-untyped-def]
    """Whether the surface passes above or below a cell's centre within a cell, and g.x there."""
    here = phi[k, j, i]
    if abs(here) > spec.dx:
        return False, 0.0
    sx = _slope(spec, phi, phi_n, k, j, i, 0, 0, 1)
    sy = _slope(spec, phi, phi_n, k, j, i, 0, 1, 0)
    sz = _slope(spec, phi, phi_n, k, j, i, 1, 0, 0) if spec.dimensions == 3 else 0.0
    size = np.sqrt(sx * sx + sy * sy + sz * sz)
    strength = np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    # along the normal of the surface, out of the water
    along = g[0] * sx + g[1] * sy + g[2] * sz
    if size == 0.0 or -along < LEVEL * size * strength:
        return False, 0.0
    x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
    y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
    z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx
    return True, g[0] * x + g[1] * y + g[2] * z - here * along / size


@borrowing
def _cell_at(spec, place, normal, away):  # type: ignore[no-untyped-def]
    """Padded cell (k, j, i), of the grid or its ghosts, so far along the normal from a place."""
    i = int(np.floor((place[0] + away * normal[0] - spec.x0) / spec.dx)) + GHOSTS
    j = int(np.floor((place[1] + away * normal[1] - spec.y0) / spec.dx)) + GHOSTS
    k = GHOSTS
    if spec.dimensions == 3:
        k = int(np.floor((place[2] + away * normal[2] - spec.z0) / spec.dx)) + GHOSTS
        k = min(max(k, 0), spec.nz + 2 * GHOSTS - 1)
    return k, min(max(j, 0), spec.ny + 2 * GHOSTS - 1), min(max(i, 0), spec.nx + 2 * GHOSTS - 1)


@borrowing
def _is_before(spec, place, normal, k, j, i):  # type: ignore[no-untyped-def]
    """Whether the centre of a cell is on the side of a place that the normal points to."""
    x, y = spec.x0 + (i - GHOSTS + 0.5) * spec.dx, spec.y0 + (j - GHOSTS + 0.5) * spec.dx
    z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx if spec.dimensions == 3 else place[2]
    return normal[0] * (x - place[0]) + normal[1] * (y - place[1]) + normal[2] * (z - place[2]) > 0.0


@borrowing
def _level_beside(spec, place, normal, phi, phi_n, volume, thin, g):  # type: ignore[no-untyped-def]
    """That of ``_surface_level`` in the nearest cell along the normal whose centre is outside solids: phi inside them
    is made up. Also whether there is water in that cell, or if there is none such in the nearest."""
    k0, j0, i0 = _cell_at(spec, place, normal, BESIDE[0] * spec.dx)
    for step in range(len(BESIDE)):
        k, j, i = _cell_at(spec, place, normal, BESIDE[step] * spec.dx)
        beyond = thin == 1 and (volume[k, j, i] == 0.0 or not _is_before(spec, place, normal, k, j, i))
        if _is_clear(spec, phi_n, k, j, i) and not beyond:
            near, level = _surface_level(spec, phi, phi_n, g, k, j, i)
            return near, level, phi[k, j, i] <= 0.0
    return False, 0.0, phi[k0, j0, i0] <= 0.0


@borrowing
def _find_cell(spec, middle, normal, phi, diagonal, volume, thin, opened):  # type: ignore[no-untyped-def]
    """The nearest cell (k, j, i) out of the body from the middle of a piece that has a pressure, air or a dry wall, and
    whether there is one; without any the nearest of all. Those of a thin body have their centres out of it."""
    k0, j0, i0 = _cell_at(spec, middle, normal, BESIDE[0] * spec.dx)
    for step in range(len(BESIDE)):
        k, j, i = _cell_at(spec, middle, normal, BESIDE[step] * spec.dx)
        inside = i >= GHOSTS and i < GHOSTS + spec.nx and j >= GHOSTS and j < GHOSTS + spec.ny
        inside = inside and k >= GHOSTS and k < GHOSTS + spec.nz
        inside = inside and (thin == 0 or _is_before(spec, middle, normal, k, j, i))
        is_air = volume[k, j, i] > 0.0 and (phi[k, j, i] > 0.0 or opened[k, j, i] == 1)
        if inside and (diagonal[k, j, i] > 0.0 or is_air):
            return True, k, j, i
    return False, k0, j0, i0


@borrowing
def _region_beside(phi, label, g, k, j, i):  # type: ignore[no-untyped-def]
    """The body of water of a cell, of one in the air that of the cell below it; 0: none."""
    if phi[k, j, i] <= 0.0:
        return label[k, j, i]
    down = 0 if abs(g[0]) >= abs(g[1]) and abs(g[0]) >= abs(g[2]) else (1 if abs(g[1]) >= abs(g[2]) else 2)
    way = 1 if g[down] > 0.0 else -1
    return label[k + way * int(down == 2), j + way * int(down == 1), i + way * int(down == 0)]


@borrowing
def _uncovered(spec, upper, held, rows, tables, solids, body_c, k, j, i, b, normal, near, p, n, q):  # type: ignore[no-untyped-def]
    """p: what of the polygon p of n corners in a cell, of solid b, lies in the domain and under no other solid that
    moves as prescribed; the number of its corners. near, q: scratch.

    Of two that lie in one plane and face the same way the earlier one is covered.
    """
    for axis in range(spec.dimensions):
        low = spec.x0 if axis == 0 else (spec.y0 if axis == 1 else spec.z0)
        place = 0.0
        for a in range(n):
            place += p[a, axis] / n
        place += FLUSH * spec.dx * normal[axis]
        if place < low or place > upper[axis]:
            return 0
    count = 0
    thick = 1 if spec.dimensions == 3 else 0
    for kn in range(k - thick, k + thick + 1):
        for jn in range(j - 1, j + 2):
            for i_n in range(i - 1, i + 2):
                if kn < 0 or jn < 0 or i_n < 0 or kn >= body_c.shape[0] or jn >= body_c.shape[1]:
                    continue
                o = body_c[kn, jn, i_n] if i_n < body_c.shape[2] else -1
                if o < 0 or o == b or held[o] == 0:
                    continue
                known = count == MOST
                for m in range(count):
                    known = known or near[m] == o
                if not known:
                    near[count] = o
                    count += 1
    for m in range(count):
        o = near[m]
        away = FLUSH * spec.dx if o > b else 0.0
        for a in range(n):
            x, y, z = p[a, 0] + away * normal[0], p[a, 1] + away * normal[1], p[a, 2] + away * normal[2]
            p[a, 4] = distance_from(spec, rows, tables, solids, o, x, y, z)
        n = clip_half(p, n, 4, 1e-6 * spec.dx, 1.0, q)
        for a in range(n):
            for c in range(6):
                p[a, c] = q[a, c]
        if n < 3:
            return 0
    return n


@njit(cache=True)
def _find_loads(  # type: ignore[no-untyped-def]
    spec, upper, surface, body, share, held, thin, rows, tables, solids, body_c, centre_b, phi, phi_n, diagonal, volume,
    label, opened, zero, g, out
):  # fmt: skip
    """Fill ``out`` as far as it has room and return how many pieces there are; upper (3,): corner of the domain [m].

    (g.x) (x - x_b) is quadratic over a triangle: its mean is that of the middles of the sides.
    """
    found = 0
    room = len(out.cell)
    whole, p, q = np.zeros((4, 6)), np.zeros((16 + MOST, 6)), np.zeros((16 + MOST, 6))
    near = np.zeros(MOST, np.int64)
    depth = spec.dx if spec.dimensions == 2 else 1.0
    nx, ny, _ = padded(spec)
    bound, normal, middle, load = np.zeros((3, 4)), np.zeros(3), np.zeros(3), np.zeros(6)
    side, sweep = np.zeros(3), np.zeros(6)
    for e in range(len(surface.element)):
        b = body[e]
        corners = set_element(spec, surface, 0, e, whole)
        for a in range(corners):
            whole[a, 3] = g[0] * whole[a, 0] + g[1] * whole[a, 1] + g[2] * whole[a, 2]
        find_bounds(spec, whole, corners, bound)
        ax, ay, az = whole[1, 0] - whole[0, 0], whole[1, 1] - whole[0, 1], whole[1, 2] - whole[0, 2]
        bx, by, bz = whole[2, 0] - whole[0, 0], whole[2, 1] - whole[0, 1], whole[2, 2] - whole[0, 2]
        normal[0], normal[1], normal[2] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        size = np.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
        if size <= 0.0:
            continue
        normal[:] /= size
        offset = normal[0] * whole[0, 0] + normal[1] * whole[0, 1] + normal[2] * whole[0, 2]
        half = 0.5001 * spec.dx * (abs(normal[0]) + abs(normal[1]) + abs(normal[2]))
        for k in range(int(bound[2, 0]), int(bound[2, 1]) + 1):
            for j in range(int(bound[1, 0]), int(bound[1, 1]) + 1):
                for i in range(int(bound[0, 0]), int(bound[0, 1]) + 1):
                    x = spec.x0 + (i - GHOSTS + 0.5) * spec.dx
                    y = spec.y0 + (j - GHOSTS + 0.5) * spec.dx
                    z = spec.z0 + (k - GHOSTS + 0.5) * spec.dx
                    inner = i > 0 and j > 0 and i < nx - 1 and j < ny - 1
                    inner = inner and (spec.dimensions == 2 or (k > 0 and k < spec.nz + 2 * GHOSTS - 1))
                    if inner and abs(normal[0] * x + normal[1] * y + normal[2] * z - offset) > half:
                        continue
                    for a in range(corners):
                        for c in range(4):
                            p[a, c] = whole[a, c]
                    n = clip_to_cell(spec, bound, k, j, i, p, corners, q)
                    if n >= 3 and held[b] == 1:
                        n = _uncovered(
                            spec, upper, held, rows, tables, solids, body_c, k, j, i, b, normal, near, p, n, q
                        )
                    if n < 3:
                        continue
                    middle[:] = 0.0
                    value = 0.0
                    for a in range(n):
                        for c in range(3):
                            middle[c] += p[a, c] / n
                        value += p[a, 3] / n
                    is_open, kc, jc, ic = _find_cell(spec, middle, normal, phi, diagonal, volume, thin[b], opened)
                    area = share[e] * _polygon_area(p, n) / depth
                    region = 0
                    if is_open:
                        region = _region_beside(phi, label, g, kc, jc, ic)
                        at_surface, height, is_liquid = _level_beside(
                            spec, middle, normal, phi, phi_n, volume, thin[b], g
                        )
                        if opened[kc, jc, ic] == 1:
                            n = 0
                        elif at_surface:
                            n = clip_half(p, n, 3, height, 1.0, q)
                            for a in range(n):
                                for c in range(4):
                                    p[a, c] = q[a, c]
                        elif not is_liquid:
                            n = 0
                    load[:] = 0.0
                    sweep[:] = 0.0
                    wet = 0.0
                    for a in range(1, n - 1):
                        part = share[e] * _triangle_area(p, a) / depth
                        wet += part
                        for s in range(3):
                            u, v = (0, a) if s == 0 else ((a, a + 1) if s == 1 else (a + 1, 0))
                            push = -part / 3.0 * (0.5 * (p[u, 3] + p[v, 3]) - zero)
                            for c in range(3):
                                side[c] = 0.5 * (p[u, c] + p[v, c]) - centre_b[b, c]
                            for c in range(3):
                                c1, c2 = (c + 1) % 3, (c + 2) % 3
                                turn = side[c1] * normal[c2] - side[c2] * normal[c1]
                                load[c] += push * normal[c]
                                load[3 + c] += push * turn
                                sweep[c] += part / 3.0 * normal[c]
                                sweep[3 + c] += part / 3.0 * turn
                    if spec.dimensions == 2:
                        load[3] = load[4] = sweep[3] = sweep[4] = 0.0
                    if found < room:
                        out.cell[found] = (kc * ny + jc) * nx + ic
                        out.body[found] = b
                        out.slit[found] = 0 if is_open else 1
                        out.region[found] = region
                        out.area[found], out.wet[found], out.height[found] = area, wet, value
                        for c in range(6):
                            out.load[found, c] = load[c]
                            out.sweep[found, c] = sweep[c]
                    found += 1
    return found


@borrowing
def _triangle_area(p, a):  # type: ignore[no-untyped-def]
    """That of corners 0, a and a + 1 of a polygon."""
    ax, ay, az = p[a, 0] - p[0, 0], p[a, 1] - p[0, 1], p[a, 2] - p[0, 2]
    bx, by, bz = p[a + 1, 0] - p[0, 0], p[a + 1, 1] - p[0, 1], p[a + 1, 2] - p[0, 2]
    cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return 0.5 * np.sqrt(cx * cx + cy * cy + cz * cz)


@borrowing
def _polygon_area(p, n):  # type: ignore[no-untyped-def]
    area = 0.0
    for a in range(1, n - 1):
        area += _triangle_area(p, a)
    return area
