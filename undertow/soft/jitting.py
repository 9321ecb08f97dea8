"""How functions are jitted that only kernels call."""

from __future__ import annotations

from typing import Any

from numba import njit

_options: dict[str, Any] = {"cache": True, "no_cpython_wrapper": True, "error_model": "numpy"}

helper: Any = njit(**_options)
"""Decorator: a jitted function that Python never calls, without the wrapper for Python and checks for division by
zero."""
