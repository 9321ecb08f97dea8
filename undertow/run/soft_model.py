"""Solids without fluid, some of them soft: bodies, cloth and ropes among rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.geometry.sheets import outline_of, thicken
from undertow.grid import Array
from undertow.part import (
    ANGULAR_MOMENTUM,
    ENERGY,
    LENGTH,
    MOMENTUM,
    VOLUME,
    BodyForces,
    BodyState,
    ForceTable,
    Limit,
    Quantity,
    components,
    restore_arrays,
)
from undertow.run import build
from undertow.run.handles import Nodes
from undertow.run.models import ModelStep
from undertow.run.shapes import mesh_soft
from undertow.run.solids_model import SolidsModel
from undertow.scene import (
    Cloth,
    Hold,
    RigidBody,
    Rope,
    Scene,
    SoftBody,
)
from undertow.soft import Elastic, SoftBodies, make_bending, make_edges, make_membrane, make_solid, meshes
from undertow.soft.clamping import fit_to_region
from undertow.soft.collision import SurfaceCollisions
from undertow.soft.embedding import Embedding, split_long
from undertow.soft.materials import cell_volumes, find_hinges
from undertow.soft.outlines import OutlineCollisions
from undertow.soft.ring_system import RingSystem
from undertow.soft.rings import RingProjection
from undertow.solids.points import RigidPoints
from undertow.solids.scheme import advance
from undertow.solids.soft_contacts import SoftContacts
from undertow.solids.soft_stages import SoftStepReport
from undertow.solids.soft_step import SoftSolids
from undertow.solids.step import RigidStages

if TYPE_CHECKING:
    from undertow.output import BodyFrame
    from undertow.output.soft import SoftFrame


class SoftModel(SolidsModel):
    """The soft bodies of a scene beside its rigid ones.

    In fluid thin rigid shells have nodes too, for the fluid to see: their bodies carry them, and all of their mass.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.soft = scene, SoftBodies(scene.dimensions)
        self._bound: dict[str, Any] = {}
        """Nodes that rigid bodies carry."""
        self._remarks: list[str] = []
        self._embedded: dict[str, Embedding] = {}
        nodes, radius, friction = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
        for name, item in scene.softs.items():
            part = self._add(name, item)
            for hold in item.holds:
                self._hold(name, hold, part.nodes)
            touching = np.unique(part.surface)
            nodes.append(touching)
            radius.append(np.full(len(touching), 0.0 if isinstance(item, SoftBody) else 0.5 * item.thickness))
            friction.append(np.full(len(touching), item.friction))
        self.soft_parts = list(self.soft.parts)
        """Those that are soft."""
        if scene.domain is not None:
            for name, body in scene.shells.items():
                self._add_shell(name, body)
        self.shell_parts = self.soft.parts[len(self.soft_parts) :]
        """Those that are thin rigid shells."""
        super().__init__(scene)
        self.notes += self._remarks
        self._lumped = self.soft.mass.copy()
        """Masses of all nodes, of those too that have become parts of rigid bodies."""
        for name in self._bound:
            if self._carries(name):
                self.soft.mass[self._bound[name]] = self.soft.inv_mass[self._bound[name]] = 0.0
        for part in self.shell_parts:
            self.soft.mass[part.nodes] = self.soft.inv_mass[part.nodes] = 0.0
        self.element_size = min(self._element_size(part) for part in self.soft_parts or self.shell_parts)
        """Of the body with the smallest elements [m]."""
        contacts = SoftContacts(
            self.soft, self.bodies, self.shapes, np.concatenate(nodes), np.concatenate(radius), np.concatenate(friction)
        )
        chosen = scene.soft
        rings = self._make_rings(chosen.volume_recovery, chosen.volume_solve)
        surfaces = self._make_surfaces() if chosen.collisions else None
        self.soft_solids = SoftSolids(
            self.soft,
            contacts,
            chosen.stepper,
            self.element_size,
            chosen.tolerance,
            rings,
            surfaces,
            self._make_points(self.element_size),
        )
        if self._bound:
            nodes_of = np.concatenate(list(self._bound.values()))
            bodies_of = np.concatenate([np.full(len(of), self.bodies.index(b)) for b, of in self._bound.items()])
            self.soft_solids.bind(nodes_of, bodies_of)
            if scene.domain is None or self.shell_parts:
                self.soft_solids.follow()
        self._gravity = np.array(build.vector3(scene.gravity))
        self._weight = self.soft.mass[:, None] * self._gravity
        self.soft_forces = ForceTable(len(scene.softs))
        self.soft_report, self.elastic_energy = SoftStepReport(), 0.0
        self._felt = np.zeros((2, self.bodies.count, 6))
        """Forces and torques of joints and rigid contacts on the rigid bodies in the last two steps."""
        self._stable = self.soft.stable_step() if chosen.stepper in ("newmark", "leapfrog") else math.inf
        if self.soft_parts:
            count = sum(len(part.cells) for part in self.soft_parts)
            self.notes.append(f"soft bodies: {self.soft_parts[-1].stop} nodes, {count} elements")

    # from the scene to nodes and elements ---------------------------------------------------------------------------

    def _add(self, name: str, item: SoftBody | Cloth | Rope) -> Any:
        if isinstance(item, SoftBody):
            return self._add_solid(name, item)
        if isinstance(item, Cloth):
            return self._add_cloth(name, item)
        return self._add_rope(name, item)

    def _add_shell(self, name: str, body: RigidBody) -> None:
        """Nodes of a sheet, all of them carried; their masses are those of their body."""
        sheet = build.make_shape(name, body, self.scene.dimensions).as_sheet()
        assert sheet is not None
        elements, corners = np.asarray(sheet.elements, dtype=np.int64), sheet.dimensions
        share = np.repeat(sheet.thick * sheet.sizes() / corners, corners)
        mass = np.asarray(np.bincount(elements.ravel(), share), dtype=float)
        part = self.soft.add(name, self._place(body, sheet.vertices), mass, [], elements, elements)
        own = np.arange(part.first, part.stop)
        self._bound[name] = np.union1d(self._bound.get(name, own), own)

    def _place(self, item: SoftBody | Cloth | RigidBody, x: Array) -> Array:
        rotation = geometry.rotation_matrix(item.rotation.axis, item.rotation.degrees)
        return np.asarray(x @ rotation.T + np.array(build.vector3(item.position)))

    def _add_solid(self, name: str, item: SoftBody) -> Any:
        x, cells = self._mesh(name, item)
        x = self._place(item, x)
        material = Elastic(item.density, item.youngs_modulus, item.poisson_ratio, item.model, item.damping)
        mass, elements = make_solid(f"objects.{name}", x, cells, material)
        turning = np.cross(np.array(item.angular_velocity), x - np.array(build.vector3(item.position)))
        velocity = turning + np.array(build.vector3(item.velocity))
        surface = meshes.surface_of(cells) if cells.shape[1] == 4 else outline_of(cells)
        if item.embed:
            solid = build.make_shape(name, item)
            assert item.element_size is not None
            vertices, triangles = split_long(*solid.surface(48), item.element_size)
            points = self._place(item, vertices)
            self._embedded[name] = Embedding(f"objects.{name}", points, triangles, x, cells, self.soft.count)
        return self.soft.add(name, x, mass, [elements], cells, surface, closed=True, velocity=velocity)

    def _mesh(self, name: str, item: SoftBody) -> meshes.Mesh:
        """Nodes and elements of a solid in its own frame."""
        x, cells, solid = mesh_soft(name, item.shape, item.element_size, self.soft.dimensions)
        if solid is not None and item.element_size is not None:
            share = float(cell_volumes(x, cells).sum()) / solid.volume()
            self._check_filled(name, share, item.element_size)
        return x, cells

    def _check_filled(self, name: str, share: float, size: float) -> None:
        """Elements must fill a mesh: they lose what is thinner than they are, and what its triangles turn inside out
        counts as outside."""
        if not 0.5 < share < 1.5:
            raise UserError(
                f"objects.{name}.shape: cannot be meshed with elements of {size:g} m: they fill {100 * share:.0f}% of "
                f"the volume that its surface encloses; make element_size smaller where parts are thin, and repair a "
                f"surface that crosses itself or is partly inside out"
            )
        if abs(share - 1.0) > 0.1:
            self._remarks.append(f"objects.{name}: its elements fill {100 * share:.0f}% of the volume of its surface")

    def _element_size(self, part: Any) -> float:
        """Size of the elements of a body [m]: as given, or the mean length of their edges."""
        item = self.scene.softs.get(part.name)
        if item is not None and item.element_size is not None:
            return item.element_size
        ends = self.soft.rest[meshes.edges_of(part.cells)]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())

    def _sheet(self, name: str, item: Cloth) -> meshes.Mesh:
        """Nodes and triangles of a sheet in its own frame."""
        if item.shape is not None:
            try:
                x, triangles = geometry.load_triangles(item.shape.file)
            except UserError as error:
                raise UserError(f"objects.{name}.shape: {error}") from None
            find_hinges(f"objects.{name}.shape", triangles)  # refuses what is no manifold, also without bending
            return item.shape.scale * x, triangles
        h, size = item.element_size, item.size
        assert h is not None and size is not None
        if item.outline == "balloon":
            return meshes.balloon_triangles(size[0], size[1], h, item.opening)
        if item.outline == "disc":
            x, triangles = meshes.disc_triangles(0.5, h / max(size))
            x = x * np.array([*size, 0.0])
        else:
            counts = [max(1, round(s / h)) for s in size]
            x, triangles = meshes.grid_triangles((size[0], size[1]), (counts[0], counts[1]), crossed=False)
        # the x-y plane of the grid becomes the x-z plane, its normal +z becomes +y
        return np.stack([x[:, 0], np.zeros(len(x)), -x[:, 1]], axis=1), triangles

    def _add_cloth(self, name: str, item: Cloth) -> Any:
        x, triangles = self._sheet(name, item)
        x = self._place(item, x)
        if item.shape is None and item.outline != "balloon":
            for hold in item.holds:
                x = fit_to_region(x, triangles, self._region(name, hold))
        where = f"objects.{name}"
        material = Elastic(item.density, item.stretching, item.poisson_ratio, "stvk", item.damping)
        # a sheet of thickness 1: density and modulus are those of the whole sheet
        mass, membrane = make_membrane(where, x, triangles, material, 1.0)
        groups: list[Any] = [membrane]
        if item.bending > 0:
            groups.append(make_bending(where, x, triangles, item.bending, item.damping, self._clamped(name, item, x)))
        part = self.soft.add(name, x, mass, groups, triangles, triangles, velocity=build.vector3(item.velocity))
        if item.drag > 0:
            self.soft.air.add(part.surface, np.array(build.vector3(item.wind)), item.drag)
        return part

    def _region(self, name: str, hold: Hold) -> Any:
        """Distance of points (n, 3) from the region of a hold (n,) [m]."""
        region = geometry.Solid(name, build.make_shape(name, hold), geometry.Static(*_pose(hold)))
        return lambda x: region.distance(x, 0.0, self.soft.dimensions)

    def _clamped(self, name: str, item: Cloth, x: Array) -> Any:
        """Which nodes at x (n, 3) holds without an end keep (n,)."""
        kept = np.zeros(len(x), dtype=bool)
        for hold in item.holds:
            if hold.until is None:
                kept |= self._region(name, hold)(x) <= 1e-9
        return kept

    def _add_rope(self, name: str, item: Rope) -> Any:
        start, end = np.array(build.vector3(item.position)), np.array(build.vector3(item.end))
        length = item.length or float(np.linalg.norm(end - start))
        if item.outline == "ring":
            count = max(3, round(np.pi * length / item.element_size))
            x = meshes.ring_points(start, end, count, self._down())
            edges = np.stack([np.arange(count), (np.arange(count) + 1) % count], axis=1)
        else:
            count = max(2, round(length / item.element_size))
            x = meshes.rope_points(start, end, length, count, self._down())
            edges = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
        springs = make_edges(f"objects.{name}", x, edges, item.stretching, item.damping)
        mass = np.asarray(item.density * np.bincount(edges.ravel(), np.repeat(0.5 * springs.rest, 2)), dtype=float)
        return self.soft.add(name, x, mass, [springs], edges, edges)

    def _down(self) -> Array:
        g = np.array(build.vector3(self.scene.gravity))
        size = float(np.linalg.norm(g))
        return np.asarray(g / size) if size > 0 else np.array([0.0, -1.0, 0.0])

    def _hold(self, name: str, hold: Hold, nodes: slice) -> None:
        """Hold the nodes inside a region."""
        inside = np.flatnonzero(self._region(name, hold)(self.soft.x[nodes]) <= 1e-9) + nodes.start
        if not len(inside):
            raise UserError(
                f"objects.{name}.holds: no node lies inside the {hold.shape.type} at {list(hold.position)} m; move or "
                f"enlarge it"
            )
        if hold.body is not None:
            bound = self._bound.setdefault(hold.body, np.zeros(0, dtype=np.int64))
            self._bound[hold.body] = np.union1d(bound, inside)
            self._check_bound(name, hold.body)
            return
        motion = build.make_motion(hold)
        self.soft.hold(inside, None if isinstance(motion, geometry.Static) else motion, hold.until)

    def _check_bound(self, name: str, body: str) -> None:
        """A node has one bone."""
        for other, nodes in self._bound.items():
            if other != body and len(np.intersect1d(nodes, self._bound[body])):
                raise UserError(
                    f"objects.{name}.holds: nodes lie inside the holds of both {other!r} and {body!r}; a node moves "
                    f"with one body: make the holds smaller"
                )

    def _carries(self, name: str) -> bool:
        """Whether bound nodes are parts of a body's mass: in fluid they weigh on it in the solve of all solids."""
        return self.scene.domain is None and self.scene.bodies[name].is_dynamic

    def carried_by(self, name: str) -> tuple[Array, Array]:
        nodes = self._bound.get(name, np.zeros(0, dtype=np.int64)) if self._carries(name) else np.zeros(0, dtype=int)
        return self.soft.x[nodes], self.soft.mass[nodes]

    def _make_rings(self, recovery: float, solve: str) -> RingProjection | None:
        """What keeps the volume of the incompressible bodies, by projections or by a single system."""
        found = [
            np.arange(part.first, part.stop)
            for part in self.soft_parts
            if isinstance(item := self.scene.softs[part.name], SoftBody) and item.incompressible
        ]
        if not found:
            return None
        nodes = np.concatenate(found)
        if solve == "sweeps":
            return RingProjection(self.soft, nodes, recovery)
        return RingSystem(self.soft, nodes, recovery, folded=solve == "folded")

    def _make_surfaces(self) -> SurfaceCollisions | None:
        """Surfaces of cloth, solids and ropes that can meet, in 2D outlines and ropes without fluid; none of one convex
        solid alone."""
        parts, flat = self.soft_parts, self.soft.dimensions == 2
        alone = len(parts) == 1 and self._is_convex(parts[0].name)
        if not parts or alone or (flat and self.scene.domain is not None):
            return None
        reach, friction = np.zeros(self.soft.count), np.zeros(self.soft.count)
        for part in parts:
            item = self.scene.softs[part.name]
            size = self._element_size(part)
            wanted = 0.01 * size if isinstance(item, SoftBody) else 0.5 * item.thickness
            # thinner than the elements, or neighbours would repel each other
            reach[part.nodes] = min(wanted, 0.2 * size)
            friction[part.nodes] = item.friction
        surfaces = {2: [np.zeros((0, 2), dtype=np.int64)], 3: [np.zeros((0, 3), dtype=np.int64)]}
        for part in parts:
            surfaces[part.surface.shape[1]].append(part.surface)
        triangles, edges = np.concatenate(surfaces[3]), np.concatenate(surfaces[2])
        if flat:
            return OutlineCollisions(self.soft.x, edges, reach, friction)
        return SurfaceCollisions(self.soft.x, triangles, reach, friction, edges)

    def _is_convex(self, name: str) -> bool:
        """Whether a solid is one that does not come near itself."""
        item = self.scene.softs[name]
        return isinstance(item, SoftBody) and not item.shape.can_touch_itself

    def _make_points(self, length: float) -> RigidPoints | None:
        """What keeps points of rigid bodies out of faces of solids and cloth; in 2D out of outlines and ropes."""
        parts = [part for part in self.soft_parts if part.surface.shape[1] == self.soft.dimensions]
        if not parts or not self.bodies.count:
            return None
        radius, friction = np.zeros(self.soft.count), np.zeros(self.soft.count)
        for part in parts:
            item = self.scene.softs[part.name]
            radius[part.nodes] = 0.0 if isinstance(item, SoftBody) else 0.5 * item.thickness
            friction[part.nodes] = item.friction
        triangles = np.concatenate([part.surface for part in parts])
        closed = np.concatenate([np.full(len(part.surface), part.closed) for part in parts])
        return RigidPoints(self.soft, self.bodies, self.shapes, triangles, closed, radius, friction, length)

    # the step ---------------------------------------------------------------------------------------------------------

    def limits(self, time: float) -> list[Limit]:
        """Explicit schemes are stable up to the period of the fastest vibration."""
        explicit = not self._in_fluid and math.isfinite(self._stable)
        return [Limit("elastic", 0.8 * self._stable)] if explicit else []

    def step(self, time: float, time_step: float) -> ModelStep:
        rigid = RigidStages(self.solids) if self.bodies.count else None
        soft = self.soft_solids.stages(self._weight + self._drag(), self._gravity, self._expect(), rigid)
        advance([soft] if rigid is None else [soft, rigid], time, time_step)
        done = self.soft_report = soft.report
        self.elastic_energy = done.elastic
        events: tuple[str, ...] = ()
        iterations = done.iterations
        if rigid is not None:
            report = rigid.report()
            self.take_report(report)
            self._felt[0] = self._felt[1]
            forces = self.force_table
            self._felt[1, :, :3] = forces.contact + forces.joint
            self._felt[1, :, 3:] = forces.torque_solids
            if len(self.soft_solids.force_b):
                forces.contact[...] += self.soft_solids.force_b
            events = tuple(self.events(report))
            iterations += report.iterations
        if done.stuck and "descent" not in self._said:
            self._said.add("descent")
            text = "an iteration of the soft bodies found no descent of their energy; shorten the step"
            events += (f"{text} (the ledger counts how often)",)
        return ModelStep(iterations, done if rigid is None else report, events)

    def _expect(self) -> Array:
        """Forces and torques (b, 6) that joints and other rigid bodies will have on rigid ones, of those that last: the
        smaller of the last two steps, nothing where they differ in sign, as in a collision."""
        if self._felt.shape[1] != self.bodies.count:
            self._felt = np.zeros((2, self.bodies.count, 6))
        one, two = self._felt
        return np.asarray(np.where(one * two > 0, np.sign(one) * np.minimum(np.abs(one), np.abs(two)), 0.0))

    def _drag(self) -> Array:
        """Force of the wind (n, 3) [N] in the step that begins; implicit steps have its part that damps as such."""
        soft = self.soft
        soft.air.measure(soft.x, soft.v)
        return soft.air.force(soft.v if self.soft_solids.implicit is None else np.zeros_like(soft.v))

    def quantities(self) -> Iterator[Quantity]:
        yield from super().quantities()
        soft, of = self.soft, self._suffix
        linear, angular = soft.momentum()
        kinetic, potential = soft.kinetic_energy(), -float((self._weight * soft.x).sum())
        yield from components(f"momentum{of}", linear, MOMENTUM)
        yield from components(f"angular_momentum{of}", angular, ANGULAR_MOMENTUM)
        yield Quantity(f"kinetic_energy{of}", kinetic, ENERGY)
        yield Quantity(f"potential_energy{of}", potential, ENERGY)
        yield Quantity(f"energy{of}", kinetic + potential + self.elastic_energy, ENERGY)
        yield Quantity("soft_elastic_energy", self.elastic_energy, ENERGY)
        yield Quantity("soft_volume", sum(soft.volume(part) for part in soft.parts if part.closed), VOLUME)
        if self._in_fluid:
            yield from self.soft_forces.quantities(self.scene.softs)
        else:
            yield from self._own_quantities(self.soft_report)

    def _own_quantities(self, done: SoftStepReport) -> Iterator[Quantity]:
        """Of the solves of a step without fluid."""
        solids = self.soft_solids
        yield Quantity("soft_volume_error", done.volume_error, merge="max")
        yield Quantity("soft_contacts", done.contacts)
        yield Quantity("soft_newton", done.newton)
        yield Quantity("soft_iterations", done.iterations)
        yield Quantity("soft_penetration", done.penetration, LENGTH, "max")
        yield Quantity("soft_collisions", solids.pressing + solids.met.pushed)
        yield Quantity("soft_joined", solids.met.joined)
        yield Quantity("soft_work", done.work, ENERGY)
        yield Quantity("soft_stuck", done.stuck)

    def body_names(self) -> list[str]:
        return [*super().body_names(), *self.scene.softs]

    def body_state(self, name: str, time: float) -> BodyState:
        if name in self.scene.softs:
            nodes = self.soft.part(name).nodes
            mass = self._lumped[nodes, None]
            centre = (mass * self.soft.x[nodes]).sum(axis=0) / mass.sum()
            velocity = (mass * self.soft.v[nodes]).sum(axis=0) / mass.sum()
            return BodyState(centre, np.eye(3), velocity, np.zeros(3))
        return super().body_state(name, time)

    def nodes(self, name: str) -> Nodes:
        """The nodes of a soft body."""
        part, soft = self.soft.part(name), self.soft
        own = part.nodes
        elements = np.asarray(part.cells) - part.first
        return Nodes(name, soft.x[own].copy(), soft.v[own].copy(), soft.rest[own].copy(), self._lumped[own], elements)

    def body_forces(self, name: str) -> BodyForces:
        if name in self.scene.softs:
            return self.soft_forces.of(list(self.scene.softs).index(name))
        return super().body_forces(name)

    def body_frames(self) -> list[BodyFrame]:
        from undertow.output import BodyFrame

        frames = super().body_frames()
        for part in self.soft_parts:
            item = self.scene.softs[part.name]
            vertices, triangles, velocity = self._drawn(part, item)
            frames.append(BodyFrame(part.name, vertices, triangles, build.vector3(item.color), velocity))
        return frames

    def frames(self, time: float) -> list[object]:
        nodes = self.soft_frame()
        return [*super().frames(time), *([] if nodes is None else [nodes])]

    def soft_frame(self) -> SoftFrame | None:
        """Nodes and elements of all soft bodies; None without any."""
        from undertow.output.soft import SoftFrame

        soft, n = self.soft, max((part.stop for part in self.soft_parts), default=0)
        cells = {part.name: part.cells for part in self.soft_parts}
        return SoftFrame(soft.x[:n].copy(), soft.x[:n] - soft.rest[:n], soft.v[:n].copy(), cells) if n else None

    def _drawn(self, part: Any, item: SoftBody | Cloth | Rope) -> tuple[Array, Any, Array]:
        """Vertices, triangles and velocities of the closed surface that is drawn."""
        x, v = self.soft.x, self.soft.v
        if isinstance(item, Cloth):
            used, local = np.unique(part.surface, return_inverse=True)
            local = local.reshape(-1, 3)
            return (*thicken(x[used], local, 0.5 * item.thickness), np.concatenate([v[used]] * 2))
        if isinstance(item, Rope):
            nodes = np.arange(part.first, part.stop)
            if item.outline == "ring":
                nodes = np.append(nodes, part.first)
            vertices, triangles = meshes.tube(x[nodes], 0.5 * item.thickness)
            return vertices, triangles, np.repeat(v[nodes], len(vertices) // len(nodes), axis=0)
        if self.soft.dimensions == 2:
            return meshes.extrude(x, part.surface, v)
        if part.name in self._embedded:
            skin = self._embedded[part.name]
            return skin.carry(x), skin.triangles, skin.carry(v)
        used, local = np.unique(part.surface, return_inverse=True)
        return x[used], local.reshape(-1, 3), v[used]

    def arrays(self) -> dict[str, Array]:
        own = {"soft_contact_felt": self._felt, "soft_forces": self.soft_forces.values}
        return {**super().arrays(), **self.soft.arrays(), **self.soft_solids.arrays(), **own}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        super().restore(arrays, numbers, time)
        restore_arrays({**self.soft.arrays(), "soft_forces": self.soft_forces.values}, arrays)
        self.soft_solids.restore(arrays)
        self._felt = np.array(arrays["soft_contact_felt"])

    def locate(self, name: str, index: tuple[int, ...]) -> str:
        if name.startswith("soft_") and "contact" not in name:
            for part in self.soft.parts:
                if part.first <= index[0] < part.stop:
                    return f"first at node {index[0] - part.first} of objects.{part.name}"
        return super().locate(name, index)


def _pose(hold: Hold) -> tuple[Array, Array]:
    return np.array(build.vector3(hold.position)), geometry.rotation_matrix(hold.rotation.axis, hold.rotation.degrees)
