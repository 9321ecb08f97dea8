"""Soft scenes from the gallery that no other case covers, each by what its physics says."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.scene.gallery import (
    armadillo_drop,
    armadillo_stairs,
    chain_twist,
    fish_flop,
    maggot,
    maggot_bowl,
    maggot_bowl_rings,
    maggot_trapped,
    pile_1600,
    snake,
    soft_sphere_stairs,
    tori_pile,
)
from undertow.scene.gallery.soft_sphere_stairs import RISE, STEPS, TREAD
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart
from undertow.validation.analysis import Array, Quantity, quantity

GRAVITY = np.array([0.0, -9.81, 0.0])


class Story:
    """A scene as it is run, seen at every step.

    rows: the ledger after each step; time (steps,) [s]; given (steps, 3): momentum from what is fixed or driven
    [kg m/s]; crossings: most edges through triangles of soft surfaces, seen at every frame; volume [m3] at rest.
    """

    def __init__(self, scene: ut.Scene, end: float | None = None) -> None:
        self.scene, self.sim = scene, ut.Simulation(scene)
        self.end = scene.time.end if end is None else end
        self.part, rigid = self.sim.part(SoftPart), self.sim.part(RigidPart)
        self.soft = self.part.soft
        self.volume = sum(float(self.soft.volume(part)) for part in self.soft.parts)
        bodies = self.bodies = rigid.bodies
        self._fixed = [name for name, inverse in zip(bodies.names, bodies.inv_mass_b, strict=True) if inverse == 0]
        weight = np.where(bodies.inv_mass_b > 0, bodies.mass_b, 0.0)
        self.mass = float(weight.sum() + self.soft.mass.sum())
        self._start = weight @ bodies.v_b + self.soft.mass @ self.soft.v
        self.rows: list[dict[str, float]] = []
        self.time, self.given = np.zeros(0), np.zeros((0, 3))
        self.crossings, self.seconds = 0, 0.0

    def steps(self) -> Iterator[None]:
        """Go through the scene, a step at a time."""
        times, total, given = [], np.zeros(3), []
        frame, surfaces = 0.0, self.part.soft_solids.surfaces
        while self.sim.time < self.end - 1e-9:
            before, begun = self.sim.time, clock.process_time()
            self.rows.append(self.sim.step().ledger)
            self.seconds += clock.process_time() - begun
            times.append(self.sim.time)
            # what the fixed bodies feel is what they give, turned round
            felt = np.sum([self.sim.body(name).contact_force for name in self._fixed], axis=0)
            total = total - (self.sim.time - before) * felt
            given.append(total)
            self.time, self.given = np.array(times), np.array(given)
            if self.sim.time >= frame and surfaces is not None:
                self.crossings = max(self.crossings, int(surfaces.crossings(self.soft.x)))
                frame += 1 / self.scene.time.frame_rate
            yield

    def run(self) -> Story:
        """Go through all of it."""
        for _ in self.steps():
            pass
        return self

    def row(self, name: str) -> Array:
        """A column of the ledger."""
        return np.array([row[name] for row in self.rows])

    def place(self, body: str) -> Array:
        """Of a body's centre now (3,) [m]."""
        return np.asarray(self.sim.body(body).position)

    def momentum(self) -> float:
        """Largest part of the momentum in any step that neither weight nor what is fixed gave, over all that the
        latter gave."""
        held = np.stack([self.row(f"momentum_{axis}") for axis in "xyz"], axis=1)
        off = held - self._start - self.given - self.time[:, None] * (self.mass * GRAVITY)
        return float(np.abs(off).max() / np.linalg.norm(self.given, axis=1).max())

    def rise(self) -> float:
        """Largest rise of the energy of everything above its least so far, over all that it falls."""
        energy = self.row("energy")
        return float((energy - np.minimum.accumulate(energy)).max() / (energy[0] - energy[-1]))

    def swelling(self) -> float:
        """Largest change of the volume of the soft bodies, over that at rest."""
        return float(np.abs(self.row("soft_volume") / self.volume - 1.0).max())

    def cost(self) -> dict[str, Any]:
        """What every quantity says beside itself."""
        per_frame = self.seconds / (self.sim.time * self.scene.time.frame_rate)
        elements = int(sum(len(part.cells) for part in self.soft.parts))
        return {"elements": elements, "steps": len(self.rows), "processor_seconds_per_frame": round(per_frame, 3)}


def stairs(story: Story, name: str) -> Iterator[tuple[str, float]]:
    """It goes down from stair to stair and not into them, keeps its volume and gains no energy."""
    high, nodes, inside = story.place(name)[1], story.soft.parts[0].nodes, 0.0
    for _ in story.steps():
        inside = max(inside, _depth_in_stairs(story.soft.x[nodes]))
    yield "down", (high - story.place(name)[1]) / RISE
    yield "inside", inside
    yield "volume", story.swelling()
    yield "energy", story.rise()
    yield "momentum", story.momentum()


