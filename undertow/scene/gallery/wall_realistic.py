"""The walls and the ball of ``wall-fracture`` by a pattern as panes break: rays that bend, in rings about the blow."""

from __future__ import annotations

from undertow.scene.fracture import Fracture
from undertow.scene.gallery import wall_fracture
from undertow.scene.scene import Camera, Scene, View

CARD = {
    "description": "balls break walls at three places as panes break, and one ball breaks itself (3D)",
    "source": "Schroeder 2011, thesis, figure 2.9",
    "cost": "about a minute",
}


def make_scene(pieces: int = 70) -> Scene:
    """Four walls, four balls, one pattern of rays that bend."""
    scene = wall_fracture.make_scene()
    pattern = {"pattern": "glass", "pieces": pieces, "seed": 8, "options": {"bend": 0.6}, "smallest": 0.012}
    objects = dict(scene.objects)
    for name, body in scene.bodies.items():
        if body.fracture is not None:
            rule = Fracture(**pattern, strength=body.fracture.strength, color=body.fracture.color)
            objects[name] = body.model_copy(update={"fracture": rule})
    view = View(camera=Camera(position=(0.5, 3.0, 10.6), look_at=(0.0, 0.2, 0.0)))
    return Scene(name="wall-realistic", **CARD, time=scene.time, objects=objects, solids=scene.solids, view=view)
