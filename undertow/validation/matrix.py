"""The matrix: every fluid with every kind of solid, coupling, number of solves and change, tiny, each cell checked.

A cell is a choice of one level per factor. Its scene is the sum of what each level contributes: no level knows another
one. Whether a cell is allowed is asked of the program: of the table of couplings and the checks of the scene. A cell
works, is refused, or fails. A cell that runs is checked from its ledger after every step:

    finite      all values are numbers
    momentum    the momentum of all solids gains their weight and the forces that are reported on them, for as long as
                they have acted: a step, or a kick (``coupling.leapfrog``)
    volume      a full tank is free of divergence; the volume of water, less what was emitted, stays; so do particles
    leak        nothing crosses a solid
    energy      kinetic and elastic energy rise by no more than the work of gravity, dt g . (p^n + p^n+1) / 2 with the
                momenta p of solids less that of what they displace, or of particles and solids, and of the water's
                pressure on soft bodies that it squeezes
    resume      saved in the middle and loaded, the rest of the run has the same bits
"""

from __future__ import annotations

import contextlib
import itertools
import random
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import undertow as ut
from undertow.couplings import COUPLINGS
from undertow.scene.coupled import READ_BY_VISCOSITY

STEPS = 5
"""Of a cell; bodies come and go after the second one, and it is saved after the third."""

G = 9.81
RHO = 1000.0
SIDE = 1.2
CELLS = 12
SURFACE = 0.8

MOMENTUM = 1e-4
"""Error of the momentum of the solids in a step, relative to their weight times the step: solves end at 1e-6 of the
fluid's impulses, and there is more fluid than solid."""
LEAK = 1e-4
"""Volume that crosses solids, in cells per second: what solves of a tolerance of 1e-6 leave."""
DIVERGENCE = 1e-4
"""Largest in a full tank over a step."""
VOLUME = 1e-9
"""Error of the volume of water, spray and what is still to be corrected, relative."""
ENERGY = 1e-3
"""Energy gained in a step beyond the work done, relative to that of all solids falling by a cell: transport keeps no
energy exactly. The most that was measured is 5.4e-4, of a soft body in water that is squeezed in the first step."""
OTHER_ENERGY = {"penalty": "the potential of its repelling forces is not in the ledger"}
"""Couplings whose energy is not checked, with the reason; nor is that of scenes with a source, which does work."""


class Cell(NamedTuple):
    """One level per factor."""

    fluid: str
    solid: str
    coupling: str
    solves: str
    change: str

    def __str__(self) -> str:
        return ", ".join(self)


@dataclass(frozen=True)
class Level:
    """What one level adds to a scene: tables that are merged, objects, and the solids among them with their mass [kg;
    2D kg/m] and the mass that they displace."""

    tables: Mapping[str, Any]
    objects: Mapping[str, Any]
    masses: Mapping[str, tuple[float, float]]


def level(masses: Mapping[str, tuple[float, float]] | None = None, **tables: Any) -> Level:
    """A level; the key ``objects`` of the tables names its objects."""
    objects = tables.pop("objects", {})
    return Level(tables, objects, masses or {})


def _plate(name: str, x: float, y: float, mass: float = 60.0, **more: Any) -> dict[str, Any]:
    """A box of 0.3 by 0.2 m."""
    return {name: {"type": "rigid_body", "shape": {"type": "box", "size": [0.3, 0.2]}, "position": [x, y],
                   "mass": mass, **more}}  # fmt: skip


BOX = 0.3 * 0.2 * RHO
SOFT = 0.3 * 0.2
_SOFT = {
    "type": "soft_body", "shape": {"type": "box", "size": [0.3, 0.2]}, "element_size": 0.1, "density": 2000.0,
    "youngs_modulus": 2e5, "damping": 0.01,
}  # fmt: skip
_POOL = {"type": "water", "shape": {"type": "plane", "normal": [0.0, 1.0]}, "position": [0.6, SURFACE]}
_DROP = {"type": "sph_fluid", "shape": {"type": "box", "size": [1.2, 0.5]}, "position": [0.6, 0.25]}
_SPRING = {"type": "water_source", "shape": {"type": "box", "size": [0.2, 0.2]}, "position": [0.2, 0.6],
           "velocity": [0.0, -0.5]}  # fmt: skip
