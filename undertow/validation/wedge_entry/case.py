"""A wedge enters still water: its speed against an experiment, its force against the similarity solution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WIDTH, DEADRISE, MASS, SPEED = 1.2, 25.0, 94.0, 5.05
"""Width [m], angle of the bottom [degrees], mass per metre [kg/m], speed of entry [m/s]."""
LIGHTER = 78.3
"""The other mass per metre that is named for it [kg/m]."""
SIDE = 0.2
"""Height of the upright sides above the bottom [m]."""
TANK, LEVEL = (4.8, 1.8), 1.2
END = 0.040
STEEPER, FORCE = 30.0, 14.07
"""Angle of the bottom of a wedge at constant speed without gravity [degrees]; its force over rho V^3 t, by
``similarity.force_coefficient(30, surface=180, bottom=120, jet=0.02, finest=0.01, reach=40)``."""
WET, TANKS = 1.0, 16.0
"""Its wetted width at the end, jets included [m]; width of the tank over that."""
ROOT = 3.2
"""Where the jets of that wedge end, over V t from its middle."""

# speed [m/s] at times [ms] after the keel has met the water (Zhao and Faltinsen 1993; Yettou et al. 2006)
BOUNDARY_ELEMENTS = np.array(
    [
        (2.5, 4.956), (4.9, 4.680), (7.3, 4.359), (9.6, 4.020), (11.9, 3.654), (14.3, 3.360), (16.6, 3.120),
        (18.9, 2.870), (23.6, 2.487), (28.3, 2.194), (35.4, 1.883), (40.1, 1.759),
    ]
)  # fmt: skip
EXPERIMENT = np.array(
    [
        (1.9, 5.018), (4.1, 4.894), (5.9, 4.733), (7.6, 4.484), (9.8, 4.136), (11.8, 3.744), (13.1, 3.494),
        (14.8, 3.209), (16.1, 2.968), (17.5, 2.790), (19.1, 2.629), (20.9, 2.505), (24.3, 2.363), (28.8, 2.176),
        (34.8, 1.865), (39.9, 1.777),
    ]
)  # fmt: skip


def make(cells: int, mass: float = MASS) -> ut.Simulation:
    """The wedge with its keel at the surface (2D); cells: per width, mass: per metre [kg/m]."""
    rise = 0.5 * WIDTH * np.tan(np.radians(DEADRISE))
    half = 0.5 * WIDTH
    points = ((0.0, 0.0), (half, rise), (half, rise + SIDE), (-half, rise + SIDE), (-half, rise))
    area = WIDTH * (0.5 * rise + SIDE)
    scene = ut.Scene(
        name="wedge-entry",
        coupling="monolithic",
        domain=ut.Domain(
            upper=TANK, resolution=round(cells * TANK[0] / WIDTH), resolution_along="x", sides={"y_high": "open"}
        ),
        time=ut.Time(end=1.0, frame_rate=1000.0),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-4),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5 * TANK[0], LEVEL)),
            "wedge": ut.RigidBody(
                shape=ut.Hull(points=points), position=(0.5 * TANK[0], LEVEL), velocity=(0.0, -SPEED),
                density=mass / area,
            ),
        },
    )  # fmt: skip
    return ut.Simulation(scene)


def fall(cells: int, mass: float = MASS) -> np.ndarray:
    """(time [ms], speed [m/s]) every millisecond from the moment the keel meets the water."""
    sim = make(cells, mass)
    rows = [(0.0, SPEED)]
    while sim.time < END + 1e-4:
        sim.advance_to(sim.time + 1e-3)
        rows.append((1e3 * sim.time, -float(sim.body("wedge").velocity[1])))
    return np.array(rows)


def impulse(cells: int) -> float:
    """Impulse on a wedge at constant speed over that of the similarity solution; cells: in its wetted width (2D).

    The force is in proportion to time, so the impulse of all steps judges it without the noise of one of them.
    """
    half, end = 0.75 * WET, 0.5 * WET / ROOT
    rise = half * np.tan(np.radians(STEEPER))
    points = ((0.0, 0.0), (half, rise), (half, rise + SIDE), (-half, rise + SIDE), (-half, rise))
    width, level = TANKS * WET, 0.5 * TANKS * WET
    scene = ut.Scene(
        name="wedge-at-constant-speed",
        coupling="monolithic",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(
            upper=(width, level + WET), resolution=round(cells * TANKS), resolution_along="x", sides={"y_high": "open"}
        ),
        time=ut.Time(end=1.0, frame_rate=20.0 / end),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-5),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5 * width, level)),
            "wedge": ut.RigidBody(
                shape=ut.Hull(points=points), position=(0.5 * width, level), velocity=(0.0, -1.0), density=1e9
            ),
        },
    )
    sim = ut.Simulation(scene)
    total = 0.0
    for report in sim.steps(until=end):
        total += float(sim.body("wedge").force[1]) * report.time_step
    return total / (0.5 * FORCE * 1000.0 * end**2)


def largest_error(curve: np.ndarray, data: np.ndarray) -> float:
    """Largest difference of the speeds over the speed of entry."""
    return float(np.abs(np.interp(data[:, 0], curve[:, 0], curve[:, 1]) - data[:, 1]).max() / SPEED)


def relative_error(curve: np.ndarray, data: np.ndarray) -> float:
    """Largest difference of the speeds over the speed of the data at that time."""
    return float(np.abs(np.interp(data[:, 0], curve[:, 0], curve[:, 1]) / data[:, 1] - 1.0).max())


def run(full: bool = False) -> Iterator[Quantity]:
    """Speeds on three grids and how they close up."""
    ladder = (32, 64, 128)
    curves = [fall(cells) for cells in ladder]
    for cells, curve in zip(ladder, curves, strict=True):
        yield quantity(
            f"boundary_elements_{cells}", largest_error(curve, BOUNDARY_ELEMENTS), info=True, cells=cells,
            experiment=largest_error(curve, EXPERIMENT), last_speed=float(curve[-1, 1]),
        )  # fmt: skip
    steps = [float(np.abs(b[:, 1] - a[:, 1]).max()) for a, b in zip(curves, curves[1:], strict=False)]
    yield quantity("convergence", steps[1] / steps[0], differences=steps, cells=list(ladder))
    # two masses are named for this wedge: the nearer one is judged, and said
    light = fall(ladder[-1], LIGHTER)
    found = {MASS: relative_error(curves[-1], EXPERIMENT), LIGHTER: relative_error(light, EXPERIMENT)}
    nearer = min(found, key=lambda mass: found[mass])
    errors = {f"{mass:g} kg/m": error for mass, error in found.items()}
    yield quantity("experiment", found[nearer], mass=nearer, cells=ladder[-1], errors=errors)
    yield quantity("similarity_force", impulse(64), cells=64, cells_32=impulse(32))
