"""Kernels over several threads: a range of rows is cut into pieces that threads take as they become free.

Kernels are compiled for one thread and without the interpreter's lock (``@njit(cache=True, nogil=True)``), end with the
arguments ``start, stop`` and write nothing that another row reads, so the bits do not depend on the pieces. Numba's own
``parallel=True`` gives the same speed but takes two to four times as long to compile.

A step hands over a hundred kernels of a millisecond or less. To wake a thread that sleeps, and to be woken by it at the
end, takes 60 to 90 microseconds. So a thread looks for the next job, and the caller for the end of the last piece, for
a while before it goes to sleep: without the interpreter's lock, or it would be the lock that others sleep for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numba
import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from undertow.grid.grid import Grid
from undertow.grid.jitting import helper

_LEAST = 16384
"""Cells below which a piece is not worth handing over."""

_LOOKS = 100_000
"""Looks at a flag before a thread goes to sleep, half a nanosecond each: about as long as it takes to wake it. With
more of them two programs on the same cores would slow each other down."""

_LAG = 20_000
"""Looks between seeing a job and asking for the interpreter's lock, which the caller holds until its own kernel runs:
to find the lock taken is to go to sleep."""

_APART = 16
"""Numbers between two flags: two cache lines, so that threads do not wait for each other's memory."""

_PATIENCE = 2000
"""Looks of a thread that waits inside a kernel before it lets others have its core between two of them."""

_let_others: Any = types.ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())


@intrinsic
def _load(typing_context, flags, at):  # type: ignore[no-untyped-def]
    """flags[at], read anew at every call: a plain read would be moved out of the loop that waits for a change."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]], wraparound=False)
        return builder.load_atomic(place, ordering="acquire", align=8)

    return types.int64(flags, at), generate


@intrinsic
def _store(typing_context, flags, at, value):  # type: ignore[no-untyped-def]
    """flags[at] = value, after everything that was written before."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]], wraparound=False)
        builder.store_atomic(args[2], place, ordering="release", align=8)
        return context.get_dummy_value()

    return types.void(flags, at, value), generate


