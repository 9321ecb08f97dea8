"""Scenes with particles: running, resuming, sources and drains, frames, and bad input."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.errors import UserError
from undertow.geometry import Box
from undertow.output import read_frame
from undertow.sph import sample_surface
from undertow.sph.part import SphPart
from undertow.sph.sampling import _measure_nodes
from undertow.sph.surface import particle_surface


def make_scene(**changes: Any) -> ut.Scene:
    objects = {
        "water": ut.SphFluid(shape=ut.Box(size=(0.6, 0.3)), position=(0.3, 0.15)),
        "float": ut.RigidBody(shape=ut.Box(size=(0.2, 0.1, 1.0)), position=(0.3, 0.35), density=400.0),
    }
    values = {
        "name": "small",
        "coupling": "direct_forcing",
        "domain": ut.Domain(upper=(0.6, 0.6), resolution=20, sides={"y_high": "open"}),
        "time": ut.Time(end=0.2, frame_rate=20),
        "objects": {**objects, **changes.pop("objects", {})},
        **changes,
    }
    return ut.Scene(**values)


def test_a_run_resumes_bit_for_bit(tmp_path: Path) -> None:
    from undertow.run.driver import resume

    scene = make_scene(
        objects={
            "tap": ut.WaterSource(shape=ut.Box(size=(0.1, 0.1)), position=(0.1, 0.5), velocity=(0.0, -1.0)),
            "plug": ut.Drain(shape=ut.Box(size=(0.1, 0.1)), position=(0.5, 0.05), rate=0.05),
        }
    )
    whole = ut.Simulation(scene, threads=1)
    whole.advance_to(0.2)
    part = whole.part(SphPart)
    assert part.drained > 0 and part.fluid.totals.particles > 200
    half = ut.Simulation(scene.model_copy(update={"time": ut.Time(end=0.1, frame_rate=20)}), threads=1)
    half.run(out=tmp_path / "run")
    resume(tmp_path / "run", threads=1, frames=2)
    from undertow.run.folder import newest_checkpoint

    _, checkpoint = newest_checkpoint(tmp_path / "run")
    for name, array in whole.arrays().items():
        assert np.array_equal(checkpoint.arrays[name], array), name
    frame = read_frame(tmp_path / "run" / "frames" / "000004")
    assert frame.particles is not None and frame.surface is None and frame.bodies[0].name == "float"
    assert np.allclose(frame.particles.position, part.fluid.positions(), atol=1e-6)
    assert frame.particles.spacing == pytest.approx(0.03) and frame.extent()[1][0] == pytest.approx(0.6)


def test_a_resumed_run_does_not_settle_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Particles around a body off the lattice settle once, before the first step; what follows is the same bits."""
    from undertow.coupling.direct_forcing import DirectForcing
    from undertow.run.driver import resume
    from undertow.run.folder import newest_checkpoint

    taken: list[int] = []
    settle = DirectForcing.settle
    monkeypatch.setattr(DirectForcing, "settle", lambda self: taken.append(settle(self)))
    ball = ut.RigidBody(shape=ut.Sphere(radius=0.07), position=(0.31, 0.17), density=600.0)
    scene = make_scene(objects={"float": ball})
    whole = ut.Simulation(scene, threads=1)
    whole.advance_to(0.2)
    assert len(taken) == 1 and taken[0] > 1
    half = ut.Simulation(scene.model_copy(update={"time": ut.Time(end=0.1, frame_rate=20)}), threads=1)
    half.run(out=tmp_path / "run")
    half.save(tmp_path / "half.h5")
    assert len(taken) == 2
    resume(tmp_path / "run", threads=1, frames=2)
    loaded = ut.load(tmp_path / "half.h5", threads=1)
    loaded.advance_to(0.2)
    assert len(taken) == 2
    _, checkpoint = newest_checkpoint(tmp_path / "run")
    for name, array in whole.arrays().items():
        assert np.array_equal(checkpoint.arrays[name], array) and np.array_equal(loaded.arrays()[name], array)


