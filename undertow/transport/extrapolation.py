"""Extrapolation of a field from where it is known into its surroundings, layer by layer."""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, PERIODIC, Array, Grid, Sides, share, share_face_rows
from undertow.grid.jitting import borrowing, helper
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
        self._known = np.zeros((3, *grid.padded[:2]), dtype=np.int32)

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
        planes, rows, _ = self.grid.padded
        share(
            _mark_layers, planes * rows, self.grid.cell_count, self.grid.spec, self._wraps, valid.view(np.uint8), first,
            self._layer_f[: len(q)], self._known[: len(q)],
        )  # fmt: skip
        self._sweep(q, first, layers)

    def _sweep(self, q: Array, first: int, layers: int) -> None:
        """Layer by layer, what is known being marked."""
        layer, known = self._layer_f[: len(q)], self._known[: len(q)]
        for current in range(1, layers + 1):
            share_face_rows(self.grid, _fill_layer, self._wraps, q, first, current, layer, known)


@helper
def _count_places(n, own, wraps):  # type: ignore[no-untyped-def]
    """Values along an axis: a face field has one more along its own axis unless the last is the first again."""
    return n + 1 if own and not wraps else n


@borrowing
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


@borrowing
def _is_row_done(spec, wraps, known, a, places, j, k):  # type: ignore[no-untyped-def]
    """Whether row (k, j) of component a has nothing left to fill, or nothing beside it to fill it from."""
    here = known[k + GHOSTS, j + GHOSTS]
    if here > 0:
        return here == places
    last_y = _count_places(spec.ny, a == 1, wraps[1]) - 1
    last_z = _count_places(spec.nz, a == 2, wraps[2]) - 1
    low_y = last_y if wraps[1] and j == 0 else j - 1
    high_y = 0 if wraps[1] and j == last_y else j + 1
    low_z = last_z if wraps[2] and k == 0 else k - 1
    high_z = 0 if wraps[2] and k == last_z else k + 1
    beside = known[k + GHOSTS, low_y + GHOSTS] + known[k + GHOSTS, high_y + GHOSTS]
    return beside + known[low_z + GHOSTS, j + GHOSTS] + known[high_z + GHOSTS, j + GHOSTS] == 0


@borrowing
def _mark_reached(layer, k, j, places, current, everywhere, wraps, out):  # type: ignore[no-untyped-def]
    """1 at the unknown values of a row that have a neighbour of an earlier layer; free of branches, on bytes.

    everywhere: at all unknown values, for rows with neighbours across a periodic side.
    """
    here, south, north = layer[k, j], layer[k, j - 1], layer[k, j + 1]
    below, above = layer[k - 1, j], layer[k + 1, j]
    for m in range(places):
        i = m + GHOSTS
        beside = (here[i - 1] < current) | (here[i + 1] < current) | (south[i] < current) | (north[i] < current)
        beside |= (below[i] < current) | (above[i] < current) | everywhere
        out[m] = (here[i] == UNKNOWN) & beside
    if wraps[0]:
        out[0] = here[GHOSTS] == UNKNOWN
        out[places - 1] = here[GHOSTS + places - 1] == UNKNOWN


@njit(cache=True, nogil=True)
def _mark_layers(spec, wraps, valid, first, out_layer, out_known, start, stop):  # type: ignore[no-untyped-def]
    """layer = 0 where valid, UNKNOWN elsewhere and in ghosts; rows of the padded planes, and how many each knows."""
    components = min(out_layer.shape[0], spec.dimensions)
    py, px = out_layer.shape[2], out_layer.shape[3]
    for row in range(start, stop):
        k = row // py
        j = row % py
        for c in range(components):
            a = first + c
            nx = _count_places(spec.nx, a == 0, wraps[0])
            inside = GHOSTS <= k < GHOSTS + _count_places(spec.nz, a == 2, wraps[2])
            inside = inside and GHOSTS <= j < GHOSTS + _count_places(spec.ny, a == 1, wraps[1])
            count = 0
            for i in range(px):
                out_layer[c, k, j, i] = UNKNOWN
            if inside:
                valid_row, layer_row = valid[c, k, j, GHOSTS : GHOSTS + nx], out_layer[c, k, j, GHOSTS : GHOSTS + nx]
                for m in range(nx):
                    layer_row[m] = 0 if valid_row[m] != 0 else UNKNOWN
                    count += valid_row[m] != 0
            out_known[c, k, j] = count


@njit(cache=True, nogil=True)
def _fill_layer(spec, wraps, q, first, current, out_layer, out_known, start, stop):  # type: ignore[no-untyped-def]
    """One sweep: unknown values with neighbours of layers before ``current`` take their mean and that layer.

    It writes ``current`` only where it read UNKNOWN and reads values of layers < current only: sweeping in place is
    safe. Rows that know all their values are passed over, and rows that know none beside such rows: whether a row of
    this layer is counted yet makes no difference to them.
    """
    components = min(q.shape[0], spec.dimensions)
    py, px = q.shape[2], q.shape[3]
    size = q.shape[1] * py * px
    q_flat = q.reshape(q.size)
    layer_flat = out_layer.reshape(q.size)
    n = (spec.nx, spec.ny, spec.nz)
    stride = (1, px, py * px)
    reached = np.empty(px, dtype=np.uint8)
    for row in range(start, stop):
        k = row // (spec.ny + 1)
        j = row % (spec.ny + 1)
        for c in range(components):
            a = first + c
            if j >= _count_places(spec.ny, a == 1, wraps[1]) or k >= _count_places(spec.nz, a == 2, wraps[2]):
                continue
            base = c * size + ((k + GHOSTS) * py + j + GHOSTS) * px + GHOSTS
            places = _count_places(spec.nx, a == 0, wraps[0])
            if _is_row_done(spec, wraps, out_known[c], a, places, j, k):
                continue
            across_y = wraps[1] and (j == 0 or j == _count_places(spec.ny, a == 1, wraps[1]) - 1)
            across_z = wraps[2] and (k == 0 or k == _count_places(spec.nz, a == 2, wraps[2]) - 1)
            everywhere = across_y or across_z
            _mark_reached(out_layer[c], k + GHOSTS, j + GHOSTS, places, np.uint8(current), everywhere, wraps, reached)
            filled = 0
            for i in range(places):
                p = base + i
                if reached[i] == 0:
                    continue
                total, known = 0.0, 0
                for axis in range(spec.dimensions):
                    at = i if axis == 0 else (j if axis == 1 else k)
                    count = _count_places(n[axis], a == axis, wraps[axis])
                    part, found = _add_neighbours(q_flat, layer_flat, p, stride[axis], at, count, wraps[axis], current)
                    total += part
                    known += found
                if known > 0:
                    q_flat[p] = total / known
                    layer_flat[p] = current
                    filled += 1
            out_known[c, k + GHOSTS, j + GHOSTS] += filled
