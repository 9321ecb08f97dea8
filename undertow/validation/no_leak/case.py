"""Walls one particle thick hold the fluid: a vessel and a leaking ship for 20,000 steps, a ship that fills and sinks as
in figure 5 of Becker et al. 2009, beside repulsive forces, and a film at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.spatial import KDTree

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Array, Quantity, quantity

STEPS = 20_000
PENALTY_STEPS = 5_000
"""Of the ship with repulsive forces in the place of contacts."""
EVERY = 5
"""Steps between two looks: a particle moves by less than a tenth of its spacing meanwhile."""

ALONG, ALONG_FULL = 100, 300
"""Particles along the tank of the ship that sinks; those of figure 5 are some 30,000, by its time per step."""
SINKS = 3.0
"""How long the ship is followed [s]: it is full and under water after 2.5 s."""
SMOKE = {"ALONG": 40}

INSIDE, OUTSIDE, FREE = 1, 2, 0


def vessel_side(place: Array, radius: float) -> Array:
    """INSIDE the middle surface of the vessel's walls, OUTSIDE it, or FREE above the rim; its own frame.

    The rim is at 0.12 m. A particle that passes over it keeps its radius away, so that one which is lower than that
    above the rim, but for a tenth of the radius, has gone through.
    """
    x, y, z = place.T
    inside = (np.abs(x) < 0.18) & (np.abs(z) < 0.13) & (y > -0.10)
    return np.where(y >= 0.12 + 0.9 * radius, FREE, np.where(inside, INSIDE, OUTSIDE))


def ship_side(place: Array, radius: float) -> Array:
    """INSIDE the middle line of the hull, OUTSIDE it, or FREE in the hole of its bottom; its own frame.

    The hole reaches 0.04 m to both sides through a bottom 0.02 m thick. Particles keep their radius away from its
    edges: what passes nearer to them, but for a tenth of the radius, has gone through the hull.
    """
    x, y, _ = place.T
    inside = (np.abs(y) < 0.1) & (np.abs(x) < 0.2 + 0.4 * (y + 0.1))
    hole = (np.abs(x) < 0.04 - 0.9 * radius) & (np.abs(y + 0.1) < 0.01 + radius)
    return np.where(hole, FREE, np.where(inside, INSIDE, OUTSIDE))


def crossings(scene: ut.Scene, body: str, side: Callable[[Array, float], Array], steps: int) -> dict[str, Any]:
    """Particles that went through a wall of a body, and how many are inside at the end."""
    sim = ut.Simulation(scene)
    fluid = sim.part(SphPart).fluid
    crossed, last, known = 0, np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    for n in range(steps):
        sim.step()
        if n % EVERY == 0:
            state = sim.body(body)
            now = side((fluid.positions() - state.position) @ state.matrix, fluid.radius)
            label = fluid.points.spec.label[fluid.fluid_rows()]
            _, before, after = np.intersect1d(known, label, assume_unique=True, return_indices=True)
            pairs = np.stack([last[before], now[after]])
            crossed += int(np.count_nonzero((pairs.sum(axis=0) == INSIDE + OUTSIDE) & (pairs != FREE).all(axis=0)))
            last, known = now, label
    return {"crossed": crossed, "inside": int(np.count_nonzero(last == INSIDE)), "seconds": sim.time,
            "particles": fluid.totals.particles}  # fmt: skip


def rest_distance(layers: int, slip: float, coupling: str = "none") -> dict[str, Any]:
    """``layers`` of particles at rest on a plate: change of the lowest ones' distance over half a second / radius, its
    mean / radius, how many touch, and the force of the plate's contacts / weight of the fluid."""
    # a single layer falls from a spacing above, away from the walls; many fill the box
    width, thick, bottom = (0.2, 0.02, 0.12) if layers == 1 else (0.4, 0.02 * layers, 0.1)
    scene = ut.Scene(
        name="rest",
        coupling=coupling,
        domain=ut.Domain(upper=(0.4, 0.4), resolution=20, sides={"y_high": "open"}),
        time=ut.Time(end=1.5, frame_rate=10),
        sph=ut.Sph(slip=slip, sound_speed=25.0),
        objects={
            "fluid": ut.SphFluid(shape=ut.Box(size=(width, thick)), position=(0.2, bottom + thick / 2)),
            "plate": ut.RigidBody(shape=ut.Box(size=(0.4, 0.1, 1.0)), position=(0.2, 0.05), slip=True),
        },
    )
    sim = ut.Simulation(scene)
    fluid, forcing = sim.part(SphPart).fluid, sim.scheme.forcing  # type: ignore[attr-defined]
    sim.advance_to(1.0)
    found, touching, pressed = [], [], []
    while sim.time < 1.5 - 1e-9:
        sim.step()
        found.append(fluid.positions()[:, 1] - 0.1)
        touching.append(forcing.contacts)
        pressed.append(-forcing.control_b[0, 1])
    lowest = np.argsort(np.mean(found, axis=0), kind="stable")[: fluid.totals.particles // layers]
    distance = np.array(found)[:, lowest]
    weight = 9.81 * fluid.mass * fluid.totals.particles
    return {
        "change": float(np.ptp(distance, axis=0).max()) / fluid.radius, "mean": float(distance.mean()) / fluid.radius,
        "touching": float(np.mean(touching)), "contact_force": float(np.mean(pressed)) / weight,
    }  # fmt: skip


# the ship of figure 5 ------------------------------------------------------------------------------------------------

HOLE, MASS = 0.04, 3300.0 * 0.012
"""Half width of the hole in the bottom [m]; mass of the hull per area of its walls [kg/m2]."""


def hull(wall: float) -> Array:
    """Corners (12, 2) of the hull with a deck and a hole, walls of a thickness [m] about the lines of ``ship_side``."""
    half = 0.5 * wall

    def corner(y: float, side: int) -> tuple[float, float]:
        return 0.2 + 0.4 * (y + 0.1) + side * half * float(np.sqrt(1.16)), y

    out = [(HOLE, -0.1 - half), corner(-0.1 - half, 1), corner(0.1 + half, 1)]
    back = [corner(0.1 - half, -1), corner(-0.1 + half, -1), (HOLE, -0.1 + half)]
    mirror = [(-x, y) for x, y in reversed(out)] + [(-x, y) for x, y in reversed(back)]
    return np.array(out + mirror + back)


def write_hull(path: Path, wall: float) -> str:
    """The hull as a prism along z in a mesh file; returns its name."""
    corners = hull(wall)
    n = len(corners)
    lines = [f"v {x:.9g} {y:.9g} {z}" for z in (-0.5, 0.5) for x, y in corners]
    for i in range(n):
        j = (i + 1) % n
        lines += [f"f {i + 1} {j + 1} {n + j + 1}", f"f {i + 1} {n + j + 1} {n + i + 1}"]
    for i in range(n // 2 - 1):
        a, b, c, d = i, i + 1, n - 2 - i, n - 1 - i
        for p, q, r in ((a, b, c), (a, c, d)):
            lines += [f"f {n + p + 1} {n + q + 1} {n + r + 1}", f"f {r + 1} {q + 1} {p + 1}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def distances(place: Array, corners: Array) -> Array:
    """Distance (n,) of places (n, 2) to a polygon."""
    a, d = corners, np.roll(corners, -1, axis=0) - corners
    t = np.clip(((place[:, None] - a) * d).sum(axis=-1) / (d * d).sum(axis=-1), 0.0, 1.0)
    return np.asarray(np.linalg.norm(place[:, None] - (a + t[..., None] * d), axis=-1).min(axis=1))


def sinks(along: int, coupling: str) -> dict[str, float]:
    """The hull with walls of one particle falls into the basin, fills through its hole and sinks: water inside at the
    end over the room; scatter of the distance of the layer that touches the hull in the last half second / radius;
    most particles thrown up at a time, over all of them.

    A particle is of the layer that touches when it is less than a radius further away than the nearest one: the next
    layer is two further. It is thrown up when it has less than 4 others within two spacings.
    """
    scene = ut.scene("leaking-ship", resolution=along)
    wall = float(scene.domain.upper[0]) / along
    changed = {"coupling": coupling, "time": ut.Time(end=SINKS, frame_rate=30)}
    with TemporaryDirectory() as folder:
        shape = ut.Mesh(file=write_hull(Path(folder) / "ship.obj", wall))
        ship = scene.bodies["ship"].model_copy(update={"shape": shape, "density": MASS / wall})
        sim = ut.Simulation(scene.model_copy(update={**changed, "objects": {**scene.objects, "ship": ship}}))
    fluid, corners = sim.part(SphPart).fluid, hull(wall)
    spacing, scatter, thrown, inside = 2.0 * fluid.radius, [], 0.0, 0.0
    while sim.time < SINKS - 1e-9:
        sim.advance_to(min(sim.time + 0.05, SINKS))
        state, place = sim.body("ship"), fluid.positions()
        own = ((place - state.position) @ state.matrix)[:, :2]
        near = own[(np.abs(own[:, 0]) < 0.35) & (np.abs(own[:, 1]) < 0.15)]
        layer = distances(near, corners)
        if sim.time > SINKS - 0.5:
            scatter.append(np.std(layer[layer < layer.min() + fluid.radius]) / fluid.radius)
        others = KDTree(place[:, :2]).query_ball_point(place[:, :2], 2.0 * spacing, return_length=True) - 1
        thrown = max(thrown, float(np.mean(others < 4)))
        now = ship_side(np.concatenate([own, np.zeros((len(own), 1))], axis=1), fluid.radius)
        inside = float(np.count_nonzero(now == INSIDE)) * spacing**2
    room = float((0.2 - wall) * hull(wall)[9:11, 0].sum())
    return {
        "filled": inside / room, "scatter": float(np.mean(scatter)), "thrown": thrown, "particles": float(len(place)),
        "height": float(sim.body("ship").position[1]),
    }  # fmt: skip


def run(full: bool = False) -> Iterator[Quantity]:
    """The ship of figure 5, and both scenes for 20,000 steps each; the penalty method beside them, as information."""
    along = ALONG_FULL if full else ALONG
    for coupling, tag in (("direct_forcing", ""), ("penalty", "_penalty")):
        sunk = sinks(along, coupling)
        for what in ("filled", "scatter", "thrown"):
            yield quantity(f"{what}_ship{tag}", sunk[what], info=bool(tag), along=along, **sunk)
    for name, layers, slip in (("", 1, 0.0), ("_column", 10, 1.0)):
        rest = rest_distance(layers, slip)
        yield quantity(f"rest_distance{name}", rest.pop("change"), unit="radii", **rest)
        # particles that never come down keep their distance too
        yield quantity(f"rest_mean{name}", rest["mean"], unit="radii")
        rest = rest_distance(layers, slip, "penalty")
        yield quantity(f"rest_distance{name}_penalty", rest.pop("change"), info=True, unit="radii", **rest)
    for name, side, resolution in (("ship", ship_side, 60), ("vessel", vessel_side, 23)):
        found = crossings(long_scene(name, resolution), name, side, STEPS)
        if name == "vessel":  # it floats: what is in it at the end came in
            yield quantity("inside_vessel", float(found["inside"]), particles=found["particles"])
        yield quantity(f"crossed_{name}", float(found.pop("crossed")), **found)
    ship = long_scene("ship", 60).model_copy(update={"coupling": "penalty"})
    found = crossings(ship, "ship", ship_side, PENALTY_STEPS)
    yield quantity("crossed_ship_penalty", float(found.pop("crossed")), info=True, steps=PENALTY_STEPS, **found)


def long_scene(name: str, resolution: int) -> ut.Scene:
    """A scene of the gallery that does not end before its steps are made."""
    scene = ut.scene({"ship": "leaking-ship", "vessel": "vessel"}[name], resolution=resolution)
    # hulls of this folder: as thick as one particle of these resolutions, which are coarser than the gallery's
    shape = ut.Mesh(file=str(Path(__file__).parent / f"{name}.obj"))
    hull = scene.bodies[name].model_copy(update={"shape": shape, "density": {"ship": 2000.0, "vessel": 700.0}[name]})
    time = ut.Time(end=100.0, frame_rate=scene.time.frame_rate)
    return scene.model_copy(update={"time": time, "objects": {**scene.objects, name: hull}})
