"""Marker particles on both sides of the surface that repair what the level set loses.

The particle level set method of Enright, Fedkiw, Ferziger and Mitchell 2002 (J. Comput. Phys. 183, "A hybrid particle
level set method for improved interface capturing"), with a semi-Lagrangian level set as in Enright, Losasso and Fedkiw
2005 (Comput. Struct. 83). A particle is a sphere that touches the surface from its own side:

    r_p = clamp(s_p phi(x_p), 0.1 dx, 0.5 dx),      s_p = +1 in the air, -1 in the liquid

When its centre is found on the wrong side it has *escaped*, and the level set is wrong there (the paper waits until it
is there by more than its radius; measured, that leaves errors of twice the size, see record 047). Every
escaped particle offers phi_p(x) = s_p (r_p - |x - x_p|) to the cell centres around it, the largest offer of the air and
the smallest of the liquid are kept, and phi becomes the one of the two that is nearer to zero.

Random numbers depend on (seed, id of the particle, draw) alone, and particles are kept in the order of their cells, so
that neither threads nor a restart change a bit. A particle that is gone has radius 0 until the next sorting drops it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.grid import GHOSTS, OPEN, OUTFLOW, Array, Grid, Sides, share
from undertow.grid.jitting import borrowing, helper
from undertow.surface.sampling import _cell_at, _centred_at, _confine, _gradient_at, _locate, _trace, _velocity_at
from undertow.transport import sample_centred

SMALLEST, LARGEST = 0.1, 0.5
"""Bounds of the radii [cells]."""
BAND = 3.0
"""Particles are seeded that far to either side of the surface [cells]."""
PER_CELL = {2: 32, 3: 64}
"""Particles per cell of the band, by dimensions."""

KEPT, ESCAPED = 0, 1
DRAWS = (np.int64(0), np.int64(1), np.int64(2), np.int64(3))
"""Random numbers of a particle: x, y, z in its cell, its distance from solids."""

FAR = 2.0
"""Where a distance is larger in the middle of a cell [cells], no point of the cell is near enough to matter: from the
middle to a corner it changes by less than 0.9."""


class Swarm(NamedTuple):
    """Arrays of particles: x (n, 3) [m], radius (n,) [m] positive in the air and negative in the liquid, id (n,)."""

    x: Array
    radius: Array
    id: np.ndarray

    @classmethod
    def empty(cls, capacity: int) -> Swarm:
        return cls(np.zeros((capacity, 3)), np.zeros(capacity), np.zeros(capacity, dtype=np.int64))


class Particles:
    """The particles of one surface. ``swarm`` holds ``count`` of them; the rest of its arrays is room to grow."""

    def __init__(self, grid: Grid, sides: Sides, per_cell: int | None = None, seed: int = 0) -> None:
        self.grid = grid
        self.per_cell = PER_CELL[grid.dimensions] if per_cell is None else per_cell
        if self.per_cell < 1:
            raise ValueError(f"particles: per_cell = {per_cell}, must be at least 1")
        self.seed = seed
        self.count = 0
        self.next_id = 0
        self.swarm = Swarm.empty(0)
        self._other = Swarm.empty(0)
        self._flag = np.zeros(0, dtype=np.uint8)
        self._cell = np.zeros(0, dtype=np.int64)
        self._start = np.zeros(grid.cell_count + 1, dtype=np.int64)
        self._fixed_c = np.zeros(grid.cell_count, dtype=np.uint8)
        self._plus_c = grid.cell_field()
        self._minus_c = grid.cell_field()
        self._leaves = np.array([kind in (OUTFLOW, OPEN) for kind in sides.kind], dtype=np.int64)
        self._no_solid = np.zeros((0, 0, 0))

    @property
    def bytes(self) -> int:
        """Memory of particles and scratch [bytes]."""
        fields = (*self.swarm, *self._other, self._flag, self._cell, self._start, self._fixed_c)
        return sum(x.nbytes for x in (*fields, self._plus_c, self._minus_c))

    def move(self, u_f: Array, dt: float, phi_c: Array, solid_c: Array | None = None) -> None:
        """Move all particles by the frozen velocity u [m/s] over dt [s], second order in dt; ghosts of u filled.

        Particles stop at walls and are gone beyond open sides. solid_c: signed distance to solids at the end of the
        step [m], ghosts filled. Liquid particles keep their own distance, 0.1 to 1 dx, from solids (Guendelman et al.
        2005, section 4.4.2) where that place is in the liquid by phi, ghosts filled; else, beside a contact line, those
        outside the solid stay and those inside are gone. Particles of the air that get into a solid are gone.
        """
        solid = self._no_solid if solid_c is None else solid_c
        self._share(_move_particles, *self.swarm, u_f, dt, self._leaves, self.seed, phi_c, solid)

    def correct(self, phi_c: Array) -> int:
        """Repair phi by the escaped particles, in place (ghosts are not); returns how many there were."""
        self._share(_find_escaped, *self.swarm[:2], phi_c, self._flag)
        escaped = self._escaped()
        _offer_spheres(self.grid.spec, *self.swarm[:2], escaped, self._plus_c, self._minus_c, phi_c)
        return int(escaped.size)

    def _escaped(self) -> np.ndarray:
        """Numbers of the particles that are flagged, in order; they are few, so that flags are read eight at a time."""
        flag, whole = self._flag[: self.count], self.count // 8
        near = np.flatnonzero(flag[: 8 * whole].view(np.uint64))
        near = np.append((8 * near[:, None] + np.arange(8)).reshape(-1), np.arange(8 * whole, self.count))
        return near[flag[near] != 0]

    def _share(self, kernel: Callable[..., None], *args: Any) -> None:
        """A kernel over all particles."""
        share(kernel, self.count, self.count, self.grid.spec, *args)

    def adjust_radii(self, phi_c: Array) -> None:
        """r_p = clamp(s_p phi(x_p), 0.1 dx, 0.5 dx); ghosts of phi filled. An escaped particle gets the smallest."""
        self._share(_adjust_radii, *self.swarm[:2], phi_c, self._flag)

    def drop_disagreeing(self, phi_c: Array, shape_c: Array | None = None) -> None:
        """Remove the particles that phi, changed from outside, puts on the other side; ghosts filled.

        shape_c: signed distance to where phi was changed [m]; escaped particles elsewhere are right and stay.
        """
        self.adjust_radii(phi_c)
        wrong = np.nonzero(self._flag[: self.count] == ESCAPED)[0]
        if shape_c is not None and wrong.size:
            wrong = wrong[sample_centred(self.grid, shape_c, self.swarm.x[wrong]) <= self.grid.dx]
        self.swarm.radius[wrong] = 0.0
        self._flag[wrong] = KEPT

    def drop_escaped_air(self, phi_c: Array, depth: float) -> None:
        """Remove the escaped particles of the air deeper than ``depth`` [m] in the liquid; ghosts filled.

        Which have escaped is known since the radii were adjusted.
        """
        stray = self._escaped()
        stray = stray[self.swarm.radius[stray] > 0.0]
        if stray.size:
            stray = stray[self._sample(phi_c, stray) < -depth]
            self.swarm.radius[stray] = 0.0

    def _sample(self, phi_c: Array, chosen: np.ndarray) -> Array:
        """phi [m] where the chosen particles are."""
        return sample_centred(self.grid, phi_c, self.swarm.x[chosen])

    def sort(self) -> None:
        """Order by cell, drop those that are gone."""
        self.count = int(
            _sort_particles(self.grid.spec, self.swarm, self.count, self._flag, self._cell, self._start, self._other)
        )
        self.swarm, self._other = self._other, self.swarm

    def reseed(self, phi_c: Array) -> None:
        """Sort, then bring every cell of the band to ``per_cell`` particles; phi must be a distance, ghosts filled.

        Cells next to an escaped particle are left alone: new particles would take the wrong side for right. Surplus
        particles that are furthest from the surface go, and so do those beyond the band.
        """
        spec = self.grid.spec
        self.sort()
        distance, fixed = self._other.radius, self._fixed_c
        missing = int(
            _thin_particles(
                spec, self.swarm, self.count, phi_c, self._flag, self._start, self.per_cell, distance, fixed
            )
        )
        self.reserve(self.count + missing)
        _seed_particles(
            spec, self.swarm, self.count, phi_c, self._start, self.per_cell, self._fixed_c, self.seed, self.next_id
        )
        self._flag[self.count : self.count + missing] = KEPT
        self.count += missing
        self.next_id += missing
        self.adjust_radii(phi_c)

    def add(self, x: Array, radius: Array) -> None:
        """Add particles at x (n, 3) [m], radius (n,) [m] negative in the liquid."""
        n = self.count
        m = len(x)
        self.reserve(n + m)
        self.swarm.x[n : n + m] = x
        self.swarm.radius[n : n + m] = radius
        self.swarm.id[n : n + m] = np.arange(self.next_id, self.next_id + m)
        self._flag[n : n + m] = KEPT
        self.count += m
        self.next_id += m

    def reserve(self, needed: int) -> None:
        """Make room, at least doubling."""
        have = len(self.swarm.radius)
        if needed <= have:
            return
        capacity = max(needed, 2 * have)
        grown = Swarm.empty(capacity)
        for old, new in zip(self.swarm, grown, strict=True):
            new[: self.count] = old[: self.count]
        flag = np.zeros(capacity, dtype=np.uint8)
        flag[: self.count] = self._flag[: self.count]
        self.swarm, self._other, self._flag = grown, Swarm.empty(capacity), flag
        self._cell = np.zeros(capacity, dtype=np.int64)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that evolves."""
        n = self.count
        x, radius, ids = (a[:n].copy() for a in self.swarm)
        numbers = np.array([self.next_id], dtype=np.int64)
        return {
            "particle_x": x,
            "particle_radius": radius,
            "particle_id": ids,
            "particle_escaped": self._flag[:n].copy(),
            "particle_next_id": numbers,
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue from what ``arrays`` gave."""
        n = len(arrays["particle_radius"])
        self.count = 0
        self.reserve(n)
        self.swarm.x[:n] = arrays["particle_x"]
        self.swarm.radius[:n] = arrays["particle_radius"]
        self.swarm.id[:n] = arrays["particle_id"]
        self._flag[:n] = arrays["particle_escaped"]
        self.next_id = int(arrays["particle_next_id"][0])
        self.count = n


@helper
def _draw(seed, number, draw):  # type: ignore[no-untyped-def]
    """Random number in [0, 1) of a particle: two rounds of the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    h = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number)
    for _ in range(2):
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        h = (h ^ (h >> np.uint64(31))) + np.uint64(draw + 1) * np.uint64(0x9E3779B97F4A7C15)
    return np.float64(h >> np.uint64(11)) * 2.0**-53


