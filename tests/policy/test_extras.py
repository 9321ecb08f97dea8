"""Extras, dependencies and versions agree between pyproject.toml and the code."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

IMPORTED_AS = {"libigl": "igl", "scikit-image": "skimage", "pillow": "PIL", "imageio-ffmpeg": "imageio_ffmpeg"}


def _modules(requirements: list[str]) -> set[str]:
    names = [re.split(r"[<>=!~\[ ;]", requirement)[0] for requirement in requirements]
    return {IMPORTED_AS.get(name, name) for name in names}


def test_the_version_is_the_same_everywhere() -> None:
    import undertow

    assert undertow.__version__ == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_extras_offered_to_the_user_exist() -> None:
    """``info`` and the errors about a missing package name pip lines; each must work."""
    from undertow.run.machine import EXTRAS

    offered = set(EXTRAS)
    for path in (ROOT / "undertow").rglob("*.py"):
        offered |= set(re.findall(r"undertow\[([a-z]+)\]", path.read_text()))
    unknown = offered - set(PROJECT["optional-dependencies"])
    assert not unknown, f"extras named in the code but not in pyproject.toml: {sorted(unknown)}"


def test_every_import_is_a_declared_dependency_and_the_reverse() -> None:
    imported: set[str] = set()
    for path in (ROOT / "undertow").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    third_party = imported - set(sys.stdlib_module_names) - {"undertow"}
    core = _modules(PROJECT["dependencies"])
    optional = PROJECT["optional-dependencies"]
    declared = core | {"pydantic_core"}
    for extra in ("view", "peers", "peers-rigid"):
        declared |= _modules(optional[extra])
    assert third_party <= declared, f"imported but not in pyproject.toml: {sorted(third_party - declared)}"
    unused = core - third_party - {"scipy"}  # scikit-image brings it in any case
    assert not unused, f"in the core dependencies but imported nowhere: {sorted(unused)}"