def _depth_in_stairs(x: Array) -> float:
    """How far the deepest of the points (n, 3) is inside a stair or the ground [m]."""
    deepest = float(-x[:, 1].min())
    for i in range(STEPS):
        sides = (x[:, 0] - i * TREAD, (i + 1) * TREAD - x[:, 0], RISE * (STEPS - i) - x[:, 1])
        # stairs stand side by side: from the side one is left through the next, if that is as high
        depth = np.minimum(sides[2], sides[1]) if i else np.min(sides, axis=0)
        depth = np.where((sides[0] > 0) & (sides[1] > 0) & (np.abs(x[:, 2]) < 0.8), depth, 0.0)
        deepest = max(deepest, float(depth.max()))
    return deepest


def drop(story: Story) -> Iterator[tuple[str, float]]:
    """The rabbit falls freely until it touches the ground, and then not into it."""
    fall, inside = 0.0, 0.0
    for _ in story.steps():
        inside = max(inside, -float(story.soft.x[:, 1].min()))
        if not story.row("soft_contacts").any():
            fall = float(story.row("momentum_y")[-1] / (story.mass * GRAVITY[1] * story.sim.time))
    yield "fall", fall
    yield "inside", inside
    yield "volume", story.swelling()
    yield "energy", story.rise()
    yield "momentum", story.momentum()


def creature(story: Story, name: str, limp: Story) -> Iterator[tuple[str, float]]:
    """It goes over the ground by its joints, farther than a limp one, with the momentum that the ground gives it."""
    ways = []
    for one in (story, limp):
        start = one.place(name)
        one.run()
        ways.append(float(np.linalg.norm((one.place(name) - start)[[0, 2]])))
    yield "way", ways[0]
    yield "limp", ways[1] / ways[0]
    yield "inside", max(float(one.row("soft_penetration").max()) for one in (story, limp))
    yield "joints", float(story.row("joint_error").max())
    yield "momentum", story.momentum()


def flop(story: Story, limp: Story) -> Iterator[tuple[str, float]]:
    """Once it has landed the fish throws itself up, a limp one does not."""
    speeds = []
    for one in (story, limp):
        fastest = 0.0
        for _ in one.steps():
            if one.sim.time > 0.5 * one.end:
                fastest = max(fastest, float(one.sim.body("fish").velocity[1]))
        speeds.append(fastest)
    yield "thrown", speeds[0]
    yield "limp", speeds[1] / speeds[0]
    yield "joints", float(story.row("joint_error").max())
    yield "momentum", story.momentum()


def trapped(story: Story) -> Iterator[tuple[str, float]]:
    """The ring comes to lie on the maggot with one side and on the ground with the other: its middle is between them,
    half of a tube and half of a maggot and a tube high."""
    story.run()
    tube = maggot_trapped.TUBE
    yield "ring", float(story.place("ring")[1]) / (0.5 * tube + 0.5 * (2 * maggot.RADIUS + tube))
    yield "inside", float(story.row("soft_penetration").max())
    yield "joints", float(story.row("joint_error").max())
    yield "momentum", story.momentum()


def bowl(story: Story) -> Iterator[tuple[str, float]]:
    """All stay in the bowl, not in its wall and not in each other, with the momentum that it gives them."""
    out = 0.0
    for _ in story.steps():
        out = max(out, float(np.hypot(story.soft.x[:, 0], story.soft.x[:, 2]).max()))
    yield "out", out / 0.6
    yield "inside", float(story.row("soft_penetration").max())
    yield "met", float(story.row("soft_collisions").sum())
    yield "crossings", story.crossings
    yield "joints", float(story.row("joint_error").max())
    yield "momentum", story.momentum()


def chain(story: Story, links: int) -> Iterator[tuple[str, float]]:
    """Neighbours stay linked and the others are not, however far the end has wound them; loops stay closed."""
    story.run()
    rings = [_centre_line(story, i) for i in range(links)]
    yield "linked", min(abs(_linking(a, b)) for a, b in zip(rings, rings[1:], strict=False))
    yield "unlinked", max(abs(_linking(a, b)) for i, a in enumerate(rings) for b in rings[i + 2 :])
    yield "joints", float(story.row("joint_error").max())
    yield "crossings", story.crossings
    yield "momentum", story.momentum()


def _centre_line(story: Story, i: int) -> Array:
    """Closed polygon (n, 3) through the middle of the tube of a link of ``chain-twist``."""
    name, bodies = f"link-{i}", story.bodies
    if name in story.scene.softs:
        part = next(part for part in story.soft.parts if part.name == name)
        rest = story.soft.rest[part.nodes] - story.soft.rest[part.nodes].mean(axis=0)
        # the two directions in which a ring is wide
        wide = np.linalg.svd(rest, full_matrices=False)[2][:2]
        turn = np.floor(12 * np.arctan2(rest @ wide[0], rest @ wide[1]) / np.pi).astype(int)
        x = story.soft.x[part.nodes]
        return np.array([x[turn == k].mean(axis=0) for k in np.unique(turn)])
    if name in story.scene.bodies:
        angle = np.linspace(0.0, 2 * np.pi, 48, endpoint=False)
        circle = np.stack([np.cos(angle), np.zeros(48), np.sin(angle)], axis=1)
        place, turned = bodies.shape_pose(bodies.index(name))
        return np.asarray(place + chain_twist.RADIUS * circle @ turned.T)
    rods = [bodies.shape_pose(bodies.index(f"{name}-rod-{k}")) for k in range(6)]
    half = 0.5 * chain_twist.RADIUS
    return np.array([place + side * half * turned[:, 1] for place, turned in rods for side in (-0.9, 0.9)])


