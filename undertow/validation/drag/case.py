"""A sphere in viscous fluid: deeper in the thin one, and the terminal speed of Stokes in SI units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.sph.part import SphPart
from undertow.validation.analysis import Quantity, observed_order, quantity

RATIO = 8.0
"""Side of the periodic box / radius of the sphere."""
RADIUS, VISCOSITY, REYNOLDS = 0.01, 1e-4, 0.05
"""[m], kinematic [m2/s], and 2 a U / nu of Stokes' speed in an endless fluid."""


PLACES = ((0.0, 0.0, 0.0), (0.25, 0.12, 0.37))
"""Of the sphere's centre from the middle of the box [spacings]: on the lattice of the particles, and off it."""


def depth(alpha: float, slip: float, resolution: int) -> dict[str, float]:
    """How far the sphere of the gallery has fallen after 0.5 s in a fluid of artificial viscosity alpha [m], and the
    impulses [N s] that it was given: by pressure and by viscous force on its particles, by control forces along their
    normals and across them."""
    scene = ut.scene("viscous-spheres", resolution=resolution)
    sim = ut.Simulation(scene.model_copy(update={"sph": ut.Sph(alpha=alpha, slip=slip)}))
    forcing = sim.scheme.forcing  # type: ignore[attr-defined]
    b = forcing.bodies.index("sphere")
    start = float(sim.body("sphere").position[1])
    found = dict.fromkeys(("pressure", "viscous", "normal", "tangential"), 0.0)
    while sim.time < 0.5 - 1e-9:
        dt = sim.step().time_step
        found["pressure"] += dt * float(forcing.pressure_b[b, 1])
        found["viscous"] += dt * float(forcing.viscous_b[b, 1])
        own = forcing._contacts.body[: forcing.contacts] == b
        impulse, normal = (a[: forcing.contacts][own] for a in (forcing._contacts.impulse, forcing._contacts.normal))
        along = np.einsum("ij,ij->i", impulse, normal)[:, None] * normal
        found["normal"] -= float(along[:, 1].sum())
        found["tangential"] -= float((impulse - along)[:, 1].sum())
    return {"depth": start - float(sim.body("sphere").position[1]), **found}


def terminal(per_radius: float, place: tuple[float, float, float] = PLACES[0]) -> dict[str, float]:
    """Terminal speed of a sphere of ``per_radius`` spacings / that of an array of spheres (Hasimoto 1959).

    place: of its centre, from the middle of the box [spacings].

    Sphere and fluid have one density and are pulled by opposite forces in a periodic box, so that nothing moves on
    the whole: F / (1 - c) = 6 pi mu a U / (1 - 1.7601 c^(1/3) + c - 1.5593 c^2), c the share of the sphere in the box.
    """
    resolution = round(RATIO * per_radius)
    length = RATIO * RADIUS
    x, y, z = (0.5 * length + shift * length / resolution for shift in place)
    centre = (x, y, z)
    wanted = REYNOLDS * VISCOSITY / (2.0 * RADIUS)
    force = 6.0 * np.pi * 1000.0 * VISCOSITY * RADIUS * wanted
    sides = {f"{axis}_{end}": "periodic" for axis in "xyz" for end in ("low", "high")}
    scene = ut.Scene(
        name="drag",
        coupling="direct_forcing",
        gravity=(0.0, 0.0, 0.0),
        domain=ut.Domain(upper=(length,) * 3, resolution=resolution, sides=sides),
        time=ut.Time(end=10.0, frame_rate=100),
        sph=ut.Sph(viscosity=1000.0 * VISCOSITY, sound_speed=float(wanted * np.sqrt(100.0 * 2.0 / REYNOLDS))),
        objects={
            "fluid": ut.SphFluid(shape=ut.Box(size=(2 * length,) * 3), position=(0.0, 0.0, 0.0)),
            "sphere": ut.RigidBody(shape=ut.Sphere(radius=RADIUS), position=centre, density=1000.0),
        },
    )
    sim = ut.Simulation(scene)
    fluid, forcing = sim.part(SphPart).fluid, sim.scheme.forcing  # type: ignore[attr-defined]
    mass = float(forcing.bodies.mass_b[0])
    forcing.solids.gravity[1] = -force / mass
    fluid.gravity[1] = force / (fluid.mass * fluid.totals.particles)
    share = 4.0 / 3.0 * np.pi / RATIO**3
    # the pull on the fluid ends at the sphere: a mean pressure gradient would pull at its volume too, so F / (1 - c)
    exact = wanted / (1.0 - share) * (1.0 - 1.7601 * share ** (1 / 3) + share - 1.5593 * share**2)
    end, speeds, times = 0.12 * length**2 / VISCOSITY, [], []
    time = 0.0
    while time < end:
        dt = min([*fluid.limits().values(), *forcing.limits().values()])
        sim.scheme.step(time, dt, dt)
        time += dt
        drift = fluid.totals.momentum + forcing.bodies.p_b[0]
        speeds.append(-float(forcing.bodies.v_b[0, 1] - drift[1] / (mass + fluid.mass * fluid.totals.particles)))
        times.append(time)
    late = np.array(speeds)[np.array(times) > 0.7 * end]
    return {"ratio": float(late.mean()) / exact, "scatter": float(late.std()) / exact, "steps": len(times)}


def run(full: bool = False) -> Iterator[Quantity]:
    """Thin and thick fluid; 1.5, 2, 3 and 4 spacings per radius (6 with ``full``), and one that fits no lattice."""
    resolution = 30 if full else 20
    thin, thick = depth(0.1, 1.0, resolution), depth(3.0, 1.0, resolution)
    yield quantity("thin_over_thick", thin["depth"] / thick["depth"], thin=thin, thick=thick, unit="m, N s")
    # steps are shorter in the thick fluid: spheres that stop after one step have gone four times as far in the thin one
    yield quantity("thin_depth", thin["depth"], unit="m")
    sticking = depth(3.0, 0.0, resolution)
    yield quantity("thick_sticking", sticking["depth"] / thick["depth"], sticking=sticking)
    speeds = {n: [terminal(n, place)["ratio"] for place in PLACES] for n in (1.5, 2.0, 3.0)}
    finest = 6.0 if full else 4.0
    speeds[finest] = [terminal(finest)["ratio"]]
    detail: dict[str, Any] = {f"{n:g} per radius": ratios for n, ratios in speeds.items()}
    yield quantity("terminal_speed", speeds[finest][0], **detail)
    uneven = terminal(2.5)
    beside = 0.5 * (speeds[2.0][0] + speeds[3.0][0])
    yield quantity("terminal_speed_uneven", uneven["ratio"] / beside, scatter=uneven["scatter"], speed=uneven["ratio"])
    errors = {n: float(np.sqrt(np.mean((np.array(ratios) - 1.0) ** 2))) for n, ratios in speeds.items()}
    detail = {f"{n:g} per radius": error for n, error in errors.items()}
    yield quantity("convergence", errors[finest] / errors[2.0], **detail)
    yield quantity("order", observed_order(list(errors), list(errors.values())), **detail)
