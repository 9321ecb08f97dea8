"""A body from a billionth of the fluid's density to a billion times it: no blow-up, and the right limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

GRAVITY = 9.81


def release(ratio: float, cells: int, size: float) -> ut.Simulation:
    """A sphere of diameter 1 released in a full closed tank ``size`` diameters wide."""
    scene = ut.Scene(
        name="density-ratio",
        coupling="monolithic",
        gravity=(0.0, -GRAVITY, 0.0),
        domain=ut.Domain(upper=(size, size, size), resolution=round(cells * size)),
        time=ut.Time(end=100.0, frame_rate=200.0),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6),
        objects={
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.5),
                position=(0.5 * size + 0.03, 0.5 * size, 0.5 * size),
                density=1000.0 * ratio,
            )
        },
    )
    return ut.Simulation(scene)


def first(ratio: float, cells: int, size: float) -> float:
    """Acceleration in the first step / g, positive upwards."""
    sim = release(ratio, cells, size)
    report = sim.step()
    return float(sim.body("ball").velocity[1] / (report.time_step * GRAVITY))


def carried(ratio: float, cells: int, size: float) -> float:
    """Velocity of a ball in fluid that a pressure gradient sets in motion / velocity of the fluid."""
    end, speed = 0.05, 0.5
    scene = ut.Scene(
        name="density-ratio",
        coupling="monolithic",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(
            upper=(size, size, size),
            resolution=round(cells * size),
            sides={
                "x_low": ut.Inflow(velocity=ut.Table(times=[0.0, end], values=[[0.0, 0.0, 0.0], [speed, 0.0, 0.0]])),
                "x_high": "outflow",
                **{name: ut.Wall(slip=True) for name in ("y_low", "y_high", "z_low", "z_high")},
            },
        ),
        time=ut.Time(end=end, frame_rate=20.0, max_step=end / 5),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6),
        objects={
            "ball": ut.RigidBody(
                shape=ut.Sphere(radius=0.5), position=(0.5 * size, 0.5 * size, 0.5 * size), density=1000.0 * ratio
            )
        },
    )
    sim = ut.Simulation(scene)
    sim.advance_to(end)
    return float(sim.body("ball").velocity[0] / speed)


def stream_with_sheet(ratio: float, cells: int, end: float, step: float) -> ut.Simulation:
    """A square sheet across a stream that is set in motion to 0.5 m/s; ``ratio``: its mass over that of a cell's fluid
    of the same area."""
    scene = ut.Scene(
        name="density-ratio",
        coupling="monolithic",
        gravity=(0.0, 0.0, 0.0),
        soft=ut.Soft(collisions=False),
        domain=ut.Domain(
            upper=(4.0, 2.0, 2.0),
            resolution=4 * cells,
            sides={
                "x_low": ut.Inflow(velocity=ut.Table(times=[0.0, 0.05], values=[[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])),
                "x_high": "outflow",
                **{name: ut.Wall(slip=True) for name in ("y_low", "y_high", "z_low", "z_high")},
            },
        ),
        time=ut.Time(end=end, frame_rate=1 / end, fixed_step=step),
        fluid=ut.Fluid(density=1000.0, tolerance=1e-6),
        objects={
            "sheet": ut.Cloth(
                size=(1.0, 1.0),
                position=(1.03, 1.0, 1.0),
                rotation=ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=90.0),
                element_size=0.2,
                density=1000.0 * ratio / cells,
                stretching=1e4,
            )
        },
    )
    return ut.Simulation(scene)


def complete(make: Callable[[float], ut.Simulation], body: str, axis: int) -> tuple[float, dict[str, float | str]]:
    """The part of 19 decades that takes 200 steps without a blow-up; what the body does at the end of each [m/s]."""
    done = 0
    speeds: dict[str, float | str] = {}
    for decade in range(-9, 10):
        sim = make(10.0**decade)
        try:
            for _ in range(200):
                sim.step()
                if np.abs(sim.body(body).velocity).max() > 100.0:
                    raise ut.PhysicsError("too fast")
            done += 1
            speeds[f"1e{decade}"] = float(sim.body(body).velocity[axis])
        except ut.PhysicsError as error:
            speeds[f"1e{decade}"] = str(error)
    return done / 19, speeds


def shells() -> Iterator[Quantity]:
    """The limit of a light shell, and 200 steps for every decade."""
    sim = stream_with_sheet(1e-9, 8, 0.05, 0.01)
    sim.advance_to(0.05)
    yield quantity("light_shell", float(sim.body("sheet").velocity[0] / 0.5))
    share, speeds = complete(lambda ratio: stream_with_sheet(ratio, 4, 4.0, 0.02), "sheet", 0)
    yield quantity("completed_share_shell", share, speeds=speeds)


def run(full: bool) -> Iterator[Quantity]:
    """Limits in a tank of six diameters at eight cells per diameter; 200 steps for every decade on a coarse grid."""
    cells, size = (12, 6.0) if full else (8, 6.0)
    yield quantity("light_start", first(1e-9, cells, size), cells=cells)
    yield quantity("heavy_fall", -first(1e9, cells, size), cells=cells)
    yield quantity("light_in_tank", carried(1e-9, cells, size), cells=cells)
    yield quantity("neutral", carried(1.0, cells, size), cells=cells)
    share, speeds = complete(lambda ratio: release(ratio, 5, 4.0), "ball", 1)
    yield quantity("completed_share", share, speeds=speeds)
    yield from shells()
