"""Contact of rigid bodies in a fluid: staggered (block Gauss-Seidel) iterations of contact and fluid.

Impulses are found with the masses that bodies have in the fluid, and given to bodies and fluid. What the fluid does is
not known before (``coupling.secant``), so the impulses are found again from what came of it: too much is taken back as
too little is added. What is left is for the contact solve that follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.secant import SecantUpdate, apply_mobility, observed_mobility
from undertow.fluid.flow import Flow
from undertow.grid import Array
from undertow.linalg import SolveStats
from undertow.rigid.bodies import DYNAMIC
from undertow.solids import Solids
from undertow.solids.rows import Memory
from undertow.solids.step import FoundContacts

ITERATIONS = 6
"""At most so many of contact and fluid in turn."""

TOLERANCE = 1e-4
"""Changes of the impulses of contact, relative to the largest, that are not worth another iteration."""

INNER_ITERATIONS = 10
"""At most so many contact solves with one mobility."""

SUPPORT = 3.0
"""Contact that gave a body more than so many times its weight was an impact and is not expected again."""


class MovesBodies(Protocol):
    """A solve that moves fluid and bodies together."""

    def mobility(self) -> tuple[Array, Array]:
        """As for ``ContactInFluid``."""

    def push(self, u_f: Array, z_c: Array) -> list[SolveStats]:
        """Impulses of the coupled bodies move bodies and the fluid u; z_c: the pressure's impulse on exit [Pa s]."""


class ContactInFluid(ABC):
    """The impulses of a step, and those of the last one as the start of the next."""

    def __init__(self, solids: Solids) -> None:
        self.solids, self.memory = solids, Memory()

    @abstractmethod
    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses (n,) [1/kg] and principal moments (n, 3) [1/(kg m2)] of bodies with the fluid about them."""

    @abstractmethod
    def apply_impulse(self, impulse_b: Array, dt: float) -> list[SolveStats]:
        """Impulses (n, 6) [N s, N m s] about the centres of mass move bodies and fluid, in a step of dt [s]."""

    def expect(self, contacts: FoundContacts, dt: float) -> Array:
        """Impulses (n, 6) of the last step's contacts at those of now, which act in the solve: none after an impact."""
        solids, memory = self.solids, self.memory
        expected = solids.remembered_impulses(contacts, memory, dt)
        weight = SUPPORT * dt * float(np.linalg.norm(solids.gravity))
        if (np.linalg.norm(expected[:, :3], axis=1) * solids.bodies.inv_mass_b > weight).any():
            memory.count = 0
            expected[...] = 0.0
        return expected

    def iterate(self, contacts: FoundContacts, given: Array, dt: float) -> list[SolveStats]:
        """Contact and fluid in turn; given (n, 6): impulses that have acted already, and all of them at the end."""
        found: list[SolveStats] = []
        if not contacts.size:
            return found
        solids, bodies = self.solids, self.solids.bodies
        bodies.derive_velocities()
        masses = self.mobility()
        least, own = 0.25 * masses[0], bodies.inv_mass_b.copy()
        secant = SecantUpdate()
        for iteration in range(ITERATIONS):
            change = self._find_change(contacts, masses, given, secant, dt)
            # what was expected is corrected once, however little: a body that is carried too well would rise
            if iteration and np.abs(change[:, :3]).max() <= TOLERANCE * np.abs(given[:, :3]).max():
                break
            before = bodies.twists()
            found += self.apply_impulse(change, dt)
            bodies.derive_velocities()
            given += change
            answer = bodies.twists() - before
            secant.add(change, answer)
            masses = observed_mobility(change, answer, masses[0], least, own), masses[1]
        solids.count_contact(given[:, :3], given[:, 3:])
        return found

    def _find_change(
        self, contacts: FoundContacts, masses: tuple[Array, Array], given: Array, secant: SecantUpdate, dt: float
    ) -> Array:
        """Impulses (n, 6) of contact beyond those given, by the mobility of now."""
        solids, memory = self.solids, self.memory
        change = np.zeros_like(given)
        with solids.with_masses(*masses) as in_world:
            start = solids.bodies.twists() - apply_mobility(given, in_world)
            more = secant.correction(in_world)
            for _ in range(INNER_ITERATIONS):
                found = solids.contact_impulses(contacts, memory, start + more.of(change), dt) - given
                moved = float(np.abs(found - change)[:, :3].max())
                change += more.damping * (found - change)
                if moved <= 0.1 * TOLERANCE * float(np.abs(found + given)[:, :3].max()):
                    break
        return change

    def arrays(self) -> dict[str, Array]:
        """What evolves."""
        return {f"fluid_contact_{key}": array for key, array in self.memory.arrays().items()}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        self.memory.restore(*(arrays[f"fluid_contact_{key}"] for key in ("keys", "point", "impulse", "dt")))


class ContactWithFluid(ContactInFluid):
    """Of bodies that a solve moves together with the fluid."""

    def __init__(self, solids: Solids, flow: Flow, projection: MovesBodies, coupled: CoupledBodies) -> None:
        super().__init__(solids)
        self.flow, self.projection, self.coupled = flow, projection, coupled

    def mobility(self) -> tuple[Array, Array]:
        return self.projection.mobility()

    def apply_impulse(self, impulse_b: Array, dt: float) -> list[SolveStats]:
        flow = self.flow
        self.coupled.impulse_b[...] = impulse_b
        flow.z_c[...] = 0.0
        found = self.projection.push(flow.state.u, flow.z_c)
        flow.z_c /= dt
        flow.state.p += flow.z_c
        return found


class ContactOfBodiesAlone(ContactInFluid):
    """Of bodies whose fluid feels contact in its next step: where the solve knows no bodies."""

    def mobility(self) -> tuple[Array, Array]:
        bodies = self.solids.bodies
        return bodies.inv_mass_b.copy(), bodies.inv_inertia_b.copy()

    def expect(self, contacts: FoundContacts, dt: float) -> Array:
        expected = super().expect(contacts, dt)
        expected[...] = 0.0
        return expected

    def apply_impulse(self, impulse_b: Array, dt: float) -> list[SolveStats]:
        bodies = self.solids.bodies
        dynamic = bodies.kind_b == DYNAMIC
        bodies.p_b[dynamic] += impulse_b[dynamic, :3]
        bodies.L_b[dynamic] += impulse_b[dynamic, 3:]
        return []
