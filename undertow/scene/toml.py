"""Scenes as TOML: reading, writing, overriding values, and errors in words.

``read(write(scene)) == scene`` for every scene; ``write`` fills in every default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from undertow.errors import UserError
from undertow.scene.base import validate
from undertow.scene.keys import assign
from undertow.scene.scene import MOST_OBJECTS, Scene

FORMAT = 1
"""Of scene files, in their key ``format``; a file without one is of the present format. It grows when a key changes its
meaning: names that change alone are answered with the new ones."""


def scene_from_dict(data: Mapping[str, Any], where: str = "scene") -> Scene:
    """Validate nested tables into a Scene; UserError in words when they are wrong."""
    tables = dict(data)
    _check_format(tables.pop("format", FORMAT), where)
    return validate(Scene, tables, where)


def _check_format(found: object, where: str) -> None:
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise UserError(f"{where}: format = {found!r:.40}: must be a whole number from 1; remove it for the present")
    if found > FORMAT:
        raise UserError(
            f"{where}: scene format {found}, and this version reads up to {FORMAT}; use the version that wrote it, or "
            "a newer one"
        )


def scene_to_dict(scene: Scene) -> dict[str, Any]:
    """Nested tables with every default filled in; what is absent stays absent."""
    return scene.model_dump(exclude_none=True)


LARGEST = 50_000_000
"""Letters of a scene file; geometry belongs into mesh files."""

DEEPEST = 16
"""Tables inside tables of a scene file."""


def parse(text: str, where: str = "scene") -> dict[str, Any]:
    """TOML text as nested tables; what no scene can be is refused before the parser's minutes."""
    count = text.count("[objects.")
    if len(text) > LARGEST or count > MOST_OBJECTS:
        raise UserError(
            f"{where}: {len(text) / 1e6:.0f} MB of text with {count} tables of objects; a scene has at most "
            f"{LARGEST // 10**6} MB and {MOST_OBJECTS} objects; join what moves together in one mesh"
        )
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is no error of its own there
        what = "brackets are nested too deeply" if isinstance(error, RecursionError) else error
        raise UserError(f"{where}: not valid TOML: {what}; check brackets, quotes and commas there") from None
    _check_depth(data, where)
    return data


def _check_depth(data: dict[str, Any], where: str) -> None:
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        inner = [item for table in level for item in (table.values() if isinstance(table, dict) else table)]
        level = [item for item in inner if isinstance(item, dict | list)]
        if not level:
            return
    raise UserError(f"{where}: tables are nested more than {DEEPEST} deep; no part of a scene is")


def read(text: str, where: str = "scene") -> Scene:
    """TOML text as a Scene."""
    return scene_from_dict(parse(text, where), where)


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a scene file; mesh files become absolute, so that the scene can be stored elsewhere."""
    try:
        size = path.stat().st_size
        if size > 4 * LARGEST:
            raise UserError(f"{path}: {size / 1e6:.0f} MB, at most {LARGEST // 10**6} MB are read as a scene")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such scene file; check the path, or see 'undertow scenes'") from None
    except (OSError, ValueError) as error:  # links in a loop, NUL in the name, no UTF-8
        raise UserError(f"{str(path)!r}: cannot be read as a scene file ({error}); check the path") from None
    data = parse(text, str(path))
    objects = data.get("objects")
    for item in objects.values() if isinstance(objects, dict) else ():
        shape = item.get("shape") if isinstance(item, dict) else None
        if not isinstance(shape, dict):
            continue
        parts = shape.get("parts")
        inner = [part.get("shape") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        for table in (shape, shape.get("form"), *inner):
            if isinstance(table, dict) and isinstance(table.get("file"), str):
                table["file"] = _absolute(path, table["file"])
        if isinstance(shape.get("files"), list):
            shape["files"] = [_absolute(path, f) if isinstance(f, str) else f for f in shape["files"]]
    return data


def _absolute(path: Path, file: str) -> str:
    """A file named in the scene file ``path``."""
    try:
        return str((path.parent / file).resolve())
    except (OSError, ValueError, RuntimeError) as error:  # links in a loop, NUL in the name
        raise UserError(f"{path}: the file {file!r} cannot be found ({error}); check the path") from None


def check_resolved(path: Path) -> None:
    """UserError when the scene.toml of a run, which pictures read as plain tables, has been damaged."""
    data = read_tables(path)
    for key in ("domain", "view", "fluid", "objects", "time"):
        if not isinstance(data.get(key, {}), dict):
            raise UserError(f"{path}: {key} is no table; the file has been altered, put it back")


def write(scene: Scene) -> str:
    """The resolved scene as TOML: one header per table and per object, everything below it inline."""
    data = scene_to_dict(scene)
    lines = [f"format = {FORMAT}"]
    lines += [f"{key} = {_inline(value)}" for key, value in data.items() if not isinstance(value, dict)]
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
        if not equals or not all(path.strip().split(".")):
            raise UserError(f"--set {assignment}: must have the form a.b=value, such as objects.ball.slip=true")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            raise UserError(
                f"--set {assignment}: {text!r} is not a TOML value; text needs quotes, as in --set '{path}=\"{text}\"'"
            ) from None
        assign(data, path.strip(), value, f"--set {assignment}")
    _check_depth(data, "--set")
