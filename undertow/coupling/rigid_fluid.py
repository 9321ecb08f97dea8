"""Rigid Fluid: bodies solved as if they were water, then brought back to rigid motion (Carlson, Mucha and Turk 2004).

One projection makes water and bodies, C = F + R, free of divergence with one density rho_f; what that does to the
momentum inside a body is the impulse of the fluid on it, and the velocities inside become rigid again:

    u* = P(u_a),    u_a = (1 - w) u_w + w u_R,    u_R = J t^n + f: the transport term of (17)
    m t^{n+1} = m t^n + collisions + dt (m - rho_f V) g + sum w beta J^T (u* - u_a)      (15) to (18), (24), (25)
    u^{n+1} = (1 - w) (u_w + u* - u_a) + w J t^{n+1}                                     (26)

with the twists t = (v, omega), the velocity J t = v + omega x r at a face (8), the mass beta of a face and the part w
of it that belongs to a body. Summed over a body the source (17) is the second line: nothing has to be divided by the
body's density, and momentum given is momentum received, to rounding.

A face that body and water share has both velocities, that of the water u_w and that of the body: the pressure moves
both alike, and what crosses the face is their mean (26), formed where it is needed. Kept as one velocity, the mean of
means would drag the water along step after step until every face with a w > 0 moves with the body: one half a cell
larger on every side, whatever the time step. With w the area that the body covers the limit of the splitting is the
cut-cell method of ``monolithic``. Along a body water slips, but for what its viscosity does (``stick``).

Two splittings, the paper's and what makes it stand still; both are in f:

- Where the body wants to go. The projection sees rho_f inside the body. What the body carries beyond that, the impulse
  E = dt (m - rho_f V) (g - a) + contact, is added as J G^-1 E, G = sum w beta J^T J, and counts once, in the sum
  above. ``source``: E = 0, all of it acts after the projection (17). ``body_force``: E = dt (m - rho_f V) g
  (section 6.1, step 1; Patankar 2001). ``predicted``: also the last step's contact, and its acceleration a where the
  body is heavier than the fluid.
- The stress that keeps it rigid. u_R + u* - u_a inside a body is not rigid, and the water outside has felt that. What
  it misses is remembered and added to the next f, as incremental projections do with the pressure (Van Kan 1986); it
  carries no momentum. A floating body then has an exact state of rest; without it water flows through the body at about
  g dt.

The explicit source is unstable below a relative density of C / (1 + 2 C), C the added mass over the displaced one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.drag import set_twist_row
from undertow.fluid.domain import FluidDomain
from undertow.fluid.free_surface import FreeSurface
from undertow.fluid.solve import PressureSolve
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.geometry import SolidFields
from undertow.geometry.solids import mean_of_corners
from undertow.grid import GHOSTS, Array, neighbour, row_of_padded, share
from undertow.grid.jitting import helper
from undertow.linalg import SolveStats
from undertow.rigid.bodies import DYNAMIC
from undertow.rigid.rows import RigidVelocities

BUOYANCIES = ("source", "body_force", "predicted")

IMPACT = 3.0
"""Contact that gives a body more than so many times its weight in the fluid is an impact, not a support."""

KARMAN = 0.4
"""Constant of the logarithmic law of the wall."""

ROUGHNESS = 1.0 / 30.0
"""Height where that law has its zero, for a wall that is as rough as the grid [cells]."""

STANDS_OUT = 4.0
"""A body of which one part in so many stands out of the water is no longer taken for a submerged one."""


@dataclass(frozen=True)
class RigidFluidSettings:
    """buoyancy: one of ``BUOYANCIES``; carry: whether the stress of the last step is the guess of the next one."""

    buoyancy: str = "predicted"
    carry: bool = True


class RigidFaces(NamedTuple):
    """The faces that bodies have a part of, in the order of the grid."""

    face: np.ndarray  # (m,) flat index of the padded face field
    body: np.ndarray  # (m,)
    weight: np.ndarray  # (m,) w: the body's part of the face's area
    share: np.ndarray  # (m,) the body's part of the dual cell
    wet: np.ndarray  # (m,) 1 below the surface of the water as it goes on through the body, else 0
    j: np.ndarray  # (m, 6) what the twist is multiplied by to give the velocity across the face


def _make_faces(room: int) -> RigidFaces:
    face, body = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    return RigidFaces(face, body, np.zeros(room), np.zeros(room), np.zeros(room), np.zeros((room, 6)))


class RigidRegions:
    """Where the bodies are among the faces of the grid.

    fields: the dynamic bodies as solids; index (k,): the number of each among the rigid bodies. wet_b (n,): 1 for
    bodies that touch water; only these take part. gram_b (n, 6, 6): G of the head, the inertia of the fluid in the
    place of the body. displaced_m (m,): mass of the fluid in the body's part of the dual cells [kg].
    """

    def __init__(self, phase: JoinedSurface, index: np.ndarray, coupled: CoupledBodies) -> None:
        self.phase, self.domain, fields = phase, phase.domain, phase.displaced[0]
        self.fields, self.index, self.coupled = fields, index.astype(np.int64), coupled
        count = coupled.bodies.count
        self.wet_b = np.zeros(count, dtype=np.int64)
        self.gram_b, self.inverse_b = np.zeros((count, 6, 6)), np.zeros((count, 6, 6))
        self.faces, self.size = _make_faces(0), 0
        self._beta = self._mass = self.displaced_m = np.zeros(0)

    def join(self, phi_c: Array, out_c: Array) -> None:
        """out = the level set of water and wet bodies together [m], ghosts included."""
        grid, fields = self.domain.grid, self.fields
        self.wet_b[...] = 0
        _find_wet(grid.spec, phi_c, fields.volume_c, fields.body_c, self.index, self.wet_b)
        pz, py, _ = grid.padded
        share(
            _join_bodies, pz * py, grid.cell_count, grid.spec, phi_c, fields.phi_n, fields.body_c, self.index,
            self.wet_b, out_c,
        )  # fmt: skip

    def gather(self, phi_c: Array, inv_mass_f: Array) -> None:
        """Faces of the wet bodies and G; phi_c: level set of the water alone, inv_mass_f: of the projection."""
        bodies, spec = self.coupled.bodies, self.domain.grid.spec
        while True:
            self.size = int(
                _gather_faces(
                    spec, phi_c, self.fields.volume_c, self.fields.area_f, self.fields.distance_f,
                    self.fields.body_c, self.index, self.wet_b, inv_mass_f, bodies.x_b, self.faces,
                )
            )  # fmt: skip
            if self.size <= len(self.faces.face):
                break
            self.faces = _make_faces(2 * self.size)
        self._beta = 1.0 / inv_mass_f.reshape(-1)[self.face]
        self._mass, self.displaced_m = self.weight * self._beta, self.faces.share[: self.size] * self._beta
        self.gram_b[...] = self.sum_gram(self._mass)
        self.inverse_b[...] = np.linalg.pinv(self.gram_b, rcond=1e-11, hermitian=True)

    @property
    def face(self) -> np.ndarray:
        """(m,) flat indices of the faces."""
        return self.faces.face[: self.size]

    @property
    def weight(self) -> np.ndarray:
        """(m,) parts w."""
        return self.faces.weight[: self.size]

    def momentum(self, u_m: Array) -> Array:
        """sum w beta J^T u per body (n, 6) [kg m/s, kg m2/s] of velocities (m,) at the faces."""
        return self.sum_momentum(self._mass, u_m)

    def sum_momentum(self, mass_m: Array, u_m: Array) -> Array:
        """sum mass J^T u per body (n, 6) of masses (m,) [kg] and velocities (m,) at the faces."""
        out_b = np.zeros((len(self.wet_b), 6))
        _sum_momentum(self.faces, self.size, mass_m, u_m, out_b)
        return out_b

    def sum_gram(self, mass_m: Array) -> Array:
        """sum mass J^T J per body (n, 6, 6)."""
        out_b = np.zeros_like(self.gram_b)
        _sum_gram(self.faces, self.size, mass_m, out_b)
        return out_b

    def weight_of_fluid(self, gravity: Array, displaced_b: Array) -> Array:
        """Force and torque (n, 6) [N, N m] of gravity (3,) on the fluid in the place of wet bodies.

        What stands out of the water is a staircase of cells in the projection, and no pressure makes up for its weight:
        the sum over the faces, below the surface by the body's part of their dual cells, which ends where its bottom
        does. Under water it is that of what bodies displace, displaced_b (n,) [kg], at their centres of volume.
        Between, by how little stands out.
        """
        body, size, count = self.faces.body[: self.size], self.domain.grid.size, len(displaced_b)
        fallen = self.sum_momentum(self.displaced_m, gravity[self.face // size])
        total = np.bincount(body, self.displaced_m, count)
        above = np.bincount(body, self.displaced_m * (1.0 - self.faces.wet[: self.size]), count)
        sunk = np.clip(1.0 - STANDS_OUT * above / np.maximum(total, 1e-300), 0.0, 1.0)[:, None]
        true = np.zeros_like(fallen)
        true[:, :3] = displaced_b[:, None] * gravity
        true[:, 3:] = np.cross(self.coupled.bodies.volume_arms(), true[:, :3])
        return np.asarray((sunk * true + (1.0 - sunk) * fallen) * self.wet_b[:, None])

    def velocity(self, twist_b: Array) -> Array:
        """J t (m,) [m/s] of twists (n, 6)."""
        out = np.empty(self.size)
        _set_velocity(self.faces, twist_b, out)
        return out

    def friction(
        self, viscosity: float | VariableViscosity, slip_b: np.ndarray, slip_m: Array, dt: float
    ) -> tuple[Array, Array]:
        """s / m_w and s of ``RigidFluidSolve.stick`` at the faces (m,) [-, kg]; slip_b (n,): 1 for bodies without;
        slip_m (m,): J t - u [m/s]."""
        grid, left = self.domain.grid, 1.0 - self.weight
        sticks = (left > 0.0) & (left < 1.0) & (slip_b[self.faces.body[: self.size]] == 0)
        left = np.where(sticks, left, 0.5)
        mu = viscosity.mu_f.reshape(-1)[self.face] if isinstance(viscosity, VariableViscosity) else viscosity
        laminar = 2.0 * mu / (left * grid.dx)
        rough = self.phase.mass_of(1.0) * np.abs(slip_m) * (KARMAN / np.log1p(0.5 * left / ROUGHNESS)) ** 2
        ratio = np.where(sticks, dt * grid.face_area * (laminar + rough) / (left * self._beta), 0.0)
        part = ratio / (1.0 + ratio)
        return part, part * left * self._beta

    def rigid_part(self, u_m: Array) -> Array:
        """The twists (n, 6) whose rigid motion has the momentum of the velocities (m,): (24), (25) with density 1."""
        return self.solve(self.momentum(u_m))

    def solve(self, impulse_b: Array) -> Array:
        """Twists (n, 6) that impulses (n, 6) give the fluid in the place of the bodies."""
        return np.asarray(np.einsum("nij,nj->ni", self.inverse_b, impulse_b))


class JoinedSurface(FreeSurface):
    """The free surface of water and bodies joined: the pressure has one liquid, and the surface keeps out of the
    bodies. water_c: level set of the water alone [m]; that of the phase is set by the solve."""

    def __init__(
        self, domain: FluidDomain, water_c: Array, gravity: tuple[float, float, float], fields: SolidFields
    ) -> None:
        super().__init__(domain, domain.grid.cell_field(), gravity)
        self.water_c, self.displaced = water_c, (fields,)


class RigidFluidSolve(PressureSolve):
    """The projection of water and bodies as one fluid, and what it does to the bodies' momenta.

    expected_b (n, 6): force and torque, beside gravity, that the last step's contact and inertia add to E. stress_f:
    the velocity that u_R missed to be rigid, by face.
    """

    def __init__(
        self, phase: JoinedSurface, tolerance: float, index: np.ndarray, coupled: CoupledBodies,
        settings: RigidFluidSettings | None = None,
    ) -> None:  # fmt: skip
        """index (k,): the number of each of the phase's bodies among the rigid ones."""
        self.water_c, self.coupled, self.settings = phase.water_c, coupled, settings or RigidFluidSettings()
        self.joined_c = phase.phi_c
        super().__init__(phase, tolerance)
        self.regions = RigidRegions(phase, index, coupled)
        bodies = coupled.bodies
        self.dynamic_b = bodies.kind_b == DYNAMIC
        self.displaced_b = np.where(self.dynamic_b, self.phase.mass_of(coupled.volume_b), 0.0)
        self.expected_b = np.zeros((bodies.count, 6))
        self.fluid_weight_b = np.zeros((bodies.count, 6))
        """Of the fluid in the place of each body, force and torque [N, N m]."""
        self.stress_f = phase.domain.grid.face_field()
        self._viscosity: float | VariableViscosity = 0.0
        self._inverse = RigidVelocities(bodies.count)
        shape = (bodies.count, 6)
        self._twist_b, self._start_b, self._fluid_b, self._after_b = (np.zeros(shape) for _ in range(4))
        self._water_m = self._inside_m = self._given_m = self._stress_m = np.zeros(0)

    def set_viscosity(self, viscosity: float | VariableViscosity, slip_b: np.ndarray, form: str = "split") -> None:
        super().set_viscosity(viscosity, slip_b, form)
        self._viscosity = viscosity

    def rebuild(self) -> None:
        self.regions.join(self.water_c, self.joined_c)
        super().rebuild()
        self.regions.gather(self.water_c, self.phase.inv_mass_f)
        self.fluid_weight_b[...] = self.regions.weight_of_fluid(np.array(self.phase.gravity), self.displaced_b)

    def diffuse(self, u_f: Array, p_c: Array, dt: float) -> list[SolveStats]:
        """u_a of the head in place of the water's velocity, then viscosity."""
        self.prepare(u_f, dt)
        return super().diffuse(u_f, p_c, dt)

    def prepare(self, u_f: Array, dt: float) -> None:
        """u_w -> u_a, in place."""
        regions, coupled, flat = self.regions, self.coupled, u_f.reshape(-1)
        self._water_m = flat[regions.face]
        self.stick(self._water_m, dt)
        coupled.take_twists(self._twist_b)
        self._start_b[...] = self._momenta()
        self._stress_m = self._take_stress()
        # the stress carries no momentum: what the bodies' motion over the grid left of it goes
        impulse = self._expected(dt) - regions.momentum(self._stress_m)
        self._inside_m = regions.velocity(self._twist_b + regions.solve(impulse)) + self._stress_m
        self._given_m = self._water_m + regions.weight * (self._inside_m - self._water_m)
        flat[regions.face] = self._given_m

    def stick(self, u_m: Array, dt: float) -> None:
        """The viscous impulse between bodies and the water u (m,) of the faces that they share; u in place.

        The water of such a face has the mass m_w = (1 - w) beta and its middle is z = (1 - w) dx / 2 from the wall. It
        gets k (J t' - u'),

            k = dt A (mu / z + rho |J t - u| (kappa / ln(1 + z / z_0))^2),

        the stress of a layer that the grid resolves and of one that it does not: the law of a wall that is as rough as
        a staircase of cells (Nikuradse 1933: z_0 is a thirtieth of the roughness). Implicit in u' and in the twist
        t' = t + x, so that it is stable for any mass, viscosity and step,

            u' = u + s / m_w (J t' - u),    s = m_w k / (m_w + k),
            (M + D) x = -sum s J^T (J t - u),    D = sum s J^T J;

        what the water gains is what the body loses, to rounding. Water without viscosity slips.
        """
        coupled, regions = self.coupled, self.regions
        coupled.viscous_b[...] = 0.0
        if self.before is None:
            return
        coupled.take_twists(self._twist_b)
        slip_m = regions.velocity(self._twist_b) - u_m
        part, shared = regions.friction(self._viscosity, coupled.slip_b, slip_m, dt)
        self._inverse.set_masses(coupled.bodies)
        gram, inverse = regions.sum_gram(shared), self._inverse.inv_mass
        lost_b = regions.sum_momentum(shared, slip_m)
        x = np.asarray(np.linalg.solve(np.eye(6) + inverse @ gram, -(inverse @ lost_b[..., None]))[..., 0])
        coupled.viscous_b[...] = -lost_b - np.einsum("nij,nj->ni", gram, x)
        self._add_momenta(coupled.viscous_b)
        u_m += part * (slip_m + regions.velocity(x))

    def _take_stress(self) -> Array:
        """The stress of the last step at the faces of now (m,); it is cleared."""
        flat = self.stress_f.reshape(-1)
        stress = flat[self.regions.face].copy()
        self.stress_f[...] = 0.0
        return stress

    def _expected(self, dt: float) -> Array:
        """E of the head (n, 6) [N s, N m s]."""
        known = np.zeros_like(self.expected_b)
        if self.settings.buoyancy != "source":
            known += self._weight(dt)
        if self.settings.buoyancy == "predicted":
            known += dt * self.expected_b
        return known * self.regions.wet_b[:, None]

    def _weight(self, dt: float) -> Array:
        """dt m g and the loads, less the weight of the fluid in the place of wet bodies (n, 6): (m - rho V) g under
        water."""
        bodies = self.coupled.bodies
        weight = -dt * self.fluid_weight_b
        weight += dt * self.coupled.load_b
        weight[:, :3] += dt * np.where(self.dynamic_b, bodies.mass_b, 0.0)[:, None] * np.array(self.phase.gravity)
        return weight

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u_a (known impulse added) -> u* in place; momenta of the bodies to n+1, but for contact."""
        stats = super().solve(u_f, z_c, viscous_dt)
        self.move_bodies(u_f, viscous_dt)
        return stats

    def move_bodies(self, u_f: Array, dt: float) -> None:
        """Momenta of the bodies and the water's velocities beside them from what the projection did there."""
        regions, bodies = self.regions, self.coupled.bodies
        # viscosity and the known impulse of the surface are part of what the water did: given is u_a before them
        change = u_f.reshape(-1)[regions.face] - self._given_m
        self._water_m += change
        self._inside_m += change
        self._fluid_b[...] = regions.momentum(change)
        self._add_momenta(self._weight(dt) + self._fluid_b)
        self.coupled.pressure_b[...] = self._fluid_b
        self.coupled.pressure_b -= dt * self.fluid_weight_b
        self._after_b[...] = self._momenta()
        if self.settings.carry:
            left = regions.velocity(regions.rigid_part(self._inside_m)) - self._inside_m
            self.stress_f.reshape(-1)[regions.face] = self._stress_m + left
        bodies.derive_velocities()

    def start(self, u_f: Array) -> None:
        """The velocity at time 0 where the bodies are: theirs."""
        self._water_m = u_f.reshape(-1)[self.regions.face]
        self.distribute(u_f)

    def distribute(self, u_f: Array) -> None:
        """The two parts of (26): J t at faces that are a body's alone, the water's own at those it has a part of."""
        regions = self.regions
        self.coupled.take_twists(self._twist_b)
        alone = regions.weight == 1.0
        u_f.reshape(-1)[regions.face] = np.where(alone, regions.velocity(self._twist_b), self._water_m)

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses of contact (n, 3) [N s] and (n, 3) [N m s]: the water feels them in the next projection."""
        self._add_momenta(np.concatenate([p_b, L_b], axis=1))
        self.coupled.bodies.derive_velocities()

    def make_rigid(self, u_f: Array, dt: float) -> None:
        """(26) with the twists that contact leaves; what contact and inertia were is expected again."""
        self.distribute(u_f)
        now = self._momenta()
        heavier = np.zeros(len(now))
        mass = self.coupled.bodies.mass_b
        heavier[self.dynamic_b] = np.maximum(1.0 - self.displaced_b[self.dynamic_b] / mass[self.dynamic_b], 0.0)
        contact, inertia = now - self._after_b, heavier[:, None] * (now - self._start_b)
        # an impact is over; what carries a body that rests goes on
        rests = np.linalg.norm(contact[:, :3], axis=1) <= IMPACT * np.linalg.norm(self._weight(dt)[:, :3], axis=1)
        self.expected_b[...] = (contact - inertia) * (rests & (self.regions.wet_b == 1))[:, None] / dt

    def _momenta(self) -> Array:
        """Linear and angular momenta (n, 6), 0 unless dynamic."""
        bodies = self.coupled.bodies
        return np.concatenate([bodies.p_b, bodies.L_b], axis=1)

    def _add_momenta(self, change_b: Array) -> None:
        bodies, dynamic = self.coupled.bodies, self.dynamic_b
        bodies.p_b[dynamic] += change_b[dynamic, :3]
        bodies.L_b[dynamic] += change_b[dynamic, 3:]

    def arrays(self) -> dict[str, Array]:
        """What evolves beside water and bodies."""
        return {
            "rigid_fluid_expected": self.expected_b,
            "rigid_fluid_stress": self.stress_f,
        }


def added_mass_limit(half: Array, dimensions: int) -> float:
    """Smallest relative density C / (1 + 2 C) at which the explicit source is stable (half axes (3,) [m]).

    C: the largest added mass of the ellipsoid with these half axes over the mass it displaces: k = a / (2 - a) with
    a = abc int_0^inf ds / ((a_i^2 + s) sqrt((a^2 + s)(b^2 + s)(c^2 + s))) (Lamb 1932, article 114); in 2D the ratio of
    the half axes. Sphere 1/4, cylinder 1/3, plate 1/2.
    """
    if dimensions == 2:
        worst = float(max(half[0] / half[1], half[1] / half[0]))
    else:
        # s = a_min^2 (1 / t^2 - 1): a smooth integrand on 0 < t < 1
        axes = np.asarray(half, dtype=float) / float(np.min(half))
        t = (np.arange(4000) + 0.5) / 4000
        s = 1.0 / t**2 - 1.0
        roots = np.sqrt(np.prod(axes[:, None] ** 2 + s, axis=0))
        alpha = max(float(np.prod(axes) * np.mean(2.0 / t**3 / ((a**2 + s) * roots))) for a in axes)
        worst = alpha / max(2.0 - alpha, 1e-9)
    return worst / (1.0 + 2.0 * worst)


@njit(cache=True)
def _find_wet(spec, phi, volume, body_c, index, out_wet):  # type: ignore[no-untyped-def]
    """1 for every body with a part in a cell of water, or a side along one."""
    for k in range(GHOSTS, GHOSTS + spec.nz):
        for j in range(GHOSTS, GHOSTS + spec.ny):
            for i in range(GHOSTS, GHOSTS + spec.nx):
                if volume[k, j, i] == 1.0 or body_c[k, j, i] < 0:
                    continue
                touches = volume[k, j, i] > 0.0 and phi[k, j, i] <= 0.0
                for a in range(spec.dimensions if volume[k, j, i] == 0.0 else 0):
                    n = spec.nx if a == 0 else (spec.ny if a == 1 else spec.nz)
                    at = i if a == 0 else (j if a == 1 else k)
                    for way in range(-1, 2, 2):
                        if GHOSTS <= at + way < GHOSTS + n:
                            ko, jo, io = neighbour(k, j, i, a, way)
                            touches |= volume[ko, jo, io] > 0.0 and phi[ko, jo, io] <= 0.0
                if touches:
                    out_wet[index[body_c[k, j, i]]] = 1


@njit(cache=True, nogil=True)
def _join_bodies(spec, phi, phi_n, body_c, index, wet_b, out, start, stop):  # type: ignore[no-untyped-def]
    """min(phi, mean of the solids' distances at the corners) where the nearest body is wet, else phi."""
    for row in range(start, stop):
        k, j = row_of_padded(spec, row)
        for i in range(spec.nx + 2 * GHOSTS):
            out[k, j, i] = phi[k, j, i]
            if body_c[k, j, i] >= 0 and wet_b[index[body_c[k, j, i]]] == 1:
                out[k, j, i] = min(phi[k, j, i], mean_of_corners(spec, phi_n, k, j, i))


@njit(cache=True)
def _gather_faces(  # type: ignore[no-untyped-def]
    spec, phi, volume, area, distance, body_c, index, wet_b, inv_mass, centre_b, out
):
    """Fill ``out`` as far as it has room and return how many faces there are.

    w is the part of the face's area that the body covers, 1/2 - distance / dx between 0 and 1 its part of the dual
    cell, exact for a wall across the axis. Where there is no water in the cells beside the face nothing else is there
    that it could belong to: both are 1.
    """
    found = 0
    room = len(out.face)
    _, nz, ny, nx = inv_mass.shape
    for k in range(GHOSTS, GHOSTS + spec.nz + (1 if spec.dimensions == 3 else 0)):
        for j in range(GHOSTS, GHOSTS + spec.ny + 1):
            for a in range(spec.dimensions):
                kl, jl, back = k - int(a == 2), j - int(a == 1), int(a == 0)
                for i in range(GHOSTS, GHOSTS + spec.nx + 1):
                    il = i - back
                    far = body_c[k, j, i] < 0 and body_c[kl, jl, il] < 0
                    if far or inv_mass[a, k, j, i] <= 0.0:
                        continue
                    low, high = volume[kl, jl, il], volume[k, j, i]
                    solid = body_c[k, j, i] if high <= low else body_c[kl, jl, il]
                    if solid < 0 or wet_b[index[solid]] == 0:
                        continue
                    water = (phi[k, j, i] <= 0.0 and high > 0.0) or (phi[kl, jl, il] <= 0.0 and low > 0.0)
                    part = 1.0 - area[a, k, j, i] if water else 1.0
                    share = min(max(0.5 - distance[a, k, j, i] / spec.dx, 0.0), 1.0) if water else 1.0
                    if part == 0.0 and share == 0.0:
                        continue
                    if found < room:
                        b = index[solid]
                        out.face[found] = ((a * nz + k) * ny + j) * nx + i
                        out.body[found] = b
                        out.weight[found] = part
                        out.share[found] = share
                        out.wet[found] = 1.0 if phi[k, j, i] + phi[kl, jl, il] <= 0.0 else 0.0
                        x = spec.x0 + (i - GHOSTS + (0.0 if a == 0 else 0.5)) * spec.dx - centre_b[b, 0]
                        y = spec.y0 + (j - GHOSTS + (0.0 if a == 1 else 0.5)) * spec.dx - centre_b[b, 1]
                        z = 0.0
                        if spec.dimensions == 3:
                            z = spec.z0 + (k - GHOSTS + (0.0 if a == 2 else 0.5)) * spec.dx - centre_b[b, 2]
                        set_twist_row(a, x, y, z, out.j[found])
                    found += 1
    return found


@njit(cache=True)
def _sum_gram(faces, size, mass, out):  # type: ignore[no-untyped-def]
    """out_b += sum w beta J^T J."""
    for m in range(size):
        b = faces.body[m]
        for c in range(6):
            scaled = mass[m] * faces.j[m, c]
            if scaled != 0.0:
                for d in range(6):
                    out[b, c, d] += scaled * faces.j[m, d]


@helper
def _velocity_at(faces, m, twist):  # type: ignore[no-untyped-def]
    """J t at one face."""
    b, j = faces.body[m], faces.j[m]
    linear = j[0] * twist[b, 0] + j[1] * twist[b, 1] + j[2] * twist[b, 2]
    return linear + j[3] * twist[b, 3] + j[4] * twist[b, 4] + j[5] * twist[b, 5]


@njit(cache=True)
def _set_velocity(faces, twist, out):  # type: ignore[no-untyped-def]
    """out_m = J t."""
    for m in range(len(out)):
        out[m] = _velocity_at(faces, m, twist)


@njit(cache=True)
def _sum_momentum(faces, size, mass, u, out):  # type: ignore[no-untyped-def]
    """out_b += sum w beta J^T u."""
    for m in range(size):
        b = faces.body[m]
        scaled = mass[m] * u[m]
        for c in range(6):
            out[b, c] += scaled * faces.j[m, c]
