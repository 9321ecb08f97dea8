"""Scenes of water from the gallery, each by what its physics says."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Array, Quantity, quantity

GRAVITY = 9.81
LATE = 0.3
"""The last part of a run over which heights are averaged [s]: what floats still bobs."""
SEALED = 0.6
"""When the ball of ``plug`` is in its seat and the stream below it has fallen [s]."""


class Story:
    """A scene as it is run, seen at every step.

    frames: after each step its time [s], the centre of each dynamic body (3,) [m] and the ledger; seconds: processor
    time of all steps.
    """

    def __init__(self, name: str, cells: int | None = None, end: float | None = None) -> None:
        self.scene = ut.scene(name, resolution=cells)
        self.sim = ut.Simulation(self.scene)
        self.end = self.scene.time.end if end is None else end
        self.density = {n: b.density for n, b in self.scene.bodies.items() if b.density is not None}
        self.frames: list[tuple[float, dict[str, Array], dict[str, float]]] = []
        self.seconds = 0.0

    def steps(self) -> Iterator[None]:
        """Go through the scene, a step at a time."""
        while self.sim.time < self.end - 1e-9:
            begun = clock.process_time()
            ledger = self.sim.step().ledger
            self.seconds += clock.process_time() - begun
            self.frames.append((self.sim.time, {n: self.sim.body(n).position for n in self.density}, ledger))
            yield

    def run(self) -> Story:
        """Go through all of it."""
        for _ in self.steps():
            pass
        return self

    @property
    def time(self) -> Array:
        """Of every step [s]."""
        return np.array([frame[0] for frame in self.frames])

    def place(self, body: str) -> Array:
        """Of a body's centre after every step [m]."""
        return np.array([frame[1][body] for frame in self.frames])

    def row(self, name: str) -> Array:
        """A column of the ledger."""
        return np.array([frame[2][name] for frame in self.frames])

    def late(self, values: Array) -> float:
        """Mean over the last steps."""
        return float(values[self.time > self.end - LATE].mean())

    def mass(self, body: str) -> float:
        """[kg]"""
        bodies = self.sim.scheme.bodies.bodies  # type: ignore[attr-defined]
        return float(bodies.mass_b[bodies.index(body)])

    def level(self) -> float:
        """Of the water once it is still and each body floats or has sunk: its volume and what they displace [m]."""
        rho = self.scene.fluid.density
        displaced = sum(self.mass(n) / max(rho, density) for n, density in self.density.items())
        x, _, z = self.sim.flow.grid.upper
        return float((self.late(self.row("fluid_volume")) + displaced) / (x * z))

    def drift(self) -> float:
        """Largest change of the volume of water and spray that no source explains, over that at the start."""
        made = self.row("emitted_volume") if "emitted_volume" in self.frames[0][2] else 0.0
        whole = self.row("fluid_volume") + self.row("spray_volume") - made
        return float(np.abs(whole / whole[0] - 1.0).max())

    def cost(self) -> dict[str, Any]:
        """What every quantity says beside itself."""
        per_frame = self.seconds / (self.sim.time * self.scene.time.frame_rate)
        cells = "x".join(str(n) for n in self.sim.flow.grid.cells)
        return {"cells": cells, "steps": len(self.frames), "processor_seconds_per_frame": round(per_frame, 3)}


def afloat(share: float) -> float:
    """How far the centre of a sphere of that relative density floats above the level, in radii."""
    # the cap below the level has (1 + h)^2 (2 - h) / 4 of the volume with the centre h radii below it
    depth = np.linspace(-1.0, 1.0, 20001)
    return -float(np.interp(share, (1.0 + depth) ** 2 * (2.0 - depth) / 4.0, depth))


def lead_and_wood(story: Story) -> Iterator[tuple[str, float]]:
    """The lead lies on the floor, the wood floats as deep as Archimedes says."""
    story.run()
    radius = 0.09
    yield "lead", story.late(story.place("lead")[:, 1]) / radius
    above = story.late(story.place("wood")[:, 1]) - story.level()
    yield "wood", above / radius - afloat(story.density["wood"] / story.scene.fluid.density)


def spheres_24(story: Story) -> Iterator[tuple[str, float]]:
    """The lighter, the higher: mean heights of the balls of each density, and those heavier than water are down."""
    story.run()
    radius, rho = 0.055, story.scene.fluid.density
    height = {n: story.late(story.place(n)[:, 1]) for n in story.density}
    kinds = sorted(set(story.density.values()))
    mean = [float(np.mean([height[n] for n in height if story.density[n] == kind])) for kind in kinds]
    yield "order", min(a - b for a, b, kind in zip(mean, mean[1:], kinds, strict=False) if kind < rho) / radius
    yield "sunk", max(height[n] for n in height if story.density[n] > rho) / radius
    yield "volume", story.drift()


def gears_and_bunnies(story: Story) -> Iterator[tuple[str, float]]:
    """The gears lie on the floor or stand there, and every bunny has come up from under them."""
    story.run()
    height = {n: story.late(story.place(n)[:, 1]) for n in story.density}
    down = max(height[n] for n in height if n.startswith("gear"))
    yield "gears", down / 0.1
    yield "bunnies", (min(height[n] for n in height if n.startswith("bunny")) - down) / 0.24


