"""Defects that ``sph-contact`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "weight halved": broken.gravity(0.5),
    "bodies half as heavy": broken.objects("RigidBody", density=lambda density: 0.5 * density),
}
