"""Two links hinged to each other and to the world in a stream: the joints hold, and the drag sets their angle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

SPEED = 0.25


def make(cells: int) -> ut.Simulation:
    """Two capsules of 28 cm hang in a viscous stream of 0.25 m/s; ``cells`` cells along the stream."""

    def link(y: float) -> ut.RigidBody:
        return ut.RigidBody(shape=ut.Capsule(radius=0.05, length=0.2), position=(0.6, y), density=2000.0)

    scene = ut.Scene(
        name="joint-in-flow",
        coupling="monolithic",
        domain=ut.Domain(
            upper=(1.6, 1.0),
            resolution=cells,
            resolution_along="x",
            sides={
                "x_low": ut.Inflow(velocity=(SPEED, 0.0)),
                "x_high": "outflow",
                "y_low": ut.Wall(slip=True),
                "y_high": ut.Wall(slip=True),
            },
        ),
        time=ut.Time(end=12.0, frame_rate=20.0),
        fluid=ut.Fluid(density=1000.0, viscosity=20.0, initial_velocity=(SPEED, 0.0), tolerance=1e-5),
        objects={
            "upper": link(0.68),
            "lower": link(0.36),
            "pivot": ut.Joint(kind="hinge", child="upper", position=(0.6, 0.84)),
            "elbow": ut.Joint(kind="hinge", parent="upper", child="lower", position=(0.6, 0.52)),
        },
    )
    return ut.Simulation(scene)


def settle(cells: int) -> tuple[float, float, float]:
    """(angle of the upper link from the vertical at the end [degrees], its change over the last second, largest error
    of a joint)."""
    sim = make(cells)
    error, angles = 0.0, []
    while sim.frame < sim.scene.time.frames:
        report = sim.step()
        error = max(error, report.ledger["joint_error"])
        if sim.at_frame:
            offset = sim.body("upper").position - np.array([0.6, 0.84, 0.0])
            angles.append(float(np.degrees(np.arctan2(offset[0], -offset[1]))))
    return angles[-1], abs(angles[-1] - angles[-20]), error


def run(full: bool) -> Iterator[Quantity]:
    """Three grids."""
    sizes = (32, 64, 128) if full else (24, 48, 96)
    found = {n: settle(n) for n in sizes}
    yield quantity("joint_error", max(error for *_, error in found.values()))
    angles = [found[n][0] for n in sizes]
    change = abs(angles[2] - angles[1]) / abs(angles[1] - angles[0])
    yield quantity("angle_convergence", change, cells=sizes, angles=angles, last_second=[found[n][1] for n in sizes])
