"""Forces that a user puts on rigid bodies and on nodes: those of the scene, and those applied during a run.

A load has its mean over every step: of a curve f(t) the integral of f over the step divided by its length, so that the
impulse is exact for any steps. Loads act in the step as weights do, in the coupled solve too. Where velocities belong
to the middles of steps, what counts is the time from one middle to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Curve, Shape
from undertow.geometry.elements import area_vectors, chosen_elements, surface_elements
from undertow.grid import Array
from undertow.part import vector
from undertow.rigid.bodies import DYNAMIC, RigidBodies, rotation_matrix_of
from undertow.soft import SoftBodies, SoftMesh

NEXT_STEP = -1.0
"""Duration of what acts over the next step, however long."""


@dataclass(frozen=True)
class NewLoad:
    """A load as it is put on.

    kind: force [N; 2D N/m], torque [N m; 2D N], traction [Pa] by the area at the start, along the axes of the world, or
    pressure [Pa] against the normals of now. at (3,) [m]: where a force acts at the start, None: at the centre of mass.
    region: distance (n,) [m] of points (n, 3) from where traction and pressure act at the start, None: everywhere.
    elements: triangles (m, 3, 3) [m], in 2D edges (m, 2, 3), in the frame of the shape, on which traction and pressure
    act in the place of its surface, as of a piece of a body that broke.
    """

    kind: Literal["force", "torque", "traction", "pressure"]
    curve: Curve
    at: Array | None = None
    region: Callable[[Array], Array] | None = None
    elements: Array | None = None


def mean_of(curve: Curve, time: float, dt: float) -> Array:
    """Mean of a curve over the step from ``time`` by dt [s], which may lead back."""
    return np.asarray(curve.integral(time, time + dt)) / dt if dt != 0.0 else np.asarray(curve.value(time))


@dataclass(frozen=True)
class BodyLoad:
    """A load on a rigid body: force and torque (3, k) times the mean of a curve of k components.

    place (3,) [m]: where the force acts, in the principal frame. follows: force and torque turn with the body, being
    those of its principal frame; else they are along the axes of the world.
    """

    body: str
    curve: Curve
    force: Array
    torque: Array
    place: Array
    follows: bool = False

    def wrench(self, R: Array, time: float, dt: float) -> tuple[Array, Array]:
        """Mean force [N] and torque [N m] about the centre of mass over the step from ``time`` by dt [s]."""
        value = np.atleast_1d(mean_of(self.curve, time, dt))
        force, torque = self.force @ value, self.torque @ value + np.cross(self.place, self.force @ value)
        if self.follows:
            return R @ force, R @ torque
        return force, self.torque @ value + np.cross(R @ self.place, force)


@dataclass(frozen=True)
class Applied:
    """A constant force (3,) and torque (3,) that act from ``start`` [s] for ``duration`` [s], or over one step
    (NEXT_STEP). place: as of ``BodyLoad``, or the node of a soft body, None: on its mass."""

    name: str
    start: float
    duration: float
    force: tuple[float, ...]
    torque: tuple[float, ...]
    place: tuple[float, ...] | None

    since: float
    """It has acted up to then [s]; ``start`` when it is put on."""

    def acted_by(self, time: float) -> float:
        """How long it has acted at a time [s]."""
        return min(max(time - self.start, 0.0), self.duration)

    def lasts(self, step: float) -> Applied:
        """With its duration, in a step of that length [s]."""
        return replace(self, duration=step) if self.duration == NEXT_STEP else self


class Pending:
    """What has been applied and still acts; it is state."""

    def __init__(self) -> None:
        self.items: list[Applied] = []

    def add(self, item: Applied) -> None:
        """Acts from now on."""
        self.items.append(item)

    def drop(self, name: str) -> None:
        """A body has gone."""
        self.items = [item for item in self.items if item.name != name]

    def take(self, name: str) -> list[Applied]:
        """What acts on a body, which is let go."""
        found = [item for item in self.items if item.name == name]
        self.drop(name)
        return found

    def move_nodes(self, now: Mapping[int, int]) -> None:
        """Nodes have other numbers, by those before."""
        self.items = [
            item if item.place is None else replace(item, place=(float(now[int(item.place[0])]),))
            for item in self.items
        ]

    def act(self, until: float, step: float) -> list[tuple[Applied, float]]:
        """What acts up to a time [s], in a step of some length [s], and how long each does that has not yet."""
        items = [item.lasts(step) for item in self.items]
        lasting = [(item, item.acted_by(until) - item.acted_by(item.since)) for item in items]
        self.items = [replace(item, since=until) for item in items if item.acted_by(until) < item.duration]
        return lasting

    def numbers(self) -> list[list[Any]]:
        """As plain numbers."""
        return [[i.name, i.start, i.duration, i.force, i.torque, i.place, i.since] for i in self.items]

    def restore(self, numbers: Sequence[Sequence[Any]]) -> None:
        """Take over what ``numbers`` gave."""
        self.items = [
            Applied(
                name, start, duration, tuple(force), tuple(torque), None if place is None else tuple(place), since
            )
            for name, start, duration, force, torque, place, since in numbers
        ]  # fmt: skip


def _loaded_elements(
    body: str, shape: Shape, load: NewLoad, position: Array, rotation: Array, dimensions: int
) -> Array:
    """Elements (m, k, 3) [m] of the surface of a body in a pose, on which a traction or a pressure acts."""
    if load.elements is not None:
        return load.elements @ rotation.T + position
    p = surface_elements(shape, position, rotation, dimensions)
    return np.asarray(p[chosen_elements(f"objects.{body}.loads", p, load.region)])


class RigidLoads:
    """The loads on rigid bodies."""

    def __init__(self, bodies: RigidBodies) -> None:
        self.bodies = bodies
        self.given: list[BodyLoad] = []
        self.pending = Pending()
        self.until = 0.0
        """Loads have acted up to then [s]."""
        self._rows = np.zeros((2, 0, 6))

    @property
    def _of_bodies(self) -> Array:
        """``mean_b`` and ``owed_b`` (2, n, 6)."""
        if self._rows.shape[1] != self.bodies.count:
            rows = np.zeros((2, self.bodies.count, 6))
            kept = min(rows.shape[1], self._rows.shape[1])
            rows[:, :kept] = self._rows[:, :kept]
            self._rows = rows
        return self._rows

    @property
    def mean_b(self) -> Array:
        """Mean forces and torques (n, 6) [N, N m] about the centres of mass over the step of now or the last one."""
        return np.asarray(self._of_bodies[0])

    @property
    def owed_b(self) -> Array:
        """Impulses (n, 6) [N s, N m s] that a shortened step has taken back and the next one gives."""
        return np.asarray(self._of_bodies[1])

    def place_in(self, body: str, point: Array) -> Array:
        """A point of the world (3,) [m] in the principal frame of a body of now."""
        b = self.bodies.index(body)
        return np.asarray((point - self.bodies.x_b[b]) @ rotation_matrix_of(self.bodies.q_b[b]))

    def add(self, body: str, shape: Shape, loads: Sequence[NewLoad]) -> None:
        """Put loads on a dynamic body of a shape, where it is now."""
        bodies = self.bodies
        b = bodies.index(body)
        frame = rotation_matrix_of(bodies.q_b[b])
        none, one = np.zeros((3, 3)), np.eye(3)
        for load in loads:
            if load.kind == "torque":
                self.given.append(BodyLoad(body, load.curve, none, one, np.zeros(3)))
                continue
            if load.kind == "force":
                place = np.zeros(3) if load.at is None else self.place_in(body, load.at)
                self.given.append(BodyLoad(body, load.curve, one, none, place))
                continue
            p = _loaded_elements(body, shape, load, *bodies.shape_pose(b), bodies.dimensions)
            area, middle = area_vectors(p), p.mean(axis=1)
            if load.kind == "traction":
                size = np.linalg.norm(area, axis=1)
                place = self.place_in(body, (size[:, None] * middle).sum(axis=0) / size.sum())
                self.given.append(BodyLoad(body, load.curve, size.sum() * one, none, place))
            else:
                force = -area.sum(axis=0) @ frame
                torque = -np.cross(middle - bodies.x_b[b], area).sum(axis=0) @ frame
                self.given.append(BodyLoad(body, load.curve, force[:, None], torque[:, None], np.zeros(3), True))

    def apply(self, item: Applied) -> None:
        """Put a force on a dynamic body."""
        if self.bodies.kind_b[self.bodies.index(item.name)] != DYNAMIC:
            raise UserError(f"body {item.name!r}: moves as prescribed, no force moves it; give it a density or mass")
        self.pending.add(item)

    def point_of(self, item: Applied) -> Array:
        """Where on its body of now something applied acts (3,) [m]."""
        b = self.bodies.index(item.name)
        place = np.zeros(3) if item.place is None else np.array(item.place)
        return np.asarray(self.bodies.x_b[b] + rotation_matrix_of(self.bodies.q_b[b]) @ place)

    def hand_over(self, item: Applied, body: str, point: Array) -> None:
        """What was applied to a body that is gone acts on another one, at a point (3,) [m]."""
        self.pending.add(replace(item, name=body, place=vector(self.place_in(body, point))))

    def begin_as_before(self, new: Sequence[str]) -> None:
        """Bodies that are new (their names) have the velocities of now: their means are what acts on them now, of which
        a scheme takes back what it had ahead."""
        mean, bodies = self.mean_b, self.bodies
        for load in self.given:
            if load.body in new:
                b = bodies.index(load.body)
                force, torque = load.wrench(rotation_matrix_of(bodies.q_b[b]), self.until, 0.0)
                mean[b] += np.concatenate([force, torque])
        for item in self.pending.items:
            if item.name in new and 0.0 < item.acted_by(self.until) < item.duration:
                b, force = bodies.index(item.name), np.array(item.force)
                arm = self.point_of(item) - bodies.x_b[b]
                mean[b] += np.concatenate([force, np.array(item.torque) + np.cross(arm, force)])

    def begin_step(self, time: float, dt: float) -> None:
        """The means of the step from ``time`` by dt [s]; bodies are at its start."""
        self.until = time
        self.act(time + dt, dt, dt)

    def act(self, until: float, duration: float, step: float) -> None:
        """The means over a ``duration`` [s] of what acts up to a time [s] and has not yet; step: that of now [s]."""
        mean, bodies = self.mean_b, self.bodies
        since, mean[...] = self.until, self.owed_b / duration
        share = (until - since) / duration
        for load in self.given:
            if load.body in bodies.names:
                b = bodies.index(load.body)
                force, torque = load.wrench(rotation_matrix_of(bodies.q_b[b]), since, until - since)
                mean[b, :3] += share * force
                mean[b, 3:] += share * torque
        for item, acts in self.pending.act(until, step):
            b = bodies.index(item.name)
            force = acts / duration * np.array(item.force)
            mean[b, :3] += force
            mean[b, 3:] += acts / duration * np.array(item.torque)
            if item.place is not None:
                mean[b, 3:] += np.cross(rotation_matrix_of(bodies.q_b[b]) @ np.array(item.place), force)
        self.until, self.owed_b[...] = until, 0.0

    def take_back(self, duration: float) -> None:
        """What the mean does in a duration [s] is taken from the bodies again."""
        self.owed_b[...] = duration * self.mean_b

    def remove(self, b: int, name: str) -> None:
        """Without body b, before it goes."""
        self._rows = np.delete(self._of_bodies, b, axis=1)
        self.given = [load for load in self.given if load.body != name]
        self.pending.drop(name)

    def arrays(self) -> dict[str, Array]:
        """The means of the last step, and what is owed."""
        return {"rigid_load": self.mean_b, "rigid_load_owed": self.owed_b}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave; the bodies are those of then."""
        self.mean_b[...], self.owed_b[...] = arrays["rigid_load"], arrays["rigid_load_owed"]


