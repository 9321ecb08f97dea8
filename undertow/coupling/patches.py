"""Functions of pressure near light bodies: the local answer of the fluid to a body's motion, on a few layers of cells.

z_b solves A0 z = F_b approximately (as many steps of conjugate gradients as there are layers) in the cells within some
layers of the walls of body b, with z = 0 beyond: what the fluid there does when the body moves and all others rest.
y_b = A0 z_b lives on one more layer. Patches of neighbouring bodies overlap.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

from undertow.coupling.walls import BodyWalls
from undertow.grid import GHOSTS, Array, share
from undertow.linalg import Stencil


class Patches:
    """z and y = A0 z of the twist components ``components`` of the bodies ``bodies``, as they are placed now."""

    def __init__(self, stencil: Stencil, walls: BodyWalls) -> None:
        self.stencil, self.walls = stencil, walls
        self.bodies = np.zeros(0, np.int64)
        self.components = np.zeros(0, np.int64)
        self.start = np.zeros(1, np.int64)
        """Where the cells of each body begin, those of its walls first (bodies + 1,)."""
        self.cell = np.zeros(0, np.int64)
        self.z, self.y = np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)
        self._free = np.zeros(0, np.int64)
        self._near = np.zeros((0, 6), np.int32)
        self._mark = np.full(0, -1, np.int32)

    def setup(self, bodies: np.ndarray, components: np.ndarray, layers: np.ndarray) -> None:
        """Grow the patches of bodies (sorted) by ``layers`` (one number each) and solve in them."""
        stencil = self.stencil
        self.bodies, self.components = bodies, components
        if len(self._mark) != stencil.cells:
            self._mark = np.full(stencil.cells, -1, np.int32)
        f, walls = self._take_walls()
        self.start, self._free = np.zeros(len(bodies) + 1, np.int64), np.zeros(len(bodies), np.int64)
        periodic = np.array(stencil.periodic, dtype=np.int64)
        face = stencil.face_f.reshape(-1)
        while not _grow(
            stencil.grid.spec, stencil.diagonal_c.shape[1:], periodic, face, *walls, layers, self._mark, self.start,
            self._free, self.cell, self._near,
        ):  # fmt: skip
            room = max(2 * len(self.cell), 8 * len(f), 1024)
            self.cell, self._near = np.zeros(room, np.int64), np.zeros((room, 6), np.int32)
        shape = (len(self.cell), len(components))
        if self.z.shape != shape:
            self.z, self.y = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        strides = np.array([1, *np.cumprod(stencil.diagonal_c.shape[:0:-1])], dtype=np.int64)
        share(
            _solve, len(bodies), int(self.start[-1]), strides, face, stencil.diagonal, f, walls[1], layers, self.start,
            self._free, self.cell, self._near, self.z, self.y,
        )  # fmt: skip
        self._f, self._wall_start = f, walls[1]

    def _take_walls(self) -> tuple[Array, tuple[np.ndarray, np.ndarray]]:
        """F of the bodies and components, body by body (walls, components), and cells and starts of it."""
        cell, body, f = (array[: self.walls.size] for array in self.walls.spec)
        local = np.full(self.walls.count, -1, np.int64)
        local[self.bodies] = np.arange(len(self.bodies))
        mine = np.flatnonzero(local[body] >= 0)
        order = mine[np.argsort(local[body[mine]], kind="stable")]
        start = np.searchsorted(local[body[order]], np.arange(len(self.bodies) + 1))
        return np.ascontiguousarray(f[order][:, self.components]), (cell[order], start.astype(np.int64))

    def products(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Z^T A0 Z and Z^T F, sparse over (body, component) flat."""
        room, width = 32 * len(self.bodies) + 1, len(self.components)
        following = np.zeros(len(self.cell), np.int32)
        while True:
            pairs = np.zeros((room, 2), np.int64)
            d, t = np.zeros((room, width, width)), np.zeros((room, width, width))
            found = _multiply(
                self.start, self._free, self.cell, self.z, self.y, self._f, self._wall_start, self._mark, following,
                pairs, d, t,
            )  # fmt: skip
            if found <= room:
                break
            room = int(found)
        i, j = pairs[:found, 0], pairs[:found, 1]
        within = np.arange(width)
        row = np.broadcast_to(width * i[:, None, None] + within[:, None], (found, width, width)).reshape(-1)
        column = np.broadcast_to(width * j[:, None, None] + within, (found, width, width)).reshape(-1)
        size = (width * len(self.bodies),) * 2
        gram = sp.csr_matrix((d[:found].reshape(-1), (row, column)), shape=size)
        across = sp.csr_matrix((t[:found].reshape(-1), (row, column)), shape=size)
        if self.walls.has_excess:
            across = across - sp.csr_matrix(self._means() @ self._excess())
        return 0.5 * (gram + gram.T), across

    def _means(self) -> Array:
        """Sum of z over the regions whose walls have less than F (bodies components, regions + 1)."""
        label = self.stencil.label[: self.stencil.cells]
        regions = len(self.walls.cells)
        found = np.zeros((len(self.bodies) * len(self.components), regions))
        for region in np.flatnonzero(np.any(self.walls.excess, axis=(1, 2))):
            found[:, region] = self.gather(self.z, (label == region).astype(np.float64))
        return found

    def _excess(self) -> Array:
        """What F loses by a region of mean 1 (regions + 1, bodies components)."""
        excess = self.walls.excess[:, self.bodies][:, :, self.components] / self.walls.cells[:, None, None]
        return np.asarray(excess.reshape(len(excess), -1))

    def gather(self, f: np.ndarray, x: Array) -> Array:
        """Z^T x or Y^T x (bodies components,), f being ``z`` or ``y``; x flat."""
        out = np.zeros((len(self.bodies), f.shape[1]))
        share(_gather, len(self.bodies), int(self.start[-1]), self.start, self.cell, f, x, out)
        return out.reshape(-1)

    def scatter(self, f: np.ndarray, amount: Array, out: Array) -> None:
        """out += Z amount or Y amount; out flat."""
        _scatter(self.start, self.cell, f, amount.reshape(len(self.bodies), -1), out)


