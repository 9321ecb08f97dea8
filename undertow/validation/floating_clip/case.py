"""A cylinder heavier than water that tension holds at its surface, in 2D, against the Young-Laplace equation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.floating_clip import young_laplace

WATER, GRAVITY, TENSION, RADIUS, ANGLE = 998.0, 9.81, 0.0728, 1e-3, 90.0
VISCOSITY = 0.2
"""So thick that the cylinder goes down slowly and does not swing through [Pa s]."""
CELLS = 6
"""Per radius."""
WIDTH, HEIGHT, LEVEL = 0.016, 0.009, 0.006
"""Of the box, and the surface in it at the start [m]."""
DENSITY = 3000.0
END, SHARE_END = 0.3, 1.0
SHARES = (0.95, 1.05)
"""Of the largest density: it floats, and sinks."""
SMOKE = {"END": 0.002, "SHARE_END": 0.002}


def water() -> young_laplace.Water:
    """What it floats on."""
    return young_laplace.Water(TENSION, WATER * GRAVITY, float(np.radians(ANGLE)), RADIUS, 0.5 * WIDTH)


def clip(density: float, end: float) -> ut.Simulation:
    """The cylinder with its middle at the level of still water."""
    return ut.Simulation(
        ut.Scene(
            name="floating-clip", gravity=[0.0, -GRAVITY], coupling="monolithic",
            domain=ut.Domain(upper=[WIDTH, HEIGHT], resolution=round(WIDTH / RADIUS * CELLS)),
            time=ut.Time(end=end, frame_rate=1.0 / end), fluid=ut.Fluid(density=WATER, viscosity=VISCOSITY),
            surface=ut.Surface(tension=TENSION, particles=False),
            objects={
                "pool": ut.Water(shape=ut.Plane(normal=[0.0, 1.0]), position=[0.5 * WIDTH, LEVEL]),
                "clip": ut.RigidBody(
                    shape=ut.Sphere(radius=RADIUS), position=[0.5 * WIDTH, LEVEL], density=density,
                    contact_angle=ANGLE,
                ),
            },
        )
    )  # fmt: skip


def depth(sim: ut.Simulation) -> float:
    """Of the middle of the cylinder below the surface at the walls [m]."""
    grid = sim.flow.grid
    phi = sim.flow.state.surface.phi_c[grid.interior][0] / grid.dx
    levels = []
    for column in (phi[:, 0], phi[:, -1]):
        top = np.flatnonzero((column[:-1] <= 0.0) & (column[1:] > 0.0))[-1]
        levels.append((top + 0.5 + column[top] / (column[top] - column[top + 1])) * grid.dx)
    return float(np.mean(levels) - sim.body("clip").position[1])


def rest() -> Quantity:
    """How far the depth after END is from that of the Young-Laplace equation [cells]."""
    sim = clip(DENSITY, END)
    sim.advance_to(END)
    exact, found = young_laplace.depth(water(), DENSITY, GRAVITY), depth(sim)
    return quantity("depth", abs(found - exact) * CELLS / RADIUS, unit="cells", found=found, exact=exact)


def share(of_largest: float) -> Quantity:
    """1 if a cylinder of this part of the largest density lies at the surface after END, 0 if it is on its way down."""
    largest = young_laplace.largest_density(water(), GRAVITY)
    sim = clip(of_largest * largest, SHARE_END)
    sim.advance_to(SHARE_END)
    deepest = max(state.depth for state in young_laplace.states(water())[1])
    floats = depth(sim) < deepest + RADIUS
    name = "floats_below" if of_largest < 1.0 else "floats_above"
    return quantity(name, float(floats), largest=largest, depth=depth(sim))


def run(full: bool = False) -> Iterator[Quantity]:
    """Depth; ``full`` adds whether heavier ones float."""
    yield rest()
    for of_largest in SHARES if full else ():
        yield share(of_largest)
