"""Soft bodies that tear, as a part of a simulation: what a step would tear, and what has torn so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.part import Part, Quantity, Vector, vector
from undertow.soft import SoftMesh
from undertow.soft.materials import cell_volumes
from undertow.soft.tearing import Loaded, Pairs, TearLimit, choose_rips, measure
from undertow.solids.soft_part import SoftPart


class Overload(NamedTuple):
    """Elements of a soft body, by its name, that part at a point (3,) [m] of the world: their pairs; kind: ``stretch``
    or ``stress``; value and limit of it [-, Pa]."""

    name: str
    pairs: Pairs
    kind: str
    value: float
    limit: float
    point: Vector


class TornBody(NamedTuple):
    """A soft body that tore in a step: its name; kind: ``stretch`` or ``stress``; value [-, Pa] that it would have had
    at the end of the step, and its limit; where it began, point (3,) [m]; facets that parted, nodes that are new,
    pieces that it now is; released [J; 2D J/m]: elastic energy that went with what was let go."""

    name: str
    kind: str
    value: float
    limit: float
    point: Vector
    facets: int
    nodes: int
    pieces: int
    released: float

    @property
    def overshoot(self) -> float:
        """By how much the limit was passed, relative."""
        return self.value / self.limit - 1.0

    def __str__(self) -> str:
        place = ", ".join(f"{x:.4g}" for x in self.point)
        unit = " Pa" if self.kind == "stress" else ""
        pieces = f", it is in {self.pieces} pieces" if self.pieces > 1 else ""
        return (
            f"objects.{self.name} tore at ({place}) m along {self.facets} facets of its elements: {self.kind} "
            f"{self.value:.5g}{unit}, {self.overshoot:.2%} above {self.limit:.5g}{pieces}"
        )


class TearPart(Part):
    """What tears the soft bodies of ``soft`` that have a limit. torn: facets that have parted so far."""

    name = "tearing"

    def __init__(self, soft: SoftPart) -> None:
        self.soft, self.torn = soft, 0

    def limited(self) -> list[tuple[SoftMesh, TearLimit]]:
        """The bodies that can tear."""
        looks = self.soft.looks
        return [(part, limit) for part in self.soft.soft_parts if (limit := looks[part.name].tear) is not None]

    def shares(self, part: SoftMesh, limit: TearLimit) -> tuple[Array, Array]:
        """Of the elements of a body: the share (m,) of their limit that they bear now, and along what (m, 3)."""
        soft = self.soft.soft
        x, rest = soft.x[part.nodes], soft.rest[part.nodes]
        found = measure(rest, x, np.asarray(part.cells) - part.first, limit, soft.dimensions)
        return found.value / limit.most, found.direction

    def judge(self, torn: Mapping[str, Pairs]) -> list[Overload]:
        """What is beyond its limit now, of bodies that have ``torn`` between pairs of elements, by name."""
        soft, found = self.soft.soft, list[Overload]()
        free = (soft.inv_mass > 0.0) & ~soft.slides
        free[self.soft.soft_solids.bound] = False
        for part, limit in self.limited():
            share, direction = self.shares(part, limit)
            if not share.max(initial=0.0) > 1.0:
                continue
            cells, x = np.asarray(part.cells) - part.first, soft.x[part.nodes]
            size = _sizes(soft.rest[part.nodes], cells, soft.dimensions)
            cracked = _cracked(cells, soft.origin[part.nodes] - part.first, torn.get(part.name, ()))
            for rip in choose_rips(Loaded(x, cells, share, direction, size, free[part.nodes], cracked)):
                value = float(share[rip.element]) * limit.most
                found.append(Overload(part.name, rip.pairs, limit.kind, value, limit.most, vector(x[rip.node])))
        return found

    def take(self, facets: int) -> None:
        """So many more facets have parted."""
        self.torn += facets

    def elastic_energy(self) -> float:
        """Of all soft bodies where they are [J; 2D J/m]."""
        soft = self.soft.soft
        return soft.forces.measure(soft.x, np.zeros_like(soft.x))

    def pieces(self, name: str) -> int:
        """Connected pieces that a body is in."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        part = self.soft.soft.part(name)
        cells = np.asarray(part.cells) - part.first
        count = part.stop - part.first
        one, two = cells[:, :-1].reshape(-1), cells[:, 1:].reshape(-1)
        graph = coo_matrix((np.ones(len(one), dtype=np.int8), (one, two)), shape=(count, count))
        return int(connected_components(graph, directed=False)[0])

    # a part of a simulation -------------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Quantity]:
        yield Quantity("torn", self.torn)

    def numbers(self) -> dict[str, Any]:
        return {"torn": self.torn}

    def restore(self, arrays: Mapping[str, Array], numbers: Mapping[str, Any], time: float) -> None:
        self.torn = int(numbers["torn"])


def _cracked(cells: Any, origin: Any, torn: Pairs) -> Any:
    """Which nodes (n,) have facets that have torn; origin (n,): the nodes that they were before."""
    found = np.zeros(len(origin), dtype=bool)
    if torn:
        one, two = (origin[cells[side]] for side in np.array(torn).T)
        found[one[(one[:, :, None] == two[:, None, :]).any(axis=2)]] = True
    return found[origin]


def _sizes(rest: Array, cells: Any, dimensions: int) -> Array:
    """Lengths, areas or volumes (m,) of elements at rest (n, 3)."""
    if cells.shape[1] == 4 or (dimensions == 2 and cells.shape[1] == 3):
        return np.abs(cell_volumes(rest, cells))
    u = rest[cells[:, 1]] - rest[cells[:, 0]]
    if cells.shape[1] == 2:
        return np.asarray(np.linalg.norm(u, axis=1))
    return np.asarray(0.5 * np.linalg.norm(np.cross(u, rest[cells[:, 2]] - rest[cells[:, 0]]), axis=1))
