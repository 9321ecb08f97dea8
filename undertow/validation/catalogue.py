"""What every case judges, what its longer form adds and what it costs, read from its files without running anything."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from undertow.validation.runner import known

COSTS = Path(__file__).with_name("costs.toml")
"""Seconds of the quick form of every case on two cores, by the last run of all of them."""


class Card(NamedTuple):
    """A case in a line: its name, what it judges, its quick form with what ``--full`` adds, and its cost."""

    name: str
    judges: str
    form: str
    cost: str


def cards() -> list[Card]:
    """Of all cases, by name."""
    return [_card(name, module) for name, module in known("validate").items()]


def source_of(name: str) -> str:
    """The paragraph "Source" of the README of a case in one line; a dash where there is none."""
    readme = _folder(known("validate")[name]) / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = re.search(r"^(?:\*\*Source\.\*\*|Source:)\s*(.+?)(?:\n\s*\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(found.group(1).split()) if found else "-"


def _card(name: str, module: str) -> Card:
    tree = ast.parse((_folder(module) / "case.py").read_text(encoding="utf-8"))
    run = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run"), None)
    form = "" if run is None else ast.get_docstring(run) or ""
    return Card(name, _first(ast.get_docstring(tree) or ""), _first(form), _seconds(_costs().get(name)))


def _first(words: str) -> str:
    """The first paragraph in one line."""
    return " ".join(words.split("\n\n")[0].replace("``", "").split())


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@cache
def _costs() -> dict[str, float]:
    return dict(tomllib.loads(COSTS.read_text(encoding="utf-8")))


def _folder(module: str) -> Path:
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return Path(found.origin).parent
