"""Advection: exactness, order, symmetry, bounds, and what happens at the sides."""

import tracemalloc

import numba
import numpy as np
import pytest

from undertow.errors import UserError
from undertow.grid import GHOSTS, INFLOW, OPEN, OUTFLOW, PERIODIC, WALL, Grid, Sides
from undertow.transport import SCHEMES, Advection

MOVING = SCHEMES[:3]
G = GHOSTS
TWO_PI = 2.0 * np.pi


def uniform(grid: Grid, velocity: tuple[float, float, float]) -> np.ndarray:
    by = grid.face_field()
    for axis in grid.axes:
        by[axis] = velocity[axis]
    return by


def lattice(grid: Grid, location: int) -> list[np.ndarray]:
    """x, y, z of all padded values at a location, broadcastable to [z, y, x]."""
    x, y, z = (
        grid.lower[a] + (np.arange(n) - G + (0.0 if a == location else 0.5)) * grid.dx
        for a, n in enumerate(grid.padded[::-1])
    )
    return [x[None, None, :], y[None, :, None], z[:, None, None]]


def rough_flow(grid: Grid, sides: Sides, seed: int = 0) -> np.ndarray:
    """Random face velocity of size up to 1, ghosts filled."""
    u = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, *grid.padded))
    u[grid.dimensions :] = 0.0
    sides.exchange.fill(u)
    return u


def transport(
    grid: Grid, sides: Sides, scheme: str, u: np.ndarray, by: np.ndarray, dt: float, **options: bool
) -> np.ndarray:
    out = grid.face_field()
    Advection(grid, sides, scheme, **options).velocity(u, by, dt, out)
    return out


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", (WALL, OUTFLOW, PERIODIC))
def test_constants_are_reproduced_exactly(scheme: str, kind: int) -> None:
    grid = Grid((6, 5, 4), 0.25)
    sides = Sides(grid, [kind] * 6)
    by = rough_flow(grid, sides)
    for side in range(6):
        sides.set_velocity(side, (0.7, 0.7, 0.7))
    u = np.full((3, *grid.padded), 0.7)
    out = transport(grid, sides, scheme, u, by, 0.1)
    for axis in grid.axes:
        assert np.all(out[(axis, *grid.interior)] == 0.7)
    q, out_c = np.full(grid.padded, -1.3), grid.cell_field()
    Advection(grid, sides, scheme).centred(q, by, 0.1, out_c, inflow=-1.3, ambient=-1.3)
    assert np.all(out_c[grid.interior] == -1.3)


@pytest.mark.parametrize("scheme", MOVING)
@pytest.mark.parametrize("dimensions", (2, 3))
def test_linear_fields_move_exactly(scheme: str, dimensions: int) -> None:
    """q = a . x carried by a constant velocity is a . (x - u dt), away from the sides."""
    grid = Grid((11, 10, 9 if dimensions == 3 else 1), 0.2, (1.0, 0.0, -1.0), dimensions)
    sides = Sides(grid, [OUTFLOW] * 6)
    velocity = np.array([0.5, -0.3, 0.4 if dimensions == 3 else 0.0])
    slope = np.array([1.0, 2.0, -1.5 if dimensions == 3 else 0.0])
    dt = 0.3
    u = grid.face_field()
    for axis in grid.axes:
        u[axis] = sum(s * x for s, x in zip(slope, lattice(grid, axis), strict=True))
    out = transport(grid, sides, scheme, u, uniform(grid, tuple(velocity)), dt, limiter=False)
    inner = (slice(G + 4, -G - 4) if dimensions == 3 else G, slice(G + 4, -G - 4), slice(G + 4, -G - 4))
    for axis in grid.axes:
        assert np.allclose(out[axis][inner], (u[axis] - dt * slope @ velocity)[inner], atol=1e-12)
    if dimensions == 2:
        assert not out[2].any()


