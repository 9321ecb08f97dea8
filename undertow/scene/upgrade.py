"""Rewriting the old keys of a scene file."""

from __future__ import annotations

import os
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

from undertow.errors import UserError
from undertow.scene import toml
from undertow.scene.renamed import RENAMED, find_table, is_old


def upgrade(path: Path) -> list[str]:
    """Rewrite the old keys of a scene file, the old file being kept beside it as NAME.old.toml; what was changed.

    Comments and layout are kept. The new text is read back and compared before anything is written.
    """
    toml.read_tables(path)
    text = path.read_text(encoding="utf-8")
    tables, said = toml.parse(text, str(path)), []
    wanted = deepcopy(tables)
    for key, new in RENAMED.items():
        table, name = find_table(wanted, key)
        if isinstance(table, dict) and name in table and is_old(key, new, table[name]):
            old = table.pop(name)
            value = new.values.get(old, old)
            table[new.key.rpartition(".")[2]] = value
            text = _replace(text, name, old, new.key.rpartition(".")[2], value)
            said.append(f"{key} = {old!r} is now {new.key} = {value!r}")
    if not said:
        return []
    if toml.parse(text, str(path)) != wanted:
        raise UserError(f"{path}: cannot be rewritten in its layout; change by hand: {'; '.join(said)}")
    kept = path.with_suffix(".old.toml")
    if kept.exists():
        raise UserError(f"{kept}: exists already and is not overwritten; move it away first")
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.link(path, kept)
    os.replace(part, path)
    return said


def _replace(text: str, name: str, old: Any, new: str, value: Any) -> str:
    """``name = old`` as ``new = value`` wherever it stands; the caller checks what comes of it."""
    pattern = rf"(?<![\w-]){re.escape(name)}(\s*=\s*)(['\"]){re.escape(str(old))}\2"
    written = f'"{value}"' if isinstance(value, str) else str(value)
    return re.sub(pattern, rf"{new}\g<1>{written}", text)
