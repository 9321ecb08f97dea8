"""Soft bodies of a frame: nodes and elements, for programs that look inside them; pictures use their surfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from undertow.frames import SoftFrame
from undertow.output.vtk import _Appended, _child, _field_data, _parse_field_data, _read_file, _write_file

_CELL_TYPES = {2: 3, 3: 5, 4: 10}
"""Nodes of an element -> its number in VTK: line, triangle, tetrahedron."""


def write_soft(path: Path, frame: SoftFrame, head: dict[str, Any]) -> None:
    """Write ``soft.vtu``, an UnstructuredGrid; the value ``body`` of an element is an index into the names."""
    arrays = _Appended(False)
    blocks = list(frame.cells.values())
    sizes = np.concatenate([np.full(len(block), block.shape[1], dtype=np.int64) for block in blocks])
    kinds = np.concatenate([np.full(len(block), _CELL_TYPES[block.shape[1]], dtype=np.uint8) for block in blocks])
    body = np.repeat(np.arange(len(blocks), dtype=np.int32), [len(block) for block in blocks])
    connectivity = np.concatenate([block.reshape(-1) for block in blocks]).astype(np.int64)
    points = {name: np.asarray(getattr(frame, name), dtype=np.float32) for name in ("displacement", "velocity")}
    lines = [
        "<UnstructuredGrid>",
        *_field_data({**head, "body_names": list(frame.cells)}),
        f'<Piece NumberOfPoints="{len(frame.position)}" NumberOfCells="{len(sizes)}">',
        "<PointData>",
        *(arrays.add(name, values) for name, values in points.items()),
        "</PointData>",
        "<CellData>",
        arrays.add("body", body),
        "</CellData>",
        "<Points>",
        arrays.add("Points", np.asarray(frame.position, dtype=np.float32)),
        "</Points>",
        "<Cells>",
        arrays.add("connectivity", connectivity),
        arrays.add("offsets", np.cumsum(sizes)),
        arrays.add("types", kinds),
        "</Cells>",
        "</Piece>",
        "</UnstructuredGrid>",
    ]
    _write_file(path, "UnstructuredGrid", lines, arrays)


def read_soft(path: Path) -> SoftFrame | None:
    """Read a file written by ``write_soft``; None when there is none."""
    if not path.is_file():
        return None
    root, arrays = _read_file(path, "UnstructuredGrid")
    grid = _child(root, "UnstructuredGrid", path)
    piece = _child(grid, "Piece", path)
    points = {e.attrib["Name"]: arrays.get(e) for e in _child(piece, "PointData", path)}
    cells = {e.attrib["Name"]: arrays.get(e) for e in _child(piece, "Cells", path)}
    body = arrays.get(_child(piece, "CellData", path)[0])
    sizes = np.diff(cells["offsets"], prepend=0)
    names: Any = _parse_field_data(grid)["body_names"]
    found = {}
    for i, name in enumerate(names):
        own = np.flatnonzero(body == i)
        width = int(sizes[own[0]]) if len(own) else 3
        first = int(cells["offsets"][own[0]]) - width if len(own) else 0
        found[name] = cells["connectivity"][first : first + width * len(own)].reshape(-1, width)
    position = arrays.get(_child(piece, "Points", path)[0])
    return SoftFrame(position, points["displacement"], points["velocity"], found)
