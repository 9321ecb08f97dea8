"""Choosing one of several models by its ``type``, with an error that lists the choices.

Union tags are written ``<tag>`` so that the path of an error message can leave them out.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, Discriminator

from undertow.scene.base import complain
from undertow.scene.faults import suggest


def check_choice(value: Any, kinds: tuple[str, ...], short: bool = False) -> Any:
    """``value``, a model or a table whose ``type`` is one of ``kinds``; with ``short`` a bare string is short for
    ``{type = ...}``."""
    choices = ", ".join(kinds)
    if short and isinstance(value, str):
        value = {"type": value}
    if isinstance(value, BaseModel):
        kind = getattr(value, "type", type(value).__name__)
    elif isinstance(value, dict):
        if "type" not in value:
            raise complain(f"the key 'type' is missing; it is one of {choices}")
        kind = value["type"]
    else:
        raise complain(f"must be a table with a key 'type', one of {choices}")
    if kind not in kinds:
        raise complain(f"unknown type {kind!r}; {suggest(str(kind), list(kinds))}It is one of {choices}")
    return value


def check_type(*kinds: str, short: bool = False) -> BeforeValidator:
    """Refuse an unknown ``type``."""
    return BeforeValidator(lambda value: check_choice(value, kinds, short))


def _tag(value: Any) -> str:
    return f"<{value['type'] if isinstance(value, dict) else value.type}>"


BY_TYPE = Discriminator(_tag)
"""Choose by the key ``type``, which ``check_type`` has looked at before."""
