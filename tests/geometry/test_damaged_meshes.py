"""Meshes that cannot be: indices beyond the vertices, sizes beyond all measure, parts that overlap."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import (
    Box,
    ConstantCurve,
    MeshShape,
    Solid,
    SolidFields,
    Sphere,
    Static,
    VelocityCurves,
    load_mesh,
    note_overlap,
    rotation_matrix,
)
from undertow.geometry.clipped import clip_to_grid
from undertow.geometry.meshes import load_triangles
from undertow.geometry.sdf_grid import MOST_SAMPLES
from undertow.grid import Grid

PLY = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
element face 4
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
0 0 1
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 {last}
"""


@pytest.mark.parametrize("last", [4, 900, -7, 2**31 - 1])
def test_a_vertex_that_is_not_there(tmp_path: Path, last: int) -> None:
    path = tmp_path / "a.ply"
    path.write_text(PLY.format(last=3))
    assert load_mesh(path).volume() == pytest.approx(1.0 / 6.0)
    path.write_text(PLY.format(last=last))
    for load in (load_mesh, load_triangles):
        with pytest.raises(ut.UserError, match=r"mesh a.ply"):
            load(path)


def test_a_glb_with_a_vertex_that_is_not_there(tmp_path: Path) -> None:
    import trimesh

    path = tmp_path / "a.glb"
    trimesh.creation.box().export(path)
    data = bytearray(path.read_bytes())
    json_length = struct.unpack_from("<I", data, 12)[0]
    whole = load_mesh(path)
    start = 20 + json_length + 8
    for offset in (start, start + 36):  # the indices come first, the vertices after them
        spoiled = data.copy()
        spoiled[offset : offset + 4] = struct.pack("<I", 5000)
        path.write_bytes(spoiled)
        try:
            found = load_mesh(path)
        except ut.UserError as error:
            assert "mesh a.glb" in str(error)
        else:
            assert found.triangles.max() < len(found.vertices)
    assert whole.volume() == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e30, 1e-12])
def test_meshes_beyond_all_measure(size: float) -> None:
    vertices, triangles = Sphere(1.0).surface(8)
    with pytest.raises(ut.UserError, match=r"check its unit and the key scale"):
        MeshShape(size * vertices, triangles)
    with pytest.raises(ut.UserError, match=r"check its unit and the key scale"):
        MeshShape(vertices, triangles).scaled(size)


def test_a_mesh_far_larger_than_the_grid_is_refused_before_the_memory_is() -> None:
    vertices, triangles = Sphere(1e5).surface(8)
    with pytest.raises(ut.UserError, match=r"cut it to about the size of the domain"):
        MeshShape(vertices, triangles).sample(0.0, 0.01, 0.03)
    assert MOST_SAMPLES * 8 < 1e9


def test_parts_that_overlap_are_noticed() -> None:
    """Two balls of radius 1 whose centres are 1 apart share 5 pi / 12 of their volume, which would weigh twice."""
    vertices, triangles = Sphere(1.0).surface(24)
    both = np.concatenate([triangles, triangles + len(vertices)])
    apart = np.concatenate([vertices, vertices + [3.0, 0.0, 0.0]]), both
    joined = np.concatenate([vertices, vertices + [1.0, 0.0, 0.0]]), both
    assert MeshShape(*apart).overlap() == 0.0
    assert 0.1 < MeshShape(*joined).overlap() < 0.5
    assert note_overlap("duck", MeshShape(*apart)) == note_overlap("duck", Sphere(1.0)) == []
    assert "objects.duck: 2" in (said := note_overlap("duck", MeshShape(*joined))[0]) and "weighs twice" in said
    assert "fill the parts as one body" in note_overlap("duck", MeshShape(*joined), soft=True)[0]
    assert MeshShape(*joined).volume() == pytest.approx(MeshShape(*apart).volume())


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("degrees", [0.0, 20.0])
def test_a_ground_far_larger_than_the_grid_is_clipped_to_it(dimensions: int, degrees: float) -> None:
    """The fields of a cube of 200 km as a mesh are those of the cube by its formula; one that moves is refused."""
    n = 12
    grid = Grid(
        (n, n, n if dimensions == 3 else 1), 1 / n, (0.0, 0.0, 0.0 if dimensions == 3 else -0.5 / n), dimensions
    )
    rotation = rotation_matrix((0.0, 0.0, 1.0), degrees)
    at = Static(np.array([0.1, 0.42, 0.3]) - 1e5 * rotation[:, 1], rotation)
    cube = Box((2e5, 2e5, 2e5))
    mesh = Solid("ground", MeshShape(*cube.surface()), at)
    clipped = clip_to_grid(mesh, grid)
    found, wanted = (SolidFields(grid, [solid]) for solid in (clipped, Solid("ground", cube, at)))
    for fields in (found, wanted):
        fields.update(0.0)
    assert 0.1 < wanted.volume_c[grid.interior].mean() < 0.9
    for name in ("phi_n", "area_f", "volume_c", "distance_f"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-8, err_msg=name)
    assert np.array_equal(found.body_c, wanted.body_c)
    assert clipped.shape.volume() == mesh.shape.volume() == pytest.approx(8e15)
    moving = Solid("ground", mesh.shape, VelocityCurves(ConstantCurve((1.0, 0.0, 0.0)), position=at.position))
    for refuses in (lambda: clip_to_grid(moving, grid), lambda: SolidFields(grid, [moving]).update(0.0)):
        with pytest.raises(ut.UserError, match=r"cut it to about the size of the domain"):
            refuses()
    small = Solid("ground", MeshShape(*Box((2.0, 2.0, 2.0)).surface()), moving.motion)
    assert clip_to_grid(small, grid) is small


def test_what_lies_inside_the_domain_is_not_clipped() -> None:
    grid = Grid((8, 8, 8), 0.125, (0.0, 0.0, 0.0), 3)
    ball = Solid("ball", MeshShape(*Sphere(0.7).surface(8)), Static(np.full(3, 0.5)))
    assert clip_to_grid(ball, grid) is ball
    box = Solid("box", Box((1e5, 1e5, 1e5)), Static())
    assert clip_to_grid(box, grid) is box
