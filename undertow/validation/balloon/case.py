"""The scene ``balloon``: it fills, strains, keeps its smoke, is let go, and its own jet drives it out at the top."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import Delaunay

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

LONGEST = 0.8
"""Time to leave in [s]."""


class Watch:
    """What a run of the scene showed so far.

    strain: largest mean of the edges' strain, when [s]; rise: highest speed of the centre upwards after the release
    [m/s]; outside: most smoke beside and above the balloon until then [-].
    """

    def __init__(self, sim: ut.Simulation) -> None:
        self.sim, self.soft = sim, sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
        triangles = self.soft.parts[0].surface
        pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
        self.edges = np.unique(np.sort(pairs, axis=1), axis=0)
        self.rest = self._lengths(self.soft.rest)
        self.release = float(sim.scene.objects["balloon"].holds[0].until)  # type: ignore[union-attr, arg-type]
        self.strain, self.when, self.rise, self.outside = 0.0, 0.0, 0.0, 0.0

    def _lengths(self, x: np.ndarray) -> np.ndarray:
        a, b = self.edges.T
        return np.asarray(np.linalg.norm(x[a] - x[b], axis=1))

    def look(self) -> None:
        """After a step."""
        strain = float((self._lengths(self.soft.x) / self.rest).mean() - 1.0)
        if strain > self.strain:
            self.strain, self.when = strain, self.sim.time
        if self.sim.time > self.release:
            self.rise = max(self.rise, float(self.sim.body("balloon").velocity[1]))
        elif self.sim.step_count % 10 == 0:
            self.outside = max(self.outside, self._smoke_outside())

    def _smoke_outside(self) -> float:
        """Most smoke in cells above the neck whose centre lies a cell outside the hull of the nodes."""
        grid, x = self.sim.flow.grid, self.soft.x
        centre = x.mean(axis=0)
        away = x - centre
        wider = x + away * (grid.dx / np.linalg.norm(away, axis=1))[:, None]
        places = np.stack(np.broadcast_arrays(*grid.cell_centres()), axis=-1).reshape(-1, 3)
        beside = (places[:, 1] > x[:, 1].min() + 2.0 * grid.dx) & (Delaunay(wider).find_simplex(places) < 0)
        return float(self.sim.state.smoke[grid.interior].reshape(-1)[beside].max())


def run(full: bool) -> Iterator[Quantity]:
    """20 x 30 x 20 cells; with ``full`` 32 x 48 x 32, those of the scene."""
    scene = ut.scene("balloon", resolution=48 if full else 30)
    sim = ut.Simulation(scene)
    watch, top = Watch(sim), scene.domain.upper[1]  # type: ignore[union-attr]
    lowest = 0.0
    while sim.time < LONGEST and lowest < top:
        sim.step()
        watch.look()
        lowest = float(watch.soft.x[:, 1].min())
    yield quantity("strain", watch.strain, time=watch.when, released=watch.release)
    yield quantity("smoke_outside", watch.outside)
    yield quantity("height", lowest / top, time=sim.time, steps=sim.step_count, centre=sim.body("balloon").position)
    yield quantity("speed", watch.rise, info=True)
