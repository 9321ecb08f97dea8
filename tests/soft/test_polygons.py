"""Soft bodies of any outline in 2D: triangles that fit it, and a beam that bends as one of a box does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.geometry.sheets import outline_of
from undertow.soft import find_equilibrium
from undertow.soft.materials import cell_volumes
from undertow.soft.polygons import is_inside, mesh_polygon, polygon_distance
from undertow.solids.soft_part import SoftPart
from undertow.validation.soft_bodies import DOWN

STAR = [(r * np.cos(a), r * np.sin(a)) for a, r in ((np.pi * i / 5, 1.0 if i % 2 == 0 else 0.45) for i in range(10))]
SHAPES = {
    "L": [(0, 0), (1, 0), (1, 0.4), (0.4, 0.4), (0.4, 1), (0, 1)],
    "star": STAR,
    "neck": [(0, 0), (1, 0), (1, 0.45), (1.5, 0.45), (1.5, 0), (2.5, 0), (2.5, 1), (1.5, 1), (1.5, 0.55), (1, 0.55),
             (1, 1), (0, 1)],
    "wedge": [(0, 0), (1, 0), (0.1, 0.3)],
}  # fmt: skip


def _angles(x: np.ndarray, cells: Any) -> np.ndarray:
    sides = np.roll(x[cells], -1, axis=1) - x[cells]
    sides /= np.linalg.norm(sides, axis=2)[:, :, None]
    return np.degrees(np.arccos(-np.einsum("mik,mik->mi", sides, np.roll(sides, 1, axis=1))))


@pytest.mark.parametrize("size", [0.25, 0.1])
@pytest.mark.parametrize("name", SHAPES)
def test_triangles_fill_a_polygon_exactly_and_have_no_flat_angles(name: str, size: float) -> None:
    corners = np.array(SHAPES[name], dtype=float)
    x, cells = mesh_polygon(name, corners, size)
    a, b = corners, np.roll(corners, -1, axis=0)
    area = cell_volumes(x, cells)
    assert area.min() > 0 and area.sum() == pytest.approx(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())
    # the outline of the triangles is that of the polygon, with its corners
    sides = outline_of(cells)
    assert polygon_distance(x[sides].mean(axis=1)[:, :2], corners).max() < 1e-12
    assert all(np.linalg.norm(x[:, :2] - c, axis=1).min() < 1e-12 for c in corners)
    assert is_inside(x[cells].mean(axis=1)[:, :2], corners).all()
    # no sharper than 18 degrees but for a corner of the polygon itself (the wedge has one of 18.4)
    assert _angles(x, cells).min() > (15.0 if name == "wedge" else 18.0)
    longest = np.linalg.norm(np.roll(x[cells], -1, axis=1) - x[cells], axis=2).max()
    assert longest < 2.0 * size


def _beam(shape: Any) -> float:
    """Drop of the end of a beam of 1 m x 0.2 m clamped at its left end, under its weight [m]."""
    hold = ut.Hold(shape=ut.Box(size=(0.2, 1.0)), position=(-0.1, 0.0))
    body = ut.SoftBody(
        shape=shape, position=(0.5, 0.0), element_size=0.05, youngs_modulus=1e6, density=100.0, holds=(hold,)
    )
    soft = (
        ut.Simulation(ut.Scene(name="beam", gravity=(0.0, -9.81), time=ut.Time(end=0.1), objects={"beam": body}))
        .part(SoftPart)
        .soft
    )
    assert soft.mass.sum() == pytest.approx(20.0)
    find_equilibrium(soft, 0.01 * soft.mass[:, None] * DOWN, 1e-9)
    return float(-soft.x[soft.rest[:, 0] > 1 - 1e-9, 1].mean() + soft.rest[soft.rest[:, 0] > 1 - 1e-9, 1].mean())


def test_a_beam_given_as_a_polygon_bends_as_one_given_as_a_box() -> None:
    """Either way round; both within the error of linear triangles, four across, of beam theory."""
    corners = [(-0.5, -0.1), (0.5, -0.1), (0.5, 0.1), (-0.5, 0.1)]
    box, polygon = _beam(ut.Box(size=(1.0, 0.2))), _beam(ut.Polygon(points=corners))
    assert _beam(ut.Polygon(points=corners[::-1])) == pytest.approx(polygon, rel=0.02)
    assert polygon == pytest.approx(box, rel=0.1)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([(0, 0), (1, 0)], "needs three or more corners"),
        ([(0, 0), (1, 0), (2, 0)], "lie on a line"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], "two components"),
        ([(0, 0), (1, 1), (1, 0), (0, 2)], "touch or cross"),
        ([(0, 0), (1, 0), (1, 0), (0, 1)], "touch or cross"),
        ([(0, 0), (1, 0), (0.5, 0), (0.5, 1)], "touch or cross"),
    ],
)
def test_bad_polygons(points: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ut.Polygon(points=points)


def test_what_is_too_thin_is_refused_with_its_place_and_three_dimensions_too() -> None:
    thin = np.array([(0, 0), (1, 0), (1, 1), (0.5, 1e-4), (0, 1)], dtype=float)
    with pytest.raises(
        UserError, match=r"objects.a.shape: 0.0.* m thick at \(0.(49|5).*, 0\), too thin for elements of 0.1 m"
    ):
        mesh_polygon("objects.a.shape", thin, 0.1)
    body = ut.SoftBody(shape=ut.Polygon(points=[(0, 0), (1, 0), (0, 1)]), position=(0, 0, 0), element_size=0.1)
    with pytest.raises(ValueError, match="a polygon is a shape of 2D scenes"):
        ut.Scene(name="a", time=ut.Time(end=1.0), objects={"a": body})
