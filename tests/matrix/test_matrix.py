"""Cells of the matrix with every pair of levels, and defects that their checks must see."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.couplings import COUPLINGS
from undertow.validation import matrix
from undertow.validation.matrix import Cell

CHOSEN = matrix.pairwise(seed=1)


def test_the_array_covers_every_pair_of_levels() -> None:
    wanted = {pair for cell in matrix.cells() for pair in matrix.pairs(cell)}
    assert {pair for cell in CHOSEN for pair in matrix.pairs(cell)} == wanted
    assert len(CHOSEN) < len(matrix.cells()) / 20


def test_couplings_are_those_of_the_table() -> None:
    assert set(matrix.FACTORS["coupling"]) == set(COUPLINGS) - {"none"}
    assert len(matrix.cells()) == np.prod([len(levels) for levels in matrix.FACTORS.values()])


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
def test_a_cell_works_or_is_refused(cell: Cell) -> None:
    found = matrix.run(cell)
    assert found.state != "fails", found.reason
    if found.state == "refused":
        assert ";" in found.reason or ":" in found.reason  # what is wrong, and what to do about it


RIGID = Cell("smoke", "rigid", "monolithic", "one solve", "none")
WATER = Cell("water", "rigid", "monolithic", "one solve", "none")
DROPS = Cell("particles", "rigid", "direct_forcing", "one solve", "none")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[tuple[Cell, str]]:
    """A defect: the cell that has it and the check that must see it."""
    from undertow.coupling.bodies_in_fluid import BodiesInFluid
    from undertow.coupling.schemes import OneSolve
    from undertow.fluid.liquid import LiquidSurface
    from undertow.sph.fluid import SphFluid

    defect = request.param
    if defect == "forces":  # reported forces are a thousandth too large
        take = BodiesInFluid.take_forces

        def too_large(self: Any, dt: float, walls: Any) -> None:
            take(self, dt, walls)
            self.rigid.force_table.pressure[...] *= 1.001

        monkeypatch.setattr(BodiesInFluid, "take_forces", too_large)
        yield RIGID, "momentum"
    elif defect == "energy":  # the fluid is a fifth faster after every step
        step = OneSolve.step

        def faster(self: Any, time: float, time_step: float, next_step: float) -> Any:
            done = step(self, time, time_step, next_step)
            self.flow.state.u[...] *= 1.2
            return done

        monkeypatch.setattr(OneSolve, "step", faster)
        yield WATER, "energy"
    elif defect == "volume":  # water swells
        volume, asked = LiquidSurface.volume, itertools.count()
        monkeypatch.setattr(LiquidSurface, "volume", lambda self: volume(self) * (1.0 + 1e-3 * next(asked)))
        yield WATER, "volume"
    elif defect == "particles":  # a particle leaves
        monkeypatch.setattr(SphFluid, "lost", property(lambda self: 1, lambda self, value: None), raising=False)
        yield DROPS, "volume"
    elif defect == "solve":  # the projection ends far too early
        fluid = {"density": matrix.RHO, "tolerance": 0.3}
        monkeypatch.setitem(matrix.FLUIDS, "smoke", matrix.level(smoke={}, fluid=fluid))
        yield RIGID, "volume"
    else:  # a part of the state is not saved
        restore = ut.Simulation.restore

        def forgets(self: Any, checkpoint: Any) -> None:
            restore(self, checkpoint)
            self.state.p[...] = 0.0

        monkeypatch.setattr(ut.Simulation, "restore", forgets)
        yield RIGID, "resume"


DEFECTS = ["forces", "energy", "volume", "particles", "solve", "state"]


@pytest.mark.parametrize("broken", DEFECTS, indirect=True)
def test_a_defect_is_seen(broken: tuple[Cell, str]) -> None:
    cell, check = broken
    found = matrix.run(cell)
    assert found.state == "fails"
    assert f"{check}:" in found.reason, found.reason


def test_a_refusal_says_where_its_reason_stands() -> None:
    by_table = matrix.run(Cell("water", "rigid", "direct_forcing", "one solve", "none"))
    assert by_table.state == "refused"
    assert by_table.by_table
    page = matrix.report([by_table, matrix.Outcome(RIGID, "works"), matrix.Outcome(WATER, "fails", "energy: up")])
    assert "1 works, 1 refused, 1 fails" in page
    assert "energy: up" in page


def test_known_failures_fail() -> None:
    """A defect that has been mended leaves the list."""
    running = matrix.accepted()
    for known in matrix.KNOWN:
        cell = next(cell for cell in running if known.names(cell))
        assert known.check in matrix.run(cell, known=False).reason, f"{known} is mended: remove it"
