"""Drag of a sphere that sinks; two that sink one above the other: drafting, kissing, tumbling (``rigid_fluid``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

DIAMETER = 0.01 / 6
WIDTH, HEIGHT, LEVEL = 6 * DIAMETER, 24 * DIAMETER, 23 * DIAMETER
DENSITY, VISCOSITY, SHARE = 1000.0, 1e-3, 1.14
"""Of the fluid [kg/m3, Pa s]; density of the spheres over it."""
OFFSET = 0.05 * DIAMETER
NEAR, TURNED = 0.05, 45.0
"""The spheres touch nearer than this [diameters], and have tumbled when their line of centres has turned so far."""
GRIDS, GRIDS_FULL = (4, 5, 6), (5, 7, 10)
"""Cells per diameter."""
REYNOLDS = (10, 30, 100)
DRAG_CELLS, DRAG_CELLS_FULL = 5, 10
"""Cells per diameter, for one sphere."""
DRAG_WIDTH, DRAG_WIDTH_FULL, DRAG_HEIGHT = 6, 10, 14
"""Of its tank [diameters]."""
GRAVITY = 9.81
SMOKE = {"GRIDS": (2, 2, 2), "REYNOLDS": (100,), "DRAG_CELLS": 2}


def make(cells: int) -> ut.Simulation:
    """The tank with both spheres; cells: per diameter."""
    top = 21.5 * DIAMETER
    places = {"lower": (WIDTH / 2, top - 2.04 * DIAMETER, WIDTH / 2), "upper": (WIDTH / 2 + OFFSET, top, WIDTH / 2)}
    return _tank(places, SHARE, (WIDTH, HEIGHT, WIDTH), LEVEL, cells, False)


def _tank(
    places: Mapping[str, tuple[float, ...]], share: float, upper: tuple[float, ...], level: float, cells: int,
    slip: bool,
) -> ut.Simulation:  # fmt: skip
    """Spheres by name and place in a tank; share: their density over that of the fluid."""
    sphere = ut.Sphere(radius=DIAMETER / 2)
    walls = dict.fromkeys(("x_low", "x_high", "z_low", "z_high"), ut.Wall(slip=True)) if slip else {}
    scene = ut.Scene(
        name="dkt",
        coupling="rigid_fluid",
        domain=ut.Domain(
            upper=upper,
            resolution=round(upper[0] / DIAMETER * cells),
            resolution_along="x",
            sides={"y_high": "open", **walls},
        ),
        time=ut.Time(end=10.0, frame_rate=100.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY, tolerance=1e-4),
        surface={"particles": False},
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, level, 0.0)),
            **{
                name: ut.RigidBody(shape=sphere, position=place, density=share * DENSITY, friction=0.0)
                for name, place in places.items()
            },
        },
    )
    return ut.Simulation(scene)


def follow(sim: ut.Simulation, end: float) -> Array:
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
        if min(lower.position[1], upper.position[1]) < DIAMETER or angle > 90.0:
            break
    return np.array(rows)


def stages(rows: Array) -> tuple[float, float, float]:
    """Times [s] at which the upper sphere has drawn up by half of the gap, touches, and has tumbled; NaN: never."""
    time, gap, angle, _ = rows.T
    met = np.flatnonzero(gap < NEAR)
    late = np.arange(len(time)) >= (met[0] if met.size else len(time))
    events = (gap < 0.5 * gap[0], gap < NEAR, (angle > TURNED) & late)
    found = [np.flatnonzero(event) for event in events]
    return tuple(float(time[at[0]]) if at.size else float("nan") for at in found)  # type: ignore[return-value]


def law(reynolds: float) -> float:
    """Drag coefficient of a sphere in an endless fluid (Schiller and Naumann 1933)."""
    return 24.0 / reynolds * (1.0 + 0.15 * reynolds**0.687)


def drag(reynolds: float, cells: int, wide: float = DRAG_WIDTH) -> tuple[float, float]:
    """Drag coefficient of one sphere at its top speed over that of the law at the Reynolds number that it has, and that
    number. It is as heavy as would fall at ``reynolds`` by the law; side walls slip, ``wide`` diameters apart."""
    speed = reynolds * VISCOSITY / (DENSITY * DIAMETER)
    excess = 0.75 * law(reynolds) * speed**2 / (GRAVITY * DIAMETER)
    width = wide * DIAMETER
    place = (width / 2, (DRAG_HEIGHT - 3.0) * DIAMETER, width / 2)
    upper = (width, DRAG_HEIGHT * DIAMETER, width)
    sim = _tank({"ball": place}, 1.0 + excess, upper, (DRAG_HEIGHT - 1.0) * DIAMETER, cells, True)
    fastest, end = 0.0, (DRAG_HEIGHT - 5.0) * DIAMETER / speed
    while sim.time < end and sim.body("ball").position[1] > 2.5 * DIAMETER:
        sim.step()
        fastest = max(fastest, -float(sim.body("ball").velocity[1]))
    found = fastest * DIAMETER * DENSITY / VISCOSITY
    return 4.0 / 3.0 * excess * GRAVITY * DIAMETER / fastest**2 / law(found), found


def run(full: bool = False) -> Iterator[Quantity]:
    """The drag of one sphere, and the stages of two on three grids."""
    cells, wide = (DRAG_CELLS_FULL, DRAG_WIDTH_FULL) if full else (DRAG_CELLS, DRAG_WIDTH)
    for reynolds in REYNOLDS:
        over, found = drag(reynolds, cells, wide)
        yield quantity(f"drag_{reynolds}", over, cells=cells, wide=wide, reynolds=found)
    grids = GRIDS_FULL if full else GRIDS
    runs = [follow(make(cells), 1.0) for cells in grids]
    yield from judge_stages(grids, runs)


def judge_stages(grids: tuple[int, ...], runs: list[Array]) -> Iterator[Quantity]:
    """What the runs of two spheres, coarse to fine, are judged by."""
    times = [stages(rows) for rows in runs]
    time, gap, angle, speed = runs[-1].T
    met = gap < NEAR
    late = angle[int(np.argmax(met)) :] if met.any() else np.zeros(1)
    yield quantity("gap", float(gap.min()), cells=grids[-1], end=float(time[-1]))
    yield quantity("turn", float(late.max()), angle_met=float(late[0]))
    yield quantity("stages_in_order", float(all(a < b < c for a, b, c in times)), times=times, cells=grids)
    yield quantity("overlap", float(max(max(0.0, -rows[:, 1].min()) for rows in runs)))
    # a stage that does not come has no time, and the times do not converge
    first, second = (np.abs(np.subtract(times[n + 1], times[n])[1:]).sum() for n in range(2))
    yield quantity("time_convergence", float(second / first) if first else float("nan"), times=times)
    reynolds = float(speed.max() * DIAMETER * DENSITY / VISCOSITY)
    yield quantity("reynolds", reynolds, info=True)
