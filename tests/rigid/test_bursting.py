"""What a fluid pulls apart: full vessels, but neither stones in the deep nor walls with water on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.geometry import Box, Sphere
from undertow.geometry.compound import Compound, Part
from undertow.rigid.bursting import SurfaceSamples, find_parting, sample_surface


def vessel(width: float, height: float, wall: float) -> Compound:
    """Two sides and a bottom; the inside is ``width`` wide."""
    side = Box((wall, height, 1.0))
    parts = [Part(side, np.array([x * 0.5 * (width + wall), 0.0, 0.0]), np.eye(3)) for x in (-1.0, 1.0)]
    bottom = Box((width + 2.0 * wall, wall, 1.0))
    return Compound([*parts, Part(bottom, np.array([0.0, -0.5 * (height + wall), 0.0]), np.eye(3))])


@pytest.mark.parametrize("dimensions", [2, 3])
def test_samples_close_and_have_the_area_of_the_surface(dimensions: int) -> None:
    for shape, area in ((Box((0.4, 0.3, 0.2)), 2 * (0.12 + 0.06 + 0.08)), (Sphere(0.2), 4 * np.pi * 0.04)):
        samples = sample_surface(shape, dimensions, 0.02)
        assert np.abs(samples.areas.sum(axis=0)).max() < 1e-12
        length = 1.4 if isinstance(shape, Box) else 0.4 * np.pi
        wanted = area if dimensions == 3 else length
        assert np.linalg.norm(samples.areas, axis=1).sum() == pytest.approx(wanted, rel=0.02)
        # volume: a third, a half of x . n over the surface
        volume = np.einsum("ni,ni->", samples.points, samples.areas) / dimensions
        whole = {2: (0.12, np.pi * 0.04), 3: (0.024, 4 / 3 * np.pi * 0.008)}[dimensions]
        assert volume == pytest.approx(whole[0 if isinstance(shape, Box) else 1], rel=0.03)


def test_water_in_a_vessel_pulls_its_sides_apart_by_its_pressure_on_one() -> None:
    width, height, depth = 0.5, 0.6, 0.4
    samples = sample_surface(vessel(width, height, 0.1), 2, 0.005)
    x, y = samples.points[:, 0], samples.points[:, 1]
    within = (np.abs(x) < 0.5 * width + 1e-6) & (y > -0.5 * height - 1e-6)
    pressure = np.where(within, np.maximum(depth - 0.5 * height - y, 0.0), 0.0)
    parting = find_parting(samples, pressure, np.zeros(3), np.eye(3), 2)
    assert parting.force[0] == pytest.approx([0.5 * depth**2, 0.0, 0.0], rel=0.01)
    assert parting.point[0][0] > 0.15 and not parting.force[2].any()
    # along y half of the weight on the bottom, which counts whole as the net force
    assert parting.force[1] == pytest.approx([0.0, 0.5 * depth * width, 0.0], rel=0.01)


@pytest.mark.parametrize("shape", [Box((0.4, 0.3, 0.2)), Sphere(0.2)])
def test_a_stone_in_the_deep_is_not_pulled_apart(shape: object) -> None:
    samples = sample_surface(shape, 3, 0.02)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    there = SurfaceSamples(samples.points @ turn.T, samples.areas @ turn.T)
    for depth in (0.0, 1e4):
        parting = find_parting(there, depth + 0.3 - there.points[:, 1], np.zeros(3), turn, 3)
        assert not parting.force.any()
