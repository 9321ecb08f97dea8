"""How Numba starts: without a question that takes long, and with its cache stamped by what a kernel imports.

Before the first kernel is compiled or loaded Numba imports ``numba.np.arraymath``, which imports ``scipy.linalg`` only
to learn whether a BLAS is there: a fifth of the start of a small run from a warm cache. Here that one question is
answered with no. It decides between two loops of ``np.correlate``; ``np.dot`` and ``np.linalg`` in kernels ask again
when they are compiled.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numba

_LOCATOR = "undertow.run.kernel_cache.PackageLocator"
_OTHERS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,ZipCacheLocator"
"""Numba's own, in its order: for the functions of others."""

_BLAS = "scipy.linalg.cython_blas"
_ASKS = "numba.np.arraymath"


def skip_blas() -> None:
    """Import the module that asks while the answer is no; nothing if either is imported already."""
    if _BLAS in sys.modules or _ASKS in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]  # an import of it raises ImportError at once
    try:
        import_module(_ASKS)
    finally:
        del sys.modules[_BLAS]


def use_package_locator() -> None:
    """Keep the kernels of this package by its own locator; before the first of them is defined."""
    config: Any = numba.config
    if _LOCATOR not in config.CACHE_LOCATOR_CLASSES:
        config.CACHE_LOCATOR_CLASSES = f"{_LOCATOR},{config.CACHE_LOCATOR_CLASSES or _OTHERS}"


def forget_moved_names() -> None:
    """Take an index of kernels that names types which are no longer where they were for one that is out of date: Numba
    reads all of it before it looks at its stamp, and ends with the import."""
    file: Any = import_module("numba.core.caching").IndexDataCacheFile
    load = file._load_index
    if load.__module__ == __name__:
        return

    def load_or_forget(self: Any) -> Any:
        try:
            return load(self)
        except (ImportError, AttributeError):
            return {}

    file._load_index = load_or_forget
