"""What the fluid gives sheets, with the momentum of the fluid that they carry: nothing is lost, to rounding."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.leapfrog import Leapfrog
from undertow.validation import matrix

NAMES = {"shell": "sheet", "cloth": "line"}
MASSES = {kind: sum(mass for mass, _ in matrix.SOLIDS[kind].masses.values()) for kind in NAMES}
FORCES = ("force", "contact_force", "joint_force", "load_force", "reaction_force")


def momentum_of_solids(row):
    return np.array([row["momentum_solids_x"], row["momentum_solids_y"]])


@pytest.mark.parametrize("solves", list(matrix.SOLVES))
@pytest.mark.parametrize("kind", list(NAMES))
@pytest.mark.parametrize("change", ["none", "source"])
@pytest.mark.parametrize("fluid", [name for name in matrix.FLUIDS if name != "particles"])
def test_momentum_of_a_sheet_is_what_the_reported_forces_give_it(fluid, change, kind, solves):
    sim = ut.Simulation(matrix.scene_of(matrix.Cell(fluid, kind, "monolithic", solves, change)), threads=1)
    weight = np.array([0.0, -matrix.G * MASSES[kind]])
    before, time, acted = momentum_of_solids(sim.ledger.row()), sim.time, sim.time
    for step in range(5):
        row = sim.step().ledger
        now, body = momentum_of_solids(sim.ledger.row()), sim.body(NAMES[kind])
        since, until = sim.scheme.acted(time, sim.time)
        if step == 0 and solves == "one solve":
            # two kicks: what is not seen yet of the second one
            since, before = sim.time, momentum_of_solids(row)
        else:
            assert since == acted
        dt, force = until - since, weight + sum(getattr(body, name)[:2] for name in FORCES)
        assert np.abs(now - before - dt * force).max() < 1e-12 * dt * matrix.G * MASSES[kind]
        before, time, acted = now, sim.time, until


@pytest.mark.parametrize("solves", list(matrix.SOLVES))
@pytest.mark.parametrize("kind", list(NAMES))
@pytest.mark.parametrize("viscosity", [0.0, 5.0])
def test_fluid_and_sheet_together_gain_what_gravity_gives_along_a_periodic_axis(viscosity, kind, solves):
    """Of the first solve: later the sheet passes over faces, whose values are made anew."""
    tables = {key: table for key, table in matrix.SOLVES[solves].tables.items() if key != "soft" or kind == "cloth"}
    scene = ut.Scene(
        name="channel", coupling="monolithic", gravity=(3.0, -matrix.G), objects=matrix.SOLIDS[kind].objects,
        domain=ut.Domain(upper=(1.2, 1.2), resolution=12, sides={"x_low": "periodic", "x_high": "periodic"}),
        fluid=ut.Fluid(density=1000.0, viscosity=viscosity, advection="none", tolerance=1e-10),
        time=ut.Time(end=1.0, frame_rate=50.0, fixed_step=0.01), **tables,
    )  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    if isinstance(sim.scheme, Leapfrog):
        # a step has two kicks, and the sheet moves in between
        sim.scheme.kick(0.0, 0.01, 0.01)
    else:
        sim.step()
    row, given = sim.ledger.row(), 3.0 * MASSES[kind] * 0.01
    assert row["kinetic_energy_solids"] > 0.0
    total = row["momentum_x"] + row["momentum_solids_x"]
    assert total == pytest.approx(given, abs=(1e-9 if viscosity else 1e-12) * given)
