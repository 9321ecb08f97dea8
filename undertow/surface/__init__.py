"""The liquid surface: level set, particles, spray, volume, mesh and cut cells."""

from undertow.surface.curvature import curvature_at
from undertow.surface.curve import Curve, Pieces, cut_at_cells, make_curve, merge_short, remesh
from undertow.surface.interface import CutCells, Interface, InterfaceFinder, cut_cells
from undertow.surface.level_set import LevelSet
from undertow.surface.mesh import SurfaceMesh, drop_mesh, join_meshes, surface_contours, surface_mesh
from undertow.surface.particles import Particles
from undertow.surface.spray import Spray
from undertow.surface.surface import Surface, SurfaceReport, SurfaceSettings

__all__ = [
    "Curve", "CutCells", "Interface", "InterfaceFinder", "LevelSet", "Particles", "Pieces", "Spray", "Surface",
    "SurfaceMesh", "SurfaceReport", "SurfaceSettings", "curvature_at", "cut_at_cells", "cut_cells", "drop_mesh",
    "join_meshes", "make_curve", "merge_short", "remesh", "surface_contours", "surface_mesh",
]  # fmt: skip
