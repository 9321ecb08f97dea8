"""Surface tension of a fluid of particles.

The surface is where the fluid's share of space c = sum V_j W_ij falls; its stress and force, from the gradient of c,

    Pi = sigma |grad c| (E - n n),    n = grad c / |grad c|,    m dv_i/dt = V_i sum_j V_j (Pi_i + Pi_j) grad W_ij

(Lafaurie, Nardone, Scardovelli, Zaleski and Zanetti 1994; Hu and Adams 2006). Forces of a pair are equal and opposite,
so linear momentum is kept; they are not along its line, so angular momentum is not kept exactly. As Pi n = 0, the
neighbours that are missing at the surface make no force of their own.

Of a free surface only the inner half has particles, and these lack neighbours to pull on: sigma is divided by the
tension that a flat surface of the lattice has (``kernels``). The gradient of the pair forces is q (1 - q) x, q = r / R,
as an attraction that falls with the distance of neighbours makes them clump.

Boundary particles count as fluid in c: where fluid meets a wall there is no surface, and a surface meets walls at about
a right angle.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numba import njit, uint64

from undertow.grid import share
from undertow.sph.dynamics import OPTIONS
from undertow.sph.kernels import Numbers
from undertow.sph.neighbours import NeighbourSpec
from undertow.sph.points import PointSpec


class SurfaceTension:
    """Gradients of the fluid's share (n, 4), the last column its size where it is a surface [1/m]."""

    def __init__(self) -> None:
        self._slope = np.zeros((0, 4))

    def add(
        self, numbers: Numbers, points: PointSpec, lists: NeighbourSpec, count: int, ghost: tuple[Any, ...]
    ) -> None:
        """Add the acceleration by surface tension; ghost: points that copy others, and which."""
        if len(self._slope) < len(points.label):
            self._slope = np.zeros((len(points.label), 4))
        share(_measure_slope, count, 64 * count, numbers, points, lists, self._slope)
        self._slope[ghost[0]] = self._slope[ghost[1]]
        share(_add_tension, count, 64 * count, numbers, points, lists, self._slope)


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _measure_slope(numbers, points, lists, out_slope, start, stop):  # type: ignore[no-untyped-def]
    """Unit normal, into the fluid, and size of the gradient of the fluid's share; zero where there is no surface."""
    place, inv = points.place, numbers.inv_radius
    for i in range(start, stop):
        out_slope[i] = 0.0
        if points.label[i] < 0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        gx, gy, gz = 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            t = max(1.0 - sqrt(dx * dx + dy * dy + dz * dz) * inv, 0.0)
            c = place[j, 3] * t * t * t
            gx += c * dx
            gy += c * dy
            gz += c * dz
        c = numbers.g / numbers.rest
        size = abs(c) * sqrt(gx * gx + gy * gy + gz * gz)
        if size > numbers.flat:
            out_slope[i, 0], out_slope[i, 1], out_slope[i, 2] = c * gx / size, c * gy / size, c * gz / size
            out_slope[i, 3] = size


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _add_tension(numbers, points, lists, slope, start, stop):  # type: ignore[no-untyped-def]
    """m dv_i/dt = V_i sum V_j (Pi_i + Pi_j) grad W over fluid, (Pi g) = sigma |grad c| (g - n (n . g))."""
    place, inv = points.place, numbers.inv_radius
    for i in range(start, stop):
        if points.label[i] < 0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        nx, ny, nz, size = slope[i, 0], slope[i, 1], slope[i, 2], slope[i, 3]
        ax, ay, az = 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.middle[i])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            q = sqrt(dx * dx + dy * dy + dz * dz) * inv
            t = place[j, 3] * q * max(1.0 - q, 0.0)
            other = slope[j, 3]
            own = t * size * (nx * dx + ny * dy + nz * dz)
            far = t * other * (slope[j, 0] * dx + slope[j, 1] * dy + slope[j, 2] * dz)
            both = t * (size + other)
            ax += both * dx - own * nx - far * slope[j, 0]
            ay += both * dy - own * ny - far * slope[j, 1]
            az += both * dz - own * nz - far * slope[j, 2]
        # V_i V_j / m_i = m_j / rho0^2; the gradient points to the particle
        points.change[i, 0] -= numbers.tension * ax
        points.change[i, 1] -= numbers.tension * ay
        points.change[i, 2] -= numbers.tension * az
