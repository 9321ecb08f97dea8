"""Where the zero set of a level set crosses the edges of the cells, to third or fourth order (Schroeder 2011, 6.3.1).

The level set lives at cell centres. Over the two (2D) or four (3D) centres about an edge and the ring of centres next
to them it is interpolated to the nodes, and across an edge to the planes of centres before, at and after it:

    1D   9/16 (2 nearest)  - 1/16 (2 next)          2D   5/16 (4) - 1/32 (8)          3D   11/64 (8) - 1/64 (24)

in d dimensions (8 + d) / 2^(d+3) and -1 / 2^(d+3), exact for cubics. An edge whose nodes have two signs is crossed at
the root theta of a polynomial along it,

    third order    through (0, phi_0), (1/2, phi_1/2), (1, phi_1)
    fourth order   through (-1/2, phi_-1/2), (0, phi_0), (1, phi_1), (3/2, phi_3/2)

found by a bracketed secant method. The two nodes are points of the polynomial, so that there is a root between them.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from undertow.grid import GHOSTS, Array, Grid

NEAR = 2.0
"""Nodes of cells with |phi| of no more than this many cells are interpolated; further away the sign of the cell is that
of its nodes."""
KNOTS = {3: (0.0, 0.5, 1.0), 4: (-0.5, 0.0, 1.0, 1.5)}
"""Where along an edge its polynomial takes its values, by order."""
PASSES = 60
"""Most steps of the secant method, which stops when no bracket changes."""


class EdgeCrossings:
    """Nodes and crossed edges of a level set; arrays of the size of the padded grid are kept from call to call.

    A node has the index of the cell whose lower corner it is, an edge along an axis that of its lower node. One layer
    of ghost cells has nodes and edges too. cell (n,): cells near the surface, flat. inside_n (Z, Y, X): whether phi <=
    0 at a node. theta_e (3, Z, Y, X): where an edge is crossed, from 0 at its lower node to 1; -1 where it is not.
    """

    def __init__(self, grid: Grid, order: int = 4) -> None:
        if order not in KNOTS:
            raise ValueError(f"interface: order = {order}, must be 3 or 4")
        self.grid, self.order = grid, order
        pz, py, px = grid.padded
        self.stride = np.array([1, px, py * px])[: grid.dimensions]
        self.inside_n = np.zeros(grid.padded, dtype=bool)
        self.theta_e = np.full((3, *grid.padded), -1.0)
        self.cell = np.zeros(0, dtype=np.int64)
        self._node_n = np.zeros(grid.padded)
        self._crossed: list[np.ndarray] = [self.cell] * 3
        self._at_node = _stencil(self.stride)
        self._across = [_stencil(np.delete(self.stride, axis)) for axis in grid.axes]

    @property
    def shape(self) -> tuple[slice, ...]:
        """Slices of the cells that are looked at: the interior and one layer of ghosts."""
        return tuple(
            slice(s.start - 1, s.stop + 1) if 2 - at in self.grid.axes else s for at, s in enumerate(self.grid.interior)
        )

    def corners(self, cell: np.ndarray) -> np.ndarray:
        """Flat indices (n, 2^d) of the nodes of cells (n,)."""
        steps = np.array([np.dot(bits, self.stride) for bits in product((0, 1), repeat=len(self.stride))])
        return np.asarray(cell[:, None] + steps)

    def find(self, phi_c: Array) -> None:
        """Signs of nodes and crossings of edges of phi [m], a distance near its zeros, ghosts filled."""
        phi = phi_c.reshape(-1)
        near = np.zeros(self.grid.padded, dtype=bool)
        near[self.shape] = np.abs(phi_c[self.shape]) <= NEAR * self.grid.dx
        self.cell = np.flatnonzero(near)
        nodes = np.unique(self.corners(self.cell))
        np.less_equal(phi_c, 0.0, out=self.inside_n)
        value = self._node_n.reshape(-1)
        value[nodes] = _interpolate(phi, nodes, self._at_node)
        self.inside_n.reshape(-1)[nodes] = value[nodes] <= 0.0
        for axis in self.grid.axes:
            theta = self.theta_e[axis].reshape(-1)
            theta[self._crossed[axis]] = -1.0
            edge = self._crossed[axis] = self._crossed_edges(axis)
            theta[edge] = self._roots(phi, edge, axis)

    def _crossed_edges(self, axis: int) -> np.ndarray:
        """Lower nodes of the edges along an axis, of the cells near the surface, whose nodes have two signs."""
        others = np.delete(self.stride, axis)
        steps = np.array([np.dot(bits, others) for bits in product((0, 1), repeat=len(others))])
        edge = np.unique(self.cell[:, None] + steps)
        inside = self.inside_n.reshape(-1)
        return np.asarray(edge[inside[edge] != inside[edge + self.stride[axis]]])

    def _roots(self, phi: Array, edge: np.ndarray, axis: int) -> Array:
        """theta (n,) of crossed edges (n,)."""
        step, value, across = self.stride[axis], self._node_n.reshape(-1), self._across[axis]
        ends = value[edge], value[edge + step]
        if self.order == 3:
            values = [ends[0], _interpolate(phi, edge, across), ends[1]]
        else:
            values = [_interpolate(phi, edge - step, across), *ends, _interpolate(phi, edge + step, across)]
        return _root_between(KNOTS[self.order], values)

    def middles(self, phi_c: Array, node: np.ndarray, axis: int) -> Array:
        """phi (n,) in the middles of squares normal to an axis, by their lower nodes (n,), up to a positive factor."""
        phi = phi_c.reshape(-1)
        return phi[node] if self.grid.dimensions == 2 else phi[node] + phi[node - self.stride[axis]]

    def points(self, axis: int, edge: np.ndarray) -> Array:
        """Places (n, 3) [m] of the crossings of edges (n,) along an axis; z = 0 in 2D."""
        place = self.grid.index(edge) - float(GHOSTS)
        place[:, axis] += self.theta_e[axis].reshape(-1)[edge]
        place = np.array(self.grid.lower) + self.grid.dx * place
        place[:, self.grid.dimensions :] = 0.0
        return np.asarray(place)


class CentreCrossings:
    """The same on the grid whose nodes are the cell centres: edges are the lines between centres, each through a face,
    and are crossed where phi, linear between them, is 0.

    An edge along an axis has the index of its lower centre, a cell of this grid that of its lowest corner.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        pz, py, px = grid.padded
        self.stride = np.array([1, px, py * px])[: grid.dimensions]
        self.inside_n = np.zeros(grid.padded, dtype=bool)
        self.theta_e = np.full((3, *grid.padded), -1.0)
        self.cell = np.zeros(0, dtype=np.int64)
        self._crossed: list[np.ndarray] = [self.cell] * 3

    def find(self, phi_c: Array) -> None:
        """Crossings of phi [m] between centres of the domain."""
        np.less_equal(phi_c, 0.0, out=self.inside_n)
        inside, phi = self.inside_n, phi_c.reshape(-1)
        shape = tuple(slice(s.start, max(s.stop - 1, s.start + 1)) for s in self.grid.interior)
        all_of, any_of = inside.copy(), inside.copy()
        for axis in self.grid.axes:
            all_of &= np.roll(all_of, -1, axis=2 - axis)
            any_of |= np.roll(any_of, -1, axis=2 - axis)
        crossed = np.zeros(self.grid.padded, dtype=bool)
        crossed[shape] = (any_of & ~all_of)[shape]
        self.cell = np.flatnonzero(crossed)
        for axis in self.grid.axes:
            theta = self.theta_e[axis].reshape(-1)
            theta[self._crossed[axis]] = -1.0
            others = np.delete(self.stride, axis)
            steps = np.array([np.dot(bits, others) for bits in product((0, 1), repeat=len(others))])
            edge = np.unique(self.cell[:, None] + steps)
            flat = inside.reshape(-1)
            edge = self._crossed[axis] = edge[flat[edge] != flat[edge + self.stride[axis]]]
            theta[edge] = phi[edge] / (phi[edge] - phi[edge + self.stride[axis]])

    def middles(self, phi_c: Array, node: np.ndarray, axis: int) -> Array:
        """phi (n,) in the middles of squares normal to an axis, by their lower centres, up to a positive factor."""
        phi, (a, b) = phi_c.reshape(-1), (self.stride[(axis + k) % 3] for k in (1, 2))
        return np.asarray(phi[node] + phi[node + a] + phi[node + b] + phi[node + a + b])

    def points(self, axis: int, edge: np.ndarray) -> Array:
        """Places (n, 3) [m] of the crossings of edges (n,) along an axis; z = 0 in 2D."""
        place = self.grid.index(edge) + (0.5 - GHOSTS)
        place[:, axis] += self.theta_e[axis].reshape(-1)[edge]
        place = np.array(self.grid.lower) + self.grid.dx * place
        place[:, self.grid.dimensions :] = 0.0
        return np.asarray(place)


