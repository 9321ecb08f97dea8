"""Triangle meshes as solids: reading, checking, signed distance, and sequences of meshes that move.

Distances are those of libigl (exact distance to the triangles, sign by the fast winding number of Barill et al. 2018,
ACM Trans. Graph. 37(4), which forgives overlapping closed parts). Kernels read them from a grid (``sdf_grid``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from undertow.errors import UserError
from undertow.geometry.collision import CollisionEntry, Frame, field_entry, polytope_entry
from undertow.geometry.moments import Moments, integrate_mesh, measure_thickness, uniform
from undertow.geometry.outline import Outline, polygons, prism_loops
from undertow.geometry.sdf_grid import SdfGrid, find_lattice, sample_distance
from undertow.geometry.shape import Shape, Surface, Triangles
from undertow.grid import Array

READABLE = (".obj", ".ply", ".stl", ".gltf", ".glb")


class MeshShape(Shape):
    """Closed triangle mesh in its body frame: vertices (n, 3) [m], triangles (m, 3) wound outward.

    Must be watertight and consistently wound, else UserError; a mesh that is wound inward as a whole is turned.
    """

    def __init__(self, vertices: object, triangles: object, name: str = "mesh"):
        self.vertices = np.ascontiguousarray(vertices, dtype=np.float64)
        self.triangles = np.ascontiguousarray(triangles, dtype=np.int64)
        _check_closed(name, self.vertices, self.triangles)
        if _enclosed_volume(self.vertices, self.triangles) < 0.0:
            self.triangles = np.ascontiguousarray(self.triangles[:, ::-1])
        self._table: tuple[tuple[float, float, bool], SdfGrid] | None = None

    def scaled(self, factor: float) -> MeshShape:
        """The same mesh, ``factor`` times as large."""
        if not (np.isfinite(factor) and factor > 0):
            raise UserError(f"mesh: scale = {factor}: must be positive")
        return MeshShape(factor * self.vertices, self.triangles)

    def distance(self, points: Array) -> Array:
        """Signed distance [m] at body-frame points (n, 3), negative inside."""
        return _measure_mesh(self.vertices, self.triangles, points)[0]

    def nearest(self, points: Array) -> Array:
        """Points (n, 3) [m] of the surface nearest to body-frame points."""
        import igl

        points = np.ascontiguousarray(points, dtype=np.float64)
        return np.asarray(igl.point_mesh_squared_distance(points, self.vertices, self.triangles)[2])

    def normals(self, points: Array) -> Array:
        """Unit normals (n, 3) of the triangles nearest to body-frame points (n, 3)."""
        import igl

        points = np.ascontiguousarray(points, dtype=np.float64)
        p = self.vertices[self.triangles[igl.point_mesh_squared_distance(points, self.vertices, self.triangles)[1]]]
        normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        return np.asarray(normal / np.linalg.norm(normal, axis=1)[:, None])

    def bounds(self) -> tuple[Array, Array]:
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    def surface(self, resolution: int = 48) -> Surface:
        """The mesh itself, whatever the resolution."""
        return self.vertices, self.triangles

    def volume(self) -> float:
        """[m^3]"""
        return _enclosed_volume(self.vertices, self.triangles)

    def overlap(self) -> float:
        """Share of up to 400 triangles that lie inside another part of the mesh: just inside them the winding number is
        above one, and the volume of the overlap counts twice."""
        import igl

        a, b, c = (self.vertices[self.triangles[:, n]] for n in range(3))
        normals = np.cross(b - a, c - a)
        area = np.linalg.norm(normals, axis=1)
        chosen = np.unique(np.linspace(0, len(self.triangles) - 1, 400).astype(np.int64))
        chosen = chosen[area[chosen] > 0]
        inward = normals[chosen] / area[chosen, None] * (1e-3 * np.sqrt(area[chosen, None]))
        points = np.ascontiguousarray((a + b + c)[chosen] / 3.0 - inward)
        if not len(points):
            return 0.0
        return float(np.mean(igl.fast_winding_number(self.vertices, self.triangles, points) > 1.5))

    def thickness(self, dimensions: int = 3) -> float:
        """Estimate of the smallest thickness [m]: see ``measure_thickness``."""
        return measure_thickness(self.vertices, self.triangles)

    def moments(self) -> Moments:
        return uniform(*integrate_mesh(self.vertices, self.triangles))

    def section(self, rotation: Array) -> Outline:
        """Of a prism along z."""
        return polygons(*prism_loops(self.vertices @ rotation.T, self.triangles))

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        return polytope_entry(self.surface(), frame) or field_entry(self, frame)

    def identity(self) -> object:
        return (self.vertices.tobytes(), self.triangles.tobytes())

    def as_mesh(self) -> MeshShape | None:
        return self

    def sample(self, t: float, spacing: float, margin: float, flat: bool = False) -> SdfGrid:
        """Grid of the distance with ``margin`` [m] around the mesh; sampled at the first call and kept.

        ``flat``: only the layer about the body's x-y plane, all that a 2D grid needs.
        """
        key = (spacing, margin, flat)
        if self._table is None or self._table[0] != key:
            lower, upper = self.bounds()
            origin, shape = find_lattice(lower, upper, spacing, margin, flat)
            values = _sample_mesh(self.vertices, self.triangles, None, origin, spacing, shape, margin)
            self._table = (key, SdfGrid(origin, spacing, values, lower, upper))
        return self._table[1]


def note_overlap(name: str, shape: Shape, soft: bool = False) -> list[str]:
    """A note on a body ``name`` whose mesh has parts that overlap; none for other shapes and for parts that do not.

    A rigid body has the mass that the triangles enclose, where parts overlap twice; the elements of a ``soft`` one fill
    the union.
    """
    if (share := shape.overlap()) == 0.0:
        return []
    where = f"objects.{name}: {share:.0%} of its triangles lie inside other parts of the mesh"
    if soft:
        return [f"{where}: its elements fill the parts as one body, which weighs less than the parts together"]
    return [
        f"{where}: where parts overlap the body weighs twice; unite them in a mesh editor, or give its mass and inertia"
    ]


class AnimatedMesh(Shape):
    """A sequence of closed meshes with one topology: frames (f, n, 3) [m] at frame_rate [1/s] from ``start`` [s] on.

    Between frames the vertices (and for the kernels the distance) are interpolated linearly in time; before the first
    and after the last frame the mesh is at rest. The velocity of a vertex is the central difference of the frames
    around it (one-sided at the ends), interpolated linearly in time: second order for smooth motion, and continuous.
    """

    is_animated = True

    def __init__(
        self, frames: object, triangles: object, frame_rate: float, start: float = 0.0, name: str = "mesh sequence"
    ):
        self.frames = np.ascontiguousarray(frames, dtype=np.float64)
        self.triangles = np.ascontiguousarray(triangles, dtype=np.int64)
        self.frame_rate, self.start = float(frame_rate), float(start)
        if self.frames.ndim != 3 or len(self.frames) < 2:
            raise UserError(f"{name}: {len(self.frames)} frame(s): a sequence needs at least two")
        if not (np.isfinite(self.frame_rate) and self.frame_rate > 0):
            raise UserError(f"{name}: frame_rate = {frame_rate}: must be positive; give it in frames per second")
        for vertices in self.frames:
            _check_closed(name, vertices, self.triangles)
        if _enclosed_volume(self.frames[0], self.triangles) < 0.0:
            self.triangles = np.ascontiguousarray(self.triangles[:, ::-1])
        self.velocities = np.gradient(self.frames, 1.0 / self.frame_rate, axis=0)
        self._samples: tuple[tuple[int, float, float, bool], Array, Array, Array] | None = None
        self._table: tuple[tuple[float, float, float], SdfGrid] | None = None

    def _locate(self, t: float) -> tuple[int, float]:
        """Frame n and the fraction of the way to frame n + 1."""
        place = min(max((t - self.start) * self.frame_rate, 0.0), len(self.frames) - 1.0)
        n = min(int(place), len(self.frames) - 2)
        return n, place - n

    def is_moving(self, t: float) -> bool:
        """True between the first and the last frame."""
        return self.start <= t < self.start + (len(self.frames) - 1) / self.frame_rate

    def at(self, t: float) -> MeshShape:
        """The mesh at time t."""
        n, s = self._locate(t)
        shape = MeshShape.__new__(MeshShape)
        shape.vertices = (1.0 - s) * self.frames[n] + s * self.frames[n + 1]
        shape.triangles = self.triangles
        shape._table = None
        return shape

    def velocity(self, t: float) -> Array:
        """Velocity of the vertices (n, 3) [m/s] in the body frame."""
        n, s = self._locate(t)
        if not self.is_moving(t):
            return np.zeros_like(self.frames[0])
        return (1.0 - s) * self.velocities[n] + s * self.velocities[n + 1]

    def distance(self, points: Array) -> Array:
        """Of the first frame."""
        return self.at(self.start).distance(points)

    def surface(self, resolution: int = 48) -> Surface:
        """Of the first frame."""
        return self.frames[0], self.triangles

    def collision_entry(self, frame: Frame, dimensions: int) -> CollisionEntry:
        raise UserError("an animated mesh cannot collide; use a mesh")

    def bounds(self) -> tuple[Array, Array]:
        """Box around all frames."""
        return self.frames.min(axis=(0, 1)), self.frames.max(axis=(0, 1))

    def thickness(self, dimensions: int = 3) -> float:
        """Estimate for the first frame."""
        return measure_thickness(self.frames[0], self.triangles)

    def sample(self, t: float, spacing: float, margin: float, flat: bool = False) -> SdfGrid:
        """Grid at time t: each interval between frames samples both ends once, times between them mix the two."""
        n, s = self._locate(t)
        moving = self.is_moving(t)
        key = (n, spacing, margin, flat)
        if self._samples is None or self._samples[0] != key:
            ends = self.frames[n : n + 2]
            lower, upper = ends.min(axis=(0, 1)), ends.max(axis=(0, 1))
            origin, shape = find_lattice(lower, upper, spacing, margin, flat)
            first, second = (
                _sample_mesh(self.frames[m], self.triangles, self.velocities[m], origin, spacing, shape, margin)
                for m in (n, n + 1)
            )
            self._samples = (key, origin, first, second)
            self._table = None
        # a mesh at rest has one table for all times; the caller sees by its identity that nothing changed
        when = (float(n), s, float(moving))
        if self._table is None or self._table[0] != when:
            _, origin, first, second = self._samples
            ends = self.frames[n : n + 2]
            values = (1.0 - s) * first + s * second
            if not moving:
                values[1:] = 0.0
            self._table = (when, SdfGrid(origin, spacing, values, ends.min(axis=(0, 1)), ends.max(axis=(0, 1))))
        return self._table[1]


def load_mesh(path: str | Path) -> MeshShape:
    """A solid from an OBJ, PLY, STL or glTF file (lengths taken as metres)."""
    vertices, triangles = _read_mesh(Path(path))
    keep, number = _merged(vertices)
    return MeshShape(vertices[keep], _without_slivers(number[triangles]), name=f"mesh {Path(path).name}")


def load_triangles(path: str | Path) -> tuple[Array, Triangles]:
    """Vertices (n, 3) and triangles (m, 3) of a surface that need not be closed, from an OBJ, PLY, STL or glTF file;
    vertices of no triangle are left out."""
    vertices, triangles = _read_mesh(Path(path))
    check_extent(f"mesh {Path(path).name}", vertices)
    keep, merged = _merged(vertices)
    # numbered as they first appear in the file, which messages about them then count by
    order = np.argsort(keep)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    used, triangles = np.unique(_without_slivers(rank[merged][triangles]), return_inverse=True)
    return vertices[keep[order]][used], np.ascontiguousarray(triangles.reshape(-1, 3), dtype=np.int64)


def load_sequence(paths: Sequence[str | Path], frame_rate: float, start: float = 0.0) -> AnimatedMesh:
    """A moving solid from one file per frame, all with the vertices and triangles in the same order."""
    if len(paths) < 2:
        raise UserError(f"mesh sequence: {len(paths)} file(s): a sequence needs at least two")
    frames: list[Array] = []
    first: Triangles | None = None
    for path in map(Path, paths):
        vertices, triangles = _read_mesh(path)
        if first is None:
            first = triangles
        elif len(vertices) != len(frames[0]) or not np.array_equal(triangles, first):
            raise UserError(
                f"mesh sequence: {path.name} has {len(vertices)} vertices and {len(triangles)} triangles that do not "
                f"match those of {Path(paths[0]).name} ({len(frames[0])} and {len(first)}): all files must have the "
                "same topology in the same order; export the frames from one mesh"
            )
        frames.append(vertices)
    assert first is not None
    keep, merged = _merged(frames[0])
    name = f"mesh sequence {Path(paths[0]).name} ... {Path(paths[-1]).name}"
    return AnimatedMesh(
        np.stack(frames)[:, keep], _without_slivers(merged[first]), frame_rate=frame_rate, start=start, name=name
    )


def _read_mesh(path: Path) -> tuple[Array, Triangles]:
    """Vertices and triangles as stored in a file."""
    if path.suffix.lower() not in READABLE:
        raise UserError(f"mesh {path}: unknown kind of file {path.suffix!r}: give one of {', '.join(READABLE)}")
    if not path.is_file():
        raise UserError(f"mesh {path}: there is no such file; paths are relative to the scene file")
    import trimesh

    try:
        mesh: Any = trimesh.load(path, force="mesh", process=False, maintain_order=True)
        vertices = np.array(mesh.vertices, dtype=np.float64)
        triangles = np.array(mesh.faces, dtype=np.int64)
    # the readers of four formats fail in many ways; for the user they are one: the file cannot be read
    except Exception as error:
        raise UserError(f"mesh {path.name}: cannot be read ({error}); check that the file is complete") from error
    if len(triangles) == 0 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise UserError(f"mesh {path.name}: holds no triangles; export the surface as triangles or polygons")
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.min() < 0 or triangles.max() >= len(vertices):
        raise UserError(
            f"mesh {path.name}: a triangle has the vertex {int(triangles.max())}, and there are {len(vertices)}; the "
            "file is damaged, export it again"
        )
    return vertices, triangles


def _merged(vertices: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of one vertex per distinct position, and the new number of every vertex (files split them at seams)."""
    _, keep, number = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    return keep.astype(np.int64), number.reshape(-1).astype(np.int64)


