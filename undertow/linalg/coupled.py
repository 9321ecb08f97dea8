"""The one coupled system: named rows on named velocities.

    w = velocities with block masses B,  K = stacked rows,  P = identity on damping rows, 0 on constraints,  s = targets

    dual      (K B^-1 K^T + P) z = K w* - s,      w = w* - B^-1 K^T z             (5.24), (5.30), (5.32); (5.22)

A damping row block C that is ``folded`` goes into the mass, B + C^T C, instead of having unknowns of its own. If
every row is folded that is the primal solve, otherwise a saddle point; with d = w - w* (so that prescribed velocities
stay exact):

    primal    (B + C^T C) d = C^T (s_C - C w*)
    saddle    [ B + C^T C   K^T ] [ d ]   [ C^T (s_C - C w*) ]
              [     K       -P  ] [ z ] = [    s - K w*      ]                                                (5.23)

Which velocities are unknowns can be chosen block by block. With those of some blocks ``kept`` (v) and the others
eliminated (u), the saddle is the symmetric indefinite form of Robinson-Mosher et al. 2008 [@robinsonmosher2008], (16):

    saddle    [ B_v + C^T C             K_v^T           ] [ d ]   [ C^T (s_C - C w*) ]
              [     K_v       - (K_u B_u^-1 K_u^T + P)  ] [ z ] = [    s - K w*      ]

Equation numbers with a dot are those of Schroeder 2011 [@schroeder2011]. All are views of the same blocks and give the
same w and z. Where inv_mass is 0 a velocity is prescribed (or not there) and keeps its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from undertow.grid import Array
from undertow.linalg.krylov import ConjugateGradients, KrylovStats, Minres, Preconditioner
from undertow.linalg.null_space import NullSpace
from undertow.linalg.stencil import Stencil
from undertow.linalg.vectors import VectorSpace, add_inertia, invert, multiply, used_planes, used_ranges

CANCELLED = 1e-9
"""Impulses of a level that are less than this part of those of pressures of both signs are rounding."""


@dataclass
class SolveStats:
    """What a solve did.

    residual_start, residual: ||b - A z|| with the first guess and at the end (true residuals), relative: residual /
    ||b||, or over what a caller's tolerance is of. One row block: the plain 2-norm. Several: entries divided by the
    root of the operator's diagonal, so that rows of different units count alike. passes: of the active sets of
    one-sided rows, this solve being in the last of them. regions_singular: null vectors that are constant over regions.
    incompatibility: the part of the right-hand side removed to make it compatible, relative to ||b||. reduction:
    "dual", "primal" or "saddle". rows: names of the dual rows, which say what the residual is one of.
    """

    iterations: int
    residual_start: float
    residual: float
    relative: float
    converged: bool
    regions_singular: int
    incompatibility: float
    reduction: str
    rows: str = ""
    passes: int = 1


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

    damping: P = I on these rows (else they are constraints). folded: a damping block that goes into the mass, a
    ``FoldedRowBlock``. target: s, None = 0. What more rows can do they say by being one of the types below.
    """

    name: str
    damping: bool
    folded: bool
    shape: tuple[int, ...]

    @property
    def target(self) -> Array | None: ...

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        """out = K w"""

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        """w += K^T z"""


@runtime_checkable
class HasDiagonal(Protocol):
    """Rows that know the diagonal of their operator: those without a preconditioner, or beside other unknowns."""

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        """out += diag(K B^-1 K^T) for the given inverse masses, each in the form of its block's ``inv_mass``"""


@runtime_checkable
class HasRegions(Protocol):
    """Rows whose null vectors, if there are any, are constant over the connected regions of a stencil."""

    def region_stencil(self) -> Stencil:
        """What has the regions, and a diagonal that their images are compared with."""


@runtime_checkable
class ActsOn(Protocol):
    """Rows that say which velocities they act on; others may act on all of them."""

    def velocities(self) -> tuple[str, ...]:
        """Names of the velocity blocks."""


