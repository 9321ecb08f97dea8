"""Synthetic runs to draw, and a headless Chromium driven over its DevTools protocol to look at pages."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest

from undertow.grid import Grid
from undertow.output.frames import BodyFrame, FrameData, SurfaceFrame, frame_folder, write_frame, write_pvd

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str | None:
    """The installed browser, if any."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in one browser process; WebGL runs in software."""

    def __init__(self, executable: str, profile: Path, width: int = 900, height: int = 640) -> None:
        self.process = subprocess.Popen(
            [
                executable, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-extensions", "--mute-audio",
                "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
                "--remote-debugging-port=0", f"--user-data-dir={profile}", f"--window-size={width},{height}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.count = 0
        port_file = profile / "DevToolsActivePort"
        deadline = time.monotonic() + 60.0
        while not port_file.is_file() or not port_file.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__(None, None, None)
                raise RuntimeError(f"{executable} did not start (exit status {self.process.poll()})")
            time.sleep(0.1)
        port = port_file.read_text().split()[0]
        pages: list[dict[str, Any]] = []
        while not pages and time.monotonic() < deadline:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [p for p in json.load(answer) if p["type"] == "page"]
        from websockets.sync.client import connect

        self.socket = connect(pages[0]["webSocketDebuggerUrl"], max_size=None)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if hasattr(self, "socket"):
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command, asked again for a while when the page is just changing."""
        for _ in range(50):
            answer = self._ask(method, parameters)
            if "error" not in answer:
                return dict(answer["result"])
            time.sleep(0.2)
        raise RuntimeError(f"{method}: {answer['error']}")

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == self.count:
                return dict(message)

    def open(self, url: str) -> None:
        self.call("Page.enable")
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press(self, key: str) -> None:
        """A key, to the element that has the focus."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self) -> np.ndarray:
        """The page as 8-bit RGB (height, width, 3)."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        return np.array(Image.open(io.BytesIO(data)).convert("RGB"))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    executable = find_browser()
    if executable is None:
        reason = f"no browser is installed (looked for {', '.join(NAMES)}): the page was not looked at"
        print(reason)
        pytest.skip(reason)
    with Browser(executable, tmp_path / "profile") as page:
        yield page


def sphere_mesh(radius: float, centre: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    from trimesh.creation import icosphere

    mesh = icosphere(subdivisions=3, radius=radius)
    return np.asarray(mesh.vertices) + np.array(centre), np.asarray(mesh.faces)


def smoke_frame(index: int, n: int = 24) -> FrameData:
    """A column of smoke on the left, a blue ball on the right that moves up with time."""
    grid = Grid((n, n, n), 1.0 / n)
    x, y, z = grid.cell_centres()
    smoke = np.exp(-((x - 0.35) ** 2 + (z - 0.5) ** 2) / 0.012) * (y < 0.8)
    velocity = np.stack([0.5 - y + 0 * x + 0 * z, x - 0.5 + 0 * y + 0 * z, 0 * x + 0 * y + 0 * z])
    vertices, triangles = sphere_mesh(0.14, (0.7, 0.3 + 0.1 * index, 0.5))
    ball = BodyFrame("ball", vertices, triangles, (0.1, 0.3, 0.95), np.array([0.0, 3.0, 0.0]))
    fields = {"velocity": velocity.astype(np.float32), "smoke": smoke.astype(np.float32)}
    return FrameData(index, index / 30, grid, fields, [ball])


def flat_frame(index: int) -> FrameData:
    """A 2D rotation about the origin, vorticity 2 / s, around a green disc."""
    grid = Grid((48, 32, 1), 0.25, (-6.0, -4.0, 0.0), 2)
    x, y, _ = grid.cell_centres()
    velocity = np.stack([-y + 0 * x, x + 0 * y, 0 * (x + y)]).astype(np.float32)
    vertices, triangles = sphere_mesh(1.0, (3.0, 2.0, 0.0))
    return FrameData(
        index, 0.5 * index, grid, {"velocity": velocity}, [BodyFrame("disc", vertices, triangles, (0, 1, 0))]
    )


def write_run(folder: Path, frames: list[FrameData], name: str) -> Path:
    folder.mkdir(parents=True)
    for frame in frames:
        write_frame(frame_folder(folder, frame.index), frame)
    write_pvd(folder)
    (folder / "scene.toml").write_text(f'name = "{name}"\ndescription = "made for a test <&>"\n')
    (folder / "run.json").write_text(json.dumps({"status": "completed", "versions": {"undertow": "0"}}))
    rows = ["step,time [s],limit,energy [J],momentum_x [kg m/s],momentum_y [kg m/s],residual,ball.force_x [N]"]
    rows += [f"{i},{0.1 * i},cfl,{1 / (i + 1)},{i},{-i},{10.0**-i},0.5" for i in range(6)]
    (folder / "ledger.csv").write_text("\n".join(rows) + "\n7,0.7,cf")  # the last line is still being written
    (folder / "bodies.csv").write_text("step,time [s],body,position_x [m]\n0,0,ball,0.25\n1,0.1,ball,0.375\n")
    return folder


@pytest.fixture
def smoke_run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "smoke-0001", [smoke_frame(i) for i in range(3)], "smoke")


@pytest.fixture
def flat_run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "flat-0001", [flat_frame(i) for i in range(3)], "flat")


@pytest.fixture
def water_run(tmp_path: Path) -> Path:
    """A ball of water in the middle."""
    frame = smoke_frame(0)
    vertices, triangles = sphere_mesh(0.3, (0.4, 0.5, 0.5))
    frame.cell_fields["level_set"] = frame.cell_fields.pop("smoke")
    frame.surface = SurfaceFrame(vertices, triangles, (vertices - (0.4, 0.5, 0.5)) / 0.3, np.zeros_like(vertices))
    frame.bodies = []
    return write_run(tmp_path / "water-0001", [frame], "water")
