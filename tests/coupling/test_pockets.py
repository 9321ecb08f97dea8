"""Closed shells in fluid: what they hold stays inside, their volume comes back, and fluxes without a way are told."""

import numpy as np
import pytest
from typer.testing import CliRunner

import undertow as ut
from undertow.cli import app
from undertow.geometry.sheets import outline_of
from undertow.grid import GHOSTS
from undertow.soft import meshes
from undertow.validation.sealed.case import make_scene


def is_around(points, x):
    """Even-odd rule: which points (n, 2) the ring of nodes x lies around."""
    inside = np.zeros(len(points), dtype=bool)
    for a, b in zip(x, np.roll(x, -1, axis=0), strict=True):
        if a[1] != b[1]:
            at = a[0] + (points[:, 1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
            inside ^= ((a[1] > points[:, 1]) != (b[1] > points[:, 1])) & (points[:, 0] < at)
    return inside


def test_a_ring_that_is_pulled_about_keeps_its_smoke_and_its_volume(tmp_path):
    """Also bit for bit when it is loaded on the way."""
    sim = ut.Simulation(make_scene(2, 16))
    grid, errors, mass, restored = sim.grid, [], 0.0, 0.0
    for step in range(24):
        if step == 12:
            sim.save(tmp_path / "state.h5")
        row = sim.step().ledger
        errors.append(row["enclosed_volume_error"])
        mass = row["smoke_mass"] if step == 0 else mass
        restored += row["smoke_restored"]
    x, y, _ = grid.cell_centres()
    points = np.stack(np.broadcast_arrays(x, y), axis=-1).reshape(-1, 2)
    inside = is_around(points, sim.scheme.nodes[0].soft.x[:, :2])
    smoke = sim.state.smoke[grid.interior].reshape(-1)
    found = sim.flow.solve.nodes[0].pockets.find_cells(sim.flow.solve.rows.stencil)
    assert np.array_equal(found[grid.interior].reshape(-1) > 0, inside)
    assert smoke[inside].max() > 0.5 and (smoke[~inside] == 0.0).all()
    assert max(errors) < 1e-4
    # the smoke keeps its mass, which transport past the ring would not
    assert row["smoke_mass"] == pytest.approx(mass, rel=1e-12) and restored > 1e-3 * mass
    again = ut.load(tmp_path / "state.h5")
    for _ in range(12):
        again.step()
    for name, array in sim.arrays().items():
        assert np.array_equal(array, again.arrays()[name]), name


def test_the_error_of_the_volume_is_the_wanted_flux_of_its_pocket():
    """A ring blown up by hand: the rows ask for what it has too much, and the fluid around for the opposite."""
    sim = ut.Simulation(make_scene(2, 16))
    dt = 0.01
    pockets, rows = sim.flow.solve.nodes[0].pockets, sim.flow.solve.rows
    (pocket,) = pockets.pockets
    circle = len(sim.scheme.nodes[0].soft.x) * 0.22**2 * np.sin(2 * np.pi / len(sim.scheme.nodes[0].soft.x)) / 2
    assert pocket.wanted == pytest.approx(circle, rel=1e-9)
    middle = sim.scheme.nodes[0].soft.x.mean(axis=0)
    sim.scheme.nodes[0].soft.x[...] = middle + 1.02 * (sim.scheme.nodes[0].soft.x - middle)
    sim.flow.place(0.0)
    rows.target[...] = 0.0
    pockets.ask(rows, {}, rows.walls[0].v[: pockets.bodies.count], dt)
    held = pockets.find_cells(rows.stencil) > 0
    excess = (1.02**2 - 1.0) * circle / dt
    assert rows.target[held].sum() == pytest.approx(excess, rel=1e-9)
    assert rows.target.sum() == pytest.approx(0.0, abs=1e-12 * excess)
    sim.flow.place(0.0)
    sim.flow.project(sim.state.u, dt)
    # the flux out of the cells it holds; the step after it ends where it should
    out = (rows.walls[0].flux @ rows.walls[0].v.reshape(-1))[held.reshape(-1)].sum()
    assert out == pytest.approx(-excess, rel=0.1)
    assert pockets.volume(pocket, dt * sim.scheme.nodes[0].soft.v) == pytest.approx(circle, rel=1e-5)


def test_a_balloon_is_closed_and_turned_outwards_or_has_a_round_hole():
    x, triangles = meshes.balloon_triangles(0.4, 0.6, 0.08, 0.0)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    p = x[triangles]
    volume = np.einsum("ti,ti->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6
    assert volume == pytest.approx(4 / 3 * np.pi * 0.2**2 * 0.3, rel=0.1)
    x, triangles = meshes.balloon_triangles(0.4, 0.6, 0.05, 0.15)
    rim = np.unique(outline_of(triangles))
    assert np.hypot(x[rim, 0], x[rim, 2]) == pytest.approx(0.075, rel=1e-9)
    assert (x[rim, 1] < 0).all() and x[:, 1].min() == pytest.approx(x[rim, 1].min(), abs=0.02)


def divided_box(motion):
    """A closed box divided by a rope all of whose nodes are held."""
    hold = ut.Hold(shape=ut.Box(size=(0.2, 2.0)), position=(0.47, 0.5), motion=motion)
    rope = ut.Rope(position=(0.47, -0.05), end=(0.47, 1.05), element_size=0.1, density=0.5, holds=(hold,))
    return ut.Scene(
        name="divided", coupling="monolithic", gravity=(0.0, 0.0), domain=ut.Domain(upper=(1.0, 1.0), resolution=10),
        time=ut.Time(end=1.0, frame_rate=20.0, fixed_step=0.05), objects={"rope": rope},
    )  # fmt: skip


def test_a_pocket_with_a_net_flux_is_explained_and_made_consistent():
    """A wall that is pushed into a closed pocket: the flux is spread over its cells, and said once."""
    sim = ut.Simulation(divided_box(ut.PrescribedVelocity(linear=(0.1, 0.0))))
    first, second = sim.step(), sim.step()
    assert first.ledger["incompatibility"] > 0.1
    (said,) = first.events
    assert "50 cells" in said and "objects.rope" in said and "0.1 m2/s" in said
    assert not second.events
    rows = sim.flow.solve.rows
    left = rows.target[GHOSTS, GHOSTS : GHOSTS + 10, GHOSTS : GHOSTS + 4]
    assert left == pytest.approx(left[0, 0], rel=1e-6) and left[0, 0] < 0
    assert np.isfinite(sim.state.u).all() and second.ledger["row_after"] < 1e-6
    still = ut.Simulation(divided_box(ut.Static())).step()
    assert still.ledger["incompatibility"] == 0.0 and not still.events


def test_nodes_are_let_go():
    scene = make_scene(2, 16)
    rope = scene.objects["shell"]
    hold = rope.holds[0].model_copy(update={"motion": ut.Static(), "until": 0.015})
    rope = rope.model_copy(update={"holds": (hold,)})
    sim = ut.Simulation(scene.model_copy(update={"objects": {**scene.objects, "shell": rope}}))
    held = sim.scheme.nodes[0].soft.inv_mass == 0
    # forces from the middle of the second step on no longer hold them
    for count in (held.sum(), 0):
        sim.step()
        assert (sim.scheme.nodes[0].soft.inv_mass == 0).sum() == count > -1


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('type = "cloth"\nsize = [0.2, 0.2]\nopening = 0.1', "opening = 0.1: a rectangle has none"),
        ('type = "cloth"\nsize = [0.2, 0.2]\noutline = "balloon"\nopening = 0.19', "smaller than 0.9 of the width"),
        ('type = "rope"\nend = [0.5, 0.9, 0.5]\noutline = "ring"\nlength = 3.0', "a ring is as long as its circle"),
    ],
)
def test_bad_shells_are_refused(tmp_path, lines, words):
    path = tmp_path / "bad.toml"
    path.write_text(
        f'name = "bad"\n[time]\nend = 0.1\n[objects.shell]\n{lines}\nposition = [0.5, 0.5, 0.5]\nelement_size = 0.05\n'
    )
    result = CliRunner().invoke(app, ["run", str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
