"""Files of a run that were damaged, shortened or led elsewhere, and runs that are extended, are answered in words."""

from __future__ import annotations

import builtins
import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import undertow as ut
from undertow.output.plot import plot
from undertow.run import driver
from undertow.run.checkpoint import (
    BLOCK,
    FORMAT,
    Checkpoint,
    _digest_after_block,
    _first_block,
    read_checkpoint,
    write_checkpoint,
)
from undertow.run.folder import FORMAT as RUN_FORMAT
from undertow.run.folder import checkpoints, disk_needed, next_folder
from undertow.scene import Scene, toml

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

from mutants import HEAVY, SMALL, small_scenes  # noqa: E402


@pytest.fixture
def folder(reference: ut.Run, tmp_path: Path) -> Path:
    """A copy of a whole run."""
    shutil.copytree(reference.folder, tmp_path / "run")
    return tmp_path / "run"


def test_a_run_is_extended_by_its_end(folder: Path, tiny: Callable[..., Scene], tmp_path: Path) -> None:
    """Bit for bit a run that had that end from the start."""
    again = ut.resume(folder, threads=1, frames=None, assignments=["time.end=0.7"])  # type: ignore[call-arg]
    assert again.scene.time.end == 0.7 and again.ledger["time"][-1] == pytest.approx(0.7)
    whole = ut.Simulation(tiny("time.end=0.7"), threads=1).run(tmp_path / "whole")
    assert (again.folder / "ledger.csv").read_bytes() == (whole.folder / "ledger.csv").read_bytes()
    assert (again.folder / "scene.toml").read_bytes() == (whole.folder / "scene.toml").read_bytes()


def test_physics_of_a_run_under_way_does_not_change(folder: Path) -> None:
    with pytest.raises(ut.UserError, match=r"--set fluid.density=3: changes the physics of a run that is under way"):
        ut.resume(folder, assignments=["fluid.density=3"])  # type: ignore[call-arg]
    with pytest.raises(ut.UserError, match=r"the run is complete at t = 0.6 s"):
        ut.resume(folder)
    text = (folder / "scene.toml").read_text()
    (folder / "scene.toml").write_text(text + "[")
    with pytest.raises(ut.UserError, match=r"scene.toml"):
        ut.resume(folder, frames=1)
    edited = toml.parse(text)
    edited["gravity"] = [0.0, -3.0]
    (folder / "scene.toml").write_text(toml.write(toml.scene_from_dict(edited)))
    with pytest.raises(ut.UserError, match=r"scene.toml: gravity is not what the run was started with"):
        ut.resume(folder, frames=1)


def test_a_shortened_table_is_not_filled_with_nul(folder: Path) -> None:
    ledger = folder / "ledger.csv"
    ledger.write_bytes(ledger.read_bytes()[:-40])
    with pytest.raises(ut.UserError, match=r"ledger.csv: has \d+ bytes and had \d+ at the checkpoint"):
        ut.resume(folder, frames=1)
    assert b"\0" not in ledger.read_bytes()


@pytest.mark.parametrize("name", ["ledger.csv", "log.txt", "frames", "checkpoint"])
def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    shutil.move(folder / name, outside)
    (folder / name).symlink_to(outside)
    before = outside.read_bytes() if outside.is_file() else sorted(outside.iterdir())
    with pytest.raises(ut.UserError, match=r"link"):
        ut.resume(folder, frames=1)
    assert before == (outside.read_bytes() if outside.is_file() else sorted(outside.iterdir()))


NUMBERS = {"time": 0.0, "step": 0, "frame": 0, "state": {}, "tables": {}}


def sign(path: Path, version: int = FORMAT) -> None:
    """Make the checksum of a file that was changed right again, as a file made by other means may have it."""
    with open(path, "r+b") as raw:
        block = _first_block(version, _digest_after_block(raw))
        raw.seek(0)
        raw.write(block)


