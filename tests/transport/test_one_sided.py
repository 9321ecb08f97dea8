"""Transport near thin surfaces: what sees what against brute force, and nothing of the other side, to the last bit."""

import itertools

import numba
import numpy as np
import pytest

from undertow.geometry import Box
from undertow.geometry.occlusion import INSIDE, THICKNESS, Occlusion, _see_pairs
from undertow.grid import GHOSTS, OUTFLOW, PERIODIC, Grid, Sides
from undertow.transport import Advection, OneSided


def closed_surface(dimensions: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, 3) and elements, turned outwards, of a crooked polygon or polyhedron around the origin."""
    rng = np.random.default_rng(3)
    if dimensions == 2:
        angle = np.linspace(0.0, 2.0 * np.pi, 11)[:-1]
        x = np.stack([np.cos(angle), np.sin(angle), np.zeros(10)], axis=1)
        element = np.stack([np.arange(10), np.roll(np.arange(10), -1)], axis=1)
    else:
        from scipy.spatial import ConvexHull

        x = rng.normal(size=(24, 3))
        x /= np.linalg.norm(x, axis=1)[:, None]
        element = ConvexHull(x).simplices
        p = x[element]
        inward = np.einsum("ti,ti->t", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), p.sum(axis=1)) < 0
        element[inward] = element[inward][:, ::-1]
    return x * radius * rng.uniform(0.7, 1.3, (len(x), 1)), np.asarray(element, np.int64)


def is_inside(points: np.ndarray, x: np.ndarray, element: np.ndarray) -> np.ndarray:
    """Winding number of the surface around each point is not zero (van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for e in element:
        a, b, c = (x[e[n]] - points for n in (0, 1, len(e) - 1))
        if len(e) == 2:
            total += np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b)[:, :2].sum(axis=1))
            continue
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        dot = [(p * q).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))]
        total += np.arctan2((a * np.cross(b, c)).sum(axis=1), la * lb * lc + dot[0] * lc + dot[1] * la + dot[2] * lb)
    return np.abs(total) > 1.0


def places(grid: Grid, location: int) -> np.ndarray:
    """Points (n, 3) of all padded values at a location."""
    axes = [
        grid.lower[a] + (np.arange(n) - GHOSTS + (0.0 if a == location else 0.5)) * grid.dx
        for a, n in enumerate(grid.padded[::-1])
    ]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    return np.stack([x, y, z if grid.dimensions == 3 else 0.0 * z], axis=-1).reshape(-1, 3)


def make_grid(dimensions: int) -> Grid:
    return Grid((12, 11, 10 if dimensions == 3 else 1), 0.1, (-0.6, -0.55, -0.5), dimensions)


@pytest.mark.parametrize("dimensions", (2, 3))
def test_what_sees_what_against_every_element(dimensions: int) -> None:
    grid = make_grid(dimensions)
    rng = np.random.default_rng(dimensions)
    x = rng.uniform(-0.5, 0.5, (30, 3))
    element = rng.permutation(30).reshape(-1, dimensions)
    occlusion = Occlusion(grid, element, len(x))
    occlusion.place(x, np.zeros((1, 3)))
    occlusion.settle()
    start = rng.uniform(-0.5, 0.5, (3000, 3))
    stop = start + rng.uniform(-0.25, 0.25, (3000, 3))
    if dimensions == 2:
        start[:, 2] = stop[:, 2] = x[:, 2] = 0.0
    seen = np.zeros(len(start), bool)
    to_index = [(p - np.array(grid.lower)) / grid.dx + GHOSTS for p in (start, stop)]
    if dimensions == 2:
        for p in to_index:
            p[:, 2] = GHOSTS + 0.5
    _see_pairs(grid.spec, occlusion.spec, *to_index, seen)
    crossed = np.zeros(len(start), bool)
    for e in element:
        if dimensions == 2:
            a, b = x[e]
            turn = [np.cross(b - a, p - a)[:, 2] for p in (start, stop)]
            turn += [np.cross(stop - start, p - start)[:, 2] for p in (a, b)]
            crossed |= (turn[0] * turn[1] < 0) & (turn[2] * turn[3] < 0)
            continue
        a, b, c = x[e]
        side = [(p - a) @ np.cross(b - a, c - a) for p in (start, stop)]
        way = stop - start
        volume = [(np.cross(q - start, r - start) * way).sum(axis=1) for q, r in ((a, b), (b, c), (c, a))]
        inner = (np.sign(volume[0]) == np.sign(volume[1])) & (np.sign(volume[1]) == np.sign(volume[2]))
        crossed |= (side[0] * side[1] < 0) & inner
    assert crossed.sum() > 100
    assert not (seen & crossed).any()
    # hidden by thickness alone: as rare as THICKNESS is small
    assert (~seen & ~crossed).sum() <= 3


