"""Plates thinner than two cells hold water and smoke: still, tilted, as a cup, moved by three cells per step, and where
forces move them."""

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
STIFFNESS = 2e3
"""Of the spring that holds a free gate [N/m2], which the water pushes on by 6 cells and more."""
FREE_DENSITY, FREE_STEP = 3000.0, 0.02
OFFSETS = (0.0, 0.13, 0.31, 0.48, 0.52, 0.77)
"""Of plates in a pipe [cells]."""
SMOKE = {
    "OFFSETS": (0.13,), "END": 0.2, "END_3D": 0.1, "SMOKE_END": 0.2, "STILL": STILL[2:3], "THICKNESSES": (0.3, 1.9),
}  # fmt: skip


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


# plates that forces move ----------------------------------------------------------------------------------------------


def make_free(objects: dict[str, Any], step: float | None = FREE_STEP) -> ut.Scene:
    """A tank with bodies that the water moves; step [s], None: by the limits."""
    return ut.Scene(
        name="thin-solid-free", coupling="monolithic", domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS),
        time=ut.Time(end=100.0, frame_rate=50.0, fixed_step=step), fluid=ut.Fluid(density=DENSITY, viscosity=0.0),
        objects=objects,
    )  # fmt: skip


def make_gate(thickness: float, degrees: float) -> ut.Scene:
    """Water on one side of a plate across the tank that slides along x against a spring."""
    dx = 1.0 / CELLS
    x, n, up = 0.5 + 0.37 * dx, turned(degrees), turned(degrees + 90.0)
    middle = np.array([x, 0.5]) - n[:2] - 0.5 * up[:2]
    spring = ut.Control(target=0.0, stiffness=STIFFNESS, damping=0.1 * STIFFNESS)
    rail = ut.Joint(kind="prismatic", child="plate", position=(x, 0.5), axis=(1.0, 0.0, 0.0), control=spring)
    return make_free(
        {
            "plate": make_plate(thickness * dx, degrees, x, (0.5,), density=FREE_DENSITY, collides_with=()),
            "pool": ut.Water(
                shape=ut.Box(size=(2.0, 2 * DEPTH)), position=tuple(middle), rotation=ut.Rotation(degrees=degrees)
            ),
            "rail": rail,
        }
    )  # fmt: skip


def make_lid(thickness: float) -> ut.Scene:
    """A plate as wide as the tank that lies on the water and is heavier than it."""
    height = thickness / CELLS
    body = ut.RigidBody(
        shape=ut.Box(size=(height, 1.0)), position=(0.5, DEPTH + 0.5 * height), rotation=ut.Rotation(degrees=90.0),
        density=FREE_DENSITY, friction=0.0,
    )  # fmt: skip
    pool = ut.Water(shape=ut.Box(size=(2.0, 2 * DEPTH)), position=(0.5, 0.0))
    return make_free({"plate": body, "pool": pool})


HULL, SIDE, DRAUGHT, SURFACE = 0.5, 0.3, 0.12, 0.503
"""Of a barge of plates: width, height of its sides, how deep it floats, and the level of the water [m]."""


def make_barge(thickness: float) -> ut.Scene:
    """A barge of three plates afloat; its hold is dry."""
    t = thickness / CELLS

    def part(width: float, height: float, x: float, y: float) -> ut.CompoundPart:
        return ut.CompoundPart(shape=ut.Box(size=(width, height)), position=(x, y))

    sides = [part(t, SIDE, x, 0.5 * (SIDE - t)) for x in (-0.5 * HULL, 0.5 * HULL)]
    bottom, outer = SURFACE - DRAUGHT, 0.5 * (1.0 - HULL - t)
    mass = DENSITY * (HULL + t) * DRAUGHT

    def water(left: float, right: float, top: float) -> ut.Water:
        return ut.Water(shape=ut.Box(size=(right - left, top)), position=(0.5 * (left + right), 0.5 * top))

    moves: dict[str, Any] = {"velocity": (0.0, -0.2), "angular_velocity": (0.0, 0.0, 0.5)}
    shape = ut.Compound(parts=(part(HULL + t, t, 0.0, 0.0), *sides))
    return make_free(
        {
            "plate": ut.RigidBody(shape=shape, position=(0.5, bottom + 0.5 * t), mass=mass, **moves),
            "left": water(0.0, outer, SURFACE), "right": water(1.0 - outer, 1.0, SURFACE),
            "below": water(0.0, 1.0, bottom),
        },
        None,
    )  # fmt: skip