def test_what_is_no_array_in_a_checkpoint_is_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "a.h5", tmp_path / "secret.h5"
    write_checkpoint(other, Checkpoint("", {"u": np.arange(3.0)}, NUMBERS))
    assert read_checkpoint(other).arrays["u"].tolist() == [0.0, 1.0, 2.0]
    spoil: dict[str, Callable[[h5py.File], object]] = {
        "group": lambda file: file.create_group("p"),
        "external": lambda file: file.__setitem__("p", h5py.ExternalLink(str(other), "/u")),
        "soft": lambda file: file.__setitem__("p", h5py.SoftLink("/u")),
        "text": lambda file: file.create_dataset("p", data="words"),
        "numbers": lambda file: file.attrs.__setitem__("numbers", "[" * 3000),
        "scene": lambda file: file.attrs.__delitem__("scene"),
    }
    for change in spoil.values():
        path.unlink(missing_ok=True)
        write_checkpoint(path, Checkpoint("", {"u": np.arange(3.0)}, NUMBERS))
        with h5py.File(path, "r+") as file:
            change(file)
        with pytest.raises(ut.UserError, match=r"does not match its checksum"):
            read_checkpoint(path)
        sign(path)
        with pytest.raises(ut.UserError, match=r"the checkpoint is damaged \("):
            read_checkpoint(path)
    with h5py.File(path, "w", userblock_size=BLOCK) as file:
        file.attrs.update(scene="", numbers=json.dumps([1]))
    sign(path)
    with pytest.raises(ut.UserError, match=r"holds no state of a run"):
        read_checkpoint(path)


def test_a_checkpoint_of_another_format_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    write_checkpoint(path, Checkpoint("", {"u": np.arange(3.0)}, NUMBERS))
    sign(path, FORMAT + 1)
    with pytest.raises(ut.UserError, match=rf"checkpoint format {FORMAT + 1}, need {FORMAT}; use the version that"):
        ut.load(path)
    with h5py.File(path, "w") as file:  # as checkpoints were before the block
        file.attrs.update(format=3, scene="", numbers="{}")
    with pytest.raises(ut.UserError, match=rf"checkpoint format 4 or older, need {FORMAT}; use the version that"):
        ut.load(path)


def test_a_run_of_a_newer_format_says_so(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text())
    assert record["format"] == RUN_FORMAT
    for found in (RUN_FORMAT + 1, "new"):
        (folder / "run.json").write_text(json.dumps({**record, "format": found}))
        with pytest.raises(ut.UserError, match=rf"run format {found!r}, and this version reads up to {RUN_FORMAT}"):
            ut.resume(folder, frames=1)
    del record["format"]  # as runs were before
    (folder / "run.json").write_text(json.dumps(record))
    assert ut.Run(folder).info["status"] == "done"


