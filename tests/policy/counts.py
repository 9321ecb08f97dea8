"""How far the parts have come: classes that are to go, and the size of the code. ``tests/halves.py`` prints it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "undertow"

FOLDERS = ("run", "coupling", "solids", "fluid", "linalg", "rigid")
"""Whose size is counted."""


TO_GO = {
    "solves": [
        "PressureSolve", "CoupledSolve", "MonolithicSolve", "LumpedSolve", "SoftSolve", "RigidFluidSolve",
    ],
    "viscous steps and drags": [
        "SoftDrag", "RigidDrag", "ExtraFaces",
    ],
}  # fmt: skip
"""By what they are, those that stand still."""

GONE = [
    "DivergenceRows", "FreeSurfaceRows", "CoupledRows", "CoupledWaterRows", "SoftRows", "SoftWaterRows",
    "FreeSurfaceSolve", "CoupledWaterSolve", "LumpedWaterSolve", "SoftWaterSolve", "SplitSolve",
    "ViscousMonolithicSolve", "ViscousLumpedSolve", "FreeViscosity", "CoupledViscosity", "SoftViscosity",
    "FluidModel", "WaterModel", "BodiesInWater", "CoupledModel", "CoupledWaterModel", "RigidFluidModel",
    "SoftCoupledModel", "SoftWaterModel", "WaterAround", "SolvedWithSoft", "_FluidAround", "_SolvedTwice",
    "_CoupledWater", "_WaterAround",
    "SolidsModel", "SoftModel", "SphModel",
]  # fmt: skip
"""Classes that parts, phases and walls have replaced."""


def classes() -> dict[str, list[str]]:
    """Where each class of the package is defined."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    return found


def statements(folders: tuple[str, ...] = FOLDERS) -> int:
    """Statements of the language without docstrings."""
    total = 0
    for path in (p for folder in folders for p in sorted((PACKAGE / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            value = node.value if isinstance(node, ast.Expr) else None
            text = isinstance(value, ast.Constant) and isinstance(value.value, str)
            total += isinstance(node, ast.stmt) and not text
    return total


def summary() -> str:
    """One line per kind of class that is to go, and the size."""
    left = ", ".join(f"{kind} {len(names)}" for kind, names in TO_GO.items())
    return f"parts: to go: {left}; statements in {', '.join(FOLDERS)}: {statements()}"
