"""Viscosity as damping rows on the face velocities: C^T C = dt mu (minus the vector Laplacian, volume weighted).

A face velocity is the mean over the open part of its face. Every pair of neighbouring faces of one component exchanges
momentum through the open part A_open of the surface between their dual cells; the row is

    sqrt(dt mu A_open / distance) (u_hi - u_lo),                                      G_mu of thesis 5.7

distance being that of the centroids of the two open parts (h between whole faces). A face whose dual cell is cut by a
solid, or lies along a no-slip side, exchanges momentum with the wall too:

    sqrt(dt mu A_wall / d) (u_f - v(x_wall)),                                          second-order no-slip

with A_wall closing the area vector of the dual cell's openings and d the distance of the open part's centroid from the
surface. For a whole face at theta h from a plane wall this is the row sqrt(dt mu V theta) (u_f - v) / (theta h) of
Gibou et al. 2002 in factored form; writing it by areas keeps the momentum balance of cut dual cells exact with the mass
rho phi V that the pressure needs. P = I on all of them, so they are SPD and carry the drag to the solid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numba import njit

from undertow.fluid.domain import FluidDomain, last_face, wrap
from undertow.grid import GHOSTS, INFLOW, WALL, Array, row_of_faces, share, share_face_rows, unit_step
from undertow.linalg import used_planes, used_ranges

SMALLEST_DISTANCE = 0.01
"""Lower bound of the distance between a face's open part and a wall, in cells."""


