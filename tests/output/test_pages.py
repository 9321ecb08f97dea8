"""Plot, report, export, and the page in the browser."""

from __future__ import annotations

import builtins
import re
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from undertow.errors import UserError
from undertow.output.export import export
from undertow.output.frames import frame_folder, read_frame, write_frame
from undertow.output.plot import plot, read_table
from undertow.output.report import write_report
from undertow.output.vtk import read_vti, read_vtp


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_plot_draws_the_ledger(smoke_run: Path, tmp_path: Path) -> None:
    path = plot(smoke_run)
    assert path == smoke_run / "ledger.png"
    pixels = np.array(Image.open(path).convert("RGB")).astype(int)
    blue = (abs(pixels - np.array([0x2F, 0x6F, 0xB3])).max(axis=2) < 12).sum()
    assert blue > 300, "the curves are drawn"
    assert plot(smoke_run, tmp_path / "a.svg").stat().st_size > 5000


def test_plot_reads_only_whole_lines(smoke_run: Path) -> None:
    table = read_table(smoke_run / "ledger.csv")
    assert table["step"] == ["0", "1", "2", "3", "4", "5"]


def test_plot_refuses(smoke_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="change the ending"):
        plot(smoke_run, tmp_path / "a.doc")
    with pytest.raises(UserError, match="no such table"):
        plot(tmp_path)
    lines = (smoke_run / "ledger.csv").read_text().splitlines()
    (smoke_run / "ledger.csv").write_text("\n".join([*lines[:2], lines[2][:9], *lines[3:]]) + "\n")
    with pytest.raises(UserError, match=r"ledger.csv: line 3 has \d cells and the header 8; the table is damaged"):
        plot(smoke_run)
    for wrong in ("nan", "soon"):
        (smoke_run / "ledger.csv").write_text("\n".join([*lines[:2], lines[2].replace(",0.1,", f",{wrong},"), ""]))
        with pytest.raises(UserError, match=r"the times of the ledger are not all numbers; it is damaged"):
            plot(smoke_run)
    (smoke_run / "ledger.csv").write_text("step,time [s],energy [J]\n")
    with pytest.raises(UserError, match="no steps yet"):
        plot(smoke_run)


def test_report_stands_alone(smoke_run: Path) -> None:
    Image.new("RGB", (8, 8), (200, 30, 30)).save(smoke_run / "preview.png")
    text = write_report(smoke_run).read_text()
    assert text.count("data:image/png;base64,") == 2
    assert not re.search(r"""(src|href)=["'](https?:)?//""", text), "nothing is fetched from a network"
    assert "made for a test &lt;&amp;&gt;" in text and "0.375" in text and "versions.undertow" in text


def test_report_of_a_bare_folder(tmp_path: Path) -> None:
    assert "<h1>" in write_report(tmp_path).read_text()
    with pytest.raises(UserError, match="no such run folder"):
        write_report(tmp_path / "nothing")


def test_export_stands_alone_and_never_overwrites(smoke_run: Path, tmp_path: Path) -> None:
    target = export(smoke_run, "vtk", tmp_path / "out")
    for kind in ("grid", "bodies"):
        sets = ET.parse(target / f"{kind}.pvd").getroot().findall("Collection/DataSet")
        assert [s.attrib["file"] for s in sets] == sorted(f.name for f in target.glob(f"{kind}-*"))
        assert [float(s.attrib["timestep"]) for s in sets] == [0.0, 1 / 30, 2 / 30]
    source = read_frame(frame_folder(smoke_run, 2))
    np.testing.assert_array_equal(read_vti(target / "grid-000002.vti").cell_data["smoke"], source.cell_fields["smoke"])
    np.testing.assert_array_equal(read_vtp(target / "bodies-000002.vtp").vertices, source.bodies[0].vertices)
    before = {f: f.read_bytes() for f in target.iterdir()}
    with pytest.raises(UserError, match="not overwritten"):
        export(smoke_run, "vtk", target)
    assert {f: f.read_bytes() for f in target.iterdir()} == before
    with pytest.raises(UserError, match="choose vtk"):
        export(smoke_run, "avi")


