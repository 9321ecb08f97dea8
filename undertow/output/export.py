"""Frames for other programs, in a folder that stands on its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame
from undertow.grid import Array
from undertow.output.frames import frame_folder, read_frame, read_time
from undertow.output.ply import write_ply
from undertow.output.render import check_grids, choose_frames, read_scene
from undertow.output.vtk import read_vti, read_vtp, write_collection, write_vti, write_vtp

FORMATS = ("vtk", "ply")


def export(run_folder: Path | str, to: str = "vtk", out: Path | str | None = None) -> Path:
    """Write all frames of a run as ``to`` into a new folder (default ``RUN/export-FORMAT``); returns the folder.

    vtk: ``grid-NNNNNN.vti``, ``bodies-NNNNNN.vtp`` and whatever else the frames hold, with one .pvd per kind for
    ParaView. ply: meshes alone, ``surface-NNNNNN.ply`` of a fluid in 3D and ``bodies-NNNNNN.ply``.
    """
    run_folder = Path(run_folder)
    if to not in FORMATS:
        raise UserError(f"--to {to}: no such format; choose {', '.join(FORMATS)}")
    indices = choose_frames(run_folder, None)
    check_grids(run_folder, indices, read_scene(run_folder))
    target = Path(out) if out is not None else run_folder / f"export-{to}"
    if target.exists():
        raise UserError(f"{target}: exists already and is not overwritten; remove it or give another --out")
    temporary = target.with_name(f".{target.name}.tmp")
    if temporary.exists():  # left behind by an export that was killed
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    try:
        (_export_vtk if to == "vtk" else _export_ply)(run_folder, indices, temporary)
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


def _color_vertices(body: BodyFrame) -> tuple[Array, Any, Array]:
    """Vertices, triangles and colours (n, 3) of the vertices, 0 to 255; where triangles have colours of their own, as
    those of cracks, every triangle has vertices of its own."""
    if body.color_t is None:
        return body.vertices, body.triangles, np.tile(np.round(255 * np.array(body.color)), (len(body.vertices), 1))
    own = np.arange(3 * len(body.triangles)).reshape(-1, 3)
    return body.vertices[body.triangles].reshape(-1, 3), own, np.repeat(np.round(255 * body.color_t), 3, axis=0)


def _export_ply(run_folder: Path, indices: list[int], target: Path) -> None:
    """Surface and bodies of every frame; a run that has neither is refused."""
    for index in indices:
        frame = read_frame(frame_folder(run_folder, index))
        if frame.surface is not None:
            surface = frame.surface
            write_ply(target / f"surface-{index:06d}.ply", surface.vertices, surface.triangles, surface.normals)
        if frame.bodies:
            parts = [_color_vertices(body) for body in frame.bodies]
            starts = np.cumsum([0, *(len(vertices) for vertices, _, _ in parts)])
            triangles = np.concatenate([own + first for (_, own, _), first in zip(parts, starts, strict=False)])
            vertices, colors = (np.concatenate([part[n] for part in parts]) for n in (0, 2))
            write_ply(target / f"bodies-{index:06d}.ply", vertices, triangles, colors=colors)
    if not any(target.iterdir()):
        raise UserError(f"{run_folder}: has no surface and no bodies to write as ply; use --to vtk")