_PLUME = {"type": "emitter", "shape": {"type": "box", "size": [0.2, 0.2]}, "position": [0.2, 0.2],
          "velocity": [0.0, 0.3]}  # fmt: skip

FLUIDS = {
    "smoke": level(smoke={}, fluid={"density": RHO}),
    "viscous tank": level(fluid={"density": RHO, "viscosity": 5.0}),
    "water": level(objects={"pool": _POOL}, fluid={"density": RHO}),
    "viscous water": level(objects={"pool": _POOL}, fluid={"density": RHO, "viscosity": 5.0}),
    "particles": level(objects={"pool": _DROP}, domain={"resolution": 24}),
}
SOLIDS = {
    "rigid": level({"box": (75.0, BOX)}, objects=_plate("box", 0.6, 0.5, 75.0)),
    "shell": level(
        {"sheet": (8.0, 0.0)},
        objects={"sheet": {"type": "rigid_body", "mass": 8.0, "position": [0.6, 0.5],
                           "shape": {"type": "shell", "thickness": 0.01, "form": {
                               "type": "polyline", "points": [[-0.2, 0.05], [0.2, -0.05]]}}}},
    ),
    "soft": level({"jelly": (2000.0 * SOFT, BOX)}, objects={"jelly": {**_SOFT, "position": [0.6, 0.5]}}),
    "cloth": level(
        {"line": (0.5 * 4.0, 0.0)},
        objects={"line": {"type": "rope", "position": [0.35, 0.5], "end": [0.85, 0.5], "element_size": 0.1,
                          "density": 4.0, "stretching": 5e3, "damping": 0.01}},
    ),
    "joints": level(
        {"arm": (75.0, BOX), "hand": (75.0, BOX)},
        objects={**_plate("arm", 0.45, 0.5, 75.0), **_plate("hand", 0.8, 0.5, 75.0),
                 "wrist": {"type": "joint", "kind": "hinge", "parent": "arm", "child": "hand",
                           "position": [0.625, 0.5]}},
    ),
    "rigid and soft": level(
        {"box": (75.0, BOX), "jelly": (2000.0 * SOFT, BOX)},
        objects={**_plate("box", 0.6, 0.36, 75.0), "jelly": {**_SOFT, "position": [0.65, 0.565]}},
    ),
}  # fmt: skip
CHANGES = {
    "none": level(),
    "periodic side": level(domain={"sides": {"x_low": "periodic", "x_high": "periodic"}}),
    "source": level(),
    "body added": level(),
    "body removed": level({"extra": (60.0, 0.04 * RHO)}, objects={
        "extra": {"type": "rigid_body", "shape": {"type": "box", "size": [0.2, 0.2]}, "position": [0.22, 0.25],
                  "mass": 60.0}}),
}  # fmt: skip
SOURCES = {
    "smoke": level(objects={"source": _PLUME}),
    "viscous tank": level(objects={"source": _PLUME}, smoke={}),
    "water": level(objects={"source": _SPRING}),
    "viscous water": level(objects={"source": _SPRING}),
    "particles": level(objects={"source": _SPRING}),
}
"""What a source is, by fluid."""
SOLVES = {
    "one solve": level(),
    "two solves": level(monolithic={"solves": 2}, soft={"stepper": "newmark"}),
}
FACTORS: dict[str, Sequence[str]] = {
    "fluid": list(FLUIDS),
    "solid": list(SOLIDS),
    "coupling": [name for name, coupling in COUPLINGS.items() if name != "none"],
    "solves": list(SOLVES),
    "change": list(CHANGES),
}
LATE = {"type": "rigid_body", "shape": {"type": "box", "size": [0.2, 0.2]}, "position": [0.22, 0.25], "mass": 60.0}


def cells() -> list[Cell]:
    """All of them."""
    return [Cell(*levels) for levels in itertools.product(*FACTORS.values())]


def accepted() -> list[Cell]:
    """The cells whose scenes are not refused."""
    found = []
    for cell in cells():
        with contextlib.suppress(ut.UserError):
            scene_of(cell)
            found.append(cell)
    return found