def gems(story: Story) -> Iterator[tuple[str, float]]:
    """Both reach the floor, slower than the acceleration of a body with the added mass of a sphere allows."""
    story.run()
    share = story.density["ruby"] / story.scene.fluid.density
    pull = GRAVITY * (share - 1.0) / (share + 0.5)
    fallen = {name: story.place(name)[0, 1] - story.place(name)[:, 1] for name in story.density}
    free = 0.5 * pull * story.time**2
    moving = (story.time > 0.2) & (free < 1.0)
    yield "drag", float(max((fall[moving] / free[moving]).max() for fall in fallen.values()))
    yield "sunk", max(story.late(story.place(name)[:, 1]) for name in story.density)


def stones(story: Story) -> Iterator[tuple[str, float]]:
    """Drafting, kissing, tumbling: the stone that starts above reaches the floor first."""
    radius = 0.0825
    arrived: dict[str, float] = {}
    for _ in story.steps():
        for name, place in story.frames[-1][1].items():
            if place[1] < 1.1 * radius:
                arrived.setdefault(name, story.sim.time)
        if len(arrived) == 2:
            break
    yield "lead", arrived.get("marble", np.inf) - arrived.get("turquoise", np.inf)
    apart = np.linalg.norm(story.place("turquoise") - story.place("marble"), axis=1)
    yield "gap", float(apart.min()) / (2.0 * radius) - 1.0
    yield "volume", story.drift()


def catapult(story: Story) -> Iterator[tuple[str, float]]:
    """The wooden blocks are thrown up, the two in front towards the water."""
    story.run()
    yield "thrown", min(float(np.ptp(story.place(name)[:, 1])) for name in ("first", "second", "third")) / 0.07
    forward = (story.place(name)[:, 0] - story.place(name)[0, 0] for name in ("first", "second"))
    yield "forward", min(float(way.max()) for way in forward)


def fountain(story: Story) -> Iterator[tuple[str, float]]:
    """The jet rises by v^2 / 2 g over the mouth of the pump."""
    grid, pump = story.sim.flow.grid, story.scene.objects["pump"]
    mouth = pump.position[1] + 0.5 * pump.shape.length  # type: ignore[union-attr]
    x, y, z = grid.cell_centres()
    above = np.hypot(x - pump.position[0], z - pump.position[2]) < 0.1  # type: ignore[union-attr]
    tops = []
    for _ in story.steps():
        wet = (story.sim.flow.state.surface.phi_c[grid.interior] < 0.0) & above
        tops.append(float(np.where(wet, y, 0.0).max()))
    ideal = float(np.asarray(pump.velocity)[1]) ** 2 / (2.0 * GRAVITY)  # type: ignore[union-attr]
    yield "jet", (story.late(np.array(tops)) - mouth) / ideal


def dam_break_bodies(story: Story) -> Iterator[tuple[str, float]]:
    """The crates are carried off, the stone lies."""
    story.run()
    crates = ("crate", "upper", "long")
    yield "carried", min(float(np.abs(story.place(n)[:, 0] - story.place(n)[0, 0]).max()) for n in crates)
    yield "stone", story.late(story.place("stone")[:, 1]) / 0.06


def drop_pool(story: Story) -> Iterator[tuple[str, float]]:
    """Nothing drives it: of the energy above that of a level pool none comes back and half is gone; volume stays."""
    story.run()
    energy = story.row("kinetic_energy") + story.row("potential_energy")
    yield "energy", float((energy - np.minimum.accumulate(energy)).max() / energy[0])
    yield "left", float(energy[-1] / energy[0])
    yield "volume", story.drift()


def plug(story: Story) -> Iterator[tuple[str, float]]:
    """The ball stays in its seat; no more water comes to be below it once what ran through has fallen, and what is
    above stays."""
    from undertow.scene.gallery import plug as scene
    from undertow.validation.plug.case import volumes

    story.sim.advance_to(SEALED)
    below, above = volumes(story.sim, scene.MIDDLE)
    story.run()
    below_later, above_later = volumes(story.sim, scene.MIDDLE)
    yield "seat", abs(float(story.place("ball")[-1, 1]) - scene.MIDDLE - scene.seat()) / story.sim.flow.grid.dx
    yield "below", (below_later - below) / above
    yield "above", abs(above_later - above) / above


SCENES: dict[str, tuple[int, float | None, Callable[[Story], Iterator[tuple[str, float]]]]] = {
    "gears-and-bunnies": (28, None, gears_and_bunnies),
    "lead-and-wood": (28, None, lead_and_wood),
    "spheres-24": (36, None, spheres_24),
    "gems": (48, None, gems),
    "stones": (64, None, stones),
    "catapult": (36, None, catapult),
    "fountain": (24, 1.0, fountain),
    "dam-break-bodies": (36, None, dam_break_bodies),
    "drop-pool": (28, None, drop_pool),
    "plug": (24, 1.6, plug),
}
"""Cells of the small version, its end [s] if not the scene's own, and what is measured."""


def run(full: bool = False) -> Iterator[Quantity]:
    """Small; ``full``: as they come with the package."""
    for name, (cells, end, look) in SCENES.items():
        story = Story(name) if full else Story(name, cells, end)
        for what, value in look(story):
            yield quantity(f"{name.replace('-', '_')}_{what}", value, **story.cost())
