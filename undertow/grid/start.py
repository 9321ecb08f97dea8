"""A quicker start of Numba.

Before the first kernel is compiled or loaded Numba imports ``numba.np.arraymath``, which imports ``scipy.linalg`` only
to learn whether a BLAS is there: a fifth of the start of a small run from a warm cache. Here that one question is
answered with no. It decides between two loops of ``np.correlate``; ``np.dot`` and ``np.linalg`` in kernels ask again
when they are compiled.
"""

from __future__ import annotations

import sys
from importlib import import_module

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
