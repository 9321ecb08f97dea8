"""A run in the browser: play, scrub, choose the field; follows a run in progress. Served to this machine only."""

from __future__ import annotations

import contextlib
import inspect
import io
import socket
import threading
import time as clock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.output.camera import make_camera
from undertow.output.canvas import colorize, paint_slice
from undertow.output.fields import color_limits, default_field, field_names, middle_slice, scalar_field
from undertow.output.frames import FrameData, frame_folder, frame_indices, read_frame
from undertow.output.joints import JointRods
from undertow.output.particles import FIELDS, particle_limits
from undertow.output.render import check_grids, choose_frames, read_scene, spread

HOST = "127.0.0.1"
SOLIDS = "solids"
"""The only entry of the field menu of a run without fluid."""

VOLUME = "smoke volume"
"""The choice of the field menu that shows smoke as translucent surfaces instead of a slice."""

WATER = "water surface"
"""The choice of the field menu that shows the surface of water instead of a slice."""

PARTICLES = {f"particles by {name}": name for name in FIELDS}
"""Choices of the field menu that show a fluid of particles."""

_SMOKE_LEVELS = ((0.10, 0.30), (0.40, 0.75))
"""Surfaces of smoke: share of the densest smoke, opacity."""
_SMOKE_COLOR = (236, 238, 242)
_WATER_COLOR = (92, 150, 190)
_WATER_OPACITY = 0.6
_IMAGE_SIZE = 900
_FIELD_OF_VIEW = 30.0
_SURFACE_CELLS = 96
"""Along the longest side; finer smoke is thinned before its surfaces are cut, to keep playing fluent."""


