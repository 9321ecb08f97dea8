"""What a body that breaks hands on to its pieces: loads on its surface, what a user has applied, and nodes of soft
bodies that it carried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.geometry import Sphere
from undertow.geometry.elements import area_vectors, share_elements, surface_elements
from undertow.solids.rigid_part import RigidPart
from undertow.solids.soft_part import SoftPart

BOX, BALL = ut.Box(size=(0.6, 0.4, 0.3)), ut.Sphere(radius=0.25)
HALF = {"shape": {"type": "box", "size": [1.0, 1.0, 1.0]}, "position": [0.5, 0.0, 0.0]}
LOADS = [
    {"type": "traction", "traction": [3.0, -2.0, 5.0]},
    {"type": "traction", "traction": [0.0, 40.0, 1.0], "region": HALF},
    {"type": "pressure", "pressure": 70.0, "region": HALF},
    {"type": "force", "force": [1.0, 2.0, 3.0], "at": [0.1, 0.1, 0.0]},
]


def body(shape: Any, loads: Any = LOADS, position: Any = (0.0, 0.0, 0.0), degrees: float = 0.0, **rule: Any) -> Any:
    return ut.RigidBody(
        shape=shape, position=position, rotation={"axis": (0, 0, 1), "degrees": degrees}, density=300.0,
        loads=loads, fracture={"pattern": "voronoi", "pieces": 12, "strength": 1e9, **rule},
    )  # fmt: skip


def floating(shape: Any, loads: Any = LOADS, **rule: Any) -> ut.Scene:
    return ut.Scene(
        name="loaded", gravity=(0, 0, 0), time=ut.Time(end=1.0, frame_rate=50.0, max_step=0.02),
        objects={"stone": body(shape, loads, degrees=30.0, **rule)},
    )  # fmt: skip


def wrench(sim: ut.Simulation) -> np.ndarray:
    """Force and torque about the origin of the loads of the scene and of what was applied, over the last step."""
    bodies = sim.part(RigidPart).bodies
    mean = sim.part(RigidPart).loads.mean_b
    torque = mean[:, 3:] + np.cross(bodies.x_b, mean[:, :3])
    return np.concatenate([mean[:, :3].sum(axis=0), torque.sum(axis=0)])


def loaded(sim: ut.Simulation) -> np.ndarray:
    """The same where bodies are now."""
    rigid = sim.part(RigidPart)
    rigid.loads.begin_step(sim.time, 1e-9)
    return wrench(sim)


@pytest.mark.parametrize(("shape", "method"), [(BOX, "mesh"), (BALL, "mesh"), (BOX, "level_set")])
def test_loads_on_the_surface_stay_what_they_are_over_all_pieces(shape: Any, method: str, tmp_path: Path) -> None:
    """Force and torque of traction, pressure and forces are the parent's to rounding, by every method, for pieces of
    pieces too; and a run that is resumed goes on by bits."""
    sim = ut.Simulation(floating(shape, method=method, smallest=0.1), threads=1)
    sim.step()
    before = loaded(sim)
    broken = sim.break_body("stone", at=(0.0, 0.2, 0.1), along=(0.3, -1.0, 0.2))
    assert broken.pieces > 4 and broken.debris > 0, method
    assert loaded(sim) == pytest.approx(before, rel=1e-12, abs=1e-12 * np.abs(before).max())
    largest = max((e for e in sim.bodies if e.description.brittle), key=lambda e: e.description.mass or 0.0).name
    place = sim.body(largest).position
    sim.break_body(largest, at=tuple(place + (0.0, 0.05, 0.0)), along=(0.0, -1.0, 0.1))
    assert loaded(sim) == pytest.approx(before, rel=1e-12, abs=1e-12 * np.abs(before).max())
    sim.save(tmp_path / "loaded.h5")
    other = ut.load(tmp_path / "loaded.h5", threads=1)
    for one in (sim, other):
        one.step()
    for name, array in sim.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name


def test_pressure_acts_on_the_old_surface_and_not_on_cracks() -> None:
    """A cube under an even pressure: on each piece the force is that on its part of the old surface, minus the area
    vector of that part, which its mesh tells."""
    sim = ut.Simulation(floating(ut.Box(size=(0.4, 0.4, 0.4)), [{"type": "pressure", "pressure": 50.0}]), threads=1)
    sim.break_body("stone", at=(0.0, 0.2, 0.0), along=(0.0, -1.0, 0.0))
    loaded(sim)
    rigid = sim.part(RigidPart)
    worst, largest = 0.0, 0.0
    for entry in sim.bodies:
        shape, b = entry.description.shape, rigid.bodies.index(entry.name)
        p = shape.vertices[shape.triangles[~shape.interior_t]]
        wanted = -50.0 * area_vectors(p).sum(axis=0) @ rigid.bodies.shape_pose(b)[1].T
        worst = max(worst, float(np.abs(rigid.loads.mean_b[b, :3] - wanted).max()))
        largest = max(largest, float(np.abs(wanted).max()))
    # elements at cracks are divided down to 1/256 of the size of the body, and go to the piece of their middle
    assert worst < 2e-3 * largest


def test_elements_are_parted_by_their_owners() -> None:
    p = surface_elements(Sphere(1.0), np.zeros(3), np.eye(3), 3)
    parts = share_elements(p, lambda x: (x[:, 0] > 0.3).astype(np.int64), 2)
    whole = np.linalg.norm(area_vectors(p), axis=1).sum()
    sizes = [np.linalg.norm(area_vectors(part), axis=1).sum() for part in parts]
    assert sum(sizes) == pytest.approx(whole, rel=1e-12)
    assert sizes[1] == pytest.approx(2.0 * np.pi * 0.7, rel=2e-3)  # a cap of height 0.7
    assert sum(area_vectors(part).sum(axis=0) for part in parts) == pytest.approx(np.zeros(3), abs=1e-12)


def test_traction_on_a_plate_in_two_dimensions() -> None:
    loads = [{"type": "traction", "traction": [0.0, 7.0]}, {"type": "pressure", "pressure": 3.0}]
    scene = ut.Scene(
        name="flat", gravity=(0, 0), time=ut.Time(end=1.0, max_step=0.01, frame_rate=100.0),
        objects={"plate": body(ut.Box(size=(1.0, 0.2)), loads, (0.0, 0.0))},
    )  # fmt: skip
    sim = ut.Simulation(scene, threads=1)
    sim.step()
    before = loaded(sim)
    assert before[1] == pytest.approx(7.0 * 2.4)
    sim.break_body("plate", at=(0.1, 0.1), along=(0.0, -1.0))
    assert loaded(sim) == pytest.approx(before, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("fluid", [False, True])
def test_what_was_applied_goes_on_at_the_piece_that_holds_its_point(fluid: bool, tmp_path: Path) -> None:
    """The impulse of all is force times time, through the event."""
    shape = ut.Box(size=(0.4, 0.2))
    more: dict[str, Any] = {}
    if fluid:
        more = {"domain": ut.Domain(upper=(1.0, 1.0), resolution=16), "coupling": "monolithic"}
    stone = body(shape, [{"type": "force", "force": [0.0, 1.0], "at": [0.45, 0.5]}], (0.5, 0.5))
    scene = ut.Scene(
        name="applied", gravity=(0, 0), time=ut.Time(end=1.0, frame_rate=50.0), objects={"stone": stone}, **more
    )
    sim = ut.Simulation(scene, threads=1)
    given = sim.time
    sim.body("stone").apply(force=(3.0, 0.0), at=(0.65, 0.5), duration=0.5)
    for _ in range(3):
        sim.step()
    sim.break_body("stone", at=(0.5, 0.6), along=(0.0, -1.0))
    sim.save(tmp_path / "applied.h5")
    other = ut.load(tmp_path / "applied.h5", threads=1)
    for one in (sim, other):
        one.step()
    for name, array in sim.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name
    pushed = [name for name in sim.bodies.entries if sim.body_forces(name).load[0]]
    assert len(pushed) == 1 and sim.body(pushed[0]).position[0] > 0.5
    assert sim.body_forces(pushed[0]).load[0] == pytest.approx(3.0, rel=1e-9)
    if not fluid:
        row = sim.ledger.row()
        assert row["momentum_x"] == pytest.approx(3.0 * (sim.time - given), rel=1e-9)
        assert row["momentum_y"] == pytest.approx(1.0 * (sim.time - given), rel=1e-9)


def hanging(fluid: str, **rule: Any) -> ut.Scene:
    """A plate that breaks, with a rope at one end of it; in a fluid in two dimensions."""
    n = 2 if fluid else 3

    def at(*x: float) -> tuple[float, ...]:
        return x[:n]

    hold = {"shape": ut.Box(size=at(0.06, 0.06, 0.06)), "position": at(0.8, 0.6, 0.5), "body": "plate"}
    objects: dict[str, Any] = {
        "plate": ut.RigidBody(
            shape=ut.Box(size=at(0.8, 0.1, 0.3)), position=at(0.5, 0.6, 0.5), density=500.0,
            velocity=at(0.2, 0.1, 0.0), angular_velocity=(0.3 * (n - 2), 0.1 * (n - 2), 0.5),
            fracture={"pattern": "voronoi", "pieces": 6, "strength": 1e9, **rule},
        ),
        "rope": ut.Rope(
            position=at(0.8, 0.6, 0.5), end=at(0.8, 0.3, 0.5), element_size=0.05, density=0.05, stretching=200.0,
            thickness=0.01, holds=[hold],
        ),
    }  # fmt: skip
    more: dict[str, Any] = {"gravity": at(0.0, -9.81, 0.0)}
    if fluid:
        more |= {"domain": ut.Domain(upper=(1.0, 1.0), resolution=16), "coupling": "monolithic"}
    if fluid == "water":
        objects["pool"] = ut.Water(shape=ut.Plane(normal=(0, 1)), position=(0.5, 0.55))
    return ut.Scene(name="hung", time=ut.Time(end=1.0, frame_rate=100.0), objects=objects, **more)


def momenta(sim: ut.Simulation) -> np.ndarray:
    """Of solids and fluid."""
    with sim.scheme.synchronised():
        row = sim.ledger.row()
    names = [n for n in row if n.startswith(("momentum", "angular_momentum_solids")) and "unit" not in n]
    linear = [sum(row[n] for n in names if n in (f"momentum_{a}", f"momentum_solids_{a}")) for a in "xyz"]
    angular = [row.get(f"angular_momentum_solids_{a}", row.get(f"angular_momentum_{a}", 0.0)) for a in "xyz"]
    return np.array([linear, angular])


@pytest.mark.parametrize("fluid", ["", "tank", "water"])
def test_nodes_go_to_the_piece_that_holds_them(fluid: str, tmp_path: Path) -> None:
    """Momentum through the event is what it was, the rope hangs on one piece from then on, and resumed runs go on by
    bits."""
    sim = ut.Simulation(hanging(fluid), threads=1)
    for _ in range(2):
        sim.step()
    before = momenta(sim)
    n = sim.scene.dimensions
    broken = sim.break_body("plate", at=(0.5, 0.65, 0.5)[:n], along=(0.0, -1.0, 0.0)[:n])
    after = momenta(sim)
    assert broken.pieces >= 3 and broken.let_go == 0
    scale = np.abs(before).max()
    assert after[0] == pytest.approx(before[0], abs=1e-11 * scale)
    if not fluid:
        assert after[1] == pytest.approx(before[1], abs=1e-11 * scale)
    soft = sim.part(SoftPart)
    holders = {sim.part(RigidPart).bodies.names[b] for b in soft.soft_solids.bone}
    assert len(soft.soft_solids.bound) >= 1 and len(holders) == 1
    holder = holders.pop()
    sim.save(tmp_path / "hung.h5")
    other = ut.load(tmp_path / "hung.h5", threads=1)
    for one in (sim, other):
        for _ in range(3):
            one.step()
    for name, array in sim.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name
    # the node is where it was on its piece
    rigid, carried = sim.part(RigidPart).bodies, sim.bodies[holder].description.carried
    position, R = rigid.shape_pose(rigid.index(holder))
    node = sim.nodes("rope").position[list(carried[0].nodes)]
    assert node == pytest.approx(position + np.array(carried[0].points) @ R.T, abs=1e-12)
    # and goes over to a piece of that piece
    place = sim.body(holder).position
    sim.break_body(holder, at=tuple(place + (0.0, 0.05, 0.0))[:n], along=(0.0, -1.0, 0.0)[:n])
    assert len(sim.part(SoftPart).soft_solids.bound) == len(carried[0].nodes)
    sim.step()


def test_nodes_on_debris_are_let_go_and_said(tmp_path: Path) -> None:
    sim = ut.Simulation(hanging("", smallest=0.5), threads=1)
    sim.step()
    before = momenta(sim)
    broken = sim.break_body("plate", at=(0.5, 0.65, 0.5), along=(0.0, -1.0, 0.0))
    assert broken.debris == broken.pieces and broken.let_go >= 1
    assert f"{broken.let_go} nodes that were attached to it are let go" in sim.step().events[0]
    assert len(sim.part(SoftPart).soft_solids.bound) == 0
    sim = ut.Simulation(hanging("", smallest=0.5), threads=1)
    sim.step()
    sim.break_body("plate", at=(0.5, 0.65, 0.5), along=(0.0, -1.0, 0.0))
    assert momenta(sim) == pytest.approx(before, abs=1e-11 * np.abs(before).max())
    node = sim.nodes("rope").mass
    assert (node > 0.0).all()


def test_level_set_pieces_touch_with_the_particles_of_the_body(tmp_path: Path) -> None:
    """The contour of a level set is up to a cell short of the corners of a box: its pieces keep these as particles, in
    contact and in checkpoints, and stand on the floor without sinking in."""
    box = ut.RigidBody(
        shape=ut.Box(size=(0.6, 0.4, 0.3)), position=(0.0, 0.2, 0.0), density=500.0,
        fracture={"pattern": "voronoi", "pieces": 4, "strength": 1e9, "method": "level_set"},
    )  # fmt: skip
    ground = ut.RigidBody(shape=ut.Plane(normal=(0, 1, 0)), position=(0.0, 0.0, 0.0))
    time = ut.Time(end=1.0, frame_rate=60.0)
    sim = ut.Simulation(ut.Scene(name="cut", time=time, objects={"box": box, "ground": ground}), threads=1)
    sim.break_body("box", at=(0.1, 0.4, 0.0), along=(0.0, -1.0, 0.0))
    rigid, particles = sim.part(RigidPart), list[np.ndarray]()
    for entry in sim.bodies:
        if entry.name != "ground":
            position, R = rigid.bodies.shape_pose(rigid.bodies.index(entry.name))
            particles.append(entry.description.shape.particles @ R.T + position)
    corners = np.array([[x, y, z] for x in (-0.3, 0.3) for y in (0.0, 0.4) for z in (-0.15, 0.15)])
    away = np.linalg.norm(np.concatenate(particles)[None] - corners[:, None], axis=2).min(axis=1)
    assert away.max() < 1e-9
    sim.save(tmp_path / "cut.h5")
    other = ut.load(tmp_path / "cut.h5", threads=1)
    for one in (sim, other):
        for _ in range(3):
            one.step()
    for name, array in sim.arrays().items():
        assert np.asarray(array).tobytes() == np.asarray(other.arrays()[name]).tobytes(), name
    lowest = min(
        float((entry.description.shape.particles @ R.T + x)[:, 1].min())
        for entry in sim.bodies
        if entry.name != "ground" and len(entry.description.shape.particles)
        for x, R in [rigid.bodies.shape_pose(rigid.bodies.index(entry.name))]
    )
    assert lowest > -1e-3 * 0.4
