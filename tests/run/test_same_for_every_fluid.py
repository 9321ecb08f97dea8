"""What was different for water, tanks and particles without a reason of physics: columns, forces, limits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frozen"))

from frozen_scenes import SCENES  # noqa: E402

FLUID = {"momentum_x", "angular_momentum_z", "kinetic_energy"}
GRID = FLUID | {"fluid_volume", "inflow", "outflow", "leak", "divergence_max", "iterations", "residual"}
BODIES = {
    "momentum_solids_x", "angular_momentum_solids_z", "kinetic_energy_solids", "potential_energy_solids", "contacts",
    "penetration", "joint_error", "unconverged",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["tank-contact", "water-bodies", "water-rigid-fluid", "water-lumped", "water-soft"])
def test_a_grid_with_solids_has_these_columns(kind: str) -> None:
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]))
    forces = {f"{name}.{what}_{axis}" for _, name in sim.solids() for what in ("force", "torque") for axis in "xyz"}
    assert forces and set(sim.ledger.units) >= GRID | BODIES | {"coupling_residual"} | forces


@pytest.mark.parametrize("kind", ["wcsph", "iisph"])
def test_particles_with_bodies_have_these_columns(kind: str) -> None:
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]))
    assert set(sim.ledger.units) >= FLUID | BODIES | {f"{name}.force_y" for _, name in sim.solids()}


def test_what_has_a_unit_says_so() -> None:
    row = ut.Simulation(ut.Scene(name="units", **SCENES["tank-soft-contact"])).ledger
    assert {row.units[n].two for n in ("soft_elastic_energy", "dissipated_energy", "energy_solids")} == {"J/m"}
    assert row.units["penetration"].two == "m" and row.units["contact_left"].two == "m/s"
    assert row.units["soft_volume"].two == "m2" and row.units["contacts"].two == ""


@pytest.mark.parametrize("kind", ["water-sources", "water-bodies", "solids", "tank-soft-contact", "wcsph"])
def test_forces_are_there_after_loading(kind: str, goes_on: Callable[..., Any], tmp_path: Path) -> None:
    sim = ut.Simulation(ut.Scene(name=kind, **SCENES[kind]))
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "saved.h5")
    again = ut.load(tmp_path / "saved.h5")
    before, after = ([one.body_forces(name) for _, name in one.solids()] for one in (sim, again))
    assert before == after and any(np.any(force.pressure) or np.any(force.contact) for force in before)
    goes_on(sim)


def _spun(water: bool) -> float:
    """Torque on a disc that turns in a viscous fluid, in a full tank or under a surface, at the third frame [N]."""
    objects: dict[str, Any] = {
        "disc": {
            "type": "rigid_body", "shape": {"type": "sphere", "radius": 0.15}, "position": [0.5, 0.5],
            "motion": {"type": "velocity", "angular": [0, 0, 1.0]},
        },
    }  # fmt: skip
    if water:
        objects["pool"] = {"type": "water", "shape": {"type": "plane", "normal": [0, 1]}, "position": [0.5, 1.0]}
    domain = {"upper": [1.0, 1.25 if water else 1.0], "resolution": 32, "resolution_along": "x"}
    scene = ut.Scene(
        name="spun", domain=domain, time={"end": 0.2, "frame_rate": 50}, objects=objects,
        fluid={"density": 1000.0, "viscosity": 20.0},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    torque = []
    for _ in range(4):
        sim.step()
        torque.append(sim.body_forces("disc").torque[2])
    # forces are means over the last kick: of water about the third step's end, of a tank over the whole step
    return torque[2] if water else 0.5 * (torque[2] + torque[3])


def test_water_drags_prescribed_solids_as_a_full_tank_does() -> None:
    """Without the viscous rows the torque was 0. At cut cells the strain rows of water are 15% low."""
    tank, water = _spun(False), _spun(True)
    assert tank < -5.0
    assert water == pytest.approx(tank, rel=0.2)


def test_water_has_the_limits_of_a_flow() -> None:
    """Transport by ENO-3 is explicit: a fixed step beyond its stability stops the run in water too."""
    data = dict(SCENES["water-bodies"])
    data["fluid"] = {**data.get("fluid", {}), "advection": "eno3"}
    sim = ut.Simulation(ut.Scene(name="eno", **data))
    sim.set_velocity(lambda x, y, z: (5.0 + 0.0 * x, 0.0 * y, 0.0 * z))
    kinds = {limit.kind for part in sim.parts for limit in part.limits(sim.time)}
    assert kinds == {"motion", "cfl", "stability"}
