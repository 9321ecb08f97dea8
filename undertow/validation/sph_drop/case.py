"""A square drop of particles without weight: surface tension makes it round and gives it the pressure of Laplace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Array, Quantity, quantity

TENSION = 0.07
"""Of the surface [N/m]."""
SIDE = 0.02
"""Of the square [m]."""
END = 0.4
"""By then the drop has come to rest [s]; after 0.15 s its pressure still varies by a tenth."""


def make_scene(across: int) -> ut.Scene:
    """A square of ``across`` particles along its side in a box twice as wide."""
    return ut.Scene(
        name="sph-drop",
        gravity=(0.0, 0.0),
        domain=ut.Domain(
            upper=(2 * SIDE, 2 * SIDE),
            resolution=2 * across,
            sides={name: "open" for name in ("x_low", "x_high", "y_low", "y_high")},
        ),
        time=ut.Time(end=END, frame_rate=20),
        sph=ut.Sph(surface_tension=TENSION, viscosity=0.2),
        objects={"drop": ut.SphFluid(shape=ut.Box(size=(SIDE, SIDE)), position=(SIDE, SIDE))},
    )


def rim(place: Array) -> Array:
    """Largest distances (24,) from the centre of particles (n, 3) in 24 directions [m]."""
    away = place[:, :2] - place[:, :2].mean(axis=0)
    size, angle = np.hypot(*away.T), np.arctan2(away[:, 1], away[:, 0])
    turns = np.linspace(-np.pi, np.pi, 24, endpoint=False)
    near = np.abs(np.angle(np.exp(1j * (angle[None] - turns[:, None])))) < 0.15
    return np.asarray([size[chosen].max() for chosen in near])


def run(full: bool = False) -> Iterator[Quantity]:
    """40 particles along the side (80 with ``full``): 23 and 45 spacings per radius."""
    sim = ut.Simulation(make_scene(80 if full else 40))
    fluid = sim.part(SphPart).fluid
    start, pressures = rim(fluid.positions()), []
    for time in np.linspace(0.0, END, 31)[1:]:
        sim.advance_to(float(time))
        place = fluid.positions()
        radius = float(np.sqrt(len(place) * fluid.spacing**2 / np.pi))
        inner = np.linalg.norm(place - place.mean(axis=0), axis=1) < 0.6 * radius
        pressures.append(float(fluid.pressures()[inner].mean()) / (TENSION / radius))
    found = rim(fluid.positions())
    yield quantity("roundness", float(found.max() / found.min()), at_start=float(start.max() / start.min()))
    # the mean of the last fifth: the drop still rings
    yield quantity(
        "laplace_pressure",
        float(np.mean(pressures[-6:])),
        spacings_per_radius=radius / fluid.spacing,
        last=pressures[-6:],
    )
    scale = fluid.mass * fluid.totals.particles * float(np.sqrt(TENSION / (1000.0 * SIDE)))
    yield quantity(
        "momentum", float(np.abs(fluid.totals.momentum).max()) / scale,
        angular=float(np.abs(fluid.totals.angular_momentum).max()) / (scale * SIDE),
    )  # fmt: skip