@helper
def _stay(s, n, low_open, high_open, margin):  # type: ignore[no-untyped-def]
    """Index coordinate kept ``margin`` inside closed ends; NaN for one that has left through an open end."""
    if s < GHOSTS + margin:
        if s < GHOSTS and low_open:
            return np.nan
        return s if low_open else GHOSTS + margin
    if s > GHOSTS + n - margin:
        if s > GHOSTS + n and high_open:
            return np.nan
        return s if high_open else GHOSTS + n - margin
    return s


@njit(cache=True, nogil=True)
def _move_particles(spec, place, radius, ids, u, dt, leaves, seed, phi, solid, start, stop):  # type: ignore[no-untyped-def]
    u_flat = u.reshape(u.size)
    phi_flat = phi.reshape(phi.size)
    solid_flat = solid.reshape(solid.size)
    c = dt / spec.dx
    for p in range(start, stop):
        if radius[p] == 0.0:
            continue
        sx, sy, sz = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
        u1, v1, w1 = _velocity_at(spec, u_flat, sx, sy, sz)
        x, y, z = _trace(spec, u_flat, sx, sy, sz, c, u1, v1, w1)
        margin = 1e-3
        x = _stay(x, spec.nx, leaves[0], leaves[1], margin)
        y = _stay(y, spec.ny, leaves[2], leaves[3], margin)
        if spec.dimensions == 3:
            z = _stay(z, spec.nz, leaves[4], leaves[5], margin)
        if np.isnan(x + y + z):
            radius[p] = 0.0
            continue
        if solid_flat.size > 0 and _cell_at(spec, solid_flat, x, y, z) < FAR * spec.dx:
            distance = _centred_at(spec, solid_flat, x, y, z) / spec.dx
            if radius[p] > 0.0:
                if distance < 0.0:
                    radius[p] = 0.0
                    continue
            else:
                wanted = SMALLEST + (1.0 - SMALLEST) * _draw(seed, ids[p], DRAWS[3])
                if distance < wanted:
                    gx, gy, gz = _gradient_at(spec, solid_flat, x, y, z)
                    length = np.sqrt(gx * gx + gy * gy + gz * gz)
                    push = (wanted - distance) / length if length > 0.0 else 0.0
                    px = _confine(x + push * gx, spec.nx)
                    py = _confine(y + push * gy, spec.ny)
                    pz = _confine(z + push * gz, spec.nz)
                    if _centred_at(spec, phi_flat, px, py, pz) < 0.0:
                        x, y, z = px, py, pz
                    elif distance < 0.0:
                        radius[p] = 0.0
                        continue
        place[p, 0] = spec.x0 + (x - GHOSTS) * spec.dx
        place[p, 1] = spec.y0 + (y - GHOSTS) * spec.dx
        place[p, 2] = spec.z0 + (z - GHOSTS) * spec.dx


