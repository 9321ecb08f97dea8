"""The contributor's page is true: what it names exists, and its example of a shape is one."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text()


def test_the_files_it_names_exist():
    named = re.findall(r"`((?:undertow|tests|docs)/[\w./-]+)`", PAGE)
    made = [path for path in named if "cone" in path]  # those that a reader is to write
    missing = [path for path in named if path not in made and not (ROOT / path).exists()]
    assert len(named) > 15 and not missing, missing


def test_the_packages_are_all_there():
    rows = re.findall(r"^\| \[?`([\w.]+)`(?:\]\([^)]*\))?(?:, `(\w+)`)? \|", PAGE, re.MULTILINE)
    listed = {name for row in rows for name in row if name}
    packages = {path.parent.name for path in (ROOT / "undertow").glob("*/__init__.py")} | {"cli.py"}
    assert listed == packages


def test_the_example_of_a_shape_is_a_closed_cone():
    from undertow.geometry import MeshShape
    from undertow.rigid.mass import mass_properties

    code = re.search(r"^ +def make_cone.*?(?=\n\n)", PAGE, re.DOTALL | re.MULTILINE)
    assert code is not None
    names = {"np": np, "MeshShape": MeshShape}
    exec(textwrap.dedent(code[0]), names)
    cone = names["make_cone"](0.1, 0.3, 400)
    found = mass_properties(cone, density=1000.0)
    assert found.mass == pytest.approx(1000.0 * np.pi * 0.1**2 * 0.3 / 3.0, rel=1e-4)
    assert found.centre == pytest.approx([0.0, -0.3 / 4, 0.0], abs=1e-6)  # a quarter of the height above the base
