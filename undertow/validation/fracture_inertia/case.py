"""Inertia of fragments by sums over cells against the exact one of their meshes, as cells are refined."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.geometry import (
    Fragment,
    MeshShape,
    PlacedPattern,
    Shape,
    Torus,
    align_pattern,
    break_shape,
    make_bunny,
    make_gear,
    make_hull,
    make_pattern,
)
from undertow.validation.analysis import Array, Quantity, observed_order, quantity

ACROSS = (8, 16, 32, 64)
"""Cells along the longest side of a fragment."""

SMOKE = {"ACROSS": (4, 8)}


def make_bodies() -> dict[str, tuple[Shape, PlacedPattern]]:
    """Bodies and the pattern on each, none of whose faces is along the grid."""
    hull = make_hull(np.random.Generator(np.random.Philox(key=3)).normal(size=(14, 3)))
    given = {
        "hull": (hull, "voronoi", 4),
        "torus": (MeshShape(*Torus(0.5, 0.2).surface()), "glass", 8),
        "gear": (make_gear(0.5, 0.3, 7, 0.2, 0.3), "wood", 6),
        "bunny": (make_bunny(1.0), "radial", 6),
    }
    bodies: dict[str, tuple[Shape, PlacedPattern]] = {}
    for name, (shape, kind, pieces) in given.items():
        lower, upper = shape.bounds()
        point = lower + np.array([0.4, 0.55, 0.6]) * (upper - lower)
        pattern = make_pattern(kind, seed=1, pieces=pieces)
        bodies[name] = shape, align_pattern(pattern, (lower, upper), point, (0.3, -0.4, 1.0))
    return bodies


def tensor_of(fragment: Fragment) -> Array:
    """Inertia (3, 3) at density 1 about the centre of mass, along the axes of the parent [m5]."""
    return np.asarray(fragment.rotation @ np.diag(fragment.inertia) @ fragment.rotation.T)


def find_errors(shape: Shape, placed: PlacedPattern) -> list[float]:
    """Relative errors of the inertia of the largest fragment, by cells across it, and at last of its centre of mass in
    lengths of it."""
    exact = max(break_shape(shape, placed), key=lambda f: f.volume)
    corners = exact.to_parent(exact.shape.surface()[0])
    side = float(np.max(np.ptp(corners, axis=0)))
    lower, upper = shape.bounds()
    errors = []
    for across in ACROSS:
        cells = round(across * float(np.max(upper - lower)) / side)
        found = break_shape(shape, placed, "level_set", resolution=cells)
        same = min(found, key=lambda f: (f.label != exact.label, float(np.linalg.norm(f.offset - exact.offset))))
        errors.append(float(np.linalg.norm(tensor_of(same) - tensor_of(exact)) / np.linalg.norm(tensor_of(exact))))
    return [*errors, float(np.linalg.norm(same.offset - exact.offset)) / side]


def run(full: bool = False) -> Iterator[Quantity]:
    """The largest fragment of four bodies with 8, 16, 32 and 64 cells along it."""
    found = {name: find_errors(*body) for name, body in make_bodies().items()}
    worst = [max(errors[k] for errors in found.values()) for k in range(len(ACROSS))]
    yield quantity("inertia_64", worst[-1], across=list(ACROSS), errors=found)
    yield quantity("order", observed_order(ACROSS, worst))
    yield quantity("centre_64", max(errors[-1] for errors in found.values()))
