"""Three small stories of the gallery, coarse and short, by what their physics says."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.scene import find_scene


def _depth_of_centre(vertices: np.ndarray, triangles: np.ndarray, share: float) -> float:
    """How far the centre of mass of an even body is above the water that it floats on upright [m]: the share of its
    volume below the surface y = h, the flux of (0, min(y - h, 0), 0) out of it, is that of its density."""
    corners = vertices[triangles]
    for _ in range(2):  # quarters of quarters: the flux is of the middles of triangles
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        corners = np.concatenate([np.stack(part, axis=1) for part in parts])
    face = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 1]
    y = corners[..., 1].mean(axis=1)
    volume = float((y * face).sum())
    centre = float((0.5 * corners[..., 1].mean(axis=1) ** 2 * face).sum()) / volume
    low, high = float(y.min()), float(y.max())
    for _ in range(40):
        middle = 0.5 * (low + high)
        wet = float((np.minimum(y - middle, 0.0) * face).sum())
        low, high = (middle, high) if wet < share * volume else (low, middle)
    return centre - low


def _ride(density: float) -> tuple[float, float, float, float]:
    """Mean height of the duck's centre above the water [m], that by its draught, that with four fifths of the buoyancy,
    and how far it heels over [rad]."""
    scene = ut.scene("bath-duck", resolution=20, set={"objects.duck.density": density})
    sim = ut.Simulation(scene, threads=1)
    frame = next(frame for frame in sim.frame_data(fields=()).bodies if frame.name == "duck")
    vertices = frame.vertices.astype(float)
    ratio = density / scene.fluid.density
    expected, wrong = (_depth_of_centre(vertices, frame.triangles, share) for share in (ratio, ratio / 0.8))
    head, feet = vertices[:, 1].argmax(), vertices[:, 1].argmin()
    start = vertices[head] - vertices[feet]
    heights, heel, dx = [], [0.0], 0.96 / 20
    while sim.time < 1.0:
        sim.step()
        now = next(f for f in sim.frame_data(fields=()).bodies if f.name == "duck").vertices.astype(float)
        way = now[head] - now[feet]
        heel.append(abs(np.arccos(way[1] / np.linalg.norm(way)) - np.arccos(start[1] / np.linalg.norm(start))))
        if sim.time > 0.4:
            columns = dx * np.clip(0.5 - np.asarray(sim.field("level_set")) / dx, 0.0, 1.0).sum(axis=1)
            heights.append(sim.body("duck").position[1] - float(np.median(columns)))
    return float(np.mean(heights)), expected, wrong, max(heel)


@pytest.mark.parametrize("density", [300.0, 750.0])
def test_a_bath_duck_floats_upright_at_its_draught(density: float) -> None:
    """Within a quarter of a cell, as the case ``floating`` asks for; the heavy duck lies so deep that a buoyancy
    that is wrong by a fifth would be seen."""
    height, expected, wrong, heel = _ride(density)
    assert abs(height - expected) < 0.25 * 0.96 / 20
    if density == 300.0:
        assert heel < np.radians(25.0)
    else:
        assert abs(wrong - expected) > 0.5 * 0.96 / 20


def test_cloth_on_a_wet_ball_lies_on_it() -> None:
    """It comes to rest on the ball's top, a thickness above it at most, and nowhere inside of it."""
    scene = ut.scene("cloth-wet-ball", resolution=14)
    sim = ut.Simulation(scene, threads=1)
    sim.advance_to(0.4)
    sheet = next(frame for frame in sim.frame_data(fields=()).bodies if frame.name == "sheet").vertices.astype(float)
    away = np.linalg.norm(sheet - [0.4, 0.2, 0.4], axis=1) - 0.15
    top = away[np.hypot(sheet[:, 0] - 0.4, sheet[:, 2] - 0.4) < 0.06]
    assert away.min() > -0.001
    assert top.max() < 0.015
    assert sheet[:, 1].min() < 0.30, "its corners hang down"


def test_a_wave_swings_the_sluice_gate_and_its_hinge_holds() -> None:
    """At 36 cells; with fewer the gate is thinner than a cell, water passes through it, and it hangs still."""
    scene = ut.scene("sluice-gate", resolution=36)
    sim = ut.Simulation(scene, threads=1)
    hinge = np.array(find_scene("sluice-gate").joints["hinge"].position)
    time, angle, arm = [], [], []
    while sim.time < 0.55:
        sim.step()
        way = sim.body("gate").position - hinge
        time.append(sim.time)
        angle.append(np.degrees(np.arctan2(way[0], -way[1])))
        arm.append(np.linalg.norm(way))
    # the front of a dam of height H runs at less than 2 sqrt(g H) (Ritter 1892)
    early = np.array(time) < 0.525 / (2.0 * np.sqrt(9.81 * 0.4))
    assert np.abs(np.array(angle)[early]).max() < 1.0
    assert 15.0 < max(angle) < 100.0
    assert np.abs(np.array(arm) - 0.23).max() < 1e-4