def _without_slivers(triangles: Triangles) -> Triangles:
    """Triangles with three different corners."""
    a, b, c = triangles.T
    return np.ascontiguousarray(triangles[(a != b) & (b != c) & (c != a)])


def _check_closed(name: str, vertices: Array, triangles: Triangles) -> None:
    """Raise unless every edge is run through as often in one direction as in the other."""
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise UserError(f"{name}: needs vertices (n, 3) and triangles (m, 3), got {vertices.shape}, {triangles.shape}")
    check_extent(name, vertices)
    if len(triangles) < 4 or triangles.min() < 0 or triangles.max() >= len(vertices):
        raise UserError(
            f"{name}: {len(triangles)} triangles on {len(vertices)} vertices do not form a closed surface: it takes at "
            "least four triangles, of vertices that exist; export the whole surface"
        )
    start = triangles.ravel()
    end = triangles[:, [1, 2, 0]].ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    edges, edge = np.unique(low * len(vertices) + high, return_inverse=True)
    uses = np.bincount(edge.reshape(-1), minlength=len(edges))
    balance = np.bincount(edge.reshape(-1), weights=np.where(start < end, 1.0, -1.0), minlength=len(edges))
    open_edges = int(np.sum(uses % 2 == 1))
    if open_edges:
        raise UserError(
            f"{name}: not watertight: {open_edges} open edges of {len(edges)}; close the holes (for example "
            "'fill holes' and 'merge by distance' in a mesh editor), a solid needs an inside"
        )
    turned = int(np.sum(balance != 0))
    if turned:
        raise UserError(
            f"{name}: triangles are wound inconsistently at {turned} edges; recalculate the normals outward in a mesh "
            "editor, the winding says which side is inside"
        )


