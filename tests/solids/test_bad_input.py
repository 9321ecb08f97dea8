"""Mistakes in scenes of rigid bodies by the command line: one message that names the object and the value, status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from undertow.cli import app

SCENE = """
name = "mistakes"
[time]
end = 0.1
frame_rate = 60
[objects.floor]
type = "rigid_body"
shape = { type = "plane", normal = [0.0, 1.0, 0.0] }
position = [0.0, 0.0, 0.0]
[objects.box]
type = "rigid_body"
shape = { type = "box", size = [0.2, 0.2, 0.2] }
position = [0.0, 0.3, 0.0]
density = 1000.0
[objects.arm]
type = "rigid_body"
shape = { type = "box", size = [0.2, 0.2, 0.2] }
position = [1.0, 0.3, 0.0]
mass = 2.0
[objects.pin]
type = "joint"
kind = "hinge"
child = "arm"
position = [1.0, 0.3, 0.0]
"""

MISTAKES = {
    "zero mass": (["objects.arm.mass=0"], "objects.arm.mass = 0: must be positive"),
    "negative mass": (["objects.arm.mass=-2"], "objects.arm.mass = -2: must be positive"),
    "negative density": (["objects.box.density=-1"], "objects.box.density = -1: must be positive"),
    "open mesh": (
        ["objects.box.shape={type='mesh', file='open.obj'}"],
        "objects.box.shape: mesh open.obj: not watertight",
    ),
    "inertia": (["objects.box.inertia=[1.0, -2.0, 3.0]"], "must be positive definite"),
    "joint to nobody": (["objects.pin.child='amr'"], "objects.pin: there is no rigid body 'amr'; did you mean 'arm'?"),
    "limits swapped": (["objects.pin.lower=10", "objects.pin.upper=-10"], "lower = 10 must be below upper = -10"),
    "hopeless overlap": (["objects.box.position=[0.0, 0.02, 0.0]"], "too deep to be parted"),
}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scene's file, in the folder of now, beside a mesh with a hole."""
    corners, tent = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\n", "f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n"
    (tmp_path / "open.obj").write_text(corners + tent)
    (tmp_path / "scene.toml").write_text(SCENE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "scene.toml"


def run(scene: Path, *assignments: str) -> Result:
    options = [part for assignment in assignments for part in ("--set", assignment)]
    arguments = ["run", str(scene), *options, "--frames", "1", "--no-preview", "--out", "out", "--threads", "1"]
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_end_with_status_2(mistake: str, scene: Path) -> None:
    assignments, message = MISTAKES[mistake]
    result = run(scene, *assignments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr and "Traceback" not in result.stderr and result.stdout == ""
    assert not Path("out").exists()


def test_bodies_that_overlap_a_little_are_named_and_the_run_goes_on(scene: Path) -> None:
    result = run(scene, "objects.box.position=[0.0, 0.095, 0.0]")
    assert result.exit_code == 0, result.output
    assert "objects.floor and objects.box overlap by 0.005 m" in result.stderr
