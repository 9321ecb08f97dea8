"""The table of bodies: what each body of a simulation is, where it comes from, and how often that has changed.

A body has an identity, a number that no other body of the run ever has, and the table a revision, raised by every
change. What is made out of the table (solids on a grid, walls, coupled solves, boundary particles) is made anew when
the revision has changed, between two steps. States of bodies are not here: they are rows of arrays, which follow their
bodies by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Motion, Shape
from undertow.grid import Array
from undertow.part import Vector
from undertow.rigid.brittle import Brittle
from undertow.rigid.joint import Joint
from undertow.rigid.mass import MassProperties, mass_properties
from undertow.rigid.shapes import CollisionShapes

Origin = Literal["scene", "run"]


class CarriedNodes(NamedTuple):
    """Nodes of a soft body, by its name and their numbers in it, that move with a body: points in the frame of its
    shape [m]; inside: nodes of it that do not touch the body, as they lay in it when it appeared."""

    soft: str
    nodes: tuple[int, ...]
    points: tuple[Vector, ...]
    inside: tuple[int, ...]


@dataclass(frozen=True)
class BodyDescription:
    """A rigid body as it is put in.

    key: bodies with equal ones share the shape, its mass properties and its collision geometry. motion: pose over time,
    of a dynamic body at the start; static: it never moves. mass [kg; 2D kg/m] or density [kg/m3], and inertia and
    centre_of_mass (in the frame of the shape) in the place of those of uniform density: of dynamic bodies. velocity
    [m/s] and angular_velocity [rad/s] are those of a dynamic body at the start. collides_with: groups, None for all.
    loads: forces on it, as ``solids.loads`` has them. slip: viscous fluid slides along it. contact_angle [degrees]: at
    which a surface of water meets it; None: as it was. detail: how finely its surface is drawn; extent [m]: how far,
    without end. brittle: how it breaks. carried: nodes of soft bodies that a piece of a broken body has taken over;
    those of the scene's bodies are in the scene. source: plain tables from which the body can be described again, for
    checkpoints; None: the scene has it. Nothing here evolves: what drives a motion leads a copy of it.
    """

    name: str
    key: Hashable
    shape: Shape
    motion: Motion
    static: bool = True
    dynamic: bool = False
    mass: float | None = None
    density: float | None = None
    inertia: object = None
    centre_of_mass: Vector | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    friction: float = 0.0
    restitution: float = 0.0
    rolling_friction: float = 0.0
    torsional_friction: float = 0.0
    collision_group: str = "default"
    collides_with: tuple[str, ...] | None = None
    loads: Sequence[Any] = ()
    slip: bool = False
    contact_angle: float | None = None
    color: Vector = (0.8, 0.8, 0.8)
    visible: bool = True
    detail: int = 48
    extent: float = 1.0
    brittle: Brittle | None = None
    carried: tuple[CarriedNodes, ...] = ()
    cut_from: tuple[Vector, Vector, Vector, Vector] | None = None
    source: Mapping[str, Any] | None = None

    @property
    def is_piece(self) -> bool:
        """Whether it came into being when another body broke, in whose place it is."""
        return self.source is not None and "fragment" in self.source


@dataclass(frozen=True)
class BodyForm:
    """What bodies of equal keys share: index of the collision shape, mass properties at density 1 (or with the inertia
    given) of dynamic ones, and the surface for drawing."""

    index: int
    found: MassProperties | None
    surface: tuple[Array, Any]


@dataclass(frozen=True)
class BodyEntry:
    """A body of the table. origin: ``scene``, or ``run`` for a body made during the run."""

    identity: int
    origin: Origin
    description: BodyDescription

    @property
    def name(self) -> str:
        """Of the body."""
        return self.description.name


@dataclass(frozen=True)
class MadeJoint:
    """A joint made during the run, in the frames of its bodies. source: plain tables from which it was described."""

    joint: Joint
    source: Mapping[str, Any]

    def numbers(self) -> dict[str, Any]:
        """As plain numbers and tables."""
        plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in
                 asdict(self.joint).items()}  # fmt: skip
        return {"joint": plain | {"limits": [list(pair) for pair in self.joint.limits]}, "source": dict(self.source)}

    @classmethod
    def restored(cls, numbers: Mapping[str, Any]) -> MadeJoint:
        """What ``numbers`` gave."""
        given = dict(numbers["joint"])
        given["position"], given["turn"] = np.array(given["position"]), np.array(given["turn"])
        given["limits"] = [(float(lower), float(upper)) for lower, upper in given["limits"]]
        return cls(Joint(**given), numbers["source"])


class BodyTable:
    """The bodies of a simulation by name: those of the scene in its order, then those made during the run.

    first: all that the scene has, those too that have been removed: its joints and attachments are made where they
    start. joints: those made during the run. torn: pairs of elements of soft bodies that have parted, by name. walls:
    identities of the sides of the domain that stop bodies, by name.
    appeared_mass [kg; 2D kg/m] and appeared_momentum (3,) [kg m/s; 2D kg/s]: of the dynamic bodies that have appeared,
    less those that have vanished.
    """

    def __init__(self, dimensions: int, first: Sequence[BodyDescription] = ()) -> None:
        self.dimensions = dimensions
        self.revision = 0
        self.shapes = CollisionShapes(dimensions)
        self._forms: dict[Hashable, BodyForm] = {}
        self._next = 0
        self.first = tuple(BodyEntry(self._new_identity(), "scene", one) for one in first)
        self.entries: dict[str, BodyEntry] = {entry.name: entry for entry in self.first}
        self.joints: tuple[MadeJoint, ...] = ()
        self.torn: dict[str, tuple[tuple[int, int], ...]] = {}
        self.walls: dict[str, int] = {}
        self.appeared_mass = 0.0
        self.appeared_momentum: Array = np.zeros(3)

    def _new_identity(self) -> int:
        self._next += 1
        return self._next - 1

    # what is there ----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BodyEntry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __getitem__(self, name: str) -> BodyEntry:
        if name not in self.entries:
            raise UserError(f"body {name!r}: no such body; the bodies are {', '.join(self.entries) or '(none)'}")
        return self.entries[name]

    @property
    def gone(self) -> list[BodyEntry]:
        """Bodies of the scene that have been removed."""
        return [entry for entry in self.first if self.entries.get(entry.name) is not entry]

    @property
    def made(self) -> list[BodyEntry]:
        """Bodies made during the run."""
        return [entry for entry in self if entry.origin == "run"]

    def form(self, entry: BodyEntry) -> BodyForm:
        """What a body shares with others of its key; made when it is first asked for."""
        body = entry.description
        if body.key not in self._forms:
            found = None
            if body.dynamic:
                try:
                    centre = None if body.centre_of_mass is None else np.array(body.centre_of_mass)
                    found = mass_properties(body.shape, 1.0, None, self.dimensions, body.inertia, centre, "mass")
                except UserError as error:
                    raise UserError(f"objects.{body.name}: {error}") from None
            frame = () if found is None else (found.centre, found.rotation)
            index = self.shapes.add(body.shape, *frame)
            surface = body.shape.drawn_to(body.extent).surface(body.detail)
            self._forms[body.key] = BodyForm(index, found, surface)
        return self._forms[body.key]

    @property
    def known_shapes(self) -> dict[Hashable, Shape]:
        """Shapes of the bodies by their keys."""
        return {entry.description.key: entry.description.shape for entry in (*self.first, *self)}

    # changes ----------------------------------------------------------------------------------------------------------

    def copy(self) -> BodyTable:
        """A table to be changed in the place of this one; shapes are shared."""
        other = BodyTable.__new__(BodyTable)
        other.__dict__.update(self.__dict__)
        other.entries, other.walls, other.torn = dict(self.entries), dict(self.walls), dict(self.torn)
        other.appeared_momentum = self.appeared_momentum.copy()
        return other

    def add(self, body: BodyDescription) -> BodyEntry:
        """A body more, made during the run."""
        if body.name in self.entries:
            raise UserError(f"body {body.name!r}: exists already; choose another name, or remove it first")
        entry = BodyEntry(self._new_identity(), "run", body)
        self.entries[body.name] = entry
        self.revision += 1
        return entry

    def remove(self, name: str) -> BodyEntry:
        """A body less; its identity is not used again, its name may be."""
        entry = self[name]
        del self.entries[name]
        self.revision += 1
        return entry

    def withdraw(self, entry: BodyEntry) -> None:
        """Take back the body that was added last, as if it had never been: its identity is free again."""
        del self.entries[entry.name]
        self.revision -= 1
        self._next -= 1

    def join(self, joint: MadeJoint) -> None:
        """A joint more."""
        self.joints = (*self.joints, joint)
        self.revision += 1

    def rejoin(self, joint: MadeJoint) -> None:
        """A joint in the place of that of the same name."""
        self.joints = (*(one for one in self.joints if one.joint.name != joint.joint.name), joint)
        self.revision += 1

    def tear(self, name: str, pairs: Sequence[tuple[int, int]]) -> None:
        """Elements of a soft body part that held together."""
        self.torn[name] = tuple(sorted({*self.torn.get(name, ()), *pairs}))
        self.revision += 1

    @property
    def is_brittle(self) -> bool:
        """Whether any body can break, or could at the start."""
        return any(entry.description.brittle is not None for entry in (*self.first, *self))

    def wall(self, name: str) -> int:
        """Identity of a side of the domain, which it keeps."""
        if name not in self.walls:
            self.walls[name] = self._new_identity()
        return self.walls[name]

    def count(self, mass: float, momentum: Array) -> None:
        """Note what a dynamic body brought [kg, kg m/s], or took away where these are those of one that went, less."""
        self.appeared_mass += mass
        self.appeared_momentum += momentum

    # checkpoints ------------------------------------------------------------------------------------------------------

    def numbers(self) -> dict[str, Any]:
        """What differs from the bodies of the scene, as plain numbers and tables."""
        return {
            "revision": self.revision,
            "next": self._next,
            "walls": dict(self.walls),
            "gone": [entry.identity for entry in self.gone],
            "made": [
                {"name": entry.name, "identity": entry.identity, "source": dict(entry.description.source or {})}
                for entry in self.made
            ],
            "joints": [joint.numbers() for joint in self.joints],
            "torn": {name: [list(pair) for pair in pairs] for name, pairs in self.torn.items()},
            "appeared_mass": self.appeared_mass,
            "appeared_momentum": [float(p) for p in self.appeared_momentum],
        }

    def restore(self, numbers: Mapping[str, Any], describe: Callable[[str, Any], BodyDescription]) -> None:
        """Take over what ``numbers`` gave; describe: makes a description again out of a name and a source."""
        gone = set(numbers["gone"])
        self.entries = {entry.name: entry for entry in self.first if entry.identity not in gone}
        for row in numbers["made"]:
            body = describe(row["name"], row["source"])
            self.entries[body.name] = BodyEntry(int(row["identity"]), "run", body)
        self.joints = tuple(MadeJoint.restored(row) for row in numbers.get("joints", ()))
        torn = numbers.get("torn", {})
        self.torn = {name: tuple((int(a), int(b)) for a, b in pairs) for name, pairs in torn.items()}
        self.revision, self._next = int(numbers["revision"]), int(numbers["next"])
        self.walls = {name: int(identity) for name, identity in numbers["walls"].items()}
        self.appeared_mass = float(numbers["appeared_mass"])
        self.appeared_momentum = np.array(numbers["appeared_momentum"], dtype=float)


def carry_rows(values: Array, identities: Any, wanted: Any) -> Array:
    """Rows of values (n, ...) of bodies with identities (n,) in the order of the bodies ``wanted`` (m,); zero for those
    that have none."""
    where = {int(identity): row for row, identity in enumerate(identities)}
    found = np.zeros((len(wanted), *np.shape(values)[1:]))
    for row, identity in enumerate(wanted):
        if int(identity) in where:
            found[row] = values[where[int(identity)]]
    return found
