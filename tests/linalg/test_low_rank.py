"""Masses under constraints and operators with a term of low rank, against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sparse

from undertow.linalg import ConstrainedInverse, HeldRows, Woodbury


def positive(size, seed):
    """A random symmetric positive definite matrix."""
    a = np.random.default_rng(seed).standard_normal((size, size))
    return a @ a.T + size * np.eye(size)


def allowed(mass, rows):
    """(basis of the velocities that the rows leave, their inverse mass) by a basis of the null space."""
    _, value, right = np.linalg.svd(rows)
    rank = int((value > 1e-10 * value[0]).sum())
    basis = right[rank:].T
    return basis, basis @ np.linalg.inv(basis.T @ mass @ basis) @ basis.T


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("redundant", [False, True])
def test_the_inverse_under_rows_is_that_of_the_velocities_they_leave(form, redundant):
    """N_G = Z (Z^T M Z)^-1 Z^T with Z a basis of G z = 0, in one set of rows or two; redundant and empty rows too."""
    mass, rng = positive(9, 1), np.random.default_rng(2)
    rows = rng.standard_normal((3, 9))
    if redundant:
        rows = np.concatenate([rows, rows[:1] - 2.0 * rows[1:2], np.zeros((1, 9))])
    basis, expected = allowed(mass, rows)
    inverse = np.linalg.inv(mass)
    force = rng.standard_normal(9)
    for parts in ([rows], [rows[2:3], np.delete(rows, 2, axis=0)], [rows[:0], rows]):
        found = ConstrainedInverse(lambda y: inverse @ y, [form(part) for part in parts])
        np.testing.assert_allclose(found.apply(np.eye(9)), expected, atol=1e-12)
        np.testing.assert_allclose(found.apply(force), expected @ force, atol=1e-12)
        # what is left of a velocity is the nearest allowed one in kinetic energy
        nearest = basis @ np.linalg.solve(basis.T @ mass @ basis, basis.T @ mass @ force)
        np.testing.assert_allclose(found.restrict(force), nearest, atol=1e-11)
        assert np.abs(rows @ found.restrict(force)).max() < 1e-11


def test_impulses_change_rows_as_wanted():
    mass, rows = positive(6, 3), np.random.default_rng(4).standard_normal((2, 6))
    across = np.linalg.solve(mass, rows.T)
    wanted = np.array([0.3, -0.7])
    np.testing.assert_allclose(rows @ across @ HeldRows(rows, across, rows @ across).solve(wanted), wanted, rtol=1e-9)


def test_masses_six_decades_apart_are_held_alike():
    mass = np.diag(np.logspace(-3, 3, 6))
    rows = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, -1.0]])
    found = ConstrainedInverse(lambda y: y / np.diagonal(mass)[:, None], [rows]).apply(np.eye(6))
    np.testing.assert_allclose(found, allowed(mass, rows)[1], rtol=1e-9, atol=1e-12)


class Dense:
    """A matrix as what it does to fields (2, 4)."""

    def __init__(self, matrix):
        self.matrix, self.count = matrix, matrix.shape[1]

    def apply(self, x, out):
        out[...] = (self.matrix @ x.reshape(-1)).reshape(out.shape)

    def gather(self, x):
        return self.matrix.T @ x.reshape(-1)

    def add(self, factor, amount, out):
        out += factor * (self.matrix @ amount).reshape(out.shape)


@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e9])
def test_the_formula_of_woodbury_inverts_what_its_base_inverts(strength):
    """With B = A0^-1 it is the inverse of A0 + F N F^T, also of a singular N, however large; for other B as written."""
    a0, rng = positive(8, 5), np.random.default_rng(6)
    f = rng.standard_normal((8, 3))
    half = rng.standard_normal((3, 2))
    n = strength * half @ half.T
    for base in (np.linalg.inv(a0), np.diag(1.0 / np.diagonal(a0))):
        woodbury = Woodbury(Dense(base), (2, 4), planar=False)
        woodbury.setup(Dense(f), np.eye(3))
        woodbury.correct(n)
        s = f.T @ base @ f
        # C without the large number; (I + N S)^-1 has rounding of 1e-16 times its condition
        c = half @ np.linalg.inv(np.eye(2) / strength + half.T @ s @ half) @ half.T
        expected = base - base @ f @ c @ f.T @ base
        rounding = 1e-12 + 1e-17 * strength
        out = np.zeros((2, 4))
        for column, unit in enumerate(np.eye(8)):
            woodbury.apply(unit.reshape(2, 4), out)
            np.testing.assert_allclose(out.reshape(-1), expected[:, column], atol=rounding)
    # fewer columns than before leave nothing of those
    woodbury.setup(Dense(f[:, :1]), n[:1, :1])
    woodbury.apply(np.ones((2, 4)), out)
    b = base @ f[:, 0]
    whole = base @ np.ones(8) - b * (b @ np.ones(8)) * n[0, 0] / (1.0 + n[0, 0] * s[0, 0])
    np.testing.assert_allclose(out.reshape(-1), whole, atol=1e-12)


@pytest.mark.parametrize("strength", [1.0, 1e9])
def test_a_guess_is_improved_for_what_is_given(strength):
    """A z = -F N g: with B = A0^-1 the guess z = 0 becomes the solution, and N (g + F^T z) is what is returned."""
    a0, rng = positive(8, 7), np.random.default_rng(8)
    f, n, given = rng.standard_normal((8, 3)), strength * positive(3, 9), rng.standard_normal(3)
    woodbury = Woodbury(Dense(np.linalg.inv(a0)), (2, 4), planar=False)
    woodbury.setup(Dense(f), n)
    z = np.zeros((2, 4))
    change = woodbury.start(given, z)
    expected = np.linalg.solve(np.linalg.inv(n) + f.T @ np.linalg.inv(a0) @ f, given)
    np.testing.assert_allclose(change, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(z.reshape(-1), -np.linalg.solve(a0, f @ expected), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(woodbury.shown(np.array([0, 2])), woodbury.correction[[0, 2]][:, [0, 2]])
