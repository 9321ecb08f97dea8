"""A new shape is one file and one line in a table: a rounded box that gives its distance, bounds and surface alone, as
a rigid body, in water, in smoke, in a picture and among particles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import Field

import undertow as ut
from undertow import geometry
from undertow.geometry.collision import AT_CENTRE
from undertow.run.shapes import SHAPES, ShapeKind
from undertow.scene import ShapeModel
from undertow.scene.shapes import KNOWN
from undertow.solids.rigid_part import RigidPart
from undertow.sph import sample_solid
from undertow.sph.part import SphPart

SIZE, ROUND = (0.3, 0.2, 0.24), 0.05


# the file of the shape ------------------------------------------------------------------------------------------------


class RoundedBox(ShapeModel):
    """A box with rounded edges and corners."""

    type: Literal["rounded_box"] = "rounded_box"
    size: tuple[float, float, float] = Field(description="full edge lengths [m]")
    rounding: float = Field(description="radius of the edges [m]")

    def half_size(self) -> tuple[float, float, float]:
        return (self.size[0] / 2, self.size[1] / 2, self.size[2] / 2)


class RoundedBoxShape(geometry.Shape):
    def __init__(self, size: tuple[float, ...], rounding: float) -> None:
        self.half, self.rounding = 0.5 * np.array(size), rounding

    def distance(self, points: Any) -> Any:
        q = np.abs(points) - (self.half - self.rounding)
        return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0) - self.rounding

    def bounds(self) -> Any:
        return -self.half, self.half

    def surface(self, resolution: int = 48) -> Any:
        vertices, triangles = geometry.Sphere(self.rounding).surface(resolution)
        return vertices + np.sign(np.round(vertices, 12)) * (self.half - self.rounding), triangles


# its line in the table ------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _line() -> Iterator[None]:
    SHAPES["rounded_box"] = ShapeKind(lambda s, d: RoundedBoxShape(s.size, s.rounding))
    yield
    del SHAPES["rounded_box"]


def teardown_module() -> None:
    for known in KNOWN.values():
        known.pop("rounded_box", None)


BODY = {"type": "rigid_body", "shape": {"type": "rounded_box", "size": SIZE, "rounding": ROUND}}
TIME = {"end": 10.0, "frame_rate": 10.0}


def _scene(**tables: Any) -> ut.Scene:
    from undertow.scene.toml import read, scene_from_dict, write

    scene = scene_from_dict({"name": "new-shape", "time": TIME, **tables})
    assert read(write(scene)) == scene
    return scene


def test_every_shape_of_a_scene_has_its_line() -> None:
    from undertow.run.shapes import SHEETS

    assert {kind for role in ("region", "rigid", "soft") for kind in KNOWN[role]} == set(SHAPES)
    assert set(KNOWN["sheet"]) == set(SHEETS)


def test_what_it_does_not_give_follows_from_what_it_gives() -> None:
    shape = RoundedBoxShape(SIZE, ROUND)
    a, b, c = (s - 2 * ROUND for s in SIZE)
    r = ROUND
    # Steiner's formula
    volume = a * b * c + 2 * r * (a * b + b * c + c * a) + np.pi * r**2 * (a + b + c) + 4 / 3 * np.pi * r**3
    assert shape.volume() == pytest.approx(volume, rel=1e-3)
    assert np.allclose(shape.moments().centre, 0.0, atol=1e-9)
    flat = shape.planar_moments()
    assert flat.mass == pytest.approx(a * b + 2 * r * (a + b) + np.pi * r**2, rel=3e-3)
    assert shape.thickness() == pytest.approx(min(SIZE), rel=1e-2)
    # what touches others lies on it, as far as chords of 48 segments around do
    entry = shape.collision_entry(AT_CENTRE, 3)
    assert np.abs(shape.distance(entry.probes[:, :3])).max() < ROUND * (1.0 - np.cos(2.0 * np.pi / 48))


def test_as_a_rigid_body_it_comes_to_rest_on_the_ground_and_is_drawn() -> None:
    floor = {"type": "rigid_body", "shape": {"type": "plane", "normal": (0, 1, 0)}, "position": (0, 0, 0)}
    body = {**BODY, "position": (0.0, 0.5 * SIZE[1] + 0.02, 0.0), "density": 500.0}
    sim = ut.Simulation(_scene(objects={"floor": floor, "body": body}))
    while sim.time < 0.5:
        sim.step()
    found = sim.body("body")
    assert found.position[1] == pytest.approx(0.5 * SIZE[1], abs=1e-3)
    assert np.linalg.norm(found.velocity) < 1e-3
    volume = RoundedBoxShape(SIZE, ROUND).volume()
    assert found.contact_force[1] == pytest.approx(9.81 * 500.0 * volume, rel=1e-2)
    drawn = next(b for b in sim.part(RigidPart).frames(sim.time) if b.name == "body")
    own = (drawn.vertices - found.position) @ found.matrix
    # in single precision
    assert np.abs(RoundedBoxShape(SIZE, ROUND).distance(own)).max() < 1e-7


def _tank(**domain: Any) -> dict[str, Any]:
    return {"upper": (1.0, 1.0), "resolution": 32, "resolution_along": "x", **domain}


def test_in_smoke_it_takes_its_room_and_stops_the_flow() -> None:
    inflow = {"x_low": {"type": "inflow", "velocity": (0.5, 0.0)}, "x_high": "outflow"}
    objects = {"body": {**BODY, "position": (0.5, 0.5)}}
    sim = ut.Simulation(_scene(domain=_tank(sides=inflow), smoke={}, objects=objects))
    area = RoundedBoxShape(SIZE, ROUND).planar_moments().volume
    closed = 1.0 - sim.field("open_fraction")
    assert closed.sum() / 32**2 == pytest.approx(area, rel=0.03)
    for _ in range(3):
        sim.step()
    # what arrives goes around it
    upstream, beside = sim.sample("velocity", [(0.34, 0.5), (0.5, 0.66)])[:, 0]
    assert upstream < 0.25 and beside > 0.55


def test_in_water_it_weighs_what_is_left_of_its_weight() -> None:
    """As heavy as water it stays where it is: the pressure of water at rest carries what it displaces."""
    pool = {"type": "water", "shape": {"type": "plane", "normal": (0, 1)}, "position": (0.5, 0.8)}
    objects = {"pool": pool, "body": {**BODY, "position": (0.5, 0.4), "density": 1000.0}}
    domain = _tank(sides={"y_high": "open"})
    sim = ut.Simulation(_scene(domain=domain, fluid={"density": 1000.0}, coupling="monolithic", objects=objects))
    while sim.time < 0.1:
        sim.step()
    found = sim.body("body")
    assert abs(found.velocity[1]) < 0.02 * 9.81 * sim.time
    assert abs(found.position[1] - 0.4) < 1e-3


def test_among_particles_its_boundary_lies_half_a_spacing_inside() -> None:
    water = {"type": "sph_fluid", "shape": {"type": "box", "size": (1.0, 0.3)}, "position": (0.5, 0.15)}
    objects = {"water": water, "body": {**BODY, "position": (0.5, 0.42), "density": 400.0}}
    sim = ut.Simulation(_scene(domain=_tank(sides={"y_high": "open"}), coupling="direct_forcing", objects=objects))
    place, shape, box = np.array([0.5, 0.42, 0.0]), RoundedBoxShape(SIZE, ROUND), sim.part(SphPart).fluid.box
    solid = geometry.Solid("body", shape, geometry.Static(place, np.eye(3)))
    distance = shape.distance(sample_solid(solid, box.lower, box.upper, box.spacing, 2) - place)
    assert np.abs(distance + 0.5 / 32).max() < 0.1 / 32
    for _ in range(20):
        sim.step()
    assert sim.body("body").velocity[1] == pytest.approx(-9.81 * sim.time, rel=0.05)
