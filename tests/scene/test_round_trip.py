"""TOML -> Scene -> TOML is the identity, and the resolved file holds every default."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.scene import MATERIALS, find_scene, gallery_names, toml

EVERYTHING = """
name = "everything"
description = 'quotes " and \\ and é'
[domain]
lower = [-1.0, 0.0, 0.0]
upper = [1.0, 1.0, 1.0]
resolution = 8
[domain.sides]
x_high = "outflow"
z_low = "periodic"
z_high = "periodic"
[domain.sides.x_low]
type = "inflow"
velocity = { times = [0.0, 1.0], values = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], interpolation = "smooth" }
profile = "table"
coordinate = [0.0, 1.0]
values = [1.0, 0.5]
smoke = 0.5
temperature = 300.0
[time]
end = 1.0
fixed_step = 0.01
[fluid]
material = "water"
viscosity = 0.5
[smoke]
[objects.a]
type = "rigid_body"
shape = { type = "torus", radius = 0.2, tube = 0.05 }
[objects.a.motion]
type = "keyframes"
times = [0.0, 1.0]
positions = [[0.0, 0.5, 0.5], [0.1, 0.5, 0.5]]
rotations = [{ degrees = 0.0 }, { degrees = 90.0 }]
[objects.b]
type = "rigid_body"
shape = { type = "capsule", radius = 0.1, length = 0.2 }
position = [0.5, 0.5, 0.5]
motion = { type = "velocity", linear = [0.1, 0.0, 0.0], angular = { amplitude = [0.0, 1.0, 0.0], frequency = 2.0 } }
[objects.c]
type = "emitter"
shape = { type = "cylinder", radius = 0.1, length = 0.2 }
position = [0.0, 0.1, 0.5]
velocity = [0.0, 1.0, 0.0]
stop = 0.5
[probes.p]
type = "line"
start = [0.0, 0.1, 0.1]
end = [0.0, 0.9, 0.9]
fields = ["velocity", "smoke"]
[probes.f]
type = "force"
objects = ["a", "b"]
[view]
camera = { position = [3.0, 3.0, 3.0], look_at = [0.0, 0.0, 0.0] }
"""


def is_part(part: object, whole: object) -> bool:
    """Every key and value of ``part`` is in ``whole``; a bare word is short for a table with that type."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(k in whole and is_part(v, whole[k]) for k, v in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(is_part, part, whole))
    return part == whole or (isinstance(whole, dict) and whole.get("type") == part)


def texts() -> list[str]:
    return [*(toml.write(find_scene(name)) for name in gallery_names()), EVERYTHING]


@pytest.mark.parametrize("text", texts(), ids=[*gallery_names(), "everything"])
def test_toml_scene_toml_is_the_identity(text: str) -> None:
    scene = toml.read(text)
    written = toml.write(scene)
    assert toml.read(written) == scene
    assert toml.write(toml.read(written)) == written
    assert is_part(tomllib.loads(text), tomllib.loads(written)), "a value of the file was lost or changed"


def test_the_gallery_has_the_scenes_of_the_spine_with_description_source_and_cost() -> None:
    assert set(gallery_names()) >= {"lid-cavity", "vortex-street", "smoke-sphere", "smoke-bunny"}
    for name in gallery_names():
        scene = find_scene(name)
        assert scene.name == name and scene.description and scene.source and scene.cost


def test_defaults_are_filled_in() -> None:
    scene = toml.read('name = "a"\n[domain]\nupper = [2.0, 1.0]\nresolution = 8\n[time]\nend = 1.0\n')
    data = tomllib.loads(toml.write(scene))
    assert data["domain"]["resolution_along"] == "x"
    assert [side["type"] for side in data["domain"]["sides"].values()] == ["wall"] * 4
    assert data["fluid"]["density"] == 1.2 and data["output"]["fields"] == ["velocity", "pressure"]


