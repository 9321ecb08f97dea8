"""Frames of a run: what is drawn and handed to other programs, as float32 (section "frames" of the run folder).

A frame is the folder ``frames/NNNNNN`` with ``grid.vti`` (cell fields, where there is a fluid) and ``bodies.vtp``
(surfaces of all bodies, where there are any), ``surface.vtp`` (of water in 3D) and ``particles.vtp`` (of a fluid of
particles).
It is written under a temporary name and renamed into place, so a frame that exists is complete.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.frames import BodyFrame, ParticleFrame, SoftFrame, SurfaceFrame
from undertow.grid import Grid
from undertow.output.particles import read_particles, write_particles
from undertow.output.soft import read_soft, write_soft
from undertow.output.vtk import (
    ImageFile,
    PolyFile,
    read_field_data,
    read_vti,
    read_vtp,
    write_collection,
    write_vti,
    write_vtp,
)


@dataclass(repr=False)
class FrameData:
    """One frame: cell_fields hold scalars (nz, ny, nx) or vectors (3, nz, ny, nx), float32, SI units, no ghosts.

    grid: None for solids alone and fluids of particles. surface: of water in 3D, else None. particles: of a fluid of
    particles.
    """

    index: int
    time: float
    grid: Grid | None
    cell_fields: dict[str, np.ndarray] = field(default_factory=dict)
    bodies: list[BodyFrame] = field(default_factory=list)
    dimensions: int = 3
    surface: SurfaceFrame | None = None
    particles: ParticleFrame | None = None
    soft: SoftFrame | None = None

    def __post_init__(self) -> None:
        if self.grid is not None:
            self.dimensions = self.grid.dimensions

    def __repr__(self) -> str:
        parts = [f"{'x'.join(map(str, self.grid.cells))} cells"] if self.grid is not None else []
        parts += [f"fields {', '.join(self.cell_fields)}"] if self.cell_fields else []
        parts += [f"{len(self.bodies)} bodies"] if self.bodies else []
        parts += [name for name in ("surface", "particles", "soft") if getattr(self, name) is not None]
        return f"FrameData({self.index}, t = {self.time:g} s, {'; '.join(parts) or 'nothing'})"

    def nbytes(self) -> int:
        """Size of its files [bytes], without their heads."""
        size = sum(4 * values.size for values in self.cell_fields.values())
        size += sum(31 * len(body.vertices) + 36 * len(body.triangles) for body in self.bodies)
        if self.surface is not None:
            size += 36 * len(self.surface.vertices) + 32 * len(self.surface.triangles)
        if self.particles is not None:
            size += 32 * len(self.particles.position)
        if self.soft is not None:
            size += 36 * len(self.soft.position)
            size += sum(13 * len(cells) + 8 * cells.size for cells in self.soft.cells.values())
        return size

    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner (3,) [m] of what there is to see: the domain, or the bodies that have an end."""
        if self.grid is not None:
            return np.array(self.grid.lower), np.array(self.grid.upper)
        if self.particles is not None:
            return self.particles.lower, self.particles.upper
        ends = [body for body in self.bodies if not body.backdrop] or self.bodies
        points = np.concatenate([body.vertices for body in ends]).astype(float)
        return points.min(axis=0), points.max(axis=0)

    def need_grid(self) -> Grid:
        """The grid of the fluid, or a UserError."""
        if self.grid is None:
            raise UserError(f"frame {self.index}: there is no fluid in it; only its solids can be drawn")
        return self.grid


def frame_folder(run_folder: Path, index: int) -> Path:
    """``frames/NNNNNN`` of a run."""
    return Path(run_folder) / "frames" / f"{index:06d}"


def frame_indices(run_folder: Path) -> list[int]:
    """Indices of the complete frames of a run, ascending."""
    frames = Path(run_folder) / "frames"
    if not frames.is_dir():
        return []
    return sorted(int(f.name) for f in frames.iterdir() if f.name.isdigit() and f.is_dir())


