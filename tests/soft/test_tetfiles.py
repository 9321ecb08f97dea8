"""Solids given as tetrahedra, and surfaces that cannot be filled: what works, and what is refused with one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow.cli import app
from undertow.errors import UserError
from undertow.soft.materials import cell_volumes
from undertow.soft.meshes import grid_tetrahedra
from undertow.soft.tetfiles import load_tetrahedra
from undertow.solids.soft_part import SoftPart

X, CELLS = grid_tetrahedra((0.2, 0.2, 0.2), (1, 1, 1))


def _msh(version: int, cells: Any, points: Any = X) -> str:
    """The same mesh in a version of Gmsh's format, with a triangle and a node of no element among it."""
    n, m = len(points) + 1, len(cells) + 1
    nodes = [*points, (9.0, 9.0, 9.0)]
    if version == 2:
        listed = [f"{i + 5} {x} {y} {z}" for i, (x, y, z) in enumerate(nodes)]
        body = ["1 2 2 0 1 5 6 7", *(f"{i + 2} 4 2 0 1 " + " ".join(map(str, c + 5)) for i, c in enumerate(cells))]
        head = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(n)]
        return "\n".join([*head, *listed, "$EndNodes", "$Elements", str(m), *body, "$EndElements", ""])
    tags, places = [str(i + 5) for i in range(n)], [f"{x} {y} {z}" for x, y, z in nodes]
    body = [
        "2 1 2 1",
        "1 5 6 7",
        f"3 1 4 {m - 1}",
        *(f"{i + 2} " + " ".join(map(str, c + 5)) for i, c in enumerate(cells)),
    ]
    head = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Nodes", f"1 {n} 5 {n + 4}", f"3 1 0 {n}"]
    return "\n".join([*head, *tags, *places, "$EndNodes", "$Elements", f"2 {m} 1 {m}", *body, "$EndElements", ""])


def _body(path: Path, **changes: Any) -> ut.SoftBody:
    return ut.SoftBody(shape=ut.Tetrahedra(file=str(path), **changes), position=(0.0, 0.2, 0.0))


def _simulate(body: ut.SoftBody) -> ut.Simulation:
    ground = ut.RigidBody(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.0, 0.0))
    objects: Any = {"ground": ground, "jelly": body}
    return ut.Simulation(ut.Scene(name="t", time=ut.Time(end=1.0, max_step=0.01), objects=objects), threads=1)


