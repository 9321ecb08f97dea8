"""A chain of rigid rings, soft rings and loops of jointed bodies, wound by its last link."""

from __future__ import annotations

import math

from undertow.scene.curves import Table
from undertow.scene.motion import PrescribedVelocity, Rotation
from undertow.scene.objects import Joint, RigidBody
from undertow.scene.scene import Camera, Scene, Solids, Time, View
from undertow.scene.shapes import Capsule, Torus
from undertow.scene.soft import Soft, SoftBody

CARD = {
    "description": "a chain of rigid rings, soft rings and loops of six jointed rods is wound and unwound; 4k tets",
    "source": "Schroeder 2011, thesis, figure 4.1",
    "cost": "about five minutes; --resolution N: elements across the tube of a soft ring",
}

RADIUS, TUBE = 0.12, 0.026
PITCH = 2 * (RADIUS - TUBE) - 0.012
TURNS, INWARD = 1.5, 0.1
"""Turns of the last link, and how far it comes nearer meanwhile [m]."""
Item = RigidBody | SoftBody | Joint
Point = tuple[float, float, float]


def make_loop(name: str, place: Point, rotation: Rotation, radius: float, tube: float, color: Point) -> dict[str, Item]:
    """Six rods in a ring about the y axis that ``rotation`` turns, joined to a closed loop by ball joints; corners at
    ``radius`` [m]."""
    turn = rotation.matrix()

    def at(x: float, z: float) -> Point:
        a, b, c = (place[i] + turn[i][0] * x + turn[i][2] * z for i in range(3))
        return (a, b, c)

    corners = [(radius * math.cos(k * math.pi / 3), radius * math.sin(k * math.pi / 3)) for k in range(6)]
    objects: dict[str, Item] = {}
    for k in range(6):
        (xa, za), (xb, zb) = corners[k], corners[(k + 1) % 6]
        along = [(turn[i][0] * (xb - xa) + turn[i][2] * (zb - za)) / radius for i in range(3)]
        # the rod's axis y goes to this direction
        axis = (along[2], 0.0, -along[0])
        degrees = math.degrees(math.acos(max(-1.0, min(1.0, along[1]))))
        objects[f"{name}-rod-{k}"] = RigidBody(
            shape=Capsule(radius=tube, length=0.75 * radius),
            position=at(0.5 * (xa + xb), 0.5 * (za + zb)),
            rotation=Rotation(axis=axis if any(axis) else (1.0, 0.0, 0.0), degrees=degrees),
            density=1000.0,
            friction=0.3,
            color=tuple(0.75 * c + 0.25 * (k % 2) for c in color),
        )
    for k in range(6):
        objects[f"{name}-joint-{k}"] = Joint(
            kind="ball",
            parent=f"{name}-rod-{(k - 1) % 6}",
            child=f"{name}-rod-{k}",
            position=at(*corners[k]),
        )
    return objects


def make_scene(resolution: int = 2, links: int = 9, end: float = 4.0) -> Scene:
    """``resolution`` elements across the tubes of the soft rings; the last of ``links`` turns there and back within
    ``end`` [s]."""
    half = 0.5 * end
    rate = TURNS * 2 * math.pi / (0.9 * half)
    times = (0.0, 0.1 * half, 0.9 * half, 1.1 * half, 1.9 * half, 2 * half)
    winding = tuple((v, 0.0, 0.0) for v in (0.0, rate, rate, -rate, -rate, 0.0))
    inward = tuple((-v * INWARD / (0.9 * half), 0.0, 0.0) for v in (0.0, 1.0, 1.0, -1.0, -1.0, 0.0))
    motion = PrescribedVelocity(angular=Table(times=times, values=winding), linear=Table(times=times, values=inward))
    flat, upright = Rotation(), Rotation(axis=(1.0, 0.0, 0.0), degrees=90.0)
    ring = Torus(radius=RADIUS, tube=TUBE)
    objects: dict[str, Item] = {}
    for i in range(links):
        name, place = f"link-{i}", ((i - 0.5 * (links - 1)) * PITCH, 0.0, 0.0)
        rotation = upright if i % 2 else flat
        if i in (0, links - 1):
            objects[name] = RigidBody(
                shape=ring, position=place, rotation=rotation, friction=0.3, color=(0.40, 0.42, 0.46),
                **({"motion": motion} if i else {}),
            )  # fmt: skip
        elif i % 3 == 1:
            objects[name] = SoftBody(
                shape=ring,
                position=place,
                rotation=rotation,
                element_size=2 * TUBE / resolution,
                density=1000.0,
                youngs_modulus=3e5,
                poisson_ratio=0.4,
                damping=5e-3,
                friction=0.3,
                embed=True,
                color=(0.86, 0.62, 0.20),
            )
        elif i % 3 == 2:
            objects |= make_loop(name, place, rotation, RADIUS, 0.8 * TUBE, (0.25, 0.50, 0.62))
        else:
            objects[name] = RigidBody(
                shape=ring, position=place, rotation=rotation, density=1000.0, friction=0.3, color=(0.72, 0.74, 0.78)
            )
    return Scene(
        name="chain-twist",
        **CARD,
        time=Time(end=end, frame_rate=24, max_step=1 / 240),
        soft=Soft(tolerance=0.02),
        solids=Solids(tolerance=1e-4, iterations=200),
        objects=objects,
        view=View(camera=Camera(position=(0.0, 0.4, 2.75), look_at=(0.0, -0.13, 0.0))),
    )
