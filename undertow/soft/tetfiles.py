"""Tetrahedra from files: Gmsh (.msh, text, versions 2 and 4) and NumPy (.npz). Nothing in a file is executed.

Elements must have a volume, all the same handedness (a file that numbers every one left-handed is turned), and faces
belong to one element or two.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from undertow.errors import UserError
from undertow.geometry.meshes import check_extent
from undertow.grid import Array
from undertow.soft.materials import cell_volumes
from undertow.soft.meshes import Mesh

READABLE = (".msh", ".npz")
_TETRAHEDRON = 4
"""Number of the four-node tetrahedron among the elements of Gmsh."""


def load_tetrahedra(path: str | Path, scale: float = 1.0) -> Mesh:
    """Nodes (n, 3) [m] and tetrahedra (m, 4) of a file in ``scale`` metres; nodes of no tetrahedron are left out."""
    path = Path(path)
    if path.suffix.lower() not in READABLE:
        raise UserError(f"tetrahedra {path}: unknown kind of file {path.suffix!r}: give one of {', '.join(READABLE)}")
    if not path.is_file():
        raise UserError(f"tetrahedra {path}: there is no such file; paths are relative to the scene file")
    name = f"tetrahedra {path.name}"
    try:
        points, cells = (_read_npz if path.suffix.lower() == ".npz" else _read_msh)(path)
    except UserError:
        raise
    # a damaged file fails in many ways; for the user they are one
    except (ValueError, TypeError, OSError, EOFError, LookupError, ArithmeticError, RuntimeError, MemoryError,
            StopIteration, zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        raise UserError(f"{name}: cannot be read ({error}); check that the file is complete") from error
    return check_tetrahedra(name, scale * points, cells)


def check_tetrahedra(name: str, points: Array, cells: Array) -> Mesh:
    """The mesh with its unused nodes left out, all elements right-handed; UserError where it is none of a solid."""
    if points.ndim != 2 or points.shape[1] != 3 or cells.ndim != 2 or cells.shape[1] != 4 or not len(cells):
        raise UserError(f"{name}: needs points (n, 3) and tetrahedra (m, 4), got {points.shape} and {cells.shape}")
    check_extent(name, points)
    if cells.min() < 0 or cells.max() >= len(points):
        raise UserError(
            f"{name}: tetrahedron {int(np.argmax((cells < 0).any(axis=1) | (cells >= len(points)).any(axis=1)))} has a "
            f"node that is none of the {len(points)} points; number them from 0 in .npz files"
        )
    if (cell_volumes(points, cells) < 0).all():
        cells = cells[:, [0, 2, 1, 3]]
    faces = np.sort(np.concatenate([cells[:, f] for f in ([0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3])]), axis=1)
    distinct, uses = np.unique(faces, axis=0, return_counts=True)
    if (uses > 2).any():
        raise UserError(
            f"{name}: {int((uses > 2).sum())} faces belong to more than two tetrahedra, the first has the nodes "
            f"{distinct[uses > 2][0].tolist()}; remove doubled or overlapping elements"
        )
    used, local = np.unique(cells, return_inverse=True)
    return np.ascontiguousarray(points[used]), np.ascontiguousarray(local.reshape(-1, 4), dtype=np.int64)


def _read_npz(path: Path) -> Mesh:
    with np.load(path, allow_pickle=False) as stored:
        missing = [key for key in ("points", "tetrahedra") if key not in stored]
        if missing:
            raise UserError(
                f"tetrahedra {path.name}: has no array {missing[0]!r}, it has {', '.join(stored) or '(none)'}; write "
                f"np.savez(file, points=..., tetrahedra=...)"
            )
        return np.asarray(stored["points"], dtype=float), np.asarray(stored["tetrahedra"], dtype=np.int64)


def _read_msh(path: Path) -> Mesh:
    """Sections $MeshFormat, $Nodes and $Elements of Gmsh, see its reference manual, "MSH file format"."""
    with path.open(encoding="utf-8", errors="replace") as file:
        sections = _sections(line.split() for line in file)
        version, kind = sections["$MeshFormat"][0][:2]
        if kind != "0" or version.split(".")[0] not in ("2", "4"):
            raise UserError(
                f"tetrahedra {path.name}: version {version}, {'binary' if kind != '0' else 'text'}: save it as text "
                f"of version 4 or 2 (gmsh -save -format msh4 or msh2)"
            )
    read = (_nodes_4, _cells_4) if version.startswith("4") else (_nodes_2, _cells_2)
    tags, points = read[0](iter(sections["$Nodes"]))
    cells = np.array(list(read[1](iter(sections["$Elements"]))), dtype=np.int64).reshape(-1, 4)
    if not len(cells):
        raise UserError(f"tetrahedra {path.name}: holds no four-node tetrahedra; mesh the volume, to first order")
    order = np.argsort(tags)
    place = np.searchsorted(tags[order], cells)
    if (place == len(tags)).any() or (tags[order][place] != cells).any():
        raise UserError(f"tetrahedra {path.name}: an element has a node that the file does not list; save it again")
    return points, order[place]


def _sections(lines: Iterator[list[str]]) -> dict[str, list[list[str]]]:
    """Words of the lines of every section."""
    found: dict[str, list[list[str]]] = {}
    for words in lines:
        if not words or not words[0].startswith("$"):
            continue
        section = found.setdefault(words[0], [])
        end = words[0].replace("$", "$End")
        while (inner := next(lines)) != [end]:
            section.append(inner)
    return found


def _nodes_2(lines: Iterator[list[str]]) -> tuple[Array, Array]:
    count = int(next(lines)[0])
    rows = [next(lines) for _ in range(count)]
    return np.array([int(r[0]) for r in rows]), np.array([[float(v) for v in r[1:4]] for r in rows])


def _cells_2(lines: Iterator[list[str]]) -> Iterator[list[int]]:
    for _ in range(int(next(lines)[0])):
        _, kind, tags, *rest = map(int, next(lines))
        if kind == _TETRAHEDRON:
            yield rest[tags:]


def _nodes_4(lines: Iterator[list[str]]) -> tuple[Array, Array]:
    tags, points = [], []
    for _ in range(int(next(lines)[0])):
        count = int(next(lines)[3])
        tags += [int(next(lines)[0]) for _ in range(count)]
        points += [[float(v) for v in next(lines)[:3]] for _ in range(count)]
    return np.array(tags), np.array(points)


def _cells_4(lines: Iterator[list[str]]) -> Iterator[list[int]]:
    for _ in range(int(next(lines)[0])):
        _, _, kind, count = map(int, next(lines))
        for _ in range(count):
            nodes = [int(v) for v in next(lines)[1:]]
            if kind == _TETRAHEDRON:
                yield nodes