@pytest.mark.parametrize("dimensions", (2, 3))
def test_points_that_change_sides_are_swept_and_far_ones_are_not(dimensions: int) -> None:
    grid = make_grid(dimensions)
    x, element = closed_surface(dimensions, 0.3)
    rng = np.random.default_rng(5)
    swept, changed = np.zeros((4, *grid.padded), np.uint8), 0
    for turn in range(3):
        occlusion = Occlusion(grid, element, len(x))
        start = x + 0.013 * turn
        move = rng.uniform(-0.12, 0.12, x.shape)
        if dimensions == 2:
            start[:, 2], move[:, 2] = 0.0, 0.0
        occlusion.place(start, np.zeros((1, 3)))
        occlusion.settle()
        occlusion.place(start + move, np.zeros((1, 3)))
        occlusion.mark_swept(swept)
        farthest = np.linalg.norm(move, axis=1).max() + 2.0 * THICKNESS * grid.dx
        for location in (0, 1, 3):
            points = places(grid, location)
            now = is_inside(points, start + move, element)
            other = is_inside(points, start, element) != now
            marked = swept[location].reshape(-1) == 1
            if dimensions == 2:  # one plane of cells, the others are copies of it
                plane = np.arange(len(points)) // (grid.padded[1] * grid.padded[2]) == GHOSTS
                other, marked = other & plane, marked & plane
            assert not (other & ~marked).any()
            changed += int(other.sum())
            near = np.zeros(len(points), bool)
            for e in element:  # the ball around an element holds what it can reach
                middle = start[e].mean(axis=0)
                size = np.linalg.norm(start[e] - middle, axis=1).max()
                near |= np.linalg.norm(points - middle, axis=1) <= size + farthest
            assert not (marked & ~near).any()
        assert swept.sum() < 0.7 * swept.size
    assert changed > 20