@njit(cache=True, nogil=True)
def _find_escaped(spec, place, radius, phi, out_flag, start, stop):  # type: ignore[no-untyped-def]
    phi_flat = phi.reshape(phi.size)
    for p in range(start, stop):
        state = KEPT
        r = radius[p]
        if r != 0.0:
            x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
            value = _cell_at(spec, phi_flat, x, y, z)
            if abs(value) < FAR * spec.dx:
                value = _centred_at(spec, phi_flat, x, y, z)
            if value * r < 0.0:
                state = ESCAPED
        out_flag[p] = state


@njit(cache=True)
def _offer_spheres(spec, place, radius, escaped, plus, minus, phi):  # type: ignore[no-untyped-def]
    """The spheres of the escaped go in one after the other: the largest of the air's, the smallest of the liquid's, and
    phi becomes the nearer one to zero. Scratch is set where a sphere reaches and nowhere else."""
    over = 1 if spec.dimensions == 3 else 0
    for stage in range(3):
        for p in escaped:
            x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
            i0 = int(x - 0.5)
            j0 = int(y - 0.5)
            k0 = int(z - 0.5)
            r = abs(radius[p]) / spec.dx
            for k in range(k0, k0 + 1 + over):
                for j in range(j0, j0 + 2):
                    for i in range(i0, i0 + 2):
                        if stage == 0:
                            plus[k, j, i] = phi[k, j, i]
                            minus[k, j, i] = phi[k, j, i]
                        elif stage == 2:
                            nearer = abs(plus[k, j, i]) <= abs(minus[k, j, i])
                            phi[k, j, i] = plus[k, j, i] if nearer else minus[k, j, i]
                        else:
                            ex = i + 0.5 - x
                            ey = j + 0.5 - y
                            ez = (k + 0.5 - z) * over
                            offer = (r - np.sqrt(ex * ex + ey * ey + ez * ez)) * spec.dx
                            if radius[p] > 0.0:
                                plus[k, j, i] = max(plus[k, j, i], offer)
                            else:
                                minus[k, j, i] = min(minus[k, j, i], -offer)


