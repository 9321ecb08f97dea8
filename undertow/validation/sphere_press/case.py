"""A soft ball pressed flat between plates (thesis figure 3.7): error of its volume against its thickness."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.scene.gallery.sphere_press import DIAMETER, make_scene
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Quantity, quantity

STAGES = ((0.13, "13"), (0.023, "2_3"), (0.014, "1_4"))


def press(resolution: int, stages: tuple[float, ...]) -> tuple[list[float], list[float], list[float], int]:
    """(Largest error of the volume until the plates are so near, deepest node in a plate by then over their distance,
    thickness of the ball then over that distance, tetrahedra); stages: shares of the diameter, falling."""
    errors, depths, thick, error, depth = [], [], [], 0.0, 0.0
    scene = make_scene(resolution, stages[-1])
    sim = ut.Simulation(scene.model_copy(update={"time": scene.time.model_copy(update={"max_step": 1 / 96})}))
    soft = sim.part(SoftPart).soft
    start = soft.volume(soft.parts[0])
    for share in stages:
        while sim.time < DIAMETER - share - 1e-9:
            # the step shortens with the thickness; a tenth of it would leave single steps a hundredth of volume wrong
            report = sim.advance_to(min(sim.time + min(1 / 96, 0.04 * (DIAMETER - sim.time)), DIAMETER - share))
            assert report is not None
            row = report.ledger
            error = max(error, abs(row["soft_volume"] / start - 1.0))
            depth = max(depth, row["soft_penetration"])
        errors.append(error)
        depths.append(depth / share)
        thick.append(float(np.ptp(soft.x[:, 1])) / (DIAMETER * share))
    return errors, depths, thick, len(soft.parts[0].cells)


def run(full: bool = False) -> Iterator[Quantity]:
    """8 elements across, to 13% (full: 15 across, 22k tetrahedra, to 1.4%)."""
    stages = STAGES if full else STAGES[:1]
    errors, depths, thick, count = press(15 if full else 8, tuple(share for share, _ in stages))
    for (_, name), error, depth, part in zip(stages, errors, depths, thick, strict=True):
        yield quantity(f"volume_error_{name}", error, tetrahedra=count, depth=depth)
        yield quantity(f"thickness_{name}", part)
