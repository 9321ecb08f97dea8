"""Ghosts and boundary faces of every kind of side, against a brute-force statement of each rule."""

import numpy as np
import pytest

from undertow.grid import GHOSTS, INFLOW, KIND_NAMES, OPEN, OUTFLOW, PERIODIC, WALL, Grid, Sides

G = GHOSTS
RNG = np.random.default_rng(7)


def along(field: np.ndarray, axis: int) -> np.ndarray:
    """The interior lines of a [z, y, x] field along ``axis``, as (lines, padded length)."""
    inner = [slice(G, n - G) for n in field.shape]
    inner[2 - axis] = slice(None)
    return np.moveaxis(field[tuple(inner)], 2 - axis, -1).reshape(-1, field.shape[2 - axis])


def make(kind: int, axis: int, end: int, slip: bool = False, dimensions: int = 3) -> tuple[Grid, Sides]:
    grid = Grid((5, 4, 6) if dimensions == 3 else (5, 4, 1), 0.1, dimensions=dimensions)
    kinds = [OUTFLOW] * 6
    kinds[2 * axis + end] = kind
    if kind == PERIODIC:
        kinds[2 * axis] = kinds[2 * axis + 1] = PERIODIC
    slips = [False] * 6
    slips[2 * axis + end] = slip
    sides = Sides(grid, kinds, slips)
    if kind in (WALL, INFLOW):
        sides.set_velocity(2 * axis + end, (0.3, -0.7, 1.1 if dimensions == 3 else 0.0))
    return grid, sides


@pytest.mark.parametrize("kind", range(5), ids=KIND_NAMES)
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("end", (0, 1))
@pytest.mark.parametrize("slip", (False, True))
def test_velocity_ghosts_follow_the_rule_of_the_side(kind: int, axis: int, end: int, slip: bool) -> None:
    grid, sides = make(kind, axis, end, slip)
    before = RNG.standard_normal((3, *grid.padded))
    u = before.copy()
    sides.exchange.fill(u)
    n = grid.cells[axis]
    wanted = (0.3, -0.7, 1.1)
    for c in range(3):
        line, old = along(u[c], axis), along(before[c], axis)
        flip = (lambda a: a[:, ::-1]) if end else (lambda a: a)
        if kind == PERIODIC:
            for m in range(1, G + 1):
                assert np.array_equal(line[:, G - m], old[:, G + n - m])
                assert np.array_equal(line[:, G + n + m - 1], old[:, G + m - 1])
            continue
        # seen from the side, ghosts first; a high face side has its boundary face one index further out
        seen, seen_old = flip(line), flip(old)
        if c == axis:
            face = G - end
            if kind in (WALL, INFLOW):
                assert np.all(seen[:, face] == wanted[c])
            else:
                assert np.array_equal(seen[:, face], seen_old[:, face])
            for m in range(1, face + 1):
                if kind in (WALL, INFLOW):
                    assert np.allclose(seen[:, face - m] + seen[:, face + m], 2 * wanted[c], atol=1e-14)
                else:
                    assert np.array_equal(seen[:, face - m], seen[:, face])
        else:
            for m in range(1, G + 1):
                mirror = seen[:, G + m - 1]
                if kind not in (WALL, INFLOW):
                    assert np.array_equal(seen[:, G - m], seen[:, G])
                elif slip:
                    assert np.array_equal(seen[:, G - m], mirror)
                else:
                    assert np.allclose(seen[:, G - m] + mirror, 2 * wanted[c], atol=1e-14)


@pytest.mark.parametrize("kind", range(5), ids=KIND_NAMES)
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("end", (0, 1))
def test_centred_ghosts_follow_the_rule_of_the_side(kind: int, axis: int, end: int) -> None:
    grid, sides = make(kind, axis, end)
    q = RNG.standard_normal(grid.padded)
    sides.exchange.fill(q, inflow=5.0, ambient=-2.0)
    line = along(q, axis)
    n = grid.cells[axis]
    seen = line[:, ::-1] if end else line
    for m in range(1, G + 1):
        expected = {
            WALL: seen[:, G + m - 1],
            INFLOW: np.full(len(seen), 5.0),
            OUTFLOW: seen[:, G],
            OPEN: np.full(len(seen), -2.0),
            PERIODIC: seen[:, G + n - m],
        }[kind]
        assert np.array_equal(seen[:, G - m], expected)


def test_interior_is_untouched_and_corners_are_filled() -> None:
    grid, sides = make(WALL, 1, 0)
    u = np.full((3, *grid.padded), np.nan)
    for c in range(3):
        u[(c, *grid.interior_faces(c))] = RNG.standard_normal(u[(c, *grid.interior_faces(c))].shape)
    before = u.copy()
    sides.exchange.fill(u)
    assert np.isfinite(u).all()
    for c in (0, 2):
        inside = (c, *grid.interior_faces(c))
        assert np.array_equal(u[inside], before[inside])
    inside = (1, *grid.interior)
    assert np.array_equal(u[inside][:, 1:], before[inside][:, 1:])


def test_2d_fields_live_in_their_middle_plane() -> None:
    """Ghost planes along z of a 2D field are neither needed nor written."""
    grid, sides = make(WALL, 0, 1, dimensions=2)
    u, q = grid.face_field(), grid.cell_field()
    u[:2, G] = RNG.standard_normal(u[:2, G].shape)
    q[G] = RNG.standard_normal(q[G].shape)
    sides.exchange.fill(u)
    sides.exchange.fill(q)
    others = [k for k in range(grid.padded[0]) if k != G]
    assert not u[:, others].any() and not q[others].any() and not u[2].any()


def test_profile_reaches_the_boundary_faces() -> None:
    """Planes are indexed [later axis, earlier axis] over the interior cells of the side."""
    for axis in range(3):
        grid, sides = make(INFLOW, axis, 0)
        first, second = sides.plane_axes(2 * axis)
        planes = RNG.standard_normal((3, grid.cells[second], grid.cells[first]))
        sides.set_velocity(2 * axis, planes)
        u = grid.face_field()
        sides.exchange.fill(u)
        face = [*grid.interior]
        face[2 - axis] = G
        assert np.array_equal(u[axis][tuple(face)], planes[axis])


def test_errors_name_the_rule() -> None:
    grid = Grid((4, 4, 4), 1.0)
    with pytest.raises(ValueError, match="x_low and x_high must both be periodic"):
        Sides(grid, [PERIODIC, WALL, WALL, WALL, WALL, WALL])
    with pytest.raises(ValueError, match="need \\(3, 4, 4\\)"):
        Sides(grid).set_velocity(0, np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="one cell along z"):
        Grid((4, 4, 4), 1.0, dimensions=2)
    with pytest.raises(ValueError, match="must be 2 or 3"):
        Grid((4, 4, 1), 1.0, dimensions=1)
    with pytest.raises(ValueError, match="must be positive"):
        Grid((4, 0, 4), 1.0)
