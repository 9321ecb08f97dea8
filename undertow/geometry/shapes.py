"""Solid shapes with a distance formula: distance, bounds, moments and a surface to draw.

Lengths in metres. The axis of capsule, cylinder and torus is the body y axis; a half space lies below its plane. In a
2D scene a shape is cut by the x-y plane through its own origin: a sphere is a disc, a box a rectangle, a cylinder
turned onto the z axis a disc.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from undertow.errors import UserError
from undertow.geometry.collision import (
    CollisionEntry,
    Frame,
    formula_entry,
    plane_entry,
    polytope_entry,
    round_entry,
    unit_rows,
)
from undertow.geometry.distance import BOX, CAPSULE, CYLINDER, PARAMETERS, PLANE, SPHERE, TORUS, distance_analytic
from undertow.geometry.moments import Moments, uniform
from undertow.geometry.outline import FLAT, Outline, circle, counterclockwise, is_across_plane, polygons, refuse_tilt
from undertow.geometry.shape import Shape, Surface
from undertow.grid import Array


class AnalyticShape(Shape):
    """A shape with a closed distance formula: ``kind`` and ``parameters`` are what the kernels get."""

    def distance(self, points: Array) -> Array:
        return distance_analytic(self.kind, self.parameters, points)


ENDLESS = 1e30
"""Half length of a body along z in a 2D grid."""


def is_across(rotation: Array, axis: int) -> bool:
    """True when a body axis is the world's z axis."""
    return abs(rotation[2, axis]) > 1.0 - 1e-9


def _row(*values: float) -> Array:
    row = np.zeros(PARAMETERS)
    row[: len(values)] = values
    return row


def _principal(volume: float, moments: Array) -> Moments:
    """Moments (3,) per volume [m2] about the axes of a shape whose centre is its origin."""
    return uniform(volume, np.zeros(3), volume * np.diag(moments))


def _check_positive(shape: object, **lengths: float) -> None:
    for name, value in lengths.items():
        if not (np.isfinite(value) and value > 0):
            raise UserError(f"{type(shape).__name__.lower()}: {name} = {value}: must be positive; give it in metres")


