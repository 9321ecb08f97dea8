"""The preconditioner of the coupled pressure: a multigrid cycle for the fluid, corrected for bodies lighter than it.

With B one cycle for A0 (bodies at rest) and N = M^-1 of the twist components of light bodies, the inverse of
A = A0 + F N F^T is approximated in one of two ways. Few components: by the formula of Sherman, Morrison and Woodbury,

    B - (B F) C (B F)^T,      C = (I + N S)^-1 N = (M + S)^-1,      S = F^T B F,

with B F stored, one cycle per component. Many: by balancing (Mandel 1993) with functions Z that live near their bodies
(``coupling.patches``), which takes no cycle of set-up,

    (I - Q A) B (I - A Q) + Q,      Q = Z E^-1 Z^T,      E = Z^T A Z = D + T N T^T,      D = Z^T A0 Z,      T = Z^T F.

Where Z^T A x = 0 the pressure of a light body's own mass is bounded by the angle between Z and A0^-1 F, not by N; Z
needs to be no good solution. S, or T^T D^-1 T in its place, approximates the added mass of the bodies, so both are
bounded however light they are, and N may be singular (bodies that are held, or joined).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from undertow.coupling.patches import Patches
from undertow.coupling.rigid_block import RigidBlock
from undertow.coupling.rigid_walls import RigidWalls
from undertow.fluid.pressure import PressureRows
from undertow.grid import Array
from undertow.linalg import Woodbury
from undertow.linalg.krylov import Preconditioner

LIGHT = 2.0
"""Components count when the inverse mass times F^2 is this many times that of the displaced fluid in translation."""

MOST_COLUMNS = 12
"""Components up to which a cycle for each pays."""

REACH = 0.4
"""Layers of a patch, in sides of the cube with the body's volume, between 2 and MOST_LAYERS."""

MOST_LAYERS = 8


class AddedMass:
    """Preconditioner named in the head of the module; ``setup`` after every change of geometry or mass."""

    def __init__(
        self, cycle: Preconditioner, rows: PressureRows, walls: RigidWalls, block: RigidBlock, displaced_b: Array,
        volume_b: Array,
    ) -> None:  # fmt: skip
        """cycle: B, for the fluid and what else moves in it."""
        self.rows, self.walls, self.block = rows, walls, block
        self.volume_b = volume_b
        self.displaced_b = displaced_b
        """Mass of the fluid that each body displaces (n,) [kg]; 0 for bodies that are not dynamic."""
        self.chosen = np.zeros(0, dtype=np.int64)
        """Entries of the flat twists (n 6,) that are corrected for."""
        self._twists = ChosenTwists(walls)
        self._columns = Woodbury(cycle, rows.shape, rows.domain.grid.dimensions == 2)
        self._balance = Balance(cycle, rows, self._twists)
        self._method: Woodbury | Balance = self._columns

    def setup(self) -> None:
        """The correction for the walls and masses of now."""
        grid = self.rows.domain.grid
        self.chosen = self._twists.chosen = self._choose(np.diagonal(self.block.inv_mass, axis1=1, axis2=2))
        if len(self.chosen) <= MOST_COLUMNS:
            self._method = self._columns
            self._columns.setup(self._twists, self.block.mobility(self.chosen).toarray())
            return
        size = self.volume_b ** (1.0 / grid.dimensions)
        layers = np.clip(np.ceil(REACH * size / grid.dx), 2, MOST_LAYERS).astype(np.int64)
        self._method = self._balance
        self._balance.setup(self.block.mobility(self.chosen), layers)

    def _choose(self, mobility_b: Array) -> np.ndarray:
        """Twist components of bodies that the fluid moves more than their own mass holds them."""
        cut = self.walls.cut
        square = np.zeros((len(self.volume_b), 6))
        np.add.at(square, cut.spec.body[: cut.size], cut.spec.f[: cut.size] ** 2)
        reference = square[:, :3].max(axis=1) / np.maximum(self.displaced_b, 1e-300)
        strength = square * mobility_b
        light = (strength > LIGHT * reference[:, None]) & (strength > 0.0)
        # turning about an axis goes with turning about the others: the inertia couples them
        light[:, 3:] = light[:, 3:].any(axis=1)[:, None] & (mobility_b[:, 3:] > 0.0) & (square[:, 3:] > 0.0)
        if self.walls.couples_components:
            light = light.any(axis=1)[:, None] & (mobility_b > 0.0)
        for mechanism in self.block.mechanisms:
            # joined bodies answer together
            if light[mechanism.bodies].any():
                light[mechanism.bodies] = mobility_b[mechanism.bodies] > 0.0
        return np.flatnonzero(light.reshape(-1))

    def apply(self, x: Array, out: Array) -> None:
        """out = (approximate inverse) x"""
        self._method.apply(x, out)

    def start(self, impulse_b: Array, z_c: Array) -> Array:
        """Improve the guess z [Pa s] for bodies that impulses J (n, 6) [N s] act on beside it.

        Returns the change of the chosen twist components, M^-1 (J + F^T z) with the z returned: that is c = C (J + F^T
        z) with the z given, without the cancellation.
        """
        return self._method.start(impulse_b.reshape(-1)[self.chosen], z_c)

    def shown_b(self) -> Array:
        """What the chosen components of a body answer to an impulse with the fluid that moves along (n, 6, 6)."""
        whole = np.zeros((len(self.volume_b), 6, 6))
        body, component = np.divmod(self.chosen, 6)
        for b in np.unique(body):
            of = np.flatnonzero(body == b)
            whole[np.ix_([b], component[of], component[of])] = self._method.shown(of)
        return whole


