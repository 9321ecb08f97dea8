"""Walls one particle thick hold the fluid: a vessel and a leaking ship for 20,000 steps, and a film at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.grid import Array
from undertow.validation.analysis import Quantity, quantity

STEPS = 20_000
PENALTY_STEPS = 5_000
"""Of the ship with repulsive forces in the place of contacts."""
EVERY = 5
"""Steps between two looks: a particle moves by less than a tenth of its spacing meanwhile."""

INSIDE, OUTSIDE, FREE = 1, 2, 0


def vessel_side(place: Array) -> Array:
    """INSIDE the middle surface of the vessel's walls, OUTSIDE it, or FREE above the rim; its own frame."""
    x, y, z = place.T
    inside = (np.abs(x) < 0.18) & (np.abs(z) < 0.13) & (y > -0.10)
    return np.where(y >= 0.12, FREE, np.where(inside, INSIDE, OUTSIDE))


def ship_side(place: Array) -> Array:
    """INSIDE the middle line of the hull, OUTSIDE it, or FREE in the hole of its bottom; its own frame."""
    x, y, _ = place.T
    inside = (np.abs(y) < 0.1) & (np.abs(x) < 0.2 + 0.4 * (y + 0.1))
    hole = (np.abs(x) < 0.05) & (np.abs(y + 0.1) < 0.03)
    return np.where(hole, FREE, np.where(inside, INSIDE, OUTSIDE))


def crossings(scene: ut.Scene, body: str, side: Callable[[Array], Array], steps: int) -> dict[str, Any]:
    """Particles that went through a wall of a body, and how many are inside at the end."""
    sim = ut.Simulation(scene)
    fluid = sim.model.fluid  # type: ignore[attr-defined]
    crossed, last = 0, None
    for n in range(steps):
        sim.step()
        if n % EVERY == 0:
            state = sim.body(body)
            now = side((fluid.positions() - state.position) @ state.matrix)
            if last is not None and len(last) == len(now):
                crossed += int(np.count_nonzero((last + now == INSIDE + OUTSIDE) & (last != FREE) & (now != FREE)))
            last = now
    assert last is not None
    return {"crossed": crossed, "inside": int(np.count_nonzero(last == INSIDE)), "seconds": sim.time,
            "particles": fluid.totals.particles}  # fmt: skip


def film_distance(coupling: str = "none") -> tuple[float, float]:
    """Change of the distance of a film of particles at rest on a plate over half a second / radius; its mean."""
    scene = ut.Scene(
        name="film",
        coupling=coupling,
        domain=ut.Domain(upper=(0.4, 0.4), resolution=20, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=10),
        sph=ut.Sph(slip=0.0, sound_speed=20.0),
        objects={
            "film": ut.SphFluid(shape=ut.Box(size=(0.2, 0.02)), position=(0.2, 0.13)),
            "plate": ut.RigidBody(shape=ut.Box(size=(0.4, 0.1, 1.0)), position=(0.2, 0.05), slip=True),
        },
    )
    sim = ut.Simulation(scene)
    fluid = sim.model.fluid  # type: ignore[attr-defined]
    sim.advance_to(0.5)
    found = []
    while sim.time < 1.0 - 1e-9:
        sim.step()
        found.append(fluid.positions()[:, 1] - 0.1)
    distance = np.array(found)
    return float(np.ptp(distance, axis=0).max()) / fluid.radius, float(distance.mean()) / fluid.radius


def run(full: bool = False) -> Iterator[Quantity]:
    """Both scenes for 20,000 steps each; the penalty method beside them, as information."""
    change, mean = film_distance()
    yield quantity("rest_distance", change, mean_distance=mean, unit="radii")
    change, mean = film_distance("penalty")
    yield quantity("rest_distance_penalty", change, info=True, mean_distance=mean, unit="radii")
    for name, side, resolution in (("ship", ship_side, 60), ("vessel", vessel_side, 23)):
        found = crossings(long_scene(name, resolution), name, side, STEPS)
        yield quantity(f"crossed_{name}", float(found.pop("crossed")), **found)
    ship = long_scene("ship", 60).model_copy(update={"coupling": "penalty"})
    found = crossings(ship, "ship", ship_side, PENALTY_STEPS)
    yield quantity("crossed_ship_penalty", float(found.pop("crossed")), info=True, steps=PENALTY_STEPS, **found)


def long_scene(name: str, resolution: int) -> ut.Scene:
    """A scene of the gallery that does not end before its steps are made."""
    scene = ut.scene({"ship": "leaking-ship", "vessel": "vessel"}[name], resolution=resolution)
    return scene.model_copy(update={"time": ut.Time(end=100.0, frame_rate=scene.time.frame_rate)})
