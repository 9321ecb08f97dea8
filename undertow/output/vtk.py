"""VTK XML files written and read without VTK: image data (.vti), triangle meshes (.vtp), collections (.pvd).

Arrays sit in one appended section, raw and little-endian, with 64-bit block headers (version 1.0 of the XML formats
described in "VTK File Formats", VTK documentation). An array in a compressed file is split into blocks, each deflated
on its own, behind the header [blocks, block size, size of a partial last block, deflated sizes ...]. Field data (time,
names) is text in the XML head, so that it can be read without the arrays. Frames are not compressed: deflating a 128^3
frame of 42 MB takes ten times as long as writing it and saves a quarter.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from undertow.errors import UserError

_VTK_TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}
_NUMPY_TYPES = {name: np.dtype(f"<{code}") for code, name in _VTK_TYPES.items()}
_BLOCK = 1 << 20
"""Bytes of an uncompressed block of a compressed array."""

FieldValue = float | int | Sequence[str]


@dataclass
class ImageFile:
    """Cell data of a uniform grid.

    cells (nx, ny, nz); origin [m] (3,) lower corner; spacing [m] (3,).
    cell_data: scalars (nz, ny, nx) or vectors (3, nz, ny, nx).  field_data: single numbers, or lists of names.
    """

    cells: tuple[int, int, int]
    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]
    cell_data: dict[str, np.ndarray] = field(default_factory=dict)
    field_data: dict[str, FieldValue] = field(default_factory=dict)


@dataclass
class PolyFile:
    """A triangle mesh. vertices (n, 3) [m], triangles (m, 3); point_data (n,) or (n, k), cell_data (m,) or (m, k)."""

    vertices: np.ndarray
    triangles: np.ndarray
    point_data: dict[str, np.ndarray] = field(default_factory=dict)
    cell_data: dict[str, np.ndarray] = field(default_factory=dict)
    field_data: dict[str, FieldValue] = field(default_factory=dict)


def write_vti(path: Path, image: ImageFile, compress: bool = False) -> None:
    """Write an ImageData file; C order [z, y, x] is VTK's own order (x fastest), vectors are interleaved."""
    nx, ny, nz = image.cells
    arrays = _Appended(compress)
    cells = []
    for name, values in image.cell_data.items():
        if values.shape[-3:] != (nz, ny, nx) or values.ndim > 4:
            raise ValueError(f"{path.name}: cell field {name} has shape {values.shape}, need [3,] {(nz, ny, nx)}")
        flat = values.reshape(-1) if values.ndim == 3 else values.reshape(len(values), -1).T  # (cells, components)
        cells.append(arrays.add(name, flat))
    extent = f"0 {nx} 0 {ny} 0 {nz}"
    attributes = (
        f'WholeExtent="{extent}" Origin="{_numbers(image.origin)}" Spacing="{_numbers(image.spacing)}" '
        'Direction="1 0 0 0 1 0 0 0 1"'
    )
    body = [
        f"<ImageData {attributes}>",
        *_field_data(image.field_data),
        f'<Piece Extent="{extent}">',
        "<PointData>",
        "</PointData>",
        "<CellData>",
        *cells,
        "</CellData>",
        "</Piece>",
        "</ImageData>",
    ]
    _write_file(path, "ImageData", body, arrays)


def write_vtp(path: Path, mesh: PolyFile, compress: bool = False) -> None:
    """Write a PolyData file of triangles."""
    arrays = _Appended(compress)
    n, m = len(mesh.vertices), len(mesh.triangles)
    for kind, data, count in (("point", mesh.point_data, n), ("cell", mesh.cell_data, m)):
        for name, values in data.items():
            if len(values) != count:
                raise ValueError(f"{path.name}: {kind} field {name} has {len(values)} values for {count} {kind}s")
    connectivity = np.ascontiguousarray(mesh.triangles, dtype=np.int64).reshape(-1)
    body = [
        "<PolyData>",
        *_field_data(mesh.field_data),
        f'<Piece NumberOfPoints="{n}" NumberOfVerts="0" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="{m}">',
        "<PointData>",
        *(arrays.add(name, values) for name, values in mesh.point_data.items()),
        "</PointData>",
        "<CellData>",
        *(arrays.add(name, values) for name, values in mesh.cell_data.items()),
        "</CellData>",
        "<Points>",
        arrays.add("Points", mesh.vertices),
        "</Points>",
        "<Polys>",
        arrays.add("connectivity", connectivity),
        arrays.add("offsets", np.arange(3, 3 * m + 1, 3, dtype=np.int64)),
        "</Polys>",
        "</Piece>",
        "</PolyData>",
    ]
    _write_file(path, "PolyData", body, arrays)


