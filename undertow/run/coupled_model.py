"""Fluid and bodies that move each other: one solve for both (``coupling = "monolithic"``, and those it is compared
with)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from undertow.coupling.fractions import LumpedFields, VolumeFractionFields
from undertow.coupling.lumped import lumped
from undertow.coupling.monolithic import MonolithicSolve, monolithic
from undertow.coupling.motion import effective_twists
from undertow.coupling.slits import find_slits
from undertow.fluid import Flow, FlowReport
from undertow.fluid.flow import EXTRAPOLATED_LAYERS
from undertow.fluid.steppers import copy_planes
from undertow.geometry import SolidFields
from undertow.grid import Array
from undertow.linalg import SolveStats
from undertow.part import ENERGY, VOLUME_RATE, Quantity, StepOutcome
from undertow.run import build
from undertow.run.bodies_in_fluid import BodiesInFluid
from undertow.run.machine import check_memory
from undertow.run.models import Model
from undertow.scene import Scene

FIELDS = {"monolithic": SolidFields, "batty": VolumeFractionFields, "lumped": LumpedFields}
"""How each coupling sees bodies on the grid."""

SLIT = 0.2
"""Faces with less than this fraction open are slits where bodies touch."""

SLIVER = 1e-3
"""Faces with less than this fraction open have no velocity to speak of, wherever they are."""


def calm_slits(flow: Flow, work_f: np.ndarray, touching: bool) -> None:
    """Faces that are nearly closed take the velocity about them before it is transported.

    Between walls that approach each other the fluid is squeezed out at many times their speed. It weighs next to
    nothing there, but transport would carry its velocity to faces where it does: see ``coupling.slits``. So it would
    from slivers anywhere: what the tolerance of the solve leaves of a row is far from nothing for a cell that is open
    by a millionth.
    """
    assert flow.extrapolation is not None
    face, part = find_slits(flow.domain, SLIT if touching else SLIVER, work_f[0])
    if not face.size:
        return
    u = flow.state.u.reshape(-1)
    carried = part * u[face]
    np.copyto(work_f, flow.domain.open_f)
    work_f.reshape(-1)[face] = 0
    # closed faces were filled from these
    flow.extrapolation.velocity(flow.state.u, work_f, EXTRAPOLATED_LAYERS)
    u[face] = carried + (1.0 - part) * u[face]
    if flow.settings.viscosity > 0.0:
        flow.domain.set_wall_velocity(flow.state.u)
    flow.sides.fill_velocity(flow.state.u)


@contextmanager
def in_the_place_of_u(flow: Flow, u_f: Array) -> Iterator[None]:
    """For what acts on the velocity of the flow: on u_f."""
    own, flow.state.u = flow.state.u, u_f
    try:
        yield
    finally:
        flow.state.u = own


class CoupledModel(Model):
    """A flow and the bodies in it, built from a scene.

    A step is that of the solids (thesis 4.2) with the flow's whole step in the place of their forces: bodies collide
    and move with v^n, then fluid is transported and fluid and bodies are projected together at the new positions, then
    contact stops what still approaches. ``monolithic.scheme = "two_solves"``: bodies move with v^n+1/2, of a solve
    before all that (``_SolvedTwice``). Walls of the domain stop bodies as planes do.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.within = BodiesInFluid(scene, self.grid, self.sides)
        self.notes += self.within.notes
        self.solid, self.bodies = self.within.model, self.within.bodies
        self.placed, self.coupled = self.within.placed, self.within.coupled
        if scene.joints:
            self.coupled.joints = self.solid.joints
        self.flow = Flow(
            self.grid,
            self.sides,
            FIELDS[scene.coupling](self.grid, self.placed),
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
            lumped(self.coupled, scene.lumped.mass) if scene.coupling == "lumped" else monolithic(self.coupled),
        )
        solve = self.flow.solve
        assert isinstance(solve, MonolithicSolve)
        self.monolithic = solve
        build.check_room(scene, solve.rows.stencil)
        self.gravity = self.within.gravity
        self._open_f = np.zeros_like(self.flow.domain.open_f)
        self._touching, self._residual = False, 0.0
        twice = scene.monolithic.scheme == "two_solves"
        self._around = _SolvedTwice if twice else _FluidAround
        self.along_f = self.grid.face_field() if twice else np.zeros(0)
        """Velocity that transport follows where it is not u^n [m/s]."""
        self.parts = [self.solid, self.within, self.flow]

    def step(self, time: float, time_step: float) -> StepOutcome:
        """Thesis 5.4: see the head of the class."""
        medium = self._around(self, time, time_step)
        ahead = medium.look_ahead()  # 1 to 3
        solids = self.solid.solids.step(time, time_step, medium=medium, ahead_b=ahead)  # 4 to 7
        medium.finish()
        self.solid.take_report(solids)
        self.within.take_forces(time_step, self.flow.forces())
        self._residual = self._measure_residual()
        self.flow.measure_sums()
        self._touching = solids.contacts > 0
        self.calm()
        return StepOutcome(medium.report.iterations, medium.report, tuple(self.solid.events(solids)))

    def calm(self) -> None:
        """Velocities before they are transported: slits as the last contacts left them."""
        calm_slits(self.flow, self._open_f, self._touching)

    def quantities(self) -> Iterator[Quantity]:
        bodies, density = self.bodies, self.flow.settings.density
        weight = np.where(self.within.dynamic_b, bodies.mass_b - density * self.coupled.volume_b, 0.0)
        # of the bodies and of the fluid they displace: what can turn into motion
        yield Quantity("potential_energy", -float(weight @ (bodies.x_b @ self.gravity)), ENERGY)
        yield Quantity("coupling_residual", self._residual, VOLUME_RATE, "max")

    def _measure_residual(self) -> float:
        """Largest row of fluid and bodies as contact leaves them [m3/s]."""
        self.coupled.take_twists(self.monolithic.moved.v)
        return self.flow.largest_row(self.flow.state.u)

    def numbers(self) -> dict[str, Any]:
        return {"touching": self._touching}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self._touching = numbers["touching"]


