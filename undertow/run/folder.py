"""The run folder: everything a run leaves on disk, and cutting it back to a checkpoint."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from undertow.errors import UserError
from undertow.output import frame_folder, frame_indices, write_frame, write_pvd
from undertow.part import NUMBER, TIME
from undertow.run.checkpoint import Checkpoint, read_checkpoint, sync_file, write_checkpoint
from undertow.run.ledger import (
    PROBE_COLUMNS,
    body_columns,
    body_rows,
    event_columns,
    event_rows,
    header,
    probe_rows,
    water_columns,
    water_rows,
)
from undertow.run.machine import check_disk, commit, describe_machine, versions
from undertow.run.tables import Cell, CsvTable
from undertow.scene import toml

if TYPE_CHECKING:
    from undertow.run.simulation import Simulation, StepReport
    from undertow.scene import Scene

TABLES = ("ledger", "bodies", "waters", "probes", "events", "timing")
TIMING_COLUMNS = ["step", "frame", "step_seconds [s]", "output_seconds [s]"]
CHECKPOINTS_KEPT = 2
FORMAT = 1
"""Of run folders, in their run.json; those without one are older and read the same."""

DIGITS = 18
"""Mean length of a number in a table, with its comma."""


def next_folder(name: str, base: Path = Path("runs")) -> Path:
    """``runs/NAME-NNNN`` with the next free number."""
    taken = [int(p.name[len(name) + 1 :]) for p in base.glob(f"{name}-*") if p.name[len(name) + 1 :].isdigit()]
    return base / f"{name}-{max(taken, default=0) + 1:04d}"


def checkpoints(folder: Path) -> list[Path]:
    """Checkpoints of a run, oldest first."""
    return sorted(p for p in (folder / "checkpoint").glob("*.h5") if p.stem.isdigit())


def check_run_folder(folder: Path) -> Path:
    """The folder, or a UserError when it is no run."""
    if not (folder / "scene.toml").is_file() or not (folder / "run.json").is_file():
        missing = " and ".join(name for name in ("scene.toml", "run.json") if not (folder / name).is_file())
        what = f"is not a run folder ({missing} missing)" if folder.is_dir() else "does not exist"
        if folder.is_file():
            what = "is a file, not a run folder"
        raise UserError(f"{folder}: {what}; give the folder that 'undertow run' made, such as runs/NAME-0001")
    found = read_json(folder / "run.json").get("format", FORMAT)
    if not isinstance(found, int) or found > FORMAT:
        raise UserError(
            f"{folder}: run format {found!r:.40}, and this version reads up to {FORMAT}; use the version that wrote it"
        )
    return folder


def check_path(path: Path) -> Path:
    """A path that a file can be written to, or a UserError."""
    if "\0" in str(path):
        raise UserError(f"{str(path)!r}: holds the letter NUL, which no file name can; choose another name")
    return path


def disk_needed(sim: Simulation) -> tuple[float, int]:
    """Estimate of what the rest of the run will write [bytes], and the number of frames.

    Frames as large as the present one, rows of the tables at every step as long as the present one, and checkpoints.
    """
    rules = sim.scene.time
    left = max(0, rules.frames - sim.frame)
    frames = left // sim.scene.output.every + 1
    longest = min([1.0 / rules.frame_rate, rules.max_step or math.inf, rules.fixed_step or math.inf,
                   *(limit.time_step for part in sim.parts for limit in part.limits(sim.time))])  # fmt: skip
    steps = max(left, math.ceil((rules.end - sim.time) / longest)) if longest > 0 else left
    waters = len(water_columns(sim.scene.dimensions)) * len(water_rows(sim))
    row = DIGITS * ((4 + len(sim.ledger.units)) + waters + len(TIMING_COLUMNS))
    bodies = DIGITS * len(body_columns(sim.scene.dimensions)) * len(sim.bodies)
    rows = steps * row + (steps if sim.scene.output.bodies == "steps" else left) * bodies
    head = 3000 + 64 * len(sim.scene.objects)
    # one more while the newest is written
    saved = min(1 + math.ceil(left / sim.scene.output.checkpoint_frames), CHECKPOINTS_KEPT + 1)
    size = sim.checkpoint({name: 0 for name in TABLES}).nbytes()
    return float(frames * (sim.frame_data().nbytes() + head) + rows + saved * size), frames


class FolderTakenError(UserError):
    """The folder of a new run is there already; another process may have made it a moment ago."""


class RunFolder:
    """An open run folder: tables to append to, frames and checkpoints to write. One process at a time."""

    def __init__(self, path: Path, sim: Simulation, tables: dict[str, int] | None) -> None:
        self.path = path
        self._lock = _lock(path)
        units = {"step": NUMBER, "time": TIME, "time_step": TIME, "limit": NUMBER, **sim.ledger.units}
        self.columns = list(units)
        headers = {
            "ledger": [header(name, unit, sim.scene.dimensions) for name, unit in units.items()],
            "bodies": body_columns(sim.scene.dimensions),
            "waters": water_columns(sim.scene.dimensions),
            "probes": PROBE_COLUMNS,
            "events": event_columns(sim.scene.dimensions),
            "timing": TIMING_COLUMNS,
        }
        keep = tables or {}
        self.tables = {name: CsvTable(path / f"{name}.csv", headers[name], keep.get(name)) for name in TABLES}

    @classmethod
    def create(cls, path: Path, sim: Simulation) -> RunFolder:
        """A new folder with scene, run.json, empty tables and a first checkpoint; it appears whole or not at all."""
        if check_path(path).exists() or path.is_symlink():
            raise FolderTakenError(f"{path}: exists already and is not overwritten; choose another --out, or resume it")
        check_disk(path, *disk_needed(sim))
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            (temporary / "checkpoint").mkdir(parents=True)
            (temporary / "frames").mkdir()
            (temporary / "scene.toml").write_text(toml.write(sim.start_scene), encoding="utf-8")
            _write_json(temporary / "run.json", _describe(sim))
            (temporary / "log.txt").write_text("")
            folder = cls(temporary, sim, None)
            for note in sim.notes:
                folder.log(note)
            folder.checkpoint(sim)
            os.rename(temporary, path)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise FolderTakenError(f"{path}: exists already and is not overwritten; choose another --out") from None
            if isinstance(error, PermissionError | NotADirectoryError):
                raise UserError(f"{path}: cannot be created ({error.strerror}); choose another --out") from None
            raise
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        folder._move_to(path)
        return folder

    def _move_to(self, path: Path) -> None:
        self.path = path
        for name, table in self.tables.items():
            table.path = path / f"{name}.csv"

    @classmethod
    def reopen(cls, path: Path, sim: Simulation, checkpoint: Checkpoint) -> RunFolder:
        """Open an existing folder and cut tables, frames and checkpoints back to ``checkpoint``."""
        for name in ("frames", "checkpoint", "log.txt"):
            if (path / name).is_symlink():
                raise UserError(f"{path / name}: is a link out of the run folder, which is not followed; remove it")
        folder = cls(path, sim, checkpoint.numbers["tables"])
        frame = int(checkpoint.numbers["frame"])
        for index in frame_indices(path):
            if index > frame:
                shutil.rmtree(frame_folder(path, index))
        for left in [*(path / "frames").glob(".*.tmp"), *(path / "checkpoint").glob(".*.tmp")]:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        for file in checkpoints(path):
            if int(file.stem) > frame:
                file.unlink()
        folder.log(f"resumed at frame {frame}, step {checkpoint.numbers['step']}")
        folder.set_status("running")
        return folder

    def close(self) -> None:
        for table in self.tables.values():
            table.close()
        self._lock.close()

    def append(self, sim: Simulation, report: StepReport, seconds: tuple[float, float]) -> None:
        """Add the rows of a step; ``seconds``: of the step and of the output before it."""
        head: dict[str, Cell] = {
            "step": report.step,
            "time": report.time,
            "time_step": report.time_step,
            "limit": report.limit,
        }
        row = {**head, **report.ledger}
        if list(row) != self.columns:
            raise ValueError(f"ledger: the columns changed from {self.columns} to {list(row)}")
        self.tables["ledger"].append(list(row.values()))
        for event in report.events:
            self.log(f"t = {report.time:.6g} s, step {report.step}: {event}")
        if sim.scene.output.bodies == "steps" or sim.at_frame:
            for values in body_rows(sim):
                self.tables["bodies"].append(values)
        for values in water_rows(sim):
            self.tables["waters"].append(values)
        for values in probe_rows(sim):
            self.tables["probes"].append(values)
        for values in event_rows(report):
            self.tables["events"].append(values)
        self.tables["timing"].append([report.step, sim.frame, *seconds])

    def write_frame(self, sim: Simulation) -> None:
        """Write the present frame, if it is due and not there yet."""
        folder = frame_folder(self.path, sim.frame)
        if sim.frame % sim.scene.output.every == 0 and not folder.exists():
            write_frame(folder, sim.frame_data())
            write_pvd(self.path)

    def checkpoint(self, sim: Simulation) -> None:
        """Write a checkpoint and keep the newest two."""
        sizes = {name: table.sync() for name, table in self.tables.items()}
        write_checkpoint(self.path / "checkpoint" / f"{sim.frame:06d}.h5", sim.checkpoint(sizes))
        for old in checkpoints(self.path)[:-CHECKPOINTS_KEPT]:
            old.unlink()

    def log(self, text: str) -> None:
        """A line of log.txt; no wall-clock figures here."""
        with open(self.path / "log.txt", "a", encoding="utf-8") as file:
            file.write(text + "\n")

    def set_status(self, status: str, message: str = "") -> None:
        """Status in run.json: running, done, interrupted, failed or stopped; on a full disk the old one stays."""
        with contextlib.suppress(OSError):
            record = read_json(self.path / "run.json")
            _write_json(self.path / "run.json", {**record, "status": status, "message": message})
            if message:
                self.log(message)

    def set_scene(self, scene: Scene) -> None:
        """Replace scene.toml (a run that is continued for more frames)."""
        _write_text(self.path / "scene.toml", toml.write(scene))


def newest_checkpoint(folder: Path) -> tuple[Path, Checkpoint]:
    """The newest checkpoint of a run, verified."""
    found = checkpoints(check_run_folder(folder))
    if not found:
        raise UserError(f"{folder}: the run has no checkpoint to go on from; start it again with 'undertow run'")
    newest = read_checkpoint(found[-1])
    if newest.numbers["frame"] != int(found[-1].stem):
        raise UserError(
            f"{found[-1]}: holds frame {newest.numbers['frame']}, not the frame of its name: it was replaced by "
            f"another checkpoint; delete it to go on from an older checkpoint of the run, if there is one"
        )
    return found[-1], newest


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of a run."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error}); the file was altered") from None


def _describe(sim: Simulation) -> dict[str, Any]:
    cells = {"cells": list(sim.grid.cells), "cell_size": sim.grid.dx} if sim.grid else {}
    return {
        "format": FORMAT,
        "scene": sim.scene.name,
        "status": "running",
        "message": "",
        "seed": sim.scene.seed,
        "fluid": sim.scene.fluid.material or "",
        **cells,
        "threads": sim.threads,
        "versions": versions(),
        "commit": commit(),
        "machine": describe_machine(),
    }


def _lock(path: Path) -> IO[str]:
    """Hold the run for this process; the system lets go of it when the process ends, however it ends."""
    file = open(path / "log.txt", "a", encoding="utf-8")  # noqa: SIM115  kept open for the whole run
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise UserError(f"{path}: another process is running this folder; wait for it or stop it first") from None
    return file


def _write_json(path: Path, data: dict[str, Any]) -> None:
    _write_text(path, json.dumps(data, indent=2) + "\n")


def _write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        sync_file(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
