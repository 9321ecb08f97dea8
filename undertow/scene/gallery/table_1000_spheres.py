"""Small spheres rain on a table and shatter; a large one follows and breaks the table itself."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Box, Plane, Sphere

CARD = {
    "description": "1000 spheres shatter on a table, then a large one breaks the table: 9000 bodies (3D)",
    "source": "Schroeder 2011, thesis, figure 2.8",
    "cost": "hours; 25 or 100 spheres by make_scene(25) of its file minutes",
}

TOP = (1.5, 0.1, 1.0)
HEIGHT = 0.6
"""Of the upper side of the table [m]."""
RADIUS = 0.03
ACROSS, DEEP = 15, 10
"""Spheres along the table and across it in a layer."""
SPACING = 0.09
LAYERS = 0.2
"""From layer to layer [m]."""
COLORS = ((0.80, 0.36, 0.22), (0.25, 0.46, 0.66), (0.88, 0.70, 0.30), (0.36, 0.58, 0.42))


def make_scene(count: int = 1000, pieces: int = 16, table_pieces: int = 60) -> Scene:
    """``count`` spheres above the middle of a table on two trestles, and the large sphere above them."""
    stone = (0.62, 0.60, 0.56)
    objects = {"ground": RigidBody(shape=Plane(normal=(0, 1, 0)), position=(0, 0, 0), friction=0.6)}
    for side, x in (("left", -0.6), ("right", 0.6)):
        leg = HEIGHT - TOP[1]
        objects[f"trestle-{side}"] = RigidBody(
            shape=Box(size=(0.08, leg, 0.8)), position=(x, 0.5 * leg, 0.0), friction=0.6, color=(0.45, 0.33, 0.24)
        )
    objects["table"] = RigidBody(
        shape=Box(size=TOP), position=(0.0, HEIGHT - 0.5 * TOP[1], 0.0), density=2400.0, friction=0.6, color=stone,
        fracture=Fracture(
            pattern="voronoi", pieces=table_pieces, seed=2, options={"grading": 0.6}, strength=100.0, smallest=0.01
        ),
    )  # fmt: skip
    across = min(ACROSS, max(2, round((count * 1.5) ** 0.5)))
    deep = min(DEEP, -(-count // across))
    top = 0.0
    for n in range(count):
        layer, place = divmod(n, across * deep)
        row, column = divmod(place, across)
        top = HEIGHT + 0.5 + LAYERS * layer
        # odd layers between those below, and no two that land in one step
        shift = 0.25 * SPACING * (-1) ** layer
        at = ((column - 0.5 * (across - 1)) * SPACING + shift, top + 0.003 * place, (row - 0.5 * (deep - 1)) * SPACING)
        objects[f"sphere-{n:04d}"] = RigidBody(
            shape=Sphere(radius=RADIUS), position=at, density=2400.0, friction=0.5, color=COLORS[n % len(COLORS)],
            fracture=Fracture(pattern="voronoi", pieces=pieces, seed=n % 4, strength=0.4, smallest=0.004),
        )  # fmt: skip
    objects["large"] = RigidBody(
        shape=Sphere(radius=0.16), position=(0.0, top + 1.2, 0.0), velocity=(0.0, 1.5, 0.0), density=4000.0,
        friction=0.5, color=(0.72, 0.26, 0.18),
    )  # fmt: skip
    return Scene(
        name="table-1000-spheres",
        **CARD,
        time=Time(end=2.5, frame_rate=24, max_step=1 / 120),
        objects=objects,
        solids=Solids(tolerance=1e-3, iterations=8),
        view=View(camera=Camera(position=(2.0, 1.9, 3.8), look_at=(0.0, 0.3, 0.0))),
    )
