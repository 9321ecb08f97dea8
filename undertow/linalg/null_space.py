"""Constants over closed regions that no velocity answers to.

A structured row block (pressure) knows its unknowns up to a constant in every region of cells without a Dirichlet part,
unless other velocities feel that constant. With E the indicators e_r of these regions, the null vectors of the whole
operator A are the E c with

    A E c = 0.

Without bodies, or with bodies that no constant pressure moves, every e_r is one. A body or a shell that gives way
between two closed regions feels e_r - e_s, so that the sum of the two alone is null; one that is compressible, or
leads to the outside, leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from undertow.grid import Array
from undertow.linalg.stencil import Stencil, _mark_largest, _remove_means

SINGULAR = 1e-10
"""Constants are null vectors when they are mapped to less than this, relative to the diagonal; sums of them, relative
to what the regions are mapped to one by one."""


class NullSpace:
    """Null vectors of a system among the constants over the closed regions of one structured row block.

    apply(levels, least): A E c for levels c (regions + 1,), flat over all unknowns of the system, without what
    velocities make of impulses below ``least`` by block. rounding(): such impulses that are nothing but rounding, of
    which a light velocity would make much. start: where the block's unknowns begin. count: how many null vectors there
    are. regions: numbers of the closed regions that are none by themselves. gram: e_r^T A e_s of those.
    """

    def __init__(
        self, stencil: Stencil, apply: Callable[[Array, Mapping[str, Array]], Array],
        rounding: Callable[[], Mapping[str, Array]], start: int,
    ) -> None:  # fmt: skip
        self.stencil, self._apply, self._rounding, self._start = stencil, apply, rounding, start
        self._version = -1
        self._each = np.zeros(1, dtype=np.bool_)
        self._cells = np.zeros(1)
        self._mean = np.zeros(1)
        self._sums = np.zeros((0, 0))
        """Null vectors c that are sums over several regions, orthonormal over the cells; (regions, vectors)."""
        self._forget()

    def _forget(self) -> None:
        self.count = 0
        self.regions = np.zeros(0, np.int64)
        self.gram = np.zeros((0, 0))
        self._sums = np.zeros((0, 0))

    @property
    def outdated(self) -> bool:
        return self._version != self.stencil.version

    def setup(self) -> None:
        """For the coefficients of now."""
        stencil = self.stencil
        if stencil.version == 0:
            raise ValueError("null space: the stencil was never set up: call stencil.setup()")
        self._version = stencil.version
        self._forget()
        size = stencil.regions + 1
        self._each = np.zeros(size, dtype=np.bool_)
        self._mean, self._cells = np.zeros(size), np.zeros(size)
        closed = stencil.grounded == 0
        closed[stencil.label[stencil.overlay.cell[stencil.overlay.side < 0]]] = False
        closed[0] = False
        if not closed.any():
            return
        largest = np.zeros(size)
        _mark_largest(stencil.label, stencil.diagonal, largest)
        self._cells = np.bincount(stencil.label, minlength=size).astype(float)
        # levels in no simple ratio: mapped to nothing only if every region is
        levels = np.where(closed, 1.0 + np.modf(0.6180339887498949 * np.arange(size))[0], 0.0)
        if float(np.abs(self._apply(levels, {})).max()) <= SINGULAR * float(largest[closed].min()):
            self._each = closed
        else:
            self._test_regions(closed, largest)
        self.count = int(self._each.sum()) + self._sums.shape[1]

    def _test_regions(self, closed: np.ndarray, largest: Array) -> None:
        """Every region by itself, and sums of those that are no null vectors by themselves."""
        label, start, least = self.stencil.label, self._start, self._rounding()
        found, images, sums = [], [], []
        for region in np.flatnonzero(closed):
            image = self._apply((np.arange(closed.size) == region).astype(float), least)
            felt = np.flatnonzero(np.abs(image) > SINGULAR * largest[region])
            if not felt.size:
                self._each[region] = True
                continue
            own = felt[(felt >= start) & (felt < start + label.size)]
            found.append(region)
            images.append((felt, image[felt]))
            sums.append(np.bincount(label[own - start], image[own], minlength=closed.size))
        if not found:
            return
        self.regions = np.array(found, np.int64)
        self.gram = np.array(sums, dtype=np.float64)[:, self.regions]
        rows = np.unique(np.concatenate([felt for felt, _ in images]))
        felt_by = np.zeros((rows.size, self.regions.size))
        for column, (felt, pushes) in enumerate(images):
            felt_by[np.searchsorted(rows, felt), column] = pushes
        # some may answer by many orders of magnitude more than others
        size = np.linalg.norm(felt_by, axis=0)
        _, value, right = np.linalg.svd(felt_by / size, full_matrices=rows.size < self.regions.size)
        value = np.pad(value, (0, self.regions.size - value.size))
        null = right[value <= SINGULAR * value[0]].T / size[:, None]
        root = np.sqrt(self._cells[self.regions])[:, None]
        self._sums = np.linalg.qr(root * null)[0] / root

    def remove(self, x: Array) -> float:
        """x of the block minus its part in the null space; returns the squared norm of what was removed."""
        if self.count == 0:
            return 0.0
        removed = float(_remove_means(self.stencil.label, self._each, self._cells, x, self._mean))
        if self._sums.size:
            part = self._sums.T @ self.sums(x)
            x -= self.spread(self._sums @ part)
            removed += float(part @ part)
        return removed

    def inverse(self) -> Array:
        """The pseudoinverse of ``gram``: what levels of ``regions`` answer to sums over them."""
        value, vector = np.linalg.eigh(self.gram)
        kept = slice(self._sums.shape[1], None)
        return np.asarray((vector[:, kept] / value[kept]) @ vector[:, kept].T)

    def sums(self, x: Array) -> Array:
        """Sums of a field of the block over each of ``regions``."""
        return np.asarray(np.bincount(self.stencil.label, x.reshape(-1), minlength=self._cells.size)[self.regions])

    def spread(self, level: Array) -> Array:
        """The field with the given levels in ``regions``, flat."""
        levels = np.zeros(self._cells.size)
        levels[self.regions] = level
        return np.asarray(levels[self.stencil.label])
