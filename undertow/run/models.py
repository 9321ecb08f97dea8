"""Schemes that still make their own parts out of a scene."""

from __future__ import annotations

from collections.abc import Sequence

from undertow.part import Part, Scheme


class Model(Scheme):
    """The parts of a scene, each after those that it depends on, and their step."""

    notes: list[str]
    """What a user should know before the run."""

    parts: Sequence[Part] = ()
    """What evolves, without the scheme itself."""
