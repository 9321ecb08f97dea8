"""A scene against what its coupling goes with: every refusal is made from the table of couplings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from undertow.couplings import COUPLINGS, SOLIDS, Coupling, suited
from undertow.scene.base import complain
from undertow.scene.faults import suggest

if TYPE_CHECKING:
    from undertow.scene.scene import Scene

READ_BY_VISCOSITY = ("fluid.no_slip",)
"""Keys that a fluid without viscosity does not read."""


def check_name(name: str, where: str) -> None:
    """A coupling of that name exists; where: what a message begins with."""
    if name not in COUPLINGS:
        hint = suggest(name, list(COUPLINGS))
        raise complain(f"{where}: unknown coupling; {hint}The couplings are {', '.join(COUPLINGS)}")


def fluid_of(scene: Scene) -> str:
    """Which of ``couplings.FLUIDS`` a scene has."""
    if scene.sph_fluids:
        return "particles"
    return f"{'viscous ' if scene.is_viscous else ''}{'water' if scene.has_surface else 'tank'}"


def solids_of(scene: Scene) -> Iterator[tuple[str, str]]:
    """(kind of ``couplings.SOLIDS``, name of the object) of what asks something of a coupling."""
    for name, body in scene.bodies.items():
        if body.shape.is_animated:
            yield "animated mesh", name
        if body.shape.sheet() is not None:
            yield "shell", name
        if body.is_dynamic:
            yield "rigid body", name
    yield from (("joint", name) for name in scene.joints)
    yield from ((item.type, name) for name, item in scene.softs.items())


def check_coupling(scene: Scene) -> None:
    """What the coupling of a scene does without is refused, with its reason and what does it."""
    coupling, fluid, solids = COUPLINGS[scene.coupling], fluid_of(scene), list(solids_of(scene))
    kinds = {kind for kind, _ in solids}
    for kind, name in solids:
        away = f"{SOLIDS[kind]}, or remove the [domain] for solids alone"
        others = suited(fluid, kinds) or suited(fluid, {kind})
        if not others:
            raise complain(f"objects.{name}: no coupling moves a {kind} in {_describe_fluid(scene)}; {away}")
        if kind not in coupling.solids:
            raise complain(
                f"objects.{name}: a {kind} in fluid needs coupling = {_list(others)}, not {scene.coupling!r}: "
                f"{coupling.reason(kind)}; set it, {away}"
            )
    if fluid not in coupling.fluids:
        raise complain(
            f"coupling = {scene.coupling!r}: does not go with {_describe_fluid(scene)}: {coupling.reason(fluid)}; "
            f"use {_list(suited(fluid, kinds) or suited(fluid, ()))}, or {_remedy(scene)}"
        )
    if coupling.moves and not kinds - {"animated mesh", "joint"}:
        raise complain(
            f"coupling = {scene.coupling!r}: no body is moved by forces; give one a density, or remove the coupling"
        )
    _check_keys(scene, coupling, suited(fluid, kinds))


def _check_keys(scene: Scene, coupling: Coupling, suitable: list[str]) -> None:
    """Keys of other couplings have no effect; some keys have few values that it can do with. suitable: couplings that
    go with the scene."""
    for key in {key: None for other in COUPLINGS.values() for key in other.keys}:
        value, default = _read(scene, key)
        if key not in coupling.keys and value != default:
            owners = [name for name, other in COUPLINGS.items() if key in other.keys]
            raise complain(
                f"{key} = {value!r}: has no effect with coupling = {scene.coupling!r}; set coupling = "
                f"{_list(owners)}, or remove it"
            )
    for key, values in coupling.takes.items():
        value, _ = _read(scene, key)
        if value not in values and (scene.is_viscous or key not in READ_BY_VISCOSITY):
            others = [name for name in suitable if value in COUPLINGS[name].takes.get(key, (value,))]
            use = f", or coupling = {_list(others)}" if others else ""
            raise complain(
                f"{key} = {value!r}: coupling = {scene.coupling!r} needs {_list(values)}: {coupling.reason(key)}; "
                f"set {key} = {_list(values)}{use}"
            )


def _read(scene: Scene, key: str) -> tuple[Any, Any]:
    """Value of ``table.name`` and what it is by default."""
    table, name = key.split(".")
    model = getattr(scene, table)
    return getattr(model, name), type(model).model_fields[name].default


def _fluid_keys(scene: Scene) -> list[str]:
    """What makes the fluid of a scene what it is."""
    keys = [f"objects.{name}" for name in list(scene.sph_fluids or scene.waters or scene.water_regions)[:1]]
    if scene.fluid.viscosity > 0:
        return [*keys, f"fluid.viscosity = {scene.fluid.viscosity:g}"]
    waters = ((name, getattr(item, "viscosity", None)) for name, item in scene.objects.items())
    return keys + [f"objects.{name}.viscosity = {value:g}" for name, value in waters if value][:1]


def _describe_fluid(scene: Scene) -> str:
    """In words, with its keys."""
    fluid, keys = fluid_of(scene), _fluid_keys(scene)
    text = f"a {fluid} full of fluid" if fluid.endswith("tank") else fluid
    return f"{text} ({', '.join(keys)})" if keys else text


def _remedy(scene: Scene) -> str:
    """What would make the fluid another one."""
    keys = _fluid_keys(scene)
    return f"remove {keys[-1]}" if keys else "add an object of type 'water' or 'sph_fluid'"


def _list(names: Any) -> str:
    return " or ".join(repr(name) for name in names)
