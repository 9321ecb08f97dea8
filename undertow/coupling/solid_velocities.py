"""Velocities of nodes as a sparse block of the coupled system, with twists of rigid bodies that carry or touch them.

    w = (v of n nodes, (v, omega) of m rigid bodies), an array (n + 2 m, 3),      masses Mt = diag(M + C^T C, M_rigid),

C^T C = theta dt^2 K + dt (-D) being elasticity and damping. Nodes that rigid bodies carry have no velocity of their
own: w = T q, with q the free ones, and the mass is T^T Mt T, sparse, factored once per step (N: its inverse). What
holds solids together or apart are rows G w = c, eliminated before the fluid is solved for,

    N_G = N - N G^T (G N G^T + eps)^-1 G N      (``linalg.constraints``),

joints and the one-rings of incompressible bodies (thesis 5.10) first, then the contacts that act (``hold``). N_G is
the inverse of T^T Mt T + G^T G / eps: kinetic energy in that metric never grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.coupling.rigid_block import connected_bodies
from undertow.grid import Array
from undertow.linalg import ConstrainedInverse, HeldRows
from undertow.rigid.bodies import DYNAMIC, RigidBodies, rotation_matrix_of
from undertow.rigid.joints import Joints
from undertow.soft import SoftBodies
from undertow.soft.rings import RingRows

BLOCK = "solids"


@dataclass
class Bound:
    """Nodes (k,) that rigid bodies (k,) carry, from where they are."""

    nodes: Any
    bodies: Any


def no_bound() -> Bound:
    """No node is carried."""
    return Bound(np.zeros(0, np.int64), np.zeros(0, np.int64))


class SolidVelocities:
    """Velocities (n + 2 m, 3); held nodes, bodies that are not among ``member_b``, and z in 2D, are prescribed."""

    name = BLOCK

    def __init__(
        self, soft: SoftBodies, rigid: RigidBodies, bound: Bound | None = None, joints: Joints | None = None,
        rings: RingRows | None = None,
    ) -> None:  # fmt: skip
        self.soft, self.rigid, self.joints, self.rings = soft, rigid, joints, rings
        self.bound = no_bound() if bound is None else bound
        self.member_b = np.zeros(rigid.count, dtype=bool)
        """Rigid bodies whose velocities are unknowns here (m,); those of others are prescribed."""
        self.join(np.zeros(0, np.int64))
        self.stiffness, self.damping = soft.forces.make_matrix(), soft.forces.make_matrix()
        self.inv_mass = np.zeros((soft.count + 2 * rigid.count, 3))
        self.free = np.zeros(0, np.int64)
        """Flat indices of the velocities q."""
        self.matrix: Any = None
        """Mt (3 n + 6 m, 3 n + 6 m), sparse."""
        self.spread: Any = None
        """T (3 n + 6 m, free), sparse."""
        self._inverse: Any = None
        self._joined = _no_rows(0)
        self._held = _no_rows(0)
        # the same rows on all velocities (k, 3 n + 6 m), prescribed ones included
        self._joined_whole: Any = None
        self._held_whole: Any = None
        self._taken: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inv_mass.shape

    @property
    def nodes(self) -> slice:
        """Rows of the nodes."""
        return slice(0, self.soft.count)

    def twists(self, w: Array) -> Array:
        """The twists (m, 6) among velocities or impulses (n + 2 m, 3), a view."""
        return w[self.soft.count :].reshape(-1, 6)

    def join(self, touched: np.ndarray) -> None:
        """From now on the rigid bodies here are those that nodes are attached to, those ``touched`` (indices), and what
        joints connect to either."""
        member = self.member_b
        member[...] = False
        member[self.bound.bodies], member[touched] = True, True
        dynamic = self.rigid.kind_b == DYNAMIC
        if self.joints is not None and member.any():
            for mechanism in connected_bodies(self.joints.matrix(), dynamic):
                member[mechanism] |= member[mechanism].any()
        member &= dynamic

    def take(self, out: Array) -> None:
        """Velocities of now; nodes that bodies carry move with them."""
        rigid, bound = self.rigid, self.bound
        rigid.derive_velocities()
        out[self.nodes] = self.soft.v
        twist = self.twists(out)
        twist[:, :3], twist[:, 3:] = rigid.v_b, rigid.omega_b
        arm = self.soft.x[bound.nodes] - rigid.x_b[bound.bodies]
        out[bound.nodes] = rigid.v_b[bound.bodies] + np.cross(rigid.omega_b[bound.bodies], arm)

    def give(self, w: Array) -> None:
        """Nodes and bodies take the velocities w."""
        self.soft.v[...] = w[self.nodes]
        twist = self.twists(w)
        for b in np.flatnonzero(self.member_b):
            self.rigid.set_velocity(int(b), twist[b, :3], twist[b, 3:])

    # masses -----------------------------------------------------------------------------------------------------------

    def set_masses(self, dt: float, theta: float, lumped: Any = None) -> None:
        """Mt for the places of now and a step dt [s]; lumped (3 n, 3 n): sparse, of fluid that moves along."""
        import scipy.sparse as sparse

        soft, forces = self.soft, self.soft.forces
        forces.assemble(soft.x, theta * dt * dt, 0.0, self.stiffness)
        self.damping[...] = 0.0
        if soft.damped:
            forces.assemble(soft.x, 0.0, dt, self.damping)
        nodes = forces.sparse_matrix(self.stiffness + self.damping) + sparse.diags(np.repeat(soft.mass, 3))
        parts = [nodes if lumped is None else nodes + lumped]
        if self.rigid.count:
            parts.append(sparse.block_diag(self._rigid_masses()))
        self.matrix = sparse.block_diag(parts, format="csr") if len(parts) > 1 else parts[0].tocsr()
        self._find_free()
        self.inv_mass[...] = 0.0
        self.inv_mass.reshape(-1)[self.free] = 1.0 / self.matrix.diagonal()[self.free]
        self._inverse = factor(self.reduce(self.matrix))
        self._held = self._joined = _no_rows(len(self.free))
        self._taken = None
        parts = []
        if self.joints is not None:
            rows = self.joints.matrix()
            of_bodies = np.abs(rows.reshape(len(rows), self.rigid.count, 6))
            held = of_bodies[:, self.member_b].max(axis=(1, 2), initial=0.0) > 0.0
            joints = sparse.csr_matrix(rows[held])
            parts.append(sparse.hstack([sparse.csr_matrix((joints.shape[0], 3 * soft.count)), joints]))
        if self.rings is not None:
            self.rings.measure(soft.x)
            rings = self.rings.matrix()[self.rings.nodes]
            parts.append(sparse.hstack([rings, sparse.csr_matrix((rings.shape[0], 6 * self.rigid.count))]))
        if parts:
            self._joined_whole = sparse.vstack(parts, format="csr")
            self._joined = HeldRows(*self.answer_of(self._joined_whole))

    def hold_all(self) -> None:
        """No velocity gives way to a force until masses are set again."""
        import scipy.sparse as sparse

        self.free = np.zeros(0, np.int64)
        self.spread = sparse.csr_matrix((self.inv_mass.size, 0))
        self.inv_mass[...] = 0.0
        self._held = self._joined = _no_rows(0)
        self._taken = None

    def _rigid_masses(self) -> list[Array]:
        """diag(m, R I R^T) of every body."""
        rigid = self.rigid
        found = []
        for b in range(rigid.count):
            mass = np.zeros((6, 6))
            if rigid.kind_b[b] == DYNAMIC:
                R, inverse = rotation_matrix_of(rigid.q_b[b]), rigid.inv_inertia_b[b]
                moments = np.where(inverse > 0, 1.0 / np.where(inverse > 0, inverse, 1.0), 0.0)
                mass[:3, :3] = np.eye(3) / rigid.inv_mass_b[b]
                mass[3:, 3:] = R @ np.diag(moments) @ R.T
            found.append(mass)
        return found

    def _find_free(self) -> None:
        """q and T."""
        import scipy.sparse as sparse

        soft, rigid, bound = self.soft, self.rigid, self.bound
        free = np.zeros(self.shape, dtype=bool)
        free[self.nodes, : soft.dimensions] = soft.moves[:, : soft.dimensions]
        free[bound.nodes] = False
        twist = self.twists(free)
        turns = slice(3, 6) if soft.dimensions == 3 else slice(5, 6)
        twist[self.member_b, : soft.dimensions] = True
        twist[self.member_b, turns] = True
        self.free = np.flatnonzero(free.reshape(-1))
        number = np.full(free.size, -1, np.int64)
        number[self.free] = np.arange(len(self.free))
        carried = rigid.kind_b[bound.bodies] == DYNAMIC if len(bound.bodies) else np.zeros(0, bool)
        nodes, bodies = bound.nodes[carried], bound.bodies[carried]
        arm = soft.x[nodes] - rigid.x_b[bodies]
        at, to, value = [self.free], [np.arange(len(self.free))], [np.ones(len(self.free))]
        for axis in range(soft.dimensions):
            lever = np.cross(arm, np.eye(3)[axis])
            for c, factor_c in ((axis, np.ones(len(nodes))), *((3 + i, lever[:, i]) for i in range(3))):
                column = number[3 * soft.count + 6 * bodies + c]
                used = column >= 0
                at.append(3 * nodes[used] + axis)
                to.append(column[used])
                value.append(factor_c[used])
        shape = (free.size, len(self.free))
        self.spread = sparse.csr_matrix((np.concatenate(value), (np.concatenate(at), np.concatenate(to))), shape=shape)

    def reduce(self, matrix: Any) -> Any:
        """T^T A T of a sparse matrix on all velocities."""
        return (self.spread.T @ matrix @ self.spread).tocsc()

    def rows_of(self, G: Any) -> Any:
        """G T of sparse rows on all velocities."""
        return (G @ self.spread).tocsr()

    # what rows hold -------------------------------------------------------------------------------------------------

    def _solve(self, y: Array) -> Array:
        """N y of one or several columns."""
        return self._inverse.solve(y) if len(self.free) else np.zeros_like(y)

    def _solve_joined(self, y: Array) -> Array:
        """N y as joints allow it."""
        return self._joined.restrict(self._solve(y))

    def answer_of(self, G: Any) -> tuple[Any, Array, Array]:
        """G T, N G^T and G N G^T of sparse rows, as joints allow them."""
        rows = self.rows_of(G)
        across = self._solve_joined(rows.T.toarray()) if rows.shape[0] else np.zeros((len(self.free), 0))
        return rows, across, np.asarray(rows @ across)

    def hold(self, whole: Any, rows: Any, across: Array, gram: Array) -> None:
        """From now on these rows (``whole``: on all velocities), a part of what ``answer_of`` gave, do not change."""
        self._held, self._held_whole, self._taken = HeldRows(rows, across, gram), whole, None

    def held_rows(self) -> list[Any]:
        """The rows on q of joints and of what ``hold`` named, as far as there are any."""
        return [part.rows for part in (self._joined, self._held) if part.count]

    def settle(self, w: Array, wanted: Array) -> None:
        """w (n + 2 m, 3) <- the nearest velocities with joints closed and held rows as wanted (k,) [m/s], in energy."""
        flat = w.reshape(-1)
        joined, held = (self._joined, self._joined_whole, 0.0), (self._held, self._held_whole, wanted)
        for rows, whole, value in (joined, held):
            if rows.count:
                # twice: the first time leaves eps of what it meets
                for _ in range(2):
                    short = value - whole @ flat
                    flat += self.spread @ (rows.across @ rows.solve(short))

    def held_impulse(self, wanted: Array, w0: Array) -> Array:
        """Impulses (k,) [N s] that hold the rows as wanted (k,) [m/s] where all else leads to w0 (n + 2 m, 3)."""
        rows = self._held
        if not rows.count:
            return np.zeros(0)
        return rows.solve(wanted - self._held_whole @ w0.reshape(-1))

    def restricted_inverse(self, added: Any) -> Any:
        """(Mt + added)^-1 with what rows allow, added (3 n + 6 m, 3 n + 6 m) sparse; call it with forces (free,)."""
        inverse = factor(self.reduce(self.matrix + added))
        if inverse is None:
            return np.zeros_like
        return ConstrainedInverse(inverse.solve, [self._joined.rows, self._held.rows]).apply

    # a block of the coupled system ----------------------------------------------------------------------------------

    def loose_answer(self, force: Array) -> Array:
        """N force (n + 2 m, 3), whatever joints and contacts hold."""
        return np.asarray(self.spread @ self._solve(self.spread.T @ force.reshape(-1))).reshape(self.shape)

    def free_answer(self, force: Array) -> Array:
        """N force (n + 2 m, 3), with joints, whatever contacts hold."""
        return np.asarray(self.spread @ self._solve_joined(self.spread.T @ force.reshape(-1))).reshape(self.shape)

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = T N_G T^T force, 0 where prescribed; out may be force."""
        q = self._held.restrict(self._solve_joined(self.spread.T @ force.reshape(-1)))
        out.reshape(-1)[...] = self.spread @ q

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = Mt v + force, as seen by q and without what rows take; 0 where prescribed."""
        total = self.spread.T @ (self.matrix @ v.reshape(-1) + force.reshape(-1))
        self.place_seen(total, out)

    def place_seen(self, force: Array, out: Array) -> None:
        """Forces (free,) on q, less what joints and held rows take, in their places of out (n + 2 m, 3)."""
        if self._taken is None:
            self._taken = _basis([self._joined.rows, self._held.rows])
        out[...] = 0.0
        out.reshape(-1)[self.free] = force - self._taken @ (self._taken.T @ force)

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(Mt) + diagonal where free, 0 elsewhere; its inverse in ``work``, which is returned."""
        flat, inverse = diagonal.reshape(-1), work.reshape(-1)
        total = (flat + self.matrix.diagonal())[self.free]
        flat[...], inverse[...] = 0.0, 0.0
        flat[self.free], inverse[self.free] = total, 1.0 / total
        return work


def _no_rows(size: int) -> HeldRows:
    import scipy.sparse as sparse

    return HeldRows(sparse.csr_matrix((0, size)), np.zeros((size, 0)), np.zeros((0, 0)))


def _basis(rows: list[Any]) -> Array:
    """Orthonormal vectors (free, r) that span the transposed rows."""
    from scipy.linalg import qr

    stacked = np.concatenate([part.toarray() for part in rows])
    if not len(stacked):
        return np.zeros((stacked.shape[1], 0))
    size = np.linalg.norm(stacked, axis=1)
    stacked = stacked[size > 0.0] / size[size > 0.0, None]
    Q, R, _ = qr(stacked.T, mode="economic", pivoting=True)
    value = np.abs(np.diagonal(R))
    return np.ascontiguousarray(Q[:, : len(value)][:, value > 1e-10 * value.max(initial=0.0)])


def factor(matrix: Any) -> Any:
    """The factors of a symmetric positive definite sparse matrix; None of an empty one."""
    from scipy.sparse.linalg import splu

    if not matrix.shape[0]:
        return None
    return splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
