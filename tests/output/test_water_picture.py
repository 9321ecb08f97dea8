"""Water in pictures: the light of one ray by Fresnel, Snell, and Beer and Lambert, and what it meets on its way."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.output.camera import Camera, look_at
from undertow.output.frames import SurfaceFrame
from undertow.output.raymarch import (
    Surface,
    draw,
    make_lights,
    make_medium,
    make_stage,
    rasterize,
)
from undertow.output.water import _ABSORPTION, _SCATTERED, add_water, in_daylight

DEPTH = 0.5
STAGE = in_daylight(make_stage(np.array([-1.0, 0.0, -1.0]), np.array([1.0, 1.0, 1.0])))
NOTHING = Surface(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3)))
FLOOR = STAGE.colors[4] * (0.30 * STAGE.colors[0] * STAGE.sun[1] + 0.42 * STAGE.colors[1])
"""Light of the floor near the middle, nothing between it and the sun."""


def _box(lower: tuple[float, ...], upper: tuple[float, ...]) -> SurfaceFrame:
    """Water between two corners: six sides, wound outwards."""
    vertices, triangles, normals = [], [], []
    for axis in range(3):
        for side in (0, 1):
            first = len(vertices)
            for a, b in ((0, 0), (1, 0), (1, 1), (0, 1)):
                pick = [0, 0, 0]
                pick[axis], pick[(axis + 1) % 3], pick[(axis + 2) % 3] = side, a, b
                vertices.append([(lower, upper)[n][i] for i, n in enumerate(pick)])
                normals.append([(2.0 * side - 1.0) * (i == axis) for i in range(3)])
            turn = [[0, 1, 2], [0, 2, 3]] if side else [[0, 2, 1], [0, 3, 2]]
            triangles += [[first + n for n in corner] for corner in turn]
    return SurfaceFrame(np.array(vertices), np.array(triangles), np.array(normals), np.zeros((24, 3)))


def _pool(half: float) -> SurfaceFrame:
    """Water on the floor that reaches from -half to half."""
    return _box((-half, 0.0, -half), (half, DEPTH, half))


def _see(water: SurfaceFrame, solids: Surface, camera: Camera, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """The picture with and without the water."""
    lights = make_lights(solids, STAGE)
    medium = make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, np.zeros(3), 1.0, lights, STAGE)
    bare = draw(camera, solids, lights, medium, STAGE, pixels, pixels, 1.0)
    return add_water(bare, water, solids, lights, medium, camera, STAGE, 1e-3), bare


def _sky(up: float) -> np.ndarray:
    blend = 1.0 - np.exp(-4.0 * up)
    return STAGE.colors[2] * (1.0 - blend) + STAGE.colors[3] * blend


@pytest.mark.parametrize("degrees", [0.0, 40.0])
def test_a_ray_into_still_water(degrees: float) -> None:
    """share sky + (1 - share) (kept lit floor + (1 - kept) scattered), the path to the floor by Snell's law."""
    angle = np.radians(degrees)
    direction = np.array([0.0, np.cos(angle), np.sin(angle)])
    target = np.array([0.0, DEPTH, 0.0])
    camera = look_at(target + 2.0 * direction, target, 1.0, field_of_view=0.5)
    out, _ = _see(_pool(1.2), NOTHING, camera, 8)
    share = 0.02 + 0.98 * (1.0 - np.cos(angle)) ** 5
    path = DEPTH / np.cos(np.arcsin(np.sin(angle) / 1.33))
    kept, lit = (np.exp(-way / STAGE.radius * _ABSORPTION) for way in (path, DEPTH))
    expected = share * _sky(np.cos(angle)) + (1.0 - share) * (kept * lit * FLOOR + (1.0 - kept) * _SCATTERED)
    assert np.abs(out - expected).max() < 2e-3


@pytest.mark.parametrize("degrees", [20.0, 60.0])
def test_a_ray_through_a_slab_goes_on_as_it_came(degrees: float) -> None:
    """In by one side and out by the other, the path between them by Snell's law: the sky of its own direction."""
    angle, thick = np.radians(degrees), 0.2
    direction = np.array([0.0, np.sin(angle), -np.cos(angle)])
    target = np.array([0.0, 1.0, thick / 2])
    camera = look_at(target - 0.9 * direction, target, 1.0, field_of_view=0.1)
    out, _ = _see(_box((-9.0, 0.4, -thick / 2), (9.0, 9.0, thick / 2)), NOTHING, camera, 4)
    share = 0.02 + 0.98 * (1.0 - np.cos(angle)) ** 5
    path = thick / np.cos(np.arcsin(np.sin(angle) / 1.33))
    kept = np.exp(-path / STAGE.radius * _ABSORPTION)
    through = kept * _sky(np.sin(angle)) + (1.0 - kept) * _SCATTERED
    assert np.abs(out - share * _sky(np.sin(angle)) - (1.0 - share) * through).max() < 2e-3


