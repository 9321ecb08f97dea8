"""A disc falls in a closed box, settles at a speed, and stops at the floor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DIAMETER = 0.0025


def make(cells: int) -> ut.Simulation:
    """Box of 2 x 6 cm, disc of 2.5 mm at a height of 4 cm, ``cells`` cells per diameter."""
    scene = ut.Scene(
        name="falling-disc",
        coupling="monolithic",
        gravity=(0.0, -9.81),
        domain=ut.Domain(upper=(0.02, 0.06), resolution=round(0.06 / DIAMETER * cells), resolution_along="y"),
        time=ut.Time(end=1.0, frame_rate=200.0, cfl=0.9),
        fluid=ut.Fluid(density=1000.0, viscosity=0.01, tolerance=1e-5),
        objects={
            "disc": ut.RigidBody(
                shape=ut.Sphere(radius=DIAMETER / 2), position=(0.01, 0.04), density=1250.0, restitution=0.0
            )
        },
    )
    return ut.Simulation(scene)


def run(full: bool) -> Iterator[Quantity]:
    """32 cells per diameter."""
    cells = 32
    sim = make(cells)
    times, speeds, heights = [], [], []
    touched = None
    while sim.time < 1.0 and (touched is None or sim.time < touched + 0.05):
        sim.step()
        body = sim.body("disc")
        times.append(sim.time)
        speeds.append(float(-body.velocity[1]))
        heights.append(float(body.position[1]))
        if touched is None and heights[-1] < 0.5 * DIAMETER + 0.02 * DIAMETER:
            touched = sim.time
    falling = [v for t, v in zip(times, speeds, strict=True) if 0.45 <= t <= 0.6]
    terminal = float(np.mean(falling))
    yield quantity("terminal_speed", terminal, cells=cells, steps=sim.step_count, largest=max(speeds), floor_at=touched)
    up = 0.0
    if touched is not None:
        up = max(0.0, *(-v for t, v in zip(times, speeds, strict=True) if t >= touched))
    yield quantity("rebound", up / terminal if touched is not None else float("nan"), gap=heights[-1] / DIAMETER - 0.5)
