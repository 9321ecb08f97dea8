"""Deformable solids, cloth and ropes: elements, their forces and their steps in time; nothing of rigid bodies or
fluids."""

from undertow.soft.bodies import SoftBodies, SoftMesh
from undertow.soft.implicit import Carriers, Held, ImplicitSystem
from undertow.soft.linearised import LinearisedEuler
from undertow.soft.materials import Elastic, make_altitudes, make_bending, make_edges, make_membrane, make_solid
from undertow.soft.steppers import BackwardEuler, ImplicitMidpoint, Leapfrog, Newmark, SoftReport, find_equilibrium

__all__ = [
    "BackwardEuler", "Carriers", "Elastic", "Held", "ImplicitMidpoint", "ImplicitSystem", "Leapfrog",
    "LinearisedEuler", "Newmark",
    "SoftBodies", "SoftMesh", "SoftReport", "find_equilibrium", "make_altitudes", "make_bending", "make_edges",
    "make_membrane", "make_solid",
]  # fmt: skip
