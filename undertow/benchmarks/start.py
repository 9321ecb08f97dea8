"""From the start of the process to the end of step 1 of a 2D 64^2 scene, with a warm and with an empty kernel cache.

Kernels and Python's own bytecode are kept in a temporary folder: an installation has its bytecode compiled, whatever
PYTHONDONTWRITEBYTECODE says where the benchmark runs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import undertow as ut

PROGRAM = "import undertow as ut; ut.Simulation(ut.scene('lid-cavity', resolution=64), threads={threads}).step()"


def run(threads: int) -> Iterator[dict[str, Any]]:
    """Seconds of the cold and of the warm start, and to the first frame of the demo from an empty cache."""
    # a process that compiles ahead for the demo may still write for a moment when the demo is stopped
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cache = str(Path(folder) / "step")
        program = PROGRAM.format(threads=threads)
        cold = seconds_of([sys.executable, "-c", program], cache)
        warm = statistics.median(seconds_of([sys.executable, "-c", program], cache) for _ in range(3))
        yield {"quantity": "cold_seconds", "measured": cold, "size": "64^2", "seconds_per_step": cold}
        yield {"quantity": "warm_seconds", "measured": warm, "size": "64^2", "seconds_per_step": warm,
               "compile_seconds": cold - warm}  # fmt: skip
        first = seconds_to_first_frame(Path(folder), threads)
        yield {"quantity": "demo_first_frame_seconds", "measured": first, "size": "demo", "seconds_per_step": first}


def smoke() -> Iterator[dict[str, Any]]:
    """The program of the warm start once, with the kernels that are at hand."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(threads=1)], stdout=subprocess.DEVNULL)
    if done.returncode:
        raise ut.PhysicsError(f"bench start: the first step ended with status {done.returncode}")
    yield {"quantity": "warm_seconds", "measured": time.perf_counter() - begin}


def seconds_to_first_frame(folder: Path, threads: int) -> float:
    """From the start of the demo's command, kernel cache empty, until the first computed frame is on disk [s]."""
    out = folder / "run"
    command = [sys.executable, "-m", "undertow", "run", "boat-spheres", "--quiet", "--threads", str(threads)]
    environment = caching(str(folder / "demo"))
    begin = time.perf_counter()
    with subprocess.Popen([*command, "--out", str(out)], env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not (out / "frames" / "000001").exists():
            time.sleep(0.05)
        seconds = time.perf_counter() - begin
        status = process.poll()
        process.kill()
    if not (out / "frames" / "000001").exists():
        raise ut.PhysicsError(f"bench start: the demo ended with status {status} before its first frame was on disk")
    return seconds


def caching(cache: str) -> dict[str, str]:
    """The environment with its own kernel cache, and bytecode kept beside it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": str(Path(cache).parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def seconds_of(command: list[str], cache: str) -> float:
    """Wall clock of a command with its own kernel cache [s]."""
    begin = time.perf_counter()
    status = subprocess.run(command, env=caching(cache), stdout=subprocess.DEVNULL).returncode
    if status:
        raise ut.PhysicsError(f"bench start: the first step ended with status {status}")
    return time.perf_counter() - begin