def pairwise(seed: int = 1, tries: int = 30) -> list[Cell]:
    """Few cells in which every pair of levels of two factors occurs (a covering array of strength two), greedily: in a
    cell that is accepted, if there is one, else in one that is refused."""
    rng, chosen = random.Random(seed), list[Cell]()
    covered: set[Pair] = set()
    for every in (accepted(), cells()):
        left = {pair for cell in every for pair in pairs(cell)} - covered
        while left:
            # of some cells that have a given pair, the one that covers most
            one = rng.choice(sorted(left))
            having = [cell for cell in every if one in pairs(cell)]
            best = max(rng.sample(having, min(tries, len(having))), key=lambda cell: len(left & pairs(cell)))
            chosen.append(best)
            left -= pairs(best)
            covered |= pairs(best)
    return chosen


Pair = tuple[int, str, int, str]
"""Levels of two factors."""


def pairs(cell: Cell) -> set[Pair]:
    """Of its levels."""
    return {(i, a, j, b) for (i, a), (j, b) in itertools.combinations(enumerate(cell), 2)}


def levels_of(cell: Cell) -> Iterator[Level]:
    """What its scene is the sum of."""
    yield FLUIDS[cell.fluid]
    yield _needs(cell)
    yield SOLIDS[cell.solid]
    yield SOLVES[cell.solves]
    yield CHANGES[cell.change]
    if cell.change == "source":
        yield SOURCES[cell.fluid]


_DEFAULT = ut.Scene(name="default", domain={"upper": [1.0, 1.0], "resolution": 4}, time={"end": 1.0})
"""Whose tables have all keys at their defaults."""


def _needs(cell: Cell) -> Level:
    """Values of scene keys to which a coupling is bound, where the fluid reads them."""
    tables: dict[str, Any] = {}
    for key, values in COUPLINGS[cell.coupling].takes.items():
        table, name = key.split(".")
        default = type(getattr(_DEFAULT, table)).model_fields[name].default
        read = key not in READ_BY_VISCOSITY or FLUIDS[cell.fluid].tables.get("fluid", {}).get("viscosity")
        if default not in values and read:
            tables[table] = {name: next(iter(values))}
    return Level(tables, {}, {})