def test_view_without_its_extra_says_what_to_install(smoke_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from undertow.output.view import Viewer

    original = builtins.__import__

    def missing(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "viser":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match=r'pip install "undertow\[view\]"'):
        Viewer(smoke_run)


def test_view_refuses_a_port_in_use(smoke_run: Path) -> None:
    pytest.importorskip("viser", reason="the view extra is not installed")
    from undertow.output.view import Viewer

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="give another --port"):
            Viewer(smoke_run, taken.getsockname()[1])


@pytest.mark.parametrize("chosen", ["", "[view]\ncamera = { position = [2.0, 1.0, 3.0], look_at = [0.5, 0.4, 0.5] }\n"])
def test_view_looks_as_the_picture_does(smoke_run: Path, chosen: str) -> None:
    """Place, direction and field of view of the page are those of the camera of the picture."""
    pytest.importorskip("viser", reason="the view extra is not installed")
    from undertow.output.camera import make_camera
    from undertow.output.render import read_scene
    from undertow.output.view import Viewer

    with (smoke_run / "scene.toml").open("a") as file:
        file.write(chosen)
    view = read_scene(smoke_run).get("view") or {}
    eye, _, _ = make_camera(np.zeros(3), np.ones(3), 960, view.get("camera"))
    viewer = Viewer(smoke_run, free_port())
    try:
        camera = viewer._server.initial_camera
        forward = np.asarray(camera.look_at) - np.asarray(camera.position)
        assert np.allclose(camera.position, eye.position)
        assert np.allclose(forward / np.linalg.norm(forward), eye.axes[2], atol=1e-6)
        assert np.isclose(np.tan(0.5 * camera.fov), eye.half_height, rtol=1e-2)
    finally:
        viewer.close()


def test_view_shows_the_rods_of_joints(smoke_run: Path) -> None:
    pytest.importorskip("viser", reason="the view extra is not installed")
    from undertow.output.view import Viewer

    with (smoke_run / "scene.toml").open("a") as file:
        file.write('[objects.string]\ntype = "joint"\nkind = "ball"\nchild = "ball"\nposition = [0.5, 0.95, 0.5]\n')
    viewer = Viewer(smoke_run, free_port())
    try:
        rods = [name for name in viewer._nodes if name.endswith("(joint)")]
        assert rods and "/bodies/ball" in viewer._nodes
        viewer.show(2)
        assert not [name for name in viewer._nodes if name.endswith("(joint)")], "the ball has left its joint"
    finally:
        viewer.close()


def wait_for(
    look: Callable[[], np.ndarray], wanted: Callable[[np.ndarray], bool], seconds: float = 150.0
) -> np.ndarray:
    """Look until the picture shows what is wanted."""
    deadline = time.monotonic() + seconds
    while True:
        picture = look()
        if wanted(picture) or time.monotonic() > deadline:
            return picture
        time.sleep(0.2)


