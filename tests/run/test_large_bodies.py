"""Bodies at rest far larger than the domain in every kind of fluid, and parts of a mesh that overlap in every kind of
body."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import undertow as ut
from undertow.geometry import Sphere
from undertow.scene import toml
from undertow.sph.part import SphPart

GROUND: dict[str, tuple[dict[str, Any], list[float]]] = {
    "small box": ({"type": "box", "size": [1.5, 0.5]}, [0.5, 0.0]),
    "box": ({"type": "box", "size": [1e3, 1e3]}, [0.5, -499.75]),
    "hull": ({"type": "hull", "points": [[-1e5, -1e5], [1e5, -1e5], [1e5, 0.0], [-1e5, 0.0]]}, [0.5, 0.25]),
}
"""Grounds whose tops are at y = 0.25 m."""


def _scene(ground: str, objects: dict[str, Any]) -> ut.Scene:
    shape, position = GROUND[ground]
    return toml.scene_from_dict({
        "name": "ground", "time": {"end": 0.02, "frame_rate": 100}, "domain": {"upper": [1.0, 1.0], "resolution": 16},
        "coupling": "monolithic" if "ball" in objects else "none",
        "objects": {"ground": {"type": "rigid_body", "shape": shape, "position": position}, **objects},
    })  # fmt: skip


BALL = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.15}, "position": [0.5, 0.7], "density": 400.0}
KINDS: dict[str, dict[str, Any]] = {
    "tank": {},
    "tank with a body": {"ball": BALL},
    "water": {"pool": {"type": "water", "shape": {"type": "box", "size": [1.0, 1.0]}, "position": [0.0, 0.2]}},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ground", ["box", "hull"])
def test_a_ground_of_any_size_is_the_ground_in_the_domain(kind: str, ground: str) -> None:
    """The hull of 200 km took 7 GB; now its fields end at the domain, and the flow is that over a small box."""
    found = []
    for one in ("small box", ground):
        sim = ut.Simulation(_scene(one, KINDS[kind]), threads=1)
        assert not any("ground" in note for note in sim.notes)
        sim.advance_to(0.02)
        arrays = {name: sim.arrays()[name] for name in ("u", "p")}
        found.append(arrays | ({"ball": sim.body("ball").velocity} if "ball" in KINDS[kind] else {}))
    assert np.isfinite(found[0]["u"]).all() and (kind == "tank" or np.abs(found[0]["u"]).max() > 0.01)
    for name, array in found[0].items():
        scale = max(1.0, float(np.abs(array).max()))
        np.testing.assert_allclose(found[1][name], array, atol=1e-5 * scale, err_msg=name)


@pytest.mark.parametrize("ground", ["box", "hull"])
def test_particles_lie_on_a_ground_of_any_size(ground: str) -> None:
    """Boundary particles end at the domain, on the top of the ground, and the fluid moves as over a small box."""
    fluid = {"type": "sph_fluid", "shape": {"type": "box", "size": [1.0, 0.3125]}, "position": [0.5, 0.40625]}
    speed = []
    for one in ("small box", ground):
        sim = ut.Simulation(_scene(one, {"pool": fluid}), threads=1)
        sim.advance_to(0.02)
        part: Any = sim.part(SphPart).fluid
        assert part.totals.particles == 5 * 16 and part.positions()[:, 1].min() > 0.25
        speed.append(np.linalg.norm(part.velocities(), axis=1))
    assert speed[1] == pytest.approx(speed[0], rel=0.02, abs=0.01)


@pytest.mark.parametrize("moves", [{"motion": {"type": "velocity", "linear": [0.1, 0.0]}}, {"density": 3000.0}])
def test_a_hull_that_moves_is_refused_by_name_before_anything_is_computed(moves: dict[str, Any]) -> None:
    shape, position = GROUND["hull"]
    scene = _scene("hull", {"ball": BALL}).replace(
        "objects.ground", {"type": "rigid_body", "shape": shape, "position": position, **moves}
    )
    with pytest.raises(ut.UserError, match=r"^objects.ground \(it moves, .*\): \[200000.* m large, .*; cut it"):
        ut.Simulation(scene, threads=1)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two balls of radius 0.1 m, 0.18 m apart, as one mesh."""
    vertices, triangles = Sphere(0.1).surface(24)
    both = np.concatenate([vertices, vertices + [0.18, 0.0, 0.0]])
    path: Path = tmp_path_factory.mktemp("meshes") / "duck.ply"
    trimesh.Trimesh(both, np.concatenate([triangles, triangles + len(vertices)]), process=False).export(path)
    return str(path)


DOMAIN = {"upper": [1.0, 1.0, 1.0], "resolution": 10}
POOL = {"shape": {"type": "box", "size": [1.0, 0.2, 1.0]}, "position": [0.5, 0.1, 0.5]}
FLUIDS: dict[str, dict[str, Any]] = {
    "alone": {},
    "in a tank": {"domain": DOMAIN, "coupling": "monolithic"},
    "in water": {"domain": DOMAIN, "coupling": "monolithic", "objects": {"pool": {"type": "water", **POOL}}},
    "in particles": {
        "domain": DOMAIN, "coupling": "direct_forcing", "objects": {"pool": {"type": "sph_fluid", **POOL}},
    },
}  # fmt: skip


@pytest.mark.parametrize("fluid", FLUIDS)
@pytest.mark.parametrize("soft", [False, True])
def test_parts_that_overlap_are_noted_for_every_kind_of_body(duck: str, fluid: str, soft: bool) -> None:
    """Rigid bodies weigh twice there, elements of soft ones do not, nor does a body that is given its mass."""
    if soft and fluid == "in particles":
        pytest.skip("SPH fluids have no soft bodies")
    more = FLUIDS[fluid]
    body: dict[str, Any] = {"shape": {"type": "mesh", "file": duck}, "position": [0.5, 0.6, 0.5], "density": 500.0}
    kind = {"type": "soft_body", "element_size": 0.08, "youngs_modulus": 1e4} if soft else {"type": "rigid_body"}
    objects = {**more.get("objects", {}), "duck": {**kind, **body}}
    data = {"name": "duck", "time": {"end": 0.1}, **more, "objects": objects}
    notes = [note for note in ut.Simulation(toml.scene_from_dict(data), threads=1).notes if "objects.duck" in note]
    said = [note for note in notes if "of its triangles lie inside other parts of the mesh" in note]
    assert len(said) == 1 and ("fill the parts as one body" if soft else "weighs twice") in said[0]
    if not soft and fluid == "alone":
        del body["density"]
        known = {"type": "rigid_body", **body, "mass": 1.0, "inertia": [0.01, 0.01, 0.01]}
        sim = ut.Simulation(toml.scene_from_dict({**data, "objects": {"duck": known}}), threads=1)
        assert not any("overlap" in note or "inside other parts" in note for note in sim.notes)
