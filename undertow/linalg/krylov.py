"""Conjugate gradients and MINRES, both stopped by the TRUE residual.

Vectors are flat float64; operators and preconditioners are objects with ``apply(x, out)``. Work vectors belong to the
solver object and are allocated once. A solve that does not reach its tolerance raises ``SolveError`` with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from undertow.errors import SolveError
from undertow.grid import Array
from undertow.linalg.vectors import VectorSpace


class Operator(Protocol):
    """A symmetric linear map: ``apply(x, out)`` sets out = A x. A preconditioner is one too, positive definite."""

    def apply(self, x: Array, out: Array) -> None: ...


Preconditioner = Operator


class Identity:
    """The preconditioner that does nothing."""

    def apply(self, x: Array, out: Array) -> None:
        """out = x"""
        out[...] = x


@dataclass
class KrylovStats:
    """What a Krylov solve did; residuals are true ones, ||b - A x||, in the solver's norm."""

    iterations: int
    residual_start: float
    residual: float
    scale: float

    @property
    def relative(self) -> float:
        return self.residual / self.scale if self.scale > 0 else 0.0


class _Krylov:
    """What the two methods share: the norm, the true residual, and how a solve fails."""

    method = ""

    def __init__(self, size: int, ranges: Sequence[tuple[int, int]] | None, vectors: int) -> None:
        self.space = VectorSpace(size, ranges)
        self.work = [np.zeros(size) for _ in range(vectors)]

    def norm(self, r: Array, weight: Array | None) -> float:
        """sqrt(sum of weight r^2), weight 1 when not given."""
        square = self.space.dot(r, r) if weight is None else self.space.weighted_square(r, weight)
        return math.sqrt(square) if square >= 0 else math.nan

    def scales(
        self, b: Array, weight: Array | None, scale: float | None, tolerance: float
    ) -> tuple[float, float]:  # fmt: skip
        """||b||, and what the tolerance is relative to: that, unless it is given."""
        norm = self.norm(b, weight)
        scale = norm if scale is None else scale
        if not (math.isfinite(norm) and math.isfinite(scale)):
            raise self.fail("the right-hand side is not finite", 0, norm, scale, tolerance)
        return norm, scale

    def true_residual(self, a: Operator, b: Array, x: Array, out: Array) -> None:
        """out = b - A x"""
        a.apply(x, out)
        self.space.combine(1.0, b, -1.0, out)

    def fail(self, reason: str, iterations: int, residual: float, scale: float, tolerance: float) -> SolveError:
        """The error of a solve that did not reach its tolerance."""
        relative = residual / scale if scale > 0 else math.nan
        return SolveError(
            f"{self.method}: {reason} after {iterations} iterations: relative residual {relative:.3g}, "
            f"wanted {tolerance:.3g}",
            relative,
        )


