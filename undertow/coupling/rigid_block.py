"""Rigid bodies as a dense block of the coupled solve: a 6 x 6 mass per body, and one dense block per mechanism.

Bodies that joints connect, directly or through others, are a mechanism. With M the masses of its bodies, N = M^-1 and G
the rows of its joints, the inverse mass

    N_G = N - N G^T (G N G^T)^-1 G N

answers to a force with the motion that the joints leave: they are rows of the same system, eliminated before it is
solved. A dense inverse keeps its digits however light a body is: bodies of 1e-9 of the density of the fluid are solved
for like others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.linalg import DenseBlock
from undertow.rigid.bodies import DYNAMIC, RigidBodies
from undertow.rigid.joints import Joints
from undertow.rigid.rows import BLOCK, RigidVelocities


class Mechanism(NamedTuple):
    """Bodies that joints connect."""

    bodies: np.ndarray  # (k,)
    block: DenseBlock  # inverse mass (1, 6 k, 6 k), as the joints allow it
    rows: Array  # (r, 6 n): G, on the twists of all bodies
    closing: Array  # (6 k, r): N G^T (G N G^T)^-1


class RigidBlock:
    """Twists (n, 6) of bodies, those that are not dynamic with infinite mass.

    inv_mass (n, 6, 6): the blocks of B^-1 on its diagonal. own: the bodies without their joints. mechanisms: of the
    bodies where they are now.
    """

    name = BLOCK

    def __init__(self, bodies: RigidBodies, joints: Joints | None) -> None:
        self.bodies, self.joints = bodies, joints
        self.own = RigidVelocities(bodies.count)
        self._free = DenseBlock(BLOCK, np.zeros((bodies.count, 6, 6)))
        """Bodies that no joint holds; what is in a mechanism has an infinite mass here."""
        self.inv_mass = np.zeros((bodies.count, 6, 6))
        self.mechanisms: list[Mechanism] = []
        self._lumped_b: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bodies.count, 6)

    def set_masses(self, lumped: Callable[[Array], Array | None], elsewhere_b: np.ndarray) -> None:
        """Of the bodies at their poses of now; lumped: from their own inverse masses (n, 6, 6) to the mass of the fluid
        that moves along, or None. elsewhere_b (n,): bodies whose velocities are prescribed here."""
        self.own.set_masses(self.bodies)
        self._lumped_b = lumped(self.own.inv_mass)
        if self._lumped_b is not None:
            self._add_mass(self._lumped_b)
        self._free.inv_mass[...] = self.own.inv_mass
        self._free.inv_mass[elsewhere_b] = 0.0
        moves_b = (self.bodies.kind_b == DYNAMIC) & ~elsewhere_b
        self.mechanisms = [] if self.joints is None else self._make_mechanisms(self.joints.matrix(), moves_b)
        self._refresh()

    def hold_all(self) -> None:
        """No body gives way to a force until masses are set again."""
        self._free.inv_mass[...] = 0.0
        self.mechanisms = []
        self._refresh()

    def _refresh(self) -> None:
        self._free.refresh()
        self._fill_diagonal(self._free.inv_mass, [m.block.inv_mass[0] for m in self.mechanisms], self.inv_mass)

    def _fill_diagonal(self, free: Array, joined: list[Array], out: Array) -> None:
        """out (n, 6, 6): the blocks on the diagonal of matrices of free bodies (n, 6, 6) and of mechanisms."""
        out[...] = free
        for mechanism, matrix in zip(self.mechanisms, joined, strict=True):
            k = np.arange(len(mechanism.bodies))
            out[mechanism.bodies] = matrix.reshape(len(k), 6, len(k), 6)[k, :, k, :]

    def _add_mass(self, lumped_b: Array) -> None:
        """Mt = M + lumped, on the directions in which a body moves."""
        inverse = self.own.inv_mass
        own = np.asarray(np.linalg.pinv(inverse, hermitian=True), dtype=np.float64)
        moves = (self.bodies.kind_b == DYNAMIC)[:, None] & (np.diagonal(inverse, axis1=1, axis2=2) > 0.0)
        both = moves[:, :, None] & moves[:, None, :]
        inverse[...] = np.linalg.pinv(own + lumped_b * both, hermitian=True) * both
        self.own.refresh()

    def _make_mechanisms(self, rows: Array, moves_b: np.ndarray) -> list[Mechanism]:
        """One per set of bodies that move and that rows (k, 6 n) of joints connect."""
        found = []
        for bodies in connected_bodies(rows, moves_b):
            entries = entries_of(bodies)
            own_rows = rows[np.abs(rows[:, entries]).max(axis=1, initial=0.0) > 0.0]
            G = own_rows[:, entries]
            whole = block_diagonal(self.own.inv_mass[bodies])
            across = whole @ G.T
            inner = np.linalg.pinv(G @ across, rcond=1e-12, hermitian=True)
            block = DenseBlock(BLOCK, (whole - across @ inner @ across.T)[None])
            found.append(Mechanism(bodies, block, own_rows, across @ inner))
            self._free.inv_mass[bodies] = 0.0
        return found

    def project(self, twist_b: Array) -> None:
        """The nearest velocities that the joints allow, in kinetic energy; twist (n, 6), in place."""
        for mechanism in self.mechanisms:
            closed = mechanism.closing @ (mechanism.rows @ twist_b.reshape(-1))
            twist_b[mechanism.bodies] -= closed.reshape(-1, 6)

    def lumped_momentum(self, change_b: Array) -> Array:
        """What fluid that moves along gets (n, 6) [N s, N m s] when twists of dynamic bodies change (n, 6)."""
        if self._lumped_b is None:
            return np.zeros_like(change_b)
        found = np.einsum("bij,bj->bi", self._lumped_b, change_b)
        found[self.bodies.kind_b != DYNAMIC] = 0.0
        return np.asarray(found)

    def joint_impulse(self, change_b: Array, given_b: Array) -> Array:
        """What joints gave (n, 6) [N s, N m s] to bodies whose twists changed by ``change`` (n, 6) while impulses
        ``given`` (n, 6) acted on them: the rest of the change of momentum."""
        found = np.zeros_like(change_b)
        if self.mechanisms:
            bodies = np.concatenate([mechanism.bodies for mechanism in self.mechanisms])
            total = np.zeros_like(change_b)
            self.own.apply_inertia(change_b, -given_b, total)
            found[bodies] = total[bodies]
        return found

    def apply_inverse_mass(self, force: Array, out: Array) -> None:
        """out = B^-1 force, 0 where prescribed; out may be force."""
        joined = [m.block.inv_mass[0] @ force[m.bodies].reshape(-1) for m in self.mechanisms]
        self._free.apply_inverse_mass(force, out)
        self._put(joined, out)

    def apply_inertia(self, v: Array, force: Array, out: Array) -> None:
        """out = B v + force where free, 0 where prescribed; out may be v or force."""
        joined = []
        for m in self.mechanisms:
            flat = np.zeros(m.block.shape)
            m.block.apply_inertia(v[m.bodies].reshape(1, -1), force[m.bodies].reshape(1, -1), flat)
            joined.append(flat)
        self._free.apply_inertia(v, force, out)
        self._put(joined, out)

    def _put(self, joined: list[Array], out: Array) -> None:
        for mechanism, value in zip(self.mechanisms, joined, strict=True):
            out[mechanism.bodies] = value.reshape(-1, 6)

    def fold_diagonal(self, diagonal: Array, work: Array) -> Array:
        """diagonal <- diag(B) + diagonal where free, 0 where prescribed; the diagonal blocks of the inverse."""
        inverses, diagonals = [], []
        for m in self.mechanisms:
            own = diagonal[m.bodies].reshape(1, -1)
            inverses.append(m.block.fold_diagonal(own, own)[0])
            diagonals.append(own)
        out = self._free.fold_diagonal(diagonal, work)
        self._put(diagonals, diagonal)
        self._fill_diagonal(out.copy(), inverses, out)
        return out

    def invert_with(self, gram_b: Array) -> BodiesInverse:
        """(B + gram)^-1 for symmetric gram (n, 6, 6), on the free directions."""
        joined = [m.block.invert_with(block_diagonal(gram_b[m.bodies])[None])[0] for m in self.mechanisms]
        return BodiesInverse(self, self._free.invert_with(gram_b), joined)

    def mobility(self, entries: np.ndarray) -> Any:
        """B^-1 among some entries (k,) of the flat twists, sparse (k, k)."""
        import scipy.sparse as sparse

        rows, columns, values = [], [], []
        joined = [(m.bodies, m.block.inv_mass[0]) for m in self.mechanisms]
        taken = np.zeros(self.bodies.count, dtype=bool)
        for bodies, _ in joined:
            taken[bodies] = True
        alone = [(np.array([b]), self._free.inv_mass[b]) for b in np.unique(entries // 6) if not taken[b]]
        place = np.full(6 * self.bodies.count, -1, np.int64)
        place[entries] = np.arange(len(entries))
        for bodies, inverse in (*alone, *joined):
            own = entries_of(bodies)
            used = np.flatnonzero(place[own] >= 0)
            at = place[own[used]]
            rows.append(np.repeat(at, len(at)))
            columns.append(np.tile(at, len(at)))
            values.append(inverse[np.ix_(used, used)].reshape(-1))
        none = np.zeros(0, np.int64)
        row, column, value = (np.concatenate([none, *parts]) for parts in (rows, columns, values))
        return sparse.csr_matrix((value.astype(np.float64), (row, column)), shape=(len(entries),) * 2)


class BodiesInverse:
    """An inverse of the form of ``RigidBlock``: of free bodies (n, 6, 6), and of mechanisms."""

    def __init__(self, block: RigidBlock, free: Array, joined: list[Array]) -> None:
        self.mechanisms, self._free, self._joined = block.mechanisms, free, joined

    def apply(self, x: Array, out: Array) -> None:
        found = np.einsum("nij,nj->ni", self._free, x)
        for mechanism, inverse in zip(self.mechanisms, self._joined, strict=True):
            found[mechanism.bodies] = (inverse @ x[mechanism.bodies].reshape(-1)).reshape(-1, 6)
        out[...] = found


def connected_bodies(rows: Array, dynamic_b: np.ndarray) -> list[np.ndarray]:
    """The sets of dynamic bodies that rows (k, 6 n) connect, bodies that none touches aside."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    touched = (np.abs(rows.reshape(len(rows), len(dynamic_b), 6)).max(axis=2) > 0.0) & dynamic_b
    row, body = np.nonzero(touched)
    count = len(dynamic_b)
    graph = coo_matrix((np.ones(len(row)), (body, count + row)), shape=(count + len(rows),) * 2)
    _, label = connected_components(graph, directed=False)
    joined = np.flatnonzero(touched.any(axis=0))
    return [joined[label[joined] == one] for one in np.unique(label[joined])]


def entries_of(bodies: np.ndarray) -> np.ndarray:
    """Where the twists of some bodies (k,) are among the flat ones (6 k,)."""
    return np.asarray((6 * bodies[:, None] + np.arange(6)).reshape(-1))


def block_diagonal(blocks: Array) -> Array:
    """(n, k, k) as one matrix (n k, n k)."""
    n, k, _ = blocks.shape
    whole = np.zeros((n, k, n, k))
    whole[np.arange(n), :, np.arange(n), :] = blocks
    return whole.reshape(n * k, n * k)
