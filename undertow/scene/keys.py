"""Dotted keys of a scene."""

from __future__ import annotations

from typing import Any

from undertow.errors import UserError
from undertow.scene.faults import suggest


def assign(data: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set the value of a dotted key in nested tables; objects and probes must be there. where: begins a message."""
    keys, table = path.split("."), data
    if not all(keys):
        raise UserError(f"{where}: {path!r} is no dotted key, such as objects.ball.density")
    for depth, key in enumerate(keys[:-1]):
        if keys[0] in ("objects", "probes") and depth == 1 and key not in table:
            raise UserError(
                f"{where}: there is no {'.'.join(keys[:2])}; {suggest(key, list(table))}"
                f"The names are {', '.join(table) or '(none)'}"
            )
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise UserError(f"{where}: {'.'.join(keys[: depth + 1])} is a value, not a table")
    table[keys[-1]] = value
