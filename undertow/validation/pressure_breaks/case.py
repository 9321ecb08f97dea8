"""Water breaks a plate at the depth where its pressure passes the plate's strength, and bursts a vessel from inside."""

from __future__ import annotations

from collections.abc import Iterator

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

GRAVITY, DENSITY = 9.81, 1000.0
DEPTH = 0.4
"""At which rho g h^2 / 2 passes the strength [m]."""
STRENGTH = 0.5 * DENSITY * GRAVITY * DEPTH**2
WIDTH, HEIGHT, PLATE = 1.0, 0.7, 0.08
"""Of the tank, and of the plate that parts it [m]."""
LOW, HIGH = 0.7, 1.3
"""Depths that surely do not break it and surely do, in parts of the depth by hand."""
BISECTIONS = 7
PATIENCE = 8.0
"""Until when water that rises has broken it [s]."""
STEPS = 12
"""So long still water stands against a plate that it does not break."""
FILL = 0.25
"""Speed of the water that a tap 0.04 m wide at the left pours in [m/s]."""


def tank(depth: float, cells: int, fill: float) -> ut.Simulation:
    """A tank, dry right of a plate that is fixed to the world; left of it water of a depth [m], and more by and by."""
    left = 0.5 * (WIDTH - PLATE)
    objects: dict[str, object] = {
        "pool": ut.Water(shape=ut.Box(size=(left, depth)), position=(0.5 * left, 0.5 * depth)),
        "plate": ut.RigidBody(
            shape=ut.Box(size=(PLATE, HEIGHT)), position=(0.5 * WIDTH, 0.5 * HEIGHT), density=2000.0,
            fracture=ut.Fracture(pattern="voronoi", pieces=6, seed=2, strength_force=STRENGTH),
        ),
        "clamp": ut.Joint(kind="fixed", child="plate", position=(0.5 * WIDTH, 0.0)),
    }  # fmt: skip
    if fill > 0.0:
        tap = ut.Box(size=(0.04, 0.04))
        objects["tap"] = ut.WaterSource(shape=tap, position=(0.06, 0.5), velocity=(0.0, -fill))
    scene = ut.Scene(
        name="pressure-breaks", coupling="monolithic", gravity=(0.0, -GRAVITY), objects=objects,
        domain=ut.Domain(upper=(WIDTH, HEIGHT), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=20.0, frame_rate=60.0), fluid=ut.Fluid(density=DENSITY),
    )  # fmt: skip
    return ut.Simulation(scene)


def breaks(depth: float, cells: int) -> bool:
    """Whether still water of a depth [m] breaks the plate."""
    sim = tank(depth, cells, 0.0)
    return any(sim.step().broken for _ in range(STEPS))


def threshold(cells: int) -> float:
    """The depth [m] of still water that breaks it."""
    low, high = LOW * DEPTH, HIGH * DEPTH
    if breaks(low, cells) or not breaks(high, cells):
        return float("nan")
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if breaks(middle, cells) else (middle, high)
    return 0.5 * (low + high)


def rising(cells: int) -> float:
    """The depth [m] at which water that rises breaks it: of the water left of it, as it would be at rest."""
    sim, left = tank(0.9 * DEPTH, cells, FILL), 0.5 * (WIDTH - PLATE)
    before = float("nan")
    while sim.time < PATIENCE:
        report = sim.step()
        if report.broken:
            return before
        before = report.ledger["fluid_volume"] / left
    return float("nan")


NARROW, WALL, TALL = 0.1, 0.1, 0.65
"""Inside of the vessel, its walls, the height of its sides [m]: the weight of the water presses less on its bottom than
the water on a side, which gives it no net force."""
VESSEL_STEPS = 4


def vessel(depth: float, cells: int) -> ut.Simulation:
    """A vessel that is fixed to the world, with water of a depth [m] in it and none around it."""
    bottom, side = NARROW + 2.0 * WALL, 0.5 * (NARROW + WALL)
    parts = [
        {"shape": ut.Box(size=(WALL, TALL)), "position": (-side, 0.0)},
        {"shape": ut.Box(size=(WALL, TALL)), "position": (side, 0.0)},
        {"shape": ut.Box(size=(bottom, WALL)), "position": (0.0, -0.5 * (TALL + WALL))},
    ]
    middle, floor = 0.3, 0.2
    objects = {
        "pool": ut.Water(shape=ut.Box(size=(NARROW, depth)), position=(middle, floor + 0.5 * depth)),
        "vessel": ut.RigidBody(
            shape=ut.Compound(parts=parts), position=(middle, floor + 0.5 * TALL), density=2000.0,
            fracture=ut.Fracture(pattern="voronoi", pieces=8, seed=2, strength_force=STRENGTH),
        ),
        "clamp": ut.Joint(kind="fixed", child="vessel", position=(middle, floor - 0.5 * WALL)),
    }  # fmt: skip
    scene = ut.Scene(
        name="vessel-bursts", coupling="monolithic", gravity=(0.0, -GRAVITY), objects=objects,
        domain=ut.Domain(upper=(0.6, 0.9), resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=20.0, frame_rate=60.0), fluid=ut.Fluid(density=DENSITY),
    )  # fmt: skip
    return ut.Simulation(scene)


def bursts(depth: float, cells: int) -> bool:
    """Whether water of a depth [m] bursts the vessel."""
    sim = vessel(depth, cells)
    return any(sim.step().broken for _ in range(VESSEL_STEPS))


def bursting(cells: int) -> float:
    """The depth [m] of water that bursts it."""
    low, high = LOW * DEPTH, HIGH * DEPTH
    if bursts(low, cells) or not bursts(high, cells):
        return float("nan")
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if bursts(middle, cells) else (middle, high)
    return 0.5 * (low + high)


def run(full: bool = False) -> Iterator[Quantity]:
    """Depths in parts of that by hand, of still and of rising water."""
    cells = 80 if full else 50
    still = threshold(cells)
    yield quantity("still", still / DEPTH, depth=still, strength=STRENGTH, cells=cells)
    found = rising(cells)
    inside = bursting(48 if full else 36)
    yield quantity("inside", inside / DEPTH, depth=inside, strength=STRENGTH)
    yield quantity("rising", found / DEPTH, depth=found, strength=STRENGTH, cells=cells)
