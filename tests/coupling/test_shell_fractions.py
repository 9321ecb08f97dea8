"""Open fractions beside rigid shells: what they must keep wherever the shell is."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling import shell_fractions, soft_fields
from undertow.validation.shell_acceleration import case

OFFSETS = [(0.0, 0.0, 0.0), (0.37, 0.11, 0.23), (0.52, 0.83, 0.61)]


def tank(dimensions, offset, tmp_path):
    """A round shell, 4 cells in radius, in a tank that is periodic along x."""
    x, elements = case.round_form(dimensions, 4)
    if dimensions == 2:
        form = ut.Polyline(points=tuple(map(tuple, x.tolist())), closed=True)
    else:
        form = ut.Mesh(file=case.write(tmp_path / "sphere.obj", x, elements))
    middle = [1.0 + o / 8.0 for o in offset[:dimensions]]
    shell = ut.RigidBody(shape=ut.Shell(form=form, thickness=0.01), position=middle, mass=1.0)
    scene = ut.Scene(
        name="tank", coupling="monolithic", gravity=(0.0, -10.0, 0.0)[:dimensions], objects={"shell": shell},
        domain=ut.Domain(upper=(2.0,) * dimensions, resolution=16, sides={"x_low": "periodic", "x_high": "periodic"}),
        fluid=ut.Fluid(density=1.0, advection="none"), time=ut.Time(end=1.0, frame_rate=100.0),
    )  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    return sim


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_masses_of_fluid_and_shell_add_up_and_a_common_motion_meets_the_rows(dimensions, offset, tmp_path):
    sim = tank(dimensions, offset, tmp_path)
    solve, grid = sim.flow.solve, sim.grid
    fields, walls, rows = solve.nodes[0].fields, solve.nodes[0].walls, solve.rows
    phi, face = fields.area_f, fields.voxel.face
    cells = int(np.prod(grid.padded))
    carried = np.bincount(face // cells, walls.carried_mass() / grid.cell_volume, 3)
    for axis in grid.axes:
        inside = phi[(axis, *grid.interior)]
        assert inside.min() >= 0.0 and inside[inside > 0.0].min() > 0.05 and inside.max() < 3.0
        # 1 of every face without a shell
        assert inside.sum() + carried[axis] == pytest.approx(inside.size, abs=1e-9 * inside.size)
        # fluid and shell all move alike
        w = {"fluid": np.zeros_like(sim.state.u), walls.block: np.zeros(walls.v.shape)}
        w["fluid"][axis] = 1.0
        walls.solids.soft.v[...] = 0.0
        w[walls.block][walls.solids.nodes, axis] = 1.0
        left = np.zeros(rows.shape)
        rows.apply(w, left)
        middle = left[grid.interior][..., 2:-2, 2:-2]
        assert np.abs(middle).max() < 1e-13


def test_with_voxel_faces_alone_a_light_shell_is_slow(monkeypatch):
    """What the case ``shell-acceleration`` must see."""

    def no_shares(voxel, surface, rigid, free_f, area_f):
        return shell_fractions.no_shares(voxel.grid, voxel.nodes, len(voxel.face))

    monkeypatch.setattr(soft_fields, "share_sections", no_shares)
    assert case.error(("full", "solid"), 2, 6, case.RATIOS[:1], 4) > 0.08


def test_the_volume_inside_is_that_of_the_form(tmp_path):
    """What is counted by faces of the inside and by what coupled faces carry there, against the circle."""
    sim = tank(2, OFFSETS[1], tmp_path)
    solve, grid = sim.flow.solve, sim.grid
    fields, label = solve.nodes[0].fields, solve.rows.stencil.label[: int(np.prod(sim.grid.padded))]
    held = solve.nodes[0].pockets.find_cells(solve.rows.stencil).reshape(-1) > 0
    assert held.any() and label.any()
    lower, upper = fields.voxel.sides(solve.domain.periodic_axes)
    cells = int(np.prod(grid.padded))
    for axis in grid.axes:
        own = fields.voxel.face // cells == axis
        kept = fields.shares.carried[own]
        count = (kept[:, 0] * held[lower[own]] + kept[:, 1] * held[upper[own]]).sum()
        step = (1, grid.padded[2], grid.padded[1] * grid.padded[2])[axis]
        both = held & np.roll(held, step)
        count += fields.area_f[axis].reshape(-1)[both].sum()
        coupled = np.zeros(cells, dtype=bool)
        coupled[fields.voxel.face[own] % cells] = True
        assert not (both & coupled).any()
        assert count * grid.cell_volume == pytest.approx(np.pi * 0.25, rel=0.02)
