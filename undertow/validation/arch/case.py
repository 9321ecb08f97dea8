"""A semicircular arch of 15 stones without mortar: stands if it is thicker than Heyman's limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

STONES = 15
RADIUS = 1.0
"""Of the centre line [m]."""
DEPTH = 0.4
RATE = 240

SMOKE = {"RATE": 10}


def stone(thickness: float) -> ut.Hull:
    """The wedge between two joints, symmetric about the y axis, with the origin in the middle of the arch."""
    half = 0.5 * np.pi / STONES
    inner, outer = RADIUS - 0.5 * thickness, RADIUS + 0.5 * thickness
    outline = [(r * np.sin(a), r * np.cos(a)) for r in (inner, outer) for a in (-half, half)]
    return ut.Hull(points=tuple((x, y, z) for z in (-0.5 * DEPTH, 0.5 * DEPTH) for x, y in outline))


def build(thickness: float, duration: float) -> ut.Simulation:
    """The arch on the ground; its lowest joints are the two that touch it."""
    shape, rest = stone(thickness), (0.0, 0.0, 0.0)
    objects = {"ground": ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=rest, friction=0.7)}
    for i in range(STONES):
        turn = ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=90.0 - (i + 0.5) * 180.0 / STONES)
        objects[f"stone-{i:02d}"] = ut.RigidBody(
            shape=shape, position=rest, rotation=turn, density=2000.0, friction=0.7
        )
    time = ut.Time(end=duration, fixed_step=1.0 / RATE)
    return ut.Simulation(ut.Scene(name="arch", time=time, objects=objects, solids=ut.Solids()))


def largest_move(thickness: float, duration: float, enough: float) -> tuple[float, float]:
    """(largest motion of the middle of a stone / radius, time [s]); stops when it is ``enough``."""
    sim = build(thickness, duration)
    names = [name for name in sim.scene.bodies if name != "ground"]

    def middles() -> np.ndarray:
        stones = [sim.body(name) for name in names]
        return np.array([s.position + RADIUS * s.matrix[:, 1] for s in stones])

    start, moved = middles(), 0.0
    for _ in range(round(duration * RATE)):
        sim.step()
        moved = float(np.linalg.norm(middles() - start, axis=1).max()) / RADIUS
        if moved > enough:
            break
    return moved, sim.time


def run(full: bool = False) -> Iterator[Quantity]:
    """10 s at thickness / radius 0.15 and 0.08; with ``full`` also closer to the limit."""
    moved, _ = largest_move(0.15, 10.0, 0.5)
    yield quantity("motion_thick", moved, thickness=0.15)
    moved, time = largest_move(0.08, 10.0, 0.5)
    yield quantity("motion_thin", moved, thickness=0.08, time=time)
    for thickness in (0.095, 0.10, 0.115, 0.12) if full else ():
        moved, time = largest_move(thickness, 10.0, 0.5)
        yield quantity(f"motion_{thickness}", moved, info=True, time=time)
