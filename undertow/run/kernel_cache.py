"""Where compiled kernels are kept between runs, and which sources they stand for.

Numba's disk cache stamps a kernel with the content of its own file and does not notice a change in a jitted function of
another file. Here the stamp covers the file and all files of the package that it imports, directly or through others,
so that a change compiles again what depends on it and nothing else. Numba asks a *locator* for place and stamp of a
function (``NUMBA_CACHE_LOCATOR_CLASSES`` of its documentation); ``grid/start.py`` names ours.

Importing this module does not import Numba.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
OWNER = "installed-at"
"""File in a folder of kernels that names the package they belong to."""

_IMPORTS = re.compile(
    r"^ *(?:from +(?P<source>[\w.]+) +import +(?P<names>\([^)]*\)|[^\n]*)|import +(?P<plain>[^\n]*))", re.MULTILINE
)
"""Statements of import. Reading them all by Python's parser would take a second of every start."""


def use_kernel_cache() -> None:
    """Point Numba to the folder of the user's cache, unless the user chose one (NUMBA_CACHE_DIR)."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    base = _user_cache()
    folder = package_folder(PACKAGE, base)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:  # a home that cannot be written to
        base = Path(tempfile.gettempdir()) / f"undertow-{os.getuid()}"
        folder = package_folder(PACKAGE, base)
        folder.mkdir(parents=True, exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(base)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(base)
    with contextlib.suppress(OSError):
        (folder / OWNER).write_text(str(PACKAGE), encoding="utf-8")
    prune(folder)


def package_folder(package: Path, base: Path) -> Path:
    """The folder of the kernels of ``package``, by where it is installed."""
    return base / f"numba-{hashlib.sha256(str(package).encode()).hexdigest()[:16]}"


def prune(folder: Path) -> None:
    """Remove the folders beside ``folder`` whose installation is no longer there; kernels of others are kept."""
    for other in folder.parent.glob("numba-*"):
        try:
            owner = Path((other / OWNER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # not known whose it is
        if other != folder and not owner.exists():
            shutil.rmtree(other, ignore_errors=True)


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "undertow"


class PackageLocator:
    """Numba's cache locator for the functions of this package; the methods are those that Numba calls."""

    def __init__(self, path: Path) -> None:
        self._py_file = str(path)  # Numba's warnings name it
        self._path = path

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> PackageLocator | None:
        """The locator of a function, or None for one that is not of this package."""
        path = Path(py_file)
        if not path.is_relative_to(PACKAGE):
            return None
        self = cls(path)
        try:
            self.ensure_cache_path()
        except OSError:
            return None
        return self

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), exist_ok=True)

    def get_cache_path(self) -> str:
        base = Path(sys.modules["numba"].config.CACHE_DIR or _user_cache())
        return str(package_folder(PACKAGE, base) / self._path.parent.relative_to(PACKAGE))

    def get_source_stamp(self) -> str:
        return source_stamp(PACKAGE, self._path)

    def get_disambiguator(self) -> str:
        """Nothing: functions of a module have different names, and a name without its line is written over."""
        return ""


@cache
def source_stamp(package: Path, path: Path) -> str:
    """Hash of a file of the package and of all files of the package that it imports, directly or through others."""
    digest = hashlib.sha256()
    for found in sorted(imported(package, path)):
        digest.update(str(found.relative_to(package)).encode() + b"\0" + _source(package, found)[0])
    return digest.hexdigest()


def imported(package: Path, path: Path) -> set[Path]:
    """A file of the package and all files of the package that it imports, directly or through others."""
    found: set[Path] = set()
    new = [path]
    while new:
        here = new.pop()
        if here not in found:
            found.add(here)
            new.extend(_source(package, here)[1])
    return found


@cache
def _source(package: Path, path: Path) -> tuple[bytes, frozenset[Path]]:
    """Hash of a file, and the files of the package that it names in its statements of import."""
    text = path.read_bytes()
    names: set[str] = set()
    for statement in _IMPORTS.finditer(text.decode()):
        source = statement["source"]
        if source is None:
            names.update(statement["plain"].replace(",", " ").split())
        elif source.split(".")[0] == package.name:
            names.add(source)
            names.update(f"{source}.{name}" for name in re.findall(r"\w+", statement["names"]))
    modules = _modules(package)
    return hashlib.sha256(text).digest(), frozenset(modules[name] for name in names if name in modules)


@cache
def _modules(package: Path) -> dict[str, Path]:
    """The files of the package by the full names of their modules, without the package's own ``__init__``."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found.pop(package.name, None)
    return found