def test_backtrace_is_the_midpoint_rule() -> None:
    """In a solid-body rotation interpolation is exact, so that the departure point itself can be read off."""
    grid = Grid((16, 16, 1), 0.125, (-1.0, -1.0, 0.0), dimensions=2)
    sides = Sides(grid, [OUTFLOW] * 6)
    dt, omega = 0.4, 0.9
    by = grid.face_field()
    by[0] = -omega * lattice(grid, 0)[1]
    by[1] = omega * lattice(grid, 1)[0]
    for component in range(2):
        q, out = grid.cell_field(), grid.cell_field()
        q[:] = lattice(grid, 3)[component]
        Advection(grid, sides, "semi_lagrangian").centred(q, by, dt, out)
        x, y, _ = lattice(grid, 3)
        h = 0.5 * dt * omega
        xm, ym = x + h * y, y - h * x
        expected = np.broadcast_to((x + 2 * h * ym, y - 2 * h * xm)[component], grid.padded)
        inner = (G, slice(G + 4, -G - 4), slice(G + 4, -G - 4))
        assert np.allclose(out[inner], expected[inner], atol=1e-13)


def translation_error(scheme: str, n: int, steps: int, dimensions: int = 2) -> float:
    """L1 error of a smooth periodic field carried for 0.25 s by a constant oblique velocity."""
    grid = Grid((n, n, 1), 1.0 / n, dimensions=dimensions)
    sides = Sides(grid, [PERIODIC] * 6)
    velocity, end = (1.0, 0.6, 0.0), 0.25
    by = uniform(grid, velocity)

    def exact(time: float) -> np.ndarray:
        u = grid.face_field()
        for axis in grid.axes:
            x, y, _ = lattice(grid, axis)
            u[axis] = np.sin(TWO_PI * (x - velocity[0] * time)) * np.cos(TWO_PI * (y - velocity[1] * time) + 0.3)
        return u

    advection = Advection(grid, sides, scheme, limiter=False)
    u, out = exact(0.0), grid.face_field()
    for _ in range(steps):
        advection.velocity(u, by, end / steps, out)
        sides.exchange.fill(out)
        u, out = out, u
    error = u - exact(end)
    return float(np.mean([np.abs(error[(axis, *grid.interior)]).mean() for axis in grid.axes]))


