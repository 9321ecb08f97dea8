"""Faces that an interface crosses, between cell centres on its two sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from undertow.grid import Array, Grid


class Crossings(NamedTuple):
    """face (n,): flat indices of a face field. liquid, other (n,): cells on its two sides, flat. way (n,): 1 where the
    liquid is on the lower side of the face, else -1. theta (n,): part of the way from the liquid centre to the other at
    which the interface is."""

    face: np.ndarray
    liquid: np.ndarray
    other: np.ndarray
    way: Array
    theta: Array

    def places(self, grid: Grid) -> Array:
        """Where the interface crosses the lines between centres (n, 3) [m]."""
        _, py, px = grid.padded
        index = np.stack([self.liquid % px, self.liquid // px % py, self.liquid // (px * py)], axis=1)
        place = grid.position(index)
        axis = self.face // grid.size
        place[np.arange(len(axis)), axis] += self.way * self.theta * grid.dx
        place[:, grid.dimensions :] = 0.0
        return place


def find_crossings(grid: Grid, phi_c: Array) -> Crossings:
    """Of the level set phi_c [m], <= 0 in the liquid, between cells of the domain, axis by axis."""
    phi = phi_c.reshape(-1)
    pz, py, px = grid.padded
    faces, liquids, ways, others = [], [], [], []
    for axis in grid.axes:
        step = (1, px, py * px)[axis]
        inner = list(grid.interior)
        side = inner[2 - axis]
        inner[2 - axis] = slice(side.start + 1, side.stop)
        below = list(inner)
        below[2 - axis] = slice(side.start, side.stop - 1)
        crossed = (phi_c[tuple(inner)] <= 0.0) != (phi_c[tuple(below)] <= 0.0)
        z, y, x = (at + s.start for at, s in zip(np.nonzero(crossed), inner, strict=True))
        upper = (z * py + y) * px + x
        wet_above = phi[upper] <= 0.0
        faces.append(axis * phi.size + upper)
        liquids.append(np.where(wet_above, upper, upper - step))
        others.append(np.where(wet_above, upper - step, upper))
        ways.append(np.where(wet_above, -1.0, 1.0))
    face, liquid, other, way = (np.concatenate(x) for x in (faces, liquids, others, ways))
    return Crossings(face, liquid, other, way, phi[liquid] / (phi[liquid] - phi[other]))
