"""The implicit part of a step: elasticity and damping folded into the mass of the nodes, some directions prescribed.

    (M + elastic K + damping (-D)) d = r,      C^T C = elastic K + damping (-D)

is a ``CoupledSystem`` of one velocity block and one folded row block, the primal reduction (5.30 with everything
folded).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numba import njit

from undertow.grid import Array, share
from undertow.grid.jitting import helper
from undertow.linalg import CoupledSystem, Stencil
from undertow.linalg.krylov import ConjugateGradients, KrylovStats, Minres
from undertow.soft.assembly import Forces, _multiply_blocks
from undertow.soft.bodies import SoftBodies
from undertow.soft.gradients import Gradients, NodeSystem
from undertow.soft.touching import Touching, point_rows

HELD_ALONG = 1e-12
"""Square of the part of a normal in the free axes of a node below which the node is held along it [-]."""


def _nothing() -> Any:
    return np.zeros(0, dtype=np.int64)


@dataclass
class Carriers:
    """Bodies of six velocities each that carry held nodes: mass (b, 6, 6), about their centres, linear part first; free
    (b, 6): 1 where they can move, else 0; wanted (b, 6): velocity without the nodes; w (b, 6): velocity [m/s,
    rad/s]."""

    mass: Array = field(default_factory=lambda: np.zeros((0, 6, 6)))
    free: Array = field(default_factory=lambda: np.zeros((0, 6)))
    wanted: Array = field(default_factory=lambda: np.zeros((0, 6)))
    w: Array = field(default_factory=lambda: np.zeros((0, 6)))

    def respond(self, push: Array) -> Array:
        """Change of w (b, 6) by impulses (b, 6)."""
        if not len(push):
            return np.zeros_like(push)
        held = self.mass * self.free[:, :, None] * self.free[:, None, :]
        held[:, range(6), range(6)] += 1.0 - self.free
        return np.asarray(np.linalg.solve(held, (push * self.free)[:, :, None])[:, :, 0])


@dataclass
class Held:
    """Directions in which nodes move as prescribed: all of ``fixed`` (k,), along ``normal`` (m, 3) of ``slip`` (m,).

    No node is in both. ``body`` (k + m,) is the carrier of each, fixed ones first, -1: none, and ``arm`` (k + m, 3)
    where the node is from its centre [m]: the node moves with the carrier, and pushes it back. ``speed`` (k + m, 3)
    [m/s] is the rest of the prescribed velocity. Sliding nodes rub with the impulse rub (m,) [N s]: the gradient of
    rub f(|u|), u their velocity across the normal relative to the carrier (or to base (m, 3) [m/s]), f(u) = u, and
    u^2 / (2 creep) + creep / 2 below the speed ``creep`` [m/s] (Li et al. 2020).

    axes (n, 3): free axes of all nodes, of which some slide along axes; None: none does. What is prescribed along the
    normal n of such a node acts on its free axes alone. With P the projection onto these it moves along

        a = P n / |P n|^2,      n . a = 1,      and an impulse f of it comes from n (a . f),

    what n has beside P n being of what holds the node.
    """

    fixed: Any = field(default_factory=_nothing)
    slip: Any = field(default_factory=_nothing)
    normal: Array = field(default_factory=lambda: np.zeros((0, 3)))
    rub: Array = field(default_factory=lambda: np.zeros(0))
    base: Array = field(default_factory=lambda: np.zeros((0, 3)))
    creep: float = 1e-6
    speed: Array = field(default_factory=lambda: np.zeros((0, 3)))
    body: Any = field(default_factory=_nothing)
    arm: Array = field(default_factory=lambda: np.zeros((0, 3)))
    carriers: Carriers = field(default_factory=Carriers)
    careful: bool = False
    axes: Array | None = None

    def along(self, nodes: Any, normal: Array) -> Array:
        """a (m, 3) of nodes (m,) with normals (m, 3); 0 where a node is held along the normal."""
        if self.axes is None:
            return normal
        on = self.axes[nodes] * normal
        size = (on * on).sum(axis=1)
        return np.asarray(np.where((size > HELD_ALONG)[:, None], on / np.maximum(size, HELD_ALONG)[:, None], 0.0))

    def _freed(self, v: Array, nodes: Any) -> Array:
        """v (k, 3) of nodes (k,) along their free axes."""
        return v if self.axes is None else v * self.axes[nodes]

    def remove(self, v: Array) -> None:
        """v (n, 3) without what is prescribed."""
        v[self.fixed] -= self._freed(v[self.fixed], self.fixed)
        part = v[self.slip]
        v[self.slip] = part - np.einsum("ki,ki->k", part, self.normal)[:, None] * self.along(self.slip, self.normal)

    def place(self, v: Array) -> None:
        """Give v (n, 3) its prescribed part."""
        if len(self.speed):
            self.remove(v)
            self._add(v, self.speed + self._carried(self.carriers.w))

    def expand(self, v: Array, w: Array) -> None:
        """Add to v (n, 3), which has nothing prescribed, what carriers with velocities w (b, 6) make of the held
        nodes."""
        if len(self.body):
            self._add(v, self._carried(w))

    def collect(self, f: Array, out: Array) -> None:
        """out (b, 6) = impulses on the carriers of impulses f (n, 3) on the nodes, of their prescribed directions
        alone."""
        out[...] = 0.0
        if len(self.body):
            part = f[self.slip]
            along = np.einsum("ki,ki->k", part, self.along(self.slip, self.normal))[:, None] * self.normal
            self._collect(np.concatenate([self._freed(f[self.fixed], self.fixed), along]), out)

    def _add(self, v: Array, whole: Array) -> None:
        k = len(self.fixed)
        v[self.fixed] += self._freed(whole[:k], self.fixed)
        along = self.along(self.slip, self.normal)
        v[self.slip] += np.einsum("ki,ki->k", whole[k:], self.normal)[:, None] * along

    def _carried(self, w: Array) -> Array:
        """Velocities (k + m, 3) of the carriers at the held nodes; 0 where there is none."""
        found = np.zeros((len(self.fixed) + len(self.slip), 3))
        chosen = self.body >= 0
        twist = w[self.body[chosen]]
        found[chosen] = twist[:, :3] + np.cross(twist[:, 3:], self.arm[chosen])
        return found

    def _collect(self, f: Array, out: Array) -> None:
        chosen = self.body >= 0
        b = self.body[chosen]
        np.add.at(out[:, :3], b, f[chosen])
        np.add.at(out[:, 3:], b, np.cross(self.arm[chosen], f[chosen]))
        out *= self.carriers.free

    def _slide(self, v: Array) -> tuple[Array, Array]:
        """Sliding velocity (m, 3) and its size (m,), at least ``creep``."""
        base = self.base
        if len(self.body):
            k = len(self.fixed)
            base = np.where((self.body[k:] >= 0)[:, None], self._carried(self.carriers.w)[k:], base)
        u = v[self.slip] - base
        u -= np.einsum("ki,ki->k", u, self.normal)[:, None] * self.normal
        return u, np.linalg.norm(u, axis=1)

    def friction(self, v: Array) -> Array:
        """Impulse of friction on the sliding nodes (m, 3) [N s]."""
        u, size = self._slide(v)
        return np.asarray(-(self.rub / np.maximum(size, self.creep))[:, None] * u)

    def add_friction(self, v: Array, gradient: Array) -> float:
        """The potential of friction at v (n, 3); its gradient is added."""
        if not len(self.slip):
            return 0.0
        u, size = self._slide(v)
        gradient[self.slip] += (self.rub / np.maximum(size, self.creep))[:, None] * u
        low = 0.5 * size**2 / self.creep + 0.5 * self.creep
        return float((self.rub * np.where(size < self.creep, low, size)).sum())

    def gradient_of_carriers(self, v: Array, gradient: Array, out: Array) -> float:
        """Kinetic potential of the carriers; out (b, 6): its gradient, with what the held nodes' gradient (n, 3)
        adds."""
        self.collect(gradient, out)
        carriers = self.carriers
        if not len(out):
            return 0.0
        rubbing = np.zeros((len(self.fixed) + len(self.slip), 3))
        rubbing[len(self.fixed) :] = self.friction(v)
        pushed = np.zeros_like(out)
        self._collect(rubbing, pushed)
        change = carriers.w - carriers.wanted
        momentum = np.einsum("bij,bj->bi", carriers.mass, change)
        out += pushed + momentum * carriers.free
        return 0.5 * float((momentum * change).sum())

    def add_friction_blocks(self, v: Array, gradient: Array, blocks: Array, places: Any) -> None:
        """Second derivative of the potential, added to the blocks (., 9) of the sliding nodes at ``places``.

        Along the slide it is 0, and steps that slow a node down would jump over the kink at rest. They, told by the
        gradient (n, 3) of everything, get rub / |u| instead: the parabola that touches the potential and lies above it.
        ``careful``: all get that, which is slower and cannot jump to and fro.
        """
        if not len(self.slip):
            return
        u, size = self._slide(v)
        t = u / np.maximum(size, 1e-300)[:, None]
        speeds_up = (size >= self.creep) & (np.einsum("ki,ki->k", gradient[self.slip], t) < 0) & (not self.careful)
        across = np.eye(3) - self.normal[:, :, None] * self.normal[:, None, :]
        across -= np.where(speeds_up[:, None, None], t[:, :, None] * t[:, None, :], 0.0)
        blocks[places] += ((self.rub / np.maximum(size, self.creep))[:, None, None] * across).reshape(-1, 9)


@helper
def _project(free, n, a, b, c):  # type: ignore[no-untyped-def]
    """(a, b, c) in the free directions of node n, whose projection is the symmetric matrix free[n]."""
    return (
        free[n, 0] * a + free[n, 1] * b + free[n, 2] * c,
        free[n, 3] * a + free[n, 4] * b + free[n, 5] * c,
        free[n, 6] * a + free[n, 7] * b + free[n, 8] * c,
    )


@njit(cache=True, nogil=True)
def _project_sum(free, mass, v, weight, force, out, start, stop):  # type: ignore[no-untyped-def]
    """out = mass v + weight force in the free directions of every node."""
    for n in range(start, stop):
        m, w = mass[n], weight[n]
        out[n, 0], out[n, 1], out[n, 2] = _project(
            free, n, m * v[n, 0] + w * force[n, 0], m * v[n, 1] + w * force[n, 1], m * v[n, 2] + w * force[n, 2]
        )


@njit(cache=True, nogil=True)
def _sweep_joined(nodes, weight, normal, free, inv_mass, rounds, v):  # type: ignore[no-untyped-def]
    """v (n, 3) without the normal velocity of stencils of four nodes, one after another up and down the list: every
    one is an orthogonal projection in the norm of the masses, so that a whole sweep is symmetric."""
    count = len(nodes)
    y = np.zeros((4, 3))
    for turn in range(2 * rounds * count):
        m = turn % count
        if (turn // count) % 2 == 1:
            m = count - 1 - m
        k, along = 0.0, 0.0
        nx, ny, nz = normal[m, 0], normal[m, 1], normal[m, 2]
        for a in range(4):
            j, w = nodes[m, a], weight[m, a]
            s = w * inv_mass[j]
            y[a, 0], y[a, 1], y[a, 2] = _project(free, j, s * nx, s * ny, s * nz)
            k += w * (nx * y[a, 0] + ny * y[a, 1] + nz * y[a, 2])
            along += w * (nx * v[j, 0] + ny * v[j, 1] + nz * v[j, 2])
        if k > 0.0:
            for a in range(4):
                for i in range(3):
                    v[nodes[m, a], i] -= along / k * y[a, i]


@njit(cache=True, nogil=True)
def _invert_diagonal(free, mass, places, blocks, out, start, stop):  # type: ignore[no-untyped-def]
    """out (n, 9) = inverse of mass + block of every node among its free directions, 0 in the others."""
    A = np.zeros((3, 3))
    for n in range(start, stop):
        p = places[n]
        size = 3 * mass[n] + blocks[p, 0] + blocks[p, 4] + blocks[p, 8]
        for j in range(3):
            m = mass[n]
            A[0, j], A[1, j], A[2, j] = _project(
                free, n,
                blocks[p, j] + (m if j == 0 else 0.0),
                blocks[p, 3 + j] + (m if j == 1 else 0.0),
                blocks[p, 6 + j] + (m if j == 2 else 0.0),
            )  # fmt: skip
        # projected from the other side too, and filled up where nothing is free
        for i in range(3):
            A[i, 0], A[i, 1], A[i, 2] = _project(free, n, A[i, 0], A[i, 1], A[i, 2])
            for j in range(3):
                A[i, j] += size * ((1.0 if i == j else 0.0) - free[n, 3 * i + j])
        a, b, c = A[0, 0], A[0, 1], A[0, 2]
        d, e, f = A[1, 1], A[1, 2], A[2, 2]
        det = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)
        w = 1.0 / det if det > 0.0 else 0.0
        B = (
            w * (d * f - e * e), w * (c * e - b * f), w * (b * e - c * d),
            w * (a * f - c * c), w * (b * c - a * e), w * (a * d - b * b),
        )  # fmt: skip
        A[0, 0], A[0, 1], A[0, 2] = _project(free, n, B[0], B[1], B[2])
        A[1, 0], A[1, 1], A[1, 2] = _project(free, n, B[1], B[3], B[4])
        A[2, 0], A[2, 1], A[2, 2] = _project(free, n, B[2], B[4], B[5])
        for i in range(3):
            for j in range(3):
                out[n, 3 * i + j] = A[i, j]


@dataclass
class Joined:
    """Stencils of nodes (m, 4) whose points, with weights (m, 4) of sum 0, do not part or approach along normals (m,
    3): self-contact inside a solve (thesis 3.4). press (m,) [N s]: the impulse that they part with already; more than
    that does not hold them together where contacts are one-sided, nothing given: any impulse does."""

    nodes: Any = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    weight: Array = field(default_factory=lambda: np.zeros((0, 4)))
    normal: Array = field(default_factory=lambda: np.zeros((0, 3)))
    press: Array | None = None


SWEEPS = 4
"""Sweeps up and down the stencils that are joined (q of thesis 3.4)."""


class NodeBlock:
    """Velocities (n, 3) of nodes as a block of a ``CoupledSystem``: one mass per node, some directions prescribed:
    those of held nodes, those of ``hold``, and z in 2D. free (n, 9): the projection onto the others. What ``join``
    names keeps its relative velocity along its normals."""

    name = "soft"

    def __init__(self, bodies: SoftBodies) -> None:
        self.bodies = bodies
        self.held, self.joined = Held(), Joined()
        n = bodies.count
        self.inv_mass, self.free = np.zeros((n, 3)), np.zeros((n, 9))
        self.inv_mass_alone = np.zeros((n, 3))
        """What ``inv_mass``, of the free directions, would be if nothing were held (n, 3) [1/kg]."""
        self._mass, self.inverse, self._one, self._none = (np.zeros(n) for _ in range(4))
        """Masses, and inverse masses, 0 of held nodes (n,)."""
        self._own = np.zeros((n, 9))
        bodies.when_let_go.append(self.refresh)
        self.refresh()

    def refresh(self, extra: Array | None = None) -> None:
        """Take note that masses or held nodes have changed; extra (n,) [kg]: mass beside the nodes' own."""
        bodies = self.bodies
        self._mass[...], self._one[...] = bodies.mass if extra is None else bodies.mass + extra, 1.0
        self.inverse[...] = 0.0
        np.divide(1.0, self._mass, out=self.inverse, where=bodies.inv_mass > 0)
        np.multiply(self.inverse[:, None], bodies.free_axes, out=self.inv_mass_alone)
        self.inv_mass_alone[:, bodies.dimensions :] = 0.0
        self._own[:, ::4] = self.inv_mass_alone > 0
        self.hold(self.held)

    def hold(self, held: Held) -> None:
        """Prescribed directions from now on."""
        self.held = held
        self.free[...] = self._own
        self.free[held.fixed] = 0.0
        n = held.normal * (self.bodies.inv_mass[held.slip, None] > 0)
        if held.axes is not None:
            n = held.along(held.slip, n)
            n /= np.maximum(np.linalg.norm(n, axis=1), HELD_ALONG)[:, None]
        self.free[held.slip] -= (n[:, :, None] * n[:, None, :]).reshape(-1, 9)
        np.multiply(self.inv_mass_alone, self.free[:, ::4], out=self.inv_mass)

    def join(self, joined: Joined) -> None:
        """Stencils that no impulse parts from now on."""
        self.joined = joined

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inv_mass.shape

    def project(self, v: Array, out: Array) -> None:
        """out = v in the free directions."""
        self._sum(self._one, v, self._none, v, out)

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        self._sum(self.inverse, force, self._none, force, out)
        joined = self.joined
        if len(joined.nodes):
            _sweep_joined(joined.nodes, joined.weight, joined.normal, self.free, self.inverse, SWEEPS, out)

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        self._sum(self._mass, v, self._one, force, out)

    def _sum(self, mass: Array, v: Array, weight: Array, force: Array, out: Array) -> None:
        share(_project_sum, len(mass), 4 * len(mass), self.free, mass, v, weight, force, out)

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        free = self.free[:, ::4]
        diagonal[...] = free * (self._mass[:, None] + diagonal)
        work[...] = 0.0
        np.divide(1.0, diagonal, out=work, where=diagonal > 0)
        return work

    def invert_diagonal(self, places: Any, blocks: Array, out: Array) -> None:
        """out (n, 9) = (mass + block)^-1 of every node among its free directions; its block is blocks[places]."""
        share(_invert_diagonal, len(places), 32 * len(places), self.free, self._mass, places, blocks, out)


