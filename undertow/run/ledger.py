"""The rows of a step: ledger, bodies and probes, as names with units and plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undertow.part import ANGULAR_SPEED, ENERGY, FORCE, LENGTH, MASS, NUMBER, SPEED, TIME, TORQUE, VOLUME, ZERO, Unit
from undertow.run.sampling import flux, surface_height, wetted_length
from undertow.run.tables import Cell
from undertow.scene import FaceProbe, FluxProbe, ForceProbe, GaugeProbe, LineProbe, PointProbe

if TYPE_CHECKING:
    from undertow.run.simulation import Simulation, StepReport

PROBE_COLUMNS = ["step", "time [s]", "probe", "point", "quantity", "value [SI]"]


def header(name: str, unit: Unit, dimensions: int) -> str:
    """A column's name with its unit: ``fluid_volume [m3]``."""
    return f"{name} [{unit.of(dimensions)}]" if unit.of(dimensions) else name


BODY_VECTORS = {
    "position": LENGTH, "velocity": SPEED, "angular_velocity": ANGULAR_SPEED, "force_pressure": FORCE,
    "force_viscous": FORCE, "force_contact": FORCE, "force_joint": FORCE, "torque": TORQUE, "torque_solids": TORQUE,
    "force_control": FORCE, "force_load": FORCE, "force_reaction": FORCE,
}  # fmt: skip
"""What bodies.csv says of a body."""


def body_columns(dimensions: int) -> list[str]:
    """Columns of bodies.csv."""
    vectors = BODY_VECTORS.items()
    columns = [header(f"{name}_{axis}", unit, dimensions) for name, unit in vectors for axis in "xyz"]
    return ["step", header("time", TIME, dimensions), "body", *columns]


def body_rows(sim: Simulation) -> list[list[Cell]]:
    """One row per solid."""
    rows: list[list[Cell]] = []
    with sim.scheme.synchronised():
        for part, name in sim.solids():
            body, split = part.body_state(name, sim.time), part.body_forces(name)
            vectors = (
                body.position, body.velocity, body.angular_velocity, split.pressure, split.viscous, split.contact,
                split.joint, split.torque, split.torque_solids, split.control, split.load, split.reaction,
            )  # fmt: skip
            rows.append([sim.step_count, sim.time, name, *(float(v) for vector in vectors for v in vector)])
    return rows


WATER_COLUMNS = {
    "volume": VOLUME, "volume_error": VOLUME, "centre_x": LENGTH, "centre_y": LENGTH, "centre_z": LENGTH,
}  # fmt: skip
"""What waters.csv says of a body of water."""

WATERS_LISTED = 10
"""So many of the largest bodies of water have a row of a step; the ledger says how many there are."""


def water_columns(dimensions: int) -> list[str]:
    """Columns of waters.csv."""
    columns = [header(name, unit, dimensions) for name, unit in WATER_COLUMNS.items()]
    return ["step", header("time", TIME, dimensions), "water", *columns]


def water_rows(sim: Simulation) -> list[list[Cell]]:
    """One row per body of water, the largest first."""
    return [
        [sim.step_count, sim.time, n + 1, water.volume, water.volume_error, *water.centre]
        for n, water in enumerate(sim.waters()[:WATERS_LISTED])
    ]


EVENT_NUMBERS = {
    "impulse": Unit("N s", "N s/m"), "force": FORCE, "x": LENGTH, "y": LENGTH, "z": LENGTH,
    "pieces": NUMBER, "debris": NUMBER, "debris_mass": MASS, "let_go": NUMBER, "stretch": NUMBER,
    "stress": Unit("Pa", "Pa"), "facets": NUMBER, "released": ENERGY,
}  # fmt: skip
"""What events.csv says of a body that broke or tore, 0 where it is of no meaning; let_go: nodes attached to it."""


def event_columns(dimensions: int) -> list[str]:
    """Columns of events.csv."""
    numbers = [header(name, unit, dimensions) for name, unit in EVENT_NUMBERS.items()]
    return ["step", header("time", TIME, dimensions), "event", "body", "by", *numbers]


def event_rows(report: StepReport) -> list[list[Cell]]:
    """One row per body that broke or tore in a step, at the time of the beginning of the step, where that was done."""
    start = report.time - report.time_step
    broken: list[list[Cell]] = [
        [report.step, start, "fracture", one.name, one.by, one.impulse, one.force, *(float(x) for x in one.point),
         one.pieces, one.debris, one.debris_mass, one.let_go, 0.0, 0.0, 0, 0.0]
        for one in report.broken
    ]  # fmt: skip
    torn: list[list[Cell]] = [
        [report.step, start, "tear", one.name, "", 0.0, 0.0, *one.point, one.pieces, 0, 0.0, 0,
         *((one.value, 0.0) if one.kind == "stretch" else (0.0, one.value)), one.facets, one.released]
        for one in report.torn
    ]  # fmt: skip
    return broken + torn


def probe_rows(sim: Simulation) -> list[list[Cell]]:
    """One row per probe, point and scalar."""
    rows: list[list[Cell]] = []
    with sim.scheme.synchronised():
        for name, probe in sim.scene.probes.items():
            for point, quantity, value in _probe_values(sim, probe):
                rows.append([sim.step_count, sim.time, name, point, quantity, value])
    return rows


def _probe_values(
    sim: Simulation, probe: PointProbe | LineProbe | FluxProbe | GaugeProbe | FaceProbe | ForceProbe
) -> list[tuple[int, str, float]]:
    """(index of the point, quantity, value) for every scalar of a probe."""
    if isinstance(probe, FluxProbe):
        with sim.scheme.synchronised():
            return [(0, "flux", flux(sim.flow, "xyz".index(probe.axis), probe.position))]
    if isinstance(probe, FaceProbe):
        normal = (*probe.normal, 0.0)[:3]
        return [(0, "pressure", float(np.mean(sim.wall_pressure(probe.points(sim.scene.dimensions), [normal]))))]
    if isinstance(probe, GaugeProbe):
        height, wetted = (find(sim.flow, probe.position) for find in (surface_height, wetted_length))
        return [(0, "height", height), (0, "wetted_length", wetted)]
    if isinstance(probe, ForceProbe):
        there = [name for _, name in sim.solids()]
        # the pieces of a body that broke are NAME/1, NAME/2, ...
        forces = [sim.body_forces(name) for name in there if name.partition("/")[0] in probe.objects]
        parts = {
            f"force_{name}": [getattr(f, name) for f in forces] for name in ("contact", "joint", "load", "reaction")
        }
        if sim.grid is not None or sim.scene.sph_fluids:
            parts = {"force": [f.fluid for f in forces], **parts}
        return [
            (0, f"{part}_{axis}", float(value))
            for part, vectors in parts.items()
            for axis, value in zip("xyz", np.sum([ZERO, *vectors], axis=0), strict=True)
        ]
    if isinstance(probe, PointProbe):
        points = np.array([probe.position])
    else:
        points = np.linspace(probe.start, probe.end, probe.count)
    found: list[tuple[int, str, float]] = []
    for field in probe.fields:
        values = np.asarray(sim.sample(field, points))
        for point, value in enumerate(values):
            if values.ndim == 1:
                found.append((point, field, float(value)))
            else:
                found += [(point, f"{field}_{axis}", float(v)) for axis, v in zip("xyz", value, strict=True)]
    return found
