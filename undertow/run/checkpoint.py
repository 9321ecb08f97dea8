"""State on disk: written whole under a temporary name and renamed, checked against its checksum when read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError

FORMAT = 4
"""Since 3 the viscosity of particles in the scene is dynamic [Pa s]."""


@dataclass
class Checkpoint:
    """scene: the scene as TOML; arrays: the state's arrays by name; numbers: time, step, frame, scalars of the state
    and the sizes of the tables of the run."""

    scene: str
    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file so that it is whole or not there, whatever happens."""
    import h5py

    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with h5py.File(temporary, "w") as file:
            file.attrs["format"] = FORMAT
            file.attrs["scene"] = checkpoint.scene
            file.attrs["numbers"] = json.dumps(checkpoint.numbers, sort_keys=True)
            file.attrs["sha256"] = _digest(checkpoint.scene, checkpoint.numbers, checkpoint.arrays)
            for name, array in checkpoint.arrays.items():
                file.create_dataset(name, data=array)
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

    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint")
    try:
        with h5py.File(path, "r") as file:
            version = int(file.attrs["format"])
            scene = str(file.attrs["scene"])
            numbers = json.loads(str(file.attrs["numbers"]))
            wanted = str(file.attrs["sha256"])
            arrays = {name: _read_array(file, name) for name in file}
    # a damaged file fails in many ways; for the user they are one
    except (OSError, LookupError, ValueError, RuntimeError, TypeError, AttributeError, MemoryError, RecursionError,
            OverflowError) as error:  # fmt: skip
        raise UserError(f"{path}: the checkpoint is damaged or cut short ({_first_line(error)}); {_REMEDY}") from None
    if version != FORMAT:
        raise UserError(f"{path}: checkpoint format {version}, need {FORMAT}; use the version that wrote it")
    if _digest(scene, numbers, arrays) != wanted:
        raise UserError(f"{path}: the checkpoint does not match its checksum; {_REMEDY}")
    if not isinstance(numbers, dict) or not {"time", "step", "frame", "state"} <= set(numbers):
        raise UserError(f"{path}: holds no state of a run (time, step and frame are missing); {_REMEDY}")
    return Checkpoint(scene, arrays, numbers)


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


def _digest(scene: str, numbers: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    digest.update(json.dumps([scene, numbers], sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def sync_file(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