@runtime_checkable
class StructuredRows(RowBlock, HasRegions, Protocol):
    """Rows that eliminate the velocities ``direct``, whose masses are diagonal, by a kernel of their own.

        K B^-1 K^T = K_d B_d^-1 K_d^T + K_o B_o^-1 K_o^T,      d: direct,  o: others

    Used where no other dual rows act on these velocities. ``add_transpose`` must do without them. The other velocities
    give nothing to rows of cells that the stencil leaves out.
    """

    direct: str

    def apply_direct(self, z: Array, out: Array) -> None:
        """out = K_d B_d^-1 K_d^T z"""

    def add_others(self, w: Mapping[str, Array], out: Array) -> None:
        """out += K_o w"""

    def subtract_impulse(self, z: Array, inv_mass: Array, v: Array) -> None:
        """v -= B_d^-1 K_d^T z in one pass over memory, v being the direct velocities."""


@runtime_checkable
class FoldedRowBlock(RowBlock, Protocol):
    """A row block that can be folded into the mass."""

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out += K^T K w, what the folded rows add to the inertia"""

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        """w += diag(K^T K), the diagonal of it"""


class InverseMass:
    """The masses of a velocity block as a preconditioner of its velocities where they are kept: out = B^-1 x."""

    def __init__(self, block: MassBlock) -> None:
        self.block = block

    def apply(self, x: Array, out: Array) -> None:
        """out = B^-1 x"""
        self.block.apply_inverse_mass(x, out)


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

    preconditioners: for the dual unknowns of a row block by its name; for the velocities of a block that is kept by the
    velocity block's name. What has none is divided by its diagonal. planar: fields belong to a 2D grid, so that parts
    which are always zero are skipped. kept: velocity blocks that stay unknowns; None: all of them if rows are folded,
    which act on kept ones alone, else none.
    """

    def __init__(
        self,
        blocks: Sequence[MassBlock],
        rows: Sequence[RowBlock],
        preconditioners: Mapping[str, Preconditioner] | None = None,
        planar: bool = False,
        kept: Sequence[str] | None = None,
    ) -> None:
        given = dict(preconditioners or {})
        names = [block.name for block in blocks] + [row.name for row in rows]
        if len(set(names)) != len(names):
            raise ValueError(f"coupled system: block names must be unique, got {names}")
        if unknown := (set(given) | set(kept or ())) - set(names):
            raise ValueError(
                f"coupled system: preconditioners, or kept velocities, of {sorted(unknown)}, no blocks of {names}"
            )
        self.folded: list[FoldedRowBlock] = []
        self.dual: list[RowBlock] = []
        for row in rows:
            if not row.folded:
                self.dual.append(row)
            elif not row.damping:
                raise ValueError(f"coupled system: row block {row.name!r} is a constraint and cannot be folded")
            elif isinstance(row, FoldedRowBlock):
                self.folded.append(row)
            else:
                raise TypeError(f"coupled system: folded row block {row.name!r} lacks add_gram or add_gram_diagonal")
        self.blocks = list(blocks)
        self.rows = list(rows)
        keeps = {block.name for block in blocks if self.folded} if kept is None else set(kept)
        self._kept = [block for block in blocks if block.name in keeps]
        self._eliminated = [block for block in blocks if block.name not in keeps]
        self.reduction = "dual" if not self._kept else "saddle" if self.dual else "primal"
        self._sign = 1.0 if self.reduction == "dual" else -1.0
        """Of the rows of the duals."""

        self.velocity_shapes = {block.name: block.shape for block in blocks}
        self.dual_shapes = {row.name: tuple(row.shape) for row in self.dual}
        self._spaces = {
            name: VectorSpace(int(np.prod(shape)), used_ranges(shape, planar=planar))
            for name, shape in {**self.velocity_shapes, **self.dual_shapes}.items()
        }
        self._shapes = {**{block.name: block.shape for block in self._kept}, **self.dual_shapes}
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        self._starts = dict(zip(self._shapes, np.cumsum([0, *sizes]).tolist(), strict=False))
        self._size = sum(sizes)
        self._b = np.zeros(self._size)
        # one dual block is solved in place in the caller's z: no copy of the solution
        self._in_place = self.reduction == "dual" and len(self.dual) == 1
        self._x = np.zeros(0 if self._in_place else self._size)
        self._preconditioner = _BlockPreconditioner(self._shapes, given, planar)
        self._ranges = {name: used_ranges(shape, self._starts[name], planar) for name, shape in self._shapes.items()}
        solver = Minres if self.reduction == "saddle" else ConjugateGradients
        self._solver = solver(self._size, [part for parts in self._ranges.values() for part in parts])
        self._weight = np.zeros(self._size if len(self._shapes) > 1 else 0)
        for row in self.dual if self._weight.size or self._preconditioner.ranges else ():
            if not isinstance(row, HasDiagonal):
                raise TypeError(f"coupled system: row block {row.name!r} lacks add_diagonal, which its unknowns need")
        self._null = {
            row.name: self._make_null_space(row, row.region_stencil())
            for row in self.dual
            if isinstance(row, HasRegions) and not row.damping
        }
        self._direct = {row.name: row for row in self.dual if isinstance(row, StructuredRows) and self._is_alone(row)}
        """Rows that eliminate velocities themselves: these need no work vector."""
        direct = {row.direct for row in self._direct.values()}
        work = {name: shape for name, shape in self.velocity_shapes.items() if name not in direct}
        self._velocity = _views(np.zeros(sum(int(np.prod(shape)) for shape in work.values())), work)
        self._versions = [0] * len(self._direct)

    def _is_alone(self, row: StructuredRows) -> bool:
        """Whether the direct velocities of the rows are eliminated and no other dual rows act on them."""
        others = [other for other in self.dual if other is not row]
        return (
            row.direct in {block.name for block in self._eliminated}
            and not row.damping
            and all(isinstance(other, ActsOn) and row.direct not in other.velocities() for other in others)
        )

    def solve(
        self, w: Mapping[str, Array], z: Mapping[str, Array], tolerance: float, max_iterations: int = 1000,
        scale: float | None = None, known: bool = False, least: float = 0.0, most: float | None = None,
    ) -> SolveStats:  # fmt: skip
        """Solve for w and z. w holds w* on entry and w on exit; z the first guess on entry, the solution on exit.

        scale: what the tolerance is relative to, in the place of ||b||; least, most: at least and at most that. z of
        folded rows is given when asked for. Ghost and inactive entries of z must be zero. known: ``right_hand_side``
        has it already.
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
        if most is not None:
            scale = min(most, self._solver.norm(self._b, weight) if scale is None else scale)
        stats = self._solver.solve(self, self._b, x, tolerance, max_iterations, self._preconditioner, weight, scale)
        for name, null in self._null.items():
            null.remove(self._part(x, name).reshape(-1))
        self._finish(w, z, x)
        return self._statistics(stats, removed, norm)

    # the operator of the chosen reduction -------------------------------------------------------------------------

    def apply(self, x: Array, out: Array) -> None:
        """out = A x for the operator A of the reduction; flat vectors over the blocks in order."""
        views, result, work, sign = _views(x, self._shapes), _views(out, self._shapes), self._velocity, self._sign
        self._set_impulse((), {})
        for folded in self.folded:
            folded.add_gram(views, work)
        for row in self.dual:
            row.add_transpose(views[row.name], work)
        for block in self._kept:
            block.apply_inertia(views[block.name], work[block.name], result[block.name])
        self._answer(self._eliminated, sign)
        w = {**work, **{block.name: views[block.name] for block in self._kept}}
        for row in self.dual:
            self._apply_row(row, sign, views[row.name], w, result[row.name])
            if row.damping:
                self._add(row.name, sign, views, result)

    def _answer(self, blocks: Sequence[MassBlock], sign: float) -> None:
        """Work velocities of the blocks, as far as they have any: v <- sign B^-1 v."""
        for block in blocks:
            if block.name in self._velocity:
                v = self._velocity[block.name]
                block.apply_inverse_mass(v, v)
                if sign < 0.0:
                    np.negative(used_planes(v), out=used_planes(v))

    def _apply_row(self, row: RowBlock, sign: float, z: Array, w: Mapping[str, Array], out: Array) -> None:
        """out = K w, the velocities that the rows eliminate themselves being sign B_d^-1 K_d^T z."""
        structured = self._direct.get(row.name)
        if structured is None:
            row.apply(w, out)
            return
        structured.apply_direct(z, out)
        if sign < 0.0:
            np.negative(used_planes(out), out=used_planes(out))
        structured.add_others(w, out)

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
            inv_mass = self._fold_diagonals(p.diagonals)
            for row in self.dual:
                assert isinstance(row, HasDiagonal)
                row.add_diagonal(inv_mass, p.diagonals[row.name])
                if row.damping:
                    for low, high in self._spaces[row.name].ranges:
                        p.diagonals[row.name].reshape(-1)[low:high] += 1.0
            p.setup()
            for low, high in self._solver.space.ranges if self._weight.size else ():
                invert(p.diagonal[low:high], self._weight[low:high])
        self._refresh_null_spaces()

    def _refresh_null_spaces(self) -> None:
        for null in self._null.values():
            if null.outdated:
                null.setup()

    def _cut(self) -> None:
        """Let the solver pass over the rows of structured blocks that have no unknowns."""
        stencils = {name: row.region_stencil() for name, row in self._direct.items()}
        versions = [stencil.version for stencil in stencils.values()]
        if versions == self._versions:
            return
        self._versions, space = versions, self._solver.space
        # the residual goes to preconditioners, some of which read all of it
        space.clear(self._solver.work[0])
        ranges = {name: np.array(parts, dtype=np.int64).reshape(-1, 2) for name, parts in self._ranges.items()}
        for name, stencil in stencils.items():
            if not stencil.overlay.cell.size:
                ranges[name] = stencil.ranges() + self._starts[name]
        space.cut(np.concatenate(list(ranges.values())))

    def _make_null_space(self, row: RowBlock, stencil: Stencil) -> NullSpace:
        return NullSpace(
            stencil, lambda levels, least: self._apply_levels(row, stencil, levels, least),
            lambda: self._rounding_of_levels(row, stencil), self._starts[row.name],
        )  # fmt: skip

    def null_space(self, name: str) -> NullSpace:
        """That of the row block of that name; set up in ``solve`` when the stencil has changed."""
        return self._null[name]

    def _apply_levels(self, row: RowBlock, stencil: Stencil, levels: Array, least: Mapping[str, Array]) -> Array:
        """K B^-1 K^T z for the z that has ``levels`` by region in the row block, 0 elsewhere; in a work vector.
        Impulses K^T z below ``least`` count as none."""
        x, out = self._solver.work[0], self._solver.work[1]
        x[...], out[...] = 0.0, 0.0
        z = self._part(x, row.name)
        np.take(levels, stencil.label, out=z.reshape(-1), mode="clip")
        self._set_impulse((row,), {row.name: z})
        for name, smallest in least.items():
            v = self._velocity[name]
            np.copyto(v, 0.0, where=np.abs(v) <= smallest)
        self._answer(self.blocks, 1.0)
        self._apply_row(row, 1.0, z, self._velocity, self._part(out, row.name))
        return out

    def _rounding_of_levels(self, row: RowBlock, stencil: Stencil) -> dict[str, Array]:
        """What is left of impulses K^T z that cancel, by velocity block: a part of those of a z of both signs."""
        z = self._part(self._solver.work[0], row.name)
        irregular = np.modf(0.6180339887498949 * np.arange(z.size))[0] - 0.5
        z.reshape(-1)[...] = np.where(stencil.label[: z.size] > 0, irregular, 0.0)
        self._set_impulse((row,), {row.name: z})
        return {name: CANCELLED * np.abs(v) for name, v in self._velocity.items()}

    def _fold_diagonals(self, diagonals: Mapping[str, Array]) -> dict[str, Array]:
        """Diagonal of B + C^T C for the kept velocities, and the inverse masses with it (0 where prescribed) as the
        blocks form them."""
        for row in self.folded:
            row.add_gram_diagonal(diagonals)
        inv_mass = {block.name: block.inv_mass for block in self._eliminated}
        for block in self._kept:
            inv_mass[block.name] = block.fold_diagonal(diagonals[block.name], self._velocity[block.name])
        return inv_mass

    def space(self, name: str) -> VectorSpace:
        """Sums and updates of flat vectors of the block of that name."""
        return self._spaces[name]

    def rows_left(self, name: str, w: Mapping[str, Array]) -> Array:
        """K w - s of the dual rows of that name in the cells that have unknowns; where ``right_hand_side`` is."""
        row, out = next(row for row in self.dual if row.name == name), self.right_hand_side(name)
        row.apply(w, out)
        if row.target is not None:
            self._add(name, -1.0, {name: row.target}, {name: out})
        if isinstance(row, HasRegions):
            np.copyto(out.reshape(-1), 0.0, where=row.region_stencil().label == 0)
        return out

    def residual(self, name: str, w: Mapping[str, Array]) -> float:
        """||K w - s|| as ``rows_left`` has it, less what no dual can change, which is taken from there."""
        out = self.rows_left(name, w).reshape(-1)
        self._refresh_null_spaces()
        if name in self._null:
            self._null[name].remove(out)
        return float(np.sqrt(self._spaces[name].dot(out, out)))

    def right_hand_side(self, name: str) -> Array:
        """Where b of the row block of that name is: K w - s in the dual form, else s - K w; every solve changes it."""
        return self._part(self._b, name)

    def _build_right_hand_side(self, w: Mapping[str, Array], known: bool) -> tuple[float, float]:
        """b of the reduction; returns (norm of what was removed to make it compatible, norm of b before)."""
        b = _views(self._b, self._shapes)
        for row in () if known else self.dual:
            row.apply(w, b[row.name])
            if row.target is not None:
                self._add(row.name, -1.0, {row.name: row.target}, b)
            if self._sign < 0:
                self._spaces[row.name].combine(-1.0, b[row.name].reshape(-1), 0.0, b[row.name].reshape(-1))
        if self._kept:
            self._set_impulse((), {})
            for folded in self.folded:
                folded.add_gram(w, self._velocity)
            for v in self._velocity.values():
                np.negative(used_planes(v), out=used_planes(v))
            for folded in self.folded:
                if folded.target is not None:
                    folded.add_transpose(folded.target, self._velocity)
            for block in self._kept:
                b[block.name][...] = 0.0
                block.apply_inertia(b[block.name], self._velocity[block.name], b[block.name])
        if not any(null.count for null in self._null.values()):
            return 0.0, 0.0
        scale = self._solver.norm(self._b, None)
        removed = sum(null.remove(b[name].reshape(-1)) for name, null in self._null.items())
        return float(np.sqrt(removed)), scale

    def _finish(self, w: Mapping[str, Array], z: Mapping[str, Array], x: Array) -> None:
        """w and all z from the solution x."""
        views = _views(x, self._shapes)
        if not self._in_place:
            self._take_duals(z, views)
        for block in self._kept:
            self._add(block.name, 1.0, views, w)
        if self._eliminated:
            self._set_impulse(self.dual, views)
            self._answer(self._eliminated, 1.0)
        for block in self._eliminated:
            if block.name in self._velocity:
                self._add(block.name, -1.0, self._velocity, w)
        for row in self._direct.values():
            inv_mass = next(block.inv_mass for block in self._eliminated if block.name == row.direct)
            row.subtract_impulse(views[row.name], inv_mass, w[row.direct])
        for folded in self.folded:
            if folded.name in z:
                folded.apply(w, z[folded.name])
                if folded.target is not None:
                    z[folded.name] -= folded.target

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
            rows=" ".join(row.name for row in self.dual),
        )