def test_page_shows_the_scene_and_follows_the_run(smoke_run: Path, browser: Any) -> None:
    pytest.importorskip("viser", reason="the view extra is not installed")
    from undertow.output.view import VOLUME, Viewer

    def ball(picture: np.ndarray) -> np.ndarray:
        p = picture.astype(int)
        return (p[..., 2] > 110) & (p[..., 2] > 1.5 * p[..., 0]) & (p[..., 2] > 1.25 * p[..., 1]) & left(p)

    def left(p: np.ndarray) -> np.ndarray:
        """Without the controls, which stand on the right and have blue sliders."""
        return np.broadcast_to(np.arange(p.shape[1]) < 0.62 * p.shape[1], p.shape[:2])

    viewer = Viewer(smoke_run, free_port())
    try:
        assert viewer.url.startswith("http://127.0.0.1:")
        browser.open(viewer.url)
        first = wait_for(browser.screenshot, lambda p: ball(p).sum() > 300)
        assert ball(first).sum() > 300, "the ball is on the page in its color"
        p = first.astype(int)
        grey = (p.min(axis=2) > 90) & (np.ptp(p, axis=2) < 25) & left(p)
        assert grey.sum() > 300, "and so is the smoke"

        # a run in progress: a new frame appears, the ball is higher
        row = np.nonzero(ball(first))[0].mean()
        frame = read_frame(frame_folder(smoke_run, 2))
        viewer.show(2)
        frame.index, frame.time = 3, 0.1
        frame.bodies[0].vertices[:, 1] += 0.2
        write_frame(frame_folder(smoke_run, 3), frame)
        assert viewer.poll() and not viewer.poll()
        assert viewer.indices == [0, 1, 2, 3]
        risen = wait_for(browser.screenshot, lambda p: ball(p).sum() > 300 and np.nonzero(ball(p))[0].mean() < row - 30)
        assert np.nonzero(ball(risen))[0].mean() < row - 30

        # another field: a slice in the colors of the velocity, red and blue
        viewer.choose_field("velocity_x")
        red = wait_for(browser.screenshot, lambda p: ((p[..., 0] > 150) & (p[..., 2] < 90)).sum() > 300)
        assert ((red[..., 0] > 150) & (red[..., 2] < 90)).sum() > 300
        viewer.choose_field(VOLUME)
    finally:
        viewer.close()


def test_command_plays_scrubs_and_follows_from_the_page(smoke_run: Path, browser: Any) -> None:
    """``undertow view`` as a process of its own, used with the page's own controls only."""
    pytest.importorskip("viser", reason="the view extra is not installed")
    port = free_port()
    command = [sys.executable, "-m", "undertow", "view", str(smoke_run), "--port", str(port)]

    def heed_interrupts() -> None:
        """Where the tests run in the background of a shell, Ctrl-C is ignored by what they start."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith(f"http://127.0.0.1:{port} shows "), (
                "said when the page is there"
            )
            browser.open(f"http://127.0.0.1:{port}")

            def shown() -> int | None:
                found = re.search(r"frame (\d+), t =", browser.evaluate("document.body.innerText") or "")
                return int(found[1]) if found else None

            def wait_until(frame: int) -> None:
                deadline = time.monotonic() + 60.0
                while shown() != frame:
                    assert time.monotonic() < deadline, (shown(), frame)
                    time.sleep(0.05)

            wait_until(0)
            # the checkboxes before it belong to the page's own settings
            play = "[...document.querySelectorAll('input[type=checkbox]')].at(-1).click()"
            browser.evaluate(play)
            for frame in (1, 2, 0):
                wait_until(frame)
            browser.evaluate(play)
            time.sleep(1.0)
            still = shown()
            time.sleep(1.0)
            assert shown() == still, "it plays no more"

            browser.evaluate("document.querySelector('[role=slider]').focus()")
            browser.press("Home")
            wait_until(0)
            browser.press("End")
            wait_until(2)
            frame = read_frame(frame_folder(smoke_run, 2))
            frame.index, frame.time = 3, 0.1
            write_frame(frame_folder(smoke_run, 3), frame)
            wait_until(3)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130


def test_page_shows_the_surface_of_water(water_run: Path, browser: Any) -> None:
    pytest.importorskip("viser", reason="the view extra is not installed")
    from undertow.output.view import WATER, Viewer

    viewer = Viewer(water_run, free_port())

    def water(picture: np.ndarray) -> int:
        p = picture[:, : int(0.62 * picture.shape[1])].astype(int)
        return int(((p[..., 2] > p[..., 0] + 25) & (p[..., 2] > p[..., 1]) & (p[..., 2] > 70)).sum())

    try:
        browser.open(viewer.url)
        shown = wait_for(browser.screenshot, lambda p: water(p) > 3000)
        assert water(shown) > 3000, "the ball of water is on the page"
        viewer.choose_field("velocity_x")
        gone = wait_for(browser.screenshot, lambda p: ((p[..., 0] > 150) & (p[..., 2] < 90)).sum() > 300)
        assert ((gone[..., 0] > 150) & (gone[..., 2] < 90)).sum() > 300
        viewer.choose_field(WATER)
    finally:
        viewer.close()
