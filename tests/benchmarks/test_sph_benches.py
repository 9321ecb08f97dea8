"""What the benchmarks of particles measure: the state of table I, all memory, and the peer of this run or none."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import undertow as ut
from undertow.benchmarks import sph_step, sph_table
from undertow.benchmarks.smoke_step import held_bytes
from undertow.errors import UserError
from undertow.scene import find_scene


def _python(folder: Path, text: str) -> str:
    """A program in the place of a Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_ratio_is_to_the_peer_of_this_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = '{"particles": 1000, "bodies": 16, "steps": 10, "seconds_per_step": 0.5}'
    monkeypatch.setenv(
        sph_step.PYTHON, _python(tmp_path, f"echo chatter; echo '{answer}'; echo \"$@\" > {tmp_path}/words")
    )
    found = sph_step.compare(6000.0, 48, 2)
    assert found["ratio"] == pytest.approx(3.0) and "in the same run, 2 threads: 1000 particles" in found["against"]
    assert (tmp_path / "words").read_text().split()[1:] == ["48", "2", str(sph_step.PEER_STEPS)]


def test_without_the_peer_there_is_no_ratio_and_the_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(sph_step.PYTHON, raising=False)
    monkeypatch.setattr(sys, "executable", _python(tmp_path, "exit 1"))
    found = sph_step.compare(1.4e6, 48, 2)
    assert found["ratio"] is None and found["compared"] is False
    assert found["against"].startswith("not compared: pySPlisHSPlasH is not in this run")


@pytest.mark.parametrize(("text", "said"), [("echo no module >&2; exit 1", "no module"), (None, "cannot be started")])
def test_a_python_that_is_given_and_has_no_peer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, said: str
) -> None:
    monkeypatch.setenv(sph_step.PYTHON, str(tmp_path / "absent") if text is None else _python(tmp_path, text))
    with pytest.raises(UserError, match=f"{sph_step.PYTHON}.*{said}"):
        sph_step.measure_peer(48, 2)


def test_the_memory_counted_is_that_of_points_lists_boundary_contacts_and_bodies() -> None:
    scheme: Any = ut.Simulation(sph_step.make_scene(16), threads=1).scheme
    fluid, forcing = scheme.particles.fluid, scheme.forcing
    parts = [*fluid.points.spec, *fluid.neighbours.spec, *fluid.boundary, *forcing._near, *forcing._contacts]
    counted = sum(array.nbytes for array in parts)
    assert counted + forcing.local.nbytes < held_bytes(scheme) < 1.5 * counted
    # no force is asked for at the walls
    assert fluid.boundary.force.shape == (len(forcing.local), 6) and len(fluid.boundary.where) > 2 * len(forcing.local)


def test_bodies_of_the_table_begin_where_and_as_fast_as_they_fall_into_the_fluid() -> None:
    plain = find_scene("cuboids")
    scene = sph_table.lower_bodies(plain, 0.2)
    assert scene.sph.scheme == "local"
    for name, body in scene.bodies.items():
        assert body.position[1] == pytest.approx(plain.bodies[name].position[1] - 0.2)
        assert body.velocity == pytest.approx((0.0, -np.sqrt(2 * 9.81 * 0.2), 0.0))
    asteroid = sph_table.lower_bodies(find_scene("impact"), 1.0).bodies["asteroid"].motion
    whole = find_scene("impact").bodies["asteroid"].motion
    assert isinstance(asteroid, ut.Keyframes) and isinstance(whole, ut.Keyframes)
    np.testing.assert_allclose(np.array(whole.positions) - asteroid.positions, np.tile([0.0, 1.0, 0.0], (3, 1)))
    stone = sph_table.lower_bodies(find_scene("stone-skipping"), 0.25).bodies["stone"]
    assert stone.velocity == (12.0, -1.5, 0.0)


def test_what_is_timed_is_a_fluid_in_touch_with_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sph_table, "STEPS", 4)
    row = sph_table.TABLE["cuboids"]._replace(resolution=16)
    found = sph_table.measure("cuboids", row, threads=1)
    assert found["detail"]["least_contacts"] > 0 and found["detail"]["lists_made"] >= 1
    particles = int(found["size"].split()[0])
    per_particle = found["seconds_per_step"] / particles
    assert found["ratio"] == pytest.approx(row.seconds / row.particles / per_particle)


@pytest.mark.parametrize("name", sph_table.TABLE)
def test_scenes_of_the_table_have_the_particles_of_the_paper(name: str) -> None:
    """By volume and spacing, without building them; within 5%."""
    row = sph_table.TABLE[name]
    scene = find_scene(name, resolution=row.resolution)
    domain = scene.need_domain()
    spacing = domain.upper[0] / row.resolution
    volume = sum(float(np.prod(fluid.shape.size)) for fluid in scene.sph_fluids.values())  # type: ignore[union-attr]
    # the beach stands in the shallows, 0.15 m deep, from x = 1.3 m on with a slope of 0.35
    volume -= 0.7 * (0.45 * 0.15 - 0.5 * 0.15**2 / 0.35) if name == "flotsam" else 0.0
    assert volume / spacing**3 == pytest.approx(row.particles, rel=0.05)
    assert f"--resolution {row.resolution}" in scene.cost
