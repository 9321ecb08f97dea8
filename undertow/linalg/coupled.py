"""The one coupled system: named rows on named velocities.

    w = velocities with block masses B,  K = stacked rows,  P = identity on damping rows, 0 on constraints,  s = targets

    dual      (K B^-1 K^T + P) z = K w* - s,      w = w* - B^-1 K^T z            (Schroeder 2011, eq. 5.30, 5.32)

A damping row block C that is ``folded`` goes into the mass, B + C^T C, instead of having unknowns of its own. If
every row is folded that is the primal solve, otherwise a saddle point; with d = w - w* (so that prescribed velocities
stay exact):

    primal    (B + C^T C) d = C^T (s_C - C w*)
    saddle    [ B + C^T C   K^T ] [ d ]   [ C^T (s_C - C w*) ]
              [     K       -P  ] [ z ] = [    s - K w*      ]

The three are views of the same blocks and give the same w and z. Where inv_mass is 0 a velocity is prescribed (or not
there) and keeps its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from undertow.grid import Array
from undertow.linalg.krylov import ConjugateGradients, KrylovStats, Minres, Preconditioner
from undertow.linalg.null_space import NullSpace
from undertow.linalg.stencil import Stencil
from undertow.linalg.vectors import VectorSpace, add_inertia, invert, multiply, used_planes, used_ranges


@dataclass
class SolveStats:
    """What a solve did.

    residual_start, residual: ||b - A z|| with the first guess and at the end (true residuals), relative: residual /
    ||b||. One row block: the plain 2-norm. Several: entries divided by the root of the operator's diagonal, so that
    rows of different units count alike. regions_singular: null vectors that are constant over regions. incompatibility:
    the part of the right-hand side removed to make it compatible, relative to ||b||. reduction: "dual", "primal" or
    "saddle".
    """

    iterations: int
    residual_start: float
    residual: float
    relative: float
    converged: bool
    regions_singular: int
    incompatibility: float
    reduction: str


class MassBlock(Protocol):
    """Named velocities of shape ``shape`` with masses B; where B^-1 is 0 a velocity is prescribed or inactive.

    inv_mass: B^-1 as row blocks see it when they form their diagonals: of shape ``shape`` where B is diagonal,
    (n, k, k) where velocities (n, k) have dense masses.
    """

    name: str
    inv_mass: Array

    @property
    def shape(self) -> tuple[int, ...]: ...

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = B^-1 force, 0 where prescribed; out may be force."""

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = B v + force where free, 0 where prescribed; out may be v or force."""

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(B) + diagonal where free, 0 where prescribed; returns (B + diagonal)^-1 like ``inv_mass``.

        work: a velocity to use as scratch, perhaps as what is returned.
        """


