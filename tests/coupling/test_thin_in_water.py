"""Thin plates that water moves hold it, and push and carry it alike wherever they are in their cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import SolidFields
from undertow.grid import GHOSTS
from undertow.validation.thin_solid import case

CELLS = case.CELLS
DX = 1.0 / CELLS


@pytest.mark.parametrize("thickness", [0.3, 1.0, 1.9])
def test_a_gate_on_a_spring_holds_the_water(thickness: float) -> None:
    found = case.watch_free(case.make_gate(thickness, 0.0), thickness * DX, 0.3)
    assert found["beyond"] == 0.0
    assert found["leak"] == 0.0
    assert found["way"] > 0.3 * DX


def test_with_open_fractions_alone_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SolidFields, "closes_moved", False)
    found = case.watch_free(case.make_gate(0.3, 0.0), 0.3 * DX, 0.1)
    assert found["beyond"] > 10.0 * DX**2


def test_a_barge_of_plates_stays_dry_inside_and_a_resumed_run_repeats_every_bit(tmp_path: Path) -> None:
    sim = ut.Simulation(case.make_barge(0.6))
    beyond = case.FreeBeyond(sim, 0.6 * DX, barge=True)
    sim.advance_to(0.1)
    sim.save(tmp_path / "half.h5")
    half = ut.load(tmp_path / "half.h5")
    for one in (sim, half):
        one.advance_to(0.2)
    assert beyond.volume() == 0.0
    for name, array in sim.arrays().items():
        assert array.tobytes() == half.arrays()[name].tobytes(), name


@pytest.mark.parametrize("thickness", [0.3, 1.0, 1.9])
@pytest.mark.parametrize("offset", [0.13, 0.48, 0.77])
def test_a_plate_in_a_pipe_moves_all_of_the_fluid(thickness: float, offset: float) -> None:
    """That between the centres of its cells and its true surface too."""
    assert case.carry(thickness, offset) == pytest.approx(1.0, abs=1e-6)


def test_only_the_thin_parts_of_a_body_close_faces() -> None:
    """A thick hull keeps its fractions beside a mast."""
    parts = (
        ut.CompoundPart(shape=ut.Box(size=(0.5, 0.173)), position=(0.0, 0.0)),
        ut.CompoundPart(shape=ut.Box(size=(0.6 * DX, 0.4)), position=(0.0, 0.28)),
    )
    scene = ut.Scene(
        name="mast", coupling="monolithic", domain=ut.Domain(upper=(1.0, 1.0), resolution=CELLS), gravity=(0.0, 0.0),
        fluid=ut.Fluid(density=1.0), time=ut.Time(end=1.0),
        objects={"boat": ut.RigidBody(shape=ut.Compound(parts=parts), position=(0.513, 0.321), density=0.5)},
    )  # fmt: skip
    solids = ut.Simulation(scene).flow.solids
    assert solids is not None and solids.closing is not None
    padded = solids.grid.padded
    face = np.stack(np.unravel_index(solids.closing.face, (3, *padded)), axis=1)
    assert len(face) > 8
    x, y = ((face[:, at] - GHOSTS + 0.5) * DX for at in (3, 2))
    assert np.abs(x - 0.513).max() < 1.5 * DX
    # the mast goes on into the hull
    assert y.min() > 0.321 + 0.08 - DX and y.max() < 0.321 + 0.48 + DX
    inside = solids.area_f[1][GHOSTS][:, GHOSTS:-GHOSTS]
    assert np.any((inside > 0.0) & (inside < 1.0))


def test_a_lid_on_the_floor_rests_on_it() -> None:
    """A plate that is wider above its slit than below would be carried by the level of a closed tank."""
    scene = ut.Scene(
        name="lid", coupling="monolithic", gravity=(0.0, -10.0), domain=ut.Domain(upper=(1.0, 1.0), resolution=10),
        time=ut.Time(end=10.0, frame_rate=0.5, fixed_step=0.02), fluid=ut.Fluid(density=1.0, tolerance=1e-10),
        objects={"plate": ut.RigidBody(shape=ut.Box(size=(0.5, 0.12)), position=(0.5, 0.065), density=2.0)},
    )  # fmt: skip
    sim = ut.Simulation(scene)
    for _ in range(4):
        sim.step()
    plate = sim.body("plate")
    assert plate.position[1] == pytest.approx(0.06, abs=1e-6)
    assert plate.contact_force[1] > 0.5


def test_a_lid_that_a_soft_body_falls_on_rests_on_the_floor_too() -> None:
    """Its velocity is then an unknown of the nodes' block, and the level of the tank must not carry it there either."""
    disc = ut.SoftBody(
        shape=ut.Sphere(radius=0.15), position=(0.5, 0.28), element_size=0.12, density=4.0, youngs_modulus=2e3,
        poisson_ratio=0.4, velocity=(0.0, -1.0),
    )  # fmt: skip
    scene = ut.Scene(
        name="lid", coupling="monolithic", gravity=(0.0, -10.0), domain=ut.Domain(upper=(1.0, 1.0), resolution=10),
        time=ut.Time(end=10.0, frame_rate=0.5, fixed_step=0.02), fluid=ut.Fluid(density=1.0, tolerance=1e-10),
        objects={
            "plate": ut.RigidBody(shape=ut.Box(size=(0.5, 0.12)), position=(0.5, 0.065), density=2.0), "disc": disc,
        },
    )  # fmt: skip
    sim = ut.Simulation(scene)
    for _ in range(4):
        sim.step()
    assert sim.body("plate").position[1] == pytest.approx(0.06, abs=1e-6)
