"""Bad input of a fluid of particles, through the command line: one message, status 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from undertow.cli import app

TANK = """
name = "tank"
coupling = "direct_forcing"

[domain]
upper = [0.6, 0.6]
resolution = 20
sides = { y_high = "open" }

[time]
end = 0.01
frame_rate = 100

[objects.water]
type = "sph_fluid"
shape = { type = "box", size = [0.6, 0.3] }
position = [0.3, 0.15]

[objects.float]
type = "rigid_body"
shape = { type = "box", size = [0.12, 0.12, 1.0] }
position = [0.3, 0.42]
density = 400
"""


@pytest.fixture
def tank(tmp_path: Path) -> Path:
    (tmp_path / "tank.toml").write_text(TANK)
    return tmp_path / "tank.toml"


def call(tank: Path, *arguments: str) -> Result:
    out = str(tank.parent / "run")
    return CliRunner().invoke(app, ["run", str(tank), "--out", out, "--no-preview", "--threads", "1", *arguments])


MISTAKES: dict[str, tuple[str, tuple[str, ...]]] = {
    "particles larger than a body": (
        "objects.float.shape.size=[0.2, 0.01, 1.0]",
        ("objects.float: 0.01 m thick", "less than one particle (0.03 m)", "raise domain.resolution to 60"),
    ),
    "sound speed too low": (
        "sph.sound_speed=5.0",
        ("sph.sound_speed = 5 m/s", "too low for motions of", "set it to ", "or leave it out"),
    ),
    "no particles": (
        "objects.water.shape.size=[0.001, 0.001]",
        ("objects.water: holds no particle of 0.03 m", "make it larger", "raise the resolution"),
    ),
    "a body in the place of all particles": (
        "objects.float={type='rigid_body', shape={type='box', size=[2, 2, 1]}, position=[0.3, 0.3]}",
        ("objects: solids take the place of all particles", "move them or the fluid"),
    ),
    "slip that is no share": ("sph.slip=1.5", ("sph.slip = 1.5: must be at most 1",)),
    "a scheme that does not exist": (
        "sph.scheme='both'",
        ("sph.scheme = 'both': unknown choice", "one of local, global"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message_and_status_2(mistake: str, tank: Path) -> None:
    assignment, words = MISTAKES[mistake]
    result = call(tank, "--set", assignment, "--quiet")
    assert result.exit_code == 2 and result.stdout == "", result.output
    assert result.stderr.startswith("undertow: ") and result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr
    assert [path.name for path in tank.parent.iterdir()] == ["tank.toml"]


def test_fluid_in_the_place_of_a_body_is_cleared_and_the_run_says_how_much(tank: Path) -> None:
    result = call(tank, "--set", "objects.float.position=[0.3, 0.15]")
    assert result.exit_code == 0, result.output
    words = "objects.float: 16 particles of fluid in its place have been cleared"
    assert result.stderr.count(words) == 1
    assert words in (tank.parent / "run" / "log.txt").read_text()


def test_fluid_that_is_crushed_is_a_failure_of_the_run(tank: Path) -> None:
    """A piston as wide as the tank: no sound speed helps, so the message names both reasons."""
    motion = "motion={type='velocity', linear=[0.0, -2.0]}"
    piston = (
        f"objects.float={{type='rigid_body', shape={{type='box', size=[0.6, 0.1, 1]}}, position=[0.3, 0.36], {motion}}}"
    )
    result = call(tank, "--set", piston, "--set", "time.end=0.15", "--quiet")
    assert result.exit_code == 1 and result.stderr.count("\n") == 1, result.output
    for word in ("sph: the fluid is compressed to 1.5", "is too low, or solids leave it no room", "or give it room"):
        assert word in result.stderr
