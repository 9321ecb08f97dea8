"""Scenes as TOML: reading, writing, overriding values, and errors in words.

``read(write(scene)) == scene`` for every scene; ``write`` fills in every default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from undertow.errors import UserError
from undertow.scene.base import suggest
from undertow.scene.scene import Scene


def scene_from_dict(data: Mapping[str, Any], where: str = "scene") -> Scene:
    """Validate nested tables into a Scene; UserError in words when they are wrong."""
    try:
        return Scene.model_validate(dict(data))
    except ValidationError as error:
        raise UserError(describe(error, where)) from None


def scene_to_dict(scene: Scene) -> dict[str, Any]:
    """Nested tables with every default filled in; what is absent stays absent."""
    return scene.model_dump(exclude_none=True)


def parse(text: str, where: str = "scene") -> dict[str, Any]:
    """TOML text as nested tables."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where}: not valid TOML: {error}; check brackets, quotes and commas there") from None


def read(text: str, where: str = "scene") -> Scene:
    """TOML text as a Scene."""
    return scene_from_dict(parse(text, where), where)


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a scene file; mesh files become absolute, so that the scene can be stored elsewhere."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such scene file; check the path, or see 'undertow scenes'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as a scene file ({error})") from None
    data = parse(text, str(path))
    objects = data.get("objects")
    for item in objects.values() if isinstance(objects, dict) else ():
        shape = item.get("shape") if isinstance(item, dict) else None
        if not isinstance(shape, dict):
            continue
        for table in (shape, shape.get("form")):
            if isinstance(table, dict) and isinstance(table.get("file"), str):
                table["file"] = str((path.parent / table["file"]).resolve())
        if isinstance(shape.get("files"), list):
            shape["files"] = [str((path.parent / f).resolve()) if isinstance(f, str) else f for f in shape["files"]]
    return data


def write(scene: Scene) -> str:
    """The resolved scene as TOML: one header per table and per object, everything below it inline."""
    data = scene_to_dict(scene)
    lines = [f"{key} = {_inline(value)}" for key, value in data.items() if not isinstance(value, dict)]
    for key, value in data.items():
        if key in ("objects", "probes"):
            for name, item in value.items():
                lines += ["", f"[{key}.{name}]", *_entries(item)]
        elif isinstance(value, dict):
            inner = {k: v for k, v in value.items() if k != "sides"}
            lines += ["", f"[{key}]", *_entries(inner)]
            if "sides" in value:
                lines += ["", f"[{key}.sides]", *_entries(value["sides"])]
    return "\n".join(lines) + "\n"


def _entries(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {_inline(value)}" for key, value in table.items()]


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(_entries(value)) + " }" if value else "{}"
    return "[" + ", ".join(_inline(v) for v in value) + "]"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _quote(text: str) -> str:
    def escape(c: str) -> str:
        return _ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c)

    return '"' + "".join(map(escape, text)) + '"'


def override(data: dict[str, Any], assignments: Iterable[str]) -> None:
    """Apply ``a.b=c`` assignments to nested tables in place; the value is TOML."""
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise UserError(f"--set {assignment}: must have the form a.b=value, such as objects.ball.slip=true")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            raise UserError(
                f"--set {assignment}: {text!r} is not a TOML value; text needs quotes, as in --set '{path}=\"{text}\"'"
            ) from None
        table = data
        for depth, key in enumerate(keys[:-1]):
            if keys[0] in ("objects", "probes") and depth == 1 and key not in table:
                raise UserError(f"--set {assignment}: there is no {'.'.join(keys[:2])}; {suggest(key, list(table))}"
                                f"The names are {', '.join(table) or '(none)'}")  # fmt: skip
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise UserError(f"--set {assignment}: {'.'.join(keys[: depth + 1])} is a value, not a table")
        table[keys[-1]] = value


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
    text = repr(list(value) if isinstance(value, tuple) else value)
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
