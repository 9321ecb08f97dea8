"""Steps in which soft bodies tear: the step is taken back and made again with the mesh that has torn.

As for bodies that break (``run/breaking.py``): after a step elements are judged by where it has led. If one is beyond
its limit all parts go back to the beginning of the step, where nothing moves by a tear; the mesh is torn at one place
of every patch of such elements, everything is made anew out of it and adopts what was there; and the step is made
again. So a crack goes on, element by element, until the end of the step bears what is left, in ``PASSES`` at most.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from undertow.grid import Array
from undertow.part import Part, StepOutcome
from undertow.rigid.table import BodyTable
from undertow.run.assembly import Assembly
from undertow.scene import Scene
from undertow.solids.soft_part import SoftPart
from undertow.solids.tearing import Overload, TearPart, TornBody

if TYPE_CHECKING:
    from undertow.run.simulation import Simulation

PASSES = 40
"""Most times that a step is made again; what is then still beyond its limit tears in the steps that follow."""


def tearing_parts(assembly: Assembly) -> list[Part]:
    """What tears the soft bodies of an assembly."""
    return [TearPart(part) for part in assembly.parts if isinstance(part, SoftPart)]


@dataclass(frozen=True)
class _Beginning:
    """A simulation at the beginning of a step."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]
    bodies: BodyTable
    scene: Scene

    @classmethod
    def of(cls, sim: Simulation) -> _Beginning:
        """As it is now."""
        arrays = {name: array.copy() for name, array in sim.arrays().items()}
        return cls(arrays, {part.name: deepcopy(part.numbers()) for part in sim.parts}, sim.bodies, sim.scene)

    def give_back(self, sim: Simulation) -> None:
        """The simulation is as it was; bodies that broke in the step are whole."""
        if sim.bodies is not self.bodies:
            sim.remake(self.bodies)
            sim.scene = self.scene
        for part in sim.parts:
            part.restore(self.arrays, self.numbers[part.name], sim.time)


def step_and_tear(sim: Simulation, make_step: Callable[[], StepOutcome]) -> StepOutcome:
    """A step of a simulation with what tears in it; make_step: makes it once, from the state of now."""
    torn: dict[str, TornBody] = {}
    for turn in range(PASSES + 1):
        beginning = _Beginning.of(sim)
        done = make_step()
        with sim.scheme.synchronised():
            overloads = sim.part(TearPart).judge(sim.bodies.torn)
        if not overloads or turn == PASSES:
            break
        beginning.give_back(sim)
        for one in _tear(sim, overloads):
            torn[one.name] = _join(torn[one.name], one) if one.name in torn else one
    events = [str(one) for one in torn.values()]
    for name in dict.fromkeys(one.name for one in overloads):
        worst = max((one for one in overloads if one.name == name), key=lambda one: one.value)
        events.append(
            f"objects.{name} tears on in the next step: after {PASSES} passes its {worst.kind} is {worst.value:.5g}, "
            f"above {worst.limit:.5g}; lower time.max_step"
        )
    return replace(done, events=(*events, *done.events), torn=tuple(torn.values()))


def _tear(sim: Simulation, overloads: list[Overload]) -> list[TornBody]:
    """The meshes torn where elements are beyond their limit, at the beginning of a step; what has torn."""
    part, table = sim.part(TearPart), sim.bodies.copy()
    names = list(dict.fromkeys(one.name for one in overloads))
    nodes = {name: _count_nodes(part, name) for name in names}
    for one in overloads:
        table.tear(one.name, one.pairs)
    with sim.scheme.synchronised():
        before = part.elastic_energy()
    sim.remake(table)
    part = sim.part(TearPart)
    with sim.scheme.synchronised():
        released = before - part.elastic_energy()
    found = []
    for name in names:
        own = [one for one in overloads if one.name == name]
        worst = max(own, key=lambda one: one.value)
        facets = sum(len(one.pairs) for one in own)
        part.take(facets)
        found.append(
            TornBody(
                name, worst.kind, worst.value, worst.limit, worst.point, facets,
                _count_nodes(part, name) - nodes[name], part.pieces(name), released if name == names[0] else 0.0,
            )
        )  # fmt: skip
    return found


def _count_nodes(part: TearPart, name: str) -> int:
    mesh = part.soft.soft.part(name)
    return mesh.stop - mesh.first


def _join(one: TornBody, more: TornBody) -> TornBody:
    """What tore in two passes of a step, where and by what the first began."""
    return one._replace(
        facets=one.facets + more.facets, nodes=one.nodes + more.nodes, pieces=more.pieces,
        released=one.released + more.released,
    )
