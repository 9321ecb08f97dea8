"""Pictures: the light is right, the outlines are right, the files are right, and no graphics library takes part."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imageio_ffmpeg import count_frames_and_secs, read_frames
from PIL import Image
from typer.testing import CliRunner

from undertow.cli import app
from undertow.errors import UserError
from undertow.grid import Grid
from undertow.output import raymarch
from undertow.output import render as render_module
from undertow.output.camera import make_camera
from undertow.output.canvas import coverage, section_segments
from undertow.output.export import export
from undertow.output.fields import field_names, refine, scalar_field
from undertow.output.frames import BodyFrame, FrameData, frame_folder, read_frame
from undertow.output.render import render


def load(path: Path) -> np.ndarray:
    return np.array(Image.open(path).convert("RGB")).astype(int)


def uniform_medium(sigma: float, n: int = 16) -> tuple[raymarch.Medium, raymarch.Stage]:
    lower, dx = np.zeros(3), 1.0 / n
    stage = raymarch.make_stage(lower, lower + 1.0)
    lights = raymarch.make_lights(raymarch.make_surface([]), stage)
    return raymarch.make_medium(np.ones((n, n, n), np.float32), sigma, lower, dx, lights, stage), stage


def test_smoke_dims_what_is_behind_it_exponentially() -> None:
    medium, stage = uniform_medium(2.0)
    out = np.zeros(3)
    clear = raymarch._march_smoke(medium, stage, 0.4, 0.5, -3.0, 0.0, 0.0, 1.0, np.inf, 0.5, 0.5, out)
    assert clear == pytest.approx(np.exp(-2.0), rel=1e-3)  # Beer and Lambert over one metre
    half = raymarch._march_smoke(medium, stage, 0.4, 0.5, -3.0, 0.0, 0.0, 1.0, 3.5, 0.5, 0.5, out)
    assert half == pytest.approx(np.exp(-1.0), rel=1e-3)  # a surface half way


def test_a_surface_in_smoke_does_not_show_the_pattern_of_the_samples() -> None:
    """Where the last sample before it lies must not matter: else cloth in dense smoke is dotted."""
    dense, stage = uniform_medium(20.0)
    n, dx = 16, 1.0 / 16
    lights = raymarch.make_lights(raymarch.make_surface([]), stage)
    edge = np.zeros((n, n, n), np.float32)
    edge[8:] = 1.0
    thick = raymarch.make_medium(edge, 60.0, np.zeros(3), dx, lights, stage)
    for medium, end in ((dense, 3.13), (dense, 3.15), (thick, 3.52), (thick, 3.54)):
        found = [
            raymarch._march_smoke(medium, stage, 0.4, 0.5, -3.0, 0.0, 0.0, 1.0, end, jitter, 0.5, np.zeros(3))
            for jitter in (0.02, 0.3, 0.5, 0.7, 0.98)
        ]
        assert max(found) < 1.12 * min(found) and max(found) < 0.9
        if medium is dense:
            assert found == pytest.approx([np.exp(-20.0 * (end - 3.0))] * 5, rel=1e-3)


def test_optical_depth_grows_along_the_ray_to_the_sun() -> None:
    medium, stage = uniform_medium(2.0)
    # below the middle of the top no ray to the sun leaves through a side: the path is depth / cos(elevation)
    centre = medium.tau.shape[2] // 2
    depth = (np.arange(16)[::-1][8:]) / 16
    np.testing.assert_allclose(medium.tau[centre, 8:, centre], 2.0 * depth / stage.sun[1], rtol=1e-5)


def test_rasterised_sphere_has_its_area_and_depth(smoke_run: Path) -> None:
    ball = read_frame(frame_folder(smoke_run, 0)).bodies[0]
    centre = ball.vertices.mean(axis=0).astype(float)
    surface = raymarch.make_surface([ball])
    size, span = 200, 0.2
    local = surface.corners - centre
    local[..., :2] = (local[..., :2] / span + 1.0) * (0.5 * size)
    depth = np.full((size, size), -np.inf, np.float32)
    triangle = np.full((size, size), -1, np.int32)
    raymarch._rasterize_triangles(np.ascontiguousarray(local), depth, triangle)
    pixel = (2 * span / size) ** 2
    assert np.isfinite(depth).sum() * pixel == pytest.approx(np.pi * 0.14**2, rel=0.02)
    assert depth.max() == pytest.approx(0.14, rel=0.01)
    assert (triangle[np.isfinite(depth)] >= 0).all()


def test_sections_of_solids_have_their_area(smoke_run: Path) -> None:
    ball = read_frame(frame_folder(smoke_run, 0)).bodies[0]
    segments = section_segments(ball, 0.55)
    radius = np.linalg.norm(segments - np.array([0.7, 0.3]), axis=-1)
    np.testing.assert_allclose(radius, np.sqrt(0.14**2 - 0.05**2), rtol=0.01)
    area = coverage(segments * 100.0, 100, 100).sum() / 100.0**2
    assert area == pytest.approx(np.pi * (0.14**2 - 0.05**2), rel=0.02)
    hollow = np.array([[[1, 1], [9, 1]], [[9, 1], [9, 9]], [[9, 9], [1, 9]], [[1, 9], [1, 1]]], dtype=float)
    hole = 0.5 * hollow + 2.5  # the even-odd rule leaves it open
    assert coverage(np.concatenate([hollow, hole]), 10, 10).sum() == pytest.approx(64 - 16)


def test_derived_fields(flat_run: Path) -> None:
    frame = read_frame(frame_folder(flat_run, 0))
    np.testing.assert_allclose(scalar_field(frame, "vorticity"), 2.0, rtol=1e-5)
    x, y, _ = frame.grid.cell_centres()
    np.testing.assert_allclose(scalar_field(frame, "speed")[0], np.hypot(x, y)[0], rtol=1e-5)
    assert field_names(frame) == ["speed", "vorticity", "velocity_x", "velocity_y"]
    with pytest.raises(UserError, match="'smoke': not in frame 0; it has speed"):
        scalar_field(frame, "smoke")
    # 3D: the magnitude, here of u = (z, x, y), whose curl is (1, 1, 1)
    grid = Grid((4, 5, 6), 0.5)
    x, y, z = np.broadcast_arrays(*grid.cell_centres())
    rotation = FrameData(0, 0.0, grid, {"velocity": np.stack([z, x, y]).astype(np.float32)})
    np.testing.assert_allclose(scalar_field(rotation, "vorticity"), np.sqrt(3.0), rtol=1e-5)


def test_volume_picture_shows_smoke_ball_and_shadow(smoke_run: Path) -> None:
    picture, film = render(smoke_run, width=160)
    assert (picture, film) == (smoke_run / "preview.png", smoke_run / "preview.mp4")
    pixels = load(picture)
    height, width = pixels.shape[:2]
    assert height % 2 == 0 and width % 2 == 0
    red, blue = pixels[..., 0], pixels[..., 2]
    ball = (blue > 90) & (blue > 2 * red)
    columns = np.nonzero(ball)[1]
    assert 0.01 < ball.mean() < 0.2 and columns.mean() > 0.55 * width
    smoke = (pixels.min(axis=2) > 120) & (np.ptp(pixels, axis=2) < 60)
    smoke[int(0.9 * height) :] = False  # the caption
    assert 0.02 < smoke.mean() < 0.4 and np.nonzero(smoke)[1].mean() < 0.5 * width


def test_film_has_every_frame_in_true_time(flat_run: Path, smoke_run: Path, tmp_path: Path) -> None:
    (film,) = render(smoke_run, tmp_path / "film.mp4", width=96, field="speed")
    frames, seconds = count_frames_and_secs(str(film))
    assert frames == 3 and seconds == pytest.approx(3 / 30, abs=0.02)
    header = next(read_frames(str(film)))
    assert header["codec"] == "h264" and header["pix_fmt"].startswith("yuv420p") and header["size"][0] == 96
    (single,) = render(flat_run, tmp_path / "single.mp4", frames=[1], width=97)
    assert count_frames_and_secs(str(single))[0] == 1
    assert not list(tmp_path.glob(".*.tmp"))


def test_slice_shows_the_disc_and_the_field(flat_run: Path, tmp_path: Path) -> None:
    (picture,) = render(flat_run, tmp_path / "a.png", width=240)
    pixels = load(picture)
    green = (pixels[..., 1] > 200) & (pixels[..., 0] < 60) & (pixels[..., 2] < 60)
    rows, columns = np.nonzero(green)
    # the disc of radius 1 at (3, 2) in [-6, 6] x [-4, 4]: 20 pixels per metre, y up
    assert columns.mean() == pytest.approx(180, abs=1) and rows.mean() == pytest.approx(40, abs=1)
    assert green.sum() == pytest.approx(np.pi * 20**2, rel=0.25)
    (speed,) = render(flat_run, tmp_path / "b.png", width=240, field="speed")
    assert (load(speed) != pixels).any()


def test_same_run_same_pictures_for_any_number_of_threads(
    smoke_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            pools.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(raymarch, "ThreadPoolExecutor", Pool)
    for count in (1, 2):
        monkeypatch.setattr(raymarch, "get_num_threads", lambda count=count: count)
        render(smoke_run, tmp_path / f"{count}.png", frames=[2], width=96)
        assert set(pools) == {count}
        pools.clear()
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()
    for name in ("a", "b"):
        render(smoke_run, tmp_path / f"{name}.mp4", width=96)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_quick_film_is_smaller_and_shorter_but_ends_at_the_end(
    smoke_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render_module, "_QUICK_FRAMES", 2)
    drawn: list[tuple[int, int]] = []
    picture, film = render(smoke_run, tmp_path, width=160, quick=True, progress=lambda i, n: drawn.append((i, n)))
    assert count_frames_and_secs(str(film))[0] == 2 and next(read_frames(str(film)))["size"][0] <= 80
    assert max(load(picture).shape) == 160 and drawn == [(1, 3), (2, 3), (3, 3)]
    assert render_module._thin(list(range(10)), 4) == [0, 3, 6, 9]
    assert render_module._thin(list(range(9)), 4) == [2, 5, 8]


def test_bodies_without_smoke_cells_and_smoke_without_bodies(smoke_run: Path) -> None:
    frame = read_frame(frame_folder(smoke_run, 0))
    stage = raymarch.make_stage(np.zeros(3), np.ones(3))
    camera, width, height = make_camera(np.zeros(3), np.ones(3), 64, None)
    empty: list[BodyFrame] = []
    for bodies, smoke in ((frame.bodies, np.zeros((24, 24, 24))), (empty, frame.cell_fields["smoke"])):
        surface = raymarch.make_surface(bodies)
        lights = raymarch.make_lights(surface, stage)
        medium = raymarch.make_medium(smoke, 40.0, np.zeros(3), 1 / 24, lights, stage)
        linear = raymarch.draw(camera, surface, lights, medium, stage, width, height, 1.0)
        assert np.isfinite(linear).all() and linear.min() >= 0.0 and linear.std() > 1e-3


def test_refusals(smoke_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no frames here"):
        render(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"frames \[9\]: not in"):
        render(smoke_run, frames=[9])
    with pytest.raises(UserError, match="at least 64"):
        render(smoke_run, width=10)
    with pytest.raises(UserError, match="width = 1000000: a picture has at most 16384 pixels along a side"):
        render(smoke_run, width=1_000_000)
    with pytest.raises(UserError, match="field '': has no letters; leave --field out"):
        render(smoke_run, field="")
    (tmp_path / "file.txt").write_text("")
    with pytest.raises(UserError, match="is a file"):
        render(smoke_run, tmp_path / "file.txt")
    with pytest.raises(UserError, match="'heat': not in frame"):
        render(smoke_run, field="heat")
    result = CliRunner().invoke(app, ["render", str(smoke_run), "--out", str(tmp_path / "x.gif")])
    assert result.exit_code == 2 and "pictures are .png and films .mp4" in result.stderr
    assert not (tmp_path / "x.gif").exists()


@pytest.mark.parametrize("write", [render, export], ids=["render", "export"])
def test_frames_without_their_grid_are_not_taken_for_solids_alone(smoke_run: Path, write: Callable[..., Any]) -> None:
    """One frame is enough: the picture of the others would not tell, and an export would lack it in silence."""
    with (smoke_run / "scene.toml").open("a") as file:
        file.write('[domain]\nresolution = 8\n[output]\nfields = ["smoke"]\n')
    lost = sorted((smoke_run / "frames").rglob("grid.vti"))[1]
    lost.unlink()
    with pytest.raises(UserError, match=f"grid.vti of frame {int(lost.parent.name)} is missing; put it back"):
        write(smoke_run)
    assert not list(smoke_run.glob("*export*"))


_WITHOUT_GRAPHICS = """
import ctypes, sys
from pathlib import Path

