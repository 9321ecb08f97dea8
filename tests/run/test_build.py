"""From scene to grid, sides and solids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.grid import GHOSTS
from undertow.run import build, memory
from undertow.run.assemble_solids import read_table
from undertow.scene import Scene, find_scene, toml

HEAD = 'name = "t"\n[time]\nend = 1.0\n'


def scene(text: str) -> Scene:
    return toml.read(HEAD + text)


def test_cells_are_cubes_and_a_broken_side_grows_at_its_upper_end() -> None:
    grid, notes = build.build_grid(scene("[domain]\nlower = [-1, 0, 0]\nupper = [1, 0.7, 1.0]\nresolution = 20\n"))
    assert grid.cells == (20, 7, 10) and grid.dx == 0.1 and notes == []
    grid, notes = build.build_grid(scene("[domain]\nupper = [1.0, 0.72]\nresolution = 10\n"))
    assert grid.cells == (10, 8, 1) and grid.dimensions == 2
    assert len(notes) == 1 and "y grows from 0.72 to 0.8 m" in notes[0]


def test_resolution_counts_along_the_named_side() -> None:
    grid, _ = build.build_grid(scene('[domain]\nupper = [2.0, 1.0]\nresolution = 10\nresolution_along = "y"\n'))
    assert grid.cells == (20, 10, 1)


def plane(sides: object, side: int, component: int, n: int) -> np.ndarray:
    return sides.spec.velocity[side, component].reshape(-1)[: 7 * (n + 2 * GHOSTS)].reshape(7, -1)[3, 3:-3]  # type: ignore[attr-defined]


def test_parabolic_inflow_has_its_exact_flow_and_peak() -> None:
    channel = scene(
        "[domain]\nupper = [2.0, 1.0]\nresolution = 32\n[domain.sides]\nx_high = 'outflow'\n"
        "x_low = { type = 'inflow', velocity = [1.5, 0.0], profile = 'parabolic' }\n"
    )
    grid, _ = build.build_grid(channel)
    sides, varies = build.build_sides(channel, grid)
    assert varies is None
    u = plane(sides, 0, 0, grid.cells[1])
    assert np.mean(u) == pytest.approx(1.0, rel=1e-14)
    assert u.max() == pytest.approx(1.5, rel=1e-2) and u[0] == pytest.approx(u[-1]) and u[0] > 0


def test_table_and_sine_inflow() -> None:
    channel = scene(
        "[domain]\nupper = [1.0, 1.0]\nresolution = 4\n[domain.sides]\nx_high = 'outflow'\n"
        "x_low = { type = 'inflow', profile = 'table', coordinate = [0.0, 1.0], values = [0.0, 1.0],"
        " velocity = { mean = [1.0, 0.0], amplitude = [1.0, 0.0], frequency = 0.25 } }\n"
    )
    grid, _ = build.build_grid(channel)
    sides, place = build.build_sides(channel, grid)
    assert place is not None
    fractions = np.array([0.125, 0.375, 0.625, 0.875])
    for time, factor in ((0.0, 1.0), (1.0, 2.0), (3.0, 0.0)):
        place(time)
        assert plane(sides, 0, 0, 4) == pytest.approx(factor * fractions, abs=1e-14)


def test_inflows_must_agree_on_smoke() -> None:
    two = scene(
        "[smoke]\n[domain]\nupper = [1.0, 1.0]\nresolution = 4\n[domain.sides]\ny_high = 'open'\n"
        "x_low = { type = 'inflow', velocity = [1, 0], smoke = 1.0 }\n"
        "x_high = { type = 'inflow', velocity = [-1, 0] }\n"
    )
    with pytest.raises(UserError, match="all inflows must bring the same smoke"):
        build.smoke_contents(two, build.build_grid(two)[0])


def test_a_solid_outside_at_all_times_is_refused() -> None:
    away = scene(
        "[domain]\nupper = [1.0, 1.0]\nresolution = 8\n[objects.b]\ntype = 'rigid_body'\nposition = [2.0, 0.5]\n"
        "shape = { type = 'sphere', radius = 0.2 }\nmotion = { type = 'velocity', linear = [1.0, 0.0] }\n"
    )
    grid, _ = build.build_grid(away)
    with pytest.raises(UserError, match="objects.b: outside the domain during the whole run"):
        build.build_solids(away, read_table(away), grid)
    towards = toml.read(toml.write(away).replace("linear = [1.0, 0.0]", "linear = [-1.0, 0.0]"))
    assert len(build.build_solids(towards, read_table(towards), grid)[0]) == 1


def test_thin_solids_are_noted() -> None:
    thin = scene(
        "[domain]\nupper = [1.0, 1.0]\nresolution = 8\n[objects.b]\ntype = 'rigid_body'\nposition = [0.5, 0.5]\n"
        "shape = { type = 'box', size = [0.5, 0.01] }\n"
    )
    grid, _ = build.build_grid(thin)
    assert "objects.b: 0.01 m thick, less than two cells" in build.build_solids(thin, read_table(thin), grid)[1][0]


def test_an_emitter_without_cells_is_refused() -> None:
    small = scene(
        "[smoke]\n[domain]\nupper = [1.0, 1.0]\nresolution = 4\n[objects.s]\ntype = 'emitter'\nposition = [0.5, 0.5]\n"
        "shape = { type = 'sphere', radius = 0.01 }\n"
    )
    with pytest.raises(UserError, match="objects.s: the emitter covers no cell"):
        build.build_emitters(small, build.build_grid(small)[0])


OPEN_TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n"


@pytest.mark.parametrize("text", ["o cube\nv 0 0 0\n", OPEN_TETRAHEDRON], ids=["unreadable", "open"])
def test_bad_meshes_are_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "b.obj").write_text(text)
    bad = scene(
        "[domain]\nupper = [1.0, 1.0, 1.0]\nresolution = 4\n[objects.b]\ntype = 'rigid_body'\n"
        f"position = [0.5, 0.5, 0.5]\nshape = {{ type = 'mesh', file = '{tmp_path / 'b.obj'}' }}\n"
    )
    with pytest.raises(UserError, match=r"objects.b.shape: .*b.obj"):
        build.build_solids(bad, read_table(bad), build.build_grid(bad)[0])


def test_a_resolution_that_does_not_fit_is_refused_with_its_size() -> None:
    with pytest.raises(UserError, match=r"need about [0-9,.]+ [GT]B of memory and .* are free"):
        ut.Simulation(find_scene("smoke-sphere", resolution=20000))


def test_memory_is_checked_before_anything_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    with pytest.raises(UserError, match="64 x 64 x 1 cells need about"):
        ut.Simulation(find_scene("lid-cavity"))


def test_threads_are_bounded_by_the_machine() -> None:
    with pytest.raises(UserError, match="threads = 1000: must be a whole number from 1 to"):
        ut.Simulation(find_scene("lid-cavity", resolution=8), threads=1000)