def _linking(a: Array, b: Array) -> float:
    """Gauss's integral of two closed polygons (., 3), each side cut in eight: 1 or -1 where they are linked once."""
    (p, dp), (q, dq) = _sides(a), _sides(b)
    apart = p[:, None] - q[None]
    volume = np.einsum("ijk,ijk->ij", apart, np.cross(dp[:, None], dq[None]))
    return float((volume / np.linalg.norm(apart, axis=2) ** 3).sum() / (4 * np.pi))


def _sides(a: Array, parts: int = 8) -> tuple[Array, Array]:
    """Middles and vectors (8 n, 3) of the parts of the sides of a closed polygon."""
    side = (np.roll(a, -1, axis=0) - a) / parts
    middle = a[:, None] + (np.arange(parts)[:, None] + 0.5) * side[:, None]
    return middle.reshape(-1, 3), np.repeat(side, parts, axis=0)


def pile(story: Story) -> Iterator[tuple[str, float]]:
    """What falls on the pegs gains no energy, does not come apart and passes neither the ground nor each other."""
    story.run()
    yield "inside", max(-float(story.soft.x[:, 1].min()), float(story.row("soft_penetration").max()))
    yield "met", float((story.row("soft_contacts") + story.row("soft_collisions")).max())
    yield "crossings", story.crossings
    yield "joints", float(story.row("joint_error").max())
    yield "energy", story.rise()
    yield "momentum", story.momentum()


def rings(story: Story) -> Iterator[tuple[str, float]]:
    """Rings that keep their volume fall on each other: no energy gained, no crossings."""
    story.run()
    yield "volume", story.swelling()
    yield "inside", float(story.row("soft_penetration").max())
    yield "met", float(story.row("soft_collisions").max())
    yield "crossings", story.crossings
    yield "energy", story.rise()
    yield "momentum", story.momentum()


def stories(full: bool) -> Iterator[tuple[str, Story, Iterator[tuple[str, float]]]]:
    """Name, story and what is measured of every scene."""
    story = Story(soft_sphere_stairs.make_scene()) if full else Story(soft_sphere_stairs.make_scene(5), 2.0)
    yield "soft-sphere-stairs", story, stairs(story, "ball")
    story = Story(armadillo_stairs.make_scene()) if full else Story(armadillo_stairs.make_scene(7), 2.0)
    yield "armadillo-stairs", story, stairs(story, "rabbit")
    story = Story(armadillo_drop.make_scene()) if full else Story(armadillo_drop.make_scene(7), 0.7)
    yield "armadillo-drop", story, drop(story)
    across, end = (3, None) if full else (2, 0.7)
    story, limp = (Story(maggot.make_scene(across, degrees), end) for degrees in (35.0, 0.0))
    yield "maggot", story, creature(story, "maggot", limp)
    story = Story(maggot_trapped.make_scene(across), end)
    yield "maggot-trapped", story, trapped(story)
    story = Story(maggot_bowl.make_scene()) if full else Story(maggot_bowl.make_scene(4), 0.4)
    yield "maggot-bowl", story, bowl(story)
    story = Story(maggot_bowl_rings.make_scene()) if full else Story(maggot_bowl_rings.make_scene(2), 0.4)
    yield "maggot-bowl-rings", story, bowl(story)
    along, end = (14, None) if full else (10, 0.6)
    story, limp = (Story(fish_flop.make_scene(along, degrees), end) for degrees in (35.0, 0.0))
    yield "fish-flop", story, flop(story, limp)
    joints, across, end = (12, 3, None) if full else (6, 2, 0.5)
    story, limp = (Story(snake.make_scene(joints, across, share), end) for share in (1.0, 0.0))
    yield "snake", story, creature(story, "skin", limp)
    links = 9 if full else 5
    story = Story(chain_twist.make_scene()) if full else Story(chain_twist.make_scene(2, links, 1.6), 0.8)
    yield "chain-twist", story, chain(story, links)
    story = Story(pile_1600.make_scene()) if full else Story(pile_1600.make_scene(1, 2), 0.5)
    yield "pile-1600", story, pile(story)
    story = Story(tori_pile.make_scene()) if full else Story(tori_pile.make_scene(3), 0.4)
    yield "tori-pile", story, rings(story)


def run(full: bool = False) -> Iterator[Quantity]:
    """Small and short; ``full``: as they come with the package."""
    for name, story, found in stories(full):
        for what, value in found:
            yield quantity(f"{name.replace('-', '_')}_{what}", value, **story.cost())
