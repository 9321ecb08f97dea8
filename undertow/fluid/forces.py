"""Body forces on the face velocities: uniform acceleration, smoke buoyancy, vorticity confinement."""

from __future__ import annotations

import numpy as np
from numba import njit

from undertow.fluid.domain import wrap
from undertow.grid import GHOSTS, Array, Grid, row_of_cells, row_of_faces, share_face_rows, share_rows, unit_step
from undertow.linalg import used_planes


def add_acceleration(grid: Grid, acceleration: tuple[float, float, float], dt: float, u_f: Array) -> None:
    """u += dt a on every face; prescribed faces are restored by the sides."""
    for axis in grid.axes:
        if acceleration[axis] != 0.0:
            used_planes(u_f[axis])[...] += dt * acceleration[axis]


def add_buoyancy(
    grid: Grid,
    smoke_c: Array,
    temperature_c: Array,
    up: tuple[float, float, float],
    buoyancy_density: float,
    buoyancy_temperature: float,
    ambient_temperature: float,
    dt: float,
    u_f: Array,
) -> None:
    """u += dt up (-alpha s + beta (T - T_ambient)), s and T averaged to the face (Fedkiw, Stam and Jensen 2001)."""
    scaled = (up[0] * dt, up[1] * dt, up[2] * dt)
    share_face_rows(
        grid,
        _add_buoyancy,
        smoke_c,
        temperature_c,
        scaled,
        buoyancy_density,
        buoyancy_temperature,
        ambient_temperature,
        u_f,
    )


@njit(cache=True, nogil=True)
def _add_buoyancy(spec, s, t, scaled, alpha, beta, ambient, u, start, stop):  # type: ignore[no-untyped-def]
    # both boundary faces too: they are unknowns where a side is open, and restored by the sides where it is not
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(spec.dimensions):
            if scaled[a] == 0.0 or (j == GHOSTS + spec.ny and a != 1) or (k == GHOSTS + spec.nz and a != 2):
                continue
            kl, jl, dx = k - int(a == 2), j - int(a == 1), int(a == 0)
            for i in range(GHOSTS, GHOSTS + spec.nx + dx):
                smoke = 0.5 * (s[k, j, i] + s[kl, jl, i - dx])
                heat = 0.5 * (t[k, j, i] + t[kl, jl, i - dx]) - ambient
                u[a, k, j, i] += scaled[a] * (beta * heat - alpha * smoke)


class VorticityConfinement:
    """f = epsilon h (N x omega), N = grad |omega| / |grad |omega|| [m/s^2] (Fedkiw, Stam and Jensen 2001, eq. 11)."""

    def __init__(self, grid: Grid, periodic: np.ndarray, epsilon: float, scratch_f: Array, scratch_c: Array) -> None:
        self.grid = grid
        self.periodic = periodic
        self.epsilon = epsilon
        self.vorticity_c = scratch_f
        self.magnitude_c = scratch_c

    def add(self, dt: float, u_f: Array) -> None:
        """u += dt f, f averaged from the cells to the faces; u has its ghosts filled."""
        share_rows(self.grid, _compute_vorticity, u_f, self.vorticity_c, self.magnitude_c)
        share_rows(self.grid, _turn_to_force, self.periodic, self.magnitude_c, self.vorticity_c)
        share_rows(self.grid, _add_cell_force, self.periodic, self.vorticity_c, dt * self.epsilon * self.grid.dx, u_f)


@njit(cache=True)
def _slope(spec, u, c, b, k, j, i):  # type: ignore[no-untyped-def]
    """Central difference of velocity component c along b at a cell centre, c averaged from its two faces."""
    bz, by, bx = unit_step(b)
    cz, cy, cx = unit_step(c)
    hi = u[c, k + bz, j + by, i + bx] + u[c, k + bz + cz, j + by + cy, i + bx + cx]
    lo = u[c, k - bz, j - by, i - bx] + u[c, k - bz + cz, j - by + cy, i - bx + cx]
    return 0.25 * (hi - lo) / spec.dx


@njit(cache=True, nogil=True)
def _compute_vorticity(spec, u, out_vorticity, out_magnitude, start, stop):  # type: ignore[no-untyped-def]
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for i in range(GHOSTS, GHOSTS + spec.nx):
            square = 0.0
            for a in range(3):
                w = 0.0
                if spec.dimensions == 3 or a == 2:
                    b, c = (a + 1) % 3, (a + 2) % 3
                    w = _slope(spec, u, c, b, k, j, i) - _slope(spec, u, b, c, k, j, i)
                out_vorticity[a, k, j, i] = w
                square += w * w
            out_magnitude[k, j, i] = np.sqrt(square)


@njit(cache=True)
def _inside(i, n, periodic):  # type: ignore[no-untyped-def]
    """Index i wrapped into a periodic axis, or held at the ends of another."""
    if periodic == 1:
        return wrap(i, n, periodic)
    return min(max(i, GHOSTS), GHOSTS + n - 1)


@njit(cache=True, nogil=True)
def _turn_to_force(spec, periodic, m, w, start, stop):  # type: ignore[no-untyped-def]
    """omega -> N x omega in place; |omega| is taken as constant beyond the sides."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        kp, km = _inside(k + 1, spec.nz, periodic[2]), _inside(k - 1, spec.nz, periodic[2])
        jp, jm = _inside(j + 1, spec.ny, periodic[1]), _inside(j - 1, spec.ny, periodic[1])
        for i in range(GHOSTS, GHOSTS + spec.nx):
            gx = m[k, j, _inside(i + 1, spec.nx, periodic[0])] - m[k, j, _inside(i - 1, spec.nx, periodic[0])]
            gy = m[k, jp, i] - m[k, jm, i]
            gz = m[kp, j, i] - m[km, j, i]
            inv = 1.0 / (np.sqrt(gx * gx + gy * gy + gz * gz) + 1e-12)
            wx, wy, wz = w[0, k, j, i], w[1, k, j, i], w[2, k, j, i]
            w[0, k, j, i] = (gy * wz - gz * wy) * inv
            w[1, k, j, i] = (gz * wx - gx * wz) * inv
            w[2, k, j, i] = (gx * wy - gy * wx) * inv


@njit(cache=True, nogil=True)
def _add_cell_force(spec, periodic, force, scale, u, start, stop):  # type: ignore[no-untyped-def]
    """u += scale times the mean of the two cells' force, on faces between two cells."""
    for row in range(start, stop):
        k, j = row_of_cells(spec, row)
        for a in range(spec.dimensions):
            if periodic[a] == 0 and (a == 1 and j == GHOSTS or a == 2 and k == GHOSTS):
                continue
            kl = _inside(k - int(a == 2), spec.nz, periodic[2])
            jl = _inside(j - int(a == 1), spec.ny, periodic[1])
            for i in range(GHOSTS + (int(a == 0) if periodic[0] == 0 else 0), GHOSTS + spec.nx):
                il = _inside(i - int(a == 0), spec.nx, periodic[0])
                u[a, k, j, i] += 0.5 * scale * (force[a, k, j, i] + force[a, kl, jl, il])
