"""A sheet dropped on a ball and onto itself: edges that cross triangles."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.scene.gallery.cloth_knot import make_scene
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Quantity, quantity


def drop(resolution: int, end: float) -> tuple[int, int, int, float, float]:
    """(Most crossings in a frame, pairs that met, nodes joined to rigid bodies, least height over the ground [m],
    largest rise of the energy above the least so far, over that of the start)."""
    scene = make_scene(resolution)
    sim = ut.Simulation(scene.model_copy(update={"time": scene.time.model_copy(update={"end": end})}))
    surfaces = sim.part(SoftPart).soft_solids.surfaces
    soft = sim.part(SoftPart).soft
    worst, met, joined, lowest = surfaces.crossings(soft.x), 0, 0, 1.0
    least, rise, start = float("inf"), 0.0, 0.0
    frames = round(end * scene.time.frame_rate)
    for frame in range(1, frames + 1):
        while sim.time < frame / scene.time.frame_rate - 1e-9:
            row = sim.step().ledger
            start = start or row["energy"]
            rise, least = max(rise, row["energy"] - least), min(least, row["energy"])
            met, joined = met + int(row["soft_collisions"]), joined + int(row["soft_joined"])
        worst = max(worst, surfaces.crossings(soft.x))
        lowest = min(lowest, float(soft.x[:, 1].min()))
    return worst, met, joined, lowest, rise / start


def run(full: bool = False) -> Iterator[Quantity]:
    """20 elements along the sheet and 1.5 s (full: 71, 10 s)."""
    resolution, end = (71, 10.0) if full else (20, 1.5)
    worst, met, joined, lowest, rise = drop(resolution, end)
    triangles = 2 * resolution**2
    yield quantity("crossings", worst, triangles=triangles)
    yield quantity("met", met, joined=joined)
    yield quantity("lowest", lowest)
    yield quantity("energy_rise", rise)