@njit(cache=True)
def _grow(  # type: ignore[no-untyped-def]
    spec, shape, periodic, face, wall_cell, wall_start, layers, mark, out_start, out_free, out_cell, out_near
):
    """Cells of the patches layer by layer, and the places in the patch of the neighbours of all but the last layer.

    False if there is no room. mark: -1 everywhere, before and after.
    """
    n = (spec.nx, spec.ny, spec.nz)
    stride = (1, shape[1], shape[0] * shape[1])
    size = mark.size
    room = len(out_cell)
    total = 0
    for b in range(len(layers)):
        out_start[b] = total
        done = total
        for w in range(wall_start[b], wall_start[b + 1]):
            if total == room:
                break
            out_cell[total] = wall_cell[w]
            mark[wall_cell[w]] = total - out_start[b]
            total += 1
        for _ in range(layers[b]):
            last = total
            for e in range(done, last):
                c = out_cell[e]
                for side in range(6):
                    a = side // 2
                    up = side % 2
                    out_near[e, side] = -1
                    if face[a * size + c + up * stride[a]] <= 0.0:
                        continue
                    at = c // stride[a] % (shape[1 - a] if a < 2 else size) - GHOSTS
                    other = c + stride[a] if up == 1 else c - stride[a]
                    if periodic[a] == 1 and up == 1 and at == n[a] - 1:
                        other -= n[a] * stride[a]
                    if periodic[a] == 1 and up == 0 and at == 0:
                        other += n[a] * stride[a]
                    if mark[other] < 0 and total < room:
                        out_cell[total] = other
                        mark[other] = total - out_start[b]
                        total += 1
                    out_near[e, side] = mark[other]
            done = last
        out_free[b] = done - out_start[b]
        for e in range(out_start[b], total):
            mark[out_cell[e]] = -1
        if total == room:
            return False
    out_start[len(layers)] = total
    return True


