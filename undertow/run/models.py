"""What a simulation advances: a fluid with prescribed solids, or solids alone. One face towards the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from undertow.errors import UserError
from undertow.grid import Array, Grid

if TYPE_CHECKING:
    from undertow.output import BodyFrame, SurfaceFrame
    from undertow.output.particles import ParticleFrame
    from undertow.output.soft import SoftFrame

Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class BodyForces:
    """Forces on a body over the last step [N; 2D N/m] and the torque of the fluid and of contact and joints [N m; 2D
    N], about its centre of mass, or its position where it has no mass."""

    pressure: Vector = ZERO
    viscous: Vector = ZERO
    contact: Vector = ZERO
    joint: Vector = ZERO
    torque: Vector = ZERO
    torque_solids: Vector = ZERO
    control: Vector = ZERO
    """Of particles that touch the body, by direct forcing."""

    @property
    def fluid(self) -> Vector:
        """Force of the fluid."""
        x, y, z = (p + v + c for p, v, c in zip(self.pressure, self.viscous, self.control, strict=True))
        return (x, y, z)


@dataclass(frozen=True)
class BodyState:
    """Where a body is and how it moves: position (3,) [m] and rotation (3, 3) of its shape, velocity (3,) [m/s] of that
    point and angular_velocity (3,) [rad/s]."""

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array


@dataclass(frozen=True)
class ModelStep:
    """What a step of a model did: iterations of its largest solve, its own report, the ledger's quantities, and what
    happened that a user should know, in words."""

    iterations: int
    report: Any
    ledger: dict[str, float] = field(default_factory=dict)
    events: tuple[str, ...] = ()


class Model(Protocol):
    """State, work arrays and the step of what a scene contains."""

    notes: list[str]

    @property
    def grid(self) -> Grid | None:
        """The grid of the fluid; None without one."""

    def limits(self, time: float) -> dict[str, float]:
        """Longest step by each rule [s]."""

    def step(self, time: float, time_step: float) -> ModelStep:
        """Advance from ``time`` by ``time_step`` [s]."""

    def columns(self) -> list[str]:
        """Names of the quantities of the ledger, in order."""

    def state(self, name: str, time: float) -> BodyState:
        """A body of the scene."""

    def forces(self, name: str) -> BodyForces:
        """Forces on a body over the last step."""

    def body_frames(self, time: float) -> list[BodyFrame]:
        """The surfaces of all bodies."""

    def surface_frame(self) -> SurfaceFrame | None:
        """The surface of water in 3D."""

    def particle_frame(self) -> ParticleFrame | None:
        """The particles of a fluid of particles."""

    def soft_frame(self) -> SoftFrame | None:
        """Nodes and elements of the soft bodies."""

    def has(self, name: str) -> bool:
        """Whether a body of the scene is still there."""

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve, by name."""

    def scalars(self) -> dict[str, Any]:
        """All numbers that evolve, by name."""

    def restore(self, arrays: Mapping[str, Array], scalars: Mapping[str, Any], time: float) -> None:
        """Take over arrays and numbers of the same scene at a time [s]."""

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        """Words for the place of an entry of an array of ``arrays``."""


class WithoutExtras:
    """What a model answers that has no particles, no soft bodies, and keeps its bodies to the end."""

    def particle_frame(self) -> ParticleFrame | None:
        """There are no particles."""
        return None

    def soft_frame(self) -> SoftFrame | None:
        """There are no soft bodies."""
        return None

    def has(self, name: str) -> bool:
        """Bodies stay."""
        return True


def take_arrays(own: Mapping[str, Array], given: Mapping[str, Array]) -> None:
    """Copy arrays of the same names and shapes."""
    if {n: a.shape for n, a in own.items()} != {n: a.shape for n, a in given.items()}:
        raise UserError("checkpoint: its arrays do not fit the scene; it belongs to another scene or resolution")
    for name, array in own.items():
        array[...] = given[name]


def vector(values: Any) -> Vector:
    """Three floats."""
    x, y, z = (float(v) for v in np.asarray(values))
    return (x, y, z)