class Viewer:
    """The web page of one run. ``url`` is where to look; ``show`` draws a frame, ``poll`` looks for new ones."""

    def __init__(self, run_folder: Path | str, port: int = 8080) -> None:
        try:
            import viser
        except ImportError:
            raise UserError('view needs the package viser; install it with: pip install "undertow[view]"') from None
        self.run_folder = Path(run_folder)
        self.indices = choose_frames(self.run_folder, None)
        first = read_frame(frame_folder(self.run_folder, self.indices[0]))
        scene = read_scene(self.run_folder)
        check_grids(self.run_folder, self.indices, scene)
        start = frame_folder(self.run_folder, 0)
        self._rods = JointRods(scene.get("objects") or {}, read_frame(start)) if start.is_dir() else None
        """Of the joints; they need the frame of t = 0."""
        self._lock = threading.RLock()
        self._limits: dict[str, tuple[float, float]] = {}
        self._shown: tuple[int, str] | None = None
        self._nodes: dict[str, Any] = {}
        self._slider: Any
        self._field: Any

        _check_port(port)
        # its banner is left out; the caller says where to look
        with contextlib.redirect_stdout(io.StringIO()), _own_requests_only():
            self._server = viser.ViserServer(host=HOST, port=port, label="Undertow", verbose=False)
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self._build_stage(first, scene.get("view") or {})
        self._build_controls(first, str(scene.get("name", self.run_folder.resolve().name)), scene.get("view") or {})
        self.show(self.indices[0])

    def show(self, index: int) -> None:
        """Draw the frame with this index (of ``indices``) in the chosen field."""
        self._slider.value = self.indices.index(index)
        self._draw()

    def poll(self) -> bool:
        """Take up frames written since the last look; jumps to the newest when the newest was shown."""
        present = frame_indices(self.run_folder)
        if present == self.indices or not present:
            return False
        with self._lock:
            at_end = self._slider.value >= len(self.indices) - 1
            self.indices = present
            self._limits.clear()
            self._shown = None
            self._slider.max = max(len(present) - 1, 1)
            self._slider.value = len(present) - 1 if at_end else min(self._slider.value, len(present) - 1)
        self._draw()
        return True

    def advance(self) -> None:
        """The next frame, or the first after the last, while playing."""
        if self._play.value and len(self.indices) > 1:
            self._slider.value = (self._slider.value + 1) % len(self.indices)
            self._draw()

    def choose_field(self, name: str) -> None:
        """Pick an entry of the field menu."""
        self._field.value = name
        self._draw()

    @property
    def rate(self) -> float:
        """Frames per second while playing."""
        return float(self._rate.value)

    def close(self) -> None:
        """End the page."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def _build_stage(self, frame: FrameData, view: dict[str, Any]) -> None:
        lower, upper = frame.extent()
        centre, size = 0.5 * (lower + upper), upper - lower
        scene = self._server.scene
        scene.set_up_direction("+y")
        scene.world_axes.visible = False
        camera = self._server.initial_camera
        camera.fov = np.deg2rad(_FIELD_OF_VIEW)
        if frame.dimensions == 2:
            centre[2] = lower[2]
            # back until height and width fit into a window of 4 to 3 beside the controls
            away = max(size[1], 0.75 * size[0] / 0.7) * 0.55 / np.tan(0.5 * camera.fov)
            camera.position, camera.look_at = tuple(centre + np.array([0.0, 0.0, away])), tuple(centre)
        else:
            corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)]) * size + lower
            edges = [(a, a | bit) for bit in (1, 2, 4) for a in range(8) if not a & bit]
            if frame.grid is not None:
                scene.add_line_segments(
                    "/domain", corners[np.array(edges)], (96, 102, 112), thickness=1.5, thickness_units="screen"
                )
            # that of the picture: the scene's, or the one that frames what there is to see
            eye, _, _ = make_camera(lower, upper, _IMAGE_SIZE, view.get("camera"))
            away = float((centre - eye.position) @ eye.axes[2])
            look_at = (view.get("camera") or {}).get("look_at")
            camera.fov = 2.0 * float(np.arctan(eye.half_height))
            camera.position = tuple(eye.position)
            camera.look_at = tuple(look_at or eye.position + away * eye.axes[2])

    def _build_controls(self, frame: FrameData, title: str, view: dict[str, Any]) -> None:
        gui = self._server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        fields = field_names(frame) if frame.grid is not None else [SOLIDS]
        chosen = default_field(frame, view.get("field")) if frame.grid is not None else SOLIDS
        if frame.surface is not None:
            fields = [WATER, *(name for name in fields if name != SOLIDS)]
            chosen = WATER if chosen in ("level_set", SOLIDS) else chosen
        if frame.particles is not None:
            fields = [*(name for name in fields if name != SOLIDS), *PARTICLES]
            chosen = fields[0]
        if frame.dimensions == 3 and "smoke" in frame.cell_fields:
            fields = [VOLUME, *fields]
            chosen = VOLUME if chosen == "smoke" else chosen
        self._caption = gui.add_markdown(f"**{title}**")
        self._title = title
        self._slider = gui.add_slider("Frame", min=0, max=max(len(self.indices) - 1, 1), step=1, initial_value=0)
        self._play = gui.add_checkbox("Play", initial_value=False)
        self._rate = gui.add_slider("Frames per second", min=1, max=30, step=1, initial_value=12)
        self._field = gui.add_dropdown("Field", fields, initial_value=chosen)
        self._slider.on_update(lambda _: self._draw())
        self._field.on_update(lambda _: self._draw())

    def _draw(self) -> None:
        with self._lock:
            index = self.indices[min(int(self._slider.value), len(self.indices) - 1)]
            if self._shown == (index, self._field.value):
                return
            self._shown = (index, self._field.value)
            frame = read_frame(frame_folder(self.run_folder, index))
            with self._server.atomic():
                fresh = self._draw_field(frame, self._field.value)
                if frame.dimensions == 3 or frame.grid is None:
                    fresh |= self._draw_bodies(frame)
                for name in set(self._nodes) - fresh:
                    self._nodes.pop(name).remove()
            self._caption.content = f"**{self._title}** &nbsp; frame {index}, t = {frame.time:.3f} s"

    def _draw_field(self, frame: FrameData, name: str) -> set[str]:
        """The scene nodes that show the field of this frame."""
        if name == SOLIDS:
            return set()
        if name == VOLUME:
            return self._draw_smoke(frame)
        if name == WATER:
            return self._draw_water(frame)
        if name in PARTICLES:
            return self._draw_particles(frame, PARTICLES[name])
        grid = frame.need_grid()
        picture = paint_slice(frame, middle_slice(scalar_field(frame, name)), name, self._limits_of(name), _IMAGE_SIZE)
        width, height = (grid.upper[a] - grid.lower[a] for a in (0, 1))
        middle = 0.5 * (np.array(grid.lower) + np.array(grid.upper))
        if grid.dimensions == 2:
            middle[2] = grid.lower[2]
        self._nodes["/slice"] = self._server.scene.add_image(
            "/slice",
            picture,
            render_width=width,
            render_height=height,
            format="png",
            wxyz=(0.0, 1.0, 0.0, 0.0),  # images hang with y down: turn them about x
            position=middle,
            cast_shadow=False,
            receive_shadow=False,
        )
        return {"/slice"}

    def _draw_smoke(self, frame: FrameData) -> set[str]:
        from skimage.measure import marching_cubes

        grid = frame.need_grid()
        stride = -(-max(grid.cells) // _SURFACE_CELLS)
        smoke = frame.cell_fields["smoke"][::stride, ::stride, ::stride]
        # a layer of clear air closes the surfaces at the sides of the domain
        padded = np.pad(smoke, 1)
        densest = self._limits_of("smoke")[1]
        nodes = set()
        for level, opacity in _SMOKE_LEVELS:
            if not padded.min() < level * densest < padded.max():
                continue
            vertices, triangles, _, _ = marching_cubes(padded, level * densest)
            points = (vertices[:, ::-1] - 1.0) * stride * grid.dx + np.array(grid.lower) + 0.5 * grid.dx
            name = f"/smoke/{round(100 * level)}"
            self._nodes[name] = self._server.scene.add_mesh_simple(
                name,
                points.astype(np.float32),
                triangles[:, ::-1].astype(np.uint32),
                color=_SMOKE_COLOR,
                opacity=opacity,
                cast_shadow=False,
                receive_shadow=False,
            )
            nodes.add(name)
        return nodes

    def _draw_water(self, frame: FrameData) -> set[str]:
        if frame.surface is None or len(frame.surface.triangles) == 0:
            return set()
        self._nodes["/water"] = self._server.scene.add_mesh_simple(
            "/water",
            frame.surface.vertices,
            frame.surface.triangles.astype(np.uint32),
            color=_WATER_COLOR,
            opacity=_WATER_OPACITY,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )
        return {"/water"}

    def _draw_particles(self, frame: FrameData, name: str) -> set[str]:
        particles = frame.particles
        if particles is None or len(particles.position) == 0:
            return set()
        if name not in self._limits:
            samples = [read_frame(frame_folder(self.run_folder, i)).particles for i in spread(self.indices, 5)]
            self._limits[name] = particle_limits([sample for sample in samples if sample is not None], name)
        self._nodes["/particles"] = self._server.scene.add_point_cloud(
            "/particles",
            particles.position,
            colorize(particles.values(name), name, self._limits[name], frame.dimensions),
            point_size=0.9 * particles.spacing,
            point_shape="circle",
        )
        return {"/particles"}

    def _draw_bodies(self, frame: FrameData) -> set[str]:
        nodes = set()
        for body in frame.bodies if self._rods is None else self._rods.added(frame).bodies:
            colors, number = np.unique(np.round(255 * body.triangle_colors).astype(int), axis=0, return_inverse=True)
            for n, (red, green, blue) in enumerate(colors.tolist()):
                name = f"/bodies/{body.name}" + (f"/color {n + 1}" if n else "")
                triangles = body.triangles[number.ravel() == n].astype(np.uint32)
                self._nodes[name] = self._server.scene.add_mesh_simple(
                    name, body.vertices, triangles, color=(red, green, blue), side="double"
                )
                nodes.add(name)
        return nodes

    def _limits_of(self, name: str) -> tuple[float, float]:
        """Color limits over the whole run, so that frames compare."""
        if name not in self._limits:
            samples = [read_frame(frame_folder(self.run_folder, i)) for i in spread(self.indices, 5)]
            dimensions = samples[0].dimensions
            if name == "smoke":
                densest = max(float(f.cell_fields["smoke"].max()) for f in samples)
                self._limits[name] = (0.0, max(densest, 1e-30))
            else:
                self._limits[name] = color_limits([scalar_field(f, name) for f in samples], name, dimensions)
        return self._limits[name]


def view(
    run_folder: Path | str, port: int = 8080, open_browser: bool = False, say: Callable[[str], None] | None = None
) -> None:
    """Serve the page of a run at http://127.0.0.1:PORT until interrupted (Ctrl-C); a run in progress is followed.

    say: told the address once the page is there.
    """
    viewer = Viewer(run_folder, port)
    if say is not None:
        say(f"{viewer.url} shows {run_folder}; Ctrl-C ends")
    if open_browser:
        import webbrowser

        webbrowser.open(viewer.url)
    looked = clock.monotonic()
    try:
        while True:
            clock.sleep(1.0 / viewer.rate)
            viewer.advance()
            if clock.monotonic() - looked > 0.5:
                viewer.poll()
                looked = clock.monotonic()
    finally:
        viewer.close()


def is_own_request(host: str | None, origin: str | None) -> bool:
    """Whether a request names this machine: a page of another site that reaches this port by a name of its own (DNS
    rebinding) has another Host, and its WebSocket another Origin."""
    if host is None or host.rsplit(":", 1)[0] not in (HOST, "localhost"):
        return False
    return origin is None or origin.partition("://")[2] in (host, f"{HOST}:{host.rsplit(':', 1)[-1]}")


@contextlib.contextmanager
def _own_requests_only() -> Iterator[None]:
    """A server that is started meanwhile answers 403 to requests that do not come from its own page."""
    from viser.infra import _infra

    server: Any = _infra.websockets.asyncio.server
    original = server.serve

    def serve(*args: Any, process_request: Any = None, **settings: Any) -> Any:
        async def guarded(connection: Any, request: Any) -> Any:
            if not is_own_request(request.headers.get("Host"), request.headers.get("Origin")):
                return connection.respond(403, "this page is served to its own machine only\n")
            answer = process_request(connection, request) if process_request is not None else None
            return await answer if inspect.isawaitable(answer) else answer

        return original(*args, process_request=guarded, **settings)

    server.serve = serve
    try:
        yield
    finally:
        server.serve = original


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise UserError(f"port {port} of {HOST}: cannot be used ({error}); give another --port") from None