SMALLEST, LARGEST = 1e-9, 1e9
"""Extent of a mesh and distance of its vertices from the origin [m]."""


def check_extent(name: str, vertices: Array) -> None:
    """Vertices (n, 3) [m] are finite, not all in one place and not beyond all measure."""
    if not np.all(np.isfinite(vertices)):
        raise UserError(f"{name}: a vertex is not a finite number; repair the file")
    far = float(np.abs(vertices).max(initial=0.0))
    extent = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if far > LARGEST or extent < SMALLEST:
        raise UserError(
            f"{name}: reaches {far:.3g} m from its origin and is {extent:.3g} m long; meshes of {SMALLEST:g} to "
            f"{LARGEST:g} m are simulated; check its unit and the key scale"
        )


def _enclosed_volume(vertices: Array, triangles: Triangles) -> float:
    """Sum of signed tetrahedra about the middle of the mesh [m^3]."""
    a, b, c = (vertices[triangles[:, n]] - vertices.mean(axis=0) for n in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6.0)


def _measure_mesh(vertices: Array, triangles: Triangles, points: Array) -> tuple[Array, NDArray[np.int64], Array]:
    """Signed distance (n,), nearest triangle (n,) and nearest point (n, 3)."""
    import igl

    points = np.ascontiguousarray(points, dtype=np.float64)
    distance_sq, triangle, nearest = igl.point_mesh_squared_distance(points, vertices, triangles)
    inside = igl.fast_winding_number(vertices, triangles, points) > 0.5
    return np.where(inside, -1.0, 1.0) * np.sqrt(distance_sq), triangle, nearest


