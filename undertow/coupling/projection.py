"""The one implicit solve of a fluid and its solids (thesis chapter 5 [@schroeder2011], Robinson-Mosher 2008).

One pressure moves the fluid and every block of solids,

    u = u* - beta^-1 G z,      v = v* + B^-1 (J + F^T z),      K w = s,      z = dt p,

see ``fluid.pressure``: solids are a list of ``SolidBlock``s, each with velocities, masses B, walls F and impulses J.
Gravity of the fluid is balanced by its own hydrostatic pressure, and z is without that part, which acts on the bodies
as a known impulse (``coupling.hydrostatic``). Rows of contact with nodes are one-sided, and so are those of walls that
the air gets to (``fluid.separation``): a few passes find which of them act. Contact of rigid bodies is staggered around
the solve (``coupling.contact_in_fluid``).

The preconditioner is a multigrid cycle, with the pressure's level in closed regions, corrected for light nodes and then
for light rigid bodies (``coupling.soft_preconditioner``, ``coupling.added_mass``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from undertow.coupling.added_mass import AddedMass
from undertow.coupling.coupled_bodies import CoupledBodies
from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.indefinite import IndefiniteSystem
from undertow.coupling.node_solids import NodeSolids, make_node_solids
from undertow.coupling.poles import EndVelocities
from undertow.coupling.rigid_solids import RigidSolids
from undertow.coupling.rigid_viscosity import DraggedBodies
from undertow.coupling.rigid_walls import RigidWalls
from undertow.coupling.soft_preconditioner import CycleStencil, LevelCycle, LightMotions
from undertow.coupling.soft_viscosity import DraggedSolids
from undertow.coupling.solid_block import SolidBlock
from undertow.coupling.solid_walls import rigid_alone, seeing
from undertow.coupling.unsplit import Unsplit
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import Phase
from undertow.fluid.pressure import PressureRows
from undertow.fluid.solve import NOTABLE, SplitImplicit, exchange_of
from undertow.fluid.variable_viscosity import VariableViscosity
from undertow.fluid.viscosity import WallRows
from undertow.fluid.viscous_step import Dragged, ViscousStep, expect, rows_between_faces
from undertow.grid import Array, largest_entry
from undertow.linalg import (
    ActiveSet,
    ClusterCycle,
    CoupledSystem,
    Multigrid,
    Refinement,
    RowBlock,
    SolveStats,
    VelocityBlock,
    solve_in_passes,
)
from undertow.linalg.krylov import Preconditioner

STILL = 1e-12
"""Velocity that counts as none [m/s]: fluid at rest has rows of rounding alone, to which no tolerance is relative."""

STILL_CELLS = 64**3
"""Cells beyond which the rounding of fluid at rest is more than that: the norm of their rows grows with the root."""

VOLUME_PASSES = 4
"""Of the pressure solve for the volume that closed shells enclose."""


class CoupledProjection(SplitImplicit):
    """The projection of a fluid and its solids together, after the step of viscosity if the fluid has one.

    rigid: the rigid bodies. nodes: those of soft bodies and shells, one block or none. blocks: all of them.
    """

    def __init__(self, phase: Phase, tolerance: float, rigid: RigidSolids, nodes: Sequence[NodeSolids] = ()) -> None:
        domain = phase.domain
        self.phase, self.domain, self.tolerance, self.rigid, self.nodes = phase, domain, tolerance, rigid, nodes
        self.blocks: list[SolidBlock] = [rigid, *nodes]
        self.rows = PressureRows(phase, [*(block.walls for block in nodes), rigid.walls])
        self.multigrid = ClusterCycle(Multigrid(domain.grid, domain.periodic_axes), phase.stiff)
        self.levels = LevelCycle(self.multigrid)
        cycle: Preconditioner = self.levels
        self._cycles = [CycleStencil(self.rows, block.walls) for block in nodes]
        self._light: list[LightMotions] = []
        for block in nodes:
            cycle = LightMotions(cycle, self.rows, block.walls, block.displaced_b)
            self._light.append(cycle)
        self.added_mass = AddedMass(
            cycle, self.rows, rigid.walls, rigid.block, rigid.displaced_b, rigid.coupled.volume_b
        )
        rigid.added_mass = self.added_mass
        planar = domain.grid.dimensions == 2
        fluid = VelocityBlock("fluid", phase.inv_mass_f, planar)
        solids = [block.block for block in self.blocks]
        self.system = CoupledSystem([fluid, *solids], [self.rows], {"pressure": self.added_mass}, planar)
        self.null = self.system.null_space("pressure")
        lightness, margin = max(b.lightness for b in self.blocks), min(b.margin for b in self.blocks)
        self.refinement = Refinement(self.system, lightness, margin)
        self.unsplit: Unsplit | None = None
        self._target = 0.0
        """||K w - s|| that the solves of this step are stopped at [m3/s]."""
        self._known_c: Array | None = None
        """What the phase knows of the pressure before the solve [Pa s]."""
        self._version = 0
        """Of the stencil that the preconditioner is for."""
        self._start_f = np.zeros(phase.inv_mass_f.shape if nodes else (0, 0, 0, 0))

    def set_viscosity(self, viscosity: float | VariableViscosity, slip_b: np.ndarray, form: str = "split") -> None:
        """Dynamic viscosity [Pa s], or what has it; slip_b (n,): 1 for solids along which the fluid slides. form
        ``coupled``: in one system with the pressure (``coupling.unsplit``), after which the projection mends what its
        tolerance left of rows; else in a step before it."""
        domain, rigid, exchange = self.domain, self.rigid, exchange_of(viscosity)
        seen = self._seen_by_rows()
        between = rows_between_faces(self.phase, viscosity, domain=seen)
        still = np.where(rigid.walls.dragged_b(slip_b), 1, slip_b).astype(np.int64)
        walls = WallRows(seen, exchange, still, folded=True, half=False)
        rigid.dragged = DraggedBodies(rigid, rigid.walls.make_drag(seen, exchange, rigid.coupled, slip_b))
        dragged: list[Dragged] = [rigid.dragged]
        for block in self.nodes:
            block.viscosity = viscosity if isinstance(viscosity, float) else 0.0
            block.dragged = DraggedSolids(block, block.make_drags(seen, exchange, slip_b), [between, walls])
            dragged.append(block.dragged)
        fluid = EndVelocities("fluid", between.inv_mass_f, domain.grid.dimensions == 2, rigid.walls.poles)
        step = ViscousStep(between, walls, self.tolerance, expect(self.rows), dragged, fluid)
        self.before, self.walls, self.walls_z = step, walls, step.walls_z
        if form == "coupled":
            assert isinstance(viscosity, float)
            damping: list[RowBlock] = [between, walls, *(drag for solids in dragged for drag in solids.drags)]
            self.unsplit = Unsplit(
                viscosity, [fluid, *(block.block for block in self.blocks)], self.rows, damping,
                self.added_mass, {solids.block.name: solids.inverse for solids in dragged}, rigid.walls.poles,
            )  # fmt: skip

    def _seen_by_rows(self) -> FluidDomain:
        """The domain with the rigid solids as rows to their walls see them: not where a soft surface is nearer. Beside
        shells faces are whole: they have the velocity of their own place."""
        domain = self.domain
        for block in self.nodes:
            walls = copy(block.fields)
            walls.distance_f = block.fields.rows_distance_f
            domain = seeing(domain, walls)
            domain.area_f = block.fields.voxel_area_f
        return domain

    def rebuild(self) -> None:
        self.rows.rebuild()
        self._take_stencil()
        if self.before is not None:
            self.before.rebuild()

    def _take_stencil(self) -> None:
        """The preconditioner for the rows of now."""
        stencil = self.rows.stencil
        self._version = stencil.version
        for cycle in self._cycles:
            stencil = cycle.build()
        self.multigrid.setup(stencil)

    def place(self) -> None:
        self._target = 0.0
        self.rows.set_wall_flux()
        for block in self.blocks:
            block.place()
        if self.before is not None:
            self.before.place()

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self._known_c = start_c
        for block in self.blocks:
            block.take_known(start_c, dt)

    def diffuse(self, u_f: Array, z_c: Array, dt: float) -> list[SolveStats]:
        return [] if self.unsplit is not None else super().diffuse(u_f, z_c, dt)

    def solve(self, u_f: Array, z_c: Array, viscous_dt: float) -> list[SolveStats]:
        """u* and the velocities of the solids to n+1; z_c: guess on entry, dt p on exit [Pa s]."""
        for block in self.blocks:
            block.begin(u_f, z_c, viscous_dt)
        self._setup()
        for block in self.nodes:
            reach = block.coupled.reach * viscous_dt
            block.pockets.ask(self.rows, {}, block.walls.v[block.block.nodes], reach)
        return self._find(u_f, z_c, viscous_dt)

    def push(self, u_f: Array, z_c: Array) -> list[SolveStats]:
        """Impulses of the coupled bodies move solids and fluid; z_c: guess on entry, the pressure's impulse on exit
        [Pa s].

        What follows the first solve of a step, such as impulses of contact, is solved for as well as that was: small
        impulses take few iterations.
        """
        for block in self.blocks:
            block.begin_push()
        return self._find(u_f, z_c, 0.0)

    def _setup(self) -> None:
        """Null space and preconditioner for the masses and rows of now."""
        self._see_null_space()
        for light in self._light:
            light.setup()
        self.added_mass.setup()

    def _see_null_space(self) -> None:
        """Of the pressures, with the rows that are held now."""
        self.null.setup()
        self.levels.setup(self.null)
        if self.unsplit is not None:
            self.unsplit.system.null_space("pressure").setup()

    def _find(self, u_f: Array, z_c: Array, dt: float) -> list[SolveStats]:
        """w* -> w of blocks that have begun; dt [s]: of a step with viscosity and closed shells, 0 within one."""
        w = self._velocities(u_f)
        if any(block.one_sided for block in self.blocks):
            np.copyto(self._start_f, u_f)
        found: list[SolveStats] = []

        def solve_once() -> None:
            if self.rows.stencil.version != self._version:
                self._leave_walls(u_f, z_c, dt)
            elif found:
                np.copyto(u_f, self._start_f)
                self._see_null_space()
                for light in self._light:
                    light.correct()
            for block in self.blocks:
                block.restart()
            found.extend(self._advance(w, z_c, dt))

        sets: list[ActiveSet] = [rows for block in self.blocks for rows in block.active_sets(z_c)]
        if dt > 0.0 and self.unsplit is None:
            # later in a step walls hold what they held in its first solve
            sets += self.phase.one_sided(self.rows, w, z_c, dt, self.tolerance)
        passes = solve_in_passes(sets, solve_once)
        if found:
            found[-1].passes = passes
        for block in self.blocks:
            block.end(w, z_c)
        return found

    def _leave_walls(self, u_f: Array, z_c: Array, dt: float) -> None:
        """Walls hold other cells than before; z_c is 0, what was found so far being known."""
        assert self._known_c is not None
        self._take_stencil()
        for block in self.blocks:
            block.change_known(u_f, z_c, self._known_c, dt)
        self._setup()
        if self._start_f.size:
            np.copyto(self._start_f, u_f)

    def _velocities(self, u_f: Array) -> dict[str, Array]:
        return {"fluid": u_f, **{block.block.name: block.v for block in self.blocks}}

    def _advance(self, w: dict[str, Array], z_c: Array, dt: float) -> list[SolveStats]:
        """w* -> w with the rows that are held now: ||K w - s|| <= the target."""
        u_f = w["fluid"]
        self._target = max(self._target, self.tolerance * self._scale(u_f))
        incompatible = self._make_compatible(w)
        for block in self.blocks:
            block.absorb(z_c)
        self.rows.subtract_impulse(z_c, self.phase.inv_mass_f, u_f)
        found: list[SolveStats] = []
        if self.unsplit is not None and dt > 0.0:
            found.append(self._solve_unsplit(self.unsplit, w, z_c, dt))
        found += self._project(w, z_c)
        for block in self.nodes:
            for _ in range(VOLUME_PASSES if dt > 0.0 else 0):
                reach = block.coupled.reach * dt
                if not block.pockets.ask(self.rows, w, block.v[block.block.nodes], reach, again=True):
                    break
                found += self._project(w, z_c)
        if found:
            found[-1].incompatibility = incompatible
        return found

    def _project(self, w: dict[str, Array], z_c: Array) -> list[SolveStats]:
        """Down to the target; what is left is told relative to what the tolerance is of, which the guess has no part
        in."""
        found = self.refinement.solve(w, z_c, self._target)
        for stats in found:
            stats.relative = stats.residual * self.tolerance / self._target
        return found

    def _solve_unsplit(self, unsplit: Unsplit, w: dict[str, Array], z_c: Array, dt: float) -> SolveStats:
        """Viscosity between faces and at walls, those of solids included, in one system with the pressure."""
        assert self.before is not None
        self.before.set_time_step(dt)
        for solids in self.before.dragged:
            solids.set_time_step(dt)
        stats = unsplit.solve(w, z_c, self.walls_z, self.tolerance, dt)
        for block in self.blocks:
            block.note_drag(w)
        return stats

    def _make_compatible(self, w: dict[str, Array]) -> float:
        """Take what no pressure can change into the wanted rows; its part of what the tolerance is relative to."""
        rows = self.rows
        if rows.target is None or not self.null.count:
            return 0.0
        left = self.system.rows_left("pressure", w)
        unmet = left.copy()
        removed = float(np.sqrt(self.null.remove(left.reshape(-1))))
        unmet -= left
        rows.target += unmet
        part = removed * self.tolerance / self._target
        rows.take_unmet(left + unmet, unmet if part > NOTABLE else None)
        for block in self.nodes:
            block.pockets.take_unmet(rows.stencil, unmet if part > NOTABLE else None)
        return part

    def _scale(self, u_f: Array) -> float:
        """||K w - s|| with the solids moved as the fluid about them lets them: what the tolerance is relative to.

        At least what rounding of the velocities makes of rows that are met already.
        """
        grid = self.domain.grid
        fastest = max(largest_entry(u_f), *(block.expect() for block in self.blocks))
        precision = max(block.rounding for block in self.blocks)
        rounding = precision * grid.face_area * fastest * np.sqrt(grid.cell_count)
        # a norm over cells: what counts as none in each of them grows with their number
        still = STILL * grid.face_area * max(1.0, np.sqrt(grid.cell_count / STILL_CELLS))
        return max(self.refinement.residual({"fluid": u_f}), float(rounding) / self.tolerance, float(still))

    # two solves in a step, and contact between them ------------------------------------------------------------------

    def poses(self) -> list[Any]:
        """Where the solids of every block are."""
        return [block.poses() for block in self.blocks]

    def motion_since(self, poses: list[Any], dt: float) -> list[Array]:
        """Velocities that take the solids of every block from there to where they are, in dt [s]."""
        return [block.motion_since(where, dt) for block, where in zip(self.blocks, poses, strict=True)]

    def predicted_twists(self) -> Array:
        """Twists (n, 6) of the rigid bodies that the last solve found."""
        twist = np.zeros((self.rigid.coupled.bodies.count, 6))
        for block in self.blocks:
            block.put_twists(twist)
        return twist

    def conform(self, u_f: Array, v: list[Array], z_c: Array) -> list[SolveStats]:
        """The fluid alone takes on the motion of solids with given velocities, by block; z_c as for ``push``.

        The solids have infinite masses until they are placed again.
        """
        for block, given in zip(self.blocks, v, strict=True):
            block.hold_all(given)
        if self.nodes:
            self.multigrid.setup(self.rows.stencil)
        self._setup()
        found = self._advance(self._velocities(u_f), z_c, 0.0)
        self.set_carried(u_f, v)
        return found

    def mobility(self) -> tuple[Array, Array]:
        """Inverse masses (n,) and principal moments (n, 3) of the rigid bodies with the fluid that moves along."""
        return self.rigid.mobility()

    # what a flow asks -----------------------------------------------------------------------------------------------

    def refresh_walls(self) -> None:
        """Walls of nodes have been refreshed with their velocities."""
        if not self.nodes:
            assert self.domain.solids is not None
            self.domain.solids.update(self.domain.solids.time)

    def take_velocities(self) -> None:
        self.rigid.coupled.take_twists(self.rigid.walls.v)
        for block in self.nodes:
            block.block.take(block.walls.v)

    def momentum_beside(self, u_f: Array) -> tuple[np.ndarray, Array]:
        poles = self.rigid.walls.poles
        return super().momentum_beside(u_f) if poles is None else poles.momentum(u_f)

    def carried(self) -> tuple[np.ndarray, np.ndarray]:
        for block in self.nodes:
            lower, upper = block.walls.wet_sides()
            return block.fields.voxel.face, lower + upper > 0.0
        return super().carried()

    def set_carried(self, u_f: Array, v: Any = None) -> None:
        for number, block in enumerate(self.nodes, start=1):
            now = np.zeros(block.block.shape)
            now[block.block.nodes] = block.block.soft.v
            block.walls.set_lumped_faces(u_f, now if v is None else v[number])

    def indefinite(self) -> IndefiniteSystem:
        """The same rows and masses as a system of pressures and twists."""
        return IndefiniteSystem(self.rows, self.rigid.block)


def make_projection(
    phase: Phase, tolerance: float, coupled: CoupledBodies, soft: CoupledSoft | None = None,
    walls: RigidWalls | None = None,
) -> CoupledProjection:  # fmt: skip
    """The projection of a phase and the bodies ``coupled``; soft: nodes among them. walls: of the bodies; None: where
    they cut the cells."""
    if soft is None:
        made = RigidWalls(phase, coupled.bodies) if walls is None else walls
        return CoupledProjection(phase, tolerance, RigidSolids(phase, coupled, made))
    rigid = RigidSolids(phase, coupled, RigidWalls(phase, coupled.bodies, rigid_alone(phase.domain)))
    return CoupledProjection(phase, tolerance, rigid, [make_node_solids(phase, soft, rigid)])


def monolithic(coupled: CoupledBodies) -> Callable[[Phase, float], SplitImplicit]:
    """What makes the implicit solve of a ``Flow`` whose solids are the bodies ``coupled``."""
    return lambda phase, tolerance: make_projection(phase, tolerance, coupled)
