"""Plain CSV tables of a run: columns fixed at the start, whole rows only, cut back to a byte offset on resume."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from undertow.errors import UserError

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
            self._file = os.fdopen(_open_inside(path, os.O_RDWR), "r+b", buffering=0)
            there = os.fstat(self._file.fileno()).st_size
            if there < keep:
                self._file.close()
                raise UserError(
                    f"{path}: has {there} bytes and had {keep} at the checkpoint; rows have been removed: put the "
                    "whole file back, or start the run again"
                )
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


def _open_inside(path: Path, flags: int) -> int:
    """A file of a run folder itself: a link, which may lead out of the folder, is not followed."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        raise UserError(f"{path}: this table of the run is missing; put it back, or start the run again") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR):
            raise UserError(f"{path}: is no file of the run folder itself; remove the link or folder") from None
        raise


def _text(value: Cell) -> str:
    return value if isinstance(value, str) else repr(float(value)) if isinstance(value, float) else str(int(value))
