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

FRAMES = 80
KILLS = 10


def test_ten_kills_leave_no_trace(
    tiny: Callable[..., Scene], contents: Callable[[Path], dict[str, bytes]], tmp_path: Path
) -> None:
    scene = tiny("output.checkpoint_frames=2", frames=FRAMES)
    untouched = ut.Simulation(scene, threads=1).run(tmp_path / "untouched")
    file, out = tmp_path / "scene.toml", tmp_path / "killed"
    file.write_text(toml.write(scene))
    command = [sys.executable, "-m", "undertow", "run", str(file), "--out", str(out)]
    moments = random.Random(7)
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen([*command, "--threads", "1", "--no-preview", "--quiet"])
        _wait_for_a_row(process, out)
        time.sleep(moments.uniform(0.0, 0.12))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait() == -signal.SIGKILL, f"the run ended by itself after {kills} kills; give it more frames"
        command = [sys.executable, "-m", "undertow", "resume", str(out)]
    ut.resume(out, threads=1)
    assert contents(out) == contents(untouched.folder)


def _wait_for_a_row(process: subprocess.Popen[bytes], out: Path) -> None:
    """Until the run has taken a step (the start of the program takes far longer than the run)."""
    log = out / "log.txt"
    resumed = log.read_text().count("resumed") if log.exists() else 0
    while process.poll() is None:
        if log.exists() and log.read_text().count("resumed") > resumed:
            return
        if resumed == 0 and (out / "ledger.csv").exists() and (out / "ledger.csv").read_text().count("\n") > 1:
            return
        time.sleep(0.005)


def test_ctrl_c_and_terminate_in_a_real_process(tiny: Callable[..., Scene], tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(toml.write(tiny(frames=5000)))
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = tmp_path / f"run-{status}"
        command = [sys.executable, "-m", "undertow", "run", str(file), "--out", str(out), "--threads", "1", "--quiet"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        _wait_for_a_row(process, out)  # type: ignore[arg-type]
        process.send_signal(number)
        _, message = process.communicate(timeout=60)
        assert process.returncode == status
        assert "Traceback" not in message and f"undertow resume {out}" in message
        assert ut.Run(out).info["status"] == "interrupted"
