"""From a scene to its solids: rigid bodies, joints, soft bodies, cloth and ropes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.control import JointControl, Ramp
from undertow.run import build
from undertow.run.assembly import Assembly
from undertow.run.shapes import mesh_soft
from undertow.scene import (
    Cloth,
    Control,
    Hold,
    Joint,
    JointAxis,
    RigidBody,
    Rope,
    Scene,
    Sine,
    SoftBody,
    Static,
    Table,
)
from undertow.soft import Elastic, SoftBodies, SoftMesh, making, meshes
from undertow.soft.materials import find_hinges
from undertow.solids import SolidSettings
from undertow.solids.rigid_part import NewBody, NewJoint, RigidPart
from undertow.solids.schemes import RigidScheme, SolidsScheme
from undertow.solids.soft_part import SoftLook, SoftNodes, SoftPart, SoftSettings


def assemble_solids(scene: Scene) -> Assembly:
    """Solids without fluid."""
    if not scene.softs:
        rigid = make_rigid(scene)
        return Assembly([rigid], RigidScheme(rigid), list(rigid.notes))
    rigid, soft = make_soft(scene)
    return Assembly([rigid, soft], SolidsScheme(rigid, soft), [*rigid.notes, *soft.notes])


def make_rigid(scene: Scene, nodes: SoftNodes | None = None) -> RigidPart:
    """The rigid bodies and joints of a scene; nodes: what they carry."""
    chosen, shapes = scene.solids, dict[Hashable, geometry.Shape]()
    bodies = []
    for name in scene.bodies:
        body = read_body(scene, name, shapes)
        shapes[body.key] = body.shape
        bodies.append(body if nodes is None else replace(body, attached=nodes.carried_by(name)))
    settings = SolidSettings(
        gravity=build.vector3(scene.gravity),
        orientation_order=chosen.orientation_order,
        energy_fix=chosen.energy_fix,
        clamp=chosen.clamp,
        iterations=chosen.iterations,
        tolerance=chosen.tolerance,
    )
    joints = [_read_joint(name, joint) for name, joint in scene.joints.items()]
    rigid = RigidPart(scene.dimensions, bodies, joints, settings, chosen.joint_solver, scene.domain is not None)
    for body in bodies:
        rigid.notes += geometry.note_overlap(body.name, body.shape) if body.dynamic and body.mass is None else []
    return rigid


def make_soft(scene: Scene) -> tuple[RigidPart, SoftPart]:
    """The rigid bodies of a scene and the soft ones beside them; nodes come first, as rigid bodies may carry some. In
    fluid thin rigid shells have nodes too."""
    chosen, nodes = scene.soft, _read_nodes(scene)
    rigid = make_rigid(scene, nodes)
    settings = SoftSettings(
        build.vector3(scene.gravity),
        chosen.stepper,
        chosen.tolerance,
        chosen.volume_recovery,
        chosen.volume_solve,
        chosen.collisions,
    )
    return rigid, SoftPart(rigid, nodes, settings)


# rigid bodies and joints --------------------------------------------------------------------------------------------


def read_body(scene: Scene, name: str, shapes: Mapping[Hashable, geometry.Shape]) -> NewBody:
    """A body of a scene; shapes: of bodies before it, by the keys of those."""
    body = scene.bodies[name]
    density = body.density if body.shape.part_densities() else None
    key = (body.shape, body.is_dynamic, body.inertia, body.centre_of_mass, density)
    count = len(scene.bodies)
    return NewBody(
        name,
        key,
        shapes[key] if key in shapes else _read_shape(scene, name, body, density),
        build.make_motion(body),
        static=isinstance(body.motion, Static),
        dynamic=body.is_dynamic,
        mass=body.mass,
        density=body.density,
        inertia=body.inertia,
        centre_of_mass=None if body.centre_of_mass is None else build.vector3(body.centre_of_mass),
        velocity=build.vector3(body.velocity),
        angular_velocity=build.vector3(body.angular_velocity),
        friction=body.friction,
        restitution=body.restitution,
        rolling_friction=body.rolling_friction,
        torsional_friction=body.spinning_friction,
        collision_group=body.collision_group,
        collides_with=body.collides_with,
        color=build.vector3(body.color),
        visible=body.drawn,
        detail=48 if count <= 50 else 24 if count <= 300 else 16,
    )


def _read_shape(scene: Scene, name: str, body: RigidBody, density: float | None) -> geometry.Shape:
    shape = build.make_shape(name, body, scene.dimensions)
    if shape.is_animated:
        raise UserError(f"objects.{name}.shape: an animated mesh needs a [domain] with fluid; use a mesh")
    # what has no end is drawn twice as far as bodies are apart
    points = np.array([build.vector3(other.position) for other in scene.bodies.values()])
    return shape.drawn_to(2.0 * max(1.0, float(np.ptp(points, axis=0).max()))).with_density(density)


def _read_joint(name: str, joint: Joint) -> NewJoint:
    coordinates: dict[str, Joint | JointAxis] = {"": joint, **joint.axes}
    limits = {axis: _limits(one, _unit(joint, axis)) for axis, one in coordinates.items()}
    return NewJoint(
        name,
        joint.kind,
        joint.parent,
        joint.child,
        build.vector3(joint.position),
        joint.axis,
        joint.second_axis,
        limits.pop(""),
        math.inf if joint.break_force is None else joint.break_force,
        math.inf if joint.break_torque is None else joint.break_torque,
        joint.collide,
        {axis: limit for axis, limit in limits.items() if limit is not None},
        [
            _read_control(name, one.control, axis, _unit(joint, axis))
            for axis, one in coordinates.items()
            if one.control is not None
        ],
    )


def _read_control(name: str, control: Control, axis: str, unit: float) -> JointControl:
    largest = math.inf if control.limit is None else control.limit
    target: geometry.Curve
    target = Ramp(unit * (control.speed or 0.0)) if control.target is None else _scalar_curve(control.target, unit)
    return JointControl(name, target, control.stiffness, control.damping, largest, axis)


def _unit(joint: Joint, axis: str) -> float:
    """Of a coordinate of a joint in a scene: 1 [m] or a degree [rad]."""
    return 1.0 if joint.kind == "prismatic" or (joint.kind == "planar" and axis != "angle") else math.pi / 180


def _limits(axis: Joint | JointAxis, unit: float) -> tuple[float, float] | None:
    """Lowest and highest value of a coordinate [rad or m], if it has any."""
    if axis.lower is None and axis.upper is None:
        return None
    return (
        -math.inf if axis.lower is None else unit * axis.lower,
        math.inf if axis.upper is None else unit * axis.upper,
    )


def _scalar_curve(curve: float | Table | Sine, unit: float) -> geometry.Curve:
    """A curve of one component, in units of ``unit``."""
    if isinstance(curve, Table):
        return geometry.TableCurve(curve.times, list(unit * np.array(curve.values)), curve.interpolation)
    if isinstance(curve, Sine):
        return geometry.SineCurve(unit * float(curve.mean), unit * float(curve.amplitude), curve.frequency, curve.phase)  # type: ignore[arg-type]
    return geometry.ConstantCurve(unit * curve)


# soft bodies, cloth and ropes ---------------------------------------------------------------------------------------


def _read_nodes(scene: Scene) -> SoftNodes:
    """Nodes and elements of the soft bodies, and in fluid of thin rigid shells."""
    found = SoftNodes(SoftBodies(scene.dimensions))
    for name, item in scene.softs.items():
        if isinstance(item, SoftBody):
            mesh = _read_solid(found, name, item)
        elif isinstance(item, Cloth):
            mesh = _read_cloth(found, name, item)
        else:
            mesh = _read_rope(found, name, item, build.vector3(scene.gravity))
        for hold in item.holds:
            _read_hold(found, mesh, hold)
    if scene.domain is None:
        found.heavier = {name for name, body in scene.bodies.items() if body.is_dynamic}
        return found
    for name, body in scene.shells.items():
        sheet = build.make_shape(name, body, scene.dimensions).as_sheet()
        assert sheet is not None
        found.add_shell(name, making.place(_pose(body), sheet.vertices), sheet.elements, sheet.thick * sheet.sizes())
    return found


def _pose(item: SoftBody | Cloth | RigidBody | Hold) -> tuple[Array, Array]:
    return np.array(build.vector3(item.position)), geometry.rotation_matrix(item.rotation.axis, item.rotation.degrees)


def _read_solid(found: SoftNodes, name: str, item: SoftBody) -> SoftMesh:
    soft, pose = found.soft, _pose(item)
    x, cells, solid = mesh_soft(name, item.shape, item.element_size, soft.dimensions, item.embed)
    mesh = x, cells
    if solid is not None and item.element_size is not None:
        overlap = geometry.note_overlap(name, solid, soft=True)
        # else the triangles enclose some of the volume twice
        found.notes += overlap or making.check_filled(f"objects.{name}", mesh, solid.volume(), item.element_size)
    material = Elastic(item.density, item.youngs_modulus, item.poisson_ratio, item.model, item.damping)
    velocity, angular = build.vector3(item.velocity), item.angular_velocity
    added = making.add_solid(soft, name, mesh, pose, material, velocity, angular)
    surface = None
    if item.embed:
        assert item.element_size is not None
        surface = making.embed(soft, added, build.make_shape(name, item).surface(48), pose, item.element_size)
    found.looks[name] = SoftLook(
        "solid",
        build.vector3(item.color),
        item.friction,
        element_size=item.element_size,
        incompressible=item.incompressible,
        convex=not item.shape.can_touch_itself,
        surface=surface,
    )
    return added


def _read_cloth(found: SoftNodes, name: str, item: Cloth) -> SoftMesh:
    soft = found.soft
    regions = [(_region(name, hold, soft.dimensions), hold.until is None) for hold in item.holds]
    mesh = making.add_cloth(
        soft,
        name,
        _mesh_sheet(name, item),
        _pose(item),
        # a sheet of thickness 1: density and modulus are those of the whole sheet
        Elastic(item.density, item.stretching, item.poisson_ratio, "stvk", item.damping),
        item.bending,
        build.vector3(item.velocity),
        regions,
        fit=item.shape is None and item.outline != "balloon",
    )
    if item.drag > 0:
        soft.air.add(mesh.surface, np.array(build.vector3(item.wind)), item.drag)
    found.looks[name] = SoftLook(
        "cloth", build.vector3(item.color), item.friction, item.thickness, item.element_size
    )  # fmt: skip
    return mesh


def _mesh_sheet(name: str, item: Cloth) -> meshes.Mesh:
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
    return making.flat_sheet((size[0], size[1]), h, item.outline == "disc")


def _read_rope(found: SoftNodes, name: str, item: Rope, gravity: tuple[float, float, float]) -> SoftMesh:
    start, end, ring = build.vector3(item.position), build.vector3(item.end), item.outline == "ring"
    found.looks[name] = SoftLook(
        "ring" if ring else "rope", build.vector3(item.color), item.friction, item.thickness, item.element_size
    )
    return making.add_rope(
        found.soft, name, start, end, item.length, item.element_size, ring, item.density, item.stretching,
        item.damping, gravity,
    )  # fmt: skip


def _read_hold(found: SoftNodes, mesh: SoftMesh, hold: Hold) -> None:
    """Hold the nodes inside a region."""
    where = f"objects.{mesh.name}.holds"
    inside = making.nodes_inside(found.soft, mesh, _region(mesh.name, hold, found.soft.dimensions))
    if not len(inside):
        raise UserError(
            f"{where}: no node lies inside the {hold.shape.type} at {list(hold.position)} m; move or enlarge it"
        )
    if hold.body is not None:
        found.attach(where, hold.body, inside)
        return
    motion = build.make_motion(hold)
    found.soft.hold(inside, None if isinstance(motion, geometry.Static) else motion, hold.until)


def _region(name: str, hold: Hold, dimensions: int) -> Any:
    """Distance of points (n, 3) from the region of a hold (n,) [m]."""
    region = geometry.Solid(name, build.make_shape(name, hold), geometry.Static(*_pose(hold)))
    return lambda x: region.distance(x, 0.0, dimensions)
