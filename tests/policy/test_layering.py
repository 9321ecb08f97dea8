"""The tree is the dependency order: which package may import which. Nothing else crosses."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "undertow"

NUMERICS = ("grid", "geometry", "linalg", "transport", "surface", "fluid")
SOLIDS = {"grid", "geometry", "linalg"}
EVERYTHING_BELOW_RUN = {*NUMERICS, "rigid", "soft", "solids", "sph", "coupling", "scene"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "frames": set(),
    "part": set(),
    "couplings": set(),
    **{name: set(NUMERICS[:i]) for i, name in enumerate(NUMERICS)},
    "rigid": SOLIDS,
    "soft": SOLIDS,
    "solids": SOLIDS | {"rigid", "soft"},
    "sph": set(NUMERICS[:-1]),
    "coupling": {*NUMERICS, "rigid", "soft", "solids", "sph"},
    "scene": set(),
    "output": {"grid", "geometry", "scene"},
    "run": EVERYTHING_BELOW_RUN | {"output"},
    "validation": EVERYTHING_BELOW_RUN - {"coupling"} | {"output", "run"},
    "benchmarks": EVERYTHING_BELOW_RUN - {"coupling"} | {"output", "run", "validation"},
    "cli": {"scene", "run", "output", "validation", "benchmarks"},
    "__init__": {"scene", "run"},
    "__main__": {"cli"},
}
"""Package -> packages it may import, beside itself, ``errors``, ``part``, ``couplings``, ``frames`` and the top level's
public names.

Rigid and soft do not know each other, no fluid knows a solid, only ``coupling`` does, and only ``run`` sees a coupling.
"""

HEAVY = {"numba", "scipy", "matplotlib", "mitsuba", "viser", "trimesh", "igl", "h5py", "skimage", "pyvista"}


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _owner(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, list[str]]]:
    """(line, dotted module, imported names) of every import of the package, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "undertow":
                    yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import; write the whole name"
            if node.module and node.module.split(".")[0] == "undertow":
                yield node.lineno, node.module, [alias.name for alias in node.names]


def _targets(module: str, names: list[str]) -> list[str]:
    parts = module.split(".")
    if len(parts) > 1:
        return [parts[1]]
    return [name for name in names if name in ALLOWED]


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_order(path: Path) -> None:
    owner = _owner(path)
    assert owner in ALLOWED, f"undertow/{owner} has no place in the order of imports; add it to ALLOWED with a reason"
    allowed = ALLOWED[owner] | {owner, "errors", "part", "couplings", "frames"}
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{line} imports undertow.{target}; {owner} may import {sorted(allowed)}"
        for line, module, names in _imports(ast.parse(path.read_text()))
        for target in _targets(module, names)
        if target not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_private_names_stay_in_their_package(path: Path) -> None:
    owner = _owner(path)
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}:{line} imports {module}.{name}, private to {_targets(module, [])[0]}"
        for line, module, names in _imports(ast.parse(path.read_text()))
        for name in names
        if name.startswith("_") and not name.startswith("__") and _targets(module, []) not in ([], [owner])
    ]
    assert not wrong, "\n".join(wrong)


def test_the_command_line_starts_without_heavy_imports() -> None:
    program = "import sys, undertow, undertow.cli; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[0] for name in out.split()} & HEAVY
    assert not loaded, f"`import undertow.cli` loads {sorted(loaded)}; import them in the functions that need them"
