"""Pictures and films of a run, made without any graphics library.

2D runs and fields of 3D runs are drawn as slices, smoke in 3D as a lit volume with the solids.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.output.camera import make_camera
from undertow.output.canvas import Walls, even, particle_image, section_image, slice_image, stamp, water_image
from undertow.output.fields import (
    color_limits,
    default_field,
    fade_sides,
    middle_slice,
    refine,
    scalar_field,
    soften_sources,
)
from undertow.output.film import write_mp4, write_png
from undertow.output.frames import BodyFrame, FrameData, frame_folder, frame_indices, read_frame, read_time
from undertow.output.joints import JointRods
from undertow.output.particles import FIELDS, particle_limits

_QUICK_FRAMES = 60

MOST_PIXELS = 16_384
"""Longest side of a picture; beyond it a picture takes gigabytes, and no film has so many."""

_OPTICAL_DEPTH = 18.0
"""Optical depth of the densest smoke over half the diagonal of the domain."""

_COARSE_CELLS = 112
"""Grids with at most so many cells along their longest side are refined once before smoke is drawn."""

Painter = Callable[[FrameData], np.ndarray]


def render(
    run_folder: Path | str,
    out: Path | str | None = None,
    frames: Sequence[int] | None = None,
    width: int = 960,
    field: str | None = None,
    quick: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Draw ``preview.png`` (the last frame) and ``preview.mp4`` of a run; returns their paths.

    out: a folder (default: the run folder), or one file ending in .png or .mp4.
    frames: indices to draw, default all.  width: longer side of the picture in pixels.
    field: what a slice shows; default the scene's ``view.field``, else smoke (a volume in 3D), vorticity or speed.
    quick: the film at half the width and with at most 60 frames, for a look at a long run; the picture stays as it is.
    progress: called with (frames drawn, frames to draw).
    """
    run_folder = Path(run_folder)
    indices = choose_frames(run_folder, frames)
    targets = _choose_targets(run_folder, out)
    if width < 64:
        raise UserError(f"width = {width}: a picture needs at least 64 pixels; give a larger --width")
    if width > MOST_PIXELS:
        raise UserError(f"width = {width}: a picture has at most {MOST_PIXELS} pixels along a side; lower --width")
    if field == "":
        raise UserError("field '': has no letters; leave --field out, or name a field such as speed")
    scene = read_scene(run_folder)
    check_grids(run_folder, indices, scene)
    film = next((t for t in targets if t.suffix == ".mp4"), None)
    picture = next((t for t in targets if t.suffix == ".png"), None)
    shown = _thin(indices, _QUICK_FRAMES) if quick else indices
    total = (len(shown) if film else 0) + (1 if picture else 0)
    drawn = 0

    def draw(painter: Painter, index: int) -> np.ndarray:
        nonlocal drawn
        image = even(painter(read_frame(frame_folder(run_folder, index))))
        drawn += 1
        if progress is not None:
            progress(drawn, total)
        return image

    # the picture first: a run that is looked at while its film is made has one
    if picture is not None:
        write_png(picture, draw(make_painter(run_folder, indices, scene, field, width, False), indices[-1]))
    if film is not None:
        painter = make_painter(run_folder, indices, scene, field, width // 2 if quick else width, quick)
        write_mp4(film, (draw(painter, i) for i in shown), _film_rate(run_folder, shown))
    return targets


def read_scene(run_folder: Path) -> dict[str, Any]:
    """The resolved scene of a run as plain tables; empty when the folder has none."""
    path = Path(run_folder) / "scene.toml"
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return tomllib.load(file)


def check_grids(run_folder: Path, indices: Sequence[int], scene: dict[str, Any]) -> None:
    """UserError for a run with frames that have no grid though its scene wants fields of one: the solids alone would be
    taken for the whole frame."""
    if "domain" not in scene or not (scene.get("output") or {}).get("fields"):
        return
    for index in indices:
        if not (frame_folder(run_folder, index) / "grid.vti").is_file():
            raise UserError(f"{run_folder}: grid.vti of frame {index} is missing; put it back, or run the scene again")


def make_painter(
    run_folder: Path, indices: Sequence[int], scene: dict[str, Any], field: str | None, width: int, quick: bool
) -> Painter:
    """The function that turns a frame into a picture; color limits and camera are the same for all frames."""
    paint = _choose_painter(run_folder, indices, scene, field, width, quick)
    start = frame_folder(run_folder, 0)
    if not start.is_dir():
        return paint
    rods = JointRods(scene.get("objects") or {}, read_frame(start))
    return lambda frame: paint(rods.added(frame))


def _choose_painter(
    run_folder: Path, indices: Sequence[int], scene: dict[str, Any], field: str | None, width: int, quick: bool
) -> Painter:
    """The kind of picture that the frames of a run are drawn as."""
    samples = [read_frame(frame_folder(run_folder, i)) for i in spread(indices, 5)]
    view = scene.get("view") or {}
    title = str(scene.get("name", run_folder.resolve().name))
    walls = _walls(scene) if samples[0].dimensions == 2 else None
    if samples[0].particles is not None:
        if samples[0].dimensions == 3 and field is None and view.get("field") is None:
            return _water_painter(samples, view.get("camera"), title, width)
        return _particle_painter(samples, field or view.get("field") or "speed", title, width, walls)
    if samples[0].grid is None:
        if field is not None:
            raise UserError(f"field {field!r}: the run has no fluid; leave --field out")
        return _solids_painter(samples, view.get("camera"), title, width)
    chosen = field or view.get("field")
    name = default_field(samples[-1], chosen)
    if samples[0].dimensions == 3 and name == "smoke":
        return _volume_painter(samples, view.get("camera"), title, width, quick, scene.get("objects") or {})
    if name == "level_set":
        if samples[0].dimensions == 2 or chosen is not None:
            return lambda frame: water_image(frame, width, title, walls)
        return _water_painter(samples, view.get("camera"), title, width)
    return _slice_painter(samples, name, title, width, walls)


def _water_painter(samples: Sequence[FrameData], camera: dict[str, Any] | None, title: str, width: int) -> Painter:
    from undertow.output import raymarch
    from undertow.output.water import add_water, in_daylight
    from undertow.output.water_surface import smooth_water

    lower, upper = samples[0].extent()
    stage = in_daylight(raymarch.make_stage(lower, upper))
    eye, wide, high = make_camera(lower, upper, width, camera)

    def paint(frame: FrameData) -> np.ndarray:
        solids = raymarch.make_surface([body for body in frame.bodies if _floor_level(body) is None])
        lights = raymarch.make_lights(solids, stage)
        medium = raymarch.make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, lower, 1.0, lights, stage)
        linear = raymarch.draw(eye, solids, lights, medium, stage, wide, high, 1.0)
        water = smooth_water(frame)
        if water is not None:
            gap = 0.01 * stage.radius if frame.grid is None else 0.5 * frame.grid.dx
            linear = add_water(linear, water, solids, lights, medium, eye, stage, gap)
        return stamp(raymarch.tone_map(linear), title, frame.time)

    return paint


