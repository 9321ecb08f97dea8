"""The table of couplings: scenes are checked against it, and a new coupling is a module and one entry."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow.cli import app
from undertow.coupling.prescribed import PrescribedSolids
from undertow.couplings import COUPLINGS, FLUIDS, SOLIDS, Coupling, suited
from undertow.fluid import Flow
from undertow.geometry import SolidFields
from undertow.part import Scheme, StepOutcome
from undertow.rigid.table import BodyTable
from undertow.run import build
from undertow.run.assembly import Assembly
from undertow.run.compare import couplings_of
from undertow.scene.coupled import fluid_of, solids_of
from undertow.scene.toml import scene_from_dict

BALL = {"type": "rigid_body", "shape": {"type": "sphere", "radius": 0.1}, "position": [0.5, 0.5], "density": 500.0}
POOL = {"type": "water", "shape": {"type": "plane", "normal": [0, 1]}, "position": [0.5, 0.7]}
BLOCK = {"type": "sph_fluid", "shape": {"type": "box", "size": [0.3, 0.3]}, "position": [0.2, 0.2]}

OF_FLUID = {
    "tank": {"fluid": {"density": 1000.0}},
    "viscous tank": {"fluid": {"density": 1000.0, "viscosity": 1.0}},
    "water": {"objects": {"pool": POOL}},
    "viscous water": {"objects": {"pool": POOL}, "fluid": {"viscosity": 1.0}},
    "particles": {"objects": {"block": BLOCK}},
}
OF_SOLID = {
    "rigid body": {"ball": BALL},
    "joint": {"ball": BALL, "pin": {"type": "joint", "kind": "hinge", "child": "ball", "position": [0.5, 0.8]}},
    "shell": {
        "cup": {
            **BALL, "shape": {"type": "shell", "form": {"type": "tub", "size": [0.2, 0.1]}, "thickness": 0.01},
        }
    },
    "soft_body": {"blob": {**BALL, "type": "soft_body", "element_size": 0.05, "youngs_modulus": 1e5}},
    "rope": {"line": {"type": "rope", "position": [0.3, 0.5], "end": [0.7, 0.5], "element_size": 0.1}},
}  # fmt: skip


def tables(coupling, fluid, solid, **changes):
    found = {
        "name": "pair", "coupling": coupling, "domain": {"upper": [1.0, 1.0], "resolution": 16}, "time": {"end": 1.0},
        **OF_FLUID[fluid],
    }  # fmt: skip
    found["objects"] = {**found.get("objects", {}), **OF_SOLID[solid]}
    no_slip = COUPLINGS[coupling].takes.get("fluid.no_slip", ("wall_rows",))
    if "viscosity" in found.get("fluid", {}) and "wall_rows" not in no_slip:
        found["fluid"] = {**found["fluid"], "no_slip": no_slip[0]}
    return {**found, **changes}


@pytest.mark.parametrize(("coupling", "fluid", "solid"), list(itertools.product(COUPLINGS, FLUIDS, OF_SOLID)))
def test_a_scene_is_read_just_where_the_table_says_so(coupling, fluid, solid):
    """Or refused with the coupling and one to use instead that reads it, where there is any."""
    kinds = {"rigid body", solid} if solid in ("joint", "shell") else {solid}
    if COUPLINGS[coupling].fits(fluid, kinds):
        scene = scene_from_dict(tables(coupling, fluid, solid))
        assert fluid_of(scene) == fluid
        assert {kind for kind, _ in solids_of(scene)} == kinds
        return
    with pytest.raises(ut.UserError) as error:
        scene_from_dict(tables(coupling, fluid, solid))
    others = suited(fluid, kinds)
    assert all(repr(other) in str(error.value) for other in others)
    assert others or "no coupling moves" in str(error.value)
    assert re.search("set it|use |remove|give", str(error.value))
    for other in others:
        scene_from_dict(tables(other, fluid, solid))


def test_every_entry_can_be_assembled():
    for coupling in COUPLINGS.values():
        assert set(coupling.fluids) <= set(FLUIDS) and set(coupling.solids) <= set(SOLIDS)
        families = {"particles" if fluid == "particles" else "grid" for fluid in coupling.fluids}
        assert families == set(coupling.assemble)
        for key in (*coupling.keys, *coupling.takes):
            table, name = key.split(".")
            assert name in type(getattr(ut.Scene.model_construct(), table)).model_fields if table != "time" else True


def test_a_coupling_of_that_name_is_suggested():
    with pytest.raises(ut.UserError, match="unknown coupling; did you mean 'monolithic'"):
        scene_from_dict({**tables("none", "tank", "rigid body"), "coupling": "monolitic"})


class Falling(Scheme):
    """A toy: the fluid flows around bodies that fall as in a vacuum."""

    def __init__(self, solids: PrescribedSolids, flow: Flow, height: float) -> None:
        self.solids, self.flow, self.height, self.speed = solids, flow, height, 0.0

    def step(self, time: float, time_step: float, next_step: float) -> StepOutcome:
        self.speed -= 9.81 * time_step
        self.height += self.speed * time_step
        report = self.flow.step(time, time_step)
        self.flow.end_step(time + time_step)
        return StepOutcome(report.iterations, report)


def falling(scene: ut.Scene, table: BodyTable, starts: bool) -> Assembly:
    grid, notes = build.build_grid(scene)
    sides, side_velocity = build.build_sides(scene, grid)
    solids, _ = build.build_solids(scene, table, grid)
    part = PrescribedSolids(solids, table)
    flow = Flow(grid, sides, SolidFields(grid, solids), build.flow_settings(scene), [], side_velocity)
    return Assembly([part, flow], Falling(part, flow, scene.bodies["ball"].position[1]), notes)


@pytest.fixture
def toy(monkeypatch):
    module = ModuleType("toy_coupling")
    module.falling = falling
    monkeypatch.setitem(sys.modules, "toy_coupling", module)
    entry = Coupling(
        "lets bodies fall as in a vacuum", "", {"grid": "toy_coupling:falling"}, ("tank",), ("rigid body",),
        keys=("lumped.mass",), why={"water": "a surface would close over them"},
    )  # fmt: skip
    monkeypatch.setitem(COUPLINGS, "falling", entry)


@pytest.mark.usefixtures("toy")
def test_a_new_coupling_is_a_module_and_one_entry():
    sim = ut.Simulation(scene_from_dict(tables("falling", "tank", "rigid body")))
    sim.advance_to(0.1)
    assert sim.scheme.height == pytest.approx(0.5 - 0.5 * 9.81 * 0.1**2, abs=0.02)
    assert np.isfinite(sim.state.u).all()
    assert couplings_of("monolithic,falling") == ["monolithic", "falling"]
    with pytest.raises(ut.UserError, match="'falling': does not go with water .objects.pool.: a surface would close"):
        scene_from_dict(tables("falling", "water", "rigid body"))
    with pytest.raises(
        ut.UserError, match="a joint in fluid needs coupling = 'monolithic' or 'lumped', not 'falling': it"
    ):
        scene_from_dict(tables("falling", "tank", "joint"))
    with pytest.raises(ut.UserError, match="set coupling = 'lumped' or 'falling'"):
        scene_from_dict(tables("monolithic", "tank", "rigid body", lumped={"mass": "diagonal"}))


OLD = """# a tank
name = "old"
coupling = 'batty'      # volume fractions
time = { end = 1.0 }
[domain]
upper = [1.0, 1.0]
resolution = 8
[monolithic]
scheme = "two_solves"
"""


def test_old_keys_are_answered_with_the_new_ones_and_rewritten(tmp_path: Path):
    path = tmp_path / "old.toml"
    path.write_text(OLD)
    run = CliRunner().invoke(app, ["run", str(path)])
    assert run.exit_code == 2
    assert "coupling = 'batty': is now coupling = 'volume_fraction'" in run.stderr
    assert CliRunner().invoke(app, ["upgrade", str(path)]).exit_code == 0
    wanted = OLD.replace("'batty'", '"volume_fraction"').replace('scheme = "two_solves"', "solves = 2")
    assert path.read_text() == wanted
    assert (tmp_path / "old.old.toml").read_text() == OLD
    again = CliRunner().invoke(app, ["upgrade", str(path)])
    assert again.exit_code == 0 and "up to date" in again.stderr


def test_nothing_is_overwritten_by_an_upgrade(tmp_path: Path):
    (tmp_path / "old.toml").write_text(OLD)
    (tmp_path / "old.old.toml").write_text("mine")
    refused = CliRunner().invoke(app, ["upgrade", str(tmp_path / "old.toml")])
    assert refused.exit_code == 2 and "not overwritten" in refused.stderr
    assert (tmp_path / "old.toml").read_text() == OLD and (tmp_path / "old.old.toml").read_text() == "mine"
    assert CliRunner().invoke(app, ["upgrade", str(tmp_path / "none.toml")]).exit_code == 2