@intrinsic
def _count_one(typing_context, counter):  # type: ignore[no-untyped-def]
    """Add 1 to counter[0]; what it was before."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, context.get_constant(types.int64, 1), "seq_cst")

    return types.int64(counter), generate


@helper
def meet(counter, goal):  # type: ignore[no-untyped-def]
    """A place inside a kernel of ``share_together`` where all its threads wait for each other: come, and go on when
    ``goal`` have come, all pieces at the first place, twice as many at the second ..."""
    _count_one(counter)  # type: ignore[call-arg]
    looks = 0
    while _load(counter, 0) < goal:
        looks += 1
        if looks > _PATIENCE:
            _let_others()


@njit(cache=True, nogil=True)
def _tell_and_look(flags, told, value, at, seen, looks, lag):  # type: ignore[no-untyped-def]
    """flags[told] = value; then until flags[at] >= seen, at most so many looks, and ``lag`` more."""
    _store(flags, told, value)  # type: ignore[call-arg]
    for _ in range(looks):
        if _load(flags, at) >= seen:
            for _ in range(lag):
                _load(flags, at)
            return


class _Job:
    """One call of ``share``: the pieces not yet taken, and one answer (None or an error) per piece done.

    counter: where the threads of a kernel meet, None: nowhere.
    """

    def __init__(
        self, kernel: Callable[..., Any], args: tuple[Any, ...], count: int, pieces: int, counter: Any = None
    ) -> None:
        self.kernel = kernel
        self.args = args
        self.counter = counter
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
                if self.counter is not None:
                    # a call that failed before its kernel began: the others wait for it nowhere
                    self.counter[0] = 1 << 62
                self.answers.put(error)

    def wait(self) -> None:
        errors = [error for error in (self.answers.get() for _ in range(self.pieces)) if error is not None]
        self.args = ()  # a helper remembers its last job: not its arrays
        if errors:
            raise errors[0]


class _Helper:
    """A thread that works on the last job it was given. flags: [job given, job done], ``_APART`` numbers apart."""

    def __init__(self) -> None:
        self.flags = np.zeros(3 * _APART, dtype=np.int64)
        self.given: tuple[int, _Job | None] = (0, None)
        self.asleep = False
        self.bell: SimpleQueue[None] = SimpleQueue()
        threading.Thread(target=self.serve, name="undertow-kernels", daemon=True).start()

    def serve(self) -> None:
        done = 0
        while True:
            # told without the lock: the caller who sees it finds the lock free
            _tell_and_look(self.flags, _APART, done, 0, done + 1, _LOOKS, _LAG)
            if self.given[0] == done:
                self.asleep = True
                # whoever gave a job before that line rang no bell
                if self.given[0] == done:
                    self.bell.get()
                self.asleep = False
            done, job = self.given
            if job is not None:
                job.work()
                del job

    def give(self, number: int, job: _Job) -> None:
        """To be worked on, unless others are done with it first."""
        self.given = (number, job)
        self.flags[0] = number
        if self.asleep:
            # once too often does no harm: a job that is done has no pieces left
            self.bell.put(None)

    def look(self, number: int) -> None:
        """Wait a little for the end of a job."""
        _tell_and_look(self.flags, 2 * _APART, 0, _APART, number, _LOOKS, 0)


class _Pool:
    """Threads that wait for jobs; as many as were ever asked for. One job at a time: a second caller works alone."""

    def __init__(self) -> None:
        self.helpers: list[_Helper] = []
        self.number = 0
        self.used = threading.Lock()

    def run(self, job: _Job, helpers: int) -> bool:
        """Do a job with so many helpers; False, and nothing done, while they work for another thread."""
        if not self.used.acquire(blocking=False):
            return False
        try:
            self._run(job, helpers)
        finally:
            self.used.release()
        return True

    def _run(self, job: _Job, helpers: int) -> None:
        while len(self.helpers) < helpers:
            self.helpers.append(_Helper())
        self.number += 1
        number = self.number
        for one in self.helpers[:helpers]:
            one.give(number, job)
        job.work()
        for one in self.helpers[:helpers]:
            if job.answers.qsize() < job.pieces:
                one.look(number)
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
    if threads == 1 or pieces <= 1 or not _pool.run(_Job(kernel, args, count, pieces), min(threads, pieces) - 1):
        kernel(*args, 0, count)


def share_together(kernel: Callable[..., Any], count: int, cells: int, *args: Any) -> None:
    """kernel(*args, counter, pieces, piece, piece + 1) by as many threads as Numba is set to, all at the same time.

    For a solve of a thousand short passes, which takes longer to hand over pass by pass than to compute: each thread
    takes one of ``pieces`` parts of ``count`` things, the same in all passes, and they ``meet`` at the counter, which
    is 0 at first, between two of them. cells: as of ``share``. The kernel must not raise: the others would wait.
    """
    pieces = min(count, cells // _LEAST, numba.get_num_threads())
    counter = np.zeros(1, dtype=np.int64)
    if pieces <= 1 or not _pool.run(_Job(kernel, (*args, counter, pieces), pieces, pieces, counter), pieces - 1):
        kernel(*args, counter, 1, 0, 1)


def share_rows(grid: Grid, kernel: Callable[..., Any], *args: Any) -> None:
    """kernel(grid.spec, *args, start, stop) over the rows of cells, row = (k - GHOSTS) ny + (j - GHOSTS)."""
    share(kernel, grid.cells[1] * grid.cells[2], grid.cell_count, grid.spec, *args)


def share_face_rows(grid: Grid, kernel: Callable[..., Any], *args: Any) -> None:
    """The same over the rows of faces, row = (k - GHOSTS) (ny + 1) + (j - GHOSTS); in 2D one plane of them."""
    _, ny, nz = grid.cells
    share(kernel, (ny + 1) * (nz + 1 if grid.dimensions == 3 else 1), grid.cell_count, grid.spec, *args)
