"""Meshes as binary PLY files, for programs that know nothing of VTK."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_ply(
    path: Path, vertices: np.ndarray, triangles: np.ndarray, normals: np.ndarray | None = None,
    colors: np.ndarray | None = None,
) -> None:  # fmt: skip
    """vertices (n, 3) [m], triangles (m, 3), normals (n, 3), colors (n, 3) 8-bit; little-endian, version 1.0."""
    fields: list[tuple[str, str]] = [(name, "<f4") for name in ("x", "y", "z")]
    parts = [np.asarray(vertices)]
    if normals is not None:
        fields += [(name, "<f4") for name in ("nx", "ny", "nz")]
        parts.append(np.asarray(normals))
    if colors is not None:
        fields += [(name, "u1") for name in ("red", "green", "blue")]
        parts.append(np.asarray(colors))
    points = np.zeros(len(vertices), dtype=fields)
    for (name, _), values in zip(fields, (column for part in parts for column in part.T), strict=True):
        points[name] = values
    faces = np.zeros(len(triangles), dtype=[("count", "u1"), ("corner", "<i4", 3)])
    faces["count"], faces["corner"] = 3, triangles
    words = {"<f4": "float", "u1": "uchar"}
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    head += [f"property {words[kind]} {name}" for name, kind in fields]
    head += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header", ""]
    path.write_bytes("\n".join(head).encode("ascii") + points.tobytes() + faces.tobytes())
