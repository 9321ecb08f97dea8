"""Physics adds up: no numerics in ``run``, no class named after two kinds of physics, schemes that are boxes."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "undertow"
_SPEC = importlib.util.spec_from_file_location("counts", Path(__file__).with_name("counts.py"))
assert _SPEC is not None and _SPEC.loader is not None
counts = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(counts)

KINDS = ("Rigid", "Soft", "Water", "Viscous", "Lumped", "Shell")
RUN = sorted((PACKAGE / "run").glob("*.py"))
NUMERICS = {"linalg", "einsum", "cross"}
"""Attributes of NumPy that compute."""


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_run_computes_nothing(path: Path) -> None:
    """It reads scenes, puts parts together and writes files."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in ("numba", "scipy")]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            module = node.module
            if module.split(".")[0] in ("numba", "scipy") or module.startswith("undertow.linalg"):
                found.append(module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
            found += [f"np.{node.attr}"] if node.attr in NUMERICS else []
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"@ in line {node.lineno}")
    allowed = {"kernel_cache.py": ["numba"], "compile_ahead.py": ["numba"], "machine.py": ["numba"]}.get(path.name, [])
    wrong = [name for name in found if name.split(".")[0] not in allowed]
    assert not wrong, f"run/{path.name} uses {wrong}: put it into the package whose physics it is"


READS_BODIES = {
    ("run/assemble_solids.py", "read_table"),
    ("run/assemble_solids.py", "describe_body"),
    ("run/assemble_solids.py", "drawn_extent"),
    ("run/compile_ahead.py", "is_of_use"),
    ("run/memory.py", "needs"),
    ("run/compile_ahead.py", "small_scene"),
}
"""Functions that ask a scene for its bodies: before or while the table of bodies is made."""


def test_the_scene_is_not_asked_for_its_bodies_once_they_are_in_the_table() -> None:
    found = set()
    for folder in ("run", "output", "solids", "coupling", "sph", "rigid"):
        for path in sorted((PACKAGE / folder).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            for node in ast.walk(tree):
                if not isinstance(node, ast.Attribute) or node.attr not in ("bodies", "shells", "has_nodes"):
                    continue
                owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
                if owner.endswith("scene"):
                    own = [one.name for one in functions if one.lineno <= node.lineno <= (one.end_lineno or 0)]
                    found.add((str(path.relative_to(PACKAGE)), own[-1] if own else ""))
    assert found <= READS_BODIES, f"ask the table of bodies (rigid/table.py): {sorted(found - READS_BODIES)}"


PHASES = ("fluid/phase.py", "fluid/free_surface.py", "fluid/two_phase.py")
"""Where the density of the fluid belongs: masses are ``phase.mass_of(volume)``."""

READS_DENSITY = {
    ("fluid/flow.py", "__init__"): "hands it to the domain",
    ("fluid/domain.py", "rebuild"): "masses of the faces of a full tank, which a phase takes or replaces",
    ("run/build.py", "flow_settings"): "from the scene",
}
"""(file, function) that reads a density of the fluid outside of them, and why; the list may only shrink."""


OTHER_DENSITIES = ("coupling/nodes_in_fluid.py",)
"""Files whose ``settings.density`` is another one: of the lightest soft body."""


def test_no_code_outside_a_phase_reads_the_density_of_the_fluid() -> None:
    found = set()
    for folder in ("fluid", "surface", "transport", "coupling", "solids", "run"):
        for path in sorted((PACKAGE / folder).glob("*.py")):
            name = str(path.relative_to(PACKAGE))
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            for node in ast.walk(tree):
                if not isinstance(node, ast.Attribute) or node.attr != "density" or name in PHASES:
                    continue
                owner = ast.unparse(node.value).split(".")[-1]
                own_field = name == "fluid/domain.py" and owner == "self"
                of_fluid = owner in ("domain", "d", "settings", "fluid") or own_field
                if not isinstance(node.ctx, ast.Load) or not of_fluid or name in OTHER_DENSITIES:
                    continue
                own = [one.name for one in functions if one.lineno <= node.lineno <= (one.end_lineno or 0)]
                found.add((name, own[-1] if own else ""))
    assert not found - READS_DENSITY.keys(), f"ask the phase for the mass: {sorted(found - READS_DENSITY.keys())}"
    assert not READS_DENSITY.keys() - found, f"no longer needed: {sorted(READS_DENSITY.keys() - found)}"


def test_no_class_is_named_after_two_kinds_of_physics() -> None:
    joined = [name for name in counts.classes() if sum(kind in name for kind in KINDS) > 1]
    assert not joined, f"{joined}: physics are added as parts, walls, phases or schemes, not multiplied"


def test_every_step_of_a_scheme_fits_a_screen() -> None:
    """The step of a scheme is the algorithm box of its source."""
    from undertow.coupling import forcing_schemes, schemes
    from undertow.part import Scheme
    from undertow.solids import schemes as solids_schemes
    from undertow.sph import scheme as sph_scheme

    modules = (schemes, forcing_schemes, solids_schemes, sph_scheme)
    found = {
        one.__name__: len(inspect.getsource(one.step).splitlines())
        for module in modules
        for one in vars(module).values()
        if inspect.isclass(one) and issubclass(one, Scheme) and "step" in vars(one)
    }
    assert len(found) >= 7
    assert max(found.values()) <= 32, found
