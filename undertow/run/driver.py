"""From the first frame to the last: frames, tables, checkpoints, signals, and stopping cleanly."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from undertow.errors import PhysicsError, UserError
from undertow.run.folder import FolderTakenError, RunFolder, checkpoints, newest_checkpoint, next_folder
from undertow.run.progress import Progress, ProgressBar
from undertow.run.record import Run
from undertow.run.simulation import Simulation, StepReport
from undertow.scene import Scene, find_scene, toml, with_frames


class Interrupted(KeyboardInterrupt):
    """A run stopped by a signal; ``status`` is the exit status (130 or 143). ``at``: where it goes on from."""

    def __init__(self, number: int, folder: Path, at: str = "from here") -> None:
        self.status = 128 + number
        self.folder = folder
        super().__init__(f"stopped by {signal.Signals(number).name}; 'undertow resume {folder}' goes on {at}")


class StepCutShort(KeyboardInterrupt):
    """A signal came and the step was not done after ``PATIENCE``: its state is not one to be kept."""


PATIENCE = 10.0
"""How long a step may go on after SIGINT or SIGTERM [s]; systems that end programs kill them soon after."""


class Signals:
    """Remembers SIGINT and SIGTERM until the step is done, or ``PATIENCE`` is over; a second SIGINT stops at once."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self.in_step = False
        self._old: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._catch)
            self._old[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._cut_short)
        return self

    def __exit__(self, *_: object) -> None:
        if self._old:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, old in self._old.items():
            signal.signal(number, old)

    def _catch(self, number: int, _: FrameType | None) -> None:
        if self.caught is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.caught = number
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def _cut_short(self, number: int, _: FrameType | None) -> None:
        if self.in_step:
            raise StepCutShort


def run(
    sim: Simulation,
    out: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    preview: bool = False,
    quiet: bool = False,
) -> Run:
    """Run a simulation to the end of its scene into a new folder.

    progress: called after each step; without one notes and a progress bar are printed on standard error, unless
    ``quiet``. preview: draw preview.png, preview.mp4 and report.html at the end.
    """
    show = progress is None and not quiet
    if show:
        for note in sim.notes:
            print(f"note: {note}", file=sys.stderr)
    with Signals() as signals, ProgressBar(quiet=not show) as bar:
        folder = _guard_disk(lambda: _new_folder(sim, None if out is None else Path(out)))
        _drive(sim, folder, bar if progress is None else progress, signals)
    if preview:
        for text in leave_picture(folder.path):
            if show:
                print(text, file=sys.stderr)
    return Run(folder.path)


def _new_folder(sim: Simulation, out: Path | None) -> RunFolder:
    """The folder ``out``, or ``runs/NAME-NNNN`` with the next number that nobody else takes at the same time."""
    if out is not None:
        return RunFolder.create(out, sim)
    while True:
        try:
            return RunFolder.create(next_folder(sim.scene.name), sim)
        except FolderTakenError:
            continue


def leave_picture(folder: Path) -> list[str]:
    """Draw preview.png, preview.mp4 and report.html of a run; what there is to say. They may be missing."""
    from undertow.output.render import render
    from undertow.output.report import write_report

    try:
        return [f"wrote {path}" for path in [*render(folder, quick=True), write_report(folder)]]
    except (UserError, OSError) as error:
        return [f"note: no picture: {error}"]


def resume(
    folder: str | Path,
    threads: int | None = None,
    frames: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    assignments: Sequence[str] = (),
) -> Run:
    """Continue a run from its newest checkpoint, bit for bit as if it had never stopped; ``frames``: so many more.

    assignments: ``time.end=8`` and other values that do not change what has been computed; see ``FREE``.
    """
    path = Path(folder)
    file, checkpoint = newest_checkpoint(path)
    start = toml.read(checkpoint.scene, str(file))
    scene = _resumed_scene(path, start, assignments)
    done = int(checkpoint.numbers["frame"])
    if frames is not None:
        if frames < 1:
            raise UserError(f"--frames {frames}: must be at least 1")
        scene = with_frames(scene, done + frames)
    elif done >= scene.time.frames:
        raise UserError(
            f"{path}: the run is complete at t = {float(checkpoint.numbers['time']):g} s; 'undertow resume {path} "
            f"--frames N' adds N frames, --set time.end=T goes on until T"
        )
    sim = Simulation(scene, threads, checkpoint)
    with Signals() as signals:
        run_folder = _guard_disk(lambda: RunFolder.reopen(path, sim, checkpoint), "the run is as it was")
        if scene != start:
            run_folder.set_scene(scene)
            run_folder.checkpoint(sim)  # the new end holds from here on, also after a kill
        _drive(sim, run_folder, progress, signals)
    return Run(path)


FREE = ("time.end", "output", "view", "description", "source", "cost")
"""Keys that may change while a run is under way: what is computed up to a time does not depend on them."""


