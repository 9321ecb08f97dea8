"""A floating box breaks: what the water and the pieces have together is what water and box had."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WIDTH, HEIGHT, LEVEL = 1.6, 0.8, 0.4
FRAME_RATE = 60.0
TOTALS = ("momentum_{}", "momentum_solids_{}")


def float_box(cells: int, ball: bool) -> ut.Simulation:
    """A box that floats and drifts; with a ball that falls on it."""
    fracture = ut.Fracture(pattern="voronoi", pieces=5, seed=1, strength=6.0)
    objects: dict[str, object] = {
        "pool": ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5 * WIDTH, LEVEL), velocity=(0.2, 0.0)),
        "box": ut.RigidBody(
            shape=ut.Box(size=(0.4, 0.2)), position=(0.5 * WIDTH, LEVEL), density=500.0, velocity=(0.3, 0.0),
            angular_velocity=(0.0, 0.0, 0.8), fracture=fracture,
        ),
    }  # fmt: skip
    if ball:
        objects["ball"] = ut.RigidBody(
            shape=ut.Sphere(radius=0.05), position=(0.5 * WIDTH + 0.05, LEVEL + 0.25), density=1500.0
        )
    scene = ut.Scene(
        name="fracture-in-water", coupling="monolithic", objects=objects,
        domain=ut.Domain(upper=(WIDTH, HEIGHT), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=2.0, frame_rate=FRAME_RATE), fluid=ut.Fluid(tolerance=1e-7),
    )  # fmt: skip
    return ut.Simulation(scene)


def momentum(row: dict[str, float]) -> np.ndarray:
    """Of water and bodies (2,) [kg/s]."""
    return np.array([sum(row[name.format(axis)] for name in TOTALS) for axis in "xy"])


def energy(row: dict[str, float]) -> float:
    """Kinetic energy of water and bodies [J/m]."""
    return row["kinetic_energy"] + row["kinetic_energy_solids"]


def run(full: bool = False) -> Iterator[Quantity]:
    """The event by itself, and a blow with half a second of what follows."""
    cells = 192 if full else 128
    sim = float_box(cells, ball=False)
    for _ in range(12):
        before = sim.step().ledger
    broken = sim.break_body("box", at=(0.5 * WIDTH, LEVEL + 0.1), along=(0.0, -1.0))
    after = sim.ledger.row()
    change = np.abs(momentum(after) - momentum(before)).max() / np.abs(momentum(before)).max()
    yield quantity("momentum", float(change), pieces=broken.pieces, momentum=momentum(before).tolist())
    yield quantity("energy", energy(after) / energy(before) - 1.0, before=energy(before), after=energy(after))
    yield quantity("event_volume", abs(after["fluid_volume"] / before["fluid_volume"] - 1.0), info=True)
    sim = float_box(cells, ball=True)
    start = sim.ledger.row()["fluid_volume"]
    pieces, volume, highest = 0, 0.0, []
    total = [sim.ledger.row()]
    while sim.time < 0.7:
        report = sim.step()
        pieces += sum(one.pieces for one in report.broken)
        volume = max(volume, abs(report.ledger["fluid_volume"] / start - 1.0))
        highest.append(report.ledger["kinetic_energy"] + report.ledger["energy_solids"])
        total.append(report.ledger)
    yield quantity("pieces", pieces)
    yield quantity("volume", volume, last=abs(total[-1]["fluid_volume"] / start - 1.0))
