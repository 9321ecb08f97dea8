"""Plates thinner than two cells hold water and smoke: still, tilted, as a cup, and moved by three cells per step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

GRAVITY, DENSITY = 9.81, 1000.0
THICKNESSES = (0.3, 1.0, 1.9)
"""Of the plates in cells."""
CELLS = 20
"""Per metre."""
END, END_3D, SMOKE_END = 10.0, 1.0, 10.0
STILL = ((0.0, 0.0), (0.0, 0.37), (30.0, 0.37), (-17.0, 0.2))
"""Angles of still plates [degrees] and their offsets along x [cells]."""
PER_STEP, STROKE, TIME_STEP, SLOWLY = 3.0, 4.0, 0.06, 0.3
"""Of moved plates: cells per step, amplitude in cells, the time step [s], and cells per step of those that do not make
the water splash."""
DEPTH = 0.4
SMOKE = {"END": 0.2, "END_3D": 0.1, "SMOKE_END": 0.2, "STILL": STILL[2:3], "THICKNESSES": (0.3, 1.9)}


def turned(degrees: float) -> np.ndarray:
    """Normal (3,) of a plate that is turned about z."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])


class Beyond:
    """How much is on the far side of a plate: cells whose centre is there, particles and drops."""

    def __init__(self, sim: ut.Simulation, degrees: float, thickness: float) -> None:
        self.sim, self.normal, self.half = sim, turned(degrees), 0.5 * thickness

    def _cells(self) -> np.ndarray:
        """Distance [m] of centres (z, y, x) from the middle of the plate along its normal."""
        position = self.sim.body("plate").position
        place = zip(self.sim.flow.grid.cell_centres(), position, self.normal, strict=False)
        return np.asarray(sum((x - p) * n for x, p, n in place))

    def _count(self, x: np.ndarray) -> int:
        position = np.append(self.sim.body("plate").position, 0.0)[:3]
        return int(np.count_nonzero((x[:, :2] - position[:2]) @ self.normal[:2] > self.half))

    def water(self) -> float:
        """Volume in cells [m3; 2D m2], and one cell for each particle of the liquid and each drop."""
        flow, surface = self.sim.flow, self.sim.flow.extent.surface
        grid = flow.grid
        part = np.clip(0.5 - surface.phi_c[grid.interior] / grid.dx, 0.0, 1.0)
        swarm, n = surface.particles.swarm, surface.particles.count
        alone = self._count(swarm.x[:n][swarm.radius[:n] < 0.0]) + self._count(surface.spray.position)
        return float((part * (self._cells() > self.half)).sum() + alone) * grid.cell_volume

    def smoke(self) -> float:
        """Mass in cells [kg; 2D kg/m]."""
        grid = self.sim.flow.grid
        density = self.sim.field("smoke")
        return float((np.abs(density) * (self._cells() > self.half)).sum()) * grid.cell_volume


def make_plate(thickness: float, degrees: float, x: float, middle: tuple[float, ...], **given: Any) -> ut.RigidBody:
    """Across the whole tank; thickness [m]."""
    size = (thickness, 6.0, 6.0)[: len(middle) + 1]
    rotation = ut.Rotation(degrees=degrees)
    return ut.RigidBody(shape=ut.Box(size=size), position=(x, *middle), rotation=rotation, **given)


def hold(thickness: float, degrees: float, offset: float) -> dict[str, float]:
    """Water on one side of a still plate: what is beyond at most [m2], and change of volume."""
    dx = 1.0 / CELLS
    x, n, up = 0.5 + offset * dx, turned(degrees), turned(degrees + 90.0)
    middle = np.array([x, 0.5]) - n[:2] - 0.5 * up[:2]
    pool = ut.Water(shape=ut.Box(size=(2.0, 2 * DEPTH)), position=tuple(middle), rotation=ut.Rotation(degrees=degrees))
    scene = ut.Scene(
        name="thin-solid-still", domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS),
        time=ut.Time(end=100.0, frame_rate=25.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={"plate": make_plate(thickness * dx, degrees, x, (0.5,)), "pool": pool},
    )  # fmt: skip
    return watch(scene, degrees, thickness * dx, END)


