"""Soft bodies on a grid: the fields of ``geometry.SolidFields`` where closed surfaces of nodes are walls as well.

Open fractions are exact for the surfaces (``geometry.pieces``). A face within the band knows the nearest point of a
surface as weights of the nodes of an element: the wall's velocity and its distance for the viscous rows, and what
transport reads inside bodies. Nearest to the middle of its open part, that is: where a corner of a body covers most of
a face, the wall is next to what is left of it, however far it is from the face's centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.shell_fractions import no_shares, share_sections
from undertow.coupling.voxel import VoxelFaces
from undertow.geometry import Occlusion, Solid, SolidFields
from undertow.geometry.hiding import ThinSolids, is_sheet, measure_soft_thickness
from undertow.geometry.occlusion import find_nearest
from undertow.geometry.pieces import SurfacePieces, SurfaceSpec
from undertow.geometry.solids import BAND
from undertow.grid import GHOSTS, OPEN, OUTFLOW, Array, Grid, Sides
from undertow.grid.jitting import borrowing, helper
from undertow.soft import SoftBodies

FAR = 1e300
"""Squared distance of a face that no surface is near to."""

AWAY = 1e9
"""Distance in cells of a wall that takes no part in the viscous rows of a face."""


class NearSpec(NamedTuple):
    """Faces near surfaces and the nearest point of them."""

    face: np.ndarray  # (r,) flat index of the padded face field
    element: np.ndarray  # (r,)
    weight: np.ndarray  # (r, 3) of the nodes of the element; sums to one
    distance: np.ndarray  # (r,) without a sign [m]


def _make_near(room: int) -> NearSpec:
    return NearSpec(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 3)), np.zeros(room))


class SoftFields(SolidFields):
    """Rigid solids that move as prescribed and soft bodies as fields; arrays as in ``SolidFields``.

    body_c and velocity_c are those of the rigid solids. distance_f: of the nearest of all. rows_distance_f: of solids
    as rows to their walls have it, AWAY for faces that are nearer to a soft surface. pieces: parts of the closed soft
    surfaces in cells. near: faces within BAND cells of a soft surface. voxel: the faces that shells couple; they are
    closed for the fluid. element (m, k): nodes of all surfaces, closed ones first.
    """

    def __init__(
        self, grid: Grid, sides: Sides, solids: Sequence[Solid], bodies: SoftBodies, equal_weights: bool = False
    ) -> None:
        super().__init__(grid, solids)
        self.bodies = bodies
        self.rigid = SolidFields(grid, solids)
        closed = [part.surface for part in bodies.parts if part.closed]
        shells = [part.surface for part in bodies.parts if not part.closed]
        none = np.zeros((0, 2 if grid.dimensions == 2 else 3), dtype=np.int64)
        self.closed, self.shells = (np.ascontiguousarray(np.concatenate([none, *x])) for x in (closed, shells))
        self.element = np.concatenate([self.closed, self.shells])
        self.pieces = SurfacePieces(grid)
        self.voxel = VoxelFaces(grid, bodies.count, equal_weights)
        if len(self.shells):
            self.occlusion = Occlusion(grid, self.shells, bodies.count)
        self.voxel_open = np.zeros(0)
        """Open fraction that the coupled faces had (r,)."""
        self.shares = no_shares(grid, bodies.count)
        self.voxel_area_f = self.area_f
        """Open fractions without what faces beside shells take from each other: those of viscosity (3, Z, Y, X)."""
        if len(self.shells):
            self.voxel_area_f = self.area_f.copy()
        self.rigid_shells = bodies.mass[self.shells[:, 0]] == 0.0
        """Whether elements of shells are those of rigid ones, whose mass their body has (m,)."""
        self._free_f = _free_faces(grid, sides)
        self.rows_distance_f = np.full((3, *grid.padded), AWAY * grid.dx)
        self.surface = SurfaceSpec(self.element, bodies.x, np.zeros((1, 3)))
        self.near = _make_near(0)
        self.count = 0
        self.nearer = np.zeros(0, dtype=bool)
        """Of the near faces (count,): no solid is nearer."""
        self._square_f = np.full((3, *grid.padded), FAR)
        self._element_f = np.full((3, *grid.padded), -1, dtype=np.int64)
        self._open_f, self._open_c = np.ones((3, *grid.padded)), np.ones(grid.padded)

    def end_at(self, sides: Sides) -> None:
        """Solids and soft bodies are there once per period. In a tank that is closed all around slits at its walls stay
        open: over a closed one a body could not sink further, because nothing could fill the room above it."""
        super().end_at(sides)
        self.rigid.end_at(sides)
        if not {OPEN, OUTFLOW}.intersection(sides.kind):
            self.rigid.walls[...] = 0

    def hull(self) -> np.ndarray:
        return self.rigid.hull()

    def update(self, t: float) -> bool:
        """Bring all fields to time t, soft bodies where their nodes are; True: the geometry changed."""
        self.time = t
        self.rigid.update(t)
        for name in ("phi_n", "area_f", "volume_c", "body_c", "distance_f", "velocity_f", "velocity_c"):
            getattr(self, name)[...] = getattr(self.rigid, name)
        self.spec = self.rigid.spec
        self.surface = SurfaceSpec(self.element, self.bodies.x, self._images())
        if len(self.closed):
            self.pieces.cut(self.surface._replace(element=self.closed))
            self.pieces.measure_openings(self._open_f, self._open_c)
            self.area_f *= self._open_f
            self.volume_c *= self._open_c
        self._find_near()
        free = self._couple_shells() if len(self.shells) else self._free_f
        self.place_occlusion(t)
        self._choose_walls()
        self.set_velocities()
        if len(self.shells):
            self.voxel_area_f[...] = self.area_f
            self.shares = share_sections(
                self.voxel, self.surface._replace(element=self.shells), self.rigid_shells, free, self.area_f
            )
            self.close_seam(self.area_f)
        return True

    def _images(self) -> Array:
        """Shifts (q, 3) that bring the surfaces into the domain, once per period."""
        return self.find_images(self.bodies.x[np.unique(self.element)]) if len(self.element) else np.zeros((1, 3))

    def close_thin(self) -> None:
        self.rigid.close_thin()
        self.closing = self.rigid.closing

    def hide_thin(self, closing: bool = False) -> None:
        """From the next ``update`` on, bodies thinner than two cells hide what is behind them, as shells do."""
        bodies, thin = self.bodies, ThinSolids(self.grid, self.hiding(closing), closing)
        closed = [
            part.surface
            for part in bodies.parts
            if part.closed
            and not closing
            and is_sheet(self.grid, measure_soft_thickness(bodies.rest, part.surface), bodies.rest[part.nodes])
        ]
        element = np.concatenate([self.shells, *closed, thin.element + bodies.count])
        if len(element):
            around = len(element) - len(self.shells)
            self.thin = thin
            self.occlusion = Occlusion(self.grid, element, bodies.count + thin.count, around)

    def place_occlusion(self, t: float) -> None:
        """Shells, and thin bodies if they hide anything, to where they are at time t."""
        if self.occlusion is None:
            return
        x = self.bodies.x if self.thin is None else np.concatenate([self.bodies.x, self.thin.place(t)])
        self.occlusion.place(x, self.find_images(x[np.unique(self.occlusion.element)]))

    def _couple_shells(self) -> np.ndarray:
        """Close the faces between cells that shells separate; those that could be (3, Z, Y, X)."""
        free = self._free_f * (self.area_f > 0.0)
        self.voxel.find(self.surface._replace(element=self.shells), free)
        flat, face = self.area_f.reshape(-1), self.voxel.face
        self.voxel_open = flat[face]
        flat[face] = 0.0
        self.close_seam(self.area_f)
        return free

    def close_seam(self, field_f: Array) -> None:
        """The two ends of a periodic axis are one face: the last takes the value of the first."""
        for axis in range(3):
            if self.period[axis] > 0.0:
                first, last = (_plane(axis, GHOSTS + end * self.grid.cells[axis]) for end in (0, 1))
                field_f[(axis, *last)] = field_f[(axis, *first)]

    def _find_near(self) -> None:
        """The nearest point of a surface for the faces of the band."""
        spec, band = self.grid.spec, BAND * self.grid.dx
        self._square_f.fill(FAR)
        _mark_nearest(spec, self.surface, self.area_f, band, self._square_f, self._element_f)
        while True:
            size = int(_gather_nearest(spec, self.surface, self.area_f, self._square_f, self._element_f, self.near))
            if size <= len(self.near.face):
                break
            self.near = _make_near(2 * size)
        self.count = size

    def near_arrays(self) -> NearSpec:
        """The faces near surfaces, of now."""
        return NearSpec(*(array[: self.count] for array in self.near))

    def _choose_walls(self) -> None:
        """Which wall is the nearer one of a face, and distances with their sign."""
        near = self.near_arrays()
        distance, area = self.distance_f.reshape(-1), self.area_f.reshape(-1)[near.face]
        # solids give the distance of the face's centre; the middle of the open part is that much further away
        further = 0.5 * self.grid.dx * np.where(area > 0.0, 1.0 - area, 0.0)
        own = np.where(self._open_f.reshape(-1)[near.face] <= 0.0, -near.distance, near.distance)
        nearer = own < distance[near.face] + further
        self.nearer = nearer
        self.rows_distance_f[...] = self.distance_f
        self.rows_distance_f.reshape(-1)[near.face[nearer]] = AWAY * self.grid.dx
        distance[near.face[nearer]] = own[nearer]

    def refresh_velocities(self) -> None:
        """Velocities of all walls where they are, after the velocities of solids have changed."""
        self.rigid.update(self.time)
        self.velocity_f[...], self.velocity_c[...] = self.rigid.velocity_f, self.rigid.velocity_c
        self.set_velocities()

    def set_velocities(self) -> None:
        """Velocities of the walls of soft bodies from those of their nodes."""
        near = self.near_arrays()
        k = self.element.shape[1]
        nodes = self.element[near.element % max(len(self.element), 1)] if len(self.element) else self.element
        axis = near.face // self.grid.size
        v = self.bodies.v[nodes, axis[:, None]]
        wall = np.einsum("ra,ra->r", near.weight[:, :k], v)
        self.velocity_f.reshape(-1)[near.face[self.nearer]] = wall[self.nearer]


def _plane(axis: int, index: int) -> tuple[slice | int, ...]:
    """Subscript [z, y, x] of the plane of an index along an axis."""
    return tuple(index if 2 - a == axis else slice(None) for a in range(3))


def _free_faces(grid: Grid, sides: Sides) -> np.ndarray:
    """1 for faces between two cells of the domain, periodic ones once; (3, Z, Y, X) uint8."""
    free = np.zeros((3, *grid.padded), dtype=np.uint8)
    for axis in grid.axes:
        free[(axis, *grid.interior)] = 1
        if not sides.is_periodic(axis):
            free[(axis, *_plane(axis, GHOSTS))] = 0
    return free


@borrowing
def closest_point(surface, q, e, x, y, z):  # type: ignore[no-untyped-def]
    """Squared distance of a point from an element, and the weights of the element's nodes at the nearest point; in 2D
    the z of the point is that of the nodes."""
    at, shift, n0, n1 = surface.x, surface.shift, surface.element[e, 0], surface.element[e, 1]
    px, py, pz = x - at[n0, 0] - shift[q, 0], y - at[n0, 1] - shift[q, 1], z - at[n0, 2] - shift[q, 2]
    ux, uy, uz = at[n1, 0] - at[n0, 0], at[n1, 1] - at[n0, 1], at[n1, 2] - at[n0, 2]
    tx, ty, tz = ux, uy, uz
    if surface.element.shape[1] == 2:
        pz = uz = tz = 0.0
    else:
        n2 = surface.element[e, 2]
        tx, ty, tz = at[n2, 0] - at[n0, 0], at[n2, 1] - at[n0, 1], at[n2, 2] - at[n0, 2]
    v, w = find_nearest(px, py, pz, ux, uy, uz, tx, ty, tz)
    dx, dy, dz = px - v * ux - w * tx, py - v * uy - w * ty, pz - v * uz - w * tz
    return dx * dx + dy * dy + dz * dz, 1.0 - v - w, v, w


@borrowing
def _open_middle(spec, area, axis, k, j, i):  # type: ignore[no-untyped-def]
    """How far the middle of a cut face's open part is from its centre, along x, y, z [m]: towards the neighbours that
    are more open, shared between the two directions of a face as the open fraction varies along them."""
    phi = area[axis, k, j, i]
    _, nz, ny, nx = area.shape
    if phi <= 0.0 or phi >= 1.0 or i == 0 or j == 0 or i == nx - 1 or j == ny - 1:
        return 0.0, 0.0, 0.0
    gx, gy, gz = 0.0, 0.0, 0.0
    if axis != 0:
        gx = area[axis, k, j, i + 1] - area[axis, k, j, i - 1]
    if axis != 1:
        gy = area[axis, k, j + 1, i] - area[axis, k, j - 1, i]
    if axis != 2 and spec.dimensions == 3 and 0 < k < nz - 1:
        gz = area[axis, k + 1, j, i] - area[axis, k - 1, j, i]
    total = abs(gx) + abs(gy) + abs(gz)
    if total <= 0.0:
        return 0.0, 0.0, 0.0
    shift = 0.5 * (1.0 - phi) * spec.dx / total
    return shift * gx, shift * gy, shift * gz


@helper
def index_range(origin, dx, n, low, high):  # type: ignore[no-untyped-def]
    """Padded indices of the first and the last of n points origin + i dx in an interval."""
    first = max(int(np.ceil((low - origin) / dx)) + GHOSTS, 0)
    return first, min(int(np.floor((high - origin) / dx)) + GHOSTS, n + 2 * GHOSTS - 1)


@njit(cache=True)
def _mark_nearest(spec, surface, area, band, out_square, out_element):  # type: ignore[no-untyped-def]
    """Squared distance to the nearest element, and its number, of every face within the band of it."""
    k_nodes = surface.element.shape[1]
    h = 0.5 * spec.dx
    m = len(surface.element)
    low, high = np.zeros(3), np.zeros(3)
    for image in range(len(surface.shift)):
        for e in range(m):
            low[:], high[:] = 1e300, -1e300
            for a in range(k_nodes):
                for c in range(3):
                    at = surface.x[surface.element[e, a], c] + surface.shift[image, c]
                    low[c], high[c] = min(low[c], at - band), max(high[c], at + band)
            for axis in range(spec.dimensions):
                x0 = spec.x0 + (0.0 if axis == 0 else h)
                y0 = spec.y0 + (0.0 if axis == 1 else h)
                z0 = spec.z0 + (0.0 if axis == 2 else h)
                i0, i1 = index_range(x0, spec.dx, spec.nx, low[0], high[0])
                j0, j1 = index_range(y0, spec.dx, spec.ny, low[1], high[1])
                k0, k1 = GHOSTS, GHOSTS
                if spec.dimensions == 3:
                    k0, k1 = index_range(z0, spec.dx, spec.nz, low[2], high[2])
                for k in range(k0, k1 + 1):
                    for j in range(j0, j1 + 1):
                        for i in range(i0, i1 + 1):
                            sx, sy, sz = _open_middle(spec, area, axis, k, j, i)
                            x, y = x0 + (i - GHOSTS) * spec.dx + sx, y0 + (j - GHOSTS) * spec.dx + sy
                            z = z0 + (k - GHOSTS) * spec.dx + sz
                            square, _, _, _ = closest_point(surface, image, e, x, y, z)
                            if square < out_square[axis, k, j, i] and square < band * band:
                                out_square[axis, k, j, i] = square
                                out_element[axis, k, j, i] = image * m + e


@njit(cache=True)
def _gather_nearest(spec, surface, area, square, element, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` as far as it has room and return how many faces are near."""
    found = 0
    room = len(out.face)
    _, nz, ny, nx = square.shape
    h = 0.5 * spec.dx
    for axis in range(spec.dimensions):
        x0 = spec.x0 + (0.0 if axis == 0 else h)
        y0 = spec.y0 + (0.0 if axis == 1 else h)
        z0 = spec.z0 + (0.0 if axis == 2 else h)
        for k in range(nz):
            for j in range(ny):
                for i in range(nx):
                    if square[axis, k, j, i] >= 1e299:
                        continue
                    if found < room:
                        code = element[axis, k, j, i]
                        sx, sy, sz = _open_middle(spec, area, axis, k, j, i)
                        x, y = x0 + (i - GHOSTS) * spec.dx + sx, y0 + (j - GHOSTS) * spec.dx + sy
                        z = z0 + (k - GHOSTS) * spec.dx + sz
                        image, e = code // len(surface.element), code % len(surface.element)
                        s, u, v, w = closest_point(surface, image, e, x, y, z)
                        out.face[found] = ((axis * nz + k) * ny + j) * nx + i
                        out.element[found] = code
                        out.weight[found, 0], out.weight[found, 1], out.weight[found, 2] = u, v, w
                        out.distance[found] = np.sqrt(s)
                    found += 1
    return found
