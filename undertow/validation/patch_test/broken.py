"""Defects that ``patch-test`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "force halved": broken.elastic_force(0.5),
    "wrong sign": broken.elastic_force(-1.0),
    "mirrored along x": broken.elastic_force((-1.0, 1.0, 1.0)),
    "no force": broken.elastic_force(0.0),
}
