"""Where compiled kernels are kept between runs.

Numba's disk cache does not notice a change in a jitted function of another file, so the folder is keyed by a hash of
all sources of the package: any change of any source starts with an empty cache. Older folders are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
KEPT = 2
"""Folders kept besides the one in use: another version may be running at the same time."""


def use_kernel_cache() -> None:
    """Point Numba to the cache folder of these sources, unless the user chose one (NUMBA_CACHE_DIR)."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    folder = cache_folder(PACKAGE, _user_cache())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:  # a home that cannot be written to
        folder = cache_folder(PACKAGE, Path(tempfile.gettempdir()) / f"undertow-{os.getuid()}")
        folder.mkdir(parents=True, exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    prune(folder)


def cache_folder(package: Path, base: Path) -> Path:
    """The folder for the present sources of ``package``."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return base / f"numba-{digest.hexdigest()[:16]}"


def prune(folder: Path) -> None:
    """Remove all but the newest folders beside ``folder``."""
    others = [f for f in folder.parent.glob("numba-*") if f != folder and f.is_dir()]
    with contextlib.suppress(OSError):
        others.sort(key=lambda f: f.stat().st_mtime, reverse=True)
    for old in others[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "undertow"
