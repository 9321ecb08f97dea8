"""Results that are kept, so that a run of all cases goes on where it stopped, and the sources that they belong to.

A file ``runs/validation/HASH.jsonl`` per state of the sources, a line per quantity: the line that the program prints,
and beside it ``kind``, ``form``, ``date`` (when the case ended), ``commit`` and ``sources``. A case is kept when it has
ended.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
FOLDER = Path("runs") / "validation"
LETTERS = 12
"""Of the hash, as names of files and in the page of results."""


@cache
def sources_hash(package: Path = PACKAGE) -> str:
    """Of the names and bytes of all files of the package; pages of text and compiled code do not count."""
    total = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix not in {".md", ".pyc", ".nbi", ".nbc"}:
            total.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:LETTERS]


@cache
def commit_of(package: Path = PACKAGE) -> str:
    """The commit of the package, with a plus sign where it has been changed since; "-" without a repository."""
    try:
        head = _git(package, "rev-parse", "--short=9", "HEAD")
        changed = _git(package, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return "-"
    return head + ("+" if changed else "")


def _git(package: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(package), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Kept:
    """The results of the present sources in a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.path = folder / f"{sources_hash()}.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        """All that is kept; a last line cut short by a crash does not count."""
        if not self.path.is_file():
            return []
        found = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return found

    def done(self, kind: str, form: str) -> dict[str, list[dict[str, Any]]]:
        """Lines of the cases that have ended in a form, by case; of one that was run again those of its last run."""
        found: dict[str, list[dict[str, Any]]] = {}
        for line in self.lines():
            if line["kind"] == kind and line["form"] == form:
                rows = found.setdefault(line["case"], [])
                if rows and rows[0]["date"] != line["date"]:
                    rows.clear()
                rows.append(line)
        return found

    def keep(self, kind: str, form: str, results: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The results as they are; those of a case are written when its last one has come."""
        waiting: list[dict[str, Any]] = []
        for result in results:
            if waiting and waiting[0]["case"] != result["case"]:
                self._write(kind, form, waiting)
                waiting = []
            waiting.append(result)
            yield result
        self._write(kind, form, waiting)

    def _write(self, kind: str, form: str, results: list[dict[str, Any]]) -> None:
        if not results:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        beside = {"kind": kind, "form": form, "date": now, "commit": commit_of(), "sources": sources_hash()}
        text = "".join(json.dumps({**result, **beside}, allow_nan=False) + "\n" for result in results)
        broken = self.path.is_file() and not self.path.read_text(encoding="utf-8").endswith("\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + text)