def test_forces_on_a_floating_body_carry_it() -> None:
    sim = ut.Simulation(make_scene(time=ut.Time(end=1.5, frame_rate=20)), threads=1)
    sim.advance_to(1.0)
    forces = []
    while sim.time < 1.5 - 1e-9:
        sim.step()
        forces.append(sim.body("float").force)
    weight = 400.0 * 0.2 * 0.1 * 9.81
    assert np.mean(forces, axis=0)[1] == pytest.approx(weight, rel=0.1)


def test_bodies_stop_at_the_walls_of_the_domain() -> None:
    stone = ut.RigidBody(shape=ut.Box(size=(0.1, 0.1, 1.0)), position=(0.3, 0.4), density=5000.0, velocity=(1.0, 0.0))
    sim = ut.Simulation(make_scene(objects={"float": stone}, time=ut.Time(end=0.6, frame_rate=20)), threads=1)
    sim.advance_to(0.6)
    # on the floor, or on a film of particles that cannot get away
    assert 0.049 < sim.body("float").position[1] < 0.05 + 1.1 * 0.03
    assert sim.body("float").position[0] < 0.551


def test_samples_lie_half_a_spacing_deep_and_evenly() -> None:
    from scipy.spatial import cKDTree

    dx = 0.1
    ball = sample_surface(lambda x: np.linalg.norm(x, axis=1) - 0.5, np.full(3, -0.5), np.full(3, 0.5), dx, 3)
    assert np.allclose(np.linalg.norm(ball, axis=1), 0.45, atol=1e-3)
    assert len(ball) == pytest.approx(4 * np.pi * 0.5**2 / dx**2, rel=0.15)
    assert cKDTree(ball).query(ball, 2)[0][:, 1].min() > 0.55 * dx
    disc = sample_surface(lambda x: np.linalg.norm(x[:, :2], axis=1) - 0.5, np.full(3, -0.5), np.full(3, 0.5), dx, 2)
    assert np.allclose(np.linalg.norm(disc, axis=1), 0.45, atol=1e-3) and len(disc) == 31
    # a wall as thick as a particle, not on the lattice of the sampling: no hole is wider than two spacings
    plate = sample_surface(
        lambda x: np.maximum(np.abs(x[:, 0]) - 0.5, np.abs(x[:, 1] - 0.017) - 0.05),
        np.array([-0.5, -0.04, 0.0]), np.array([0.5, 0.07, 0.0]), dx, 2,
    )  # fmt: skip
    assert np.diff(np.sort(plate[:, 0])).max() < 1.5 * dx and np.abs(plate[:, 1] - 0.017).max() < 0.02
    box = Box((0.3, 0.2, 0.1)).boundary_lattice(dx, 3)
    assert box is not None and len(box) == 6 and np.abs(box).max() == pytest.approx(0.1)
    flat = Box((0.4, 0.3, 1.0)).boundary_lattice(dx, 2)
    assert flat is not None and len(flat) == 10


def test_a_mesh_is_sampled_by_the_nearest_points_of_its_surface() -> None:
    from scipy.spatial import cKDTree

    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.3, 0.3) for z in (-0.2, 0.2)]
    turned = {"axis": (1, 2, 0), "degrees": 30}
    body = ut.RigidBody(shape=ut.Hull(points=corners), position=(0.9, 0.6, 0.5), rotation=turned, density=500.0)
    water = ut.SphFluid(shape=ut.Box(size=(1.8, 0.2, 1.0)), position=(0.9, 0.1, 0.5))
    domain = ut.Domain(upper=(1.8, 1.2, 1.0), resolution=18)
    sim = ut.Simulation(make_scene(domain=domain, objects={"water": water, "float": body}), threads=1)
    forcing, dx = sim.scheme.forcing, 0.1  # type: ignore[attr-defined]
    along = forcing.local[:, np.argsort(np.ptp(forcing.local, axis=0))]  # principal axes by length
    depth = (np.array([0.2, 0.3, 0.5]) - np.abs(along)).min(axis=1)
    # those that come from next to an edge lie less deep below the other face
    assert depth.max() < 0.501 * dx and depth.min() > 0.0 and np.mean(depth > 0.499 * dx) > 0.5
    assert len(forcing.local) == pytest.approx(2 * (0.6 + 0.4 + 0.24) / dx**2, rel=0.25)
    apart = cKDTree(forcing.local).query(forcing.local, 2)[0][:, 1]
    assert apart.min() > 0.25 * dx and np.median(apart) > 0.7 * dx


