"""What a simulation is made of: parts that add up.

A part is something that evolves: a flow, the rigid bodies, the soft bodies, a fluid of particles, what a scheme carries
from step to step. It says what its state is, how long a step may be, what the ledger writes about it, what is drawn and
which forces act on its bodies. Ledger, checkpoint, step limits and frames of a simulation are sums over its parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from undertow.errors import UserError

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
ZERO: Vector = (0.0, 0.0, 0.0)


class Unit(NamedTuple):
    """A unit in 3D, and in 2D, which is per metre of depth."""

    three: str
    two: str

    def of(self, dimensions: int) -> str:
        """The unit in so many dimensions."""
        return self.three if dimensions == 3 else self.two


NUMBER = Unit("", "")
LENGTH = Unit("m", "m")
TIME = Unit("s", "s")
RATE = Unit("1/s", "1/s")
SPEED = Unit("m/s", "m/s")
ANGULAR_SPEED = Unit("rad/s", "rad/s")
AREA = Unit("m2", "m")
ACCELERATION = Unit("m/s2", "m/s2")
VOLUME = Unit("m3", "m2")
VOLUME_RATE = Unit("m3/s", "m2/s")
MASS = Unit("kg", "kg/m")
MOMENTUM = Unit("kg m/s", "kg/s")
ANGULAR_MOMENTUM = Unit("kg m2/s", "kg m/s")
ENERGY = Unit("J", "J/m")
FORCE = Unit("N", "N/m")
TORQUE = Unit("N m", "N")


class Quantity(NamedTuple):
    """A value of the ledger. Where several parts have one of the same name, the ledger has their sum, or their
    maximum."""

    name: str
    value: float
    unit: Unit = NUMBER
    merge: Literal["sum", "max"] = "sum"


def components(name: str, values: Iterable[float], unit: Unit) -> Iterator[Quantity]:
    """The three components of a vector: ``name_x``, ``name_y``, ``name_z``."""
    for axis, value in zip("xyz", values, strict=True):
        yield Quantity(f"{name}_{axis}", float(value), unit)


class Limit(NamedTuple):
    """The longest step by one rule [s].

    kind: "motion", taken as it is; "cfl", for a CFL number of 1 and multiplied by ``time.cfl``; "stability", which a
    step that the user has fixed may not exceed either; "event", so long until something at which a step ends.
    """

    name: str
    time_step: float
    kind: Literal["motion", "cfl", "stability", "event"] = "motion"


@dataclass(frozen=True)
class BodyState:
    """Where a body is and how it moves: position (3,) [m] and rotation (3, 3) of its shape, velocity (3,) [m/s] of that
    point and angular_velocity (3,) [rad/s]."""

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array


class Push(NamedTuple):
    """A force (3,) [N; 2D N/m] and torque (3,) [N m; 2D N] from now on; at (3,) [m]: where the force acts, None: at the
    centre of mass; duration [s]: None for the next step."""

    force: Array
    torque: Array
    at: Array | None
    duration: float | None


class Target(NamedTuple):
    """A pose to be reached at a time [s], None staying as it is; or, with at_time None, velocities from now on."""

    position: Array | None = None
    rotation: Array | None = None
    at_time: float | None = None
    velocity: Array | None = None
    angular_velocity: Array | None = None


@dataclass(frozen=True)
class Nodes:
    """The nodes of a soft body, cloth or rope at the present time.

    position, velocity, rest (n, 3) [m], [m/s], [m], rest being where they started; mass (n,) [kg; 2D kg/m]; elements
    (m, k): the nodes of each tetrahedron (k = 4), triangle (3) or edge (2).
    """

    name: str
    position: Array
    velocity: Array
    rest: Array
    mass: Array
    elements: Array


@dataclass(frozen=True)
class BodyForces:
    """Forces on a body over the last step [N; 2D N/m] and the torque of the fluid and of contact and joints [N m; 2D
    N], about its centre of mass, or its position where it has no mass.

    Where velocities are those of the middles of steps, from the middle of the last step to that of the next one.
    """

    pressure: Vector = ZERO
    viscous: Vector = ZERO
    contact: Vector = ZERO
    joint: Vector = ZERO
    torque: Vector = ZERO
    torque_solids: Vector = ZERO
    control: Vector = ZERO
    """Of particles that touch the body, by direct forcing."""
    load: Vector = ZERO
    """Of the loads that the scene or the user has put on it."""
    reaction: Vector = ZERO
    """Of what holds nodes of a soft body where they are or moves them."""

    @property
    def fluid(self) -> Vector:
        """Force of the fluid."""
        x, y, z = (p + v + c for p, v, c in zip(self.pressure, self.viscous, self.control, strict=True))
        return (x, y, z)


class ForceTable:
    """Forces on bodies over the last step, one row per body: state of the part that the bodies belong to.

    values (n, 7, 3), in the order of the fields of ``BodyForces``, each also by its name (n, 3).
    """

    def __init__(self, count: int = 0) -> None:
        self.values: Array = np.zeros((count, 7, 3))

    @property
    def pressure(self) -> Array:
        """Of the pressure [N; 2D N/m]."""
        return self.values[:, 0]

    @property
    def viscous(self) -> Array:
        """Of viscosity [N; 2D N/m]."""
        return self.values[:, 1]

    @property
    def contact(self) -> Array:
        """Of contact with solids [N; 2D N/m]."""
        return self.values[:, 2]

    @property
    def joint(self) -> Array:
        """Of joints and motors [N; 2D N/m]."""
        return self.values[:, 3]

    @property
    def torque(self) -> Array:
        """Of the fluid [N m; 2D N]."""
        return self.values[:, 4]

    @property
    def torque_solids(self) -> Array:
        """Of contact, joints and motors [N m; 2D N]."""
        return self.values[:, 5]

    @property
    def control(self) -> Array:
        """Of direct forcing [N; 2D N/m]."""
        return self.values[:, 6]

    def resize(self, count: int) -> None:
        """So many rows; new ones are zero."""
        if count == len(self.values):
            return
        rows = np.zeros((count, 7, 3))
        kept = min(count, len(self.values))
        rows[:kept] = self.values[:kept]
        self.values = rows

    def remove(self, row: int) -> None:
        """Without one row."""
        self.values = np.delete(self.values, row, axis=0)

    def of(self, row: int) -> BodyForces:
        """The forces on one body."""
        return BodyForces(*(vector(values) for values in self.values[row]))

    def quantities(self, names: Iterable[str]) -> Iterator[Quantity]:
        """Force and torque of the fluid on the bodies of the first rows, by their names."""
        for row, name in enumerate(names):
            forces = self.values[row]
            yield from components(f"{name}.force", forces[0] + forces[1] + forces[6], FORCE)
            yield from components(f"{name}.torque", forces[4], TORQUE)


class Part:
    """Something that evolves. A part says nothing about what it has not."""

    name: str
    """Where its numbers stand in a checkpoint."""

    # state ----------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """All arrays that evolve; their names are their own in the whole simulation."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """All else that evolves, as plain numbers, lists and tables of them."""
        return {}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        """Go on from a state that ``arrays`` and ``numbers`` gave at a time [s]; parts before this one are restored."""

    def adopt(self, before: Part | None, time: float) -> None:
        """Go on at a time [s] from a part that was made for other bodies; None: there was none. Parts before this one
        have done so."""
        if type(before) is type(self):
            self.restore(before.arrays(), before.numbers(), time)

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        """Words for the place of an entry of one of the ``arrays``."""
        return f"first at entry {index}"

    # what is asked of it --------------------------------------------------------------------------------------------

    def limits(self, time: float) -> Iterable[Limit]:
        """How long the step that begins at a time [s] may be."""
        return ()

    def quantities(self) -> Iterable[Quantity]:
        """What the ledger says of the present state and of the last step; always the same names."""
        return ()

    def frames(self, time: float) -> Iterable[object]:
        """What a frame shows of it, as the types of ``undertow.frames``."""
        return ()

    def pull(self, gravity: Array) -> None:
        """From here on gravity (3,) [m/s2] is another one."""

    def begin_work(self) -> None:
        """A step begins: from here on count the work that is done on its solids."""

    def count_work(self, dt: float, lag: float) -> None:
        """A step of dt [s] has ended; lag: the part of it in which the forces of the last step acted."""

    # its bodies -----------------------------------------------------------------------------------------------------

    def body_names(self) -> Sequence[str]:
        """The solids that belong to it, as the scene names them."""
        return ()

    def body_state(self, name: str, time: float) -> BodyState:
        """Where one of them is."""
        raise KeyError(name)

    def body_forces(self, name: str) -> BodyForces:
        """Forces on one of them over the last step."""
        raise KeyError(name)

    def hold_forces(self, name: str) -> Array:
        """Forces (k, 3) [N; 2D N/m] of what holds one of them, in the order of the scene."""
        return np.zeros((0, 3))

    def apply(self, name: str, time: float, push: Push) -> None:
        """Put a force on one of them from a time [s] on."""
        raise UserError(f"body {name!r}: moves as prescribed, no force moves it; give it a density or mass")

    def drive(self, name: str, time: float, target: Target) -> None:
        """Give one of them that is driven a target from a time [s] on."""
        raise UserError(f"body {name!r}: is not driven; give it motion = {{ type = 'driven' }} in the scene")


@dataclass(frozen=True)
class StepOutcome:
    """What a step did: iterations of its solves, a report of its own, and what happened that a user should know, in
    words. broken: the bodies that broke, as ``rigid.fracture.BrokenBody``; torn: those that tore, as
    ``solids.tearing.TornBody``."""

    iterations: int
    details: Any
    events: tuple[str, ...] = ()
    broken: tuple[Any, ...] = ()
    torn: tuple[Any, ...] = ()


class Scheme(Part):
    """The order of things in a step, one class per published method. What lags from step to step is its state: it is
    the last part of a simulation."""

    name = "scheme"

    @property
    def planned_step(self) -> float:
        """How long the next step may be at most, where velocities are those of its middle already [s]."""
        return math.inf

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        """Advance all parts from ``time`` by ``time_step`` [s]; next_step: as long as the one after it is to be."""
        raise TypeError(type(self).__name__)

    def acts(self, time: float, time_step: float, next_step: float) -> tuple[float, float]:
        """From when to when the forces of the step to come, from ``time`` by ``time_step`` [s], will act."""
        return time, time + time_step

    def acted(self, since: float, until: float) -> tuple[float, float]:
        """From when to when the forces that are reported of the last step, from ``since`` to ``until`` [s], have acted
        on the velocities that there are outside of ``synchronised``: where a part of them is still to be seen, beyond
        ``until``."""
        return since, until

    def synchronised(self) -> AbstractContextManager[None]:
        """Within it, all velocities are those of the time of the positions."""
        return nullcontext()

    def restart(self, time: float) -> None:
        """From here on velocities are those of ``time`` [s], that of the positions."""


class Ledger:
    """The quantities of all parts, merged: names with units in a fixed order, and their values of now."""

    def __init__(self, parts: Sequence[Part], units: Mapping[str, Unit] | None = None) -> None:
        """units: of the columns, where they are fixed already; None: all that the parts say."""
        self.parts = parts
        self.units = {name: one.unit for name, one in self._merged().items()} if units is None else dict(units)

    def row(self) -> dict[str, float]:
        """The values of now by name; 0 of what is not there any longer, a body that has been removed."""
        found = self._merged()
        return {name: found[name].value if name in found else 0.0 for name in self.units}

    def _merged(self) -> dict[str, Quantity]:
        found: dict[str, Quantity] = {}
        for part in self.parts:
            for quantity in part.quantities():
                old = found.get(quantity.name)
                if old is not None:
                    both = (old.value, quantity.value)
                    quantity = old._replace(value=sum(both) if quantity.merge == "sum" else max(both))
                found[quantity.name] = quantity._replace(value=float(quantity.value))
        return found


def restore_arrays(own: Mapping[str, Array], given: Mapping[str, Array]) -> None:
    """Copy the arrays of the same names, which must have the same shapes, into ``own``."""
    for name, array in own.items():
        if name not in given or given[name].shape != array.shape:
            raise UserError("checkpoint: its arrays do not fit the scene; it belongs to another scene or resolution")
        array[...] = given[name]


def vector(values: Iterable[float]) -> Vector:
    """Three floats."""
    x, y, z = (float(v) for v in values)
    return (x, y, z)
