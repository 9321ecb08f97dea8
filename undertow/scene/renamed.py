"""Keys and values of scene files that have another name now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from undertow.scene.base import complain


class Renamed(NamedTuple):
    """key: dotted. values: old value -> new one; those that are not in it are kept."""

    key: str
    values: Mapping[Any, Any]


RENAMED = {
    "coupling": Renamed("coupling", {"batty": "volume_fraction"}),
    "monolithic.scheme": Renamed("monolithic.solves", {"one_solve": 1, "two_solves": 2}),
}
"""Dotted key of a scene -> what it is now."""


def check_renamed(data: Any) -> None:
    """Old keys and values are answered with the new ones."""
    for key, new in RENAMED.items():
        table, name = find_table(data, key)
        if not isinstance(table, dict) or name not in table or not is_old(key, new, table[name]):
            continue
        value = new.values.get(table[name], table[name])
        raise complain(
            f"{key} = {table[name]!r}: is now {new.key} = {value!r}; write it so, or rewrite a file by "
            "'undertow upgrade FILE.toml'"
        )


def find_table(data: Any, key: str) -> tuple[Any, str]:
    """The table that would hold a dotted key, and the key's last part."""
    *tables, name = key.split(".")
    for table in tables:
        data = data.get(table) if isinstance(data, dict) else None
    return data, name


def is_old(key: str, new: Renamed, value: Any) -> bool:
    """Whether a value of that key is one to be rewritten."""
    return key != new.key or (isinstance(value, str | int) and value in new.values)
