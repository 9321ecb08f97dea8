"""Open fractions: exact for planes, closed, second order, the same in 2D and 3D, without a preferred direction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from undertow.geometry import Box, Capsule, Cylinder, Solid, SolidFields, Sphere, Static, measure_fractions
from undertow.geometry.motion import rotation_matrix
from undertow.grid import GHOSTS, Grid

CELL = Grid((1, 1, 1), 1.0)


def _one_cell(corners: np.ndarray) -> tuple[np.ndarray, float]:
    """Open fractions of the six faces (axis, end) and of one cell with node values corners[z, y, x]."""
    phi = np.ones(CELL.padded)
    phi[GHOSTS : GHOSTS + 2, GHOSTS : GHOSTS + 2, GHOSTS : GHOSTS + 2] = corners
    area, volume = CELL.face_field(), CELL.cell_field()
    measure_fractions(CELL, phi, area, volume)
    faces = np.array([[area[a][tuple(GHOSTS + e * (2 - a == n) for n in range(3))] for e in (0, 1)] for a in range(3)])
    return faces, float(volume[GHOSTS, GHOSTS, GHOSTS])


def _plane(normal: np.ndarray, offset: float) -> np.ndarray:
    z, y, x = np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], indexing="ij")
    return np.asarray(normal[0] * x + normal[1] * y + normal[2] * z - offset)


def test_planes_are_measured_exactly() -> None:
    random = np.random.default_rng(1)
    for _ in range(40):
        # part of the unit cube with n . x > d, n > 0: inclusion and exclusion of corner simplices
        n = random.uniform(0.1, 1.0, 3)
        d = random.uniform(0.0, n.sum())
        solid = sum(
            (-1) ** len(s) * max(d - sum(n[list(s)]), 0.0) ** 3
            for k in range(4)
            for s in itertools.combinations(range(3), k)
        ) / (6.0 * n.prod())
        faces, volume = _one_cell(_plane(n, d))
        assert volume == pytest.approx(1.0 - solid, abs=1e-12)
        for a, e in itertools.product(range(3), (0, 1)):
            m, rest = np.delete(n, a), d - e * n[a]
            covered = sum(
                (-1) ** len(s) * max(rest - sum(m[list(s)]), 0.0) ** 2
                for k in range(3)
                for s in itertools.combinations(range(2), k)
            ) / (2.0 * m.prod())
            assert faces[a, e] == pytest.approx(1.0 - covered, abs=1e-12)


def test_fractions_of_opposite_sides_add_up_and_no_direction_is_preferred() -> None:
    random = np.random.default_rng(2)
    for _ in range(20):
        corners = random.normal(size=(2, 2, 2))
        faces, volume = _one_cell(corners)
        inverse_faces, inverse_volume = _one_cell(-corners)
        assert np.allclose(faces + inverse_faces, 1.0, atol=1e-13)
        assert volume + inverse_volume == pytest.approx(1.0, abs=1e-13)
        mirrored_faces, mirrored_volume = _one_cell(corners[:, :, ::-1])
        assert np.allclose(mirrored_faces[0], faces[0][::-1], atol=1e-15)
        assert mirrored_volume == pytest.approx(volume, abs=1e-15)
        turned_faces, turned_volume = _one_cell(corners.transpose(1, 2, 0))
        assert np.allclose(turned_faces, faces[[2, 0, 1]], atol=1e-15)
        assert turned_volume == pytest.approx(volume, abs=1e-15)


def test_cell_agrees_with_dense_sampling_of_its_pieces() -> None:
    """The piecewise linear phi of the 24 tetrahedra, evaluated point by point."""
    random = np.random.default_rng(4)
    n = 40
    p = (np.arange(n) + 0.5) / n
    points = np.stack(np.meshgrid(p, p, p, indexing="ij"), axis=-1).reshape(-1, 3)  # z, y, x
    q = points - 0.5
    for _ in range(3):
        corners = random.normal(size=(2, 2, 2))
        centre = corners.mean()
        phi = np.zeros(len(q))
        side = np.argmax(np.abs(q), axis=1)
        for a in range(3):
            for end in (0, 1):
                mine = (side == a) & ((q[:, a] > 0) == end)
                face = np.take(corners, end, axis=a)
                r = 2 * np.abs(q[mine, a])  # 0 at the centre, 1 on the face
                s, t = (np.delete(q[mine], a, axis=1) / r[:, None]).T  # on the face, -1/2 ... 1/2
                rho = 2 * np.maximum(np.abs(s), np.abs(t))
                along_first = np.abs(s) >= np.abs(t)
                w = np.where(along_first, t, s) / rho + 0.5
                edge = np.where(
                    along_first,
                    np.where(s > 0, face[1, 0] * (1 - w) + face[1, 1] * w, face[0, 0] * (1 - w) + face[0, 1] * w),
                    np.where(t > 0, face[0, 1] * (1 - w) + face[1, 1] * w, face[0, 0] * (1 - w) + face[1, 0] * w),
                )
                phi[mine] = (1 - r) * centre + r * ((1 - rho) * face.mean() + rho * edge)
        assert _one_cell(corners)[1] == pytest.approx(np.mean(phi > 0), abs=4e-3)


OFFSETS = [(0.0, 0.0, 0.0), (0.31, 0.17, 0.43), (0.5, 0.5, 0.5), (0.77, 0.09, 0.61)]


def _measures(dimensions: int, n: int, offset: tuple[float, float, float]) -> tuple[float, float, np.ndarray]:
    """Solid volume, wall area and summed wall area vector of a ball (disc) of radius 0.3."""
    dx = 1.0 / n
    grid = Grid((n, n, n if dimensions == 3 else 1), dx, dimensions=dimensions)
    centre = 0.5 + dx * np.array(offset)
    fields = SolidFields(grid, [Solid("ball", Sphere(0.3), Static(centre))])
    fields.update(0.0)
    wall = np.zeros((dimensions, *grid.padded))
    for a in grid.axes:
        upper = np.roll(fields.area_f[a], -1, axis=2 - a)
        wall[a] = (fields.area_f[a] - upper) * grid.face_area
    wall = wall[(slice(None), *grid.interior)]
    area = float(np.sqrt((wall**2).sum(axis=0)).sum())
    volume = float((1.0 - fields.volume_c[grid.interior]).sum()) * grid.cell_volume
    return volume, area, wall.reshape(dimensions, -1).sum(axis=1)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_volume_and_wall_area_are_second_order_and_walls_close(dimensions: int) -> None:
    r = 0.3
    exact = (np.pi * r**2, 2 * np.pi * r) if dimensions == 2 else (4 / 3 * np.pi * r**3, 4 * np.pi * r**2)
    errors = []
    for n in (16, 32, 64):
        worst = np.zeros(2)
        for offset in OFFSETS:
            volume, area, vector = _measures(dimensions, n, offset)
            assert np.abs(vector).max() < 1e-13, "walls of a closed body must sum to zero"
            worst = np.maximum(worst, np.abs([volume / exact[0] - 1.0, area / exact[1] - 1.0]))
        errors.append(worst)
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(orders.mean(axis=0) >= 1.9), orders


def test_a_wall_along_the_faces_closes_them_completely() -> None:
    grid = Grid((8, 8, 8), 0.1)
    fields = SolidFields(grid, [Solid("block", Box((0.2, 0.4, 0.2)), Static((0.4, 0.4, 0.4)))])
    fields.update(0.0)
    inside = np.zeros((8, 8, 8), dtype=bool)
    inside[3:5, 2:6, 3:5] = True
    assert np.array_equal(fields.volume_c[grid.interior], np.where(inside, 0.0, 1.0))
    for a in range(3):
        area = fields.area_f[a][grid.interior_faces(a)]
        padded = np.pad(inside, [(1, 1) if 2 - a == n else (0, 0) for n in range(3)])
        first, last = [slice(None)] * 3, [slice(None)] * 3
        first[2 - a], last[2 - a] = slice(None, -1), slice(1, None)
        closed = padded[tuple(first)] | padded[tuple(last)]
        assert np.array_equal(area, np.where(closed, 0.0, 1.0))


def test_2d_equals_a_slice_of_3d() -> None:
    flat = Grid((16, 12, 1), 0.1, dimensions=2)
    deep = Grid((16, 12, 1), 0.1)
    upright = rotation_matrix((1, 0, 0), 90.0)
    here = (0.71, 0.63, 0.0)
    three = SolidFields(deep, [Solid("pipe", Cylinder(0.3, 50.0), Static(here, upright))])
    three.update(0.0)
    for shape, rotation in ((Sphere(0.3), np.eye(3)), (Cylinder(0.3, 0.01), upright), (Capsule(0.3, 0.01), upright)):
        two = SolidFields(flat, [Solid("disc", shape, Static(here, rotation))])
        two.update(0.0)
        assert np.allclose(two.phi_n, three.phi_n, atol=1e-15)
        assert np.allclose(two.area_f, three.area_f, atol=1e-13)
        assert np.allclose(two.volume_c, three.volume_c, atol=1e-13)
        # in 2D the open part of a cell is a polygon: that of its z faces
        assert np.allclose(two.volume_c, two.area_f[2], atol=1e-13)
        assert np.array_equal(two.body_c, three.body_c)


def test_a_box_in_2d_has_no_ends_along_z() -> None:
    grid = Grid((12, 12, 1), 1.0, dimensions=2)
    thin, deep = (
        SolidFields(grid, [Solid("plate", Box((5.0, 4.0, depth)), Static((6.25, 6.0, 0.0)))]) for depth in (0.1, 100.0)
    )
    thin.update(0.0)
    deep.update(0.0)
    assert np.array_equal(thin.phi_n, deep.phi_n) and thin.phi_n.min() < -1.5
    # each of the four corners is rounded away by a fraction of a cell, the sides are exact
    assert (1 - thin.volume_c[grid.interior]).sum() == pytest.approx(20.0, abs=0.8)


def test_shapes_of_arrays_are_checked() -> None:
    with pytest.raises(ValueError, match="area_f"):
        measure_fractions(CELL, CELL.cell_field(), CELL.cell_field(), CELL.cell_field())
