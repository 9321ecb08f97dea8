"""The rows of a step: ledger, bodies and probes, as names with units and plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from undertow.run.sampling import flux, sample, surface_height
from undertow.run.tables import Cell
from undertow.scene import FluxProbe, ForceProbe, GaugeProbe, LineProbe, PointProbe

if TYPE_CHECKING:
    from undertow.fluid import Flow, FlowReport, SolidForce
    from undertow.run.simulation import Simulation

UNITS = {
    "fluid_volume": ("m3", "m2"),
    "enclosed_volume": ("m3", "m2"),
    "momentum": ("kg m/s", "kg/s"),
    "angular_momentum": ("kg m2/s", "kg m/s"),
    "kinetic_energy": ("J", "J/m"),
    "smoke_mass": ("kg", "kg/m"),
    "smoke_restored": ("kg", "kg/m"),
    "spray_volume": ("m3", "m2"),
    "emitted_volume": ("m3", "m2"),
    "owed_volume": ("m3", "m2"),
    "inflow": ("m3/s", "m2/s"),
    "outflow": ("m3/s", "m2/s"),
    "row_before": ("m3/s", "m2/s"),
    "row_after": ("m3/s", "m2/s"),
    "leak": ("m3/s", "m2/s"),
    "divergence_max": ("1/s", "1/s"),
    "force": ("N", "N/m"),
    "force_pressure": ("N", "N/m"),
    "force_viscous": ("N", "N/m"),
    "force_control": ("N", "N/m"),
    "force_contact": ("N", "N/m"),
    "force_joint": ("N", "N/m"),
    "torque": ("N m", "N"),
    "torque_solids": ("N m", "N"),
    "potential_energy": ("J", "J/m"),
    "energy": ("J", "J/m"),
    "momentum_solids": ("kg m/s", "kg/s"),
    "angular_momentum_solids": ("kg m2/s", "kg m/s"),
    "kinetic_energy_solids": ("J", "J/m"),
    "potential_energy_solids": ("J", "J/m"),
    "coupling_residual": ("m3/s", "m2/s"),
    "penetration": ("m", "m"),
    "time": ("s", "s"),
    "time_step": ("s", "s"),
    "position": ("m", "m"),
    "velocity": ("m/s", "m/s"),
    "angular_velocity": ("rad/s", "rad/s"),
}
"""Units of ledger quantities in 3D, and in 2D per metre of depth; others are pure numbers."""

PROBE_COLUMNS = ["step", "time [s]", "probe", "point", "quantity", "value [SI]"]


def header(name: str, dimensions: int) -> str:
    """A column's name with its unit: ``fluid_volume [m3]``."""
    quantity = name.rsplit(".", 1)[-1]
    unit = UNITS.get(quantity) or UNITS.get(quantity.removesuffix("_x").removesuffix("_y").removesuffix("_z"))
    return f"{name} [{unit[3 - dimensions]}]" if unit else name


def fluid_quantities(flow: Flow, report: FlowReport, forces: dict[str, SolidForce]) -> dict[str, float]:
    """What the ledger says about a fluid: physical sums, in- and outflow, residuals of incompressibility, statistics of
    the solver, force and torque per body."""
    inflow, outflow = side_flows(flow)
    row = {
        **flow.ledger(),
        "inflow": inflow,
        "outflow": outflow,
        **solve_quantities(report, flow.grid.cell_volume),
    }
    for name, force in forces.items():
        row |= {f"{name}.force_{axis}": value for axis, value in zip("xyz", force.total, strict=True)}
        row |= {f"{name}.torque_{axis}": value for axis, value in zip("xyz", force.torque, strict=True)}
    return row


def solve_quantities(report: FlowReport, cell_volume: float) -> dict[str, float]:
    """What the ledger says about the implicit solves of a fluid."""
    return {
        "divergence_max": report.row_after / cell_volume,
        "row_before": report.row_before,
        "row_after": report.row_after,
        "leak": report.leak,
        "incompatibility": report.incompatibility,
        "iterations": report.iterations,
        "residual": report.residual,
    }


def side_flows(flow: Flow) -> tuple[float, float]:
    """Volume entering and leaving through the sides of the domain per second; periodic sides do not count."""
    inflow = outflow = 0.0
    for side in range(2 * flow.grid.dimensions):
        axis, end = divmod(side, 2)
        if flow.sides.is_periodic(axis):
            continue
        out = (2 * end - 1) * flux(flow, axis, flow.grid.upper[axis] if end else flow.grid.lower[axis])
        inflow += max(-out, 0.0)
        outflow += max(out, 0.0)
    return inflow, outflow


def body_columns(dimensions: int) -> list[str]:
    """Columns of bodies.csv."""
    vectors = (
        "position", "velocity", "angular_velocity", "force_pressure", "force_viscous", "force_contact", "force_joint",
        "torque", "torque_solids", "force_control",
    )  # fmt: skip
    return [
        "step",
        header("time", dimensions),
        "body",
        *(header(f"{vector}_{axis}", dimensions) for vector in vectors for axis in "xyz"),
    ]


def body_rows(sim: Simulation) -> list[list[Cell]]:
    """One row per solid."""
    rows: list[list[Cell]] = []
    for name in filter(sim.model.has, sim.scene.bodies):
        body, split = sim.model.state(name, sim.time), sim.model.forces(name)
        vectors = (
            body.position, body.velocity, body.angular_velocity, split.pressure, split.viscous, split.contact,
            split.joint, split.torque, split.torque_solids, split.control,
        )  # fmt: skip
        rows.append([sim.steps, sim.time, name, *(float(v) for vector in vectors for v in vector)])
    return rows


def probe_rows(sim: Simulation) -> list[list[Cell]]:
    """One row per probe, point and scalar."""
    rows: list[list[Cell]] = []
    for name, probe in sim.scene.probes.items():
        for point, quantity, value in _probe_values(sim, probe):
            rows.append([sim.steps, sim.time, name, point, quantity, value])
    return rows


def _probe_values(
    sim: Simulation, probe: PointProbe | LineProbe | FluxProbe | GaugeProbe | ForceProbe
) -> list[tuple[int, str, float]]:
    """(index of the point, quantity, value) for every scalar of a probe."""
    if isinstance(probe, FluxProbe):
        return [(0, "flux", flux(sim.flow, "xyz".index(probe.axis), probe.position))]
    if isinstance(probe, GaugeProbe):
        return [(0, "height", surface_height(sim.flow, probe.position))]
    if isinstance(probe, ForceProbe):
        forces = [sim.model.forces(name) for name in probe.objects]
        parts = {"force": [f.fluid for f in forces]}
        if sim.grid is None and not sim.scene.sph_fluids:
            parts = {"force_contact": [f.contact for f in forces], "force_joint": [f.joint for f in forces]}
        return [
            (0, f"{part}_{axis}", float(value))
            for part, vectors in parts.items()
            for axis, value in zip("xyz", np.sum(vectors, axis=0), strict=True)
        ]
    if isinstance(probe, PointProbe):
        points = np.array([probe.position])
    else:
        points = np.linspace(probe.start, probe.end, probe.count)
    found: list[tuple[int, str, float]] = []
    for field in probe.fields:
        values = sample(sim.flow, field, points)
        for point, value in enumerate(values):
            if values.ndim == 1:
                found.append((point, field, float(value)))
            else:
                found += [(point, f"{field}_{axis}", float(v)) for axis, v in zip("xyz", value, strict=True)]
    return found
