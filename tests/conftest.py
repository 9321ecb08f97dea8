"""The compile budget: how many Numba specialisations the test run used, what they cost, and a bound. And two threads
that really share the work of grids too small for it, and runs that go on from a saved state.

``undertow`` is imported before Numba, because the package decides where Numba keeps its cache.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import undertow  # noqa: F401  (first: it points Numba to its cache)

ROOT = Path(__file__).resolve().parents[1]


def _budget() -> int:
    return int(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["undertow"]["specialisations"])


def _dispatchers() -> Iterator[tuple[str, Any]]:
    """(qualified name, dispatcher) of every jitted function of the package that has been imported."""
    from numba.core.dispatcher import Dispatcher

    for module_name, module in sorted(sys.modules.items()):
        if module_name == "undertow" or module_name.startswith("undertow."):
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module_name:
                    yield f"{module_name}.{value.py_func.__name__}", value


def _overloads() -> Counter[str]:
    return Counter({name: len(dispatcher.overloads) for name, dispatcher in _dispatchers()})


class _Together:
    """The pieces of a job, one for each thread that takes part; nobody starts before everybody has one."""

    def __init__(self, pieces: int) -> None:
        self._left = iter(range(pieces))
        self._barrier = threading.Barrier(pieces, timeout=120.0)

    def __iter__(self) -> _Together:
        return self

    def __next__(self) -> int:
        piece = next(self._left)
        self._barrier.wait()
        return piece


@pytest.fixture
def goes_on(tmp_path: Path) -> Callable[..., Any]:
    """Save a simulation, load it, take ``steps`` with both; all that evolves has the same bits. Returns the other."""
    import numpy as np

    import undertow as ut

    def compare(sim: ut.Simulation, steps: int = 1) -> ut.Simulation:
        sim.save(tmp_path / "state.h5")
        again = ut.load(tmp_path / "state.h5")
        for one in (sim, again):
            for _ in range(steps):
                one.step()
        for name, array in sim.arrays().items():
            assert np.array_equal(array, again.arrays()[name]), name
        return again

    return compare


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the kernels handed over to a second thread, however few their cells.

    With two threads set, every job is done by both at the same time. Starts with one; skips where Numba has no more.
    """
    import numba

    from undertow.grid import threads

    if numba.config.NUMBA_NUM_THREADS < 2:
        reason = "Numba has one thread only: the bits of two were not compared"
        print(reason)
        pytest.skip(reason)
    names: list[str] = []
    original = threads._Pool.run

    def run(pool: threads._Pool, job: threads._Job, helpers: int) -> bool:
        job.pieces = helpers + 1
        names.append(getattr(job.kernel, "__name__", repr(job.kernel)))
        job.left = _Together(job.pieces)  # type: ignore[assignment]
        return original(pool, job, helpers)

    monkeypatch.setattr(threads, "_LEAST", 1)
    monkeypatch.setattr(threads._Pool, "run", run)
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield names
    numba.set_num_threads(before)


class CompileBudget:
    """Counts the kernels used (compiled or read from the cache) and the seconds spent compiling.

    A kernel is a specialisation called from Python. The jitted helpers that come into being while a kernel is compiled
    are part of it: a warm cache brings the kernel without them, and the count must not depend on the cache.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.compiled = 0
        self._depth = 0
        self._started = 0.0
        self._before: Counter[str] = Counter()
        self._helpers: Counter[str] = Counter()

    def install(self) -> None:
        from numba.core import event

        budget = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                if budget._depth == 0:
                    budget._before = _overloads()
                    budget._started = time.perf_counter()
                budget._depth += 1

            def on_end(self, event: Any) -> None:
                budget._depth -= 1
                if budget._depth > 0:
                    return
                budget.seconds += time.perf_counter() - budget._started
                kernel = event.data["dispatcher"].py_func
                helpers = _overloads() - budget._before
                helpers.pop(f"{kernel.__module__}.{kernel.__name__}", None)
                budget._helpers += helpers
                if kernel.__module__.startswith("undertow"):
                    budget.compiled += 1

        event.register("numba:compile", Listener())

    def used(self) -> Counter[str]:
        """Kernels per jitted function."""
        return _overloads() - self._helpers


_BUDGET = CompileBudget()


def pytest_configure(config: pytest.Config) -> None:
    _BUDGET.install()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    used = _BUDGET.used()
    record = os.environ.get("UNDERTOW_KERNEL_RECORD")
    if record is not None:  # tests/halves.py adds up
        Path(record).write_text(json.dumps(used))
    if sum(used.values()) > _budget() and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    used = _BUDGET.used()
    total, bound = sum(used.values()), _budget()
    terminalreporter.write_line(
        f"numba: {total} kernels used, of {len(used)} functions (bound {bound}); "
        f"{_BUDGET.compiled} compiled now in {_BUDGET.seconds:.1f} s"
    )
    if total > bound:
        terminalreporter.write_line("numba: OVER THE BOUND of pyproject.toml [tool.undertow]; the functions with most:")
        for name, count in sorted(used.items(), key=lambda item: -item[1])[:12]:
            terminalreporter.write_line(f"  {count:3d}  {name}")
