"""A scene in motion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undertow.errors import PhysicsError, UserError
from undertow.fluid import Flow, FlowReport, FlowState, SolidForce
from undertow.geometry import AnimatedMesh, SolidFields
from undertow.grid import GHOSTS, Array
from undertow.run import build, sampling
from undertow.run.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from undertow.run.ledger import ledger_row
from undertow.run.machine import check_memory, use_threads
from undertow.run.timestep import choose_step
from undertow.scene import Scene, toml

if TYPE_CHECKING:
    from undertow.output import FrameData
    from undertow.run.driver import Progress
    from undertow.run.record import Run

VelocityFunction = Callable[[Array, Array, Array], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class StepReport:
    """What a step did.

    step: number of the step, from 1; time: at its end [s]; time_step [s]; limit: the rule that set it ("frame" when the
    next frame did); flow: solver statistics; ledger: the quantities of the ledger row, SI units.
    """

    step: int
    time: float
    time_step: float
    limit: str
    flow: FlowReport
    ledger: dict[str, float]


@dataclass(frozen=True)
class Body:
    """A solid at the present time: position (3,) [m], rotation (3, 3) body to world, velocity (3,) [m/s],
    angular_velocity (3,) [rad/s], force of the fluid on it (3,) [N; 2D N/m] and torque about its position (3,)
    [N m; 2D N] over the last step."""

    name: str
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    force: Array
    torque: Array


class Simulation:
    """A scene in motion: state, work arrays and the step.

    ``threads``: threads of the kernels (None: all cores); the results do not depend on it.
    """

    def __init__(self, scene: Scene, threads: int | None = None) -> None:
        if not isinstance(scene, Scene):
            raise UserError(f"Simulation: {type(scene).__name__} is no Scene; use ut.scene('NAME') or ut.Scene(...)")
        self.scene = scene
        self.threads = use_threads(threads)
        self.grid, self.notes = build.build_grid(scene)
        check_memory(self.grid.cells, build.memory_needed(scene, self.grid))
        self.sides, side_velocity = build.build_sides(scene, self.grid)
        self.solids, notes = build.build_solids(scene, self.grid)
        self.notes += notes
        self.flow = Flow(
            self.grid,
            self.sides,
            SolidFields(self.grid, self.solids) if self.solids else None,
            build.flow_settings(scene),
            build.build_emitters(scene, self.grid),
            side_velocity,
        )
        self.time = 0.0
        self.steps = 0
        self.frame = 0
        self.forces = {name: SolidForce((0.0,) * 3, (0.0,) * 3, (0.0,) * 3) for name in scene.bodies}
        start = build.vector3(scene.fluid.initial_velocity)
        self.set_velocity(lambda x, y, z: start)

    @property
    def state(self) -> FlowState:
        """Everything that evolves."""
        return self.flow.state

    def set_velocity(self, function: VelocityFunction) -> None:
        """Set the velocity field: ``function(x, y, z) -> (u, v, w)`` [m/s], called with arrays of face centres [m]."""
        for axis in self.grid.axes:
            x, y, z = np.broadcast_arrays(*self.grid.face_centres(axis))
            self.state.u[axis][self.grid.interior_faces(axis)] = function(x, y, z)[axis]
        if self.state.u_previous.size:
            self.state.u_previous[:] = self.state.u
        self.flow.finish(self.state.u)

    def next_frame_time(self) -> float:
        """Time of the next frame [s]."""
        return self.scene.time.frame_time(self.frame + 1)

    def step(self) -> StepReport:
        """One step; steps land exactly on frame times."""
        return self._step_towards(self.next_frame_time())

    def advance_to(self, time: float) -> StepReport | None:
        """Step until ``time`` [s] is reached exactly; the report of the last step."""
        if not math.isfinite(time) or time < self.time:
            raise UserError(f"advance_to: {time} s lies before the present time {self.time} s; time only moves forward")
        report = None
        # a target that misses a frame by rounding alone is that frame: no step of rounding size is taken
        slack = 1e-9 / self.scene.time.frame_rate
        while time - self.time > slack:
            frame = self.next_frame_time()
            report = self._step_towards(frame if time > frame - slack else time)
        return report

    def _step_towards(self, target: float) -> StepReport:
        use_threads(self.threads)
        choice = choose_step(self.scene.time, self._limits(), self.time, target)
        report = self.flow.step(self.time, choice.time_step)
        self.forces = self.flow.forces()
        row = ledger_row(self.flow, report, self.forces)
        self._check_finite(row, choice.end)
        self.time = choice.end
        self.steps += 1
        if self.time == self.next_frame_time():
            self.frame += 1
        return StepReport(self.steps, self.time, choice.time_step, choice.limit, report, row)

    def _limits(self) -> dict[str, float]:
        """Longest step by each rule [s]: of the flow, and of moving walls and inflows (the flow may be at rest)."""
        limits = self.flow.limits(self.time)
        speed = float(np.abs(self.sides.spec.velocity).sum(axis=1).max())
        if speed > 0:
            limits["side_velocity"] = self.grid.dx / speed
        return limits

    def _check_finite(self, row: dict[str, float], time: float) -> None:
        """A value that is no finite number stops the run with what, where and when."""
        bad = [name for name, value in row.items() if not math.isfinite(value)]
        if not bad:
            return
        when = f"in step {self.steps + 1} at t = {time:.6g} s"
        words = {"u": "velocity", "p": "pressure"}
        for name, array in self.state.arrays().items():
            wrong = np.argwhere(~np.isfinite(array))
            if len(wrong):
                k, j, i = (int(v) - GHOSTS for v in wrong[0][-3:])
                place = [lo + (n + 0.5) * self.grid.dx for lo, n in zip(self.grid.lower, (i, j, k), strict=True)]
                near = ", ".join(f"{x:.4g}" for x in place[: self.grid.dimensions])
                raise PhysicsError(
                    f"{words.get(name, name)} is not a finite number {when}, first in cell ({i}, {j}, {k}) "
                    f"near ({near}) m"
                )
        raise PhysicsError(f"{bad[0]} of the ledger is not a finite number {when}")

    def run(self, out: str | Path | None = None, progress: Callable[[Progress], None] | None = None) -> Run:
        """Run to the end of the scene and write a run folder (default ``runs/NAME-NNNN``); see ``Run``."""
        from undertow.run.driver import run

        return run(self, out, progress)

    def body(self, name: str) -> Body:
        """A solid of the scene at the present time."""
        for solid in self.solids:
            if solid.name == name:
                position, rotation = solid.motion.pose(self.time)
                velocity, angular = solid.motion.velocity(self.time)
                force = self.forces[name]
                return Body(name, position, rotation, velocity, angular, np.array(force.total), np.array(force.torque))
        raise UserError(f"body {name!r}: no such solid; the solids are {', '.join(self.scene.bodies) or '(none)'}")

    def sample(self, field: str, points: object) -> Array:
        """A field at points (n, 3) [m] (or (n, 2) in 2D, or one point): velocity, pressure, density, smoke, ..."""
        return sampling.sample(self.flow, field, points)

    def frame_data(self) -> FrameData:
        """The present state as a frame."""
        from undertow.output import BodyFrame, FrameData

        bodies = []
        for solid in self.solids:
            position, rotation = solid.motion.pose(self.time)
            linear, angular = solid.motion.velocity(self.time)
            vertices, triangles = solid.surface(self.time)
            velocity = linear + np.cross(angular, vertices - position)
            if isinstance(solid.shape, AnimatedMesh):
                velocity = velocity + solid.shape.velocity(self.time) @ rotation.T
            color = build.vector3(self.scene.bodies[solid.name].color)
            bodies.append(BodyFrame(solid.name, vertices, triangles, color, velocity))
        fields = self.scene.output.fields or ()
        cells: dict[str, np.ndarray] = {
            str(name): sampling.cell_field(self.flow, name).astype(np.float32) for name in fields
        }
        return FrameData(self.frame, self.time, self.grid, cells, bodies)

    def checkpoint(self, tables: dict[str, int] | None = None) -> Checkpoint:
        """Everything needed to go on bit for bit; ``tables``: sizes of the run's tables [bytes]."""
        numbers = {
            "time": self.time,
            "step": self.steps,
            "frame": self.frame,
            "state": self.state.scalars(),
            "tables": tables or {},
        }
        return Checkpoint(toml.write(self.scene), dict(self.state.arrays()), numbers)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a checkpoint of the same scene."""
        arrays = self.state.arrays()
        if {n: a.shape for n, a in arrays.items()} != {n: a.shape for n, a in checkpoint.arrays.items()}:
            raise UserError("checkpoint: its arrays do not fit the scene; it belongs to another scene or resolution")
        for name, array in arrays.items():
            array[...] = checkpoint.arrays[name]
        numbers = checkpoint.numbers
        self.state.restore_scalars(numbers["state"])
        self.time, self.steps, self.frame = float(numbers["time"]), int(numbers["step"]), int(numbers["frame"])
        self.flow.place(self.time)

    def save(self, path: str | Path) -> None:
        """Save scene and state to a new file; ``ut.load(path)`` continues bit for bit."""
        path = Path(path)
        if path.exists():
            raise UserError(f"{path}: exists already and is not overwritten; choose another name")
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}; create it first")
        write_checkpoint(path, self.checkpoint())


def load(path: str | Path, threads: int | None = None) -> Simulation:
    """The simulation saved in a file (or checkpoint of a run), ready to go on."""
    checkpoint = read_checkpoint(Path(path))
    simulation = Simulation(toml.read(checkpoint.scene, str(path)), threads)
    simulation.restore(checkpoint)
    return simulation
