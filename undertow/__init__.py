"""Two-way coupled simulation of fluids and solids.

    import undertow as ut
    sim = ut.Simulation(ut.scene("smoke-sphere", resolution=48))
    sim.run(out="plume")

Names are imported when they are first used, so that ``import undertow`` is quick.
"""

import os as _os
import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "0.3.0"

if "numpy" not in _sys.modules:  # one BLAS thread: the same bits for any number of threads
    _os.environ["OPENBLAS_NUM_THREADS"] = "1"
    _os.environ["MKL_NUM_THREADS"] = "1"

from undertow.run.kernel_cache import use_kernel_cache as _use_kernel_cache

_use_kernel_cache()

_SCENE = (
    "Beach", "Boat", "Bowl", "Box", "Bubble", "Bunny", "Camera", "Capsule", "Cloth", "Compound", "CompoundPart",
    "Control", "Cylinder", "Domain", "Drain", "Driven", "Emitter", "FaceProbe", "Fluid", "FluxProbe", "ForceLoad",
    "ForceProbe", "Fracture", "GaugeProbe", "Gear", "Heights", "HeightSine", "HeightTable", "Hold", "Hull", "Inflow",
    "IrregularWave", "Joint", "JointAxis", "Keyframes", "LineProbe", "Lumped", "Mesh", "MeshSequence", "Monolithic",
    "Open", "Outflow", "Output", "Periodic", "Plane", "Plate", "PointProbe", "Polygon", "Polyline",
    "PrescribedVelocity", "PressureLoad", "Region", "RegularWave", "RigidBody", "RigidFluid", "Rope", "Rotation",
    "Scene", "Shell", "Sine", "Skiff", "Smoke", "Soft", "SoftBody", "Solids", "Sph", "SphFluid", "Sphere", "Static",
    "Surface", "Table", "Tear", "Tetrahedra", "Time", "TorqueLoad", "Torus", "TractionLoad", "Tub", "VelocityTable",
    "View", "Wall", "Water", "WaterSource", "WaveMaker",
)  # fmt: skip
_HOME = {
    **dict.fromkeys(_SCENE, "undertow.scene"),
    "Simulation": "undertow.run.simulation",
    "StepReport": "undertow.run.simulation",
    "load": "undertow.run.simulation",
    "Run": "undertow.run.record",
    "resume": "undertow.run.driver",
    "UserError": "undertow.errors",
    "PhysicsError": "undertow.errors",
}

__all__ = sorted([*_HOME, "scene"])


def __getattr__(name: str) -> _Any:
    if name == "scene":
        return _import_module("undertow.scene")
    if name in _HOME:
        return getattr(_import_module(_HOME[name]), name)
    raise AttributeError(f"module 'undertow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
