"""An elastic ball dropped on the ground (thesis figure 3.2): volume with and without one-rings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import undertow as ut
from undertow.scene.gallery.soft_sphere_drop import make_scene
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Quantity, quantity


def drop(name: str, resolution: int, end: float) -> tuple[float, dict[str, Any]]:
    """Largest error of the volume at any step, and beside it: largest squeeze of the height, deepest node in the
    ground [m], tetrahedra, processor seconds per frame."""
    scene = make_scene(resolution)
    objects = {key: scene.objects[key] for key in ("ground", name)}
    sim = ut.Simulation(scene.model_copy(update={"objects": objects}))
    soft = sim.part(SoftPart).soft
    volume, started = soft.volume(soft.parts[0]), time.process_time()
    error, squeeze, deepest = 0.0, 0.0, 0.0
    while sim.time < end - 1e-9:
        row = sim.step().ledger
        error = max(error, abs(row["soft_volume"] / volume - 1.0))
        deepest = max(deepest, row["soft_penetration"])
        squeeze = max(squeeze, 1.0 - float(soft.x[:, 1].max() - soft.x[:, 1].min()))
    seconds = (time.process_time() - started) / (end * scene.time.frame_rate)
    return error, {
        "squeeze": squeeze, "deepest": deepest, "tetrahedra": len(soft.parts[0].cells),
        "processor_seconds_per_frame": seconds,
    }  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """8 elements across and 0.6 s (full: 25 across, 100k tetrahedra, 1.5 s, and the stiff ball beside them)."""
    resolution, end = (25, 1.5) if full else (8, 0.6)
    errors = {}
    for name in ("rings", "plain", "stiff") if full else ("rings", "plain"):
        errors[name], detail = drop(name, resolution, end)
        yield quantity(f"volume_error_{name}", errors[name], info=name == "stiff", **detail)
        yield quantity(f"squeeze_{name}", detail["squeeze"], info=name == "stiff")
    if full:
        # of the figure 7.5; elements that lock lose less, which the ratio rewards
        yield quantity("plain_over_stiff", errors["plain"] / errors["stiff"], info=True, reference=7.5)