def test_the_surface_mirrors_all_light_from_below() -> None:
    """Seen from the side and from below, past the angle of total reflection, the surface shows the floor."""
    half, slope = 0.6, 0.3
    # level with the lower part of the side, looking up at the surface behind it
    target = np.array([0.0, DEPTH - 0.1, half])
    camera = look_at(target + np.array([0.0, -0.3, 1.0]), target, 1.0, field_of_view=0.2)
    out, _ = _see(_pool(half), NOTHING, camera, 4)
    up = np.sin(np.arctan(slope)) / 1.33
    climb = 0.1 / up  # to the surface; from there the ray goes down and meets the far side
    facing = np.cos(np.arctan(slope))
    share = 0.02 + 0.98 * (1.0 - facing) ** 5
    down = (2.0 * half / np.sqrt(1.0 - up**2) - climb) * up
    assert 0.0 < down < DEPTH
    path = 2.0 * half / np.sqrt(1.0 - up**2)
    kept = np.exp(-path / STAGE.radius * _ABSORPTION)
    # out by the far side it goes down to the floor outside, where that begins to fade
    beyond = (DEPTH - down) / np.tan(np.arctan(slope))
    fade = np.clip((np.hypot(0.0, half + beyond) / STAGE.radius - 0.5) / 4.5, 0.0, 1.0)
    fade = 1.0 - (1.0 - fade) ** 2
    floor = FLOOR * (1.0 - fade) + _sky(0.0) * fade
    mirror = np.sin(np.arctan(slope))
    expected = share * _sky(mirror) + (1.0 - share) * (kept * floor + (1.0 - kept) * _SCATTERED)
    assert np.abs(out - expected).max() < 4e-3


def test_solids_in_the_water_are_found_where_they_are() -> None:
    """Straight from above rays are not bent: what the grid of cells finds is what the rasteriser sees, absorbed."""
    random = np.random.default_rng(3)
    middle = random.uniform([-0.4, 0.05, -0.4], [0.4, 0.45, 0.4], (30, 1, 3))
    corners = np.clip(middle + random.normal(0.0, 0.15, (30, 3, 3)), -0.45, 0.45)
    corners[..., 1] = corners[..., 1].clip(0.02, DEPTH - 0.02)
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.repeat(face[:, None] / np.linalg.norm(face, axis=1)[:, None, None], 3, axis=1)
    solids = Surface(corners, normals, random.uniform(0.2, 0.9, (30, 3)))
    camera = look_at(np.array([0.0, 300.0, 0.0]), np.zeros(3), 1.0, field_of_view=0.18)
    out, bare = _see(_pool(0.6), solids, camera, 48)
    depth, triangle = rasterize(corners, camera, 48, 48)
    seen = np.where(triangle[::2, ::2] >= 0, 300.0 - 1.0 / np.maximum(depth[::2, ::2], 1e-3), 0.0)
    kept = np.exp(-2.0 * (DEPTH - seen)[..., None] / STAGE.radius * _ABSORPTION)  # light comes down the same way
    once = np.sqrt(kept)
    expected = 0.02 * _sky(1.0) + 0.98 * (kept * bare + (1.0 - once) * _SCATTERED)
    # a ray for a quarter of a pixel beside its middle: shadows on shadows differ a little
    alike = np.abs(out - expected).max(axis=2) < 0.03 + 0.1 * expected.max(axis=2)
    # but for edges, where four rays are one pixel
    inner = triangle.reshape(48, 2, 48, 2).transpose(0, 2, 1, 3).reshape(48, 48, 4)
    inner = (inner == inner[..., :1]).all(axis=2)
    assert inner.mean() > 0.7 and (triangle >= 0).mean() > 0.3
    assert alike[inner].mean() > 0.97


def test_a_solid_is_mirrored_in_the_water() -> None:
    """A red wall that stands in the water takes the place of the sky in its lower half."""
    target = np.array([0.0, DEPTH, 0.0])
    camera = look_at(np.array([0.0, DEPTH + 0.3, 4.0]), target, 1.0, field_of_view=12.0)
    wall = np.array([[-9.0, DEPTH, 0.0], [9.0, DEPTH, 0.0], [0.0, 9.0, 0.0]])
    front = np.tile([0.0, 0.0, 1.0], (1, 3, 1))
    solids = Surface(wall[None], front, np.array([[1.0, 0.0, 0.0]]))
    mirrored, bare = _see(_pool(3.0), solids, camera, 32)
    alone, _ = _see(_pool(3.0), NOTHING, camera, 32)
    below = slice(19, 25), slice(12, 20)
    gained = (mirrored - alone)[below]
    red = bare[4:10, 12:20, 0].mean() - _sky(0.08)[0]
    assert np.abs(gained[..., 0] / red - 0.6).max() < 0.25
    assert gained[..., 2].max() < -0.2
