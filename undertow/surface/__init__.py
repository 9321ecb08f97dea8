"""The liquid surface: level set, particles, spray, volume, mesh and cut cells."""

from undertow.surface.interface import CutCells, Interface, InterfaceFinder, cut_cells
from undertow.surface.level_set import LevelSet
from undertow.surface.mesh import SurfaceMesh, drop_mesh, join_meshes, surface_contours, surface_mesh
from undertow.surface.particles import Particles
from undertow.surface.spray import Spray
from undertow.surface.surface import Surface, SurfaceReport, SurfaceSettings

__all__ = [
    "CutCells", "Interface", "InterfaceFinder", "LevelSet", "Particles", "Spray", "Surface", "SurfaceMesh",
    "SurfaceReport", "SurfaceSettings", "cut_cells", "drop_mesh", "join_meshes", "surface_contours", "surface_mesh",
]  # fmt: skip
