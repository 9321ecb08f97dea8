"""The values of a field beyond the cells of its grid: what ghosts hold, in the one place where they are filled.

A grid that is one of many pieces has another ``Exchange``, which takes them from its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.grid.grid import GHOSTS, Array, Grid
from undertow.grid.index import strides
from undertow.grid.threads import share

WALL, INFLOW, OUTFLOW, OPEN, PERIODIC = range(5)


class SideSpec(NamedTuple):
    """What kernels need of the sides.

    kind (6,), slip (6,): tangential velocity free (1) or prescribed (0).
    velocity (6, 3, m): prescribed velocity over the padded plane of the side, flattened ``[later axis, earlier axis]``
    where the earlier axis is the lower-numbered of the two in-plane axes.
    """

    kind: np.ndarray
    slip: np.ndarray
    velocity: np.ndarray


class Exchange:
    """Fills the ghosts of fields of one grid by the kinds of its sides, see ``grid/README.md``."""

    def __init__(self, grid: Grid, spec: SideSpec) -> None:
        self.grid, self.spec = grid, spec
        self._work = 2 * GHOSTS * spec.velocity.shape[2] if grid.dimensions == 3 else 0

    def fill(self, field: Array, inflow: float = 0.0, ambient: float = 0.0) -> None:
        """Set all ghosts, and of a face velocity [axis, z, y, x] the prescribed faces on sides too; those of a cell
        field [z, y, x] are mirrored at walls, ``inflow`` and ``ambient`` beyond those sides."""
        planes, rows, _ = self.grid.padded
        # along z after the others: there the edges of planes already filled are read
        passes = [(planes, 0, 2)] if self.grid.dimensions == 2 else [(planes, 0, 2), (rows, 2, 3)]
        for lines, first, last in passes:
            if field.ndim == 4:
                share(_fill_velocity_ghosts, lines, 3 * self._work, self.grid.spec, self.spec, field, first, last)
            else:
                share(
                    _fill_centred_ghosts, lines, self._work, self.grid.spec, self.spec, field, inflow, ambient, first,
                    last,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _fill_velocity_ghosts(spec, sides, u, first_axis, last_axis, start, stop):  # type: ignore[no-untyped-def]
    """Ghosts axis by axis, so that edges and corners follow from the planes already filled.

    start, stop: planes along z, or rows along y for the axis z: lines of ghosts do not leave them.
    """
    n = (spec.nx, spec.ny, spec.nz)
    stride = strides(spec)
    flat = u.reshape(3, u.shape[1] * u.shape[2] * u.shape[3])
    for axis in range(first_axis, last_axis):
        first = 1 if axis == 0 else 0
        second = 1 if axis == 2 else 2
        m1 = n[first] + 2 * GHOSTS
        # a 2D field lives in its middle plane alone
        low = max(start, GHOSTS) if spec.dimensions == 2 else start
        high = min(stop, GHOSTS + 1) if spec.dimensions == 2 else stop
        s, s1, s2 = stride[axis], stride[first], stride[second]
        lo = GHOSTS
        hi = GHOSTS + n[axis]
        for c in range(spec.dimensions):
            for end in range(2):
                side = 2 * axis + end
                kind = sides.kind[side]
                prescribed = kind in (WALL, INFLOW)
                out = 2 * end - 1
                # index at which the value is given or continued, and layers beyond it: the high boundary face of the
                # normal component is itself the first ghost, so two layers remain beyond it
                edge = (hi if c == axis else hi - 1) if end == 1 else lo
                layers = GHOSTS - 1 if c == axis and end == 1 else GHOSTS
                if kind == PERIODIC:
                    edge = hi - 1 if end == 1 else lo
                    layers = GHOSTS
                elif c == axis and prescribed:
                    for b in range(low, high):
                        for a in range(m1):
                            flat[c, a * s1 + b * s2 + edge * s] = sides.velocity[side, c, b * m1 + a]
                for turn in range((high - low) * layers):
                    # the layers of a line of cells one after the other: they lie in the same piece of memory
                    b = low + turn // layers
                    m = 1 + turn % layers
                    # ghost = keep * value + sign * source
                    if kind == PERIODIC:
                        source, sign, keep = edge + out * (m - n[axis]), 1.0, 0.0
                    elif not prescribed:
                        source, sign, keep = edge, 1.0, 0.0
                    elif c == axis:
                        source, sign, keep = edge - out * min(m, n[axis]), -1.0, 2.0
                    elif sides.slip[side] == 1:
                        source, sign, keep = edge - out * min(m - 1, n[axis] - 1), 1.0, 0.0
                    else:
                        source, sign, keep = edge - out * min(m - 1, n[axis] - 1), -1.0, 2.0
                    ghost = edge + out * m
                    for a in range(m1 if keep == 0.0 else 0):
                        p = a * s1 + b * s2
                        flat[c, p + ghost * s] = sign * flat[c, p + source * s]
                    for a in range(m1 if keep != 0.0 else 0):
                        p = a * s1 + b * s2
                        value = keep * sides.velocity[side, c, b * m1 + a]
                        flat[c, p + ghost * s] = value + sign * flat[c, p + source * s]


@njit(cache=True, nogil=True)
def _fill_centred_ghosts(spec, sides, q, inflow, ambient, first_axis, last_axis, start, stop):  # type: ignore[no-untyped-def]
    n = (spec.nx, spec.ny, spec.nz)
    stride = strides(spec)
    flat = q.reshape(q.size)
    for axis in range(first_axis, last_axis):
        first = 1 if axis == 0 else 0
        second = 1 if axis == 2 else 2
        low = max(start, GHOSTS) if spec.dimensions == 2 else start
        high = min(stop, GHOSTS + 1) if spec.dimensions == 2 else stop
        s, s1, s2 = stride[axis], stride[first], stride[second]
        lo = GHOSTS
        hi = GHOSTS + n[axis]
        for b in range(low, high):
            for m in range(1, GHOSTS + 1):
                for end in range(2):
                    kind = sides.kind[2 * axis + end]
                    edge = hi - 1 if end == 1 else lo
                    out = 2 * end - 1
                    ghost = (edge + out * m) * s + b * s2
                    if kind in (INFLOW, OPEN):
                        value = inflow if kind == INFLOW else ambient
                        for a in range(n[first] + 2 * GHOSTS):
                            flat[a * s1 + ghost] = value
                        continue
                    inside = edge
                    if kind == PERIODIC:
                        inside = edge + out * (m - n[axis])
                    elif kind != OUTFLOW:
                        inside = edge - out * min(m - 1, n[axis] - 1)
                    source = inside * s + b * s2
                    for a in range(n[first] + 2 * GHOSTS):
                        flat[a * s1 + ghost] = flat[a * s1 + source]