def test_a_damaged_checkpoint_never_reaches_the_hdf5_library(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library loops for ever over some damage of its metadata (a fuzzer found one in 2,000), in C, where no signal
    of Python ends it. One bit of every byte is flipped, and the file is shortened, extended, replaced."""
    path = tmp_path / "a.h5"
    write_checkpoint(path, Checkpoint("[time]", {"u": np.arange(30.0), "p": np.ones((3, 4))}, NUMBERS))
    whole, opened = path.read_bytes(), []
    monkeypatch.setattr(h5py, "File", lambda *args, **settings: opened.append(args))
    chance = random.Random(1)
    mutants = [whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :] for at in range(len(whole))]
    mutants += [whole[: chance.randrange(len(whole))] for _ in range(200)]
    mutants += [b"", whole + b"\0", whole + whole, whole[BLOCK:], whole[:BLOCK] + bytes(len(whole) - BLOCK)]
    mutants += [bytes(len(whole)), b"[time]\nend = 1\n", whole[:20] + whole]
    for mutant in mutants:
        path.write_bytes(mutant)
        with pytest.raises(ut.UserError, match=r"checksum|no checkpoint, or is damaged|format 4 or older"):
            ut.load(path)
    newest = checkpoints(folder)[-1]
    newest.write_bytes(newest.read_bytes()[:-1] + b"\1")
    with pytest.raises(ut.UserError, match=r"does not match its checksum.*delete it to go on from an older checkpoint"):
        ut.resume(folder, frames=1)
    assert not opened


def test_a_checkpoint_that_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(b"x")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", fail)
    with pytest.raises(ut.UserError, match=r"a.h5: cannot be read \(Permission denied\); check the disk"):
        read_checkpoint(path)


def test_a_checkpoint_of_another_frame_is_not_taken_for_the_newest(folder: Path) -> None:
    old, new = checkpoints(folder)[-2:]
    shutil.copy(old, new)
    with pytest.raises(ut.UserError, match=rf"{new.name}: holds frame {int(old.stem)}, not the frame of its name"):
        ut.resume(folder, frames=1)
    new.unlink()
    assert ut.resume(folder).info["status"] == "done"


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"\0\0\0", b"", b"time\n"])
def test_a_damaged_ledger_is_no_plot(folder: Path, damage: bytes) -> None:
    (folder / "ledger.csv").write_bytes(damage)
    with pytest.raises(ut.UserError):
        plot(folder)
    if damage in (b"\xff\xfe", b""):
        with pytest.raises(ut.UserError):
            _ = ut.Run(folder).ledger


def test_runs_started_together_take_the_next_number(
    tiny: Callable[..., Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sim = ut.Simulation(tiny(frames=1), threads=1)
    taken = [next_folder("tiny"), next_folder("tiny")]
    taken[0].mkdir(parents=True)
    (taken[0] / "other").touch()
    names = iter([*taken, Path("runs/tiny-0002")])
    monkeypatch.setattr(driver, "next_folder", lambda name: next(names))
    assert sim.run(preview=False).folder == Path("runs/tiny-0002")


@pytest.mark.parametrize("kind", ["flow", "water", "solids", "particles", "rope", "float", "soft"])
def test_the_estimate_of_the_disk_is_what_is_written(kind: str, tmp_path: Path) -> None:
    """Within 30%, of runs long enough that checkpoints are not all there is."""
    data = small_scenes(heavy=True)[[*SMALL, *HEAVY].index(kind)]
    sim = ut.Simulation(toml.scene_from_dict(data), threads=1)
    needed, _ = disk_needed(sim)
    run = sim.run(tmp_path / "run", preview=False, quiet=True)
    written = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file())
    assert needed == pytest.approx(written, rel=0.3)


def test_a_run_in_python_tells_its_notes(
    tiny: Callable[..., Scene], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sim = ut.Simulation(tiny("domain.upper=[1.01, 1.25]", frames=1), threads=1)
    sim.run(tmp_path / "run", preview=False)
    said = capsys.readouterr().err
    assert all(f"note: {note}" in said for note in sim.notes) and sim.notes and "frame 1/1" in said


def test_a_run_in_python_leaves_picture_film_and_report(tiny: Callable[..., Scene], tmp_path: Path) -> None:
    ut.Simulation(tiny(frames=1), threads=1).run(tmp_path / "run", quiet=True)
    for name in ("preview.png", "preview.mp4", "report.html"):
        assert (tmp_path / "run" / name).stat().st_size > 1000, name


def test_a_step_that_takes_too_long_after_a_signal_is_cut_short(
    tiny: Callable[..., Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import signal
    import time

    monkeypatch.setattr(driver, "PATIENCE", 0.05)
    sim = ut.Simulation(tiny(), threads=1)
    step = sim.step

    def slow() -> object:
        if sim.step_count == 3:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5.0)
        return step()

    monkeypatch.setattr(sim, "step", slow)
    begin = time.monotonic()
    with pytest.raises(driver.Interrupted, match="stopped by SIGTERM.*from the checkpoint before") as caught:
        sim.run(tmp_path / "run", preview=False)
    assert caught.value.status == 143 and time.monotonic() - begin < 4.0
    assert ut.Run(tmp_path / "run").info["status"] == "interrupted"


def test_samples_lie_in_the_domain(tiny: Callable[..., Scene]) -> None:
    sim = ut.Simulation(tiny(), threads=1)
    with pytest.raises(ut.UserError, match=r"the point \[3.0, 0.5\] is outside the domain.* along x"):
        sim.sample("velocity", [[0.5, 0.5], [3.0, 0.5]])
