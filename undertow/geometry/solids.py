"""Solids on a grid: distances, open fractions, nearest body and wall velocities, kept up to date as the solids move.

Everything is a pure function of the poses at time t, evaluated by gathering, so a re-rasterised box holds the same bits
as a rasterisation from scratch, with any number of threads.

Where two solids touch, or one and a wall of the domain, they close the gap between them: nodes in a slit narrower than
``SLIT`` cells count as solid.

Limits: a solid (or a gap between solids) thinner than a cell can pass between the nodes unseen, unless it is a plate
(``geometry.closing``), and corners sharper than the grid are rounded; compare ``Solid.thickness`` with two cells. Along
a periodic axis (``end_at``) a solid is there once per period, as long as it is shorter than the period; an infinite one
is not repeated. A sheet has no inside and is in none of the fields: it counts among the solids for its number alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.geometry.closing import ThinClosing
from undertow.geometry.distance import PARAMETERS, SPHERE, TABLE, analytic_distance, table_value
from undertow.geometry.fractions import (
    SNAP,
    Box6,
    Boxes,
    _measure_fractions,
    boxes_of_row,
    find_boxes,
    find_meetings,
    is_in_boxes,
    share_boxes,
)
from undertow.geometry.hiding import ThinSolids
from undertow.geometry.motion import Motion, Static
from undertow.geometry.occlusion import Occlusion
from undertow.geometry.sdf_grid import SdfGrid
from undertow.geometry.shape import Shape, Surface
from undertow.geometry.shapes import is_across
from undertow.grid import GHOSTS, INFLOW, WALL, Array, Grid, Sides
from undertow.grid.jitting import borrowing, inlined

BAND = 3
"""Distances, nearest bodies and velocities are known up to BAND cells outside a solid, and everywhere inside."""

SLIT = 0.1
"""Gaps between two solids, or a solid and a wall of the domain, narrower than this part of a cell are closed. About a
contact the gap opens with the square of the distance: without it the nodes in it leave a seam through which a head of
fluid seeps, and the film under what lies flat would have to be moved at many times the speed of the body: its added
mass grows as one over its thickness."""

UNSEEN = 1e30
"""Distance given outside a body's table, beyond any band."""


@dataclass(frozen=True)
class Solid:
    """A named shape and its motion; ``slip``: the wall exerts no tangential stress in viscous flow; ``dynamic``: forces
    move it, else its motion is prescribed."""

    name: str
    shape: Shape
    motion: Motion = field(default_factory=Static)
    slip: bool = False
    dynamic: bool = False

    def shape_at(self, t: float) -> Shape:
        """The shape in its body frame at time t."""
        return self.shape.at(t)

    def bounds(self, t: float) -> tuple[Array, Array]:
        """Lower and upper corner (3,) of a world box around the solid at time t [m]; infinite for a plane."""
        position, rotation = self.motion.pose(t)
        return _turned_box(*self.shape_at(t).bounds(), position, rotation)

    def extent(self, t: float) -> tuple[Array, Array]:
        """As ``bounds``, of the surface itself: the box of a turned ball is larger than the ball."""
        low, high = self.bounds(t)
        if not np.isfinite([low, high]).all():
            return low, high
        position, rotation = self.motion.pose(t)
        place = self.shape_at(t).surface()[0] @ rotation.T + position
        return np.maximum(low, place.min(axis=0)), np.minimum(high, place.max(axis=0))

    def distance(self, points: Array, t: float, dimensions: int = 3) -> Array:
        """Signed distance [m] at world points (n, 3) at time t, negative inside; in 2D their z does not count."""
        position, rotation = self.motion.pose(t)
        offset = np.asarray(points, dtype=float) - position
        offset[:, dimensions:] = 0.0
        return self.shape_at(t).distance(offset @ rotation)

    def nearest(self, points: Array, t: float) -> Array:
        """Points (n, 3) [m] of the surface of a mesh nearest to world points at time t."""
        position, rotation = self.motion.pose(t)
        mesh = self.shape_at(t).as_mesh()
        if mesh is None:
            raise TypeError(f"{self.name}: only a mesh knows the nearest points of its surface")
        return mesh.nearest((points - position) @ rotation) @ rotation.T + position

    def surface(self, t: float, resolution: int = 48) -> Surface:
        """World vertices (n, 3) [m] and triangles (m, 3) at time t, for drawing."""
        position, rotation = self.motion.pose(t)
        vertices, triangles = self.shape_at(t).surface(resolution)
        return vertices @ rotation.T + position, triangles

    def surface_velocity(self, t: float, vertices: Array) -> Array:
        """Velocities (n, 3) [m/s] of the vertices of ``surface`` at time t."""
        position, rotation = self.motion.pose(t)
        linear, angular = self.motion.velocity(t)
        velocity = linear + np.cross(angular, vertices - position)
        return velocity + self.shape.velocity(t) @ rotation.T if self.shape.is_animated else velocity

    def thickness(self, dimensions: int = 3) -> float:
        """Smallest thickness [m]; below two cells the grid sees the solid badly or not at all."""
        return self.shape.thickness(dimensions)


