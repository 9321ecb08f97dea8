"""Breaking a shape by a fracture pattern (thesis 2.4.2 and 2.4.4, [@schroeder2011]): the pattern is laid on the body
with its centre where the body is hit, and the fragments are the connected parts of the body's intersections with its
regions.

    pattern = make_pattern("radial", seed=1)                            # once
    placed = align_pattern(pattern, shape.bounds(), point, normal)      # where the body is hit
    fragments = break_shape(shape, placed)
    shares = conserve(mass, centre, momentum, angular_momentum, fragments)

Three methods. ``mesh``: intersections of closed meshes, exact faces that fit, exact mass properties. ``level_set``: the
larger of two signed distances on a grid, parts found by flood fill, mass properties by sums over cells.
``level_set_aligned``: the same with the pattern sampled once on the grid of the body; it ignores the normal and moves
the point by up to half a cell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from undertow.errors import UserError
from undertow.geometry.fracture_patterns import PlacedPattern, align_pattern, make_pattern
from undertow.geometry.fragments import Fragment, FragmentMesh, Shares, conserve
from undertow.geometry.level_set_cuts import LevelSetShape, break_aligned, break_level_set, check_level_set
from undertow.geometry.mesh_cuts import break_mesh, check_mesh
from undertow.geometry.shape import Shape

__all__ = [
    "METHODS", "Fragment", "FragmentMesh", "LevelSetShape", "PlacedPattern", "Shares", "align_pattern", "break_shape",
    "check_method", "conserve", "make_pattern",
]  # fmt: skip

METHODS: dict[str, Callable[[Shape, PlacedPattern, float, int, int], list[Fragment]]] = {
    "mesh": break_mesh,
    "level_set": break_level_set,
    "level_set_aligned": break_aligned,
}
"""How a shape is cut, by name: (shape, placed pattern, smallest volume, dimensions, resolution) -> fragments."""

CHECKS: dict[str, Callable[[Shape, int, int], None]] = {
    "mesh": check_mesh,
    "level_set": check_level_set,
    "level_set_aligned": check_level_set,
}
"""What raises where a method cannot break a shape: (shape, dimensions, resolution)."""

RESOLUTION = {"mesh": 48, "level_set": 64, "level_set_aligned": 64}
"""Segments around of the mesh of a round body, or cells along the longest side of a body."""


def check_method(shape: Shape, method: str = "mesh", dimensions: int = 3, resolution: int | None = None) -> None:
    """Raise where a method could not break a shape: before a run, so that it need not end at the first impact."""
    CHECKS[method](shape, dimensions, _check_resolution(method, resolution))


def break_shape(
    shape: Shape,
    placed: PlacedPattern,
    method: str = "mesh",
    smallest: float = 0.0,
    dimensions: int = 3,
    resolution: int | None = None,
) -> list[Fragment]:
    """Fragments of a shape, by region, then by volume, largest first; none of a body that a level set does not see.

    method: of ``METHODS``; smallest [m]: a piece with less volume than its cube (2D: area than its square) is debris;
    resolution: of mesh, segments around of a round body, which breaks as its mesh; of level sets, cells along the
    longest side of the body; default as in ``RESOLUTION``.
    """
    count = _check_resolution(method, resolution)
    if not (np.isfinite(smallest) and smallest >= 0.0):
        raise UserError(f"fracture: smallest = {smallest}: must be a length [m], 0 or more")
    if placed.pattern.dimensions != dimensions:
        raise UserError(
            f"fracture: a pattern of {placed.pattern.dimensions} dimensions in a scene of {dimensions}; make it with "
            f"dimensions = {dimensions}"
        )
    return METHODS[method](shape, placed, smallest**dimensions, dimensions, count)


def _check_resolution(method: str, resolution: int | None) -> int:
    if method not in METHODS:
        raise UserError(f"fracture: method {method!r}: there is no such method; choose one of {', '.join(METHODS)}")
    count = RESOLUTION[method] if resolution is None else resolution
    if isinstance(count, bool) or not isinstance(count, int) or not 4 <= count <= 1000:
        raise UserError(f"fracture: resolution = {count!r}: must be a whole number from 4 to 1000")
    return count