@dataclass(frozen=True)
class NodeLoad:
    """A load on nodes: of elements (m, k), or of single nodes (m, 1), each of which has the share (m,) of the curve's
    force [-] or the area at the start [m2; 2D m]. follows: the curve is a pressure against the normals of now."""

    elements: Any
    size: Array
    curve: Curve
    follows: bool = False

    def add(self, x: Array, time: float, dt: float, out_force: Array) -> None:
        """Add its mean force on the nodes, which are at x (n, 3), over a step from ``time`` by dt [s]."""
        value = mean_of(self.curve, time, dt)
        force = -float(value) * area_vectors(x[self.elements]) if self.follows else self.size[:, None] * value
        corners = self.elements.shape[1]
        for corner in range(corners):
            np.add.at(out_force, self.elements[:, corner], force / corners)


class NodeLoads:
    """The loads on the nodes of soft bodies, cloth and ropes."""

    def __init__(self, soft: SoftBodies) -> None:
        self.soft = soft
        self.given: list[NodeLoad] = []
        self.pending = Pending()
        self.mean: Array = np.zeros((soft.count, 3))
        """Mean force on the nodes (n, 3) [N] over the step of now or the last one."""
        self.owed: Array = np.zeros((soft.count, 3))
        """As of ``RigidLoads``, as are ``until``, ``act`` and ``take_back``."""
        self.until = 0.0

    def nearest(self, mesh: SoftMesh, point: Array) -> int:
        """The node of a body that is nearest to a point (3,) [m]."""
        return mesh.first + int(np.argmin(((self.soft.x[mesh.nodes] - point) ** 2).sum(axis=1)))

    def add(self, mesh: SoftMesh, load: NewLoad) -> None:
        """Put a load on a body, where it is now. A force acts on the nearest node, or on all by their masses."""
        soft = self.soft
        if load.kind == "force":
            nodes = np.arange(mesh.first, mesh.stop) if load.at is None else np.array([self.nearest(mesh, load.at)])
            mass = soft.mass[nodes]
            self.given.append(NodeLoad(nodes[:, None], mass / mass.sum(), load.curve))
            return
        p = soft.x[mesh.surface]
        inside = chosen_elements(f"objects.{mesh.name}.loads", p, load.region)
        size = np.linalg.norm(area_vectors(p[inside]), axis=1)
        self.given.append(NodeLoad(mesh.surface[inside], size, load.curve, load.kind == "pressure"))

    def begin_step(self, time: float, dt: float) -> None:
        """The means of the step from ``time`` by dt [s]; nodes are at its start."""
        self.until = time
        self.act(time + dt, dt, dt)

    def act(self, until: float, duration: float, step: float) -> None:
        """The means over a ``duration`` [s] of what acts up to a time [s] and has not yet; step: that of now [s]."""
        soft, since = self.soft, self.until
        self.mean[...] = 0.0
        for load in self.given:
            load.add(soft.x, since, until - since, self.mean)
        self.mean *= (until - since) / duration
        self.mean += self.owed / duration
        for item, acts in self.pending.act(until, step):
            force = acts / duration * np.array(item.force)
            if item.place is not None:
                self.mean[int(item.place[0])] += force
                continue
            nodes = soft.part(item.name).nodes
            self.mean[nodes] += (soft.mass[nodes] / soft.mass[nodes].sum())[:, None] * force
        self.until, self.owed[...] = until, 0.0

    def take_back(self, duration: float) -> None:
        """What the mean does in a duration [s] is taken from the nodes again."""
        self.owed[...] = duration * self.mean
