"""A deformed disc swings: its period, and the velocity at a place and time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import undertow as ut
from undertow.surface import InterfaceFinder
from undertow.validation.analysis import Array, Quantity, quantity
from undertow.validation.still_drop.case import begin_as

RADIUS, DENSITY, TENSION = 1.0 / 3.0, 27.0, 2.0 / 3.0
PERIOD = np.pi
"""Of the mode m = 2: omega^2 = sigma m (m^2 - 1) / (rho r^3) = 4 (Lamb 1932, article 275)."""
SIZES, LARGEST = (50, 100), 200
DEFORMED, SMALL = 0.05, 0.0125
PLACE, TIME = (0.75, 0.5), 0.5
END = 1.27 * PERIOD


class Swing(NamedTuple):
    """period over that of linear theory; velocity [m/s] at PLACE and TIME; amplitude at the end of a period over that
    at its start; growth of the energy over the largest kinetic energy."""

    period: float
    velocity: float
    amplitude: float
    growth: float


def _distance(points: Array, eps: float) -> Array:
    """Signed distance (n,) of places (n, 2) to r = r0 (1 + eps cos 2 t), by Newton's method."""
    from scipy.spatial import cKDTree

    knots = np.linspace(-np.pi, np.pi, 4000, endpoint=False)

    def curve(t: Array) -> tuple[Array, Array, Array]:
        r, r1, r2 = (1.0 + eps * np.cos(2.0 * t), -2.0 * eps * np.sin(2.0 * t), -4.0 * eps * np.cos(2.0 * t))
        out, along = np.stack([np.cos(t), np.sin(t)], axis=-1), np.stack([-np.sin(t), np.cos(t)], axis=-1)
        place = r[..., None] * out
        slope = r1[..., None] * out + r[..., None] * along
        bend = (r2 - r)[..., None] * out + 2.0 * r1[..., None] * along
        return RADIUS * place, RADIUS * slope, RADIUS * bend

    _, nearest = cKDTree(curve(knots)[0]).query(points)
    t = knots[nearest]
    for _ in range(20):
        place, slope, bend = curve(t)
        away = place - points
        change = (away * slope).sum(axis=-1) / ((slope**2).sum(axis=-1) + (away * bend).sum(axis=-1)).clip(1e-3)
        t = t - np.clip(change, -0.01, 0.01)
    away = np.linalg.norm(curve(t)[0] - points, axis=-1)
    angle, length = np.arctan2(points[:, 1], points[:, 0]), np.hypot(points[:, 0], points[:, 1])
    return np.where(length < RADIUS * (1.0 + eps * np.cos(2.0 * angle)), -away, away)


def amplitude(sim: ut.Simulation) -> float:
    """Of cos 2 t in the radius over the radius: the moment of x^2 - y^2 over the liquid is pi r0^4 times that."""
    surface = sim.flow.state.surface
    interface = InterfaceFinder(sim.flow.grid).find(surface.phi_c)
    at = interface.point[interface.simplex][:, :, :2] - 0.5
    middle, way = at.mean(axis=1), at[:, 1] - at[:, 0]
    # d/dx of x^3/3 - x y^2 is x^2 - y^2
    moment = ((middle[:, 0] ** 3 / 3.0 - middle[:, 0] * middle[:, 1] ** 2) * way[:, 1]).sum()
    return float(moment / (np.pi * RADIUS**4))


def swing(cells: int, eps: float) -> Swing:
    """One period and a quarter."""
    sim = ut.Simulation(
        ut.Scene(
            name="oscillating-drop", gravity=[0.0, 0.0], domain=ut.Domain(upper=[1.0, 1.0], resolution=cells),
            time=ut.Time(end=END, frame_rate=1.0 / END),
            fluid=ut.Fluid(density=DENSITY, viscosity=0.0, tolerance=1e-8),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={"drop": ut.Water(shape=ut.Sphere(radius=RADIUS), position=[0.5, 0.5])},
        )
    )  # fmt: skip

    def shape(x: Array, y: Array, z: Array) -> Array:
        places = np.stack(np.broadcast_arrays(x, y, z), axis=-1)[..., :2]
        return _distance(places.reshape(-1, 2), eps).reshape(places.shape[:-1])

    begin_as(sim, shape, [0.5, 0.5])
    times, shapes, energies, kinetic = [0.0], [amplitude(sim)], [], [0.0]
    velocity = float("nan")
    for end in (TIME, END):
        for report in sim.steps(until=end):
            times.append(report.time)
            shapes.append(amplitude(sim))
            kinetic.append(report.ledger["kinetic_energy"])
            energies.append(kinetic[-1] + report.ledger["surface_energy"])
        if end == TIME:
            velocity = float(np.ravel(sim.sample("velocity", [PLACE]))[0])
    t, a = np.array(times), np.array(shapes)
    before = np.nonzero(a[:-1] * a[1:] < 0.0)[0]
    if len(before) < 3:
        return Swing(float("nan"), velocity, float("nan"), float("nan"))
    zeros = t[before] + (t[before + 1] - t[before]) * a[before] / (a[before] - a[before + 1])
    last = float(np.abs(a[t > 0.75 * PERIOD]).max() / a[0])
    growth = float((energies[-1] - energies[0]) / max(kinetic))
    return Swing(float(zeros[2] - zeros[0]) / PERIOD, velocity, last, growth)


def run(full: bool = False) -> Iterator[Quantity]:
    """Two grids, ``full`` a third; a small deformation on the coarse one (``full``: the finest)."""
    for cells in (*SIZES, LARGEST) if full else SIZES:
        found = swing(cells, DEFORMED)
        yield quantity(f"period_{cells}", found.period, amplitude=found.amplitude, energy_growth=found.growth)
        yield quantity(f"velocity_{cells}", found.velocity, unit="m/s")
        yield quantity(f"amplitude_{cells}", found.amplitude, info=True)
    finest = LARGEST if full else SIZES[-1]
    yield quantity(f"period_small_{finest}", swing(finest, SMALL).period)