@njit(cache=True, nogil=True)
def _adjust_radii(spec, place, radius, phi, out_flag, start, stop):  # type: ignore[no-untyped-def]
    phi_flat = phi.reshape(phi.size)
    for p in range(start, stop):
        r = radius[p]
        if r != 0.0:
            x, y, z = _locate(spec, place[p, 0], place[p, 1], place[p, 2])
            value = _cell_at(spec, phi_flat, x, y, z)
            if abs(value) < FAR * spec.dx:
                value = _centred_at(spec, phi_flat, x, y, z)
            side = 1.0 if r > 0.0 else -1.0
            out_flag[p] = ESCAPED if side * value < 0.0 else KEPT
            radius[p] = side * min(max(side * value, SMALLEST * spec.dx), LARGEST * spec.dx)


@borrowing
def _find_cell(spec, swarm, p):  # type: ignore[no-untyped-def]
    """Number of the interior cell that holds particle p."""
    x, y, z = _locate(spec, swarm.x[p, 0], swarm.x[p, 1], swarm.x[p, 2])
    i = min(int(x) - GHOSTS, spec.nx - 1)
    j = min(int(y) - GHOSTS, spec.ny - 1)
    k = min(int(z) - GHOSTS, spec.nz - 1)
    return (k * spec.ny + j) * spec.nx + i


