"""From a scene to its solids: rigid bodies, joints, soft bodies, cloth and ropes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.grid import Array
from undertow.rigid.brittle import Brittle
from undertow.rigid.control import JointControl, Ramp
from undertow.rigid.table import BodyDescription, BodyTable
from undertow.run import build
from undertow.run.assembly import Assembly
from undertow.run.memory import check_memory
from undertow.run.shapes import mesh_soft
from undertow.scene import (
    Cloth,
    Control,
    ForceLoad,
    Fracture,
    Hold,
    Joint,
    JointAxis,
    PressureLoad,
    Region,
    RigidBody,
    Rope,
    Scene,
    Sine,
    SoftBody,
    Static,
    Table,
    Tear,
    TorqueLoad,
    TractionLoad,
)
from undertow.soft import Elastic, SoftBodies, SoftMesh, making, meshes
from undertow.soft.materials import find_hinges
from undertow.soft.tearing import Pairs, TearLimit
from undertow.solids import SolidSettings
from undertow.solids.loads import NewLoad
from undertow.solids.rigid_part import NewJoint, RigidPart
from undertow.solids.schemes import RigidScheme, SolidsScheme
from undertow.solids.soft_part import Holding, SoftLook, SoftNodes, SoftPart, SoftSettings


def assemble_solids(scene: Scene, table: BodyTable, starts: bool) -> Assembly:
    """Solids without fluid."""
    if not scene.softs:
        rigid, notes = make_rigid(scene, table, starts)
        return Assembly([rigid], RigidScheme(rigid), notes, follows_table=True)
    check_memory(scene, None)
    rigid, soft, notes = make_soft(scene, table, starts)
    return Assembly([rigid, soft], SolidsScheme(rigid, soft), [*notes, *soft.notes])


def make_rigid(
    scene: Scene, table: BodyTable, starts: bool, attached: Mapping[str, tuple[Array, Array]] | None = None
) -> tuple[RigidPart, list[str]]:
    """The rigid bodies of a table and the joints of a scene; attached: nodes that are parts of them. With notes for the
    user."""
    chosen = scene.solids
    for entry in table:
        if entry.description.shape.is_animated:
            raise UserError(f"objects.{entry.name}.shape: an animated mesh needs a [domain] with fluid; use a mesh")
    settings = SolidSettings(
        gravity=build.gravity_at_start(scene),
        orientation_order=chosen.orientation_order,
        energy_fix=chosen.energy_fix,
        clamp=chosen.clamp,
        iterations=chosen.iterations,
        tolerance=chosen.tolerance,
        sleep=math.inf if chosen.sleep is None else chosen.sleep,
    )
    joints = [read_joint(name, joint) for name, joint in scene.joints.items()]
    made = [read_joint(one.joint.name, Joint.model_validate(dict(one.source))) for one in table.joints]
    controls = [control for joint in made for control in joint.controls]
    rigid = RigidPart(table, joints, settings, chosen.joint_solver, scene.domain is not None, attached, controls)
    notes = rigid.check_overlaps() if starts else []
    for body in (entry.description for entry in table):
        notes += geometry.note_overlap(body.name, body.shape) if body.dynamic and body.mass is None else []
    return rigid, notes


def make_soft(scene: Scene, table: BodyTable, starts: bool) -> tuple[RigidPart, SoftPart, list[str]]:
    """The rigid bodies of a table and the soft ones of a scene beside them; nodes come first, as rigid bodies may carry
    some. In fluid thin rigid shells have nodes too. With notes on the rigid ones."""
    chosen, nodes = scene.soft, _read_nodes(scene, table)
    if scene.domain is None:
        nodes.heavier = {entry.name for entry in (*table.first, *table.made) if entry.description.dynamic}
    attached = {entry.name: nodes.carried_by(entry.name) for entry in table.first}
    nodes.let_go(entry.name for entry in table.gone)
    for entry in table.made:
        if entry.description.carried:
            nodes.carry(entry.name, entry.description.motion.pose(0.0), entry.description.carried)
            attached[entry.name] = nodes.carried_by(entry.name)
    if scene.domain is not None:
        _add_shells(nodes, table)
    rigid, notes = make_rigid(scene, table, starts, attached)
    settings = SoftSettings(
        build.gravity_at_start(scene),
        chosen.stepper,
        chosen.tolerance,
        chosen.volume_recovery,
        chosen.volume_solve,
        chosen.collisions,
    )
    return rigid, SoftPart(rigid, nodes, settings), notes


# rigid bodies and joints --------------------------------------------------------------------------------------------


def read_table(scene: Scene) -> BodyTable:
    """The bodies of a scene."""
    found, shapes, extent = list[BodyDescription](), dict[Hashable, geometry.Shape](), drawn_extent(scene)
    for name, body in scene.bodies.items():
        found.append(describe_body(scene, name, body, shapes, extent))
        shapes[found[-1].key] = found[-1].shape
    return BodyTable(scene.dimensions, found)


def drawn_extent(scene: Scene) -> float:
    """How far bodies without end are drawn [m]: twice as far as bodies are apart."""
    points = np.array([build.vector3(other.position) for other in scene.bodies.values()] or [(0.0, 0.0, 0.0)])
    return 2.0 * max(1.0, float(np.ptp(points, axis=0).max()))


def describe_body(
    scene: Scene, name: str, body: RigidBody, shapes: Mapping[Hashable, geometry.Shape], extent: float,
    made: bool = False,
) -> BodyDescription:  # fmt: skip
    """A body of a scene, or one ``made`` during its run; shapes: of bodies before it, by the keys of those; extent [m]:
    how far it is drawn if it has no end."""
    density = body.density if body.shape.part_densities() else None
    key = (body.shape, body.is_dynamic, body.inertia, body.centre_of_mass, density)
    count = len(scene.bodies)
    shape = shapes[key] if key in shapes else build.make_shape(name, body, scene.dimensions).with_density(density)
    return BodyDescription(
        name,
        key,
        shape,
        build.make_motion(body),
        static=isinstance(body.motion, Static) and not body.shape.is_animated,
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
        loads=[_read_load(name, load, scene.dimensions) for load in body.loads],
        slip=body.slip,
        contact_angle=body.contact_angle,
        color=build.vector3(body.color),
        visible=body.drawn,
        detail=48 if count <= 50 else 24 if count <= 300 else 16,
        extent=extent,
        brittle=None if body.fracture is None else _read_fracture(name, body.fracture, shape, scene.dimensions),
        source=body.model_dump(mode="json", exclude_none=True) if made else None,
    )


def _read_fracture(name: str, fracture: Fracture, shape: geometry.Shape, dimensions: int) -> Brittle:
    """How a body breaks, checked."""
    from undertow.rigid.fracture import check_brittle

    options = {key: int(value) if value.is_integer() else value for key, value in fracture.options.items()}
    rule = Brittle(
        fracture.folder or fracture.pattern,
        0 if fracture.folder else fracture.pieces,
        fracture.seed,
        tuple(options.items()),
        math.inf if fracture.strength is None else fracture.strength,
        math.inf if fracture.strength_force is None else fracture.strength_force,
        fracture.strength_time,
        fracture.smallest,
        fracture.most_fragments,
        fracture.method,
        build.vector3(fracture.color),
    )
    check_brittle(name, shape, rule, dimensions)
    return rule


def read_joint(name: str, joint: Joint) -> NewJoint:
    """A joint of a scene, its angles in radians."""
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


def _read_nodes(scene: Scene, table: BodyTable) -> SoftNodes:
    """Nodes and elements of the soft bodies, torn as the table has them."""
    found = SoftNodes(SoftBodies(scene.dimensions))
    for name, item in scene.softs.items():
        torn = table.torn.get(name, ())
        if isinstance(item, SoftBody):
            mesh = _read_solid(found, name, item, torn)
        elif isinstance(item, Cloth):
            mesh = _read_cloth(found, name, item, torn)
        else:
            mesh = _read_rope(found, name, item, build.gravity_at_start(scene), torn)
        for hold in item.holds:
            _read_hold(found, mesh, hold)
        found.loads += [(name, _read_load(name, load, scene.dimensions)) for load in item.loads]
    return found


def _add_shells(found: SoftNodes, table: BodyTable) -> None:
    """Nodes of the thin rigid shells, where they start."""
    for entry in table:
        sheet = entry.description.shape.as_sheet()
        if sheet is not None:
            pose = entry.description.motion.pose(0.0)
            found.add_shell(entry.name, making.place(pose, sheet.vertices), sheet.elements, sheet.thick * sheet.sizes())


def _pose(item: SoftBody | Cloth | Hold | Region) -> tuple[Array, Array]:
    return np.array(build.vector3(item.position)), geometry.rotation_matrix(item.rotation.axis, item.rotation.degrees)


def _read_tear(tear: Tear | None, material: Elastic | None = None) -> TearLimit | None:
    if tear is None:
        return None
    kind = "stress" if tear.stretch is None else "stretch"
    return TearLimit(kind, float(tear.stretch or tear.stress or math.inf), material)


def _read_solid(found: SoftNodes, name: str, item: SoftBody, torn: Pairs) -> SoftMesh:
    soft, pose = found.soft, _pose(item)
    x, cells, solid = mesh_soft(name, item.shape, item.element_size, soft.dimensions, item.embed)
    mesh = x, cells
    if solid is not None and item.element_size is not None:
        overlap = geometry.note_overlap(name, solid, soft=True)
        # else the triangles enclose some of the volume twice
        found.notes += overlap or making.check_filled(f"objects.{name}", mesh, solid.volume(), item.element_size)
    modulus, ratio = item.youngs_modulus, item.poisson_ratio
    if ratio == 0.5:
        # rings keep the volume: single elements have the shear modulus E / 3 and no lambda, which would lock them
        modulus, ratio = modulus / 1.5, 0.0
    material = Elastic(item.density, modulus, ratio, item.model, item.damping)
    velocity, angular = build.vector3(item.velocity), item.angular_velocity
    added = making.add_solid(soft, name, mesh, pose, material, velocity, angular, torn)
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
        convex=not item.shape.can_touch_itself and not torn,
        surface=surface,
        tear=_read_tear(item.tear, material),
    )
    return added


def _read_cloth(found: SoftNodes, name: str, item: Cloth, torn: Pairs) -> SoftMesh:
    soft = found.soft
    regions = [(_region(name, hold, soft.dimensions), hold.clamps) for hold in item.holds]
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
        torn=torn,
    )
    if item.drag > 0:
        soft.air.add(mesh.surface, np.array(build.vector3(item.wind)), item.drag)
    found.looks[name] = SoftLook(
        "cloth", build.vector3(item.color), item.friction, item.thickness, item.element_size,
        tear=_read_tear(item.tear),
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


def _read_rope(
    found: SoftNodes, name: str, item: Rope, gravity: tuple[float, float, float], torn: Pairs
) -> SoftMesh:
    start, end, ring = build.vector3(item.position), build.vector3(item.end), item.outline == "ring"
    found.looks[name] = SoftLook(
        "ring" if ring else "rope", build.vector3(item.color), item.friction, item.thickness, item.element_size,
        tear=_read_tear(item.tear),
    )  # fmt: skip
    return making.add_rope(
        found.soft, name, start, end, item.length, item.element_size, ring, item.density, item.stretching,
        item.damping, gravity, torn,
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
        found.holds.setdefault(mesh.name, []).append(Holding(inside))
        return
    motion = build.make_motion(hold)
    x, y, z = (axis in hold.axes for axis in "xyz")
    found.soft.hold(inside, None if isinstance(motion, geometry.Static) else motion, hold.until, (x, y, z))
    found.holds.setdefault(mesh.name, []).append(Holding(inside, (x, y, z)))


def _read_load(name: str, load: ForceLoad | TorqueLoad | TractionLoad | PressureLoad, dimensions: int) -> NewLoad:
    if isinstance(load, ForceLoad):
        at = None if load.at is None else np.array(build.vector3(load.at))
        return NewLoad("force", build.make_curve(load.force), at)
    if isinstance(load, TorqueLoad):
        return NewLoad("torque", build.make_curve(load.torque))
    region = None if load.region is None else _region(name, load.region, dimensions)
    if isinstance(load, TractionLoad):
        return NewLoad("traction", build.make_curve(load.traction), region=region)
    return NewLoad("pressure", _scalar_curve(load.pressure, 1.0), region=region)


def _region(name: str, hold: Hold | Region, dimensions: int) -> Any:
    """Distance of points (n, 3) from the region of a hold or a load (n,) [m]."""
    region = geometry.Solid(name, build.make_shape(name, hold), geometry.Static(*_pose(hold)))
    return lambda x: region.distance(x, 0.0, dimensions)
