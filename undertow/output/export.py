"""Frames for other programs, in a folder that stands on its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from undertow.errors import UserError
from undertow.output.frames import frame_folder, read_time
from undertow.output.render import choose_frames
from undertow.output.vtk import read_vti, read_vtp, write_collection, write_vti, write_vtp

FORMATS = ("vtk",)


def export(run_folder: Path | str, to: str = "vtk", out: Path | str | None = None) -> Path:
    """Write all frames of a run as ``to`` into a new folder (default ``RUN/export-FORMAT``); returns the folder.

    vtk: ``grid-NNNNNN.vti``, ``bodies-NNNNNN.vtp`` and whatever else the frames hold, with one .pvd per kind for
    ParaView.
    """
    run_folder = Path(run_folder)
    if to not in FORMATS:
        raise UserError(f"--to {to}: no such format; choose {', '.join(FORMATS)}")
    indices = choose_frames(run_folder, None)
    target = Path(out) if out is not None else run_folder / f"export-{to}"
    if target.exists():
        raise UserError(f"{target}: exists already and is not overwritten; remove it or give another --out")
    temporary = target.with_name(f".{target.name}.tmp")
    if temporary.exists():  # left behind by an export that was killed
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    try:
        _export_vtk(run_folder, indices, temporary)
        os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return target


def _export_vtk(run_folder: Path, indices: list[int], target: Path) -> None:
    """Every kind of file that the frames have; grids and bodies compressed, the others as they are."""
    written: dict[str, list[tuple[float, str, int]]] = {}
    for index in indices:
        folder = frame_folder(run_folder, index)
        for source in sorted(folder.glob("*.vt[ipu]")):
            kind = source.stem
            name = f"{kind}-{index:06d}{source.suffix}"
            if kind == "grid":
                write_vti(target / name, read_vti(source), compress=True)
            elif kind == "bodies":
                write_vtp(target / name, read_vtp(source), compress=True)
            else:
                shutil.copyfile(source, target / name)
            written.setdefault(kind, []).append((read_time(folder), name, 0))
    for kind, frames in written.items():
        write_collection(target / f"{kind}.pvd", frames)
