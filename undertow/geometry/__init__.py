"""Shapes, meshes, signed distances, prescribed motions, and what solids do to the faces and cells of a grid."""

from undertow.geometry.bunny import make_bunny
from undertow.geometry.compound import Compound, Part
from undertow.geometry.fractions import measure_fractions
from undertow.geometry.fracture import break_shape
from undertow.geometry.fracture_patterns import (
    PATTERNS,
    Pattern,
    PlacedPattern,
    align_pattern,
    make_pattern,
)
from undertow.geometry.fragments import Fragment, Shares, conserve
from undertow.geometry.generated import make_boat, make_gear, make_hull
from undertow.geometry.heights import Below, PlaceTable
from undertow.geometry.meshes import AnimatedMesh, MeshShape, load_mesh, load_sequence, load_triangles, note_overlap
from undertow.geometry.motion import (
    ConstantCurve,
    Curve,
    Keyframes,
    Motion,
    SineCurve,
    Static,
    TableCurve,
    VelocityCurves,
    rotation_matrix,
)
from undertow.geometry.occlusion import Occlusion
from undertow.geometry.shape import Shape
from undertow.geometry.shapes import AnalyticShape, Box, Capsule, Cylinder, Plane, Sphere, Torus
from undertow.geometry.sheets import Sheet
from undertow.geometry.solids import BAND, Solid, SolidFields, SolidSpec

__all__ = [
    "BAND", "PATTERNS", "AnalyticShape", "AnimatedMesh", "Below", "Box", "Capsule", "Compound", "ConstantCurve",
    "Curve", "Cylinder", "Fragment", "Keyframes", "MeshShape", "Motion", "Occlusion", "Part", "Pattern", "PlaceTable",
    "PlacedPattern", "Plane", "Shape", "Shares", "Sheet", "SineCurve", "Solid", "SolidFields", "SolidSpec", "Sphere",
    "Static", "TableCurve", "Torus", "VelocityCurves", "align_pattern", "break_shape", "conserve", "load_mesh",
    "load_sequence", "load_triangles", "make_boat", "make_bunny", "make_gear", "make_hull",
    "make_pattern", "measure_fractions", "note_overlap", "rotation_matrix",
]  # fmt: skip
