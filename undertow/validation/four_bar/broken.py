"""Defects that ``four-bar`` must see."""

from __future__ import annotations

from undertow.validation import broken

DEFECTS = {
    "frozen": broken.frozen(),
    "the drive is off": broken.objects(
        "Joint", control=lambda control: control.model_copy(update={"stiffness": 1e-3, "damping": 1e-3})
    ),
    "mirrored": broken.body_reads(matrix=lambda R: R.T),
}