def test_python_and_toml_make_the_same_scene() -> None:
    made = ut.Scene(
        name="boat",
        domain=ut.Domain(upper=(1.0, 0.75, 1.0), resolution=64, sides={"y_high": "open"}),
        time=ut.Time(end=4.0),
        objects={"ball": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.5, 0.6, 0.5))},
    )
    read = toml.read(
        'name = "boat"\n[domain]\nupper = [1.0, 0.75, 1.0]\nresolution = 64\nsides = { y_high = "open" }\n'
        "[time]\nend = 4\n"
        '[objects.ball]\ntype = "rigid_body"\nshape = { type = "sphere", radius = 0.1 }\nposition = [0.5, 0.6, 0.5]\n'
    )
    assert made == read and toml.read(toml.write(made)) == made


def test_materials_give_density_and_viscosity_unless_they_are_given() -> None:
    fluid = toml.read(EVERYTHING).fluid
    assert fluid.density == MATERIALS["water"].density and fluid.viscosity == 0.5
    assert all(m.density > 0 and m.viscosity > 0 and m.source for m in MATERIALS.values())


def test_keyframes_give_the_first_pose() -> None:
    body = toml.read(EVERYTHING).bodies["a"]
    assert body.position == (0.0, 0.5, 0.5) and body.rotation.degrees == 0.0


def test_mesh_files_are_found_from_the_scene_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'name = "m"\n[domain]\nupper = [1, 1, 1]\nresolution = 8\n[time]\nend = 1\n[objects.m]\ntype = "rigid_body"\n'
        'position = [0.5, 0.5, 0.5]\nshape = { type = "mesh", file = "cup.obj" }\n'
    )
    assert find_scene(tmp_path / "s.toml").bodies["m"].shape.file == str((tmp_path / "cup.obj").resolve())


def test_python_scene_files_are_executed(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import undertow as ut\n"
        "scene = ut.Scene(name='mine', domain=ut.Domain(upper=(1, 1), resolution=4 * 2), time=ut.Time(end=1.0))\n"
    )
    assert find_scene(path).domain.resolution == 8
    assert find_scene(path, resolution=12, frames=3).time.frames == 3
    path.write_text("x = 1\n")
    with pytest.raises(UserError, match="defines no scene"):
        find_scene(path)
    path.write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(UserError, match="failed in line 2: ZeroDivisionError"):
        find_scene(path)
    path.write_text("import undertow as ut\nut.Sphere(radius=-1)\n")
    with pytest.raises(UserError, match="radius = -1: must be positive"):
        find_scene(path)


def test_the_module_is_the_gallery() -> None:
    assert ut.scene("lid-cavity", resolution=8).domain.resolution == 8


def test_scenes_are_frozen() -> None:
    with pytest.raises(UserError, match="cannot be changed; make another one"):
        find_scene("lid-cavity").name = "other"  # type: ignore[misc]


def test_frames_count_intervals_and_land_on_the_end() -> None:
    time = ut.Time(end=1.05, frame_rate=10)
    assert time.frames == 11 and time.frame_time(10) == 1.0 and time.frame_time(11) == 1.05
    assert ut.Time(end=0.3, frame_rate=10).frames == 3


def test_a_scene_carries_a_format_number() -> None:
    scene = find_scene("lid-cavity")
    assert toml.write(scene).startswith(f"format = {toml.FORMAT}\n")
    text = toml.write(scene).replace(f"format = {toml.FORMAT}", f"format = {toml.FORMAT + 1}")
    with pytest.raises(UserError, match=rf"^scene: scene format {toml.FORMAT + 1}, and this version reads up to"):
        toml.read(text)
    for wrong in ("0", "true", "'one'", "1.5"):
        with pytest.raises(UserError, match=r"format = .*: must be a whole number from 1"):
            toml.read(toml.write(scene).replace(f"format = {toml.FORMAT}", f"format = {wrong}"))
    assert toml.read(toml.write(scene).partition("\n")[2]) == scene
