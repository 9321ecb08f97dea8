"""Things that stand must stand: ten boxes on each other, and a wall of ten courses of ten bricks."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.geometry import Box, Plane
from undertow.solids import SolidsWorld, largest_motion
from undertow.validation.analysis import Quantity, quantity

RATE = 60
BRICK = (0.2, 0.1, 0.1)


def boxes(count: int = 10) -> SolidsWorld:
    """Boxes of 0.2 m on each other."""
    world = SolidsWorld()
    world.add("ground", Plane())
    for i in range(count):
        world.add(f"box {i}", Box((0.2, 0.2, 0.2)), (0.0, 0.1 + 0.2 * i, 0.0), density=1000.0)
    return world


def wall(courses: int = 10, bricks: int = 10) -> SolidsWorld:
    """Bricks in running bond without mortar, every other course between two half bricks."""
    world = SolidsWorld()
    world.add("ground", Plane())
    length, height, depth = BRICK
    half = Box((0.5 * length, height, depth))
    for course in range(courses):
        y = (course + 0.5) * height
        shift = 0.5 * length * (course % 2)
        for i in range(bricks - course % 2):
            world.add(f"brick {course} {i}", Box(BRICK), ((i + 0.5) * length + shift, y, 0.0), density=2000.0)
        if course % 2:
            for i, x in enumerate((0.25 * length, (bricks - 0.25) * length)):
                world.add(f"half {course} {i}", half, (x, y, 0.0), density=2000.0)
    return world


def stand(world: SolidsWorld, duration: float) -> tuple[float, float, float]:
    """Largest motion [m] and turn [degrees] at any time, and mean sweeps of the contact solves."""
    x, q = world.bodies.x_b.copy(), world.bodies.q_b.copy()
    moved = turned = sweeps = 0.0
    steps = round(duration * RATE)
    for _ in range(steps):
        sweeps += world.step(1.0 / RATE).iterations / steps
        now = largest_motion(world.bodies, x, q)
        moved, turned = max(moved, now[0]), max(turned, now[1])
    return moved, turned, sweeps


def run(full: bool = False) -> Iterator[Quantity]:
    """Ten boxes for 20 s and the wall for 10 s at 60 Hz."""
    moved, turned, sweeps = stand(boxes(), 20.0)
    yield quantity("motion_10_boxes", moved, sweeps=sweeps)
    yield quantity("turn_10_boxes", turned)
    moved, turned, sweeps = stand(wall(), 10.0)
    yield quantity("motion_wall", moved, sweeps=sweeps)
    yield quantity("turn_wall", turned)