def _walls(scene: dict[str, Any]) -> Walls | None:
    """Which sides of the scene's domain are walls; None where the scene does not say."""
    sides = (scene.get("domain") or {}).get("sides") or (scene.get("sph") or {}).get("sides")
    if sides is None:
        return None
    kinds = [sides.get(side, "wall") for side in ("x_low", "x_high", "y_low", "y_high")]
    left, right, bottom, top = ((kind if isinstance(kind, str) else kind.get("type")) == "wall" for kind in kinds)
    return left, right, bottom, top


def _particle_painter(samples: Sequence[FrameData], name: str, title: str, width: int, walls: Walls | None) -> Painter:
    """Particles by speed, pressure or density, seen along z."""
    if name not in FIELDS:
        raise UserError(f"field {name!r}: particles show {', '.join(FIELDS)}; choose one of them")
    limits = particle_limits([f.particles for f in samples if f.particles is not None], name)
    return lambda frame: particle_image(frame, name, limits, width, title, walls)


def _slice_painter(samples: Sequence[FrameData], name: str, title: str, width: int, walls: Walls | None) -> Painter:
    limits = color_limits([scalar_field(f, name) for f in samples], name, samples[0].dimensions)

    def paint(frame: FrameData) -> np.ndarray:
        return slice_image(frame, middle_slice(scalar_field(frame, name)), name, limits, width, title, walls)

    return paint


