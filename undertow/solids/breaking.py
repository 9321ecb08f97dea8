"""Bodies that break, as a part of a simulation: which of them a step would break, and what has broken so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from undertow.grid import Array
from undertow.part import MASS, Part, Quantity, Vector
from undertow.rigid.bodies import DYNAMIC, rotation_matrix_of
from undertow.rigid.brittle import FLUID, PARTING, LoadHistory, Loads, Meeting
from undertow.rigid.bursting import Pressure, SurfaceSamples, find_parting, sample_surface
from undertow.rigid.fracture import Blow, BrokenBody, Moving
from undertow.rigid.table import BodyEntry
from undertow.solids.contact_record import ContactSet, Solved
from undertow.solids.rigid_part import RigidPart

BEYOND = 1 << 40
"""Identities of what is no rigid body begin here: soft bodies, by a number made from their name."""


class FracturePart(Part):
    """What breaks the brittle bodies of ``rigid``: loads of contacts and of the fluid against their strength.

    broken: bodies that have broken so far; pieces: that they broke into; debris_mass [kg; 2D kg/m]: of those that are
    debris.
    """

    name = "fracture"

    def __init__(self, rigid: RigidPart) -> None:
        self.rigid, self.history = rigid, LoadHistory()
        self.broken, self.pieces, self.debris_mass = 0, 0, 0.0
        self._begun = _Begun.of(rigid, False)
        self._whole: dict[str, bool] = {}

    def room(self, name: str, there: int) -> int:
        """How many pieces a body may have; there: bodies that came of the same body of the scene."""
        rule = self.rigid.table[name].description.brittle
        assert rule is not None
        return rule.most + 1 - there

    def whole(self) -> list[str]:
        """What is to be said of bodies that did not break where they should have; once per run."""
        new = [root for root, told in self._whole.items() if not told]
        self._whole.update(dict.fromkeys(new, True))
        why = "the pattern leaves it in one piece, or in more than most_fragments"
        return [f"objects.{root} was hit hard enough to break and stays whole: {why}" for root in new]

    def brittle(self) -> list[BodyEntry]:
        """The bodies that can break."""
        return [entry for entry in self.rigid.table if entry.description.brittle is not None]

    def begin_step(self) -> None:
        """Before anything moves."""
        self._begun = _Begun.of(self.rigid, len(self.history.rows) == 0)

    def judge(
        self, others: ContactSet, until: float, dt: float, spared: Collection[int] = (),
        pressure: Pressure | None = None, spacing: float = 0.0,
    ) -> list[Blow]:  # fmt: skip
        """What the step of dt [s] that has ended at a time [s] breaks, a body each; others: contacts that are not those
        of rigid bodies with each other; spared: identities that it does not break; pressure of the fluid on surfaces,
        where it is known, which are looked at every ``spacing`` [m]."""
        able = self.brittle()
        parting = [] if pressure is None else self._parting_loads(able, pressure, spacing, dt)
        loads = _join([self._contact_loads(able, others, dt), self._fluid_loads(able, dt), _loads(parting)])
        judged = self.history.judge(loads, _strengths(able, loads.own), until, dt)
        names = {e.identity: e.name for e in able}
        blows: dict[int, Blow] = {}
        # a blow goes through a body to what carries it: it breaks where it was met
        order = np.lexsort((-judged.share, ~judged.met))
        for m in order[judged.share[order] > 1.0]:
            own = int(loads.own[m])
            if own in blows or own in spared:
                continue
            position, R = self.rigid.bodies.shape_pose(self.rigid.bodies.index(names[own]))
            point, direction = R.T @ (loads.point[m] - position), R.T @ loads.impulse[m]
            force, impulse = float(judged.force[m]), float(judged.impulse[m])
            blows[own] = Blow(names[own], loads.by[m], impulse, force, point, direction)
        return [blows[own] for own in sorted(blows)]

    def _contact_loads(self, able: Sequence[BodyEntry], others: ContactSet, dt: float) -> Loads:
        """Impulse of every other solid on bodies, the sum of its contacts, at their mean point."""
        bodies, record = self.rigid.bodies, self.rigid.solids.record
        brittle = np.isin(bodies.identity_b, [entry.identity for entry in able])
        names = list(bodies.names)
        every = [one for one in (record.solved(), _numbered(others, names)) if one is not None]
        touched = _both_ways(Solved(*(np.concatenate(parts) for parts in zip(*every, strict=True))), brittle)
        met, bounced = (_both_ways(record.solved(solves), brittle) for solves in (MET, BOUNCED))
        keys, place = np.unique(touched.key, return_inverse=True)
        size = np.linalg.norm(touched.impulse, axis=1)
        weight, total = np.bincount(place, size, len(keys)), _sum_rows(place, touched.impulse, len(keys))
        point = _sum_rows(place, size[:, None] * touched.point, len(keys))
        loaded = weight > 0.0
        keys, total, point = keys[loaded], total[loaded], point[loaded] / weight[loaded, None]
        own, other = keys >> 32, keys & 0xFFFFFFFF
        meeting = self._meeting(own, other, total, point, dt)
        meeting = meeting._replace(gap=met.least_gap(keys), bounce=bounced.size(keys))
        beyond = [BEYOND + crc32(name.encode()) for name in names[bodies.count :]]
        identity = np.concatenate([bodies.identity_b, np.array(beyond, dtype=np.int64)])
        return Loads(
            identity[own], identity[other], total, point, meeting.lasting(np.linalg.norm(total, axis=1), dt),
            tuple(names[n] for n in other.tolist()),
        )  # fmt: skip

    def _meeting(self, own: Any, other: Any, impulse: Array, point: Array, dt: float) -> Meeting:
        """How bodies and others (m,), by their numbers, came together, along impulses on them at points of the world;
        of what is no rigid body nothing."""
        begun, rigid = self._begun, other < self.rigid.bodies.count
        a, b = own, np.where(rigid, other, own)
        along = -impulse / np.maximum(np.linalg.norm(impulse, axis=1), 1e-300)[:, None]
        v, w = (begun.v[n] + np.cross(begun.omega[n], point - begun.x[n]) for n in (a, b))
        speed = np.einsum("mi,mi->m", along, v - w)
        added = dt * np.einsum("mi,mi->m", along, begun.acceleration[a] - begun.acceleration[b])
        mass = 1.0 / (begun.inv_mass[a] + begun.inv_mass[b])
        new = begun.first | ~self.history.knows(self.rigid.bodies.identity_b[a])
        nothing = np.zeros(len(own))
        return Meeting(np.where(rigid, speed, 0.0), np.where(rigid, added, 0.0), nothing, mass, nothing, rigid & new)

    def _fluid_loads(self, able: Sequence[BodyEntry], dt: float) -> Loads:
        """Impulse of the fluid on bodies, on the side of them from which it comes along its line of action."""
        forces, bodies, found = self.rigid.force_table, self.rigid.bodies, list[_Load]()
        for entry in able if self.rigid.in_fluid else ():
            b = bodies.index(entry.name)
            force = forces.pressure[b] + forces.viscous[b] + forces.control[b]
            if force.any():
                arm = np.cross(force, forces.torque[b]) / (force @ force)
                size = float(np.linalg.norm(force))
                point = bodies.x_b[b] + arm - entry.description.shape.turning_reach() / size * force
                found.append((entry.identity, FLUID, dt * force, point, dt * size, "the fluid"))
        return _loads(found)

    def _parting_loads(
        self, able: Sequence[BodyEntry], pressure: Pressure, spacing: float, dt: float
    ) -> list[_Load]:
        """Impulse of the fluid that pulls bodies apart, along each of their axes."""
        bodies, dimensions, found = self.rigid.bodies, self.rigid.dimensions, list[_Load]()
        chosen, there = list[tuple[BodyEntry, int]](), list[SurfaceSamples]()
        for entry in able:
            if entry.description.brittle is not None and np.isfinite(entry.description.brittle.force):
                own, b = sample_surface(entry.description.shape, dimensions, spacing), bodies.index(entry.name)
                position, R = bodies.shape_pose(b)
                chosen.append((entry, b))
                there.append(SurfaceSamples(position + own.points @ R.T, own.areas @ R.T))
        if not chosen:
            return found
        areas = np.concatenate([one.areas for one in there])
        normals = areas / np.maximum(np.linalg.norm(areas, axis=1), 1e-300)[:, None]
        p, start = pressure(np.concatenate([one.points for one in there]), normals), 0
        for (entry, b), samples in zip(chosen, there, strict=True):
            own_p, start = p[start : start + len(samples.points)], start + len(samples.points)
            parting = find_parting(samples, own_p, bodies.x_b[b], rotation_matrix_of(bodies.q_b[b]), dimensions)
            for axis, (force, point) in enumerate(zip(parting.force, parting.point, strict=True)):
                if size := float(np.linalg.norm(force)):
                    found.append((entry.identity, PARTING - axis, dt * force, point, dt * size, "the fluid"))
        return found

    def blow(self, name: str, at: Vector, along: Vector) -> Blow:
        """A blow of the user on a body at a point of the world [m], in a direction."""
        position, R = self.rigid.bodies.shape_pose(self.rigid.bodies.index(name))
        return Blow(name, "the user", 0.0, 0.0, R.T @ (np.array(at) - position), R.T @ np.array(along))

    def moving(self, name: str) -> Moving:
        """A body as it moves now, without what soft bodies have attached to it."""
        b, entry = self.rigid.bodies.index(name), self.rigid.table[name]
        found, body = self.rigid.table.form(entry).found, entry.description
        assert found is not None
        position, R = self.rigid.bodies.shape_pose(b)
        omega = self.rigid.bodies.omega_b[b].copy()
        velocity = self.rigid.bodies.v_b[b] + np.cross(omega, position + R @ found.centre - self.rigid.bodies.x_b[b])
        mass = body.mass if body.mass is not None else (body.density or 1.0) * found.mass
        frame = rotation_matrix_of(found.rotation)
        inertia = frame @ np.diag(found.inertia) @ frame.T
        own = inertia if body.inertia is not None else inertia * (mass / found.mass)
        return Moving(position, R, velocity, omega, mass, found.centre, own)

    def take(self, broken: Iterable[BrokenBody], whole: Iterable[str]) -> None:
        """Count what has broken, and note the names of what should have."""
        for name in whole:
            self._whole.setdefault(name.partition("/")[0], False)
        for one in broken:
            self.broken += 1
            self.pieces += one.pieces
            self.debris_mass += one.debris_mass

    def end_step(self) -> None:
        """What was judged last is what has happened."""
        times = [e.description.brittle.time for e in self.rigid.table if e.description.brittle is not None]
        self.history.keep(max(times, default=0.0))

    # a part of a simulation -------------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        yield Quantity("bodies_broken", self.broken)
        yield Quantity("pieces", self.pieces)
        yield Quantity("debris_mass", self.debris_mass, MASS)

    def arrays(self) -> dict[str, Array]:
        return {"fracture_loads": self.history.rows}

    def numbers(self) -> dict[str, Any]:
        return {"broken": self.broken, "pieces": self.pieces, "debris_mass": self.debris_mass}

    def adopt(self, before: Part | None, time: float) -> None:
        super().adopt(before, time)
        if isinstance(before, FracturePart):
            self._whole = dict(before._whole)

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.history.rows = np.array(arrays["fracture_loads"])
        self.broken, self.pieces = int(numbers["broken"]), int(numbers["pieces"])
        self.debris_mass = float(numbers["debris_mass"])


class _Begun(NamedTuple):
    """The bodies at the beginning of a step: x, v, omega (n, 3); acceleration (n, 3) [m/s2] of the last step by all
    forces on them, 0 unless dynamic; inv_mass (n,). first: nothing was recorded before."""

    x: Array
    v: Array
    omega: Array
    acceleration: Array
    inv_mass: Array
    first: bool

    @classmethod
    def of(cls, rigid: RigidPart, first: bool) -> _Begun:
        """As they are now."""
        bodies, forces = rigid.bodies, rigid.force_table
        total = forces.pressure + forces.viscous + forces.control + forces.contact + forces.joint
        dynamic = (bodies.kind_b == DYNAMIC)[:, None]
        pull = rigid.solids.gravity + (total + rigid.loads.mean_b[:, :3]) * bodies.inv_mass_b[:, None]
        return cls(
            bodies.x_b.copy(), bodies.v_b.copy(), bodies.omega_b.copy(), np.where(dynamic, pull, 0.0),
            bodies.inv_mass_b.copy(), first,
        )  # fmt: skip


MET, BOUNCED = ("collisions", "positions"), ("collisions",)
"""Solves of a step that find what meets in it, and what bounces."""


class _Touched(NamedTuple):
    """Contacts (n,) as brittle bodies have them: key, the number of the body times 2^32 plus that of the other;
    impulse, point (n, 3), gap (n,)."""

    key: Any
    impulse: Array
    point: Array
    gap: Array

    def least_gap(self, keys: Any) -> Array:
        """Of pairs (m,) [m]; 0 without contacts."""
        found = np.full(len(keys) + 1, np.inf)
        np.minimum.at(found, _places(self.key, keys), self.gap)
        return np.where(np.isfinite(found), found, 0.0)[:-1]

    def size(self, keys: Any) -> Array:
        """Of the impulse of pairs (m,) [N s]."""
        total = _sum_rows(_places(self.key, keys), self.impulse, len(keys) + 1)
        return np.asarray(np.linalg.norm(total[:-1], axis=1))


def _strengths(able: Sequence[BodyEntry], own: Any) -> Array:
    """Impulse [N s], force [N] and time [s] (m, 3) of bodies with identities (m,)."""
    rules = [(e.identity, e.description.brittle) for e in able if e.description.brittle is not None]
    known = np.array([identity for identity, _ in rules], dtype=np.int64)
    table = np.array([(rule.impulse, rule.force, rule.time) for _, rule in rules]).reshape(-1, 3)
    order = np.argsort(known)
    return table[order[np.searchsorted(known[order], own)]] if len(own) else np.zeros((0, 3))


def _numbered(contacts: ContactSet, names: list[str]) -> Solved:
    """Contacts by the numbers of their bodies; names that have none are put behind the others."""
    number = {name: n for n, name in enumerate(names)} if len(contacts.gap) else {}
    pairs = []
    for pair in zip(contacts.first, contacts.second, strict=True):
        for name in pair:
            if name not in number:
                number[name] = len(names)
                names.append(name)
        pairs.append([number[name] for name in pair])
    return Solved(np.array(pairs, dtype=np.int64).reshape(-1, 2), *contacts[2:])


def _both_ways(contacts: Solved | None, brittle: Any) -> _Touched:
    """Contacts from both sides where these are of brittle (n,) rigid bodies."""
    if contacts is None:
        return _Touched(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
    one, two = contacts.pair[:, 0], contacts.pair[:, 1]
    own, other = np.concatenate([one, two]), np.concatenate([two, one])
    chosen = (own < len(brittle)) & brittle[np.minimum(own, len(brittle) - 1)]
    impulse = np.concatenate([contacts.impulse, -contacts.impulse])
    point, gap = np.concatenate([contacts.point] * 2), np.concatenate([contacts.gap] * 2)
    return _Touched((own << 32)[chosen] + other[chosen], impulse[chosen], point[chosen], gap[chosen])


def _places(key: Any, keys: Any) -> Any:
    """Where keys (n,) are among sorted ones (m,); m for those that are not."""
    if not len(keys):
        return np.zeros(len(key), dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    return np.where(keys[place] == key, place, len(keys))


def _sum_rows(place: Any, rows: Array, count: int) -> Array:
    """Sums (count, 3) of rows (n, 3) by their place (n,)."""
    return np.stack([np.bincount(place, rows[:, axis], count) for axis in range(3)], axis=1)


_Load = tuple[int, int, Array, Array, float, str]


def _loads(found: Sequence[_Load]) -> Loads:
    own, other, impulse, point, lasting, by = zip(*found, strict=True) if found else ((), (), (), (), (), ())
    return Loads(
        np.array(own, dtype=np.int64), np.array(other, dtype=np.int64), np.array(impulse).reshape(-1, 3),
        np.array(point).reshape(-1, 3), np.array(lasting, dtype=float), tuple(by),
    )  # fmt: skip


def _join(loads: Sequence[Loads]) -> Loads:
    own, other, impulse, point, lasting = (np.concatenate(parts) for parts in list(zip(*loads, strict=True))[:5])
    return Loads(own, other, impulse, point, lasting, tuple(name for one in loads for name in one.by))
