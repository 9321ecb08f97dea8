"""A body becomes its pieces (thesis 2.4.2 [@schroeder2011]): cuts of its shape by a pattern that is aligned with the
blow, with the density of the parent, at their centres of mass, and with velocities

    v_f = v_p + omega_p x r_f,   omega_f = omega_p

that keep momentum and angular momentum. Pieces that are smaller than asked become balls, discs in 2D, of the same
volume, mass, momenta and inertia: debris, which costs least in contact and does not break again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Shape, Sphere, Static
from undertow.geometry.fracture import Fragment, FragmentMesh, align_pattern, break_shape, conserve
from undertow.geometry.fracture_contact import Carved
from undertow.geometry.fracture_patterns import Pattern, from_folder, make_pattern
from undertow.grid import Array
from undertow.part import Vector, vector
from undertow.rigid.brittle import Brittle
from undertow.rigid.inheritance import ON_SURFACES, HeldLoad, NodesOn, share_loads, share_nodes
from undertow.rigid.table import BodyDescription, CarriedNodes

SURFACE_STEPS = 4
"""Newton steps of a point onto a surface."""


class Blow(NamedTuple):
    """What breaks a body: its name; by whom; sudden impulse [N s; 2D N s/m] and mean force [N; 2D N/m] of it; point
    (3,) [m] and direction (3,) in the frame of the body's shape."""

    name: str
    by: str
    impulse: float
    force: float
    point: Array
    direction: Array


class BrokenBody(NamedTuple):
    """A body that broke: its name; by whom; impulse [N s; 2D N s/m], force [N; 2D N/m], point (3,) [m] in the world;
    how many pieces, debris among them; debris_mass [kg; 2D kg/m]; let_go: nodes of soft bodies that it carried and no
    piece holds; notes: what a user should know."""

    name: str
    by: str
    impulse: float
    force: float
    point: Array
    pieces: int
    debris: int
    debris_mass: float
    let_go: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = ", ".join(f"{x:.4g}" for x in self.point)
        debris = f", {self.debris} of them debris of {self.debris_mass:.4g} kg" if self.debris else ""
        more = f"; {self.let_go} nodes that were attached to it are let go" if self.let_go else ""
        more += "".join(f"; {note}" for note in self.notes)
        return (
            f"objects.{self.name} broke into {self.pieces} pieces{debris} at ({place}) m, hit by {self.by} with an "
            f"impulse of {self.impulse:.4g} N s, a force of {self.force:.4g} N{more}"
        )


class Moving(NamedTuple):
    """A body in motion: position (3,) [m] and rotation (3, 3) of its shape, velocity (3,) of its own centre of mass
    [m/s] and angular_velocity (3,) [rad/s]; its own mass [kg; 2D kg/m], centre (3,) [m] and inertia about it (3, 3) [kg
    m2; 2D kg m], both in the frame of the shape."""

    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    mass: float
    centre: Array
    inertia: Array
    softs: tuple[NodesOn, ...] = ()


def root_of(name: str) -> str:
    """The body of the scene that a piece came of."""
    return name.partition("/")[0]


def pattern_of(rule: Brittle, dimensions: int) -> Pattern:
    """The pattern of a rule, made once and kept."""
    if rule.pieces == 0:
        return from_folder(rule.pattern)
    return make_pattern(rule.pattern, rule.seed, rule.pieces, dimensions, **dict(rule.options))


def check_brittle(name: str, shape: Shape, rule: Brittle, dimensions: int) -> None:
    """Refuse a rule that could not break the shape of a body when it comes to it."""
    if shape.is_sheet:
        raise UserError(f"objects.{name}.fracture: a shell has no inside to be broken; use a solid shape, or remove it")
    try:
        pattern_of(rule, dimensions)
    except UserError as error:
        raise UserError(f"objects.{name}.fracture: {error}") from None


