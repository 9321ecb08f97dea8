"""The tank of ``sph-step`` in SPlisHSPlasH: run by a Python that has pysplishsplash, without anything of Undertow.

    python splishsplash.py PARTICLES_ALONG THREADS STEPS

Weakly compressible, boundaries of particles, two dynamic cubes above the water; prints one line of JSON. Its fluid is
not cleared where bodies stand, so the cubes begin above the surface and cost it no contacts. Two, because sixteen make
its step six times slower at 70,000 particles, by its solver of bodies, which is not what is compared.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WARM = 5
"""Steps before the time is taken."""

CORNERS = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
FACES = ["1 2 4", "1 4 3", "5 7 8", "5 8 6", "1 5 6", "1 6 2", "3 4 8", "3 8 7", "1 3 7", "1 7 5", "2 6 8", "2 8 4"]


def make_scene(radius: float, end: float, step: float) -> dict[str, Any]:
    """A unit cube filled to three quarters with particles of ``radius`` [m], two cubes; ``end``, ``step`` [s]."""
    turn = {"rotationAxis": [1, 0, 0], "rotationAngle": 0}
    wall = {"geometryFile": "box.obj", "translation": [0, 0.5, 0], "scale": [1, 1, 1], "isDynamic": False,
            "isWall": True, "mapInvert": True, "mapResolution": [20, 20, 20], **turn}  # fmt: skip
    cubes = [
        {"geometryFile": "box.obj", "translation": [-0.2 + 0.4 * n, 0.85, 0.0],
         "scale": [0.1, 0.1, 0.1], "isDynamic": True, "isWall": False, "density": 500 + 500 * n, **turn}
        for n in range(2)
    ]  # fmt: skip
    side = 0.5 - 2 * radius
    return {
        "Configuration": {
            "particleRadius": radius, "simulationMethod": 0, "boundaryHandlingMethod": 0, "timeStepSize": step,
            "cflMethod": 0, "pauseAt": -1.0, "stopAt": end, "gravitation": [0, -9.81, 0], "stiffness": 50000,
            "exponent": 7, "enableVTKExport": False, "numberOfStepsPerRenderUpdate": 1, "sim2D": False,
        },
        "Materials": [{"id": "Fluid", "density0": 1000, "viscosity": 0.01, "viscosityMethod": 1}],
        "RigidBodies": [wall, *cubes],
        "FluidBlocks": [{"denseMode": 0, "start": [-side, 2 * radius, -side], "end": [side, 0.75, side],
                         "translation": [0, 0, 0], "scale": [1, 1, 1]}],
    }  # fmt: skip


def measure(along: int, steps: int, folder: Path) -> dict[str, Any]:
    """Particles, and seconds of a step; files go to ``folder``."""
    splash = importlib.import_module("pysplishsplash")
    radius = 0.5 / along
    step = 0.04 * radius
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {face}" for face in FACES]
    (folder / "box.obj").write_text("\n".join(lines) + "\n")
    file = folder / "scene.json"
    file.write_text(json.dumps(make_scene(radius, step * (steps + WARM), step)))
    base = splash.Exec.SimulatorBase()
    base.init(useGui=False, sceneFile=str(file), outputDir=str(folder / "out"))
    base.setValueFloat(base.STOP_AT, step * (steps + WARM))
    base.initSimulation()
    times: list[float] = []
    base.setTimeStepCB(lambda: times.append(time.perf_counter()))
    base.runSimulation()
    simulation = splash.Simulation.getCurrent()
    taken = times[WARM:]
    return {
        "particles": simulation.getFluidModel(0).numActiveParticles(),
        "bodies": simulation.numberOfBoundaryModels() - 1,
        "steps": len(taken) - 1,
        "seconds_per_step": (taken[-1] - taken[0]) / (len(taken) - 1),
    }


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = sys.argv[2]  # read when its libraries are loaded
    with tempfile.TemporaryDirectory(prefix="splishsplash-", ignore_cleanup_errors=True) as name:
        print("\n" + json.dumps(measure(int(sys.argv[1]), int(sys.argv[3]), Path(name))), flush=True)