class ViscousRows:
    """Damping rows between neighbouring faces, named ``viscosity``; dual (9, Z, Y, X), row 3 a + b holds du_a/dx_b.

    Diagonal gradients (a = b) live at cell centres, the others at the edge that is the lower corner of the cell in the
    a-b plane. ``time_step`` is the dt of the implicit solve [s].
    """

    name = "viscosity"
    damping = True
    target: Array | None = None

    def __init__(self, domain: FluidDomain, viscosity: float, folded: bool, half: bool) -> None:
        self.domain = domain
        self.viscosity = viscosity
        self.folded = folded
        self.cut_factor = 2.0 if half else 1.0
        self.shape: tuple[int, ...] = (9, *domain.grid.padded)
        self.root = np.zeros(self.shape)
        self.time_step = 0.0

    @property
    def inv_mass_f(self) -> Array:
        """1 / beta_f of the faces in the viscous step."""
        return self.domain.inv_mass_f

    def most_of(self, u_f: Array, momenta: Sequence[Array]) -> float | None:
        """What the tolerance is relative to at most: the impulse of viscosity itself, however large."""
        return None

    def rebuild(self) -> None:
        d = self.domain
        flux = self.viscosity * d.grid.face_area / d.grid.dx
        share_face_rows(
            d.grid, _compute_viscous_weights, d.periodic, d.sides.spec.kind, d.area_f, flux, self.cut_factor, self.root
        )

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        d = self.domain
        share_face_rows(d.grid, _apply_viscous, d.periodic, self.root, np.sqrt(self.time_step), w["fluid"], out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        d = self.domain
        share_face_rows(d.grid, _add_viscous_transpose, d.periodic, self.root, np.sqrt(self.time_step), z, w["fluid"])

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        """out += C^T C w, fused."""
        d = self.domain
        share_face_rows(
            d.grid, _add_viscous_gram, d.periodic, self.root, self.time_step, d.area_f, 0, w["fluid"], out["fluid"]
        )

    def add_explicit(self, u_f: Array, out_f: Array) -> None:
        """out += C^T C u / dt of the rows without a cut face."""
        d = self.domain
        share_face_rows(d.grid, _add_viscous_gram, d.periodic, self.root, 1.0, d.area_f, 1, u_f, out_f)

    def add_gram_diagonal(self, out: Mapping[str, Array]) -> None:
        """out += diag(C^T C)."""
        d = self.domain
        share_face_rows(d.grid, _add_viscous_gram_diagonal, d.periodic, self.root, self.time_step, out["fluid"])

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        d = self.domain
        share_face_rows(d.grid, _add_viscous_diagonal, d.periodic, self.root, self.time_step, inv_mass["fluid"], out)


class WallRows:
    """Damping rows between faces and no-slip walls, named ``walls``; all walls of a face merged into one row.

    weight_f: sum of mu A_wall / d over the walls of the face [kg/s];  weight_velocity_f: the same times the wall's
    velocity component. The merged row sqrt(dt weight) (u - weight_velocity / weight) acts as the several would.
    """

    name = "walls"
    damping = True

    def __init__(
        self, domain: FluidDomain, viscosity: float | Array, slip_b: np.ndarray, folded: bool, half: bool
    ) -> None:
        """viscosity [Pa s]: of the fluid, or of every face (3, Z, Y, X), read at every ``rebuild``."""
        self.domain = domain
        self.viscosity: float = viscosity if isinstance(viscosity, float) else 1.0
        self.mu_f: Array | None = None if isinstance(viscosity, float) else viscosity
        self.slip_b = slip_b
        self.folded = folded
        self.solid_factor = 2.0 if half else 1.0
        self.shape: tuple[int, ...] = (3, *domain.grid.padded)
        self.root_f = np.zeros(self.shape)
        self.velocity_f = np.zeros(self.shape)
        self.solid_weight_f = np.zeros(self.shape)
        self.target: Array | None = np.zeros(self.shape)
        self.parts = [slice(*part) for part in used_ranges(self.shape, planar=domain.grid.dimensions == 2)]
        self.time_step = 0.0

    def rebuild(self) -> None:
        """Weights and wall velocities from the present geometry."""
        d = self.domain
        flux = self.viscosity * d.grid.face_area / d.grid.dx
        used_planes(self.solid_weight_f)[...] = 0.0
        used_planes(self.velocity_f)[...] = 0.0
        if d.solids is not None:
            share_face_rows(
                d.grid,
                _compute_solid_walls,
                d.periodic,
                d.area_f,
                d.solids.distance_f,
                d.solids.body_c,
                self.slip_b,
                d.solids.velocity_f,
                flux,
                d.inv_mass_f,
                self.solid_weight_f,
                self.velocity_f,
            )
        np.multiply(used_planes(self.solid_weight_f), self.solid_factor, out=used_planes(self.root_f))
        used_planes(self.velocity_f)[...] *= used_planes(self.root_f)
        share_face_rows(
            d.grid,
            _add_side_walls,
            d.periodic,
            d.sides.spec,
            d.area_f,
            flux,
            d.inv_mass_f,
            self.root_f,
            self.velocity_f,
        )
        if self.mu_f is not None:
            for weight in (self.root_f, self.velocity_f, self.solid_weight_f):
                used_planes(weight)[...] *= used_planes(self.mu_f)
        for part in self.parts:
            _share_flat(_finish_walls, part, self.root_f, self.velocity_f)

    def set_time_step(self, time_step: float) -> None:
        """The wanted values sqrt(dt weight) v for a solve over dt [s]."""
        assert self.target is not None
        self.time_step = time_step
        self.apply({"fluid": self.velocity_f}, self.target)

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        scale = np.sqrt(self.time_step)
        for part in self.parts:
            _share_flat(_set_product, part, self.root_f, w["fluid"], scale, out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        for part in self.parts:
            _share_flat(_add_product, part, self.root_f, z, np.sqrt(self.time_step), w["fluid"])

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        self._add_square_product(w["fluid"], out["fluid"])

    def fold(self, u_f: Array, inv_mass_f: Array, out_inv_mass_f: Array) -> None:
        """The rows as masses and velocities, exactly: B' = B + C^T C is diagonal, w*' = w* + B'^-1 C^T (s - C w*).

        Left as rows of their own, those of faces close to a wall would have large entries and cost iterations.
        """
        for part in self.parts:
            _share_flat(
                _fold_walls, part, self.root_f, self.velocity_f, self.time_step, inv_mass_f, u_f, out_inv_mass_f
            )

    def add_explicit(self, u_f: Array, out_f: Array) -> None:
        """out += weight (u - v) of the domain's sides."""
        for part in self.parts:
            _share_flat(
                _add_side_exchange, part, self.root_f, self.solid_weight_f, self.solid_factor, self.velocity_f, u_f,
                out_f,
            )  # fmt: skip

    def add_gram_diagonal(self, out: Mapping[str, Array]) -> None:
        for part in self.parts:
            _share_flat(_add_product, part, self.root_f, self.root_f, self.time_step, out["fluid"])

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        self._add_square_product(inv_mass["fluid"], out)

    def _add_square_product(self, x: Array, out: Array) -> None:
        for part in self.parts:
            _share_flat(_add_square_product, part, self.root_f, x, self.time_step, out)


def _share_flat(kernel: Callable[..., None], part: slice, *args: Array | float) -> None:
    """The kernel on a contiguous part of the flattened fields among its arguments, by several threads."""
    flat = [arg.reshape(-1)[part] if isinstance(arg, np.ndarray) else arg for arg in args]
    share(kernel, part.stop - part.start, (part.stop - part.start) // 8, *flat)


@njit(cache=True, nogil=True)
def _set_product(root, u, scale, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        out[i] = scale * root[i] * u[i]


@njit(cache=True, nogil=True)
def _add_product(root, z, scale, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        out[i] += scale * root[i] * z[i]


@njit(cache=True, nogil=True)
def _add_square_product(root, x, scale, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        out[i] += scale * root[i] * root[i] * x[i]


@njit(cache=True, nogil=True)
def _finish_walls(w, v, start, stop):  # type: ignore[no-untyped-def]
    """w: weight -> its root; v: weight x velocity -> velocity."""
    for i in range(start, stop):
        if w[i] > 0.0:
            v[i] /= w[i]
            w[i] = np.sqrt(w[i])


@njit(cache=True, nogil=True)
def _fold_walls(root, velocity, dt, inv_mass, u, out_inv_mass, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        weight = dt * root[i] * root[i]
        out_inv_mass[i] = inv_mass[i] / (1.0 + weight * inv_mass[i])
        u[i] += out_inv_mass[i] * weight * (velocity[i] - u[i])


@njit(cache=True, nogil=True)
def _add_side_exchange(root, solid, solid_factor, velocity, u, out, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        if root[i] > 0.0:
            out[i] += (root[i] * root[i] - solid_factor * solid[i]) * (u[i] - velocity[i])


@njit(cache=True)
def _aperture(spec, periodic, area, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """Open fraction of the surface between the dual cells of two faces of component a that are neighbours along b.

    (k, j, i) is the cell (a = b) or the lower edge (a != b); 0 when either face is closed, so that the exchange goes to
    the wall instead.
    """
    n = (spec.nx, spec.ny, spec.nz)
    az, ay, ax = unit_step(a)
    if a == b:
        kp = wrap(k + az, spec.nz, periodic[2])
        jp = wrap(j + ay, spec.ny, periodic[1])
        ip = wrap(i + ax, spec.nx, periodic[0])
        lo, hi = area[a, k, j, i], area[a, kp, jp, ip]
        if lo <= 0.0 or hi <= 0.0:
            return 0.0
        return 0.5 * (lo + hi)
    bz, by, bx = unit_step(b)
    at_b = i if b == 0 else (j if b == 1 else k)
    if at_b == GHOSTS and periodic[b] == 0 or at_b == GHOSTS + n[b]:
        return 0.0
    kb = wrap(k - bz, spec.nz, periodic[2])
    jb = wrap(j - by, spec.ny, periodic[1])
    ib = wrap(i - bx, spec.nx, periodic[0])
    if area[a, k, j, i] <= 0.0 or area[a, kb, jb, ib] <= 0.0:
        return 0.0
    return _edge_opening(spec, periodic, area, a, b, k, j, i)


@njit(cache=True)
def _edge_opening(spec, periodic, area, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """Mean open fraction of the two b-faces that make up the dual surface at an edge; half of it on a p = 0 side."""
    n = (spec.nx, spec.ny, spec.nz)
    az, ay, ax = unit_step(a)
    at = i if a == 0 else (j if a == 1 else k)
    km = wrap(k - az, spec.nz, periodic[2])
    jm = wrap(j - ay, spec.ny, periodic[1])
    im = wrap(i - ax, spec.nx, periodic[0])
    if at == GHOSTS and periodic[a] == 0:
        return 0.5 * area[b, k, j, i]
    if at == GHOSTS + n[a]:
        return 0.5 * area[b, km, jm, im]
    return 0.5 * (area[b, km, jm, im] + area[b, k, j, i])


@njit(cache=True)
def _cut_shift(spec, area, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """How far the centroid of a cut face's open part has moved along axis b, in cells (0 for an open face).

    In 3D the shift is shared between the two directions along the face by how fast the open fraction varies in each.
    """
    phi = area[a, k, j, i]
    if phi >= 1.0:
        return 0.0
    if spec.dimensions == 2:
        return 0.5 * (1.0 - phi)
    c = 3 - a - b
    bz, by, bx = unit_step(b)
    cz, cy, cx = unit_step(c)
    gb = abs(area[a, k + bz, j + by, i + bx] - area[a, k - bz, j - by, i - bx])
    gc = abs(area[a, k + cz, j + cy, i + cx] - area[a, k - cz, j - cy, i - cx])
    if gb + gc <= 0.0:
        return 0.25 * (1.0 - phi)
    return 0.5 * (1.0 - phi) * gb / (gb + gc)


@njit(cache=True)
def _is_cut(spec, periodic, area, a, b, k, j, i):  # type: ignore[no-untyped-def]
    """True when one of the two faces of row (a, b) at (k, j, i) is cut by a solid."""
    sign = 1 if a == b else -1
    bz, by, bx = unit_step(b)
    other = area[
        a,
        wrap(k + sign * bz, spec.nz, periodic[2]),
        wrap(j + sign * by, spec.ny, periodic[1]),
        wrap(i + sign * bx, spec.nx, periodic[0]),
    ]
    return area[a, k, j, i] < 1.0 or other < 1.0


@njit(cache=True, nogil=True)
def _compute_viscous_weights(spec, periodic, kind, area, flux, cut_factor, out_root, start, stop):  # type: ignore[no-untyped-def]
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            for b in range(d):
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    weight = 0.0
                    last_k = GHOSTS + spec.nz - 1
                    last_j = GHOSTS + spec.ny - 1
                    last_i = GHOSTS + spec.nx - 1
                    if a == b:
                        inside = k <= last_k and j <= last_j and i <= last_i
                    else:
                        # an unknown face of component a: one more along a unless periodic; edges stop at the last cell
                        inside = (
                            k <= last_k + (1 - periodic[2] if a == 2 else 0)
                            and j <= last_j + (1 - periodic[1] if a == 1 else 0)
                            and i <= last_i + (1 - periodic[0] if a == 0 else 0)
                        )
                        at = i if a == 0 else (j if a == 1 else k)
                        if at == GHOSTS and (kind[2 * a] == WALL or kind[2 * a] == INFLOW):
                            inside = False
                        n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                        if at == GHOSTS + n and (kind[2 * a + 1] == WALL or kind[2 * a + 1] == INFLOW):
                            inside = False
                    if inside:
                        weight = _aperture(spec, periodic, area, a, b, k, j, i)
                        if weight > 0.0 and a != b:
                            bz, by, bx = unit_step(b)
                            kb = wrap(k - bz, spec.nz, periodic[2])
                            jb = wrap(j - by, spec.ny, periodic[1])
                            ib = wrap(i - bx, spec.nx, periodic[0])
                            shift = _cut_shift(spec, area, a, b, k, j, i) + _cut_shift(spec, area, a, b, kb, jb, ib)
                            weight /= 1.0 - min(shift, 0.95)
                    if weight > 0.0 and _is_cut(spec, periodic, area, a, b, k, j, i):
                        weight *= cut_factor
                    out_root[3 * a + b, k, j, i] = np.sqrt(flux * weight)


@njit(cache=True, nogil=True)
def _apply_viscous(spec, periodic, root, root_dt, u, out, start, stop):  # type: ignore[no-untyped-def]
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            for b in range(d):
                bz, by, bx = unit_step(b)
                r = 3 * a + b
                if a == b:
                    kp = wrap(k + bz, spec.nz, periodic[2])
                    jp = wrap(j + by, spec.ny, periodic[1])
                    for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                        ip = wrap(i + bx, spec.nx, periodic[0]) if bx == 1 else i
                        out[r, k, j, i] = root_dt * root[r, k, j, i] * (u[a, kp, jp, ip] - u[a, k, j, i])
                else:
                    kl = wrap(k - bz, spec.nz, periodic[2])
                    jl = wrap(j - by, spec.ny, periodic[1])
                    for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                        il = wrap(i - bx, spec.nx, periodic[0]) if bx == 1 else i
                        out[r, k, j, i] = root_dt * root[r, k, j, i] * (u[a, k, j, i] - u[a, kl, jl, il])


@njit(cache=True)
def _end_of_row(spec, periodic, a, k, j):  # type: ignore[no-untyped-def]
    """One past the last face of component a in a row that is an unknown of its own; the first one where none is."""
    out_k = k >= (last_face(spec.nz, periodic[2]) if a == 2 else GHOSTS + spec.nz)
    out_j = j >= (last_face(spec.ny, periodic[1]) if a == 1 else GHOSTS + spec.ny)
    if out_k or out_j:
        return GHOSTS
    return last_face(spec.nx, periodic[0]) if a == 0 else GHOSTS + spec.nx


@njit(cache=True, nogil=True)
def _add_viscous_transpose(spec, periodic, root, root_dt, z, w, start, stop):  # type: ignore[no-untyped-def]
    """Face f of component a is the high end of the row before it and the low end of the row after it along b."""
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            stop = _end_of_row(spec, periodic, a, k, j)
            for b in range(d):
                bz, by, bx = unit_step(b)
                r = 3 * a + b
                low = 1 if a == b else 0
                kl = wrap(k - low * bz, spec.nz, periodic[2])
                jl = wrap(j - low * by, spec.ny, periodic[1])
                kh = wrap(k + (1 - low) * bz, spec.nz, periodic[2])
                jh = wrap(j + (1 - low) * by, spec.ny, periodic[1])
                for i in range(GHOSTS, stop):
                    il = wrap(i - low * bx, spec.nx, periodic[0])
                    ih = wrap(i + (1 - low) * bx, spec.nx, periodic[0])
                    w[a, k, j, i] += root_dt * (
                        root[r, kl, jl, il] * z[r, kl, jl, il] - root[r, kh, jh, ih] * z[r, kh, jh, ih]
                    )


@njit(cache=True, nogil=True)
def _add_viscous_gram(spec, periodic, root, dt, area, skip_cut, u, out, start, stop):  # type: ignore[no-untyped-def]
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            stop = _end_of_row(spec, periodic, a, k, j)
            for b in range(d):
                bz, by, bx = unit_step(b)
                r = 3 * a + b
                low = 1 if a == b else 0
                kl, jl = wrap(k - low * bz, spec.nz, periodic[2]), wrap(j - low * by, spec.ny, periodic[1])
                kh, jh = wrap(k + (1 - low) * bz, spec.nz, periodic[2]), wrap(j + (1 - low) * by, spec.ny, periodic[1])
                km, jm = wrap(k - bz, spec.nz, periodic[2]), wrap(j - by, spec.ny, periodic[1])
                kp, jp = wrap(k + bz, spec.nz, periodic[2]), wrap(j + by, spec.ny, periodic[1])
                for i in range(GHOSTS, stop):
                    il = wrap(i - low * bx, spec.nx, periodic[0])
                    ih = wrap(i + (1 - low) * bx, spec.nx, periodic[0])
                    im = wrap(i - bx, spec.nx, periodic[0])
                    ip = wrap(i + bx, spec.nx, periodic[0])
                    lo, hi = root[r, kl, jl, il], root[r, kh, jh, ih]
                    if skip_cut == 1:
                        own = area[a, k, j, i] < 1.0
                        if own or area[a, km, jm, im] < 1.0:
                            lo = 0.0
                        if own or area[a, kp, jp, ip] < 1.0:
                            hi = 0.0
                    uf = u[a, k, j, i]
                    out[a, k, j, i] += dt * (lo * lo * (uf - u[a, km, jm, im]) + hi * hi * (uf - u[a, kp, jp, ip]))


@njit(cache=True, nogil=True)
def _add_viscous_gram_diagonal(spec, periodic, root, dt, out, start, stop):  # type: ignore[no-untyped-def]
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            stop = _end_of_row(spec, periodic, a, k, j)
            for b in range(d):
                bz, by, bx = unit_step(b)
                r = 3 * a + b
                low = 1 if a == b else 0
                for i in range(GHOSTS, stop):
                    lo = root[
                        r,
                        wrap(k - low * bz, spec.nz, periodic[2]),
                        wrap(j - low * by, spec.ny, periodic[1]),
                        wrap(i - low * bx, spec.nx, periodic[0]),
                    ]
                    hi = root[
                        r,
                        wrap(k + (1 - low) * bz, spec.nz, periodic[2]),
                        wrap(j + (1 - low) * by, spec.ny, periodic[1]),
                        wrap(i + (1 - low) * bx, spec.nx, periodic[0]),
                    ]
                    out[a, k, j, i] += dt * (lo * lo + hi * hi)


@njit(cache=True, nogil=True)
def _add_viscous_diagonal(spec, periodic, root, dt, inv_mass, out, start, stop):  # type: ignore[no-untyped-def]
    d = spec.dimensions
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            for b in range(d):
                bz, by, bx = unit_step(b)
                r = 3 * a + b
                sign = 1 if a == b else -1
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    other = inv_mass[
                        a,
                        wrap(k + sign * bz, spec.nz, periodic[2]),
                        wrap(j + sign * by, spec.ny, periodic[1]),
                        wrap(i + sign * bx, spec.nx, periodic[0]),
                    ]
                    c = root[r, k, j, i]
                    out[r, k, j, i] += dt * c * c * (inv_mass[a, k, j, i] + other)


@njit(cache=True, nogil=True)
def _compute_solid_walls(  # type: ignore[no-untyped-def]
    spec,
    periodic,
    area,
    distance,
    body_c,
    slip_b,
    velocity,
    flux,
    inv_mass,
    out_weight,
    out_velocity,
    start,
    stop,
):
    """mu A_wall / d of the solid surface inside each dual cell; A_wall closes the area vector of its openings."""
    d = spec.dimensions
    n = (spec.nx, spec.ny, spec.nz)
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            az, ay, ax = unit_step(a)
            for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                phi = area[a, k, j, i]
                if inv_mass[a, k, j, i] == 0.0 or phi <= 0.0:
                    continue
                km, jm, im = (
                    wrap(k - az, spec.nz, periodic[2]),
                    wrap(j - ay, spec.ny, periodic[1]),
                    wrap(i - ax, spec.nx, periodic[0]),
                )
                body = max(body_c[k, j, i], body_c[km, jm, im])
                if body < 0 or slip_b[body] == 1:
                    continue
                at = i if a == 0 else (j if a == 1 else k)
                total = 0.0
                along = 0.0
                for b in range(d):
                    bz, by, bx = unit_step(b)
                    if a == b:
                        lo = (
                            phi
                            if at == GHOSTS and periodic[a] == 0
                            else _aperture(spec, periodic, area, a, b, km, jm, im)
                        )
                        hi = phi if at == GHOSTS + n[a] else _aperture(spec, periodic, area, a, b, k, j, i)
                    else:
                        at_b = i if b == 0 else (j if b == 1 else k)
                        kp, jp, ip = k + bz, j + by, i + bx
                        if at_b == GHOSTS and periodic[b] == 0:
                            lo = _edge_opening(spec, periodic, area, a, b, k, j, i)
                        else:
                            lo = _aperture(spec, periodic, area, a, b, k, j, i)
                        if at_b == GHOSTS + n[b] - 1 and periodic[b] == 0:
                            hi = _edge_opening(spec, periodic, area, a, b, kp, jp, ip)
                        else:
                            kp, jp, ip = (
                                wrap(kp, spec.nz, periodic[2]),
                                wrap(jp, spec.ny, periodic[1]),
                                wrap(ip, spec.nx, periodic[0]),
                            )
                            hi = _aperture(spec, periodic, area, a, b, kp, jp, ip)
                    total += (hi - lo) ** 2
                    if a == b:
                        along = abs(hi - lo)
                total = np.sqrt(total)
                if total < 1e-12:
                    continue
                transverse = np.sqrt(max(0.0, 1.0 - (along / total) ** 2))
                away = distance[a, k, j, i] / spec.dx + 0.5 * (1.0 - phi) * transverse
                out_weight[a, k, j, i] = flux * total / max(away, SMALLEST_DISTANCE)
                out_velocity[a, k, j, i] = velocity[a, k, j, i]


@njit(cache=True, nogil=True)
def _add_side_walls(spec, periodic, sides, area, flux, inv_mass, weight, weight_velocity, start, stop):  # type: ignore[no-untyped-def]
    """No-slip domain sides at half a cell from the faces along them."""
    d = spec.dimensions
    n = (spec.nx, spec.ny, spec.nz)
    for row in range(start, stop):
        k, j = row_of_faces(spec, row)
        for a in range(d):
            for b in range(d):
                if a == b or periodic[b] == 1:
                    continue
                bz, by, bx = unit_step(b)
                first = 1 if b == 0 else 0
                second = 1 if b == 2 else 2
                m1 = n[first] + 2 * GHOSTS
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    if inv_mass[a, k, j, i] == 0.0:
                        continue
                    at = i if b == 0 else (j if b == 1 else k)
                    plane = (k if second == 2 else j) * m1 + (j if first == 1 else i)
                    for end in range(2):
                        side = 2 * b + end
                        if at != (GHOSTS if end == 0 else GHOSTS + n[b] - 1):
                            continue
                        if sides.kind[side] > INFLOW or sides.slip[side] == 1:
                            continue
                        opening = _edge_opening(spec, periodic, area, a, b, k + end * bz, j + end * by, i + end * bx)
                        w = flux * 2.0 * opening
                        weight[a, k, j, i] += w
                        weight_velocity[a, k, j, i] += w * sides.velocity[side, a, plane]