class ChosenTwists:
    """F of the chosen components of the flat twists (n 6,)."""

    def __init__(self, walls: RigidWalls) -> None:
        self.walls = walls
        self.chosen = np.zeros(0, dtype=np.int64)
        self._twist = np.zeros_like(walls.v)

    @property
    def count(self) -> int:
        return len(self.chosen)

    def gather(self, x: Array) -> Array:
        """F^T x of a pressure x."""
        self._twist[...] = 0.0
        self.walls.add_force(1.0, x, self._twist)
        return np.asarray(self._twist.reshape(-1)[self.chosen])

    def add(self, factor: float, amount: Array, out: Array) -> None:
        """out += factor F amount"""
        self._twist[...] = 0.0
        self._twist.reshape(-1)[self.chosen] = amount
        self.walls.add_flux(factor, self._twist, out)


class Balance:
    """Balancing with functions near the bodies.

    E is never formed. With c = N (g + T^T y) the equations E y = f - T N g are

        [ I  -N T^T ] [ c ]   [ N g ]
        [ T     D   ] [ y ] = [  f  ],

    factored with their upper rows divided by N: no large number enters however light a body is, and c is at hand.
    """

    def __init__(self, cycle: Preconditioner, rows: PressureRows, twists: ChosenTwists) -> None:
        self.cycle, self.rows, self.twists = cycle, rows, twists
        self.patches: Patches | None = None
        self._source = np.zeros(rows.shape)

    @property
    def chosen(self) -> np.ndarray:
        return self.twists.chosen

    def setup(self, mobility: sp.csr_matrix, layers_b: np.ndarray) -> None:
        """Patches and factors for the chosen components, whose N is ``mobility``."""
        if self.patches is None:
            self.patches = Patches(self.rows.stencil, self.twists.walls.cut)
        patches, m = self.patches, len(self.chosen)
        body, component = np.divmod(self.chosen, 6)
        bodies, components = np.unique(body), np.unique(component)
        patches.setup(bodies, components, layers_b[bodies])
        self._at = len(components) * np.searchsorted(bodies, body) + np.searchsorted(components, component)
        """Where the chosen components are among those of the patches."""
        gram, across = (product[self._at][:, self._at] for product in patches.products())
        # functions that depend on each other (a body that is hardly wet) must not make it singular
        diagonal = gram.diagonal()
        gram = gram + sp.diags(np.where(diagonal > 0.0, 1e-10 * diagonal, 1.0))
        self._gram, self._across = gram, across
        largest = np.asarray(abs(mobility).max(axis=1).todense()).reshape(-1)
        self._mobility = sp.diags(1.0 / np.where(largest > 0.0, largest, 1.0)) @ mobility
        upper = sp.diags(1.0 / np.where(largest > 0.0, largest, 1.0))
        self._factors = splu(sp.bmat([[upper, -self._mobility @ across.T], [across, gram]], format="csc"))
        self._masses = mobility
        self._amount = np.zeros(len(bodies) * len(components))
        self._right = np.zeros(2 * m)

    def _solve(self, g: Array | None, f: Array | None) -> tuple[Array, Array]:
        """c and y; g, f: None for zero."""
        m = len(self.chosen)
        self._right[:m] = 0.0 if g is None else self._mobility @ g
        self._right[m:] = 0.0 if f is None else f
        found = self._factors.solve(self._right)
        return found[:m], found[m:]

    def _spread(self, y: Array) -> Array:
        self._amount[...] = 0.0
        self._amount[self._at] = y
        return self._amount

    def apply(self, x: Array, out: Array) -> None:
        """out = (I - Q A) B (I - A Q) x + Q x"""
        patches, rest, flat = self.patches, self._source, out.reshape(-1)
        assert patches is not None
        c, y = self._solve(None, patches.gather(patches.z, x.reshape(-1))[self._at])
        rest[...] = x.reshape(rest.shape)
        patches.scatter(patches.y, self._spread(-y), rest.reshape(-1))
        self.twists.add(-1.0, c, rest)
        self.cycle.apply(rest, out.reshape(rest.shape))
        _, s = self._solve(-self.twists.gather(out), patches.gather(patches.y, flat)[self._at])
        patches.scatter(patches.z, self._spread(y - s), flat)

    def start(self, given: Array, z_c: Array) -> Array:
        """z += Z y with E y = -T N (J + F^T z), J being the impulses given."""
        assert self.patches is not None
        c, y = self._solve(self.twists.gather(z_c) + given, None)
        self.patches.scatter(self.patches.z, self._spread(y), z_c.reshape(-1))
        return np.asarray(c)

    def shown(self, of: np.ndarray) -> Array:
        """(M + T^T D^-1 T)^-1 of some of the chosen components, as if the others were held."""
        gram, across, n = (matrix[of][:, of].toarray() for matrix in (self._gram, self._across, self._masses))
        found = np.linalg.solve(np.eye(len(of)) + n @ across.T @ np.linalg.solve(gram, across), n)
        return np.asarray(0.5 * (found + found.T))