class ElasticRows:
    """The factor C of elasticity and damping as folded rows; the matrix C^T C is kept in blocks."""

    damping = True
    folded = True

    def __init__(self, forces: Forces, name: str = "elastic") -> None:
        self.name = name
        self.forces = forces
        self.shape: tuple[int, ...] = (forces.row_count,)
        self.target: Array | None = None
        self.stencil: Stencil | None = None
        self.blocks = forces.make_matrix()

    def apply(self, w: Mapping[str, Array], out: Array) -> None:
        self.forces.apply_rows(w["soft"], out)

    def add_transpose(self, z: Array, w: Mapping[str, Array]) -> None:
        self.forces.add_rows_transposed(z, w["soft"])

    def add_diagonal(self, inv_mass: Mapping[str, Array], out: Array) -> None:
        start = 0
        for group, modes, values in zip(self.forces.groups, self.forces.modes, self.forces.values, strict=True):
            stop = start + values.size
            squares = np.einsum("erai,eai->er", modes * modes, inv_mass["soft"][group.nodes])
            out[start:stop] += (np.maximum(values, 0.0) * squares).reshape(-1)
            start = stop

    def add_gram(self, w: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        self.forces.add_product(self.blocks, w["soft"], out["soft"])

    def add_gram_diagonal(self, w: Mapping[str, Array]) -> None:
        w["soft"][...] += self.blocks[self.forces.pattern.diagonal][:, ::4]


class _BlockJacobi:
    """The inverse of the 3x3 blocks on the diagonal, prescribed directions left out."""

    def __init__(self, nodes: NodeBlock, rows: ElasticRows) -> None:
        self.nodes, self.rows = nodes, rows
        n = len(nodes.inv_mass)
        self.inverse, self._own = np.zeros((n, 9)), np.zeros((n, 9))
        self._places, self._starts = np.arange(n, dtype=np.int32), np.arange(n + 1)

    def setup(self, touching: Touching | None = None, carried: Array | None = None) -> None:
        """With what touches, whose part of the carriers is added to ``carried`` (b, 6, 6)."""
        np.take(self.rows.blocks, self.rows.forces.pattern.diagonal, axis=0, out=self._own)
        if touching is not None and touching.count:
            none = np.zeros((0, 6, 6)) if carried is None else carried
            touching.add_diagonal(self._own, none, self.nodes.held.carriers.free)
        self.nodes.invert_diagonal(self._places, self._own, self.inverse)

    def apply(self, x: Array, out: Array) -> None:
        r, z = x.reshape(-1, 3), out.reshape(-1, 3)
        z[...] = 0.0
        n = len(r)
        share(_multiply_blocks, n, 8 * n, self._starts, self._places, self.inverse, r, z)


class Constraint(Protocol):
    """Rows G^T v of an implicit step with unknown pressures, see ``soft.rings.RingConstraint``."""

    rows: Any
    rate: Array
    slack: Array
    inverse: Array
    pressure: Array

    def weigh(self, inv_mass: Array, inv_mass_alone: Array) -> None: ...


SMALL = 1500
"""Velocities of nodes up to which constrained solves are preconditioned by factors, whatever the stiffness."""

STIFF = 20.0
"""Mean dt^2 K / m above which that is so ..."""

MOST_FACTORED = {2: 60_000, 3: 12_000}
"""... up to so many velocities, by dimensions: factors of tetrahedra fill up."""


class _Factors:
    """The inverse of P (M + C^T C) P among free directions, and of G^T D^-1 G + slack with the diagonal D of it."""

    def __init__(self, system: ImplicitSystem, constraint: Constraint) -> None:
        import scipy.sparse as sparse

        nodes, n = system.nodes, system.bodies.count
        matrix = system.rows.forces.sparse_matrix(system.rows.blocks) + sparse.diags(np.repeat(system.bodies.mass, 3))
        places = np.arange(n), np.arange(n + 1)
        free = sparse.bsr_matrix((nodes.free.reshape(-1, 3, 3), *places), shape=matrix.shape).tocsr()
        rest = sparse.identity(matrix.shape[0], format="csr") - free
        self._nodes = _factor(free @ matrix @ free + rest.multiply(float(matrix.diagonal().mean())))
        rows = constraint.rows.matrix()
        gram = rows @ sparse.diags(system._jacobi.inverse[:, ::4].reshape(-1)) @ rows.T
        empty = np.where(constraint.inverse > 0.0, constraint.slack, 1.0)
        self._rows = _factor(gram + sparse.diags(empty))
        self._free = nodes

    def apply(self, r: Array, rate: Array, out: Array, out_q: Array) -> None:
        """out (n, 3) and out_q (rows,)."""
        self._free.project(self._nodes.solve(r.reshape(-1)).reshape(-1, 3), out)
        out_q[...] = self._rows.solve(rate)


def _factor(matrix: Any) -> Any:
    """LU of a symmetric positive definite matrix, with an order that suits it."""
    import scipy.sparse.linalg

    return scipy.sparse.linalg.splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


class _CarriedSystem:
    """P^T (M + C^T C) P + M_b for free nodes and carriers, P giving held nodes the velocity of their carrier; with
    constraints the saddle point of that and their rows."""

    def __init__(self, system: ImplicitSystem) -> None:
        self.system = system
        n = 3 * system.bodies.count
        self.nodes = n
        self._full, self._force = np.zeros((n // 3, 3)), np.zeros((n // 3, 3))
        self.inverse = np.zeros((0, 6, 6))
        self._push = np.zeros((0, 6))
        self.constraint: Constraint | None = None
        self._factors: _Factors | None = None

    def setup(self) -> None:
        """The preconditioner of the carriers: the inverse of their masses and of the blocks of the nodes they carry."""
        system, held = self.system, self.system.nodes.held
        carriers = held.carriers
        self._push = np.zeros_like(carriers.w)
        total = carriers.mass * carriers.free[:, :, None] * carriers.free[:, None, :]
        total[:, range(6), range(6)] += 1.0 - carriers.free
        system._jacobi.setup(system.touching, total)
        chosen = np.flatnonzero(held.body >= 0)
        nodes = np.concatenate([held.fixed, held.slip])[chosen]
        blocks = system.rows.blocks[system.rows.forces.pattern.diagonal[nodes]].reshape(-1, 3, 3).copy()
        blocks[:, range(3), range(3)] += system.bodies.mass[nodes, None]
        along = np.concatenate(
            [
                np.broadcast_to(np.eye(3), (len(held.fixed), 3, 3)),
                held.along(held.slip, held.normal)[:, :, None] * held.normal[:, None, :],
            ]
        )[chosen]
        J = along @ (point_rows(held.arm[chosen]) * carriers.free[held.body[chosen], None, :])
        np.add.at(total, held.body[chosen], np.swapaxes(J, 1, 2) @ blocks @ J)
        self.inverse = np.asarray(np.linalg.inv(total), dtype=np.float64)

    def _parts(self, x: Array) -> tuple[Array, Array, Array]:
        """Velocities (n, 3), twists (b, 6) and pressures (rows,) of a flat vector, views."""
        stop = self.nodes + self._push.size
        return x[: self.nodes].reshape(-1, 3), x[self.nodes : stop].reshape(-1, 6), x[stop:]

    def apply(self, x: Array, out: Array) -> None:
        system, held, constraint = self.system, self.system.nodes.held, self.constraint
        (v, w, q), (f, g, rate) = self._parts(x), self._parts(out)
        full, force = self._full, self._force
        full[...] = v
        held.expand(full, w)
        np.multiply(system.bodies.mass[:, None], full, out=force)
        system.rows.forces.add_product(system.rows.blocks, full, force)
        self._push[...] = 0.0
        system.touching.add_product(full, w, held.carriers.free, force, self._push)
        if constraint is not None:
            constraint.rows.add_transpose(q, {"soft": force})
            constraint.rows.apply({"soft": full}, rate)
            rate -= constraint.slack * q
        held.collect(force, g)
        g += self._push
        g += np.einsum("bij,bj->bi", held.carriers.mass, w)
        system.nodes.project(force, f)

    def precondition(self, x: Array, out: Array) -> None:
        (v, w, q), (y, z, p) = self._parts(x), self._parts(out)
        np.einsum("bij,bj->bi", self.inverse, w, out=z)
        if self._factors is not None:
            self._factors.apply(v, q, y, p)
            return
        self.system._jacobi.apply(x[: self.nodes], out[: self.nodes])
        if self.constraint is not None:
            np.multiply(self.constraint.inverse, q, out=p)

    def solve(self, r: Array, push: Array, out: Array, out_w: Array, tolerance: float, iterations: int) -> int:
        """out (n, 3), out_w (b, 6): change of all velocities by the impulses r (n, 3) and push (b, 6)."""
        return self._solve(r, push, out, out_w, ConjugateGradients.solve, tolerance, iterations).iterations

    def improve(
        self, r: Array, push: Array, out: Array, out_w: Array, tolerance: float, iterations: int
    ) -> KrylovStats:  # fmt: skip
        """The same by at most so many iterations."""
        return self._solve(r, push, out, out_w, ConjugateGradients.improve, tolerance, iterations)

    def _solve(
        self, r: Array, push: Array, out: Array, out_w: Array, method: Any, tolerance: float, iterations: int
    ) -> KrylovStats:  # fmt: skip
        self.setup()
        held = self.system.nodes.held
        b = np.concatenate([np.zeros(self.nodes), (push * held.carriers.free).reshape(-1)])
        self.system.nodes.project(r, b[: self.nodes].reshape(-1, 3))
        x = np.zeros_like(b)
        stats: KrylovStats = method(
            ConjugateGradients(len(b)), self, b, x, tolerance, iterations, _Preconditioned(self)
        )
        self._take(x, out, out_w)
        return stats

    def _take(self, x: Array, out: Array, out_w: Array) -> None:
        v, w, _ = self._parts(x)
        out[...], out_w[...] = v, w
        self.system.nodes.held.expand(out, out_w)

    def solve_constrained(
        self, r: Array, push: Array, rate: Array, out: Array, out_w: Array, out_q: Array, tolerance: float,
        iterations: int, still: bool = False,
    ) -> int:  # fmt: skip
        """out (n, 3), out_w (b, 6), out_q (rows,): change of velocities and pressures by the impulses r and push, such
        that the rows change by ``rate`` (rows,). still: carriers do not move.

        MINRES in the norm of the diagonal blocks of nodes, of carriers and of the rows' own inverse masses.
        """
        system, held, constraint = self.system, self.system.nodes.held, self.constraint
        assert constraint is not None
        self.setup()
        own = system._jacobi.inverse[:, ::4]
        bodies = system.bodies
        stiff = system.rows.blocks[system.rows.forces.pattern.diagonal][:, ::4].mean(axis=1)
        alone = np.divide(1.0, bodies.mass + stiff, out=np.zeros_like(stiff), where=bodies.inv_mass > 0)
        constraint.weigh(own, np.repeat(alone[:, None], 3, axis=1))
        loose = bodies.inv_mass > 0
        count, stiffness = bodies.dimensions * bodies.count, (stiff * bodies.inv_mass)[loose]
        stiffer = len(stiffness) > 0 and float(stiffness.mean()) > STIFF
        factored = count <= SMALL or (stiffer and count <= MOST_FACTORED[bodies.dimensions])
        self._factors = _Factors(system, constraint) if factored else None
        if still:
            self.inverse[...] = 0.0
        b = np.concatenate([np.zeros(self.nodes), (push * held.carriers.free).reshape(-1), rate])
        system.nodes.project(r, self._parts(b)[0])
        weight = np.concatenate([own.reshape(-1), self.inverse[:, range(6), range(6)].reshape(-1), constraint.inverse])
        x = np.zeros_like(b)
        stats = Minres(len(b)).solve(self, b, x, tolerance, iterations, _Preconditioned(self), weight)
        self._factors = None
        self._take(x, out, out_w)
        out_q[...] = self._parts(x)[2]
        return stats.iterations


class _Preconditioned:
    def __init__(self, system: _CarriedSystem) -> None:
        self.system = system

    def apply(self, x: Array, out: Array) -> None:
        self.system.precondition(x, out)


class ImplicitSystem:
    """(M + elastic K + damping (-D)) for the nodes of soft bodies.

    direct: solve by sparse elimination instead of conjugate gradients: faster for slender bodies in 2D.
    """

    def __init__(self, bodies: SoftBodies, direct: bool = False) -> None:
        self.bodies, self.direct = bodies, direct
        self.nodes = NodeBlock(bodies)
        self.rows = ElasticRows(bodies.forces)
        self._jacobi = _BlockJacobi(self.nodes, self.rows)
        self.system = CoupledSystem([self.nodes], [self.rows], {"soft": self._jacobi})
        self.touching = Touching()
        """Soft surfaces that touch in the next solves."""
        self._solver = Gradients(bodies.count)
        self.carried = _CarriedSystem(self)
        self._b = np.zeros((bodies.count, 3))

    def set_stiffness(self, x: Array, elastic: float, damping: float) -> None:
        """The matrix at the positions x (n, 3)."""
        self.rows.forces.assemble(x, elastic, damping, self.rows.blocks, bounded=True)

    def hold(self, held: Held) -> None:
        """Prescribed directions of the next solves."""
        self.nodes.hold(held)

    def solve(self, r: Array, out: Array, tolerance: float, iterations: int = 5000) -> int:
        """out (n, 3) [m/s] solves the system with the impulses r (n, 3) [N s]; starts from 0; iterations taken."""
        b = self._b
        self.nodes.project(r, b)
        out[...] = 0.0
        if self.direct and not len(self.nodes.held.slip) and not self.touching.count:
            self._eliminate(b, out)
            return 1
        self._jacobi.setup(self.touching)
        self._set_nodes()
        return self._solver.solve(b, out, tolerance, iterations).iterations

    def improve(self, r: Array, out: Array, tolerance: float, iterations: int) -> KrylovStats:
        """The same from 0 by at most so many iterations of conjugate gradients."""
        self.nodes.project(r, self._b)
        self._jacobi.setup(self.touching)
        self._set_nodes()
        return self._solver.improve(self._b, out, tolerance, iterations)

    def _set_nodes(self) -> None:
        pattern, nodes = self.bodies.forces.pattern, self.nodes
        self._solver.set_nodes(
            NodeSystem(pattern.rows, pattern.columns, self.rows.blocks, nodes.free, nodes._mass, self._jacobi.inverse),
            self.touching.by_node(self.bodies.count),
        )

    def _eliminate(self, b: Array, out: Array) -> None:
        import scipy.sparse as sparse
        import scipy.sparse.linalg

        chosen = np.flatnonzero(self.nodes.free[:, ::4].reshape(-1) > 0)
        matrix = self.rows.forces.sparse_matrix(self.rows.blocks)
        matrix = matrix + sparse.diags(np.repeat(self.bodies.mass, 3))
        out.reshape(-1)[chosen] = scipy.sparse.linalg.spsolve(
            matrix[chosen][:, chosen].tocsc(), b.reshape(-1)[chosen], permc_spec="MMD_AT_PLUS_A"
        )

    def damp(self, v: Array, tolerance: float = 1e-8) -> int:
        """v (n, 3) <- (M + C^T C)^-1 M v, the backward Euler step of damping alone (5.7)."""
        self._jacobi.setup()
        stats = self.system.solve({"soft": v}, {}, tolerance, 5000)
        return stats.iterations
