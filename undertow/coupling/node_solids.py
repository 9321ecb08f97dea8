"""Nodes of soft bodies and shells in the coupled solve, with the rigid bodies that carry or touch them.

Elasticity, joints and contact are part of it. The bodies stand at x, moved by the velocities before; the solve finds u
and v at the end of the step,

    Mt (v - v^n) = dt (f(x) + external) - (C^T C) v^n + F^T z + G^T r,      Mt = M + C^T C,      K w = s,

``implicit``: backward Euler linearised at x, C^T C = dt h K + dt (-D), h being how long positions move with v: dt in a
step, the next step in a kick. ``newmark``: x is between the two drifts, and elasticity has the means of positions at
the ends of each, C^T C = h^2 / 4 K + dt (-D), of whose first term h0^2 / 4 K, with the drift before, has no product
with v^n: implicit midpoints of any steps, second order, no elastic energy is lost (Newmark 1959 with beta = 1/4). G:
joints, and the contacts that act (``coupling.one_sided``). Equations are those of Schroeder 2011, chapter 5
[@schroeder2011].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from undertow.coupling.coupled_soft import CoupledSoft
from undertow.coupling.drag import DragRows
from undertow.coupling.motion import effective_twists
from undertow.coupling.one_sided import ContactRows
from undertow.coupling.pockets import Pockets
from undertow.coupling.rigid_solids import RigidSolids
from undertow.coupling.rigid_viscosity import HEAVY_ENOUGH
from undertow.coupling.soft_drag import SoftDrag
from undertow.coupling.soft_fields import SoftFields
from undertow.coupling.soft_viscosity import DraggedSolids
from undertow.coupling.solid_block import SolidBlock
from undertow.coupling.solid_velocities import SolidVelocities
from undertow.coupling.solid_walls import SolidWalls
from undertow.fluid.domain import FluidDomain
from undertow.fluid.phase import FullTank, Phase
from undertow.grid import Array
from undertow.linalg import ActiveSet
from undertow.rigid.bodies import DYNAMIC

MOST_PASSES = 6
"""Of a solve over contacts: where faces of blocks land on each other, five leave a tenth of the approach."""


class NodeSolids(SolidBlock):
    """The nodes of a solve and the bodies ``block.member_b`` (m,) among them; rigid: all rigid bodies.

    known (n + 2 m, 3): impulses of the pressure that is known before the solve, but for that of the fluid at rest.
    displaced_b (m,): mass of the fluid that each body displaces or, as a thin shell, sets in motion [kg].
    """

    rounding = 1e-14
    # half of the target: what rounding of the factors leaves is not to need another pass
    margin = 0.5
    block: SolidVelocities
    walls: SolidWalls
    dragged: DraggedSolids | None = None

    def __init__(self, phase: Phase, coupled: CoupledSoft, rigid: RigidSolids, walls: SolidWalls) -> None:
        self.phase, self.coupled, self.rigid, self.walls = phase, coupled, rigid, walls
        fields = phase.domain.solids
        assert isinstance(fields, SoftFields)
        self.fields, self.block = fields, walls.solids
        bodies, density = rigid.coupled.bodies, phase.mass_of(1.0)
        self.known, self.v = np.zeros(self.block.shape), np.zeros(self.block.shape)
        self._drag, self._start, self._loose = (np.zeros(self.block.shape) for _ in range(3))
        self.pockets = Pockets(fields, coupled.bodies, coupled.recovery)
        volume = rigid.coupled.volume_b + self._moved_volume()
        self.displaced_b = np.where(bodies.kind_b == DYNAMIC, phase.mass_of(volume), 0.0)
        attached = self.displaced_b > 0.0
        attached &= np.isin(np.arange(bodies.count), self.block.bound.bodies)
        heavy = bodies.mass_b[attached] / self.displaced_b[attached]
        self.lightness = 1.0 / min(coupled.density / density, float(np.min(heavy, initial=np.inf)))
        self.incremental = self.lightness < HEAVY_ENOUGH
        """Nodes follow the last pressure in a viscous step."""
        self._active: ContactRows | None = None
        self.viscosity = 0.0
        """Of a fluid of one viscosity, whose torque on prescribed solids counts their volume [Pa s]."""

    def make_drags(self, seen: FluidDomain, exchange: float | Array, slip_b: np.ndarray) -> list[SoftDrag | DragRows]:
        """Rows between the fluid and nodes, and those between the fluid and bodies among them; seen: the domain with
        the rigid solids where no soft surface is nearer."""
        rigid = self.rigid.coupled
        # rows on the whole strain give no torque to a body that turns with its fluid: no row of turning
        turning = rigid.volume_b if isinstance(self.phase, FullTank) else np.zeros(rigid.bodies.count)
        return [
            SoftDrag(seen, self.fields, exchange, rigid.bodies.count),
            DragRows(seen, rigid.bodies, exchange, slip_b, turning, among=self.block),
        ]

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        return self._active is not None

    def place(self) -> None:
        self.walls.take_bodies()
        self.block.take(self.walls.v)
        coupled = self.coupled
        for given in (coupled.pressure, coupled.viscous, coupled.touched):
            given[...] = 0.0
        coupled.dissipated = 0.0

    def take_known(self, start_c: Array | None, dt: float) -> None:
        self.known[...] = 0.0 if start_c is None else self.walls.push(start_c)

    def begin(self, u_f: Array, z_c: Array, dt: float) -> None:
        coupled, block, start = self.coupled, self.block, self._start
        self.set_masses(dt)
        block.take(start)
        self.add_forces(start, dt, self.walls.lumped_momentum(u_f, start) + self.known)
        self._loose[...] = start
        block.settle(start, np.zeros(0))
        self._drag[...] = 0.0
        contacts = coupled.contacts
        coupled.passes = 1
        self._active = None if contacts is None or not contacts.count else ContactRows(block, contacts)
        if self._active is not None:
            self._active.choose(start + block.free_answer(self.walls.push(z_c)))

    def begin_push(self) -> None:
        """Contacts that act keep their rows."""
        block, start = self.block, self._start
        block.take(start)
        force = np.zeros(block.shape)
        block.twists(force)[block.member_b] = self.rigid.coupled.impulse_b[block.member_b]
        change = np.zeros(block.shape)
        block.apply_inverse_mass(force, change)
        start += change
        self._loose[...] = start
        self._drag[...], self.known[...], self._active = 0.0, 0.0, None
        self.coupled.passes = 1

    def restart(self) -> None:
        block, active, v = self.block, self._active, self.v
        v[...] = self._start
        if active is not None:
            v += block.free_answer(active.friction_push())
            block.settle(v, active.wanted)

    def expect(self) -> float:
        """Rigid bodies moved as the fluid about them lets them, however light they are."""
        v, bodies = self.walls.v, self.rigid.coupled.bodies
        v[...] = self.v
        twist, member = self.block.twists(v), self.block.member_b
        light = member & (self.displaced_b > 2.0 * bodies.mass_b)
        slowed = bodies.mass_b / np.maximum(bodies.mass_b + 0.5 * self.displaced_b, 1e-300)
        now = np.concatenate([bodies.v_b, bodies.omega_b], axis=1)
        twist[light] = now[light] + slowed[light, None] * (twist - now)[light]
        return max(float(np.abs(part).max(initial=0.0)) for part in (v[self.block.nodes], twist[member]))

    def absorb(self, z_c: Array) -> None:
        change = self.walls.push(z_c)
        self.block.apply_inverse_mass(change, change)
        self.v += change

    def active_sets(self, z_c: Array) -> Sequence[ActiveSet]:
        return [TouchingNodes(self, z_c)] if self._active is not None else []

    @property
    def contact_rows(self) -> ContactRows:
        """Of a solve with contacts."""
        assert self._active is not None
        return self._active

    def led_to(self, z_c: Array) -> Array:
        """Velocities (n + 2 m, 3) that all but contact leads to."""
        return np.asarray(self._start + self.block.free_answer(self.walls.push(z_c) + self._drag))

    def agrees(self, led: Array) -> bool:
        """Whether contact may act as it did, all else leading to these velocities (n + 2 m, 3)."""
        rows = self.contact_rows
        return rows.accept(led + self.block.free_answer(rows.friction_push()), self.v)

    def change_known(self, u_f: Array, z_c: Array, start_c: Array, dt: float) -> None:
        """The walls of bodies among them have changed too."""
        self.walls.take_bodies()
        self.take_known(start_c, dt)
        self.begin(u_f, z_c, dt)

    def note_drag(self, w: Mapping[str, Array]) -> None:
        assert self.dragged is not None
        self._drag = self.dragged.impulse(w)

    def end(self, w: Mapping[str, Array], z_c: Array) -> None:
        """Velocities to the solids, and what acted on them beside what was known."""
        coupled, block, v = self.coupled, self.block, self.v
        rigid, count, member = self.rigid.coupled, coupled.bodies.count, block.member_b
        pushed = self.walls.push(z_c)
        given = pushed + self.known
        self.known[...] = 0.0
        coupled.pressure += given[:count]
        coupled.viscous += self._drag[:count]
        rigid.pressure_b[member] += block.twists(given)[member]
        rigid.viscous_b[member] += block.twists(self._drag)[member]
        touched = np.zeros(block.shape) if self._active is None else self._active.contacts.push(block.shape)
        coupled.touched += touched
        self._measure_dissipation(w)
        self.take_joint_impulses(v - self._loose, pushed + self._drag + touched)
        block.give(v)
        self.walls.v[...] = v
        self.fields.refresh_velocities()
        self.move_carried(w["fluid"], v)

    def take_joint_impulses(self, change: Array, known: Array) -> Array:
        """What is left of a change of the velocities (n + 2 m, 3) beside the impulses that are known: on bodies, that
        of joints and of nodes that they carry. The impulses left [N s, N m s]."""
        block, rigid = self.block, self.rigid.coupled
        left = np.asarray(block.matrix @ change.reshape(-1)).reshape(block.shape) - known
        joint_b = block.twists(left).copy()
        self._add_parts(left, joint_b)
        moved = block.member_b & (rigid.bodies.kind_b == DYNAMIC)
        rigid.joint_b[moved] += joint_b[moved]
        return left

    def move_carried(self, u_f: Array, v: Array) -> None:
        """The faces that shells couple take the velocities v of their nodes, J v; what their fluid loses, J^T beta
        (u - J v), is a force of the fluid on the shells."""
        self.coupled.pressure += self.walls.lumped_momentum(u_f, v)[self.block.nodes]
        self.walls.set_lumped_faces(u_f, v)

    def hold_all(self, v: Any) -> None:
        self.block.hold_all()
        self.v[...] = v
        self._start[...], self._active = v, None

    def _moved_volume(self) -> Array:
        """Of the fluid about bodies that are thin shells (m,) [m3; 2D m2], of the size of what they set in motion: that
        of an ellipsoid as long as the shell is, and as wide and thick as it is across."""
        found, bound = np.zeros(self.block.rigid.count), self.block.bound
        soft = self.block.soft
        for b in np.unique(bound.bodies[soft.mass[bound.nodes] == 0.0]):
            size = np.sort(np.ptp(soft.x[bound.nodes[bound.bodies == b]], axis=0))
            found[b] = np.pi / 4.0 * size[2] ** 2 if soft.dimensions == 2 else np.pi / 6.0 * size[2] * size[1] ** 2
        return found

    def _add_parts(self, change: Array, out_b: Array) -> None:
        """Impulses (n + 2 m, 3) on nodes that are parts of rigid bodies, which have their mass, to their bodies."""
        bound, soft, rigid = self.block.bound, self.block.soft, self.block.rigid
        part = soft.mass[bound.nodes] == 0.0
        nodes, bodies = bound.nodes[part], bound.bodies[part]
        arm = soft.x[nodes] - rigid.x_b[bodies]
        np.add.at(out_b, bodies, np.concatenate([change[nodes], np.cross(arm, change[nodes])], axis=1))

    def set_masses(self, dt: float) -> None:
        """Mt for a step dt [s], with the fluid that shells carry."""
        self.block.set_masses(dt, self.coupled.stiffness(dt)[0], self.walls.lumped_mass())

    def add_forces(self, v: Array, dt: float, impulse: Array) -> None:
        """v^n -> v*: elasticity, what acts from outside, and an impulse (n + 2 m, 3) [N s, N m s]; joints aside."""
        bodies, block, coupled = self.coupled.bodies, self.block, self.coupled
        nodes = block.nodes
        force = np.zeros_like(v)
        elastic = np.zeros((bodies.count, 3))
        bodies.forces.measure(bodies.x if coupled.elastic_x is None else coupled.elastic_x, elastic)
        coupled.buoyancy[...] = self.walls.buoyancy()[nodes]
        force[nodes] = dt * (elastic + coupled.external + coupled.buoyancy)
        block.twists(force)[block.member_b] = coupled.rigid.impulse_b[block.member_b]
        force += impulse
        taken = block.damping + coupled.stiffness(dt)[1] * block.stiffness
        resisted = np.zeros((bodies.count, 3))
        bodies.forces.add_product(taken, np.ascontiguousarray(v[nodes]), resisted)
        force[nodes] -= resisted
        v += block.loose_answer(force)

    def _measure_dissipation(self, w: Mapping[str, Array]) -> None:
        """What damping, and viscosity in the same system, take at the velocities of the end of the step."""
        bodies, total = self.coupled.bodies, 0.0
        if bodies.damped:
            v = np.ascontiguousarray(self.v[self.block.nodes])
            push = np.zeros_like(v)
            bodies.forces.add_product(self.block.damping, v, push)
            total += float((push * v).sum())
        if self._drag.any() and self.dragged is not None:
            total += self.dragged.dissipation(w)
        self.coupled.dissipated += total

    def poses(self) -> tuple[Array, Array, Array]:
        """Nodes (n, 3) [m], centres (m, 3) [m] and rotations (m, 4) of the bodies."""
        rigid = self.block.rigid
        return self.block.soft.x.copy(), rigid.x_b.copy(), rigid.q_b.copy()

    def motion_since(self, poses: tuple[Array, Array, Array], dt: float) -> Array:
        """Velocities (n + 2 m, 3)."""
        moved = np.zeros(self.block.shape)
        moved[self.block.nodes] = (self.block.soft.x - poses[0]) / dt
        self.block.twists(moved)[...] = effective_twists(self.block.rigid, *poses[1:], dt)
        return moved

    def put_twists(self, out_b: Array) -> None:
        member = self.block.member_b
        out_b[member] = self.block.twists(self.walls.v)[member]


class TouchingNodes:
    """The contacts of nodes in one solve: an ``ActiveSet``. z_c: what it finds [Pa s]."""

    most = MOST_PASSES

    def __init__(self, solids: NodeSolids, z_c: Array) -> None:
        self.solids, self.z_c = solids, z_c
        self._passes = 0
        self._led = np.zeros(solids.block.shape)

    def accepts(self) -> bool:
        """Whether no row pulls, nothing closes and nothing slips that was to stick."""
        self._passes += 1
        self.solids.coupled.passes = self._passes
        self._led[...] = self.solids.led_to(self.z_c)
        return self.solids.agrees(self._led)

    def choose(self) -> None:
        """The rows that act by what all else led to."""
        self.solids.contact_rows.choose(self._led)


def make_node_solids(phase: Phase, coupled: CoupledSoft, rigid: RigidSolids) -> NodeSolids:
    """The nodes of a solve whose rigid bodies are ``rigid``: their walls share cells."""
    fields = phase.domain.solids
    assert isinstance(fields, SoftFields)
    block = SolidVelocities(coupled.bodies, rigid.coupled.bodies, coupled.bound, rigid.coupled.joints, coupled.rings)
    rigid.elsewhere_b = block.member_b
    walls = SolidWalls(phase, fields, block, rigid.walls)
    rigid.walls.beside = walls
    return NodeSolids(phase, coupled, rigid, walls)
