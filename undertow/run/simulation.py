"""A scene in motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from undertow.errors import PhysicsError, UserError
from undertow.frames import BodyFrame, ParticleFrame, SoftFrame, SurfaceFrame
from undertow.grid import Array, Grid
from undertow.part import BodyForces, Ledger, Part
from undertow.run.assemble import assemble
from undertow.run.build import initial_velocity
from undertow.run.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from undertow.run.handles import Body, HasNodes, Nodes, Particles, SurfaceMesh
from undertow.run.machine import use_threads
from undertow.run.timestep import choose_step
from undertow.scene import RigidBody, Scene, toml

if TYPE_CHECKING:
    from undertow.fluid import Flow, FlowState
    from undertow.output import FrameData
    from undertow.run.driver import Progress
    from undertow.run.record import Run
    from undertow.solids.rigid_part import RigidPart
    from undertow.sph import SphFluid

Drawn = TypeVar("Drawn")
Kind = TypeVar("Kind", bound=Part)
VelocityFunction = Callable[[Array, Array, Array], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class StepReport:
    """What a step did.

    step: number of the step, from 1; time: at its end [s]; time_step [s]; limit: the rule that set it ("frame" when the
    next frame did); iterations: of all solves together; details: the report of the fluid or of the solids; ledger: the
    quantities of the ledger row, SI units; events: what happened, in words (a joint broke, a solve did not converge).
    """

    step: int
    time: float
    time_step: float
    limit: str
    iterations: int
    details: Any
    ledger: dict[str, float]
    events: tuple[str, ...] = ()


class Simulation:
    """A scene in motion: state, work arrays and the step.

    ``threads``: threads of the kernels (None: all cores); the results do not depend on it. ``checkpoint``: of the same
    scene, to go on from in place of its start.
    """

    def __init__(self, scene: Scene, threads: int | None = None, checkpoint: Checkpoint | None = None) -> None:
        if not isinstance(scene, Scene):
            raise UserError(f"Simulation: {type(scene).__name__} is no Scene; use ut.scene('NAME') or ut.Scene(...)")
        self.scene = scene
        self._first_objects = scene.objects
        self.threads = use_threads(threads)
        assembly = assemble(scene, checkpoint is None)
        self.scheme, self.notes = assembly.scheme, assembly.notes
        """The order of things in a step; what the user should know before the run."""
        self.parts: list[Part] = [*assembly.parts, self.scheme]
        self.ledger = Ledger(self.parts)
        self.time = 0.0
        self.step_count = 0
        self.frame = 0
        if self.grid is not None and not scene.has_surface:
            self.set_velocity(initial_velocity(scene))
        if checkpoint is not None:
            self.restore(checkpoint)

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
            u_f[axis][grid.interior_faces(axis)] = function(x, y, z)[axis]
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
        if not math.isfinite(time) or time < self.time:
            raise UserError(f"{name}: {time} s lies before the present time {self.time} s; time only moves forward")

    def _step_towards(self, target: float) -> StepReport:
        use_threads(self.threads)
        limits = [limit for part in self.parts for limit in part.limits(self.time)]
        choice = choose_step(self.scene.time, limits, self.time, target)
        done = self.scheme.step(self.time, choice.time_step)
        row = self.ledger.row()
        self._check_finite(row, choice.end)
        self.time = choice.end
        self.step_count += 1
        if self.time == self.next_frame_time():
            self.frame += 1
        return StepReport(
            self.step_count, self.time, choice.time_step, choice.limit, done.iterations, done.details, row, done.events
        )  # fmt: skip

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
            self.time,
        )

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

    def add(self, name: str, body: RigidBody) -> None:
        """Put a rigid body into a scene of rigid bodies alone, where and as fast as ``body`` says, from now on.

        It may not lie deep inside another one; ``notes`` names those it overlaps and is pushed out of. A prescribed
        motion counts from t = 0. Checkpoints know it.
        """
        from undertow.run.assemble_solids import read_body

        if not isinstance(body, RigidBody):
            raise UserError(f"{name!r}: {type(body).__name__} is no RigidBody; only these are added during a run")
        part = self._rigid_alone(name, "added")
        if name in self.scene.objects:
            raise UserError(f"body {name!r}: the scene has or had an object of that name; choose another")
        scene = self._scene_with(name, body)
        self.notes += part.add(read_body(scene, name, part.known_shapes), self.time)
        self.scene = scene

    def remove(self, name: str) -> None:
        """Take a rigid body out of a scene of rigid bodies alone; joints that held it are broken."""
        self.body(name)
        self._rigid_alone(name, "removed").remove(name)

    def _rigid_alone(self, name: str, done: str) -> RigidPart:
        """The rigid bodies of a scene without anything else, where they come and go."""
        if self.scene.domain is not None or self.scene.softs:
            raise UserError(f"body {name!r}: cannot be {done}: bodies come and go in scenes of rigid bodies alone")
        from undertow.solids.rigid_part import RigidPart

        return self.part(RigidPart)

    def _scene_with(self, name: str, body: RigidBody) -> Scene:
        """The scene of now and one body more, checked as a whole."""
        return toml.scene_from_dict({**dict(self.scene), "objects": {**self.scene.objects, name: body}}, "add")

    def nodes(self, name: str) -> Nodes:
        """The nodes of a soft body, cloth or rope."""
        if name not in self.scene.softs:
            known = ", ".join(self.scene.softs) or "(none)"
            raise UserError(f"nodes {name!r}: no such soft body, cloth or rope; there are {known}")
        part = self._owner(name)
        assert isinstance(part, HasNodes)
        return part.nodes(name)

    @property
    def particles(self) -> Particles:
        """The particles of the SPH fluid."""
        fluid = self._sph()
        if fluid is None:
            raise UserError(f"{self.scene.name}: the scene has no SPH fluid; add an object of type 'sph_fluid'")
        return Particles(fluid.positions(), fluid.velocities(), fluid.densities(), fluid.pressures(), fluid.box.spacing)

    def surface(self) -> SurfaceMesh:
        """The surface of the liquid, as frames show it; in 3D."""
        found = _only(SurfaceFrame, [frame for part in self.parts for frame in part.frames(self.time)])
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
        return sampling.sample(self.flow, field, points)

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
                cells[str(name)] = sampling.cell_field(self.flow, name).astype(np.float32)
        drawn = [frame for part in self.parts for frame in part.frames(self.time)]
        return FrameData(
            self.frame, self.time, self.grid, cells, [frame for frame in drawn if isinstance(frame, BodyFrame)],
            self.scene.dimensions, _only(SurfaceFrame, drawn), _only(ParticleFrame, drawn), _only(SoftFrame, drawn),
        )  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve, by name."""
        return {name: array for part in self.parts for name, array in part.arrays().items()}

    def checkpoint(self, tables: dict[str, int] | None = None) -> Checkpoint:
        """Everything needed to go on bit for bit; ``tables``: sizes of the run's tables [bytes]."""
        first = self._first_objects
        added = {
            name: item.model_dump(exclude_none=True) for name, item in self.scene.objects.items() if name not in first
        }
        numbers = {
            "time": self.time,
            "step": self.step_count,
            "frame": self.frame,
            "state": {part.name: part.numbers() for part in self.parts},
            "tables": tables or {},
            "added": added,
        }
        start = self.scene.model_copy(update={"objects": first})
        return Checkpoint(toml.write(start), self.arrays(), numbers)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a checkpoint of the same scene."""
        numbers = checkpoint.numbers
        for name, item in numbers.get("added", {}).items():
            from undertow.run.assemble_solids import read_body

            scene, rigid = self._scene_with(name, RigidBody.model_validate(item)), self._rigid_alone(name, "added")
            rigid.include(read_body(scene, name, rigid.known_shapes), float(numbers["time"]))
            self.scene = scene
        if checkpoint.arrays.keys() != self.arrays().keys():
            raise UserError("checkpoint: its arrays do not fit the scene; it belongs to another scene or resolution")
        for part in self.parts:
            part.restore(checkpoint.arrays, numbers["state"][part.name], float(numbers["time"]))
        self.time, self.step_count, self.frame = float(numbers["time"]), int(numbers["step"]), int(numbers["frame"])

    def save(self, path: str | Path) -> None:
        """Save scene and state to a new file; ``ut.load(path)`` continues bit for bit."""
        path = Path(path)
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
