"""Defects that ``shell-acceleration`` must see."""

from __future__ import annotations

from collections.abc import Iterator

from undertow.coupling import shell_fractions, soft_fields
from undertow.validation import broken
from undertow.validation.analysis import Quantity, quantity
from undertow.validation.shell_acceleration import case


def small() -> Iterator[Quantity]:
    """Circles of 6 cells, light ones."""
    yield quantity("full_2d_6", case.error(("full", "solid"), 2, 6, case.RATIOS[:1], 4))
    yield quantity("empty_2d_6", case.error(("empty", "hull"), 2, 6, case.EMPTY_RATIOS[:1], 3))


def _nothing(share: object) -> object:
    def shares(voxel: object, surface: object, rigid: object, free_f: object, area_f: object) -> shell_fractions.Shares:
        return shell_fractions.no_shares(voxel.grid, voxel.nodes, len(voxel.face))  # type: ignore[attr-defined]

    return shares


DEFECTS = {
    "voxel faces": broken.replaced(soft_fields, "share_sections", _nothing),
    "a tenth of the mass missing": broken.objects("RigidBody", mass=lambda mass: 0.9 * mass),
    "frozen": broken.frozen(0),
}
