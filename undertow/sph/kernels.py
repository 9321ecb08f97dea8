"""The smoothing kernel: Wendland's C2 function, one formula in two and three dimensions.

    W(r) = s / R^d (1 - r/R)^4 (4 r/R + 1),    grad W = -20 s / R^(d+2) (1 - r/R)^3 x,    s = 7/pi (2D), 21/(2 pi) (3D)

with support R [@wendland1995]. Neither value nor gradient needs a division by r, and pairs do not clump.

On a lattice the sums of SPH differ from the integrals they stand for by a few percent. Since fluids start as lattices
and stay close to them, value, gradient and viscosity are normalised by their sums over the lattice: a lattice of the
rest spacing then has exactly the rest density, a linear pressure exactly its gradient, a parabolic flow exactly its
viscous force along the axes, and a particle the mass rho0 spacing^d.

Viscosity of a fluid is the same in all directions. The pair force of (5) [@becker2009], weighted by 1 / x^2, has on a
lattice 1.3 (2D 1.15) times the viscosity on the mean over all directions that it has along the axes. Weighted by a
constant in its place it is within 1% (2D 3%), and disorder changes it by 5% at most (record 052).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array

SUPPORT = {2: 2.8, 3: 2.2}
"""Radius of the kernel in spacings of the particles, by dimension: the gradient of a lattice is right within 1%."""

FLAT = 0.05
"""Gradient of the fluid's share, per spacing, that disorder inside the fluid makes."""

_SCALE = {2: 7.0 / np.pi, 3: 21.0 / (2.0 * np.pi)}


class LatticeSums(NamedTuple):
    """Sums over a lattice of spacing 1 divided by their integrals: of W, of the gradient of a linear field, of the
    viscous force in a parabolic flow by (5), and by pairs weighted by 1 / R^2 (even); wall: share of a flat layer of
    boundary particles, one spacing away, in what the half space beyond it adds to the density. surface: tension of a
    flat surface of the lattice where sigma is 1, as half of it lies outside and has no particles; hollow: of
    q (1 - q) x^2, not divided by an integral."""

    value: float
    gradient: float
    viscosity: float
    even: float
    wall: float
    surface: float
    hollow: float


def check_dimensions(dimensions: int) -> None:
    """Two or three."""
    if dimensions not in _SCALE:
        raise UserError(f"dimensions = {dimensions}: SPH is for 2 or 3 dimensions")


def kernel(distance: Array, radius: float, dimensions: int) -> tuple[Array, Array]:
    """W [1/m^d] and the factor D = W'(r)/r [1/m^(d+2)] of the gradient D x at distances [m], without lattice sums."""
    check_dimensions(dimensions)
    q = np.asarray(distance, dtype=float) / radius
    t = np.clip(1.0 - q, 0.0, None)
    scale = _SCALE[dimensions] / radius**dimensions
    return scale * t**4 * (4.0 * q + 1.0), -20.0 * scale / radius**2 * t**3


