"""Scenes made in Python: mistakes are UserErrors in words, copies are checked, and they print in a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import undertow as ut
from undertow.scene import find_scene, toml
from undertow.scene.scene import MOST_OBJECTS

BALL = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.0, 1.0, 0.0), density=500.0)


def test_constructors_raise_user_errors() -> None:
    with pytest.raises(ut.UserError, match=r"^Sphere: radius = -1: must be positive; give a number in m$"):
        ut.Sphere(radius=-1)
    with pytest.raises(ut.UserError, match=r"^Sphere: unknown key 'raduis'; did you mean 'radius'\?"):
        ut.Sphere(raduis=1.0)  # type: ignore[call-arg]
    with pytest.raises(ut.UserError, match=r"takes its values by name"):
        ut.Sphere(0.1)  # type: ignore[call-arg]
    with pytest.raises(ut.UserError, match=r"^Scene: time.end = -1: must be positive"):
        ut.Scene(name="a", time={"end": -1}, objects={"ball": BALL})  # type: ignore[arg-type]
    with pytest.raises(ut.UserError, match=r"^RigidBody: shape.radius = 'wide'"):
        ut.RigidBody.model_validate({"shape": {"type": "sphere", "radius": "wide"}, "position": [0, 0, 0]})
    with pytest.raises(ut.UserError, match=r"Sphere: cannot be changed"):
        BALL.shape.radius = 0.2  # type: ignore[union-attr, misc]


def test_an_example_in_a_message_can_be_followed() -> None:
    with pytest.raises(ut.UserError, match=r"color = 'red': must be a list of .*, such as \[0.5, 0.5, 0.5\]$"):
        ut.RigidBody(shape=ut.Sphere(radius=0.1), position=[0.0, 0.0], color="red")  # type: ignore[arg-type]
    with pytest.raises(ut.UserError, match=r"position = 'left': must be a list of numbers in m, such as \[0, 1, 2\]"):
        ut.RigidBody(shape=ut.Sphere(radius=0.1), position="left")  # type: ignore[arg-type]


@pytest.mark.parametrize("far", [
    {"type": "soft_body", "shape": {"type": "sphere", "radius": 0.1}, "element_size": 0.05},
    {"type": "cloth", "size": [0.2, 0.2], "element_size": 0.05},
    {"type": "rope", "end": [1e6, 1.0], "element_size": 0.1},
    {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "density": 500.0},
], ids=lambda body: body["type"])  # fmt: skip
def test_a_body_that_never_comes_to_the_fluid_is_refused(far: dict[str, Any]) -> None:
    dimensions = 2 if far["type"] == "rope" else 3  # ropes in fluid are of 2D scenes
    data = {"name": "far", "time": {"end": 0.1}, "coupling": "monolithic",
            "domain": {"upper": [1.0] * dimensions, "resolution": 8}}  # fmt: skip
    with pytest.raises(ut.UserError, match=r"objects.it.position = .*: 1e\+06 m outside the domain, which is 1 m long"):
        toml.scene_from_dict({**data, "objects": {"it": {**far, "position": [1e6, 0.5, 0.5][:dimensions]}}})
    near = {**far, "position": [1.5, 0.5, 0.5][:dimensions], **({"end": [1.5, 1.0]} if "end" in far else {})}
    toml.scene_from_dict({**data, "objects": {"it": near}})


def test_copies_are_checked() -> None:
    scene = find_scene("boat-spheres")
    with pytest.raises(ut.UserError, match=r"^Scene: gravity = 3: must be a list"):
        scene.model_copy(update={"gravity": 3})
    with pytest.raises(ut.UserError, match=r"coupling = 'glue': unknown coupling"):
        scene.model_copy(update={"coupling": "glue"})
    with pytest.raises(ut.UserError, match=r"unknown key 'gravty'"):
        scene.model_copy(update={"gravty": (0.0, 0.0, 0.0)})
    changed = scene.model_copy(update={"gravity": (0.0, -1.6, 0.0)})
    assert changed.gravity == (0.0, -1.6, 0.0) and changed.objects == scene.objects
    assert scene.model_copy() == scene


def test_a_scene_prints_in_one_line() -> None:
    text = repr(find_scene("pile-1600"))
    assert len(text) < 120 and "pile-1600" in text and "\n" not in text


def test_bodies_of_a_scene_are_found_once() -> None:
    """A frame asks for them several times per body."""
    scene = find_scene("pile-1600")
    assert scene.bodies is scene.bodies and list(scene.bodies) == [
        name for name, item in scene.objects.items() if isinstance(item, ut.RigidBody)
    ]


def test_a_forgotten_z_is_an_error() -> None:
    other = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "density": 500.0, "position": [0.0, 2.0]}
    with pytest.raises(ut.UserError, match=r"other.position = \[0.0, 2.0\]: must have 3 components .* forgotten"):
        ut.Scene(name="a", time=ut.Time(end=1.0), objects={"ball": BALL, "other": other})  # type: ignore[dict-item]
    cube: dict[str, Any] = {**other, "shape": {"type": "box", "size": [0.1, 0.1, 0.1]}}
    with pytest.raises(ut.UserError, match=r"objects.cube.shape.size = .* has a z and positions have none"):
        ut.Scene(name="a", time=ut.Time(end=1.0), objects={"cube": cube})
    pool = ut.Water(shape=ut.Sphere(radius=0.1), position=(0.5, 0.5, 0.5))
    with pytest.raises(ut.UserError, match=r"a third one if its z has been forgotten"):
        ut.Scene(name="a", time=ut.Time(end=1.0), domain=ut.Domain(upper=(1.0, 1.0), resolution=8), objects={"a": pool})


def test_the_density_of_a_fluid_without_a_table() -> None:
    """Water where there is a surface, else air; what is given stays, also through a file."""
    pool = ut.Water(shape=ut.Sphere(radius=0.1), position=(0.5, 0.5))
    domain = ut.Domain(upper=(1.0, 1.0), resolution=8)
    common: dict[str, Any] = {"name": "a", "time": ut.Time(end=1.0), "domain": domain}
    wet = ut.Scene(**common, objects={"pool": pool})
    assert wet.fluid.density == 998.2 and toml.read(toml.write(wet)) == wet
    assert ut.Scene(**common, objects={"pool": pool}, fluid=ut.Fluid(viscosity=0.1)).fluid.density == 998.2
    assert ut.Scene(**common, objects={"pool": pool}, fluid=ut.Fluid(density=800.0)).fluid.density == 800.0
    assert ut.Scene(**common).fluid.density == 1.2


def test_texts_that_no_parser_should_see(tmp_path: Path) -> None:
    for deep in ("a = " + "[" * 5000, "a = " + "[" * 50 + "]" * 50, ".".join("a" * 200) + " = 1"):
        with pytest.raises(ut.UserError, match=r"nested|TOML"):
            toml.read(deep)
    with pytest.raises(ut.UserError, match=r"not valid TOML"):
        toml.read("a = " + "9" * 5000)
    with pytest.raises(ut.UserError, match=r"is not a TOML value"):
        find_scene("lid-cavity", assignments=["seed=" + "[" * 5000])
    many = "[objects.a]\n" * (MOST_OBJECTS + 1)
    with pytest.raises(ut.UserError, match=rf"{MOST_OBJECTS + 1} tables of objects; a scene has at most"):
        toml.read(many)
    with pytest.raises(ut.UserError, match=rf"objects: {MOST_OBJECTS + 1} of them"):
        ut.Scene(name="a", time=ut.Time(end=1.0), objects={f"b{i}": BALL for i in range(MOST_OBJECTS + 1)})
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    with pytest.raises(ut.UserError, match=r"cannot be read as a scene file"):
        find_scene(loop)
    for name in ("a\0b.toml", "a\0b.py", "a\0b"):
        with pytest.raises(ut.UserError):
            find_scene(name)
    mesh = tmp_path / "mesh.toml"
    mesh.write_text('name = "a"\n[objects.a]\nshape = { type = "mesh", file = "loop.toml" }\n')
    with pytest.raises(ut.UserError):
        find_scene(mesh)


def test_one_value_of_a_scene_is_replaced_and_checked():
    scene = ut.scene("boat-spheres", resolution=16)
    ball = next(name for name, body in scene.bodies.items() if body.is_dynamic)
    other = scene.replace(f"objects.{ball}.density", 300.0)
    assert other.bodies[ball].density == 300.0 and scene.bodies[ball].density != 300.0
    assert other.replace(f"objects.{ball}.density", scene.bodies[ball].density) == scene
    with pytest.raises(ut.UserError, match="density = -1"):
        scene.replace(f"objects.{ball}.density", -1.0)
    with pytest.raises(ut.UserError, match="there is no objects.nobody"):
        scene.replace("objects.nobody.density", 1.0)
    with pytest.raises(ut.UserError, match="time.end is a value, not a table"):
        scene.replace("time.end.more", 1.0)
    with pytest.raises(ut.UserError, match="unknown key 'ends'; did you mean 'end'"):
        scene.replace("time.ends", 1.0)


def test_values_of_a_gallery_scene_are_set_by_their_keys():
    scene = ut.scene("boat-spheres", resolution=16, set={"time.end": 0.5, "gravity": (0.0, -1.62, 0.0)})
    assert scene.time.end == 0.5 and scene.gravity == (0.0, -1.62, 0.0)
    with pytest.raises(ut.UserError, match="set objects.nobody.density: there is no objects.nobody"):
        ut.scene("boat-spheres", set={"objects.nobody.density": 1.0})
