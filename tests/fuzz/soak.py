"""Kill runs at random moments, resume them, and compare with runs that were never touched (``make soak``: an hour).

``python tests/fuzz/soak.py --minutes 60 --seed 1``: small scenes of every kind of model, with one and two threads; a
kill is SIGKILL between the start of the process and its end. State, tables and frames must have the same bits. Exit
status 1 when they have not.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mutants

import undertow as ut
from undertow.run.folder import newest_checkpoint
from undertow.scene import toml

FRAMES = 240
"""Enough for several kills of every run."""


def contents(folder: Path) -> dict[str, bytes]:
    """What must not depend on kills: state, tables, scene and frames, byte for byte."""
    _, last = newest_checkpoint(folder)
    found = {f"state.{name}": array.tobytes() for name, array in last.arrays.items()}
    names = ["ledger.csv", "bodies.csv", "waters.csv", "probes.csv", "scene.toml", "frames.pvd"]
    names += [str(path.relative_to(folder)) for path in (folder / "frames").rglob("*") if path.is_file()]
    return found | {name: (folder / name).read_bytes() for name in names}


def _count_rows(out: Path) -> int:
    """Steps in the ledger of a run."""
    ledger = out / "ledger.csv"
    return ledger.read_bytes().count(b"\n") if ledger.exists() else 0


def soak(data: dict[str, Any], chance: random.Random, folder: Path) -> tuple[int, list[str]]:
    """Number of kills until a run of a scene came to its end, and what differs from a run that was not touched."""
    scene = toml.scene_from_dict(data)
    untouched = contents(ut.Simulation(scene, threads=1).run(folder / "untouched", preview=False, quiet=True).folder)
    file, out, kills = folder / "scene.toml", folder / "killed", 0
    rows, longest = 0, 4.0
    file.write_text(toml.write(scene))
    while True:
        threads = ["--threads", str(chance.choice((1, 2)))]
        again = [sys.executable, "-m", "undertow", "resume", str(out), "--quiet", "--no-preview", *threads]
        first = [sys.executable, "-m", "undertow", "run", str(file), "--out", str(out), "--quiet", "--no-preview"]
        process = subprocess.Popen(
            [*first, *threads] if not out.exists() else again, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        try:
            _, said = process.communicate(timeout=chance.uniform(0.5, longest))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            before, rows = rows, _count_rows(out)
            # on a busy machine the start alone takes seconds: kills that all come before a step would never end
            longest = 4.0 if rows > before else 1.5 * longest
            continue
        if process.returncode != 0 and b"the run is complete" not in said:
            return kills, [f"exit status {process.returncode}: {said.decode()}"]
        found = contents(out)
        return kills, [name for name in {*found, *untouched} if found.get(name) != untouched.get(name)]


def main() -> int:
    """Exit status 1 when bits differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    end, rounds, kills, wrong = time.monotonic() + 60.0 * chosen.minutes, 0, 0, 0
    while time.monotonic() < end:
        chance = random.Random(f"{chosen.seed} {rounds}")
        scenes = mutants.small_scenes(heavy=True)
        data = scenes[rounds % len(scenes)]
        rate = float(data["time"].get("frame_rate", 30.0))
        data["time"]["end"] = FRAMES / rate
        data.setdefault("output", {})["checkpoint_frames"] = 2
        with tempfile.TemporaryDirectory() as folder:
            done, differs = soak(data, chance, Path(folder))
        rounds, kills, wrong = rounds + 1, kills + done, wrong + bool(differs)
        print(f"{data['name']}: {done} kills{'; DIFFERS: ' + ', '.join(differs[:5]) if differs else ''}", flush=True)
    print(f"{rounds} runs, {kills} kills, {wrong} runs that differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
