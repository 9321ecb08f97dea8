"""A soft bar between two plates, one of which turns."""

from __future__ import annotations

from undertow.scene.curves import Table
from undertow.scene.motion import PrescribedVelocity
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box
from undertow.scene.soft import Hold, SoftBody

CARD = {
    "description": "a soft bar is twisted by three quarters of a turn and held; 4k tets",
    "source": "Schroeder 2011, thesis, section 4.8 (bar twist)",
    "cost": "about a minute",
}


def make_scene(resolution: int = 6) -> Scene:
    """``resolution`` elements across the bar of 0.2 m."""
    end = Box(size=(0.02, 0.3, 0.3))
    turning = Table(
        times=(0.0, 0.1, 1.6, 1.7), values=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    )
    bar = SoftBody(
        shape=Box(size=(0.8, 0.2, 0.2)),
        position=(0.0, 0.0, 0.0),
        element_size=0.2 / resolution,
        density=1000.0,
        youngs_modulus=5e4,
        poisson_ratio=0.35,
        model="neo_hookean",
        damping=5e-3,
        holds=(
            Hold(shape=end, position=(-0.4, 0.0, 0.0)),
            Hold(shape=end, position=(0.4, 0.0, 0.0), motion=PrescribedVelocity(angular=turning)),
        ),
    )
    return Scene(
        name="bar-twist",
        **CARD,
        gravity=(0.0, 0.0, 0.0),
        time=Time(end=2.25, frame_rate=24, max_step=1 / 96),
        objects={"bar": bar},
        view=View(camera=Camera(position=(0.7, 0.5, 1.5), look_at=(0.0, 0.0, 0.0))),
    )