NAMES = ("libgl.", "libgl-", "libegl", "libgles", "libglx", "osmesa", "libvulkan", "opengl")
load = ctypes.CDLL.__init__

def refuse(self, name, *arguments, **options):
    if name and any(part in str(name).lower() for part in NAMES):
        raise OSError(f"{name}: cannot open shared object file (hidden by the test)")
    load(self, name, *arguments, **options)

ctypes.CDLL.__init__ = refuse
from undertow.output import render as render_module
from undertow.output.render import render

run = Path(sys.argv[1])
for folder, field in ((run / "volume", None), (run / "slice", "speed")):
    for path in render(run, folder, width=96, field=field):
        assert path.stat().st_size > 500, path
mapped = [line for line in Path("/proc/self/maps").read_text().lower().splitlines() if any(n in line for n in NAMES)]
assert not mapped, mapped
loaded = sorted(m for m in sys.modules if m.split(".")[0] in ("vtk", "vtkmodules", "pyvista", "OpenGL", "moderngl"))
assert not loaded, loaded
print("no graphics library")
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see the libraries of a process")
def test_render_needs_no_graphics_library(smoke_run: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_GRAPHICS, str(smoke_run)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "no graphics library"


def test_refined_smoke_is_the_same_smoke() -> None:
    x, y, z = Grid((6, 5, 4), 1.0).cell_centres()
    linear = (1.0 + x + 2.0 * y - 3.0 * z).astype(np.float32)
    fine = refine(linear)
    x, y, z = Grid((12, 10, 8), 0.5).cell_centres()
    inner = (slice(1, -1),) * 3
    np.testing.assert_allclose(fine[inner], (1.0 + x + 2.0 * y - 3.0 * z)[inner], rtol=1e-5, atol=1e-5)
    blob = np.zeros((6, 6, 6), np.float32)
    blob[2:4, 2:4, 2:4] = 1.0
    assert refine(blob).sum() / 8 == pytest.approx(blob.sum())  # nothing is lost