def test_nodes_near_a_surface_are_measured_and_the_others_have_its_sign() -> None:
    """Of a ball and the hollow in it: all nodes of cells that have both signs are exact."""
    asked = 0

    def distance(x: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(x)
        r = np.linalg.norm(x - 0.013, axis=1)
        return np.maximum(r - 1.0, 0.45 - r)

    axes = [0.05 * np.arange(-n, n + 1) for n in (23, 24, 25)]
    found = _measure_nodes(distance, axes, 0.05)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    assert asked < 0.75 * found.size
    exact = distance(nodes.reshape(-1, 3)).reshape(found.shape)
    assert ((found < 0) == (exact < 0)).all()
    corners = [exact[i : i - 1 or None, j : j - 1 or None, k : k - 1 or None] for i, j, k in np.ndindex(2, 2, 2)]
    crossed = np.ptp(np.sign(corners), axis=0) > 0
    for i, j, k in np.ndindex(2, 2, 2):
        part = np.s_[i : i - 1 or None, j : j - 1 or None, k : k - 1 or None]
        assert np.array_equal(found[part][crossed], exact[part][crossed])


def test_the_surface_of_a_block_is_closed_and_where_the_particles_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("undertow.sph.surface.has_splashsurf", lambda: False)
    steps = 0.1 * np.arange(10) + 0.05
    x = np.stack(np.meshgrid(steps, steps[:5], steps, indexing="ij"), axis=-1).reshape(-1, 3)
    vertices, triangles, normals, moving = particle_surface(x, np.ones((len(x), 3)), 0.1, np.zeros(3), np.ones(3))
    top = vertices[normals[:, 1] > 0.9]
    assert np.abs(top[:, 1] - 0.5).max() < 0.03 and np.allclose(moving, 1.0, atol=1e-6)
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    # edges and corners are rounded over a spacing
    assert volume == pytest.approx(0.5, rel=0.05)


def test_fluid_in_the_place_of_a_body_is_cleared_counted_and_reported() -> None:
    body = ut.RigidBody(shape=ut.Box(size=(0.12, 0.12, 1.0)), position=(0.3, 0.15), density=1000.0)
    sim = ut.Simulation(make_scene(objects={"float": body}), threads=1)
    assert any("float: 16 particles of fluid in its place have been cleared" in note for note in sim.notes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sph": ut.Sph(sound_speed=5.0)}, r"sph.sound_speed = 5 m/s: too low .* set it to \d"),
        ({"objects": {"float": ut.RigidBody(shape=ut.Box(size=(0.2, 0.01, 1.0)), position=(0.3, 0.4), density=1.0)}},
         r"objects.float: 0.01 m thick, less than one particle .* raise domain.resolution to 60"),
        ({"objects": {"water": ut.SphFluid(shape=ut.Box(size=(0.001, 0.001)), position=(0.3, 0.3))}},
         "objects.water: holds no particle"),
        ({"objects": {"float": ut.RigidBody(shape=ut.Box(size=(2.0, 2.0, 1.0)), position=(0.3, 0.3))},
          "coupling": "none"}, "solids take the place of all particles"),
        ({"objects": {"tap": ut.WaterSource(shape=ut.Box(size=(0.1, 0.1)), position=(0.1, 0.5), velocity=(0, 0))}},
         "objects.tap.velocity"),
        ({"objects": {"tap": ut.WaterSource(shape=ut.Box(size=(0.1, 0.01)), position=(0.1, 0.5), velocity=(1, 0))}},
         "objects.tap: no particle"),
    ],
)  # fmt: skip
def test_impossible_fluids_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        ut.Simulation(make_scene(**changes), threads=1)


