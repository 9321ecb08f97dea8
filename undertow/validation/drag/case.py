"""A sphere in viscous fluid: deeper in the thin one, and the terminal speed of Stokes in SI units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

RATIO = 8.0
"""Side of the periodic box / radius of the sphere."""
RADIUS, VISCOSITY, REYNOLDS = 0.01, 1e-4, 0.05
"""[m], kinematic [m2/s], and 2 a U / nu of Stokes' speed in an endless fluid."""


def depth(alpha: float, resolution: int) -> float:
    """How far the sphere of the gallery has fallen after 0.5 s in a fluid of artificial viscosity alpha [m]."""
    scene = ut.scene("viscous-spheres", resolution=resolution)
    changed = scene.model_copy(update={"sph": ut.Sph(alpha=alpha)})
    sim = ut.Simulation(changed)
    start = float(sim.body("sphere").position[1])
    sim.advance_to(0.5)
    return start - float(sim.body("sphere").position[1])


def terminal(per_radius: float) -> dict[str, float]:
    """Terminal speed of a sphere of ``per_radius`` spacings / that of an array of spheres (Hasimoto 1959).

    Sphere and fluid have one density and are pulled by opposite forces in a periodic box, so that nothing moves on
    the whole: F = 6 pi mu a U / (1 - 1.7601 c^(1/3) + c - 1.5593 c^2), c the share of the sphere in the box.
    """
    resolution = round(RATIO * per_radius)
    length = RATIO * RADIUS
    wanted = REYNOLDS * VISCOSITY / (2.0 * RADIUS)
    force = 6.0 * np.pi * 1000.0 * VISCOSITY * RADIUS * wanted
    sides = {f"{axis}_{end}": "periodic" for axis in "xyz" for end in ("low", "high")}
    scene = ut.Scene(
        name="drag",
        coupling="direct_forcing",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(length,) * 3, resolution=resolution, sides=sides),
        time=ut.Time(end=10.0, frame_rate=100),
        sph=ut.Sph(viscosity=VISCOSITY, sound_speed=float(wanted * np.sqrt(100.0 * 2.0 / REYNOLDS))),
        objects={
            "fluid": ut.SphFluid(shape=ut.Box(size=(2 * length,) * 3), position=(0.0, 0.0, 0.0)),
            "sphere": ut.RigidBody(shape=ut.Sphere(radius=RADIUS), position=(length / 2,) * 3, density=1000.0),
        },
    )
    sim = ut.Simulation(scene)
    model = sim.model
    fluid, forcing = model.fluid, model.forcing  # type: ignore[attr-defined]
    mass = float(forcing.bodies.mass_b[0])
    forcing.solids.gravity[1] = -force / mass
    fluid.gravity[1] = force / (fluid.mass * fluid.totals.particles)
    share = 4.0 / 3.0 * np.pi / RATIO**3
    exact = wanted * (1.0 - 1.7601 * share ** (1 / 3) + share - 1.5593 * share**2)
    end, speeds, times = 0.12 * length**2 / VISCOSITY, [], []
    time = 0.0
    while time < end:
        dt = min(forcing.limits().values())
        forcing.step(time, dt)
        time += dt
        drift = fluid.totals.momentum + forcing.bodies.p_b[0]
        speeds.append(-float(forcing.bodies.v_b[0, 1] - drift[1] / (mass + fluid.mass * fluid.totals.particles)))
        times.append(time)
    late = np.array(speeds)[np.array(times) > 0.7 * end]
    return {"ratio": float(late.mean()) / exact, "scatter": float(late.std()) / exact, "steps": len(times)}


def run(full: bool = False) -> Iterator[Quantity]:
    """2, 2.5 and 4 spacings per radius (6 with ``full``); the finest is judged, and the one that fits no lattice."""
    resolution = 30 if full else 20
    thin, thick = depth(0.1, resolution), depth(3.0, resolution)
    yield quantity("thin_over_thick", thin / thick, thin=thin, thick=thick, unit="m")
    coarse, fine = terminal(2.0), terminal(6.0 if full else 4.0)
    yield quantity("terminal_speed", fine["ratio"], scatter=fine["scatter"], coarse=coarse["ratio"])
    uneven = terminal(2.5)
    yield quantity("terminal_speed_uneven", uneven["ratio"], scatter=uneven["scatter"])
    yield quantity("convergence", abs(fine["ratio"] - 1.0) / max(abs(coarse["ratio"] - 1.0), 1e-12))
