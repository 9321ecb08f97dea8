"""From the first frame to the last: frames, tables, checkpoints, signals, and stopping cleanly."""

from __future__ import annotations

import errno
import signal
import threading
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from undertow.errors import PhysicsError, UserError
from undertow.run.folder import RunFolder, checkpoints, newest_checkpoint, next_folder
from undertow.run.record import Run
from undertow.run.simulation import Simulation, StepReport
from undertow.scene import toml, with_frames


@dataclass(frozen=True)
class Progress:
    """Where a run is, after each step: frame of frames, simulated time [s], time step [s] and the limit that set it,
    solver iterations, seconds of computing per frame and until the end (None: not known yet)."""

    folder: Path
    frame: int
    frames: int
    time: float
    time_step: float
    limit: str
    iterations: int
    seconds_per_frame: float | None
    seconds_left: float | None


class Interrupted(KeyboardInterrupt):
    """A run stopped by a signal after its checkpoint was written; ``status`` is the exit status (130 or 143)."""

    def __init__(self, number: int, folder: Path) -> None:
        self.status = 128 + number
        self.folder = folder
        super().__init__(f"stopped by {signal.Signals(number).name}; 'undertow resume {folder}' goes on from here")


class Signals:
    """Remembers SIGINT and SIGTERM until the step is done; a second SIGINT stops at once."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._old: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)

    def _catch(self, number: int, _: FrameType | None) -> None:
        if self.caught is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.caught = number


def run(sim: Simulation, out: str | Path | None = None, progress: Callable[[Progress], None] | None = None) -> Run:
    """Run a simulation to the end of its scene into a new folder."""
    with Signals() as signals:
        folder = _guard_disk(lambda: RunFolder.create(Path(out) if out else next_folder(sim.scene.name), sim))
        _drive(sim, folder, progress, signals)
    return Run(folder.path)


def resume(
    folder: str | Path,
    threads: int | None = None,
    frames: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Run:
    """Continue a run from its newest checkpoint, bit for bit as if it had never stopped; ``frames``: so many more."""
    path = Path(folder)
    file, checkpoint = newest_checkpoint(path)
    scene = toml.read(checkpoint.scene, str(file))
    if frames is not None:
        if frames < 1:
            raise UserError(f"--frames {frames}: must be at least 1")
        scene = with_frames(scene, int(checkpoint.numbers["frame"]) + frames)
    elif int(checkpoint.numbers["frame"]) >= scene.time.frames:
        raise UserError(f"{path}: the run is complete; 'undertow resume {path} --frames N' adds N frames")
    sim = Simulation(scene, threads, checkpoint)
    with Signals() as signals:
        run_folder = _guard_disk(lambda: RunFolder.reopen(path, sim, checkpoint), "the run is as it was")
        if frames is not None:
            run_folder.set_scene(scene)
            run_folder.checkpoint(sim)  # the new end holds from here on, also after a kill
        _drive(sim, run_folder, progress, signals)
    return Run(path)


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
        report = sim.step()
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
