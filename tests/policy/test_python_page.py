"""The page on the Python interface runs as written, and its TOML is a scene."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import undertow as ut

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile("\n".join(blocks), "docs/python.md", "exec"), names)
    sim = names["sim"]
    assert isinstance(sim, ut.Simulation)
    assert np.isfinite(sim.field("pressure")).all()
    assert len(capsys.readouterr().out.splitlines()) > 5


def test_the_toml_is_a_scene() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    scenes = [ut.Scene(name="page", time={"end": 1.0}, **tomllib.loads(block)) for block in blocks]
    assert all(ut.scene.toml.read(ut.scene.toml.write(scene), "page") == scene for scene in scenes)
    loaded, held = (ut.Simulation(scene, threads=1) for scene in scenes)
    loaded.step()
    assert loaded.body("ball").load_force[1] > 0.0  # pressure from below
    held.step()
    pin, roller = held.body("bar").hold_forces
    assert roller[0] == 0.0 and min(pin[1], roller[1]) > 0.0


def test_the_area_that_the_page_says_is_missing() -> None:
    from undertow.geometry import Sphere
    from undertow.solids.loads import area_vectors, surface_elements

    elements = surface_elements(Sphere(1.0), np.zeros(3), np.eye(3), 3)
    area = np.linalg.norm(area_vectors(elements), axis=1).sum()
    assert 1e-4 < 1.0 - area / (4.0 * np.pi) < 1e-3
    assert np.abs(area_vectors(elements).sum(axis=0)).max() < 1e-12  # closed
