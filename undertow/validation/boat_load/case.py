"""A boat with a known load floats at the draught of Archimedes, and its inside stays dry: walls of three cells, and a
shell that is thinner than any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import undertow as ut
from undertow.geometry.generated import BOAT_LEAN as LEAN
from undertow.geometry.generated import BOAT_OUTLINE
from undertow.geometry.sheets import Sheet, make_boat_sheet
from undertow.validation.analysis import Array, Quantity, quantity

WATER = 1000.0
LENGTH, WIDTH, HEIGHT = 0.6, 0.4, 0.2
TANK = (0.9, 0.5, 0.6)
LEVEL = 0.25
BOX = 0.1
"""Side of the load, a cube [m]."""
LOAD = 6.0
"""Its mass [kg]."""


@dataclass(frozen=True)
class Hull:
    """How a boat is made. wall, density: of its material [m, kg/m3]; start: draught at the start [m], less than the
    floor is thick, so that there is no water inside; floor: over the bottom, of what is felt inside [m]."""

    wall: float
    density: float
    start: float
    shape: ut.Boat | ut.Shell
    floor: float
    mass: float
    """[kg]"""

    @property
    def hold(self) -> float:
        """How far the hold is from the outside [m]."""
        return self.wall if self.shape.sheet() is None else 0.0


def thick() -> Hull:
    """Walls of three cells at 36 along the tank."""
    wall, density = 0.075, 350.0
    rim = (LENGTH - 2 * wall, WIDTH - 2 * wall)
    floor = (LEAN * LENGTH - 2 * wall, LEAN * WIDTH - 2 * wall)
    volume = displaced(HEIGHT) - frustum(floor, rim, HEIGHT - wall)
    shape = ut.Boat(length=LENGTH, width=WIDTH, height=HEIGHT, wall=wall)
    return Hull(wall, density, 0.05, shape, wall, density * volume)


def thin() -> Hull:
    """Aluminium sheet of 3 mm, an eighth of a cell."""
    wall, density = 0.003, 2700.0
    sheet: Sheet = make_boat_sheet(LENGTH, WIDTH, HEIGHT, wall)
    shape = ut.Shell(form=ut.Skiff(length=LENGTH, width=WIDTH, height=HEIGHT), thickness=wall)
    return Hull(wall, density, -0.002, shape, sheet.contact(), density * wall * float(sheet.sizes().sum()))


def outline() -> tuple[float, float]:
    """(area, x of the centroid) of the rim seen from above, in shares of length and width."""
    half = np.array(BOAT_OUTLINE)
    x, z = np.concatenate([half, half[-2::-1] * (1.0, -1.0)]).T
    cross = x * np.roll(z, -1) - np.roll(x, -1) * z
    area = 0.5 * cross.sum()
    return abs(float(area)), float(((x + np.roll(x, -1)) * cross).sum() / (6.0 * area))


def frustum(low: tuple[float, float], high: tuple[float, float], height: float) -> float:
    """Volume [m3] between two outlines of the given (length, width), whose sizes change linearly with the height."""
    (a, b), (c, d) = low, high
    return outline()[0] * height * (a * b + c * d + 0.5 * (a * d + b * c)) / 3.0


def size(height: float) -> tuple[float, float]:
    """(length, width) of the outside at a height over the bottom [m]."""
    scale = LEAN + (1.0 - LEAN) * height / HEIGHT
    return scale * LENGTH, scale * WIDTH


def displaced(draught: float) -> float:
    """Volume of the outside below a level that high over the bottom [m3]."""
    return frustum(size(0.0), size(draught), draught)


def wanted_draught(hull: Hull) -> float:
    """The draught at which the water displaced weighs what boat and load do [m]."""
    depths = np.linspace(0.0, HEIGHT, 4001)
    volumes = np.array([displaced(float(d)) for d in depths])
    return float(np.interp((hull.mass + LOAD) / WATER, volumes, depths))


def make(cells: int, hull: Hull) -> ut.Simulation:
    """Boat and load, the inner floor above the level of the water; cells: along x."""
    middle = (0.5 * TANK[0], LEVEL, 0.5 * TANK[2])
    boat = (middle[0], LEVEL - hull.start + 0.5 * HEIGHT, middle[2])
    # over the centroid of the outline, about which the boat's own weight and the water's push are balanced too
    load = (boat[0] + outline()[1] * LENGTH, LEVEL - hull.start + hull.floor + 0.5 * BOX + 1e-3, middle[2])
    scene = ut.Scene(
        name="boat-load",
        coupling="monolithic",
        domain=ut.Domain(upper=TANK, resolution=cells, resolution_along="x", sides={"y_high": "open"}),
        time=ut.Time(end=10.0, frame_rate=30.0),
        fluid=ut.Fluid(density=WATER, tolerance=1e-5, advection="semi_lagrangian"),
        surface=ut.Surface(volume_correction=True),
        objects={
            "pool": ut.Water(shape=ut.Plane(normal=(0.0, 1.0, 0.0)), position=middle),
            "boat": ut.RigidBody(shape=hull.shape, position=boat, density=hull.density),
            "load": ut.RigidBody(shape=ut.Box(size=(BOX,) * 3), position=load, density=LOAD / BOX**3),
        },
    )
    return ut.Simulation(scene)


def inside(sim: ut.Simulation, hull: Hull) -> np.ndarray:
    """Cells whose centre lies in the hold of the boat, a cell clear of its walls and below its rim, bool (z, y, x)."""
    grid, boat, wall = sim.flow.grid, sim.body("boat"), hull.hold
    points = np.stack(np.broadcast_arrays(*grid.cell_centres()), axis=-1)
    x, y, z = np.moveaxis((points - boat.position) @ boat.matrix, -1, 0)
    height = y + 0.5 * HEIGHT
    part = np.clip((height - wall) / (HEIGHT - wall), 0.0, 1.0)
    long = (LEAN + (1.0 - LEAN) * part) * LENGTH - 2 * wall - 2 * grid.dx
    wide = (LEAN + (1.0 - LEAN) * part) * WIDTH - 2 * wall - 2 * grid.dx
    half = np.array(BOAT_OUTLINE)
    across = -np.interp(x / long, half[:, 0], half[:, 1], left=0.0, right=0.0) * wide
    found: Array = (np.abs(z) < across) & (height > wall + grid.dx) & (height < HEIGHT - grid.dx)
    return found


def settle(cells: int, end: float, hull: Hull) -> tuple[float, int, float]:
    """(error of the mean draught [cells], most cells of water in the hold at any time, largest heel [degrees])."""
    sim = make(cells, hull)
    keel = np.array([outline()[1] * LENGTH, -0.5 * HEIGHT, 0.0])
    area = TANK[0] * TANK[2]
    draughts, wet, heel = [], 0, 0.0
    while sim.time < end - 1e-9:
        report = sim.advance_to(sim.time + 1.0 / 30.0)
        assert report is not None
        boat, grid = sim.body("boat"), sim.flow.grid
        bottom = float((boat.position + boat.matrix @ keel)[1])
        # the level of all water and of what boat and load displace, in a tank with upright walls
        level = (report.ledger["fluid_volume"] + (hull.mass + LOAD) / WATER) / area
        draughts.append(level - bottom)
        phi = sim.flow.state.surface.phi_c[grid.interior]
        clear = sim.flow.extent.solid_c[grid.interior] > 0.0  # the level set goes on inside the load
        wet = max(wet, int(np.count_nonzero(inside(sim, hull) & clear & (phi <= 0.0))))
        heel = max(heel, float(np.degrees(np.arccos(np.clip(boat.matrix[1, 1], -1.0, 1.0)))))
    late = np.array(draughts[len(draughts) // 2 :])
    return abs(float(late.mean()) - wanted_draught(hull)) * cells / TANK[0], wet, heel


def run(full: bool = False) -> Iterator[Quantity]:
    """Draught and dryness of both boats on one grid; ``full`` adds a finer one."""
    for cells in (36, 54) if full else (36,):
        for name, hull in (("", thick()), ("_thin", thin())):
            tag = name if cells == 36 else f"{name}_{cells}"
            error, wet, heel = settle(cells, 4.0, hull)
            yield quantity(f"draught{tag}", error, cells=cells, wanted=wanted_draught(hull), load=LOAD)
            yield quantity(f"wet_inside{tag}", float(wet), cells=cells)
            yield quantity(f"heel{tag}", heel, info=True, cells=cells)
