"""Fragments of broken shapes, and what of a body's mass, momentum and angular momentum each takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from undertow.geometry.collision import CollisionEntry, Frame, polytope_entry
from undertow.geometry.fracture_contact import Carved, carved_entry, thinned_entry
from undertow.geometry.meshes import MeshShape
from undertow.geometry.moments import integrate_mesh, principal_axes
from undertow.geometry.shape import Triangles
from undertow.grid import Array

if TYPE_CHECKING:
    from undertow.geometry.level_set_cuts import LevelSetShape

Flags = NDArray[np.bool_]

@dataclass(frozen=True, eq=False)
class Fragment:
    """A connected piece of a broken shape.

    shape: centred on its own centre of mass, along its principal axes, with ``interior_t`` (m,), which of the triangles
    of its ``surface`` were inside the body that first broke; offset (3,): its centre of mass in the frame of the
    parent's shape [m]; rotation (3, 3): its principal axes there, as columns; volume [m3; 2D m2]; inertia (3,):
    principal moments at density 1 [m5; 2D (0, 0, about z) m4]; label: of the region; is_debris: smaller than asked.
    """

    shape: FragmentMesh | LevelSetShape
    offset: Array
    rotation: Array
    volume: float
    inertia: Array
    label: int
    is_debris: bool

    @property
    def interior_t(self) -> Flags:
        """Which triangles of the surface are faces of fracture (m,)."""
        return self.shape.interior_t

    def to_parent(self, points: Array) -> Array:
        """Points (n, 3) of its own frame in the frame of the parent's shape [m]."""
        return np.asarray(self.offset + points @ self.rotation.T)


class FragmentMesh(MeshShape):
    """A piece with a closed mesh; interior_t (m,): triangles that a fracture has made; carved: what it was cut from;
    particles (n, 3) [m]: of a level set, points on corners and edges that its contour has cut off."""

    def __init__(
        self, vertices: object, triangles: object, interior_t: object, name: str = "fragment",
        carved: Carved | None = None, particles: Array | None = None,
    ):  # fmt: skip
        super().__init__(vertices, triangles, name)
        self.interior_t: Flags = np.asarray(interior_t, dtype=bool)
        self.carved = carved
        self.particles = np.zeros((0, 3)) if particles is None else np.asarray(particles, dtype=float).reshape(-1, 3)

    def solid_entry(self, frame: Frame) -> CollisionEntry:
        """Pieces have edges as sharp as can be, which would ask for tables without end."""
        if len(self.particles):
            return with_particles(carved_entry(self, self.carved, frame), self.particles, self, frame)
        return (
            polytope_entry(self.surface(), frame)
            or thinned_entry(self.vertices, self.triangles, self.interior_t, frame)
            or carved_entry(self, self.carved, frame)
        )

    def table_spacing(self, dx: float) -> float:
        """Half a cell: pieces have sharp edges on each other, and what a table rounds off there is a gap."""
        return 0.5 * dx


def with_particles(entry: CollisionEntry, particles: Array, contour: MeshShape, frame: Frame) -> CollisionEntry:
    """Particles (n, 3) [m] beside the points of a contour, whose corners are blunt."""
    if not len(particles):
        return entry
    sharp = np.hstack([(particles - frame.centre) @ frame.R, contour.normals(particles) @ frame.R])
    return entry._replace(probes=np.concatenate([sharp, entry.probes]))


def make_fragment(
    vertices: Array, triangles: Triangles, made: Flags, label: int, depth: float | None, smallest: float,
    carved: Carved | None = None,
) -> Fragment:
    """A piece (n, 3), (m, 3) given in the frame of the parent, in its own; depth [m]: of a prism in 2D; carved: what it
    was cut from, in the frame of the parent."""
    volume, centre, tensor = integrate_mesh(vertices, triangles)
    if depth is None:
        moments, axes = principal_axes(tensor)
    else:
        volume, centre, axes = volume / depth, centre * (1.0, 1.0, 0.0), np.eye(3)
        moments = np.array([0.0, 0.0, tensor[2, 2] / depth])
    inside = None if carved is None else carved.seen_from(centre, axes)
    own = FragmentMesh((vertices - centre) @ axes, triangles, made, carved=inside)
    return Fragment(own, centre, axes, volume, moments, label, volume < smallest)


@dataclass(frozen=True, eq=False)
class Shares:
    """What fragments take over: mass_b (n,) [kg; 2D kg/m], velocity_b, angular_velocity_b (n, 3) [m/s], [rad/s], in the
    frame of the parent's shape."""

    mass_b: Array
    velocity_b: Array
    angular_velocity_b: Array


def conserve(
    mass: float, centre: object, momentum: object, angular_momentum: object, fragments: Sequence[Fragment],
    points: Array | None = None, masses: Array | None = None,
) -> Shares:  # fmt: skip
    """Masses and velocities of fragments of a body, whose sums are its mass [kg; 2D kg/m], momentum (3,) [kg m/s] and
    angular momentum (3,) about its ``centre`` of mass (3,) [m]; all in the frame of the parent's shape.

    Masses are shares of the volume. All fragments move with one twist, found from the six sums: v_f = v + omega x r_f
    and omega_f = omega (thesis 2.4.2), where v and omega are the parent's if the fragments fill it exactly. points
    (k, 3) [m] of masses (k,) that fragments carry move with the same twist, and their momenta are among the sums.
    """
    volume = np.array([f.volume for f in fragments])
    mass_b = mass * volume / volume.sum()
    arm = np.array([f.offset for f in fragments]) - np.asarray(centre, dtype=float)
    tensors = np.array([
        f.rotation @ np.diag(f.inertia * m / f.volume) @ f.rotation.T for f, m in zip(fragments, mass_b, strict=True)
    ])  # fmt: skip
    # in units in which both halves of the system are of one size
    length = float(np.sqrt(np.einsum("nii->", tensors) / mass + np.sum(mass_b[:, None] * arm**2) / mass))
    units = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])
    wanted = units * np.concatenate([np.asarray(momentum, dtype=float), np.asarray(angular_momentum, dtype=float)])
    moved, arms, turned = mass_b, arm, tensors
    if points is not None and masses is not None:
        moved, arms = np.concatenate([mass_b, masses]), np.concatenate([arm, points - np.asarray(centre, dtype=float)])
        turned = np.concatenate([tensors, np.zeros((len(masses), 3, 3))])
    sums = [units * _sum_momentum(moved, arms, turned, *np.split(unit, 2)) for unit in np.diag(units)]
    matrix = np.column_stack(sums) / mass
    # in 2D bodies turn about z alone: the least of all solutions
    inverse = np.linalg.pinv(matrix, rcond=1e-14)
    twist = inverse @ (wanted / mass)
    twist = twist + inverse @ (wanted / mass - matrix @ twist)
    v, omega = np.split(units * twist, 2)
    return Shares(mass_b, v + np.cross(omega, arm), np.broadcast_to(omega, arm.shape).copy())


def _sum_momentum(mass_b: Array, arm: Array, tensors: Array, v: Array, omega: Array) -> Array:
    """Momentum and angular momentum (6,) of fragments that move with one twist."""
    momentum = mass_b[:, None] * (v + np.cross(omega, arm))
    return np.concatenate([momentum.sum(axis=0), (np.cross(arm, momentum) + tensors @ omega).sum(axis=0)])
