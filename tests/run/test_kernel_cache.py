"""Compiled kernels are kept per installation and stamped by all the sources they depend on."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

from undertow.run import kernel_cache

FILES = sorted(kernel_cache.PACKAGE.rglob("*.py"))

TWO_KERNELS = """
import sys
import numba
from undertow.run import kernel_cache
from pathlib import Path
kernel_cache.PACKAGE = Path(sys.argv[1]) / "pack"
numba.config.CACHE_LOCATOR_CLASSES = "undertow.run.kernel_cache.PackageLocator"
from pack import apart, uses
values = uses.twice(1.0), apart.thrice(1.0)
print(*values, *(sum(kernel.stats.cache_misses.values()) for kernel in (uses.twice, apart.thrice)))
"""


def _write_package(folder: Path, factor: float) -> None:
    package = folder / "pack"
    package.mkdir(exist_ok=True)
    jit = "from numba import njit\n"
    (package / "__init__.py").write_text("")
    (package / "factor.py").write_text(f"{jit}@njit(cache=True)\ndef scale(x):\n    return {factor} * x\n")
    (package / "between.py").write_text("from pack.factor import (\n    scale,\n)\n")
    use = "from pack.between import scale\n\n@njit(cache=True)\ndef twice(x):\n    return scale(x)\n"
    (package / "uses.py").write_text(jit + use)
    (package / "apart.py").write_text(f"{jit}@njit(cache=True)\ndef thrice(x):\n    return 3.0 * x\n")


def test_an_index_of_kernels_that_names_moved_types_is_out_of_date(tmp_path: Path) -> None:
    """A type that moved to another module between two versions, in the signatures of what is kept."""
    caching = importlib.import_module("numba.core.caching")
    file = caching.IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    file._save_index({})
    version, stale = pickle.dumps(file._version), b"cundertow.coupling.gone\nSpec\n."
    (tmp_path / "kernel.nbi").write_bytes(version + stale)
    assert file._load_index() == {}


def test_a_changed_source_compiles_again_what_imports_it_and_nothing_else(tmp_path: Path) -> None:
    """The changed file is imported through another one, which Numba's own stamp does not see."""
    paths = os.pathsep.join([str(tmp_path), str(kernel_cache.PACKAGE.parent)])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    # Python's own cache takes files of one size written within a second for the same
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    said = []
    for factor in (2.0, 2.0, 5.0):
        _write_package(tmp_path, factor)
        done = subprocess.run(
            [sys.executable, "-c", TWO_KERNELS, str(tmp_path)], env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        said.append([float(word) for word in done.stdout.split()])
    first, again, changed = said
    assert first == [2.0, 3.0, 1, 1]
    assert again == [2.0, 3.0, 0, 0]
    assert changed == [5.0, 3.0, 1, 0]


def test_imports_are_those_that_the_parser_finds() -> None:
    """The oracle of the statements of import found by their text: Python's parser."""
    root, name = kernel_cache.PACKAGE.parent, kernel_cache.PACKAGE.name
    for path in FILES:
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative imports are not looked for"
                named |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        places = [root.joinpath(*found.split(".")) for found in named if found.startswith(f"{name}.")]
        files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
        missed = {file for file in files if file.is_file()} - kernel_cache.imported(kernel_cache.PACKAGE, path)
        assert not missed, f"{path}: imports {missed} and is not stamped by them"


def test_every_kernel_of_the_package_is_kept_by_its_locator() -> None:
    """Also those of modules that are imported first of all."""
    from numba.core.dispatcher import Dispatcher

    checked = 0
    for path in FILES:
        if "@njit" in path.read_text() or "jitting import" in path.read_text():
            name = ".".join(path.relative_to(kernel_cache.PACKAGE.parent).with_suffix("").parts)
            module = importlib.import_module(name)
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                    locator = value._cache._impl.locator
                    assert isinstance(locator, kernel_cache.PackageLocator), f"{name}.{value.py_func.__name__}"
                    checked += 1
    assert checked > 300


def test_kernels_of_installations_that_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    there = tmp_path / "package"
    there.mkdir()
    for name, owner in (("own", there), ("used", there), ("gone", tmp_path / "removed"), ("unknown", None)):
        (tmp_path / f"numba-{name}").mkdir()
        if owner is not None:
            (tmp_path / f"numba-{name}" / kernel_cache.OWNER).write_text(str(owner))
    kernel_cache.prune(tmp_path / "numba-own")
    assert {p.name for p in tmp_path.glob("numba-*")} == {"numba-own", "numba-used", "numba-unknown"}


def test_the_package_points_numba_there_before_numba_is_imported(tmp_path: Path) -> None:
    program = "import undertow, sys; assert 'numba' not in sys.modules; import numba; print(numba.config.CACHE_DIR)"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    expected = tmp_path / "undertow"
    assert done.stdout.strip() == str(expected)
    assert kernel_cache.package_folder(kernel_cache.PACKAGE, expected).is_dir()


def test_the_user_s_choice_is_kept(tmp_path: Path) -> None:
    program = "import undertow, numba; print(numba.config.CACHE_DIR)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path) and not (tmp_path / "cache").exists()
