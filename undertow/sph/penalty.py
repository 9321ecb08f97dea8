"""Repulsion by boundary particles, the boundary method that direct forcing is compared with.

    f = m_b / (m_a + m_b) Gamma(r) x / r,    Gamma = 0.02 c^2 / r { 2/3, 2 q - 3/2 q^2, (2 - q)^2 / 2, 0 },    q = r / h

for q up to 2/3, 1, 2 and beyond (Monaghan 2005; Becker and Teschner 2007), with m_a = m_b. The force only acts where a
particle has come near, so distances vary and collisions are elastic by an unknown amount.
"""

from __future__ import annotations

from math import sqrt

from numba import njit, uint64

from undertow.grid import share
from undertow.grid.jitting import inlined
from undertow.sph.fluid import SphFluid

STRENGTH = 0.02


def add_penalty(fluid: SphFluid) -> None:
    """Add the repulsion between fluid and the boundary particles of bodies to the forces of both."""
    n, bodies = fluid.count, len(fluid.body_force)
    args = (fluid.points.spec, fluid.neighbours.spec, fluid.boundary)
    strength = 0.5 * STRENGTH * fluid.sound_speed**2
    share(_push_fluid, n, n, *args, bodies, strength, fluid.smoothing)
    share(_push_bodies, bodies, 64 * bodies, *args, fluid.mass * strength, fluid.smoothing)


@inlined
def _repulsion(strength, r, h):  # type: ignore[no-untyped-def]
    """Gamma(r) / (2 r)."""
    q = r / h
    if q >= 2.0:
        return 0.0
    if q < 2.0 / 3.0:
        shape = 2.0 / 3.0
    elif q < 1.0:
        shape = 2.0 * q - 1.5 * q * q
    else:
        shape = 0.5 * (2.0 - q) * (2.0 - q)
    return strength * shape / max(r * r, 1e-6 * h * h)


@njit(cache=True, nogil=True)
def _push_fluid(points, lists, boundary, bodies, strength, h, start, stop):  # type: ignore[no-untyped-def]
    """Acceleration of the fluid."""
    for i in range(start, stop):
        if points.label[i] < 0:
            continue
        for n in range(uint64(lists.middle[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            if -1 - points.label[j] < bodies:
                dx = points.place[i, 0] - points.place[j, 0]
                dy = points.place[i, 1] - points.place[j, 1]
                dz = points.place[i, 2] - points.place[j, 2]
                f = _repulsion(strength, sqrt(dx * dx + dy * dy + dz * dz), h)
                points.change[i, 0] += f * dx
                points.change[i, 1] += f * dy
                points.change[i, 2] += f * dz


@njit(cache=True, nogil=True)
def _push_bodies(points, lists, boundary, strength, h, start, stop):  # type: ignore[no-untyped-def]
    """Force on the boundary particles."""
    for k in range(start, stop):
        i = boundary.where[k]
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx = points.place[i, 0] - points.place[j, 0]
            dy = points.place[i, 1] - points.place[j, 1]
            dz = points.place[i, 2] - points.place[j, 2]
            f = _repulsion(strength, sqrt(dx * dx + dy * dy + dz * dz), h)
            boundary.force[k, 0] += f * dx
            boundary.force[k, 1] += f * dy
            boundary.force[k, 2] += f * dz
