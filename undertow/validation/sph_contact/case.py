"""Two cuboids on each other at the floor of a tank of particles: contact among bodies and control forces agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Quantity, quantity

TANK, WATER = 0.6, 0.35
"""Width of the tank and height of the water [m]."""
WIDTH, HEIGHT, DENSITY = (0.2, 0.15), (0.1, 0.1), (2000.0, 1500.0)
"""Of the lower and the upper cuboid [m], [kg/m3]."""


def make_scene(resolution: int) -> ut.Scene:
    """The lower cuboid on the floor, the upper one on it; no fluid gets between."""
    bottom = (0.0, HEIGHT[0])
    objects: dict[str, Any] = {
        "water": ut.SphFluid(shape=ut.Box(size=(TANK, WATER)), position=(TANK / 2, WATER / 2)),
    }
    for n, name in enumerate(("lower", "upper")):
        objects[name] = ut.RigidBody(
            shape=ut.Box(size=(WIDTH[n], HEIGHT[n], 1.0)), position=(TANK / 2, bottom[n] + HEIGHT[n] / 2),
            density=DENSITY[n],
        )  # fmt: skip
    return ut.Scene(
        name="sph-contact",
        coupling="direct_forcing",
        domain=ut.Domain(upper=(TANK, 0.5), resolution=resolution, sides={"y_high": "open"}),
        time=ut.Time(end=1.0, frame_rate=10),
        objects=objects,
    )


def run(full: bool = False) -> Iterator[Quantity]:
    """36 particles across the tank (72 with ``full``)."""
    sim = ut.Simulation(make_scene(72 if full else 36))
    forcing, fluid = sim.scheme.forcing, sim.part(SphPart).fluid  # type: ignore[attr-defined]
    sim.advance_to(0.2)
    pressure, contact, errors, rounds = [], [], [], []
    while sim.time < 0.5:
        sim.step()
        pressure.append((forcing.pressure_b + forcing.control_b)[:2, 1])
        contact.append(forcing.solids.contact_force_b[:2, 1].copy())
        errors.append(forcing.contact_error())
        rounds.append(forcing.rounds)
    level = (fluid.totals.particles * fluid.spacing**2 + float(np.dot(WIDTH, HEIGHT))) / TANK
    # water presses on the free part of the tops alone
    top = np.array([HEIGHT[0], HEIGHT[0] + HEIGHT[1]])
    wanted = -1000.0 * 9.81 * (level - top) * np.array([WIDTH[0] - WIDTH[1], WIDTH[1]])
    mean = np.mean(pressure, axis=0)
    yield quantity(
        "pressure_force", float(np.abs(mean / wanted - 1.0).max()), lower=float(mean[0]), upper=float(mean[1]),
        expected_lower=float(wanted[0]), expected_upper=float(wanted[1]), unit="N/m",
    )  # fmt: skip
    weight = 9.81 * np.array(DENSITY) * np.array(WIDTH) * np.array(HEIGHT)
    rest = np.abs(mean + np.mean(contact, axis=0) - weight) / weight
    yield quantity("balance", float(rest.max()), lower=float(rest[0]), upper=float(rest[1]))
    yield quantity(
        "velocity_error", max(errors), unit="m/s", mean=float(np.mean(errors)), rounds=float(np.mean(rounds))
    )
