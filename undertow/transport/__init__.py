"""Advection, interpolation and extrapolation of any field of the MAC grid."""

from undertow.transport.advection import SCHEMES, Advection
from undertow.transport.extrapolation import Extrapolation
from undertow.transport.interpolation import sample_centred, sample_velocity
from undertow.transport.one_sided import OneSided
from undertow.transport.sight import OneSidedExtrapolation, Shells, Sight

__all__ = [
    "SCHEMES", "Advection", "Extrapolation", "OneSided", "OneSidedExtrapolation", "Shells", "Sight", "sample_centred",
    "sample_velocity",
]  # fmt: skip