@dataclass(frozen=True)
class Sphere(AnalyticShape):
    """Ball of ``radius`` about the origin."""

    radius: float
    kind = SPHERE

    def __post_init__(self) -> None:
        _check_positive(self, radius=self.radius)

    @property
    def parameters(self) -> Array:
        return _row(self.radius)

    def bounds(self) -> tuple[Array, Array]:
        return np.full(3, -self.radius), np.full(3, self.radius)

    def volume(self) -> float:
        return 4.0 / 3.0 * np.pi * self.radius**3

    def moments(self) -> Moments:
        return _principal(self.volume(), np.full(3, 0.4 * self.radius**2))

    def section(self, rotation: Array) -> Outline:
        return Outline(np.zeros((1, 3)), self.radius, [])

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        return round_entry(np.zeros((1, 3)), self.radius, frame)

    def turning_reach(self) -> float:
        return 0.0

    def thickness(self, dimensions: int = 3) -> float:
        return 2.0 * self.radius

    def surface(self, resolution: int = 48) -> Surface:
        angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, max(resolution // 2, 2) + 1)
        return _revolve(self.radius * np.cos(angle), self.radius * np.sin(angle), resolution)


@dataclass(frozen=True)
class Box(AnalyticShape):
    """Box of edge lengths ``size`` (x, y, z) centred on the origin."""

    size: tuple[float, float, float]
    kind = BOX

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(float(s) for s in self.size))
        if len(self.size) != 3:
            raise UserError(f"box: size = {self.size}: needs three edge lengths x, y, z in metres")
        for name, value in zip("xyz", self.size, strict=True):
            _check_positive(self, **{f"size {name}": value})

    @property
    def parameters(self) -> Array:
        return _row(*(0.5 * s for s in self.size))

    def planar_parameters(self, rotation: Array) -> Array:
        return _row(*(ENDLESS if is_across(rotation, a) else 0.5 * s for a, s in enumerate(self.size)))

    def bounds(self) -> tuple[Array, Array]:
        half = 0.5 * np.array(self.size)
        return -half, half

    def volume(self) -> float:
        return float(np.prod(self.size))

    def moments(self) -> Moments:
        x, y, z = (s * s for s in self.size)
        return _principal(self.volume(), np.array([y + z, z + x, x + y]) / 12.0)

    def section(self, rotation: Array) -> Outline:
        across = [a for a in range(3) if abs(rotation[2, a]) > 1.0 - FLAT]
        if not across:
            raise UserError(refuse_tilt("box"))
        i, j = (a for a in range(3) if a != across[0])
        u, v = 0.5 * self.size[i] * rotation[:, i], 0.5 * self.size[j] * rotation[:, j]
        return polygons(counterclockwise(np.array([-u - v, u - v, u + v, v - u])))

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        found = polytope_entry(self.surface(), frame)
        assert found is not None
        return found

    def boundary_lattice(
        self, spacing: float, dimensions: int, lower: Array | None = None, upper: Array | None = None
    ) -> Array | None:
        inner = np.maximum(np.asarray(self.size, dtype=float) - spacing, 0.0)
        last = np.round(inner / spacing).astype(np.int64)
        if dimensions == 2:
            last[2] = 0
        pitch = inner / np.maximum(last, 1)
        first, stop = np.zeros(3, dtype=np.int64), last + 1
        for axis in range(3):
            if last[axis] == 0:
                continue
            if lower is not None:
                first[axis] = np.clip(np.ceil((lower[axis] + 0.5 * inner[axis]) / pitch[axis]), 0, last[axis] + 1)
            if upper is not None:
                stop[axis] = np.clip(np.floor((upper[axis] + 0.5 * inner[axis]) / pitch[axis]) + 1, 0, last[axis] + 1)
        ranges = [np.arange(i, n) for i, n in zip(first, stop, strict=True)]
        faces = []
        for axis in range(dimensions):
            # the edges that faces share are those of the first of them
            inside = [
                r[(r > 0) & (r < n)] if a < axis else r for a, (r, n) in enumerate(zip(ranges, last, strict=True))
            ]
            for end in {0, int(last[axis])}:
                inside[axis] = ranges[axis][ranges[axis] == end]
                faces.append(np.stack(np.meshgrid(*inside, indexing="ij"), axis=-1).reshape(-1, 3))
        index = np.concatenate(faces)
        index = index[np.lexsort(index.T[::-1])]
        place = np.where(index == last, 0.5 * inner, index * pitch - 0.5 * inner)
        return np.ascontiguousarray(np.where(last > 0, place, 0.0))

    def thickness(self, dimensions: int = 3) -> float:
        return min(self.size[:dimensions])

    def surface(self, resolution: int = 48) -> Surface:
        """Twelve triangles, whatever the resolution."""
        corners = np.array([(x, y, z) for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
        quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
        triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
        return corners * np.array(self.size), np.array(triangles, dtype=np.int64)


@dataclass(frozen=True)
class Capsule(AnalyticShape):
    """All points within ``radius`` of a segment of ``length`` along y (the caps add a radius at either end)."""

    radius: float
    length: float
    kind = CAPSULE

    def __post_init__(self) -> None:
        _check_positive(self, radius=self.radius, length=self.length)

    @property
    def parameters(self) -> Array:
        return _row(self.radius, 0.5 * self.length)

    def bounds(self) -> tuple[Array, Array]:
        half = np.array([self.radius, 0.5 * self.length + self.radius, self.radius])
        return -half, half

    def volume(self) -> float:
        return np.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def moments(self) -> Moments:
        r, h = self.radius, self.length
        bar, ball = np.pi * r * r * h, 4.0 / 3.0 * np.pi * r**3
        # half balls: 2/5 r^2 about the flat centre, which is h/2 away, their centroids 3/8 r farther
        across = bar * (r * r / 4.0 + h * h / 12.0) + ball * (0.4 * r * r + h * h / 4.0 + 0.375 * h * r)
        along = bar * r * r / 2.0 + ball * 0.4 * r * r
        return _principal(self.volume(), np.array([across, along, across]) / self.volume())

    def section(self, rotation: Array) -> Outline:
        axis = rotation[:, 1]
        if is_across_plane("capsule", axis):
            return Outline(np.zeros((1, 3)), self.radius, [])
        half = 0.5 * self.length * (axis * np.array([1.0, 1.0, 0.0]))
        return Outline(np.array([-half, half]), self.radius, [])

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        ends = np.array([[0.0, -0.5 * self.length, 0.0], [0.0, 0.5 * self.length, 0.0]])
        return round_entry(ends, self.radius, frame)

    def thickness(self, dimensions: int = 3) -> float:
        return 2.0 * self.radius

    def surface(self, resolution: int = 48) -> Surface:
        angle = np.linspace(0.0, 0.5 * np.pi, max(resolution // 4, 1) + 1)
        r = self.radius * np.cos(angle)
        y = 0.5 * self.length + self.radius * np.sin(angle)
        return _revolve(np.concatenate([r[::-1], r]), np.concatenate([-y[::-1], y]), resolution)


@dataclass(frozen=True)
class Cylinder(AnalyticShape):
    """Cylinder of ``radius`` and ``length`` along y, flat ends."""

    radius: float
    length: float
    kind = CYLINDER

    def __post_init__(self) -> None:
        _check_positive(self, radius=self.radius, length=self.length)

    @property
    def parameters(self) -> Array:
        return _row(self.radius, 0.5 * self.length)

    def planar_parameters(self, rotation: Array) -> Array:
        return _row(self.radius, ENDLESS if is_across(rotation, 1) else 0.5 * self.length)

    def bounds(self) -> tuple[Array, Array]:
        half = np.array([self.radius, 0.5 * self.length, self.radius])
        return -half, half

    def volume(self) -> float:
        return np.pi * self.radius**2 * self.length

    def moments(self) -> Moments:
        r, h = self.radius**2, self.length**2
        return _principal(self.volume(), np.array([r / 4.0 + h / 12.0, r / 2.0, r / 4.0 + h / 12.0]))

    def section(self, rotation: Array) -> Outline:
        axis = rotation[:, 1]
        if is_across_plane("cylinder", axis):
            return Outline(np.zeros((1, 3)), self.radius, [])
        axis = axis * np.array([1.0, 1.0, 0.0])
        half = 0.5 * self.length * axis
        side = np.array([axis[1], -axis[0], 0.0]) * self.radius
        return polygons(counterclockwise(np.array([-half - side, half - side, half + side, side - half])))

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        """Probes on its rims and on lines along its side."""
        around = 32
        spacing = 2.0 * np.pi * self.radius / around
        rows = np.linspace(-0.5, 0.5, min(max(2, int(np.ceil(self.length / (2.0 * spacing))) + 1), 33)) * self.length
        a = 2.0 * np.pi * np.arange(around) / around
        ring = np.stack([self.radius * np.sin(a), np.zeros(around), self.radius * np.cos(a)], axis=1)
        normals = [
            unit_rows(ring + self.radius * np.array([0.0, float(np.sign(y)) * (abs(y) == rows[-1]), 0.0])) for y in rows
        ]
        points = np.concatenate([ring + np.array([0.0, y, 0.0]) for y in rows])
        probes = np.hstack([points, np.concatenate(normals)])
        return formula_entry(self.kind, self.parameters, probes, spacing, self.radius, frame)

    def thickness(self, dimensions: int = 3) -> float:
        return min(2.0 * self.radius, self.length)

    def surface(self, resolution: int = 48) -> Surface:
        h = 0.5 * self.length
        return _revolve(np.array([0.0, self.radius, self.radius, 0.0]), np.array([-h, -h, h, h]), resolution)


@dataclass(frozen=True)
class Torus(AnalyticShape):
    """Ring about y: centre line of ``radius``, ``tube`` is the radius of the tube."""

    radius: float
    tube: float
    kind = TORUS

    def __post_init__(self) -> None:
        _check_positive(self, radius=self.radius, tube=self.tube)
        if self.tube >= self.radius:
            raise UserError(
                f"torus: tube = {self.tube} is not smaller than radius = {self.radius}: the ring would have no hole; "
                "use a sphere or a smaller tube"
            )

    @property
    def parameters(self) -> Array:
        return _row(self.radius, self.tube)

    def bounds(self) -> tuple[Array, Array]:
        half = np.array([self.radius + self.tube, self.tube, self.radius + self.tube])
        return -half, half

    def volume(self) -> float:
        return 2.0 * np.pi**2 * self.radius * self.tube**2

    def moments(self) -> Moments:
        R, r = self.radius**2, self.tube**2
        moments = np.array([R / 2.0 + 5.0 * r / 8.0, R + 0.75 * r, R / 2.0 + 5.0 * r / 8.0])
        return _principal(self.volume(), moments)

    def section(self, rotation: Array) -> Outline:
        axis = rotation[:, 1]
        if is_across_plane("torus", axis):
            outer, hole = circle(self.radius + self.tube), circle(self.radius - self.tube)[::-1]
            return polygons(outer, np.ascontiguousarray(hole))
        side = np.array([axis[1], -axis[0], 0.0]) * self.radius
        return polygons(circle(self.tube) + side, circle(self.tube) - side)

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        around = 48
        across = max(12, int(np.ceil(around * self.tube / self.radius / 2)))
        a, b = (2.0 * np.pi * np.arange(n) / n for n in (around, across))
        r = self.radius + self.tube * np.cos(b)[None, :]
        y = np.broadcast_to(self.tube * np.sin(b)[None, :], (around, across))
        points = np.stack([r * np.sin(a)[:, None], y, r * np.cos(a)[:, None]], axis=-1).reshape(-1, 3)
        line = self.radius * np.stack([np.sin(a), np.zeros(around), np.cos(a)], axis=1)
        probes = np.hstack([points, unit_rows(points - np.repeat(line, across, axis=0))])
        spacing = 2.0 * np.pi * self.tube / across
        return formula_entry(self.kind, self.parameters, probes, spacing, self.tube, frame)

    def thickness(self, dimensions: int = 3) -> float:
        return 2.0 * self.tube

    def surface(self, resolution: int = 48) -> Surface:
        m = max(resolution // 2, 3)
        a = 2.0 * np.pi * np.arange(resolution) / resolution
        b = 2.0 * np.pi * np.arange(m) / m
        r = self.radius + self.tube * np.cos(b)[None, :]
        y = np.broadcast_to(self.tube * np.sin(b)[None, :], (resolution, m))
        vertices = np.stack([r * np.sin(a)[:, None], y, r * np.cos(a)[:, None]], axis=-1).reshape(-1, 3)
        i, j = (q.ravel() for q in np.meshgrid(np.arange(resolution), np.arange(m), indexing="ij"))
        i1, j1 = (i + 1) % resolution, (j + 1) % m
        p, q, s, t = i * m + j, i1 * m + j, i1 * m + j1, i * m + j1
        triangles = np.concatenate([np.stack([p, q, s], axis=1), np.stack([p, s, t], axis=1)])
        return vertices, triangles.astype(np.int64)


@dataclass(frozen=True)
class Plane(AnalyticShape):
    """Half space below the plane through the origin with outward ``normal``; drawn as a block
    of sides 2 ``extent`` and depth ``extent``."""

    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    extent: float = 10.0
    kind = PLANE
    is_endless = True

    def __post_init__(self) -> None:
        length = float(np.linalg.norm(self.normal))
        if len(self.normal) != 3 or not (np.isfinite(length) and length > 0):
            raise UserError(f"plane: normal = {self.normal}: must be three numbers, not all zero; e.g. [0, 1, 0]")
        object.__setattr__(self, "normal", tuple(float(c) / length for c in self.normal))
        _check_positive(self, extent=self.extent)

    @property
    def parameters(self) -> Array:
        return _row(*self.normal)

    def bounds(self) -> tuple[Array, Array]:
        return np.full(3, -np.inf), np.full(3, np.inf)

    def volume(self) -> float:
        return np.inf

    def collision_entry(self, frame: Frame, dimensions: int) -> CollisionEntry:
        return plane_entry(np.asarray(self.normal), frame)

    def drawn_to(self, extent: float) -> Shape:
        return replace(self, extent=extent)

    def thickness(self, dimensions: int = 3) -> float:
        return np.inf

    def surface(self, resolution: int = 48) -> Surface:
        """A box under the plane, whatever the resolution."""
        n = np.array(self.normal)
        a = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        a *= self.extent / np.linalg.norm(a)
        b = np.cross(n, a)
        top = np.array([-a - b, a - b, a + b, -a + b])
        sides = [(4 + i, 4 + (i + 1) % 4, (i + 1) % 4) for i in range(4)] + [(4 + i, (i + 1) % 4, i) for i in range(4)]
        triangles = [(0, 1, 2), (0, 2, 3), (6, 5, 4), (7, 6, 4), *sides]
        return np.concatenate([top, top - self.extent * n]), np.array(triangles, dtype=np.int64)


def _revolve(r: Array, y: Array, resolution: int) -> Surface:
    """Closed surface of revolution about y of a profile that runs up from the axis to the axis (r = 0 at both ends)."""
    n = max(resolution, 3)
    angle = 2.0 * np.pi * np.arange(n) / n
    rings = len(r) - 2
    ring = np.stack(
        [
            r[1:-1, None] * np.sin(angle)[None, :],
            np.repeat(y[1:-1, None], n, axis=1),
            r[1:-1, None] * np.cos(angle)[None, :],
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = np.concatenate([ring, [[0.0, y[0], 0.0], [0.0, y[-1], 0.0]]])
    bottom, top = rings * n, rings * n + 1
    i = np.arange(n)
    i1 = (i + 1) % n
    parts = [np.stack([np.full(n, bottom), i1, i], axis=1)]
    for k in range(rings - 1):
        a, b, c, d = k * n + i, k * n + i1, (k + 1) * n + i1, (k + 1) * n + i
        parts += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    last = (rings - 1) * n
    parts.append(np.stack([last + i, last + i1, np.full(n, top)], axis=1))
    return vertices, np.concatenate(parts).astype(np.int64)