@njit(cache=True, nogil=True)
def _solve(  # type: ignore[no-untyped-def]
    stride, face, diagonal, f, wall_start, layers, starts, free, cell, near, out_z, out_y, start, stop
):
    """z: steps of conjugate gradients with the diagonal for A0 z = F within each patch, as many as it has layers."""
    size = diagonal.size
    for b in range(start, stop):
        first, m, whole = starts[b], free[b], starts[b + 1] - starts[b]
        r, p, q, z, y = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(whole)
        for c in range(f.shape[1]):
            z[:] = 0.0
            r[:] = 0.0
            rho = 0.0
            for e in range(wall_start[b + 1] - wall_start[b]):
                r[e] = f[wall_start[b] + e, c]
            for e in range(m):
                p[e] = r[e] / diagonal[cell[first + e]]
                rho += r[e] * p[e]
            for _ in range(layers[b]):
                if rho <= 0.0:
                    break
                product = 0.0
                for e in range(m):
                    at = cell[first + e]
                    total = diagonal[at] * p[e]
                    for side in range(6):
                        other = near[first + e, side]
                        if other >= 0 and other < m:
                            total -= face[side // 2 * size + at + side % 2 * stride[side // 2]] * p[other]
                    q[e] = total
                    product += total * p[e]
                if not product > 1e-12 * rho:
                    # a closed region: a constant is all that is left
                    break
                alpha, before, rho = rho / product, rho, 0.0
                for e in range(m):
                    z[e] += alpha * p[e]
                    r[e] -= alpha * q[e]
                    rho += r[e] * r[e] / diagonal[cell[first + e]]
                for e in range(m):
                    p[e] = r[e] / diagonal[cell[first + e]] + rho / before * p[e]
            y[:] = 0.0
            for e in range(whole):
                out_z[first + e, c] = z[e] if e < m else 0.0
            for e in range(m):
                at = cell[first + e]
                value = np.float64(out_z[first + e, c])
                y[e] += diagonal[at] * value
                for side in range(6):
                    other = near[first + e, side]
                    if other >= 0:
                        y[other] -= face[side // 2 * size + at + side % 2 * stride[side // 2]] * value
            for e in range(whole):
                out_y[first + e, c] = y[e]


@njit(cache=True)
def _multiply(starts, free, cell, z, y, f, wall_start, mark, following, out_pair, out_d, out_t):  # type: ignore[no-untyped-def]
    """Blocks z_i^T y_j and z_i^T F_j of the pairs of patches that share cells; returns how many there are.

    following: what comes after an entry among those of the same cell. mark: -1 everywhere, before and after.
    """
    bodies = len(free)
    owner = np.zeros(starts[bodies], np.int32)
    for b in range(bodies):
        for e in range(starts[b], starts[b + 1]):
            owner[e] = b
            following[e] = mark[cell[e]]
            mark[cell[e]] = e
    slot = np.full(bodies, -1, np.int64)
    found = 0
    for i in range(bodies):
        first = found
        for e in range(starts[i], starts[i] + free[i]):
            other = mark[cell[e]]
            while other >= 0:
                j = owner[other]
                if slot[j] < first:
                    slot[j] = found
                    if found < len(out_pair):
                        out_pair[found, 0], out_pair[found, 1] = i, j
                    found += 1
                at = slot[j]
                if at < len(out_pair):
                    wall = other - starts[j]
                    is_wall = wall < wall_start[j + 1] - wall_start[j]
                    for a in range(z.shape[1]):
                        value = np.float64(z[e, a])
                        for c in range(z.shape[1]):
                            out_d[at, a, c] += value * y[other, c]
                            if is_wall:
                                out_t[at, a, c] += value * f[wall_start[j] + wall, c]
                other = following[other]
    for e in range(starts[bodies]):
        mark[cell[e]] = -1
    return found


@njit(cache=True, nogil=True)
def _gather(starts, cell, f, x, out, start, stop):  # type: ignore[no-untyped-def]
    for b in range(start, stop):
        for e in range(starts[b], starts[b + 1]):
            value = x[cell[e]]
            for c in range(f.shape[1]):
                out[b, c] += value * f[e, c]


@njit(cache=True)
def _scatter(starts, cell, f, amount, out):  # type: ignore[no-untyped-def]
    """Serial: patches overlap."""
    for b in range(len(starts) - 1):
        for e in range(starts[b], starts[b + 1]):
            total = 0.0
            for c in range(f.shape[1]):
                total += f[e, c] * amount[b, c]
            out[cell[e]] += total