def write_collection(path: Path, entries: Sequence[tuple[float, str, int]]) -> None:
    """Write a .pvd collection of (time [s], file relative to the collection, part), replacing it in one move."""
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">',
        "<Collection>",
        *(f'<DataSet timestep="{t!r}" part="{part}" file={quoteattr(file)}/>' for t, file, part in entries),
        "</Collection>",
        "</VTKFile>",
    ]
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def read_vti(path: Path) -> ImageFile:
    """Read a file written by ``write_vti``."""
    root, arrays = _read_file(path, "ImageData")
    image = _child(root, "ImageData", path)
    extent = [int(x) for x in image.attrib["WholeExtent"].split()]
    nx, ny, nz = extent[1] - extent[0], extent[3] - extent[2], extent[5] - extent[4]
    cell_data: dict[str, np.ndarray] = {}
    for element in _child(image, "Piece/CellData", path):
        values = arrays.get(element)
        if values.ndim == 1:
            cell_data[element.attrib["Name"]] = values.reshape(nz, ny, nx)
        else:
            cell_data[element.attrib["Name"]] = np.ascontiguousarray(values.T).reshape(-1, nz, ny, nx)
    return ImageFile(
        cells=(nx, ny, nz),
        origin=_triple(image.attrib["Origin"]),
        spacing=_triple(image.attrib["Spacing"]),
        cell_data=cell_data,
        field_data=_parse_field_data(image),
    )


def read_vtp(path: Path) -> PolyFile:
    """Read a file written by ``write_vtp``."""
    root, arrays = _read_file(path, "PolyData")
    poly = _child(root, "PolyData", path)
    piece = _child(poly, "Piece", path)
    polys = {e.attrib["Name"]: arrays.get(e) for e in _child(piece, "Polys", path)}
    return PolyFile(
        vertices=arrays.get(_child(piece, "Points", path)[0]),
        triangles=polys["connectivity"].reshape(-1, 3),
        point_data={e.attrib["Name"]: arrays.get(e) for e in _child(piece, "PointData", path)},
        cell_data={e.attrib["Name"]: arrays.get(e) for e in _child(piece, "CellData", path)},
        field_data=_parse_field_data(poly),
    )


def read_field_data(path: Path) -> dict[str, FieldValue]:
    """The field data (time, index, names) of a file of ours, without reading its arrays."""
    content, size = b"", 1 << 16
    with path.open("rb") as file:
        # names of thousands of bodies make a long head
        while b"<AppendedData" not in content and (more := file.read(size)):
            content, size = content + more, 2 * size
    root = _parse_head(path, content)
    return _parse_field_data(root[0])


class _Appended:
    """The appended section under construction: arrays in file order, each behind its block header."""

    def __init__(self, compress: bool) -> None:
        self.compress = compress
        self.chunks: list[bytes | memoryview] = []
        self.size = 0

    def add(self, name: str, values: np.ndarray) -> str:
        """Append an array (n,) or (n, components); returns its XML element."""
        code = values.dtype.str[1:]
        if code not in _VTK_TYPES:
            raise ValueError(f"field {name}: dtype {values.dtype} has no VTK type here; use one of {list(_VTK_TYPES)}")
        components = 1 if values.ndim == 1 else values.shape[1]
        offset = self.size
        raw = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data
        if self.compress:
            blocks = [zlib.compress(raw[i : i + _BLOCK], 1) for i in range(0, len(raw), _BLOCK)]
            header = [len(blocks), _BLOCK, len(raw) % _BLOCK, *(len(b) for b in blocks)]
            self._append(np.array(header, dtype="<u8").tobytes())
            for block in blocks:
                self._append(block)
        else:
            self._append(np.array([len(raw)], dtype="<u8").tobytes())
            self._append(raw)
        count = f' NumberOfComponents="{components}"' if values.ndim > 1 else ""
        return (
            f'<DataArray type="{_VTK_TYPES[code]}" Name={quoteattr(name)}{count} format="appended" offset="{offset}"/>'
        )

    def _append(self, chunk: bytes | memoryview) -> None:
        self.chunks.append(chunk)
        self.size += len(chunk)


