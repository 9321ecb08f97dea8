"""Cloth in a fluid that meets itself."""

from __future__ import annotations

import numpy as np

import undertow as ut
from undertow.scene import toml

CENTRE = 0.3


def _closing(collisions: bool) -> tuple[float, float]:
    """A sheet in air, held along a strip across its middle, whose halves swing down like the covers of a book: how far
    nodes of one half come to the side of the other [m], and how near the two come to each other [m]."""
    scene = toml.scene_from_dict({
        "name": "book", "coupling": "monolithic", "time": {"end": 0.5, "frame_rate": 100.0},
        "domain": {"upper": [0.6, 0.45, 0.3], "resolution": 12},
        "fluid": {"density": 1.2, "tolerance": 1e-4}, "soft": {"collisions": collisions},
        "objects": {"sheet": {
            "type": "cloth", "size": [0.5, 0.15], "position": [CENTRE, 0.35, 0.15], "element_size": 0.05,
            "density": 2.0, "stretching": 800.0, "bending": 2e-5, "damping": 0.002, "thickness": 0.008,
            "holds": [{"shape": {"type": "box", "size": [0.06, 0.1, 0.4]}, "position": [CENTRE, 0.35, 0.15]}],
        }},
    })  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    start = sim.nodes("sheet").position[:, 0]
    right, left = start > CENTRE + 0.04, start < CENTRE - 0.04
    across, near = 0.0, np.inf
    while sim.time < 0.5:
        sim.step()
        x = sim.nodes("sheet").position
        across = max(across, float((CENTRE - x[right, 0]).max()), float((x[left, 0] - CENTRE).max()))
        near = min(near, float(np.linalg.norm(x[right][:, None] - x[left][None], axis=2).min()))
    return across, near


def test_cloth_blown_against_itself_does_not_pass_through() -> None:
    """The halves meet and stay on their sides; without collisions they pass through each other."""
    across, near = _closing(True)
    free, _ = _closing(False)
    assert free > 0.05
    assert across < 0.01 and near < 0.03
