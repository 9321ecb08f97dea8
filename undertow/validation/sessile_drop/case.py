"""A drop that spreads or draws together on a plane until it meets it at the given angle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.surface import InterfaceFinder
from undertow.validation.analysis import Array, Quantity, quantity
from undertow.validation.sessile_drop import young_laplace

DENSITY, TENSION, RADIUS = 1.0, 1.0, 1.0
CELLS = 16
"""Per radius of the half disc or half ball that the drop begins as."""
VISCOSITY = 0.3
END = 30.0
BALL_END = 8.0
GRAVITY = 1.0
"""Of the drops whose height is measured: rho g RADIUS^2 / sigma is 1."""
ANGLES = (30, 60, 90, 120, 150)
HEAVY = (60, 120)
ADVANCING, RECEDING, INCLINE = 110.0, 70.0, 45.0
"""Contact angles and slope of the plane that a half disc with hysteresis begins on [degrees]."""
SLOPE_CELLS = 8
"""Per radius of that."""
SLOPE_END = 30.0
SMOKE = {"ANGLES": (120,), "HEAVY": (60,), "CELLS": 8, "END": 0.5, "SLOPE_END": 0.3}


def volume(dimensions: int) -> float:
    """Of the whole drop [m3; 2D m2]."""
    return float(0.5 * np.pi * RADIUS**2 if dimensions == 2 else 2.0 / 3.0 * np.pi * RADIUS**3)


def width(degrees: float, dimensions: int) -> float:
    """Radius of what a cap of this angle wets or covers [m]."""
    a = np.radians(degrees)
    if dimensions == 2:
        size = np.sqrt(volume(2) / (a - np.sin(a) * np.cos(a)))
    else:
        size = (volume(3) / (np.pi / 3.0 * (2.0 + np.cos(a)) * (1.0 - np.cos(a)) ** 2)) ** (1.0 / 3.0)
    return float(size * np.sin(min(a, 0.5 * np.pi)))


def drop(degrees: float, dimensions: int, gravity: float, end: float, cells: int) -> ut.Simulation:
    """Half of the half disc, or a quarter of the half ball, in the corner of a box; symmetric about its other sides."""
    across = np.ceil((max(RADIUS, width(degrees, dimensions)) + 0.4) * cells) / cells
    upper = [across, 2.0 * RADIUS, across][:dimensions]
    slip = {"type": "wall", "slip": True}
    sides = {"x_low": slip, "y_low": {"type": "wall", "contact_angle": degrees}}
    if dimensions == 3:
        sides["z_low"] = slip
    longest = max(upper)
    return ut.Simulation(
        ut.Scene(
            name="sessile-drop", gravity=[0.0, -gravity, 0.0][:dimensions],
            domain=ut.Domain(upper=upper, resolution=round(longest * cells), sides=sides),
            time=ut.Time(end=end, frame_rate=1.0 / end),
            fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={"drop": ut.Water(shape=ut.Sphere(radius=RADIUS), position=[0.0] * dimensions)},
        )
    )  # fmt: skip


def points(sim: ut.Simulation) -> Array:
    """Points (n, 3) [m] of the surface inside the domain."""
    grid = sim.flow.grid
    found = InterfaceFinder(grid).find(sim.flow.state.surface.phi_c).point
    low, high = np.array(grid.lower), np.array(grid.lower) + grid.dx * np.array(grid.cells)
    axes = list(grid.axes)
    return np.asarray(found[np.all((found[:, axes] >= low[axes]) & (found[:, axes] <= high[axes]), axis=1)])


def cap_angle(sim: ut.Simulation) -> tuple[float, float]:
    """Angle [degrees] at which the circle (3D: sphere) through the surface meets the plane, its centre being above the
    corner; and the largest distance of the surface from it over the radius."""
    at = points(sim)
    across = at[:, 0] ** 2 + (at[:, 2] ** 2 if sim.flow.grid.dimensions == 3 else 0.0)
    # across + y^2 - 2 y c = R^2 - c^2
    found, *_ = np.linalg.lstsq(np.stack([2.0 * at[:, 1], np.ones(len(at))], axis=1), across + at[:, 1] ** 2)
    centre, radius = found[0], np.sqrt(found[1] + found[0] ** 2)
    away = np.abs(np.sqrt(across + (at[:, 1] - centre) ** 2) - radius).max() / radius
    return float(np.degrees(np.arccos(np.clip(-centre / radius, -1.0, 1.0)))), float(away)


def rest(degrees: float, dimensions: int, gravity: float) -> ut.Simulation:
    """The drop after END."""
    end = END if dimensions == 2 else BALL_END
    sim = drop(degrees, dimensions, gravity, end, CELLS)
    sim.advance_to(end)
    return sim


def cap(degrees: float, dimensions: int) -> Quantity:
    """The angle of the cap, and how far it is from one."""
    sim = rest(degrees, dimensions, 0.0)
    angle, away = cap_angle(sim)
    parts = 2.0 ** (dimensions - 1)
    kept = parts * sim.flow.extent.volume() / volume(dimensions)
    name = "disc" if dimensions == 2 else "ball"
    return quantity(f"{name}_{degrees:g}", angle, unit="degrees", from_circle=away, volume=kept)


def height(degrees: float, dimensions: int) -> Quantity:
    """Largest height of the surface over that of the Young-Laplace equation."""
    sim = rest(degrees, dimensions, GRAVITY)
    exact = young_laplace.height(volume(dimensions), DENSITY * GRAVITY / TENSION, degrees, dimensions)
    name = "height" if dimensions == 2 else "ball_height"
    return quantity(f"{name}_{degrees:g}", float(points(sim)[:, 1].max()) / exact, exact=exact)


def on_incline(share: float) -> ut.Simulation:
    """A half disc on a plane whose slope takes so much of what hysteresis holds; x goes down the plane."""
    angles = {"advancing": ADVANCING, "receding": RECEDING}
    hold = TENSION * (np.cos(np.radians(RECEDING)) - np.cos(np.radians(ADVANCING)))
    along = share * hold / (DENSITY * volume(2))
    across = along / np.tan(np.radians(INCLINE))
    return ut.Simulation(
        ut.Scene(
            name="drop-on-incline", gravity=[along, -across],
            domain=ut.Domain(
                upper=[5.0, 2.0], resolution=5 * SLOPE_CELLS, sides={"y_low": {"type": "wall", "contact_angle": angles}}
            ),
            time=ut.Time(end=SLOPE_END, frame_rate=1.0 / SLOPE_END),
            fluid=ut.Fluid(density=DENSITY, viscosity=VISCOSITY),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={"drop": ut.Water(shape=ut.Sphere(radius=RADIUS), position=[1.5, 0.0])},
        )
    )  # fmt: skip


def middle(sim: ut.Simulation) -> float:
    """Place of the drop along the plane [m]."""
    grid = sim.flow.grid
    part = np.clip(0.5 - sim.flow.state.surface.phi_c[grid.interior] / grid.dx, 0.0, 1.0)
    return float((part * grid.coordinates(0, 0.5, grid.cells[0])).sum() / part.sum())


def way(share: float) -> Quantity:
    """How far the drop goes in the last third of the time [cells]."""
    sim = on_incline(share)
    sim.advance_to(2.0 / 3.0 * SLOPE_END)
    before = middle(sim)
    sim.advance_to(SLOPE_END)
    found = (middle(sim) - before) * SLOPE_CELLS / RADIUS
    return quantity("way_below" if share < 1.0 else "way_above", found, unit="cells", share=share)


def run(full: bool = False) -> Iterator[Quantity]:
    """Discs; ``full`` adds balls."""
    yield way(0.9)
    yield way(1.1)
    for dimensions in (2, 3) if full else (2,):
        for degrees in ANGLES:
            yield cap(degrees, dimensions)
        for degrees in HEAVY:
            yield height(degrees, dimensions)
