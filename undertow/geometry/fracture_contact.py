"""How the pieces of broken bodies collide.

A convex piece collides by its planes. Where a round body has left more of them than are searched for separating axes,
those of the old surface are thinned out: the planes of cracks stay, by which neighbours fit, then planes are added
whose normals are farthest from those there are, until none is farther than ``CLOSE``. The piece then reaches beyond its
facets by about the bulge of that angle, R (1 / cos CLOSE - 1) at a radius R.

Any other piece is a field. It is the common part of the body that first broke and of the regions by which it was cut,
so its distance is the larger of theirs, phi = max(phi_b, n . x - d) (thesis 2.4.2 [@schroeder2011]): the table of the
body, sampled once, and a plane for each face of the regions. Where these do not know it, because a region is concave or
left several pieces, the distance of its mesh is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undertow.geometry.collision import (
    CollisionEntry,
    Frame,
    Polytope,
    convex_entry,
    polytope_of,
    probe_mesh,
    table_entry,
)
from undertow.geometry.meshes import MeshShape
from undertow.geometry.sdf_grid import SdfGrid, find_lattice
from undertow.geometry.shape import Shape, Triangles
from undertow.grid import Array

FINEST = 1.0 / 32.0
"""Spacing of the table of distances by which a piece collides that is not convex, as a share of its size: the pieces of
a body of 70 cells, as the thesis has them, are about as many cells large."""

PROBES = 1.0 / 16.0
"""Distance of its probes along edges, as for convex shapes."""

TURN = np.radians(25.0)
"""Corners of its edges that turn by less are thinned out too."""

MOST_PLANES = 44
"""Of a thinned convex piece."""

CLOSE, LOOSE = np.radians(9.0), np.radians(15.0)
"""Planes of the old surface whose normals are closer than CLOSE to one that is kept are left out; where there would be
too many, those that are closer than LOOSE, which bulge by half a cell of a table."""

BULGE = 1.15
"""A piece may grow so far by what is left out."""

FLAT = 0.04
"""Planes with at least this share of the surface are kept."""


class Carved(NamedTuple):
    """A piece as the part of a body that lies in convex regions.

    shape: of the body that first broke; offset (3,) [m], rotation (3, 3): where the frame of the piece is in that of
    this shape; planes (k, 4): of the regions, n . x <= d inside, in the frame of the piece.
    """

    shape: Shape
    offset: Array
    rotation: Array
    planes: Array

    def cut(self, planes: Array) -> Carved:
        """The part of it in a region more, whose planes (k, 4) are given in its frame."""
        return self._replace(planes=np.concatenate([self.planes, planes]))

    def seen_from(self, offset: Array, rotation: Array) -> Carved:
        """The same in a frame at an offset (3,) [m] in its own, turned by rotation (3, 3)."""
        normals = self.planes[:, :3]
        planes = np.column_stack([normals @ rotation, self.planes[:, 3] - normals @ offset])
        return Carved(self.shape, self.offset + self.rotation @ offset, self.rotation @ rotation, planes)

    def distance(self, axes: Sequence[Array]) -> Array:
        """Larger of the distances (z, y, x) [m] at the points of a lattice with these axes (x, y, z) [m]."""
        z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
        points = np.stack([x, y, z], axis=-1).reshape(-1, 3) @ self.rotation.T + self.offset
        return np.maximum(_distance_of(self.shape, points).reshape(x.shape), measure_planes(self.planes, axes))


def uncut(shape: Shape) -> Carved:
    """A body that has not broken yet."""
    return Carved(shape, np.zeros(3), np.eye(3), np.zeros((0, 4)))


def _distance_of(shape: Shape, points: Array) -> Array:
    """Signed distance of a shape at points (n, 3): of a mesh from a table that is made once."""
    mesh = shape.as_mesh()
    if mesh is None:
        return shape.distance(points)
    from scipy import ndimage

    grid = _table_of(mesh)
    place = ((points - grid.origin) / grid.spacing).T[::-1]
    return np.asarray(ndimage.map_coordinates(grid.values[0], place, order=1, mode="nearest"))


@lru_cache(maxsize=16)
def _table_of(shape: MeshShape) -> SdfGrid:
    """The table by which a mesh collides, if it has one already, else of a hundredth of its size."""
    if shape._table is not None and not shape._table[0][2]:
        return shape._table[1]
    lower, upper = shape.bounds()
    spacing = 0.01 * float(np.max(upper - lower))
    return shape.sample(0.0, spacing, 4.0 * spacing)


def carved_entry(mesh: MeshShape, carved: Carved | None, frame: Frame) -> CollisionEntry:
    """Field of a piece: probes on corners and edges, and a table of distance."""
    lower, upper = mesh.bounds()
    extent = float(np.max(upper - lower))
    spacing = FINEST * extent
    origin, (nz, ny, nx) = find_lattice(lower, upper, spacing, 4.0 * spacing, False, "fragment")
    axes = [origin[a] + spacing * np.arange(n) for a, n in enumerate((nx, ny, nz))]
    values = measure_near(mesh, axes, spacing) if carved is None else carved.distance(axes)
    probes = probe_mesh(mesh.vertices, mesh.triangles, PROBES * extent, TURN)
    return table_entry(probes, SdfGrid(origin, spacing, values[None], lower, upper), frame)


def thinned_entry(
    vertices: Array, triangles: Triangles, made: NDArray[np.bool_], frame: Frame
) -> CollisionEntry | None:
    """Convex entry of a convex piece with many planes, which are thinned out; None where that does not do.

    made (m,): triangles that a fracture has made, whose planes stay.
    """
    points = (vertices - frame.centre) @ frame.R
    found = _find_groups(points, triangles)
    if found is None:
        return None
    planes, area, group = found
    stays = area > FLAT * area.sum()
    stays[group[made & (group >= 0)]] = True
    chosen = thin_planes(planes[:, :3], stays)
    if chosen is None:
        return None
    polytope = _intersect(planes[chosen], points.mean(axis=0), float(np.max(np.ptp(points, axis=0))))
    return None if polytope is None else convex_entry(polytope)


def thin_planes(normals: Array, stays: NDArray[np.bool_]) -> Array | None:
    """Numbers of normals (n, 3): those that stay, then those farthest from all before, until none is farther than
    CLOSE or there are MOST_PLANES; None where these do not reach LOOSE."""
    chosen = np.flatnonzero(stays).tolist() or [0]
    nearest = np.max(normals @ normals[chosen].T, axis=1)
    while len(chosen) < MOST_PLANES and nearest.min() < np.cos(CLOSE):
        chosen.append(int(np.argmin(nearest)))
        np.maximum(nearest, normals @ normals[chosen[-1]], out=nearest)
    return np.array(chosen) if 4 <= len(chosen) <= MOST_PLANES and nearest.min() > np.cos(LOOSE) else None


def _intersect(planes: Array, inside: Array, size: float) -> Polytope | None:
    """The solid below planes (n, 4) around a point (3,); None where they do not close, or bulge without bound."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    try:
        corners = HalfspaceIntersection(np.column_stack([planes[:, :3], -planes[:, 3]]), inside).intersections
    except QhullError:
        return None
    if not np.all(np.isfinite(corners)) or float(np.max(np.ptp(corners, axis=0))) > BULGE * size:
        return None
    order = np.lexsort(np.round(corners / (1e-7 * size)).T)
    apart = np.linalg.norm(np.diff(corners[order], axis=0, prepend=np.inf), axis=1) > 1e-6 * size
    return polytope_of(corners[order[apart]], planes, size)


