"""Rows over threads: every row exactly once, whatever the pieces; errors reach the caller."""

import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest

from undertow.grid import Grid, share, share_face_rows, share_rows


@pytest.fixture(params=[1, 2])
def threads(request):
    before = numba.get_num_threads()
    if request.param > numba.config.NUMBA_NUM_THREADS:
        pytest.skip("one thread only")
    numba.set_num_threads(request.param)
    yield request.param
    numba.set_num_threads(before)


@pytest.mark.parametrize(("count", "cells"), [(1, 10), (7, 10), (3, 10**6), (1000, 10**6)])
def test_every_row_once(threads, count, cells):
    done = np.zeros(count, dtype=int)
    workers = set()

    def kernel(array, start, stop):
        workers.add(threading.get_ident())
        array[start:stop] += 1

    for _ in range(20):
        share(kernel, count, cells, done)
    assert np.all(done == 20)
    assert len(workers) <= threads
    if cells < 100:
        assert workers == {threading.get_ident()}, "a small range stays with the caller"


def test_error_of_a_piece_reaches_the_caller(threads):
    def kernel(start, stop):
        if start <= 77 < stop:
            raise ValueError("row 77")

    with pytest.raises(ValueError, match="row 77"):
        share(kernel, 100, 10**6)
    share(lambda start, stop: None, 100, 10**6)


def test_threads_that_sleep_and_several_callers(threads):
    """Jobs at once, jobs after a rest that lets threads fall asleep, and callers that do not know of each other."""
    done = np.zeros((3, 64), dtype=int)

    def kernel(array, start, stop):
        array[start:stop] += 1

    def call(array):
        for n in range(60):
            share(kernel, 64, 10**6, array, pieces=1 + n % 4)
            time.sleep(0.002 * (n % 5 == 0))

    callers = [threading.Thread(target=call, args=(array,), daemon=True) for array in done]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20.0)
    assert np.all(done == 60)


@pytest.mark.parametrize(("cells", "dimensions", "rows", "face_rows"), [((5, 4, 3), 3, 12, 20), ((5, 4, 1), 2, 4, 5)])
def test_rows_of_a_grid(cells, dimensions, rows, face_rows):
    grid = Grid(cells, 0.1, dimensions=dimensions)
    seen = []
    share_rows(grid, lambda spec, start, stop: seen.append((spec.nx, start, stop)))
    share_face_rows(grid, lambda spec, start, stop: seen.append((spec.nx, start, stop)))
    assert seen == [(5, 0, rows), (5, 0, face_rows)]


def test_numba_starts_without_scipy_and_still_has_blas():
    """scipy.linalg is imported by the kernels that need it only."""
    program = (
        "import sys, numpy as np, numba, undertow.grid\n"
        "assert 'numba.np.arraymath' in sys.modules and 'scipy.linalg' not in sys.modules\n"
        "dot = numba.njit(lambda a, b: np.dot(a, b))\n"
        "assert dot(np.arange(3.0), np.arange(3.0)) == 5.0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
