"""Water in pictures: the light of one ray by Fresnel, Snell, and Beer and Lambert, and what it meets on its way."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.output.frames import SurfaceFrame
from undertow.output.raymarch import Surface, look_at, make_stage
from undertow.output.water import _ABSORPTION, _SCATTERED, add_water, in_daylight

DEPTH, SEEN = 0.5, 0.3
STAGE = in_daylight(make_stage(np.array([-1.0, 0.0, -1.0]), np.array([1.0, 1.0, 1.0])))
NOTHING = Surface(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3)))


def _pool(half: float) -> SurfaceFrame:
    """Top and bottom of water that reaches from -half to half."""
    square = half * np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
    vertices = np.concatenate([square + [0.0, DEPTH, 0.0], square]).astype(np.float32)
    normals = np.repeat([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]], 4, axis=0).astype(np.float32)
    triangles = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    return SurfaceFrame(vertices, triangles, normals, np.zeros_like(vertices))


@pytest.mark.parametrize("degrees", [0.0, 40.0])
def test_a_ray_into_still_water(degrees: float) -> None:
    """share sky + (1 - share) (kept seen + (1 - kept) scattered), the path to the floor by Snell's law."""
    angle = np.radians(degrees)
    direction = np.array([0.0, np.cos(angle), np.sin(angle)])
    target = np.array([0.0, DEPTH, 0.0])
    camera = look_at(target + 2.0 * direction, target, 1.0, field_of_view=0.5)
    out = add_water(np.full((8, 8, 3), SEEN), _pool(1.2), NOTHING, camera, STAGE)
    share = 0.02 + 0.98 * (1.0 - np.cos(angle)) ** 5
    path = DEPTH / np.cos(np.arcsin(np.sin(angle) / 1.33))
    kept = np.exp(-path / STAGE.radius * _ABSORPTION)
    horizon, zenith = STAGE.colors[2], STAGE.colors[3]
    sky = horizon + (zenith - horizon) * np.sqrt(np.cos(angle))
    expected = share * sky + (1.0 - share) * (kept * SEEN + (1.0 - kept) * _SCATTERED)
    assert np.abs(out - expected).max() < 2e-3


def test_a_solid_is_mirrored_in_the_water() -> None:
    """A wall that stands in the water, red in the picture, takes the place of the sky in its lower half."""
    target = np.array([0.0, DEPTH, 0.0])
    camera = look_at(np.array([0.0, DEPTH + 0.3, 4.0]), target, 1.0, field_of_view=12.0)
    wall = np.array([[-9.0, DEPTH, 0.0], [9.0, DEPTH, 0.0], [0.0, 9.0, 0.0]])
    solids = Surface(wall[None], np.zeros((1, 3, 3)), np.zeros((1, 3)))
    picture = np.zeros((32, 32, 3))
    picture[:16, :, 0] = 1.0
    mirrored = add_water(picture, _pool(3.0), solids, camera, STAGE)
    alone = add_water(picture, _pool(3.0), NOTHING, camera, STAGE)
    below = slice(19, 25), slice(12, 20)
    gained = (mirrored - alone)[below]
    assert gained[..., 0].min() > 0.2 and gained[..., 2].max() < -0.1