class _Reader:
    """Arrays of the appended section of one file."""

    def __init__(self, path: Path, data: memoryview, compressed: bool) -> None:
        self.path = path
        self.data = data
        self.compressed = compressed

    def get(self, element: ET.Element) -> np.ndarray:
        dtype = _NUMPY_TYPES[element.attrib["type"]]
        start = int(element.attrib["offset"])
        first = self._integers(start, 1)[0]
        if self.compressed:
            sizes = self._integers(start + 24, first)
            position = start + 24 + 8 * first
            parts = []
            for size in sizes:
                parts.append(zlib.decompress(self._bytes(position, size)))
                position += size
            raw = bytearray(b"".join(parts))
        else:
            raw = bytearray(self._bytes(start + 8, first))  # writable, as callers expect of arrays
        values = np.frombuffer(raw, dtype=dtype)
        components = element.attrib.get("NumberOfComponents")
        return values if components is None else values.reshape(-1, int(components))

    def _integers(self, start: int, count: int) -> list[int]:
        return [int(x) for x in np.frombuffer(self._bytes(start, 8 * count), dtype="<u8")]

    def _bytes(self, start: int, size: int) -> memoryview:
        chunk = self.data[start : start + size]
        if len(chunk) != size:
            raise UserError(f"{self.path}: the file ends early; it was truncated. Delete it or run the frame again")
        return chunk


def _write_file(path: Path, kind: str, body: Sequence[str], arrays: _Appended) -> None:
    compressor = ' compressor="vtkZLibDataCompressor"' if arrays.compress else ""
    head = [
        '<?xml version="1.0"?>',
        f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64"{compressor}>',
        *body,
        '<AppendedData encoding="raw">',
        "_",
    ]
    with path.open("wb") as file:
        file.write("\n".join(head).encode())
        for chunk in arrays.chunks:
            file.write(chunk)
        file.write(b"\n</AppendedData>\n</VTKFile>\n")


def _read_file(path: Path, kind: str) -> tuple[ET.Element, _Reader]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    root = _parse_head(path, content)
    if root.attrib.get("type") != kind:
        raise UserError(f"{path}: holds {root.attrib.get('type')}, expected {kind}")
    start = content.index(b"_", content.index(b"<AppendedData")) + 1
    return root, _Reader(path, memoryview(content)[start:], "compressor" in root.attrib)


def _parse_head(path: Path, content: bytes) -> ET.Element:
    """The XML before the appended section, as a document of its own."""
    end = content.find(b"<AppendedData")
    if end < 0:
        raise UserError(f"{path}: not a VTK file with an appended section as Undertow writes it")
    return ET.fromstring(content[:end] + b"</VTKFile>")


def _field_data(values: Mapping[str, FieldValue]) -> list[str]:
    """FieldData as text; names are VTK strings, that is character codes each ended by 0."""
    lines = []
    for name, value in values.items():
        if isinstance(value, (bool, int)):
            kind, count, text = "Int64", 1, str(int(value))
        elif isinstance(value, float):
            kind, count, text = "Float64", 1, repr(float(value))
        else:
            kind, count = "String", len(value)
            text = " ".join(" ".join(str(c) for c in s.encode()) + " 0" for s in value)
        attributes = f'type="{kind}" Name={quoteattr(name)} NumberOfTuples="{count}" format="ascii"'
        lines.append(f"<DataArray {attributes}>{text}</DataArray>")
    return ["<FieldData>", *lines, "</FieldData>"] if lines else []


def _parse_field_data(element: ET.Element) -> dict[str, FieldValue]:
    values: dict[str, FieldValue] = {}
    for array in element.findall("FieldData/DataArray"):
        words = (array.text or "").split()
        if array.attrib["type"] == "String":
            text = bytes(int(w) for w in words).decode()
            values[array.attrib["Name"]] = text.split("\0")[:-1]
        elif array.attrib["type"] == "Int64":
            values[array.attrib["Name"]] = int(words[0])
        else:
            values[array.attrib["Name"]] = float(words[0])
    return values


def _child(element: ET.Element, path: str, file: Path) -> ET.Element:
    found = element.find(path)
    if found is None:
        raise UserError(f"{file}: the element {path} is missing; the file was not written by Undertow")
    return found


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _triple(text: str) -> tuple[float, float, float]:
    x, y, z = (float(w) for w in text.split())
    return x, y, z
