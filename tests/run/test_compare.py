"""``undertow compare``: one scene under several couplings, one page."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow.cli import app
from undertow.errors import UserError
from undertow.run.compare import comparison_scenes, couplings_of

SCENE = """
name = "pond"
[domain]
upper = [0.8, 0.6]
resolution = 16
resolution_along = "x"
sides = { y_high = "open" }
[time]
end = 0.1
frame_rate = 20
[fluid]
density = 1000.0
[objects.pool]
type = "water"
shape = { type = "plane", normal = [0.0, 1.0] }
position = [0.4, 0.3]
[objects.log]
type = "rigid_body"
shape = { type = "sphere", radius = 0.1 }
position = [0.4, 0.3]
density = 600.0
"""


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("compare") / "pond.toml"
    file.write_text(SCENE)
    return file


def test_one_page_with_pictures_ledgers_and_timings(pond: Path, tmp_path: Path) -> None:
    out = tmp_path / "both"
    arguments = ["compare", str(pond), "--couplings", "monolithic,rigid_fluid", "--out", str(out), "--threads", "1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(out)
    heights = {}
    for name in ("monolithic", "rigid_fluid"):
        run = ut.Run(out / name)
        assert run.scene.coupling == name and run.info["status"] == "done"
        assert (out / name / "preview.png").is_file()
        heights[name] = run.bodies["position_y"][-1]
    assert abs(heights["monolithic"] - heights["rigid_fluid"]) < 0.5 * 0.05  # the same motion within half a cell
    page = (out / "compare.html").read_text()
    assert page.count("<img") == 4  # two pictures, ledgers, bodies
    assert page.index("monolithic/report.html") < page.index("rigid_fluid/report.html")
    assert "seconds per step" in page and "fluid_volume" not in page.split("<h2>Scene")[0]
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 2 and "exists already" in again.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("monolithic", "two or more"), ("monolithic,monolithic", "different"), ("monolithic,magic", "unknown coupling")],
)
def test_names_are_checked(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        couplings_of(text)


def test_a_coupling_that_refuses_the_scene_is_named(pond: Path) -> None:
    with pytest.raises(UserError, match="coupling 'direct_forcing' cannot run this scene: .*sph_fluid"):
        comparison_scenes(str(pond), ["monolithic", "direct_forcing"], None, None, ())
