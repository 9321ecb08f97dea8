"""An elastic ball dropped on the ground (thesis figure 3.2): volume with and without one-rings."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.scene.gallery.soft_sphere_drop import make_scene
from undertow.validation.analysis import Quantity, quantity


def drop(name: str, resolution: int, end: float) -> tuple[float, float, float, int]:
    """Largest volume error at any step, largest squeeze of the height, highest speed of the volume, tetrahedra."""
    scene = make_scene(resolution)
    objects = {key: scene.objects[key] for key in ("ground", name)}
    sim = ut.Simulation(scene.model_copy(update={"objects": objects}))
    soft = sim.model.soft  # type: ignore[attr-defined]
    start = soft.volume(soft.parts[0])
    error, squeeze, deepest = 0.0, 0.0, 0.0
    while sim.time < end:
        row = sim.step().ledger
        error = max(error, abs(row["soft_volume"] / start - 1.0))
        deepest = max(deepest, row["soft_penetration"])
        squeeze = max(squeeze, 1.0 - float(soft.x[:, 1].max() - soft.x[:, 1].min()))
    return error, squeeze, deepest, len(soft.parts[0].cells)


def run(full: bool = False) -> Iterator[Quantity]:
    """8 elements across and 0.6 s (full: 25 across, 100k tetrahedra, 1.5 s)."""
    resolution, end = (25, 1.5) if full else (8, 0.6)
    for name in ("rings", "plain", "stiff"):
        error, squeeze, deepest, count = drop(name, resolution, end)
        detail = {"squeeze": squeeze, "deepest": deepest, "tetrahedra": count}
        yield quantity(f"volume_error_{name}", error, info=name != "rings", **detail)
