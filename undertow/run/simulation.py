"""A scene in motion."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from undertow.errors import PhysicsError, SolveError, UserError
from undertow.frames import BodyFrame, ParticleFrame, SoftFrame, SurfaceFrame
from undertow.grid import Array, Grid
from undertow.part import BodyForces, Ledger, Part, StepOutcome, Unit
from undertow.run.assemble import assemble
from undertow.run.build import initial_velocity, make_curve, vector3
from undertow.run.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from undertow.run.gravity import Gravity
from undertow.run.handles import Body, HasContacts, HasNodes, JointHandle, Nodes, Particles, SurfaceMesh
from undertow.run.machine import use_threads
from undertow.run.timestep import Clock, StepChoice
from undertow.scene import Joint, RigidBody, Scene, toml
from undertow.solids.contact_record import ContactSet, join_contacts
from undertow.solids.energy import EnergyWatch

if TYPE_CHECKING:
    from undertow.fluid import Flow, FlowState
    from undertow.fluid.waters import BodyOfWater
    from undertow.output import FrameData
    from undertow.rigid.fracture import BrokenBody
    from undertow.rigid.table import BodyDescription, BodyTable
    from undertow.run.assembly import Assembly
    from undertow.run.driver import Progress
    from undertow.run.record import Run
    from undertow.solids.rigid_part import RigidPart
    from undertow.solids.tearing import TornBody
    from undertow.sph import SphFluid

NEARLY = 1e-3
"""Relative residual of a failed solve below which a larger tolerance would still give a useful answer."""

Drawn = TypeVar("Drawn")
Kind = TypeVar("Kind", bound=Part)
VelocityFunction = Callable[[Array, Array, Array], Sequence[Any] | Array]


@dataclass(frozen=True)
class StepReport:
    """What a step did.

    step: number of the step, from 1; time: at its end [s]; time_step [s]; limit: the rule that set it ("frame" when the
    next frame did); iterations: of all solves together; details: the report of the fluid or of the solids; ledger: the
    quantities of the ledger row, SI units; events: what happened, in words (a joint broke, a solve did not converge);
    broken, torn: the rigid bodies that broke and the soft ones that tore.
    """

    step: int
    time: float
    time_step: float
    limit: str
    iterations: int
    details: Any
    ledger: dict[str, float]
    events: tuple[str, ...] = ()
    broken: tuple[BrokenBody, ...] = ()
    torn: tuple[TornBody, ...] = ()


class Simulation:
    """A scene in motion: state, work arrays and the step.

    ``threads``: threads of the kernels (None: all cores); the results do not depend on it. ``checkpoint``: of the same
    scene, to go on from in place of its start.
    """

    def __init__(self, scene: Scene, threads: int | None = None, checkpoint: Checkpoint | None = None) -> None:
        if not isinstance(scene, Scene):
            raise UserError(f"Simulation: {type(scene).__name__} is no Scene; use ut.scene('NAME') or ut.Scene(...)")
        from undertow.run.assemble_solids import read_table

        self.scene = self.start_scene = scene
        """With the bodies made during the run; as it was at the start."""
        self.threads = use_threads(threads)
        self.clock = Clock(scene.time)
        self.time = 0.0
        self.step_count = 0
        self.frame = 0
        self.watch = EnergyWatch()
        """Of the energy of solids."""
        self._changes: list[str] = []
        """What has been done to the bodies since the last step, in words."""
        self.bodies = read_table(scene)
        """What the bodies are."""
        if checkpoint is not None:
            self._restore_bodies(checkpoint.numbers["bodies"])
        assembly = assemble(scene, self.bodies, checkpoint is None)
        self.notes = assembly.notes
        """What the user should know before the run."""
        self._take(assembly)
        self.ledger = Ledger(self.parts)
        if self.grid is not None and not scene.has_surface:
            self.set_velocity(initial_velocity(scene))
        if checkpoint is not None:
            self.restore(checkpoint)
        else:
            self._see_energy(self.ledger.row())

    def _take(self, assembly: Assembly) -> None:
        """The parts and the scheme, which is the order of things in a step."""
        self.scheme, self._follows_table = assembly.scheme, assembly.follows_table
        self.parts: list[Part] = self._parts_of(assembly)

    def _parts_of(self, assembly: Assembly) -> list[Part]:
        """In the order in which they take over a state; gravity that changes comes first."""
        parts: list[Part] = [*assembly.parts, assembly.scheme]
        constant = isinstance(self.start_scene.gravity, tuple)
        return parts if constant else [Gravity(make_curve(self.start_scene.gravity), parts), *parts]

    @property
    def grid(self) -> Grid | None:
        """The grid of the fluid; None for solids alone and for particles."""
        flow: Flow | None = getattr(self.scheme, "flow", None)
        return None if flow is None else flow.grid

    def part(self, kind: type[Kind]) -> Kind:
        """The part of a type."""
        found = next((part for part in self.parts if isinstance(part, kind)), None)
        if found is None:
            known = ", ".join(type(part).__name__ for part in self.parts)
            raise UserError(f"{self.scene.name}: the simulation has no {kind.__name__}; its parts are {known}")
        return found

    @property
    def flow(self) -> Flow:
        """The fluid."""
        flow = getattr(self.scheme, "flow", None)
        if flow is None:
            if self.scene.sph_fluids:
                how = "use sim.particles, sim.field or sim.sample"
                raise UserError(f"{self.scene.name}: an SPH fluid has no grid; {how}")
            raise UserError(f"{self.scene.name}: the scene has no fluid; add a [domain] to it")
        return flow  # type: ignore[no-any-return]

    @property
    def state(self) -> FlowState:
        """Everything of the fluid that evolves."""
        return self.flow.state

    @property
    def at_frame(self) -> bool:
        """True when the present time is that of a frame."""
        return self.time == self.scene.time.frame_time(self.frame)

    def set_velocity(self, function: VelocityFunction) -> None:
        """Set the velocity field: ``function(x, y, z) -> (u, v, w)`` [m/s], called with arrays of face centres [m]."""
        grid, flow = self.flow.grid, self.flow
        u_f = grid.face_field()
        for axis in grid.axes:
            x, y, z = np.broadcast_arrays(*grid.face_centres(axis))
            found = function(x, y, z)
            if not isinstance(found, Sequence | np.ndarray) or len(found) != 3:
                raise UserError(f"set_velocity: the function gives {found!r:.60}; it must give (u, v, w) [m/s]")
            u_f[axis][grid.interior_faces(axis)] = found[axis]
        self.scheme.restart(self.time)
        flow.set_velocity(u_f)

    def next_frame_time(self) -> float:
        """Time of the next frame [s]."""
        return self.scene.time.frame_time(self.frame + 1)

    def step(self) -> StepReport:
        """One step; steps land exactly on frame times."""
        return self._step_towards(self.next_frame_time())

    def advance_to(self, time: float) -> StepReport | None:
        """Step until ``time`` [s] is reached exactly; the report of the last step."""
        self._check_target("advance_to", time)
        last = None
        for report in self.steps(time):
            last = report
        return last

    def steps(self, until: float) -> Iterator[StepReport]:
        """Step until a time [s] is reached exactly: ``for report in sim.steps(until=2.0): ...``."""
        self._check_target("steps", until)
        # a target that misses a frame by rounding alone is that frame: no step of rounding size is taken
        slack = 1e-9 / self.scene.time.frame_rate
        while until - self.time > slack:
            frame = self.next_frame_time()
            yield self._step_towards(frame if until > frame - slack else until)

    def _check_target(self, name: str, time: float) -> None:
        if not isinstance(time, Real):
            raise UserError(f"{name}: {time!r} is no time; give a number in s")
        if not math.isfinite(time) or time < self.time:
            raise UserError(f"{name}: {time} s lies before the present time {self.time} s; time only moves forward")

    def _step_towards(self, target: float) -> StepReport:
        use_threads(self.threads)
        limits = [limit for part in self.parts for limit in part.limits(self.time)]
        choice = self.clock.choose(limits, self.time, target, self.scheme.planned_step)
        next_step = self.clock.plan(limits, choice, self._frame_after(choice.end))
        for part in self.parts:
            part.begin_work()
            if isinstance(part, Gravity):
                part.act(*self.scheme.acts(self.time, choice.time_step, next_step))
        try:
            done = self._advance(choice.time_step, next_step)
        except SolveError as error:
            raise PhysicsError(f"{error}; {self._advise(error, choice)}") from None
        since, _ = self.scheme.acted(self.time, choice.end)
        lag = min(max((since - self.time) / choice.time_step, 0.0), 1.0)
        for part in self.parts:
            part.count_work(choice.time_step, lag)
        with self.scheme.synchronised():
            row = self.ledger.row()
        self._check_finite(row, choice.end)
        self._check_energy(row, choice)
        events = (*self._changes, *done.events)
        self._changes = []
        self.time = choice.end
        self.step_count += 1
        if self.time == self.next_frame_time():
            self.frame += 1
        return StepReport(
            self.step_count, self.time, choice.time_step, choice.limit, done.iterations, done.details, row, events,
            done.broken, done.torn,
        )  # fmt: skip

    def _advance(self, dt: float, next_step: float) -> StepOutcome:
        """A step dt [s] of all parts, in which bodies may tear and break."""
        if not self.scene.tears:
            return self._advance_bodies(dt, next_step)
        from undertow.run.tearing import step_and_tear

        return step_and_tear(self, lambda: self._advance_bodies(dt, next_step))

    def _advance_bodies(self, dt: float, next_step: float) -> StepOutcome:
        if not self.bodies.is_brittle:
            return self.scheme.step(self.time, dt, next_step)
        from undertow.run.breaking import step_and_break

        return step_and_break(self, dt, next_step)

    def _frame_after(self, time: float) -> float:
        """Time of the first frame after a time within the present frame [s]."""
        frame = self.next_frame_time()
        return frame if time < frame else self.scene.time.frame_time(self.frame + 2)

    def _advise(self, error: SolveError, choice: StepChoice) -> str:
        """When a solve failed, and what the user can change."""
        key, tolerance = "fluid.tolerance", self.scene.fluid.tolerance
        if self.scene.domain is None:
            key, tolerance = "soft.tolerance", self.scene.soft.tolerance
        raised = f"raise {key} = {tolerance:g} above {error.relative:.1g}, or " if error.relative < NEARLY else ""
        return (
            f"in step {self.step_count + 1} from t = {self.time:.6g} s: {raised}lower time.max_step below "
            f"{choice.time_step:.3g} s"
        )

    def _check_finite(self, row: dict[str, float], time: float) -> None:
        """A value that is no finite number stops the run with what, where and when."""
        bad = [name for name, value in row.items() if not math.isfinite(value)]
        if not bad:
            return
        when = f"in step {self.step_count + 1} at t = {time:.6g} s"
        words = {"u": "velocity", "p": "pressure"}
        for part in self.parts:
            for name, array in part.arrays().items():
                wrong = np.argwhere(~np.isfinite(array))
                if len(wrong):
                    place = part.locate(name, tuple(int(v) for v in wrong[0]))
                    raise PhysicsError(f"{words.get(name, name)} is not a finite number {when}, {place}")
        raise PhysicsError(f"{bad[0]} of the ledger is not a finite number {when}")

    def _check_energy(self, row: dict[str, float], choice: StepChoice) -> None:
        """Solids that gain energy out of nothing stop the run."""
        if not self._see_energy(row):
            return
        fastest = max(self.solids(), key=lambda one: math.hypot(*self._speed_of(*one)))[1]
        unit = "J" if self.scene.dimensions == 3 else "J/m"
        raise PhysicsError(
            f"the solids gain energy out of nothing: {self.watch.gained:.3g} {unit} beyond the {self.watch.given:.3g} "
            f"{unit} that they began with and were given, in step {self.step_count + 1} at t = {choice.end:.6g} s, "
            f"objects.{fastest} being the fastest; lower time.max_step below {choice.time_step:.3g} s"
            + self._other_stepper()
        )

    def _see_energy(self, row: dict[str, float]) -> bool:
        names = "solids_energy", "solids_work", "solids_still"
        return all(name in row for name in names) and self.watch.see(*(row[name] for name in names))

    def _speed_of(self, part: Part, name: str) -> Array:
        return part.body_state(name, self.time).velocity

    def _other_stepper(self) -> str:
        """What else helps soft bodies whose scheme is not stable for any step."""
        soft = self.scene.soft
        return ", or use soft.stepper = 'implicit'" if self.scene.softs and soft.stepper != "implicit" else ""

    def run(
        self,
        out: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
        preview: bool = True,
        quiet: bool = False,
    ) -> Run:
        """Run to the end of the scene and write a run folder (default ``runs/NAME-NNNN``); see ``Run``.

        progress: called after each step; without one, notes and a progress bar are printed on standard error unless
        ``quiet``. preview: leave a picture, a film and a report in the folder.
        """
        from undertow.run.driver import run

        return run(self, out, progress, preview, quiet)

    def __repr__(self) -> str:
        at = f"t = {self.time:.6g} s, step {self.step_count}, frame {self.frame} of {self.scene.time.frames}"
        return f"Simulation({self.scene.name!r}, {at})"

    def body(self, name: str) -> Body:
        """A solid of the scene at the present time."""
        part = self._owner(name)
        with self.scheme.synchronised():
            state, forces = part.body_state(name, self.time), part.body_forces(name)
        return Body(
            name,
            state.position,
            state.rotation,
            state.velocity,
            state.angular_velocity,
            np.array(forces.fluid),
            np.array(forces.torque),
            np.array(forces.contact),
            np.array(forces.joint),
            np.array(forces.load),
            np.array(forces.reaction),
            part.hold_forces(name),
            self.time,
            part,
        )

    def joint(self, name: str, axis: str = "") -> JointHandle:
        """A joint of the scene at the present time: ``sim.joint("hip").target = 0.3``; axis: of one with several free
        axes."""
        rigid = self._rigid()
        known = () if rigid is None else rigid.joints.names
        if rigid is None or name not in known:
            raise UserError(f"joint {name!r}: no such joint; the joints are {', '.join(known) or '(none)'}")
        return JointHandle(name, axis, self.time, rigid.joints)

    def solids(self) -> list[tuple[Part, str]]:
        """The solids of now by name, each with the part that it belongs to."""
        return [(part, name) for part in self.parts for name in part.body_names()]

    def body_forces(self, name: str) -> BodyForces:
        """Forces on a solid over the last step, by what they come from."""
        return self._owner(name).body_forces(name)

    def _owner(self, name: str) -> Part:
        solids = self.solids()
        for part, own in solids:
            if own == name:
                return part
        known = ", ".join(own for _, own in solids)
        raise UserError(f"body {name!r}: no such solid; the solids are {known or '(none)'}")

    def add(self, name: str, body: RigidBody | Joint) -> None:
        """Put a rigid body into the scene, where and as fast as ``body`` says, or a joint between bodies in the poses
        they have, from now on.

        It may not lie deep inside another one; ``notes`` names those it overlaps and is pushed out of. Fluid in its
        place is gone, and the ledger counts it (``displaced_volume``). A prescribed motion counts from t = 0.
        Checkpoints know it. What was read from ``flow``, ``state`` or ``parts`` before belongs to the bodies of before.
        """
        if not isinstance(body, RigidBody | Joint):
            what = type(body).__name__
            raise UserError(f"{name!r}: {what} is no RigidBody and no Joint; only these are added during a run")
        gone = [entry.name for entry in self.bodies.gone]
        joints = [made.joint.name for made in self.bodies.joints]
        if name in (*self.bodies.entries, *joints) or (name in self.start_scene.objects and name not in gone):
            what = "joint" if isinstance(body, Joint) else "body"
            raise UserError(f"{what} {name!r}: the scene has an object of that name; choose another")
        if isinstance(body, Joint):
            self._join(name, body)
            return
        from undertow.run.body_changes import describe_made

        scene, table = self._scene_with(name, body), self.bodies.copy()
        entry = table.add(describe_made(self.start_scene, name, body, table))
        rigid, told = self._rigid(), ""
        if rigid is not None and self._follows_table and table.is_brittle == self.bodies.is_brittle:
            rigid.table = table
            rigid.add(entry, self.time)
            try:
                self.notes += rigid.check_overlaps(f"at t = {self.time:.6g} s", name)
            except UserError:
                rigid.withdraw(name)
                rigid.table = self.bodies
                raise
        else:
            told = self._assemble_anew(table, name)
        self.scene, self.bodies = scene, table
        self._tell(name, "appeared", self._count(table, name, 1.0) + told)

    def _join(self, name: str, joint: Joint) -> None:
        from undertow.rigid.table import MadeJoint
        from undertow.run.assemble_solids import read_joint

        scene, table, rigid = self._scene_with(name, joint), self.bodies.copy(), self._rigid()
        if rigid is None:
            raise UserError(f"joint {name!r}: no body of this simulation is moved by forces")
        source = joint.model_dump(mode="json", exclude_none=True)
        table.join(MadeJoint(rigid.make_joint(read_joint(name, joint)), source))
        told = self._assemble_anew(table)
        self.scene, self.bodies = scene, table
        self._tell(name, "holds", told)

    def remove(self, name: str) -> None:
        """Take a rigid body out; joints that held it are broken, nodes attached to it are let go. Or let go what a
        joint holds, for good: it then counts as broken.

        Its place is filled by air in water, by fluid that moves as what surrounds it in a full tank; an SPH fluid flows
        into it.
        """
        table, rigid = self.bodies.copy(), self._rigid()
        if rigid is not None and name in rigid.joints.names:
            rigid.release(name)
            self._tell(name, "holds nothing any longer", "")
            return
        self._check_body(name, "removed")
        with self.scheme.synchronised():
            told = self._count(table, name, -1.0)
        table.remove(name)
        if rigid is not None and self._follows_table:
            rigid.remove(name)
            rigid.table = table
        else:
            told += self._assemble_anew(table)
        self.bodies = table
        self._tell(name, "vanished", told)

    def break_body(self, name: str, at: Sequence[float], along: Sequence[float]) -> BrokenBody:
        """Break a rigid body that has a ``fracture`` now, as a blow at a point of the world [m] in a direction does."""
        from undertow.run.breaking import break_now

        self._check_body(name, "broken")
        if self.bodies[name].description.brittle is None:
            raise UserError(f"objects.{name}: has no fracture, it cannot break; give it one in the scene")
        broken = break_now(self, name, vector3(tuple(at)), vector3(tuple(along)))
        self._changes.append(str(broken))
        return broken

    def exchange(self, gone: Sequence[str], made: Sequence[BodyDescription]) -> None:
        """Put dynamic bodies in the place of others, which they fill and with whose mass and momentum they move.

        A grid sees their walls a little otherwise than one wall: what momentum the fluid has more, they have less.
        """
        from undertow.rigid.table import MadeJoint
        from undertow.run.body_changes import momentum_of
        from undertow.solids.rigid_part import RigidPart

        table, rigid = self.bodies.copy(), self.part(RigidPart)
        for name in gone:
            table.remove(name)
        entries = [table.add(body) for body in made]
        joints = rigid.moved_joints(gone, entries)
        for joint in joints:
            source = self.scene.objects[joint.name].model_dump(mode="json", exclude_none=True)
            table.rejoin(MadeJoint(joint, source))
        if self._follows_table and not joints:
            rigid.table = table
            rigid.exchange(gone, entries, self.time)
        else:
            with self.scheme.synchronised():
                before = momentum_of(self.parts)
            self._assemble_anew(table)
            after = momentum_of(self.parts)
            self.part(RigidPart).share_momentum([body.name for body in made], before - after)
        self.bodies = table

    def remake(self, table: BodyTable) -> None:
        """Make everything anew out of another table of bodies, and go on with it from the state of now."""
        self._assemble_anew(table)
        self.bodies = table

    def replace_body(self, name: str, **changes: Any) -> None:
        """Change keys of a rigid body: ``sim.replace_body("ball", density=300.0)``.

        It is taken out and put in again as it then is: joints that held it are broken, nodes attached to it are let go.
        Unless the changes say otherwise it keeps its place, and its momenta if forces move it before and after.
        """
        from undertow.run.body_changes import change_body, describe_made

        self._check_body(name, "changed")
        table, rigid = self.bodies.copy(), self._rigid()
        keeps = not {"velocity", "angular_velocity"} & changes.keys()
        with self.scheme.synchronised():
            state = self._owner(name).body_state(name, self.time)
            momenta = rigid.momenta_of(name) if rigid is not None and keeps else None
            self._count(table, name, -1.0)
        body = change_body(name, self._description(name), changes, state, self.scene.dimensions)
        scene = self._scene_with(name, body)
        table.remove(name)
        table.add(describe_made(self.start_scene, name, body, table))
        told = self._assemble_anew(table, name)
        self.scene, self.bodies = scene, table
        rigid = self._rigid()
        if rigid is not None and momenta is not None:
            rigid.set_momenta(name, *momenta)
        self._tell(name, f"changed ({', '.join(changes)})", self._count(table, name, 1.0) + told)

    def _description(self, name: str) -> RigidBody:
        """What a body of the table was described as."""
        source = self.bodies[name].description.source
        if source is not None and "fragment" in source:
            raise UserError(f"body {name!r}: is a piece of a broken body, which stays as it is; remove it, add another")
        found = self.start_scene.objects[name] if source is None else RigidBody.model_validate(source)
        assert isinstance(found, RigidBody)
        return found

    def _check_body(self, name: str, done: str) -> None:
        if name not in self.bodies:
            self.body(name)
            raise UserError(f"{name!r}: is no rigid body; only these are {done} during a run")

    def _rigid(self) -> RigidPart | None:
        """The rigid bodies, where forces may move them."""
        from undertow.solids.rigid_part import RigidPart

        return next((part for part in self.parts if isinstance(part, RigidPart)), None)

    def _assemble_anew(self, table: BodyTable, name: str | None = None) -> str:
        """Make all that is made out of the table of bodies out of another one, and let the state go on; what the fluid
        does about it, in words. Nothing has changed where a body ``name`` is refused."""
        from undertow.run.body_changes import tell_displaced
        from undertow.solids.rigid_part import RigidPart

        use_threads(self.threads)
        assembly = assemble(self.start_scene, table, starts=False)
        before, parts = {part.name: part for part in self.parts}, self._parts_of(assembly)
        with self.scheme.synchronised():
            for part in parts:
                part.adopt(before.get(part.name), self.time)
        for part in parts:
            if isinstance(part, RigidPart) and name is not None:
                self.notes += part.check_overlaps(f"at t = {self.time:.6g} s", name)
        told = tell_displaced(self.parts, parts)
        self._take(assembly)
        self.ledger = Ledger(self.parts, self.ledger.units)
        return told

    def _count(self, table: BodyTable, name: str, sign: float) -> str:
        """Mass and momentum that a body of now brings (1) or takes away (-1) go into a table; in words."""
        from undertow.run.body_changes import tell_momentum

        rigid = self._rigid()
        if rigid is None:
            return ""
        mass, momentum = rigid.momentum_of(name)
        table.count(sign * mass, sign * momentum)
        return tell_momentum(mass, momentum)

    def _tell(self, name: str, done: str, more: str) -> None:
        self._changes.append(f"objects.{name} {done} at t = {self.time:.6g} s{more}")

    def _scene_with(self, name: str, body: RigidBody | Joint) -> Scene:
        """The scene of now and one body or joint more, checked as a whole."""
        return toml.scene_from_dict({**dict(self.scene), "objects": {**self.scene.objects, name: body}}, "add")

    def contacts(self) -> ContactSet:
        """The contacts of solids in the last step: who touched whom where, with which impulse; none before the first
        step and after loading."""
        return join_contacts(part.contact_set() for part in self.parts if isinstance(part, HasContacts))

    def nodes(self, name: str) -> Nodes:
        """The nodes of a soft body, cloth or rope."""
        if name not in self.scene.softs:
            known = ", ".join(self.scene.softs) or "(none)"
            raise UserError(f"nodes {name!r}: no such soft body, cloth or rope; there are {known}")
        part = self._owner(name)
        assert isinstance(part, HasNodes)
        with self.scheme.synchronised():
            return part.nodes(name)

    @property
    def particles(self) -> Particles:
        """The particles of the SPH fluid."""
        fluid = self._sph()
        if fluid is None:
            raise UserError(f"{self.scene.name}: the scene has no SPH fluid; add an object of type 'sph_fluid'")
        return Particles(fluid.positions(), fluid.velocities(), fluid.densities(), fluid.pressures(), fluid.box.spacing)

    def waters(self) -> list[BodyOfWater]:
        """Bodies of water, each connected in itself: volume, volume error, centre; the largest first."""
        flow: Flow | None = getattr(self.scheme, "flow", None)
        return [] if flow is None else flow.extent.bodies_of_water()

    def surface(self) -> SurfaceMesh:
        """The surface of the liquid, as frames show it; in 3D."""
        found = _only(SurfaceFrame, self._frames())
        if found is None:
            flat = self.scene.dimensions == 2
            why = "2D scenes have none" if flat else "add an object of type 'water' or 'sph_fluid'"
            raise UserError(f"{self.scene.name}: there is no surface mesh: {why}")
        return SurfaceMesh(*(np.asarray(array) for array in (found.vertices, found.triangles, found.velocity)))

    def field(self, name: str) -> Array:
        """A field at all cell centres, (nz, ny, nx) or (3, nz, ny, nx), [z, y, x]; of an SPH fluid at its particles,
        (n,) or (n, 3). The names are those of ``sample``."""
        fluid = self._sph()
        if fluid is not None:
            from undertow.sph.interpolation import particle_field

            return particle_field(fluid, name)
        from undertow.run import sampling

        with self.scheme.synchronised():
            return np.array(sampling.cell_field(self.flow, name))

    def sample(self, field: str, points: object) -> Array:
        """A field at points (n, 3) [m] (or (n, 2) in 2D, or one point): velocity, pressure, density, smoke, ...

        Of an SPH fluid velocity, pressure and density: NaN (density: 0) where it has no particle near.
        """
        from undertow.run import sampling

        fluid = self._sph()
        if fluid is not None:
            from undertow.sph.interpolation import sample_particles

            places, single = sampling.check_points(points)
            values = sample_particles(fluid, field, places)
            return values[0] if single else values
        with self.scheme.synchronised():
            return sampling.sample(self.flow, field, points)

    def wall_pressure(self, points: object, normal: object) -> Array:
        """Pressure (n,) [Pa] at points (n, 3) [m] (or (n, 2) in 2D) of a wall, of the domain or of a solid.

        normal: direction into the fluid. 0 where it is dry; in a full tank without the hydrostatic part.
        """
        from undertow.run import sampling

        places, single = sampling.check_points(points)
        inward = sampling.check_points(normal)[0][0]
        size = math.hypot(*inward)
        if not size > 0.0:
            raise UserError("wall_pressure: the normal is zero; give the direction into the fluid")
        fluid = self._sph()
        if fluid is not None:
            from undertow.sph.interpolation import wall_pressure

            values = wall_pressure(fluid, places)
        else:
            values = sampling.wall_pressure(self.flow, places, inward / size)
        return values[0] if single else values

    def _sph(self) -> SphFluid | None:
        """The SPH fluid; None where the scene has none, and then nothing of it is imported."""
        if not self.scene.sph_fluids:
            return None
        from undertow.sph.part import SphPart

        return self.part(SphPart).fluid

    def frame_data(self, fields: Sequence[str] | None = None) -> FrameData:
        """The present state as a frame; fields: of the cells, in the place of those that the scene asks for."""
        from undertow.output import FrameData

        cells: dict[str, np.ndarray] = {}
        if self.grid is not None:
            from undertow.run import sampling

            for name in (self.scene.output.fields or ()) if fields is None else fields:
                with self.scheme.synchronised():
                    cells[str(name)] = sampling.cell_field(self.flow, name).astype(np.float32)
        drawn = self._frames()
        return FrameData(
            self.frame, self.time, self.grid, cells, [frame for frame in drawn if isinstance(frame, BodyFrame)],
            self.scene.dimensions, _only(SurfaceFrame, drawn), _only(ParticleFrame, drawn), _only(SoftFrame, drawn),
        )  # fmt: skip

    def _frames(self) -> list[object]:
        """What a frame shows of all parts."""
        with self.scheme.synchronised():
            return [frame for part in self.parts for frame in part.frames(self.time)]

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve, by name."""
        return {name: array for part in self.parts for name, array in part.arrays().items()}

    def checkpoint(self, tables: dict[str, int] | None = None) -> Checkpoint:
        """Everything needed to go on bit for bit; ``tables``: sizes of the run's tables [bytes]."""
        numbers = {
            "time": self.time,
            "step": self.step_count,
            "frame": self.frame,
            "state": {part.name: part.numbers() for part in self.parts},
            "clock": self.clock.numbers(),
            "tables": tables or {},
            "bodies": self.bodies.numbers(),
            "columns": [[name, *unit] for name, unit in self.ledger.units.items()],
            "changes": list(self._changes),
            "watch": self.watch.numbers(),
        }
        return Checkpoint(toml.write(self.start_scene), self.arrays(), numbers)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a checkpoint of the same scene."""
        numbers = checkpoint.numbers
        if json.dumps(numbers["bodies"], sort_keys=True) != json.dumps(self.bodies.numbers(), sort_keys=True):
            self._restore_bodies(numbers["bodies"])
            self._take(assemble(self.start_scene, self.bodies, starts=False))
        self.ledger = Ledger(self.parts, {name: Unit(*unit) for name, *unit in numbers["columns"]})
        self._changes = list(numbers["changes"])
        self.watch.restore(numbers["watch"])
        if checkpoint.arrays.keys() != self.arrays().keys():
            raise UserError("checkpoint: its arrays do not fit the scene; it belongs to another scene or resolution")
        for part in self.parts:
            part.restore(checkpoint.arrays, numbers["state"][part.name], float(numbers["time"]))
        self.clock.restore(numbers["clock"])
        self.time, self.step_count, self.frame = float(numbers["time"]), int(numbers["step"]), int(numbers["frame"])

    def _restore_bodies(self, numbers: Mapping[str, Any]) -> None:
        """The table of bodies of a checkpoint."""
        from undertow.run.assemble_solids import read_table
        from undertow.run.body_changes import restore_table

        self.bodies = read_table(self.start_scene)
        made = restore_table(self.start_scene, self.bodies, numbers)
        self.scene = self.start_scene
        for name, body in made.items():
            self.scene = self._scene_with(name, body)
        for one in self.bodies.joints:
            joint = Joint.model_validate(dict(one.source))
            if all(end is None or end in self.scene.objects for end in (joint.parent, joint.child)):
                self.scene = self._scene_with(one.joint.name, joint)

    def save(self, path: str | Path) -> None:
        """Save scene and state to a new file; ``ut.load(path)`` continues bit for bit."""
        from undertow.run.folder import check_path

        path = check_path(Path(path))
        if path.exists():
            raise UserError(f"{path}: exists already and is not overwritten; choose another name")
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}; create it first")
        write_checkpoint(path, self.checkpoint())


def _only(kind: type[Drawn], frames: Sequence[object]) -> Drawn | None:
    """The frame of a kind, of which there is at most one."""
    return next((frame for frame in frames if isinstance(frame, kind)), None)


def load(path: str | Path, threads: int | None = None) -> Simulation:
    """The simulation saved in a file (or checkpoint of a run), ready to go on."""
    checkpoint = read_checkpoint(Path(path))
    return Simulation(toml.read(checkpoint.scene, str(path)), threads, checkpoint)