def test_the_sound_speed_that_is_told_works() -> None:
    with pytest.raises(UserError, match="too low") as caught:
        ut.Simulation(make_scene(sph=ut.Sph(sound_speed=5.0)), threads=1)
    told = re.search(r"set it to ([\d.]+)", str(caught.value))
    assert told is not None
    sim = ut.Simulation(make_scene(sph=ut.Sph(sound_speed=float(told[1]))), threads=1)
    assert not any("sound_speed" in note for note in sim.notes)
    sim.advance_to(0.2)
    fluid: Any = sim.part(SphPart).fluid
    assert fluid.totals.density < 1.03 * 1000.0


def test_the_sound_speed_follows_every_motion_that_the_scene_gives() -> None:
    """Ten times the fastest of fluids, sources, walls and bodies, also of points of bodies that turn."""
    turning = {"type": "velocity", "angular": [0.0, 0.0, 40.0]}
    moving = {"x_low": {"type": "wall", "velocity": {"mean": [0.0, 0.0], "amplitude": [0.0, 9.0], "frequency": 1.0}}}
    scenes = {
        8.0: make_scene(objects={
            "tap": ut.WaterSource(shape=ut.Box(size=(0.1, 0.1)), position=(0.1, 0.5), velocity=(0.0, -8.0)),
        }),
        9.0: make_scene(domain=ut.Domain(upper=(0.6, 0.6), resolution=20, sides={"y_high": "open", **moving}),
                        time=ut.Time(end=0.5, frame_rate=20)),
        40.0 * np.hypot(0.1, 0.05): make_scene(objects={
            "float": ut.RigidBody(shape=ut.Box(size=(0.2, 0.1, 1.0)), position=(0.3, 0.45), motion=turning),
        }),
    }  # fmt: skip
    for speed, scene in scenes.items():
        fall = 0.4 if speed == 9.0 else 0.55 if speed == 8.0 else 0.3
        fluid: Any = ut.Simulation(scene, threads=1).part(SphPart).fluid
        assert fluid.sound_speed == pytest.approx(10.0 * np.sqrt(speed**2 + 2.0 * 9.81 * fall), rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"coupling": "none"}, "not 'none'"),
        ({"coupling": "monolithic"}, "direct_forcing"),
        ({"time": ut.Time(end=1.0, fixed_step=0.1)}, "remove fixed_step"),
        ({"fluid": ut.Fluid(density=5.0)}, "use the table"),
        ({"objects": {"w": ut.Water(shape=ut.Box(size=(0.1, 0.1)), position=(0.1, 0.1))}}, "exclude each other"),
        ({"output": ut.Output(fields=("velocity",))}, "has no grid"),
        ({"view": ut.View(field="smoke")}, "'speed', 'pressure' or 'density'"),
        ({"probes": {"p": ut.GaugeProbe(position=(0.1, 0.1))}}, "reads a grid"),
        ({"domain": ut.Domain(upper=(0.6, 0.6), resolution=20, sides={
            "y_high": "open", "x_low": {"type": "inflow", "velocity": [1, 0]}})}, "do not come in"),
        ({"objects": {"water": ut.Water(shape=ut.Box(size=(0.1, 0.1)), position=(0.1, 0.1))}}, "of an sph_fluid"),
        ({"objects": {"water": ut.RigidBody(shape=ut.Sphere(radius=0.1), position=(0.1, 0.1))},
          "sph": ut.Sph(alpha=1.0)}, "sph has no effect"),
    ],
)  # fmt: skip
def test_scenes_that_contradict_themselves_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_scene(**changes)


def test_materials_and_shares_of_the_settings() -> None:
    honey = ut.Sph(material="honey")
    assert honey.density == 1420.0 and honey.viscosity == 10.0
    with pytest.raises(ValueError, match="unknown"):
        ut.Sph(material="hony")
    with pytest.raises(ValueError, match="at most 1"):
        ut.Sph(slip=1.5)
