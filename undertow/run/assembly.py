"""What a scene becomes: parts that evolve, and a scheme that advances them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from undertow.part import Part, Scheme


@dataclass(frozen=True)
class Assembly:
    """parts: each after those that it depends on. scheme: their step. notes: what a user should know before the run.
    follows_table: nothing but the rigid bodies themselves is made out of the table of bodies."""

    parts: Sequence[Part]
    scheme: Scheme
    notes: list[str] = field(default_factory=list)
    follows_table: bool = False