class _FluidAround:
    """The fluid as what bodies move in during one step."""

    def __init__(self, model: CoupledModel, time: float, time_step: float) -> None:
        self.model, self.time, self.time_step = model, time, time_step
        self.report = FlowReport()
        self._pushed = False

    def look_ahead(self) -> Array | None:
        """Nothing: positions move with v^n."""
        return None

    def advance(self, expected_b: Array) -> None:
        """The flow's step: transport, then one solve for fluid and bodies."""
        self.model.within.set_weight(self.time_step)
        self.model.coupled.impulse_b += expected_b
        self.report = self.model.flow.step(self.time, self.time_step)

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses and moments of the bodies with the fluid that moves along."""
        return self.model.monolithic.mobility()

    def push(self, p_b: Array, L_b: Array) -> None:
        """Impulses of contact move bodies and fluid."""
        flow, coupled = self.model.flow, self.model.coupled
        coupled.impulse_b[:, :3], coupled.impulse_b[:, 3:] = p_b, L_b
        flow.z_c[...] = 0.0
        self.report.solves += self.model.monolithic.push(flow.state.u, flow.z_c)
        flow.z_c /= self.time_step
        flow.state.p += flow.z_c
        self._pushed = True

    def finish(self) -> None:
        """Velocities that contact has changed go into solids."""
        if self._pushed:
            self.model.flow.finish(self.model.flow.state.u)


class _SolvedTwice(_FluidAround):
    """The fluid in a step with two coupled solves (thesis 5.4, steps 1 to 7; Robinson-Mosher et al. 2008, section 7).

    1-3    F1, S1  v^n+1/2 of a solve over dt/2 with everything at x^n, nothing transported; all else is discarded
    4              x^n+1 = x^n + dt v^n+1/2, contact and joints seen to
           F2      u_along: u^n projected to the velocities (x^n+1 - x^n) / dt of the solids
    6      F3      u* = u^n transported along u_along, which does not leak
    5, 7   S2, F4  u^n+1 and v^n+1 of a solve over dt at x^n+1
    """

    def look_ahead(self) -> Array:
        """1 to 3: twists (n, 6) at n+1/2."""
        model, half = self.model, 0.5 * self.time_step
        flow, bodies = model.flow, model.bodies
        self._from = bodies.x_b.copy(), bodies.q_b.copy()
        momenta = bodies.p_b.copy(), bodies.L_b.copy()
        flow.emit(self.time)
        model.within.show_ahead(half)
        flow.place(self.time)
        self.model.within.set_weight(half)
        self._first = flow.look_ahead(half)
        ahead = model.monolithic.moved.v.copy()
        bodies.p_b[...], bodies.L_b[...] = momenta
        bodies.derive_velocities()
        return ahead

    def advance(self, expected_b: Array) -> None:
        """F2 and 5 to 7, bodies being at x^n+1."""
        conformed = self._conform()
        self.model.within.show_ahead(0.0)
        self.model.within.set_weight(self.time_step)
        self.model.coupled.impulse_b += expected_b
        self.report = self.model.flow.step_along(self.model.along_f, self.time, self.time_step)
        self.report.solves[:0] = [*self._first.solves, *conformed]

    def _conform(self) -> list[SolveStats]:
        """F2: the velocity that transport follows, the fluid's walls being at x^n still."""
        model, flow = self.model, self.model.flow
        copy_planes(flow.state.u, model.along_f)
        # without viscosity the first solve did just that, as far as nothing has stopped bodies since
        if flow.settings.viscosity > 0.0:
            flow.z_c[...] = 0.0
        moved = effective_twists(model.bodies, *self._from, self.time_step)
        solves = model.monolithic.conform(model.along_f, moved, flow.z_c)
        flow.finish(model.along_f)
        with in_the_place_of_u(flow, model.along_f):
            model.calm()
        return solves
