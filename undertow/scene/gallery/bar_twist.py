"""A soft bar between two rigid boxes, one of which turns."""

from __future__ import annotations

from undertow.scene.curves import Table
from undertow.scene.motion import PrescribedVelocity
from undertow.scene.objects import Joint, RigidBody
from undertow.scene.scene import Camera, Scene, Time, View
from undertow.scene.shapes import Box
from undertow.scene.soft import Hold, Soft, SoftBody

CARD = {
    "description": "a soft bar bound to two boxes: the left one is turned, the other follows on its hinge; 1.6k tets",
    "source": "Schroeder 2011, thesis, figure 4.5",
    "cost": "about two minutes; --resolution N: elements across the bar of 20 cm",
}

TURN = 1.5 * 3.0
"""Angle by which the left box is turned [rad]."""


def make_scene(resolution: int = 4) -> Scene:
    """``resolution`` elements across the bar of 0.2 m; 6 gives 5k tetrahedra."""
    turning = Table(
        times=(0.0, 0.1, 1.5, 1.6), values=((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    )
    silver = (0.72, 0.74, 0.78)
    cube = Box(size=(0.3, 0.3, 0.3))
    ends = Box(size=(0.12, 0.22, 0.22))
    bar = SoftBody(
        shape=Box(size=(0.8, 0.2, 0.2)),
        position=(0.0, 0.0, 0.0),
        element_size=0.2 / resolution,
        density=1000.0,
        youngs_modulus=3e5,
        poisson_ratio=0.35,
        model="neo_hookean",
        damping=5e-3,
        holds=(
            Hold(shape=ends, position=(-0.36, 0.0, 0.0), body="driven"),
            Hold(shape=ends, position=(0.36, 0.0, 0.0), body="follower"),
        ),
        color=(0.25, 0.42, 0.75),
    )
    objects = {
        "driven": RigidBody(
            shape=cube, position=(-0.45, 0.0, 0.0), motion=PrescribedVelocity(angular=turning), color=silver
        ),
        "follower": RigidBody(shape=cube, position=(0.45, 0.0, 0.0), density=1000.0, color=silver),
        "anchor": RigidBody(shape=cube, position=(0.77, 0.0, 0.0), color=silver),
        "rider": RigidBody(shape=Box(size=(0.16, 0.16, 0.16)), position=(0.0, 0.182, 0.0), density=400.0, color=silver),
        "hinge": Joint(
            kind="hinge", parent="anchor", child="follower", position=(0.61, 0.0, 0.0), axis=(1.0, 0.0, 0.0)
        ),
        "bar": bar,
    }
    return Scene(
        name="bar-twist",
        **CARD,
        time=Time(end=4.0, frame_rate=24, max_step=1 / 192),
        objects=objects,
        soft=Soft(tolerance=0.01),
        view=View(camera=Camera(position=(0.9, 0.9, 3.0), look_at=(0.16, 0.0, 0.0))),
    )
