"""Curves of validation cases as pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from undertow.cli import app
from undertow.errors import UserError
from undertow.validation import drawing, runner


def test_curves_are_drawn_and_results_pass_through(tmp_path: Path) -> None:
    s = np.linspace(0.0, 1.0, 5)
    plot = drawing.curves("a parabola", "x [m]", "u [m/s]", measured=(s, s**2), of_theory=([0.5], [0.25]))
    results = [
        {"case": "poiseuille", "quantity": "profile", "detail": {"curves": plot}},
        {"case": "poiseuille", "quantity": "order", "detail": {}},
    ]
    said: list[str] = []
    assert list(runner.drawn(iter(results), tmp_path / "new", said.append)) == results
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["poiseuille-profile.png"]
    assert len(said) == 1
    picture = np.asarray(Image.open(tmp_path / "new" / "poiseuille-profile.png").convert("RGB"))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10


def test_a_folder_with_contents_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="nothing is overwritten"):
        drawing.check_folder(tmp_path)


@pytest.mark.parametrize("bad", ["file/pictures", "full"])
def test_a_folder_that_cannot_be_is_refused_before_anything_is_computed(
    bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")

    def compute(*_: object) -> None:
        raise AssertionError("a case was run")

    monkeypatch.setattr(runner, "validate", compute)
    result = CliRunner().invoke(app, ["validate", "poiseuille", "--draw", str(tmp_path / bad)])
    assert result.exit_code == 2 and "--draw" in result.stderr and "name a" in result.stderr


def test_what_is_not_judged_is_not_drawn(tmp_path: Path) -> None:
    for mode in ("--list", "--smoke", "--broken"):
        result = CliRunner().invoke(app, ["validate", mode, "--draw", str(tmp_path / "new")])
        assert result.exit_code == 2 and "draws what is judged" in result.stderr