def _stencil(stride: np.ndarray) -> tuple[np.ndarray, Array]:
    """Steps of the cells about a node, or about an edge across which ``stride`` leads, and their weights."""
    d = len(stride)
    nearest, next_to = (8.0 + d) / 2.0 ** (d + 3), -1.0 / 2.0 ** (d + 3)
    inner = list(product((-1, 0), repeat=d))
    outer = [bits[:a] + (far,) + bits[a + 1 :] for a in range(d) for far in (-2, 1) for bits in inner if bits[a] == 0]
    steps = np.array([np.dot(bits, stride) for bits in (*inner, *outer)])
    return steps, np.array([nearest] * len(inner) + [next_to] * len(outer))


def _interpolate(phi: Array, at: np.ndarray, stencil: tuple[np.ndarray, Array]) -> Array:
    steps, weights = stencil
    return np.asarray(phi[at[:, None] + steps] @ weights)


def _root_between(knots: tuple[float, ...], values: list[Array]) -> Array:
    """Roots (n,) in [0, 1] of polynomials through values (n,) at the knots, of two signs at 0 and 1."""
    coefficient = [np.array(value) for value in values]
    for level in range(1, len(knots)):
        for i in range(len(knots) - 1, level - 1, -1):
            coefficient[i] = (coefficient[i] - coefficient[i - 1]) / (knots[i] - knots[i - level])

    def polynomial(t: Array) -> Array:
        total = coefficient[-1]
        for knot, c in zip(knots[-2::-1], coefficient[-2::-1], strict=True):
            total = total * (t - knot) + c
        return total

    low, high = np.zeros(len(values[0])), np.ones(len(values[0]))
    f_low, f_high = (np.array(values[knots.index(t)]) for t in (0.0, 1.0))
    for _ in range(PASSES):
        change = np.where(f_high == f_low, 1.0, f_high - f_low)
        t = np.clip(low - f_low * (high - low) / change, low, high)
        f = polynomial(t)
        beyond = (f <= 0.0) == (f_high <= 0.0)
        moved = np.where(beyond, high - t, t - low)
        # a bracket end that stays has its value halved (Illinois)
        f_low = np.where(beyond, 0.5 * f_low, f)
        f_high = np.where(beyond, f, 0.5 * f_high)
        low, high = np.where(beyond, low, t), np.where(beyond, t, high)
        if not np.any((moved > 1e-15) & (f != 0.0)):
            break
    return np.asarray(np.where(np.abs(polynomial(low)) < np.abs(polynomial(high)), low, high))
