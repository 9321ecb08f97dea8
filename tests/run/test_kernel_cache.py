"""Any change of any source starts with an empty cache of compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from undertow.run import kernel_cache


def test_a_changed_source_changes_the_folder(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    (package / "a.py").write_text("x = 1\n")
    (package / "sub" / "b.py").write_text("y = 1\n")
    first = kernel_cache.cache_folder(package, tmp_path)
    assert kernel_cache.cache_folder(package, tmp_path) == first
    (package / "sub" / "b.py").write_text("y = 2\n")
    second = kernel_cache.cache_folder(package, tmp_path)
    (package / "sub" / "b.py").rename(package / "sub" / "c.py")
    third = kernel_cache.cache_folder(package, tmp_path)
    assert len({first, second, third}) == 3


def test_older_folders_are_pruned(tmp_path: Path) -> None:
    for age in range(6):
        (tmp_path / f"numba-{age}").mkdir()
        os.utime(tmp_path / f"numba-{age}", (1000 - age, 1000 - age))
    (tmp_path / "other").mkdir()
    kernel_cache.prune(tmp_path / "numba-5")
    assert {p.name for p in tmp_path.iterdir()} == {"numba-5", "numba-0", "numba-1", "other"}


def test_the_package_points_numba_there_before_numba_is_imported(tmp_path: Path) -> None:
    program = "import undertow, sys; assert 'numba' not in sys.modules; import numba; print(numba.config.CACHE_DIR)"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    expected = kernel_cache.cache_folder(kernel_cache.PACKAGE, tmp_path / "undertow")
    assert done.stdout.strip() == str(expected) and expected.is_dir()


def test_the_user_s_choice_is_kept(tmp_path: Path) -> None:
    program = "import undertow, numba; print(numba.config.CACHE_DIR)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path) and not (tmp_path / "cache").exists()
