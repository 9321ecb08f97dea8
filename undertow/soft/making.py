"""Soft bodies out of plain values: placed, meshed, given a mass and a velocity, and added to the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.shapes import Surface
from undertow.geometry.sheets import outline_of
from undertow.grid import Array
from undertow.soft import meshes
from undertow.soft.bodies import SoftBodies, SoftMesh
from undertow.soft.clamping import INSIDE, fit_to_region
from undertow.soft.embedding import Embedding, split_long
from undertow.soft.materials import Elastic, cell_volumes, make_bending, make_edges, make_membrane, make_solid
from undertow.soft.tearing import Pairs, tear_mesh

Region = Callable[[Array], Array]
"""Signed distance (n,) [m] of points (n, 3) [m] from a region."""

Pose = tuple[Array, Array]
"""Position (3,) [m] and rotation (3, 3)."""


def place(pose: Pose, x: Array) -> Array:
    """Points x (n, 3) [m] of a body's own frame in the world."""
    position, rotation = pose
    return np.asarray(x @ rotation.T + position)


def check_filled(where: str, mesh: meshes.Mesh, volume: float, size: float) -> list[str]:
    """Elements of ``size`` [m] must fill a solid of a volume [m3]: they lose what is thinner than they are, and what
    its triangles turn inside out counts as outside. Notes on what they miss."""
    share = float(cell_volumes(*mesh).sum()) / volume
    if not 0.5 < share < 1.5:
        raise UserError(
            f"{where}.shape: cannot be meshed with elements of {size:g} m: they fill {100 * share:.0f}% of the volume "
            f"that its surface encloses; make element_size smaller where parts are thin, and repair a surface that "
            f"crosses itself or is partly inside out"
        )
    if abs(share - 1.0) > 0.1:
        return [f"{where}: its elements fill {100 * share:.0f}% of the volume of its surface"]
    return []


def add_solid(
    soft: SoftBodies, name: str, mesh: meshes.Mesh, pose: Pose, material: Elastic, velocity: Any,
    angular_velocity: Any, torn: Pairs = (),
) -> SoftMesh:  # fmt: skip
    """Add an elastic solid: mesh in its own frame, velocity (3,) [m/s] and angular_velocity (3,) [rad/s]; torn: pairs
    of elements that have parted."""
    x, cells, origin = tear_mesh(place(pose, mesh[0]), mesh[1], torn)
    mass, elements = make_solid(f"objects.{name}", x, cells, material)
    moving = np.cross(np.array(angular_velocity), x - pose[0]) + np.array(velocity)
    surface = meshes.surface_of(cells) if cells.shape[1] == 4 else outline_of(cells)
    return soft.add(name, x, mass, [elements], cells, surface, closed=True, velocity=moving, origin=origin)


def embed(soft: SoftBodies, mesh: SoftMesh, surface: Surface, pose: Pose, spacing: float) -> Embedding:
    """A surface in the frame of a body that its elements, of ``spacing`` [m], carry along."""
    vertices, triangles = split_long(*surface, spacing)
    points, cells = place(pose, vertices), mesh.cells - mesh.first
    return Embedding(f"objects.{mesh.name}", points, triangles, soft.x[mesh.nodes], cells, mesh.first)


def flat_sheet(size: tuple[float, float], spacing: float, disc: bool) -> meshes.Mesh:
    """A rectangle, or an ellipse, of triangles in the x-z plane, its normal along +y."""
    if disc:
        x, triangles = meshes.disc_triangles(0.5, spacing / max(size))
        x = x * np.array([*size, 0.0])
    else:
        counts = [max(1, round(s / spacing)) for s in size]
        x, triangles = meshes.grid_triangles((size[0], size[1]), (counts[0], counts[1]), crossed=False)
    # the x-y plane of the grid becomes the x-z plane, its normal +z becomes +y
    return np.stack([x[:, 0], np.zeros(len(x)), -x[:, 1]], axis=1), triangles


def add_cloth(
    soft: SoftBodies,
    name: str,
    mesh: meshes.Mesh,
    pose: Pose,
    material: Elastic,
    bending: float,
    velocity: Any,
    regions: Sequence[tuple[Region, bool]],
    fit: bool,
    torn: Pairs = (),
) -> SoftMesh:
    """Add a sheet: mesh in its own frame; material of the whole sheet, as if it were 1 m thick; bending [N m];
    velocity (3,) [m/s].

    regions: what holds its nodes, and whether for ever, which clamps it; fit: nodes near the end of a region move
    there. torn: pairs of triangles that have parted.
    """
    x, triangles = place(pose, mesh[0]), mesh[1]
    if fit:
        for region, _ in regions:
            x = fit_to_region(x, triangles, region)
    x, triangles, origin = tear_mesh(x, triangles, torn)
    where = f"objects.{name}"
    mass, membrane = make_membrane(where, x, triangles, material, 1.0)
    groups: list[Any] = [membrane]
    if bending > 0:
        clamped = np.zeros(len(x), dtype=bool)
        for region, lasts in regions:
            if lasts:
                clamped |= region(x) <= INSIDE
        groups.append(make_bending(where, x, triangles, bending, material.damping, clamped))
    return soft.add(name, x, mass, groups, triangles, triangles, velocity=velocity, origin=origin)


def add_rope(
    soft: SoftBodies,
    name: str,
    start: Any,
    end: Any,
    length: float | None,
    spacing: float,
    ring: bool,
    density: float,
    stretching: float,
    damping: float,
    gravity: Any,
    torn: Pairs = (),
) -> SoftMesh:
    """Add a rope from start to end (3,) [m] in segments of about ``spacing`` [m], sagging where it is longer than they
    are apart; ring: a circle over them. density [kg/m], stretching [N], damping [s], gravity (3,) [m/s2]; torn: pairs
    of segments that have parted."""
    start, end, down = np.array(start), np.array(end), _direction(np.array(gravity))
    whole = length or float(np.linalg.norm(end - start))
    if ring:
        count = max(3, round(np.pi * whole / spacing))
        x = meshes.ring_points(start, end, count, down)
        edges = np.stack([np.arange(count), (np.arange(count) + 1) % count], axis=1)
    else:
        count = max(2, round(whole / spacing))
        x = meshes.rope_points(start, end, whole, count, down)
        edges = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    x, edges, origin = tear_mesh(x, edges, torn)
    springs = make_edges(f"objects.{name}", x, edges, stretching, damping)
    mass = np.asarray(density * np.bincount(edges.ravel(), np.repeat(0.5 * springs.rest, 2)), dtype=float)
    return soft.add(name, x, mass, [springs], edges, edges, origin=origin)


def _direction(gravity: Array) -> Array:
    """Unit vector of gravity; -y without any."""
    size = float(np.linalg.norm(gravity))
    return np.asarray(gravity / size) if size > 0 else np.array([0.0, -1.0, 0.0])


def nodes_inside(soft: SoftBodies, mesh: SoftMesh, region: Region) -> Any:
    """The nodes of a body inside a region, by number of all nodes."""
    return np.flatnonzero(region(soft.x[mesh.nodes]) <= INSIDE) + mesh.first
