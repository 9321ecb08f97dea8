"""Smoothed particle hydrodynamics: a fluid of particles."""

from undertow.sph.filling import deepest, move_out, share_inside
from undertow.sph.fluid import SphFluid
from undertow.sph.implicit import ImplicitFluid
from undertow.sph.kernels import SUPPORT, kernel, lattice_sums, make_numbers
from undertow.sph.penalty import add_penalty
from undertow.sph.sampling import boundary_volumes, sample_piece, sample_solid, sample_surface, surface_points
from undertow.sph.settings import SphSettings, SphTotals, check_share, viscosity_of_alpha
from undertow.sph.sides import OPEN, PERIODIC, WALL, SphBox
from undertow.sph.sources import SphDrain, SphSource, make_source, region_distance

__all__ = [
    "OPEN", "PERIODIC", "SUPPORT", "WALL", "ImplicitFluid", "SphBox", "SphDrain", "SphFluid", "SphSettings",
    "SphSource", "SphTotals", "add_penalty", "boundary_volumes", "check_share", "deepest", "kernel", "lattice_sums",
    "make_numbers", "make_source", "move_out", "region_distance", "sample_piece", "sample_solid", "sample_surface",
    "share_inside", "surface_points", "viscosity_of_alpha",
]  # fmt: skip
