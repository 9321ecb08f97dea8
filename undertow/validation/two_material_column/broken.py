"""Defects that ``two-material-column`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "plate twice as heavy": broken.objects("RigidBody", density=lambda density: 2.0 * density),
    "fluid twice as heavy": broken.fluid(density=2.0),
}
