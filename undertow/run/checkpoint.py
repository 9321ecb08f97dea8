"""State on disk: written whole under a temporary name and renamed, checked against its checksum when read.

A checkpoint is an HDF5 file behind a block of ``BLOCK`` bytes, which HDF5 leaves to its users (the *user block*, found
by every HDF5 tool). It holds one line of text, padded with zeros: the format and the SHA-256 of all bytes that follow.
The line is verified before the HDF5 library sees the file: of damaged metadata the library makes endless loops,
requests for terabytes, or worse.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from undertow.errors import UserError

FORMAT = 7
"""Since 7 the balance of the energy of solids is in it; since 6 the table of bodies; since 5 a checksum of the whole
file stands before the HDF5 data; since 4 states are those of parts; since 3 the viscosity of particles is in Pa s."""

BLOCK = 512
"""Size of the block before the HDF5 data [bytes], the smallest that HDF5 has."""


@dataclass
class Checkpoint:
    """scene: the scene as TOML; arrays: the state's arrays by name; numbers: time, step, frame, scalars of the state
    and the sizes of the tables of the run."""

    scene: str
    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]

    def nbytes(self) -> int:
        """About the size of its file [bytes]: arrays and text, and what HDF5 needs for each of them."""
        text = len(self.scene) + len(json.dumps(self.numbers))
        return sum(array.nbytes for array in self.arrays.values()) + text + 3000 + 450 * len(self.arrays)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file so that it is whole or not there, whatever happens."""
    import h5py

    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with h5py.File(temporary, "w", userblock_size=BLOCK) as file:
            file.attrs["scene"] = checkpoint.scene
            file.attrs["numbers"] = json.dumps(checkpoint.numbers, sort_keys=True)
            for name, array in checkpoint.arrays.items():
                file.create_dataset(name, data=array)
        with open(temporary, "r+b") as raw:
            line = _first_block(FORMAT, _digest_after_block(raw))
            raw.seek(0)
            raw.write(line)
        sync_file(temporary)
        os.replace(temporary, path)
        sync_file(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and verify; UserError when the file is missing, cut short or altered."""
    import h5py

    _verify(path)
    try:
        with h5py.File(path, "r") as file:
            scene = str(file.attrs["scene"])
            numbers = json.loads(str(file.attrs["numbers"]))
            arrays = {name: _read_array(file, name) for name in file}
    # a file made by other means fails in many ways; for the user they are one
    except (OSError, LookupError, ValueError, RuntimeError, TypeError, AttributeError, MemoryError, RecursionError,
            OverflowError) as error:  # fmt: skip
        raise UserError(f"{path}: the checkpoint is damaged ({_first_line(error)}); {_REMEDY}") from None
    if not isinstance(numbers, dict) or not {"time", "step", "frame", "state"} <= set(numbers):
        raise UserError(f"{path}: holds no state of a run (time, step and frame are missing); {_REMEDY}")
    return Checkpoint(scene, arrays, numbers)


def _verify(path: Path) -> None:
    """UserError unless every byte of the file is as it was written, by this format."""
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint")
    try:
        with open(path, "rb") as raw:
            block = raw.read(BLOCK)
            digest = _digest_after_block(raw)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the disk and the rights to read") from None
    if block.startswith(_SIGNATURE):
        raise UserError(f"{path}: checkpoint format 4 or older, need {FORMAT}; use the version that wrote it")
    found = _LINE.match(block)
    if len(block) < BLOCK or not found:
        raise UserError(f"{path}: is no checkpoint, or is damaged or cut short at its start; {_REMEDY}")
    version = int(found[1])
    if block != _first_block(version, digest):
        raise UserError(
            f"{path}: does not match its checksum: the file was damaged, cut short or altered since it was written; "
            f"{_REMEDY}"
        )
    if version != FORMAT:
        raise UserError(f"{path}: checkpoint format {version}, need {FORMAT}; use the version that wrote it")


_SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of HDF5 data; before format 5 they were the first of the file."""

_LINE = re.compile(rb"undertow checkpoint, format (\d{1,9}), sha256 of what follows this block: [0-9a-f]{64}\n")


def _first_block(version: int, digest: str) -> bytes:
    line = f"undertow checkpoint, format {version}, sha256 of what follows this block: {digest}\n"
    return line.encode().ljust(BLOCK, b"\0")


def _digest_after_block(raw: IO[bytes]) -> str:
    """SHA-256 of all bytes behind the first block."""
    digest = hashlib.sha256()
    raw.seek(BLOCK)
    while part := raw.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _read_array(file: Any, name: str) -> np.ndarray:
    """An array that lies in this file: links and outside storage, which lead to other files, are not followed."""
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is a link to another place")
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        raise ValueError(f"{name} is no array of this file")
    if found.dtype.kind not in "biuf":
        raise ValueError(f"{name} is no array of numbers")
    return np.asarray(found[...])


_REMEDY = "delete it to go on from an older checkpoint of the run, if there is one"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def sync_file(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