@dataclass
class VelocityBlock:
    """Velocities with a diagonal mass. inv_mass: shape of the velocity array [1/kg], 0 = prescribed or inactive.

    planar: the velocities of a 2D grid, whose zero parts are skipped.
    """

    name: str
    inv_mass: Array
    planar: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inv_mass.shape

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = B^-1 force, 0 where prescribed; out may be force."""
        m, f, o = self.inv_mass.reshape(-1), force.reshape(-1), out.reshape(-1)
        for low, high in used_ranges(self.shape, planar=self.planar):
            multiply(m[low:high], f[low:high], o[low:high])

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = B v + force where free, 0 where prescribed."""
        m, x, f, o = self.inv_mass.reshape(-1), v.reshape(-1), force.reshape(-1), out.reshape(-1)
        for low, high in used_ranges(self.shape, planar=self.planar):
            add_inertia(m[low:high], x[low:high], f[low:high], o[low:high])

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(B) + diagonal where free, 0 where prescribed; its inverse in ``work``, which is returned."""
        inverse, total, scratch = (used_planes(x) for x in (self.inv_mass, diagonal, work))
        free = inverse > 0
        scratch[...] = 0.0
        np.divide(1.0, inverse, out=scratch, where=free)
        np.multiply(total, free, out=total)
        total += scratch
        np.divide(1.0, total, out=scratch, where=free)
        return work


class DenseBlock:
    """Velocities (n, k) of n bodies with dense masses. inv_mass (n, k, k), symmetric positive semidefinite.

    Directions in the null space of an inverse mass are prescribed. Call ``refresh`` after writing to ``inv_mass``.
    """

    def __init__(self, name: str, inv_mass: Array) -> None:
        self.name, self.inv_mass = name, inv_mass
        self._product = np.zeros((*inv_mass.shape[:2], 1))
        self._second = np.zeros_like(self._product)
        self._mass: Array | None = None
        self._free: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inv_mass.shape[:2]

    def refresh(self) -> None:
        """Take note that ``inv_mass`` has changed."""
        self._mass = self._free = None

    def _masses(self) -> tuple[Array, Array]:
        """B and the projection onto the free directions, both (n, k, k); only the primal and saddle forms need them."""
        if self._mass is None or self._free is None:
            self._mass = np.asarray(np.linalg.pinv(self.inv_mass, hermitian=True), dtype=np.float64)
            self._free = np.asarray(self._mass @ self.inv_mass)
        return self._mass, self._free

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = B^-1 force, 0 where prescribed; out may be force."""
        np.matmul(self.inv_mass, force[:, :, None], out=self._product)
        out[...] = self._product[:, :, 0]

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = B v + force where free, 0 where prescribed; out may be v or force."""
        mass, free = self._masses()
        np.matmul(mass, v[:, :, None], out=self._product)
        np.matmul(free, force[:, :, None], out=self._second)
        np.add(self._product[:, :, 0], self._second[:, :, 0], out=out)

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(B) + diagonal where free, 0 where prescribed; returns (B + diagonal)^-1, (n, k, k)."""
        mass, free = self._masses()
        total = mass + free * diagonal[:, None, :] @ free
        diagonal[...] = np.diagonal(total, axis1=1, axis2=2)
        return np.asarray(np.linalg.pinv(total, hermitian=True), dtype=np.float64)

    def invert_with(self, gram: Array) -> Array:
        """(B + gram)^-1 (n, k, k) for a symmetric gram (n, k, k), on the free directions."""
        mass, free = self._masses()
        total = mass + free @ gram @ np.swapaxes(free, 1, 2)
        return np.asarray(np.linalg.pinv(total, hermitian=True), dtype=np.float64)


class RowBlock(Protocol):
    """Rows K of one kind of physics acting on named velocities; the dual array z of the block has shape ``shape``.

    damping: P = I on these rows (else they are constraints). folded: a damping block that goes into the mass; it then
    also needs ``add_gram`` and ``add_gram_diagonal``. target: s, None = 0. stencil: K B^-1 K^T as a structured
    operator, if it is one. Rows whose stencil is only a part of that may have the whole as an attribute ``operator``.
    """

    name: str
    damping: bool
    folded: bool
    shape: tuple[int, ...]

    @property
    def target(self) -> Array | None: ...

    @property
    def stencil(self) -> Stencil | None: ...

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        """out = K w"""

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """w += K^T z"""

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """out += diag(K B^-1 K^T) for the given inverse masses, each in the form of its block's ``inv_mass``"""


class FoldedRowBlock(RowBlock, Protocol):
    """A row block that can be folded into the mass."""

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out += K^T K w, what the folded rows add to the inertia"""

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        """w += diag(K^T K), the diagonal of it"""


def _views(flat: Array, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Named arrays that share the memory of one flat vector, in order."""
    views, start = {}, 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        views[name] = flat[start:stop].reshape(shape)
        start = stop
    return views