@njit(cache=True)
def _sort_particles(spec, swarm, count, flag, cell, start, out_swarm):  # type: ignore[no-untyped-def]
    """Counting sort by cell, stable; start[c] is then the first particle of cell c. Returns how many are left."""
    start[:] = 0
    for p in range(count):
        if swarm.radius[p] != 0.0:
            cell[p] = _find_cell(spec, swarm, p)
            start[cell[p] + 1] += 1
    for c in range(start.size - 1):
        start[c + 1] += start[c]
    left = start[start.size - 1]
    for p in range(count):
        if swarm.radius[p] != 0.0:
            to = start[cell[p]]
            start[cell[p]] += 1
            for a in range(3):  # assigning rows takes Numba 2.6 s to compile
                out_swarm.x[to, a] = swarm.x[p, a]
            out_swarm.radius[to] = swarm.radius[p]
            # the flag travels in the id's lowest bit until the old flags have been read
            out_swarm.id[to] = 2 * swarm.id[p] + flag[p]
    for c in range(start.size - 1, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0
    for p in range(left):
        flag[p] = out_swarm.id[p] & 1
        out_swarm.id[p] = out_swarm.id[p] >> 1
    return left


@njit(cache=True)
def _thin_particles(spec, swarm, count, phi, flag, start, per_cell, distance, out_fixed):  # type: ignore[no-untyped-def]
    """Mark cells about escaped particles as fixed, remove what is surplus elsewhere; returns how many are missing.

    distance: scratch, one per particle.
    """
    phi_flat = phi.reshape(phi.size)
    out_fixed[:] = 0
    for p in range(count):
        if flag[p] == ESCAPED:
            c = _find_cell(spec, swarm, p)
            i0 = c % spec.nx
            j0 = (c // spec.nx) % spec.ny
            k0 = c // (spec.nx * spec.ny)
            for k in range(max(k0 - 1, 0), min(k0 + 2, spec.nz)):
                for j in range(max(j0 - 1, 0), min(j0 + 2, spec.ny)):
                    for i in range(max(i0 - 1, 0), min(i0 + 2, spec.nx)):
                        out_fixed[(k * spec.ny + j) * spec.nx + i] = 1
    missing = 0
    for c in range(out_fixed.size):
        if out_fixed[c] == 1:
            continue
        i = c % spec.nx + GHOSTS
        j = (c // spec.nx) % spec.ny + GHOSTS
        k = c // (spec.nx * spec.ny) + GHOSTS
        have = start[c + 1] - start[c]
        near = abs(phi[k, j, i]) < BAND * spec.dx
        if near and have < per_cell:
            missing += per_cell - have
        elif not near:
            for p in range(start[c], start[c + 1]):
                if abs(phi[k, j, i]) > (BAND + 1.0) * spec.dx:
                    swarm.radius[p] = 0.0
        elif have > per_cell + per_cell // 2:
            for p in range(start[c], start[c + 1]):
                x, y, z = _locate(spec, swarm.x[p, 0], swarm.x[p, 1], swarm.x[p, 2])
                distance[p] = abs(_centred_at(spec, phi_flat, x, y, z))
            for p in range(start[c], start[c + 1]):
                nearer = 0
                for q in range(start[c], start[c + 1]):
                    nearer += distance[q] < distance[p] or (distance[q] == distance[p] and q < p)
                if nearer >= per_cell:
                    swarm.radius[p] = 0.0
    return missing


@njit(cache=True)
def _seed_particles(spec, swarm, count, phi, start, per_cell, fixed, seed, next_id):  # type: ignore[no-untyped-def]
    """Place the missing particles at random in their cells and draw those that sit on the surface off it.

    A particle takes the side it lies on; nearer than the smallest radius it is moved along the gradient to the
    isocontour of that radius (the attraction of Enright et al. 2002, needed here only next to the surface).
    """
    phi_flat = phi.reshape(phi.size)
    p = count
    for c in range(fixed.size):
        i = c % spec.nx + GHOSTS
        j = (c // spec.nx) % spec.ny + GHOSTS
        k = c // (spec.nx * spec.ny) + GHOSTS
        if fixed[c] == 1 or abs(phi[k, j, i]) >= BAND * spec.dx:
            continue
        for _ in range(per_cell - (start[c + 1] - start[c])):
            number = next_id + p - count
            x = i + _draw(seed, number, DRAWS[0])
            y = j + _draw(seed, number, DRAWS[1])
            z = k + (_draw(seed, number, DRAWS[2]) if spec.dimensions == 3 else 0.5)
            value = _centred_at(spec, phi_flat, x, y, z) / spec.dx
            side = -1.0 if value <= 0.0 else 1.0
            if abs(value) < SMALLEST:
                gx, gy, gz = _gradient_at(spec, phi_flat, x, y, z)
                square = gx * gx + gy * gy + gz * gz
                if square > 0.0:
                    push = (side * SMALLEST - value) * spec.dx / square
                    x = _confine(x + push * gx, spec.nx)
                    y = _confine(y + push * gy, spec.ny)
                    z = _confine(z + push * gz, spec.nz)
            swarm.x[p, 0] = spec.x0 + (x - GHOSTS) * spec.dx
            swarm.x[p, 1] = spec.y0 + (y - GHOSTS) * spec.dx
            swarm.x[p, 2] = spec.z0 + (z - GHOSTS) * spec.dx
            swarm.radius[p] = side * SMALLEST * spec.dx
            swarm.id[p] = number
            p += 1
