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

COUPLING: dict[str, str] = {
    "walls on the grid": "motion enclosed fractions shell_fractions voxel walls soft_fields fields_under_surface "
    "prescribed",
    "velocities of solids": "coupled_bodies coupled_soft solid_block rigid_block drag solid_velocities one_sided "
    "secant indefinite patches pockets poles rigid_walls solid_walls rigid_viscosity unsplit",
    "solids in the solve": "hydrostatic added_mass rigid_solids soft_drag soft_preconditioner soft_viscosity "
    "node_solids",
    "solves": "projection lumped rigid_fluid forcing_contacts forcing_solves crack_points direct_forcing",
    "schemes": "bodies_in_fluid nodes_in_fluid contact_in_fluid leapfrog schemes forcing_schemes",
}
"""The modules of ``coupling`` in their order: each imports of its own line or of lines above, and never in a circle. A
new module goes into the first line in which it can stand."""

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


def _couplings_imported(path: Path) -> set[str]:
    """Modules of ``coupling`` that one of them imports when it runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(inner) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }  # fmt: skip
    found = {
        node.module for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing
    }  # fmt: skip
    return {name.split(".")[2] for name in found if name.startswith("undertow.coupling.")}


def test_modules_of_coupling_follow_an_order() -> None:
    line = {name: k for k, names in enumerate(COUPLING.values()) for name in names.split()}
    files = {path.stem: path for path in (PACKAGE / "coupling").glob("*.py") if path.stem != "__init__"}
    assert files.keys() == line.keys(), f"{files.keys() ^ line.keys()}: COUPLING does not say where they stand"
    imports = {name: _couplings_imported(path) for name, path in files.items()}
    up = [f"{name} imports {other}" for name in files for other in imports[name] if line[other] > line[name]]
    assert not up, f"{up}: against the order of COUPLING"
    left = dict(imports)
    while left:
        done = [name for name, others in left.items() if not others & left.keys()]
        assert done, f"{sorted(left)}: import each other in a circle"
        for name in done:
            del left[name]


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


OPEN_TO_CASES = ("undertow", "undertow.validation", "undertow.benchmarks", "undertow.scene.gallery")
"""What cases and benchmarks of scenes import: the public API, each other, and the scenes that come with the package."""

UNITS = """
    benchmarks/advection benchmarks/poisson benchmarks/stencil benchmarks/two_phase_poisson
    validation/added_mass validation/bounce
    validation/cantilever validation/collision_momentum validation/cook_membrane validation/dam_break
    validation/derivatives validation/enright validation/fracture_conserves validation/fracture_fit
    validation/fracture_inertia validation/free_top validation/hanging_cloth validation/hydrostatic validation/hysing_1
    validation/incline_cube validation/incline_mixed validation/kernel_moments validation/messenger
    validation/own_weight_strip validation/patch_test validation/sine_interface validation/single_vortex
    validation/slosh validation/soft_momentum validation/sph_dam_break validation/sph_poiseuille validation/still_drop
    validation/tension_energy validation/tension_stability validation/oscillating_drop validation/zalesak
    validation/sessile_drop validation/soft_bodies.py
"""
"""Measure a piece of the program that no scene reaches alone: an operator, an element, a level set, a world of bodies;
``soft_bodies.py`` is what several of them share."""

MACHINERY = "broken.py drawing.py matrix.py runner.py smoke.py stepping.py targets.py"
"""Of validation: what runs the cases, and shortens or breaks the program on purpose."""

READS = {
    "benchmarks/_frames.py": "counts nodes and elements of the soft part",
    "benchmarks/cloth_step.py": "collisions of soft surfaces",
    "benchmarks/rigid_pile.py": "kinds of bodies, sweeps of the contact solve",
    "benchmarks/soft_step.py": "iterations of the implicit step",
    "validation/bar_twist": "rotation of the ends, a formula of rigid",
    "validation/boat_load": "outline of a boat, for its volume under water",
    "validation/cloth_knot": "collisions of soft surfaces",
    "validation/drag": "boundary particles", "validation/no_leak": "boundary particles",
    "validation/slip": "labels of particles",
    "validation/sph_contact": "boundary particles", "validation/sph_drop": "boundary particles",
    "validation/sph_hydrostatic": "boundary particles", "validation/sph_momentum": "momenta of particles and bodies",
    "validation/incompressible_statics": "volumes of one-rings",
    "validation/momentum": "faces of the grid with their ghosts",
    "validation/two_material_column": "faces of the grid with their ghosts",
    "validation/soft_scenes": "surfaces of embedded bodies, depths of contact",
    "validation/soft_sphere_drop": "volumes of one-rings", "validation/sphere_press": "volumes of one-rings",
    "validation/trampoline": "depths of contact",
}  # fmt: skip
"""Cases of scenes that read what the public API does not have; the list may only shrink."""


def _reaches_inside(path: Path) -> bool:
    found = [module for _, module, names in _imports(ast.parse(path.read_text())) for module in
             ([f"undertow.{name}" for name in names] if module == "undertow" else [module])]  # fmt: skip
    return any(m != "undertow" and not m.startswith(tuple(f"{one}" for one in OPEN_TO_CASES[1:])) for m in found)


def _exception(path: Path) -> str:
    """By what a file may reach inside: its own name or that of its folder, or a file of defects."""
    name = str(path.relative_to(PACKAGE))
    folder = str(path.parent.relative_to(PACKAGE))
    if path.name == "broken.py" and folder != "validation":
        return "defects"
    if folder == "validation" and path.name in MACHINERY.split():
        return "machinery"
    for one in (name, name.removesuffix(".py"), folder):
        if one in UNITS.split() or one in READS:
            return one
    return ""


def test_cases_and_benchmarks_use_the_public_api_alone() -> None:
    files = [path for folder in ("validation", "benchmarks") for path in sorted((PACKAGE / folder).rglob("*.py"))]
    inside = [path for path in files if _reaches_inside(path)]
    wrong = [str(path.relative_to(PACKAGE)) for path in inside if not _exception(path)]
    assert not wrong, (
        f"{wrong}: import undertow as ut and nothing else of the package; a case of a unit goes into UNITS"
    )
    used = {_exception(path) for path in inside}
    idle = [name for name in (*UNITS.split(), *READS) if name not in used]
    assert not idle, f"{idle}: use the public API alone now; take them off the list"