def _sample_mesh(
    vertices: Array,
    triangles: Triangles,
    velocities: Array | None,
    origin: Array,
    spacing: float,
    shape: tuple[int, int, int],
    band: float,
) -> Array:
    """Distance, and with vertex ``velocities`` (n, 3) velocity, at the points of a grid: (1 or 4, z, y, x)."""
    return sample_distance(partial(_evaluate_mesh, vertices, triangles, velocities), origin, spacing, shape, band)


def _evaluate_mesh(vertices: Array, triangles: Triangles, velocities: Array | None, points: Array) -> Array:
    """Distance and velocity at points, (1 or 4, n)."""
    distance, triangle, nearest = _measure_mesh(vertices, triangles, points)
    if velocities is None:
        return distance[None]
    corners = triangles[triangle]
    a, b, c = (vertices[corners[:, n]] for n in range(3))
    normal = np.cross(b - a, c - a)
    size = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    wb = np.einsum("ij,ij->i", np.cross(nearest - a, c - a), normal) / size
    wc = np.einsum("ij,ij->i", np.cross(b - a, nearest - a), normal) / size
    w = np.stack([1.0 - wb - wc, wb, wc], axis=1)
    velocity = np.einsum("nc,nci->in", w, velocities[corners])
    return np.concatenate([distance[None], velocity])