@cache
def lattice_sums(dimensions: int) -> LatticeSums:
    """The sums over a lattice of spacing 1 with the support of the dimension."""
    check_dimensions(dimensions)
    reach = int(SUPPORT[dimensions]) + 1
    steps = np.arange(-reach, reach + 1, dtype=float)
    x = np.stack(np.meshgrid(*[steps] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    r_sq = np.einsum("ij,ij->i", x, x)
    W, D = kernel(np.sqrt(r_sq), SUPPORT[dimensions], dimensions)
    away = r_sq > 0
    # u = y^2 / 2 along x: the force 2 (d + 2) sum (u_ij x_ij . ) / r^2 D x must be its second derivative, 1
    shear = -(x[:, 1] ** 2) / 2.0 * x[:, 0]
    force = 2.0 * (dimensions + 2.0) * (shear * D * x[:, 0])[away]
    viscosity, even = float(np.sum(force / r_sq[away])), float(np.sum(force)) / SUPPORT[dimensions] ** 2
    layers = [W[x[:, 1] == n].sum() for n in range(1, reach + 1)]
    gradient = float(-(x[:, 0] ** 2 * D).sum())
    return LatticeSums(
        float(W.sum()), gradient, viscosity, even, sum(layers) / layers[0],
        *_surface_sums(x, D / gradient, dimensions),
    )  # fmt: skip


def _surface_sums(x: Array, D: Array, dimensions: int) -> tuple[float, float]:
    """Tension of a flat surface of the lattice x (n, d) of spacing 1 where sigma is 1, and the sum of q (1 - q) x^2.

    s_k, the gradient of the fluid's share in layer k below the surface, lacks the layers beyond it. A pair of layers k
    and l at x pulls along the surface with (s_k + s_l) / 2 q (1 - q) x_0^2 / sum.
    """
    q = np.linalg.norm(x, axis=1) / SUPPORT[dimensions]
    pull = x[:, 0] ** 2 * q * np.clip(1.0 - q, 0.0, None)
    hollow = float(pull.sum())
    reach = int(x[:, 1].max())
    slope = np.array([-float((D * x[:, 1])[x[:, 1] > k].sum()) for k in range(2 * reach + 1)])
    tension = 0.0
    for k in range(2 * reach + 1):
        other = k - x[:, 1].astype(int)
        inside = (other >= 0) & (other <= 2 * reach)
        tension += float((0.5 * (slope[k] + slope[other[inside]]) * pull[inside]).sum()) / hollow
    return tension, hollow


class Numbers(NamedTuple):
    """What the kernels need to know, SI units.

    radius R of the kernel and its inverse; w, g: W = w (1 - q)^4 (4 q + 1) and grad W = g (1 - q)^3 x, lattice sums in
    them; rest: density; stiffness: rho0 c^2 / 7 of Tait's equation; viscous: factor of (v.x) / (near + far x^2),
    2 (d + 2) nu / rho0 with the lattice sum in it; near, far: 0.01 h^2 with h = R / 2, and 1 for the artificial
    viscosity (5); R^2 and 0 for that of a fluid; least: pressure allowed; tension: of the surface / (rho0^2 sums) such
    that it is the factor of m_j q (1 - q) x in the acceleration; flat: gradient [1/m] of the share below which there is
    no surface.
    """

    radius: float
    inv_radius: float
    w: float
    g: float
    rest: float
    stiffness: float
    viscous: float
    near: float
    far: float
    least: float
    tension: float
    flat: float


def make_numbers(
    dimensions: int,
    spacing: float,
    density: float,
    sound_speed: float,
    viscosity: float,
    full: bool = False,
    tension: float = 0.0,
    artificial: bool = False,
) -> Numbers:
    """Numbers of particles ``spacing`` [m] apart; viscosity: kinematic [m2/s]; full: without a free surface; tension:
    of the surface [N/m]; artificial: pairs weighted as in (5)."""
    radius = SUPPORT[dimensions] * spacing
    sums = lattice_sums(dimensions)
    scale = _SCALE[dimensions] / radius**dimensions
    pairs = sums.viscosity if artificial else sums.even
    return Numbers(
        radius=radius,
        inv_radius=1.0 / radius,
        w=scale / sums.value,
        g=-20.0 * scale / radius**2 / sums.gradient,
        rest=density,
        stiffness=density * sound_speed**2 / 7.0,
        viscous=2.0 * (dimensions + 2.0) * viscosity / density * sums.gradient / pairs,
        near=0.01 * (radius / 2.0) ** 2 if artificial else radius**2,
        far=1.0 if artificial else 0.0,
        least=-np.inf if full else 0.0,
        tension=tension / (sums.surface * sums.hollow * density**2 * spacing ** (dimensions + 2)),
        flat=FLAT / spacing,
    )
