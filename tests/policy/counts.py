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
        "PressureSolve", "CoupledSolve", "RigidFluidSolve",
    ],
    "viscous steps and drags": [
        "SoftDrag", "ExtraFaces",
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
    "SolidsModel", "SoftModel", "SphModel", "LumpedSolve", "JoinedVelocities",
    "GridFluid", "WaterFlow", "WaterSettings", "WaterState", "Mixture", "OwedVolume",
    "MonolithicSolve", "SoftSolve", "SoftPreconditioner", "ContactInSolve", "RigidDrag",
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


def _names(node: ast.AST) -> set[str]:
    """Last parts of all names in an expression."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
    return {n.id if isinstance(n, ast.Name) else n.attr for n in found}


def shape_classes() -> set[str]:
    """Names of the classes of shapes: those under ``Shape`` of geometry and ``ShapeModel`` of scenes."""
    bases: dict[str, set[str]] = {}
    for path in (p for folder in ("geometry", "scene") for p in sorted((PACKAGE / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(*(_names(base) for base in node.bases))
    found = {"Shape", "ShapeModel"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def shape_tests() -> list[str]:
    """Places that ask a shape which class or type it is, in the place of asking it what they want to know."""
    shapes, found = shape_classes(), []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            by_class = isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass")
            by_type = isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("shape.type")
            if (by_class and shapes & _names(node.args[1])) or by_type:
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


FLAT_INDEX = re.compile(
    r"un?ravel_(?:multi_)?index|\+ 2 \* GHOSTS|(?://|%) (?:spec\.n[xy]|rows_y|plane\b|row\b|ny\b)"
    r"|int\(\w+ == [012]\)|grid\.padded\[[12]\]|np\.prod\((?:\w+\.)*grid\.padded\)"
)
"""Arithmetic of places in flattened or padded arrays: rows, strides, steps to neighbours."""


def flat_indices() -> dict[str, int]:
    """How often each file outside of ``grid`` and ``linalg`` computes where a value lies, by the name of the file."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        count = len(FLAT_INDEX.findall(path.read_text(encoding="utf-8")))
        if count and not name.startswith(("grid/", "linalg/")):
            found[name] = count
    return found


def _is_number(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.BinOp) and _is_number(node.left) and _is_number(node.right)


def constants() -> list[str]:
    """Numbers with a name at module level, but for cases, benchmarks and scenes of the gallery."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        if name.startswith(("validation/", "benchmarks/", "scene/gallery/")):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and _is_number(getattr(node, "value", None)):
                found.append(f"{name}:{target.id}")
    return found


def summary() -> str:
    """One line per kind of class that is to go, and the size."""
    left = ", ".join(f"{kind} {len(names)}" for kind, names in TO_GO.items())
    left += f", isinstance of shapes {len(shape_tests())}, flat indices {sum(flat_indices().values())}"
    left += f", constants {len(constants())}"
    return f"parts: to go: {left}; statements in {', '.join(FOLDERS)}: {statements()}"
