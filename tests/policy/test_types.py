"""Types: what has no annotations is a kernel, and editors see every public name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import undertow

PACKAGE = Path(undertow.__file__).parent
JITTED = {"njit", "helper", "inlined", "inlined_contracting", "borrowing", "borrowing_contracting", "intrinsic"}
"""Decorators of functions whose types Numba finds."""


def decorators(node: ast.FunctionDef) -> set[str]:
    """Their names, without arguments."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return {ast.unparse(one).rpartition(".")[2] for one in calls}


def bare_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions with an argument or a result without a type, but for kernels and what stands in them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            if decorators(node) & JITTED:
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            typed = all(one is None or one.annotation or one.arg in ("self", "cls") for one in given)
            if not (typed and (node.returns or node.name == "__init__")):
                yield node
        yield from bare_functions(node)


def test_only_kernels_have_no_types():
    bare = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in bare_functions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not bare


def test_a_function_without_types_is_seen():
    seen = [node.name for node in bare_functions(ast.parse("@njit(cache=True)\ndef f(a):\n    ...\ndef g(a): ...\n"))]
    assert seen == ["g"]


def test_editors_see_the_public_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    listed = next(n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__")
    imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert sorted(ast.literal_eval(listed)) == sorted(undertow.__all__)
    assert imported == set(undertow.__all__)
    assert (PACKAGE / "py.typed").is_file()