class _BlockPreconditioner:
    """Block-diagonal: a given preconditioner where there is one for the block, else division by the diagonal."""

    def __init__(
        self, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Preconditioner], planar: bool
    ) -> None:
        self.shapes, self.given = shapes, given
        size = sum(int(np.prod(shape)) for shape in shapes.values())
        # the diagonal serves the default preconditioner and the norm of several blocks
        needed = len(shapes) > 1 or not set(shapes) <= set(given)
        self.diagonal = np.zeros(size if needed else 0)
        self.diagonals = _views(self.diagonal, shapes) if needed else {}
        self.inverse = np.zeros(size if not set(shapes) <= set(given) else 0)
        self.ranges: list[tuple[int, int]] = []
        """Used parts of the blocks that are divided by their diagonal."""
        start = 0
        for name, shape in shapes.items():
            if name not in given:
                self.ranges += used_ranges(shape, start, planar)
            start += int(np.prod(shape))

    def setup(self) -> None:
        for low, high in self.ranges:
            invert(self.diagonal[low:high], self.inverse[low:high])

    def apply(self, x: Array, out: Array) -> None:
        start = 0
        for name, shape in self.shapes.items():
            stop = start + int(np.prod(shape))
            if name in self.given:
                self.given[name].apply(x[start:stop].reshape(shape), out[start:stop].reshape(shape))
            start = stop
        for low, high in self.ranges:
            multiply(self.inverse[low:high], x[low:high], out[low:high])


