"""An incompressible fluid of particles: the pressure that keeps the density, solved for in every step.

IISPH (Ihmsen, Cornelis, Solenthaler, Horvath and Teschner 2014): with k = p / rho^2 and the velocity v* of all other
forces the pressure acceleration and the density it leads to are

    a_i(k) = -sum_j m_j (k_i + k_j) grad W_ij
    rho_i* = rho_i + dt sum_j m_j (v_i* + dt a_i - v_j* - dt a_j) . grad W_ij   =   rho0,   k >= 0

solved by relaxed Jacobi sweeps that start from half the last pressure, with the diagonal

    dt^2 (|sum_j m_j grad W_ij|^2 + sum_j m_i m_j |grad W_ij|^2)

Boundary particles have the pressure extrapolated from the fluid in every sweep. Neighbours, boundaries, viscosity and
direct forcing are those of the weakly compressible fluid; there is no sound, so steps are limited by motion alone.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import njit, uint64

from undertow.errors import PhysicsError
from undertow.grid import share
from undertow.sph.dynamics import OPTIONS, _extrapolate_fluid, _sum_forces, _sum_reactions
from undertow.sph.fluid import FORCE_CFL, SphFluid
from undertow.sph.settings import SphSettings
from undertow.sph.sides import SphBox

RELAXATION = 0.5
TOLERANCE = 1e-3
"""Mean density above the rest density at which the sweeps stop, relative."""
LEAST_SWEEPS, MOST_SWEEPS = 2, 100
MOTION_CFL = 0.25
"""dt <= 0.25 spacing / v."""


class ImplicitFluid(SphFluid):
    """An incompressible fluid; ``sweeps``, ``density_error`` and ``unconverged``, whether the solve stopped at its
    limit, are those of the last step."""

    def __init__(self, box: SphBox, settings: SphSettings) -> None:
        super().__init__(box, settings)
        self.sweeps = 0
        self.density_error = 0.0
        self.unconverged = False
        self._resize()

    def _resize(self) -> None:
        room = len(self.points.spec.label)
        self._push, self._other, self._ahead = np.zeros((room, 3)), np.zeros((room, 3)), np.zeros((room, 3))
        self._diagonal, self._excess = np.zeros(room), np.zeros(room)

    def limits(self) -> dict[str, float]:
        """Longest step by each rule [s]: no sound."""
        h, totals = self.smoothing, self.totals
        found = {}
        if totals.speed > 0:
            found["motion"] = MOTION_CFL * self.spacing / totals.speed
        strongest = max(totals.acceleration, float(np.linalg.norm(self.gravity)))
        if strongest > 0:
            found["force"] = FORCE_CFL * sqrt(h / strongest)
        return found | self._explicit_limits()

    def accelerate(self, dt: float) -> None:
        """Forces of a step of dt [s], with the pressure that keeps the density."""
        n, spec, lists, boundary = self.count, self.points.spec, self.neighbours.spec, self.boundary
        if len(self._diagonal) < len(spec.label):
            self._resize()
        wide = 64 * n
        share(_measure_rows, n, wide, self.numbers, spec, lists, self._diagonal)
        self._update_ghosts()
        share(_extrapolate_fluid, n, wide, self.numbers, spec, lists, boundary, self.gravity)
        share(_sum_forces, n, wide, self.numbers, spec, lists, boundary, self.gravity)
        self._contract()
        share(_sum_pressure, n, wide, self.numbers, spec, lists, self._push)
        self._other[:n] = spec.change[:n, :3] - self._push[:n]
        for sweep in range(MOST_SWEEPS):
            self._predict(dt)
            share(
                _relax_pressure, n, wide, self.numbers, spec, lists, self._ahead, self._diagonal, dt, self._excess,
            )  # fmt: skip
            self._update_ghosts()
            share(_extrapolate_fluid, n, wide, self.numbers, spec, lists, boundary, self.gravity)
            share(_sum_pressure, n, wide, self.numbers, spec, lists, self._push)
            self.sweeps = sweep + 1
            self.density_error = float(self._excess[:n].sum()) / max(self.totals.particles, 1)
            if not np.isfinite(self.density_error):
                raise PhysicsError("sph: the pressure solve has failed; lower time.max_step")
            self.unconverged = self.density_error >= TOLERANCE
            if not self.unconverged and self.sweeps >= LEAST_SWEEPS:
                break
        spec.change[:n, :3] = self._other[:n] + self._push[:n]
        bodies = self._body_points
        share(_sum_reactions, bodies, 64 * bodies, self.numbers, spec, lists, boundary)

    def _predict(self, dt: float) -> None:
        """Velocities at the end of the step, of fluid, walls and ghosts."""
        n = self.count
        self._ahead[:n] = self.points.spec.motion[:n, :3] + dt * (self._other[:n] + self._push[:n])
        self._ahead[self.boundary.where] = self.boundary.velocity
        index, source, _ = self._ghost
        self._ahead[index] = self._ahead[source]


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _measure_rows(numbers, points, lists, out_diagonal, start, stop):  # type: ignore[no-untyped-def]
    """Density, diagonal / dt^2, and half the last pressure to start from."""
    place, inv = points.place, numbers.inv_radius
    for i in range(start, stop):
        out_diagonal[i] = 0.0
        if points.label[i] < 0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        total, gx, gy, gz, squares = place[i, 3], 0.0, 0.0, 0.0, 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            m = place[j, 3]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            r_sq = dx * dx + dy * dy + dz * dz
            q = sqrt(r_sq) * inv
            t = max(1.0 - q, 0.0)
            slope = t * t * t
            total += m * t * slope * (4.0 * q + 1.0)
            gx += m * slope * dx
            gy += m * slope * dy
            gz += m * slope * dz
            if n < lists.middle[i]:
                squares += m * slope * slope * r_sq
        points.change[i, 3] = numbers.w * total
        out_diagonal[i] = numbers.g * numbers.g * (gx * gx + gy * gy + gz * gz + place[i, 3] * squares)
        points.motion[i, 3] *= 0.5


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _sum_pressure(numbers, points, lists, out_push, start, stop):  # type: ignore[no-untyped-def]
    """Acceleration by pressure, -sum m_j (k_i + k_j) grad W."""
    place, motion, inv = points.place, points.motion, numbers.inv_radius
    for i in range(start, stop):
        ax, ay, az = 0.0, 0.0, 0.0
        if points.label[i] >= 0:
            x, y, z, k = place[i, 0], place[i, 1], place[i, 2], motion[i, 3]
            for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
                j = lists.listed[n]
                dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
                t = max(1.0 - sqrt(dx * dx + dy * dy + dz * dz) * inv, 0.0)
                c = place[j, 3] * t * t * t * (k + motion[j, 3])
                ax += c * dx
                ay += c * dy
                az += c * dz
        out_push[i, 0], out_push[i, 1], out_push[i, 2] = -numbers.g * ax, -numbers.g * ay, -numbers.g * az


@njit(cache=True, nogil=True, fastmath=OPTIONS, error_model="numpy")
def _relax_pressure(numbers, points, lists, ahead, diagonal, dt, out_excess, start, stop):  # type: ignore[no-untyped-def]
    """One sweep: k_i += omega (rho_i* - rho0) / diagonal, not negative; out_excess: density above rest, relative."""
    place, inv = points.place, numbers.inv_radius
    for i in range(start, stop):
        out_excess[i] = 0.0
        if points.label[i] < 0 or diagonal[i] == 0.0:
            continue
        x, y, z = place[i, 0], place[i, 1], place[i, 2]
        u, v, w = ahead[i, 0], ahead[i, 1], ahead[i, 2]
        rate = 0.0
        for n in range(uint64(lists.starts[i]), uint64(lists.starts[i + 1])):
            j = lists.listed[n]
            dx, dy, dz = x - place[j, 0], y - place[j, 1], z - place[j, 2]
            t = max(1.0 - sqrt(dx * dx + dy * dy + dz * dz) * inv, 0.0)
            s = (u - ahead[j, 0]) * dx + (v - ahead[j, 1]) * dy + (w - ahead[j, 2]) * dz
            rate += place[j, 3] * t * t * t * s
        excess = points.change[i, 3] + dt * numbers.g * rate - numbers.rest
        k = points.motion[i, 3] + RELAXATION * excess / (dt * dt * diagonal[i])
        points.motion[i, 3] = max(k, 0.0)
        if k > 0.0:
            out_excess[i] = abs(excess) / numbers.rest
