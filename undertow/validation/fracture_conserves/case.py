"""Fragments have together what the body had: mass, momentum, angular momentum, energy, and its space, once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from undertow.geometry import (
    PATTERNS,
    Box,
    Capsule,
    Cylinder,
    Fragment,
    MeshShape,
    Pattern,
    PlacedPattern,
    Shape,
    Shares,
    Sphere,
    Torus,
    align_pattern,
    break_shape,
    conserve,
    make_boat,
    make_bunny,
    make_gear,
    make_hull,
    make_pattern,
)
from undertow.geometry.moments import Moments
from undertow.validation.analysis import Array, Quantity, quantity

COUNT = 50
POINTS = 400
"""Random points that are looked for in the body and in its fragments."""
KINDS = ("box", "sphere", "hull", "gear", "torus", "cylinder", "capsule", "boat", "bunny", "hull")

SMOKE = {"COUNT": 2}


class Impact(NamedTuple):
    """A body, where its pattern lies, and how it moves: velocity (3,) [m/s], angular velocity (3,) [rad/s]."""

    shape: Shape
    placed: PlacedPattern
    velocity: Array
    omega: Array


def make_impact(number: int) -> Impact:
    """One of the random bodies, sizes 0.02 to 2 m, hit anywhere in its box along any normal."""
    random = np.random.Generator(np.random.Philox(key=[number, 27]))
    size = float(np.exp(random.uniform(np.log(0.02), np.log(2.0))))
    shape = make_shape(KINDS[number % len(KINDS)], size, random)
    lower, upper = shape.bounds()
    pattern = make_random_pattern(random)
    point, normal = random.uniform(lower, upper), random.normal(size=3)
    placed = align_pattern(pattern, (lower, upper), point, normal)
    return Impact(shape, placed, random.normal(size=3), random.normal(size=3) / size)


def make_shape(kind: str, size: float, random: np.random.Generator) -> Shape:
    """A body about ``size`` [m] large."""
    a, b, c = size * random.uniform(0.2, 1.0, 3)
    if kind == "box":
        return Box((a, b, c))
    if kind == "sphere":
        return Sphere(a)
    if kind == "torus":
        return Torus(a, a * random.uniform(0.2, 0.8))
    if kind == "cylinder":
        return Cylinder(a, b)
    if kind == "capsule":
        return Capsule(a, b)
    if kind == "gear":
        return make_gear(a, b, int(random.integers(4, 12)), random.uniform(0.1, 0.3), random.uniform(0.2, 0.5))
    if kind == "boat":
        return make_boat(size, 0.5 * size, 0.3 * size, random.uniform(0.04, 0.1) * size)
    if kind == "bunny":
        return make_bunny(size)
    return make_hull(size * random.normal(size=(int(random.integers(6, 30)), 3)))


def make_random_pattern(random: np.random.Generator) -> Pattern:
    """Any of the patterns with 2 to 40 pieces."""
    name = list(PATTERNS)[int(random.integers(len(PATTERNS)))]
    return make_pattern(name, seed=int(random.integers(1000)), pieces=int(random.integers(2, 41)))


def measure(impact: Impact, known: Moments, fragments: list[Fragment]) -> dict[str, float]:
    """Errors of the sums over fragments of a body of density 1000 kg/m3 whose moments are known, relative."""
    mass = 1000.0 * known.mass
    momentum, spin = mass * impact.velocity, 1000.0 * known.inertia @ impact.omega
    shares = conserve(mass, known.centre, momentum, spin, fragments)
    p, found, energy = add_up(fragments, shares, known.centre)
    before = 0.5 * momentum @ impact.velocity + 0.5 * spin @ impact.omega
    return {
        "mass": abs(shares.mass_b.sum() / mass - 1.0),
        "momentum": float(np.linalg.norm(p - momentum) / np.linalg.norm(momentum)),
        "angular_momentum": float(np.linalg.norm(found - spin) / np.linalg.norm(spin)),
        "energy": abs(energy / before - 1.0),
    }


def add_up(fragments: list[Fragment], shares: Shares, centre: Array) -> tuple[Array, Array, float]:
    """Momentum [kg m/s], angular momentum about a point (3,) [kg m2/s] and kinetic energy [J], fragment by fragment."""
    p, spin, energy = np.zeros(3), np.zeros(3), 0.0
    for f, m, v, w in zip(fragments, shares.mass_b, shares.velocity_b, shares.angular_velocity_b, strict=True):
        tensor = m / f.volume * f.rotation @ np.diag(f.inertia) @ f.rotation.T
        p += m * v
        spin += m * np.cross(f.offset - centre, v) + tensor @ w
        energy += 0.5 * m * v @ v + 0.5 * w @ tensor @ w
    return p, spin, energy


def overlap(fragments: list[Fragment]) -> float:
    """Volume [m3] that two fragments share, summed over all pairs."""
    from manifold3d import Manifold, Mesh64

    solids = []
    for f in fragments:
        vertices, triangles = f.shape.surface()
        solids.append(Manifold(Mesh64(f.to_parent(vertices), np.ascontiguousarray(triangles, dtype=np.uint64))))
    total = 0.0
    for n, one in enumerate(solids):
        low, high = np.split(np.array(one.bounding_box()), 2)
        for other in solids[:n]:
            first, last = np.split(np.array(other.bounding_box()), 2)
            if np.all(first < high) and np.all(last > low):
                total += abs((one ^ other).volume())
    return total


def misplaced(body: MeshShape, fragments: list[Fragment], seed: int) -> int:
    """Random points of the body's box that do not lie in one fragment if they lie in the body, and in none if not."""
    import igl

    random = np.random.Generator(np.random.Philox(key=[seed, 28]))
    points = random.uniform(*body.bounds(), (POINTS, 3))
    count = np.zeros(len(points), dtype=int)
    for f in fragments:
        own = np.ascontiguousarray((points - f.offset) @ f.rotation)
        count += igl.fast_winding_number(*f.shape.surface(), own) > 0.5
    inside = igl.fast_winding_number(body.vertices, body.triangles, points) > 0.5
    return int(np.sum(count != inside))


def run(full: bool = False) -> Iterator[Quantity]:
    """Fifty random bodies, patterns, impacts and motions, by meshes and by level sets of 64 cells."""
    errors: dict[str, list[float]] = {}
    pieces = []
    for number in range(COUNT):
        impact = make_impact(number)
        vertices, triangles = impact.shape.surface()
        body = MeshShape(vertices, triangles)
        known = body.moments()
        fragments = break_shape(body, impact.placed)
        pieces.append(len(fragments))
        for name, value in measure(impact, known, fragments).items():
            errors.setdefault(f"{name}_mesh", []).append(value)
        errors.setdefault("union_mesh", []).append(abs(sum(f.volume for f in fragments) / known.volume - 1.0))
        errors.setdefault("overlap_mesh", []).append(overlap(fragments) / known.volume)
        errors.setdefault("misplaced_mesh", []).append(misplaced(body, fragments, number))
        # the body as it is: a round one is no mesh
        exact = measure(impact, impact.shape.moments(), fragments)
        errors.setdefault("energy_round", []).append(exact["energy"])
        for method in ("level_set", "level_set_aligned"):
            fragments = break_shape(impact.shape, impact.placed, method)
            for name, value in measure(impact, impact.shape.moments(), fragments).items():
                errors.setdefault(f"{name}_{method}", []).append(value)
    for name, values in errors.items():
        yield quantity(name, max(values), worst=int(np.argmax(values)), bodies=COUNT)
    yield quantity("pieces", float(np.mean(pieces)), info=True, most=max(pieces))