@pytest.mark.parametrize(
    ("scheme", "sizes", "steps", "low", "high"),
    [
        ("semi_lagrangian", (32, 64), lambda n: n // 2 + 1, 0.8, 1.3),
        ("maccormack", (32, 64), lambda n: n // 2 + 1, 1.9, 2.5),
        ("eno3", (24, 48), lambda n: n, 2.8, 3.5),
    ],
)
def test_order_of_convergence(scheme: str, sizes: tuple[int, int], steps, low: float, high: float) -> None:
    coarse, fine = (translation_error(scheme, n, steps(n)) for n in sizes)
    order = np.log2(coarse / fine)
    assert low <= order <= high, f"{scheme}: errors {coarse:.3e}, {fine:.3e}, order {order:.2f}"


@pytest.mark.parametrize(("scheme", "bound"), [("semi_lagrangian", 0.6), ("maccormack", 0.12), ("eno3", 0.04)])
def test_solid_body_rotation_returns_a_blob(scheme: str, bound: float) -> None:
    n = 48
    grid = Grid((n, n, 1), 1.0 / n, (-0.5, -0.5, 0.0), dimensions=2)
    sides = Sides(grid)
    by = grid.face_field()
    by[0] = -TWO_PI * lattice(grid, 0)[1]
    by[1] = TWO_PI * lattice(grid, 1)[0]
    x, y, _ = lattice(grid, 3)
    q, out = grid.cell_field(), grid.cell_field()
    q[:] = np.exp(-((x - 0.2) ** 2 + y**2) / 0.15**2)
    start = q.copy()
    advection = Advection(grid, sides, scheme)
    steps = 320  # CFL below 1/2 at the rim, also summed over the axes
    for _ in range(steps):
        advection.centred(q, by, 1.0 / steps, out)
        sides.exchange.fill(out)
        q, out = out, q
    error = np.abs(q - start)[grid.interior].max()
    assert error < bound
    assert q[grid.interior].min() > -1e-3


def flip(grid: Grid, u: np.ndarray, axis: int) -> np.ndarray:
    """The mirrored face field (interior and boundary faces; ghosts are 0)."""
    out = grid.face_field()
    for c in range(3):
        inside = (c, *grid.interior_faces(c))
        out[inside] = np.flip(u[inside], 2 - axis) * (-1.0 if c == axis else 1.0)
    return out


@pytest.mark.parametrize("scheme", MOVING)
@pytest.mark.parametrize("axis", range(3))
def test_mirrored_scene_gives_the_mirrored_result(scheme: str, axis: int) -> None:
    grid = Grid((7, 6, 5), 0.2)
    kinds = [WALL, OUTFLOW, INFLOW, OPEN, WALL, OPEN]
    sides = Sides(grid, kinds)
    inflow = np.array([0.2, 0.5, -0.1])
    sides.set_velocity(2, tuple(inflow))
    mirrored_kinds = kinds.copy()
    mirrored_kinds[2 * axis], mirrored_kinds[2 * axis + 1] = kinds[2 * axis + 1], kinds[2 * axis]
    mirrored = Sides(grid, mirrored_kinds)
    inflow[axis] *= -1.0
    mirrored.set_velocity(mirrored_kinds.index(INFLOW), tuple(inflow))
    u = rough_flow(grid, sides)
    v = flip(grid, u, axis)
    mirrored.exchange.fill(v)
    out_u = transport(grid, sides, scheme, u, u, 0.06)
    out_v = transport(grid, mirrored, scheme, v, v, 0.06)
    assert np.allclose(flip(grid, out_u, axis), flip(grid, flip(grid, out_v, axis), axis), atol=1e-13)


@pytest.mark.parametrize("scheme", MOVING)
def test_permuted_axes_give_the_permuted_result(scheme: str) -> None:
    """x -> y -> z -> x: component and coordinate c of the first scene are c + 1 of the second."""
    kinds = [PERIODIC, PERIODIC, WALL, OUTFLOW, OPEN, WALL]
    grid = Grid((7, 6, 5), 0.2)
    turned = Grid((5, 7, 6), 0.2)
    sides, turned_sides = Sides(grid, kinds), Sides(turned, kinds[4:] + kinds[:4])

    def turn(u: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.stack([u[2], u[0], u[1]]).transpose(0, 2, 3, 1))

    u = rough_flow(grid, sides)
    v = turn(u)
    turned_sides.exchange.fill(v)
    out_u = turn(transport(grid, sides, scheme, u, u, 0.06))
    out_v = transport(turned, turned_sides, scheme, v, v, 0.06)
    for c in range(3):
        inside = (c, *turned.interior)
        assert np.allclose(out_u[inside], out_v[inside], atol=1e-13)


@pytest.mark.parametrize("scheme", MOVING)
def test_2d_equals_a_3d_run_that_does_not_depend_on_z(scheme: str) -> None:
    flat, deep = Grid((8, 7, 1), 0.2, dimensions=2), Grid((8, 7, 4), 0.2)
    kinds = [INFLOW, OUTFLOW, WALL, WALL, PERIODIC, PERIODIC]
    flat_sides, deep_sides = Sides(flat, kinds[:4] + [WALL, WALL]), Sides(deep, kinds)
    for sides in (flat_sides, deep_sides):
        sides.set_velocity(0, (0.4, 0.1, 0.0))
    u = rough_flow(flat, flat_sides)
    v = deep.face_field()
    v[:] = u[:, G : G + 1]
    deep_sides.exchange.fill(v)
    q = np.random.default_rng(3).standard_normal(flat.padded)
    flat_sides.exchange.fill(q, 0.5)
    r = deep.cell_field()
    r[:] = q[G : G + 1]
    out_u, out_v = (transport(g, s, scheme, w, w, 0.08) for g, s, w in ((flat, flat_sides, u), (deep, deep_sides, v)))
    out_q, out_r = flat.cell_field(), deep.cell_field()
    Advection(flat, flat_sides, scheme).centred(q, u, 0.08, out_q, inflow=0.5)
    Advection(deep, deep_sides, scheme).centred(r, v, 0.08, out_r, inflow=0.5)
    for k in range(G, G + 4):
        for axis in range(2):
            faces = flat.interior_faces(axis)[1:]
            assert np.allclose(out_v[axis, k][faces], out_u[axis, G][faces], atol=1e-14)
        assert np.allclose(out_r[k][flat.interior[1:]], out_q[G][flat.interior[1:]], atol=1e-14)
    assert not out_u[2].any() and not out_v[2].any()


@pytest.mark.parametrize("scheme", ("semi_lagrangian", "maccormack"))
def test_no_new_extremes_however_large_the_step(scheme: str) -> None:
    grid = Grid((9, 8, 7), 0.2)
    sides = Sides(grid, [PERIODIC, PERIODIC, WALL, WALL, OPEN, OPEN])
    by = rough_flow(grid, sides, seed=1)
    q, out = np.random.default_rng(2).uniform(0.0, 1.0, grid.padded), grid.cell_field()
    sides.exchange.fill(q, ambient=0.5)
    for dt in (0.05, 0.5, 20.0):
        Advection(grid, sides, scheme).centred(q, by, dt, out, ambient=0.5)
        assert out[grid.interior].min() >= q.min()
        assert out[grid.interior].max() <= q.max()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_prescribed_faces_keep_their_value_and_open_faces_move(scheme: str) -> None:
    grid = Grid((6, 6, 6), 0.2)
    sides = Sides(grid, [WALL, OUTFLOW, INFLOW, WALL, OPEN, WALL])
    sides.set_velocity(2, (0.0, 0.8, 0.0))
    u = rough_flow(grid, sides)
    out = transport(grid, sides, scheme, u, u, 0.1)
    for side, axis, end in grid.sides():
        face = [*grid.interior]
        face[2 - axis] = G + end * grid.cells[axis]
        same = np.array_equal(out[axis][tuple(face)], u[axis][tuple(face)])
        assert same == (sides.kind[side] in (WALL, INFLOW) or scheme == "none")


def test_inflow_value_enters_whole() -> None:
    """At CFL 1 a value of a cell becomes that of its upstream neighbour: beyond the inflow, that of the inflow."""
    grid = Grid((6, 4, 4), 0.2)
    sides = Sides(grid, [INFLOW, OUTFLOW, WALL, WALL, WALL, WALL], [True] * 6)
    sides.set_velocity(0, (1.0, 0.0, 0.0))
    by = uniform(grid, (1.0, 0.0, 0.0))
    sides.exchange.fill(by)
    q, out = np.random.default_rng(4).uniform(size=grid.padded), grid.cell_field()
    sides.exchange.fill(q, inflow=3.0)
    Advection(grid, sides, "semi_lagrangian").centred(q, by, 0.2, out, inflow=3.0)
    assert np.allclose(out[grid.interior][:, :, 0], 3.0, atol=1e-13)
    assert np.allclose(out[grid.interior][:, :, 1:], q[grid.interior][:, :, :-1], atol=1e-13)


@pytest.mark.parametrize("scheme", ("semi_lagrangian", "maccormack"))
def test_periodic_wrap_is_a_shift_by_whole_cells(scheme: str) -> None:
    """Also for steps longer than the domain."""
    grid = Grid((6, 5, 4), 0.25)
    sides = Sides(grid, [PERIODIC] * 6)
    u = rough_flow(grid, sides)
    for cells in (2, -3, 13):
        out = transport(grid, sides, scheme, u, uniform(grid, (float(cells), 0.0, 0.0)), 0.25)
        for axis in grid.axes:
            inside = (axis, *grid.interior)
            assert np.allclose(out[inside], np.roll(u[inside], cells, axis=2), atol=1e-12)


@pytest.mark.parametrize("scheme", MOVING)
@pytest.mark.parametrize("bad", (np.nan, np.inf))
@pytest.mark.parametrize("kind", (WALL, PERIODIC))
def test_a_velocity_that_is_not_finite_stays_visible(scheme: str, bad: float, kind: int) -> None:
    grid = Grid((6, 5, 4), 0.25)
    sides = Sides(grid, [kind] * 6)
    u = rough_flow(grid, sides)
    by = u.copy()
    by[0, G + 2, G + 2, G + 3] = bad
    out = transport(grid, sides, scheme, u, by, 0.1)
    assert not np.isfinite(out[0, G + 2, G + 2, G + 3])


@pytest.mark.parametrize("scheme", MOVING)
def test_same_bits_for_one_and_two_threads(scheme: str, handed_over: list[str]) -> None:
    grid = Grid((13, 11, 9), 0.1)
    sides = Sides(grid, [PERIODIC, PERIODIC, WALL, OPEN, WALL, WALL])
    u = rough_flow(grid, sides)
    results = []
    for threads in (1, 2):
        assert not handed_over
        numba.set_num_threads(threads)
        results.append(transport(grid, sides, scheme, u, u, 0.05))
    assert handed_over
    assert np.array_equal(*results)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_step_allocates_no_field(scheme: str) -> None:
    grid = Grid((16, 16, 16), 0.1)
    sides = Sides(grid)
    u, out = rough_flow(grid, sides), grid.face_field()
    advection = Advection(grid, sides, scheme)
    advection.velocity(u, u, 0.01, out)
    tracemalloc.start()
    advection.velocity(u, u, 0.01, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < grid.cell_field().nbytes / 4


def test_wrong_arguments_are_named() -> None:
    grid = Grid((4, 4, 4), 1.0)
    sides = Sides(grid)
    with pytest.raises(UserError, match='scheme = "upwind" is not known; choose one of semi_lagrangian'):
        Advection(grid, sides, "upwind")
    advection = Advection(grid, sides, "semi_lagrangian")
    u, out = grid.face_field(), grid.face_field()
    with pytest.raises(ValueError, match="out shares memory"):
        advection.velocity(u, u, 0.1, u)
    with pytest.raises(ValueError, match="dt = -1"):
        advection.velocity(u, u, -1.0, out)
    with pytest.raises(ValueError, match="out: shape"):
        advection.velocity(u, u, 0.1, grid.cell_field())


@pytest.mark.parametrize("scheme", ["semi_lagrangian", "maccormack"])
@pytest.mark.parametrize(("cells", "dimensions"), [((14, 12, 10), 3), ((24, 18, 1), 2)])
def test_skipping_the_surroundings_changes_no_bit(scheme, cells, dimensions, monkeypatch):
    """Cells that only the ambient value can reach are copied: the same bits as transporting every cell."""
    grid = Grid(cells, 0.1, dimensions=dimensions)
    sides = Sides(grid, kind=[WALL, OUTFLOW, WALL, OPEN, WALL, WALL])
    rng = np.random.default_rng(3)
    by = grid.face_field()
    for axis in grid.axes:
        by[axis][grid.interior_faces(axis)] = rng.uniform(-1, 1, by[axis][grid.interior_faces(axis)].shape)
    sides.exchange.fill(by)
    q = np.zeros((2, *grid.padded))
    q[1] = 293.0
    z = GHOSTS + cells[2] // 2
    q[0, z, GHOSTS + 5, GHOSTS + 6] = 2.0
    q[1, z, GHOSTS + 7 : GHOSTS + 9, GHOSTS + 5] = 400.0
    for n, rest in enumerate((0.0, 293.0)):
        sides.exchange.fill(q[n], 0.0, rest)
    advection = Advection(grid, sides, scheme)
    results = []
    for _ in range(2):
        out = np.zeros_like(q)
        advection.centred(q, by, 0.15, out, (0.0, 293.0), (0.0, 293.0))
        results.append(out[(slice(None), *grid.interior)])
        monkeypatch.setattr(advection, "_find_span", lambda *_, **__: advection._everywhere)
    assert (advection._span[:, 1] - advection._span[:, 0]).min() <= 0, "some rows are skipped"
    np.testing.assert_array_equal(results[0], results[1])
    assert np.count_nonzero(results[0][0]) > 1


@pytest.mark.parametrize("scheme", ["semi_lagrangian", "maccormack"])
@pytest.mark.parametrize(("cells", "dimensions"), [((14, 18, 10), 3), ((24, 18, 1), 2)])
def test_velocity_far_from_where_it_is_needed_is_left_alone(scheme, cells, dimensions):
    """Faces of the cells below a height are transported, to the bit; rows far above keep what they have."""
    grid = Grid(cells, 0.1, dimensions=dimensions)
    sides = Sides(grid, kind=[WALL, OUTFLOW, WALL, OPEN, WALL, WALL])
    u = rough_flow(grid, sides)
    y = grid.dx * (np.arange(grid.padded[1]) - GHOSTS + 0.5)
    distance = np.broadcast_to((y - 0.42)[None, :, None], grid.padded).copy()
    advection, out = Advection(grid, sides, scheme), [np.zeros_like(u), np.zeros_like(u)]
    advection.velocity(u, u, 0.08, out[0])
    advection.velocity(u, u, 0.08, out[1], distance)
    below, above = slice(GHOSTS, GHOSTS + 5), slice(GHOSTS + 12, GHOSTS + 18)
    z, x = slice(GHOSTS, GHOSTS + cells[2]), slice(GHOSTS, GHOSTS + cells[0])
    for axis in grid.axes:
        np.testing.assert_array_equal(out[1][axis, z, below, x], out[0][axis, z, below, x])
        np.testing.assert_array_equal(out[1][axis, z, above, x], u[axis, z, above, x])
        assert np.any(out[0][axis, z, below, x] != u[axis, z, below, x])
