"""Fields of an SPH fluid at points in space.

    f(x) = sum_j V_j f_j W(|x - x_j|) / sum_j V_j W(|x - x_j|),      V_j = m_j / rho_j

the interpolation of SPH, (1) of Becker et al. 2009 [@becker2009], normalised so that a constant is a constant up to the
surface (Shepard 1968). The density is the number of particles about a point, not their mean: 0 where there are none.
Other fields have no value there: NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from undertow.errors import UserError
from undertow.grid import Array
from undertow.sph.fluid import SphFluid
from undertow.sph.kernels import SUPPORT, kernel, lattice_sums

FIELDS: dict[str, Callable[[SphFluid], Array]] = {
    "velocity": SphFluid.velocities,
    "pressure": SphFluid.pressures,
    "density": SphFluid.densities,
}
"""Fields of the particles by name, in the order of their numbers: (n, 3) [m/s], (n,) [Pa], (n,) [kg/m3]."""


def particle_field(fluid: SphFluid, name: str) -> Array:
    """A field at the particles, (n,) or (n, 3), SI units."""
    if name not in FIELDS:
        raise UserError(f"field {name!r}: an SPH fluid has {', '.join(FIELDS)}")
    return np.array(FIELDS[name](fluid))


def sample_particles(fluid: SphFluid, name: str, points: Array) -> Array:
    """A field at points (n, 3) [m]: (n,) or (n, 3)."""
    values = particle_field(fluid, name)
    if not len(values):
        return np.full((len(points), *values.shape[1:]), 0.0 if name == "density" else np.nan)
    row, j, W = _neighbours(fluid, points)
    if name == "density":
        weight = fluid.mass * W / lattice_sums(fluid.box.dimensions).value
        return _sum_by(row, weight, len(points))
    weight = (fluid.mass / fluid.densities())[j] * W
    total = _sum_by(row, weight, len(points))
    columns = values.reshape(len(values), -1)
    sums = np.stack([_sum_by(row, weight * column[j], len(points)) for column in columns.T], axis=1)
    found = np.divide(sums, total[:, None], out=np.full_like(sums, np.nan), where=total[:, None] > 0.0)
    return found[:, 0] if values.ndim == 1 else found


def wall_pressure(fluid: SphFluid, points: Array) -> Array:
    """Pressure (n,) [Pa] at points (n, 3) [m] of walls: 0 where no particle is near.

    p_w = sum (p_f + rho_f g . (x_w - x_f)) W / sum W (Adami, Hu and Adams 2012, eq. 27), exact at rest.
    """
    pressure, place, density = fluid.pressures(), fluid.positions(), fluid.densities()
    if not len(pressure):
        return np.zeros(len(points))
    row, j, W = _neighbours(fluid, points)
    there = pressure[j] + density[j] * ((points[row] - place[j]) @ fluid.gravity)
    total = _sum_by(row, W, len(points))
    return np.divide(_sum_by(row, W * there, len(points)), total, out=np.zeros(len(points)), where=total > 0.0)


def _neighbours(fluid: SphFluid, points: Array) -> tuple[np.ndarray, np.ndarray, Array]:
    """Pairs of points (their rows) and particles within the support of the kernel, and its values."""
    place, box = fluid.positions(), fluid.box
    dimensions, radius = box.dimensions, SUPPORT[box.dimensions] * box.spacing
    near = cKDTree(place[:, :dimensions]).query_ball_point(points[:, :dimensions], radius, return_sorted=True)
    count = np.array([len(found) for found in near], dtype=np.int64)
    row = np.repeat(np.arange(len(points)), count)
    j = np.concatenate([np.asarray(found, dtype=np.int64) for found in near]) if len(near) else np.zeros(0, np.int64)
    distance = np.linalg.norm(points[row, :dimensions] - place[j, :dimensions], axis=1)
    return row, j, kernel(distance, radius, dimensions)[0]


def _sum_by(row: np.ndarray, weight: Array, count: int) -> Array:
    """Sums (count,) of the weights of every row."""
    return np.asarray(np.bincount(row, weight, count), dtype=float)
