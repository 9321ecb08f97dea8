"""Flow past a cylinder with an elastic flag: FSI1 of Turek and Hron 2006, and CFD1 with a rigid flag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, extrapolate, quantity

DRAG, LIFT, RISE = 14.29426, 0.7637, 0.8208773e-3
"""FSI1: drag and lift [N/m], uy of point A [m]."""

DRAG_RIGID, LIFT_RIGID = 14.2929, 1.11905
"""CFD1 [N/m]."""

HEIGHT, PEAK = 0.41, 0.3
"""Of the channel [m], of the inflow [m/s]."""

STEADY, WINDOW, LONGEST = 1e-3, 1.0, 24.0
"""At rest: over the last WINDOW [s] drag and rise stay within this part of themselves; given up after LONGEST [s]."""


@dataclass(frozen=True)
class Settled:
    """Drag and lift [N/m] on cylinder and flag, uy of point A [m] (0: rigid flag), and how long they took [s]."""

    drag: float
    lift: float
    rise: float
    time: float


def make(n: int, elastic: bool) -> ut.Simulation:
    """``n`` cells across the channel; the parabola of the inflow everywhere, the flag straight."""
    flag: Any = ut.RigidBody(shape=ut.Box(size=(0.36, 0.02)), position=(0.42, 0.2))
    if elastic:
        hold = ut.Hold(shape=ut.Sphere(radius=0.0501), position=(0.2, 0.2))
        flag = ut.SoftBody(
            shape=ut.Box(size=(0.36, 0.02)),
            position=(0.42, 0.2),
            element_size=0.005,
            density=1000.0,
            youngs_modulus=1.4e6,
            poisson_ratio=0.4,
            model="stvk",
            holds=(hold,),
        )
    # the reference gives both components at the inlet, 1.5 diameters before the cylinder: with the sideways one free
    # the drag is 4% less
    inflow = ut.Inflow(velocity=(PEAK, 0.0), profile="parabolic", slip=False)
    scene = ut.Scene(
        name="turek-fsi1",
        coupling="monolithic" if elastic else "none",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2.5, HEIGHT), resolution=n, resolution_along="y", sides={"x_low": inflow, "x_high": "outflow"}
        ),
        time=ut.Time(
            end=LONGEST,
            frame_rate=1 / LONGEST,
            fixed_step=HEIGHT / n / PEAK,
            stepper="first_order" if elastic else "second_order",
        ),
        fluid=ut.Fluid(density=1000.0, viscosity=1.0, tolerance=1e-5),
        objects={"cylinder": ut.RigidBody(shape=ut.Sphere(radius=0.05), position=(0.2, 0.2)), "flag": flag},
    )
    sim = ut.Simulation(scene)
    sim.set_velocity(lambda x, y, z: (4 * PEAK * y * (HEIGHT - y) / HEIGHT**2, 0.0, 0.0))
    return sim


def start_from(sim: ut.Simulation, coarse: ut.Simulation) -> None:
    """The steady state of a coarser grid: velocity, pressure, and the flag as it is bent there."""

    def velocity(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
        found = coarse.sample("velocity", np.stack([x, y], axis=-1).reshape(-1, 2))
        return tuple(found.T.reshape(-1, *x.shape))

    sim.set_velocity(velocity)
    grid = sim.flow.grid
    x, y, _ = np.broadcast_arrays(*grid.cell_centres())
    pressure = coarse.sample("pressure", np.stack([x, y], axis=-1).reshape(-1, 2))
    sim.state.p[grid.interior] = pressure.reshape(x.shape)
    if "flag" in sim.scene.softs:
        bent, flag = coarse.scheme.nodes[0].soft, sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
        flag.x[...], flag.v[...] = bent.x, bent.v
        sim.flow.place(0.0)


def measure(sim: ut.Simulation) -> tuple[float, float, float]:
    """Drag and lift [N/m], uy of point A [m]."""
    drag, lift = (float(x) for x in (sim.body("cylinder").force + sim.body("flag").force)[:2])
    if "flag" not in sim.scene.softs:
        return drag, lift, 0.0
    soft = sim.scheme.nodes[0].soft  # type: ignore[attr-defined]
    moved = soft.x - soft.rest
    tip = np.flatnonzero(soft.rest[:, 0] > soft.rest[:, 0].max() - 1e-9)
    return drag, lift, float(moved[tip[np.argmin(np.abs(soft.rest[tip, 1] - 0.2))], 1])


def settle(sim: ut.Simulation) -> Settled:
    """Steps until drag and rise rest (``STEADY``)."""
    history: list[tuple[float, float, float]] = []
    back = round(WINDOW / sim.scene.time.fixed_step)  # type: ignore[operator]
    while sim.time < LONGEST:
        sim.step()
        history.append(measure(sim))
        late = np.array(history[-back:])
        if len(history) > back and (np.ptp(late, axis=0) <= STEADY * np.abs(late[-1]))[[0, 2]].all():
            return Settled(*history[-1], sim.time)
    return Settled(np.nan, np.nan, np.nan, sim.time)


def settle_all(sizes: tuple[int, ...], elastic: bool) -> list[Settled]:
    """On each grid, a finer one from the steady state of the one before."""
    found: list[Settled] = []
    coarse = None
    for n in sizes:
        sim = make(n, elastic)
        if coarse is not None:
            start_from(sim, coarse)
        found.append(settle(sim))
        coarse = sim
    return found


def run(full: bool) -> Iterator[Quantity]:
    """41, 82 and 123 cells across the channel, with ``full`` 82, 123 and 164, until nothing moves.

    Multiples of 41: the flag's edges lie on grid lines, so that all grids cut it alike.
    """
    sizes = (82, 123, 164) if full else (41, 82, 123)
    rigid = settle_all(sizes, elastic=False)
    drags, times = [s.drag / DRAG_RIGID for s in rigid], [s.time for s in rigid]
    yield quantity("drag_cfd1", drags[-1], cells=sizes, drag=drags, seconds=times)
    yield quantity("lift_cfd1", rigid[-1].lift / LIFT_RIGID, info=True, lift=[s.lift / LIFT_RIGID for s in rigid])
    soft = settle_all(sizes, elastic=True)
    drags, times = [s.drag / DRAG for s in soft], [s.time for s in soft]
    yield quantity("drag", drags[-1], cells=sizes, drag=drags, seconds=times)
    yield quantity("lift", soft[-1].lift / LIFT, lift=[s.lift / LIFT for s in soft])
    rises = [s.rise / RISE for s in soft]
    limit, order = extrapolate(sizes, rises)
    yield quantity("rise", rises[-1], info=True, cells=sizes, rise=rises)
    yield quantity("rise_extrapolated", limit, cells=sizes, rise=rises)
    yield quantity("rise_order", order, cells=sizes)