def _resumed_scene(folder: Path, start: Scene, assignments: Sequence[str]) -> Scene:
    """The scene of a checkpoint with what scene.toml and ``--set`` say otherwise; physics may not change."""
    file = folder / "scene.toml"
    edited = find_scene(file)
    changed = _physics_keys(toml.scene_to_dict(start), toml.scene_to_dict(edited))
    if changed:
        raise UserError(
            f"{file}: {changed[0]} is not what the run was started with; a run goes on with the physics it has: undo "
            f"the change, or start a new run with 'undertow run {file}'"
        )
    data = toml.scene_to_dict(edited)
    for assignment in assignments:
        key = assignment.partition("=")[0].strip()
        if not any(key == free or key.startswith(free + ".") for free in FREE):
            raise UserError(
                f"--set {assignment}: changes the physics of a run that is under way; a run takes {', '.join(FREE)}; "
                f"start a new one with 'undertow run {file} --set {assignment}'"
            )
    toml.override(data, assignments)
    return toml.scene_from_dict(data, "--set")


def _physics_keys(one: Any, other: Any, path: str = "") -> list[str]:
    """Keys by which two scenes differ, without those that are ``FREE``."""
    if path in FREE:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        parts = [_physics_keys(one.get(k), other.get(k), f"{path}.{k}" if path else str(k)) for k in keys]
        return [found for part in parts for found in part]
    return [] if one == other else [path]


def _guard_disk(make: Callable[[], RunFolder], kept: str = "nothing was kept") -> RunFolder:
    try:
        return make()
    except OSError as error:
        raise _disk_error(error, kept) from error


def _disk_error(error: OSError, kept: str) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"the disk is full: {kept}; free some space and go on")
    return UserError(f"writing failed ({error.strerror or error}): {kept}; check the disk and the rights to write")


def _drive(sim: Simulation, folder: RunFolder, progress: Callable[[Progress], None] | None, signals: Signals) -> None:
    try:
        _loop(sim, folder, progress, signals)
        folder.set_status("done")
    except PhysicsError as error:
        message = f"{error}. {_last_good(folder)}"
        folder.set_status("failed", message)
        raise PhysicsError(message) from None
    except OSError as error:
        stop = _disk_error(error, f"the run stopped at t = {sim.time:.6g} s. {_last_good(folder)}")
        folder.set_status("stopped", str(stop))
        raise stop from None
    except StepCutShort:
        stop_ = Interrupted(signals.caught or signal.SIGINT, folder.path, "from the checkpoint before")
        folder.set_status("interrupted", str(stop_))
        raise stop_ from None
    except KeyboardInterrupt as error:
        folder.set_status("interrupted", str(error) or "stopped by Ctrl-C")
        raise
    finally:
        folder.close()


def _last_good(folder: RunFolder) -> str:
    found = checkpoints(folder.path)
    return f"Last good checkpoint: {found[-1]} ('undertow resume {folder.path}' starts there)"


def _loop(sim: Simulation, folder: RunFolder, progress: Callable[[Progress], None] | None, signals: Signals) -> None:
    """Step, write rows; at frames write the frame and, when due, a checkpoint."""
    output, frames = sim.scene.output, sim.scene.time.frames
    saved_frame, saved_at = sim.frame, clock.monotonic()
    pace = Pace(sim)
    folder.write_frame(sim)
    output_seconds = clock.monotonic() - saved_at
    while sim.frame < frames:
        frame = sim.frame
        start = clock.monotonic()
        signals.in_step = True
        report = sim.step()
        signals.in_step = False
        done = clock.monotonic()
        folder.append(sim, report, (done - start, output_seconds))
        if sim.frame > frame:
            folder.write_frame(sim)
            overdue = clock.monotonic() - saved_at >= output.checkpoint_seconds
            if sim.frame - saved_frame >= output.checkpoint_frames or overdue or sim.frame == frames:
                folder.checkpoint(sim)
                saved_frame, saved_at = sim.frame, clock.monotonic()
        output_seconds = clock.monotonic() - done
        if progress is not None:
            progress(pace.measure(folder.path, report))
        if signals.caught is not None and sim.frame < frames:
            folder.checkpoint(sim)
            raise Interrupted(signals.caught, folder.path)


class Pace:
    """Seconds of computing per second of simulated time, without the first step, which may compile kernels."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.begin: tuple[float, float] | None = None

    def measure(self, folder: Path, report: StepReport) -> Progress:
        """Where the run is, after a step."""
        rules, now = self.sim.scene.time, (clock.monotonic(), self.sim.time)
        begin = self.begin = self.begin or now
        rate = (now[0] - begin[0]) / (now[1] - begin[1]) if now[1] > begin[1] else None
        return Progress(
            folder=folder,
            frame=self.sim.frame,
            frames=rules.frames,
            time=report.time,
            time_step=report.time_step,
            limit=report.limit,
            iterations=report.iterations,
            seconds_per_frame=None if rate is None else rate / rules.frame_rate,
            seconds_left=None if rate is None else rate * (rules.end - report.time),
        )
