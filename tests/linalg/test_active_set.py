"""Bounds on unknowns against all guesses of which of them act; the rule of termination."""

from itertools import combinations

import numpy as np
import pytest

from undertow.linalg import Bounds, solve_in_passes


def chain(n, rng):
    """A symmetric M-matrix: a chain with random links, grounded at one end."""
    link = rng.uniform(0.5, 2.0, n + 1)
    a = np.diag(link[:-1] + link[1:]) - np.diag(link[1:-1], 1) - np.diag(link[1:-1], -1)
    a[-1, -1] -= link[-1]
    return a


class DenseBounds(Bounds):
    """A z = b, z >= lower where ``bounded``, by dense solves."""

    def __init__(self, a, b, lower, bounded, held):
        super().__init__(np.array(held, np.int64))
        self.a, self.b, self.lower, self.bounded = a, b, lower, bounded
        self.most = 2 * len(b)
        self.z = np.zeros(len(b))

    def solve(self):
        free = np.setdiff1d(np.arange(len(self.b)), self.held)
        self.z[self.held] = self.lower[self.held]
        right = self.b[free] - self.a[np.ix_(free, self.held)] @ self.z[self.held]
        self.z[free] = np.linalg.solve(self.a[np.ix_(free, free)], right)

    def room(self):
        return (self.a @ self.z - self.b)[self.held] - 1e-12

    def beyond(self, stays):
        out = self.bounded & (self.z < self.lower - 1e-12)
        out[self.held] = False
        return np.flatnonzero(out)

    def allowed(self, held):
        return held

    def hold(self, held):
        """Nothing to build."""


def brute_force(a, b, lower, bounded):
    """The z of the one set of held unknowns that meets all conditions."""
    places = np.flatnonzero(bounded)
    for size in range(len(places) + 1):
        for held in combinations(places, size):
            trial = DenseBounds(a, b, lower, bounded, held)
            trial.solve()
            if (trial.room() > -2e-12).all() and not len(trial.beyond(trial.held)):
                return trial.z
    raise AssertionError("no set meets the conditions")


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_those_of_the_one_set_that_meets_all_conditions(seed):
    rng = np.random.default_rng(seed)
    n = 8
    a, b, lower = chain(n, rng), rng.normal(size=n), rng.normal(size=n) - 0.5
    bounded = rng.random(n) < 0.7
    exact = brute_force(a, b, lower, bounded)
    for held in ([], np.flatnonzero(bounded), np.flatnonzero(bounded)[::2]):
        bounds = DenseBounds(a, b, lower, bounded, held)
        sizes = []
        passes = solve_in_passes([bounds], lambda b=bounds, s=sizes: (b.solve(), s.append(len(b.held))))
        assert passes < 2 * n
        assert np.abs(bounds.z - exact).max() < 1e-10
        # from the second pass on bounds are only let go of
        assert sizes[1:] == sorted(sizes[1:], reverse=True)


def test_passes_end_at_the_most_with_the_rows_of_the_last():
    class Restless:
        most, chosen = 4, 0

        def accepts(self):
            return False

        def choose(self):
            self.chosen += 1

    rows, solved = Restless(), []
    assert solve_in_passes([rows], lambda: solved.append(rows.chosen)) == 4
    assert solved == [0, 1, 2, 3] and rows.chosen == 3
    assert solve_in_passes([], lambda: None) == 1
