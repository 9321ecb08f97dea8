"""Boundary particles of pieces of bodies that broke among particles.

A piece has those of the body that it was cut from where that is near its old surface, with their volumes, so that at a
break the density of the fluid, and with it the pressure, stays what it was. Faces of cracks have particles of their
own, which count by how far the crack is open: not at all where another body covers them, in full where a particle of
the fluid finds room,

    V_k = V_k0 min(1, g_k / d)        g_k: distance of their point of the surface from other bodies, d: the spacing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from undertow.geometry import Shape, Solid, Static
from undertow.grid import Array
from undertow.rigid.bodies import RigidBodies, rotation_matrix_of
from undertow.rigid.colliders import Colliders
from undertow.rigid.shapes import CollisionShapes
from undertow.solids.soft_contacts import gaps_to_others
from undertow.sph import boundary_volumes, sample_piece, surface_points

OLD = 0.25
"""Points of a piece less deep in the body that it was cut from than this part of the spacing are of its old surface."""


class Layer(NamedTuple):
    """Boundary particles of a body: points (n, 3) [m] with volumes (n,) [m3; 2D m2], the points of its surface (n, 3)
    [m] that they belong to, and whether they count by the gap there (n,)."""

    points: Array
    volume: Array
    surface: Array
    cracked: Any


def whole_layer(points: Array, spacing: float, dimensions: int) -> Layer:
    """Of a body that did not break."""
    return Layer(points, boundary_volumes(points, spacing, dimensions), points, np.zeros(len(points), dtype=bool))


class OldLayer(NamedTuple):
    """Of a body of the scene that broke, in the frame of its shape: as of ``Layer``; solid: the body there."""

    points: Array
    volume: Array
    surface: Array
    solid: Solid


def old_layer(solid: Solid, points: Array, spacing: float, dimensions: int) -> OldLayer:
    """Boundary particles (n, 3) [m] of a body of the scene at t = 0, in its frame."""
    position, R = solid.motion.pose(0.0)
    surface = surface_points(solid, points, spacing, dimensions)
    still = Solid(solid.name, solid.shape, Static(np.zeros(3), np.eye(3)))
    volume = boundary_volumes(points, spacing, dimensions)
    return OldLayer((points - position) @ R, volume, (surface - position) @ R, still)


def share_layer(old: OldLayer, pieces: Sequence[tuple[Shape, Array, Array]], spacing: float) -> list[Any]:
    """Which points (k,) of the layer of a body each piece of it takes over, those of its own surface. pieces: shape,
    and place [m] and axes, as rows, in the frame of the body."""
    away = np.stack([
        shape.distance(np.ascontiguousarray((old.surface - place) @ axes.T)) for shape, place, axes in pieces
    ])  # fmt: skip
    nearest = np.where(away.min(axis=0) < OLD * spacing, away.argmin(axis=0), -1)
    return [np.flatnonzero(nearest == n) for n in range(len(pieces))]


def piece_layer(
    solid: Solid, cut_from: tuple[Array, Array] | None, old: OldLayer | None, mine: Any, spacing: float, dimensions: int
) -> Layer:
    """Of a piece; cut_from: its place [m] and its axes as rows in the frame of the body, whose layer ``old`` has the
    points ``mine`` (k,) next to it. Without these all of its surface counts as cracks do."""
    points, surface = sample_piece(solid, spacing, dimensions)
    if old is None or cut_from is None:
        volume = boundary_volumes(points, spacing, dimensions, is_piece=True)
        return Layer(points, volume, surface, np.ones(len(points), dtype=bool))
    position, R = solid.motion.pose(0.0)
    place, axes = cut_from
    deep = old.solid.distance((surface - position) @ R @ axes + place, 0.0, dimensions) < -OLD * spacing
    kept, kept_surface = (
        ((values[mine] - place) @ axes.T) @ R.T + position for values in (old.points, old.surface)
    )
    found = np.concatenate([kept, points[deep]])
    volume = boundary_volumes(found, spacing, dimensions, is_piece=True)
    volume[: len(kept)] = old.volume[mine]
    cracked = np.arange(len(found)) >= len(kept)
    return Layer(found, volume, np.concatenate([kept_surface, surface[deep]]), cracked)


class CrackPoints:
    """The boundary particles that count by the gap at them: their rows (k,) among all, the points of the surface in the
    principal frames of bodies (k, 3) [m], the bodies (k,), and volumes (k,) [m3; 2D m2] where a crack is open."""

    def __init__(
        self, bodies: RigidBodies, shapes: CollisionShapes, rows: Any, local: Array, body: Any, volume: Array,
        spacing: float,
    ) -> None:  # fmt: skip
        self.bodies, self.shapes, self.rows, self.spacing = bodies, shapes, np.asarray(rows, dtype=np.int64), spacing
        self._local, self._body, self._full = local, np.asarray(body, dtype=np.int64), volume
        self._colliders = Colliders(bodies, shapes)

    def volumes(self) -> Array:
        """What they count with where the bodies are now (k,) [m3; 2D m2]."""
        bodies, body = self.bodies, self._body
        rotation = np.array([rotation_matrix_of(q) for q in bodies.q_b]).reshape(-1, 3, 3)
        x = bodies.x_b[body] + np.einsum("kij,kj->ki", rotation[body], self._local)
        gap = gaps_to_others(x, body, self.spacing, self._colliders, self.shapes)
        return np.asarray(self._full * np.clip(gap / self.spacing, 0.0, 1.0))
