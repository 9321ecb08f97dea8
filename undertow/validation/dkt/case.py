"""Two spheres sink one above the other: drafting, kissing, tumbling (``coupling = "rigid_fluid"``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DIAMETER = 0.01 / 6
WIDTH, HEIGHT, LEVEL = 6 * DIAMETER, 24 * DIAMETER, 23 * DIAMETER
DENSITY, VISCOSITY, SHARE = 1000.0, 1.9e-3, 1.14
"""Of the fluid [kg/m3, Pa s]; density of the spheres over it."""
OFFSET = 0.05 * DIAMETER


def make(cells: int) -> ut.Simulation:
    """The tank with both spheres; cells: per diameter."""
    sphere = ut.Sphere(radius=DIAMETER / 2)
    top = 21.5 * DIAMETER
    places = {"lower": (WIDTH / 2, top - 2.04 * DIAMETER, WIDTH / 2), "upper": (WIDTH / 2 + OFFSET, top, WIDTH / 2)}
    scene = ut.Scene(
        name="dkt",
        coupling="rigid_fluid",
        domain=ut.Domain(
            upper=(WIDTH, HEIGHT, WIDTH), resolution=6 * cells, resolution_along="x", sides={"y_high": "open"}
        ),
        time=ut.Time(end=1.0, frame_rate=100.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY, tolerance=1e-4),
        surface={"particles": False},
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, LEVEL, 0.0)),
            **{
                name: ut.RigidBody(shape=sphere, position=place, density=SHARE * DENSITY, friction=0.0)
                for name, place in places.items()
            },
        },
    )
    return ut.Simulation(scene)


def follow(sim: ut.Simulation, end: float) -> np.ndarray:
    """Rows of time [s], gap / diameter, angle of the line of centres to the vertical [degrees], speed [m/s]."""
    rows = []
    while sim.time < end - 1e-9:
        sim.step()
        upper, lower = sim.body("upper"), sim.body("lower")
        apart = upper.position - lower.position
        distance = float(np.linalg.norm(apart))
        angle = float(np.degrees(np.arccos(apart[1] / distance)))
        speed = float(np.linalg.norm(upper.velocity + lower.velocity) / 2)
        rows.append((sim.time, distance / DIAMETER - 1.0, angle, speed))
        if lower.position[1] < DIAMETER or upper.position[1] < DIAMETER or angle > 90.0:
            break
    return np.array(rows)


def run(full: bool = False) -> Iterator[Quantity]:
    """The smallest gap, how far the line of centres turns after the spheres have met, and the Reynolds number."""
    cells = 7 if full else 5
    rows = follow(make(cells), 1.0)
    time, gap, angle, speed = rows.T
    met = int(np.argmax(gap < 0.05)) if (gap < 0.05).any() else len(gap) - 1
    reynolds = float(speed.max() * DIAMETER * DENSITY / VISCOSITY)
    yield quantity("gap", float(gap.min()), cells=cells, met=float(time[met]))
    yield quantity("turn", float(angle[met:].max()), angle_met=float(angle[met]), end=float(time[-1]))
    yield quantity("reynolds", reynolds, info=True, met=float(speed[met] * DIAMETER * DENSITY / VISCOSITY))