def _volume_painter(
    samples: Sequence[FrameData],
    camera: dict[str, Any] | None,
    title: str,
    width: int,
    quick: bool,
    objects: dict[str, Any],
) -> Painter:
    from undertow.output import raymarch

    grid = samples[0].need_grid()
    lower, upper = np.array(grid.lower), np.array(grid.upper)
    stage = raymarch.make_stage(lower, upper)
    densest = max(float(f.cell_fields["smoke"].max()) for f in samples)
    extinction = _OPTICAL_DEPTH / stage.radius / max(densest, 1e-30)
    fine = not quick and max(grid.cells) <= _COARSE_CELLS
    eye, wide, high = make_camera(lower, upper, width, camera)

    def paint(frame: FrameData) -> np.ndarray:
        surface = raymarch.make_surface(frame.bodies)
        lights = raymarch.make_lights(surface, stage)
        smoke, dx = soften_sources(frame.cell_fields["smoke"], lower, grid.dx, objects, frame.time), grid.dx
        smoke = fade_sides(smoke)
        if fine:
            smoke, dx = refine(smoke), 0.5 * dx
        medium = raymarch.make_medium(smoke, extinction, lower, dx, lights, stage)
        linear = raymarch.draw(eye, surface, lights, medium, stage, wide, high, 1.0 if quick else 0.6)
        return stamp(raymarch.tone_map(linear), title, frame.time)

    return paint


def _solids_painter(samples: Sequence[FrameData], camera: dict[str, Any] | None, title: str, width: int) -> Painter:
    """Solids alone: a section in 2D, a lit picture in 3D; a level backdrop becomes the floor."""
    from undertow.output import raymarch

    ends = [frame.extent() for frame in samples]
    lower = np.min([end[0] for end in ends], axis=0)
    upper = np.max([end[1] for end in ends], axis=0)
    if samples[0].dimensions == 2:
        margin = 0.05 * float((upper - lower)[:2].max())
        return lambda frame: section_image(frame, lower - margin, upper + margin, width, title)
    floors = [level for body in samples[0].bodies if (level := _floor_level(body)) is not None]
    lower[1] = max(floors, default=lower[1])
    stage = raymarch.make_stage(lower, upper)
    # what falls out of the picture of the scene's camera does not make it tall
    first, last = (lower, upper) if camera is None else ends[0]
    eye, wide, high = make_camera(first, last, width, camera)

    def paint(frame: FrameData) -> np.ndarray:
        surface = raymarch.make_surface([body for body in frame.bodies if _floor_level(body) is None])
        lights = raymarch.make_lights(surface, stage)
        medium = raymarch.make_medium(np.zeros((1, 1, 1), dtype=np.float32), 1.0, lower, 1.0, lights, stage)
        linear = raymarch.draw(eye, surface, lights, medium, stage, wide, high, 1.0)
        return stamp(raymarch.tone_map(linear), title, frame.time)

    return paint


def _floor_level(body: BodyFrame) -> float | None:
    """Height of a level backdrop [m], else None."""
    if not body.backdrop:
        return None
    heights = np.sort(body.vertices[:, 1])
    return float(heights[-1]) if heights[-1] - heights[-4] <= 1e-6 * (heights[-1] - heights[0]) else None


def spread(indices: Sequence[int], count: int) -> list[int]:
    """At most ``count`` of the indices, evenly spread, the last one included."""
    chosen = np.unique(np.linspace(0, len(indices) - 1, min(count, len(indices))).round().astype(int))
    return [indices[i] for i in chosen]


def _thin(indices: Sequence[int], count: int) -> list[int]:
    """Every n-th of the indices, at most ``count``, counted from the last one back."""
    return list(indices[:: -max(1, -(-len(indices) // count))][::-1])


def choose_frames(run_folder: Path, frames: Sequence[int] | None) -> list[int]:
    """The indices of the frames asked for, all of them when none are; a UserError names those that do not exist."""
    present = frame_indices(run_folder)
    if not present:
        raise UserError(f"{run_folder}: no frames here; give the folder of a run (runs/NAME-NNNN) that has begun")
    if frames is None:
        return present
    missing = [i for i in frames if i not in set(present)]
    if missing or not frames:
        raise UserError(f"frames {missing}: not in {run_folder}, which has {present[0]} to {present[-1]}")
    return list(frames)


def _choose_targets(run_folder: Path, out: Path | str | None) -> list[Path]:
    target = Path(out) if out is not None else run_folder
    if target.suffix in (".png", ".mp4"):
        target.parent.mkdir(parents=True, exist_ok=True)
        return [target]
    if target.exists() and not target.is_dir():
        raise UserError(f"{target}: is a file; give a folder, or a file ending in .png or .mp4")
    target.mkdir(parents=True, exist_ok=True)
    return [target / "preview.png", target / "preview.mp4"]


def _film_rate(run_folder: Path, indices: Sequence[int]) -> float:
    """Frames per second: true to time where that looks well (12 to 60), else 30."""
    if len(indices) < 2:
        return 30.0
    first, last = (read_time(frame_folder(run_folder, i)) for i in (indices[0], indices[-1]))
    rate = (len(indices) - 1) / (last - first) if last > first else 0.0
    return round(rate, 3) if 12.0 <= rate <= 60.0 else 30.0
