"""One fracture pattern for four blows: walls break about the places where balls hit them, and a ball on a wall."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Box, Plane, Sphere

CARD = {
    "description": "balls break walls at three places by one radial pattern, and one ball breaks itself (3D)",
    "source": "Schroeder 2011, thesis, figure 2.4",
    "cost": "about half a minute",
}

WALL = (1.5, 1.0, 0.1)
BETWEEN = 1.75
"""From wall to wall [m]."""
PLACES = ((0.0, 0.5), (-0.45, 0.75), (0.5, 0.3), (0.1, 0.55))
"""Where the balls hit, from the middle of a wall's foot [m]."""
SPEED = 9.0
RADIUS = 0.13


def make_scene(pieces: int = 28) -> Scene:
    """Four walls, four balls, one pattern."""
    pattern = {"pattern": "radial", "pieces": pieces, "seed": 4, "smallest": 0.02}
    objects = {"ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6)}
    for n, (x, y) in enumerate(PLACES):
        middle, strong = (n - 1.5) * BETWEEN, n == len(PLACES) - 1
        objects[f"wall-{n + 1}"] = RigidBody(
            shape=Box(size=WALL),
            position=(middle, 0.5 * WALL[1], 0.0),
            density=12000.0 if strong else 1800.0,
            friction=0.6,
            color=(0.47, 0.50, 0.56) if strong else (0.66, 0.42, 0.33),
            fracture=Fracture(**pattern, strength=1e6 if strong else 60.0),
        )
        objects[f"ball-{n + 1}"] = RigidBody(
            shape=Sphere(radius=RADIUS),
            position=(middle + x, y, 1.3),
            velocity=(0.0, 1.0, -SPEED),
            density=2500.0,
            friction=0.4,
            color=(0.72, 0.26, 0.18),
            fracture=Fracture(**pattern, strength=100.0 if strong else 1e6, color=(0.95, 0.72, 0.55)),
        )
    return Scene(
        name="wall-fracture",
        **CARD,
        time=Time(end=1.0, frame_rate=48),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        view=View(camera=Camera(position=(0.5, 2.6, 8.6), look_at=(0.0, 0.2, 0.0))),
    )