def _find_groups(vertices: Array, triangles: Triangles) -> tuple[Array, Array, Any] | None:
    """Planes (f, 4), n . x <= d inside, of a convex mesh, the area of each (f,), and whose each triangle is (m,), -1
    without area; None of a mesh that is not convex."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    size = float(np.max(np.ptp(vertices, axis=0)))
    solid = np.flatnonzero(area > 1e-9 * size * size)
    normals = normals[solid] / area[solid, None]
    offsets = np.einsum("ij,ij->i", normals, a[solid])
    # a few first: most that are not convex are seen at once
    for some in (slice(None, None, max(1, len(solid) // 50)), slice(None)):
        if np.max(vertices @ normals[some].T - offsets[some]) > 1e-9 * size:
            return None
    rounded = np.round(np.column_stack([normals, offsets / size]), 9)
    _, first, number = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    group = np.full(len(triangles), -1)
    group[solid] = number.ravel()
    planes = np.column_stack([normals, offsets])[first]
    return planes, np.asarray(np.bincount(group[solid], area[solid])), group


def find_planes(mesh: MeshShape) -> Array | None:
    """Planes (f, 4), n . x <= d inside, of a convex mesh; None of one that is not."""
    found = _find_groups(mesh.vertices, mesh.triangles)
    return None if found is None else found[0]


def measure_planes(planes: Array, axes: Sequence[Array]) -> Array:
    """Largest n . x - d (z, y, x) [m] of planes (f, 4) at the points of a lattice with these axes (x, y, z) [m]."""
    x, y, z = axes
    found = np.full((len(z), len(y), len(x)), -np.inf)
    height = np.empty_like(found)
    for a, b, c, offset in planes:
        np.add((c * z - offset)[:, None, None] + (b * y)[:, None], a * x, out=height)
        np.maximum(found, height, out=found)
    return found


def measure_near(mesh: MeshShape, axes: Sequence[Array], spacing: float) -> Array:
    """Signed distance (z, y, x) [m] of a mesh at the points of a lattice, exact where it is less than ``spacing`` [m];
    farther away with the sign of the nearest of those, and the distance to it added to its own."""
    from scipy import ndimage

    corners = mesh.vertices[mesh.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    counts = np.maximum(np.ceil(longest / spacing).astype(np.int64), 1)
    lower = np.array([axis[0] for axis in axes])
    shape = tuple(len(axis) for axis in axes[::-1])
    marked = np.zeros(shape, dtype=bool)
    for count in np.unique(counts):
        # points of triangles at most a spacing apart
        i, j = (k.ravel() for k in np.meshgrid(np.arange(count + 1), np.arange(count + 1)))
        weights = np.stack([i, j, count - i - j], axis=1)[i + j <= count] / count
        points = np.einsum("wc,tci->twi", weights, corners[counts == count]).reshape(-1, 3)
        index = np.round((points - lower) / spacing).astype(np.int64)
        marked[index[:, 2], index[:, 1], index[:, 0]] = True
    near = ndimage.binary_dilation(marked, structure=np.ones((5, 5, 5)))
    k, j, i = np.nonzero(near)
    values = np.zeros(shape)
    values[near] = mesh.distance(np.column_stack([axes[0][i], axes[1][j], axes[2][k]]))
    away, place = ndimage.distance_transform_edt(~near, sampling=spacing, return_indices=True)
    seen = values[tuple(place)]
    return np.asarray(seen + np.where(seen < 0.0, -away, away))
