"""All soft bodies of a simulation as one set of nodes and elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry import Motion
from undertow.grid import Array
from undertow.soft.air import Air
from undertow.soft.assembly import Forces, Group


@dataclass(frozen=True)
class SoftMesh:
    """One soft body among the nodes: its nodes first ... stop, its surface triangles (m, 3) (2D: its outline edges
    (m, 2)), its cells (m, 4) or (m, 3) for volumes and files, all by number of all nodes; closed: it encloses a
    volume."""

    name: str
    first: int
    stop: int
    surface: Any
    cells: Any
    closed: bool

    @property
    def nodes(self) -> slice:
        return slice(self.first, self.stop)


ALL_AXES = (True, True, True)
"""Of nodes that are held in every direction."""


@dataclass(frozen=True)
class Handle:
    """Nodes that stay, or follow a motion: where they are in its frame (k, 3) [m]; until: when they are let go [s];
    axes: along which of x, y, z they are held, free along the others."""

    nodes: Any
    motion: Motion | None
    place: Array
    until: float
    axes: tuple[bool, bool, bool] = ALL_AXES

    def holds_at(self, time: float, dt: float) -> bool:
        """Whether it holds in the step from ``time`` by ``dt`` [s]."""
        return time < self.until - 1e-9 * dt


class SoftBodies:
    """Nodes x (n, 3) [m], v (n, 3) [m/s], mass (n,) [kg; 2D kg/m] and inv_mass (n,), 0 where a node is held in
    every direction; free_axes (n, 3): 1 along the axes in which a node moves, 0 in those in which it is held; rest (n,
    3) the positions without stress; origin (n,): the node that one was before its body tore, itself where it did not.
    In a 2D scene nodes stay in the plane z = 0."""

    def __init__(self, dimensions: int = 3) -> None:
        self.dimensions = dimensions
        self.parts: list[SoftMesh] = []
        self.handles: list[Handle] = []
        self.x, self.v, self.rest = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))
        self.mass, self.inv_mass, self.free_axes = np.zeros(0), np.zeros(0), np.zeros((0, 3))
        self.origin: Any = np.zeros(0, dtype=np.int64)
        self.air = Air()
        self.when_let_go: list[Callable[[], None]] = []
        """Called after nodes have been let go, by those who keep what follows from ``inv_mass``."""
        self._let_go: set[int] = set()
        """Handles that hold no longer."""
        self._groups: list[Group] = []
        self._forces: Forces | None = None

    @property
    def count(self) -> int:
        return len(self.mass)

    def add(
        self,
        name: str,
        position: Array,
        mass: Array,
        groups: Sequence[Group],
        cells: Any,
        surface: Any,
        closed: bool = False,
        velocity: Any = (0.0, 0.0, 0.0),
        rest: Array | None = None,
        origin: Any = None,
    ) -> SoftMesh:
        """Add a body of nodes (n, 3) [m] with masses (n,) [kg]; elements, cells, surface and ``origin`` (None: it has
        not torn) count its own nodes from 0."""
        if any(part.name == name for part in self.parts):
            raise UserError(f"soft body {name!r}: exists already; names are unique")
        loose = np.flatnonzero(~(np.asarray(mass) > 0))
        if len(loose):
            raise UserError(f"{name}: node {loose[0]} has no mass; remove the nodes that belong to no element")
        first, stop = self.count, self.count + len(position)
        part = SoftMesh(name, first, stop, np.asarray(surface) + first, np.asarray(cells) + first, closed)
        self.parts.append(part)
        self.x = np.concatenate([self.x, position])
        self.rest = np.concatenate([self.rest, position if rest is None else rest])
        self.v = np.concatenate([self.v, np.broadcast_to(np.asarray(velocity, dtype=float), np.shape(position))])
        self.origin = np.concatenate([self.origin, first + (np.arange(len(position)) if origin is None else origin)])
        self.mass = np.concatenate([self.mass, mass])
        self.inv_mass = np.concatenate([self.inv_mass, 1.0 / np.asarray(mass)])
        self.free_axes = np.concatenate([self.free_axes, np.ones(np.shape(position))])
        self._groups += [group._replace(nodes=group.nodes + first) for group in groups]
        self._forces = None
        return part

    def part(self, name: str) -> SoftMesh:
        """A body by name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise UserError(
            f"soft body {name!r}: no such body; the soft bodies are {', '.join(p.name for p in self.parts) or '(none)'}"
        )

    def hold(
        self, nodes: Any, motion: Motion | None = None, until: float | None = None,
        axes: tuple[bool, bool, bool] = ALL_AXES,
    ) -> Handle:  # fmt: skip
        """Hold nodes (k,) where they are, or let them follow a motion from where they are at t = 0; ``until`` [s], and
        along the given axes alone."""
        nodes = np.asarray(nodes, dtype=np.int64)
        position, rotation = motion.pose(0.0) if motion is not None else (np.zeros(3), np.eye(3))
        place = (self.x[nodes] - position) @ rotation
        handle = Handle(nodes, motion, place, np.inf if until is None else until, axes)
        self.handles.append(handle)
        self._hold_by(handle)
        self.v[nodes] *= self.free_axes[nodes]
        return handle

    def _hold_by(self, handle: Handle) -> None:
        """Nodes of a handle are held, by others too."""
        nodes = handle.nodes
        self.free_axes[nodes] *= 1.0 - np.array(handle.axes, dtype=float)
        still = nodes[~self.free_axes[nodes, : self.dimensions].any(axis=1)]
        self.free_axes[still] = self.inv_mass[still] = 0.0

    def move_handles(self, time: float, dt: float) -> None:
        """Velocities of held nodes so that they are where their motion is after the step from ``time`` by ``dt``
        [s]."""
        holding = [handle for handle in self.handles if handle.holds_at(time, dt)]
        for k, handle in enumerate(self.handles):
            if k in self._let_go or handle.holds_at(time, dt):
                continue
            self._let_go.add(k)
            self.free_axes[handle.nodes] = 1.0
            self.inv_mass[handle.nodes] = 1.0 / self.mass[handle.nodes]
            for other in holding:
                self._hold_by(other)
            for note in self.when_let_go:
                note()
        for handle in holding:
            if handle.motion is None:
                continue
            position, rotation = handle.motion.pose(time + dt)
            led = (handle.place @ rotation.T + position - self.x[handle.nodes]) / dt
            self.v[handle.nodes] = np.where(handle.axes, led, self.v[handle.nodes])

    @property
    def moves(self) -> Any:
        """Along which axes nodes move (n, 3), held along the others."""
        return (self.inv_mass[:, None] * self.free_axes) > 0.0

    @property
    def slides(self) -> Any:
        """Nodes (n,) that are held along some axes, and free along others."""
        return (self.inv_mass > 0.0) & (self.free_axes == 0.0).any(axis=1)

    @property
    def inv_mass_along(self) -> Array:
        """Inverse masses (n, 3) [1/kg] along the axes, 0 where nodes are held."""
        return self.inv_mass[:, None] * self.free_axes

    @property
    def forces(self) -> Forces:
        """The elements."""
        if self._forces is None:
            self._forces = Forces(self._groups, self.count)
        return self._forces

    @property
    def damped(self) -> bool:
        """Whether any element is damped."""
        return any(bool((group.damping > 0).any()) for group in self.forces.groups)

    def stable_step(self) -> float:
        """Longest step of the explicit schemes [s], 2 / omega of the fastest vibration about the present positions."""
        forces = self.forces
        blocks = forces.make_matrix()
        forces.assemble(self.x, 1.0, 0.0, blocks)
        rng = np.random.default_rng(0)
        u, omega_sq = rng.normal(size=(self.count, 3)), 0.0
        root = np.sqrt(self.inv_mass_along)
        for _ in range(40):
            size = float(np.sqrt((u * u).sum()))
            if not size > 0:
                break
            u /= size
            w = np.zeros_like(u)
            forces.add_product(blocks, np.ascontiguousarray(root * u), w)
            u = root * w
            omega_sq = max(omega_sq, float(np.sqrt((u * u).sum())))
        # the power iteration ends a little below the largest value
        return 2.0 / np.sqrt(1.1 * omega_sq) if omega_sq > 0 else float("inf")

    def volume(self, part: SoftMesh) -> float:
        """Volume of a closed body [m3; 2D m2]."""
        from undertow.soft.materials import cell_volumes

        return float(cell_volumes(self.x, part.cells).sum())

    def momentum(self) -> tuple[Array, Array]:
        """Linear [kg m/s] and angular momentum about the origin [kg m2/s]."""
        p = self.mass[:, None] * self.v
        return p.sum(axis=0), np.cross(self.x, p).sum(axis=0)

    def kinetic_energy(self) -> float:
        """[J]"""
        return float(0.5 * (self.mass[:, None] * self.v * self.v).sum())

    def arrays(self) -> dict[str, Array]:
        """What evolves."""
        return {"soft_x": self.x, "soft_v": self.v}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over what ``arrays`` gave."""
        self.x[...], self.v[...] = arrays["soft_x"], arrays["soft_v"]
