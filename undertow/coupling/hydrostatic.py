"""What is known of the pressure on bodies in water: its hydrostatic part, solved for being q = p - rho (g.x - c).

The surface of a body is cut by the cells (``coupling.body_surfaces``, ``coupling.pieces``). A piece s, n out of the
body, belongs to the cell that it bounds the water of. What of it is below the surface feels force and torque alike,

    J = -dt rho int_s (g.x - r) (n, (x - x_b) x n) dA + dt rho (r - c) F_c,

exactly, since the potential is linear and pieces are flat. It ends at the water line, in cells whose centre is in the
air too. r is g.x of the mean level of the body of water that the cell belongs to: there q = -rho (r - c) at rest, which
the second term makes up for. So J is the transpose of what the wet part of the body sweeps, the derivative of the
potential energy of the water that it displaces: in still water a body floats at the depth and the angle of Archimedes
wherever it is in its cells. (With the level of the cell itself for r the body would feel each ripple a second time, and
the water would not feel it: such bodies do not come to rest.)

Where a body touches another solid or a wall of the domain the slit is closed, and its pieces there bound no water. No
two solids fit so well that the water would not get between them: they feel its pressure in proportion to how wet the
body is beside them, else at their height. A block that lies flat on the floor weighs its buoyant weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.body_surfaces import BodySurfaces
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.pieces import clip_half, clip_to_cell, find_bounds, set_element
from undertow.coupling.rigid_walls import RigidWalls
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.phase import Phase
from undertow.geometry.solids import mean_of_corners
from undertow.grid import GHOSTS, Array
from undertow.grid.jitting import borrowing
from undertow.linalg import Stencil
from undertow.rigid.bodies import DYNAMIC

NEAR = 1.5
"""Pieces less than this higher or lower than one in a slit say how wet it is [cells]."""

BESIDE = (0.01, 0.4, 0.8, 1.2)
"""How far out of the body the cell is looked for that a piece bounds the water of [cells]."""

LEVEL = 0.5
"""Surfaces tilted by more than the angle of this cosine have no height above a cell."""


class DisplacedWeight:
    """The same in a fluid that fills the domain: a body feels the weight of what it displaces, -rho V g, V being its
    true volume."""

    def __init__(self, phase: Phase, coupled: CoupledBodies) -> None:
        self.phase, self.coupled = phase, coupled

    def measure(self) -> None:
        """Nothing: all walls are wet."""

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): 1, all of each body's walls."""
        out_b[...] = 1.0

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        coupled, out_b[...] = self.coupled, 0.0
        displaced = np.where(coupled.bodies.kind_b == DYNAMIC, self.phase.mass_of(coupled.volume_b), 0.0)
        out_b[:, :3] = -dt * displaced[:, None] * np.array(self.phase.gravity)
        out_b[:, 3:] = np.cross(coupled.bodies.volume_arms(), out_b[:, :3])


class LoadSpec(NamedTuple):
    """Pieces of the surfaces of bodies in cells."""

    cell: np.ndarray  # (m,) flat index of the padded cell whose water they bound
    body: np.ndarray  # (m,)
    slit: np.ndarray  # (m,) 1: that cell has neither a pressure nor air, else 0
    area: np.ndarray  # (m,) [m2; 2D m]
    wet: np.ndarray  # (m,) the part of it below the surface
    level: np.ndarray  # (m,) g.x of their middle [m2/s2]
    load: np.ndarray  # (m, 6) J / (dt rho) of what is below the surface


def _make_loads(room: int) -> LoadSpec:
    cell, body, slit = (np.zeros(room, np.int64) for _ in range(3))
    area, wet, level = (np.zeros(room) for _ in range(3))
    return LoadSpec(cell, body, slit, area, wet, level, np.zeros((room, 6)))


