"""Frozen, validated scene descriptions: what is simulated, not how.

The package itself can be called: ``undertow.scene("smoke-sphere", resolution=64)`` is ``find_scene`` with overrides.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from undertow.scene.compound import Compound, CompoundPart
from undertow.scene.curves import Sine, Table
from undertow.scene.domain import Domain, Inflow, Open, Outflow, Periodic, Wall
from undertow.scene.files import find_scene, gallery_names, with_frames
from undertow.scene.fracture import Fracture
from undertow.scene.heights import Heights, HeightSine, HeightTable, VelocityTable
from undertow.scene.loads import ForceLoad, PressureLoad, Region, TorqueLoad, TractionLoad
from undertow.scene.materials import MATERIALS, SOLID_MATERIALS, Material, SolidMaterial
from undertow.scene.monolithic import Lumped, Monolithic
from undertow.scene.motion import Driven, Keyframes, PrescribedVelocity, Rotation, Static
from undertow.scene.objects import (
    Bubble,
    Control,
    Drain,
    Emitter,
    Joint,
    JointAxis,
    RigidBody,
    SphFluid,
    Water,
    WaterSource,
)
from undertow.scene.probes import FaceProbe, FluxProbe, ForceProbe, GaugeProbe, LineProbe, PointProbe
from undertow.scene.rigid_fluid import RigidFluid
from undertow.scene.scene import (
    Camera,
    Fluid,
    Output,
    Scene,
    Smoke,
    Solids,
    Surface,
    Time,
    View,
)
from undertow.scene.shapes import (
    Boat,
    Box,
    Bunny,
    Capsule,
    Cylinder,
    Gear,
    Hull,
    Mesh,
    MeshSequence,
    Plane,
    Polygon,
    ShapeModel,
    Sphere,
    Tetrahedra,
    Torus,
)
from undertow.scene.shells import Bowl, Plate, Polyline, Shell, Skiff, Tub
from undertow.scene.soft import Cloth, Hold, Rope, Soft, SoftBody
from undertow.scene.sph import Sph
from undertow.scene.tearing import Tear
from undertow.scene.waves import Beach, IrregularWave, RegularWave, WaveMaker

__all__ = [
    "MATERIALS", "SOLID_MATERIALS", "Beach", "Boat", "Bowl", "Box", "Bubble", "Bunny", "Camera", "Capsule", "Cloth",
    "Compound", "CompoundPart", "Control", "Cylinder", "Domain", "Drain", "Driven", "Emitter", "FaceProbe", "Fluid",
    "FluxProbe", "ForceLoad", "ForceProbe", "Fracture", "GaugeProbe", "Gear", "Heights", "HeightSine", "HeightTable",
    "Hold", "Hull", "Inflow", "IrregularWave", "Joint", "JointAxis", "Keyframes", "LineProbe", "Lumped", "Material",
    "Mesh", "MeshSequence", "Monolithic", "Open", "Outflow", "Output", "Periodic", "Plane", "Plate", "PointProbe",
    "Polygon", "Polyline", "PrescribedVelocity", "PressureLoad", "Region", "RegularWave", "RigidBody", "RigidFluid",
    "Rope", "Rotation", "Scene", "ShapeModel", "Shell", "Sine", "Skiff", "Smoke", "Soft", "SoftBody",
    "SolidMaterial", "Solids", "Sph", "SphFluid", "Sphere", "Static", "Surface", "Table", "Tear", "Tetrahedra",
    "Time", "TorqueLoad", "Torus", "TractionLoad", "Tub", "VelocityTable", "View", "Wall", "Water", "WaterSource",
    "WaveMaker", "find_scene", "gallery_names", "with_frames",
]  # fmt: skip


class _Gallery(ModuleType):
    """The module as a function that finds a scene."""

    def __call__(
        self, what: str | Path, resolution: int | None = None, coupling: str | None = None,
        set: Mapping[str, Any] | None = None,
    ) -> Scene:  # fmt: skip
        return find_scene(what, resolution=resolution, coupling=coupling, set=set)


sys.modules[__name__].__class__ = _Gallery
