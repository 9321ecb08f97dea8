"""What is known of the pressure on bodies in a coupled solve: its hydrostatic part, solved for being the rest.

In water that is J = dt (load + rho (r - c) F_c) of ``fluid.still_water``, the second term making up for what q lacks in
the cells that have a pressure: J is the transpose of what the wet part of the body sweeps, the derivative of the
potential energy of the water that it displaces. In still water a body floats at the depth and the angle of Archimedes
wherever it is in its cells. (With the level of the cell itself for r the body would feel each ripple a second time, and
the water would not feel it: such bodies do not come to rest.)

To it comes the pull of the surface where it ends at bodies (``fluid.contact_line``).

A block that lies flat on the floor weighs its buoyant weight: slits are wet.
"""

from __future__ import annotations

import numpy as np

from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.rigid_walls import RigidWalls
from undertow.fluid.phase import Phase
from undertow.fluid.still_water import StillWater
from undertow.fluid.surface_phase import SurfacePhase
from undertow.grid import Array
from undertow.rigid.bodies import DYNAMIC


class DisplacedWeight:
    """The same in a fluid that fills the domain: a body feels the weight of what it displaces, -rho V g, V being its
    true volume."""

    def __init__(self, phase: Phase, coupled: CoupledBodies) -> None:
        self.phase, self.coupled = phase, coupled

    def measure(self) -> None:
        """Nothing: all walls are wet."""

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): 1, all of each body's walls."""
        out_b[...] = 1.0

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        coupled, out_b[...] = self.coupled, 0.0
        displaced = np.where(coupled.bodies.kind_b == DYNAMIC, self.phase.mass_of(coupled.volume_b), 0.0)
        out_b[:, :3] = -dt * displaced[:, None] * np.array(self.phase.gravity)
        out_b[:, 3:] = np.cross(coupled.bodies.volume_arms(), out_b[:, :3])


class Hydrostatic:
    """The impulse J of the head of the module; walls: of the bodies in the cells of ``phase``."""

    def __init__(self, phase: SurfacePhase, walls: RigidWalls, coupled: CoupledBodies) -> None:
        self.phase, self.walls, self.coupled = phase, walls, coupled
        self.load_b = np.zeros((coupled.bodies.count, 6))
        """J / (dt rho)."""
        assert walls.domain.solids is not None
        self.still = StillWater(phase, walls.domain.solids, coupled.bodies.count, coupled.volume_b)

    def measure(self) -> None:
        """Loads of the water where it is now on the bodies where they are."""
        phase, walls, bodies, still = self.phase, self.walls, self.coupled.bodies, self.still
        self.load_b[...] = 0.0
        if not np.any(phase.gravity) or walls.stencil is None:
            return
        solids = still.solids.solids
        sheets = np.array([solid.shape.is_sheet for solid in solids], dtype=bool)
        held_b = bodies.kind_b[: len(sheets)] != DYNAMIC
        still.measure(walls.stencil, ~held_b & ~sheets, held_b, bodies.x_b)
        self.load_b[...] = still.load_b
        cell, body, f = (array[: walls.cut.size] for array in walls.cut.spec)
        np.add.at(self.load_b, body, (still.level[walls.stencil.label[cell]] - phase.level)[:, None] * f)

    def measure_wet(self, out_b: Array) -> None:
        """out (n,): the part of each body's surface that the fluid wets; as it was where nothing weighs."""
        if np.any(self.phase.gravity) and not self.phase.fills:
            out_b[...] = self.still.wet_b

    def impulse(self, dt: float, out_b: Array) -> None:
        """J (n, 6) [N s, N m s]."""
        out_b[...] = self.phase.mass_of(dt * self.load_b) - self.phase.of_air(dt * self.load_b)
        out_b += dt * self.phase.surface_load(self.coupled.bodies.x_b)
        # what is beyond the surface fills the domain, and the liquid weighs so much more
        bodies = self.coupled.bodies
        lift = dt * np.where(bodies.kind_b == DYNAMIC, self.coupled.volume_b, 0.0)[:, None] * self.phase.lift
        out_b[:, :3] += lift
        out_b[:, 3:] += np.cross(bodies.volume_arms(), lift)
