"""Righting arms of boxes at any heel, and the angles at which logs come to rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

DENSITY = 1000.0
GRAVITY = 9.81
HEIGHT = 0.2
VISCOSITY = 5.0
"""[Pa s], so that logs come to rest."""

BOXES = ((1.0, 0.5), (1.0, 0.25), (1.15, 0.5), (2.0, 0.3), (0.8, 0.8))
"""Width over height and relative density of the boxes whose righting arms are measured."""

ANGLES = (1.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 31.0)
OFFSETS = ((0.0, 0.0), (0.37, 0.11), (0.52, 0.83), (0.91, 0.29))
"""Of the box and of the level against the grid [cells]."""

LOGS = ((1.0, 0.19), (1.0, 0.23), (1.0, 0.77), (1.0, 0.81), (1.15, 0.5))
START = 8.0
"""Heel at the start [degrees]."""
SMOKE = {"BOXES": BOXES[:1], "ANGLES": ANGLES[:1], "OFFSETS": OFFSETS[:1], "LOGS": LOGS[:1]}


def below(corners: Array, level: float) -> tuple[float, Array]:
    """Area and centroid (2,) of what of a convex polygon (n, 2) lies below a level."""
    kept = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if a[1] <= level:
            kept.append(a)
        if (a[1] - level) * (b[1] - level) < 0.0:
            kept.append(a + (level - a[1]) / (b[1] - a[1]) * (b - a))
    if len(kept) < 3:
        return 0.0, np.zeros(2)
    p = np.array(kept)
    q = np.roll(p, -1, axis=0)
    w = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    area = 0.5 * float(w.sum())
    return area, ((p + q) * w[:, None]).sum(axis=0) / (6.0 * area)


def float_at(width: float, share: float, heel: float) -> tuple[float, float]:
    """(height of the surface above the centre, righting arm GZ) of a box of height 1 at a heel [degrees]: that share of
    its area is below the surface, and GZ is how far its centroid lies to the lower side."""
    turn = np.radians(heel)
    half = np.array([[-width, -1.0], [width, -1.0], [width, 1.0], [-width, 1.0]]) / 2.0
    corners = half @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    low, high = -width - 1.0, width + 1.0
    for _ in range(80):
        level = 0.5 * (low + high)
        low, high = (level, high) if below(corners, level)[0] < share * width else (low, level)
    return level, float(-below(corners, level)[1][0])


def rest_angle(width: float, share: float) -> float:
    """The heel [degrees] at which GZ vanishes and grows with the heel: 0 where GM = I/V - BG > 0."""
    low = 0.5
    if float_at(width, share, low)[1] > 0.0:
        return 0.0
    high = next(a for a in np.arange(1.0, 90.0, 0.5) if float_at(width, share, float(a))[1] >= 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float_at(width, share, middle)[1] < 0.0 else (low, middle)
    return float(high)


def make(
    width: float, share: float, heel: float, cells: int, offset: tuple[float, float], viscosity: float = 0.0
) -> ut.Simulation:
    """A box of ``cells`` cells per height at the depth of Archimedes, width over height as given."""
    dx = HEIGHT / cells
    count = round(5.0 * width * cells)
    upper = (count * dx, round(2.6 * cells) * dx)
    level = (round(1.6 * cells) + offset[1]) * dx
    above, _ = float_at(width, share, heel)
    scene = ut.Scene(
        name="floating-stability",
        coupling="monolithic",
        gravity=(0.0, -GRAVITY),
        domain=ut.Domain(upper=upper, resolution=count, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=60.0, frame_rate=20.0),
        fluid=ut.Fluid(density=DENSITY, viscosity=viscosity),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0)), position=(0.5 * upper[0], level)),
            "body": ut.RigidBody(
                shape=ut.Box(size=(width * HEIGHT, HEIGHT)), density=share * DENSITY,
                position=(0.5 * upper[0] + offset[0] * dx, level - above * HEIGHT), rotation=ut.Rotation(degrees=heel),
            ),
        },
    )  # fmt: skip
    return ut.Simulation(scene)


def arm(width: float, share: float, heel: float, cells: int, offset: tuple[float, float]) -> float:
    """GZ / height by the torque of the water at rest."""
    solve = make(width, share, heel, cells, offset).flow.solve
    found = np.zeros((solve.rigid.coupled.bodies.count, 6))
    solve.rigid.at_rest.impulse(1.0, found)
    return float(-found[0, 5] / (DENSITY * GRAVITY * share * width * HEIGHT**3))


def heel_of(width: float, share: float, cells: int, offset: tuple[float, float], end: float) -> float:
    """Mean heel [degrees] of a log over the last third of ``end`` [s]."""
    sim = make(width, share, START, cells, offset, VISCOSITY)
    angles = []
    while sim.time < end - 1e-9:
        sim.advance_to(sim.time + 0.25)
        angles.append(float(np.degrees(sim.body("body").angle)))
    return float(np.mean(angles[2 * len(angles) // 3 :]))


def righting(boxes: tuple[tuple[float, float], ...], angles: tuple[float, ...]) -> Iterator[Quantity]:
    """Largest error of GZ over its largest value, and how often its sign is wrong where it is more than 5% of that."""
    errors, wrong = {}, 0
    for width, share in boxes:
        exact = {heel: float_at(width, share, heel)[1] for heel in angles}
        largest = max(abs(gz) for gz in exact.values())
        found = [(gz, arm(width, share, heel, 8, offset)) for heel, gz in exact.items() for offset in OFFSETS]
        errors[f"{width:g} {share:g}"] = max(abs(measured - gz) for gz, measured in found) / largest
        wrong += sum(gz * measured <= 0.0 and abs(gz) > 0.05 * largest for gz, measured in found)
    yield quantity("righting_arm", max(errors.values()), errors=errors)
    yield quantity("wrong_signs", float(wrong))


def run(full: bool = False) -> Iterator[Quantity]:
    """Righting arms at 8 cells per height; where logs come to rest at 8 and 16."""
    yield from righting(BOXES, ANGLES)
    for cells, offsets, end in ((8, ((0.0, 0.0), (0.37, 0.61)), 15.0), (16, ((0.37, 0.61),), 12.0)):
        found = {
            f"{width:g} {share:g} {offset}": heel_of(width, share, cells, offset, end) - rest_angle(width, share)
            for width, share in LOGS
            for offset in (OFFSETS if full else offsets)
        }
        yield quantity(f"heel_{cells}", max(abs(error) for error in found.values()), cells=cells, errors=found)