class Hydrostatic:
    """The impulse J of the head of the module; walls: of the bodies in the cells of ``phase``."""

    def __init__(self, phase: FreeSurface, walls: RigidWalls, coupled: CoupledBodies) -> None:
        self.phase, self.walls, self.coupled = phase, walls, coupled
        self.load_b = np.zeros((coupled.bodies.count, 6))
        """J / (dt rho)."""
        self._surfaces: BodySurfaces | None = None
        self._chosen_b = np.zeros(0, dtype=bool)
        self._loads = _make_loads(0)
        self._wet_b = np.ones(coupled.bodies.count)

    def measure(self) -> None:
        """Loads of the water where it is now on the bodies where they are."""
        phase, walls, bodies = self.phase, self.walls, self.coupled.bodies
        self.load_b[...] = 0.0
        if not np.any(phase.gravity) or walls.stencil is None:
            return
        grid, solids = phase.domain.grid, walls.domain.solids
        assert solids is not None and phase.domain.solids is not None
        sheets = np.array([solid.shape.is_sheet for solid in solids.solids], dtype=bool)
        chosen_b = bodies.kind_b[: len(sheets)] == DYNAMIC
        chosen_b &= ~sheets
        if self._surfaces is None or not np.array_equal(chosen_b, self._chosen_b):
            self._surfaces, self._chosen_b = BodySurfaces(grid, solids.solids, self.coupled, chosen_b), chosen_b
        surface = self._surfaces.place(solids.time)
        label = walls.stencil.label[: phase.phi_c.size].reshape(phase.phi_c.shape)
        level, level_b = self._find_levels(walls.stencil)
        clear_n = phase.domain.solids.phi_n
        while True:
            size = int(
                _find_loads(
                    grid.spec, surface, self._surfaces.body, self._surfaces.part, bodies.x_b, phase.phi_c, clear_n,
                    walls.stencil.diagonal_c, phase.domain.volume_c, label, level, level_b, phase.gravity, self._loads,
                )
            )  # fmt: skip
            if size <= len(self._loads.cell):
                break
            self._loads = _make_loads(2 * size)
        self._sum(LoadSpec(*(array[:size] for array in self._loads)))
        cell, body, f = (array[: walls.cut.size] for array in walls.cut.spec)
        np.add.at(self.load_b, body, (level[label.reshape(-1)[cell]] - phase.level)[:, None] * f)

    def _find_levels(self, stencil: Stencil) -> tuple[Array, Array]:
        """g.x of the mean level of every body of water (regions + 1,), and of that around each body (n,) [m2/s2]; c
        without any."""
        phase, label = self.phase, stencil.label[: self.phase.phi_c.size]
        grid, g = phase.domain.grid, np.array(phase.gravity)
        phi = phase.phi_c.reshape(-1)
        cell = np.flatnonzero((stencil.dirichlet_c.reshape(-1) > 0.0) & (phi > -grid.dx) & (label > 0))
        index = np.stack(np.unravel_index(cell, grid.padded)[::-1], axis=1)
        place = np.array(grid.lower) + (index - GHOSTS + 0.5) * grid.dx
        found, regions = place @ g + float(np.linalg.norm(g)) * phi[cell], len(stencil.grounded)
        count = np.bincount(label[cell], minlength=regions)
        total = np.bincount(label[cell], found, regions)
        level = np.where(count > 0, total / np.maximum(count, 1), phase.level)
        # a body that several bodies of water touch has the level of that with most of its walls
        walls = self.walls.cut
        own = np.unique(
            walls.spec.body[: walls.size] * regions + label[walls.spec.cell[: walls.size]], return_counts=True
        )
        level_b = np.full(len(self.load_b), phase.level)
        order = np.argsort(own[1], kind="stable")
        level_b[own[0][order] // regions] = level[own[0][order] % regions]
        return level, level_b

    def _sum(self, loads: LoadSpec) -> None:
        """Loads and wet parts of bodies; pieces in slits are as wet as those beside them."""
        known = loads.slit == 0
        part = np.divide(loads.wet, loads.area, out=np.zeros(len(loads.wet)), where=loads.area > 0.0)
        part[~known] = self._wet_beside(loads, known)
        weight = np.where(known, 1.0, part)
        np.add.at(self.load_b, loads.body, weight[:, None] * loads.load)
        area, wet = (np.bincount(loads.body, x, len(self.load_b)) for x in (loads.area, part * loads.area))
        self._wet_b[...] = wet / np.maximum(area, 1e-300)

    def _wet_beside(self, loads: LoadSpec, known: np.ndarray) -> Array:
        """Wet part (s,) of what bounds water near the pieces in slits: in the cells about theirs, else at their
        height."""
        grid = self.phase.domain.grid
        slit = LoadSpec(*(array[~known] for array in loads))
        open_ = LoadSpec(*(array[known] for array in loads))
        cells = int(np.prod(grid.padded))
        key, at = np.unique(open_.body * cells + open_.cell, return_inverse=True)
        sums = np.stack([np.bincount(at, x, len(key)) for x in (open_.wet, open_.area)])
        near = np.zeros((2, len(slit.cell)))
        if not len(key):
            return near[0]
        stride = np.array([1, grid.padded[2], grid.padded[1] * grid.padded[2]])[: grid.dimensions]
        steps = np.stack(np.meshgrid(*[(-1, 0, 1)] * grid.dimensions), axis=-1).reshape(-1, grid.dimensions)
        for step in steps @ stride:
            wanted = slit.body * cells + slit.cell + step
            place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            near += np.where(key[place] == wanted, sums[:, place], 0.0)
        reach = NEAR * grid.dx * float(np.linalg.norm(self.phase.gravity))
        for m in np.flatnonzero(near[1] == 0.0):
            of = (open_.body == slit.body[m]) & (np.abs(open_.level - slit.level[m]) <= reach)
            near[:, m] = open_.wet[of].sum(), open_.area[of].sum()
        return np.asarray(near[0] / np.maximum(near[1], 1e-300))

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): the part of each body's surface that the water wets; as it was where nothing weighs."""
        if np.any(self.phase.gravity):
            out_b[...] = self._wet_b

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        out_b[...] = self.phase.mass_of(dt * self.load_b)


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
def _level_beside(spec, place, normal, phi, phi_n, g):  # type: ignore[no-untyped-def]
    """That of ``_surface_level`` in the nearest cell along the normal whose centre is outside solids: phi inside them
    is made up. Also whether there is water in that cell, or if there is none such in the nearest."""
    k0, j0, i0 = _cell_at(spec, place, normal, BESIDE[0] * spec.dx)
    for step in range(len(BESIDE)):
        k, j, i = _cell_at(spec, place, normal, BESIDE[step] * spec.dx)
        if _is_clear(spec, phi_n, k, j, i):
            near, level = _surface_level(spec, phi, phi_n, g, k, j, i)
            return near, level, phi[k, j, i] <= 0.0
    return False, 0.0, phi[k0, j0, i0] <= 0.0