def scene_of(cell: Cell) -> ut.Scene:
    """The scene of a cell, or a UserError."""
    tables: dict[str, Any] = {
        "domain": {"upper": [SIDE, SIDE], "resolution": CELLS}, "time": {"end": 1.0, "frame_rate": 50},
        "gravity": [0.0, -G], "objects": {},
    }  # fmt: skip
    for one in levels_of(cell):
        for name, table in one.tables.items():
            if name == "soft" and not any("soft" in kind or kind == "cloth" for kind in (cell.solid,)):
                continue  # has no effect without soft bodies, and is refused
            tables[name] = {**tables.get(name, {}), **table}
        tables["objects"].update(one.objects)
    return ut.Scene(name="matrix", coupling=cell.coupling, **tables)


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: it works, is refused with a reason, or fails with what is wrong. by_table: the reason of a
    refusal is one of the table of couplings."""

    cell: Cell
    state: Literal["works", "refused", "fails"]
    reason: str = ""
    by_table: bool = False


@dataclass(frozen=True)
class Known:
    """A defect that stands: cells with all of these levels fail this check; why, in a sentence."""

    check: str
    levels: Collection[str]
    why: str

    def names(self, cell: Cell) -> bool:
        """Whether it is one of its cells."""
        return set(self.levels) <= set(cell)


_REMOVED = "water falls into the hole that the body leaves, 7 J/m in a step; the check knows the work on solids alone"
KNOWN: tuple[Known, ...] = (
    Known("energy", ("water", "joints", "lumped", "one solve", "body removed"), _REMOVED),
    Known("leak", ("water", "joints", "lumped", "one solve", "body removed"), "1.5e-6 m2/s in the same step"),
    Known("energy", ("viscous water", "joints", "rigid_fluid", "one solve", "body removed"), _REMOVED),
    Known("energy", ("viscous water", "rigid and soft", "monolithic", "two solves", "body removed"), _REMOVED),
)
"""Defects that stand; what else fails is new."""


def run(cell: Cell, known: bool = True) -> Outcome:
    """Run and check a cell; known: leave out what KNOWN names."""
    expected = {one.check for one in KNOWN if known and one.names(cell)}
    try:
        wrong = [text for check, text in _check(cell).items() if check not in expected]
    except ut.UserError as error:
        text = str(error)
        why = [coupling.reason(what) for coupling in COUPLINGS.values() for what in (*coupling.why, "")]
        return Outcome(cell, "refused", text, any(reason in text for reason in why))
    except ut.PhysicsError as error:
        wrong = [f"stopped: {error}"]
    except Exception as error:  # a traceback is a finding
        wrong = [f"{type(error).__name__}: {error}"]
    return Outcome(cell, "fails", "; ".join(wrong)) if wrong else Outcome(cell, "works")


class _Watch:
    """Sums over a running cell."""

    def __init__(self, cell: Cell, sim: ut.Simulation) -> None:
        self.cell, self.sim = cell, sim
        family = "particles" if cell.fluid == "particles" else "water" if "water" in cell.fluid else "tank"
        self.family: str = family
        self.masses = {name: both for one in levels_of(cell) for name, both in one.masses.items()}
        self.start_over(sim.ledger.row(), sim.time)

    def start_over(self, row: Mapping[str, float], time: float) -> None:
        """Compare with the present state from now on."""
        self.time, self.momentum, self.volume = time, self._momentum(self.sim.ledger.row()), self._volume(row)
        self.acted = time
        self.energy, self.falling, self.room = self._energy(row), self._falling(row), row.get("soft_volume", 0.0)

    @property
    def weight(self) -> float:
        """Of all solids [N/m]."""
        return G * sum(mass for mass, _ in self.masses.values())

    def _momentum(self, row: Mapping[str, float]) -> np.ndarray:
        return np.array([row[f"momentum_solids_{axis}"] for axis in "xy"])

    def _volume(self, row: Mapping[str, float]) -> float:
        """What must stay: liquid, spray and the volume error that is tracked, less what was emitted; particles."""
        if self.family == "particles":
            return row["particles"] + row["drained_particles"]
        kept = sum(row.get(name, 0.0) for name in ("fluid_volume", "spray_volume", "volume_error"))
        return kept - row.get("emitted_volume", 0.0)

    def _energy(self, row: Mapping[str, float]) -> float:
        """Kinetic and elastic [J/m]."""
        return row["kinetic_energy"] + row["kinetic_energy_solids"] + row.get("soft_elastic_energy", 0.0)

    def _falling(self, row: Mapping[str, float]) -> float:
        """Power of gravity [W/m]; what solids under water displace rises as they fall, as in a full tank."""
        if self.family != "particles":
            names = self.masses.items()
            return -G * sum((own - taken) * float(self.sim.body(n).velocity[1]) for n, (own, taken) in names)
        return -G * (row["momentum_y"] + row["momentum_solids_y"])

    def _pressure(self) -> float:
        """Of the weight of water at the soft body [Pa], which squeezes it from the start on. In a full tank it is not
        solved for."""
        if self.family != "water" or "jelly" not in self.masses:
            return 0.0
        return RHO * G * (SURFACE - float(self.sim.body("jelly").position[1]))

    def check(self, row: Mapping[str, float]) -> Iterator[str]:
        """What is wrong after a step."""
        sim, dt = self.sim, self.sim.time - self.time
        if not np.isfinite(list(row.values())).all():
            yield "finite: a value of the ledger is not"
            return
        yield from self._check_momentum(row)
        yield from self._check_volume(row)
        if abs(row.get("leak", 0.0)) > LEAK * (SIDE / CELLS) ** 2:
            yield f"leak: {row['leak']:.3g} m2/s"
        before, falling, room = self.energy, self.falling, self.room
        self.energy, self.falling, self.room = self._energy(row), self._falling(row), row.get("soft_volume", 0.0)
        rise = self.energy - before - 0.5 * dt * (falling + self.falling) - self._pressure() * (room - self.room)
        scale = self.weight * SIDE / CELLS
        known = self.cell.change != "source" and self.cell.coupling not in OTHER_ENERGY
        if known and rise > ENERGY * scale:
            yield f"energy: gained {rise / scale:.3g} of a fall by a cell"
        self.time = sim.time

    def _check_momentum(self, row: Mapping[str, float]) -> Iterator[str]:
        sim, now = self.sim, self._momentum(self.sim.ledger.row())
        since, until = sim.scheme.acted(self.time, sim.time)
        before = self.momentum
        if since != self.acted:
            # a leapfrog has kicked twice: what is not seen yet of the second kick
            since, before = sim.time, self._momentum(row)
        self.acted, self.momentum = until, now
        force = np.array([0.0, -self.weight])
        for name in self.masses:
            body = self.sim.body(name)
            for part in (body.force, body.contact_force, body.joint_force, body.load_force, body.reaction_force):
                force = force + part[:2]
        acted = until - since
        error = float(np.abs(now - before - acted * force).max()) / (acted * self.weight)
        if error > MOMENTUM:
            yield f"momentum: of the solids off by {error:.3g} of their weight"

    def _check_volume(self, row: Mapping[str, float]) -> Iterator[str]:
        if self.family == "particles":
            if row["lost_particles"]:
                yield f"volume: {row['lost_particles']:g} particles lost"
            if self.cell.change != "source" and self._volume(row) != self.volume:
                yield f"volume: {self._volume(row) - self.volume:+g} particles"
            return
        if self.family == "tank":
            strain = row["divergence_max"] * (self.sim.time - self.time)
            if strain > DIVERGENCE:
                yield f"volume: a divergence of {strain:.3g} per step"
            return
        error = abs(self._volume(row) - self.volume) / self.volume
        if error > VOLUME:
            yield f"volume: off by {error:.3g}"


def _check(cell: Cell, steps: int = STEPS) -> dict[str, str]:
    """Run a cell and say what is wrong, by check."""
    sim = ut.Simulation(scene_of(cell), threads=1)
    watch, other = _Watch(cell, sim), None
    wrong: dict[str, str] = {}
    for step in range(1, steps + 1):
        row = sim.step().ledger
        for text in watch.check(row):
            wrong.setdefault(text.split(":")[0], f"step {step}: {text}")
        if step == 2 and cell.change == "body added":
            sim.add("late", ut.RigidBody.model_validate(LATE))
            watch.masses["late"] = (60.0, 0.04 * RHO)
            watch.start_over(sim.ledger.row(), sim.time)
        if step == 2 and cell.change == "body removed":
            sim.remove("extra")
            del watch.masses["extra"]
            watch.start_over(sim.ledger.row(), sim.time)
        if other is not None:
            again = other.step().ledger
            if again != row or any(not np.array_equal(array, other.arrays()[n]) for n, array in sim.arrays().items()):
                wrong.setdefault("resume", f"step {step}: resume: not the same bits")
        if step == 3:
            with tempfile.TemporaryDirectory() as folder:
                sim.save(Path(folder) / "cell.h5")
                other = ut.load(Path(folder) / "cell.h5", threads=1)
    return wrong


def report(outcomes: Iterable[Outcome]) -> str:
    """A page in Markdown: counts, what fails, what is refused without a reason of the table, and every cell."""
    found = list(outcomes)
    counts = {state: sum(one.state == state for one in found) for state in ("works", "refused", "fails")}
    lines = ["# The matrix", "", f"{len(found)} cells: " + ", ".join(f"{n} {state}" for state, n in counts.items()), ""]
    sections = {
        "Fails": [one for one in found if one.state == "fails"],
        "Refused without a reason of the table of couplings": _missing(found),
        "Refused by the table": [one for one in found if one.state == "refused" and one.by_table],
    }
    for title, chosen in sections.items():
        lines += [f"## {title}: {len(chosen)}", ""]
        by_reason: dict[str, list[Cell]] = {}
        for one in chosen:
            by_reason.setdefault(one.reason, []).append(one.cell)
        for reason, own in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            lines += [f"- {len(own)}: {reason}"]
            lines += [f"    - {cell}" for cell in own[:3]]
            lines += [f"    - and {len(own) - 3} more"] if len(own) > 3 else []
        lines += [""]
    if KNOWN:
        lines += [
            "## Known defects, left out above",
            "",
            *(f"- {k.check}, {', '.join(k.levels)}: {k.why}" for k in KNOWN),
        ]
        lines += [""]
    lines += ["## Cells", "", "| " + " | ".join([*FACTORS, "state"]) + " |", "|" + "---|" * (len(FACTORS) + 1)]
    lines += ["| " + " | ".join([*one.cell, one.state]) + " |" for one in found]
    return "\n".join(lines) + "\n"


def _missing(found: Sequence[Outcome]) -> list[Outcome]:
    return [one for one in found if one.state == "refused" and not one.by_table]
