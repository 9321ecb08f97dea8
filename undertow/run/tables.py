"""Plain CSV tables of a run: columns fixed at the start, whole rows only, cut back to a byte offset on resume."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

Cell = str | int | float


class CsvTable:
    """An open CSV file that holds whole rows; floats are written so that they read back bit for bit."""

    def __init__(self, path: Path, columns: Sequence[str], keep: int | None = None) -> None:
        """Create the table, or continue it after its first ``keep`` bytes."""
        self.path = path
        self.columns = list(columns)
        self._file: IO[bytes]
        if keep is None:
            self._file = open(path, "xb", buffering=0)  # noqa: SIM115  kept open for the whole run
            self.size = 0
            self._write(",".join(self.columns))
        else:
            self._file = open(path, "r+b", buffering=0)  # noqa: SIM115
            self._file.truncate(keep)
            self._file.seek(keep)
            self.size = keep

    def append(self, row: Sequence[Cell]) -> None:
        """Add one row; a row that does not fit on the disk is taken back whole."""
        if len(row) != len(self.columns):
            raise ValueError(f"{self.path.name}: a row of {len(row)} values for {len(self.columns)} columns")
        self._write(",".join(_text(value) for value in row))

    def _write(self, line: str) -> None:
        data = memoryview((line + "\n").encode())
        written = 0
        try:
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError:
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self.size += written

    def sync(self) -> int:
        """Force the rows to disk and return the size of the file [bytes]."""
        os.fsync(self._file.fileno())
        return self.size

    def close(self) -> None:
        self._file.close()


def _text(value: Cell) -> str:
    return value if isinstance(value, str) else repr(float(value)) if isinstance(value, float) else str(int(value))
