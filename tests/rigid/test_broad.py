"""Broad phase against all pairs."""

import numpy as np
import pytest

from undertow.geometry import Box, Capsule, Plane, Sphere
from undertow.rigid.bodies import rotation_matrix_of
from undertow.rigid.broad import Pairs

SHAPES = (Box((0.3, 0.1, 0.5)), Sphere(0.2), Capsule(0.1, 0.4), Box((6.0, 0.2, 6.0)), Sphere(1.5))


def _turn(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _scatter(world, count, size, seed):
    """Mixed bodies, every seventh static, a plane and a few large ones among them."""
    rng = np.random.default_rng(seed)
    world.add(Plane((0.2, 1.0, 0.1)), (0.0, -0.3 * size, 0.0), static=True)
    for k in range(count):
        shape = SHAPES[3 + k % 2] if k % 50 == 49 else SHAPES[k % 3]
        world.add(shape, size * (rng.random(3) - 0.5), _turn(rng), static=k % 7 == 3)


def _all_pairs(world, reach):
    """Pairs whose boxes overlap, each with each; corners of the boxes of the shapes, turned."""
    bodies = world.bodies
    shapes = [SHAPES[s - 1] if s else None for s in _identify(world)]
    lower, upper = np.full((bodies.count, 3), -np.inf), np.full((bodies.count, 3), np.inf)
    for b, shape in enumerate(shapes):
        if shape is not None:
            low, high = shape.bounds()
            R = np.abs(rotation_matrix_of(bodies.q_b[b]))
            half = np.minimum(R @ (0.5 * (high - low)), np.linalg.norm(_farthest(shape)))
            lower[b], upper[b] = bodies.x_b[b] - half - reach[b], bodies.x_b[b] + half + reach[b]
    found = set()
    n = rotation_matrix_of(bodies.q_b[0]) @ np.array(Plane((0.2, 1.0, 0.1)).normal)
    for a in range(bodies.count):
        for b in range(a + 1, bodies.count):
            if bodies.kind_b[a] != 2 and bodies.kind_b[b] != 2:
                continue
            if a == 0:
                middle, half = 0.5 * (lower[b] + upper[b]), 0.5 * (upper[b] - lower[b])
                near = n @ (middle - bodies.x_b[0]) <= np.abs(n) @ half
            else:
                near = np.all(lower[a] <= upper[b]) and np.all(lower[b] <= upper[a])
            if near:
                found.add((a, b))
    return found


def _identify(world):
    """1 + the number in SHAPES of each body's shape, 0 for the plane."""
    known = {0: 0} | {world.shapes.add(shape): 1 + k for k, shape in enumerate(SHAPES)}
    return [known[int(s)] for s in world.bodies.shape_b]


def _farthest(shape):
    if isinstance(shape, Box):
        return np.array(shape.size) / 2
    return np.array([shape.radius + (0.5 * shape.length if isinstance(shape, Capsule) else 0.0), 0.0, 0.0])


@pytest.mark.parametrize(("count", "size"), [(1, 1.0), (40, 1.0), (250, 4.0), (250, 40.0)])
def test_pairs_are_those_of_all_with_all(count, size, world):
    _scatter(world, count, size, count)
    reach = 0.1 * np.random.default_rng(1).random(world.bodies.count)
    spec = world.bodies.spec
    found = world.pairs.find(world.shapes, spec, spec.x, spec.q, reach)
    pairs = list(zip(world.pairs.a.tolist(), world.pairs.b.tolist(), strict=True))
    assert found == len(pairs) and pairs == sorted(pairs)
    assert set(pairs) == _all_pairs(world, reach) and len(set(pairs)) == len(pairs)


def test_far_away_and_negative_places(world):
    """Cells far from the origin, even beyond the range of cell numbers, lose no pair."""
    rng = np.random.default_rng(2)
    for centre in ((-1e3, 2e3, -5e2), (3e6, -3e6, 1e6)):
        for _ in range(10):
            world.add(SHAPES[0], np.array(centre) + 0.3 * rng.random(3), _turn(rng))
    spec, reach = world.bodies.spec, np.zeros(world.bodies.count)
    found = world.pairs.find(world.shapes, spec, spec.x, spec.q, reach)
    x = spec.x
    assert found > 20 and all((a < 10) == (b < 10) for a, b in zip(world.pairs.a, world.pairs.b, strict=True))
    moved = Pairs()
    x[10:] -= (3e6, -3e6, 1e6)
    assert moved.find(world.shapes, spec, x, spec.q, reach) == found


def test_excluded_pairs_stay_away(world):
    for k in range(6):
        world.add(Sphere(0.6), (float(k), 0.0, 0.0))
    world.pairs.exclude([(3, 2), (0, 1), (0, 5)])
    spec = world.bodies.spec
    assert world.pairs.find(world.shapes, spec, spec.x, spec.q, np.zeros(6)) == 3
    assert list(world.pairs.a) == [1, 3, 4] and list(world.pairs.b) == [2, 4, 5]
    world.pairs.exclude([])
    assert world.pairs.find(world.shapes, spec, spec.x, spec.q, np.zeros(6)) == 5


def test_wrong_shapes_of_arrays_are_refused(world):
    world.add(Sphere(1.0))
    spec = world.bodies.spec
    with pytest.raises(ValueError, match="one per body"):
        world.pairs.find(world.shapes, spec, spec.x, spec.q, np.zeros(2))
