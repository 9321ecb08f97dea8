"""Frozen, validated scene descriptions: what is simulated, not how.

The package itself can be called: ``undertow.scene("smoke-sphere", resolution=64)`` is ``find_scene`` with overrides.
"""

import sys
from pathlib import Path
from types import ModuleType

from undertow.scene.curves import Sine, Table
from undertow.scene.domain import Domain, Inflow, Open, Outflow, Periodic, Wall
from undertow.scene.files import find_scene, gallery_names, with_frames
from undertow.scene.materials import MATERIALS, Material
from undertow.scene.objects import Emitter, Keyframes, PrescribedVelocity, RigidBody, Rotation, Static
from undertow.scene.scene import (
    COUPLINGS,
    Camera,
    Fluid,
    FluxProbe,
    ForceProbe,
    LineProbe,
    Output,
    PointProbe,
    Scene,
    Smoke,
    Time,
    View,
)
from undertow.scene.shapes import Box, Bunny, Capsule, Cylinder, Mesh, MeshSequence, Plane, Sphere, Torus

__all__ = [
    "COUPLINGS", "MATERIALS",
    "Box", "Bunny", "Camera", "Capsule", "Cylinder", "Domain", "Emitter", "Fluid", "FluxProbe", "ForceProbe", "Inflow",
    "Keyframes", "LineProbe", "Material", "Mesh", "MeshSequence", "Open", "Outflow", "Output", "Periodic", "Plane",
    "PointProbe", "PrescribedVelocity", "RigidBody", "Rotation", "Scene", "Sine", "Smoke", "Sphere", "Static", "Table",
    "Time", "Torus", "View", "Wall", "find_scene", "gallery_names", "with_frames",
]  # fmt: skip


class _Gallery(ModuleType):
    """The module as a function that finds a scene."""

    def __call__(self, what: str | Path, resolution: int | None = None, coupling: str | None = None) -> Scene:
        return find_scene(what, resolution=resolution, coupling=coupling)


sys.modules[__name__].__class__ = _Gallery