def cut_body(shape: Shape, rule: Brittle, blow: Blow, dimensions: int, most: int) -> tuple[list[Fragment], list[str]]:
    """Fragments of a shape, at most ``most``, by a pattern with fewer regions where there would be more, and what to
    say of it; none where even two regions make more."""
    regions, notes = rule.pieces, list[str]()
    if most < 2:
        return [], notes
    while True:
        pattern = pattern_of(replace(rule, pieces=regions), dimensions)
        placed = align_pattern(pattern, shape.bounds(), blow.point, blow.direction)
        found = break_shape(shape, placed, rule.method, rule.smallest, dimensions)
        if len(found) <= most:
            return found, notes
        notes = [f"{len(found)} pieces would be more than most_fragments = {rule.most}: it is cut less finely"]
        if regions <= 2:
            return [], notes
        regions = max(2, min(regions - 1, regions * most // len(found)))


def make_pieces(
    parent: BodyDescription, moving: Moving, blow: Blow, dimensions: int, most: int, taken: Collection[str] = ()
) -> tuple[list[BodyDescription], BrokenBody]:
    """The pieces of a body in motion as descriptions, none where the pattern does not part it; what happened.

    most: pieces at most. taken: names that pieces may not have.
    """
    assert parent.brittle is not None
    blow = blow._replace(point=onto_surface(parent.shape, blow.point))
    fragments, notes = cut_body(parent.shape, parent.brittle, blow, dimensions, most)
    if parent.source is not None and not isinstance(parent.source, PieceSource):
        _forget(fragments)
    R, at = moving.rotation, moving.position
    done = BrokenBody(blow.name, blow.by, blow.impulse, blow.force, at + R @ blow.point, 0, 0, 0.0, 0, tuple(notes))
    if len(fragments) < 2:
        return [], done
    shared = share_nodes(moving.softs, parent.shape, moving.centre, fragments)
    shares = conserve(
        moving.mass, moving.centre, moving.mass * (R.T @ moving.velocity) + shared.momentum,
        moving.inertia @ (R.T @ moving.angular_velocity) + shared.angular_momentum, fragments,
        shared.points, shared.masses,
    )  # fmt: skip
    numbers, end = _numbers_of_loads(parent), tuple(notes)
    if parent.loads and not numbers:
        end = (*end, "the loads on it end with it, as it was made during the run")
    loads = list(zip(numbers, parent.loads, strict=False))
    start = parent.motion.pose(0.0)
    held = share_loads(loads, parent.shape, start, moving.centre, fragments, (at, R), dimensions)
    pieces, number = list[BodyDescription](), 0
    for n, (fragment, mass, v, omega) in enumerate(
        zip(fragments, shares.mass_b, shares.velocity_b, shares.angular_velocity_b, strict=True)
    ):
        number += 1
        while f"{parent.name}/{number}" in taken:
            number += 1
        one = replace(
            parent, name=f"{parent.name}/{number}", mass=float(mass), density=None, inertia=None,
            motion=Static(at + R @ fragment.offset, R @ fragment.rotation), static=True, loads=(),
            velocity=vector(R @ v), angular_velocity=vector(R @ omega), carried=shared.carried[n],
            cut_from=_cut_from(parent, fragment), source={},
        )  # fmt: skip
        one = (_as_debris if fragment.is_debris else _as_piece)(one, fragment, dimensions)
        pieces.append(_with_source(one, held.get(n, ())))
    small = [mass for fragment, mass in zip(fragments, shares.mass_b, strict=True) if fragment.is_debris]
    return pieces, done._replace(
        pieces=len(pieces), debris=len(small), debris_mass=float(sum(small)), let_go=shared.let_go, notes=end
    )


def _cut_from(parent: BodyDescription, fragment: Fragment) -> tuple[Vector, Vector, Vector, Vector] | None:
    """Where a fragment is in the body of the scene that its parent was, as of a description; none of a body that was
    made during the run."""
    if parent.source is None:
        offset, axes = fragment.offset, fragment.rotation.T
    elif parent.cut_from is not None:
        frame = np.array(parent.cut_from[1:])
        offset = np.array(parent.cut_from[0]) + fragment.offset @ frame
        axes = fragment.rotation.T @ frame
    else:
        return None
    return (vector(offset), *(vector(axis) for axis in axes))  # type: ignore[return-value]


def _numbers_of_loads(parent: BodyDescription) -> Sequence[int]:
    """Of the loads of a body among those of the body of the scene that it was; none of one made during the run."""
    if parent.source is None:
        return range(len(parent.loads))
    return parent.source.loads if isinstance(parent.source, PieceSource) else ()


def _with_source(one: BodyDescription, held: Sequence[HeldLoad]) -> BodyDescription:
    one = replace(one, loads=tuple(load for _, load in held))
    return replace(one, source=PieceSource(one, tuple(number for number, _ in held)))


def _forget(fragments: Sequence[Fragment]) -> None:
    """Fragments of a body that was made during the run, which a checkpoint does not have: they know nothing of it."""
    for fragment in fragments:
        fragment.shape.__dict__["carved"] = None


def _as_piece(one: BodyDescription, fragment: Fragment, dimensions: int) -> BodyDescription:
    """A fragment with its mesh, of a level set the contour; mass properties of that are those of the level set."""
    shape = fragment.shape.as_mesh()
    assert shape is not None
    if shape is fragment.shape:
        return replace(one, shape=shape, key=("fragment", shape.identity()))
    inertia = _inertia(one, fragment, dimensions)
    return replace(
        one, shape=shape, key=("fragment", shape.identity(), inertia), inertia=inertia, centre_of_mass=(0.0, 0.0, 0.0)
    )


def _as_debris(one: BodyDescription, fragment: Fragment, dimensions: int) -> BodyDescription:
    """A ball in the place of a fragment, or a disc."""
    d = dimensions
    radius = (0.75 * fragment.volume / np.pi) ** (1 / 3) if d == 3 else (fragment.volume / np.pi) ** 0.5
    shape, inertia = Sphere(float(radius)), _inertia(one, fragment, dimensions)
    return replace(one, shape=shape, key=("debris", shape, inertia), inertia=inertia, brittle=None)


def _inertia(one: BodyDescription, fragment: Fragment, dimensions: int) -> tuple[float, ...] | float:
    """Principal moments of a fragment of the mass of a body, as descriptions have them."""
    assert one.mass is not None
    own = fragment.inertia * (one.mass / fragment.volume)
    return tuple(own.tolist()) if dimensions == 3 else float(own[2])


def onto_surface(shape: Shape, point: Array) -> Array:
    """The point (3,) [m] of the surface of a shape next to a point: of a mesh itself, else by Newton's method on the
    distance."""
    mesh = shape.as_mesh()
    if mesh is not None:
        return np.asarray(mesh.nearest(point[None])[0])
    lower, upper = shape.bounds()
    h = 1e-4 * float(np.max(upper - lower))
    steps = np.concatenate([np.zeros((1, 3)), h * np.eye(3), -h * np.eye(3)])
    for _ in range(SURFACE_STEPS):
        d = shape.distance(np.ascontiguousarray(point + steps))
        slope = (d[1:4] - d[4:]) / (2.0 * h)
        size = float(slope @ slope)
        if size < 0.25:
            break
        point = point - d[0] * slope / size
    return np.asarray(point)


# checkpoints ----------------------------------------------------------------------------------------------------------

APART = ("key", "shape", "motion", "source", "loads", "brittle")
"""Fields of a description that are not plain."""

TABLES = ("fragment", "shape", "brittle", "loads")
"""What describes a piece."""


class PieceSource(Mapping[str, Any]):
    """The plain tables from which a piece can be described again, made when they are first asked for; loads: numbers of
    those that it has among those of the body of the scene."""

    def __init__(self, piece: BodyDescription, loads: tuple[int, ...] = ()) -> None:
        self._piece, self.loads = piece, loads
        self._tables: dict[str, Any] = {}

    def _found(self) -> dict[str, Any]:
        if not self._tables:
            places = [_place_of(load).tolist() for load in self._piece.loads]
            self._tables = {**_source_of(self._piece), "loads": [list(self.loads), places]}
        return self._tables

    def __contains__(self, key: object) -> bool:
        return key in TABLES

    def __getitem__(self, key: str) -> Any:
        return self._found()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


def _source_of(one: BodyDescription) -> dict[str, Any]:
    position, rotation = one.motion.pose(0.0)
    names = ("vertices", "triangles", "interior_t") if one.shape.interior_t is not None else ("radius",)
    shape = {name: _plain(np.asarray(getattr(one.shape, name)).tolist()) for name in names}
    if len(getattr(one.shape, "particles", ())):
        shape["particles"] = one.shape.particles.tolist()  # type: ignore[attr-defined]
    carved = getattr(one.shape, "carved", None)
    if carved is not None:
        shape["carved"] = {name: getattr(carved, name).tolist() for name in ("offset", "rotation", "planes")}
    rule = None if one.brittle is None else {f.name: getattr(one.brittle, f.name) for f in fields(one.brittle)}
    values = {f.name: getattr(one, f.name) for f in fields(one) if f.name not in APART}
    pose = {"position": position.tolist(), "rotation": rotation.tolist()}
    return {"fragment": _plain({**values, **pose}), "shape": shape, "brittle": _plain(rule)}


def read_source(source: Mapping[str, Any], roots: Mapping[str, BodyDescription]) -> BodyDescription:
    """The piece that a ``PieceSource`` described; roots: the bodies of the scene, by name."""
    values = {name: _frozen(value) for name, value in source["fragment"].items()}
    pose = Static(np.array(values.pop("position")), np.array(values.pop("rotation")))
    values["carried"] = tuple(CarriedNodes(*nodes) for nodes in values.get("carried", ()))
    given, rule = source["shape"], source["brittle"]
    values["brittle"] = None if rule is None else Brittle(**{name: _frozen(value) for name, value in rule.items()})
    key: tuple[Any, ...]
    if "radius" in given:
        shape: Shape = Sphere(given["radius"])
        key = ("debris", shape, values["inertia"])
    else:
        carved = None
        if "carved" in given:
            root = roots[values["name"].partition("/")[0]].shape
            rows = (np.array(given["carved"][name], dtype=float) for name in ("offset", "rotation", "planes"))
            carved = Carved(root, *rows)
        shape = FragmentMesh(
            given["vertices"], given["triangles"], given["interior_t"], carved=carved, particles=given.get("particles")
        )
        inertia = values["inertia"]
        key = ("fragment", shape.identity()) if inertia is None else ("fragment", shape.identity(), inertia)
    one = BodyDescription(key=key, shape=shape, motion=pose, **values)
    numbers, places = source["loads"]
    given = roots[one.name.partition("/")[0]].loads if numbers else ()
    return _with_source(
        one, [HeldLoad(n, _placed_at(given[n], np.array(place))) for n, place in zip(numbers, places, strict=True)]
    )


def _place_of(load: Any) -> Array:
    """Where a load of a piece acts: a point (3,), or elements of its surface (m, k, 3) [m]."""
    return np.asarray(load.at if load.elements is None else load.elements)


def _placed_at(load: Any, place: Array) -> Any:
    """A load of the scene at what ``_place_of`` gave."""
    if load.kind in ON_SURFACES:
        return replace(load, elements=place, region=None)
    return replace(load, at=place)


def _plain(value: Any) -> Any:
    """Tuples as lists, infinity as text: what JSON has."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return "inf" if value == float("inf") else value


def _frozen(value: Any) -> Any:
    """What ``_plain`` was given."""
    if isinstance(value, list):
        return tuple(_frozen(one) for one in value)
    return float("inf") if value == "inf" else value