class SolidSpec(NamedTuple):
    """What kernels need of n solids: one row of plain numbers each, which costs less per call than a dozen arrays."""

    position: np.ndarray  # (n, 3) origins of the bodies, world [m]
    rows: np.ndarray  # (n, ROW), columns below
    tables: np.ndarray  # all tables of sampled shapes, flat


# columns of SolidSpec.rows; the parameters come first because the analytic distances read them from column 0
KIND = PARAMETERS
POSITION = KIND + 1
ROTATION = POSITION + 3
LINEAR = ROTATION + 9
ANGULAR = LINEAR + 3
TABLE_START = ANGULAR + 3
TABLE_SHAPE = TABLE_START + 1  # points along z, y, x
TABLE_ORIGIN = TABLE_SHAPE + 3
TABLE_SPACING = TABLE_ORIGIN + 3
TABLE_MOVING = TABLE_SPACING + 1  # 1 when three tables of body-frame velocity follow the distance
ROW = TABLE_MOVING + 1


class SolidFields:
    """The solids of one grid as fields; lengths in m, velocities in m/s, arrays padded like every field of the grid.

    phi_n (z, y, x): signed distance at the nodes (the lower corners of the cells), negative inside the union of solids
    area_f (3, z, y, x): open fraction of the faces, volume_c (z, y, x): of the cells; ghosts repeat the edge
    body_c (z, y, x): int32 index of the nearest solid within BAND cells of the cell's centre (or covering it), else -1
    distance_f (3, z, y, x): signed distance at the face centres
    velocity_f (3, z, y, x): velocity component, normal to the face, of the nearest solid: from 0.9 cells inside to two
        cells outside at the point of its surface nearest to the face centre, else at the centre; 0 beyond the band
    velocity_c (3, z, y, x): velocity of solid body_c; within two cells of its surface at the point of the surface
        nearest to the cell's centre, else at the centre; 0 where body_c = -1
    Distances are cut off at ``far`` = BAND dx. occlusion: thin surfaces that hide points from each other, if any.
    wall_n: the distances that say where in their cells walls are; phi_n, unless walls lie on faces.
    inner_c: velocity of the nearest wall of any kind; velocity_c, unless there are walls beside those of the solids.
    """

    occlusion: Occlusion | None = None
    thin: ThinSolids | None = None
    closing: ThinClosing | None = None
    closes_moved = True

    def __init__(self, grid: Grid, solids: Sequence[Solid]):
        self.grid = grid
        self.solids = tuple(solids)
        self.names = tuple(s.name for s in self.solids)
        self.far = BAND * grid.dx
        self.phi_n = self.wall_n = np.full(grid.padded, self.far)
        self.area_f = np.ones((3, *grid.padded))
        self.volume_c = np.ones(grid.padded)
        self.body_c = np.full(grid.padded, -1, dtype=np.int32)
        self.distance_f = np.full((3, *grid.padded), self.far)
        self.velocity_f = grid.face_field()
        self.velocity_c = self.inner_c = grid.face_field()
        n = len(self.solids)
        self.period = np.zeros(3)
        self.walls = np.zeros(6, dtype=np.int64)
        """1 for sides of the domain (x_low, x_high, y_low, ...) that are walls and close slits."""
        self.time = 0.0
        """Of the last update [s]."""
        self._shifts = [np.zeros(3)]
        self.spec = SolidSpec(np.zeros((n, 3)), np.zeros((n, ROW)), np.zeros(1))
        self._tables: list[SdfGrid | None] = [None] * n
        self._clear_rows()
        self._changed = np.zeros(grid.padded[0] * grid.padded[1], dtype=np.int64)

    def _clear_rows(self) -> None:
        """Rows for every repetition of every solid (row = repetition x solids + solid), to be placed."""
        n = len(self.solids)
        self.spec = self.spec._replace(rows=np.zeros((n * len(self._shifts), ROW)))
        self._poses = np.full((n, TABLE_START - POSITION), np.nan)
        for b, solid in enumerate(self.solids):
            self.spec.rows[b::n, KIND] = solid.shape.kind
        self._tables = [None] * n
        # where each row reaches
        self._boxes: np.ndarray = np.zeros((len(self.spec.rows), 6), dtype=np.int64)

    def end_at(self, sides: Sides) -> None:
        """Meet the sides of the domain, from the next ``update`` on: solids are there once per ``period`` [m] along
        periodic axes, and close slits at walls."""
        self.walls = np.isin(sides.kind, (WALL, INFLOW)).astype(np.int64)
        length = [n * self.grid.dx for n in self.grid.cells]
        period = np.array([length[a] if sides.is_periodic(a) and a in self.grid.axes else 0.0 for a in range(3)])
        if np.array_equal(period, self.period):
            return
        self.period = period
        steps = [(0, -1, 1) if p > 0.0 else (0,) for p in period]
        self._shifts = [np.array([x, y, z]) * period for z in steps[2] for y in steps[1] for x in steps[0]]
        self._clear_rows()

    def arms(self, points: Array, centres: Array) -> Array:
        """From centres to points (n, 3) [m], the shortest way across periodic sides; in the plane in 2D."""
        found = points - centres
        length = np.where(self.period > 0.0, self.period, np.inf)
        found -= np.where(self.period > 0.0, self.period * np.round(found / length), 0.0)
        found[:, self.grid.dimensions :] = 0.0
        return np.asarray(found)

    def angular_velocity(self, b: int) -> Array:
        """Angular velocity (3,) [rad/s] of solid b at the time of the last update."""
        return self.spec.rows[b, ANGULAR : ANGULAR + 3]

    def speed_up(self, t: float, end: float) -> float:
        """How many times faster the fastest solid is at time ``end`` than at t, at least 1 (1 if all rest at t)."""
        now, then = (max((_speed(solid, s) for solid in self.solids), default=0.0) for s in (t, end))
        return max(then / now, 1.0) if now > 0.0 else 1.0

    def update(self, t: float) -> bool:
        """Bring all fields to time t; only boxes around solids that moved are touched. True if the geometry changed."""
        self.time = t
        dirty = self._place(t)
        if dirty:
            self._rasterise(find_boxes(dirty))
            wide = find_boxes([self._with_ghosts(box) for box in dirty])
            share_boxes(_measure_fractions, self.grid.spec, wide, self.phi_n, self.area_f, self.volume_c)
            if self.closing is not None:
                self.closing.close(self)
        self.place_occlusion(t)
        return any([self._take_changes(box) for box in dirty])

    def refresh_velocities(self) -> None:
        """Velocities of all walls where they are, after the velocities of solids have changed."""
        self.update(self.time)

    def close_thin(self) -> None:
        """From the next ``update`` that moves anything on, solids thinner than two cells close the faces between cells
        that they separate; ``closes_moved``: those that forces move too."""
        closing = ThinClosing(self.grid, [solid for solid in self.solids if self.closes_moved or not solid.dynamic])
        self.closing = closing if closing.surfaces.count else None

    def thin_b(self) -> np.ndarray:
        """1 for solids that are so thin that they close faces, else 0 (n,) uint8."""
        thin = () if self.closing is None else self.closing.surfaces.solids
        return np.array([solid in thin for solid in self.solids], dtype=np.uint8)

    def hide_thin(self, closing: bool = False) -> None:
        """From the next ``update`` on, solids thinner than two cells hide what is behind them; closing: only those that
        close faces."""
        self.thin = ThinSolids(self.grid, self.hiding(closing), closing)
        if self.thin.count:
            element = self.thin.element
            self.occlusion = Occlusion(self.grid, element, self.thin.count, len(element))

    def hiding(self, closing: bool) -> Sequence[Solid]:
        """Solids that may hide something, as of ``hide_thin``."""
        if not closing:
            return self.solids
        return () if self.closing is None else self.closing.surfaces.solids

    def place_occlusion(self, t: float) -> None:
        """Thin solids to where they are at time t, if they hide anything."""
        if self.occlusion is not None and self.thin is not None:
            x = self.thin.place(t)
            self.occlusion.place(x, self.find_images(x))

    def find_images(self, x: Array) -> Array:
        """Shifts (q, 3) that bring surfaces with the nodes x (n, 3) into the domain, once per period."""
        low, high = x.min(axis=0), x.max(axis=0)
        lower, upper = np.array(self.grid.lower), np.array(self.grid.upper)
        length = np.where(self.period > 0.0, self.period, 1.0)
        home = -self.period * np.floor((0.5 * (low + high) - lower) / length)
        reach = (BAND + GHOSTS) * self.grid.dx
        found = [home]
        for shift in self._shifts:
            moved = home + shift
            seen = np.all((low + moved < upper + reach) & (high + moved > lower - reach) | (self.period == 0.0))
            if shift.any() and seen:
                found.append(moved)
        return np.array(found)

    def _place(self, t: float) -> list[Box6]:
        """Take over the poses and velocities at time t; boxes where fields are out of date."""
        dirty = []
        resampled = False
        n = len(self.solids)
        for b, solid in enumerate(self.solids):
            position, rotation = solid.motion.pose(t)
            now = np.concatenate([position, rotation.ravel(), *solid.motion.velocity(t)])
            moved = not np.array_equal(self._poses[b], now)
            self._poses[b] = now
            self.spec.rows[b::n, POSITION:TABLE_START] = now
            # the repetition whose origin lies in the domain, then its neighbours
            home = -self.period * np.floor((position - self.grid.lower) / np.where(self.period > 0.0, self.period, 1.0))
            self.spec.position[b] = position
            if solid.shape.is_sheet:
                continue
            if solid.shape.kind != TABLE:
                lower, upper = solid.shape.bounds()
                is_planar = self.grid.dimensions == 2
                parameters = solid.shape.planar_parameters(rotation) if is_planar else solid.shape.parameters
                self.spec.rows[b::n, :PARAMETERS] = parameters
            else:
                flat = self.grid.dimensions == 2 and is_across(rotation, 2)
                table = solid.shape.sample(
                    t, solid.shape.table_spacing(self.grid.dx), (BAND + 1) * self.grid.dx, flat
                )
                if table is not self._tables[b]:
                    self._tables[b] = table
                    moved = resampled = True
                lower, upper = table.lower, table.upper
            for repetition, shift in enumerate(self._shifts):
                row = repetition * n + b
                place = position + home + shift
                self.spec.rows[row, POSITION : POSITION + 3] = place
                if moved and (repetition == 0 or np.all(np.isfinite(lower))):
                    box = self._index_box(*_turned_box(lower, upper, place, rotation))
                    dirty.append(_hull(self._box(row), box))
                    self._boxes[row] = box
        if resampled:
            self._pack_tables()
        return [box for box in dirty if not _is_empty(box)]

    def _pack_tables(self) -> None:
        size = sum(table.values.size for table in self._tables if table is not None)
        if size != self.spec.tables.size:
            self.spec = self.spec._replace(tables=np.empty(size))
        start = 0
        for b, table in enumerate(self._tables):
            if table is None:
                continue
            rows = self.spec.rows[b :: len(self.solids)]
            rows[:, TABLE_START] = start
            rows[:, TABLE_SHAPE : TABLE_SHAPE + 3] = table.values.shape[1:]
            rows[:, TABLE_ORIGIN : TABLE_ORIGIN + 3] = table.origin
            rows[:, TABLE_SPACING] = table.spacing
            rows[:, TABLE_MOVING] = table.values.shape[0] == 4
            self.spec.tables[start : start + table.values.size] = table.values.ravel()
            start += table.values.size

    def _index_box(self, lower: Array, upper: Array) -> Box6:
        """Padded indices (k0, k1, j0, j1, i0, i1) of the cells with anything within the band of a world box."""
        box: list[int] = []
        for axis in (2, 1, 0):
            padded = self.grid.padded[2 - axis]
            if axis >= self.grid.dimensions:
                box += [0, padded]
                continue
            # the centre and the faces of a cell lie up to half a cell above its node
            low = (lower[axis] - self.grid.lower[axis]) / self.grid.dx + GHOSTS - BAND - 0.5
            high = (upper[axis] - self.grid.lower[axis]) / self.grid.dx + GHOSTS + BAND
            box += [int(np.floor(np.clip(low, 0, padded))), int(np.ceil(np.clip(high, -1, padded - 1))) + 1]
        return (box[0], box[1], box[2], box[3], box[4], box[5])

    def _box(self, row: int) -> Box6:
        k0, k1, j0, j1, i0, i1 = (int(end) for end in self._boxes[row])
        return k0, k1, j0, j1, i0, i1

    def _rasterise(self, boxes: Boxes) -> None:
        """Distances, bodies and velocities in boxes that are out of date."""
        share_boxes(
            _sample_solids, self.grid.spec, boxes, self._boxes, *find_meetings(boxes.ends, self._boxes), self.spec.rows,
            self.spec.tables, len(self.solids), self.walls, self.far, self._changed, self.phi_n, self.body_c,
            self.distance_f, self.velocity_f, self.velocity_c,
        )  # fmt: skip

    def hull(self) -> np.ndarray:
        """Padded indices (k0, k1, j0, j1, i0, i1), int64, between which all interior cells near solids lie."""
        boxes = self._boxes[np.all(self._boxes[:, ::2] < self._boxes[:, 1::2], axis=1)]
        ends = [GHOSTS + n for n in reversed(self.grid.cells)]
        low = np.maximum(boxes[:, ::2].min(axis=0, initial=max(self.grid.padded)), GHOSTS)
        return np.stack([low, np.minimum(boxes[:, 1::2].max(axis=0, initial=0), ends)], axis=1).reshape(-1)

    def _with_ghosts(self, box: Box6) -> Box6:
        """Cells whose fractions depend on the nodes of a box; ghosts follow the cell at the edge."""
        ends: list[int] = []
        for axis in (2, 1, 0):
            n, low, high = self.grid.cells[axis], box[4 - 2 * axis], box[5 - 2 * axis]
            ends += [0 if low <= GHOSTS + 1 else low - 1, n + 2 * GHOSTS if high >= GHOSTS + n else high]
        return (ends[0], ends[1], ends[2], ends[3], ends[4], ends[5])

    def _take_changes(self, box: Box6) -> bool:
        k0, k1, j0, j1, _, _ = box
        rows = self._changed.reshape(self.grid.padded[:2])[k0:k1, j0:j1]
        changed = bool(rows.any())
        rows[...] = 0
        return changed


