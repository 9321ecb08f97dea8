"""Nodes of soft bodies against a rigid body of several parts."""

from __future__ import annotations

from typing import Any

import numpy as np

import undertow as ut
from undertow.scene.toml import scene_from_dict

MIDDLES, BALL = ((-0.25, 0.0, 0.0), (0.25, 0.0, 0.0)), {"type": "sphere", "radius": 0.2}


def _body(shape: dict[str, Any], position: tuple[float, ...]) -> dict[str, Any]:
    return {"type": "rigid_body", "shape": shape, "position": position}


def test_cloth_falls_on_a_pair_of_balls_as_on_two_bodies() -> None:
    cloth = {"type": "cloth", "size": (0.8, 0.4), "element_size": 0.1, "position": (0.0, 0.23, 0.0)}
    pair = {"type": "compound", "parts": [{"shape": BALL, "position": m} for m in MIDDLES]}
    places = []
    two = {f"ball-{n}": _body(BALL, m) for n, m in enumerate(MIDDLES)}
    for bodies in ({"pair": _body(pair, (0.0, 0.0, 0.0))}, two):
        sim = ut.Simulation(scene_from_dict({"name": "a", "time": {"end": 2.0}, "objects": {**bodies, "cloth": cloth}}))
        while sim.time < 0.2:
            sim.step()
        places.append(sim.nodes("cloth").position)
    assert np.abs(places[0] - places[1]).max() < 1e-12
    gap = np.linalg.norm(places[0][:, None] - np.array(MIDDLES), axis=2) - 0.2
    assert gap.min() > 0.0 and np.all((gap < 0.02).sum(axis=0) >= 5)
