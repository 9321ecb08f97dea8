"""Triangles (3D) and polylines (2D) of the surface phi = 0, closed at the sides of the domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.grid import Array, Grid
from undertow.transport import sample_centred, sample_velocity


class SurfaceMesh(NamedTuple):
    """vertices (n, 3) [m], triangles (m, 3) ordered so that their normals point out of the liquid, normals (n, 3) of
    length 1 and velocity (n, 3) [m/s] at the vertices."""

    vertices: Array
    triangles: np.ndarray
    normals: Array
    velocity: Array


def surface_mesh(grid: Grid, phi_c: Array, u_f: Array | None = None) -> SurfaceMesh:
    """Marching cubes (Lewiner et al. 2003, scikit-image) between the cell centres; watertight.

    Liquid that touches a side is closed by the plane of the side: one layer of |phi| around the domain puts the zero
    exactly there. phi must be a distance; ghosts of phi and u (velocity 0 if not given) must be filled.
    """
    if grid.dimensions == 2:
        raise ValueError("surface_mesh: the grid is 2D; use surface_contours")
    _check(grid, phi_c)
    closed = _close(grid, phi_c)
    if not closed.min() < 0.0:
        nothing = np.zeros((0, 3))
        return SurfaceMesh(nothing, np.zeros((0, 3), dtype=np.int64), nothing.copy(), nothing.copy())
    from skimage.measure import marching_cubes

    vertices, triangles, _, _ = marching_cubes(closed, 0.0, gradient_direction="ascent", allow_degenerate=False)
    index = vertices[:, ::-1].astype(np.float64)
    points = np.asarray(grid.lower) + (index - 0.5) * grid.dx
    normals = _normals(grid, phi_c, points)
    velocity = np.zeros_like(points) if u_f is None else sample_velocity(grid, u_f, points)
    return SurfaceMesh(points, np.ascontiguousarray(triangles, dtype=np.int64), normals, velocity)


def drop_mesh(position: Array, radius: Array, velocity: Array) -> SurfaceMesh:
    """Drops as icosahedra of their volume: position (n, 3) [m], radius (n,) [m], velocity (n, 3) [m/s]."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    corners = np.array([[0.0, y, z * golden] for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    corners = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    # faces: the triples of corners at the distance of an edge, 2
    near = np.abs(np.linalg.norm(corners[:, None] - corners, axis=2) - 2.0) < 1e-9
    faces = np.array(
        [(a, b, c) for a in range(12) for b in range(a) for c in range(b) if near[a, b] and near[b, c] and near[c, a]]
    )
    volumes = np.linalg.det(corners[faces]) / 6.0
    faces = np.where((volumes > 0.0)[:, None], faces, faces[:, ::-1])
    unit = corners * np.cbrt(4.0 / 3.0 * np.pi / np.abs(volumes).sum())
    n = len(position)
    vertices = position[:, None] + np.asarray(radius)[:, None, None] * unit
    triangles = faces + 12 * np.arange(n)[:, None, None]
    normals = np.tile(unit / np.linalg.norm(unit, axis=1, keepdims=True), (n, 1))
    return SurfaceMesh(vertices.reshape(-1, 3), triangles.reshape(-1, 3), normals, np.repeat(velocity, 12, axis=0))


def join_meshes(first: SurfaceMesh, second: SurfaceMesh) -> SurfaceMesh:
    """Both as one mesh."""
    return SurfaceMesh(
        np.concatenate([first.vertices, second.vertices]),
        np.concatenate([first.triangles, second.triangles + len(first.vertices)]),
        np.concatenate([first.normals, second.normals]),
        np.concatenate([first.velocity, second.velocity]),
    )


def surface_contours(grid: Grid, phi_c: Array) -> list[Array]:
    """Closed polylines (n, 3) [m] of a 2D surface in the mid-plane, first point = last; liquid at a side is closed."""
    if grid.dimensions == 3:
        raise ValueError("surface_contours: the grid is 3D; use surface_mesh")
    _check(grid, phi_c)
    from skimage.measure import find_contours

    lines = find_contours(_close(grid, phi_c)[0], 0.0)
    lower, z = np.asarray(grid.lower), grid.lower[2] + 0.5 * grid.dx
    return [
        np.column_stack([lower[0] + (x - 0.5) * grid.dx, lower[1] + (y - 0.5) * grid.dx, np.full(len(x), z)])
        for y, x in (line.T for line in lines)
    ]


def _check(grid: Grid, phi_c: Array) -> None:
    if phi_c.shape != grid.padded:
        raise ValueError(f"phi_c: shape {phi_c.shape}, a grid of {grid.cells} cells needs {grid.padded}")


def _close(grid: Grid, phi_c: Array) -> Array:
    """phi of the interior cells with one layer around it that is nowhere liquid."""
    layers = [(1, 1) if axis in grid.axes else (0, 0) for axis in (2, 1, 0)]
    inner = phi_c[grid.interior]
    # a zero on a cell centre makes triangles without area
    inner = np.where(np.abs(inner) < 1e-6 * grid.dx, 1e-6 * grid.dx, inner)
    closed = np.abs(np.pad(inner, layers, mode="edge"))
    closed[tuple(slice(1, -1) if low else slice(None) for low, _ in layers)] = inner
    return closed


def _normals(grid: Grid, phi_c: Array, points: Array) -> Array:
    """grad phi / |grad phi|; on a side of the domain the normal of that side."""
    normals = np.zeros_like(points)
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 0.5 * grid.dx
        normals[:, axis] = sample_centred(grid, phi_c, points + step) - sample_centred(grid, phi_c, points - step)
    for axis in range(3):
        for end, wall in ((0, grid.lower[axis]), (1, grid.upper[axis])):
            on_side = np.abs(points[:, axis] - wall) < 1e-6 * grid.dx
            outward = np.zeros(3)
            outward[axis] = 2.0 * end - 1.0
            normals[on_side] = outward
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.divide(normals, length, out=np.zeros_like(normals), where=length > 0.0)
