"""SIGKILL at ten random moments, each followed by a resume: the same bits as a run that was never touched."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import undertow as ut
from undertow.scene import Scene, toml

FRAMES = 240
KILLS = 10


def test_ten_kills_leave_no_trace(
    tiny: Callable[..., Scene], contents: Callable[[Path], dict[str, bytes]], tmp_path: Path
) -> None:
    """Every kill but two comes while steps are taken, further on than the one before; those two during the start."""
    scene = tiny("output.checkpoint_frames=2", frames=FRAMES)
    untouched = ut.Simulation(scene, threads=1).run(tmp_path / "untouched", preview=False)
    file, out = tmp_path / "scene.toml", tmp_path / "killed"
    file.write_text(toml.write(scene))
    command = [sys.executable, "-m", "undertow", "run", str(file), "--out", str(out)]
    moments = random.Random(7)
    reached, resumed = 0, 0
    for number in range(KILLS):
        process = subprocess.Popen([*command, "--threads", "1", "--no-preview", "--quiet"])
        starting = number in (3, 7)
        if starting:
            time.sleep(moments.uniform(0.0, 1.0))
        else:
            _wait_for_rows(process, out, reached + moments.randint(8, 20))
            time.sleep(moments.uniform(0.0, 0.01))
        assert process.poll() is None, f"the run ended by itself after {number} kills; give it more frames"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        if not starting:
            now = _count_rows(out)
            assert reached < now < FRAMES, "every kill falls on a later step"
            reached, resumed = now, resumed + int(number > 0)
        command = [sys.executable, "-m", "undertow", "resume", str(out)]
    assert (out / "log.txt").read_text().count("resumed") >= resumed == KILLS - 3
    ut.resume(out, threads=1)
    assert contents(out) == contents(untouched.folder)


def _count_rows(out: Path) -> int:
    """Steps in the ledger."""
    ledger = out / "ledger.csv"
    return max(ledger.read_text().count("\n") - 1, 0) if ledger.exists() else 0


def _wait_for_rows(process: subprocess.Popen[bytes], out: Path, rows: int) -> None:
    """Until the run has taken so many steps (the start of the program takes far longer than the steps)."""
    while process.poll() is None and _count_rows(out) < rows:
        time.sleep(0.002)


def test_ctrl_c_and_terminate_in_a_real_process(tiny: Callable[..., Scene], tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(toml.write(tiny(frames=5000)))
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = tmp_path / f"run-{status}"
        command = [sys.executable, "-m", "undertow", "run", str(file), "--out", str(out), "--threads", "1", "--quiet"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        _wait_for_rows(process, out, 1)  # type: ignore[arg-type]
        process.send_signal(number)
        _, message = process.communicate(timeout=60)
        assert process.returncode == status
        assert "Traceback" not in message and f"undertow resume {out}" in message
        assert ut.Run(out).info["status"] == "interrupted"
