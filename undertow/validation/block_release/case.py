"""Spheres that settle in oil (ten Cate 2002) and a block that rises from the floor of a tank and bobs (Wu 2014)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WATER = 998.2
COUPLINGS = ("monolithic", "rigid_fluid")

# ten Cate et al. 2002, a nylon sphere of 15 mm in silicone oils: density [kg/m3] and viscosity [Pa s] of the oil, top
# speed [m/s], and how long it is followed [s]: past the top speed
OILS = {
    "e1": (970.0, 0.373, 0.0363, 1.6),
    "e2": (965.0, 0.212, 0.0571, 1.1),
    "e3": (962.0, 0.113, 0.0869, 1.05),
    "e4": (960.0, 0.058, 0.1226, 1.0),
}
SPHERE, NYLON = 0.015, 1120.0
OIL_WIDTH, OIL_DEPTH, OIL_START = 0.1, 0.16, 0.1275
"""Of the tank, and height of the centre of the sphere when it is let go [m]."""
OIL_CELLS = 6
"""Per diameter of the sphere."""

# Wu et al. 2014 as digitised in Qiu et al. 2017: time [s], height of the centre [m]
RISING = np.array(
    [
        (0.111, 0.0143), (0.182, 0.0221), (0.256, 0.0362), (0.318, 0.0480), (0.360, 0.0512), (0.500, 0.0383),
        (0.585, 0.0364), (0.733, 0.0493), (0.909, 0.0378), (1.082, 0.0481),
    ]
)  # fmt: skip
SETTLED = 0.0436
RISE_DEPTH = 0.052
FRAME = 0.04
"""Of the camera [s]: the clock of the film is known to one of its frames."""
SMOKE = {"OILS": {"e4": (960.0, 0.058, 0.1226, 0.02)}, "OIL_CELLS": 2}


def make(
    coupling: str, body: ut.RigidBody, depth: float, upper: tuple[float, ...], cells: int,
    density: float = WATER, viscosity: float = 0.0, particles: bool = True,
) -> ut.Simulation:  # fmt: skip
    """A tank with a liquid of ``depth`` [m]; cells: along x."""
    middle = tuple(0.5 * x for x in upper)
    scene = ut.Scene(
        name="block-release",
        coupling=coupling,
        domain=ut.Domain(upper=upper, resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=2.0, frame_rate=100.0),
        fluid=ut.Fluid(density=density, viscosity=viscosity, tolerance=1e-5),
        surface={"particles": particles},
        objects={
            "pool": ut.Water(
                shape=ut.Plane(normal=(0.0, 1.0, 0.0)[: len(upper)]), position=(middle[0], depth, *middle[2:])
            ),
            "block": body,
        },
    )
    return ut.Simulation(scene)


def follow(sim: ut.Simulation, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Times [s] and heights of the centre [m]."""
    rows = [(0.0, float(sim.body("block").position[1]))]
    while sim.time < end - 1e-9:
        sim.step()
        rows.append((sim.time, float(sim.body("block").position[1])))
    time, height = np.array(rows).T
    return time, height


def settle(coupling: str, oil: str, cells: int) -> float:
    """Top speed of the sphere let go in an oil over that of the experiment (3D); cells: per diameter."""
    density, viscosity, measured, end = OILS[oil]
    upper = (OIL_WIDTH, OIL_DEPTH + 0.02, OIL_WIDTH)
    ball = ut.RigidBody(
        shape=ut.Sphere(radius=SPHERE / 2), position=(OIL_WIDTH / 2, OIL_START, OIL_WIDTH / 2), density=NYLON
    )
    along = round(cells * OIL_WIDTH / SPHERE)
    sim = make(coupling, ball, OIL_DEPTH, upper, along, density, viscosity, particles=False)
    fastest = 0.0
    while sim.time < end - 1e-9:
        sim.step()
        fastest = max(fastest, -float(sim.body("block").velocity[1]))
    return fastest / measured


def rise(coupling: str, cells: int) -> dict[str, float]:
    """Error of the height over the depth, period [s] and error of the settled height [cells]; 49 x 24 x 48 mm (3D).

    The block starts on the floor. The clock of the film may be off by one of its frames, and by no more.
    """
    width = 0.14
    start = (0.5 * width, 0.012, 0.5 * width)
    body = ut.RigidBody(shape=ut.Box(size=(0.049, 0.024, 0.048)), position=start, density=800.52)
    time, height = follow(make(coupling, body, RISE_DEPTH, (width, 0.09, width), cells), 1.25)

    def error(shift: float) -> float:
        """Over all points of the film, whose clock runs ``shift`` [s] ahead of that of the simulation."""
        return float(np.abs(np.interp(RISING[:, 0] - shift, time, height) - RISING[:, 1]).max() / RISE_DEPTH)

    shift = min(np.linspace(-FRAME, FRAME, 81), key=error)
    late = min(np.linspace(-0.15, 0.0, 151), key=error)
    off = settled(time + shift, height) * cells / width
    found = {"error": error(shift), "period": bobbing(time + shift, height), "settled": off, "shift": float(shift)}
    return {**found, "late": -float(late), "error_late": error(late)}


def bobbing(time: np.ndarray, height: np.ndarray) -> float:
    """Mean time between upward crossings of the settled height after the first rise [s]."""
    late = time > 0.38
    t, y = time[late], height[late] - np.mean(height[late])
    up = np.flatnonzero((y[:-1] < 0) & (y[1:] >= 0))
    crossings = t[up] - y[up] * (t[up + 1] - t[up]) / (y[up + 1] - y[up])
    return float(np.mean(np.diff(crossings))) if len(crossings) > 1 else float("nan")


def settled(time: np.ndarray, height: np.ndarray) -> float:
    """How far the mean height after the first rise is from the settled one [m]."""
    return float(abs(np.mean(height[time > 0.6]) - SETTLED))


def run(full: bool = False) -> Iterator[Quantity]:
    """Both experiments under both couplings."""
    # of the data: overshoots at 0.360 and 0.733 s, then 1.082 s
    period = (1.082 - 0.360) / 2
    for coupling in COUPLINGS:
        fine = 10 if full else OIL_CELLS
        speeds = {oil: settle(coupling, oil, fine) for oil in OILS}
        worst = max(abs(speed - 1.0) for speed in speeds.values())
        yield quantity(f"sinking_{coupling}", worst, cells_per_diameter=fine, speeds=speeds)
        cells = 60 if full else 40
        found = rise(coupling, cells)
        yield quantity(f"rising_{coupling}", found["error"], cells=cells, shift=found["shift"])
        # by how much the block comes up later than that of the film, and the error with a clock set back by that [s]
        yield quantity(f"late_{coupling}", found["late"], info=True, error=found["error_late"])
        yield quantity(f"period_{coupling}", found["period"] / period, period=found["period"], experiment=period)
        yield quantity(f"settled_{coupling}", found["settled"], cells=cells)
