"""From the shapes of a scene to geometry and to the elements of soft bodies: one line per shape in ``SHAPES``.

A new shape is a class of the scene (a subclass of ``ShapeModel``), a class of geometry (a subclass of ``Shape``), and
its line here. Without a mesher of its own a soft body of it is filled with tetrahedra by its distance.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import undertow.geometry as geometry
from undertow.errors import UserError
from undertow.geometry import sheets
from undertow.grid import Array
from undertow.scene.heights import HeightSine

if TYPE_CHECKING:
    from undertow.scene import ShapeModel

Maker = Callable[[Any, int], geometry.Shape]
"""(shape of the scene, dimensions of the scene) -> geometry."""

Mesher = Callable[[str, Any, float, int], tuple[Array, Any]]
"""(path for messages, shape of the scene, size of the elements [m], dimensions) -> nodes (n, 3) and elements."""


class ShapeKind(NamedTuple):
    """How a shape is made.

    make: None of a shape that soft bodies alone have; soft_mesh: None, filled by its distance; soft_in: dimensions of
    the scenes in which a soft body can have it.
    """

    make: Maker | None
    soft_mesh: Mesher | None = None
    soft_in: tuple[int, ...] = (3,)


def make_shape(name: str, item: Any, dimensions: int = 3) -> geometry.Shape:
    """The shape of an object; mesh files are read here. dimensions: of the scene, for thin shells."""
    return _make(f"objects.{name}.shape", item.shape, dimensions)


def _make(path: str, shape: ShapeModel, dimensions: int) -> geometry.Shape:
    make = SHAPES[shape.type].make
    assert make is not None, f"{shape.type}: of soft bodies alone"
    try:
        return make(shape, dimensions)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def mesh_soft(
    name: str, shape: ShapeModel, size: float | None, dimensions: int, carried: bool = False
) -> tuple[Array, Any, geometry.Shape | None]:
    """Nodes (n, 3) and elements of ``size`` [m] of a soft body in its own frame, and the solid that they fill, if they
    need not fill it exactly. carried: a surface of its own hangs on the elements, thin parts included."""
    from undertow.soft import meshes
    from undertow.soft.fitting import fit_edges

    kind, path = SHAPES[shape.type], f"objects.{name}.shape"
    if dimensions not in kind.soft_in:
        if shape.has_elements:
            raise UserError(f"{path}: a 2D scene has no tetrahedra; use a box or a sphere (disc)")
        raise UserError(f"{path}: soft bodies in 2D are polygons, boxes and spheres (discs)")
    if kind.soft_mesh is not None:
        return (*kind.soft_mesh(path, shape, size or 0.0, dimensions), None)
    assert size is not None
    solid = _make(path, shape, 3)
    x, cells = meshes.fill_shape(f"objects.{name}", solid.distance, *solid.bounds(), size, not carried)
    mesh = solid.as_mesh()
    return (x, cells, None) if mesh is None else (*fit_edges(mesh, x, cells, size), solid)


# makers -----------------------------------------------------------------------------------------------------------


def _make_box(shape: Any, dimensions: int) -> geometry.Shape:
    x, y, z = shape.size if len(shape.size) == 3 else (*shape.size, max(shape.size))
    return geometry.Box((float(x), float(y), float(z)))


def _make_plane(shape: Any, dimensions: int) -> geometry.Shape:
    x, y, z = (*shape.normal, 0.0)[:3]
    return geometry.Plane((float(x), float(y), float(z)))


def _make_mesh(shape: Any, dimensions: int) -> geometry.Shape:
    mesh = geometry.load_mesh(Path(shape.file))
    return mesh if shape.scale == 1.0 else mesh.scaled(shape.scale)


def _make_sequence(shape: Any, dimensions: int) -> geometry.Shape:
    moving = geometry.load_sequence([Path(f) for f in shape.files], shape.frame_rate)
    return geometry.AnimatedMesh(shape.scale * moving.frames, moving.triangles, shape.frame_rate)


def _make_compound(shape: Any, dimensions: int) -> geometry.Shape:
    parts = []
    for n, part in enumerate(shape.parts):
        own = _make(f"parts.{n}.shape", part.shape, dimensions)
        position = np.array((*part.position, 0.0)[:3], dtype=float)
        turn = geometry.rotation_matrix(part.rotation.axis, part.rotation.degrees)
        parts.append(geometry.Part(own, position, turn, part.density))
    return geometry.Compound(parts)


def _make_shell(shape: Any, dimensions: int) -> geometry.Shape:
    return SHEETS[shape.form.type](shape.form, shape.thickness, dimensions)


def _make_heights(shape: Any, dimensions: int) -> geometry.Shape:
    given = shape.height
    if isinstance(given, HeightSine):
        axis, k = "xz".index(given.along), 2.0 * np.pi / given.wavelength
        return geometry.Below(lambda x, z: given.mean + given.amplitude * np.sin(k * (x, z)[axis] + given.phase))
    axes = [(0, given.x), *([] if given.z is None else [(2, given.z)])]
    table = geometry.PlaceTable(axes, given.values)
    return geometry.Below(lambda x, z: table(np.column_stack([x, 0.0 * x, z])))


def _mesh_box(path: str, shape: Any, size: float, dimensions: int) -> tuple[Array, Any]:
    from undertow.soft import meshes

    counts = [max(1, round(s / size)) for s in shape.size[:dimensions]]
    if dimensions == 2:
        return meshes.grid_triangles((shape.size[0], shape.size[1]), (counts[0], counts[1]))
    return meshes.grid_tetrahedra((shape.size[0], shape.size[1], shape.size[2]), (counts[0], counts[1], counts[2]))


def _mesh_sphere(path: str, shape: Any, size: float, dimensions: int) -> tuple[Array, Any]:
    from undertow.soft import meshes

    if dimensions == 2:
        return meshes.disc_triangles(shape.radius, size)
    ball = geometry.Sphere(shape.radius)
    return meshes.fill_shape(path.removesuffix(".shape"), ball.distance, *ball.bounds(), size)


def _mesh_polygon(path: str, shape: Any, size: float, dimensions: int) -> tuple[Array, Any]:
    from undertow.soft.polygons import mesh_polygon

    corners = np.array(shape.points if shape.area() > 0 else shape.points[::-1])
    return mesh_polygon(path, corners, size)


def _load_tetrahedra(path: str, shape: Any, size: float, dimensions: int) -> tuple[Array, Any]:
    from undertow.soft.tetfiles import load_tetrahedra

    try:
        return load_tetrahedra(shape.file, shape.scale)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


SHAPES: dict[str, ShapeKind] = {
    "sphere": ShapeKind(lambda s, d: geometry.Sphere(s.radius), _mesh_sphere, (2, 3)),
    "box": ShapeKind(_make_box, _mesh_box, (2, 3)),
    "capsule": ShapeKind(lambda s, d: geometry.Capsule(s.radius, s.length)),
    "cylinder": ShapeKind(lambda s, d: geometry.Cylinder(s.radius, s.length)),
    "torus": ShapeKind(lambda s, d: geometry.Torus(s.radius, s.tube)),
    "plane": ShapeKind(_make_plane),
    "heights": ShapeKind(_make_heights),
    "mesh": ShapeKind(_make_mesh),
    "mesh_sequence": ShapeKind(_make_sequence),
    "bunny": ShapeKind(lambda s, d: geometry.make_bunny(s.size)),
    "hull": ShapeKind(lambda s, d: geometry.make_hull(np.array(s.points))),
    "boat": ShapeKind(lambda s, d: geometry.make_boat(s.length, s.width, s.height, s.wall)),
    "gear": ShapeKind(lambda s, d: geometry.make_gear(s.radius, s.thickness, s.teeth, s.depth, s.hole)),
    "compound": ShapeKind(_make_compound),
    "shell": ShapeKind(_make_shell),
    "tetrahedra": ShapeKind(None, _load_tetrahedra),
    "polygon": ShapeKind(None, _mesh_polygon, (2,)),
}
"""How each shape of a scene is made, by its type."""

SHEETS: dict[str, Callable[[Any, float, int], geometry.Sheet]] = {
    "polyline": lambda s, thick, d: sheets.make_polyline(np.array(s.points), s.closed, thick),
    "plate": lambda s, thick, d: sheets.make_plate((s.size[0], s.size[1]), thick),
    "tub": lambda s, thick, d: sheets.make_tub(s.size[:d], thick),
    "bowl": lambda s, thick, d: sheets.make_bowl(s.radius, s.depth, thick, d),
    "boat": lambda s, thick, d: sheets.make_boat_sheet(s.length, s.width, s.height, thick),
    "mesh": lambda s, thick, d: sheets.load_sheet(s.file, s.scale, thick),
}
"""How each form of a thin shell is made, by its type."""
