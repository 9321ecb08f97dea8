"""What lies below a surface of given height, and functions of places given by tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from undertow.geometry.shape import Shape, Surface
from undertow.grid import Array

HeightFunction = Callable[[Array, Array], Array]
"""Height (n,) [m] at x, z (n,) [m]."""

STEP = 1e-6
"""Over which slopes are found, over the extent that is drawn."""


class PlaceTable:
    """Values at the nodes of a grid of places, multilinear between them and constant beyond.

    axes: which of x, y, z the table has, each with its increasing coordinates [m]; values: in the order z, y, x, with
    any further axes behind.
    """

    def __init__(self, axes: Sequence[tuple[int, Sequence[float]]], values: object) -> None:
        self.axes = sorted(axes, reverse=True)
        nodes = [np.array(coordinates, dtype=float) for _, coordinates in self.axes]
        self._ends = [(float(x[0]), float(x[-1])) for x in nodes]
        self._table = RegularGridInterpolator(nodes, np.array(values, dtype=float))

    def __call__(self, points: Array) -> Array:
        """Values (n, ...) at points (n, 3) [m]."""
        inside = [np.clip(points[:, axis], *ends) for (axis, _), ends in zip(self.axes, self._ends, strict=True)]
        return np.asarray(self._table(np.stack(inside, axis=-1)))


class Below(Shape):
    """The half space below y = height(x, z), without end; drawn as a block of sides 2 ``extent``."""

    is_endless = True

    def __init__(self, height: HeightFunction, extent: float = 10.0) -> None:
        self.height, self.extent = height, extent

    def distance(self, points: Array) -> Array:
        """Of first order: exact at the surface, with slope one there; (y - h) / sqrt(1 + |grad h|^2)."""
        x, y, z = points.T
        step = STEP * self.extent
        along = (self.height(x + step, z) - self.height(x - step, z)) / (2.0 * step)
        across = (self.height(x, z + step) - self.height(x, z - step)) / (2.0 * step)
        return np.asarray((y - self.height(x, z)) / np.sqrt(1.0 + along**2 + across**2))

    def bounds(self) -> tuple[Array, Array]:
        return np.full(3, -np.inf), np.full(3, np.inf)

    def thickness(self, dimensions: int = 3) -> float:
        return float(np.inf)

    def volume(self) -> float:
        return float(np.inf)

    def surface(self, resolution: int = 48) -> Surface:
        """A block whose top is the surface."""
        n = resolution + 1
        x, z = np.meshgrid(*[np.linspace(-self.extent, self.extent, n)] * 2)
        top = np.column_stack([x.ravel(), self.height(x.ravel(), z.ravel()), z.ravel()])
        bottom = np.column_stack([x.ravel(), np.full(n * n, top[:, 1].min() - self.extent), z.ravel()])
        row, column = (a.ravel() for a in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
        a, b, c, d = row * n + column, row * n + column + 1, (row + 1) * n + column + 1, (row + 1) * n + column
        lid = np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])
        edge = np.concatenate([np.arange(n - 1), n * np.arange(1, n) - 1, np.arange(n * n - 1, n * (n - 1), -1),
                               n * np.arange(n - 1, 0, -1)])  # fmt: skip
        after = np.roll(edge, -1)
        walls = [np.column_stack([edge, after, after + n * n]), np.column_stack([edge, after + n * n, edge + n * n])]
        return np.concatenate([top, bottom]), np.concatenate([lid, lid[:, ::-1] + n * n, *walls])
