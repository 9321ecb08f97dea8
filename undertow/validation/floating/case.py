"""Bodies float at the depth of Archimedes, upright where stability says so, and a neutral one stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

DENSITY = 1000.0
WIDTH, HEIGHT = 1.0, 0.8
LEVEL = 0.4
FRAME_RATE = 20.0
START = 2.0
"""How far from their depth bodies start, above and below it [cells]."""


def make(body: ut.RigidBody, cells: int, depth: float | None, coupling: str = "monolithic") -> ut.Simulation:
    """A tank with the body; depth [m]: None in 2D."""
    upper = (WIDTH, HEIGHT) if depth is None else (WIDTH, HEIGHT, depth)
    middle = (WIDTH / 2, LEVEL) if depth is None else (WIDTH / 2, LEVEL, depth / 2)
    scene = ut.Scene(
        name="floating",
        coupling=coupling,
        domain=ut.Domain(upper=upper, resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=60.0, frame_rate=FRAME_RATE),
        fluid=ut.Fluid(density=DENSITY, tolerance=1e-5),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)[: len(upper)]), position=middle),
            "body": body,
        },
    )
    return ut.Simulation(scene)


def follow(sim: ut.Simulation, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Height of the body [m] and its turn about z [degrees], frame by frame."""
    rows = []
    while sim.time < end - 1e-9:
        sim.advance_to(sim.time + 1 / FRAME_RATE)
        body = sim.body("body")
        rows.append((body.position[1], np.degrees(body.angle)))
    heights, turns = np.array(rows).T
    return heights, turns


def cap(radius: float, share: float) -> float:
    """How far the centre of a sphere of the relative density ``share`` floats above the surface [m]."""
    d = np.linspace(-1.0, 1.0, 20001)
    return float(radius * np.interp(-share, -below(d), d))


def below(d: Any) -> Any:
    """Volume of a sphere below the surface over all of it, with d the centre's height over the surface / radius."""
    d = np.clip(d, -1.0, 1.0)
    return 0.25 * (2.0 + d) * (1.0 - d) ** 2


def off(heights: np.ndarray, rest: float, cells: int) -> float:
    """Distance of the mean height over the last two thirds from that at rest [cells]."""
    return abs(float(np.mean(heights[len(heights) // 3 :])) - rest) * cells / WIDTH


def float_box(share: float, cells: int, end: float, coupling: str = "monolithic") -> tuple[float, float]:
    """(error of the mean height [cells], largest turn [degrees]) of a wide box of the relative density ``share``, the
    worse of the starts ``START`` cells above and below the depth of Archimedes."""
    b, h = 0.3, 0.15
    found = []
    for side in (START, -START):
        start = LEVEL + h * (0.5 - share) + side / cells
        body = ut.RigidBody(shape=ut.Box(size=(b, h)), position=(WIDTH / 2, start), density=share * DENSITY)
        heights, turns = follow(make(body, cells, None, coupling), end)
        # the water poured in is that below LEVEL but for what the body takes of it at the start
        poured = LEVEL * WIDTH - b * float(np.clip(LEVEL - start + 0.5 * h, 0.0, h))
        level = (poured + b * h * share) / WIDTH
        found.append((off(heights, level + h * (0.5 - share), cells), float(np.abs(turns).max())))
    errors, turned = zip(*found, strict=True)
    return max(errors), max(turned)


def float_sphere(share: float, cells: int, end: float, coupling: str = "monolithic") -> float:
    """Error of the mean height [cells] of a sphere of the relative density ``share``, the worse of both starts."""
    radius, depth = 0.15, 0.6
    volume, area = 4 / 3 * np.pi * radius**3, WIDTH * depth
    errors = []
    for side in (START, -START):
        start = LEVEL + cap(radius, share) + side / cells
        place = (WIDTH / 2, start, depth / 2)
        body = ut.RigidBody(shape=ut.Sphere(radius=radius), position=place, density=share * DENSITY)
        heights, _ = follow(make(body, cells, depth, coupling), end)
        poured = LEVEL * area - volume * float(below((start - LEVEL) / radius))
        errors.append(off(heights, (poured + share * volume) / area + cap(radius, share), cells))
    return max(errors)


def run(full: bool = False) -> Iterator[Quantity]:
    """Depths of boxes (2D) and spheres (3D), the turn of a stable and of an unstable box, a neutral sphere."""
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    found = {share: float_box(share, 40, 5.0) for share in shares}
    errors = [error for error, _ in found.values()]
    yield quantity("depth_box", max(errors), cells=40, errors=errors)
    yield quantity("turn_box", max(turn for _, turn in found.values()), turns=[t for _, t in found.values()])
    cells = 40 if full else 28
    errors = [float_sphere(share, cells, 4.0) for share in (shares if full else (0.1, 0.5, 0.9))]
    yield quantity("depth_sphere", max(errors), cells=cells, errors=errors)
    # a square log of half the density of water is not stable upright; it floats on an edge
    side = 0.2
    body = ut.RigidBody(
        shape=ut.Box(size=(side, side)), position=(WIDTH / 2, LEVEL), density=0.5 * DENSITY,
        rotation=ut.Rotation(degrees=5.0),
    )  # fmt: skip
    _, turns = follow(make(body, 40, None), 10.0)
    late = turns[len(turns) // 2 :]
    yield quantity("turn_log", float(np.mean(late)), swing=[float(late.min()), float(late.max())])
    body = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(WIDTH / 2, 0.2, 0.3), density=DENSITY)
    sim = make(body, cells, 0.6)
    place = sim.body("body").position.copy()
    follow(sim, 5.0)
    moved = float(np.linalg.norm(sim.body("body").position - place))
    yield quantity("drift_neutral", moved * cells / WIDTH, cells=cells)
    yield from run_other("lumped", shares, (0.1, 0.5, 0.9), cells)
    yield from run_other("rigid_fluid", (0.5, 0.7, 0.9), (0.5, 0.9), cells)


def run_other(coupling: str, boxes: tuple[float, ...], spheres: tuple[float, ...], cells: int) -> Iterator[Quantity]:
    """The same under another coupling for relative densities; ``rigid_fluid`` refuses those below half of water's."""
    found = [float_box(share, 40, 5.0, coupling) for share in boxes]
    yield quantity(f"depth_box_{coupling}", max(e for e, _ in found), cells=40, errors=[e for e, _ in found])
    yield quantity(f"turn_box_{coupling}", max(turn for _, turn in found), turns=[turn for _, turn in found])
    errors = [float_sphere(share, cells, 4.0, coupling) for share in spheres]
    yield quantity(f"depth_sphere_{coupling}", max(errors), cells=cells, errors=errors)
    body = ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(WIDTH / 2, 0.2, 0.3), density=DENSITY)
    sim = make(body, cells, 0.6, coupling)
    place = sim.body("body").position.copy()
    follow(sim, 5.0)
    moved = float(np.linalg.norm(sim.body("body").position - place))
    yield quantity(f"drift_neutral_{coupling}", moved * cells / WIDTH, cells=cells)
