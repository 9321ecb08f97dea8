"""Extrapolation of a field from where it is known into its surroundings, layer by layer."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from undertow.grid import GHOSTS, PERIODIC, Array, Grid, Sides
from undertow.transport.interpolation import CENTRE, FACES, _check_field

UNKNOWN = np.uint8(255)


class Extrapolation:
    """Fills unknown values with the average of their known neighbours, one layer of cells after the other.

    A neighbour is the next value of the same component along an axis, inside the domain (boundary faces included, and
    across a periodic side when ``sides`` are given); ghosts are neither read nor written. A value of layer l uses the
    layers before it only, so the result does not depend on the order of the sweep nor on the number of threads.
    """

    def __init__(self, grid: Grid, sides: Sides | None = None) -> None:
        self.grid = grid
        wraps = [sides is not None and sides.kind[2 * axis] == PERIODIC for axis in range(3)]
        self._wraps = np.array(wraps, dtype=np.int64)
        self._layer_f = np.empty((3, *grid.padded), dtype=np.uint8)

    def velocity(self, u_f: Array, valid_f: np.ndarray, layers: int) -> None:
        """Fill the faces where ``valid_f`` (3, z, y, x; bool or uint8) is 0, up to ``layers`` faces away, in place."""
        _check_field(self.grid, "u_f", u_f, (3, *self.grid.padded))
        self._fill(u_f, valid_f, FACES, layers)

    def centred(self, q_c: Array, valid_c: np.ndarray, layers: int) -> None:
        """Fill the cells where ``valid_c`` (z, y, x; bool or uint8) is 0, up to ``layers`` cells away, in place."""
        _check_field(self.grid, "q_c", q_c, self.grid.padded)
        self._fill(q_c[None], valid_c[None], CENTRE, layers)

    def _fill(self, q: Array, valid: np.ndarray, first: int, layers: int) -> None:
        if valid.shape != q.shape or valid.dtype.itemsize != 1 or not valid.flags.c_contiguous:
            raise ValueError(
                f"valid: {valid.dtype} of shape {valid.shape}, need a C-contiguous bool or uint8 array of {q.shape}"
            )
        if not 0 <= layers < UNKNOWN:
            raise ValueError(f"layers = {layers}, must lie between 0 and {UNKNOWN - 1}")
        _extrapolate_layers(
            self.grid.spec, self._wraps, q, valid.view(np.uint8), first, layers, self._layer_f[: len(q)]
        )


@njit(cache=True)
def _count_places(n, own, wraps):  # type: ignore[no-untyped-def]
    """Values along an axis: a face field has one more along its own axis unless the last is the first again."""
    return n + 1 if own and not wraps else n


@njit(cache=True)
def _add_neighbours(q, layer, p, stride, at, count, wraps, current):  # type: ignore[no-untyped-def]
    """Sum and number of the two neighbours along one axis that belong to an earlier layer."""
    low = p - stride
    high = p + stride
    if wraps:
        if at == 0:
            low = p + (count - 1) * stride
        if at == count - 1:
            high = p - (count - 1) * stride
    total = 0.0
    known = 0
    if layer[low] < current:
        total += q[low]
        known += 1
    if layer[high] < current:
        total += q[high]
        known += 1
    return total, known


@njit(parallel=True, cache=True)
def _extrapolate_layers(spec, wraps, q, valid, first, layers, out_layer):  # type: ignore[no-untyped-def]
    """layer = 0 where valid, l where filled by sweep l, UNKNOWN elsewhere and in ghosts.

    A sweep writes l only where it read UNKNOWN and reads values of layers < l only: sweeping in place is safe.
    """
    components = min(q.shape[0], spec.dimensions)
    pz, py, px = q.shape[1], q.shape[2], q.shape[3]
    size = pz * py * px
    q_flat = q.reshape(q.size)
    valid_flat = valid.reshape(q.size)
    layer_flat = out_layer.reshape(q.size)
    for row in prange(pz * py):
        k = row // py - GHOSTS
        j = row % py - GHOSTS
        for c in range(components):
            a = first + c
            nx = _count_places(spec.nx, a == 0, wraps[0])
            inside = 0 <= k < _count_places(spec.nz, a == 2, wraps[2])
            inside = inside and 0 <= j < _count_places(spec.ny, a == 1, wraps[1])
            start = c * size + row * px
            for i in range(px):
                known = inside and GHOSTS <= i < GHOSTS + nx and valid_flat[start + i] != 0
                layer_flat[start + i] = 0 if known else UNKNOWN
    for current in range(1, layers + 1):
        for row in prange((spec.nz + 1) * (spec.ny + 1)):
            k = row // (spec.ny + 1)
            j = row % (spec.ny + 1)
            for c in range(components):
                a = first + c
                nx = _count_places(spec.nx, a == 0, wraps[0])
                ny = _count_places(spec.ny, a == 1, wraps[1])
                nz = _count_places(spec.nz, a == 2, wraps[2])
                if j >= ny or k >= nz:
                    continue
                start = c * size + ((k + GHOSTS) * py + j + GHOSTS) * px + GHOSTS
                for i in range(nx):
                    p = start + i
                    if layer_flat[p] != UNKNOWN:
                        continue
                    sum_x, known_x = _add_neighbours(q_flat, layer_flat, p, 1, i, nx, wraps[0], current)
                    sum_y, known_y = _add_neighbours(q_flat, layer_flat, p, px, j, ny, wraps[1], current)
                    sum_z, known_z = 0.0, 0
                    if spec.dimensions == 3:
                        sum_z, known_z = _add_neighbours(q_flat, layer_flat, p, py * px, k, nz, wraps[2], current)
                    known = known_x + known_y + known_z
                    if known > 0:
                        q_flat[p] = (sum_x + sum_y + sum_z) / known
                        layer_flat[p] = current
