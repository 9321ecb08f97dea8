"""The estimate of memory is the sum of what parts hold, and is asked before they are made."""

from __future__ import annotations

from typing import Any

import pytest

import undertow as ut
from undertow.benchmarks.smoke_step import held_bytes
from undertow.fluid import Flow
from undertow.geometry import SolidFields
from undertow.run import memory
from undertow.run.build import build_grid
from undertow.scene import Scene, toml
from undertow.soft import SoftBodies
from undertow.sph import SphFluid

FLAT = {"upper": [1.0, 1.0], "resolution": 96}
CUBE = {"upper": [1.0, 1.0, 1.0], "resolution": 20}
POOL = {"type": "water", "shape": {"type": "plane", "normal": [0.0, 1.0]}, "position": [0.5, 0.5]}
BALL = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": [0.5, 0.5]}
PARTICLES = {"type": "sph_fluid", "shape": {"type": "box", "size": [1.0, 0.5, 1.0]}, "position": [0.5, 0.25, 0.5]}
BLOCK = {"type": "soft_body", "shape": {"type": "box", "size": [0.5, 0.5, 0.5]}, "element_size": 0.06,
         "position": [0.5, 0.5, 0.5]}  # fmt: skip
SHEET = {"type": "cloth", "size": [0.5, 0.5], "element_size": 0.025, "position": [0.5, 0.5, 0.5]}
SCENES: dict[str, dict[str, Any]] = {
    "flow": {"domain": FLAT, "objects": {"ball": BALL}},
    "viscous": {"domain": FLAT, "fluid": {"viscosity": 0.1}, "objects": {"ball": BALL}},
    "smoke": {"domain": FLAT, "smoke": {}, "objects": {"ball": BALL}},
    "water": {"domain": FLAT, "objects": {"pool": POOL, "ball": BALL}},
    "bodies": {"domain": FLAT, "coupling": "monolithic", "objects": {"ball": {**BALL, "density": 2.0}}},
    "particles": {"domain": CUBE, "objects": {"pool": PARTICLES}},
    "soft": {"objects": {"block": BLOCK}},
    "cloth": {"objects": {"sheet": SHEET}},
}


def make(kind: str) -> Scene:
    return toml.scene_from_dict({"name": kind, "time": {"end": 1.0, "max_step": 1e-3}, **SCENES[kind]})


def estimate(scene: Scene) -> float:
    grid = None if scene.domain is None else build_grid(scene)[0]
    return sum(need.size for need in memory.needs(scene, grid))


@pytest.mark.parametrize("kind", SCENES)
def test_it_is_what_the_parts_hold(kind: str) -> None:
    """Not less than that, since more is held while a step goes on, and at most two and a half times as much."""
    scene = make(kind)
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    held = held_bytes([sim.parts, sim.scheme])
    assert 0.9 * held < estimate(scene) < 2.5 * held, (kind, estimate(scene) / held)


@pytest.mark.parametrize(("kind", "message"), [
    ("flow", r"^domain.resolution: 96 x 96 x 1 cells need about .* for .*e\+04 cells.*; choose a resolution of"),
    ("particles", r"^domain.resolution: 20 x 20 x 20 cells need about .* for 4e\+03 particles.*; choose a resolution"),
    ("soft", r"^soft: soft bodies need about .* elements of block.*; make element_size .* times as large"),
    ("cloth", r"^cloth: soft bodies need about .* elements of sheet"),
])  # fmt: skip
def test_too_much_is_refused_before_anything_is_made(kind: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1e5)
    made: list[type] = []
    for one in (Flow, SoftBodies, SphFluid, SolidFields):
        monkeypatch.setattr(one, "__init__", lambda self, *_, **__: made.append(type(self)))
    with pytest.raises(ut.UserError, match=message):
        ut.Simulation(make(kind), threads=1)
    assert not made


def test_every_part_that_grows_is_known_by_its_name() -> None:
    from undertow.coupling.bodies_in_fluid import BodiesInFluid
    from undertow.coupling.leapfrog import Leapfrog
    from undertow.coupling.schemes import TwoSolves
    from undertow.solids.soft_part import SoftPart
    from undertow.sph.part import SphPart

    known = {one.__name__ for one in (BodiesInFluid, Leapfrog, TwoSolves, Flow, SoftPart, SphPart)}
    named = {need.part for kind in SCENES for need in memory.needs(make(kind), None)}
    assert named <= known
