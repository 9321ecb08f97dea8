"""What the machine has: versions, memory, disk, threads; and refusals before anything is allocated."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from undertow.errors import UserError

PACKAGES = ("numpy", "scipy", "numba", "pydantic", "h5py", "trimesh", "libigl", "scikit-image", "matplotlib")
EXTRAS = {"view": ("viser",), "sph": ("pysplashsurf",), "peers": ("pyamg",)}
"""Optional extras of the package and what they install."""


def version_of(package: str) -> str | None:
    """Installed version, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str | None]:
    """Versions of what the numbers depend on."""
    from undertow import __version__

    return {"undertow": __version__, "python": platform.python_version(), **{p: version_of(p) for p in PACKAGES}}


def commit() -> str | None:
    """Commit of the sources, when they are a git checkout."""
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(package.parent), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def describe_machine() -> dict[str, Any]:
    """Processor, cores and memory."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(_meminfo("MemTotal") / 1e9, 1),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _meminfo(key: str) -> float:
    """A figure of /proc/meminfo [bytes]; physical memory where there is no such file."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith(key + ":"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def available_memory() -> float:
    """Memory a new process can use [bytes]: what is free now, or less inside a container."""
    free = _meminfo("MemAvailable")
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            free = min(free, float(Path(limit).read_text()) - float(Path(used).read_text()))
        except (OSError, ValueError):
            continue
    return free


def check_disk(folder: Path, needed: float, frames: int) -> None:
    """Refuse a run whose files [bytes] do not fit on the disk of ``folder``."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        raise UserError(
            f"{folder}: the run would write about {size_text(needed)} ({frames} frames) and {size_text(free)} are "
            f"free; write fewer frames (output.every) or fields (output.fields), or give --out on another disk"
        )


def size_text(count: float) -> str:
    """Bytes in words: ``3.2 GB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def use_threads(threads: int | None) -> int:
    """Let kernels use so many threads (None: all cores) and return the number."""
    import numba

    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if threads is None:
        threads = most
    if not isinstance(threads, int) or not 1 <= threads <= most:
        raise UserError(f"threads = {threads!r}: must be a whole number from 1 to {most}, the cores of this machine")
    numba.set_num_threads(threads)
    return threads