@pytest.mark.parametrize("kind", ["2", "4", "npz"])
def test_tetrahedra_from_a_file_fall_as_the_box_they_are(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("jelly.npz" if kind == "npz" else "jelly.msh")
    if kind == "npz":
        np.savez(path, points=1000 * X, tetrahedra=CELLS)
    else:
        path.write_text(_msh(int(kind), CELLS, 1000 * X))
    sim = _simulate(_body(path, scale=1e-3))
    soft = sim.part(SoftPart).soft
    assert soft.count == len(X) and soft.mass.sum() == pytest.approx(8.0)
    box = _simulate(ut.SoftBody(shape=ut.Box(size=(0.2, 0.2, 0.2)), position=(0.0, 0.2, 0.0), element_size=0.2))
    for _ in range(5):
        sim.step(), box.step()
    assert sim.body("jelly").position == pytest.approx(box.body("jelly").position, abs=1e-9)


def test_left_handed_files_are_turned(tmp_path: Path) -> None:
    np.savez(tmp_path / "left.npz", points=X, tetrahedra=CELLS[:, [1, 0, 2, 3]])
    assert (cell_volumes(*load_tetrahedra(tmp_path / "left.npz")) > 0).all()


TWO = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.0]])
BAD: dict[str, tuple[Any, Any, str]] = {
    "inverted": (TWO, [[0, 1, 2, 3], [1, 2, 4, 3]], "element 1 is inverted"),
    "flat": (TWO * (1, 1, 0), [[0, 1, 2, 3]], "element 0 is without volume"),
    "numbers": (TWO, [[0, 1, 2, 7]], "has a node that is none of the 5 points"),
    "doubled": (TWO, [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]], "faces belong to more than two tetrahedra"),
    "not finite": (np.full((4, 3), np.nan), [[0, 1, 2, 3]], "not a finite number"),
    "triangles": (TWO, [[0, 1, 2]], r"needs points \(n, 3\) and tetrahedra \(m, 4\)"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_tetrahedra(tmp_path: Path, mistake: str) -> None:
    points, cells, message = BAD[mistake]
    np.savez(tmp_path / "bad.npz", points=points, tetrahedra=cells)
    with pytest.raises(UserError, match=f"objects.jelly.*{message}"):
        _simulate(_body(tmp_path / "bad.npz"))


def test_bad_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "code.npz", points=np.array([{"a": 1}], dtype=object), tetrahedra=CELLS)
    np.savez(tmp_path / "names.npz", x=X, tetrahedra=CELLS)
    (tmp_path / "cut.msh").write_text(_msh(4, CELLS)[:300])
    (tmp_path / "empty.msh").write_text(_msh(2, CELLS[:0]))
    (tmp_path / "binary.msh").write_text("$MeshFormat\n4.1 1 8\n$EndMeshFormat\n")
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 nothing")
    for name, message in (
        ("code.npz", "cannot be read"), ("names.npz", "has no array 'points'"), ("cut.msh", "cannot be read"),
        ("empty.msh", "holds no four-node tetrahedra"), ("binary.msh", "save it as text"),
        ("noise.npz", "cannot be read"), ("none.msh", "there is no such file"),
        ("mesh.stl", "unknown kind of file '.stl'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            load_tetrahedra(tmp_path / name)
    with pytest.raises(ValueError, match="element_size has no effect on a shape of given tetrahedra"):
        ut.SoftBody(shape=ut.Tetrahedra(file="a.msh"), position=(0.0, 0.0, 0.0), element_size=0.1)
    with pytest.raises(ValueError, match="element_size is missing"):
        ut.SoftBody(shape=ut.Sphere(radius=0.1), position=(0.0, 0.0, 0.0))


def _obj(path: Path, vertices: Any, triangles: Any) -> None:
    lines = [*("v {} {} {}".format(*v) for v in vertices), *("f {} {} {}".format(*(t + 1)) for t in triangles)]
    path.write_text("\n".join(lines) + "\n")


def test_surfaces_that_cannot_be_filled_and_bindings_to_nothing_end_with_status_2(tmp_path: Path) -> None:
    """Through the command line: one sentence that names the object."""
    from undertow.geometry import Sphere

    vertices, triangles = Sphere(0.1).surface(8)
    _obj(tmp_path / "open.obj", vertices, triangles[:-3])
    # one ball wound outwards, a larger one inside out: the surface says nothing is inside the second
    both = np.concatenate([vertices, 0.8 * vertices + (0.3, 0.0, 0.0)])
    _obj(tmp_path / "inside-out.obj", both, np.concatenate([triangles, triangles[:, ::-1] + len(vertices)]))
    _obj(tmp_path / "thin.obj", vertices * (1.0, 0.02, 1.0), triangles)
    body = "type='soft_body', position=[0, 0.3, 0], element_size=0.03, "

    def mesh(name: str) -> str:
        return f"objects.box={{{body} shape={{type='mesh', file='{tmp_path / name}'}}}}"

    def ball(rest: str) -> str:
        return f"objects.box={{{body} shape={{type='sphere', radius=0.1}}, {rest}}}"

    def sheet(name: str, rest: str = "") -> str:
        shape = f"shape={{type='mesh', file='{tmp_path / name}'}}"
        return f"objects.sheet={{type='cloth', position=[0, 0.3, 0], bending=0.0, {shape}{rest}}}"

    fan = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.1, 0.0, 0.0], [-0.1, 0.0, 0.0], [0.0, 0.0, 0.1]])
    _obj(tmp_path / "fan.obj", fan, np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]]))
    _obj(tmp_path / "turned.obj", fan[:4], np.array([[0, 1, 2], [0, 1, 3]]))
    _obj(tmp_path / "flat.obj", fan[[0, 2, 3]], np.array([[0, 1, 2]]))
    hold = "shape={type='sphere', radius=0.01}, position=[0, 0.3, 0]"
    cases = {
        mesh("open.obj"): "objects.box.shape: mesh open.obj: not watertight",
        mesh("inside-out.obj"): "objects.box.shape: cannot be meshed with elements of 0.03 m: they fill",
        mesh("thin.obj"): "own frame, where elements of 0.03 m find nothing inside the shape; make element_size at",
        sheet("fan.obj"): "objects.sheet.shape: the edge of nodes (0, 1) has more than two triangles",
        sheet("turned.obj"): "objects.sheet.shape: triangle 1 and its neighbour at the edge of nodes (0, 1) are wound",
        sheet("flat.obj"): "objects.sheet: element 0 is without volume",
        sheet("none.obj"): "there is no such file",
        sheet("fan.obj", ", size=[0.1, 0.1]"): "size has no effect on a sheet whose shape is a mesh",
        "objects.sheet={type='cloth', position=[0, 0, 0]}": "size and element_size are missing",
        ball("poisson_ratio=0.6"): "objects.box.poisson_ratio = 0.6: must lie between -1 and 0.5",
        ball(f"holds=[{{{hold}, body='bone'}}]"): "objects.box.holds: body = 'bone' is no rigid body of the scene",
        ball(f"holds=[{{{hold.replace('0.3', '9')}}}]"): "objects.box.holds: no node lies inside the sphere",
    }
    scene = tmp_path / "s.toml"
    scene.write_text('name = "s"\n[time]\nend = 1.0\n')
    for change, message in cases.items():
        done = CliRunner().invoke(app, ["run", str(scene), "--set", change, "--quiet", "--out", str(tmp_path / "r")])
        assert done.exit_code == 2 and message in done.stderr, (change, done.stderr)
    assert not (tmp_path / "r").exists()


def test_cloth_of_a_file_has_no_stress_in_its_shape(tmp_path: Path) -> None:
    """A cap of a sphere from a file, scaled by 2: its area, no motion without weight, and its own sharp fold."""
    from undertow.geometry import Sphere

    vertices, triangles = Sphere(0.1).surface(8)
    cap = triangles[(vertices[triangles][:, :, 1] > -1e-6).all(axis=1)]
    _obj(tmp_path / "cap.obj", vertices, cap)
    cloth = ut.Cloth(shape=ut.Mesh(file=str(tmp_path / "cap.obj"), scale=2.0), position=(0.0, 1.0, 0.0), bending=1e-3)
    scene = ut.Scene(name="cap", time=ut.Time(end=1.0, max_step=0.01), gravity=(0.0, 0.0, 0.0), objects={"cap": cloth})
    sim = ut.Simulation(scene)
    soft = sim.part(SoftPart).soft
    p = 2.0 * vertices[cap]
    area = 0.5 * np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1).sum()
    assert soft.mass.sum() == pytest.approx(0.2 * area, rel=1e-12) and soft.count == len(np.unique(cap))
    sim.step()
    assert np.abs(soft.v).max() < 1e-10
