"""Frames: an independent strict reader, round trip, atomic writing, the collection file."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest

from undertow.errors import UserError
from undertow.grid import Grid
from undertow.output.frames import BodyFrame, FrameData, frame_indices, read_frame, write_frame, write_pvd
from undertow.output.vtk import ImageFile, read_vti, write_vti

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def strict_arrays(path: Path) -> tuple[ET.Element, dict[str, np.ndarray]]:
    """A reader written from the VTK file format document alone: checks offsets, sizes and the closing tags."""
    content = path.read_bytes()
    tag = content.index(b'<AppendedData encoding="raw">')
    assert content[:tag].isascii()
    root = ET.fromstring(content[:tag].decode("ascii") + "</VTKFile>")
    assert root.attrib["byte_order"] == "LittleEndian" and root.attrib["header_type"] == "UInt64"
    start = content.index(b"_", tag) + 1
    end = content.rindex(b"\n</AppendedData>")
    assert content[end:] == b"\n</AppendedData>\n</VTKFile>\n"
    data = content[start:end]
    types = {"Float32": "<f4", "Float64": "<f8", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1"}
    arrays, position = {}, 0
    elements = [e for e in root.iter("DataArray") if e.attrib["format"] == "appended"]
    for element in sorted(elements, key=lambda e: int(e.attrib["offset"])):
        assert int(element.attrib["offset"]) == position, "arrays follow each other without gaps"
        if "compressor" in root.attrib:
            blocks, size, last = struct.unpack_from("<3Q", data, position)
            sizes = struct.unpack_from(f"<{blocks}Q", data, position + 24)
            position += 24 + 8 * blocks
            raw = b""
            for i, packed in enumerate(sizes):
                block = zlib.decompress(data[position : position + packed])
                assert len(block) == (last if i == blocks - 1 and last else size)
                raw += block
                position += packed
        else:
            (size,) = struct.unpack_from("<Q", data, position)
            raw = data[position + 8 : position + 8 + size]
            position += 8 + size
        values = np.frombuffer(raw, types[element.attrib["type"]])
        arrays[element.attrib["Name"]] = values.reshape(-1, int(element.attrib.get("NumberOfComponents", "1")))
    assert position == len(data)
    return root, arrays


def make_frame(index: int = 0, cells: tuple[int, int, int] = (4, 3, 2), dimensions: int = 3) -> FrameData:
    rng = np.random.default_rng(index)
    nx, ny, nz = cells
    grid = Grid(cells, 0.25, (-1.0, 0.1, 0.3), dimensions)
    fields = {
        "velocity": rng.standard_normal((3, nz, ny, nx)).astype(np.float32),
        "pressure": rng.standard_normal((nz, ny, nx)).astype(np.float32),
    }
    bodies = [
        BodyFrame("ball & <co>", TETRAHEDRON, TRIANGLES, (1.0, 0.4, 0.2), np.array([0.0, 1.0, 2.0])),
        BodyFrame("second", TETRAHEDRON + 2.0, TRIANGLES, (0.0, 0.0, 1.0), rng.standard_normal((4, 3))),
    ]
    return FrameData(index, 0.1 * index, grid, fields, bodies)


def test_image_is_read_by_an_independent_reader(tmp_path: Path) -> None:
    frame = make_frame(3)
    write_frame(tmp_path / "frames/000003", frame)
    root, arrays = strict_arrays(tmp_path / "frames/000003/grid.vti")
    image = root[0]
    assert image.tag == "ImageData" and image.attrib["WholeExtent"] == "0 4 0 3 0 2"
    assert [float(x) for x in image.attrib["Origin"].split()] == [-1.0, 0.1, 0.3]
    assert [float(x) for x in image.attrib["Spacing"].split()] == [0.25] * 3
    # VTK numbers the cells with x fastest: cell (i, j, k) is i + nx (j + ny k)
    i, j, k = 2, 1, 1
    cell = i + 4 * (j + 3 * k)
    assert arrays["pressure"][cell, 0] == frame.cell_fields["pressure"][k, j, i]
    np.testing.assert_array_equal(arrays["velocity"][cell], frame.cell_fields["velocity"][:, k, j, i])


def test_bodies_are_read_by_an_independent_reader(tmp_path: Path) -> None:
    write_frame(tmp_path / "frames/000000", make_frame())
    root, arrays = strict_arrays(tmp_path / "frames/000000/bodies.vtp")
    piece = root[0].find("Piece")
    assert piece is not None and piece.attrib["NumberOfPoints"] == "8" and piece.attrib["NumberOfPolys"] == "8"
    np.testing.assert_array_equal(arrays["Points"][4:], TETRAHEDRON + 2.0)
    np.testing.assert_array_equal(arrays["connectivity"].reshape(-1, 3)[4:], TRIANGLES + 4)
    np.testing.assert_array_equal(arrays["offsets"][:, 0], 3 * np.arange(1, 9))
    np.testing.assert_array_equal(arrays["color"][0], [255, 102, 51])


@pytest.mark.parametrize("compress", [False, True])
def test_large_arrays_cross_block_boundaries(tmp_path: Path, compress: bool) -> None:
    values = np.arange(90 * 80 * 70, dtype=np.float32).reshape(70, 80, 90)  # 2 MB: two blocks, the last one partial
    write_vti(tmp_path / "a.vti", ImageFile((90, 80, 70), (0, 0, 0), (1, 1, 1), {"q": values}), compress)
    _, arrays = strict_arrays(tmp_path / "a.vti")
    np.testing.assert_array_equal(arrays["q"][:, 0], values.reshape(-1))
    np.testing.assert_array_equal(read_vti(tmp_path / "a.vti").cell_data["q"], values)


def test_pyvista_reads_the_same(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista", reason="pyvista is not installed: the strict reader above stands alone")
    frame = make_frame(1)
    write_frame(tmp_path / "frames/000001", frame)
    image = pyvista.read(tmp_path / "frames/000001/grid.vti")
    assert image.n_cells == 24
    np.testing.assert_array_equal(image.cell_data["pressure"], frame.cell_fields["pressure"].reshape(-1))
    bodies = pyvista.read(tmp_path / "frames/000001/bodies.vtp")
    assert bodies.n_cells == 8 and list(bodies.field_data["body_names"]) == ["ball & <co>", "second"]


@pytest.mark.parametrize(("cells", "dimensions"), [((4, 3, 2), 3), ((5, 4, 1), 2)])
def test_round_trip(tmp_path: Path, cells: tuple[int, int, int], dimensions: int) -> None:
    frame = make_frame(7, cells, dimensions)
    write_frame(tmp_path / "frames/000007", frame)
    back = read_frame(tmp_path / "frames/000007")
    assert (back.index, back.time, back.grid) == (7, frame.time, frame.grid)
    assert list(back.cell_fields) == list(frame.cell_fields)
    for name, values in frame.cell_fields.items():
        np.testing.assert_array_equal(back.cell_fields[name], values)
    for body, other in zip(frame.bodies, back.bodies, strict=True):
        assert body.name == other.name
        np.testing.assert_allclose(other.color, body.color, atol=1 / 255)
        np.testing.assert_array_equal(other.vertices, body.vertices)
        np.testing.assert_array_equal(other.triangles, body.triangles)
        np.testing.assert_array_equal(other.velocity, body.velocity)


def test_writing_is_atomic_and_never_overwrites(tmp_path: Path) -> None:
    frame = make_frame()
    leftover = tmp_path / "frames/.000000.tmp"
    leftover.mkdir(parents=True)  # a run was killed here
    write_frame(tmp_path / "frames/000000", frame)
    assert not leftover.exists() and frame_indices(tmp_path) == [0]
    with pytest.raises(UserError, match="never overwritten"):
        write_frame(tmp_path / "frames/000000", frame)
    frame.cell_fields["wrong"] = np.zeros((2, 2), dtype=np.float32)
    with pytest.raises(ValueError, match="wrong"):
        write_frame(tmp_path / "frames/000001", frame)
    assert [f.name for f in (tmp_path / "frames").iterdir()] == ["000000"]


def test_same_frame_same_bytes(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write_frame(tmp_path / run / "frames/000000", make_frame())
    for name in ("grid.vti", "bodies.vtp"):
        first, second = ((tmp_path / run / "frames/000000" / name).read_bytes() for run in ("a", "b"))
        assert first == second


def test_collection_lists_every_frame_with_its_time(tmp_path: Path) -> None:
    for index in (0, 1, 10):
        write_frame(tmp_path / f"frames/{index:06d}", make_frame(index))
    write_pvd(tmp_path)
    sets = ET.parse(tmp_path / "frames.pvd").getroot().findall("Collection/DataSet")
    assert [float(s.attrib["timestep"]) for s in sets] == [0.0, 0.0, 0.1, 0.1, 1.0, 1.0]
    assert all((tmp_path / s.attrib["file"]).is_file() for s in sets)
    assert not list(tmp_path.glob(".*.tmp"))


def test_truncated_and_foreign_files_are_refused(tmp_path: Path) -> None:
    write_frame(tmp_path / "frames/000000", make_frame())
    grid = tmp_path / "frames/000000/grid.vti"
    grid.write_bytes(grid.read_bytes()[:-200])
    with pytest.raises(UserError, match="truncated"):
        read_frame(grid.parent)
    grid.write_bytes(b"nothing")
    with pytest.raises(UserError, match="not a VTK file"):
        read_frame(grid.parent)
    with pytest.raises(UserError, match="no frame here"):
        read_frame(tmp_path / "frames/000001")
