"""Normals that surfaces are lit by: flat on boxes, smooth on round bodies, sharp at rims."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.geometry import Box, Cylinder, Sphere
from undertow.output.frames import BodyFrame
from undertow.output.raymarch import make_surface


def surface_of(shape, segments=48):
    vertices, triangles = shape.surface(segments)
    return make_surface([BodyFrame("body", vertices, triangles, (0.5, 0.5, 0.5), np.zeros_like(vertices))])


def faces_of(corners):
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return face / np.linalg.norm(face, axis=1, keepdims=True)


@pytest.mark.parametrize("size", [(0.4, 0.3, 0.4), (1.0, 0.05, 0.8), (1.0, 1.0, 1.0)])
def test_boxes_are_flat(size):
    """Whatever the areas of the faces that meet: a normal that leans over a far edge would be taken for that of the
    inside, and light the top of a box from below."""
    surface = surface_of(Box(size))
    faces = np.repeat(faces_of(surface.corners)[:, None, :], 3, axis=1)
    assert np.allclose(surface.normals, faces, atol=1e-12)


@pytest.mark.parametrize("segments", [16, 48])
def test_spheres_are_smooth(segments):
    surface = surface_of(Sphere(0.5), segments)
    radial = surface.corners / np.linalg.norm(surface.corners, axis=2, keepdims=True)
    assert np.sum(surface.normals * radial, axis=2).min() > np.cos(np.radians(180 / segments))


def test_cylinders_are_round_with_sharp_rims():
    surface = surface_of(Cylinder(0.5, 1.0))
    faces = faces_of(surface.corners)
    cap = np.abs(faces[:, 1]) > 0.9
    assert np.allclose(np.abs(surface.normals[cap][..., 1]), 1.0, atol=1e-12)
    side, corners = surface.normals[~cap], surface.corners[~cap]
    assert np.abs(side[..., 1]).max() < 1e-9
    radial = corners[..., [0, 2]] / np.linalg.norm(corners[..., [0, 2]], axis=2, keepdims=True)
    assert np.sum(side[..., [0, 2]] * radial, axis=2).min() > np.cos(np.radians(8.0))
