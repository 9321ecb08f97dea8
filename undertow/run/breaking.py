"""Steps in which bodies break: the step is taken back and made again with the pieces in the place of the body.

That is the rule of thesis 2.4.2 [@schroeder2011], the impulse that breaks a body acts on its pieces, for every scheme:
collisions, contacts, joints and the coupled solve of the step know the pieces from its beginning. At the beginning they
move as the body did, so that nothing is gained or lost by what is taken back. What is born in a step is not broken in
it: every round breaks bodies that were there before, and the rounds end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from undertow.errors import UserError
from undertow.fluid import measure
from undertow.grid import Array
from undertow.part import Part, StepOutcome, Vector
from undertow.rigid.bursting import Pressure
from undertow.rigid.fracture import Blow, BrokenBody, make_pieces, root_of
from undertow.rigid.inheritance import NodesOn
from undertow.rigid.table import BodyDescription
from undertow.run.assembly import Assembly
from undertow.run.handles import HasContacts
from undertow.run.sampling import sample
from undertow.solids.breaking import FracturePart
from undertow.solids.contact_record import ContactSet, join_contacts
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart

if TYPE_CHECKING:
    from undertow.run.simulation import Simulation


def fracture_parts(assembly: Assembly) -> list[Part]:
    """What breaks the rigid bodies of an assembly."""
    return [FracturePart(part) for part in assembly.parts if isinstance(part, RigidPart)]


def step_and_break(sim: Simulation, dt: float, next_step: float) -> StepOutcome:
    """A step of a simulation by dt [s], with the pieces of what it breaks; next_step: as of ``Scheme.step``."""
    broken, born = list[BrokenBody](), set[int]()
    while True:
        arrays = {name: array.copy() for name, array in sim.arrays().items()}
        numbers = {part.name: deepcopy(part.numbers()) for part in sim.parts}
        fracture = sim.part(FracturePart)
        fracture.begin_step()
        done = sim.scheme.step(sim.time, dt, next_step)
        blows = fracture.judge(_other_contacts(sim), sim.time + dt, dt, born, *_pressure(sim))
        if not blows:
            fracture.end_step()
            events = (*(str(one) for one in broken), *fracture.whole(), *done.events)
            return replace(done, events=events, broken=tuple(broken))
        for part in sim.parts:
            part.restore(arrays, numbers[part.name], sim.time)
        before = {entry.identity for entry in sim.bodies}
        broken += _break(sim, fracture, blows)
        born |= {entry.identity for entry in sim.bodies} - before
        # what no pattern could part is whole
        born |= {sim.bodies[blow.name].identity for blow in blows if blow.name in sim.bodies}


def _other_contacts(sim: Simulation) -> ContactSet:
    """Contacts of the last step but those of rigid bodies among themselves."""
    others = (part for part in sim.parts if not isinstance(part, RigidPart))
    return join_contacts(part.contact_set() for part in others if isinstance(part, HasContacts))


def _pressure(sim: Simulation) -> tuple[Pressure | None, float]:
    """Pressure of the fluid of a grid on surfaces, and the size of a cell [m]; none without a grid.

    That a cell away, where no cell is cut, and in water its weight from there; 0 in the air.
    """
    flow = getattr(sim.scheme, "flow", None)
    if flow is None:
        return None, 0.0
    grid = flow.grid

    def at(points: Array, normals: Array) -> Array:
        inner = points + grid.dx * normals
        for axis in grid.axes:
            np.clip(inner[:, axis], grid.lower[axis], grid.upper[axis], out=inner[:, axis])
        pressure = sample(flow, "pressure", inner)
        if flow.extent.phi_c is None:
            return pressure
        weight = measure.column_weight(flow.phase, points - inner)
        return np.asarray(np.where(sample(flow, "level_set", inner) <= 0.0, pressure + weight, 0.0))

    return at, float(grid.dx)


def break_now(sim: Simulation, name: str, at: Vector, along: Vector) -> BrokenBody:
    """Break a body between two steps at a point of the world [m], in a direction; what happened."""
    fracture = sim.part(FracturePart)
    with sim.scheme.synchronised():
        blow = fracture.blow(name, at, along)
    broken = _break(sim, fracture, [blow])
    if not broken:
        raise UserError(f"objects.{name}: its pattern does not part it there; give it more pieces, or another place")
    return broken[0]


def _softs_on(sim: Simulation) -> Callable[[str], tuple[NodesOn, ...]]:
    """The soft bodies of which a body carries nodes, by its name."""
    found = next((part for part in sim.parts if isinstance(part, SoftPart)), None)
    return (lambda name: ()) if found is None else found.nodes_on


def _break(sim: Simulation, fracture: FracturePart, blows: list[Blow]) -> list[BrokenBody]:
    """Pieces in the place of bodies, where they are; what has broken."""
    gone, whole, made, broken = list[str](), list[str](), list[BodyDescription](), list[BrokenBody]()
    taken, softs = set(sim.bodies.entries), _softs_on(sim)
    pieces_of = Counter(root_of(name) for name in taken)
    with sim.scheme.synchronised():
        for blow in blows:
            body = sim.bodies[blow.name].description
            room = fracture.room(blow.name, pieces_of[root_of(blow.name)])
            moving = fracture.moving(blow.name)._replace(softs=softs(blow.name))
            pieces, done = make_pieces(body, moving, blow, sim.scene.dimensions, room, taken)
            (gone if pieces else whole).append(blow.name)
            made += pieces
            taken.update(one.name for one in pieces)
            pieces_of[root_of(blow.name)] += len(pieces)
            broken += [done] if pieces else []
    if gone:
        sim.exchange(gone, made)
    sim.part(FracturePart).take(broken, whole)
    return broken