def write_frame(folder: Path, frame: FrameData) -> None:
    """Write the files of a frame and rename its folder (``frames/NNNNNN``) into place; never overwrites."""
    folder = Path(folder)
    if folder.exists():
        raise UserError(f"{folder}: the frame exists already and frames are never overwritten; remove it first")
    temporary = folder.with_name(f".{folder.name}.tmp")
    if temporary.exists():  # left behind by a killed run
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    try:
        if frame.grid is not None:
            _write_grid(temporary / "grid.vti", frame, frame.grid)
        if frame.bodies:
            _write_bodies(temporary / "bodies.vtp", frame)
        if frame.surface is not None:
            _write_surface(temporary / "surface.vtp", frame, _outside(frame, frame.surface))
        if frame.particles is not None:
            write_particles(temporary / "particles.vtp", frame.particles, _head(frame))
        if frame.soft is not None:
            write_soft(temporary / "soft.vtu", frame.soft, _head(frame))
        os.rename(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_frame(folder: Path) -> FrameData:
    """Read a frame back from the files ``write_frame`` left."""
    folder = Path(folder)
    bodies = _read_bodies(folder / "bodies.vtp")
    if not (folder / "grid.vti").is_file():
        head = _read_head(folder)
        surface, particles = _read_surface(folder / "surface.vtp"), read_particles(folder / "particles.vtp")
        index, time, dimensions = int(head["frame"]), float(head["TimeValue"]), int(head["dimensions"])
        soft = read_soft(folder / "soft.vtu")
        return FrameData(index, time, None, {}, bodies, dimensions, surface, particles, soft)
    image = read_vti(folder / "grid.vti")
    return FrameData(
        index=int(image.field_data["frame"]),  # type: ignore[arg-type]
        time=float(image.field_data["TimeValue"]),  # type: ignore[arg-type]
        grid=Grid(image.cells, image.spacing[0], image.origin, int(image.field_data["dimensions"])),  # type: ignore[arg-type]
        cell_fields=image.cell_data,
        bodies=bodies,
        surface=_read_surface(folder / "surface.vtp"),
        soft=read_soft(folder / "soft.vtu"),
    )


def _read_head(folder: Path) -> dict[str, Any]:
    """Time, index and dimensions of a frame, from the head of the first file it has."""
    for name in ("grid.vti", "particles.vtp", "bodies.vtp", "soft.vtu"):
        if (folder / name).is_file():
            return dict(read_field_data(folder / name))
    raise UserError(f"{folder}: no frame here (none of grid.vti, particles.vtp and bodies.vtp)")


def read_time(folder: Path) -> float:
    """Time of a frame [s]."""
    return float(_read_head(Path(folder))["TimeValue"])


def write_pvd(run_folder: Path) -> None:
    """Write ``frames.pvd``, ParaView's table of contents, over all complete frames; replaced in one move."""
    run_folder = Path(run_folder)
    entries = []
    for index in frame_indices(run_folder):
        folder = frame_folder(run_folder, index)
        time = read_time(folder)
        names = ("grid.vti", "particles.vtp", "bodies.vtp", "surface.vtp", "soft.vtu")
        present = [name for name in names if (folder / name).is_file()]
        entries += [(time, f"frames/{folder.name}/{name}", part) for part, name in enumerate(present)]
    write_collection(run_folder / "frames.pvd", entries)


def _head(frame: FrameData) -> dict[str, Any]:
    return {"TimeValue": float(frame.time), "frame": frame.index, "dimensions": frame.dimensions}


def _write_grid(path: Path, frame: FrameData, grid: Grid) -> None:
    write_vti(
        path,
        ImageFile(
            cells=grid.cells,
            origin=grid.lower,
            spacing=(grid.dx, grid.dx, grid.dx),
            cell_data={name: np.asarray(values, dtype=np.float32) for name, values in frame.cell_fields.items()},
            field_data=_head(frame),
        ),
    )


def _write_bodies(path: Path, frame: FrameData) -> None:
    """All bodies in one mesh; the value ``body`` of a point or triangle is an index into the names."""
    bodies = frame.bodies
    indices = np.arange(len(bodies), dtype=np.int32)
    counts = [len(b.vertices) for b in bodies]
    starts = np.cumsum([0, *counts])
    colors = [np.tile(np.round(255 * np.clip(b.color, 0, 1)).astype(np.uint8), (len(b.vertices), 1)) for b in bodies]
    of_triangles: dict[str, np.ndarray] = {}
    if any(b.color_t is not None for b in bodies):
        of_triangles["color"] = np.round(255 * np.concatenate([b.triangle_colors for b in bodies])).astype(np.uint8)
    write_vtp(
        path,
        PolyFile(
            vertices=np.concatenate([b.vertices for b in bodies]),
            triangles=np.concatenate([b.triangles + s for b, s in zip(bodies, starts, strict=False)]),
            point_data={
                "velocity": np.concatenate([b.velocity for b in bodies]),
                "color": np.concatenate(colors),
                "body": np.repeat(indices, counts),
            },
            cell_data={"body": np.repeat(indices, [len(b.triangles) for b in bodies]), **of_triangles},
            field_data={
                **_head(frame),
                "body_names": [b.name for b in bodies],
                "body_backdrop": ["yes" if b.backdrop else "no" for b in bodies],
            },
        ),
    )


def _outside(frame: FrameData, surface: SurfaceFrame) -> SurfaceFrame:
    """The surface of water without what is inside bodies."""
    from undertow.output.cut import cut_surface

    return surface if frame.grid is None else cut_surface(surface, frame.bodies, frame.grid.dx)


def _write_surface(path: Path, frame: FrameData, surface: SurfaceFrame) -> None:
    data = {"normal": surface.normals, "velocity": surface.velocity}
    write_vtp(path, PolyFile(surface.vertices, surface.triangles, point_data=data, field_data=_head(frame)))


def _read_surface(path: Path) -> SurfaceFrame | None:
    if not path.is_file():
        return None
    mesh = read_vtp(path)
    return SurfaceFrame(mesh.vertices, mesh.triangles, mesh.point_data["normal"], mesh.point_data["velocity"])


def _read_bodies(path: Path) -> list[BodyFrame]:
    if not path.is_file():
        return []
    mesh = read_vtp(path)
    bodies = []
    backdrop = mesh.field_data["body_backdrop"]
    names: Any = mesh.field_data["body_names"]
    of_triangles: Any = mesh.cell_data.get("color", ())
    # points and triangles are written body by body
    at_point = np.searchsorted(mesh.point_data["body"], np.arange(len(names) + 1))
    at_triangle = np.searchsorted(mesh.cell_data["body"], np.arange(len(names) + 1))
    for i, name in enumerate(names):
        triangles = mesh.triangles[at_triangle[i] : at_triangle[i + 1]]
        first, last = at_point[i], at_point[i + 1]
        red, green, blue = (float(c) / 255.0 for c in mesh.point_data["color"][first])
        own = of_triangles[at_triangle[i] : at_triangle[i + 1]] if len(of_triangles) else np.zeros((0, 3))
        bodies.append(
            BodyFrame(
                name=name,
                vertices=mesh.vertices[first:last],
                triangles=triangles - first,
                color=(red, green, blue),
                velocity=mesh.point_data["velocity"][first:last],
                backdrop=backdrop[i] == "yes",  # type: ignore[index]
                color_t=own / 255.0 if len(own) and np.ptp(own, axis=0).any() else None,
            )
        )
    return bodies