class CoupledSystem:
    """Velocity blocks, row blocks and how to solve them together. Built once; owns all work vectors.

    preconditioners: for the dual unknowns of a row block by its name; for the velocities of a block in the primal and
    saddle forms by the velocity block's name. What has none is divided by its diagonal. planar: fields belong to a 2D
    grid, so that parts which are always zero are skipped.
    """

    def __init__(
        self,
        blocks: Sequence[MassBlock],
        rows: Sequence[RowBlock],
        preconditioners: Mapping[str, Preconditioner] | None = None,
        planar: bool = False,
    ) -> None:
        given = dict(preconditioners or {})
        names = [block.name for block in blocks] + [row.name for row in rows]
        if len(set(names)) != len(names):
            raise ValueError(f"coupled system: block names must be unique, got {names}")
        if unknown := set(given) - set(names):
            raise ValueError(f"coupled system: preconditioners for {sorted(unknown)}, which are no blocks of {names}")
        for row in rows:
            if row.folded and not row.damping:
                raise ValueError(f"coupled system: row block {row.name!r} is a constraint and cannot be folded")
            if row.folded and not (hasattr(row, "add_gram") and hasattr(row, "add_gram_diagonal")):
                raise TypeError(f"coupled system: folded row block {row.name!r} lacks add_gram or add_gram_diagonal")
        self.blocks = list(blocks)
        self.rows = list(rows)
        self.folded = [row for row in rows if row.folded]
        self.dual = [row for row in rows if not row.folded]
        self.reduction = "dual" if not self.folded else "saddle" if self.dual else "primal"

        self.velocity_shapes = {block.name: block.shape for block in blocks}
        self.dual_shapes = {row.name: tuple(row.shape) for row in self.dual}
        velocities = sum(int(np.prod(shape)) for shape in self.velocity_shapes.values())
        duals = sum(int(np.prod(shape)) for shape in self.dual_shapes.values())
        self._spaces = {
            name: VectorSpace(int(np.prod(shape)), used_ranges(shape, planar=planar))
            for name, shape in {**self.velocity_shapes, **self.dual_shapes}.items()
        }
        shapes = dict(self.dual_shapes) if self.reduction == "dual" else {**self.velocity_shapes, **self.dual_shapes}
        self._size = duals if self.reduction == "dual" else velocities + duals
        self._shapes = shapes
        self._b = np.zeros(self._size)
        # one dual block is solved in place in the caller's z: no copy of the solution
        self._in_place = self.reduction == "dual" and len(self.dual) == 1
        self._x = np.zeros(0 if self._in_place else self._size)
        self._preconditioner = _BlockPreconditioner(shapes, given, planar)
        ranges, start = [], 0
        for shape in shapes.values():
            ranges += used_ranges(shape, start, planar)
            start += int(np.prod(shape))
        self._solver = (Minres if self.reduction == "saddle" else ConjugateGradients)(self._size, ranges)
        self._weight = np.zeros(self._size if len(shapes) > 1 else 0)
        self._null = {
            row.name: self._make_null_space(row.name, row.stencil)
            for row in self.dual
            if row.stencil is not None and not row.damping
        }
        structured = self._in_place and not self.dual[0].damping
        self._operator = getattr(self.dual[0], "operator", self.dual[0].stencil) if structured else None
        # velocities that need no work vector: impulses are taken from them in one pass
        self._direct = getattr(self.dual[0], "direct", None) if self._operator is not None else None
        work = {name: shape for name, shape in self.velocity_shapes.items() if name != self._direct}
        self._velocity = _views(np.zeros(sum(int(np.prod(shape)) for shape in work.values())), work)
        self._version = 0

    def solve(
        self, w: Mapping[str, Array], z: Mapping[str, Array], tolerance: float, max_iterations: int = 1000,
        scale: float | None = None, known: bool = False, least: float = 0.0,
    ) -> SolveStats:  # fmt: skip
        """Solve for w and z. w holds w* on entry and w on exit; z the first guess on entry, the solution on exit.

        scale: what the tolerance is relative to, in the place of ||b||; least: at least that. z of folded rows is given
        when asked for. Ghost and inactive entries of z must be zero. known: K w* - s of the dual form is in
        ``right_hand_side`` already.
        Raises PhysicsError when the tolerance is not reached.
        """
        for name, shape in self.velocity_shapes.items():
            if w[name].shape != shape:
                raise ValueError(f"coupled system: velocity {name!r} has shape {w[name].shape}, needs {shape}")
        for row in self.rows:
            if row.folded and row.name not in z:
                continue
            if z[row.name].shape != tuple(row.shape):
                raise ValueError(f"coupled system: dual {row.name!r} has shape {z[row.name].shape}, needs {row.shape}")
        self._refresh()
        self._cut()
        removed, norm = self._build_right_hand_side(w, known)
        x = z[self.dual[0].name].reshape(-1) if self._in_place else self._x
        if not self._in_place:
            self._solver.space.clear(x)
            for row in self.dual:
                self._add(row.name, 1.0, z, _views(x, self._shapes))
        weight = self._weight if self._weight.size else None
        if least > 0.0:
            scale = max(least, self._solver.norm(self._b, weight) if scale is None else scale)
        stats = self._solver.solve(self, self._b, x, tolerance, max_iterations, self._preconditioner, weight, scale)
        for name, null in self._null.items():
            null.remove(self._part(x, name).reshape(-1))
        self._finish(w, z, x)
        return self._statistics(stats, removed, norm)

    # the operator of the chosen reduction -------------------------------------------------------------------------

    def apply(self, x: Array, out: Array) -> None:
        """out = A x for the operator A of the reduction; flat vectors over the blocks in order."""
        if self._operator is not None:
            self._operator.apply(x, out)
        elif self.reduction == "dual":
            self._apply_dual(_views(x, self._shapes), _views(out, self._shapes))
        else:
            self._apply_primal(_views(x, self._shapes), _views(out, self._shapes))

    def _apply_dual(self, z: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out = (K B^-1 K^T + P) z"""
        self._set_impulse(self.dual, z)
        for block in self.blocks:
            block.apply_inverse_mass(self._velocity[block.name], self._velocity[block.name])
        for row in self.dual:
            row.apply(self._velocity, out[row.name])
            if row.damping:
                self._add(row.name, 1.0, z, out)

    def _apply_primal(self, x: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out = [B + C^T C, K^T; K, -P] x with prescribed velocities held; without dual rows just (B + C^T C) x."""
        self._set_impulse((), {})
        for row in self.folded:
            row.add_gram(x, self._velocity)  # type: ignore[attr-defined]
        for row in self.dual:
            row.add_transpose(x[row.name], self._velocity)
        for block in self.blocks:
            block.apply_inertia(x[block.name], self._velocity[block.name], out[block.name])
        for row in self.dual:
            row.apply(x, out[row.name])
            if row.damping:
                self._add(row.name, -1.0, x, out)

    def _add(self, name: str, factor: float, x: Mapping[str, Array], y: Mapping[str, Array]) -> None:
        """y += factor x for the block of that name."""
        self._spaces[name].combine(factor, x[name].reshape(-1), 1.0, y[name].reshape(-1))

    def _set_impulse(self, rows: Sequence[RowBlock], z: Mapping[str, Array]) -> None:
        """Work velocity = sum of K^T z over the rows."""
        for name, v in self._velocity.items():
            self._spaces[name].clear(v.reshape(-1))
        for row in rows:
            row.add_transpose(z[row.name], self._velocity)

    # the pieces of a solve ------------------------------------------------------------------------------------------

    def _part(self, flat: Array, name: str) -> Array:
        return _views(flat, self._shapes)[name]

    def _refresh(self) -> None:
        """Diagonals (for the default preconditioner and the norm) and null spaces of the coefficients of now."""
        p = self._preconditioner
        if p.ranges or self._weight.size:
            self._solver.space.clear(p.diagonal)
            inv_mass = {block.name: block.inv_mass for block in self.blocks}
            if self.reduction != "dual":
                inv_mass = self._fold_diagonals(p.diagonals)
            for row in self.dual:
                row.add_diagonal(inv_mass, p.diagonals[row.name])
                if row.damping:
                    for low, high in self._spaces[row.name].ranges:
                        p.diagonals[row.name].reshape(-1)[low:high] += 1.0
            p.setup()
            for low, high in self._solver.space.ranges if self._weight.size else ():
                invert(p.diagonal[low:high], self._weight[low:high])
        for null in self._null.values():
            if null.outdated:
                null.setup()

    def _cut(self) -> None:
        """Let the solver pass over the rows of a structured block that have no unknowns."""
        stencil = self.dual[0].stencil if self._operator is not None else None
        keeps = self._operator is stencil or getattr(self._operator, "keeps_rows", False)
        if stencil is not None and keeps and stencil.version != self._version:
            self._version, space = stencil.version, self._solver.space
            # the residual goes to preconditioners, some of which read all of it
            space.clear(self._solver.work[0])
            space.cut(np.array(space.ranges) if stencil.overlay.cell.size else stencil.ranges())

    def _make_null_space(self, name: str, stencil: Stencil) -> NullSpace:
        before = list(self._shapes)[: list(self._shapes).index(name)]
        start = sum(int(np.prod(self._shapes[other])) for other in before)
        return NullSpace(stencil, lambda levels: self._apply_levels(name, stencil, levels), start)

    def null_space(self, name: str) -> NullSpace:
        """That of the row block of that name; set up in ``solve`` when the stencil has changed."""
        return self._null[name]

    def _apply_levels(self, name: str, stencil: Stencil, levels: Array) -> Array:
        """A x for the x that has ``levels`` by region in the row block of that name, 0 elsewhere; in a work vector."""
        x, out = self._solver.work[0], self._solver.work[1]
        x[...] = 0.0
        np.take(levels, stencil.label, out=self._part(x, name).reshape(-1), mode="clip")
        if self.reduction == "dual":
            self.apply(x, out)
        else:
            # as K B^-1 K^T has it, which is what the stencil's diagonal can be compared with
            out[...] = 0.0
            row = next(row for row in self.dual if row.name == name)
            self._set_impulse((row,), {name: self._part(x, name)})
            for block in self.blocks:
                block.apply_inverse_mass(self._velocity[block.name], self._velocity[block.name])
            row.apply(self._velocity, self._part(out, name))
        return out

    def _fold_diagonals(self, diagonals: Mapping[str, Array]) -> dict[str, Array]:
        """Diagonal of B + C^T C for the velocities, and its inverse (0 where prescribed) as the blocks form it."""
        for row in self.folded:
            row.add_gram_diagonal(diagonals)  # type: ignore[attr-defined]
        return {
            block.name: block.fold_diagonal(diagonals[block.name], self._velocity[block.name]) for block in self.blocks
        }

    def right_hand_side(self, name: str) -> Array:
        """Where b of the row block of that name is kept: K w - s in the dual form; overwritten by every solve."""
        return self._part(self._b, name)

    def _build_right_hand_side(self, w: Mapping[str, Array], known: bool) -> tuple[float, float]:
        """b of the reduction; returns (norm of what was removed to make it compatible, norm of b before)."""
        b = _views(self._b, self._shapes)
        sign = 1.0 if self.reduction == "dual" else -1.0
        for row in () if known else self.dual:
            row.apply(w, b[row.name])
            if row.target is not None:
                self._add(row.name, -1.0, {row.name: row.target}, b)
            if sign < 0:
                self._spaces[row.name].combine(-1.0, b[row.name].reshape(-1), 0.0, b[row.name].reshape(-1))
        if self.reduction != "dual":
            self._set_impulse((), {})
            for row in self.folded:
                row.add_gram(w, self._velocity)  # type: ignore[attr-defined]
            for v in self._velocity.values():
                np.negative(used_planes(v), out=used_planes(v))
            for row in self.folded:
                if row.target is not None:
                    row.add_transpose(row.target, self._velocity)
            for block in self.blocks:
                b[block.name][...] = 0.0
                block.apply_inertia(b[block.name], self._velocity[block.name], b[block.name])
        if not any(null.count for null in self._null.values()):
            return 0.0, 0.0
        scale = self._solver.norm(self._b, None)
        removed = sum(null.remove(b[name].reshape(-1)) for name, null in self._null.items())
        return float(np.sqrt(removed)), scale

    def _finish(self, w: Mapping[str, Array], z: Mapping[str, Array], x: Array) -> None:
        """w and all z from the solution x."""
        if self.reduction == "dual":
            views = _views(x, self._shapes)
            if not self._in_place:
                self._take_duals(z, views)
            self._set_impulse(self.dual, views)
            for block in self.blocks:
                if block.name == self._direct:
                    row = self.dual[0]
                    row.subtract_impulse(views[row.name], block.inv_mass, w[block.name])  # type: ignore[attr-defined]
                    continue
                v = self._velocity[block.name]
                block.apply_inverse_mass(v, v)
                self._add(block.name, -1.0, self._velocity, w)
            return
        views = _views(x, self._shapes)
        for block in self.blocks:
            self._add(block.name, 1.0, views, w)
        self._take_duals(z, views)
        for row in self.folded:
            if row.name in z:
                row.apply(w, z[row.name])
                if row.target is not None:
                    z[row.name] -= row.target

    def _take_duals(self, z: Mapping[str, Array], views: Mapping[str, Array]) -> None:
        """z of the dual rows from the solution."""
        for row in self.dual:
            self._spaces[row.name].combine(1.0, views[row.name].reshape(-1), 0.0, z[row.name].reshape(-1))

    def _statistics(self, stats: KrylovStats, removed: float, scale: float) -> SolveStats:
        return SolveStats(
            iterations=stats.iterations,
            residual_start=stats.residual_start,
            residual=stats.residual,
            relative=stats.relative,
            converged=True,
            regions_singular=sum(null.count for null in self._null.values()),
            incompatibility=removed / scale if scale > 0 else 0.0,
            reduction=self.reduction,
        )