def carry(dimensions: int, scheme: str, kind: int, steps: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Fields that are one constant inside a closed surface and another outside, after a rough flow and random motion of
    the surface's nodes; asserts on the way that they still are."""
    grid = make_grid(dimensions)
    sides = Sides(grid, [kind] * (2 * dimensions) + [OUTFLOW] * (6 - 2 * dimensions))
    x, element = closed_surface(dimensions, 0.33)
    shift = np.zeros((1, 3))
    if kind == PERIODIC:
        x[:, 0] += 0.55  # across the seam
        shift = np.array([(n * 1.2, 0.0, 0.0) for n in (-1, 0, 1)])
    occlusion = Occlusion(grid, element, len(x))
    advection = Advection(grid, sides, scheme)
    advection.one_sided = OneSided(advection, occlusion)
    occlusion.place(x, shift)
    rng = np.random.default_rng(7)
    inner = np.array([0.3, 290.0, 0.7])

    def inside(location: int) -> np.ndarray:
        points = places(grid, location)
        found = [is_inside(points, x + s, element) for s in shift]
        return np.any(found, axis=0).reshape(grid.padded)

    u = np.stack([np.where(inside(a), inner[a], -0.4) for a in range(3)])
    q = np.stack([np.where(inside(3), inner[a], 0.0 if a == 0 else 300.0) for a in range(2)])
    crossed = 0
    for _ in range(steps):
        by = rng.uniform(-1.0, 1.0, u.shape)
        by[dimensions:] = 0.0
        sides.exchange.fill(by)
        new_u, new_q = grid.face_field(), np.zeros_like(q)
        advection.velocity(u, by, 0.15, new_u)
        advection.centred(q, by, 0.15, new_q, inflow=(0.0, 300.0), ambient=(0.0, 300.0))
        before = inside(3)
        x = x + np.where(np.arange(3) < dimensions, rng.uniform(-0.04, 0.04, x.shape), 0.0)
        occlusion.place(x, shift)
        advection.one_sided.uncover(new_u, new_q, (0.0, 300.0), 0.15)
        crossed += int((before != inside(3))[grid.interior].sum())
        for a in grid.axes:
            wanted = np.where(inside(a), inner[a], -0.4)
            part = grid.interior if kind == PERIODIC else tuple(slice(GHOSTS + 1, -GHOSTS - 1) for _ in range(3))
            if dimensions == 2:
                part = (GHOSTS, *part[1:])
            # a value that sees no other moves with the surface, at most 0.04 / 0.15 m/s
            lonely = new_u[a][part] != wanted[part]
            assert lonely.sum() <= 1 and (np.abs(new_u[a][part][lonely]) < 0.27).all()
        for a in range(2):
            wanted = np.where(inside(3), inner[a], 0.0 if a == 0 else 300.0)
            lonely = new_q[a][grid.interior] != wanted[grid.interior]
            assert lonely.sum() <= 1 and (new_q[a][grid.interior][lonely] == (0.0, 300.0)[a]).all()
            assert not (lonely & ~inside(3)[grid.interior]).any()
        u = np.stack([np.where(inside(a), inner[a], -0.4) for a in range(3)])
        q = np.stack([np.where(inside(3), inner[a], 0.0 if a == 0 else 300.0) for a in range(2)])
    assert crossed > 5
    return new_u, new_q


@pytest.mark.parametrize(
    ("dimensions", "scheme", "kind"),
    [
        *itertools.product((2,), ("semi_lagrangian", "maccormack"), (OUTFLOW, PERIODIC)),
        *((3, "semi_lagrangian", OUTFLOW), (3, "maccormack", PERIODIC), (3, "eno3", OUTFLOW)),
    ],
)
def test_a_constant_on_each_side_of_a_moving_closed_surface_stays(dimensions: int, scheme: str, kind: int) -> None:
    carry(dimensions, scheme, kind)


def test_without_sight_the_other_side_comes_through() -> None:
    """The same flow with plain transport does mix the sides: the test above can fail."""
    grid = make_grid(2)
    sides = Sides(grid, [OUTFLOW] * 6)
    x, element = closed_surface(2, 0.33)
    q = np.where(is_inside(places(grid, 3), x, element), 1.0, 0.0).reshape(grid.padded)
    by = np.random.default_rng(7).uniform(-1.0, 1.0, (3, *grid.padded))
    by[2] = 0.0
    out = grid.cell_field()
    Advection(grid, sides, "maccormack").centred(q, by, 0.15, out)
    assert ((out > 0.0) & (q == 0.0))[grid.interior].any()


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_threads_do_not_change_a_bit() -> None:
    grid = Grid((40, 40, 24), 0.05, (-1.0, -1.0, -0.6))
    sides = Sides(grid, [OUTFLOW] * 6)
    x, element = closed_surface(3, 0.5)
    rng = np.random.default_rng(1)
    u, move = rng.uniform(-1.0, 1.0, (3, *grid.padded)), rng.uniform(-0.04, 0.04, x.shape)
    found = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        occlusion = Occlusion(grid, element, len(x))
        advection = Advection(grid, sides, "maccormack")
        advection.one_sided = OneSided(advection, occlusion)
        occlusion.place(x, np.zeros((1, 3)))
        out = grid.face_field()
        advection.velocity(u, u, 0.05, out)
        occlusion.place(x + move, np.zeros((1, 3)))
        advection.one_sided.uncover(out, np.zeros((0, *grid.padded)), (0.0,), 0.05)
        found.append(out)
    assert np.array_equal(found[0], found[1])


def slab(dimensions: int, turn: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and elements of a plate 1.2 cells thick that divides the grid across x, turned about z by an angle."""
    size = np.array([0.12, 2.0, 2.0])
    if dimensions == 2:
        y = np.linspace(-1.0, 1.0, 9)
        right = np.stack([np.full(9, 0.06), y, np.zeros(9)], axis=1)
        x = np.concatenate([right, (right * [-1.0, 1.0, 1.0])[::-1]])
        element = np.stack([np.arange(18), np.roll(np.arange(18), -1)], axis=1)
    else:
        x, element = Box(tuple(size)).surface()
    c, s = np.cos(turn), np.sin(turn)
    return x @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + [0.02, 0.0, 0.0], element


@pytest.mark.parametrize("dimensions", (2, 3))
def test_values_inside_bodies_are_found_as_by_winding_numbers(dimensions: int) -> None:
    grid = make_grid(dimensions)
    swept = np.zeros((4, *grid.padded), np.uint8)
    for x, element in (closed_surface(dimensions, 0.3), slab(dimensions, 0.3)):
        occlusion = Occlusion(grid, element, len(x), len(element))
        occlusion.place(x, np.zeros((1, 3)))
        occlusion.settle()
        occlusion.mark_swept(swept)
        for location in (0, 1, 3):
            wanted = is_inside(places(grid, location), x, element).reshape(grid.padded)
            part = slice(GHOSTS, GHOSTS + 1) if dimensions == 2 else slice(None)
            found = swept[location][part]
            assert np.array_equal((found & INSIDE > 0)[found & 1 == 0], wanted[part][found & 1 == 0])
            assert wanted.sum() > 5


@pytest.mark.parametrize(("dimensions", "scheme"), [(2, "maccormack"), (3, "semi_lagrangian")])
def test_nothing_passes_a_moving_body_of_a_cell(dimensions: int, scheme: str) -> None:
    """A constant on each side of a plate of 1.2 cells that shifts, bends and turns; inside it holds what is beside."""
    grid = make_grid(dimensions)
    sides = Sides(grid, [OUTFLOW] * 6)
    advection = Advection(grid, sides, scheme)
    x, element = slab(dimensions, 0.0)
    occlusion = Occlusion(grid, element, len(x), len(element))
    advection.one_sided = OneSided(advection, occlusion)
    occlusion.place(x, np.zeros((1, 3)))
    rng = np.random.default_rng(11)

    def side(location: int) -> np.ndarray:
        """0 before the plate, 1 behind it, 2 in it."""
        points, (a, b) = places(grid, location), (x[:, 0] < middle(x[:, 1]), x[:, 0] > middle(x[:, 1]))
        assert a.any() and b.any()
        found = np.where(points[:, 0] < middle(points[:, 1]), 0, 1)
        found[is_inside(points, x, element)] = 2
        return found.reshape(grid.padded)

    turned, bent, at = 0.0, 0.0, 0.02

    def middle(y: np.ndarray) -> np.ndarray:
        return at + bent * y**2 + np.tan(-turned) * y

    values = np.array([0.3, 0.7, np.nan])
    u, q = (np.stack([values[side(n)] for n in ns]) for ns in ((0, 1, 2), (3, 3)))
    u, q = np.nan_to_num(u, nan=0.5), np.nan_to_num(q, nan=0.0)
    part = tuple(slice(GHOSTS + 2, -GHOSTS - 2) for _ in range(3))
    part = (slice(GHOSTS, GHOSTS + 1), *part[1:]) if dimensions == 2 else part
    for step in range(4):
        by = rng.uniform(-1.0, 1.0, u.shape)
        by[dimensions:] = 0.0
        sides.exchange.fill(by)
        new_u, new_q = grid.face_field(), np.zeros_like(q)
        advection.velocity(u, by, 0.1, new_u)
        advection.centred(q, by, 0.1, new_q, inflow=(0.0, 0.0), ambient=(0.0, 0.0))
        turned, at = 0.1 * (step + 1), at + 0.05
        bent = -0.05 * (step + 1) if dimensions == 2 else 0.0
        x = slab(dimensions, turned)[0]
        x[:, 0] += at - 0.02 + bent * x[:, 1] ** 2
        occlusion.place(x, np.zeros((1, 3)))
        advection.one_sided.uncover(new_u, new_q, (0.0, 0.0), 0.1)
        for field, location in ((new_u[0], 0), (new_u[1], 1), (new_q[0], 3), (new_q[1], 3)):
            where, found = side(location)[part], field[part]
            assert np.array_equal(found[where < 2], values[where[where < 2]])
            assert np.isin(found[where == 2], [0.3, 0.7]).mean() > 0.9
        # what comes in at the sides is neither constant
        u, q = (
            np.stack([np.where(side(n) < 2, values[side(n)], f) for f, n in zip(field, ns, strict=True)])
            for field, ns in ((new_u, (0, 1, 2)), (new_q, (3, 3)))
        )
    assert at > 0.2