def move(
    thickness: float, degrees: float, dimensions: int, end: float, per_step: float | None = None
) -> dict[str, float]:
    """Water on one side of a plate that swings by ``per_step`` cells, absent: PER_STEP, in its fastest steps."""
    dx = 1.0 / CELLS
    x, n, up = 1.0 + 0.37 * dx, turned(degrees), turned(degrees + 90.0)
    fastest = (PER_STEP if per_step is None else per_step) * dx / TIME_STEP
    motion = ut.PrescribedVelocity(
        linear=ut.Sine(amplitude=tuple(fastest * n[:dimensions]), frequency=fastest / (STROKE * dx) / (2.0 * np.pi))
    )
    deep = 4 * dx
    upper = (2.0, 1.2) if dimensions == 2 else (2.0, 1.2, deep)
    middle = (0.5,) if dimensions == 2 else (0.5, 0.5 * deep)
    centre = np.append(np.array([x, 0.5]) - 2.0 * n[:2] - 0.5 * up[:2], 0.5 * deep)[:dimensions]
    size = (4.0, 2 * DEPTH, 1.0)[:dimensions]
    pool = ut.Water(shape=ut.Box(size=size), position=tuple(centre), rotation=ut.Rotation(degrees=degrees))
    scene = ut.Scene(
        name="thin-solid-moved", domain=ut.Domain(upper=upper, resolution=2 * CELLS, resolution_along="x"),
        time=ut.Time(end=100.0, frame_rate=1.0 / TIME_STEP, fixed_step=TIME_STEP),
        fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        surface=ut.Surface(volume_bound=10.0),
        objects={"plate": make_plate(thickness * dx, degrees, x, middle, motion=motion), "pool": pool},
    )  # fmt: skip
    return watch(scene, degrees, thickness * dx, end)


def watch(scene: ut.Scene, degrees: float, thickness: float, end: float) -> dict[str, float]:
    """What is beyond a plate at most, the largest change of the volume relative to the first step's, the largest change
    of a velocity in a step after the first [m/s], and the mean force on the plate along x [N; 2D N/m]."""
    sim = ut.Simulation(scene)
    beyond = Beyond(sim, degrees, thickness)
    most, volume, force, speed = beyond.water(), [], [], 0.0
    now = sim.flow.state.u.copy()
    for report in sim.steps(until=end):
        most = max(most, beyond.water())
        row = report.ledger
        volume.append(row["fluid_volume"] + row["spray_volume"])
        force.append(float(sim.body("plate").force[0]))
        before, now = now, sim.flow.state.u.copy()
        speed = max(speed, float(np.abs(now - before).max()) if len(volume) > 1 else 0.0)
    change = max(abs(v / volume[0] - 1.0) for v in volume)
    return {"beyond": most, "change": change, "speed": speed, "force": float(np.mean(force))}


def press(thickness: float, both: bool) -> float:
    """Force on a still plate along x over that of water of DEPTH on one side of it; both: water on either side."""
    dx = 1.0 / CELLS
    x = 0.5 + 0.37 * dx
    middle = (0.5, 0.0) if both else (x - 1.0, 0.0)
    scene = ut.Scene(
        name="thin-solid-press", domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS),
        time=ut.Time(end=100.0, frame_rate=25.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={
            "plate": make_plate(thickness * dx, 0.0, x, (0.5,)),
            "pool": ut.Water(shape=ut.Box(size=(2.0, 2 * DEPTH)), position=middle),
        },
    )  # fmt: skip
    return watch(scene, 0.0, thickness * dx, min(END, 0.5))["force"] / (0.5 * DENSITY * GRAVITY * DEPTH**2)


