"""Faults of a scene in words: where, which value, which rule, which remedy."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError


def suggest(word: str, known: list[str]) -> str:
    """``did you mean 'radius'? `` or nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}? " if close else ""


def describe(error: ValidationError, where: str) -> str:
    """Every fault in words: ``where: objects.ball.shape.radius = -0.1: must be positive; ...``."""
    lines = []
    for fault in error.errors(include_url=False):
        path = ".".join(str(part) for part in fault["loc"] if not _is_internal(part))
        value = fault.get("input")
        shown = f" = {_shorten(value)}" if path and not isinstance(value, dict | BaseModel) else ""
        lines.append(f"{where}: {path}{shown}{': ' if path else ''}{_rule(fault)}")
    return "\n".join(dict.fromkeys(lines))


def _is_internal(part: int | str) -> bool:
    """Tags of unions and function names are not part of a path the user knows."""
    return isinstance(part, str) and (part.startswith("<") or "[" in part)


def _shorten(value: Any) -> str:
    try:
        text = repr(list(value) if isinstance(value, tuple) else value)
    except (ValueError, RecursionError):  # a number of more digits than Python prints, tables inside tables
        text = f"a {type(value).__name__} too long to print"
    return text if len(text) < 60 else text[:57] + "..."


def _rule(fault: Any) -> str:
    kind = fault["type"]
    if kind == "undertow":
        return str(fault["ctx"]["text"])
    if kind == "literal_error":
        expected = fault["ctx"]["expected"].replace("'", "")
        choices = expected.replace(" or ", ", ").split(", ")
        hint = suggest(str(fault["input"]), choices)
        return f"unknown choice; {hint}It is one of {', '.join(choices)}"
    rules = {
        "bool_type": "must be true or false, without quotes",
        "string_type": "must be text in quotes",
        "tuple_type": "must be a list",
        "dict_type": "must be a table",
    }
    return rules.get(kind, fault["msg"])