class ConjugateGradients(_Krylov):
    """Preconditioned conjugate gradients (Hestenes & Stiefel 1952) for symmetric positive (semi)definite systems."""

    method = "conjugate gradients"

    def __init__(self, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
        super().__init__(size, ranges, 4)

    def solve(
        self, a: Operator, b: Array, x: Array, tolerance: float, max_iterations: int, m: Preconditioner,
        weight: Array | None = None, scale: float | None = None,
    ) -> KrylovStats:  # fmt: skip
        """Solve A x = b to ||b - A x|| <= tolerance scale; x is the first guess on entry, the solution on exit.

        scale: ||b|| unless it is given.
        """
        space = self.space
        r, p, q, z = self.work
        norm, scale = self.scales(b, weight, scale, tolerance)
        if norm == 0.0:
            x[...] = 0.0
            return KrylovStats(0, 0.0, 0.0, 0.0)
        if space.dot(x, x) == 0.0:
            space.combine(1.0, b, 0.0, r)
            residual = start = norm
        else:
            self.true_residual(a, b, x, r)
            residual = start = self.norm(r, weight)
        iterations = 0
        while residual > tolerance * scale:
            before = residual
            m.apply(r, z)
            space.combine(1.0, z, 0.0, p)
            rz = space.dot(r, z)
            while residual > tolerance * scale:
                if iterations == max_iterations:
                    raise self.fail("iteration limit reached", iterations, residual, scale, tolerance)
                a.apply(p, q)
                pq = space.dot(p, q)
                if not (math.isfinite(pq) and math.isfinite(rz)):
                    raise self.fail("not a number", iterations, residual, scale, tolerance)
                if pq <= 0.0 or rz <= 0.0:
                    raise self.fail(
                        f"the operator or its preconditioner is not positive (p.Ap = {pq:.3g}, r.Mr = {rz:.3g})",
                        iterations, residual, scale, tolerance,
                    )  # fmt: skip
                alpha = rz / pq
                square = space.subtract(alpha, q, r)
                residual = math.sqrt(square) if weight is None else self.norm(r, weight)
                iterations += 1
                if residual <= tolerance * scale:
                    space.combine(alpha, p, 1.0, x)
                    break
                m.apply(r, z)
                rz, rz_before = space.dot(r, z), rz
                space.turn(alpha, z, rz / rz_before, p, x)
            self.true_residual(a, b, x, r)
            residual = self.norm(r, weight)
            if not math.isfinite(residual):
                raise self.fail("not a number", iterations, residual, scale, tolerance)
            if not residual < 0.5 * before and residual > tolerance * scale:
                raise self.fail("the true residual no longer falls (round-off)", iterations, residual, scale, tolerance)
        return KrylovStats(iterations, start, residual, scale)

    def improve(
        self, a: Operator, b: Array, x: Array, tolerance: float, iterations: int, m: Preconditioner
    ) -> KrylovStats:  # fmt: skip
        """At most so many iterations from x = 0 towards A x = b, fewer where the residual of the recurrence falls to
        tolerance ||b||: for a caller to whom every one of them is a gain, and none is needed."""
        space = self.space
        r, p, q, z = self.work
        x[...] = 0.0
        space.combine(1.0, b, 0.0, r)
        scale = residual = self.norm(r, None)
        if not math.isfinite(scale):
            raise self.fail("the right-hand side is not finite", 0, scale, scale, tolerance)
        done, rz = 0, 1.0
        p[...] = 0.0
        while residual > tolerance * scale and done < iterations:
            m.apply(r, z)
            rz, rz_before = space.dot(r, z), rz
            space.combine(1.0, z, rz / rz_before if done else 0.0, p)
            a.apply(p, q)
            pq = space.dot(p, q)
            if not (pq > 0.0 and rz > 0.0):
                break
            space.combine(rz / pq, p, 1.0, x)
            residual = math.sqrt(space.subtract(rz / pq, q, r))
            done += 1
        return KrylovStats(done, scale, residual, scale)


class Minres(_Krylov):
    """Preconditioned MINRES (Paige & Saunders 1975; Elman, Silvester & Wathen 2014) for indefinite systems."""

    method = "minres"

    def __init__(self, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
        super().__init__(size, ranges, 9)

    def solve(
        self, a: Operator, b: Array, x: Array, tolerance: float, max_iterations: int, m: Preconditioner,
        weight: Array | None = None, scale: float | None = None,
    ) -> KrylovStats:  # fmt: skip
        """Solve A x = b to ||b - A x|| <= tolerance scale, A symmetric, M positive definite; scale: ||b|| unless given.

        MINRES knows its residual in the norm of M only: when that estimate has fallen far enough the true residual is
        computed, and the iteration goes on (or restarts, once the estimate has nothing left to give) until it is met.
        """
        space = self.space
        true = self.work[8]
        norm, scale = self.scales(b, weight, scale, tolerance)
        if norm == 0.0:
            x[...] = 0.0
            return KrylovStats(0, 0.0, 0.0, 0.0)
        self.true_residual(a, b, x, true)
        residual = start = self.norm(true, weight)
        iterations = 0
        while residual > tolerance * scale:
            before = residual
            v_old, v, v_new, z, z_new, w_old, w, w_new = self.work[:8]
            for vector in (v_old, w_old, w):
                space.combine(0.0, true, 0.0, vector)
            space.combine(1.0, true, 0.0, v)
            m.apply(v, z)
            gamma_old, gamma = 1.0, math.sqrt(max(space.dot(v, z), 0.0))
            if gamma == 0.0:
                raise self.fail(
                    "the preconditioner is not positive (r.Mr <= 0)", iterations, residual, scale, tolerance
                )  # fmt: skip
            eta = first = gamma
            s_old = s = 0.0
            c_old = c = 1.0
            target = tolerance * scale / residual
            while True:
                if not math.isfinite(gamma):
                    raise self.fail("not a number", iterations, residual, scale, tolerance)
                if iterations == max_iterations:
                    raise self.fail("iteration limit reached", iterations, residual, scale, tolerance)
                space.combine(0.0, z, 1.0 / gamma, z)
                a.apply(z, v_new)
                delta = space.dot(v_new, z)
                space.combine(-delta / gamma, v, 1.0, v_new)
                space.combine(-gamma / gamma_old, v_old, 1.0, v_new)
                m.apply(v_new, z_new)
                gamma_new = math.sqrt(max(space.dot(v_new, z_new), 0.0))
                a0 = c * delta - c_old * s * gamma
                a1 = math.hypot(a0, gamma_new)
                a2 = s * delta + c_old * c * gamma
                a3 = s_old * gamma
                if a1 == 0.0:
                    raise self.fail("breakdown", iterations, residual, scale, tolerance)
                c_old, c, s_old, s = c, a0 / a1, s, gamma_new / a1
                # w_new = (z - a3 w_old - a2 w) / a1
                space.combine(1.0, z, 0.0, w_new)
                space.combine(-a3, w_old, 1.0, w_new)
                space.combine(-a2, w, 1.0, w_new)
                space.combine(0.0, w, 1.0 / a1, w_new)
                space.combine(c * eta, w_new, 1.0, x)
                eta = -s * eta
                iterations += 1
                v_old, v, v_new = v, v_new, v_old
                z, z_new = z_new, z
                w_old, w, w_new = w, w_new, w_old
                gamma_old, gamma = gamma, gamma_new
                estimate = abs(eta) / first
                exhausted = estimate < 1e-13 or gamma == 0.0
                if estimate <= target or exhausted:
                    self.true_residual(a, b, x, true)
                    residual = self.norm(true, weight)
                    if residual <= tolerance * scale or exhausted:
                        break
                    target = min(0.5 * target, 0.7 * estimate * tolerance * scale / residual)
            if not residual < 0.5 * before and residual > tolerance * scale:
                raise self.fail("the true residual no longer falls (round-off)", iterations, residual, scale, tolerance)
        return KrylovStats(iterations, start, residual, scale)
