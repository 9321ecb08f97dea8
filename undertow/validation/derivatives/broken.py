"""Defects that ``derivatives`` must see."""

from __future__ import annotations

from undertow.soft.assembly import Forces
from undertow.validation import broken

DEFECTS = {
    "force halved": broken.elastic_force(0.5),
    "wrong sign": broken.elastic_force(-1.0),
    "stiffness halved": broken.scaled(Forces, "apply_hessian", 0.5),
}
