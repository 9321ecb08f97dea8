"""What the text of the project may not contain, and what it must."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "undertow"
TESTS = ROOT / "tests"

JIT = {"jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil"}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _python(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def _texts() -> list[Path]:
    """The text files of the project, as far as they are written by hand."""
    kinds = {".py", ".md", ".toml", ".bib", ".cfg", ".csv", ".html", ".js"}
    files = [path for folder in (PACKAGE, TESTS, ROOT / "docs") for path in folder.rglob("*") if path.suffix in kinds]
    files += [path for path in ROOT.iterdir() if path.suffix in kinds or path.name in {"Makefile", "LICENSE"}]
    return sorted([*files, ROOT / ".ci" / "run"])


def _jit_name(node: ast.expr) -> str | None:
    """``njit``, ``numba.njit`` or either of them called: the bare name of a jitting decorator."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr in JIT else None
    return node.id if isinstance(node, ast.Name) and node.id in JIT else None


@pytest.mark.parametrize("path", _python(PACKAGE), ids=_name)
def test_jitted_functions_stand_at_module_level_and_are_cached(path: Path) -> None:
    """A jitted closure loses the disk cache and costs its compilation at every start."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if _jit_name(decorator) is None:
                    continue
                if id(node) not in top:
                    wrong.append(f"{_name(path)}:{node.lineno} {node.name} is jitted inside a function or class")
                keywords = {k.arg: k.value for k in decorator.keywords} if isinstance(decorator, ast.Call) else {}
                cache = keywords.get("cache")
                if not (isinstance(cache, ast.Constant) and cache.value is True):
                    wrong.append(f"{_name(path)}:{node.lineno} {node.name} is jitted without cache=True")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _jit_name(node.func):
            wrong.append(f"{_name(path)}:{node.lineno} jits by a call; decorate a module-level function instead")
    assert not wrong, "\n".join(wrong)


def test_one_formula_for_two_and_three_dimensions() -> None:
    """Files and functions of the numerics that carry 2d or 3d in their name are copies waiting to drift apart."""
    mark = re.compile(r"(^|_)[23]d($|_)", re.IGNORECASE)
    wrong = []
    for package in ("grid", "linalg", "transport", "surface", "fluid"):
        for path in _python(PACKAGE / package):
            names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
            wrong += [f"{_name(path)}: {name}" for name in [path.stem, *names] if mark.search(name)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _python(PACKAGE, TESTS), ids=_name)
def test_nothing_is_left_unfinished(path: Path) -> None:
    marks = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImplemented" + "Error")))
    wrong = [f"{_name(path)}:{i}: {line.strip()}" for i, line in enumerate(path.read_text().splitlines(), 1)
             if marks.search(line)]  # fmt: skip
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _texts(), ids=_name)
def test_no_path_of_a_machine(path: Path) -> None:
    places = "|".join(("root", "home", "Users", "work", "farm", "opt"))
    pattern = re.compile(rf"(?:^|[^A-Za-z0-9_.\]\)>])/(?:{places})(?:/|$)")
    wrong = [f"{_name(path)}:{i}: {line.strip()}" for i, line in enumerate(path.read_text().splitlines(), 1)
             if pattern.search(line)]  # fmt: skip
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", [*_python(PACKAGE), ROOT / "requirements.lock", ROOT / "Makefile"], ids=_name)
def test_no_network_address(path: Path) -> None:
    """Nothing is read from the network and only the local machine is listened to; sources are cited by name or DOI."""
    pattern = re.compile(r"\b(?:https?|ftp|file)://|\b0\.0\.0\.0\b")
    local = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\{HOST\})")
    wrong = [f"{_name(path)}:{i}: {line.strip()}" for i, line in enumerate(path.read_text().splitlines(), 1)
             if pattern.search(local.sub("", line))]  # fmt: skip
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", _python(PACKAGE), ids=_name)
def test_public_names_are_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    wrong = [] if ast.get_docstring(tree) or not tree.body else [f"{_name(path)}: the module"]
    for node in tree.body:
        named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        if named and not ast.get_docstring(node):
            wrong.append(f"{_name(path)}:{node.lineno} {node.name}")
    assert not wrong, "without a docstring: " + ", ".join(wrong)


def test_the_lock_has_hashes_and_no_index() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "--index-url" not in text and "--find-links" not in text and "--extra-index-url" not in text
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[A-Za-z0-9_.\-]+(\[[a-z,]+\])?==", block), f"not an exact version: {block.splitlines()[0]}"
        assert "--hash=sha256:" in block, f"no hash: {block.splitlines()[0]}"