def _speed(solid: Solid, t: float) -> float:
    """Speed of the fastest point of a box around the solid [m/s]; of an infinite one, of its origin."""
    linear, angular = solid.motion.velocity(t)
    lower, upper = solid.shape_at(t).bounds()
    reach = float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper)))) if np.all(np.isfinite(lower)) else 0.0
    return float(np.linalg.norm(linear) + np.linalg.norm(angular) * reach)


def _is_empty(box: Box6) -> bool:
    return box[0] >= box[1] or box[2] >= box[3] or box[4] >= box[5]


def _hull(a: Box6, b: Box6) -> Box6:
    """Smallest box around both."""
    if _is_empty(a) or _is_empty(b):
        return b if _is_empty(a) else a
    return (min(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3]), min(a[4], b[4]), max(a[5], b[5]))


def _turned_box(lower: Array, upper: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """World box around a body-frame box."""
    if not np.all(np.isfinite(lower)):
        return np.full(3, -np.inf), np.full(3, np.inf)
    centre = position + rotation @ (0.5 * (lower + upper))
    half = np.abs(rotation) @ (0.5 * (upper - lower))
    return centre - half, centre + half


@inlined
def mean_of_corners(spec, phi_n, k, j, i):  # type: ignore[no-untyped-def]
    """Mean of the distances at the nodes about a cell, ghosts included as far as nodes go."""
    over = 1 if spec.dimensions == 3 else 0
    ku = min(k + over, spec.nz + 2 * GHOSTS - 1)
    ju = min(j + 1, spec.ny + 2 * GHOSTS - 1)
    iu = min(i + 1, spec.nx + 2 * GHOSTS - 1)
    low = phi_n[k, j, i] + phi_n[k, j, iu] + phi_n[k, ju, i] + phi_n[k, ju, iu]
    high = phi_n[ku, j, i] + phi_n[ku, j, iu] + phi_n[ku, ju, i] + phi_n[ku, ju, iu]
    return 0.125 * (low + high)


@borrowing
def _body_point(rows, b, dimensions, x, y, z):  # type: ignore[no-untyped-def]
    """World point in the frame of body b, R^T (x - position); in 2D the plane through the body's origin."""
    rx = x - rows[b, POSITION]
    ry = y - rows[b, POSITION + 1]
    rz = z - rows[b, POSITION + 2] if dimensions == 3 else 0.0
    return (
        rows[b, ROTATION] * rx + rows[b, ROTATION + 3] * ry + rows[b, ROTATION + 6] * rz,
        rows[b, ROTATION + 1] * rx + rows[b, ROTATION + 4] * ry + rows[b, ROTATION + 7] * rz,
        rows[b, ROTATION + 2] * rx + rows[b, ROTATION + 5] * ry + rows[b, ROTATION + 8] * rz,
    )


@borrowing
def _table_entry(rows, tables, b, field, px, py, pz, outside):  # type: ignore[no-untyped-def]
    """Value of table ``field`` of body b (0 distance, 1 ... 3 velocity) at a body-frame point, or ``outside``."""
    nz = int(rows[b, TABLE_SHAPE])
    ny = int(rows[b, TABLE_SHAPE + 1])
    nx = int(rows[b, TABLE_SHAPE + 2])
    h = rows[b, TABLE_SPACING]
    fx = (px - rows[b, TABLE_ORIGIN]) / h
    fy = (py - rows[b, TABLE_ORIGIN + 1]) / h
    fz = (pz - rows[b, TABLE_ORIGIN + 2]) / h
    if fx < 0.0 or fy < 0.0 or fz < 0.0 or fx > nx - 1 or fy > ny - 1 or fz > nz - 1:
        return outside
    return table_value(tables, int(rows[b, TABLE_START]) + field * nz * ny * nx, nz, ny, nx, fx, fy, fz)


@borrowing
def solid_distance(rows, tables, b, dimensions, x, y, z):  # type: ignore[no-untyped-def]
    """Signed distance of a world point from body b."""
    kind = int(rows[b, KIND])
    if kind == SPHERE:
        # no rotation, not even its rounding: a spinning ball is the same geometry, bit for bit
        rx = x - rows[b, POSITION]
        ry = y - rows[b, POSITION + 1]
        rz = z - rows[b, POSITION + 2] if dimensions == 3 else 0.0
        return sqrt(rx * rx + ry * ry + rz * rz) - rows[b, 0]
    px, py, pz = _body_point(rows, b, dimensions, x, y, z)
    if kind == TABLE:
        return _table_entry(rows, tables, b, np.int64(0), px, py, pz, UNSEEN)
    return analytic_distance(kind, rows, b, px, py, pz)


@borrowing
def _solid_velocity(rows, tables, b, dimensions, x, y, z):  # type: ignore[no-untyped-def]
    """Velocity of body b at a world point: v + omega x r, plus its own deformation."""
    rx = x - rows[b, POSITION]
    ry = y - rows[b, POSITION + 1]
    rz = z - rows[b, POSITION + 2] if dimensions == 3 else 0.0
    wx = rows[b, ANGULAR]
    wy = rows[b, ANGULAR + 1]
    wz = rows[b, ANGULAR + 2]
    vx = rows[b, LINEAR] + wy * rz - wz * ry
    vy = rows[b, LINEAR + 1] + wz * rx - wx * rz
    vz = rows[b, LINEAR + 2] + wx * ry - wy * rx
    if rows[b, TABLE_MOVING] == 1.0:
        px, py, pz = _body_point(rows, b, dimensions, x, y, z)
        for axis in range(3):
            own = _table_entry(rows, tables, b, 1 + axis, px, py, pz, 0.0)
            vx += rows[b, ROTATION + axis] * own
            vy += rows[b, ROTATION + 3 + axis] * own
            vz += rows[b, ROTATION + 6 + axis] * own
    return vx, vy, vz if dimensions == 3 else 0.0


@borrowing
def _nearest_solid(rows, tables, boxes, candidates, count, i, dimensions, x, y, z):  # type: ignore[no-untyped-def]
    """Nearest candidate (the first of equals) of a world point in column i and its distance.

    Candidates whose box ends before column i are further away than the band.
    """
    best = -1
    distance = UNSEEN
    for c in range(count):
        b = candidates[c]
        if boxes[b, 4] <= i and i < boxes[b, 5]:
            d = solid_distance(rows, tables, b, dimensions, x, y, z)
            if d < distance:
                distance = d
                best = b
    return best, distance


@borrowing
def distance_from(spec, rows, tables, solids, b, x, y, z):  # type: ignore[no-untyped-def]
    """Distance of a point from a solid, its repetitions along periodic axes among them."""
    found = UNSEEN
    for row in range(b, len(rows), solids):
        found = min(found, solid_distance(rows, tables, row, spec.dimensions, x, y, z))
    return 0.0 if abs(found) < SNAP * spec.dx else found


@borrowing
def _node_distance(rows, tables, boxes, candidates, count, i, dimensions, x, y, z, slit, solids):  # type: ignore[no-untyped-def]
    """Distance of a world point in column i from the nearest candidate; 0 in a slit between two solids that is
    narrower. The repetitions of one solid along a periodic axis leave none between them."""
    first = UNSEEN
    second = UNSEEN
    owner = -1
    for c in range(count):
        b = candidates[c]
        if boxes[b, 4] <= i and i < boxes[b, 5]:
            d = solid_distance(rows, tables, b, dimensions, x, y, z)
            if d < first:
                if b % solids != owner:
                    second = first
                first, owner = d, b % solids
            elif b % solids != owner:
                second = min(second, d)
    return 0.0 if first > 0.0 and first + second < slit else first


@borrowing
def _wall_point(rows, tables, b, dimensions, x, y, z, distance, h):  # type: ignore[no-untyped-def]
    """x - phi n, the point of the surface of body b next to x; n from differences of phi over 2 h."""
    if rows[b, KIND] == SPHERE:
        # the way to the centre
        s = distance / (distance + rows[b, 0]) if distance + rows[b, 0] > 0.0 else 0.0
        rz = z - rows[b, POSITION + 2] if dimensions == 3 else 0.0
        return x - s * (x - rows[b, POSITION]), y - s * (y - rows[b, POSITION + 1]), z - s * rz
    gx = solid_distance(rows, tables, b, dimensions, x + h, y, z)
    gx -= solid_distance(rows, tables, b, dimensions, x - h, y, z)
    gy = solid_distance(rows, tables, b, dimensions, x, y + h, z)
    gy -= solid_distance(rows, tables, b, dimensions, x, y - h, z)
    gz = solid_distance(rows, tables, b, dimensions, x, y, z + h)
    gz -= solid_distance(rows, tables, b, dimensions, x, y, z - h)
    norm_sq = gx * gx + gy * gy + gz * gz
    # at a kink of the distance (centre of a sphere) there is no direction to go
    if norm_sq < h * h:
        return x, y, z
    s = distance / sqrt(norm_sq)
    return x - s * gx, y - s * gy, z - s * gz


@inlined
def _way_in(i, n, low, high):  # type: ignore[no-untyped-def]
    """1 on a lower wall of the domain, -1 on an upper one, 0 elsewhere; i: index of a node along an axis of n cells."""
    return 1.0 if low == 1 and i == GHOSTS else (-1.0 if high == 1 and i == GHOSTS + n else 0.0)


@njit(cache=True, nogil=True)
def _sample_solids(  # type: ignore[no-untyped-def]
    spec, boxes, reach, candidates, candidates_first, rows, tables, solids, walls, far, out_changed, out_phi_n,
    out_body_c, out_distance_f, out_velocity_f, out_velocity_c, start, stop,
):  # fmt: skip
    """Distances, nearest bodies and velocities at the nodes, centres and faces of the cells of boxes.

    reach: the box of each row of solids; candidates: those that each of the boxes meets.
    """
    near = np.empty(len(reach), dtype=np.int64)
    left = np.empty(len(boxes.ends), dtype=np.int64)
    dx = spec.dx
    dim = spec.dimensions
    n = 0
    for row in range(start, stop):
        while row >= boxes.first[n + 1]:
            n += 1
        j0, j1, i0, i1 = boxes.ends[n, 2], boxes.ends[n, 3], boxes.ends[n, 4], boxes.ends[n, 5]
        k = boxes.ends[n, 0] + (row - boxes.first[n]) // (j1 - j0)
        j = j0 + (row - boxes.first[n]) % (j1 - j0)
        y = spec.y0 + (j - GHOSTS) * dx
        z = spec.z0 + (k - GHOSTS) * dx
        changed = 0
        count = boxes_of_row(reach, candidates, candidates_first[n], candidates_first[n + 1], k, j, near)
        behind = boxes_of_row(boxes.ends, boxes.met, boxes.met_first[n], boxes.met_first[n + 1], k, j, left)
        for i in range(i0, i1):
            if is_in_boxes(boxes.ends, left, behind, i):
                continue
            x = spec.x0 + (i - GHOSTS) * dx
            d = _node_distance(rows, tables, reach, near, count, i, dim, x, y, z, SLIT * dx, solids)
            # the cell's centre and faces are less than a cell from its node: beyond the band there is nothing to see
            beyond = d > far + 2.0 * dx
            d = min(d, far)
            if 0.0 < d < SLIT * dx:
                # on walls of the domain, solids that face them and do not stand on them: inwards they come nearer
                xi = x + SLIT * dx * _way_in(i, spec.nx, walls[0], walls[1])
                yi = y + SLIT * dx * _way_in(j, spec.ny, walls[2], walls[3])
                zi = z + SLIT * dx * _way_in(k, spec.nz, walls[4], walls[5]) if dim == 3 else z
                if d - _nearest_solid(rows, tables, reach, near, count, i, dim, xi, yi, zi)[1] > 0.5 * SLIT * dx:
                    d = 0.0
            if abs(d) < SNAP * dx:
                d = 0.0
            if out_phi_n[k, j, i] != d:
                out_phi_n[k, j, i] = d
                changed = 1
            if beyond:
                out_body_c[k, j, i] = -1
                for axis in range(3):
                    out_velocity_c[axis, k, j, i] = 0.0
                    out_velocity_f[axis, k, j, i] = 0.0
                    out_distance_f[axis, k, j, i] = far
                continue
            xc = x + 0.5 * dx
            yc = y + 0.5 * dx
            zc = z + 0.5 * dx
            b, d = _nearest_solid(rows, tables, reach, near, count, i, dim, xc, yc, zc)
            vx, vy, vz = 0.0, 0.0, 0.0
            if d < far:
                uneven = rows[b, TABLE_MOVING] == 1.0
                for axis in range(3):
                    uneven |= rows[b, ANGULAR + axis] != 0.0
                px, py, pz = xc, yc, zc
                if uneven and abs(d) < 2.0 * dx:
                    px, py, pz = _wall_point(rows, tables, b, dim, xc, yc, zc, d, 0.25 * dx)
                vx, vy, vz = _solid_velocity(rows, tables, b, dim, px, py, pz)
            out_body_c[k, j, i] = b % solids if d < far else -1
            out_velocity_c[0, k, j, i] = vx
            out_velocity_c[1, k, j, i] = vy
            out_velocity_c[2, k, j, i] = vz
            for axis in range(3):
                xf = x if axis == 0 else xc
                yf = y if axis == 1 else yc
                zf = z if axis == 2 else zc
                b, d = _nearest_solid(rows, tables, reach, near, count, i, dim, xf, yf, zf)
                vx, vy, vz = 0.0, 0.0, 0.0
                if d < far:
                    uneven = rows[b, TABLE_MOVING] == 1.0
                    for turn in range(3):
                        uneven |= rows[b, ANGULAR + turn] != 0.0
                    # faces that can be open feel the wall where it is, those well inside move with the solid
                    if uneven and -0.9 * dx < d < 2.0 * dx:
                        xf, yf, zf = _wall_point(rows, tables, b, dim, xf, yf, zf, d, 0.25 * dx)
                    vx, vy, vz = _solid_velocity(rows, tables, b, dim, xf, yf, zf)
                out_distance_f[axis, k, j, i] = min(d, far)
                out_velocity_f[axis, k, j, i] = vx if axis == 0 else (vy if axis == 1 else vz)
        if changed == 1:
            out_changed[k * (spec.ny + 2 * GHOSTS) + j] = 1
