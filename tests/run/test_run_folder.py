"""What a run leaves, resuming it bit for bit, and stopping cleanly."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.errors import PhysicsError, UserError
from undertow.run import driver, folder
from undertow.run.tables import CsvTable
from undertow.scene import Scene, toml

Contents = Callable[[Path], dict[str, bytes]]
Tiny = Callable[..., Scene]


def stop_at(frame: int, number: int) -> Callable[[driver.Progress], None]:
    """A progress callback that sends this process a signal when a frame is reached."""

    def callback(progress: driver.Progress) -> None:
        if progress.frame == frame:
            os.kill(os.getpid(), number)

    return callback


def test_the_folder_holds_what_the_design_says(reference: ut.Run, tiny: Tiny) -> None:
    names = {p.name for p in reference.folder.iterdir()}
    assert names == {
        "scene.toml", "run.json", "ledger.csv", "bodies.csv", "waters.csv", "probes.csv", "timing.csv", "log.txt",
        "events.csv", "frames", "frames.pvd", "checkpoint",
    }  # fmt: skip
    assert [p.name for p in folder.checkpoints(reference.folder)] == ["000009.h5", "000012.h5"]
    assert reference.frames == list(range(13))
    assert reference.scene == tiny()
    info = reference.info
    assert info["status"] == "done" and info["versions"]["numba"] and info["seed"] == 0 and info["machine"]["cores"]


def test_the_ledger_has_a_row_per_step_and_units_in_its_header(reference: ut.Run) -> None:
    with open(reference.folder / "ledger.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:4] == ["step", "time [s]", "time_step [s]", "limit"]
    fluid = {"fluid_volume [m2]", "kinetic_energy [J/m]", "outflow [m2/s]"}
    assert fluid | {"ball.force_x [N/m]", "ball.torque_z [N]"} <= set(rows[0])
    ledger = reference.ledger
    assert ledger.units["momentum_x"] == "kg/s"
    assert list(ledger["step"]) == list(range(1, len(rows)))
    assert ledger["time"][-1] == 0.6 and np.cumsum(ledger["time_step"]) == pytest.approx(ledger["time"])
    assert set(ledger["limit"]) <= {"cfl", "frame", "solid_motion", "side_velocity"}


def test_bodies_and_probes(reference: ut.Run) -> None:
    steps = len(reference.ledger["step"])
    bodies, probes = reference.bodies, reference.probes
    assert len(bodies["step"]) == steps and set(bodies["body"]) == {"ball"}
    force = bodies["force_pressure_x"] + bodies["force_viscous_x"]
    assert force == pytest.approx(reference.ledger["ball.force_x"])
    assert set(probes) == {"wake", "section", "rake", "load"}
    assert probes["wake"]["velocity_x"].shape == (steps,) and probes["rake"]["velocity_y"].shape == (steps, 5)
    assert probes["load"]["force_x"] == pytest.approx(reference.ledger["ball.force_x"])
    assert probes["section"]["flux"] == pytest.approx(reference.ledger["outflow"], rel=1e-3)


def test_wall_clock_figures_are_in_timing_alone(reference: ut.Run) -> None:
    assert np.all(reference.timing["step_seconds"] > 0)
    assert not [n for n in reference.ledger if "second" in n]


def test_frames_read_back(reference: ut.Run) -> None:
    frame = reference.frame(-1)
    assert frame.index == 12 and frame.time == pytest.approx(0.6)
    assert set(frame.cell_fields) == {"velocity", "pressure", "smoke", "temperature"}
    assert frame.cell_fields["velocity"].shape == (3, 1, 20, 16) and frame.bodies[0].name == "ball"
    assert "ball" not in repr(reference) and "13 frames" in repr(reference) and "<table>" in reference._repr_html_()
    with pytest.raises(UserError, match="there is no frame 99; the frames are 0 to 12"):
        reference.frame(99)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_checkpoint_and_resuming_changes_nothing(
    reference: ut.Run, tiny: Tiny, contents: Contents, tmp_path: Path, number: int, status: int
) -> None:
    out = tmp_path / "run"
    with pytest.raises(driver.Interrupted) as caught:
        ut.Simulation(tiny(), threads=1).run(out, stop_at(5, number))
    assert caught.value.status == status
    assert ut.Run(out).info["status"] == "interrupted"
    assert ut.Run(out).frames[-1] == 5
    ut.resume(out, threads=1)
    assert contents(out) == contents(reference.folder)
    assert "resumed at frame 5" in (out / "log.txt").read_text() and ut.Run(out).info["status"] == "done"


def test_the_bits_do_not_depend_on_the_number_of_threads(
    reference: ut.Run, tiny: Tiny, contents: Contents, tmp_path: Path, handed_over: list[str]
) -> None:
    run = ut.Simulation(tiny(), threads=2).run(tmp_path / "run")
    assert len(set(handed_over)) > 10, set(handed_over)
    assert contents(run.folder) == contents(reference.folder)


def test_resuming_from_a_middle_frame_cuts_back(reference: ut.Run, contents: Contents, tmp_path: Path) -> None:
    import shutil

    out = tmp_path / "run"
    shutil.copytree(reference.folder, out)
    (out / "checkpoint" / "000012.h5").unlink()
    (out / "frames" / ".000010.tmp").mkdir()
    with open(out / "ledger.csv", "a") as file:
        file.write("99,half a r")
    ut.resume(out, threads=1)
    assert contents(out) == contents(reference.folder)


def test_a_complete_run_goes_on(tiny: Tiny, reference: ut.Run, contents: Contents, tmp_path: Path) -> None:
    out = tmp_path / "run"
    ut.Simulation(tiny(frames=8), threads=1).run(out)
    with pytest.raises(UserError, match="the run is complete"):
        ut.resume(out)
    ut.resume(out, threads=1, frames=4)
    ours, theirs = contents(out), contents(reference.folder)
    assert ours.pop("scene.toml") != b"" and theirs.pop("scene.toml") != b""
    assert ours == theirs and ut.Run(out).scene.time.frames == 12


def test_every_nth_frame(tiny: Tiny, tmp_path: Path) -> None:
    run = ut.Simulation(tiny("output.every=3", frames=7), threads=1).run(tmp_path / "run")
    assert run.frames == [0, 3, 6]


def test_default_folders_are_numbered(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder.next_folder("tiny") == Path("runs/tiny-0001")
    (tmp_path / "runs" / "tiny-0007").mkdir(parents=True)
    (tmp_path / "runs" / "tiny-x").mkdir()
    assert folder.next_folder("tiny") == Path("runs/tiny-0008")


def test_an_existing_folder_is_not_touched(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="exists already and is not overwritten"):
        ut.Simulation(tiny(), threads=1).run(tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["mine"], "nothing half-made is left beside it"


def test_a_truncated_checkpoint_is_named_with_a_remedy(reference: ut.Run, contents: Contents, tmp_path: Path) -> None:
    import shutil

    out = tmp_path / "run"
    shutil.copytree(reference.folder, out)
    newest = out / "checkpoint" / "000012.h5"
    newest.write_bytes(newest.read_bytes()[:5000])
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    with pytest.raises(
        UserError,
        match=r"000012.h5: does not match its checksum.* cut short .*; delete it to go on",
    ):
        ut.resume(out)
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    newest.unlink()
    ut.resume(out, threads=1)
    assert contents(out) == contents(reference.folder)


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        ut.resume(tmp_path / "none")
    with pytest.raises(UserError, match=r"is not a run folder \(scene.toml and run.json missing\)"):
        ut.Run(tmp_path)
    (tmp_path / "scene.toml").touch()
    with pytest.raises(UserError, match=r"is not a run folder \(run.json missing\)"):
        ut.resume(tmp_path)
    with pytest.raises(UserError, match=r"scene.toml: is a file, not a run folder"):
        ut.resume(tmp_path / "scene.toml")


def test_one_process_at_a_time(tiny: Tiny, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def try_to_resume(progress: driver.Progress) -> None:
        if progress.frame == 1:
            with pytest.raises(UserError, match="another process is running this folder"):
                ut.resume(out, threads=1)

    ut.Simulation(tiny(frames=2), threads=1).run(out, try_to_resume)


def test_a_run_that_fails_keeps_its_checkpoint_and_writes_no_garbage(
    tiny: Tiny, reference: ut.Run, contents: Contents, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    sim = ut.Simulation(tiny(), threads=1)

    def poison(progress: driver.Progress) -> None:
        if progress.frame == 4:
            sim.state.u[0, 3, 8, 8] = np.nan

    with pytest.raises(PhysicsError, match=r"Last good checkpoint: .*000003.h5"):
        sim.run(out, poison, preview=False)
    run = ut.Run(out)
    assert run.info["status"] == "failed" and "checkpoint" in run.info["message"]
    assert run.frames == [0, 1, 2, 3, 4]
    assert all(np.isfinite(values).all() for name, values in run.ledger.items() if name != "limit")
    ut.resume(out, threads=1)
    assert contents(out) == contents(reference.folder)


@pytest.mark.parametrize("where", ["table", "frame", "checkpoint"])
def test_a_full_disk_stops_cleanly_and_the_run_goes_on_later(
    tiny: Tiny, reference: ut.Run, contents: Contents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    out = tmp_path / "run"
    sim = ut.Simulation(tiny(), threads=1)
    with monkeypatch.context() as patch:
        full = OSError(errno.ENOSPC, "No space left on device")

        def refuse(*_: object, **__: object) -> None:
            if sim.frame >= 5:
                raise full

        owner, name = {
            "table": (CsvTable, "append"), "frame": (folder, "write_frame"), "checkpoint": (folder, "write_checkpoint"),
        }[where]  # fmt: skip
        real = getattr(owner, name)
        patch.setattr(owner, name, lambda *a, **k: (refuse(), real(*a, **k))[1])
        with pytest.raises(UserError, match="the disk is full: the run stopped at t = "):
            sim.run(out, preview=False)
    assert ut.Run(out).info["status"] == "stopped"
    assert not list(out.rglob("*.tmp"))
    ut.resume(out, threads=1)
    assert contents(out) == contents(reference.folder)


def test_a_row_that_does_not_fit_is_taken_back_whole(tmp_path: Path) -> None:
    table = CsvTable(tmp_path / "t.csv", ["a", "b"])
    table.append([1, 2.5])
    real = table._file

    class Full:
        """A file that takes three bytes and then no more."""

        left = 3

        def write(self, data: memoryview) -> int:
            if self.left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            count, self.left = min(self.left, len(data)), 0
            return real.write(data[:count])

        truncate = staticmethod(real.truncate)
        seek = staticmethod(real.seek)

    table._file = Full()  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        table.append([3, 4.5])
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,2.5\n"


def test_a_run_that_cannot_fit_is_refused(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil
    from types import SimpleNamespace

    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(UserError, match=r"the run would write about .* \(13 frames\) and 1.0 kB are free"):
        ut.Simulation(tiny(), threads=1).run(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_disk_estimate_is_of_the_right_size(reference: ut.Run, tiny: Tiny) -> None:
    estimate, frames = folder.disk_needed(ut.Simulation(tiny(), threads=1))
    used = sum(p.stat().st_size for p in reference.folder.rglob("*") if p.is_file())
    assert frames == 13 and 0.7 < estimate / used < 1.3


def test_set_initial_velocity_survives_a_kill_before_the_first_frame(tiny: Tiny, tmp_path: Path) -> None:
    """The first checkpoint is part of the folder from the beginning."""
    sim = ut.Simulation(tiny(), threads=1)
    sim.set_velocity(lambda x, y, z: (0.25 + 0 * x, 0 * y, 0 * z))
    made = folder.RunFolder.create(tmp_path / "run", sim)
    made.close()
    _, checkpoint = folder.newest_checkpoint(tmp_path / "run")
    assert np.array_equal(checkpoint.arrays["u"], sim.state.u)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "running"
    assert toml.read(checkpoint.scene) == sim.scene
