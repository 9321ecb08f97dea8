"""How far a run is, and a progress bar on standard error."""

from __future__ import annotations

import math
import sys
import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


class ProgressBar:
    """Frame, simulated time, time step and its limit, iterations, seconds per frame, time left, on standard error."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = sys.stderr.isatty() and not quiet
        self.printed = -math.inf
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> ProgressBar:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            frame = TextColumn("frame {task.completed:.0f}/{task.total:.0f}")
            # on a narrow terminal the text goes on in the next line
            text = TextColumn("{task.description}", table_column=Column(no_wrap=False))
            self.bar = Bar(frame, BarColumn(20), text, console=Console(stderr=True), refresh_per_second=4)
            self.bar.start()
            self.task = self.bar.add_task("compiling kernels (first run only) ...", total=1)
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, p: Progress) -> None:
        if self.quiet:
            return
        per_frame = "" if p.seconds_per_frame is None else f", {p.seconds_per_frame:.2g} s/frame"
        left = "" if p.seconds_left is None else f", {_duration(p.seconds_left)} left"
        text = f"t = {p.time:.4g} s, dt = {p.time_step:.2g} s ({p.limit}), {p.iterations} iterations{per_frame}{left}"
        if self.live:
            self.bar.update(self.task, completed=p.frame, total=p.frames, description=text)
        elif p.frame == p.frames or clock.monotonic() - self.printed > 5.0:
            self.printed = clock.monotonic()
            print(f"frame {p.frame}/{p.frames}: {text}", file=sys.stderr)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
