"""A soft ball pressed flat between two plates."""

from __future__ import annotations

from undertow.scene.motion import PrescribedVelocity
from undertow.scene.objects import RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box, Sphere
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a ball that keeps its volume is pressed to 13% of its thickness (upper plate not drawn); 3.5k tets",
    "source": "Schroeder 2011, thesis, figure 3.7",
    "cost": "about a minute; --resolution N: elements across the ball, 15 in the thesis (22k tets)",
}

DIAMETER = 1.0


def make_scene(resolution: int = 8, thinnest: float = 0.13) -> Scene:
    """``resolution`` elements across the ball of 1 m (15 gives 22k tetrahedra); the plates would meet after 1 s, the
    run ends at ``thinnest`` of the diameter."""
    # the pancake of the same volume, with room around it
    width = 2.6 * (DIAMETER**3 / (6 * thinnest)) ** 0.5
    objects: dict[str, RigidBody | SoftBody] = {
        name: RigidBody(
            shape=Box(size=(width, 0.1, width)),
            position=(0.0, side * (0.5 * DIAMETER + 0.05), 0.0),
            motion=PrescribedVelocity(linear=(0.0, -side * 0.5 * DIAMETER, 0.0)),
            friction=0.0,
            color=(0.66, 0.70, 0.74),
            # it would shade the ball
            drawn=name == "lower",
        )
        for name, side in (("upper", 1.0), ("lower", -1.0))
    }
    objects["ball"] = SoftBody(
        shape=Sphere(radius=0.5 * DIAMETER),
        position=(0.0, 0.0, 0.0),
        element_size=DIAMETER / resolution,
        density=1000.0,
        youngs_modulus=3e4,
        poisson_ratio=0.45,
        model="neo_hookean",
        damping=2e-3,
        incompressible=True,
        friction=0.0,
        color=(0.86, 0.62, 0.20),
    )
    return Scene(
        name="sphere-press",
        **CARD,
        gravity=(0.0, 0.0, 0.0),
        time=Time(end=1.0 - thinnest, frame_rate=24, max_step=min(1 / 96, 0.04 * thinnest)),
        soft=Soft(tolerance=0.02, volume_recovery=0.0),
        objects=objects,
        view=View(camera=Camera(position=(1.3, 2.4, 5.6), look_at=(0.0, -0.1, 0.0))),
    )