@borrowing
def _find_cell(spec, middle, normal, phi, diagonal, volume):  # type: ignore[no-untyped-def]
    """The nearest cell (k, j, i) out of the body from the middle of a piece that has a pressure or air, and whether
    there is one; without any the nearest of all."""
    k0, j0, i0 = _cell_at(spec, middle, normal, BESIDE[0] * spec.dx)
    for step in range(len(BESIDE)):
        k, j, i = _cell_at(spec, middle, normal, BESIDE[step] * spec.dx)
        inside = i >= GHOSTS and i < GHOSTS + spec.nx and j >= GHOSTS and j < GHOSTS + spec.ny
        inside = inside and k >= GHOSTS and k < GHOSTS + spec.nz
        if inside and (diagonal[k, j, i] > 0.0 or (volume[k, j, i] > 0.0 and phi[k, j, i] > 0.0)):
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


@njit(cache=True)
def _find_loads(  # type: ignore[no-untyped-def]
    spec, surface, body, share, centre_b, phi, phi_n, diagonal, volume, label, level, level_b, g, out
):
    """Fill ``out`` as far as it has room and return how many pieces there are.

    (g.x) (x - x_b) is quadratic over a triangle: its mean is that of the middles of the sides.
    """
    found = 0
    room = len(out.cell)
    whole, p, q = np.zeros((4, 6)), np.zeros((14, 6)), np.zeros((14, 6))
    depth = spec.dx if spec.dimensions == 2 else 1.0
    ny, nx = spec.ny + 2 * GHOSTS, spec.nx + 2 * GHOSTS
    bound, normal, middle, load = np.zeros((3, 4)), np.zeros(3), np.zeros(3), np.zeros(6)
    side = np.zeros(3)
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
                    if n < 3:
                        continue
                    middle[:] = 0.0
                    value = 0.0
                    for a in range(n):
                        for c in range(3):
                            middle[c] += p[a, c] / n
                        value += p[a, 3] / n
                    is_open, kc, jc, ic = _find_cell(spec, middle, normal, phi, diagonal, volume)
                    area = share[e] * _polygon_area(p, n) / depth
                    zero = level_b[b]
                    if is_open:
                        region = _region_beside(phi, label, g, kc, jc, ic)
                        if region > 0:
                            zero = level[region]
                        near, height, is_liquid = _level_beside(spec, middle, normal, phi, phi_n, g)
                        if near:
                            m = clip_half(p, n, 3, height, 1.0, q)
                            for a in range(m):
                                for c in range(4):
                                    p[a, c] = q[a, c]
                            n = m
                        elif not is_liquid:
                            n = 0
                    load[:] = 0.0
                    wet = 0.0
                    for a in range(1, n - 1):
                        part = share[e] * _triangle_area(p, a) / depth
                        wet += part
                        for s in range(3):
                            u, v = (0, a) if s == 0 else ((a, a + 1) if s == 1 else (a + 1, 0))
                            push = -part / 3.0 * (0.5 * (p[u, 3] + p[v, 3]) - zero)
                            for c in range(3):
                                side[c] = 0.5 * (p[u, c] + p[v, c]) - centre_b[b, c]
                                load[c] += push * normal[c]
                            load[3] += push * (side[1] * normal[2] - side[2] * normal[1])
                            load[4] += push * (side[2] * normal[0] - side[0] * normal[2])
                            load[5] += push * (side[0] * normal[1] - side[1] * normal[0])
                    if spec.dimensions == 2:
                        load[3] = 0.0
                        load[4] = 0.0
                    if found < room:
                        out.cell[found] = (kc * ny + jc) * nx + ic
                        out.body[found] = b
                        out.slit[found] = 0 if is_open else 1
                        out.area[found], out.wet[found], out.level[found] = area, wet, value
                        for c in range(6):
                            out.load[found, c] = load[c]
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
