"""An option that nothing reads is a lie to the user: every field of the scene has a reader."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

pydantic = pytest.importorskip("pydantic")
PACKAGE = Path(__file__).resolve().parents[2] / "undertow"


def _models() -> list[type]:
    """Every model of ``undertow.scene``, found from ``Scene`` down through the types of its fields."""
    import undertow.scene as scene

    found: dict[str, type] = {}
    pending = [value for value in vars(scene).values() if inspect.isclass(value)]
    for module in {inspect.getmodule(cls) for cls in pending}:
        pending += [value for value in vars(module).values() if inspect.isclass(value)]
    for cls in pending:
        if issubclass(cls, pydantic.BaseModel) and cls.__module__.startswith("undertow.scene"):
            found[cls.__name__] = cls
    return [found[name] for name in sorted(found)]


def _reads(tree: ast.AST, of_self: bool) -> set[str]:
    """Names read as attributes, of ``self`` or of anything else."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and (isinstance(node.value, ast.Name) and node.value.id == "self") == of_self
    }


def _keys_read(tree: ast.AST) -> set[str]:
    """Names read as keys, ``table["name"]`` or ``table.get("name")``."""
    found = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            found += node.args[:1]
    return {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _attributes_read() -> set[str]:
    """Names read by the package: outside ``scene/``, or by a method of a scene model that answers a question.

    A validator that looks at a field does not count as a reader: checking an option is not using it. What draws a run
    reads the scene.toml of its folder, by keys.
    """
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        owner = path.relative_to(PACKAGE).parts[0]
        if owner == "output":
            names |= _keys_read(tree)
        if owner != "scene":
            names |= _reads(tree, of_self=False)
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            if not any("validator" in ast.unparse(decorator) for decorator in node.decorator_list):
                names |= _reads(node, of_self=True)
    return names


def test_every_scene_option_is_read() -> None:
    models = _models()
    assert models, "no scene models found"
    read = _attributes_read()
    unread = [
        f"{model.__name__}.{field}"
        for model in models
        for field in model.model_fields  # type: ignore[attr-defined]
        if field != "type" and field not in read
    ]
    assert not unread, f"scene options that nothing reads: {unread}"


def test_every_scene_option_is_described() -> None:
    silent = [
        f"{model.__name__}.{name}"
        for model in _models()
        for name, field in model.model_fields.items()  # type: ignore[attr-defined]
        if name != "type" and not field.description
    ]
    assert not silent, f"scene options without a description (say what it is and its SI unit): {silent}"
