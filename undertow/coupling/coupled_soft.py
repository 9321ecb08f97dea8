"""The solids of a coupled solve, soft and rigid, and what acts on them beside the fluid."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.one_sided import Contacts
from undertow.coupling.solid_velocities import Bound
from undertow.grid import Array
from undertow.soft import SoftBodies
from undertow.soft.rings import RingRows


@dataclass
class CoupledSoft:
    """The solids of a coupled solve, soft and rigid, and what acts on them beside the fluid.

    external (n, 3) [N]: mean force on the nodes over the step beside elasticity; on the rigid bodies it is the impulse
    of ``rigid``. bound: nodes that rigid bodies carry. rings: of incompressible bodies. contacts: of this step, None:
    none. pressure, viscous (n, 3) [N s]: impulses of the fluid on nodes over the last step, without buoyancy; on rigid
    bodies they are in ``rigid``. buoyancy (n, 3) [N]: of its hydrostatic pressure. touched (n + 2 m, 3) [N s, N m s]:
    impulses of contact. dissipated [J]: what viscosity and damping took in the last step. passes: solves that contact
    took. density: of the lightest soft body [kg/m3]. recovery: shortest time over which closed shells regain the volume
    of their pocket [s]. stepper: the form of elasticity (``coupling.node_solids``). elastic_x (n, 3) [m]: where it is
    found, None: where the nodes are. reach: positions move for so many times the step of the solve with what it finds.
    drifts: how long they have moved with the velocities before the solve, and will with those after it [s]; None: as
    long as the step of the solve.
    """

    bodies: SoftBodies
    rigid: CoupledBodies
    stepper: str
    density: float
    recovery: float = 0.0
    bound: Bound | None = None
    rings: RingRows | None = None
    contacts: Contacts | None = None
    elastic_x: Array | None = None
    reach: float = 1.0
    drifts: tuple[float, float] | None = None
    external: Array = field(init=False)
    pressure: Array = field(init=False)
    viscous: Array = field(init=False)
    buoyancy: Array = field(init=False)
    touched: Array = field(init=False)
    dissipated: float = 0.0
    passes: int = 0

    def __post_init__(self) -> None:
        shape = (self.bodies.count, 3)
        self.external, self.pressure, self.viscous, self.buoyancy = (np.zeros(shape) for _ in range(4))
        self.touched = np.zeros((self.bodies.count + 2 * self.rigid.bodies.count, 3))

    def stiffness(self, dt: float) -> tuple[float, float]:
        """theta: the masses have theta dt^2 K in a step dt [s]; and the part of that which acts on v^n as a force."""
        behind, ahead = self.drifts or (dt, dt)
        if self.stepper == "implicit" or ahead == 0.0:
            return ahead / dt, 1.0
        return 0.25 * (ahead / dt) ** 2, 1.0 - (behind / ahead) ** 2