class FreeBeyond:
    """Water on the far side of a plate, that of its own x, or in the hold of a barge [m2]."""

    def __init__(self, sim: ut.Simulation, thickness: float, barge: bool) -> None:
        self.sim, self.thickness, self.barge = sim, thickness, barge
        self.offset: np.ndarray = np.zeros(2)
        if barge:
            # its position is its centre of mass, its parts stand on the middle of its floor
            self.offset = np.array(sim.body("plate").position[:2]) - [0.5, SURFACE - DRAUGHT + 0.5 * thickness]

    def _is_beyond(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        body, t = self.sim.body("plate"), self.thickness
        R, place = np.asarray(body.matrix), np.asarray(body.position)
        u = (x - place[0]) * R[0, 0] + (y - place[1]) * R[1, 0] + self.offset[0]
        v = (x - place[0]) * R[0, 1] + (y - place[1]) * R[1, 1] + self.offset[1]
        if not self.barge:
            return np.asarray(u > 0.5 * t)
        return np.asarray((np.abs(u) < 0.5 * (HULL - t)) & (v > 0.5 * t) & (v < SIDE - 0.5 * t))

    def volume(self) -> float:
        flow, surface = self.sim.flow, self.sim.flow.extent.surface
        grid = flow.grid
        x, y, _ = grid.cell_centres()
        part = np.clip(0.5 - surface.phi_c[grid.interior] / grid.dx, 0.0, 1.0)
        swarm, n = surface.particles.swarm, surface.particles.count
        alone = [swarm.x[:n][swarm.radius[:n] < 0.0], surface.spray.position]
        drops = sum(np.count_nonzero(self._is_beyond(at[:, 0], at[:, 1])) for at in alone)
        return float((part * self._is_beyond(x, y)).sum() + drops) * grid.cell_volume


def watch_free(scene: ut.Scene, thickness: float, end: float, barge: bool = False) -> dict[str, float]:
    """What is beyond at most [m2], the largest flux through faces that the body crosses [m2/s], the largest change of
    the volume, the way of the body [m], and the root mean square of jumps of the force: half of second differences
    over steps, after the first ten, in the largest force."""
    sim = ut.Simulation(scene)
    beyond = FreeBeyond(sim, thickness, barge)
    most, leak, volume, force, way = beyond.volume(), 0.0, [], [], [np.array(sim.body("plate").position)]
    for report in sim.steps(until=end):
        most, row = max(most, beyond.volume()), report.ledger
        # that of the ledger counts what the solve leaves too
        leak = max(leak, sim.flow.extent.leak(sim.flow.state.u))
        volume.append(row["fluid_volume"] + row["spray_volume"])
        force.append(float(np.linalg.norm(sim.body("plate").force)))
        way.append(np.array(sim.body("plate").position))
    change = max(abs(v / volume[0] - 1.0) for v in volume)
    bent = np.diff(np.array(force), 2)[10:] / 2.0
    return {
        "beyond": most, "leak": leak, "change": change,
        "way": float(np.linalg.norm(np.array(way) - way[0], axis=1).max()),
        "jumps": float(np.sqrt(np.mean(bent**2))) / max(force) if len(bent) else 0.0,
    }  # fmt: skip


def carry(thickness: float, offset: float) -> float:
    """Mass that a plate across a pipe, open at its ends, moves along the pipe, over that of the fluid in it."""
    dx, long, mass, push = 1.0 / CELLS, 2.0, 10.0, 1000.0
    x = 1.0 + offset * dx
    sides = {"x_low": "open", "x_high": "open", "y_low": ut.Wall(slip=True), "y_high": ut.Wall(slip=True)}
    body = ut.RigidBody(
        shape=ut.Box(size=(thickness * dx, 2.0)), position=(x, 0.25), mass=mass, collides_with=(),
        loads=(ut.ForceLoad(force=(push, 0.0)),),
    )  # fmt: skip
    rail = ut.Joint(kind="prismatic", child="plate", position=(x, 0.25), axis=(1.0, 0.0, 0.0))
    sim = ut.Simulation(
        ut.Scene(
            name="thin-solid-pipe", coupling="monolithic", gravity=(0.0, 0.0),
            domain=ut.Domain(upper=(long, 0.5), resolution=2 * CELLS, resolution_along="x", sides=sides),
            time=ut.Time(end=1.0, frame_rate=1e3, fixed_step=1e-3),
            fluid=ut.Fluid(density=DENSITY, viscosity=0.0, tolerance=1e-9), objects={"plate": body, "rail": rail},
        )
    )  # fmt: skip
    sim.step()
    sim.step()
    speed, time = float(sim.body("plate").velocity[0]), sim.time
    sim.step()
    rate = (float(sim.body("plate").velocity[0]) - speed) / (sim.time - time)
    return (push / rate - mass) / (DENSITY * 0.5 * (long - thickness * dx))


def run_free() -> Iterator[Quantity]:
    """Gates that slide, lids, barges that heave and roll, and what a plate in a pipe moves."""
    dx = 1.0 / CELLS
    gates = {t: [watch_free(make_gate(t, degrees), t * dx, END) for degrees in (0.0, 20.0)] for t in THICKNESSES}
    others = [watch_free(make_lid(t), t * dx, END) for t in THICKNESSES]
    others += [watch_free(make_barge(t), t * dx, END, barge=True) for t in THICKNESSES]
    slid = [one for two in gates.values() for one in two]
    for name, key in (("free", "beyond"), ("free_leak", "leak"), ("free_kept", "change")):
        each = [one[key] for one in slid + others]
        yield quantity(name, max(each), each=each)
    yield quantity("free_way", min(one["way"] for one in (gates[t][0] for t in THICKNESSES)) / dx)
    yield quantity("free_jumps", max(one["jumps"] for one in slid), each=[one["jumps"] for one in slid])
    carried = [carry(t, offset) for t in THICKNESSES for offset in OFFSETS]
    yield quantity("carried", max(carried, key=lambda mass: abs(mass - 1.0)), each=carried)


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
    yield from run_free()
    for name, moves in (("smoke", False), ("smoke_moved", True)):
        blown = [blow(thickness, moves) for thickness in THICKNESSES]
        yield quantity(name, max(one["beyond"] for one in blown))
        yield quantity(f"{name}_mass", min(one["mass"] for one in blown), way=min(one["way"] for one in blown))


def run_press() -> Iterator[Quantity]:
    """Forces of water on one side and on both."""
    yield quantity("press", max((press(t, False) for t in THICKNESSES), key=lambda force: abs(force - 1.0)))
    yield quantity("press_both", max((press(t, True) for t in THICKNESSES), key=abs))