def fill_cup(thickness: float, degrees: float) -> tuple[float, float]:
    """A cup of three plates that are turned about its bottom: water outside of it at most [m2], and its change."""
    dx, rotation = 1.0 / CELLS, ut.Rotation(degrees=degrees)
    t, width, height = thickness * dx, 0.5, 0.5
    out, up = turned(degrees)[:2], turned(degrees + 90.0)[:2]
    bottom = np.array([0.503, 0.312])

    def plate(size: tuple[float, float], across: float, along: float) -> ut.RigidBody:
        middle = bottom + across * out + along * up
        return ut.RigidBody(shape=ut.Box(size=size), position=tuple(middle), rotation=rotation)

    scene = ut.Scene(
        name="thin-solid-cup", domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS),
        time=ut.Time(end=100.0, frame_rate=25.0), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects={
            "bottom": plate((width + t, t), 0.0, 0.0),
            "left": plate((t, height), -0.5 * width, 0.5 * (height - t)),
            "right": plate((t, height), 0.5 * width, 0.5 * (height - t)),
            "drink": ut.Water(
                shape=ut.Box(size=(width - t, 0.2)), position=tuple(bottom + (0.5 * t + 0.1) * up), rotation=rotation
            ),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    grid = sim.flow.grid
    x, y, _ = grid.cell_centres()
    across = (x - bottom[0]) * out[0] + (y - bottom[1]) * out[1]
    along = (x - bottom[0]) * up[0] + (y - bottom[1]) * up[1]
    outside = (np.abs(across) > 0.5 * (width + t)) | (along < -0.5 * t)
    most, volume = 0.0, []
    for report in sim.steps(until=END):
        part = np.clip(0.5 - sim.flow.extent.surface.phi_c[grid.interior] / grid.dx, 0.0, 1.0)
        most = max(most, float((part * outside).sum()) * grid.cell_volume)
        volume.append(report.ledger["fluid_volume"])
    return most, max(abs(v / volume[0] - 1.0) for v in volume)


def blow(thickness: float, moved: bool) -> dict[str, float]:
    """Smoke on one side of a plate across a channel: mass beyond it at most, and the way of the plate [m]."""
    dx = 1.0 / CELLS
    fastest = PER_STEP * dx / TIME_STEP
    given = {}
    if moved:
        wave = ut.Sine(amplitude=(fastest, 0.0), frequency=fastest / (STROKE * dx) / (2.0 * np.pi))
        given["motion"] = ut.PrescribedVelocity(linear=wave)
    scene = ut.Scene(
        name="thin-solid-smoke",
        domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS, sides={"x_low": "open", "x_high": "open"}),
        time=ut.Time(end=100.0, frame_rate=1.0 / TIME_STEP, fixed_step=TIME_STEP), fluid=ut.Fluid(density=1.0),
        smoke=ut.Smoke(),
        objects={
            "plate": make_plate(thickness * dx, 0.0, 0.5 + 0.37 * dx, (0.5,), **given),
            "smoke": ut.Emitter(shape=ut.Sphere(radius=0.12), position=(0.2, 0.4)),
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    beyond, most, way, mass = Beyond(sim, 0.0, thickness * dx), 0.0, [], 0.0
    for _ in sim.steps(until=SMOKE_END):
        most = max(most, beyond.smoke())
        mass = max(mass, float(sim.field("smoke").sum()) * sim.flow.grid.cell_volume)
        way.append(float(sim.body("plate").position[0]))
    return {"beyond": most, "way": max(way) - min(way), "mass": mass}


def run(full: bool = False) -> Iterator[Quantity]:
    """Still plates, a cup, moved plates in 2D and 3D, and smoke; each the worst of all thicknesses."""
    still = [hold(thickness, *one) for thickness in THICKNESSES for one in STILL]
    yield quantity("still", max(one["beyond"] for one in still))
    yield quantity("still_kept", max(one["change"] for one in still), speed=max(one["speed"] for one in still))
    yield from run_press()
    cups = [fill_cup(thickness, degrees) for thickness in THICKNESSES for degrees in (0.0, 12.0)]
    yield quantity("cup", max(one[0] for one in cups))
    yield quantity("cup_kept", max(one[1] for one in cups))
    for name, dimensions, end in (("moved", 2, END), ("moved_3d", 3, END_3D)):
        moved = [move(thickness, degrees, dimensions, end) for thickness in THICKNESSES for degrees in (0.0, 12.0)]
        yield quantity(name, max(one["beyond"] for one in moved))
        # information: at so many cells per step water is lost in splashes
        yield quantity(f"{name}_lost", max(one["change"] for one in moved))
        yield quantity(f"{name}_speed", min(one["speed"] for one in moved))
    swung = [move(thickness, degrees, 2, END, SLOWLY) for thickness in THICKNESSES for degrees in (0.0, 12.0)]
    yield quantity("swung", max(one["beyond"] for one in swung))
    yield quantity("swung_kept", max(one["change"] for one in swung))
    for name, moves in (("smoke", False), ("smoke_moved", True)):
        blown = [blow(thickness, moves) for thickness in THICKNESSES]
        yield quantity(name, max(one["beyond"] for one in blown))
        yield quantity(f"{name}_mass", min(one["mass"] for one in blown), way=min(one["way"] for one in blown))


def run_press() -> Iterator[Quantity]:
    """Forces of water on one side and on both."""
    yield quantity("press", max((press(t, False) for t in THICKNESSES), key=lambda force: abs(force - 1.0)))
    yield quantity("press_both", max((press(t, True) for t in THICKNESSES), key=abs))
