"""Bodies that come, go and change during a run: their descriptions, and what is said of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from undertow.errors import UserError
from undertow.geometry.motion import quaternion_of_matrix
from undertow.grid import Array
from undertow.part import BodyState, Ledger, Part
from undertow.rigid.table import BodyDescription, BodyTable
from undertow.run.assemble_solids import describe_body, drawn_extent
from undertow.scene import RigidBody, Scene
from undertow.scene.base import validate

WEIGHTS = ("density", "mass", "material")
"""Keys of which a body has one."""

VELOCITIES = ("velocity", "angular_velocity")


def describe_made(start: Scene, name: str, body: RigidBody, table: BodyTable) -> BodyDescription:
    """A body made during the run of a scene, ``start`` being as that began; equal shapes of the table are shared."""
    return describe_body(start, name, body, table.known_shapes, drawn_extent(start), made=True)


def restore_table(start: Scene, table: BodyTable, numbers: Mapping[str, Any]) -> dict[str, RigidBody]:
    """The table of a checkpoint; the bodies made during the run until then, by name."""
    rows = {row["name"]: row["source"] for row in numbers["made"]}
    made = {name: RigidBody.model_validate(source) for name, source in rows.items() if "fragment" not in source}

    def describe(name: str, source: Mapping[str, Any]) -> BodyDescription:
        if name in made:
            return describe_made(start, name, made[name], table)
        from undertow.rigid.fracture import read_source

        return read_source(source, {entry.name: entry.description for entry in table.first})

    table.restore(numbers, describe)
    return made


def change_body(name: str, body: RigidBody, changes: Mapping[str, Any], state: BodyState, dimensions: int) -> RigidBody:
    """A body with other values of some keys, in its state of now unless they say otherwise; its momenta are another
    matter."""
    unknown = [key for key in changes if key not in RigidBody.model_fields]
    if unknown:
        raise UserError(
            f"objects.{name}: a rigid body has no {unknown[0]!r}; its keys are {', '.join(RigidBody.model_fields)}"
        )
    data = body.model_dump(exclude_none=True)
    dropped = [*VELOCITIES, *(WEIGHTS if set(WEIGHTS) & changes.keys() else ())]
    data = {key: value for key, value in data.items() if key not in dropped}
    given = {
        key: value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
        for key, value in changes.items()
    }
    data = {key: value for key, value in {**data, **given}.items() if value is not None}
    if data.get("motion", {}).get("type", "static") not in ("static", "driven"):
        if "motion" in changes and "position" not in changes and data["motion"]["type"] != "keyframes":
            raise UserError(
                f"objects.{name}: a prescribed motion counts from t = 0; give the position that it then had"
            )
        return validate(RigidBody, data, f"objects.{name}")
    if "position" not in changes:
        data["position"] = [float(x) for x in state.position[:dimensions]]
    if "rotation" not in changes:
        data["rotation"] = _axis_and_angle(state.rotation)
    return validate(RigidBody, data, f"objects.{name}")


def _axis_and_angle(rotation: Array) -> dict[str, Any]:
    """A rotation (3, 3) as scenes have it."""
    w, x, y, z = (float(v) for v in quaternion_of_matrix(rotation))
    size = math.sqrt(x * x + y * y + z * z)
    if size == 0.0:
        return {}
    return {"axis": [x / size, y / size, z / size], "degrees": math.degrees(2.0 * math.atan2(size, w))}


def tell_momentum(mass: float, momentum: Array) -> str:
    """Mass [kg] and momentum (3,) [kg m/s] of a body in words; nothing of one that has no mass."""
    return f", mass {mass:.4g} kg, momentum {_vector(momentum)} kg m/s" if mass > 0.0 else ""


def momentum_of(parts: Sequence[Part]) -> Array:
    """Momentum (3,) [kg m/s] of a fluid, as the ledger has it; zero without."""
    row = Ledger(parts).row()
    fluid = any(name.startswith("momentum_solids_") for name in row)
    return np.array([row[f"momentum_{axis}"] if fluid else 0.0 for axis in "xyz"])


def tell_displaced(before: Sequence[Part], after: Sequence[Part]) -> str:
    """Fluid that a change of bodies displaced, in words."""
    old, new = Ledger(before).row(), Ledger(after).row()
    volume = new.get("displaced_volume", 0.0) - old.get("displaced_volume", 0.0)
    if volume == 0.0:
        return ""
    change = [new[f"momentum_{axis}"] - old[f"momentum_{axis}"] for axis in "xyz"]
    done = f"{volume:.4g} m3 of fluid displaced" if volume > 0.0 else f"{-volume:.4g} m3 of fluid more"
    return f"; {done}, whose momentum changed by {_vector(change)} kg m/s"


def _vector(values: Iterable[float]) -> str:
    return f"({', '.join(f'{v:.4g}' for v in values)})"
