"""Defects that ``soft-momentum`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "force mirrored": broken.elastic_force((-1.0, 1.0, 1.0)),
    "velocities damped": broken.after_steps(broken.damp_nodes(1e-6)),
}
