"""Bodies that close off a region of fluid: pistons in a pipe, a hydraulic press, pockets between bodies that touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WIDTH, HEIGHT, THICK, WATER, WEIGHT = 0.4, 1.0, 0.15, 1000.0, 9.81
"""Of the pipe and the piston [m], density [kg/m3] and gravity [m/s2]."""
CELLS, CELLS_3D = 40, 20
DENSITIES = (10.0, 100.0, 1000.0, 8000.0)
FITS = {"exact": 0.0, "overlap": 0.01}
"""How far a piston reaches into the walls [m]."""
END = 1.0
PRESS_CELL = 0.01
PILE_END = 2.0
SMOKE = {
    "CELLS": 20, "CELLS_3D": 10, "DENSITIES": (100.0,), "FITS": {"exact": 0.0}, "END": 0.05, "PRESS_CELL": 0.04,
    "PILE_END": 0.05,
}  # fmt: skip


def make_pipe(
    pistons: Mapping[str, tuple[float, float]], water: bool, coupling: str = "monolithic", narrower: float = 0.0,
    dimensions: int = 2, cells: int | None = None, tolerance: float = 1e-6,
) -> ut.Scene:  # fmt: skip
    """Pistons, by name their height [m] and density [kg/m3], in a pipe whose walls are those of the domain; water: with
    a surface, up to the middle of the topmost one, else the pipe is full and open at its top."""
    across = (WIDTH - narrower,) * (dimensions - 1)
    size = (across[0], THICK, *(across[1:] if dimensions == 3 else (1.0,)))
    middle = (WIDTH / 2,) * (dimensions - 1)
    objects: dict[str, Any] = {
        name: ut.RigidBody(shape=ut.Box(size=size), position=_place(middle, y, dimensions), density=density)
        for name, (y, density) in pistons.items()
    }
    level = max(y for y, _ in pistons.values())
    if water:
        objects["pool"] = ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, level, 0.0))
    upper = (WIDTH, HEIGHT, WIDTH)[:dimensions]
    resolution = cells or (CELLS if dimensions == 2 else CELLS_3D)
    sides = {} if water else {"y_high": "open"}
    return ut.Scene(
        name="piston", coupling=coupling, domain=ut.Domain(upper=upper, resolution=resolution, sides=sides),
        time=ut.Time(end=END), fluid=ut.Fluid(density=WATER, tolerance=tolerance), objects=objects,
    )  # fmt: skip


def _place(middle: tuple[float, ...], y: float, dimensions: int) -> tuple[float, ...]:
    return (middle[0], y, middle[1] if dimensions == 3 else 0.0)


def way(scene: ut.Scene, names: tuple[str, ...] = ("piston",), end: float | None = None) -> tuple[float, int]:
    """The largest way of bodies [m], and the most iterations of a step."""
    sim = ut.Simulation(scene)
    start = {name: np.array(sim.body(name).position) for name in names}
    most, iterations, until = 0.0, 0, END if end is None else end
    while sim.time < until - 1e-9:
        iterations = max(iterations, sim.step().iterations)
        most = max(most, *(float(np.linalg.norm(sim.body(n).position - start[n])) for n in names))
    return most, iterations


def held(water: bool, coupling: str, dimensions: int = 2) -> tuple[float, dict[str, Any]]:
    """The largest way of pistons of all fits and densities, and each of them."""
    detail: dict[str, Any] = {}
    for fit, reach in FITS.items():
        for density in DENSITIES:
            scene = make_pipe({"piston": (0.5, density)}, water, coupling, -2.0 * reach, dimensions)
            detail[f"{fit} {density:g}"] = way(scene)
    return max(found for found, _ in detail.values()), detail


def sinking(narrower: float, density: float = 8000.0) -> float:
    """Mean speed of a piston so much narrower than the pipe [m], in a full one, over that of a jet through its gaps."""
    end = min(END, 0.3)
    moved, _ = way(make_pipe({"piston": (0.6, density)}, False, narrower=narrower), end=end)
    jet = np.sqrt(2.0 * (density - WATER) * WEIGHT * THICK / WATER)
    return float(moved / end / (jet * narrower / (WIDTH - narrower)))


# hydraulic press ------------------------------------------------------------------------------------------------------

SMALL, LARGE, BETWEEN, WALL = 0.08, 0.8, 0.12, 0.12
"""Widths of the two pipes, of what divides them, and of their outer walls [m]."""


def make_press(degrees: float, small: tuple[float, float], large: tuple[float, float] | None) -> ut.Scene:
    """Two pipes joined at their feet, turned with gravity by an angle; pistons by density and thickness [m]; large:
    None for one that is fixed."""
    turn = np.radians(degrees)
    along, up = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    inner, deep = SMALL + BETWEEN + LARGE, 0.6
    left, foot = -0.5 * inner, -0.3

    def box(width: float, height: float, x: float, y: float, **values: Any) -> ut.RigidBody:
        place = 0.7 + x * along + y * up
        rotation = ut.Rotation(axis=(0.0, 0.0, 1.0), degrees=degrees)
        shape = ut.Box(size=(width, height, 1.0))
        return ut.RigidBody(shape=shape, position=(*place, 0.0), rotation=rotation, friction=0.0, **values)

    still = {"motion": ut.Static()}
    outer, middle = deep + WALL, foot + 0.5 * (deep - WALL)
    thick = small[1] if large is None else large[1]
    pushed = still if large is None else {"density": large[0]}
    objects = {
        "floor": box(inner + 2.0 * WALL, WALL, 0.0, foot - 0.5 * WALL, **still),
        "left": box(WALL, outer, left - 0.5 * WALL, middle, **still),
        "right": box(WALL, outer, -left + 0.5 * WALL, middle, **still),
        "divider": box(BETWEEN, deep - 0.2, left + SMALL + 0.5 * BETWEEN, foot + 0.2 + 0.5 * (deep - 0.2), **still),
        "small": box(SMALL, small[1], left + 0.5 * SMALL, foot + 0.36, density=small[0]),
        "large": box(LARGE, thick, -left - 0.5 * LARGE, foot + 0.36, **pushed),
    }
    domain = ut.Domain(upper=(1.4, 1.4), resolution=round(1.4 / PRESS_CELL), sides={"y_high": "open"})
    return ut.Scene(
        name="press", coupling="monolithic", domain=domain, time=ut.Time(end=1.0), objects=objects,
        gravity=tuple(-WEIGHT * up), fluid=ut.Fluid(density=WATER, tolerance=1e-9),
    )  # fmt: skip


def press(degrees: float, small: tuple[float, float], large: tuple[float, float] | None) -> tuple[float, float]:
    """Forces beyond buoyancy along the pipes, and speeds, of the large piston over those of the small one."""
    sim = ut.Simulation(make_press(degrees, small, large))
    sim.step()
    sim.step()
    up = np.array([-np.sin(np.radians(degrees)), np.cos(np.radians(degrees)), 0.0])
    thick = small[1] if large is None else large[1]
    areas = {"small": SMALL * small[1], "large": LARGE * thick}
    force = {n: float(sim.body(n).force @ up) - WATER * WEIGHT * area for n, area in areas.items()}
    speed = {n: float(sim.body(n).velocity @ up) for n in areas}
    return force["large"] / force["small"], speed["small"] / speed["large"] if speed["large"] != 0.0 else 0.0


# bodies that touch ----------------------------------------------------------------------------------------------------


def make_pile(count: int = 12) -> ut.Scene:
    """Discs that sink onto each other in water."""
    rng = np.random.default_rng(1)
    objects: dict[str, Any] = {"pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.75, 0.0))}
    for b in range(count):
        place = (0.1 + 0.15 * (b % 3) + 0.02 * rng.random(), 0.1 + 0.14 * (b // 3), 0.0)
        objects[f"disc{b}"] = ut.RigidBody(shape=ut.Sphere(radius=0.06), position=place, density=2500.0)
    domain = ut.Domain(upper=(0.5, 0.9), resolution=48)
    return ut.Scene(name="pile", coupling="monolithic", domain=domain, time=ut.Time(end=PILE_END), objects=objects)


def pile_speed() -> float:
    """Root mean square of the speeds of a pile of discs at the end [m/s]."""
    sim = ut.Simulation(make_pile())
    sim.advance_to(PILE_END)
    speeds = [np.linalg.norm(sim.body(n).velocity) for n in sim.scene.objects if n != "pool"]
    return float(np.sqrt(np.mean(np.square(speeds))))


def leave_corner() -> float:
    """How far a light disc that touches floor and wall has come after 0.3 s [m]."""
    domain = ut.Domain(upper=(0.6, 0.6), resolution=30)
    disc = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.1, 0.1, 0.0), density=300.0)
    pool = ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=(0.0, 0.5, 0.0))
    objects = {"disc": disc, "pool": pool}
    sim = ut.Simulation(
        ut.Scene(name="corner", coupling="monolithic", domain=domain, time=ut.Time(end=1.0), objects=objects)
    )
    sim.advance_to(0.3)
    return float(sim.body("disc").position[1] - 0.1)


def run(full: bool = False) -> Iterator[Quantity]:
    """``full`` adds nothing."""
    kinds = [("tank", name) for name in ("monolithic", "lumped", "volume_fraction")]
    for fluid, coupling in [*kinds, ("water", "monolithic"), ("water", "lumped")]:
        most, detail = held(fluid == "water", coupling)
        yield quantity(f"moved_{fluid}_{coupling}", most, **detail)
    most, detail = held(True, "monolithic", 3)
    yield quantity("moved_3d", most, **detail)
    two = [(0.3, a, 0.62, b) for a, b in ((2000.0, 2000.0), (100.0, 8000.0), (8000.0, 100.0))]
    pipes = [make_pipe({"low": (y, a), "high": (h, b)}, w) for y, a, h, b in two for w in (False, True)]
    yield quantity("moved_two", max(way(pipe, ("low", "high"), END)[0] for pipe in pipes))
    yield quantity("sinks_1mm", sinking(1e-3))
    yield quantity("sinks_8mm", sinking(8e-3), cells=CELLS)
    yield quantity("force_grid", press(0.0, (3000.0, 0.08), None)[0])
    yield quantity("force_balanced", press(0.0, (3000.0, 0.08), (2000.0, 0.16))[0])
    slope = float(np.degrees(np.arctan(0.01)))
    yield quantity("force_inclined_1", press(slope, (3000.0, 0.08), None)[0])
    yield quantity("force_inclined_10", press(10.0, (3000.0, 0.08), None)[0])
    yield quantity("speed_grid", press(0.0, (3000.0, 0.08), (2000.0, 0.08))[1])
    yield quantity("pile_speed", pile_speed())
    yield quantity("leaves_corner", leave_corner())
