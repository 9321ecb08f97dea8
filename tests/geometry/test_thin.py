"""What flows through solids that the grid does not see."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.fluid import Flow, FlowSettings
from undertow.geometry import Box, ConstantCurve, MeshShape, Solid, SolidFields, Static, VelocityCurves
from undertow.geometry.hiding import ThinSolids
from undertow.geometry.thin import ThinWalls, _cut_lines
from undertow.grid import GHOSTS, INFLOW, OUTFLOW, PERIODIC, WALL, Grid, Sides


def channel(thickness: float, place: float) -> Flow:
    """Fluid enters at 1 m/s and meets a wall with the height of the channel but for a gap of a quarter."""
    grid = Grid((32, 16, 1), 1 / 16, dimensions=2)
    sides = Sides(grid, [INFLOW, OUTFLOW, WALL, WALL, WALL, WALL], [True] * 6)
    sides.set_velocity(0, (1.0, 0.0, 0.0))
    wall = Solid("wall", Box((thickness, 0.75, 1.0)), Static((place, 0.375, 0.0)))
    return Flow(grid, sides, SolidFields(grid, [wall]), FlowSettings(gravity=(0.0, 0.0, 0.0), tolerance=1e-8))


@pytest.mark.parametrize("place", [1.03, 1.02, 1.045])
def test_a_wall_between_the_nodes_lets_nothing_through(place: float) -> None:
    """The nodes do not see it: the faces that it crosses are closed, and all goes through the gap."""
    flow = channel(0.002, place)
    report = flow.step(0.0, 0.01)
    assert report.leak < 1e-6
    assert flow.state.u[0][flow.grid.interior_faces(0)].max() > 3.5


def test_without_that_the_report_says_what_flows_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three quarters of the inflow cross it."""
    monkeypatch.setattr(SolidFields, "close_thin", lambda fields: None)
    assert channel(0.002, 1.03).step(0.0, 0.01).leak == pytest.approx(0.75, rel=0.02)


def test_a_wall_that_the_grid_sees_does_not_leak() -> None:
    flow = channel(0.25, 1.03)
    assert flow.step(0.0, 0.01).leak < 1e-6


@pytest.mark.parametrize("as_mesh", [False, True])
def test_faces_across_a_thin_plate_against_the_plane_itself(as_mesh: bool) -> None:
    """A tilted plate that moves: the faces are those whose segment meets its middle plane."""
    grid = Grid((12, 10, 8), 0.1)
    c, s = np.cos(0.35), np.sin(0.35)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    motion = VelocityCurves(ConstantCurve((0.3, 0.0, 0.0)), None, (0.5, 0.52, 0.41), turn)
    plate = Box((1e-3, 0.5, 0.4))
    fields = SolidFields(grid, [Solid("plate", MeshShape(*plate.surface()) if as_mesh else plate, motion)])
    walls = ThinWalls(fields)
    for t in (0.0, 0.4):
        fields.update(t)
        walls.leak(grid.face_field())
        position, rotation = motion.pose(t)
        found = {tuple(int(n) for n in np.unravel_index(face, (3, *grid.padded))) for face in walls.face}
        wanted = set()
        for axis in range(3):
            for index in np.ndindex(*reversed(grid.cells)):
                if index[2 - axis] == 0:
                    continue
                high = rotation.T @ ((np.array(index[::-1]) + 0.5) * grid.dx - position)
                low = high - rotation.T @ (grid.dx * np.eye(3)[axis])
                if low[0] * high[0] < 0.0:
                    meet = low + (high - low) * (low[0] / (low[0] - high[0]))
                    if abs(meet[1]) < 0.25 and abs(meet[2]) < 0.2:
                        wanted.add((axis, *(n + GHOSTS for n in index)))
        assert len(wanted) > 25
        assert found == wanted


def test_a_thin_plate_across_a_periodic_side() -> None:
    """It separates as many faces wherever the domain was cut."""
    count = []
    for x in (0.51, 0.01):
        grid = Grid((12, 10, 1), 0.1, dimensions=2)
        sides = Sides(grid, [PERIODIC, PERIODIC, WALL, WALL, WALL, WALL])
        fields = SolidFields(grid, [Solid("plate", Box((0.4, 0.004, 1.0)), Static((x, 0.52, 0.0)))])
        Flow(grid, sides, fields, FlowSettings())
        assert fields.closing is not None
        count.append(len(fields.closing.face))
    assert count[0] == count[1] == 4


def test_cuts_of_a_mesh_through_its_edges_and_corners() -> None:
    """Lines through cell centres that meet a mesh in its edges and vertices cut it as often inwards as outwards."""
    grid = Grid((12, 12, 12), 1.0)
    mesh = MeshShape(*Box((4.0, 4.0, 4.0)).surface())
    face, place = np.zeros(600, dtype=np.int64), np.zeros(600)
    count = _cut_lines(grid.spec, mesh.vertices + 5.0, mesh.triangles, face, place)
    axis, cell = np.divmod(face[:count], int(np.prod(grid.padded)))
    for a in range(3):
        lines = np.delete(np.stack(np.unravel_index(cell[axis == a], grid.padded)[::-1]), a, axis=0)
        _, sums = np.unique(lines, axis=1, return_inverse=True)
        inwards = np.bincount(sums.ravel(), place[:count][axis == a] < 0.0)
        assert np.all(inwards == 1) and np.all(np.bincount(sums.ravel()) == 2)
        assert 16 <= len(inwards) <= 25


def test_a_solid_with_one_thin_limb_that_forces_move_is_no_plate() -> None:
    """A bath duck has a beak of a cell and floats by its cut cells; what is held fast closes faces if it is thin
    anywhere."""
    sim = ut.Simulation(ut.scene("bath-duck", resolution=20), threads=1)
    fields = sim.flow.domain.solids
    assert fields is not None
    duck = next(solid for solid in fields.solids if solid.name == "duck")
    assert duck.dynamic and duck.thickness(3) < 1.5 * sim.flow.grid.dx
    assert ThinSolids(sim.flow.grid, [duck], closing=True).solids == []
    assert ThinSolids(sim.flow.grid, [duck]).solids == [duck]
