"""How functions are jitted that only kernels call."""

from __future__ import annotations

from typing import Any

from numba import njit

from undertow.grid.start import forget_moved_names, skip_blas, use_package_locator

skip_blas()
use_package_locator()
forget_moved_names()

_options: dict[str, Any] = {"cache": True, "no_cpython_wrapper": True, "error_model": "numpy"}

helper: Any = njit(**_options)
"""Decorator: a jitted function that Python never calls. It does without the wrapper for Python, which for tuples of
arrays is more code than the function itself, and without checks for division by zero."""

inlined: Any = njit(**_options, forceinline=True)
"""The same for small functions of inner loops: part of every caller, because handing over a tuple of arrays costs more
than what they do."""

inlined_contracting: Any = njit(**_options | {"_nrt": False}, forceinline=True, fastmath={"contract"})
"""The same with multiplication and addition joined into one instruction where the machine has it."""

borrowing: Any = njit(**_options | {"_nrt": False})
"""The same for functions that make no arrays and hand none back: references to those they are given are not counted,
which for tuples of arrays, passed on many times for one value, takes longer than all the arithmetic."""

borrowing_contracting: Any = njit(**_options | {"_nrt": False}, fastmath={"contract"})
"""The same with multiplication and addition joined."""
