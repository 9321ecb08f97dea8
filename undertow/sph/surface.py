"""The surface of the particles of an SPH fluid, for pictures.

It is that of pysplashsurf (Löschner, Böttcher, Jeske and Bender 2023) where it is installed. Otherwise it is the level
one half of the share of space that is fluid: every particle spreads its volume over the cells around it, the result is
smoothed over a spacing, and walls mirror it.
"""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np

SMOOTHING = 0.9
"""Standard deviation of the smoothing of the fluid's share [spacings]."""

SPLASH_LENGTH, SPLASH_LEVEL, SPLASH_ROUNDS = 2.0, 0.6, 15
"""For pysplashsurf: smoothing length [radii], level of the surface, and rounds of smoothing of the mesh."""


def particle_surface(
    position: np.ndarray, velocity: np.ndarray, spacing: float, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Surface of particles (n, 3) [m] in a box: vertices (v, 3) [m], triangles (t, 3) wound outwards, normals (v, 3)
    and velocity (v, 3) [m/s] of the vertices."""
    if has_splashsurf() and len(position):
        return _splash_surface(position, velocity, spacing)
    return _level_surface(position, velocity, spacing, lower, upper)


def has_splashsurf() -> bool:
    """Whether pysplashsurf is installed."""
    return importlib.util.find_spec("pysplashsurf") is not None


def _splash_surface(
    position: np.ndarray, velocity: np.ndarray, spacing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """By pysplashsurf; its lengths are in radii of the particles."""
    splash = importlib.import_module("pysplashsurf")
    found, _ = splash.reconstruction_pipeline(
        np.ascontiguousarray(position, dtype=float),
        attributes_to_interpolate={"velocity": np.ascontiguousarray(velocity, dtype=float)},
        particle_radius=0.5 * spacing,
        smoothing_length=SPLASH_LENGTH,
        cube_size=1.0,
        iso_surface_threshold=SPLASH_LEVEL,
        mesh_cleanup=True,
        mesh_smoothing_iters=SPLASH_ROUNDS,
        compute_normals=True,
        sph_normals=False,
    )
    mesh, data = found.mesh, found.point_attributes
    # its order depends on how its threads come along, so vertices are put in that of their places
    vertices = np.asarray(mesh.vertices, dtype=np.float32)
    order = np.lexsort(vertices.T)
    number = np.empty(len(order), dtype=int)
    number[order] = np.arange(len(order))
    triangles = number[np.asarray(mesh.triangles).astype(int)]
    # every triangle from its first vertex on, without turning it over
    triangles = triangles[np.arange(len(triangles))[:, None], (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3]
    triangles = triangles[np.lexsort(triangles.T[::-1])]
    return (
        vertices[order].astype(float),
        triangles,
        np.asarray(data["normals"])[order],
        np.asarray(data["velocity"])[order],
    )


def _level_surface(
    position: np.ndarray, velocity: np.ndarray, spacing: float, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    from scipy.ndimage import gaussian_filter, map_coordinates
    from skimage.measure import marching_cubes

    shape = tuple(int(n) for n in np.maximum(1, np.round((upper - lower) / spacing)))
    share, momentum = _spread((position - lower) / spacing, velocity, shape)
    # walls mirror the fluid: its surface meets them at a right angle
    share = gaussian_filter(share, SMOOTHING, mode="reflect")
    padded = np.pad(share, 1)
    if padded.max() <= 0.5:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=int), np.zeros((0, 3)), np.zeros((0, 3))
    found, triangles, _, _ = marching_cubes(padded, 0.5)
    slope = np.stack(np.gradient(padded), axis=0)
    normals = -np.stack([map_coordinates(part, found.T, order=1) for part in slope], axis=1)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    corners = found[triangles]
    outward = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                        normals[triangles].mean(axis=1))  # fmt: skip
    triangles = np.where(outward[:, None] < 0, triangles[:, [0, 2, 1]], triangles)
    weight = np.maximum(gaussian_filter(momentum[0], SMOOTHING), 1e-6)
    speed = [gaussian_filter(part, SMOOTHING) / weight for part in momentum[1:]]
    moving = np.stack([map_coordinates(part, found.T - 1.0, order=1, mode="nearest") for part in speed], axis=1)
    return lower + (found - 0.5) * spacing, triangles, normals, moving


def _spread(place: np.ndarray, velocity: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Share of fluid in the cells, [x, y, z], and the weights and weighted velocities of the particles there."""
    base = np.floor(place - 0.5).astype(int)
    part = place - 0.5 - base
    size = int(np.prod(shape))
    total = [np.zeros(size) for _ in range(4)]
    for corner in np.ndindex(2, 2, 2):
        index = np.clip(base + corner, 0, np.array(shape) - 1)
        weight = np.prod(np.where(corner, part, 1.0 - part), axis=1)
        flat = np.ravel_multi_index(tuple(index.T), shape)
        total[0] += np.bincount(flat, weights=weight, minlength=size)
        for a in range(3):
            total[1 + a] += np.bincount(flat, weights=weight * velocity[:, a], minlength=size)
    fields = [values.reshape(shape) for values in total]
    return fields[0], fields
