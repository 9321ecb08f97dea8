"""Kernels over several threads: a range of rows is cut into pieces that threads take as they become free.

Kernels are compiled for one thread and without the interpreter's lock (``@njit(cache=True, nogil=True)``), end with the
arguments ``start, stop`` and write nothing that another row reads, so the bits do not depend on the pieces. Numba's own
``parallel=True`` gives the same speed but takes two to four times as long to compile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numba

from undertow.grid.grid import Grid

_LEAST = 16384
"""Cells below which a piece is not worth handing over."""


class _Job:
    """One call of ``share``: the pieces not yet taken, and one answer (None or an error) per piece done."""

    def __init__(self, kernel: Callable[..., Any], args: tuple[Any, ...], count: int, pieces: int) -> None:
        self.kernel = kernel
        self.args = args
        self.count = count
        self.pieces = pieces
        self.left = iter(range(pieces))
        self.answers: SimpleQueue[BaseException | None] = SimpleQueue()

    def work(self) -> None:
        for n in self.left:
            try:
                self.kernel(*self.args, self.count * n // self.pieces, self.count * (n + 1) // self.pieces)
                self.answers.put(None)
            except BaseException as error:
                self.answers.put(error)

    def wait(self) -> None:
        errors = [error for error in (self.answers.get() for _ in range(self.pieces)) if error is not None]
        if errors:
            raise errors[0]


class _Pool:
    """Threads that wait for jobs; as many as were ever asked for."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.threads = 0

    def serve(self) -> None:
        while True:
            self.jobs.get().work()

    def run(self, job: _Job, helpers: int) -> None:
        while self.threads < helpers:
            threading.Thread(target=self.serve, name="undertow-kernels", daemon=True).start()
            self.threads += 1
        for _ in range(helpers):
            self.jobs.put(job)
        job.work()
        job.wait()


_pool = _Pool()
# a forked child has no threads: it starts its own
os.register_at_fork(after_in_child=_pool.__init__)  # type: ignore[misc]


def share(kernel: Callable[..., Any], count: int, cells: int, *args: Any, pieces: int = 1) -> None:
    """kernel(*args, start, stop) over range(count) by as many threads as Numba is set to.

    cells: how many cells (or values) the whole range touches; a small range stays with the caller. pieces: per thread;
    more than one balance rows of unequal cost, but a piece costs its call: a solve at 128^3 took 0.42 s with four and
    0.35 s with one.
    """
    threads = numba.get_num_threads()
    pieces = min(count, cells // _LEAST, pieces * threads)
    if threads == 1 or pieces <= 1:
        kernel(*args, 0, count)
    else:
        _pool.run(_Job(kernel, args, count, pieces), min(threads, pieces) - 1)


def share_rows(grid: Grid, kernel: Callable[..., Any], *args: Any) -> None:
    """kernel(grid.spec, *args, start, stop) over the rows of cells, row = (k - GHOSTS) ny + (j - GHOSTS)."""
    share(kernel, grid.cells[1] * grid.cells[2], grid.cell_count, grid.spec, *args)


def share_face_rows(grid: Grid, kernel: Callable[..., Any], *args: Any) -> None:
    """The same over the rows of faces, row = (k - GHOSTS) (ny + 1) + (j - GHOSTS); in 2D one plane of them."""
    _, ny, nz = grid.cells
    share(kernel, (ny + 1) * (nz + 1 if grid.dimensions == 3 else 1), grid.cell_count, grid.spec, *args)
